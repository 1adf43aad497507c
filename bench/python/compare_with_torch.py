# SPDX-License-Identifier: MIT
"""Compares random calls with PyTorch's math backend, and measures what a call costs besides copies and kernel.

    python bench/python/compare_with_torch.py [--calls 500] [--seed 0] [--rows 8192]

Prints one line of JSON for each part, and fails if a result is over its bound. Needs the installed package. Without
PyTorch the first part is left out.
"""

import argparse
import json
import random
import sys
import time

import numpy as np

import vkflash
from vkflash import _attention, _operands, _problem

UNITS = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}


def random_call(torch, rng):
    """(query, key, value, options) of a random call."""
    kind = rng.choice([torch.float32, torch.float16, torch.bfloat16])
    lead = [rng.choice([1, 2, 3]) for _ in range(rng.choice([0, 1, 1, 1, 2]))]
    kv_heads = rng.choice([1, 2, 3, 4])
    is_gqa = rng.random() < 0.4
    heads = kv_heads * rng.choice([2, 3, 4]) if is_gqa else kv_heads
    rows, keys = rng.randint(1, 150), rng.randint(1, 300)
    dim, value_dim = rng.choice([16, 24, 40, 64, 80, 128]), rng.choice([16, 40, 64, 128])
    tensors = []
    for shape in ((heads, rows, dim), (kv_heads, keys, dim), (kv_heads, keys, value_dim)):
        x = torch.randn(*lead, *shape).to(kind)
        if rng.random() < 0.3:  # a view of [..., rows, heads, dim]
            x = x.transpose(-3, -2).contiguous().transpose(-3, -2)
        tensors.append(x)
    options = {"enable_gqa": is_gqa}
    if rng.random() < 0.5:
        options["scale"] = rng.choice([0.05, 0.125, 0.3, 1.0])
    choice = rng.random()
    if choice < 0.3:
        options["is_causal"] = True
    elif choice < 0.8:
        full = [*lead, heads, rows, keys]
        shape = [n if rng.random() < 0.6 else 1 for n in full][rng.randint(0, len(full) - 2):]
        options["attn_mask"] = torch.rand(shape) < 0.7 if rng.random() < 0.5 else torch.randn(shape).to(kind)
    return tensors, options


def bound(q, k, v, scale):
    """The largest error that the roundings of the storage types and of fp32 sums explain."""
    unit = max(UNITS[str(x.dtype).removeprefix("torch.")] for x in (q, k, v))
    group = q.shape[-3] // k.shape[-3]
    scores = q.double().abs() @ k.double().abs().repeat_interleave(group, -3).transpose(-1, -2)
    roundings = UNITS["float32"] * (k.shape[-2] + q.shape[-1] + 64) * (1 + scores.max().item() * scale)
    return (2 * roundings + 3 * unit) * v.double().abs().max().item()


def compare(calls, seed):
    """Every call is within its bound of PyTorch's math backend in fp64."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    torch.manual_seed(seed)
    rng = random.Random(seed)
    worst, failures = 0.0, []
    for number in range(calls):
        (q, k, v), options = random_call(torch, rng)
        found = vkflash.scaled_dot_product_attention(q, k, v, **options)
        exact = dict(options)
        if "attn_mask" in exact and exact["attn_mask"].dtype != torch.bool:
            exact["attn_mask"] = exact["attn_mask"].double()
        with sdpa_kernel(SDPBackend.MATH):
            expected = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double(), **exact)
        error = (found.double() - expected).abs().max().item() if found.shape == expected.shape else float("inf")
        share = error / bound(q, k, v, options.get("scale", q.shape[-1] ** -0.5))
        worst = max(worst, share)
        if not share <= 1 or found.dtype != q.dtype:
            failures.append({"call": number, "share": share, "shapes": [list(x.shape) for x in (q, k, v)],
                             "type": str(q.dtype), "options": sorted(options)})
    print(json.dumps({"part": "compare", "torch": torch.__version__, "calls": calls, "failures": failures[:10],
                      "failed": len(failures), "worst share of the bound": round(worst, 4)}))
    return not failures


def time_of(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def best(call, seconds=2.0):
    """The median time of a call, in seconds."""
    times, end = [], time.perf_counter() + seconds
    call()
    while time.perf_counter() < end or len(times) < 5:
        times.append(time_of(call))
    return float(np.median(times))


def prepared(device, q, k, v):
    """A function that runs attention on arrays of the device, and nothing else."""
    inputs = _problem.Inputs(*_operands.operands(q, k, v, "bhnd"), _problem.OPTIONS)
    shape, tensor = _operands.output("bhnd", 4, inputs.q.tensor.shape, inputs.q.tensor.type)
    o = _attention.new_output(device, shape, tensor.type)
    arrays = {**inputs.place(device, _operands.Places(device)), "o": (o._storage, 0)}
    plan = _attention.attention_plan(device, inputs.terms(tensor))
    return o, lambda: plan.run(arrays)


def measure_device_arrays(device, seconds=4.0):
    """What attention() costs over the library's own submission. Both take turns, since the GPU's clock changes."""
    q, k, v = (device.array(np.ones((1, 8, 16, 64), np.float16)) for _ in range(3))
    _, run = prepared(device, q, k, v)
    bare, whole, end = [], [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(bare) < 5:
        for call, times in ((run, bare), (lambda: vkflash.attention(q, k, v), whole)):
            times += [time_of(call) for _ in range(20)]
    bare, whole = float(np.median(bare)), float(np.median(whole))
    print(json.dumps({"part": "device arrays", "submission us": round(bare * 1e6, 1), "call us": round(whole * 1e6, 1),
                      "overhead us": round((whole - bare) * 1e6, 1)}))


def measure_numpy(device, rows):
    """What attention() on arrays of NumPy costs over copies and kernel."""
    arrays = [np.random.default_rng(i).standard_normal((1, 16, rows, 128)).astype(np.float16) for i in range(3)]
    on_device = [device.array(x) for x in arrays]
    o, run = prepared(device, *on_device)
    to = np.empty(o.shape, np.float16)

    def parts():
        for x, place in zip(arrays, on_device):
            place._storage.upload(x)
        run()
        o._storage.download(to)

    least, whole = best(parts), best(lambda: vkflash.attention(*arrays))
    print(json.dumps({"part": "numpy", "shape": [1, 16, rows, 128], "copies and kernel ms": round(least * 1e3, 3),
                      "kernel ms": round(best(run) * 1e3, 3), "call ms": round(whole * 1e3, 3),
                      "ratio": round(whole / least, 3)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--calls", type=int, default=500, help="number of random calls")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=8192, help="rows of the call on arrays of NumPy")
    options = parser.parse_args()
    device = vkflash.default_device()
    print(json.dumps({"part": "device", "name": device.name, "driver": device.summary["driver"],
                      "python": sys.version.split()[0], "numpy": np.__version__, "vkflash": vkflash.__version__}))
    measure_device_arrays(device)
    measure_numpy(device, options.rows)
    try:
        import torch  # noqa: F401
    except ImportError:
        print(json.dumps({"part": "compare", "left out": "PyTorch is not installed"}))
        return 0
    return 0 if compare(options.calls, options.seed) else 1


if __name__ == "__main__":
    sys.exit(main())
