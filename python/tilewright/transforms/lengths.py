"""How a length is taken apart, by what each way costs."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

# The longest transform that is one product with a matrix.
LONGEST_DIRECT = 512
# What reading and writing all elements once costs, in columns of such a matrix.
PASS = 35
PRIMES = (2, 3, 5, 7)


class Way(NamedTuple):
    """How a length is transformed: by one product where `first` is 0, by Bluestein's convolution
    where it is below 0, of the length -first, else as rows of `first` and columns of the rest."""

    cost: float
    first: int


@cache
def way(n: int) -> Way:
    """The least costly."""
    best = Way(n, 0) if n <= LONGEST_DIRECT else Way(math.inf, 0)
    for first in range(2, min(LONGEST_DIRECT, math.isqrt(n)) + 1):
        if n % first == 0 and first + 3 * PASS < best.cost:
            cost = way(first).cost + way(n // first).cost + 3 * PASS
            if cost < best.cost:
                best = Way(cost, first)
    if best.cost == math.inf or (_without(n, PRIMES) > 1 and best.cost > 4 * PASS):
        longer = smooth_from(2 * n - 1)
        cost = (2 * way(longer).cost + 5 * PASS) * longer / n
        if cost < best.cost:
            best = Way(cost, -longer)
    return best


def _without(n: int, primes: tuple[int, ...]) -> int:
    """What is left of it without these factors."""
    for prime in primes:
        while n % prime == 0:
            n //= prime
    return n


@cache
def smooth_from(least: int) -> int:
    """The least length from here on that consists of the factors 2, 3, 5 and 7."""
    best = 1 << max(0, least - 1).bit_length()
    sevens = 1
    while sevens < best:
        fives = sevens
        while fives < best:
            threes = fives
            while threes < best:
                rest = -(-least // threes)
                best = min(best, threes << max(0, rest - 1).bit_length())
                threes *= 3
            fives *= 5
        sevens *= 7
    return best


# In steps ----------------------------------------------------------------------------------------

STEP_PRIMES = (2, 3, 5, 7, 11, 13)


@cache
def without_small_factors(n: int) -> int:
    """What is left of it without those of which the kernels of the trait's fft() are made."""
    return _without(n, STEP_PRIMES)


def takes_steps(n: int) -> bool:
    """Whether those kernels transform it, in steps where it is long."""
    return without_small_factors(n) == 1


@cache
def steps(n: int, longest: int) -> tuple[int, ...]:
    """As few factors as can be that are not above the longest, as even as they can be."""
    count = 1
    while True:
        found = _even_factors(n, longest, count)
        if found is not None:
            return found
        count += 1


def _even_factors(n: int, longest: int, count: int) -> tuple[int, ...] | None:
    if count == 1:
        return (n,) if n <= longest else None
    best: tuple[int, ...] | None = None
    for first in range(2, longest + 1):
        if n % first:
            continue
        rest = _even_factors(n // first, min(first, longest), count - 1)
        if rest is not None and (best is None or first < best[0]):
            best = (first, *rest)
    return best
