# SPDX-License-Identifier: MIT
"""Maps of tiles that are made once for many calls."""

from __future__ import annotations

from typing import Any

from ._core import Error, Storage, uses
from ._device import Device, DeviceArray
from ._operands import Operand, device_of
from ._problem import Terms, attention_plan, described


class TileMap:
    """Which tiles of a mask are empty, full or partial. Made once, for any number of calls of attention().

    q, k, v: arrays with the shapes, strides and types of those of the calls. Their contents are not read.
    layout, return_lse, device, options: the arguments of the calls.

    Without a kept map, each call with `mask`, or with `functions` that have keep, makes a map itself. All layers of a
    model can share one. The map holds as long as the contents of masks, biases, lengths and function arrays stay the
    same. Nothing checks that: after a change make another map. A wrong map gives wrong results, and no error.

    nbytes: device memory of the map; 0 if the path of the calls has none.

    Raises Error, as attention() does. attention() raises Error if it has other arguments than the map.

    >>> x = np.random.rand(300, 32).astype(np.float32)
    >>> near = "bool keep(Position at) { return abs(at.row - at.key) < 20; }"
    >>> kept = vkflash.TileMap(x, x, x, functions=near)
    >>> for _ in range(3):
    ...     x = vkflash.attention(x, x, x, functions=near, tile_map=kept)
    """

    def __init__(self, q: Any, k: Any, v: Any, *, layout: str = "bhnd", return_lse: bool = False,
                 device: Device | None = None, **options: Any):
        if "tile_map" in options:
            raise TypeError("TileMap() got an unexpected keyword argument 'tile_map'")
        inputs, terms = described("TileMap", q, k, v, layout, return_lse, options)
        self.device = device_of(device, q, k, v)
        self._terms = terms._replace(use=terms.use | uses["TILE_MAP"])
        plan = attention_plan(self.device, self._terms)
        self.nbytes: int = plan.info()["tile_map_bytes"]
        self._storage = Storage(self.device._core, self.nbytes)
        arrays = inputs.place(self.device, self._unread)
        rows = terms.o.shape[0] * terms.o.shape[1] * terms.o.shape[2]
        arrays["o"] = Storage(self.device._core, 4 * rows * terms.o.shape[3]), 0
        if return_lse:
            arrays["lse"] = Storage(self.device._core, 4 * rows), 0
        if self.nbytes:
            plan.map_tiles({**arrays, "tile_map": (self._storage, 0)})

    def _unread(self, operand: Operand) -> tuple[Storage, int]:
        """Memory of the size of an input whose contents are not read."""
        array = operand.array
        if isinstance(array, DeviceArray):
            return array._storage, array._offset
        return Storage(self.device._core, array.itemsize + sum(
            (n - 1) * stride for n, stride in zip(array.shape, array.strides)) if array.size else 0), 0

    def _place(self, device: Device, terms: Terms) -> tuple[Storage, int]:
        """The map, for a call that it fits."""
        if device is not self.device:
            raise Error(f"tile_map is on {self.device!r}, and the call on {device!r}")
        bits = self._terms.use ^ terms.use
        other = {name.lower(): None for name, bit in uses.items() if bits & bit}  # a dict keeps the order
        for name, own, called in zip(Terms._fields, self._terms, terms):
            if name != "use" and own != called:
                other[name] = None
        if other:
            raise Error(f"tile_map was made for a call with another {', '.join(other)}; a map serves calls with equal "
                        "arguments")
        return self._storage, 0

    def __repr__(self) -> str:
        return f"<vkflash.TileMap {self.nbytes} bytes on {self.device.name}>"
