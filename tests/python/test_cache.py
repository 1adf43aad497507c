# SPDX-License-Identifier: MIT
"""Cache: a decode loop is causal attention over all rows."""

import numpy as np
import pytest

import vkflash

TOLERANCE = {"f32": 1e-5, "f16": 5e-3, "bf16": 4e-2, "q8_0": 3e-2, "q4_0": 0.4, "e4m3": 0.15, "e5m2": 0.3}


def rotated(x, base=10000.0, first=0):
    """x [batch, heads, rows, dim], rotated in halves by positions from `first` on."""
    half = x.shape[-1] // 2
    angles = (first + np.arange(x.shape[2]))[:, None] * base ** (-np.arange(half) / half)
    low, high = x[..., :half].astype(np.float64), x[..., half:].astype(np.float64)
    return np.concatenate([low * np.cos(angles) - high * np.sin(angles),
                           low * np.sin(angles) + high * np.cos(angles)], -1).astype(np.float32)


def rows(rng, count, heads=4, kv_heads=2, batch=2):
    return tuple(rng.standard_normal((batch, n, count, 64)).astype(np.float32) for n in (heads, kv_heads, kv_heads))


@pytest.mark.parametrize("kind", list(TOLERANCE))
@pytest.mark.parametrize("page_size", [None, 8])
def test_decodes(rng, kind, page_size):
    q, k, v = rows(rng, 20)
    cache = vkflash.Cache(2, 2, 24, 64, type=kind, page_size=page_size, rotary="halves")
    o = [cache.decode(q[:, :, :11], k[:, :, :11], v[:, :, :11])]
    o += [cache.decode(*(x[:, :, i:i + 1] for x in (q, k, v))) for i in range(11, 20)]
    expected = vkflash.attention(rotated(q), rotated(k), v, causal=True)
    assert np.abs(np.concatenate(o, 2) - expected).max() < TOLERANCE[kind]
    assert cache.lengths.tolist() == [20, 20] and kind in repr(cache)


@pytest.mark.parametrize("page_size", [None, 8])
def test_sees_chosen_keys(rng, page_size):
    q, k, v = rows(rng, 20)
    cache = vkflash.Cache(2, 2, 24, 64, type="f32", page_size=page_size)
    cache.append(k[:, :, :19], v[:, :, :19])
    lists = np.array([[[[3, 19, -1, 8]]], [[[0, 12, 17, 23]]]])  # 23 is no key yet
    o = cache.decode(q[:, :, 19:], k[:, :, 19:], v[:, :, 19:], chosen_keys=lists)
    expected = vkflash.attention(q[:, :, 19:], k, v, causal=True, chosen_keys=lists)
    assert np.abs(o - expected).max() < 1e-6
    with pytest.raises(vkflash.Error, match="key 3 twice"):
        cache.attend(q[:, :, 19:], chosen_keys=[3, 3])


def test_keeps_everything_on_the_device(rng, device):
    q, k, v = rows(rng, 5)
    cache = vkflash.Cache(2, 2, 8, 64, type="f32")
    o, lse = cache.decode(*(device.array(x) for x in (q, k, v)), return_lse=True)
    expected, expected_lse = vkflash.attention(q, k, v, causal=True, return_lse=True)
    assert isinstance(o, vkflash.DeviceArray)
    assert np.abs(o.numpy() - expected).max() < 1e-6 and np.abs(lse.numpy() - expected_lse).max() < 1e-5


def test_rows_first(rng):
    q, k, v = rows(rng, 5)
    caches = [vkflash.Cache(2, 2, 8, 64, rotary="interleaved") for _ in range(2)]
    o = caches[0].decode(q, k, v)
    other = caches[1].decode(*(x.swapaxes(1, 2) for x in (q, k, v)), layout="bnhd")
    assert np.array_equal(other.swapaxes(1, 2), o)


def test_a_batch_of_one_may_be_left_out(rng):
    q, k, v = rows(rng, 5, batch=1)
    caches = [vkflash.Cache(1, 2, 8, 64) for _ in range(2)]
    o, lse = caches[0].decode(q, k, v, return_lse=True)
    other, other_lse = caches[1].decode(q[0], k[0], v[0], return_lse=True)
    assert np.array_equal(other, o[0]) and np.array_equal(other_lse, lse[0])


def test_a_sequence_starts_again(rng):
    q, k, v = rows(rng, 6)
    cache = vkflash.Cache(2, 2, 8, 64, page_size=4, pages=4)
    cache.append(k, v)
    cache.clear(0)
    assert cache.lengths.tolist() == [0, 6]
    cache.append(k[:, :, :2], v[:, :, :2])
    o = cache.attend(q[:, :, :1])
    expected = vkflash.attention(q[:1, :, :1], k[:1, :, :2], v[:1, :, :2])
    assert np.abs(o[:1] - expected).max() < 5e-3


def test_refuses_rows_that_do_not_fit(rng):
    q, k, v = rows(rng, 6)
    cache = vkflash.Cache(2, 2, 8, 64)
    cache.append(k, v)
    with pytest.raises(vkflash.Error, match="the cache is full: a sequence would have 12 rows, and its capacity is 8"):
        cache.append(k, v)
    assert cache.lengths.tolist() == [6, 6]
    few_pages = vkflash.Cache(2, 2, 16, 64, page_size=4, pages=5)
    few_pages.append(k, v)
    with pytest.raises(vkflash.Error, match="need 2 pages, and 1 of 5 are free"):
        few_pages.append(k, v)


@pytest.mark.parametrize(("options", "sentence"), [
    ({"type": "q9"}, "type is 'q9'; it takes one of f32"),
    ({"page_size": 0}, "page_size is 0; it takes a number of at least 1"),
    ({"pages": 3}, "pages needs page_size"),
    ({"rotary": True}, "rotary is True"),
    ({"type": "q8_0", "value_dim": 48}, "blocks of 32 elements"),
    ({"type": "e4m3", "value_dim": 24}, "blocks of 16 elements"),
])
def test_refuses_options(options, sentence):
    with pytest.raises(vkflash.Error, match=sentence):
        vkflash.Cache(1, 1, 8, 64, **options)


@pytest.mark.parametrize("page_size", [None, 2])
def test_a_refused_step_appends_nothing(rng, page_size):
    q, k, v = rows(rng, 1)
    cache = vkflash.Cache(2, 2, 8, 64, page_size=page_size)
    other = vkflash.Cache(2, 2, 8, 64, page_size=page_size)
    for one in (cache, other):
        one.decode(q, k, v)
    with pytest.raises(vkflash.Error, match="path"):
        cache.decode(q, 2 * k, 2 * v, path="scaler")
    assert np.array_equal(cache.lengths, other.lengths)
    assert np.array_equal(np.asarray(cache.decode(q, k, v)), np.asarray(other.decode(q, k, v)))


def test_refuses_other_shapes(rng):
    q, k, v = rows(rng, 1)
    cache = vkflash.Cache(2, 2, 8, 64)
    with pytest.raises(vkflash.Error, match="k has"):
        cache.append(k[:1], v)
    with pytest.raises(vkflash.Error, match="needs a cache with rotary"):
        cache.append(k, v, q)
    with pytest.raises(vkflash.Error, match="batch is 0"):
        vkflash.Cache(0, 2, 8, 64)
    with pytest.raises(vkflash.Error, match="q has"):
        cache.attend(q[..., :32])
