# SPDX-License-Identifier: MIT
"""What a call would do, and why."""

from __future__ import annotations

from typing import Any

from ._core import AttentionPlan


class Plan:
    """What the library chose for a call. str() is the whole explanation.

    path: the kernel. tile: its tile, as tuning files write it. steps: number of submissions. scratch_bytes: device
    memory besides the tensors. tile_map_bytes: the map of tiles, 0 = none. kv_splits: number of key splits.
    operations: multiplications and additions. minimum_bytes: the least memory traffic. description: the problem and the
    choice in one line. reasons: for each path, why the call takes it or not.
    """

    path: str
    tile: str
    steps: int
    scratch_bytes: int
    tile_map_bytes: int
    kv_splits: int
    operations: float
    minimum_bytes: float
    description: str
    reasons: dict[str, str]

    def __init__(self, plan: AttentionPlan):
        info: dict[str, Any] = plan.info()
        for name, value in info.items():
            setattr(self, name, value)
        self.reasons = plan.reasons()

    def __repr__(self) -> str:
        return f"<vkflash.Plan {self.description}>"

    def __str__(self) -> str:
        lines = [self.description]
        for path, reason in self.reasons.items():
            lines.append(f"  {'*' if path == self.path else ' '} {path}: {reason}")
        return "\n".join(lines)
