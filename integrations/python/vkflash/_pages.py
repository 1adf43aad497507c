# SPDX-License-Identifier: MIT
"""Which pages of a cache belong to which sequence."""

from __future__ import annotations

import numpy as np

from ._core import Error


class Pages:
    """Hands out pages. table: int32 [batch, most pages of a sequence], -1 = none."""

    def __init__(self, batch: int, page_size: int, pages: int, capacity: int):
        self.page_size = page_size
        self.count = pages
        self.table = np.full((batch, -(-capacity // page_size)), -1, np.int32)
        self._free = list(range(pages - 1, -1, -1))

    def reserve(self, lengths: np.ndarray) -> bool:
        """Gives each sequence pages for its length. Returns whether the table changed. Takes none if some lack."""
        wanted = [(b, page) for b, length in enumerate(lengths) for page in range(-(-int(length) // self.page_size))
                  if self.table[b, page] < 0]
        if len(wanted) > len(self._free):
            raise Error(f"the cache is full: the new rows need {len(wanted)} pages, and {len(self._free)} of "
                        f"{self.count} are free")
        for place in wanted:
            self.table[place] = self._free.pop()
        return bool(wanted)

    def release(self, sequence: int) -> None:
        """Takes back the pages of a sequence."""
        row = self.table[sequence]
        self._free.extend(int(page) for page in row[row >= 0][::-1])
        row[:] = -1
