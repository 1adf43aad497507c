# SPDX-License-Identifier: MIT
"""Masks and scores of the caller's own, in GLSL, and the arrays that they read."""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np

from . import _host
from ._core import Error, Functions, compile_functions, elements
from ._device import DeviceArray, dense_strides

# Compiled functions that are kept. Each holds the SPIR-V of the kernels that plans needed so far, for all devices;
# a device keeps their pipelines.
MOST_FUNCTIONS = 64
FLOATS = {"float32": elements["f32"], "float16": elements["f16"]}
NAMES = {number: name for name, number in elements.items()}


def functions_of(functions: Any, arrays: Any) -> tuple[Functions | None, dict[str, Any]]:
    """The functions of a call, and their arrays by the names of the bindings."""
    if functions is None:
        if arrays:
            raise Error("function_arrays needs functions")
        return None, {}
    given = {name: element_array(name, array) for name, array in named_arrays(arrays).items()}
    path = path_of(functions)
    if path is not None and path.endswith(".vkfn"):
        compiled = load(path, *stamp_of(path))
        given = in_declared_order(compiled.arrays(), given, path)
    else:
        text, name = (functions, "functions") if path is None else (read(path).decode("utf-8", "replace"), path)
        compiled = compile_text(text, name, tuple((name, element) for name, (_, element) in given.items()))
    return compiled, {f"function_array_{i}": array for i, (array, _) in enumerate(given.values())}


def named_arrays(arrays: Any) -> dict[str, Any]:
    if arrays is None:
        return {}
    if not isinstance(arrays, dict) or not all(isinstance(name, str) for name in arrays):
        raise Error(f"function_arrays is a {type(arrays).__name__}; it takes a dict of names and arrays")
    return arrays


def path_of(functions: Any) -> str | None:
    """The path that `functions` is; None if it is GLSL."""
    if isinstance(functions, os.PathLike):
        return os.fsdecode(functions)
    if not isinstance(functions, str):
        raise Error(f"functions is a {type(functions).__name__}; it takes GLSL, or the path of a .glsl or .vkfn file")
    return functions if "\n" not in functions and functions.endswith((".glsl", ".vkfn")) else None


def read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Error(f"functions: {path}: {error.strerror}") from None


def stamp_of(path: str) -> tuple[int, int]:
    """Time and size of a file, which differ if another file has the path."""
    try:
        status = os.stat(path)
    except OSError as error:
        raise Error(f"functions: {path}: {error.strerror}") from None
    return status.st_mtime_ns, status.st_size


@functools.lru_cache(MOST_FUNCTIONS)
def load(path: str, _time: int, _size: int) -> Functions:
    try:
        return Functions(read(path))
    except Error as error:
        error.args = (f"functions: {path}: {error}",)
        raise


@functools.lru_cache(MOST_FUNCTIONS)
def compile_text(text: str, name: str, arrays: tuple[tuple[str, int], ...]) -> Functions:
    return compile_functions(text, name, list(arrays))


def element_array(name: str, value: Any) -> tuple[Any, int]:
    """(array of the host or the device, type of its elements), dense."""
    label = f"function_arrays[{name!r}]"
    if isinstance(value, DeviceArray):
        return value, device_element(label, value)
    array, is_bf16 = _host.to_numpy(value, label)
    if is_bf16:
        element = elements["bf16"]
    elif array.dtype in (np.bool_, np.uint8):
        element = elements["u8"]
    elif array.dtype.kind in "iu":
        array, element = _host.integers(array, label), elements["i32"]
    else:
        array = _host.floats(array, label)[0]
        element = FLOATS[array.dtype.name]
    return np.ascontiguousarray(array), element


def device_element(label: str, array: DeviceArray) -> int:
    if array.strides != dense_strides(array.shape) and array.size > 1:
        raise Error(f"{label} is a device array with gaps; it takes a dense one")
    if array._offset % 4 != 0:
        raise Error(f"{label} is a part of a device array that begins {array._offset} bytes after its start; it takes "
                    "a multiple of 4")
    if array._is_bf16:
        return elements["bf16"]
    name = array._bits.name
    return FLOATS.get(name, elements["u8"] if name == "bool" else elements["i32"])


def in_declared_order(declared: list[tuple[str, int]], given: dict[str, tuple[Any, int]],
                      path: str) -> dict[str, tuple[Any, int]]:
    """The arrays that a compiled file reads."""
    ordered = {}
    for name, element in declared:
        if name not in given:
            raise Error(f"function_arrays lacks {name!r}, which {path} reads")
        if given[name][1] != element:
            raise Error(f"function_arrays[{name!r}] has elements of {NAMES[given[name][1]]}; {path} reads "
                        f"{NAMES[element]}")
        ordered[name] = given[name]
    for name in given:
        if name not in ordered:
            raise Error(f"function_arrays has {name!r}, which {path} does not read")
    return ordered
