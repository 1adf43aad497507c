# SPDX-License-Identifier: MIT
"""Merges of partial results."""

from __future__ import annotations

from typing import Any, Iterable

import numpy as np

from ._attention import new_output, returned
from ._backward import row_numbers
from ._core import Error, MergePlan, MergeProblem, Storage, stored_bytes, types, uses
from ._device import Device, DeviceArray, dense_strides
from ._operands import Operand, Tensor, device_of, operand, output
from ._problem import core_tensor


def merge(partials: Iterable[tuple[Any, Any]], *, layout: str = "bhnd", device: Device | None = None) -> Any:
    """Merges results of attention over disjoint keys into the result over all keys.

    partials: pairs (o, lse) of equal shapes and types, as attention() returns them with return_lse=True. An lse of -inf
        marks a row without keys.

    Returns (o, lse), as an array of the first o's library, or on the device if the first o is there.

    >>> x = np.arange(8, dtype=np.float32).reshape(4, 2) / 8
    >>> halves = [vkflash.attention(x, x[part], x[part], return_lse=True) for part in (slice(0, 2), slice(2, 4))]
    >>> o, lse = vkflash.merge(halves)
    >>> bool(np.allclose(o, vkflash.attention(x, x, x)))
    True
    """
    pairs = list(partials)
    if not pairs or any(not isinstance(pair, tuple) or len(pair) != 2 for pair in pairs):
        raise Error("partials takes one or more pairs (o, lse)")
    operands = [operand(o, f"o of partial result {i}", layout) for i, (o, _) in enumerate(pairs)]
    first = operands[0]
    ndim = first.ndim
    shape, tensor = output(layout, ndim, first.tensor.shape, first.tensor.type)
    for i, other in enumerate(operands):
        if (other.tensor.type, other.tensor.shape) != (first.tensor.type, first.tensor.shape):
            raise Error(f"o of partial result {i} has another shape or type than that of partial result 0")
    device = device_of(device, *(x for pair in pairs for x in pair))
    lse_shape = first.tensor.shape[:3][4 - ndim:]
    numbers = [row_numbers(lse, f"lse of partial result {i}", lse_shape) for i, (_, lse) in enumerate(pairs)]
    plan = device._plan(("merge", len(pairs), tensor), lambda: merge_plan(device, len(pairs), tensor))
    o, lse = new_output(device, shape, tensor.type), device._allocate(lse_shape, np.dtype(np.float32), False)
    outputs = [dense(each, shape) for each in operands]
    plan.run({
        "partials": (joined(device, outputs, stored_bytes(tensor.type, o.size)), 0),
        "partial_lse": (joined(device, numbers, 4 * lse.size), 0),
        "o": (o._storage, 0),
        "lse": (lse._storage, 0),
    })
    return returned(o, tensor.type, pairs[0][0]), returned(lse, types["f32"], pairs[0][0])


def merge_plan(device: Device, count: int, tensor: Tensor) -> MergePlan:
    problem = MergeProblem()
    problem.partials = count
    problem.batch, problem.heads, problem.rows, problem.dim = tensor.shape
    problem.use = uses["LSE"]
    problem.partial = problem.o = core_tensor(tensor)
    return MergePlan(device._core, problem)


def dense(each: Operand, shape: tuple[int, ...]) -> Any:
    """An array whose elements lie as those of a dense array of this shape."""
    if not isinstance(each.array, DeviceArray):
        return np.ascontiguousarray(each.array)
    if each.array.strides != dense_strides(shape):
        raise Error("merge takes dense device arrays, not views with gaps")
    return each.array


def joined(device: Device, arrays: list[Any], bytes_each: int) -> Storage:
    """All arrays, one after the other."""
    storage = Storage(device._core, bytes_each * len(arrays))
    for i, array in enumerate(arrays):
        if isinstance(array, DeviceArray):
            storage.copy_from(array._storage, array._offset, i * bytes_each, bytes_each)
        else:
            storage.upload(array, i * bytes_each)
    return storage
