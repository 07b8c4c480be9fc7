"""NumPy's functions of the bits of integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.array import Array
from tilewright.namespace import elementwise
from tilewright.namespace.creation import asarray
from tilewright.namespace.mixed import an_array, written
from tilewright.namespace.options import with_options
from tilewright.namespace.padding import pad
from tilewright.namespace.reductions import sum as total
from tilewright.operands import invalid, shown, to_integer
from tilewright.shapes import to_one_axis

__all__ = ["bitwise_count", "packbits", "unpackbits"]


def bitwise_count(x: Array, /, out: Array | None = None, **options: Any) -> Array:
    """How many bits of each integer's absolute value are 1, as uint8."""
    if options:
        return with_options("bitwise_count", (x,), out, options)
    x = an_array("bitwise_count", x)
    if x.dtype.kind not in "biu":
        invalid("bitwise_count", f"x is {x.dtype}, expected integers")
    if x.dtype.kind == "b":
        return written("bitwise_count", out, x.astype("uint8"))
    bits = x.dtype.itemsize * 8
    # Of the least integer the absolute value is itself, whose bits are right as an unsigned one's.
    words = (elementwise.abs(x) if x.dtype.kind == "i" else x).astype(f"uint{bits}")
    masks = [int(part * (bits // 8), 16) for part in ("55", "33", "0f")]
    words = words - ((words >> 1) & masks[0])
    words = (words & masks[1]) + ((words >> 2) & masks[1])
    words = (words + (words >> 4)) & masks[2]
    for step in (8, 16, 32):
        if step < bits:
            words = words + (words >> step)
    counts: Array = (words & 0x7F).astype("uint8")
    return written("bitwise_count", out, counts)


def _shifts(call: str, bitorder: Any, x: Array) -> Array:
    if bitorder not in ("big", "little"):
        invalid(call, f"bitorder is {shown(bitorder)}, expected 'big' or 'little'")
    order = np.arange(8, dtype=np.uint8)
    return asarray(order[::-1].copy() if bitorder == "big" else order, device=x.backend)


def _along(call: str, x: Array, axis: int | None) -> tuple[Array, int]:
    """x and which of its axes; of none, all elements in a row."""
    return (x.reshape(-1), 0) if axis is None else (x, to_one_axis(call, axis, x.ndim))


def packbits(a: Array, axis: int | None = None, bitorder: str = "big") -> Array:
    """Eight elements side by side as the bits of a byte, 1 where one is not 0; with zeros behind
    the last ones."""
    x = an_array("packbits", a, "a")
    if x.dtype.kind not in "biu":
        invalid("packbits", f"a is {x.dtype}, expected integers or booleans")
    shifts = _shifts("packbits", bitorder, x)
    x, at = _along("packbits", x, axis)
    bits = elementwise.not_equal(x, 0)
    missing = -x.shape[at] % 8
    if missing:
        bits = pad(bits, [(0, missing if i == at else 0) for i in range(x.ndim)])
    rows = bits.astype("uint8").swapaxes(at, -1)
    rows = rows.reshape((*rows.shape[:-1], rows.shape[-1] // 8, 8))
    return total(rows << shifts, axis=-1, dtype="uint8").swapaxes(at, -1)


def unpackbits(
    a: Array, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Array:
    """The bits of bytes as elements, `count` of them along the axis, or all but so many where that
    is negative."""
    x = an_array("unpackbits", a, "a")
    if x.dtype != np.uint8:
        invalid("unpackbits", f"a is {x.dtype}, expected uint8")
    shifts = _shifts("unpackbits", bitorder, x)
    x, at = _along("unpackbits", x, axis)
    rows = x.swapaxes(at, -1)
    bits = (rows[..., None] >> shifts) & 1
    bits = bits.reshape((*rows.shape[:-1], 8 * rows.shape[-1]))
    if count is not None:
        wanted = to_integer("unpackbits", "count", count)
        size = bits.shape[-1]
        if wanted < -size:
            invalid("unpackbits", f"count is {wanted}, expected {-size} or more")
        if wanted > size:
            bits = pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, wanted - size)])
        bits = bits[..., :wanted] if wanted < size else bits
    found: Array = bits.swapaxes(at, -1)
    return found
