"""The standard's statistics, truths, places of extremes and cumulative functions."""

from __future__ import annotations

import builtins
import math
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.namespace import complex_reductions
from tilewright.namespace.arguments import check_mean
from tilewright.operands import check_stored, invalid, name_of, shown, to_dtype, to_integer
from tilewright.program import Program
from tilewright.reading import default_integer
from tilewright.shapes import to_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Axis = int | Sequence[int] | None

BOOL = np.dtype(np.bool_)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)

# Reductions in their common form, by (x, axis, keepdims, dtype): a real Array that has elements.
# None for any other, which is done below, and for what is wrong, which is refused there.
common = _core._reductions()
_all, _any, _max, _mean, _min, _prod, _sum = (
    common[name] for name in ("all", "any", "max", "mean", "min", "prod", "sum")
)


@cache
def _cast(source: str, to: str) -> Program:
    program = Program()
    value = program.input(source)
    program.output(value if source == to else value.cast(to))
    return program


@cache
def _truth_as(source: str, to: str) -> Program:
    program = Program()
    program.output(program.input(source).cast("bool").cast(to))
    return program


@cache
def _quotient(source: str, to: str) -> Program:
    program = Program()
    value = program.input(source) / program.number(source)
    program.output(value if source == to else value.cast(to))
    return program


@cache
def _variance(source: str, to: str, is_root: bool) -> Program:
    """Of moments, the squares over a number, or the root of that."""
    program = Program()
    program.input(source)
    value = program.input(source) / program.number(source)
    value = value.sqrt() if is_root else value
    program.output(value if source == to else value.cast(to))
    return program


def _masked() -> Any:
    from tilewright.namespace import masked_reductions

    return masked_reductions


def _written(call: str, out: Array, found: Array) -> Array:
    from tilewright.namespace.mixed import written

    return written(call, out, found)


def _array(call: str, x: Any) -> Array:
    if not isinstance(x, Array):
        invalid(call, f"x is {shown(x)}, expected an Array; write tw.asarray(x)")
    return x


def _real(call: str, x: Any) -> Array:
    x = _array(call, x)
    if x.dtype.kind == "c":
        invalid(call, f"x is {x.dtype}, expected real numbers, which have an order")
    return x  # type: ignore[no-any-return]


def _truths(x: Array) -> Array:
    """What is not 0, of complex elements."""
    return x != 0 if x.dtype.kind == "c" else x


def _axes(call: str, x: Array, axis: Any) -> tuple[int, ...]:
    return tuple(range(x.ndim)) if axis is None else to_axes(call, axis, x.ndim)


def _left(call: str, shape: Sequence[int], axes: Sequence[int], keepdims: Any) -> tuple[int, ...]:
    """The shape of the results."""
    if not isinstance(keepdims, bool):
        invalid(call, f"keepdims is {shown(keepdims)}, expected True or False")
    kept = [1 if i in axes else size for i, size in enumerate(shape)]
    return tuple(size for i, size in enumerate(kept) if keepdims or i not in axes)


