"""Rows of the words' table, which is held as the file has it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.namespace.creation import empty
from tilewright.namespace.selection import take
from tilewright.quant.formats import FORMATS, GROUP, SUPER
from tilewright.quant.tensor import QuantizedTensor

if TYPE_CHECKING:
    from tilewright.array import Array


def look_up(table: Array | QuantizedTensor, numbers: Array, dtype: np.dtype[Any]) -> Array:
    """Rows of a table, [numbers, columns]; of blocks, whose planes lie row by row, what they stand
    for in a dtype."""
    if not isinstance(table, QuantizedTensor):
        return take(table, numbers, axis=0)
    kind = FORMATS[table.format]
    every, columns = table.shape
    count = math.prod(numbers.shape)
    groups = columns // GROUP
    there, here = kind.planes(every * groups), kind.planes(count * groups)
    packed = empty((here.bytes,), dtype=np.uint8, device=table.device)
    for at, to, size in (
        (there.low, here.low, groups * kind.low * GROUP // 8),
        (there.high, here.high, groups * kind.high * GROUP // 8),
        (there.scales, here.scales, groups * kind.scale),
        (there.outer, here.outer, groups // SUPER * kind.outer),
    ):
        if size:
            plane = table.packed[at : at + every * size].reshape((every, size), copy=False)
            packed[to : to + count * size] = take(plane, numbers, axis=0).reshape(-1)
    return QuantizedTensor(kind.name, (count, columns), packed).dequantize(dtype)
