# SPDX-License-Identifier: MIT
"""The tensors of a call: shapes and strides as the library takes them, and where their bytes are."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from . import _host
from ._core import Error, Storage
from ._device import Device, DeviceArray, default_device, dense_strides

# The functions of shapes remember results: a loop asks for the same few again and again.
MOST_SHAPES = 4096
LAYOUTS = ("bhnd", "bnhd")


class Tensor(NamedTuple):
    """A tensor of logical shape [batch, heads, rows, dim]. Strides are those of the first three, in elements."""

    type: int
    shape: tuple[int, int, int, int]
    strides: tuple[int, int, int]


class Operand:
    """An input of a call: its tensor, and the array of the host or of the device that has its bytes."""

    __slots__ = ("array", "ndim", "source", "tensor")

    def __init__(self, source: Any, array: Any, tensor: Tensor, ndim: int):
        self.source = source
        self.array = array
        self.tensor = tensor
        self.ndim = ndim


def device_of(device: Device | None, *inputs: Any) -> Device:
    """The device of a call: `device`, or that of its device arrays, or the default one."""
    for value in inputs:
        if isinstance(value, DeviceArray):
            if device is not None and value.device is not device:
                raise Error(f"device is {device!r}, and an input is on {value.device!r}")
            device = value.device
    if device is not None and not isinstance(device, Device):
        raise Error(f"device is a {type(device).__name__}: pass a vkflash.Device")
    return device or default_device()


@functools.lru_cache(MOST_SHAPES)
def order_of(layout: str, ndim: int, name: str) -> tuple[int, ...]:
    """Axes of an array in the order batch, heads, rows, dim; -1 for one that it does not have."""
    if layout not in LAYOUTS:
        raise Error(f'layout is {layout!r}; it takes "bhnd" or "bnhd"')
    if not 2 <= ndim <= 4:
        raise Error(f"{name} has {ndim} dimensions; it takes 2 to 4: [batch, heads, rows, dim], or without the first "
                    "ones")
    if ndim == 2:
        return (-1, -1, 0, 1)
    first = (-1,) if ndim == 3 else (0,)
    base = ndim - 3
    return (*first, base, base + 1, base + 2) if layout == "bhnd" else (*first, base + 1, base, base + 2)


def floats_of(source: Any, name: str) -> tuple[Any, int, tuple[int, ...], tuple[int, ...]]:
    """(array, type, shape, strides in elements) of a host or device array of floats."""
    if isinstance(source, DeviceArray):
        number = type_of(source)
        if number < 0:
            raise Error(f"{name} has elements of {source._bits.name}; it takes float32, float16 or bfloat16")
        return source, number, source.shape, source.strides
    array, number = _host.floats(source, name)
    return array, number, array.shape, element_strides(array)


def element_strides(array: np.ndarray) -> tuple[int, ...]:
    """Strides in elements; -1 for one that is not a whole number of elements."""
    size = array.itemsize
    return tuple(stride // size if stride % size == 0 else -1 for stride in array.strides)


def operand(source: Any, name: str, layout: str) -> Operand:
    """An input tensor of the call."""
    if isinstance(source, DeviceArray) and source._tensor is not None and source._tensor[0] == layout:
        return Operand(source, source, source._tensor[1], len(source.shape))
    array, number, shape, strides = floats_of(source, name)
    order = order_of(layout, len(shape), name)
    tensor = tensor_of(number, shape, strides, order)
    if isinstance(array, DeviceArray):
        if tensor is None:
            raise Error(f"{name} is a device array with gaps between the elements of a row, or with one row for all: "
                        "the library reads dense rows")
        array._tensor = layout, tensor
    if tensor is None or (isinstance(array, np.ndarray) and has_wide_gaps(tensor)):
        array = np.ascontiguousarray(array)
        tensor = tensor_of(number, shape, element_strides(array), order)
    return Operand(source, array, tensor, len(shape))


def operands(q: Any, k: Any, v: Any, layout: str) -> tuple[Operand, Operand, Operand]:
    return operand(q, "q", layout), operand(k, "k", layout), operand(v, "v", layout)


@functools.lru_cache(MOST_SHAPES)
def tensor_of(number: int, shape: tuple[int, ...], strides: tuple[int, ...], order: tuple[int, ...]) -> Tensor | None:
    """The tensor of an array; None if the library does not take its strides."""
    if 0 in shape:  # no element is read
        strides = dense_strides(shape)
    if -1 in strides or (shape[-1] > 1 and strides[-1] != 1):
        return None
    full = tuple(1 if axis < 0 else shape[axis] for axis in order)
    steps = filled_strides(full, tuple(0 if axis < 0 else strides[axis] for axis in order[:3]))
    if steps == (0, 0, 0):  # for the library this is a dense tensor
        return None
    return Tensor(number, full, steps)


def has_wide_gaps(tensor: Tensor) -> bool:
    """Whether a copy of the array is cheaper than a copy of the gaps to the device."""
    span = 1 + sum((n - 1) * stride for n, stride in zip(tensor.shape, (*tensor.strides, 1)))
    return span > 4 * math.prod(tensor.shape) > 0


def filled_strides(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int, int]:
    """Strides of dimensions with one entry do not matter. They get those of a dense tensor, so that not all are 0."""
    step, filled = max(shape[3], 1), [0, 0, 0]
    for axis in (2, 1, 0):
        filled[axis] = strides[axis] if shape[axis] > 1 else step
        step = max(step, filled[axis] * max(shape[axis], 1))
    return (filled[0], filled[1], filled[2])


def type_of(array: DeviceArray) -> int:
    """The library's number for the elements of a device array of floats; -1 for other elements."""
    return _host.BF16 if array._is_bf16 else _host.FLOATS.get(array._bits, -1)


