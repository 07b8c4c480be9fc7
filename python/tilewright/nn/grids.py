"""Elements of images at the places of a grid, its gradients, and grids of affine maps.

The gradient by the images is a sparse matrix times the gradient of the result: a row for each
element of an image, with the weights that points take it with. Sorting these by their places makes
the rows, so that sums are in one order."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright.call_forms import kept_by_form
from tilewright.namespace.complex_math import choose
from tilewright.nn.running import floats, read, to_truth, wide_of
from tilewright.operands import INT32, invalid, shown, to_integer
from tilewright.program import Program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.array import Array
    from tilewright.program import Value

MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")
TAPS = {"bilinear": 2, "nearest": 1, "bicubic": 4}
# Places are no further away, so that integers count them.
FAR = float(1 << 30)


class SampleGradients(NamedTuple):
    """The gradients by input and by grid, None for what is not asked for."""

    input: Array | None
    grid: Array | None


class _Sampling(NamedTuple):
    batch: int
    channels: int
    lengths: tuple[int, ...]
    out: tuple[int, ...]
    mode: str
    padding: str
    aligned: bool

    @property
    def result(self) -> tuple[int, ...]:
        return (self.batch, self.channels, *self.out)

    @property
    def arguments(self) -> dict[str, Any]:
        """Of the trait."""
        return {
            "batch": self.batch,
            "channels": self.channels,
            "shape": self.lengths,
            "output_shape": self.out,
            "mode": self.mode,
            "padding": self.padding,
            "align_corners": self.aligned,
        }


def _sampling(
    call: str, x: Array, grid: Array, mode: Any, padding_mode: Any, align_corners: Any
) -> _Sampling:
    if not isinstance(mode, str) or mode not in MODES:
        invalid(call, f"mode is {shown(mode)}, expected one of {', '.join(map(repr, MODES))}")
    if not isinstance(padding_mode, str) or padding_mode not in PADDINGS:
        invalid(
            call,
            f"padding_mode is {shown(padding_mode)}, expected one of "
            f"{', '.join(map(repr, PADDINGS))}",
        )
    aligned = align_corners is not None and to_truth(call, "align_corners", align_corners)
    if x.ndim not in (4, 5) or 0 in x.shape[2:]:
        invalid(
            call,
            f"input has shape {x.shape}, expected 4 or 5 dimensions, [batch, channels, ...], with "
            "elements along the last ones",
        )
    axes = x.ndim - 2
    if mode == "bicubic" and axes == 3:
        invalid(call, "mode is 'bicubic', expected 'bilinear' or 'nearest' for 5 dimensions")
    if grid.ndim != x.ndim or grid.shape[0] != x.shape[0] or grid.shape[-1] != axes:
        sizes = ", ".join(("depth", "height", "width")[3 - axes :])
        invalid(
            call,
            f"grid has shape {grid.shape}, expected [{x.shape[0]}, {sizes}, {axes}] for an input "
            f"of shape {x.shape}",
        )
    batch, channels, *lengths = x.shape
    return _Sampling(batch, channels, tuple(lengths), grid.shape[1:-1], mode, padding_mode, aligned)


@kept_by_form
def grid_sample(
    input: Array, grid: Array, mode: str = "bilinear", padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Array:  # fmt: skip
    """input [batch, channels, height, width], or with a depth in front of these, at the places of
    grid [batch, ..., 2 or 3], x first: -1 and 1 are the edges of the input, with align_corners the
    middles of the elements there. mode "bilinear", "nearest", or of two axes "bicubic"; outside of
    the input padding_mode has "zeros", the "border", or the "reflection". One launch."""
    call = "grid_sample"
    x, places = floats(call, input=input, grid=grid)
    to = _sampling(call, x, places, mode, padding_mode, align_corners)
    result = x.backend._new(to.result, x.dtype)
    if result.size:
        x.backend.grid_sample(
            x._contiguous(), places._contiguous(), result, **to.arguments, dtype=x.stored_as
        )
    return result


# The gradient by input ---------------------------------------------------------------------------


def _place(coordinate: Value, length: int, aligned: bool, padding: str) -> Value:
    """Of a coordinate along an axis, in elements."""
    x = (coordinate + 1) * 0.5 * (length - 1) if aligned else (
        ((coordinate + 1) * length - 1) * 0.5
    )  # fmt: skip
    # NaN is taken for -infinity, and in mirrors both for the first element.
    if padding == "reflection":
        return choose(x.isfinite(), x, 0.0)
    return choose(x > -FAR, x.min(FAR), -FAR)


def _mirrored(x: Value, low: float, span: float) -> Value:
    if span == 0:
        return x * 0
    off = abs(x - low)
    flips = (off / span).floor()
    rest = off - flips * span
    odd = flips - (flips * 0.5).floor() * 2 != 0
    return choose(odd, span - rest, rest) + low


def _axis(coordinate: Value, tap: Value, length: int, to: _Sampling) -> tuple[Value, Value, Value]:
    """Where a tap is along an axis, whether that is in the input, and its weight."""
    x = _place(coordinate, length, to.aligned, to.padding)
    low, span = (0.0, length - 1.0) if to.aligned else (-0.5, float(length))
    if to.mode == "bicubic":
        x = choose(x > -FAR, x.min(FAR), -FAR)
        first = x.floor()
        off = abs(x - first - (tap - 1))
        near = (1.25 * off - 2.25) * off * off + 1
        far = ((-0.75 * off + 3.75) * off - 6) * off + 3
        at, weight = first + (tap - 1), choose(off <= 1, near, far)
        if to.padding == "border":
            at = at.clip(0.0, length - 1.0)
        elif to.padding == "reflection":
            at = _mirrored(at, low, span).clip(0.0, length - 1.0)
    else:
        if to.padding == "reflection":
            x = _mirrored(x, low, span)
        if to.padding != "zeros":
            x = x.clip(0.0, length - 1.0)
        x = choose(x > -FAR, x.min(FAR), -FAR)
        if to.mode == "nearest":
            at, weight = x.round(), x * 0 + 1
        else:
            first = x.floor()
            at = first + tap
            weight = choose(tap == 0, first + 1 - x, x - first)
    return at, (at >= 0) & (at < length), weight


@cache
def _taps(to: _Sampling, dtype: str, wide: str) -> Program:
    """The rows of the matrix that the taps of points are in, those outside in one behind all, and
    their weights."""
    program = Program()
    image = program.input("int32")
    row, weight, is_in = None, None, None
    for length in to.lengths:
        at, inside, one = _axis(read(program, dtype), program.input(wide), length, to)
        step = choose(inside, at, 0.0).cast("int32")
        row = image * length + step if row is None else row * length + step
        weight = one if weight is None else weight * one
        is_in = inside if is_in is None else is_in & inside
    assert row is not None and weight is not None and is_in is not None
    outside = to.batch * math.prod(to.lengths)
    program.output(choose(is_in, row, outside), choose(is_in, weight, 0.0))
    return program


def _by_input(to: _Sampling, grad: Array, grid: Array) -> Array:
    from tilewright.namespace import histograms
    from tilewright.namespace.creation import zeros
    from tilewright.namespace.manipulation import broadcast_to
    from tilewright.namespace.selection import take
    from tilewright.namespace.sorting import topk

    be, wide = grad.backend, wide_of(grad.dtype)
    axes, points, cells = len(to.lengths), math.prod(to.out), math.prod(to.lengths)
    shape = (to.batch, to.channels, *to.lengths)
    if 0 in (to.batch, to.channels, points):
        return zeros(shape, dtype=grad.dtype, device=be)
    rows, per = to.batch * cells + 1, TAPS[to.mode]
    count = per**axes * to.batch * points
    if max(rows, count) > np.iinfo(np.int32).max:
        invalid(
            "grid_sample_backward",
            f"grid has shape {grid.shape}, which are {count} elements to add to {rows - 1} of "
            "input, expected less than 2^31; split the batch into smaller calls",
        )
    # [taps, batch, points]: places of a tap along each axis, the first one slowest.
    whole = (per**axes, to.batch, points)
    numbers = np.indices((per,) * axes).reshape(axes, -1, 1, 1).astype(wide)
    images = np.arange(to.batch, dtype=np.int32).reshape(1, -1, 1)
    spread: list[Array] = [broadcast_to(be._upload(images), whole)]
    lines = grid.reshape((1, to.batch, points, axes))
    for i in range(axes):
        spread.append(broadcast_to(lines[..., axes - 1 - i], whole))
        spread.append(broadcast_to(be._upload(numbers[i]), whole))
    keys, weights = be._new(whole, INT32), be._new(whole, wide)
    be.map(_taps(to, grid.stored_as, wide.name), whole, spread, [], [keys, weights])
    narrow = histograms._narrow(keys.reshape(-1), rows)
    ordered, order = topk(narrow, count, largest=False)
    offsets = zeros(rows + 1, dtype="int32", device=be)
    offsets[1:] = histograms._ends(ordered, rows).astype("int32", copy=False)
    columns = (order % (to.batch * points)).astype("int32", copy=False)
    values = take(weights.reshape(-1), order)
    sources = grad.astype(wide, copy=False).reshape((to.batch, to.channels, points))
    sources = sources.transpose((0, 2, 1)).reshape((to.batch * points, to.channels), copy=True)
    sums = be._new((rows, to.channels), wide)
    be.sparse_matmul(
        offsets, columns._contiguous(), values._contiguous(), sources, sums, rows,
        to.batch * points, count, to.channels, to.channels, to.channels, 1.0, 0.0, False,
        sums.stored_as,
    )  # fmt: skip
    planes = sums[: rows - 1].reshape((to.batch, cells, to.channels)).transpose((0, 2, 1))
    found: Array = planes.astype(grad.dtype).reshape(shape)
    return found


@kept_by_form
def grid_sample_backward(
    grad: Array, input: Array, grid: Array, mode: str = "bilinear", padding_mode: str = "zeros",
    align_corners: bool | None = None, *, wanted: Sequence[bool] = (True, True),
) -> SampleGradients:  # fmt: skip
    """The gradients of grid_sample() by input and by grid, those of the two that are `wanted`: sums
    in float32 or float64, in an order that is the same at each call. By grid it is one launch."""
    call = "grid_sample_backward"
    grad, x, places = floats(call, grad=grad, input=input, grid=grid)
    to = _sampling(call, x, places, mode, padding_mode, align_corners)
    if grad.shape != to.result:
        invalid(call, f"grad has shape {grad.shape}, expected {to.result} as the result has")
    if (
        not isinstance(wanted, (tuple, list))
        or len(wanted) != 2
        or not all(isinstance(one, bool) for one in wanted)
    ):
        invalid(call, f"wanted is {shown(wanted)}, expected two of True and False")
    by_input = _by_input(to, grad, places) if wanted[0] else None
    by_grid = None
    if wanted[1]:
        by_grid = _by_grid(to, grad, x, places)
    return SampleGradients(by_input, by_grid)


def _by_grid(to: _Sampling, grad: Array, x: Array, grid: Array) -> Array:
    from tilewright.namespace.creation import zeros

    if grid.size == 0 or to.channels == 0:
        return zeros(grid.shape, dtype=grid.dtype, device=grid.backend)
    found = grid.backend._new(grid.shape, grid.dtype)
    grid.backend.grid_sample_backward_grid(
        grad._contiguous(), x._contiguous(), grid._contiguous(), found, **to.arguments,
        dtype=x.stored_as,
    )  # fmt: skip
    return found


# Affine maps --------------------------------------------------------------------------------------


def _affine(call: str, theta: Array, name: str, size: Any) -> tuple[int, ...]:
    if not isinstance(size, (tuple, list)) or len(size) not in (4, 5):
        invalid(call, f"size is {shown(size)}, expected 4 or 5 integers, [batch, channels, ...]")
    found = tuple(to_integer(call, "size", one) for one in size)
    if any(one < 1 for one in found):
        invalid(call, f"size is {shown(size)}, expected integers of 1 or more")
    axes = len(found) - 2
    expected = (found[0], axes, axes + 1) if name == "theta" else (found[0], *found[2:], axes)
    if theta.shape != expected:
        invalid(call, f"{name} has shape {theta.shape}, expected {expected} for size {found}")
    return found


def _base(like: Array, lengths: tuple[int, ...], aligned: bool) -> Array:
    """[places, axes + 1]: the places of a grid that maps each element to itself, x first, and 1."""
    lines = []
    for n in reversed(lengths):
        line = np.linspace(-1.0, 1.0, n) if n > 1 else np.zeros(1)
        lines.append(line if aligned or n == 1 else line * (n - 1) / n)
    each = np.meshgrid(*reversed(lines), indexing="ij")
    whole = np.stack([*reversed(each), np.ones(lengths)], axis=-1)
    wide = wide_of(like.dtype)
    found: Array = like.backend._upload(
        np.ascontiguousarray(whole.reshape(-1, len(lengths) + 1).astype(wide))
    )
    return found


@kept_by_form
def affine_grid(theta: Array, size: Sequence[int], align_corners: bool | None = None) -> Array:
    """The grid of grid_sample() that maps what it makes, of shape `size`, to the input by theta
    [batch, 2, 3], or for 5 sizes [batch, 3, 4]."""
    call = "affine_grid"
    (theta,) = floats(call, theta=theta)
    sizes = _affine(call, theta, "theta", size)
    aligned = align_corners is not None and to_truth(call, "align_corners", align_corners)
    # What the device has no memory for is said before the host makes the places.
    theta.backend._new((sizes[0], *sizes[2:], len(sizes) - 2), theta.dtype)
    base = _base(theta, sizes[2:], aligned)
    found = base @ theta.astype(base.dtype, copy=False).transpose((0, 2, 1))
    return found.astype(theta.dtype, copy=False).reshape((sizes[0], *sizes[2:], len(sizes) - 2))


def affine_grid_backward(
    grad: Array, size: Sequence[int], align_corners: bool | None = None
) -> Array:
    """The gradient of affine_grid() by theta."""
    call = "affine_grid_backward"
    (grad,) = floats(call, grad=grad)
    sizes = _affine(call, grad, "grad", size)
    aligned = align_corners is not None and to_truth(call, "align_corners", align_corners)
    base = _base(grad, sizes[2:], aligned)
    lines = grad.astype(base.dtype, copy=False).reshape((sizes[0], base.shape[0], len(sizes) - 2))
    found: Array = lines.transpose((0, 2, 1)) @ base
    return found.astype(grad.dtype, copy=False)
