"""Formulas over Arrays as one launch: what every function of tw.nn starts and ends with."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.namespace.mixed import an_array
from tilewright.operands import HALVES, invalid, shown
from tilewright.program import Program

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tilewright.program import Value

    Formula = Callable[..., Value | tuple[Value, ...]]

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)


ACTIVATIONS = tuple(one.value for one in _core.Activation)


def floats(call: str, **given: Any) -> list[Array]:
    """Arrays of one dtype of floats on one device."""
    found = list(given.values())
    if type(found[0]) is Array and found[0]._same_floats(*found):
        return found
    found = []
    for name, one in given.items():
        x = one if type(one) is Array else an_array(call, one, name)
        if x.dtype.kind != "f":
            invalid(
                call,
                f"{name} is {x.dtype}, expected floats; write {name}.astype('float32')",
            )
        if found:
            first = next(iter(given))
            found[0].backend._own(call, name, x)
            if x.dtype != found[0].dtype:
                invalid(call, f"{name} is {x.dtype}, expected {found[0].dtype} as {first} is")
        found.append(x)
    return found


def alike(call: str, **given: Any) -> list[Array]:
    """floats() of one shape."""
    found = floats(call, **given)
    (first, *names), (like, *others) = given, found
    for name, one in zip(names, others, strict=True):
        if one.shape != like.shape:
            invalid(call, f"{name} has shape {one.shape}, expected {like.shape} as {first} has")
    return found


def spread(call: str, name: str, x: Array, shape: tuple[int, ...]) -> Array:
    """A view of another shape that it broadcasts to."""
    from tilewright.namespace.manipulation import broadcast_to

    if x.shape == shape:
        return x
    padded = (1,) * (len(shape) - x.ndim) + x.shape
    if len(padded) != len(shape) or any(
        a not in (1, b) for a, b in zip(padded, shape, strict=True)
    ):
        invalid(call, f"{name} has shape {x.shape}, which does not broadcast to {shape}")
    return broadcast_to(x, shape)


def to_number(call: str, name: str, value: Any) -> float:
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    if not is_number or isinstance(value, bool):
        invalid(call, f"{name} is {shown(value)}, expected a number")
    try:
        return float(value)
    except OverflowError:
        invalid(call, f"{name} is an integer beyond 1.8e308, expected a number that float64 holds")


def to_activation(call: str, activation: Any, negative_slope: Any) -> tuple[str, float]:
    """The name of what an op makes of its sums, and leaky_relu's slope."""
    if activation is None and type(negative_slope) is float and negative_slope == 0.01:
        return "none", 0.01
    bent = "none" if activation is None else activation
    if not isinstance(bent, str) or bent not in ACTIVATIONS:
        invalid(
            call,
            f"activation is {shown(activation)}, expected None or one of {', '.join(ACTIVATIONS)}",
        )
    slope = to_number(call, "negative_slope", negative_slope)
    if not math.isfinite(slope):
        invalid(call, f"negative_slope is {slope}, expected a finite number")
    return bent, slope


