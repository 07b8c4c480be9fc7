"""Sequences of different lengths behind each other, so that no padding is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tilewright.namespace.creation import asarray
from tilewright.operands import invalid

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.backend import Backend


class Batch:
    """Tokens of several sequences: sequence b has the rows from starts[b] to starts[b + 1].
    Segments are 0, and 1 for the second text of a pair."""

    def __init__(
        self,
        backend: Backend,
        sequences: Sequence[Sequence[int]],
        segments: Sequence[Sequence[int]] | None = None,
    ) -> None:
        self.backend = backend
        self.lengths = [len(one) for one in sequences]
        self.size = len(sequences)
        self.rows = sum(self.lengths)
        ends = np.cumsum([0, *self.lengths]).astype(np.int32)
        self._ends = ends
        places = np.arange(self.rows, dtype=np.int32) - np.repeat(ends[:-1], self.lengths)
        parts = [np.concatenate([np.asarray(one, np.int64) for one in sequences]), places, ends]
        if segments is not None:
            parts.append(np.concatenate([np.asarray(one, np.int64) for one in segments]))
        self._bounds = [(int(one.min()), int(one.max())) for one in (parts[0], *parts[3:])]
        # One upload for all of them.
        whole = asarray(np.concatenate(parts).astype(np.int32), device=backend)
        at = np.cumsum([0, *(len(one) for one in parts)])
        views = [whole[at[i] : at[i + 1]] for i in range(len(parts))]
        self.tokens: Array = views[0]
        self.places: Array = views[1]
        self.starts: Array = views[2].copy()
        self.segments: Array | None = views[3] if segments is not None else None

    def check(self, *rows: int) -> None:
        """Whether tables of so many rows have those of the tokens, and of their segments."""
        for what, (low, high), most in zip(("token", "segment"), self._bounds, rows, strict=False):
            if low < 0 or high >= most:
                wrong = low if low < 0 else high
                invalid("embed", f"there is {what} {wrong}, and its table has {most} rows")

    def first_rows(self) -> Array:
        return asarray(self._ends[:-1], device=self.backend)

    def last_rows(self) -> Array:
        return asarray(self._ends[1:] - 1, device=self.backend)

    def of_one_length(self) -> list[tuple[int, int, int]]:
        """(first row, sequences, length) of neighbours that have the same length."""
        groups: list[tuple[int, int, int]] = []
        for first, length in zip(self._ends[:-1].tolist(), self.lengths, strict=True):
            if groups and groups[-1][2] == length:
                groups[-1] = (groups[-1][0], groups[-1][1] + 1, length)
            else:
                groups.append((first, 1, length))
        return groups
