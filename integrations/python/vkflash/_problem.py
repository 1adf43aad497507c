# SPDX-License-Identifier: MIT
"""The options of attention: from the arguments of a call to the library's description of a problem."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from . import _host
from ._core import (AttentionPlan, BroadcastArray, ChosenKeys, Dropout, Error, Functions, Problem, Storage, Window,
                    alignments, paths, precisions, types, uses)
from ._core import Tensor as CoreTensor
from ._device import Device, DeviceArray, dense_strides
from ._functions import functions_of
from ._operands import Operand, Places, Tensor, dense_of, element_strides, floats_of, operands, output, place

OPTIONS: dict[str, Any] = {
    "causal": False, "window": None, "scale": None, "softcap": 0.0, "bias": None, "mask": None,
    "chosen_keys": None, "alibi": None, "sinks": None, "lengths": None, "cu_seqlens_q": None, "cu_seqlens_k": None,
    "dropout": 0.0, "dropout_seed": 0, "functions": None, "function_arrays": None, "tile_map": None, "path": "auto",
    "precision": "default",
}
SMALLEST_SCALE = 2.0**-126
CAUSAL = {False: None, None: None, True: "bottom-right", "bottom-right": "bottom-right", "top-left": "top-left"}


class Terms(NamedTuple):
    """Everything that makes a plan: shapes, types, and what the call has besides its tensors."""

    q: Tensor
    k: Tensor
    v: Tensor
    o: Tensor
    use: int
    scale: float
    softcap: float
    alignment: int
    window: tuple[int, int] | None
    bias: tuple[int, ...] | None
    mask: tuple[int, ...] | None
    chosen_keys: tuple[int, ...] | None
    dropout: float
    path: int
    precision: int
    sequences: int
    longest: tuple[int, int]
    functions: Functions | None


def problem_of(terms: Terms) -> Problem:
    """The library's description of a call."""
    problem = Problem()
    problem.batch = terms.sequences or terms.q.shape[0]
    _, problem.query_heads, problem.query_rows, problem.head_dim = terms.q.shape
    _, problem.kv_heads, problem.keys, problem.value_dim = terms.v.shape
    problem.use = terms.use
    for name in ("q", "k", "v", "o"):
        setattr(problem, name, core_tensor(getattr(terms, name)))
    problem.scale = terms.scale
    problem.softcap = terms.softcap
    problem.alignment = terms.alignment
    problem.path = terms.path
    problem.precision = terms.precision
    problem.longest_rows, problem.longest_keys = terms.longest
    if terms.window is not None:
        problem.window = Window(*terms.window, 0)
    if terms.bias is not None:
        problem.bias = BroadcastArray(*terms.bias)
    if terms.mask is not None:
        problem.mask = BroadcastArray(*terms.mask)
    if terms.chosen_keys is not None:
        problem.chosen_keys = ChosenKeys(*terms.chosen_keys)
    if terms.dropout:
        problem.dropout = Dropout(terms.dropout, 0)
    return problem


def attention_plan(device: Device, terms: Terms) -> AttentionPlan:
    return device._plan(terms, lambda: AttentionPlan(device._core, problem_of(terms), terms.functions))


def core_tensor(tensor: Tensor) -> CoreTensor:
    return CoreTensor(tensor.type, *tensor.strides)