def to_truth(call: str, name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        invalid(call, f"{name} is {shown(value)}, expected True or False")
    return value


@cache
def wide_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """What elements of a dtype are computed in."""
    return FLOAT32 if dtype in HALVES else dtype


@cache
def wide_name(dtype: np.dtype[Any]) -> str:
    return wide_of(dtype).name


def read(program: Program, dtype: str) -> Value:
    """The next input, floats of 16 bits as float32, so that numbers beside them are not rounded."""
    value = program.input(dtype)
    return value.cast("float32") if dtype in ("float16", "bfloat16") else value


@cache
def program_of(
    formula: Formula, dtypes: tuple[str | None, ...], wide: str, results: tuple[str, ...]
) -> Program:
    """A formula of operands of these dtypes, None for a number, and what its results are stored
    as."""
    program = Program()
    values = [program.number(wide) if dtype is None else read(program, dtype) for dtype in dtypes]
    found = formula(*values)
    for value, dtype in zip(found if isinstance(found, tuple) else (found,), results, strict=True):
        program.output(value if str(value.dtype) == dtype else value.cast(dtype))
    return program


def is_apart(target: Array, operands: Sequence[Any]) -> bool:
    """Whether a launch may write it as it reads the operands."""
    return not any(
        isinstance(one, Array)
        and target.overlaps(one)
        and (one.offset, one.strides, one.dtype) != (target.offset, target.strides, target.dtype)
        for one in operands
    )


def to_target(call: str, out: Any, like: Array, shape: tuple[int, ...], dtype: Any) -> Array:
    """`out` where it is what the result is, a new Array where there is none."""
    if out is None:
        return like.backend._new(shape, dtype)
    target = an_array(call, out, "out")
    like.backend._own(call, "out", target)
    if target.shape != shape or target.dtype != dtype:
        invalid(
            call,
            f"out is {target.dtype} of shape {target.shape}, expected {dtype} of shape {shape}",
        )
    _core._make_writable(target, call)
    return target


def mapped(
    call: str, formula: Formula, like: Array, operands: Sequence[Array | float], out: Any = None,
    shape: tuple[int, ...] | None = None,
) -> Array:  # fmt: skip
    """A formula of Arrays of one shape, that of `like` unless given, and of numbers: one launch."""
    shape = like.shape if shape is None else shape
    target = to_target(call, out, like, shape, like.dtype)
    result = target if out is None or is_apart(target, operands) else (
        like.backend._new(shape, like.dtype)
    )  # fmt: skip
    launch(formula, like, operands, [result], shape)
    if result is not target:
        target[...] = result
    return target


def launch(
    formula: Formula, like: Array, operands: Sequence[Array | float], results: Sequence[Array],
    shape: tuple[int, ...],
) -> None:  # fmt: skip
    dtypes = tuple(one.stored_as if isinstance(one, Array) else None for one in operands)
    program = program_of(
        formula, dtypes, wide_name(like.dtype), tuple(one.stored_as for one in results)
    )
    like.backend.map(
        program, shape,
        [one for one in operands if isinstance(one, Array)],
        [one for one in operands if not isinstance(one, Array)],
        list(results),
    )  # fmt: skip


@cache
def _behind(formula: Formula, wide: str, inputs: tuple[str, ...], count: int, to: str) -> Program:
    program = Program()
    values = [program.input(wide), *(read(program, dtype) for dtype in inputs)]
    values += [program.number(wide) for _ in range(count)]
    found = formula(*values)
    assert not isinstance(found, tuple)
    program.output(found if wide == to else found.cast(to))
    return program


def _same(x: Value) -> Value:
    return x


def reduced(
    op: str, formula: Formula, like: Array, operands: Sequence[Array | float],
    axes: Sequence[int], dtype: np.dtype[Any] | None = None, behind: Formula = _same,
    numbers: Sequence[float] = (), inputs: Sequence[Array] = (),
    shape: tuple[int, ...] | None = None,
) -> Array:  # fmt: skip
    """What a reduction makes of a formula along axes, which the result lacks, and a formula behind
    it of that, of further inputs of the result's shape, and of numbers. It stays in the dtype that
    it is computed in, unless one is given."""
    wide = wide_of(like.dtype)
    name = wide_name(like.dtype)
    shape = like.shape if shape is None else shape
    left = tuple(size for i, size in enumerate(shape) if i not in axes)
    result = like.backend._new(left, wide if dtype is None else dtype)
    if 0 in left:
        return result
    dtypes = tuple(one.stored_as if isinstance(one, Array) else None for one in operands)
    like.backend.map_reduce(
        program_of(formula, dtypes, name, (name,)), op, shape, tuple(axes),
        [one for one in operands if isinstance(one, Array)],
        [one for one in operands if not isinstance(one, Array)],
        [result],
        _behind(
            behind, name, tuple(one.stored_as for one in inputs), len(numbers),
            result.stored_as,
        ),
        list(inputs), list(numbers),
    )  # fmt: skip
    return result
