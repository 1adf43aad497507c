#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times attention of PyTorch on a CUDA device. bench/peers.py makes a file for `vkflash bench ... --compare` of it.

    python3 bench/pytorch.py > pytorch.txt && python3 bench/peers.py pytorch.txt -o pytorch.json

Each time is the median of runs between two CUDA events. ERR marks a kernel that refuses the shape.
"""
import itertools
import statistics

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

KERNELS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
           "eff": SDPBackend.EFFICIENT_ATTENTION, "math": SDPBackend.MATH}
WIDTH = 2048  # heads x D
TOKENS = 16384  # rows of all sequences


def milliseconds(call, runs=10, warm_ups=3):
    for _ in range(warm_ups):
        call()
    torch.cuda.synchronize()
    times = []
    for _ in range(runs):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def random(*shape, dtype=torch.float16):
    return torch.randn(shape, device="cuda", dtype=dtype)


def entries(names, measure, text):
    """ "flash=281" for each kernel: the text of what `measure` returns for it, or ERR."""
    words = []
    for name in names:
        try:
            with sdpa_kernel(KERNELS[name]):
                words.append(f"{name}={text(measure())}")
        except RuntimeError:
            words.append(f"{name}=ERR")
    return " ".join(words)


def backward_time(q, k, v, causal):
    inputs = [tensor.detach().requires_grad_() for tensor in (q, k, v)]
    o = F.scaled_dot_product_attention(*inputs, is_causal=causal)
    gradient = torch.randn_like(o)
    return milliseconds(lambda: torch.autograd.grad(o, inputs, gradient, retain_graph=True))


def prefill(dim, rows, causal):
    heads, batch = WIDTH // dim, max(1, TOKENS // rows)
    q, k, v = (random(batch, heads, rows, dim) for _ in range(3))
    operations = 4 * batch * heads * rows * rows * dim * (0.5 if causal else 1)
    names = [name for name in KERNELS if name != "math" or rows <= 4096]  # its scores fill the memory
    forward = entries(names, lambda: milliseconds(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal)),
                      lambda ms: f"{operations / ms / 1e9:.1f}")
    backward = entries(("flash", "cudnn"), lambda: backward_time(q, k, v, causal),
                       lambda ms: f"{2.5 * operations / ms / 1e9:.1f}")
    print(f"d{dim} n{rows} b{batch} h{heads} causal{int(causal)} TFLOPs fwd {forward} | bwd {backward}", flush=True)


def one_sequence(dim, rows):
    heads = WIDTH // dim
    q, k, v = (random(1, heads, rows, dim) for _ in range(3))
    operations = 4 * heads * rows * rows * dim
    print(f"B1 {dim} {rows}",
          entries(KERNELS, lambda: milliseconds(lambda: F.scaled_dot_product_attention(q, k, v)),
                  lambda ms: f"{ms * 1e3:.1f}us/{operations / ms / 1e9:.1f}TF"), flush=True)


def fp32(rows, name):
    q, k, v = (random(1, 16, rows, 128, dtype=torch.float32) for _ in range(3))
    with sdpa_kernel(KERNELS[name]):
        ms = milliseconds(lambda: F.scaled_dot_product_attention(q, k, v))
    print(f"fp32 {rows} {name} {4 * 16 * rows * rows * 128 / ms / 1e9:.1f}TF", flush=True)


def decode(batch, keys):
    q, k, v = random(batch, 32, 1, 128), random(batch, 8, keys, 128), random(batch, 8, keys, 128)
    read = 2 * k.numel() * k.element_size()
    print(f"decode {batch} {keys}",
          entries(("flash", "cudnn", "math"),
                  lambda: milliseconds(lambda: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), runs=30),
                  lambda ms: f"{ms * 1e3:.1f}us/{read / ms / 1e6:.0f}GB/s"), flush=True)


def main():
    torch.manual_seed(0)
    print(torch.__version__, torch.cuda.get_device_name(), torch.backends.cudnn.version())
    for dim, rows, causal in itertools.product((64, 128, 256), (512, 1024, 2048, 4096, 8192, 16384), (False, True)):
        prefill(dim, rows, causal)
    for dim, rows in itertools.product((64, 128, 256), (512, 1024, 2048, 4096)):
        one_sequence(dim, rows)
    for rows, name in itertools.product((1024, 4096), ("eff", "math")):
        fp32(rows, name)
    for batch, keys in itertools.product((1, 8), (1024, 4096, 16384, 65536, 131072)):
        decode(batch, keys)


if __name__ == "__main__":
    main()
