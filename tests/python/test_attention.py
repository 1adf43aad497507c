# SPDX-License-Identifier: MIT
"""attention() against formulas in fp64."""

import numpy as np
import pytest

import formulas
import vkflash
from arrays import NAMES, TYPES, tensors


def check(result, q, k, v, scale=None, **terms):
    """Compares o, or (o, lse), with the formulas."""
    o, lse = result if isinstance(result, tuple) else (result, None)
    expected, expected_lse, _ = formulas.attention(q, k, v, scale=scale, **terms)
    assert o.dtype == q.dtype and o.shape == expected.shape
    error = np.abs(o.astype(np.float64) - expected).max(initial=0)
    assert error <= formulas.bound(q, k, v, scale), error
    if lse is not None:
        assert lse.dtype == np.float32
        assert np.array_equal(np.isneginf(lse), np.isneginf(expected_lse))
        finite = np.isfinite(expected_lse)
        assert np.abs(lse[finite] - expected_lse[finite]).max(initial=0) <= 0.02


@pytest.mark.parametrize("kind", TYPES, ids=NAMES)
def test_computes_attention_in_each_type(rng, kind):
    q, k, v = tensors(rng, kind=kind)
    check(vkflash.attention(q, k, v, return_lse=True), q, k, v)


def test_finds_a_wrong_result(rng):
    q, k, v = tensors(rng)
    o = vkflash.attention(q, k, v)
    o[1, 2, 3, 4] += 1e-3
    with pytest.raises(AssertionError):
        check(o, q, k, v)


def test_takes_types_that_differ(rng):
    q, k, v = tensors(rng)
    k, v = k.astype(np.float16), v.astype(TYPES[2])
    check(vkflash.attention(q, k, v), q, k, v)


@pytest.mark.parametrize("causal", [True, "bottom-right", "top-left"])
@pytest.mark.parametrize(("rows", "keys"), [(9, 9), (5, 11), (11, 5)])
def test_aligns_causal_masks(rng, causal, rows, keys):
    q, k, v = tensors(rng, rows=rows, keys=keys)
    seen = formulas.visible(rows, keys, "top-left" if causal == "top-left" else "bottom-right")
    check(vkflash.attention(q, k, v, causal=causal, return_lse=True), q, k, v, seen=seen)


@pytest.mark.parametrize("window", [(3, 2), (None, 1), (2, -1), (0, 0)])
def test_slides_windows(rng, window):
    q, k, v = tensors(rng)
    seen = formulas.visible(9, 13, window=[-1 if side is None else side for side in window])
    check(vkflash.attention(q, k, v, window=window), q, k, v, seen=seen)


def test_windows_limit_causal_masks(rng):
    q, k, v = tensors(rng)
    seen = formulas.visible(9, 13, "bottom-right", (4, 0))
    check(vkflash.attention(q, k, v, causal=True, window=(4, 0)), q, k, v, seen=seen)


@pytest.mark.parametrize("scale", [0.25, -0.5, 0.0])
def test_scales(rng, scale):
    q, k, v = tensors(rng)
    check(vkflash.attention(q, k, v, scale=scale), q, k, v, scale=scale)


def test_caps_scores(rng):
    q, k, v = tensors(rng)
    check(vkflash.attention(q, k, v, softcap=0.75), q, k, v, softcap=0.75)


@pytest.mark.parametrize("shape", [(9, 13), (1, 13), (13,), (4, 1, 13), (2, 1, 9, 13), (2, 4, 9, 13), (4, 9, 1)])
@pytest.mark.parametrize("kind", TYPES, ids=NAMES)
def test_broadcasts_biases(rng, shape, kind):
    q, k, v = tensors(rng)
    bias = rng.standard_normal(shape).astype(kind)
    check(vkflash.attention(q, k, v, bias=bias), q, k, v, bias=bias.astype(np.float64))


@pytest.mark.parametrize("shape", [(9, 13), (13,), (4, 1, 13), (2, 1, 9, 13), (2, 4, 9, 13), (2, 1, 1, 13), (9, 1)])
def test_broadcasts_masks(rng, shape):
    q, k, v = tensors(rng)
    mask = rng.random(shape) < 0.6
    result = vkflash.attention(q, k, v, mask=mask, return_lse=True)
    check(result, q, k, v, seen=np.broadcast_to(mask, (2, 4, 9, 13)))


