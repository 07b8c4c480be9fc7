"""Quantises Arrays into blocks, on their device, to the bits that GGUF's reference gives."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tilewright.array import Array
from tilewright.namespace.creation import zeros
from tilewright.namespace.elementwise import (
    abs,
    bitwise_left_shift,
    bitwise_or,
    clip,
    floor,
    reciprocal,
    sign,
    trunc,
    where,
)
from tilewright.namespace.reductions import argmax, max, min
from tilewright.namespace.selection import take_along_axis
from tilewright.operands import FLOAT16, FLOAT32, invalid, shown
from tilewright.quant.formats import FORMATS, GROUP
from tilewright.quant.tensor import FLOATS, QuantizedTensor, checked_shape

if TYPE_CHECKING:
    from collections.abc import Callable

UINT8 = np.dtype(np.uint8)


def _inverse(d: Array) -> Array:
    """1 / d, and 0 where d is 0."""
    inverse: Array = where(d == 0, 0.0, reciprocal(where(d == 0, 1.0, d)))
    return inverse


def _nibbles(q: Array) -> Array:
    halves = clip(q, 0, 15).astype(UINT8)
    return bitwise_or(halves[:, : GROUP // 2], bitwise_left_shift(halves[:, GROUP // 2 :], 4))


def _q8_0(x: Array) -> tuple[Array, Array]:
    d = max(abs(x), axis=1, keepdims=True) / 127
    scaled = x * _inverse(d)
    size = abs(scaled)
    whole = floor(size)
    rounded = sign(scaled) * (whole + floor(2 * (size - whole)))
    return (rounded + 128).astype(UINT8), d.astype(FLOAT16)


def _q4_0(x: Array) -> tuple[Array, Array]:
    largest = take_along_axis(x, argmax(abs(x), axis=1, keepdims=True), axis=1)
    d = largest / -8
    scaled = x * _inverse(d)
    return _nibbles(trunc(scaled + 8.5)), d.astype(FLOAT16)


def _q4_1(x: Array) -> tuple[Array, Array]:
    least = min(x, axis=1, keepdims=True)
    d = (max(x, axis=1, keepdims=True) - least) / 15
    scaled = (x - least) * _inverse(d)
    both = zeros((x.shape[0], 2), dtype=FLOAT16, device=x.backend)
    both[:, :1] = d.astype(FLOAT16)
    both[:, 1:] = least.astype(FLOAT16)
    return _nibbles(trunc(scaled + 0.5)), both


_QUANTISE: dict[str, Callable[[Array], tuple[Array, Array]]] = {
    "q8_0": _q8_0,
    "q4_0": _q4_0,
    "q4_1": _q4_1,
}


def quantize_blocks(x: Array, format: str) -> QuantizedTensor:
    """x, of float32 or float16, in blocks of q8_0, q4_0 or q4_1 along its last axis, made on its
    device. Of other formats give QuantizedTensor.from_blocks() what a quantiser made of them."""
    call = "quantize_blocks"
    if not isinstance(x, Array):
        invalid(call, f"x is {shown(x)}, expected an Array; write tw.asarray(x)")
    if x.dtype not in FLOATS:
        invalid(call, f"x is {x.dtype}, expected float32 or float16")
    name = format.lower() if isinstance(format, str) else ""
    if name not in _QUANTISE:
        invalid(call, f"format is {shown(format)}, expected one of {', '.join(_QUANTISE)}")
    kind = FORMATS[name]
    shape = checked_shape(call, x.shape, kind)
    groups = math.prod(shape) // GROUP
    at = kind.planes(groups)
    packed = zeros(at.bytes, dtype=UINT8, device=x.backend)
    if groups:
        q, scales = _QUANTISE[name](x.astype(FLOAT32, copy=False).reshape(groups, GROUP))
        for part, start in ((q, at.low), (scales, at.scales)):
            x.backend.copy_dtod(packed, part._contiguous(), part.nbytes, start)
    return QuantizedTensor(name, shape, packed)
