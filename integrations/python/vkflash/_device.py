# SPDX-License-Identifier: MIT
"""Devices, and arrays in their memory."""

from __future__ import annotations

import functools
import math
import operator
import threading
from collections import OrderedDict
from typing import Any, Callable, Iterable

import numpy as np

from . import _core, _host, _results
from ._core import Error, Storage

MOST_PLANS = 256


def devices() -> list[dict[str, Any]]:
    """The Vulkan devices of this machine.

    Each entry has index, name, kind ("discrete", "integrated", "virtual", "cpu" or "other"), driver, memory_bytes,
    usable, and reason, which says why a device is not usable.

    >>> any(entry["usable"] for entry in vkflash.devices())
    True
    """
    return _core.list_devices()


class Device:
    """An open device. It lives as long as the program or an array uses it.

    select: "" = the best device; a number = the device of this index; text = the first device whose name contains it.
    validation: True = load the Khronos validation layer. Default: False.
    tuning: content of a tuning file. Default: none.
    timeout: seconds after which a step that has not finished counts as a lost device. Default: 600.

    Raises Error if `select` fits no device, or if the device lacks what the library needs.

    >>> device = vkflash.Device()
    >>> x = device.array(np.zeros((2, 8, 16, 64), np.float32))
    >>> x.shape, x.dtype.name
    ((2, 8, 16, 64), 'float32')
    """

    def __init__(self, select: str | int = "", *, validation: bool = False, tuning: str = "", timeout: float = 600.0):
        self._core = _core.open_device(str(select), validation, tuning, timeout)
        self._plans: OrderedDict[Any, Any] = OrderedDict()
        self._lock = threading.Lock()
        self._summary = self._core.summary()

    @property
    def name(self) -> str:
        """The driver's name for the device."""
        return self._summary["name"]

    @property
    def summary(self) -> dict[str, Any]:
        """The entry of devices() for this device."""
        return dict(self._summary)

    @property
    def bytes_in_use(self) -> int:
        """Bytes of all device arrays, and of memory that is kept for the next calls."""
        return self._core.bytes_in_use()

    @property
    def validation_messages(self) -> int:
        """Number of warnings and errors of the validation layer so far."""
        return self._core.validation_messages()

    def free_memory(self) -> None:
        """Gives memory back to the driver that is kept for the next calls."""
        self._core.free_memory()
        _results.clear()

    def array(self, x: Any) -> DeviceArray:
        """Copies an array to the device.

        x: any shape, of float32, float16, bfloat16, bool or integers, which become int32.

        >>> vkflash.default_device().array(np.arange(3)).numpy()
        array([0, 1, 2], dtype=int32)
        """
        array, is_bf16 = _host.to_numpy(x, "x")
        if array.dtype.kind in "iu" and not is_bf16:
            array = _host.integers(array, "x")
        elif array.dtype != np.bool_ and not is_bf16:
            _host.floats(array, "x")
        result = self._allocate(array.shape, array.dtype, is_bf16)
        result._storage.upload(np.ascontiguousarray(array))
        return result

    def empty(self, shape: Iterable[int], dtype: Any = np.float32) -> DeviceArray:
        """An array with undefined contents, of float32, float16, bfloat16, bool or int32."""
        kind = np.dtype(dtype)
        is_bf16 = kind.name == "bfloat16"
        if not is_bf16 and kind.name not in ("float32", "float16", "bool", "int32"):
            raise Error(f"dtype is {kind.name}; a device array takes float32, float16, bfloat16, bool or int32")
        return self._allocate(tuple(int(n) for n in shape), _host.BITS if is_bf16 else kind, is_bf16)

    def _allocate(self, shape: tuple[int, ...], dtype: np.dtype, is_bf16: bool) -> DeviceArray:
        storage = Storage(self._core, math.prod(shape) * dtype.itemsize)
        return DeviceArray(self, storage, 0, shape, dense_strides(shape), dtype, is_bf16)

    def _plan(self, key: Any, create: Callable[[], Any]) -> Any:
        """The plan of this key: one of the last plans, or a new one."""
        with self._lock:
            plan = self._plans.get(key)
            if plan is not None:
                self._plans.move_to_end(key)
                return plan
        plan = create()
        with self._lock:
            self._plans[key] = plan
            if len(self._plans) > MOST_PLANS:
                self._plans.popitem(last=False)
        return plan

    def __repr__(self) -> str:
        summary = self._summary
        return f"<vkflash.Device {summary['index']}: {summary['name']}, {summary['driver']}>"


_default: Device | None = None
_default_lock = threading.Lock()


def default_device() -> Device:
    """The device of calls that name none: that of set_default_device(), or the best one, which the first call opens."""
    global _default
    with _default_lock:
        if _default is None:
            _default = Device()
        return _default


def set_default_device(device: Device) -> None:
    """Lets calls that name no device use this one.

    >>> vkflash.set_default_device(vkflash.default_device())
    """
    global _default
    if not isinstance(device, Device):
        raise Error(f"device is a {type(device).__name__}: pass a vkflash.Device")
    with _default_lock:
        _default = device


