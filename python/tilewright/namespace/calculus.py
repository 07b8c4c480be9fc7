"""NumPy's functions of samples: sums and slopes along an axis, sliding products, interpolation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace import elementwise, reductions
from tilewright.namespace.complex_functions import conj
from tilewright.namespace.dtypes import result_type
from tilewright.namespace.manipulation import broadcast_to, concat, diff, flip
from tilewright.namespace.mixed import an_array, as_float, beside, together
from tilewright.namespace.products import _sum_of_products
from tilewright.namespace.selection import searchsorted, take
from tilewright.namespace.sorting import argsort
from tilewright.operands import FLOAT32, invalid, shown
from tilewright.shapes import to_axes, to_one_axis
from tilewright.small_floats import can_cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.operands import ArrayLike

__all__ = [
    "convolve",
    "correlate",
    "ediff1d",
    "gradient",
    "interp",
    "trapezoid",
    "unwrap",
]


@kept_by_form
def trapezoid(y: ArrayLike, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Array:
    """The integral along an axis of samples by straight lines between them, at the places x or dx
    apart."""
    if x is not None:
        y, x = together("trapezoid", y=y, x=x)
    y = as_float("trapezoid", an_array("trapezoid", y, "y"))
    at = to_one_axis("trapezoid", axis, y.ndim)
    before = (slice(None),) * at
    step = dx
    if x is not None:
        x = as_float("trapezoid", x)
        if x.ndim == 1:
            step = diff(x).reshape((-1,) + (1,) * (y.ndim - 1 - at))
        else:
            step = diff(x, axis=axis)
    pairs = y[(*before, slice(1, None))] + y[(*before, slice(None, -1))]
    return reductions.sum(elementwise.multiply(pairs, step) / 2.0, axis=at)


@kept_by_form
def ediff1d(ary: Array, to_end: Any = None, to_begin: Any = None) -> Array:
    """The differences of neighbours of the array as one dimension, between what is given for the
    begin and the end."""
    x = an_array("ediff1d", ary, "ary").reshape(-1)
    parts = [diff(x)]
    for name, given in (("to_begin", to_begin), ("to_end", to_end)):
        if given is None:
            continue
        one = beside("ediff1d", name, given, x)
        if not can_cast(one.dtype, x.dtype, "same_kind"):
            raise TypeError(f"ediff1d: {name} is {one.dtype}, which {x.dtype} does not hold")
        one = one.reshape(-1).astype(x.dtype, copy=False)
        parts = [one, *parts] if name == "to_begin" else [*parts, one]
    return concat(parts)


def _spacings(f: Array, given: tuple[Any, ...], axes: Sequence[int]) -> list[Any]:
    """What each axis steps by: a number, or the differences of its places."""
    if not given:
        return [1.0] * len(axes)
    several = len(given) == len(axes)
    if not several and not (len(given) == 1 and np.ndim(given[0]) == 0):
        raise TypeError(f"gradient: {len(given)} spacings of {len(axes)} axes")
    found: list[Any] = []
    for axis, one in zip(axes, given if several else given * len(axes), strict=True):
        if isinstance(one, (int, float)):
            found.append(float(one))
            continue
        places = beside("gradient", "varargs", one, f)
        if places.ndim == 0:
            found.append(as_float("gradient", places))
            continue
        if places.ndim != 1 or places.size != f.shape[axis]:
            invalid(
                "gradient",
                f"varargs has shape {places.shape}, expected a number or {f.shape[axis]} places",
            )
        found.append(diff(as_float("gradient", places)))
    return found


@overload
def gradient(f: Array, *varargs: Any, axis: int, edge_order: int = 1) -> Array: ...
@overload
def gradient(
    f: Array, *varargs: Any, axis: int | Sequence[int] | None = None, edge_order: int = 1
) -> Array | tuple[Array, ...]: ...
@kept_by_form
def gradient(
    f: Array, *varargs: Any, axis: int | Sequence[int] | None = None, edge_order: int = 1
) -> Array | tuple[Array, ...]:
    """The slopes along each axis of samples that are as far apart as varargs say: between both
    neighbours, and at the ends by the nearest two or three."""
    f = an_array("gradient", f, "f")
    axes = tuple(range(f.ndim)) if axis is None else to_axes("gradient", axis, f.ndim)
    if edge_order not in (1, 2):
        invalid("gradient", f"edge_order is {shown(edge_order)}, expected 1 or 2")
    f = as_float("gradient", f)
    found = []
    for at, step in zip(axes, _spacings(f, varargs, axes), strict=True):
        if f.shape[at] < edge_order + 1:
            invalid(
                "gradient", f"f has {f.shape[at]} elements along axis {at}, expected "
                f"{edge_order + 1} at least"
            )  # fmt: skip
        found.append(_slopes(f, at, step, edge_order))
    return found[0] if len(found) == 1 else tuple(found)


def _slopes(f: Array, axis: int, step: Any, edge_order: int) -> Array:
    before = (slice(None),) * axis

    def at(a: int | None, b: int | None) -> Array:
        return f[(*before, slice(a, b))]

    result: Array = f.backend._new(f.shape, f.dtype)
    even = not isinstance(step, Array) or step.ndim == 0
    if even:
        first = last = first_2 = last_2 = step
        if f.shape[axis] > 2:
            inner = (at(2, None) - at(None, -2)) / (2.0 * step)
    else:
        shape = [1] * f.ndim
        shape[axis] = -1
        steps = step.astype(f.real.dtype, copy=False).reshape(shape)
        first, last = steps[(*before, slice(0, 1))], steps[(*before, slice(-1, None))]
        if f.shape[axis] > 2:
            first_2, last_2 = steps[(*before, slice(1, 2))], steps[(*before, slice(-2, -1))]
            left, right = steps[(*before, slice(None, -1))], steps[(*before, slice(1, None))]
            a = -right / (left * (left + right))
            b = (right - left) / (left * right)
            c = left / (right * (left + right))
            inner = a * at(None, -2) + b * at(1, -1) + c * at(2, None)
    if f.shape[axis] > 2:
        result[(*before, slice(1, -1))] = inner
    if edge_order == 1:
        result[(*before, slice(0, 1))] = (at(1, 2) - at(0, 1)) / first
        result[(*before, slice(-1, None))] = (at(-1, None) - at(-2, -1)) / last
        return result
    a, b, c = _edge(first, first_2)
    result[(*before, slice(0, 1))] = a * at(0, 1) + b * at(1, 2) + c * at(2, 3)
    a, b, c = _edge(last, last_2)
    end = a * at(-1, None) + b * at(-2, -1) + c * at(-3, -2)
    result[(*before, slice(-1, None))] = -end
    return result


def _edge(near: Any, far: Any) -> tuple[Any, Any, Any]:
    """By what the three samples at an end count, of steps from it inwards."""
    both = near + far
    return -(2.0 * near + far) / (near * both), both / (near * far), -near / (far * both)


# Products that are summed one after the other.
MOST_IN_A_ROW = 256


def _slid(call: str, a: Array, v: Array, mode: Any) -> Array:
    """The sums of the products of v with what lies beside it, at all places of v along a."""
    for name, one in (("a", a), ("v", v)):
        if one.ndim > 1 or one.size == 0:
            invalid(
                call, f"{name} has shape {one.shape}, expected a vector of one element at least"
            )
    a, v = a.reshape(-1), v.reshape(-1)
    dtype = result_type(a, v)
    a, v = a.astype(dtype, copy=False), v.astype(dtype, copy=False)
    modes = {"full": v.size - 1, "same": v.size // 2, "valid": 0}
    if mode not in modes:
        invalid(call, f"mode is {shown(mode)}, expected 'full', 'same' or 'valid'")
    front = modes[mode]
    back = v.size - 1 - front if mode == "same" else front
    padded: Array = a.backend._new((front + a.size + back,), dtype)
    padded[...] = 0
    padded[front : front + a.size] = a
    count = padded.size - v.size + 1
    if dtype == FLOAT32 and a.backend.name == "cpu":
        return _convolved(padded, v, count)
    windows = padded._view((count, v.size), (1, 1), padded.offset)
    return _sum_of_products(call, windows, broadcast_to(v, windows.shape), 1, dtype)


def _convolved(padded: Array, v: Array, count: int) -> Array:
    """By the kernels of convolutions, which keep more sums at a time than those of reductions: so
    many products one after the other, that roundings stay few."""
    from tilewright.nn.convolutions import conv1d

    total: Array | None = None
    for first in range(0, v.size, MOST_IN_A_ROW):
        taps = v[first : first + MOST_IN_A_ROW]
        part = conv1d(padded[None, None, first : first + count + taps.size - 1], taps[None, None])
        total = part if total is None else total + part
    assert total is not None
    return total.reshape(-1)


@kept_by_form
def convolve(a: ArrayLike, v: ArrayLike, mode: str = "full") -> Array:
    """The sums of products of two vectors, one of them backwards, at every shift of one by the
    other. By the definition, not by transforms."""
    x, y = together("convolve", a=a, v=v)
    if x.size < y.size:
        x, y = y, x
    return _slid("convolve", x, flip(y.reshape(-1)), mode)


@kept_by_form
def correlate(a: ArrayLike, v: ArrayLike, mode: str = "valid") -> Array:
    """The sums of products of two vectors, v conjugated, at every shift of one by the other."""
    x, y = together("correlate", a=a, v=v)
    y = conj(y) if y.dtype.kind == "c" else y
    if x.size >= y.size:
        return _slid("correlate", x, y, mode)
    return flip(_slid("correlate", y, x, mode))


@kept_by_form
def interp(
    x: ArrayLike, xp: ArrayLike, fp: ArrayLike, left: Any = None, right: Any = None,
    period: Any = None,
) -> Array:  # fmt: skip
    """What lies at x on straight lines between the points (xp, fp), xp ascending; before and behind
    them `left` and `right`, or the first and the last of fp."""
    at, places, heights = together("interp", x=x, xp=xp, fp=fp)
    if places.ndim != 1 or places.shape != heights.shape or places.size == 0:
        invalid(
            "interp", f"xp has shape {places.shape} and fp {heights.shape}, expected one length"
        )
    if at.dtype.kind == "c" or places.dtype.kind == "c":
        invalid("interp", "x or xp is complex, expected real numbers, which have an order")
    at, places, heights = (as_float("interp", one) for one in (at, places, heights))
    common = result_type(at, places)
    at, places = at.astype(common, copy=False), places.astype(common, copy=False)
    if period is not None:
        if period == 0:
            invalid("interp", "period is 0, expected another number")
        span = abs(period)
        at, places = elementwise.remainder(at, span), elementwise.remainder(places, span)
        order = argsort(places)
        places, heights = take(places, order), take(heights, order)
        places = concat([places[-1:] - span, places, places[:1] + span])
        heights = concat([heights[-1:], heights, heights[:1]])
    last = places.size - 1
    upper = elementwise.clip(searchsorted(places, at, side="right"), min(1, last), last)
    lower = elementwise.maximum(upper - 1, 0)
    x0, x1 = take(places, lower), take(places, upper)
    y0, y1 = take(heights, lower), take(heights, upper)
    wide = x1 - x0
    part = (at - x0) / elementwise.where(wide == 0, 1.0, wide)
    found = elementwise.where(y0 == y1, y0, y0 + (y1 - y0) * part)
    found = elementwise.where(at == x1, y1, elementwise.where(at == x0, y0, found))
    if period is None:
        before = heights[0] if left is None else left
        behind = heights[-1] if right is None else right
        found = elementwise.where(at < places[0], before, found)
        found = elementwise.where(at > places[-1], behind, found)
    return elementwise.where(elementwise.isnan(at), math.nan, found)


@kept_by_form
def unwrap(
    p: Array, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi
) -> Array:
    """With multiples of the period added so that no neighbours are more than half of it apart."""
    x = an_array("unwrap", p, "p")
    at = to_one_axis("unwrap", axis, x.ndim)
    whole = x.dtype.kind in "iu" and isinstance(period, int)
    if not whole:
        x = as_float("unwrap", x)
    most = period / 2 if discont is None else discont
    steps = diff(x, axis=at)
    half: Any = divmod(period, 2)[0] if whole else period / 2
    ambiguous = not whole or period % 2 == 0
    wrapped = elementwise.remainder(steps + half, period) - half
    if ambiguous:
        wrapped = elementwise.where((wrapped == -half) & (steps > 0), half, wrapped)
    added = wrapped - steps
    size = elementwise.abs(steps)
    added = elementwise.where(size < (math.ceil(most) if whole else most), 0, added)
    result = x.copy()
    before = (slice(None),) * at
    if x.shape[at] > 1:
        rest = result[(*before, slice(1, None))]
        total = reductions.cumulative_sum(added, axis=at, dtype=x.dtype)
        rest[...] = x[(*before, slice(1, None))] + total
    return result
