# SPDX-License-Identifier: MIT
"""Attention."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _host
from ._core import AttentionPlan, Error, types
from ._device import Device, DeviceArray
from ._operands import Places, device_of, operands
from ._plan import Plan
from ._problem import Inputs, Terms, attention_plan, described, output_terms
from ._tile_map import TileMap


def attention(q: Any, k: Any, v: Any, *, causal: bool | str = False, window: tuple[int, int] | None = None,
              scale: float | None = None, softcap: float = 0.0, bias: Any = None, mask: Any = None,
              chosen_keys: Any = None, alibi: Any = None, sinks: Any = None, lengths: Any = None,
              cu_seqlens_q: Any = None, cu_seqlens_k: Any = None, dropout: float = 0.0, dropout_seed: int = 0,
              functions: Any = None, function_arrays: dict[str, Any] | None = None, tile_map: TileMap | None = None,
              return_lse: bool = False, layout: str = "bhnd", path: str = "auto", precision: str = "default",
              device: Device | None = None) -> Any:
    """Computes o = softmax(scale q kᵀ) v.

    q: [batch, heads, rows, dim], or without the first one or two dimensions. float32, float16 or bfloat16.
    k: [batch, kv heads, keys, dim]. The kv heads divide the heads: query head h reads kv head h // (heads // kv heads).
    v: [batch, kv heads, keys, value dim].
    layout: "bhnd", or "bnhd" = [batch, rows, heads, dim]. Default: "bhnd".
    causal: True or "bottom-right" = the last row sees the last key; "top-left" = row 0 sees key 0 only. Default: False.
    window: (left, right) = each row sees so many keys before and after its own; -1 = no limit. Default: none.
    scale: factor of q kᵀ. Default: 1 / sqrt(dim).
    softcap: scores become softcap tanh(score / softcap). Default: 0 = off.
    bias: floats that are added to scores; broadcasts to [batch, heads, rows, keys]. Default: none.
    mask: bool, True = the row sees the key; broadcasts to [batch, heads, rows, keys]. Default: none.
    chosen_keys: integers, the keys that a row sees, -1 = none; broadcasts to [batch, kv heads, rows, count]. The kernel
        reads no other keys. No key stands twice in a list. Default: none.
    alibi: True = the standard slopes, or float32 [heads]. Default: none.
    sinks: float32 [heads], logits that join each row's softmax. Default: none.
    lengths: integers [batch], keys that each sequence has. Default: all.
    cu_seqlens_q, cu_seqlens_k: integers [sequences + 1], where packed sequences start. q, k and v have three dimensions
        then. cu_seqlens_k defaults to cu_seqlens_q.
    dropout: probability of leaving a probability out, from 0 up to 1. Default: 0.
    dropout_seed: seed of the generator. Equal seeds leave out the same ones. Default: 0.
    functions: a mask or a score of your own (docs/functions.md): GLSL with keep, score and scoreDerivative, or the path
        of a .glsl file, or of a .vkfn file of `vkflash compile`. Compiled once for each text. Default: none.
    function_arrays: {name: array} that the functions read as name(i), i counting all elements. Floats, integers as
        int32, uint8 or bool. No index may leave an array. Default: none.
    tile_map: a TileMap of the other arguments, which this call then need not make. Default: none.
    return_lse: True = return (o, lse). Default: False.
    path: the kernel; plan() says which ones there are. Default: "auto".
    precision: "fp32" = products in fp32 or better; "default" = in the narrowest type of q, k and v, or better.
    device: Default: that of device arrays among the inputs, or else default_device().

    Returns o in q's type and layout: an array as q, a device array if q is one. lse is float32 [batch, heads, rows]. A
    row that sees no key has o = 0 and lse = -inf. The bytes of masked keys never reach a result, NaN included.

    Raises Error, with the argument's name and its limit. Ctrl-C ends a long call after its present step.

    >>> x = np.arange(8, dtype=np.float32).reshape(4, 2)
    >>> vkflash.attention(x, x, x, causal=True)[0]
    array([0., 1.], dtype=float32)
    >>> o, lse = vkflash.attention(x, x, x, return_lse=True)
    >>> o.shape, lse.shape
    ((4, 2), (4,))
    >>> even = "bool keep(Position at) { return at.key % 2 == 0; }"
    >>> bool(np.array_equal(vkflash.attention(x, x, x, functions=even), vkflash.attention(x, x[::2], x[::2])))
    True
    >>> vkflash.attention(x.astype(np.float64), x, x)
    Traceback (most recent call last):
    vkflash.Error: q has elements of float64; it takes float32, float16 or bfloat16: pass q.astype(np.float32)
    """
    if not isinstance(tile_map, (TileMap, type(None))):
        raise Error(f"tile_map is a {type(tile_map).__name__}: pass a vkflash.TileMap")
    tensors = operands(q, k, v, layout)
    device = device_of(device, q, k, v)
    places = Places(device)
    options = {
        "causal": causal, "window": window, "scale": scale, "softcap": softcap, "bias": bias, "mask": mask,
        "chosen_keys": chosen_keys, "alibi": alibi, "sinks": sinks, "lengths": lengths, "cu_seqlens_q": cu_seqlens_q,
        "cu_seqlens_k": cu_seqlens_k, "dropout": dropout, "dropout_seed": dropout_seed, "functions": functions,
        "function_arrays": function_arrays, "tile_map": tile_map, "path": path, "precision": precision}
    scalars = (causal, window, scale, softcap, path, precision)
    if (bias is mask is chosen_keys is alibi is sinks is lengths is cu_seqlens_q is cu_seqlens_k is functions is
            function_arrays is tile_map is None) and not dropout and is_hashable(scalars):
        key = (*(x.tensor for x in tensors), *(x.ndim for x in tensors), layout, return_lse, type(causal), scalars)
        call = device._plan(key, lambda: planned(device, layout, return_lse, Inputs(*tensors, options))[0])
        arrays = {name: places(x) for name, x in zip("qkv", tensors)}
    else:
        inputs = Inputs(*tensors, options)
        call, terms = planned(device, layout, return_lse, inputs)
        arrays = inputs.place(device, places)
        if tile_map is not None:
            arrays["tile_map"] = tile_map._place(device, terms)
    return call.run(device, arrays, return_lse, q)


class PlannedCall(NamedTuple):
    """A plan, and the arrays that its call returns."""

    plan: AttentionPlan
    o_shape: tuple[int, ...]
    o_type: int
    lse_shape: tuple[int, ...]

    def run(self, device: Device, arrays: dict[str, Any], return_lse: bool, like: Any) -> Any:
        """Runs the call on its inputs, and returns o or (o, lse) in the memory where `like` is."""
        o = new_output(device, self.o_shape, self.o_type)
        arrays["o"] = o._storage, 0
        if return_lse:
            lse = device._allocate(self.lse_shape, np.dtype(np.float32), False)
            arrays["lse"] = lse._storage, 0
        self.plan.run(arrays)
        if not return_lse:
            return returned(o, self.o_type, like)
        return returned(o, self.o_type, like), returned(lse, types["f32"], like)


def planned(device: Device, layout: str, return_lse: bool, inputs: Inputs) -> tuple[PlannedCall, Terms]:
    shape, terms = output_terms(inputs, layout, return_lse)
    return planned_call(attention_plan(device, terms), inputs, shape, terms), terms


def planned_call(plan: AttentionPlan, inputs: Inputs, shape: tuple[int, ...], terms: Terms) -> PlannedCall:
    return PlannedCall(plan, shape, terms.o.type, inputs.q.tensor.shape[4 - inputs.q.ndim:3])


def is_hashable(values: tuple[Any, ...]) -> bool:
    try:
        hash(values)
    except TypeError:
        return False
    return True


def plan(q: Any, k: Any, v: Any, *, layout: str = "bhnd", device: Device | None = None, return_lse: bool = False,
         **options: Any) -> Plan:
    """Explains what attention() with these arguments would do: the kernel, its tile, and why not another one.

    Takes the arguments of attention(). Reads shapes and types of q, k and v, and not their contents.

    >>> x = np.zeros((1, 8, 256, 64), np.float16)
    >>> print(vkflash.plan(x, x, x, causal=True, path="scalar").path)
    scalar
    """
    terms = described("plan", q, k, v, layout, return_lse, options)[1]
    return Plan(attention_plan(device_of(device, q, k, v), terms))


def new_output(device: Device, shape: tuple[int, ...], number: int) -> DeviceArray:
    return device._allocate(shape, _host.NUMPY_TYPES.get(number, _host.BITS), number == _host.BF16)


def returned(result: DeviceArray, number: int, like: Any) -> Any:
    """A result in the memory where `like` is."""
    return result if isinstance(like, DeviceArray) else _host.give_back(result._host_bits(), number, like)
