"""Windows of pooling along one to three axes, and what they give, by NumPy in float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .elements import stored

Array = npt.NDArray[Any]

UNIT = {"float64": 2.0**-53}  # of what a dtype is computed in; else that of float32


@dataclass(frozen=True)
class Windows:
    """As pool() takes them; without `window` they are adaptive."""

    planes: int
    shape: tuple[int, ...]
    out: tuple[int, ...]
    window: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    pad: tuple[int, ...] = ()
    dilation: tuple[int, ...] = ()

    @property
    def arguments(self) -> tuple[Any, ...]:
        sizes = (self.shape, self.out, self.window, self.stride, self.pad, self.dilation)
        return (self.planes, *sizes)

    def axis(self, i: int, is_padded: bool) -> tuple[Array, Array, Array]:
        """The places of each output, which of them are elements, and how many count."""
        length, out = self.shape[i], self.out[i]
        p = np.arange(out)
        if not self.window:
            first, past = p * length // out, -(-(p + 1) * length // out)
            places = first[:, None] + np.arange(int((past - first).max()))
            inside = places < past[:, None]
            return places, inside, inside.sum(axis=1)
        start = p * self.stride[i] - self.pad[i]
        places = start[:, None] + np.arange(self.window[i]) * self.dilation[i]
        inside = (places >= 0) & (places < length)
        counted = places < length + self.pad[i] if is_padded else inside
        return places, inside, counted.sum(axis=1)

    def places(self, op: str) -> tuple[Array, Array, Array]:
        """The same of all axes: places in the plane by output, counted row by row."""
        place = np.zeros((1, 1), np.int64)
        inside = np.ones((1, 1), bool)
        counted = np.ones(1)
        for i, length in enumerate(self.shape):
            own, own_inside, count = self.axis(i, op == "mean_padded")
            place = place[:, None, :, None] * length + own[None, :, None, :]
            inside = inside[:, None, :, None] & own_inside[None, :, None, :]
            place = place.reshape(place.shape[0] * place.shape[1], -1)
            inside = inside.reshape(place.shape)
            counted = (counted[:, None] * count).reshape(-1)
        return np.where(inside, place, 0), inside, counted

    def pool(self, op: str, x: Array, divisor: float = 0) -> tuple[Array, Array, Array]:
        """Of x [planes, elements]: the results, places of the largest, and how much is summed."""
        place, inside, counted = self.places(op)
        values = x[:, place]
        if op == "max":
            values = np.where(inside, values, -np.inf)
            best = values.argmax(axis=2)
            # Of elements of -infinity none is in the padding.
            best = np.where(np.take_along_axis(inside[None], best[..., None], 2)[..., 0], best,
                            inside.argmax(axis=1))  # fmt: skip
            found = np.take_along_axis(values, best[..., None], 2)[..., 0]
            at = np.take_along_axis(np.broadcast_to(place, values.shape), best[..., None], 2)[
                ..., 0
            ]
            return found, np.where(inside.any(axis=1), at, -1).astype(np.int32), np.abs(found)
        values = np.where(inside, values, 0.0)
        over = np.where(counted == 0, 1, counted) if divisor == 0 else divisor
        with np.errstate(invalid="ignore"):
            return values.sum(axis=2) / over, np.zeros(0), np.abs(values).sum(axis=2) / abs(over)

    def pool_backward(
        self, op: str, grad: Array, places: Array | None, divisor: float = 0
    ) -> tuple[Array, Array]:
        """Of grad [planes, outputs]: the gradient by each element, and how much is summed."""
        place, inside, counted = self.places(op)
        result = np.zeros((2, self.planes, int(np.prod(self.shape))))
        for plane in range(self.planes):
            if places is not None:
                some = places[plane] >= 0
                for row, values in zip(result, (grad, np.abs(grad)), strict=True):
                    np.add.at(row[plane], places[plane][some], values[plane][some])
                continue
            over = np.where(counted == 0, 1, counted) if divisor == 0 else divisor
            each = np.broadcast_to((grad[plane] / over)[:, None], place.shape)[inside]
            np.add.at(result[0, plane], place[inside], each)
            np.add.at(result[1, plane], place[inside], np.abs(each))
        return result[0], result[1]

    @property
    def most(self) -> int:
        """Elements of the largest window."""
        return int(self.places("mean")[1].sum(axis=1).max())


CASES = {
    "2x2/2": Windows(6, (12, 14), (6, 7), (2, 2), (2, 2), (0, 0), (1, 1)),
    "3x3/2 and padding": Windows(5, (13, 11), (7, 6), (3, 3), (2, 2), (1, 1), (1, 1)),
    "3x3/1": Windows(3, (9, 70), (7, 68), (3, 3), (1, 1), (0, 0), (1, 1)),
    "one axis": Windows(7, (101,), (33,), (5,), (3,), (2,), (1,)),
    "one element": Windows(1, (1,), (1,), (1,), (1,), (0,), (1,)),
    "three axes": Windows(2, (5, 6, 7), (3, 4, 3), (2, 3, 3), (2, 1, 2), (1, 0, 0), (1, 1, 1)),
    "gaps": Windows(2, (17, 19), (7, 13), (3, 4), (2, 1), (1, 2), (2, 3)),
    "three axes with gaps": Windows(
        1, (6, 7, 9), (4, 5, 4), (2, 2, 3), (1, 1, 2), (0, 0, 1), (2, 1, 2)
    ),
    "stride beyond the window": Windows(3, (23, 5), (5, 2), (2, 1), (5, 3), (1, 0), (1, 1)),
    "windows beyond the end": Windows(2, (6, 7), (4, 5), (3, 2), (2, 2), (1, 1), (1, 1)),
    "windows without elements": Windows(2, (4, 3), (5, 6), (2, 2), (2, 1), (2, 3), (7, 1)),
    "the plane": Windows(4, (7, 9), (1, 1), (7, 9), (1, 1), (0, 0), (1, 1)),
    "large windows": Windows(1, (40, 45), (12, 14), (31, 33), (1, 1), (1, 1), (1, 1)),
    "large windows side by side": Windows(1, (24, 33), (3, 3), (8, 9), (8, 12), (0, 0), (1, 1)),
    "large windows along three axes": Windows(
        2, (9, 10, 11), (3, 2, 3), (4, 5, 6), (3, 6, 4), (1, 2, 1), (1, 1, 1)
    ),
    "7x7 and padding": Windows(2, (20, 31), (9, 26), (7, 7), (2, 1), (3, 1), (1, 1)),
    "rows without a next one": Windows(3, (9, 40), (3, 12), (2, 3), (4, 3), (1, 1), (1, 1)),
    "adaptive, large windows": Windows(2, (35, 50), (3, 4)),
    "adaptive": Windows(3, (13, 10), (5, 7)),
    "adaptive, more outputs": Windows(2, (3, 5), (7, 5)),
    "adaptive along three axes": Windows(2, (5, 4, 9), (2, 4, 4)),
    "adaptive along one axis": Windows(5, (31,), (6,)),
    "many planes": Windows(66001, (2, 2), (1, 2), (2, 1), (2, 1), (0, 0), (1, 1)),
}  # fmt: skip

LONG = {
    "a long row": Windows(2, (10007,), (5003,), (3,), (2,), (0,), (1,)),
    "a long window": Windows(1, (9000,), (3,), (5000,), (2001,), (3,), (1,)),
    "gaps as long as rows": Windows(1, (9000,), (2501,), (3,), (1,), (0,), (3000,)),
    "adaptive, long": Windows(1, (9001,), (2,)),
    "adaptive, long rows": Windows(2, (2, 5003), (1, 700)),
}


def elements(rng: np.random.Generator, windows: Windows, dtype: str, of: str = "shape") -> Array:
    """Of each plane, as they are stored; of few values, so that some are equal."""
    count = int(np.prod(getattr(windows, of)))
    if of == "shape":
        return stored(rng.integers(-20, 20, (windows.planes, count)) / 4, dtype)
    return stored(rng.uniform(-2, 2, (windows.planes, count)), dtype)


def tolerance(sums: Array, count: int, dtype: str) -> Array:
    """Of sums of `count` numbers that are so large together, and a quotient."""
    return np.asarray((count + 4) * UNIT.get(dtype, 2.0**-24) * sums + 2.0**-126)
