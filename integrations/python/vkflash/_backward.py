# SPDX-License-Identifier: MIT
"""The backward pass of attention."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _host
from ._attention import new_output, returned
from ._core import BackwardPlan, BackwardProblem, Error, uses
from ._device import Device, DeviceArray
from ._operands import Places, Tensor, dense_of, device_of, operand, operands, output, place
from ._problem import OPTIONS, Inputs, Terms, core_tensor, problem_of


def attention_backward(do: Any, q: Any, k: Any, v: Any, o: Any, lse: Any, *, dlse: Any = None, layout: str = "bhnd",
                       device: Device | None = None, **options: Any) -> tuple[Any, Any, Any]:
    """Computes the gradients of q, k and v from the gradient of o.

    do: the gradient of o, in the shape of o.
    q, k, v: the inputs of attention().
    o, lse: the results of attention() with return_lse=True.
    dlse: the gradient of lse, in the shape of lse. Default: none.
    options: those of attention(), with the same values. path: "auto", "scalar", "coopmat" or "wgmma". Functions with
        score need scoreDerivative. chosen_keys is refused. tile_map is not used.

    Returns (dq, dk, dv), in the types and shapes of q, k and v.

    >>> x = np.ones((4, 2), np.float32)
    >>> o, lse = vkflash.attention(x, x, x, return_lse=True)
    >>> dq, dk, dv = vkflash.attention_backward(np.ones_like(o), x, x, x, o, lse)
    >>> dv[0]
    array([1., 1.], dtype=float32)
    """
    unknown = set(options) - set(OPTIONS)
    if unknown:
        raise TypeError(f"attention_backward() got an unexpected keyword argument {sorted(unknown)[0]!r}")
    inputs = Inputs(*operands(q, k, v, layout), {**OPTIONS, **options})
    device = device_of(device, q, k, v, do, o)
    o_operand, do_operand = operand(o, "o", layout), operand(do, "do", layout)
    expected = (*inputs.q.tensor.shape[:3], inputs.v.tensor.shape[3])
    for name, found in (("o", o_operand), ("do", do_operand)):
        if found.tensor.shape != expected:
            raise Error(f"{name} has (batch, heads, rows, dim) {found.tensor.shape}; it takes {expected}")
    gradients = {}
    for name, source in (("dq", inputs.q), ("dk", inputs.k), ("dv", inputs.v)):
        gradients[name] = output(layout, source.ndim, source.tensor.shape, source.tensor.type)
    terms = inputs.terms(o_operand.tensor, uses["LSE"])
    tensors = (do_operand.tensor, *(tensor for _, tensor in gradients.values()))
    plan = device._plan((terms, tensors, dlse is not None),
                        lambda: backward_plan(device, terms, tensors, dlse is not None))
    places = Places(device)
    arrays = inputs.place(device, places)
    arrays |= {"o": places(o_operand), "dout": places(do_operand)}
    lse_shape = inputs.q.tensor.shape[:3][4 - inputs.q.ndim:]
    arrays["lse"] = place(device, row_numbers(lse, "lse", lse_shape))
    if dlse is not None:
        arrays["dlse"] = place(device, row_numbers(dlse, "dlse", lse_shape))
    results = {}
    for name, (shape, tensor) in gradients.items():
        results[name] = new_output(device, shape, tensor.type)
        arrays[name] = results[name]._storage, 0
    plan.run(arrays)
    dq, dk, dv = (returned(results[name], tensor.type, q) for name, (_, tensor) in gradients.items())
    return dq, dk, dv


def backward_plan(device: Device, terms: Terms, tensors: tuple[Tensor, ...], has_dlse: bool) -> BackwardPlan:
    problem = BackwardProblem()
    for name, tensor in zip(("dout", "dq", "dk", "dv"), tensors):
        setattr(problem, name, core_tensor(tensor))
    problem.use = uses["DLSE"] if has_dlse else 0
    return BackwardPlan(device._core, problem, problem_of(terms), terms.functions)


def row_numbers(value: Any, name: str, shape: tuple[int, ...]) -> Any:
    """A dense array of float32 with a number for each row, on the host or on the device."""
    array = value if isinstance(value, DeviceArray) else _host.float32s(value, name)
    return dense_of(array, name, shape, np.float32)
