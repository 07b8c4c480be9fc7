"""int4 in groups, in NumPy: how weights are rounded, and how files have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .workspace import Array

#: AWQ has these numbers of each eight from the lowest bits on.
AWQ = (0, 2, 4, 6, 1, 3, 5, 7)


def rounded(rows: Array, symmetric: bool) -> tuple[Array, Array, Array]:
    """q, and the scales and minima of groups, which are rows: in float32, scales float16."""
    if symmetric:
        scale = (np.abs(rows).max(1, keepdims=True) / np.float32(7)).astype(np.float16)
        by = np.where(scale == 0, 1, scale).astype(np.float32)
        return np.clip(np.rint(rows / by), -7, 7) + 8, scale, (-8 * scale.astype("f4"))
    low = np.minimum(rows.min(1, keepdims=True), 0)
    high = np.maximum(rows.max(1, keepdims=True), 0)
    scale = ((high - low) / np.float32(15)).astype(np.float16)
    by = np.where(scale == 0, 1, scale).astype(np.float32)
    zero = np.clip(np.rint(-low / by), 0, 15)
    least = (-scale.astype(np.float32) * zero).astype(np.float16).astype(np.float32)
    return np.clip(np.rint(rows / by) + zero, 0, 15), scale, least


def pack_rows(q: Array, order: Any = range(8)) -> Array:
    """Eight numbers of the last axis in a word, the one at order[i] from bit 4 i on."""
    eights = q.reshape((*q.shape[:-1], q.shape[-1] // 8, 8)).astype(np.uint32)
    words = np.zeros(eights.shape[:-1], np.uint32)
    for bit, place in enumerate(order):
        words |= eights[..., place] << np.uint32(4 * bit)
    return words.view(np.int32)