def _walk(call: str, x: Array, axis: Any, keepdims: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes, and the shape of the results."""
    if (axis is None or type(axis) is int) and type(keepdims) is bool:
        return _known_walk(call, x.shape, axis, keepdims)
    axes = _axes(call, x, axis)
    return axes, _left(call, x.shape, axes, keepdims)


@lru_cache(maxsize=1024)
def _known_walk(
    call: str, shape: tuple[int, ...], axis: int | None, keepdims: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    axes = tuple(range(len(shape))) if axis is None else to_axes(call, axis, len(shape))
    return axes, _left(call, shape, axes, keepdims)


def _reduced(
    call: str,
    op: str,
    front: Program,
    inputs: list[Any],
    axes: Sequence[int],
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    behind: Program | None = None,
    numbers: Sequence[float] = (),
    out: Array | None = None,
    again: bool = False,
) -> Array:
    """One value of what `front` makes of inputs of one shape along the axes. What is deferred goes
    into the reduction, unless it is read `again`."""
    x: Array = inputs[0]
    target = x.backend._new(shape, dtype) if out is None else _out(call, x, out, shape, dtype)
    # Where out overlaps what is read, or has gaps.
    apart = out is None or (
        target.is_contiguous and not builtins.any(target.overlaps(i) for i in inputs)
    )
    result = target if apart else x.backend._new(shape, dtype)
    alone = len(inputs) == 1 and not again and 0 not in shape
    if alone and _core._reduce_deferred(x, front, op, axes, result, behind, numbers):
        pass
    elif 0 not in shape:
        x.backend.map_reduce(front, op, x.shape, axes, inputs, [], [result], behind, [], numbers)
    if result is not target:
        target[...] = result
    return target


def _out(call: str, x: Array, out: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    if not isinstance(out, Array):
        invalid(call, f"out is {shown(out)}, expected an Array")
    x.backend._own(call, "out", out)
    if out.shape != shape or out.dtype != dtype:
        invalid(call, f"out is {out.dtype} of shape {out.shape}, expected {dtype} of shape {shape}")
    _core._make_writable(out, call)
    return out


def _summed_in(call: str, x: Array, dtype: npt.DTypeLike | None) -> np.dtype[Any]:
    """The dtype of a sum: floats' own, and for integers the default one of their sign."""
    if dtype is not None:
        wanted = to_dtype(call, dtype)
    elif x.dtype.kind == "f":
        return x.dtype
    else:
        wide = default_integer(x.backend)
        wanted = np.dtype(f"u{wide}") if x.dtype.kind == "u" else wide
    if wanted == BOOL:
        invalid(call, "dtype is bool, expected numbers; any() and all() give truths")
    check_stored(call, x.backend, wanted)
    return wanted


def sum(
    a: Array, axis: Axis = None, dtype: npt.DTypeLike | None = None, out: Array | None = None,
    keepdims: bool = False, initial: Any = None, where: Any = None,
) -> Array:  # fmt: skip
    """Over one axis, several, or all of them. Integers and bool are summed in int64 or uint64 (32
    bits where the device has no 64), unless a dtype is given."""
    if out is None and initial is None and where is None:
        found: Array | None = _sum(a, axis, keepdims, dtype)
        if found is not None:
            return found
    if initial is not None or where is not None:
        return _masked().accumulating("sum", a, axis, dtype, keepdims, out, initial, where)  # type: ignore[no-any-return]
    a = _array("sum", a)
    if (pair := complex_reductions.wanted_dtype("sum", a, dtype)) is not None:
        axes = _axes("sum", a, axis)
        return complex_reductions.by_parts("sum", sum, a, axes, keepdims, out, pair)
    wanted = _summed_in("sum", a, dtype)
    axes, shape = _walk("sum", a, axis, keepdims)
    return _reduced(
        "sum", "sum", _cast(a.stored_as, name_of(wanted)), [a], axes, shape, wanted, out=out
    )


def prod(
    a: Array, axis: Axis = None, dtype: npt.DTypeLike | None = None, out: Array | None = None,
    keepdims: bool = False, initial: Any = None, where: Any = None,
) -> Array:  # fmt: skip
    """The product over one axis, several, or all of them, by sum()'s dtypes."""
    if out is None and initial is None and where is None:
        found: Array | None = _prod(a, axis, keepdims, dtype)
        if found is not None:
            return found
    if initial is not None or where is not None:
        return _masked().accumulating("prod", a, axis, dtype, keepdims, out, initial, where)  # type: ignore[no-any-return]
    a = _array("prod", a)
    if (pair := complex_reductions.wanted_dtype("prod", a, dtype)) is not None:
        axes = _axes("prod", a, axis)
        _left("prod", a.shape, axes, keepdims)
        return complex_reductions.prod(a, axes, keepdims, out, pair)
    wanted = _summed_in("prod", a, dtype)
    axes, shape = _walk("prod", a, axis, keepdims)
    front = _cast(a.stored_as, name_of(wanted))
    return _reduced("prod", "prod", front, [a], axes, shape, wanted, out=out)


def _extreme(op: str, x: Any, axis: Axis, keepdims: bool, out: Array | None) -> Array:
    x = _real(op, x)
    axes, shape = _walk(op, x, axis, keepdims)
    _not_empty(op, x, axes)
    front = _cast(x.stored_as, x.stored_as)
    return _reduced(op, op, front, [x], axes, shape, x.dtype, out=out)


def _not_empty(op: str, x: Array, axes: Sequence[int]) -> None:
    if builtins.any(x.shape[i] == 0 for i in axes):
        invalid(op, f"x has shape {x.shape}, and the {op} of no elements is not defined")


def max(
    a: Array, axis: Axis = None, out: Array | None = None, keepdims: bool = False,
    initial: Any = None, where: Any = None,
) -> Array:  # fmt: skip
    """The largest over one axis, several, or all of them; NaN where there is one."""
    if out is None and initial is None and where is None:
        found: Array | None = _max(a, axis, keepdims, None)
        if found is not None:
            return found
    if initial is not None or where is not None:
        return _masked().extreme("max", a, axis, keepdims, out, initial, where)  # type: ignore[no-any-return]
    return _extreme("max", a, axis, keepdims, out)


def min(
    a: Array, axis: Axis = None, out: Array | None = None, keepdims: bool = False,
    initial: Any = None, where: Any = None,
) -> Array:  # fmt: skip
    """The least over one axis, several, or all of them; NaN where there is one."""
    if out is None and initial is None and where is None:
        found: Array | None = _min(a, axis, keepdims, None)
        if found is not None:
            return found
    if initial is not None or where is not None:
        return _masked().extreme("min", a, axis, keepdims, out, initial, where)  # type: ignore[no-any-return]
    return _extreme("min", a, axis, keepdims, out)


def _within(x: Array) -> np.dtype[Any]:
    """What means are computed in."""
    return FLOAT64 if x.dtype == FLOAT64 else FLOAT32


def _averaged(x: Array) -> np.dtype[Any]:
    return x.dtype if x.dtype.kind == "f" else FLOAT32


def mean(
    a: Array, axis: Axis = None, dtype: npt.DTypeLike | None = None, out: Array | None = None,
    keepdims: bool = False, *, where: Any = None,
) -> Array:  # fmt: skip
    """Over one axis, several, or all of them; of integers and bool in float32, NaN of nothing."""
    if dtype is None and out is None and where is None:
        found: Array | None = _mean(a, axis, keepdims, None)
        if found is not None:
            return found
    if dtype is not None or where is not None:
        return _masked().mean(a, axis, dtype, keepdims, out, where)  # type: ignore[no-any-return]
    a = _array("mean", a)
    axes, shape = _walk("mean", a, axis, keepdims)
    if a.dtype.kind == "c":
        return complex_reductions.by_parts("mean", mean, a, axes, keepdims, out, a.dtype)
    within, result = _within(a), _averaged(a)
    count = math.prod(a.shape[i] for i in axes)
    return _reduced(
        "mean", "sum", _cast(a.stored_as, name_of(within)), [a], axes, shape, result,
        _quotient(name_of(within), name_of(result)), [float(count)], out,
    )  # fmt: skip


def _spread(
    call: str, x: Any, axis: Axis, correction: Any, keepdims: bool, out: Array | None
) -> Array:
    x = _array(call, x)
    axes, shape = _walk(call, x, axis, keepdims)
    if isinstance(correction, bool) or not isinstance(correction, (int, float)):
        invalid(call, f"correction is {shown(correction)}, expected a number")
    if x.dtype.kind == "c":
        return complex_reductions.spread(call, x, axes, correction, keepdims, out)
    within, result = _within(x), _averaged(x)
    count = math.prod(x.shape[i] for i in axes)
    computed_in = name_of(within)
    left = [float(count - correction if count > correction else 0)]
    if count == 0:
        # NaN, of a sum of nothing.
        front, finish = _cast(x.stored_as, computed_in), _quotient(computed_in, name_of(result))
        return _reduced(call, "sum", front, [x], axes, shape, result, finish, [0.0], out)
    return _reduced(
        call, "moments", _cast(x.stored_as, computed_in), [x], axes, shape, result,
        _variance(computed_in, name_of(result), call == "std"), left, out, again=True,
    )  # fmt: skip


def var(
    a: Array, axis: Axis = None, dtype: npt.DTypeLike | None = None, out: Array | None = None,
    ddof: float | None = None, keepdims: bool = False, *, where: Any = None, mean: Any = None,
    correction: float = 0.0,
) -> Array:  # fmt: skip
    """The variance over axes: squares of what elements are off their mean, summed and divided by
    their count less `correction`."""
    is_common = dtype is None and out is None and where is None and mean is None
    if is_common and (ddof is None or correction == 0):
        off = correction if ddof is None else ddof
        found: Array | None = _core._spread(a, axis, keepdims, off, False)
        if found is not None:
            return found
    if mean is not None:
        check_mean("var", mean)
    if dtype is not None or ddof is not None or where is not None:
        correction = _masked().correction_of("var", correction, ddof)
        return _masked().spread("var", a, axis, correction, dtype, keepdims, out, where)  # type: ignore[no-any-return]
    return _spread("var", a, axis, correction, keepdims, out)


def std(
    a: Array, axis: Axis = None, dtype: npt.DTypeLike | None = None, out: Array | None = None,
    ddof: float | None = None, keepdims: bool = False, *, where: Any = None, mean: Any = None,
    correction: float = 0.0,
) -> Array:  # fmt: skip
    """The square root of var()."""
    is_common = dtype is None and out is None and where is None and mean is None
    if is_common and (ddof is None or correction == 0):
        off = correction if ddof is None else ddof
        found: Array | None = _core._spread(a, axis, keepdims, off, True)
        if found is not None:
            return found
    if mean is not None:
        check_mean("std", mean)
    if dtype is not None or ddof is not None or where is not None:
        correction = _masked().correction_of("std", correction, ddof)
        return _masked().spread("std", a, axis, correction, dtype, keepdims, out, where)  # type: ignore[no-any-return]
    return _spread("std", a, axis, correction, keepdims, out)


def any(
    a: Array, axis: Axis = None, out: Array | None = None, keepdims: bool = False, *,
    where: Any = None,
) -> Array:  # fmt: skip
    """Whether an element is not 0."""
    if out is None and where is None:
        found: Array | None = _any(a, axis, keepdims, None)
        if found is not None:
            return found
    if where is not None:
        return _masked().truth("any", a, axis, keepdims, out, where)  # type: ignore[no-any-return]
    a = _truths(_array("any", a))
    axes, shape = _walk("any", a, axis, keepdims)
    front = _cast(a.stored_as, "bool")
    return _reduced("any", "any", front, [a], axes, shape, BOOL, out=out)


def all(
    a: Array, axis: Axis = None, out: Array | None = None, keepdims: bool = False, *,
    where: Any = None,
) -> Array:  # fmt: skip
    """Whether no element is 0."""
    if out is None and where is None:
        found: Array | None = _all(a, axis, keepdims, None)
        if found is not None:
            return found
    if where is not None:
        return _masked().truth("all", a, axis, keepdims, out, where)  # type: ignore[no-any-return]
    a = _truths(_array("all", a))
    axes, shape = _walk("all", a, axis, keepdims)
    front = _cast(a.stored_as, "bool")
    return _reduced("all", "all", front, [a], axes, shape, BOOL, out=out)


def count_nonzero(a: Array, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """How many elements are not 0."""
    found: Array | None = common["count_nonzero"](a, axis, keepdims, None)
    if found is not None:
        return found
    a = _truths(_array("count_nonzero", a))
    wanted = default_integer(a.backend)
    axes, shape = _walk("count_nonzero", a, axis, keepdims)
    front = _truth_as(a.stored_as, name_of(wanted))
    return _reduced("count_nonzero", "sum", front, [a], axes, shape, wanted)


def _place(call: str, x: Any, axis: Any, keepdims: bool) -> Array:
    x = _real(call, x)
    if isinstance(axis, (tuple, list)):
        invalid(call, f"axis is {shown(axis)}, expected one axis or None")
    wanted = default_integer(x.backend)
    axes, shape = _walk(call, x, axis, keepdims)
    _not_empty(call, x, axes)
    front = _cast(x.stored_as, x.stored_as)
    behind = _cast(name_of(wanted), name_of(wanted))
    return _reduced(call, call, front, [x], axes, shape, wanted, behind)


def argmax(
    a: Array, axis: int | None = None, out: Array | None = None, *, keepdims: bool = False
) -> Array:
    """Where the first of the largest elements is along an axis, or among all; NaN is largest."""
    found: Array | None = common["argmax"](a, axis, keepdims, None)
    if found is not None and out is None:
        return found
    found = _place("argmax", a, axis, keepdims)
    return found if out is None else _written("argmax", out, found)


def argmin(
    a: Array, axis: int | None = None, out: Array | None = None, *, keepdims: bool = False
) -> Array:
    """Where the first of the least elements is along an axis, or among all; NaN is least."""
    found: Array | None = common["argmin"](a, axis, keepdims, None)
    if found is not None and out is None:
        return found
    found = _place("argmin", a, axis, keepdims)
    return found if out is None else _written("argmin", out, found)


def _cumulative(
    call: str, op: str, x: Any, axis: Any, dtype: npt.DTypeLike | None, include_initial: Any
) -> Array:
    if include_initial is False:
        found: Array | None = _core._cumulated(x, axis, dtype, op == "prod")
        if found is not None:
            return found
    x = _array(call, x)
    if not isinstance(include_initial, bool):
        invalid(call, f"include_initial is {shown(include_initial)}, expected True or False")
    if axis is None:
        if x.ndim != 1:
            invalid(call, f"axis is None and x has shape {x.shape}; name the axis")
        axis = 0
    (along,) = to_axes(call, to_integer(call, "axis", axis), x.ndim)
    pair = complex_reductions.wanted_dtype(call, x, dtype)
    wanted = _summed_in(call, x, dtype) if pair is None else pair
    longer = x.shape[along] + int(include_initial)
    result: Array = x.backend._new((*x.shape[:along], longer, *x.shape[along + 1 :]), wanted)
    rest = result
    if include_initial:
        before = (slice(None),) * along
        result[(*before, slice(0, 1))] = 0 if op == "sum" else 1
        rest = result[(*before, slice(1, None))]
    if rest.size and pair is not None:
        _cumulated(op, x, along, rest)
    elif rest.size:
        front = _cast(x.stored_as, name_of(wanted))
        x.backend.scan(front, op, x.shape, along, [x], [], rest)
    return result


def _cumulated(op: str, x: Array, along: int, result: Array) -> None:
    if op == "prod":
        complex_reductions.cumulative_prod(x, along, result)
        return
    parts, to = x.astype(result.dtype, copy=False)._parts(), result._parts()
    front = _cast(parts.stored_as, parts.stored_as)
    x.backend.scan(front, op, parts.shape, along, [parts], [], to)


def cumulative_sum(
    x: Array, /, *, axis: int | None = None, dtype: npt.DTypeLike | None = None,
    out: Array | None = None, include_initial: bool = False,
) -> Array:  # fmt: skip
    """The sum of each element and all before it along an axis, by sum()'s dtypes; with
    `include_initial` a 0 comes first."""
    found = _cumulative("cumulative_sum", "sum", x, axis, dtype, include_initial)
    return found if out is None else _written("cumulative_sum", out, found)


def cumulative_prod(
    x: Array, /, *, axis: int | None = None, dtype: npt.DTypeLike | None = None,
    out: Array | None = None, include_initial: bool = False,
) -> Array:  # fmt: skip
    """The product of each element and all before it along an axis, by sum()'s dtypes; with
    `include_initial` a 1 comes first."""
    found = _cumulative("cumulative_prod", "prod", x, axis, dtype, include_initial)
    return found if out is None else _written("cumulative_prod", out, found)