@functools.lru_cache(4096)
def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of a dense array."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def full_index(index: Any, ndim: int) -> list[Any]:
    """An index for each dimension: `...` and dimensions that are left out become slices of everything."""
    indices = list(index) if isinstance(index, tuple) else [index]
    named = len(indices) - indices.count(...)
    if named > ndim or len(indices) - named > 1:
        raise IndexError(f"the index {index} does not fit {ndim} dimensions")
    at = indices.index(...) if ... in indices else len(indices)
    return indices[:at] + [slice(None)] * (ndim - named) + indices[at + 1:]


class DeviceArray:
    """An array in the memory of a device. Device.array and calls on device arrays make them.

    shape: as of NumPy. strides: in elements. dtype: as of NumPy; bfloat16 is that of ml_dtypes. device: its Device.
    Slices and transposes are views on the same memory.

    >>> x = vkflash.default_device().array(np.arange(6, dtype=np.float32).reshape(2, 3))
    >>> x[1].numpy()
    array([3., 4., 5.], dtype=float32)
    """

    __slots__ = ("_bits", "_is_bf16", "_offset", "_storage", "_tensor", "device", "shape", "strides")

    def __init__(self, device: Device, storage: Storage, offset: int, shape: tuple[int, ...],
                 strides: tuple[int, ...], bits: np.dtype, is_bf16: bool):
        self.device = device
        self.shape = shape
        self.strides = strides
        self._storage = storage
        self._offset = offset
        self._bits = bits
        self._is_bf16 = is_bf16
        self._tensor: tuple[str, Any] | None = None  # of the last call: its layout, and the tensor that it saw

    @property
    def dtype(self) -> np.dtype:
        return _host.bfloat16() if self._is_bf16 else self._bits

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self._bits.itemsize

    def numpy(self) -> np.ndarray:
        """A copy in the memory of the host."""
        array = self._host_bits()
        return array.view(_host.bfloat16()) if self._is_bf16 else array

    def _host_bits(self) -> np.ndarray:
        if self.size == 0:
            return np.empty(self.shape, self._bits)
        if self.strides == dense_strides(self.shape):
            array = _results.empty(self.shape, self._bits)
            self._storage.download(array, self._offset)
            return array
        span = 1 + sum((n - 1) * stride for n, stride in zip(self.shape, self.strides))
        flat = np.empty(span, self._bits)
        self._storage.download(flat, self._offset)
        strides = [stride * self._bits.itemsize for stride in self.strides]
        return np.ascontiguousarray(np.lib.stride_tricks.as_strided(flat, self.shape, strides))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def update(self, x: Any) -> None:
        """Copies new contents of the same shape and dtype to the device."""
        array, is_bf16 = _host.to_numpy(x, "x")
        if array.dtype.kind in "iu" and self._bits == np.int32:
            array = _host.integers(array, "x")
        if array.shape != self.shape or array.dtype != self._bits or is_bf16 != self._is_bf16:
            raise Error(f"x is {array.dtype.name} {array.shape}; the device array is {self._bits.name} {self.shape}")
        if self.strides != dense_strides(self.shape):
            raise Error("update takes a dense device array, not a view with gaps")
        self._storage.upload(np.ascontiguousarray(array), self._offset)

    def transpose(self, *axes: int) -> DeviceArray:
        """A view with its dimensions in this order; without axes in the opposite order."""
        order = axes or tuple(range(self.ndim))[::-1]
        if sorted(order) != list(range(self.ndim)):
            raise Error(f"axes {axes} are not an order of {self.ndim} dimensions")
        return self._view(self._offset, tuple(self.shape[a] for a in order), tuple(self.strides[a] for a in order))

    def reshape(self, *shape: int) -> DeviceArray:
        """A view of another shape on a dense array."""
        if math.prod(shape) != self.size:
            raise Error(f"shape {shape} has other elements than {self.shape}")
        if self.strides != dense_strides(self.shape):
            raise Error("reshape takes a dense device array, not a view with gaps")
        return self._view(self._offset, shape, dense_strides(shape))

    def __getitem__(self, index: Any) -> DeviceArray:
        offset, shape, strides = 0, [], []
        for axis, (size, stride, part) in enumerate(zip(self.shape, self.strides, full_index(index, self.ndim))):
            if isinstance(part, slice):
                start, stop, step = part.indices(size)
                if step < 0:
                    raise Error("a device array has no slices with negative steps")
                count = len(range(start, stop, step))
                offset += start * stride if count else 0
                shape.append(count)
                strides.append(stride * step)
            else:
                number = operator.index(part)
                number += size if number < 0 else 0
                if not 0 <= number < size:
                    raise IndexError(f"index {part} is not within dimension {axis}, which has {size}")
                offset += number * stride
        return self._view(self._offset + offset * self._bits.itemsize, tuple(shape), tuple(strides))

    def __len__(self) -> int:
        return self.shape[0]

    def _view(self, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> DeviceArray:
        return DeviceArray(self.device, self._storage, offset, shape, strides, self._bits, self._is_bf16)

    def __repr__(self) -> str:
        name = "bfloat16" if self._is_bf16 else self._bits.name
        return f"<vkflash.DeviceArray {name} {list(self.shape)} on {self.device.name}>"
