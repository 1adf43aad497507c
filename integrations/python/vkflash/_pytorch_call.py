# SPDX-License-Identifier: MIT
"""PyTorch's scaled_dot_product_attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import _host
from ._attention import attention
from ._core import Error
from ._device import Device, DeviceArray


def scaled_dot_product_attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
                                 is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False, *,
                                 device: Device | None = None) -> Any:
    """Computes what torch.nn.functional.scaled_dot_product_attention does, for arrays of any library.

    query: [..., heads, rows, dim]. key: [..., kv heads, keys, dim]. value: [..., kv heads, keys, value dim].
    attn_mask: bool, True = the row sees the key, or floats that are added; broadcasts to [..., heads, rows, keys].
    dropout_p: probability of leaving a probability out. NumPy's global generator makes the seed. Default: 0.
    is_causal: True = top-left: row i sees keys 0 to i. Not together with attn_mask. Default: False.
    scale: Default: 1 / sqrt(dim).
    enable_gqa: True = the kv heads divide the heads. False = they are equal, or one of them is 1.

    Leading dimensions broadcast. A row that sees no key is 0, as in PyTorch 2.5 and later. NaN in a masked key or value
    never reaches a result, and types may differ, unlike there.

    >>> x = np.ones((2, 3, 4, 8, 16), np.float32)
    >>> vkflash.scaled_dot_product_attention(x, x, x, is_causal=True).shape
    (2, 3, 4, 8, 16)
    """
    if attn_mask is not None and is_causal:
        raise Error("attn_mask and is_causal exclude each other")
    q, k, v = (as_operand(x, name) for x, name in ((query, "query"), (key, "key"), (value, "value")))
    lead, heads, kv_heads = common_shape(q, k, v, enable_gqa)
    options: dict[str, Any] = {"causal": "top-left" if is_causal else False, "scale": scale, "dropout": dropout_p}
    if dropout_p:
        options["dropout_seed"] = int(np.random.randint(2**31))
    if attn_mask is not None:
        name, mask = as_mask(attn_mask)
        options[name] = folded_mask(mask, (*lead, heads, q.shape[-2], k.shape[-2]))
    if max(q.ndim, k.ndim, v.ndim) == 2:
        result = attention(q, k, v, device=device, **options)
    else:
        o = attention(folded(q, "query", lead, heads), folded(k, "key", lead, kv_heads),
                      folded(v, "value", lead, kv_heads), device=device, **options)
        result = o.reshape(*lead, heads, *o.shape[-2:])
    if isinstance(result, DeviceArray):
        return result
    bits, is_bf16 = _host.to_numpy(result, "result")
    return _host.give_back(bits, _host.BF16 if is_bf16 else _host.FLOATS[bits.dtype], query)


def as_operand(x: Any, name: str) -> Any:
    """A device array, or an array with the operations of NumPy."""
    array = x if isinstance(x, DeviceArray) else _host.with_bits(*_host.floats(x, name))
    if array.ndim < 2:
        raise Error(f"{name} has {array.ndim} dimensions; it takes at least 2: [rows, dim]")
    return array


def as_mask(x: Any) -> tuple[str, Any]:
    """The argument of attention() for a mask, and the mask."""
    if isinstance(x, DeviceArray):
        return ("mask" if x._bits == np.bool_ else "bias"), x
    array, is_bf16 = _host.to_numpy(x, "attn_mask")
    if array.dtype == np.bool_ and not is_bf16:
        return "mask", array
    return "bias", _host.with_bits(*_host.floats(x, "attn_mask"))


def common_shape(q: Any, k: Any, v: Any, enable_gqa: bool) -> tuple[tuple[int, ...], int, int]:
    """(leading dimensions, heads, kv heads) after broadcasts."""
    shapes = [(1,) * (3 - x.ndim) + tuple(x.shape) for x in (q, k, v)]
    heads = [shape[-3] for shape in shapes]
    try:
        lead = np.broadcast_shapes(*(shape[:-3] for shape in shapes))
        if enable_gqa:
            return lead, heads[0], np.broadcast_shapes(heads[1:2], heads[2:])[0]
        common = np.broadcast_shapes(*((n,) for n in heads))[0]
        return lead, common, common
    except ValueError:
        names = "query, key and value"
        hint = "" if enable_gqa else "; fewer heads of key and value need enable_gqa=True"
        raise Error(f"{names} have the shapes {tuple(q.shape)}, {tuple(k.shape)} and {tuple(v.shape)}, which do not "
                    f"broadcast{hint}") from None


def folded(x: Any, name: str, lead: tuple[int, ...], heads: int) -> Any:
    """The array as [batch, heads, rows, dim]."""
    full = (*lead, heads, *x.shape[-2:])
    if isinstance(x, DeviceArray):
        if tuple(x.shape) != full:
            raise Error(f"{name} is a device array of the shape {tuple(x.shape)}, which does not broadcast to {full}")
    else:
        x = np.broadcast_to(x, full, subok=True)
    return x if len(full) == 4 else x.reshape(math.prod(lead), *full[-3:])


def folded_mask(x: Any, full: tuple[int, ...]) -> Any:
    """The mask in a shape that broadcasts to [batch, heads, rows, keys]."""
    if x.ndim <= 2 or (x.ndim <= len(full) and len(full) <= 4) or isinstance(x, DeviceArray):
        return x
    try:
        return np.broadcast_to(x, full, subok=True).reshape(math.prod(full[:-3]), *full[-3:])
    except ValueError:
        raise Error(f"attn_mask has the shape {tuple(x.shape)}, which does not broadcast to {full}") from None
