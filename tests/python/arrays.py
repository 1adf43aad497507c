# SPDX-License-Identifier: MIT
"""Random arrays for the tests."""

import ml_dtypes
import numpy as np

TYPES = [np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
NAMES = [kind.name for kind in TYPES]


def tensors(rng, batch=2, heads=4, kv_heads=2, rows=9, keys=13, dim=32, value_dim=None, kind=np.float32):
    """q, k, v of [batch, heads, rows, dim]."""
    shapes = ((batch, heads, rows, dim), (batch, kv_heads, keys, dim), (batch, kv_heads, keys, value_dim or dim))
    return tuple(rng.standard_normal(shape).astype(kind) for shape in shapes)
