"""Interpolation along one to three axes, and its gradient: two axes are one launch."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright.call_forms import kept_by_form
from tilewright.nn.running import floats, to_truth, wide_of
from tilewright.nn.taps import Taps, taps_of, turned_taps_of
from tilewright.nn.windows import Parts, are_plain, pooled, pooled_backward
from tilewright.operands import invalid, shown, to_integer
from tilewright.transforms.kept import Plan, found

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.array import Array
    from tilewright.backend import Backend

# The axes that each mode takes, and what it is along each of them.
MODES = {
    "nearest": ((1, 2, 3), "nearest"),
    "nearest-exact": ((1, 2, 3), "nearest-exact"),
    "linear": ((1,), "linear"),
    "bilinear": ((2,), "linear"),
    "trilinear": ((3,), "linear"),
    "bicubic": ((2,), "cubic"),
    "area": ((1, 2, 3), "area"),
}
SMOOTH = ("bilinear", "bicubic")
# Along an axis of more than so many outputs parts of them are made one after another.
MOST_OUTPUTS = 1 << 20


class _Resizing(NamedTuple):
    lead: tuple[int, ...]
    lengths: tuple[int, ...]
    out: tuple[int, ...]
    scales: tuple[float | None, ...]
    kind: str
    aligned: bool
    smooth: bool
    # The outputs along each axis that are wanted, from the first one to the one behind the last.
    parts: tuple[tuple[int, int], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.lead, *self.out)

    @property
    def counts(self) -> tuple[int, ...]:
        return tuple(past - first for first, past in self.parts)

    def taps(self, axis: int, wide: str, back: bool) -> Taps:
        return (turned_taps_of if back else taps_of)(
            self.kind, self.lengths[axis], self.out[axis], self.aligned, self.scales[axis],
            self.smooth, wide, *self.parts[axis],
        )  # fmt: skip


def _scales(call: str, given: Any, axes: int) -> tuple[float, ...]:
    each = given if isinstance(given, (tuple, list)) else (given,) * axes
    right = len(each) == axes and all(
        isinstance(one, (int, float, np.integer, np.floating))
        and not isinstance(one, bool)
        and 0 < one < math.inf
        for one in each
    )
    if not right:
        invalid(
            call,
            f"scale_factor is {shown(given)}, expected a number above 0, or one for each of the "
            f"{axes} axes",
        )
    return tuple(float(one) for one in each)


def _are_plain(size: Any, scale_factor: Any, *others: Any) -> bool:
    """Whether equal ones mean the same."""
    given = scale_factor if type(scale_factor) is tuple else (scale_factor,)
    return (
        are_plain(size)
        and all(one is None or type(one) in (int, float) for one in given)
        and all(one is None or type(one) in (bool, str) for one in others)
    )


def _resizing(call: str, *given: Any) -> _Resizing:
    """Kept, since to make it takes longer than to interpolate few elements."""
    return (_kept if _are_plain(*given[1:]) else _made)(call, *given)


@lru_cache(1024)
def _kept(*given: Any) -> _Resizing:
    return _made(*given)


def _made(
    call: str, shape: tuple[int, ...], size: Any, scale_factor: Any, mode: Any,
    align_corners: Any, antialias: Any,
) -> _Resizing:  # fmt: skip
    if not isinstance(mode, str) or mode not in MODES:
        invalid(call, f"mode is {shown(mode)}, expected one of {', '.join(map(repr, MODES))}")
    counts, kind = MODES[mode]
    if len(shape) - 2 not in counts:
        dimensions = " or ".join(str(count + 2) for count in counts)
        invalid(
            call, f"x has shape {shape}, expected {dimensions} dimensions, [batch, channels, ...]"
        )
    lengths = shape[2:]
    axes = len(lengths)
    if 0 in lengths:
        invalid(call, f"x has shape {shape}, expected elements along the last axes")
    if (size is None) == (scale_factor is None):
        invalid(call, f"size is {shown(size)} and scale_factor is {shown(scale_factor)}, "
                      "expected one of them")  # fmt: skip
    scales: tuple[float | None, ...] = (None,) * axes
    if size is not None:
        each = size if isinstance(size, (tuple, list)) else (size,) * axes
        if len(each) != axes:
            invalid(call, f"size is {shown(size)}, expected {axes} integers, or one")
        out = tuple(to_integer(call, "size", one) for one in each)
    else:
        factors = _scales(call, scale_factor, axes)
        scales = factors
        out = tuple(math.floor(n * by) for n, by in zip(lengths, factors, strict=True))
    for one in out:
        if not 1 <= one < 2**31:
            name, value = ("scale_factor", scale_factor) if size is None else ("size", size)
            expected = "1 at least" if one < 1 else f"{2**31 - 1} at most"
            invalid(
                call, f"{name} is {shown(value)}, which gives {one} elements, expected {expected}"
            )  # fmt: skip
    aligned = align_corners is not None and to_truth(call, "align_corners", align_corners)
    if align_corners is not None and kind not in ("linear", "cubic"):
        invalid(call, f"align_corners is {align_corners}, expected None: mode is {mode!r}")
    smooth = to_truth(call, "antialias", antialias)
    if smooth and mode not in SMOOTH:
        invalid(call, f"antialias is True, expected False: mode is {mode!r}")
    parts = tuple((0, one) for one in out)
    return _Resizing(shape[:2], lengths, out, scales, kind, aligned, smooth, parts)


class _Axis(NamedTuple):
    """As resample() takes it: of an axis that stays as it is there are no taps."""

    out: int
    spans: Any = 0
    weights: Any = 0
    taps: int = 0


class _Tables(Plan):
    """Of all axes, on the device."""

    def __init__(self, backend: Backend, to: _Resizing, wide: np.dtype[Any], back: bool) -> None:
        super().__init__(backend, wide)
        self.axes = [
            self._axis(to.taps(axis, wide.name, back), length)
            for axis, length in enumerate(to.counts if back else to.lengths)
        ]

    def _axis(self, taps: Taps, length: int) -> _Axis:
        out = len(taps.spans)
        if taps.keeps(length):
            return _Axis(out)
        spans, weights = self.backend._upload(taps.spans), self.backend._upload(taps.weights)
        self.tables += [spans, weights]
        return _Axis(out, spans, weights, taps.weights.shape[1])


def _resampled(
    x: Array, lead: tuple[int, ...], shape: tuple[int, int], rows: _Axis, columns: _Axis
) -> Array:
    """Planes [lead, shape] by the tables of both axes."""
    out = (rows.out, columns.out)
    result = x.backend._new((*lead, *out), x.dtype)
    if result.size:
        x.backend.resample(
            x._contiguous(), result, math.prod(lead), shape, out, *rows[1:], *columns[1:],
            x.stored_as,
        )  # fmt: skip
    return result


def _resize(x: Array, to: _Resizing, back: bool) -> Array:
    """x resampled, or the gradient that it is."""
    if max(to.out) > MOST_OUTPUTS:
        return _by_parts(x, to, back)

    def make() -> _Tables:
        # What the device has no memory for is said before the host makes the tables.
        x.backend._new((*to.lead, *to.lengths) if back else to.shape, x.dtype)
        return _Tables(x.backend, to, wide_of(x.dtype), back)

    made = found(x.backend, (_Tables, to[1:], x.stored_as, back), make)
    assert isinstance(made, _Tables)
    return _by_tables(x, to, made.axes, back)


def _by_parts(x: Array, to: _Resizing, back: bool) -> Array:
    """_resize() along an axis of many outputs, whose tables take several times as much as they."""
    from tilewright.namespace.creation import zeros

    wide = wide_of(x.dtype)
    if back:
        result = zeros((*to.lead, *to.lengths), dtype=wide, device=x.backend)
    else:
        result = x.backend._new(to.shape, x.dtype)
    axis = to.out.index(max(to.out))
    for first in range(0, to.out[axis] if result.size else 0, MOST_OUTPUTS):
        span = (first, min(first + MOST_OUTPUTS, to.out[axis]))
        part = to._replace(parts=(*to.parts[:axis], span, *to.parts[axis + 1 :]))
        tables = _Tables(x.backend, part, wide, back)
        own = (*(slice(None),) * (axis + 2), slice(*span))
        if back:
            result += _by_tables(x[own].astype(wide, copy=False), part, tables.axes, back)
        else:
            result[own] = _by_tables(x, part, tables.axes, back)
    whole: Array = result.astype(x.dtype, copy=False)
    return whole


def _by_tables(x: Array, to: _Resizing, axes: Sequence[_Axis], back: bool) -> Array:
    lengths = to.counts if back else to.lengths
    if len(axes) == 1:
        line = _resampled(x, to.lead, (1, lengths[0]), _Axis(1), axes[0])
        return line.reshape((*to.lead, axes[0].out), copy=False)
    if len(axes) == 2:
        return _resampled(x, to.lead, (lengths[0], lengths[1]), axes[0], axes[1])
    # Depth first, of planes whose rows are slices, and then each of these: not rounded between.
    depth, height, width = lengths
    given = x
    if axes[0].taps:
        given = x.astype(wide_of(x.dtype), copy=False)
        flat = height * width
        given = _resampled(given, to.lead, (depth, flat), axes[0], _Axis(flat))
    slices = (*to.lead, axes[0].out)
    given = given.reshape((*slices, height, width))
    given = _resampled(given, slices, (height, width), axes[1], axes[2])
    result: Array = given.astype(x.dtype, copy=False)
    return result


@kept_by_form
def interpolate(
    x: Array, /, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None, antialias: bool = False,
) -> Array:  # fmt: skip
    """x [batch, channels, ...] with other lengths of its one to three last axes: `size`, or
    `scale_factor` times as long, as torch does it in each mode. "nearest" and "nearest-exact" copy
    elements; antialias smooths what "bilinear" and "bicubic" make smaller."""
    (x,) = floats("interpolate", x=x)
    to = _resizing("interpolate", x.shape, size, scale_factor, mode, align_corners, antialias)
    if to.kind == "area":
        return pooled("mean", x, Parts("interpolate", x, len(to.out), to.out))[0]
    return _resize(x, to, False)


@kept_by_form
def interpolate_backward(
    grad: Array, x: Any, /, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None, antialias: bool = False,
) -> Array:  # fmt: skip
    """The gradient of interpolate() by x, of which only the shape counts: x or its shape."""
    call = "interpolate_backward"
    if isinstance(x, (tuple, list)):
        (grad,) = floats(call, grad=grad)
        shape = tuple(to_integer(call, "x", one) for one in x)
    else:
        grad, x = floats(call, grad=grad, x=x)
        shape = x.shape
    to = _resizing(call, shape, size, scale_factor, mode, align_corners, antialias)
    if grad.shape != to.shape:
        invalid(call, f"grad has shape {grad.shape}, expected {to.shape} as the result has")
    if to.kind == "area":
        like = grad.backend._new(shape, grad.dtype)
        return pooled_backward("mean", grad, like, Parts(call, like, len(to.out), to.out))
    return _resize(grad, to, True)