def test_rows_without_keys_are_zero(rng):
    q, k, v = tensors(rng)
    mask = np.ones((9, 13), bool)
    mask[3] = False
    o, lse = vkflash.attention(q, k, v, mask=mask, return_lse=True)
    assert np.all(o[:, :, 3] == 0) and np.all(np.isneginf(lse[:, :, 3]))


def test_masked_nan_never_reaches_a_result(rng):
    q, k, v = tensors(rng)
    k[:, :, 5], v[:, :, 5] = np.nan, np.nan
    mask = np.arange(13) != 5
    assert np.all(np.isfinite(vkflash.attention(q, k, v, mask=mask)))


def seen_by(lists, heads, keys):
    """bool [batch, heads, rows, keys] of lists [batch, kv heads, rows, count]."""
    seen = (lists[..., None] == np.arange(keys)).any(-2)
    return np.repeat(seen, heads // lists.shape[1], axis=1)


@pytest.mark.parametrize("shape", [(5,), (9, 5), (1, 5), (2, 1, 5), (2, 9, 5), (2, 1, 9, 5), (2, 1, 1, 5),
                                   (2, 2, 9, 5)])
def test_sees_chosen_keys(rng, shape):
    q, k, v = tensors(rng)
    lists = rng.permuted(np.broadcast_to(np.arange(-1, 15), (*shape[:-1], 16)), axis=-1)[..., :5]
    seen = seen_by(np.broadcast_to(lists, (2, 2, 9, 5)), 4, 13)
    for path in ("decode", "scalar"):
        result = vkflash.attention(q, k, v, chosen_keys=lists, return_lse=True, path=path)
        check(result, q, k, v, seen=seen)
    causal = seen & formulas.visible(9, 13, causal=True)
    check(vkflash.attention(q, k, v, chosen_keys=lists, causal=True, return_lse=True), q, k, v, seen=causal)


def test_keys_that_no_list_has_may_be_nan(rng, device):
    q, k, v = tensors(rng)
    k[:, :, 3], v[:, :, 3] = np.nan, np.nan
    lists = np.array([12, -1, 0, 5], np.int32)
    expected = vkflash.attention(q, *(x[:, :, [0, 5, 12]] for x in (k, v)))
    for chosen in (lists, lists.astype(np.int64), lists.tolist(), device.array(lists)):
        assert np.abs(vkflash.attention(q, k, v, chosen_keys=chosen) - expected).max() < 1e-5


def test_packed_sequences_have_lists_of_their_own_keys(rng):
    q, k, v = (x[0] for x in tensors(rng, batch=1, rows=9, keys=13))
    lists = np.array([[0, 2], [1, 3], [3, 0], [4, -1], [0, 1], [2, 7], [5, 6], [7, 0], [3, 2]])
    o = vkflash.attention(q, k, v, chosen_keys=lists, cu_seqlens_q=[0, 4, 9], cu_seqlens_k=[0, 5, 13])
    for rows, keys in ((slice(0, 4), slice(0, 5)), (slice(4, 9), slice(5, 13))):
        alone = vkflash.attention(q[:, rows], k[:, keys], v[:, keys], chosen_keys=lists[rows])
        assert np.abs(o[:, rows] - alone).max() < 1e-5


def test_refuses_wrong_lists(rng):
    q, k, v = tensors(rng)
    for lists, sentence in (([3, 5, 3], "key 3 twice"), (np.zeros((8, 5), np.int32), "does not broadcast"),
                            ([0.5, 1], "integers"), (np.zeros((9, 0), np.int32), "count")):
        with pytest.raises(vkflash.Error, match=sentence):
            vkflash.attention(q, k, v, chosen_keys=lists)
    assert not vkflash.attention(q, k, v, chosen_keys=[-1, -1, 13, 13]).any()
    with pytest.raises(vkflash.Error):
        vkflash.attention_backward(q, q, k, v, q, q[..., 0], chosen_keys=[0, 1])


def test_adds_alibi(rng):
    q, k, v = tensors(rng)
    check(vkflash.attention(q, k, v, alibi=True), q, k, v, alibi=2.0 ** (-8 * np.arange(1, 5) / 4))
    slopes = [0.1, 0.0, 0.5, 1.0]
    check(vkflash.attention(q, k, v, alibi=np.array(slopes, np.float16)), q, k, v,
          alibi=np.array(slopes, np.float16).astype(np.float64))


def test_sinks_join_the_softmax(rng):
    q, k, v = tensors(rng)
    sinks = np.array([1, -2, 0.5, 3], np.float32)
    check(vkflash.attention(q, k, v, sinks=sinks, return_lse=True), q, k, v, sinks=sinks)


def test_drops_keys_past_lengths(rng):
    q, k, v = tensors(rng)
    seen = np.arange(13)[None, None, None, :] < np.array([4, 11])[:, None, None, None]
    check(vkflash.attention(q, k, v, lengths=[4, 11]), q, k, v, seen=seen)


@pytest.mark.parametrize("layout", ["bhnd", "bnhd"])
def test_packs_sequences(rng, layout):
    rows, keys = [3, 0, 7, 2], [5, 2, 7, 1]
    starts_q, starts_k = np.cumsum([0, *rows]), np.cumsum([0, *keys])
    q, k, v = (x[0] for x in tensors(rng, batch=1, rows=12, keys=15))
    axes = (1, 0, 2) if layout == "bnhd" else (0, 1, 2)
    o, lse = vkflash.attention(*(x.transpose(axes) for x in (q, k, v)), cu_seqlens_q=starts_q, cu_seqlens_k=starts_k,
                               causal=True, return_lse=True, layout=layout)
    assert lse.shape == (4, 12)
    o = o.transpose(axes)
    for b, (n, m) in enumerate(zip(rows, keys)):
        inputs = [x[None, :, start[b]:start[b + 1]] for x, start in ((q, starts_q), (k, starts_k), (v, starts_k))]
        check(o[None, :, starts_q[b]:starts_q[b + 1]], *inputs, seen=formulas.visible(n, m, "bottom-right"))


def test_one_array_of_starts_serves_both(rng):
    q, k, v = (x[0] for x in tensors(rng, batch=1, rows=10, keys=10))
    starts = [0, 4, 10]
    both = vkflash.attention(q, k, v, cu_seqlens_q=starts, cu_seqlens_k=starts)
    assert np.array_equal(vkflash.attention(q, k, v, cu_seqlens_q=starts), both)


def test_dropout_depends_on_the_seed_alone(rng):
    q, k, v = tensors(rng)
    first, again, other = (vkflash.attention(q, k, v, dropout=0.5, dropout_seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


def test_dropout_keeps_the_mean(rng):
    q, k, _ = tensors(rng, rows=64, keys=64)
    ones = np.ones((2, 2, 64, 32), np.float32)
    assert abs(vkflash.attention(q, k, ones, dropout=0.5).mean() - 1) < 0.1


@pytest.mark.parametrize("path", ["scalar", "standard", "coopmat", "decode", "key_outer"])
def test_paths_agree(rng, path):
    q, k, v = tensors(rng, rows=20, keys=40, kind=np.float16)
    try:
        o = vkflash.attention(q, k, v, causal=True, path=path)
    except vkflash.Error as error:
        pytest.skip(str(error))
    check(o, q, k, v, seen=formulas.visible(20, 40, "bottom-right"))


def test_precision_chooses_the_products(rng):
    q, k, v = tensors(rng, rows=40, keys=40, kind=np.float16)
    exact = [x.astype(np.float32) for x in (q, k, v)]
    o = vkflash.attention(q, k, v, precision="fp32").astype(np.float32)
    assert np.abs(o - vkflash.attention(*exact, path="scalar")).max() <= 2.0**-11 * np.abs(v).max()
    assert vkflash.plan(q, k, v, precision="fp32").path != "coopmat"


def test_values_have_their_own_dimension(rng):
    q, k, v = tensors(rng, value_dim=48)
    check(vkflash.attention(q, k, v), q, k, v)


@pytest.mark.parametrize(("rows", "keys"), [(0, 5), (3, 0), (1, 1)])
def test_takes_few_rows_and_keys(rng, rows, keys):
    q, k, v = tensors(rng, rows=rows, keys=keys)
    check(vkflash.attention(q, k, v, return_lse=True), q, k, v)


def test_explains_a_plan(rng):
    q, k, v = tensors(rng)
    plan = vkflash.plan(q, k, v, causal=True, path="scalar")
    assert plan.path == "scalar" and "causal" in plan.description and plan.steps == 1
    assert plan.reasons["scalar"] in str(plan) and "scalar" in repr(plan)