class Inputs:
    """The checked inputs of a call: tensors, and the optional arrays by the names of their bindings."""

    def __init__(self, q: Operand, k: Operand, v: Operand, options: dict[str, Any]):
        self.q, self.k, self.v = q, k, v
        self.arrays: dict[str, Any] = {}
        self.use = 0
        self.sequences = 0
        self.longest = (0, 0)
        self._check_shapes()
        self.path = choice("path", options["path"], paths)
        self.precision = choice("precision", options["precision"], precisions)
        self.scale = scale_of(options["scale"])
        self.softcap = number_of("softcap", options["softcap"])
        self.alignment = self._causal(options["causal"])
        self.window = self._window(options["window"])
        self._sequences(options["cu_seqlens_q"], options["cu_seqlens_k"])
        self.bias = self._broadcast("bias", options["bias"])
        self.mask = self._broadcast("mask", options["mask"])
        self.chosen_keys = self._chosen_keys(options["chosen_keys"])
        self._alibi(options["alibi"])
        self._per_head("sinks", "SINKS", options["sinks"])
        self._lengths(options["lengths"])
        self.dropout = self._dropout(options["dropout"], options["dropout_seed"])
        self.functions, function_arrays = functions_of(options["functions"], options["function_arrays"])
        self.arrays |= function_arrays
        if self.functions is not None:
            self.use |= uses["FUNCTIONS"]
        if options["tile_map"] is not None:
            self.use |= uses["TILE_MAP"]

    def terms(self, o: Tensor, use: int = 0) -> Terms:
        return Terms(self.q.tensor, self.k.tensor, self.v.tensor, o, self.use | use, self.scale, self.softcap,
                     self.alignment, self.window, self.bias, self.mask, self.chosen_keys, self.dropout, self.path,
                     self.precision, self.sequences, self.longest, self.functions)

    def place(self, device: Device, places: Places) -> dict[str, tuple[Storage, int]]:
        """{name of a binding: bytes on the device} of all inputs."""
        placed = {"q": places(self.q), "k": places(self.k), "v": places(self.v)}
        for name, array in self.arrays.items():
            placed[name] = place(device, array)
        return placed

    def _check_shapes(self) -> None:
        q, k, v = self.q.tensor.shape, self.k.tensor.shape, self.v.tensor.shape
        if not self.q.ndim == self.k.ndim == self.v.ndim:
            raise Error(f"q, k and v have {self.q.ndim}, {self.k.ndim} and {self.v.ndim} dimensions; they must have "
                        "the same number")
        if k[:3] != v[:3]:
            raise Error(f"v has (batch, heads, rows) {v[:3]}, and k has {k[:3]}: they must be equal")
        if q[0] != k[0]:
            raise Error(f"k has a batch of {k[0]}, and q of {q[0]}: they must be equal")
        if q[3] != k[3]:
            raise Error(f"k has rows of {k[3]} elements, and q of {q[3]}: they must be equal")
        if k[1] == 0 or q[1] % k[1] != 0:
            raise Error(f"k has {k[1]} heads, which do not divide the {q[1]} heads of q")

    def _causal(self, causal: Any) -> int:
        if isinstance(causal, np.bool_):
            causal = bool(causal)
        if not isinstance(causal, (bool, str, type(None))) or causal not in CAUSAL:
            raise Error(f'causal is {causal!r}; it takes True, False, "bottom-right" or "top-left"')
        alignment = CAUSAL[causal]
        if alignment is None:
            return alignments["bottom-right"]
        self.use |= uses["CAUSAL"]
        return alignments[alignment]

    def _window(self, window: Any) -> tuple[int, int] | None:
        if window is None:
            return None
        try:
            left, right = (-1 if side is None else int(side) for side in window)
        except (TypeError, ValueError):
            raise Error(f"window is {window!r}; it takes (left, right), numbers of keys, -1 = no limit") from None
        if left < -1 or right < -1:
            raise Error(f"window is {window!r}; its numbers of keys are at least 0, -1 = no limit")
        self.use |= uses["WINDOW"]
        return left, right

    def _sequences(self, cu_seqlens_q: Any, cu_seqlens_k: Any) -> None:
        if cu_seqlens_q is None:
            if cu_seqlens_k is not None:
                raise Error("cu_seqlens_k needs cu_seqlens_q")
            return
        if self.q.ndim != 3:
            raise Error(f"with cu_seqlens_q, q has 3 dimensions: [heads, all rows, dim]; it has {self.q.ndim}")
        if cu_seqlens_k is None:
            cu_seqlens_k = cu_seqlens_q
        longest_rows = self._starts("cu_seqlens_q", cu_seqlens_q, self.q.tensor.shape[2])
        longest_keys = self._starts("cu_seqlens_k", cu_seqlens_k, self.k.tensor.shape[2])
        self.sequences = self.arrays["cu_seqlens_q"].shape[0] - 1
        if self.arrays["cu_seqlens_k"].shape[0] - 1 != self.sequences:
            raise Error(f"cu_seqlens_k has {self.arrays['cu_seqlens_k'].shape[0]} entries, and cu_seqlens_q has "
                        f"{self.sequences + 1}: they must be equal")
        self.longest = (longest_rows, longest_keys)
        self.use |= uses["CU_SEQLENS"]

    def _starts(self, name: str, value: Any, total: int) -> int:
        """Checks where sequences start. Returns the length of the longest one, 0 if the device alone knows it."""
        array = integers_of(value, name)
        self.arrays[name] = array
        if len(array.shape) != 1 or array.shape[0] < 2:
            raise Error(f"{name} has the shape {array.shape}; it takes [sequences + 1]")
        if isinstance(dense_of(array, name, array.shape, np.int32), DeviceArray):
            return 0
        lengths = np.diff(array)
        if array[0] != 0 or lengths.min() < 0 or array[-1] != total:
            raise Error(f"{name} must start at 0, never fall, and end at {total}: it is {array.tolist()}"[:240])
        return int(lengths.max())

    def _broadcast(self, name: str, value: Any) -> tuple[int, ...] | None:
        """Type and strides of a bias or of a mask. Its shape broadcasts to [batch, heads, rows, keys]."""
        if value is None:
            return None
        if name == "mask":
            array, number, shape, strides = bools_of(value, name)
        else:
            array, number, shape, strides = floats_of(value, name)
        rows, keys = self.longest if self.sequences else (self.q.tensor.shape[2], self.k.tensor.shape[2])
        full = (self.sequences or self.q.tensor.shape[0], self.q.tensor.shape[1], rows, keys)
        names = "[batch, heads, rows, keys]"
        if not broadcasts(shape, full):
            raise Error(f"{name} has the shape {tuple(shape)}, which does not broadcast to {names} = {full}")
        if (shape[-1:] or (1,))[0] != keys or (keys > 1 and strides[-1] != 1) or -1 in strides:
            if isinstance(array, DeviceArray):
                raise Error(f"{name} is a device array whose last dimension is not dense with {keys} keys")
            array = np.ascontiguousarray(np.broadcast_to(array, (*shape[:-1], keys)))
            shape, strides = array.shape, element_strides(array)
        self.arrays[name] = array
        self.use |= uses[name.upper()]
        return (number, *steps_of(shape[:-1], strides))

    def _chosen_keys(self, value: Any) -> tuple[int, ...] | None:
        """Length and strides of lists of keys. Their shape broadcasts to [batch, kv heads, rows, count]."""
        if value is None:
            return None
        array = integers_of(value, "chosen_keys")
        shape, full = array.shape, (self.q.tensor.shape[0], self.k.tensor.shape[1], self.q.tensor.shape[2])
        if not shape or not broadcasts(shape[:-1], full):
            raise Error(f"chosen_keys has the shape {tuple(shape)}, which does not broadcast to [batch, kv heads, "
                        f"rows, count] with {full} and any count")
        if not isinstance(dense_of(array, "chosen_keys", shape, np.int32), DeviceArray):
            check_lists(array, self.k.tensor.shape[2])
        self.arrays["chosen_keys"] = array
        self.use |= uses["CHOSEN_KEYS"]
        return (shape[-1], *steps_of(shape[:-1], dense_strides(shape)))

    def _alibi(self, alibi: Any) -> None:
        if alibi is None or alibi is False:
            return
        self.use |= uses["ALIBI"]
        if alibi is not True:
            self._per_head("alibi", "ALIBI_SLOPES", alibi)

    def _per_head(self, name: str, use: str, value: Any) -> None:
        if value is None:
            return
        array = value if isinstance(value, DeviceArray) else _host.float32s(value, name)
        self.arrays[name] = dense_of(array, name, (self.q.tensor.shape[1],), np.float32)
        self.use |= uses[use]

    def _lengths(self, lengths: Any) -> None:
        if lengths is None:
            return
        batch = self.sequences or self.q.tensor.shape[0]
        array = dense_of(integers_of(lengths, "lengths"), "lengths", (batch,), np.int32)
        keys = self.k.tensor.shape[2]
        if not isinstance(array, DeviceArray) and array.size and (array.min() < 0 or array.max() > keys):
            raise Error(f"lengths has a number that is not within 0 and {keys}, the keys of k")
        self.arrays["lengths"] = array
        self.use |= uses["KEY_LENGTHS"]

    def _dropout(self, dropout: Any, seed: Any) -> float:
        probability = number_of("dropout", dropout)
        if not 0 <= probability < 1:
            raise Error(f"dropout is {probability}; it takes a probability from 0 up to, but not including, 1")
        if probability:
            self.arrays["dropout_seed"] = np.array([int(seed) & (2**64 - 1)], np.uint64)
            self.use |= uses["DROPOUT_SEED"]
        return probability


