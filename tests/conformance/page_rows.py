"""Rows of int8 with a scale each, as pages of keys and values have them."""

from __future__ import annotations

import numpy as np

from .workspace import Array

#: what a row's largest size is made of at least
LEAST = np.float32(1e-30)


def narrowed(rows: Array) -> tuple[Array, Array]:
    """What write_pages() makes of rows of float32, to the bit: int8, and the scale of each row."""
    wide = rows.astype(np.float32)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        largest = abs(wide).max(-1)
        usual = (largest >= LEAST) & np.isfinite(largest)
        inverse = np.where(usual, np.float32(127) / largest, np.float32(0)).astype(np.float32)
        whole = np.rint(np.where(usual[..., None], wide, 0) * inverse[..., None])
        scales = np.where(usual, largest * (np.float32(1) / np.float32(127)), np.float32(0))
        scales = np.where(largest >= LEAST, scales, np.where(largest < LEAST, 0, np.nan))
        scales = np.where(np.isfinite(largest), scales, np.nan)
    return whole.astype(np.int8), scales.astype(np.float32)


def widened(rows: Array, scales: Array) -> Array:
    """The numbers that they stand for, in float64."""
    return rows.astype(np.float64) * scales.astype(np.float64)[..., None]
