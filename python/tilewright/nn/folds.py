"""What windows of a plane have, as columns, and the sum of such columns over a plane.

Both are copies of strided views; columns that overlap are added up by one reduction."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.call_forms import kept_by_form
from tilewright.namespace import reductions
from tilewright.nn.edges import pad_axes
from tilewright.nn.running import floats
from tilewright.nn.windows import to_sizes
from tilewright.operands import invalid

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.nn.windows import Sizes


class _Axis(NamedTuple):
    """Output p of tap k is at p * stride + k * dilation of the axis with its padding."""

    length: int
    window: int
    stride: int
    padding: int
    dilation: int
    out: int

    @property
    def rows(self) -> int:
        """So many taps after each other lie apart at every output, whatever the stride."""
        return min(self.window, self.stride // math.gcd(self.stride, self.dilation))

    @property
    def written(self) -> list[slice]:
        """Which of these taps are written at a time."""
        if (self.rows - 1) * self.dilation < self.stride:
            return [slice(0, self.rows)]
        return [slice(i, i + 1) for i in range(self.rows)]

    @property
    def groups(self) -> int:
        return -(-self.window // self.rows)

    @property
    def step(self) -> int:
        """By how many outputs a tap of one group lies off that of the group in front of it."""
        return self.dilation * self.rows // self.stride if self.groups > 1 else 0

    @property
    def places(self) -> int:
        """Outputs, counted with those that later groups reach beyond them."""
        return self.out + (self.groups - 1) * self.step

    @property
    def whole(self) -> int:
        """Elements that the taps of all places reach, padding among them."""
        reach = (self.places - 1) * self.stride + (self.rows - 1) * self.dilation + 1
        return max(reach, self.length + 2 * self.padding)


class _Windows(NamedTuple):
    batch: int
    channels: int
    rows: _Axis
    columns: _Axis

    @property
    def taps(self) -> int:
        return self.rows.window * self.columns.window

    @property
    def places(self) -> int:
        return self.rows.out * self.columns.out

    @property
    def columns_shape(self) -> tuple[int, int, int]:
        return self.batch, self.channels * self.taps, self.places


def _axes(
    call: str, lengths: tuple[int, ...], kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> tuple[_Axis, _Axis]:
    windows = to_sizes(call, "kernel_size", kernel_size, 2, 1)
    gaps = to_sizes(call, "dilation", dilation, 2, 1)
    pads = to_sizes(call, "padding", padding, 2, 0)
    steps = to_sizes(call, "stride", stride, 2, 1)
    found = []
    for length, window, step, pad, gap in zip(lengths, windows, steps, pads, gaps, strict=True):
        room = length + 2 * pad - (window - 1) * gap - 1
        if room < 0:
            invalid(
                call,
                f"an axis has {length} elements and {pad} of padding on each side, expected "
                f"{(window - 1) * gap + 1} at least, which a window covers",
            )
        found.append(_Axis(length, window, step, pad, gap, room // step + 1))
    return found[0], found[1]


def _unfolded(of: _Windows, x: Array) -> Array:
    """x [batch, channels, rows, columns] as columns."""
    rows, columns = of.rows, of.columns
    x = pad_axes(x, 2, ((rows.padding,) * 2, (columns.padding,) * 2), "zeros")
    by_batch, by_channel, by_row, by_column = x.strides
    view = x._view(
        (of.batch, of.channels, rows.window, columns.window, rows.out, columns.out),
        (
            by_batch, by_channel, by_row * rows.dilation, by_column * columns.dilation,
            by_row * rows.stride, by_column * columns.stride,
        ),
        x.offset,
    )  # fmt: skip
    return view.reshape(of.columns_shape, copy=True)


def _joined(of: _Windows, x: Array) -> Array:
    """Of columns [batch, channels, rows, columns, *outs] the sums over groups, whose outputs lie
    off each other: [batch, channels, rows, columns, *places]."""
    from tilewright.namespace.creation import zeros

    rows, columns = of.rows, of.columns
    lead = (of.batch, of.channels)
    if rows.groups == 1 and columns.groups == 1:
        return x
    # Zeros around each tap's outputs, as far as the other groups reach.
    before = ((rows.groups - 1) * rows.step, (columns.groups - 1) * columns.step)
    sizes = (before[0] + rows.places, before[1] + columns.places)
    taps = (rows.groups * rows.rows, columns.groups * columns.rows)
    wide = zeros((*lead, *taps, *sizes), dtype=x.dtype, device=x.backend)
    wide[
        :, :, : rows.window, : columns.window, before[0] : before[0] + rows.out,
        before[1] : before[1] + columns.out,
    ] = x  # fmt: skip
    by_batch, by_channel, by_tap, by_other, by_row, by_column = wide.strides
    view = wide._view(
        (*lead, rows.groups, columns.groups, rows.rows, columns.rows, rows.places, columns.places),
        (
            by_batch, by_channel, by_tap * rows.rows - by_row * rows.step,
            by_other * columns.rows - by_column * columns.step, by_tap, by_other, by_row, by_column,
        ),
        wide.offset + before[0] * by_row + before[1] * by_column,
    )  # fmt: skip
    found: Array = reductions.sum(view, (2, 3), dtype=x.dtype)
    return found


def _folded(of: _Windows, columns: Array) -> Array:
    """[batch, channels, rows, columns] of which each element is the sum of what lies there."""
    from tilewright.namespace.creation import zeros

    down, across = of.rows, of.columns
    lead = (of.batch, of.channels)
    shape = (*lead, down.window, across.window, down.out, across.out)
    parts = _joined(of, columns.reshape(shape))
    whole = zeros((*lead, down.whole, across.whole), dtype=columns.dtype, device=columns.backend)
    by_batch, by_channel, by_row, by_column = whole.strides
    target = whole._view(
        (*lead, down.rows, across.rows, down.places, across.places),
        (
            by_batch, by_channel, by_row * down.dilation, by_column * across.dilation,
            by_row * down.stride, by_column * across.stride,
        ),
        whole.offset,
    )  # fmt: skip
    # Taps that lie among the outputs of others are written one by one.
    for down_taps in down.written:
        for across_taps in across.written:
            own = (slice(None), slice(None), down_taps, across_taps)
            target[own] = parts[own]
    return whole[
        :, :, down.padding : down.padding + down.length,
        across.padding : across.padding + across.length,
    ].copy()  # fmt: skip


def _planes(call: str, name: str, x: Array) -> tuple[Array, bool]:
    if x.ndim not in (3, 4):
        invalid(
            call,
            f"{name} has shape {x.shape}, expected 4 dimensions, [batch, channels, rows, columns], "
            "or 3 without batch",
        )
    return (x if x.ndim == 4 else x.reshape((1, *x.shape), copy=False)), x.ndim == 4


def _unfold(
    call: str, name: str, x: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> Array:
    (x,) = floats(call, **{name: x})
    x, is_batched = _planes(call, name, x)
    axes = _axes(call, x.shape[2:], kernel_size, dilation, padding, stride)
    of = _Windows(x.shape[0], x.shape[1], *axes)
    if 0 in of.columns_shape:
        found: Array = x.backend._new(of.columns_shape, x.dtype)
    else:
        found = _unfolded(of, x)
    return found if is_batched else found.reshape(found.shape[1:], copy=False)


def _fold(
    call: str, name: str, x: Any, output_size: Any, kernel_size: Any, dilation: Any, padding: Any,
    stride: Any,
) -> Array:  # fmt: skip
    (x,) = floats(call, **{name: x})
    if x.ndim not in (2, 3):
        invalid(
            call,
            f"{name} has shape {x.shape}, expected 3 dimensions, [batch, channels * window, "
            "places], or 2 without batch",
        )
    is_batched = x.ndim == 3
    x = x if is_batched else x.reshape((1, *x.shape), copy=False)
    lengths = to_sizes(call, "output_size", output_size, 2, 1)
    axes = _axes(call, lengths, kernel_size, dilation, padding, stride)
    taps = axes[0].window * axes[1].window
    if x.shape[1] % taps or x.shape[2] != axes[0].out * axes[1].out:
        invalid(
            call,
            f"{name} has shape {x.shape}, expected a multiple of {taps}, the elements of a window, "
            f"and {axes[0].out * axes[1].out} places",
        )
    of = _Windows(x.shape[0], x.shape[1] // taps, *axes)
    if 0 in x.shape:
        found: Array = x.backend._new((of.batch, of.channels, *lengths), x.dtype)
    else:
        found = _folded(of, x)
    return found if is_batched else found.reshape(found.shape[1:], copy=False)


@kept_by_form
def unfold(
    x: Array, /, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> Array:
    """What each window of x [batch, channels, rows, columns] has, as a column: [batch, channels *
    window, places], or without batch. One copy, behind one of x where there is padding."""
    return _unfold("unfold", "x", x, kernel_size, dilation, padding, stride)


@kept_by_form
def unfold_backward(
    grad: Array, input_size: Sizes, /, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0,
    stride: Sizes = 1,
) -> Array:  # fmt: skip
    """The gradient of unfold() by x, whose rows and columns are `input_size`: fold()."""
    call = "unfold_backward"
    return _fold(call, "grad", grad, input_size, kernel_size, dilation, padding, stride)


@kept_by_form
def fold(
    x: Array, /, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0,
    stride: Sizes = 1,
) -> Array:  # fmt: skip
    """Columns of windows [batch, channels * window, places], or without batch, back at their places
    in [batch, channels, *output_size], added up where windows overlap, in float32 or float64, in an
    order that is the same at each call. Six launches at most, whatever the windows are; more only
    where taps are dilated by more than the stride and the stride is more than 1."""
    return _fold("fold", "x", x, output_size, kernel_size, dilation, padding, stride)


@kept_by_form
def fold_backward(
    grad: Array, /, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> Array:
    """The gradient of fold() by x: unfold()."""
    return _unfold("fold_backward", "grad", grad, kernel_size, dilation, padding, stride)
