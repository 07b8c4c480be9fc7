"""Formulas of whole rows as one launch: what is found along some axes, and what comes of it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from tilewright.array import Array
from tilewright.nn.running import read, to_target, wide_name, wide_of
from tilewright.program import Program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.nn.running import Formula


@cache
def _program(
    formula: Formula, dtypes: tuple[str | None, ...], wide: str, found: int, numbers: int,
    results: tuple[str, ...],
) -> Program:  # fmt: skip
    """Of operands of these dtypes, None for a number, of what folds found, and of numbers."""
    program = Program()
    places = [None if dtype is None else read(program, dtype) for dtype in dtypes]
    lines = [program.input(wide) for _ in range(found)]
    values = [program.number(wide) if one is None else one for one in places]
    made = formula(*values, *lines, *(program.number(wide) for _ in range(numbers)))
    for value, dtype in zip(made if isinstance(made, tuple) else (made,), results, strict=True):
        program.output(value if str(value.dtype) == dtype else value.cast(dtype))
    return program


def in_rows(
    call: str, like: Array, operands: Sequence[Array | float], axes: Sequence[int],
    folds: Sequence[tuple[str, Formula]], elements: Formula | None = None, *,
    ends: Formula | None = None, end_count: int = 0, numbers: Sequence[float] = (),
    out: Any = None,
) -> tuple[Array | None, list[Array]]:  # fmt: skip
    """What `elements` makes of each element of like's shape, in its dtype, and what `ends` makes of
    each row along the axes, in the dtype that is computed in. Folds find one value of a row after
    another: each formula has the operands first, `ends` has none, then what was found before it,
    and the numbers. Nothing may be empty."""
    wide = wide_name(like.dtype)
    shape, backend = like.shape, like.backend
    dtypes = tuple(one.stored_as if isinstance(one, Array) else None for one in operands)
    arrays = [one for one in operands if isinstance(one, Array)]
    scalars = [one for one in operands if not isinstance(one, Array)]
    given = [*scalars, *numbers]
    steps = [
        (op, _program(formula, dtypes, wide, i, len(numbers), (wide,)), given)
        for i, (op, formula) in enumerate(folds)
    ]
    result = target = None
    last: Program | None = None
    if elements is not None:
        target = to_target(call, out, like, shape, like.dtype)
        result = target
        if out is not None and any(target.overlaps(one) for one in arrays):
            result = backend._new(shape, like.dtype)
        last = _program(
            elements, dtypes, wide, len(folds), len(numbers), (result.stored_as,)
        )  # fmt: skip
    left = tuple(size for i, size in enumerate(shape) if i not in axes)
    lines: list[Array] = [backend._new(left, wide_of(like.dtype)) for _ in range(end_count)]
    behind: Program | None = None
    if ends is not None:
        behind = _program(ends, (), wide, len(folds), len(numbers), (wide,) * end_count)
    backend.map_rows(
        steps, shape, tuple(axes), arrays,
        last, given if last is not None else (), [] if result is None else [result],
        behind, list(numbers) if behind is not None else (), lines,
    )  # fmt: skip
    if result is not target and target is not None:
        target[...] = result
    return target, lines
