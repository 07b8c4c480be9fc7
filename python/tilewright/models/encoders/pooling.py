"""How the states of a sequence become one row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.namespace.creation import asarray, empty, zeros
from tilewright.namespace.reductions import max
from tilewright.namespace.selection import take

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.models.encoders.batch import Batch

#: by the names that sentence-transformers has for it
POOLINGS = {
    "cls": "cls", "max": "max", "mean": "mean", "mean_sqrt_len": "mean_sqrt", "lasttoken": "last",
}  # fmt: skip


def pooled(how: str, states: Array, batch: Batch) -> Array:
    """A row of each sequence, [sequences, size]."""
    if how == "cls":
        return take(states, batch.first_rows(), axis=0)
    if how == "last":
        return take(states, batch.last_rows(), axis=0)
    if how == "max":
        return max_of_sequences(states, batch)
    mean = mean_of_sequences(states, batch)
    if how == "mean":
        return mean
    roots = np.sqrt(np.array(batch.lengths, np.float32))[:, None]
    found: Array = mean * asarray(roots, device=batch.backend).astype(mean.dtype)
    return found


def mean_of_sequences(states: Array, batch: Batch) -> Array:
    """The mean of each sequence's rows: attention whose queries are 0 weighs all keys alike."""
    size = states.shape[-1]
    head = next(one for one in (64, 32, 16, 8, 4, 2, 1) if size % one == 0)
    rows = states.reshape((batch.rows, size // head, head))
    nothing = zeros((batch.size, size // head, head), dtype=states.dtype, device=batch.backend)
    each = np.arange(batch.size + 1, dtype=np.int32)
    mean = batch.backend.attention(
        nothing, zeros(rows.shape, dtype=states.dtype, device=batch.backend), rows,
        q_starts=each, kv_starts=batch.starts,
    )  # fmt: skip
    return mean.reshape((batch.size, size))


def max_of_sequences(states: Array, batch: Batch) -> Array:
    """Of neighbours of one length at a time."""
    size = states.shape[-1]
    found = empty((batch.size, size), dtype=states.dtype, device=batch.backend)
    at = 0
    for first, count, length in batch.of_one_length():
        rows = states[first : first + count * length].reshape((count, length, size))
        found[at : at + count] = max(rows, axis=1)
        at += count
    return found
