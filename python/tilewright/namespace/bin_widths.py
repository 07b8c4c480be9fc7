"""How many bins histogram() takes, by NumPy's rules for their width."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tilewright.namespace.quantiles import percentile
from tilewright.namespace.reductions import mean, std
from tilewright.operands import invalid, shown

if TYPE_CHECKING:
    from tilewright.array import Array


def _reach(x: Array) -> float:
    """From the least element to the largest."""
    high, low = x.max().item(), x.min().item()
    return float(high - low)


def _deviation(x: Array) -> float:
    return float(std(x).item())


def _sqrt(x: Array) -> float:
    return _reach(x) / math.sqrt(x.size)


def _sturges(x: Array) -> float:
    return _reach(x) / (math.log2(x.size) + 1)


def _rice(x: Array) -> float:
    return _reach(x) / (2 * float(x.size ** (1 / 3)))


def _scott(x: Array) -> float:
    return float((24 * math.pi**0.5 / x.size) ** (1 / 3)) * _deviation(x)


def _doane(x: Array) -> float:
    n = x.size
    if n <= 2:
        return 0
    deviation = _deviation(x)
    if deviation <= 0:
        return 0
    kind = x.dtype if x.dtype.kind == "f" else np.dtype(np.float32)
    skewness = mean(((x.astype(kind, copy=False) - mean(x)) / deviation) ** 3).item()
    spread = math.sqrt(6 * (n - 2) / ((n + 1) * (n + 3)))
    return _reach(x) / (1 + math.log2(n) + math.log2(1 + abs(skewness) / spread))


def _fd(x: Array) -> float:
    high, low = percentile(x, [75, 25]).tolist()
    return 2 * float(high - low) * float(x.size ** (-1 / 3))


def _auto(x: Array) -> float:
    """The widest of Freedman and Diaconis' and half of the root's, or Sturges' where that is
    narrower."""
    return min(max(_fd(x), _sqrt(x) / 2), _sturges(x))


RULES: dict[str, Callable[[Array], float]] = {
    "auto": _auto,
    "doane": _doane,
    "fd": _fd,
    "rice": _rice,
    "scott": _scott,
    "sqrt": _sqrt,
    "sturges": _sturges,
}


def count(call: str, x: Array, rule: str, within: tuple[float, float] | None) -> int:
    """The number of bins by a rule."""
    if rule not in RULES:
        invalid(call, f"bins is {shown(rule)}, expected a number, edges or one of {list(RULES)}")
    if within is not None:
        x = x[(x >= within[0]) & (x <= within[1])]
    if x.size == 0:
        return 1
    width = RULES[rule](x)
    if not math.isfinite(width):
        invalid(call, f"bins is {rule!r}, but the elements are not all finite; give a range")
    if x.dtype.kind in "iu" and 0 < width < 1:
        width = 1
    first, last = within or (x.min().item(), x.max().item())
    if width <= 0:
        return 1
    return max(1, math.ceil((last - first) / width))
