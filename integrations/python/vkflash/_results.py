# SPDX-License-Identifier: MIT
"""Memory of the host for large results. Results that nobody refers to any more leave their memory to later ones: new
memory costs a fault for each page, and all of these together take longer than the copy from the device."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

# Smaller arrays are NumPy's own affair. Blocks are multiples of this size.
LEAST_BYTES = 1 << 20
MOST_FREE_BYTES = 1 << 28

# By number, the oldest first. Any thread, and the garbage collector in the middle of anything, may give a block back:
# only operations of a dictionary that are atomic touch it.
_free: dict[int, bytearray] = {}


class _Lease(np.ndarray):
    """A block in use. The result refers to it, and views to the result. The last one to go gives the block back.

    Its memory is no array: NumPy would let results refer to that, past the lease.
    """

    def __del__(self) -> None:
        if isinstance(self.base, bytearray):  # otherwise a part of a lease
            _give(self.base)


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """An array with undefined contents."""
    size = math.prod(shape) * dtype.itemsize
    if size < LEAST_BYTES:
        return np.empty(shape, dtype)
    block = _take(-(-size // LEAST_BYTES) * LEAST_BYTES)
    return np.ndarray(shape, dtype, buffer=_Lease(len(block), np.uint8, block))


def clear() -> None:
    """Gives free blocks back to the system."""
    _free.clear()


def _take(size: int) -> bytearray:
    for key, block in reversed(list(_free.items())):
        # Not more than twice the bytes, so that small results leave large blocks for large ones.
        if size <= len(block) <= 2 * size and _free.pop(key, None) is not None:
            return block
    return bytearray(size)


def _give(block: bytearray) -> None:
    _free[id(block)] = block
    while sum(map(len, list(_free.values()))) > MOST_FREE_BYTES:
        _free.pop(next(iter(list(_free)), 0), None)
