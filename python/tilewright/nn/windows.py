"""Windows that slide along axes: where they lie, as views whose last axes are a window's places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright.nn.running import to_truth
from tilewright.operands import invalid, shown, to_integer

if TYPE_CHECKING:
    from tilewright.array import Array

    Sizes = int | tuple[int, ...]


def to_sizes(call: str, name: str, given: Any, axes: int, least: int) -> tuple[int, ...]:
    """One number for each axis, or one for all."""
    each = given if isinstance(given, (tuple, list)) else (given,) * axes
    if len(each) != axes:
        invalid(call, f"{name} is {shown(given)}, expected {axes} integers, or one")
    sizes = tuple(to_integer(call, name, one) for one in each)
    for one in sizes:
        if one < least:
            invalid(call, f"{name} is {shown(given)}, expected integers of {least} or more")
    return sizes


class Axis(NamedTuple):
    """Output p has the input's places p * stride - padding + k * dilation for k < window."""

    length: int
    window: int
    stride: int
    padding: int
    dilation: int
    out: int

    @property
    def reach(self) -> int:
        """From a window's first place to its last."""
        return (self.window - 1) * self.dilation

    @property
    def padded(self) -> int:
        """The places that all windows lie in, from the first one's first."""
        return (self.out - 1) * self.stride + self.reach + 1


class Windows:
    """Of an input whose last axes they slide along."""

    def __init__(
        self, call: str, x: Array, axes: int, kernel_size: Any, stride: Any, padding: Any,
        dilation: Any, ceil_mode: Any,
    ) -> None:  # fmt: skip
        if x.ndim not in (axes + 1, axes + 2):
            invalid(
                call,
                f"x has shape {x.shape}, expected {axes + 2} dimensions, [batch, channels, ...], "
                f"or {axes + 1} without batch",
            )
        sizes = to_sizes(call, "kernel_size", kernel_size, axes, 1)
        steps = sizes if stride is None else to_sizes(call, "stride", stride, axes, 1)
        pads = to_sizes(call, "padding", padding, axes, 0)
        gaps = to_sizes(call, "dilation", dilation, axes, 1)
        up = to_truth(call, "ceil_mode", ceil_mode)
        self.lead = x.shape[: x.ndim - axes]
        self.axes = tuple(
            self._axis(call, *one, up)
            for one in zip(x.shape[x.ndim - axes :], sizes, steps, pads, gaps, strict=True)
        )
        self.out = tuple(one.out for one in self.axes)
        self.shape = (*self.lead, *self.out)
        # With the places of each window behind.
        self.whole = (*self.shape, *sizes)
        self.inner = tuple(range(len(self.shape), len(self.whole)))

    @staticmethod
    def _axis(
        call: str, length: int, window: int, stride: int, padding: int, dilation: int, up: bool
    ) -> Axis:
        if padding > window // 2:
            invalid(
                call, f"padding is {padding}, expected at most half of the kernel size, {window}"
            )
        room = length + 2 * padding - (window - 1) * dilation - 1
        if room < 0:
            invalid(
                call,
                f"an axis of x has {length} elements and {padding} of padding on each side, "
                f"expected {(window - 1) * dilation + 1} at least, which a window covers",
            )
        out = (-(-room // stride) if up else room // stride) + 1
        if up and (out - 1) * stride >= length + padding:
            out -= 1  # Each window starts in the input or in front of it.
        return Axis(length, window, stride, padding, dilation, out)

    def padded(self, x: Array, filler: float) -> Array:
        """x as far as windows reach, with a number where it is not: itself where they leave it
        nowhere."""
        if all(one.padding == 0 and one.padded <= one.length for one in self.axes):
            return x
        shape = (*self.lead, *(one.padded for one in self.axes))
        made = x.backend._new(shape, x.dtype)
        made[...] = filler
        inside = [slice(None)] * len(self.lead)
        own = list(inside)
        for one in self.axes:
            count = min(one.length, one.padded - one.padding)
            inside.append(slice(one.padding, one.padding + count))
            own.append(slice(0, count))
        made[tuple(inside)] = x[tuple(own)]
        return made

    def of(self, padded: Array) -> Array:
        """Each output's window, as a view of what padded() gave."""
        first = len(self.lead)
        strides = padded.strides
        outer = [step * one.stride for step, one in zip(strides[first:], self.axes, strict=True)]
        inner = [step * one.dilation for step, one in zip(strides[first:], self.axes, strict=True)]
        return padded._view(self.whole, (*strides[:first], *outer, *inner), padded.offset)

    def counts(self, include_pad: bool) -> list[np.ndarray[Any, Any]]:
        """For each axis how many places of each window count, in the input or in its padding."""
        found = []
        for one in self.axes:
            starts = np.arange(one.out)[:, None] * one.stride - one.padding
            places = starts + np.arange(one.window) * one.dilation
            low, high = (-one.padding, one.length + one.padding) if include_pad else (0, one.length)
            found.append(((places >= low) & (places < high)).sum(axis=1))
        return found

    # The way back ---------------------------------------------------------------------------------

    def spread(self, y: Array, filler: float) -> Array:
        """What outputs have, at the first place of each one's window and a number elsewhere, with
        room in front for windows that end there."""
        shape = (*self.lead, *(one.reach + self._behind(one) for one in self.axes))
        made = y.backend._new(shape, y.dtype)
        made[...] = filler
        inside: list[slice] = [slice(None)] * len(self.lead)
        for one in self.axes:
            inside.append(slice(one.reach, one.reach + (one.out - 1) * one.stride + 1, one.stride))
        made[tuple(inside)] = y
        return made

    @staticmethod
    def _behind(one: Axis) -> int:
        return max(one.padded - one.reach, one.length + one.padding)

    def covering(self, spread: Array) -> Array:
        """For each place of the input the windows that have it, as a view of what spread() gave:
        the last axes count a window's places."""
        first = len(self.lead)
        strides, offset = spread.strides, spread.offset
        lengths = tuple(one.length for one in self.axes)
        inner = []
        for step, one in zip(strides[first:], self.axes, strict=True):
            offset += step * (one.reach + one.padding)
            inner.append(-step * one.dilation)
        shape = (*self.lead, *lengths, *(one.window for one in self.axes))
        return spread._view(shape, (*strides, *inner), offset)
