# SPDX-License-Identifier: MIT
"""A KV cache on the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._attention import new_output, planned_call, returned
from ._core import (AppendPlan, AppendProblem, AttentionPlan, Error, Paging, Rotary, Storage, block_elements,
                    rotary_pairs, stored_bytes, types, uses)
from ._core import Tensor as CoreTensor
from ._device import Device, default_device
from ._operands import Operand, Places, Tensor, operand, output, type_of
from ._pages import Pages
from ._problem import OPTIONS, Inputs, choice, core_tensor, output_terms, problem_of

CACHE_TYPES = {name: types[name] for name in ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl",
                                              "e4m3", "e5m2")}
ROTARY = {None: 0, "halves": rotary_pairs["halves"], "interleaved": rotary_pairs["interleaved"]}


class Cache:
    """Keys and values of sequences that grow, in device memory.

    batch: number of sequences. kv_heads: heads of k and v. capacity: most rows of a sequence. head_dim: columns of k.
    value_dim: columns of v. Default: head_dim.
    type, value_type: "f32", "f16", "bf16", or a block type of GGUF: "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl".
        Dimensions are multiples of 32 then. Or fp8: "e4m3", "e5m2", with multiples of 16. Default: "f16"; value_type:
        as type.
    page_size: rows of a page. Sequences take pages as they grow. Default: one dense cache.
    pages: number of pages. Default: enough for all sequences at full capacity.
    rotary: "halves" (GPT-NeoX and most checkpoints) or "interleaved" = append() rotates k and q by their positions.
    rotary_dim: columns that are rotated. Default: head_dim. rotary_base: base of the angles. Default: 10000.
    device: Default: default_device().

    One thread at a time may use a cache.

    >>> cache = vkflash.Cache(2, 4, 256, 64, type="q8_0", page_size=32, rotary="halves")
    >>> for step in range(3):
    ...     q, k, v = (np.random.rand(2, heads, 1, 64).astype(np.float16) for heads in (8, 4, 4))
    ...     o = cache.decode(q, k, v)
    >>> o.shape, cache.lengths
    ((2, 8, 1, 64), array([3, 3], dtype=int32))
    """

    def __init__(self, batch: int, kv_heads: int, capacity: int, head_dim: int, *, value_dim: int | None = None,
                 type: str = "f16", value_type: str | None = None, page_size: int | None = None,
                 pages: int | None = None, rotary: str | None = None, rotary_dim: int | None = None,
                 rotary_base: float = 10000.0, device: Device | None = None):
        self.device = device or default_device()
        self.batch, self.kv_heads, self.capacity = batch, kv_heads, capacity
        self.head_dim, self.value_dim = head_dim, value_dim or head_dim
        self.type, self.value_type = type, value_type or type
        for name, number in (("batch", batch), ("kv_heads", kv_heads), ("capacity", capacity), ("head_dim", head_dim)):
            if not isinstance(number, (int, np.integer)) or number < 1:
                raise Error(f"{name} is {number!r}; it takes a number of at least 1")
        if rotary not in ROTARY:
            raise Error(f'rotary is {rotary!r}; it takes "halves" or "interleaved"')
        self.rotary = rotary
        self._rotary = (ROTARY[rotary], rotary_dim or 0, rotary_base) if rotary else None
        if page_size is None and pages is not None:
            raise Error("pages needs page_size")
        self._pages = self._make_pages(page_size, pages)
        rows = self._pages.count * self._pages.page_size if self._pages else batch * capacity
        self._k = self._memory("type", self.type, rows, self.head_dim)
        self._v = self._memory("value_type", self.value_type, rows, self.value_dim)
        self._host_lengths = np.zeros(batch, np.int32)
        self._lengths = self.device.array(self._host_lengths)
        self._table = self.device.array(self._pages.table) if self._pages else None

    @property
    def lengths(self) -> np.ndarray:
        """int32 [batch]: rows that each sequence has. A copy."""
        return self._host_lengths.copy()

    def append(self, k: Any, v: Any, q: Any = None, *, layout: str = "bhnd") -> Any:
        """Appends rows to every sequence.

        k: [batch, kv heads, rows, head dim]. v: [batch, kv heads, rows, value dim]. A batch of 1 may be left out.
        q: [batch, heads, rows, head dim], which is rotated as k. Only with `rotary`.

        Returns the rotated q on the device; None without q. Raises Error if the cache is full, which stays as it was.
        """
        tensors = {"k": operand(k, "k", layout), "v": operand(v, "v", layout)}
        if q is not None:
            if self._rotary is None:
                raise Error("q is only rotated: it needs a cache with rotary")
            tensors["q"] = operand(q, "q", layout)
        rows = self._check_rows(tensors)
        grown = self._host_lengths + np.int32(rows)
        if grown.max() > self.capacity:
            raise Error(f"the cache is full: a sequence would have {grown.max()} rows, and its capacity is "
                        f"{self.capacity}")
        if self._pages and self._pages.reserve(grown):
            self._table.update(self._pages.table)
        rotated = self._run_append(tensors, layout)
        self._host_lengths = grown
        return rotated

    def attend(self, q: Any, *, causal: bool | str = True, window: tuple[int, int] | None = None,
               scale: float | None = None, softcap: float = 0.0, chosen_keys: Any = None, alibi: Any = None,
               sinks: Any = None, functions: Any = None, function_arrays: dict[str, Any] | None = None,
               return_lse: bool = False, layout: str = "bhnd", path: str = "auto",
               precision: str = "default") -> Any:
        """Attention of q over the rows of the cache. The last row of q stands at the last row of its sequence.

        q: [batch, heads, rows, head dim]. The other arguments are those of attention().

        Returns o, or (o, lse), as attention() does.
        """
        source = operand(q, "q", layout)
        if source.tensor.shape[0] != self.batch or source.tensor.shape[3] != self.head_dim:
            raise Error(f"q has (batch, heads, rows, dim) {source.tensor.shape}; the cache takes a batch of "
                        f"{self.batch} and {self.head_dim} elements")
        inputs = Inputs(source, *self._operands(source.ndim), {
            **OPTIONS, "causal": causal, "window": window, "scale": scale, "softcap": softcap,
            "chosen_keys": chosen_keys, "alibi": alibi, "sinks": sinks, "functions": functions,
            "function_arrays": function_arrays, "path": path, "precision": precision})
        shape, terms = output_terms(inputs, layout, return_lse)
        plan = self.device._plan((terms, self._paging()), lambda: self._attention_plan(terms))
        arrays = inputs.place(self.device, Places(self.device)) | self._bindings()
        return planned_call(plan, inputs, shape, terms).run(self.device, arrays, return_lse, q)

    def decode(self, q: Any, k: Any, v: Any, *, layout: str = "bhnd", **options: Any) -> Any:
        """Appends k and v, and attends with q: append() and attend() in one call. Returns o as attend() does.

        The lengths stay as they were if either raises."""
        lengths = self._host_lengths
        rotated = self.append(k, v, q if self._rotary else None, layout=layout)
        try:
            result = self.attend(q if rotated is None else rotated, layout=layout, **options)
        except Exception:
            self._host_lengths = lengths
            self._lengths.update(lengths)
            raise
        if rotated is None:
            return result
        if isinstance(result, tuple):
            return returned(result[0], type_of(rotated), q), returned(result[1], types["f32"], q)
        return returned(result, type_of(rotated), q)

    def clear(self, sequence: int | None = None) -> None:
        """Empties a sequence, or all of them. Its pages are free then."""
        sequences = range(self.batch) if sequence is None else [range(self.batch)[sequence]]
        for b in sequences:
            self._host_lengths[b] = 0
            if self._pages:
                self._pages.release(b)
        self._lengths.update(self._host_lengths)

    def _make_pages(self, page_size: int | None, pages: int | None) -> Pages | None:
        if page_size is None:
            return None
        if page_size < 1:
            raise Error(f"page_size is {page_size}; it takes a number of at least 1")
        if pages is None:
            pages = self.batch * -(-self.capacity // page_size)
        if pages < 1:
            raise Error(f"pages is {pages}; it takes a number of at least 1")
        return Pages(self.batch, page_size, pages, self.capacity)

    def _memory(self, name: str, type_name: str, rows: int, dim: int) -> Storage:
        number = choice(name, type_name, CACHE_TYPES)
        if dim % block_elements(number):
            raise Error(f"{name} {type_name} has blocks of {block_elements(number)} elements, which do not divide the "
                        f"{dim} elements of a row")
        return Storage(self.device._core, stored_bytes(number, rows * self.kv_heads * dim))

    def _check_rows(self, tensors: dict[str, Operand]) -> int:
        """Checks the shapes of new rows, and returns their number."""
        rows = tensors["k"].tensor.shape[2]
        expected = {"k": (self.batch, self.kv_heads, rows, self.head_dim),
                    "v": (self.batch, self.kv_heads, rows, self.value_dim)}
        if "q" in tensors:
            expected["q"] = (self.batch, tensors["q"].tensor.shape[1], rows, self.head_dim)
        for name, shape in expected.items():
            if tensors[name].tensor.shape != shape:
                raise Error(f"{name} has (batch, heads, rows, dim) {tensors[name].tensor.shape}; it takes {shape}")
        if rows < 1:
            raise Error("k has no rows to append")
        return rows

    def _run_append(self, tensors: dict[str, Operand], layout: str) -> Any:
        places = Places(self.device)
        arrays = {"new_k": places(tensors["k"]), "new_v": places(tensors["v"]), **self._bindings()}
        arrays["k"], arrays["v"] = (self._k, 0), (self._v, 0)
        rotated, rotated_tensor = None, None
        if "q" in tensors:
            q = tensors["q"]
            shape, rotated_tensor = output(layout, q.ndim, q.tensor.shape, q.tensor.type)
            rotated = new_output(self.device, shape, q.tensor.type)
            arrays |= {"q": places(q), "rotated_q": (rotated._storage, 0)}
        key = ("append", self._paging(), *self._shape(), *(each.tensor for each in tensors.values()), rotated_tensor)
        self.device._plan(key, lambda: self._append_plan(tensors, rotated_tensor)).run(arrays)
        return rotated

    def _append_plan(self, tensors: dict[str, Operand], rotated: Any) -> AppendPlan:
        problem = AppendProblem()
        problem.batch, problem.kv_heads, problem.keys = self.batch, self.kv_heads, self.capacity
        problem.rows = tensors["k"].tensor.shape[2]
        problem.head_dim, problem.value_dim = self.head_dim, self.value_dim
        problem.new_k, problem.new_v = core_tensor(tensors["k"].tensor), core_tensor(tensors["v"].tensor)
        problem.k, problem.v = self._core_tensors()
        if rotated is not None:
            problem.use |= uses["QUERIES"]
            problem.query_heads = tensors["q"].tensor.shape[1]
            problem.q, problem.rotated_q = core_tensor(tensors["q"].tensor), core_tensor(rotated)
        if self._pages:
            problem.use |= uses["BLOCK_TABLE"]
            problem.paging = Paging(*self._paging())
        if self._rotary:
            problem.rotary = Rotary(*self._rotary)
        return AppendPlan(self.device._core, problem)

    def _attention_plan(self, terms: Any) -> AttentionPlan:
        problem = problem_of(terms)
        problem.use |= uses["KEY_LENGTHS"]
        if self._pages:
            problem.use |= uses["BLOCK_TABLE"]
            problem.paging = Paging(*self._paging())
        return AttentionPlan(self.device._core, problem, terms.functions)

    def _operands(self, ndim: int) -> tuple[Operand, Operand]:
        """k and v as inputs of attention: sequences at full capacity."""
        dense = (0, 0, 0)
        return tuple(
            Operand(storage, storage, Tensor(types[name], (self.batch, self.kv_heads, self.capacity, dim), dense), ndim)
            for storage, name, dim in ((self._k, self.type, self.head_dim), (self._v, self.value_type, self.value_dim)))

    def _core_tensors(self) -> tuple[CoreTensor, CoreTensor]:
        return CoreTensor(types[self.type], 0, 0, 0), CoreTensor(types[self.value_type], 0, 0, 0)

    def _paging(self) -> tuple[int, int, int] | None:
        return (self._pages.page_size, self._pages.table.shape[1], self._pages.count) if self._pages else None

    def _shape(self) -> tuple[Any, ...]:
        return (self.batch, self.kv_heads, self.capacity, self.head_dim, self.value_dim, self.type, self.value_type,
                self._rotary)

    def _bindings(self) -> dict[str, tuple[Storage, int]]:
        bindings = {"lengths": (self._lengths._storage, 0)}
        if self._table is not None:
            bindings["block_table"] = self._table._storage, 0
        return bindings

    def __repr__(self) -> str:
        kind = f", {self._pages.count} pages of {self._pages.page_size}" if self._pages else ""
        return (f"<vkflash.Cache {self.type}/{self.value_type}, {self.batch} x {self.kv_heads} heads x {self.capacity} "
                f"rows x {self.head_dim}{kind}, longest {self._host_lengths.max()}>")
