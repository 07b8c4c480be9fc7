"""conv2d_forward and its gradients, also where strides and padding are far beyond the image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from conformance import bounds

from ..call import Call, Result
from ..draw import Array, Draw
from . import generates
from .rows import operand, room

HUGE = [2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**40, 2**61 - 1, 2**62 - 1]


#: rows and columns, to index with
Places = tuple[Array, Array]


@dataclass(frozen=True)
class Side:
    """One direction of a convolution."""

    size: int
    taps: int
    stride: int = 1
    pad: int = 0
    dilation: int = 1

    @property
    def out(self) -> int:
        return (self.size + 2 * self.pad - self.dilation * (self.taps - 1) - 1) // self.stride + 1

    @property
    def fits(self) -> bool:
        window, padded = self.dilation * (self.taps - 1) + 1, self.size + 2 * self.pad
        return window <= padded < 2**63

    def seen(self, tap: int) -> list[tuple[int, int]]:
        """Which output sees which input through this tap."""
        before = self.pad - tap * self.dilation
        first = max(0, -(-before // self.stride))
        last = min(self.out - 1, (self.size - 1 + before) // self.stride)
        return [(p, p * self.stride - before) for p in range(first, last + 1)]


def side(draw: Draw) -> Side:
    plain = Side(draw.size(34), draw.one_of([1, 2, 3, 5, 7]))
    drawn = Side(
        plain.size,
        plain.taps,
        draw.one_of([1, 2, 3, 5]),
        draw.integer(0, 4),
        draw.one_of([1, 2, 3]),
    )
    if draw.rarely(12):
        drawn = far_apart(draw)
    elif draw.rarely(40):
        # A filter as wide as the image is long.
        wide = draw.size(5000)
        drawn = Side(wide, draw.size(wide), draw.one_of([wide, 1, draw.size(wide)]))
    return drawn if drawn.fits and drawn.out <= 5000 else plain if plain.fits else Side(4, 3)


def far_apart(draw: Draw) -> Side:
    """Few outputs for all that a huge stride, padding or dilation may be."""
    size, taps = draw.size(6), draw.size(4)
    dilation, pad = (draw.one_of([1, *HUGE, draw.one_of(HUGE) // 3]) for _ in range(2))
    if draw.below(2):
        # Padding that just holds the window, so that outer taps see an edge of the image.
        pad = min(dilation * (taps - 1) // 2 + draw.integer(0, 2), 2**62 - 1)
    window = dilation * (taps - 1) + 1
    room_for = size + 2 * pad - window
    stride = draw.one_of([max(1, room_for), max(1, room_for // 3), room_for + 1, *HUGE])
    return Side(size, taps, max(1, stride), pad, dilation)


@dataclass(frozen=True)
class Conv:
    batch: int
    channels: int
    filters: int
    groups: int
    height: Side
    width: Side

    @property
    def x(self) -> tuple[int, int, int, int]:
        return self.batch, self.channels, self.height.size, self.width.size

    @property
    def w(self) -> tuple[int, int, int, int]:
        return self.filters, self.channels // self.groups, self.height.taps, self.width.taps

    @property
    def y(self) -> tuple[int, int, int, int]:
        return self.batch, self.filters, self.height.out, self.width.out

    def taps(self) -> Iterator[tuple[slice, slice, Places, Places, tuple[int, int]]]:
        """For each group and tap that sees anything: channels, filters, the outputs that see, the
        inputs that they see, and the tap."""
        c, k = self.channels // self.groups, self.filters // self.groups
        for r in range(self.height.taps):
            rows = np.array(self.height.seen(r), int).reshape(-1, 2).T
            for s in range(self.width.taps):
                cols = np.array(self.width.seen(s), int).reshape(-1, 2).T
                if not rows.size or not cols.size:
                    continue
                for g in range(self.groups):
                    yield (
                        slice(g * c, (g + 1) * c),
                        slice(g * k, (g + 1) * k),
                        np.ix_(rows[0], cols[0]),
                        np.ix_(rows[1], cols[1]),
                        (r, s),
                    )

    def forward(self, x: Array, w: Array) -> Array:
        out = np.zeros(self.y)
        for c, k, to, of, (r, s) in self.taps():
            out[:, k, *to] += np.einsum("ncpq,kc->nkpq", x[:, c, *of], w[k, :, r, s])
        return out

    def backward_data(self, g: Array, w: Array) -> Array:
        out = np.zeros(self.x)
        for c, k, to, of, (r, s) in self.taps():
            out[:, c, *of] += np.einsum("nkpq,kc->ncpq", g[:, k, *to], w[k, :, r, s])
        return out

    def backward_filter(self, x: Array, g: Array) -> Array:
        out = np.zeros(self.w)
        for c, k, to, of, (r, s) in self.taps():
            out[k, :, r, s] = np.einsum("ncpq,nkpq->kc", x[:, c, *of], g[:, k, *to])
        return out


def some_conv(draw: Draw) -> Conv:
    groups = draw.one_of([1, 1, 2, 3, 16])
    channels = groups * draw.one_of([1, 2, 3, 4, 5, 16, 17, 32])
    filters = groups * draw.one_of([1, 2, 3, 4, 16, 33])
    conv = Conv(draw.size_or_zero(5), channels, filters, groups, side(draw), side(draw))
    work = max(1, conv.batch) * filters * (channels // groups) * conv.height.taps * conv.width.taps
    area = conv.height.out * conv.width.out
    if work * area > 1 << 23 or max(map(np.prod, (conv.x, conv.w, conv.y))) > 1 << 19:
        # Few channels where the sides are long, and short sides where that is not enough.
        conv = Conv(1, groups, groups, groups, conv.height, conv.width)
        if conv.height.taps * conv.width.taps * area * groups > 1 << 20:
            conv = Conv(1, 1, 1, 1, Side(1, 1), conv.width)
    return conv


@generates("conv2d_forward", "conv2d_backward_data", "conv2d_backward_filter")
def conv2d(draw: Draw, name: str) -> Call:
    conv, dtype = some_conv(draw), draw.dtype()
    exactly = draw.below(2) == 0
    numbers = draw.integers if exactly else draw.normal
    x, w, g = (numbers(shape, dtype) for shape in (conv.x, conv.w, conv.y))
    bias = numbers(conv.filters, dtype) if draw.below(2) else None
    if name == "conv2d_forward":
        # Padding is 0 times a tap, and infinite taps are not what this holds.
        x = draw.with_specials(x)
    wide = {"x": x.astype(np.float64), "w": w.astype(np.float64), "g": g.astype(np.float64)}
    needs = {"conv2d_forward": "xw", "conv2d_backward_data": "gw", "conv2d_backward_filter": "xg"}
    run = getattr(conv, name.removeprefix("conv2d_"))
    with np.errstate(all="ignore"):
        exact, magnitudes = (
            run(*(change(wide[one]) for one in needs[name])) for change in (np.array, np.abs)
        )
    if name == "conv2d_forward" and bias is not None:
        exact = exact + bias.astype(np.float64)[:, None, None]
        magnitudes = magnitudes + np.abs(bias.astype(np.float64))[:, None, None]
    addend = None
    if name == "conv2d_forward" and draw.below(2):
        addend = numbers(conv.y, dtype)
        exact = exact + addend.astype(np.float64)
        magnitudes = magnitudes + np.abs(addend.astype(np.float64))
    bend = draw.one_of(["none", "relu", "relu6", "leaky_relu"])
    bend = bend if name == "conv2d_forward" else "none"
    if bend != "none":
        # No slope of theirs is above 1.
        with np.errstate(invalid="ignore"):
            low = 0.5 * exact if bend == "leaky_relu" else np.where(np.isnan(exact), exact, 0.0)
            exact = np.where(exact > 0, exact, low)
            exact = np.minimum(exact, 6) if bend == "relu6" else exact
    terms = {
        "conv2d_forward": conv.w[1] * conv.w[2] * conv.w[3],
        "conv2d_backward_data": conv.filters // conv.groups * conv.w[2] * conv.w[3],
        "conv2d_backward_filter": conv.batch * conv.y[2] * conv.y[3],
    }[name]
    out = room(draw, exact.shape, dtype)
    given = {
        "input": operand(draw, x),
        "filter": operand(draw, w),
        "grad_output": operand(draw, g),
        "bias": None if bias is None else operand(draw, bias),
        "addend": None if addend is None else operand(draw, addend),
        "input_shape": conv.x,
        "filter_shape": conv.w,
        "output_shape": conv.y,
        "stride": (conv.height.stride, conv.width.stride),
        "pad": (conv.height.pad, conv.width.pad),
        "dilation": (conv.height.dilation, conv.width.dilation),
        "groups": conv.groups,
        "dtype": dtype,
        "activation": bend,
        "slope": 0.5,
    }
    written = {"forward": "output", "backward_data": "grad_input", "backward_filter": "grad_filter"}
    given[written[name.removeprefix("conv2d_")]] = out
    tolerance = 0.0 if exactly else bounds.inner_product(magnitudes, terms)
    if addend is not None and dtype == "float16":
        # On GPUs the sums round once more.
        tolerance = tolerance + magnitudes * 2.0**-11 + 2.0**-25
    return Call(name, given, [Result(out, exact, tolerance)], empty=conv.batch == 0)
