"""What numeric.py composes of several functions as one launch, for floats as they mostly come."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.operands import name_of
from tilewright.program import Program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.program import Value

FLOATS = ("float32", "float64")
BOOL = np.dtype(np.bool_)


def _launched(
    program: Program, arrays: Sequence[Array], numbers: Sequence[float], dtype: Any
) -> Array:
    x = arrays[0]
    result = x.backend._new(x.shape, dtype)
    if result.size:
        x.backend.map(program, x.shape, list(arrays), list(numbers), [result])
    return result


def _are_taken(arrays: Sequence[Any], numbers: Sequence[Any]) -> bool:
    """Whether they are Arrays of one shape and dtype of floats, none of which waits, and floats."""
    x = arrays[0]
    return (
        all(type(one) is Array for one in arrays)
        and x._same_floats(*arrays)
        and name_of(x.dtype) in FLOATS
        and all(one.shape == x.shape and not _core._is_deferred(one) for one in arrays)
        and all(type(one) is float for one in numbers)
    )


@cache
def _close_program(dtype: str, equal_nan: bool) -> Program:
    program = Program()
    a, b = program.input(dtype), program.input(dtype)
    rtol, atol = program.number(dtype), program.number(dtype)
    near = (abs(a - b) <= atol + rtol * abs(b)) & b.isfinite() | (a == b)
    program.output(near | a.isnan() & b.isnan() if equal_nan else near)
    return program


def close(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: Any) -> Array | None:
    """isclose(); None for what is not of the common kind."""
    if not _are_taken((a, b), (rtol, atol)):
        return None
    program = _close_program(name_of(a.dtype), bool(equal_nan))
    return _launched(program, (a, b), (rtol, atol), BOOL)


def _chosen(condition: Value, a: Value, b: Value) -> Value:
    return condition.program.apply("where", condition, a, b)


@cache
def _numbers_program(dtype: str) -> Program:
    program = Program()
    x = program.input(dtype)
    nan, most, least = (program.number(dtype) for _ in range(3))
    limit = program.constant(math.inf, dtype)
    finite = _chosen(x == limit, most, _chosen(x == -limit, least, x))
    program.output(_chosen(x.isnan(), nan, finite))
    return program


def numbers(x: Any, nan: Any, most: Any, least: Any) -> Array | None:
    """nan_to_num() of a copy; None for what is not of the common kind."""
    if not _are_taken((x,), (nan, most, least)):
        return None
    return _launched(_numbers_program(name_of(x.dtype)), (x,), (nan, most, least), x.dtype)
