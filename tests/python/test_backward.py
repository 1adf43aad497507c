# SPDX-License-Identifier: MIT
"""attention_backward() against formulas in fp64."""

import numpy as np
import pytest

import formulas
import vkflash
from arrays import NAMES, TYPES, tensors


@pytest.mark.parametrize("kind", TYPES, ids=NAMES)
@pytest.mark.parametrize("layout", ["bhnd", "bnhd"])
def test_computes_gradients(rng, kind, layout):
    q, k, v = tensors(rng, kind=kind)
    do = rng.standard_normal(q.shape).astype(kind)
    seen = formulas.visible(9, 13, "bottom-right")
    inputs = [x.swapaxes(1, 2) if layout == "bnhd" else x for x in (q, k, v, do)]
    o, lse = vkflash.attention(*inputs[:3], causal=True, layout=layout, return_lse=True)
    gradients = vkflash.attention_backward(inputs[3], *inputs[:3], o, lse, causal=True, layout=layout)
    unit = formulas.UNITS[kind.name]
    for found, expected, like in zip(gradients, formulas.backward(do, q, k, v, seen), (q, k, v)):
        found = found.swapaxes(1, 2) if layout == "bnhd" else found
        assert found.shape == like.shape and found.dtype == kind
        assert np.abs(found.astype(np.float64) - expected).max() <= 40 * unit * max(np.abs(expected).max(), 1)


def test_gradients_on_the_device_have_the_same_bits(rng, device):
    q, k, v = tensors(rng)
    o, lse = vkflash.attention(q, k, v, causal=True, return_lse=True)
    expected = vkflash.attention_backward(o, q, k, v, o, lse, causal=True)
    on_device = [device.array(x) for x in (q, k, v)]
    o, lse = vkflash.attention(*on_device, causal=True, return_lse=True)
    for found, other in zip(vkflash.attention_backward(o, *on_device, o, lse, causal=True), expected):
        assert isinstance(found, vkflash.DeviceArray) and np.array_equal(found.numpy(), other)


def test_gradient_of_lse(rng):
    q, k, v = tensors(rng)
    o, lse = vkflash.attention(q, k, v, return_lse=True)
    _, dk, dv = vkflash.attention_backward(np.zeros_like(o), q, k, v, o, lse, dlse=np.ones_like(lse))
    _, _, p = formulas.attention(q, k, v)
    expected = (p.swapaxes(-1, -2) @ q.astype(np.float64) * 32**-0.5).reshape(2, 2, 2, 13, 32).sum(2)
    assert np.all(dv == 0) and np.abs(dk - expected).max() < 1e-5


def test_refuses_other_shapes(rng):
    q, k, v = tensors(rng)
    o, lse = vkflash.attention(q, k, v, return_lse=True)
    with pytest.raises(vkflash.Error, match="do has"):
        vkflash.attention_backward(o[:, :, :5], q, k, v, o, lse)
    with pytest.raises(vkflash.Error, match="lse has the shape"):
        vkflash.attention_backward(o, q, k, v, o, lse[..., :5])
    with pytest.raises(TypeError, match="casual"):
        vkflash.attention_backward(o, q, k, v, o, lse, casual=True)
