"""How a length is taken apart."""

from __future__ import annotations

from functools import cache

PRIMES = (2, 3, 5, 7)
STEP_PRIMES = (*PRIMES, 11, 13)
#: of passes, and of which factors are convolved on the CPU beside others (fft_tables.cpp)
LONGEST_PRIME_PASS = 97
PASS_PRIMES = tuple(p for p in range(2, LONGEST_PRIME_PASS + 1) if all(p % q for q in range(2, p)))
FACTORS_APART = 16
LONGEST_CONVOLVED_FACTOR = 4096


def _without(n: int, primes: tuple[int, ...]) -> int:
    """What is left of it without these factors."""
    for prime in primes:
        while n % prime == 0:
            n //= prime
    return n


@cache
def smooth_from(least: int) -> int:
    """The least length from here on that consists of the factors 2, 3, 5 and 7."""
    best = power_from(least)
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


def power_from(least: int) -> int:
    """The least power of two from here on."""
    return 1 << max(0, least - 1).bit_length()


@cache
def is_convolved(n: int) -> bool:
    """Whether fft_roots(n) has the tables by which all of n is convolved, not a factor of it."""
    rest = n
    for prime in range(2, LONGEST_PRIME_PASS + 1):
        while rest % prime == 0:
            rest //= prime
    return rest > 1 and (n // rest < FACTORS_APART or rest > LONGEST_CONVOLVED_FACTOR)


@cache
def without_passes(n: int, device: str) -> int:
    """What is left of it without those of which steps of the trait's fft() are made: the CPU takes
    what has others in one."""
    return _without(n, STEP_PRIMES if device == "cpu" else PASS_PRIMES)


def takes_steps(n: int, device: str) -> bool:
    """Whether those steps transform it, several where it is long."""
    return without_passes(n, device) == 1


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
