# SPDX-License-Identifier: MIT
"""Bad input gets a sentence that names the argument and its limit, and never a crash."""

import numpy as np
import pytest

import vkflash
from arrays import tensors


@pytest.fixture
def qkv(rng):
    return tensors(rng)


def refuses(sentence, q, k, v, **options):
    with pytest.raises(vkflash.Error, match=sentence):
        vkflash.attention(q, k, v, **options)


@pytest.mark.parametrize(("change", "sentence"), [
    (lambda x: x.astype(np.float64), r"q has elements of float64.*q\.astype\(np\.float32\)"),
    (lambda x: x.astype(np.int32), "q has elements of int32; it takes float32, float16 or bfloat16"),
    (lambda x: x.astype(object), "q has elements of object"),
    (lambda x: x.astype(">f4"), "q has bytes in the order of other machines"),
    (lambda x: x[:, :, ::-1], "q has negative strides"),
    (lambda x: x[..., ::-1], "q has negative strides"),
    (lambda x: x.tolist(), "q is a list: pass an array"),
    (lambda x: None, "q is a NoneType: pass an array"),
    (lambda x: x[0, 0, 0], "q has 1 dimensions; it takes 2 to 4"),
    (lambda x: x[None], "q has 5 dimensions; it takes 2 to 4"),
    (lambda x: x[..., :16], "k has rows of 32 elements, and q of 16"),
    (lambda x: x[:1], "k has a batch of 2, and q of 1"),
    (lambda x: x[:, :3], "k has 2 heads, which do not divide the 3 heads of q"),
    (lambda x: x[0], "q, k and v have 3, 4 and 4 dimensions"),
])
def test_refuses_queries(qkv, change, sentence):
    q, k, v = qkv
    refuses(sentence, change(q), k, v)


@pytest.mark.parametrize(("options", "sentence"), [
    ({"causal": "left"}, "causal is 'left'; it takes"),
    ({"causal": 2}, "causal is 2; it takes"),
    ({"window": 3}, "window is 3; it takes"),
    ({"window": (1, -2)}, "at least 0"),
    ({"scale": float("nan")}, "scale is nan"),
    ({"scale": "big"}, "scale is 'big'; it takes a number"),
    ({"softcap": -1}, "softcap"),
    ({"bias": np.zeros((5, 13), np.float32)}, r"bias has the shape \(5, 13\), which does not broadcast"),
    ({"bias": np.zeros((9, 13))}, "bias has elements of float64"),
    ({"mask": np.zeros((9, 13), np.uint8)}, "mask has elements of uint8; it takes bool"),
    ({"mask": np.zeros((1, 2, 4, 9, 13), bool)}, "does not broadcast"),
    ({"alibi": np.zeros(3, np.float32)}, r"alibi has the shape \(3,\); it takes \[4\]"),
    ({"sinks": np.zeros((4, 1), np.float32)}, "sinks has the shape"),
    ({"lengths": [1, 2, 3]}, r"lengths has the shape \(3,\); it takes \[2\]"),
    ({"lengths": [1, 14]}, "not within 0 and 13"),
    ({"lengths": [0.5, 1]}, "lengths has elements of float64; it takes integers"),
    ({"lengths": [1, 2**40]}, "does not fit 32 bits"),
    ({"cu_seqlens_k": [0, 1]}, "cu_seqlens_k needs cu_seqlens_q"),
    ({"cu_seqlens_q": [0, 9]}, "q has 3 dimensions"),
    ({"dropout": 1.0}, "dropout is 1.0; it takes a probability"),
    ({"path": "fast"}, "path is 'fast'; it takes one of auto, scalar"),
    ({"precision": "fp64"}, "precision is 'fp64'; it takes one of default, fp32"),
    ({"layout": "nbhd"}, "layout is 'nbhd'; it takes"),
    ({"device": 0}, "device is a int: pass a vkflash.Device"),
    ({"path": "standard", "mask": np.ones((9, 13), bool)}, "mask on path standard"),
])
def test_refuses_options(qkv, options, sentence):
    refuses(sentence, *qkv, **options)


