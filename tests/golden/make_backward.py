# SPDX-License-Identifier: MIT
"""Writes the golden gradients of tests/golden: inputs, and what PyTorch's autograd makes of them in fp64, so that
the backward pass of the CPU reference is held against somebody else's derivatives.

    python3 make_backward.py FOLDER

Needs torch and numpy, no device. The files in the repository were made with PyTorch 1.13 on a CPU.
"""
import json
import math
import struct
import sys

import torch

# name, dtype, (B, H, Hkv, Nq, Nk, D, Dv), options of the problem
CASES = [
    ("plain", torch.float32, (2, 4, 2, 9, 17, 16, 12), {}),
    ("f16", torch.float16, (1, 3, 3, 12, 20, 24, 24), {}),
    ("bf16", torch.bfloat16, (1, 4, 1, 10, 15, 16, 16), {}),
    ("causal", torch.float32, (1, 2, 2, 12, 17, 16, 16), {"causal": "bottom-right"}),
    ("causal_top_left", torch.float32, (1, 2, 1, 12, 17, 16, 16), {"causal": "top-left"}),
    ("causal_more_rows", torch.float32, (1, 2, 1, 20, 12, 16, 16), {"causal": "bottom-right", "dlse": True}),
    ("window", torch.float32, (1, 2, 1, 16, 20, 16, 16), {"window": (5, 2)}),
    ("lengths", torch.float32, (4, 2, 1, 7, 14, 8, 8), {"lengths": [14, 0, 1, 9]}),
    ("softcap", torch.float32, (1, 2, 2, 11, 16, 16, 16), {"softcap": 1.5, "scale": 0.4}),
    ("bias", torch.float32, (2, 2, 2, 8, 11, 8, 8), {"bias": (1, 2), "dlse": True}),
    ("sinks", torch.float32, (2, 4, 2, 9, 11, 8, 8), {"sinks": True, "dlse": True}),
    ("dropout", torch.float32, (1, 2, 1, 13, 16, 8, 8), {"dropout": 0.25}),
]


def visible(shape, options):
    """[B, 1, Nq, Nk], True = keep, from the definition."""
    b, _, _, nq, nk, _, _ = shape
    lengths = torch.tensor(options.get("lengths", [nk] * b)).view(b, 1, 1, 1)
    i = torch.arange(nq).view(1, 1, nq, 1)
    j = torch.arange(nk).view(1, 1, 1, nk)
    offset = 0 if options.get("causal") == "top-left" else lengths - nq
    left, right = options.get("window", (-1, -1))
    keep = j < lengths
    if "causal" in options:
        keep = keep & (j <= i + offset)
    if left >= 0:
        keep = keep & (j >= i + offset - left)
    if right >= 0:
        keep = keep & (j <= i + offset + right)
    return keep.expand(b, 1, nq, nk)


def attention(x, shape, options):
    """o and lse from torch's softmax and logsumexp. A sink is one more column. A row that sees nothing gives 0."""
    repeat = shape[1] // shape[2]
    k, v = (x[name].repeat_interleave(repeat, 1) for name in "kv")
    scores = options.get("scale", 1 / math.sqrt(shape[5])) * (x["q"] @ k.transpose(-1, -2))
    if "softcap" in options:
        scores = options["softcap"] * torch.tanh(scores / options["softcap"])
    if "bias" in x:
        scores = scores + x["bias"]
    scores = scores.masked_fill(~visible(shape, options), -math.inf)
    if "sinks" in x:
        sinks = x["sinks"].view(1, -1, 1, 1).expand(shape[0], shape[1], shape[3], 1)
        scores = torch.cat([scores, sinks], -1)
    p = torch.softmax(scores, -1)[..., : shape[4]].nan_to_num()
    if "dropout" in options:
        p = p * x["kept"] / (1 - options["dropout"])
    return p @ v, torch.logsumexp(scores, -1)


def save(tensors, path):
    """safetensors: the length of a JSON header, the header, the bytes."""
    names = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}
    header, data = {}, b""
    for name, tensor in tensors.items():
        as_numbers = tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor
        raw = as_numbers.numpy().tobytes()
        offsets = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape), "data_offsets": offsets}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def main(folder):
    torch.manual_seed(20261123)
    for name, dtype, shape, options in CASES:
        b, h, hkv, nq, nk, d, dv = shape
        stored = {
            "q": torch.randn(b, h, nq, d).to(dtype),
            "k": torch.randn(b, hkv, nk, d).to(dtype),
            "v": torch.randn(b, hkv, nk, dv).to(dtype),
            "dout": torch.randn(b, h, nq, dv).to(dtype),
        }
        if "bias" in options:
            stored["bias"] = torch.randn(*options["bias"], nq, nk)
        if "sinks" in options:
            stored["sinks"] = torch.randn(h)
        if "dropout" in options:
            stored["kept"] = (torch.rand(b, h, nq, nk) >= options["dropout"]).float()
        if "dlse" in options:
            stored["dlse"] = torch.randn(b, h, nq)
        wanted = [key for key in ("q", "k", "v", "bias", "sinks") if key in stored]
        exact = {key: x.double().requires_grad_(key in wanted) for key, x in stored.items()}
        o, lse = attention(exact, shape, options)
        loss = (o * exact["dout"]).sum()
        if "dlse" in exact:
            loss = loss + (lse.masked_fill(lse.isinf(), 0.0) * exact["dlse"]).sum()
        loss.backward()
        gradients = {f"d{key}": exact[key].grad.float() for key in wanted}
        save({key: x.contiguous() for key, x in {**stored, **gradients}.items()}, f"{folder}/backward_{name}.safetensors")
        print(f"{name}: torch {torch.__version__}")


if __name__ == "__main__":
    main(sys.argv[1])
