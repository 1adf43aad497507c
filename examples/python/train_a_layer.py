# SPDX-License-Identifier: MIT
"""Trains a small layer of attention in NumPy: each row learns to copy the row that stands two rows before it.

    ./dev python examples/python/train_a_layer.py
"""

import numpy as np

import vkflash

ROWS, DIM, COPIES = 24, 32, 2
rng = np.random.default_rng(0)
places = rng.standard_normal((ROWS, DIM)).astype(np.float32)  # what a row knows about its place
q_weights, k_weights = (rng.standard_normal((DIM, DIM)).astype(np.float32) * 0.05 for _ in range(2))


def loss_and_gradients(x):
    """x: [batch, 1, rows, dim]. The loss is the mean square of o - (the row two rows before)."""
    q, k = (np.broadcast_to(places @ w, x.shape) for w in (q_weights, k_weights))
    o, lse = vkflash.attention(q, k, x, causal=True, scale=1.0, return_lse=True)
    wrong = o[:, :, COPIES:] - x[:, :, :-COPIES]
    do = np.zeros_like(o)
    do[:, :, COPIES:] = 2 * wrong / wrong.size
    dq, dk, _ = vkflash.attention_backward(do, q, k, x, o, lse, causal=True, scale=1.0)
    return np.mean(wrong**2), [places.T @ d.sum((0, 1)) for d in (dq, dk)]


moments = [[np.zeros_like(w), np.zeros_like(w)] for w in (q_weights, k_weights)]
first = None
for step in range(1, 31):
    loss, gradients = loss_and_gradients(rng.standard_normal((8, 1, ROWS, DIM)).astype(np.float32))
    first = loss if first is None else first
    for weights, gradient, (mean, square) in zip((q_weights, k_weights), gradients, moments):  # Adam
        mean += 0.1 * (gradient - mean)
        square += 0.01 * (gradient**2 - square)
        weights -= 0.003 * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    if step % 5 == 0:
        print(f"step {step:2}: loss {loss:.2g}")
assert loss < 0.1 * first, (first, loss)
