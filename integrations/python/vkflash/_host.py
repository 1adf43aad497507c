# SPDX-License-Identifier: MIT
"""Arrays of the host: which ones calls take, and how results go back to the library that an input came from."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ._core import Error, bf16_to_dlpack, from_dlpack, types

FLOATS = {np.dtype(np.float32): types["f32"], np.dtype(np.float16): types["f16"]}
BF16 = types["bf16"]
NUMPY_TYPES = {types["f32"]: np.dtype(np.float32), types["f16"]: np.dtype(np.float16)}
# NumPy has no bfloat16 of its own. Inside the package its bits are in this type.
BITS = np.dtype(np.uint16)


class Bf16Bits(np.ndarray):
    """The bits of bfloat16, inside the package: ml_dtypes need not be installed."""


def with_bits(array: np.ndarray, number: int) -> np.ndarray:
    """The result of floats() as an array that remembers whether it is bfloat16."""
    return array.view(Bf16Bits) if number == BF16 else array


def to_numpy(value: Any, name: str) -> tuple[np.ndarray, bool]:
    """The array on the memory of `value`, and whether its elements are the bits of bfloat16."""
    if isinstance(value, Bf16Bits):
        array, is_bf16 = value.view(np.ndarray), True
    elif isinstance(value, np.ndarray):
        array, is_bf16 = value, value.dtype.name == "bfloat16"
    elif hasattr(value, "__dlpack__"):
        try:
            # Not every way out of PyTorch refuses a tensor with gradients, and they would be lost.
            if getattr(value, "requires_grad", False):
                raise Error("gradients")
            array, is_bf16 = from_dlpack(value)
        except Error:
            raise Error(f"{name} is a {type(value).__name__} whose memory cannot be read: pass one on the CPU that "
                        "needs no gradient") from None
    else:
        raise Error(f"{name} is a {type(value).__name__}: pass an array of NumPy, or one with DLPack")
    if not array.dtype.isnative:
        raise Error(f"{name} has bytes in the order of other machines ({array.dtype.str}): pass "
                    f"{name}.astype(np.{array.dtype.name})")
    if any(stride < 0 for stride in array.strides):
        raise Error(f"{name} has negative strides: pass np.ascontiguousarray({name})")
    return (array.view(BITS) if is_bf16 else array), is_bf16


def floats(value: Any, name: str) -> tuple[np.ndarray, int]:
    """An array of float32, float16 or bfloat16, and its type for the library."""
    array, is_bf16 = to_numpy(value, name)
    if is_bf16:
        return array, BF16
    number = FLOATS.get(array.dtype)
    if number is None:
        hint = f": pass {name}.astype(np.float32)" if array.dtype == np.float64 else ""
        raise Error(f"{name} has elements of {array.dtype.name}; it takes float32, float16 or bfloat16{hint}")
    return array, number


def float32s(value: Any, name: str) -> np.ndarray:
    """A dense array of float32. Other floats are converted."""
    array, number = floats(value, name)
    if number == BF16:
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return np.ascontiguousarray(array, np.float32)


def integers(value: Any, name: str) -> np.ndarray:
    """A dense array of int32 from integers of any size."""
    array = np.asarray(value) if isinstance(value, (list, tuple)) else to_numpy(value, name)[0]
    if array.dtype.kind not in "iu":
        raise Error(f"{name} has elements of {array.dtype.name}; it takes integers")
    if array.size and (array.min() < -2**31 or array.max() >= 2**31):
        raise Error(f"{name} has a number that does not fit 32 bits")
    return np.ascontiguousarray(array, np.int32)


def empty(shape: tuple[int, ...], number: int) -> np.ndarray:
    return np.empty(shape, NUMPY_TYPES.get(number, BITS))


def bfloat16() -> np.dtype:
    """The type of ml_dtypes."""
    try:
        import ml_dtypes
    except ImportError:
        raise Error("an array of bfloat16 needs the package ml_dtypes") from None
    return np.dtype(ml_dtypes.bfloat16)


def give_back(array: np.ndarray, number: int, like: Any) -> Any:
    """A result, as an array of the library that `like` belongs to."""
    if isinstance(like, np.ndarray):
        if number != BF16:
            return array
        if isinstance(like, Bf16Bits):
            return array.view(Bf16Bits)
        return array.view(like.dtype if like.dtype.name == "bfloat16" else bfloat16())
    result = bf16_to_dlpack(array) if number == BF16 else array
    package = type(like).__module__.partition(".")[0]
    library = sys.modules.get("jax.numpy" if package == "jaxlib" else package)
    convert = getattr(library, "from_dlpack", None)
    return convert(result) if convert else result
