"""Blocks of quantised weights at random, and what the gguf package says of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from tilewright.quant.formats import FORMATS, pack

Array = npt.NDArray[Any]

#: where the float16 numbers of a block are, and those among them that are minima
HALVES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "q8_0": ((0,), ()),
    "q4_0": ((0,), ()),
    "q4_1": ((0, 2), (2,)),
    "q5_0": ((0,), ()),
    "q5_1": ((0, 2), (2,)),
    "q2_k": ((80, 82), (82,)),
    "q3_k": ((108,), ()),
    "q4_k": ((0, 2), (2,)),
    "q5_k": ((0, 2), (2,)),
    "q6_k": ((208,), ()),
    "mxfp4": ((), ()),
}


def kind_of(format: str) -> GGMLQuantizationType:
    return GGMLQuantizationType[format.upper()]


@cache
def sizes_of(format: str) -> tuple[int, int]:
    """Elements and bytes of a block."""
    elements, size = GGML_QUANT_SIZES[kind_of(format)]
    return int(elements), int(size)


def draw(rng: np.random.Generator, format: str, rows: int, cols: int) -> Array:
    """Blocks as [rows, bytes]: any bits, with scales that are finite."""
    elements, size = sizes_of(format)
    blocks = rng.integers(0, 256, (rows * (cols // elements), size), np.uint8)
    for at in HALVES[format][0]:
        scales = (rng.normal(size=len(blocks)) * 0.1).astype(np.float16)
        blocks[:, at : at + 2] = scales.view(np.uint8).reshape(-1, 2)
    if format == "mxfp4":
        blocks[:, 0] = rng.integers(118, 131, len(blocks))
    return blocks.reshape(rows, cols // elements * size)


def values(format: str, blocks: Array) -> Array:
    """What the gguf package makes of them, in float32."""
    with np.errstate(all="ignore"):
        found: Array = gguf.quants.dequantize(blocks, kind_of(format))
    return found


def magnitudes(format: str, blocks: Array) -> Array:
    """Of each value the sum of what its product and its minimum are, without signs."""
    exact = values(format, blocks).astype(np.float64)
    minima = HALVES[format][1]
    if not minima:
        return np.abs(exact)
    without = blocks.reshape(-1, sizes_of(format)[1]).copy()
    for at in minima:
        without[:, at : at + 2] = 0
    product = values(format, without.reshape(blocks.shape)).astype(np.float64)
    return np.abs(product) + np.abs(exact - product)


def planes(format: str, blocks: Array) -> Array:
    """As a device reads them."""
    return pack(FORMATS[format], blocks.reshape(-1, sizes_of(format)[1]))