def described(caller: str, q: Any, k: Any, v: Any, layout: str, return_lse: bool,
              options: dict[str, Any]) -> tuple[Inputs, Terms]:
    """The inputs of attention() with these arguments, for a function that computes no attention."""
    unknown = set(options) - set(OPTIONS)
    if unknown:
        raise TypeError(f"{caller}() got an unexpected keyword argument {sorted(unknown)[0]!r}")
    inputs = Inputs(*operands(q, k, v, layout), {**OPTIONS, **options})
    return inputs, output_terms(inputs, layout, return_lse)[1]


def output_terms(inputs: Inputs, layout: str, return_lse: bool) -> tuple[tuple[int, ...], Terms]:
    """The shape of o as an array, and the terms of the call."""
    shape = (*inputs.q.tensor.shape[:3], inputs.v.tensor.shape[3])
    shown, tensor = output(layout, inputs.q.ndim, shape, inputs.q.tensor.type)
    return shown, inputs.terms(tensor, uses["LSE"] if return_lse else 0)


def integers_of(value: Any, name: str) -> Any:
    """A device array, or a dense array of int32."""
    return value if isinstance(value, DeviceArray) else _host.integers(value, name)


def broadcasts(shape: tuple[int, ...], full: tuple[int, ...]) -> bool:
    return len(shape) <= len(full) and all(n in (1, limit) for n, limit in zip(shape[::-1], full[::-1]))


