"""Elements of images at the places of grids, and the gradients, in NumPy: in the precision of its
arguments."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Host = npt.NDArray[Any]

MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")
FAR = 2.0**30


class Sampling(NamedTuple):
    shape: tuple[int, ...]  # batch, channels and lengths
    out: tuple[int, ...]
    mode: str = "bilinear"
    padding: str = "zeros"
    aligned: bool = False

    @property
    def axes(self) -> int:
        return len(self.out)

    @property
    def grid(self) -> tuple[int, ...]:
        return (self.shape[0], *self.out, self.axes)

    @property
    def result(self) -> tuple[int, ...]:
        return (*self.shape[:2], *self.out)

    @property
    def arguments(self) -> tuple[Any, ...]:
        return (
            *self.shape[:2], self.shape[2:], self.out, self.mode, self.padding, self.aligned,
        )  # fmt: skip


class Axis(NamedTuple):
    """Taps [count, batch, *out]: places, -1 outside, weights, and these by the coordinate."""

    at: Host
    weight: Host
    slope: Host


def mirrored(x: Host, low: float, span: float) -> tuple[Host, Host]:
    """And which way it runs."""
    if span == 0:
        return np.zeros_like(x), np.zeros_like(x)
    off = np.abs(x - low)
    flips = np.floor(off / span)
    rest = off - flips * span
    odd = flips % 2 != 0
    turn = np.where(odd != (x < low), -1.0, 1.0)
    return np.where(odd, span - rest, rest) + low, turn


def cubic(u: Host) -> tuple[Host, Host]:
    """Of the distance, and its slope."""
    near = (1.25 * u - 2.25) * u * u + 1
    far = ((-0.75 * u + 3.75) * u - 6) * u + 3
    return (
        np.where(u <= 1, near, far),
        np.where(u <= 1, (3.75 * u - 4.5) * u, (-2.25 * u + 7.5) * u - 6),
    )


def axis_of(coordinate: Host, length: int, of: Sampling) -> Axis:
    size = float(length)
    by = (size - 1) / 2 if of.aligned else size / 2
    with np.errstate(invalid="ignore", over="ignore"):
        x = (coordinate + 1) / 2 * (size - 1) if of.aligned else ((coordinate + 1) * size - 1) / 2
    finite = np.isfinite(x)
    scale = np.full(x.shape, by)
    if of.padding == "reflection":
        x, scale = np.where(finite, x, 0), np.where(finite, scale, 0)
    x = np.where(x > -FAR, np.minimum(x, FAR), -FAR)
    low, span = (0.0, size - 1) if of.aligned else (-0.5, size)
    if of.mode == "bicubic":
        first = np.floor(x)
        places, weights, slopes = [], [], []
        for tap in range(-1, 3):
            at = first + tap
            off = x - at
            weight, slope = cubic(np.abs(off))
            if of.padding == "border":
                at = np.clip(at, 0, length - 1)
            elif of.padding == "reflection":
                at = np.clip(mirrored(at, low, span)[0], 0, length - 1)
            places.append(np.where((at >= 0) & (at < length), at, -1))
            weights.append(weight)
            slopes.append(slope * np.sign(off) * scale)
        return Axis(np.array(places).astype(int), np.array(weights), np.array(slopes))
    if of.padding == "reflection":
        x, turn = mirrored(x, low, span)
        scale = scale * turn
    if of.padding != "zeros":
        scale = np.where((x > 0) & (x < size - 1), scale, 0)
        x = np.clip(x, 0, size - 1)
    if of.mode == "nearest":
        at = np.round(x)[None]
        weights_of, slopes_of = np.ones_like(at), np.zeros_like(at)
    else:
        first = np.floor(x)
        at = np.array([first, first + 1])
        weights_of = np.array([first + 1 - x, x - first])
        slopes_of = np.array([-scale, scale])
    inside = np.where((at >= 0) & (at < length), at, -1).astype(int)
    return Axis(inside, weights_of, slopes_of)


class Tap(NamedTuple):
    """One element for each point of [batch, *out]."""

    inside: Host
    place: Host
    weight: Host
    slopes: list[Host]  # by each coordinate, x first


def taps_of(grid: Host, of: Sampling) -> list[Tap]:
    axes = [axis_of(grid[..., of.axes - 1 - i], of.shape[2 + i], of) for i in range(of.axes)]
    found = []
    for taps in itertools.product(*(range(len(one.at)) for one in axes)):
        inside = np.all([one.at[t] >= 0 for one, t in zip(axes, taps, strict=True)], axis=0)
        place = np.zeros(inside.shape, int)
        for one, t, n in zip(axes, taps, of.shape[2:], strict=True):
            place = place * n + one.at[t]
        weights = [one.weight[t] for one, t in zip(axes, taps, strict=True)]
        slopes = []
        for i in range(of.axes - 1, -1, -1):
            others = [axes[i].slope[taps[i]], *weights[:i], *weights[i + 1 :]]
            slopes.append(np.prod(others, axis=0))
        found.append(Tap(inside, np.where(inside, place, 0), np.prod(weights, axis=0), slopes))
    return found


def elements(x: Host, tap: Tap, of: Sampling) -> Host:
    """[batch, channels, *out], 0 outside."""
    planes = x.reshape((*of.shape[:2], -1))
    flat = np.broadcast_to(
        tap.place.reshape((of.shape[0], 1, -1)), (*of.shape[:2], tap.place[0].size)
    )
    found = np.take_along_axis(planes, flat, axis=2).reshape(of.result)
    return np.where(tap.inside[:, None], found, 0)


def sample(x: Host, grid: Host, of: Sampling) -> Host:
    found = np.zeros(of.result)
    if found.size:
        for tap in taps_of(grid, of):
            # What is outside has no element, whatever weighs it.
            weight = np.where(tap.inside, tap.weight, 0)[:, None]
            found += np.where(tap.inside[:, None], weight * elements(x, tap, of), 0)
    return found


def by_grid(grad: Host, x: Host, grid: Host, of: Sampling) -> Host:
    found = np.zeros(grid.shape)
    for tap in taps_of(grid, of) if grad.size else []:
        sums = (grad * elements(x, tap, of)).sum(axis=1)
        for i, slope in enumerate(tap.slopes):
            found[..., i] += sums * slope
    return found


def by_input(grad: Host, grid: Host, of: Sampling) -> Host:
    batch, channels = of.shape[:2]
    found = np.zeros((batch, channels, int(np.prod(of.shape[2:]))))
    for tap in taps_of(grid, of):
        for n in range(batch):
            where = tap.inside[n].reshape(-1)
            places = tap.place[n].reshape(-1)[where]
            for c in range(channels):
                values = (grad[n, c] * tap.weight[n]).reshape(-1)[where]
                np.add.at(found[n, c], places, values)
    return found.reshape(of.shape)


CASES = {
    "plain": Sampling((2, 3, 7, 5), (4, 6)),
    "border": Sampling((1, 2, 5, 9), (7, 3), padding="border"),
    "reflection": Sampling((2, 1, 6, 4), (5, 5), padding="reflection"),
    "aligned": Sampling((1, 3, 4, 8), (3, 7), aligned=True),
    "aligned reflection": Sampling((1, 2, 4, 5), (6, 3), "bilinear", "reflection", True),
    "nearest": Sampling((2, 3, 5, 6), (4, 4), "nearest"),
    "nearest border": Sampling((1, 2, 5, 6), (3, 5), "nearest", "border", True),
    "nearest reflection": Sampling((1, 2, 3, 4), (5, 1), "nearest", "reflection"),
    "bicubic": Sampling((2, 2, 7, 6), (5, 4), "bicubic"),
    "bicubic border": Sampling((1, 3, 5, 4), (3, 3), "bicubic", "border", True),
    "bicubic reflection": Sampling((1, 2, 4, 6), (5, 3), "bicubic", "reflection"),
    "bicubic aligned reflection": Sampling((1, 1, 3, 2), (5, 7), "bicubic", "reflection", True),
    "one element": Sampling((2, 2, 1, 1), (3, 3), "bilinear", "reflection", True),
    "one point": Sampling((3, 5, 4, 4), (1, 1)),
    "many channels": Sampling((1, 37, 6, 7), (3, 2), padding="border"),
    "many points": Sampling((2, 5, 33, 29), (41, 31), aligned=True),
    "depth": Sampling((2, 3, 4, 5, 6), (3, 4, 5)),
    "depth border": Sampling((1, 2, 3, 2, 4), (3, 3, 3), padding="border", aligned=True),
    "depth reflection": Sampling((1, 1, 2, 3, 2), (1, 5, 3), padding="reflection"),
    "depth nearest": Sampling((1, 2, 3, 4, 5), (5, 2, 2), "nearest"),
}  # fmt: skip


def drawn_grid(rng: np.random.Generator, of: Sampling, hold: Any) -> Host:
    """Coordinates of places in and around the input, held by a dtype, none of them where a result
    or a gradient jumps: those lie half an element apart."""
    grid = np.empty(of.grid)
    for i in range(of.axes):
        length = of.shape[1 + of.axes - i]
        bad = np.ones(of.grid[:-1], bool)
        for _ in range(200):
            x = rng.uniform(-0.8 * length - 1, 1.8 * length + 1, of.grid[:-1])
            drawn = coordinate_of(x, length, of)
            grid[..., i] = np.where(bad, hold(drawn), grid[..., i])
            at = place_of(grid[..., i], length, of)
            bad = (np.abs(at * 2 - np.round(at * 2)) < 0.04) & (length > 1)
            if not bad.any():
                break
        assert not bad.any()
    return grid


def coordinate_of(x: Host, length: int, of: Sampling) -> Host:
    found: Host = 2 * x / max(length - 1, 1) - 1 if of.aligned else (2 * x + 1) / length - 1
    return found


def place_of(coordinate: Host, length: int, of: Sampling) -> Host:
    found: Host = (
        (coordinate + 1) / 2 * (length - 1) if of.aligned else ((coordinate + 1) * length - 1) / 2
    )
    return found


def off_places(grid: Host, of: Sampling, unit: float) -> Host:
    """How far places may be off that are computed in a precision, the largest of all axes."""
    found = np.zeros(grid.shape[:-1])
    for i in range(of.axes):
        length = of.shape[1 + of.axes - i]
        found = np.maximum(found, np.abs(place_of(grid[..., i], length, of)) + 2 * length)
    return 8 * unit * found


def largest(x: Host, grid: Host, of: Sampling) -> Host:
    """The sum of the sizes of the elements of each output."""
    found = np.zeros(of.result)
    for tap in taps_of(grid, of) if found.size else []:
        found += np.abs(elements(x, tap, of))
    return found


def tolerance(x: Host, grid: Host, of: Sampling, dtype: str) -> Host:
    """Of sample(): no weight changes by more than 2.5 from place to place, nor is above 1.5."""
    unit = 2.0**-53 if dtype == "float64" else 2.0**-24
    off = off_places(grid, of, unit) if of.mode != "nearest" else np.zeros(grid.shape[:-1])
    rounded = 0.0 if of.mode == "nearest" else 32 * unit
    return (2.5 * of.axes * off[:, None] + rounded) * largest(x, grid, of)


def tolerance_by_grid(grad: Host, x: Host, grid: Host, of: Sampling, dtype: str) -> Host:
    """Of by_grid(): slopes change by at most 9 from place to place."""
    unit = 2.0**-53 if dtype == "float64" else 2.0**-24
    sums = (np.abs(grad) * largest(x, grid, of)).sum(axis=1)
    off = 9 * of.axes * off_places(grid, of, unit) + (32 + of.shape[1]) * unit
    return (sums * off * max(of.shape[2:]))[..., None] * np.ones(of.axes)
