# SPDX-License-Identifier: MIT
"""Attention with gradients for CPU tensors of PyTorch: a machine with any GPU trains a small model.

    import vkflash.torch
    o = vkflash.torch.scaled_dot_product_attention(q, k, v, is_causal=True)
    o.sum().backward()

Tensors stay in the memory of the CPU. Each call copies them to the device and back. Gradients of gradients are not
supported.
"""

from __future__ import annotations

from typing import Any

import torch

from ._attention import attention as _attention
from ._backward import attention_backward as _attention_backward


class Attention(torch.autograd.Function):
    """attention() and its backward pass."""

    @staticmethod
    def forward(ctx: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
                options: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
        q, k, v = (x.detach() for x in (q, k, v))
        o, lse = _attention(q, k, v, return_lse=True, **options)
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.options = options
        return o, lse

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, do: torch.Tensor, dlse: torch.Tensor) -> tuple[Any, ...]:
        q, k, v, o, lse = (x.detach() for x in ctx.saved_tensors)
        options = {"dlse": dlse.contiguous()} if bool(dlse.any()) else {}
        dq, dk, dv = _attention_backward(do.contiguous(), q, k, v, o, lse, **options, **ctx.options)
        return dq, dk, dv, None


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, return_lse: bool = False, **options: Any) -> Any:
    """vkflash.attention() with gradients of q, k and v. The other arguments have no gradient.

    Takes the arguments of vkflash.attention(), with q, k and v as CPU tensors. path: "auto", "scalar" or "coopmat".
    Returns o, or (o, lse).
    """
    for name in ("bias", "sinks"):
        value = options.get(name)
        if isinstance(value, torch.Tensor) and value.requires_grad:
            raise NotImplementedError(f"{name} has no gradient here: pass {name}.detach()")
    o, lse = Attention.apply(q, k, v, options)
    return (o, lse) if return_lse else o


def scaled_dot_product_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
                                 attn_mask: torch.Tensor | None = None, dropout_p: float = 0.0,
                                 is_causal: bool = False, scale: float | None = None,
                                 enable_gqa: bool = False) -> torch.Tensor:
    """torch.nn.functional.scaled_dot_product_attention with gradients of query, key and value.

    query, key, value: [batch, heads, rows, dim], or without the first one or two dimensions. PyTorch's generator makes
    the seed of a dropout.
    """
    if attn_mask is not None and is_causal:
        raise ValueError("attn_mask and is_causal exclude each other")
    if not enable_gqa and query.ndim > 2 and key.shape[-3] != query.shape[-3]:
        raise ValueError("fewer heads of key and value need enable_gqa=True")
    options: dict[str, Any] = {"causal": "top-left" if is_causal else False, "scale": scale, "dropout": dropout_p}
    if dropout_p:
        options["dropout_seed"] = int(torch.randint(2**31, ()))
    if attn_mask is not None:
        options["mask" if attn_mask.dtype == torch.bool else "bias"] = attn_mask
    return attention(query, key, value, **options)
