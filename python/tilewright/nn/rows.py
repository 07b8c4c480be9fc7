"""Formulas of whole rows as one launch: what is found along some axes, and what comes of it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

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


class Programs(NamedTuple):
    """One of each fold, with its op, and those of elements and ends, where there are any."""

    folds: tuple[tuple[str, Program], ...]
    elements: Program | None
    ends: Program | None


@cache
def programs_of(
    folds: tuple[tuple[str, Formula], ...], elements: Formula | None, ends: Formula | None,
    dtypes: tuple[str | None, ...], wide: str, numbers: int, stored: str, end_count: int,
) -> Programs:  # fmt: skip
    count = len(folds)
    return Programs(
        tuple(
            (op, _program(formula, dtypes, wide, i, numbers, (wide,)))
            for i, (op, formula) in enumerate(folds)
        ),
        elements and _program(elements, dtypes, wide, count, numbers, (stored,)),
        ends and _program(ends, (), wide, count, numbers, (wide,) * end_count),
    )


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
    programs = programs_of(
        tuple(folds), elements, ends, dtypes, wide, len(numbers), like.stored_as, end_count
    )
    result = target = None
    if elements is not None:
        target = to_target(call, out, like, shape, like.dtype)
        result = target
        if out is not None and any(target.overlaps(one) for one in arrays):
            result = backend._new(shape, like.dtype)
    left = tuple(size for i, size in enumerate(shape) if i not in axes)
    lines: list[Array] = [backend._new(left, wide_of(like.dtype)) for _ in range(end_count)]
    backend.map_rows(
        [(op, program, given) for op, program in programs.folds], shape, tuple(axes), arrays,
        programs.elements, given if elements is not None else (),
        [] if result is None else [result],
        programs.ends, list(numbers) if ends is not None else (), lines,
    )  # fmt: skip
    if result is not target and target is not None:
        target[...] = result
    return target, lines
