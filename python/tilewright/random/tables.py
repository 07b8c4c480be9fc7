"""Distributions of counts as tables: how many random words of 2**32 lie below each count.

Parameters that are numbers have one table for all elements, of which each is found by a search: the
same on every device, bit for bit.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

# Deviations from the mean, and counts more, beyond which lies less than a word tells apart.
FAR, FEW = 8.0, 60.0


class Table(NamedTuple):
    """Of each count from the first on, but the last, how many words give it or one before it."""

    first: int
    words: npt.NDArray[np.uint32]


def _table(
    mean: float, deviation: float, least: int, most: int, ratio: Callable[[Any], Any]
) -> Table:
    """`ratio` is how much likelier a count is than the one before it. Counts of both ends may be
    had, and no count between them has a chance of 0."""
    start = max(least, math.floor(mean - FAR * deviation - FEW))
    past = min(most, math.ceil(mean + FAR * deviation + FEW)) + 1
    counts = np.arange(start + 1, past, dtype=np.float64)
    logs = np.concatenate([[0.0], np.cumsum(np.log(ratio(counts)))])
    reached = np.cumsum(np.exp(logs - logs.max()))
    words = np.floor(reached / reached[-1] * 2.0**32)
    # What no word gives.
    below = int(np.count_nonzero(words == 0))
    words = words[below:]
    return Table(start + below, words[words < 2.0**32].astype(np.uint32))


def _certain(count: int) -> Table:
    return Table(count, np.zeros(0, np.uint32))


@lru_cache(maxsize=8)
def poisson(mean: float) -> Table:
    if mean == 0:
        return _certain(0)
    return _table(mean, math.sqrt(mean), 0, 2**63, lambda k: mean / k)


@lru_cache(maxsize=8)
def binomial(n: int, p: float) -> Table:
    if p in (0, 1):
        return _certain(n if p == 1 else 0)
    odds = p / (1 - p)
    return _table(n * p, math.sqrt(n * p * (1 - p)), 0, n, lambda k: (n - k + 1) / k * odds)


@lru_cache(maxsize=8)
def hypergeometric(good: int, bad: int, sample: int) -> Table:
    least, most = max(0, sample - bad), min(good, sample)
    if least == most:
        return _certain(least)
    every = good + bad
    mean = sample * good / every
    spread = mean * (bad / every) * ((every - sample) / max(every - 1, 1))
    return _table(
        mean,
        math.sqrt(spread),
        least,
        most,
        lambda k: (good - k + 1) * (sample - k + 1) / (k * (bad - sample + k)),
    )
