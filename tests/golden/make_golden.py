# SPDX-License-Identifier: MIT
"""Writes the golden tensors of tests/golden: inputs, and what PyTorch's scaled_dot_product_attention makes
of them in fp64, so that the CPU reference is held against somebody else's attention.

    python3 make_golden.py FOLDER

Needs torch and safetensors; takes a CUDA device if there is one. The files in the repository were made
with PyTorch 2.11 on an NVIDIA H200.
"""
import math
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch.nn.attention.bias import causal_lower_right

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

# name, dtype, (B, H, Hkv, Nq, Nk, D, Dv), options of the problem
CASES = [
    ("plain", torch.float32, (2, 4, 2, 17, 33, 40, 40), {}),
    ("plain_f16", torch.float16, (1, 3, 3, 21, 50, 64, 64), {}),
    ("plain_bf16", torch.bfloat16, (1, 4, 1, 16, 37, 64, 48), {}),
    ("causal_top_left", torch.float32, (1, 2, 2, 20, 33, 32, 32), {"causal": "top-left"}),
    ("causal_bottom_right", torch.float32, (1, 2, 2, 20, 33, 32, 32), {"causal": "bottom-right"}),
    ("causal_more_rows", torch.float16, (1, 2, 1, 40, 25, 32, 32), {"causal": "bottom-right"}),
    ("window", torch.float32, (1, 2, 1, 30, 41, 24, 24), {"window": (7, 3)}),
    ("lengths", torch.float32, (4, 2, 1, 9, 30, 16, 16), {"lengths": [30, 0, 1, 17]}),
    ("softcap", torch.float32, (1, 2, 2, 19, 35, 48, 48), {"softcap": 3.0, "scale": 0.4}),
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


def attention(q, k, v, shape, options):
    """PyTorch's own path for what it has, its formula for the softcap that it lacks."""
    keep = visible(shape, options).to(q.device)
    scale = options.get("scale", 1 / math.sqrt(q.shape[-1]))
    repeat = q.shape[1] // k.shape[1]
    scores = scale * (q @ k.repeat_interleave(repeat, 1).transpose(-1, -2))
    if "softcap" in options:
        scores = options["softcap"] * torch.tanh(scores / options["softcap"])
    lse = torch.logsumexp(scores.masked_fill(~keep, -math.inf), -1)
    if "softcap" in options:
        return torch.softmax(scores, -1) @ v.repeat_interleave(repeat, 1), lse
    if options == {"causal": "top-left"}:
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    elif options == {"causal": "bottom-right"} and q.shape[2] <= k.shape[2]:
        o = F.scaled_dot_product_attention(q, k, v, attn_mask=causal_lower_right(q.shape[2], k.shape[2]))
    else:
        o = F.scaled_dot_product_attention(q, k, v, attn_mask=keep, scale=scale, enable_gqa=True)
    return o, lse


def main(folder):
    torch.manual_seed(20261121)
    for name, dtype, shape, options in CASES:
        b, h, hkv, nq, nk, d, dv = shape
        q = torch.randn(b, h, nq, d, device=DEVICE).to(dtype)
        k = torch.randn(b, hkv, nk, d, device=DEVICE).to(dtype)
        v = torch.randn(b, hkv, nk, dv, device=DEVICE).to(dtype)
        o, lse = attention(q.double(), k.double(), v.double(), shape, options)
        tensors = {"q": q, "k": k, "v": v, "o": o.float(), "lse": lse.float()}
        tensors = {key: x.cpu().contiguous() for key, x in tensors.items()}
        save_file(tensors, f"{folder}/{name}.safetensors")
        print(f"{name}: torch {torch.__version__}, {DEVICE}, o {tuple(o.shape)}")


if __name__ == "__main__":
    main(sys.argv[1])
