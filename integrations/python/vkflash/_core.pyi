# SPDX-License-Identifier: MIT
"""The library as the modules of the package use it. Its names may change: programs import vkflash."""

from typing import Any

from numpy import ndarray

version: str
types: dict[str, int]
paths: dict[str, int]
alignments: dict[str, int]
precisions: dict[str, int]
rotary_pairs: dict[str, int]
uses: dict[str, int]
elements: dict[str, int]

Arrays = dict[str, tuple["Storage", int]]

class Error(RuntimeError):
    result: str

class Device:
    def summary(self) -> dict[str, Any]: ...
    def bytes_in_use(self) -> int: ...
    def validation_messages(self) -> int: ...
    def free_memory(self) -> None: ...

class Storage:
    def __init__(self, device: Device, bytes: int) -> None: ...
    @property
    def bytes(self) -> int: ...
    def upload(self, array: Any, offset: int = 0) -> None: ...
    def download(self, array: Any, offset: int = 0) -> None: ...
    def copy_from(self, source: Storage, source_offset: int, offset: int, bytes: int) -> None: ...

class Tensor:
    def __init__(self, type: int, batch_stride: int, head_stride: int, row_stride: int) -> None: ...

class BroadcastArray:
    def __init__(self, type: int, batch_stride: int, head_stride: int, row_stride: int) -> None: ...

class ChosenKeys:
    def __init__(self, count: int, batch_stride: int, head_stride: int, row_stride: int) -> None: ...

class Window:
    def __init__(self, left: int, right: int, first_keys: int) -> None: ...

class Paging:
    def __init__(self, page_size: int, max_pages: int, pages: int) -> None: ...

class Dropout:
    def __init__(self, probability: float, seed: int) -> None: ...

class Rotary:
    def __init__(self, pairs: int, dim: int, base: float) -> None: ...

class Problem:
    batch: int
    query_heads: int
    kv_heads: int
    query_rows: int
    keys: int
    head_dim: int
    value_dim: int
    path: int
    precision: int
    use: int
    q: Tensor
    k: Tensor
    v: Tensor
    o: Tensor
    scale: float
    softcap: float
    alignment: int
    window: Window
    longest_rows: int
    longest_keys: int
    bias: BroadcastArray
    mask: BroadcastArray
    chosen_keys: ChosenKeys
    paging: Paging
    dropout: Dropout
    max_step_operations: int

class BackwardProblem:
    use: int
    dout: Tensor
    dq: Tensor
    dk: Tensor
    dv: Tensor

class MergeProblem:
    partials: int
    batch: int
    heads: int
    rows: int
    dim: int
    use: int
    partial: Tensor
    o: Tensor

class AppendProblem:
    batch: int
    kv_heads: int
    rows: int
    keys: int
    head_dim: int
    value_dim: int
    query_heads: int
    use: int
    new_k: Tensor
    new_v: Tensor
    k: Tensor
    v: Tensor
    q: Tensor
    rotated_q: Tensor
    paging: Paging
    rotary: Rotary

class Functions:
    def __init__(self, file: bytes) -> None: ...
    def arrays(self) -> list[tuple[str, int]]: ...

def compile_functions(text: str, name: str, arrays: list[tuple[str, int]]) -> Functions: ...

class AttentionPlan:
    def __init__(self, device: Device, problem: Problem, functions: Functions | None = None) -> None: ...
    def run(self, arrays: Arrays) -> float: ...
    def map_tiles(self, arrays: Arrays) -> float: ...
    def info(self) -> dict[str, Any]: ...
    def reasons(self) -> dict[str, str]: ...

class BackwardPlan:
    def __init__(self, device: Device, problem: BackwardProblem, forward: Problem,
                 functions: Functions | None = None) -> None: ...
    def run(self, arrays: Arrays) -> float: ...
    def info(self) -> dict[str, Any]: ...

class MergePlan:
    def __init__(self, device: Device, problem: MergeProblem) -> None: ...
    def run(self, arrays: Arrays) -> float: ...

class AppendPlan:
    def __init__(self, device: Device, problem: AppendProblem) -> None: ...
    def run(self, arrays: Arrays) -> float: ...

def open_device(select: str, validation: bool, tuning: str, timeout: float) -> Device: ...
def list_devices() -> list[dict[str, Any]]: ...
def stored_bytes(type: int, elements: int) -> int: ...
def block_elements(type: int) -> int: ...
def from_dlpack(source: Any) -> tuple[ndarray, bool]: ...
def bf16_to_dlpack(bits: ndarray) -> Any: ...