def steps_of(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """Strides over batch, heads and rows: 0 where an array of this shape repeats."""
    return (0,) * (3 - len(shape)) + tuple(0 if n == 1 else stride for n, stride in zip(shape, strides))


def check_lists(lists: np.ndarray, keys: int) -> None:
    """Refuses lists in which a key stands twice. Entries that are no keys count as none."""
    ordered = np.sort(lists, -1)
    twice = (ordered[..., 1:] == ordered[..., :-1]) & (ordered[..., 1:] >= 0) & (ordered[..., 1:] < keys)
    if twice.any():
        raise Error(f"chosen_keys has key {ordered[..., 1:][twice][0]} twice in a list")


def bools_of(value: Any, name: str) -> tuple[Any, int, tuple[int, ...], tuple[int, ...]]:
    """(array, type, shape, strides in elements) of a host or device array of bool."""
    if isinstance(value, DeviceArray):
        array, bits, strides = value, value._bits, value.strides
    else:
        array = _host.to_numpy(value, name)[0]
        bits, strides = array.dtype, element_strides(array)
    if bits != np.bool_:
        raise Error(f"{name} has elements of {bits.name}; it takes bool, True = the row sees the key")
    return array, types["bool8"], array.shape, strides


def choice(name: str, value: Any, numbers: dict[str, int]) -> int:
    number = numbers.get(value) if isinstance(value, str) else None
    if number is None:
        raise Error(f"{name} is {value!r}; it takes one of {', '.join(numbers)}")
    return number


def number_of(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise Error(f"{name} is {value!r}; it takes a number") from None


def scale_of(scale: Any) -> float:
    """The library's scale, for which 0 stands for the default. A scale of 0 itself becomes the smallest one."""
    if scale is None:
        return 0.0
    number = number_of("scale", scale)
    if not math.isfinite(number):
        raise Error(f"scale is {number}; it takes a finite number")
    return number or SMALLEST_SCALE
