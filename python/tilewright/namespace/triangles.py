"""The parts of matrices below and above a diagonal."""

from __future__ import annotations

from functools import cache
from typing import Any

from tilewright import _core
from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace import ranges
from tilewright.operands import INT32, invalid, shown, to_integer
from tilewright.program import Program
from tilewright.small_floats import BFLOAT16


@cache
def _part(dtype: str, upper: bool) -> Program:
    """Elements by row and column: 0 on the other side of a diagonal so far above the middle."""
    program = Program()
    x, row, column = program.input(dtype), program.input("uint32"), program.input("uint32")
    edge = row.cast("int32") + program.number("int32")
    is_kept = column.cast("int32") >= edge if upper else column.cast("int32") <= edge
    zero = program.constant(False if dtype == "bool" else 0, dtype)
    program.output(program.apply("where", is_kept, x, zero))
    return program


def _triangle(call: str, x: Any, k: Any, upper: bool) -> Array:
    if not isinstance(x, Array) or x.ndim < 2:
        invalid(call, f"x is {shown(x)}, expected an Array of 2 dimensions at least")
    above = to_integer(call, "k", k)
    rows, cols = x.shape[-2:]
    if max(rows, cols) > ranges.SIDE or x.dtype == BFLOAT16:
        return _large_triangle(call, x, above, upper)
    above = max(-rows - 1, min(above, cols + 1))
    result = x.backend._new(x.shape, x.dtype)
    is_complex = x.dtype.kind == "c"
    parts, to = (x._parts(), result._parts()) if is_complex else (x, result)
    table, lead = ranges.first_integers(x.backend), (0,) * (x.ndim - 2)
    last = (0,) if is_complex else ()
    inputs: list[Any] = [parts, (table, (*lead, 1, 0, *last)), (table, (*lead, 0, 1, *last))]
    if result.size:
        x.backend.map(_part(parts.stored_as, upper), parts.shape, inputs, [above], [to])
    return result


def _large_triangle(call: str, x: Array, above: int, upper: bool) -> Array:
    from tilewright.namespace.elementwise import greater_equal, less_equal, where

    rows, cols = x.shape[-2:]
    if max(rows, cols) + min(abs(above), rows + cols) >= 2**31:
        raise _core.Unsupported(f"{call}: x has shape {x.shape}; rows are counted to 2**31")
    above = max(-rows - 1, min(above, cols + 1))
    row = x.backend._new((rows,), INT32)
    col = x.backend._new((cols,), INT32)
    if rows and cols:
        ranges.fill("tril", row, above, 1, 1.0)
        ranges.fill("tril", col, 0, 1, 1.0)
    row, col = row.reshape(rows, 1), col.reshape(1, cols)
    kept = greater_equal(col, row) if upper else less_equal(col, row)
    return where(kept, x, False if x.dtype.kind == "b" else 0)


@kept_by_form
def tril(m: Array, k: int = 0) -> Array:
    """The elements on and below a diagonal, 0 above it."""
    return _triangle("tril", m, k, False)


@kept_by_form
def triu(m: Array, k: int = 0) -> Array:
    """The elements on and above a diagonal, 0 below it."""
    return _triangle("triu", m, k, True)
