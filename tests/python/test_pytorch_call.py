# SPDX-License-Identifier: MIT
"""scaled_dot_product_attention() has PyTorch's meaning, as its documentation writes it in a few lines."""

import numpy as np
import pytest

import formulas
import vkflash
from arrays import NAMES, TYPES


def expected(query, key, value, attn_mask=None, is_causal=False, scale=None, enable_gqa=False):
    """PyTorch's own formulas, in fp64. Rows that see no key are 0."""
    rows, keys = query.shape[-2], key.shape[-2]
    bias = np.zeros((rows, keys))
    if is_causal:
        bias = np.where(np.tril(np.ones((rows, keys), bool)), 0, -np.inf)
    if attn_mask is not None:
        bias = np.where(attn_mask, 0, -np.inf) if attn_mask.dtype == bool else attn_mask.astype(np.float64)
    if enable_gqa:
        key, value = (np.repeat(x, query.shape[-3] // x.shape[-3], -3) for x in (key, value))
    q, k, v = (x.astype(np.float64) for x in (query, key, value))
    p, _ = formulas.softmax(q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale) + bias)
    return p @ v


def check(q, k, v, **options):
    o = vkflash.scaled_dot_product_attention(q, k, v, **options)
    right = expected(q, k, v, **options)
    assert o.shape == right.shape and o.dtype == q.dtype
    assert np.abs(o.astype(np.float64) - right).max(initial=0) <= 8 * formulas.UNITS[q.dtype.name] * 8


SHAPES = [((3, 4, 9, 32), (3, 4, 13, 32)), ((9, 32), (13, 32)), ((4, 9, 32), (4, 13, 32)),
          ((2, 3, 4, 9, 32), (2, 3, 4, 13, 32)), ((3, 4, 9, 32), (1, 4, 13, 32)), ((3, 4, 9, 32), (3, 1, 13, 32)),
          ((4, 9, 32), (3, 4, 13, 32)), ((2, 1, 4, 9, 32), (3, 1, 13, 32))]


@pytest.mark.parametrize(("shape", "key_shape"), SHAPES)
@pytest.mark.parametrize("is_causal", [False, True])
def test_shapes_broadcast(rng, shape, key_shape, is_causal):
    q, k, v = (rng.standard_normal(x).astype(np.float32) for x in (shape, key_shape, key_shape))
    check(q, k, v, is_causal=is_causal)


@pytest.mark.parametrize("kind", TYPES, ids=NAMES)
def test_each_type(rng, kind):
    q, k, v = (rng.standard_normal((2, 4, n, 32)).astype(kind) for n in (9, 13, 13))
    check(q, k, v)


@pytest.mark.parametrize("shape", [(9, 13), (1, 13), (9, 1), (3, 1, 9, 13), (3, 4, 9, 13), (1, 4, 1, 13)])
@pytest.mark.parametrize("is_bool", [False, True])
def test_masks_broadcast(rng, shape, is_bool):
    q, k, v = (rng.standard_normal((3, 4, n, 32)).astype(np.float32) for n in (9, 13, 13))
    numbers = rng.standard_normal(shape).astype(np.float32)
    check(q, k, v, attn_mask=numbers < 0.5 if is_bool else numbers)


def test_masks_of_more_dimensions(rng):
    q, k, v = (rng.standard_normal((2, 3, 4, n, 32)).astype(np.float32) for n in (9, 13, 13))
    check(q, k, v, attn_mask=rng.random((2, 1, 4, 9, 13)) < 0.7)
    check(q, k, v, attn_mask=rng.random((3, 1, 1, 13)) < 0.7)


def test_rows_without_keys_are_zero(rng):
    q, k, v = (rng.standard_normal((1, 2, n, 32)).astype(np.float32) for n in (5, 7, 7))
    mask = np.ones((5, 7), bool)
    mask[2] = False
    assert np.all(vkflash.scaled_dot_product_attention(q, k, v, attn_mask=mask)[:, :, 2] == 0)
    bias = np.where(mask, 0, -np.inf).astype(np.float32)
    assert np.all(vkflash.scaled_dot_product_attention(q, k, v, attn_mask=bias)[:, :, 2] == 0)


def test_groups_of_heads(rng):
    q, k, v = (rng.standard_normal((2, h, 9, 32)).astype(np.float32) for h in (6, 2, 2))
    check(q, k, v, enable_gqa=True, scale=0.3)
    with pytest.raises(vkflash.Error, match="enable_gqa=True"):
        vkflash.scaled_dot_product_attention(q, k, v)


def test_dropout_follows_the_generator_of_numpy(rng):
    q = rng.standard_normal((2, 2, 9, 32)).astype(np.float32)
    results = []
    for seed in (5, 5, 6):
        np.random.seed(seed)
        results.append(vkflash.scaled_dot_product_attention(q, q, q, dropout_p=0.5))
    assert np.array_equal(results[0], results[1]) and not np.array_equal(results[0], results[2])


def test_device_arrays(rng, device):
    q, k, v = (rng.standard_normal((2, 3, 4, n, 32)).astype(np.float32) for n in (9, 13, 13))
    o = vkflash.scaled_dot_product_attention(*(device.array(x) for x in (q, k, v)))
    assert np.array_equal(o.numpy(), vkflash.scaled_dot_product_attention(q, k, v))
    with pytest.raises(vkflash.Error, match="key is a device array of the shape"):
        vkflash.scaled_dot_product_attention(device.array(q), device.array(k[:1]), device.array(v))


def test_refuses_two_masks(rng):
    q = rng.standard_normal((2, 2, 9, 32)).astype(np.float32)
    with pytest.raises(vkflash.Error, match="exclude each other"):
        vkflash.scaled_dot_product_attention(q, q, q, attn_mask=np.ones((9, 9), bool), is_causal=True)
    with pytest.raises(vkflash.Error, match="query has 1 dimensions"):
        vkflash.scaled_dot_product_attention(q[0, 0, 0], q, q)
