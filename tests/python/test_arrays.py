# SPDX-License-Identifier: MIT
"""Which arrays calls take: layouts, views, other libraries, device arrays."""

import sys

import numpy as np
import pytest

import vkflash
from arrays import NAMES, TYPES, tensors
from vkflash import _core, _host


class Foreign:
    """An array of a library that knows DLPack alone."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class Copying(Foreign):
    """Exports a copy that lives as long as its export."""

    def __dlpack__(self, **options):
        return self._array.copy().__dlpack__(**options)


def test_an_export_lives_as_long_as_it_is_read(rng):
    arrays = [rng.standard_normal(1 << 16, np.float32) for _ in range(4)]
    views = [_core.from_dlpack(Copying(x))[0] for x in arrays]
    others = [x * 2 for x in arrays]  # takes memory that was given back
    assert all(np.array_equal(view, x) for view, x in zip(views, arrays)) and len(others) == 4


def test_results_for_jax_go_through_jax_numpy(rng, monkeypatch):
    class FakeJax:
        @staticmethod
        def from_dlpack(array):
            return "jax", np.from_dlpack(array)

    q, k, v = tensors(rng)
    like = type("ArrayImpl", (Foreign,), {"__module__": "jaxlib._jax"})
    monkeypatch.setitem(sys.modules, "jax.numpy", FakeJax)
    library, o = vkflash.attention(*(like(x) for x in (q, k, v)))
    assert library == "jax" and np.array_equal(o, vkflash.attention(q, k, v))


def test_rows_first_is_the_same(rng):
    q, k, v = tensors(rng)
    o, lse = vkflash.attention(q, k, v, return_lse=True)
    rows_first = [np.ascontiguousarray(x.swapaxes(1, 2)) for x in (q, k, v)]
    other, other_lse = vkflash.attention(*rows_first, layout="bnhd", return_lse=True)
    assert np.array_equal(other.swapaxes(1, 2), o) and np.array_equal(other_lse, lse)


@pytest.mark.parametrize("missing", [1, 2])
def test_leading_dimensions_may_be_left_out(rng, missing):
    q, k, v = tensors(rng, batch=1, heads=1, kv_heads=1)
    few = [x.reshape(x.shape[missing:]) for x in (q, k, v)]
    o, lse = vkflash.attention(*few, return_lse=True)
    assert o.shape == few[0].shape and lse.shape == few[0].shape[:-1]
    assert np.array_equal(o.reshape(q.shape), vkflash.attention(q, k, v))


@pytest.mark.parametrize("kind", TYPES, ids=NAMES)
def test_views_give_the_same_bits(rng, kind):
    q, k, v = tensors(rng, kind=kind)
    expected = vkflash.attention(q, k, v)
    wide = np.zeros((2, 4, 9, 40), kind)
    wide[..., :32] = q
    spread = np.zeros((2, 2, 26, 32), kind)
    spread[:, :, ::2] = k
    columns = np.asfortranarray(v)
    assert np.array_equal(vkflash.attention(wide[..., :32], spread[:, :, ::2], columns), expected)


def test_views_of_one_array_are_three_inputs(rng):
    x = rng.standard_normal((2, 10, 3, 4, 32)).astype(np.float32)
    parts = [x[:, :, i] for i in range(3)]
    copies = [np.ascontiguousarray(part) for part in parts]
    assert np.array_equal(vkflash.attention(*parts, layout="bnhd"), vkflash.attention(*copies, layout="bnhd"))


def test_broadcast_inputs_are_not_copied(rng):
    q, k, v = tensors(rng, batch=1, kv_heads=1)
    many = [np.broadcast_to(x, (3, *x.shape[1:])) for x in (q, k, v)]
    assert np.array_equal(vkflash.attention(*many)[2], vkflash.attention(q, k, v)[0])


def test_read_only_arrays_are_inputs(rng):
    q, k, v = tensors(rng)
    q.flags.writeable = False
    assert vkflash.attention(q, k, v).flags.writeable


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_takes_arrays_of_other_libraries(rng, kind):
    q, k, v = tensors(rng, kind=kind)
    o = vkflash.attention(*(Foreign(x) for x in (q, k, v)))
    assert np.array_equal(np.asarray(o), vkflash.attention(q, k, v))


def test_takes_masks_and_views_of_other_libraries(rng):
    q, k, v = tensors(rng)
    mask = rng.random((9, 13)) < 0.7
    has_bools = np.lib.NumpyVersion(np.__version__) >= "1.25.0"  # earlier versions have no DLPack of bool
    o = vkflash.attention(Foreign(q.swapaxes(1, 2)), Foreign(k.swapaxes(1, 2)), Foreign(v.swapaxes(1, 2)),
                          mask=Foreign(mask) if has_bools else mask, lengths=Foreign(np.array([4, 11])), layout="bnhd")
    assert np.array_equal(np.asarray(o).swapaxes(1, 2), vkflash.attention(q, k, v, mask=mask, lengths=[4, 11]))


def test_bfloat16_of_other_libraries_goes_in_and_out(rng):
    q, k, v = tensors(rng, kind=TYPES[2])
    o = vkflash.attention(*(_core.bf16_to_dlpack(x.view(np.uint16)) for x in (q, k, v)))
    bits, is_bf16 = _core.from_dlpack(o)
    assert is_bf16 and np.array_equal(bits, vkflash.attention(q, k, v).view(np.uint16))


@pytest.mark.parametrize("kind", TYPES, ids=NAMES)
def test_device_arrays_give_the_same_bits(rng, device, kind):
    q, k, v = tensors(rng, kind=kind)
    on_device = [device.array(x) for x in (q, k, v)]
    o, lse = vkflash.attention(*on_device, causal=True, return_lse=True)
    assert isinstance(o, vkflash.DeviceArray) and isinstance(lse, vkflash.DeviceArray)
    assert o.dtype == q.dtype
    assert np.array_equal(o.numpy(), vkflash.attention(q, k, v, causal=True))


def test_views_of_device_arrays(rng, device):
    x = rng.standard_normal((4, 6, 8)).astype(np.float32)
    on_device = device.array(x)
    assert np.array_equal(on_device[1:3, ::2].numpy(), x[1:3, ::2])
    assert np.array_equal(on_device[-1, 2].numpy(), x[-1, 2])
    assert np.array_equal(on_device.transpose(1, 0, 2).numpy(), x.transpose(1, 0, 2))
    assert np.array_equal(on_device.reshape(24, 8).numpy(), x.reshape(24, 8))
    assert np.array_equal(np.asarray(on_device), x)
    assert (on_device.ndim, on_device.size, on_device.nbytes, len(on_device)) == (3, 192, 768, 4)
    with pytest.raises(IndexError, match="dimension 0"):
        on_device[4]


def test_views_of_device_arrays_are_inputs(rng, device):
    x = rng.standard_normal((2, 10, 3, 4, 32)).astype(np.float32)
    on_device = device.array(x)
    o = vkflash.attention(*(on_device[:, :, i] for i in range(3)), layout="bnhd")
    assert np.array_equal(o.numpy(), vkflash.attention(*(x[:, :, i] for i in range(3)), layout="bnhd"))


def test_device_arrays_take_new_contents(rng, device):
    q, k, v = tensors(rng)
    on_device = device.array(np.zeros_like(q))
    on_device.update(q)
    assert np.array_equal(vkflash.attention(on_device, k, v).numpy(), vkflash.attention(q, k, v))


def test_optional_inputs_may_be_on_the_device(rng, device):
    q, k, v = tensors(rng)
    options = {"bias": rng.standard_normal((9, 13)).astype(np.float32), "mask": rng.random((2, 1, 9, 13)) < 0.7,
               "lengths": np.array([4, 11], np.int32), "sinks": np.ones(4, np.float32), "alibi": np.ones(4, np.float32)}
    on_device = {name: device.array(x) for name, x in options.items()}
    assert np.array_equal(vkflash.attention(q, k, v, **on_device), vkflash.attention(q, k, v, **options))


def test_arrays_describe_themselves(device):
    assert "float16 [2, 3]" in repr(device.array(np.zeros((2, 3), np.float16)))
    assert device.name in repr(device)


def test_bits_of_bfloat16_need_no_other_package(rng):
    q, k, v = (_host.with_bits(x.view(np.uint16), _host.BF16) for x in tensors(rng, kind=TYPES[2]))
    o = vkflash.attention(q, k, v)
    assert isinstance(o, _host.Bf16Bits)