def dense_of(array: Any, name: str, shape: tuple[int, ...], bits: type) -> Any:
    """Checks an array of the host or of the device that the library reads as a dense one."""
    if tuple(array.shape) != shape:
        raise Error(f"{name} has the shape {tuple(array.shape)}; it takes {list(shape)}")
    if isinstance(array, DeviceArray):
        if array._bits != bits or array._is_bf16:
            raise Error(f"{name} is a device array of {array._bits.name}; it takes {np.dtype(bits).name}")
        if array.strides != dense_strides(shape) and array.size > 1:
            raise Error(f"{name} is a device array with gaps; it takes a dense one")
    return array


def place(device: Device, array: Any) -> tuple[Storage, int]:
    """The bytes of an array on the device: those of a device array, or a copy."""
    if isinstance(array, DeviceArray):
        return array._storage, array._offset
    if isinstance(array, Storage):
        return array, 0
    span = array.itemsize + sum((n - 1) * stride for n, stride in zip(array.shape, array.strides)) if array.size else 0
    storage = Storage(device._core, span)
    storage.upload(array)
    return storage, 0


class Places:
    """Places the arrays of one call. An array that is several inputs is copied once."""

    def __init__(self, device: Device):
        self._device = device
        self._known: dict[int, tuple[Storage, int]] = {}

    def __call__(self, operand: Operand) -> tuple[Storage, int]:
        if isinstance(operand.array, DeviceArray):
            return operand.array._storage, operand.array._offset
        key = id(operand.source)
        if key not in self._known:
            self._known[key] = place(self._device, operand.array)
        return self._known[key]


@functools.lru_cache(MOST_SHAPES)
def output(layout: str, ndim: int, shape: tuple[int, int, int, int], number: int) -> tuple[tuple[int, ...], Tensor]:
    """Shape of an output array of this layout, and its tensor: dense."""
    batch, heads, rows, dim = shape
    if layout == "bhnd":
        full, strides = (batch, heads, rows, dim), (heads * rows * dim, rows * dim, dim)
    else:
        full, strides = (batch, rows, heads, dim), (rows * heads * dim, dim, heads * dim)
    shown = {2: (rows, dim), 3: full[1:], 4: full}[ndim]
    return shown, Tensor(number, shape, filled_strides(shape, strides))
