# SPDX-License-Identifier: MIT
"""Attention in NumPy, in fp64, as docs/semantics.md defines it, and the bounds of its errors."""

import numpy as np

# Bits of the significands of q's and o's types, and of what enters products with that type.
UNITS = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}


def visible(rows, keys, causal=None, window=None):
    """bool [rows, keys]: causal masks and windows."""
    i, j = np.arange(rows)[:, None], np.arange(keys)[None, :]
    place = i if causal == "top-left" else i + keys - rows
    seen = np.ones((rows, keys), bool)
    if causal:
        seen &= j <= place
    if window is not None:
        left, right = window
        seen &= (j >= place - left) | (left < 0)
        seen &= (j <= place + right) | (right < 0)
    return seen


def softmax(s, sinks=None):
    """(p, lse) of scores with -inf for dropped keys."""
    top = s.max(-1, keepdims=True, initial=-np.inf)
    if sinks is not None:
        top = np.maximum(top, sinks)
    safe = np.where(np.isneginf(top), 0, top)
    e = np.exp(s - safe)
    total = e.sum(-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp(sinks - safe)
    with np.errstate(divide="ignore"):
        lse = (safe + np.log(total))[..., 0]
    return np.where(total > 0, e / np.where(total > 0, total, 1), 0), lse


def grouped(x, heads):
    """k or v with a head for each head of q."""
    return np.repeat(x, heads // x.shape[1], axis=1)


def scores(q, k, scale=None, softcap=0, bias=None, alibi=None, seen=True):
    """fp64 scores [batch, heads, rows, keys]; -inf for dropped keys."""
    q, k = q.astype(np.float64), grouped(k, q.shape[1]).astype(np.float64)
    s = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap:
        s = softcap * np.tanh(s / softcap)
    if alibi is not None:
        rows, keys = s.shape[-2:]
        distance = np.abs(np.arange(rows)[:, None] + keys - rows - np.arange(keys)[None, :])
        s = s - np.asarray(alibi, np.float64)[:, None, None] * distance
    if bias is not None:
        s = s + np.asarray(bias, np.float64)
    return np.where(seen, s, -np.inf)


def attention(q, k, v, sinks=None, seen=True, **terms):
    """(o, lse, p) in fp64 of [batch, heads, rows, dim]."""
    column = None if sinks is None else np.asarray(sinks, np.float64)[:, None, None]
    p, lse = softmax(scores(q, k, seen=seen, **terms), column)
    return p @ grouped(v, q.shape[1]).astype(np.float64), lse, p


def backward(do, q, k, v, seen=True, scale=None):
    """(dq, dk, dv) in fp64."""
    heads, kv_heads = q.shape[1], k.shape[1]
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    o, _, p = attention(q, k, v, seen=seen, scale=scale)
    q, kk, vv, do = (x.astype(np.float64) for x in (q, grouped(k, heads), grouped(v, heads), do))
    dp = do @ vv.swapaxes(-1, -2)
    ds = p * (dp - (do * o).sum(-1, keepdims=True))
    shared = (q.shape[0], kv_heads, heads // kv_heads)
    dk = (ds.swapaxes(-1, -2) @ q * factor).reshape(*shared, *kk.shape[-2:]).sum(2)
    dv = (p.swapaxes(-1, -2) @ do).reshape(*shared, *vv.shape[-2:]).sum(2)
    return ds @ kk * factor, dk, dv


def bound(q, k, v, scale=None):
    """The largest error of o: scores and probabilities are rounded to the narrowest type, o is rounded to q's type.

    A relative error e of each product moves a score by at most e times the sum of the magnitudes of the products, and
    p by a factor of exp of that. Sums are fp32.
    """
    unit = max(UNITS[x.dtype.name] for x in (q, k, v))
    a, b = np.abs(q.astype(np.float64)), grouped(np.abs(k.astype(np.float64)), q.shape[1])
    magnitude = (a @ b.swapaxes(-1, -2)).max(initial=0) * (q.shape[-1] ** -0.5 if scale is None else abs(scale))
    roundings = UNITS["float32"] * (k.shape[2] + q.shape[-1] + 64)
    largest = np.abs(v.astype(np.float64)).max(initial=0)
    return largest * (2 * roundings * (1 + magnitude) + 2 * unit) + UNITS[q.dtype.name] * largest
