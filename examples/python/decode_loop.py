# SPDX-License-Identifier: MIT
"""A decode loop: 40 tokens of two sequences, on a quantised KV cache in pages, with rotary embedding.

    ./dev python examples/python/decode_loop.py
"""

import numpy as np

import vkflash

HEADS, KV_HEADS, DIM = 8, 2, 64
rng = np.random.default_rng(0)
project = [rng.standard_normal((256, n * DIM)).astype(np.float16) / 16 for n in (HEADS, KV_HEADS, KV_HEADS, HEADS)]
x = rng.standard_normal((2, 24, 256)).astype(np.float16)  # the prompt: [batch, rows, columns]

cache = vkflash.Cache(2, KV_HEADS, capacity=128, head_dim=DIM, type="q8_0", page_size=16, rotary="halves")
for token in range(40):
    q, k, v = ((x @ w).reshape(2, x.shape[1], -1, DIM) for w in project[:3])
    o = cache.decode(q, k, v, layout="bnhd")
    x = np.tanh(o[:, -1:].reshape(2, 1, -1) @ project[3].T)

assert cache.lengths.tolist() == [24 + 39] * 2 and np.all(np.isfinite(x))
print(cache)
print("the last row begins with", x[0, 0, :4])