@pytest.mark.parametrize("starts", [[0, 5], [1, 9], [0, 6, 4, 9], [0]])
def test_refuses_starts_of_sequences(qkv, starts):
    refuses("cu_seqlens_q", *(x[0] for x in qkv), cu_seqlens_q=starts, cu_seqlens_k=[0, 13])


def test_refuses_keys_and_values_that_differ(qkv):
    q, k, v = qkv
    refuses("they must be equal", q, k, v[:, :, :5])


def test_refuses_devices_that_differ(qkv):
    q, k, v = qkv
    other = vkflash.Device()
    with pytest.raises(vkflash.Error, match="device is"):
        vkflash.attention(other.array(q), k, v, device=vkflash.default_device())


def test_refuses_a_device_that_is_not_there():
    with pytest.raises(vkflash.Error, match="no such card"):
        vkflash.Device("no such card")


def test_refuses_gaps_in_device_rows(qkv, device):
    q, k, v = qkv
    with pytest.raises(vkflash.Error, match="gaps between the elements of a row"):
        vkflash.attention(device.array(q)[..., ::2], k[..., :16], v)


def test_refuses_gaps_in_small_device_arrays(qkv, device):
    q, k, v = qkv
    refuses("sinks is a device array with gaps", q, k, v, sinks=device.array(np.ones(8, np.float32))[::2])
    refuses("lengths is a device array of float32; it takes int32", q, k, v,
            lengths=device.array(np.ones(2, np.float32)))
    o, lse = vkflash.attention(q, k, v, return_lse=True)
    with pytest.raises(vkflash.Error, match="lse is a device array with gaps"):
        vkflash.attention_backward(o, q, k, v, o, device.array(np.repeat(lse, 2, -1))[..., ::2])


def test_refuses_arrays_that_show_no_memory(qkv):
    class Hidden:
        def __dlpack__(self, **options):
            raise BufferError("this array needs a gradient")

        def __dlpack_device__(self):
            return (1, 0)

    refuses("q is a Hidden whose memory cannot be read", Hidden(), *qkv[1:])


def test_refuses_tensors_with_gradients(qkv):
    class Trained:
        requires_grad = True

        def __dlpack__(self, **options):
            return qkv[0].__dlpack__(**options)

        def __dlpack_device__(self):
            return qkv[0].__dlpack_device__()

    refuses("q is a Trained .*needs no gradient", Trained(), *qkv[1:])


def test_refuses_device_arrays_of_other_elements(qkv, device):
    q, k, v = qkv
    refuses("q has elements of int32", device.array(np.zeros(q.shape, np.int32)), k, v)
    with pytest.raises(vkflash.Error, match="x has elements of float64"):
        device.array(np.zeros(3))
    with pytest.raises(vkflash.Error, match="dtype is complex64"):
        device.empty((3,), np.complex64)
    with pytest.raises(vkflash.Error, match="the device array is float32"):
        device.array(q).update(k)


def test_errors_name_their_kind(qkv):
    with pytest.raises(vkflash.Error) as caught:
        vkflash.attention(*qkv, path="standard", mask=np.ones((9, 13), bool))
    assert caught.value.result == "unsupported"
    with pytest.raises(vkflash.Error) as caught:
        vkflash.attention(*qkv, path="fast")
    assert caught.value.result == "invalid argument"


def test_a_call_works_after_an_error(qkv):
    refuses("path", *qkv, path="fast")
    assert vkflash.attention(*qkv).shape == qkv[0].shape


def test_unknown_options_are_type_errors(qkv):
    q, k, v = qkv
    for call in (vkflash.attention, vkflash.plan):
        with pytest.raises(TypeError, match="casual"):
            call(q, k, v, casual=True)
