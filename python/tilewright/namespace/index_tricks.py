"""NumPy's objects that are indexed: grids of numbers, and what stands side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.array import Array
from tilewright.namespace.creation import arange, array, asarray
from tilewright.namespace.dtypes import result_type
from tilewright.namespace.grids import linspace
from tilewright.namespace.manipulation import broadcast_to, concat, stack
from tilewright.namespace.mixed import an_array, beside
from tilewright.operands import invalid, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["c_", "index_exp", "mgrid", "ndenumerate", "ndindex", "ogrid", "r_", "s_"]

s_, index_exp, ndindex = np.s_, np.index_exp, np.ndindex


def ndenumerate(arr: Array) -> Iterator[tuple[tuple[int, ...], Array]]:
    """The index and the element, an Array without dimensions, of each element row by row."""
    x = an_array("ndenumerate", arr, "arr")
    return ((index, x[index]) for index in np.ndindex(x.shape))


def _numbers(call: str, given: slice, device: Any) -> Array:
    """Those of start:stop:step; an imaginary step is how many they are, the stop among them."""
    start = 0 if given.start is None else given.start
    step = 1 if given.step is None else given.step
    if given.stop is None:
        invalid(call, f"a slice is {given}, expected one with a stop")
    if isinstance(step, complex):
        found: Array = linspace(start, given.stop, int(abs(step)), device=device)
        return found
    return arange(start, given.stop, step, device=device)


class Grid:
    """mgrid and ogrid: the numbers of slices along axes of their own."""

    def __init__(self, name: str, sparse: bool) -> None:
        self.name, self.sparse = name, sparse

    def __repr__(self) -> str:
        return f"tilewright.{self.name}"

    def __getitem__(self, key: Any) -> Any:
        """On the default device: an Array, or where they are open a tuple of them."""
        several = key if isinstance(key, tuple) else (key,)
        if not several or not all(isinstance(one, slice) for one in several):
            invalid(self.name, f"key is {shown(key)}, expected slices; write tw.{self.name}[0:n]")
        axes = [_numbers(self.name, one, None) for one in several]
        if not isinstance(key, tuple):
            return axes[0]
        dtype = result_type(*axes)
        count = len(axes)
        parts = [
            one.astype(dtype, copy=False).reshape([-1 if i == at else 1 for i in range(count)])
            for at, one in enumerate(axes)
        ]
        if self.sparse:
            return tuple(parts)
        shape = tuple(one.size for one in axes)
        return stack([broadcast_to(one, shape) for one in parts])


class Joined:
    """r_ and c_: arrays, numbers and those of slices, one behind another."""

    def __init__(self, name: str, axis: int, least: int, first: int) -> None:
        self.name, self.places = name, (axis, least, first)

    def __repr__(self) -> str:
        return f"tilewright.{self.name}"

    def __getitem__(self, key: Any) -> Array:
        """On the device of the first Array, or the default one."""
        items = list(key) if isinstance(key, tuple) else [key]
        axis, least, first = self.places
        if items and isinstance(items[0], str):
            axis, least, first = self._directive(items.pop(0))
        if not items:
            invalid(self.name, "nothing is given, expected arrays, numbers or slices")
        like = next((one for one in items if isinstance(one, Array)), None)
        device = None if like is None else like.backend
        parts = []
        for i, one in enumerate(items):
            if isinstance(one, slice):
                made = array(_numbers(self.name, one, device), copy=None, ndmin=least)
                parts.append(made.swapaxes(-1, first) if least > 1 and first != -1 else made)
                continue
            read = asarray(one) if like is None else beside(self.name, f"key[{i}]", one, like)
            parts.append(_with_axes(read, least, first))
        return concat(parts, axis=axis)

    def _directive(self, text: str) -> tuple[int, int, int]:
        """ "axis,least number of dimensions,where those that are there come"."""
        try:
            given = [int(one) for one in text.split(",")]
        except ValueError:
            given = []
        if not 1 <= len(given) <= 3:
            what = 'expected up to three integers such as "0,2"; Arrays are no matrices'
            invalid(self.name, f"key[0] is {shown(text)}, {what}")
        axis, least, first = (*given, *(self.places[0], 1, -1)[len(given) :])
        return axis, least, first


def _with_axes(x: Array, least: int, first: int) -> Array:
    """With so many dimensions at least, those of x from axis `first` on."""
    rank = x.ndim
    made = array(x, copy=None, ndmin=least)
    if first == -1 or rank >= least:
        return made
    missing = least - rank
    at = first + missing + 1 if first < 0 else first
    order = list(range(least))
    return made.transpose(order[:at] + order[missing:] + order[at:missing])


mgrid, ogrid = Grid("mgrid", False), Grid("ogrid", True)
r_, c_ = Joined("r_", 0, 1, -1), Joined("c_", -1, 2, 0)
