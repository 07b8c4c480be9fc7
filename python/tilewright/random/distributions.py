"""Distributions: what the words of a block become."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

from tilewright.random.philox import Draw, Words, product

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.program import Value

DOUBLE = "float64"


def _where(condition: Value, a: Value, b: Value) -> Value:
    return condition.program.apply("where", condition, a, b)


def _half_open(words: Words, dtype: str) -> list[Value]:
    """In [0, 1), with as many bits as the dtype has digits: 24 of a word, 53 of two."""
    if dtype != DOUBLE:
        return [(word >> 8).cast("float32") * 2.0**-24 for word in words]
    pairs = ((words.a, words.b), (words.c, words.d))
    return [
        ((high >> 5).cast(DOUBLE) * 2.0**26 + (low >> 6).cast(DOUBLE)) * 2.0**-53
        for high, low in pairs
    ]


def _positive(words: Words, dtype: str) -> list[Value]:
    """In (0, 1], to take logarithms of: of all 32 bits of a word, so that tails reach far."""
    if dtype != DOUBLE:
        return [word.cast("float32") * 2.0**-32 + 2.0**-33 for word in words]
    return [1 - one for one in _half_open(words, dtype)]


def _pairs(words: Words, dtype: str) -> list[Value]:
    """Normal deviates by the method of Box and Muller."""
    if dtype == DOUBLE:
        (size, _), (_, turn) = _positive(words, dtype), _half_open(words, dtype)
        turns = [(size, turn)]
    else:
        sizes, angles = _positive(words, dtype), _half_open(words, dtype)
        turns = [(sizes[0], angles[1]), (sizes[2], angles[3])]
    found = []
    for size, turn in turns:
        radius, angle = (size.log() * -2).sqrt(), turn * (2 * math.pi)
        found += [radius * angle.cos(), radius * angle.sin()]
    return found


def _extreme(x: Value) -> Value:
    return -x.log()


# By name, of one number in [0, 1) or (0, 1], and one more parameter where it has a shape.
OF_HALF_OPEN: dict[str, Callable[[Value, list[Value]], Value]] = {
    "uniform": lambda u, _: u,
}
OF_POSITIVE: dict[str, Callable[[Value, list[Value]], Value]] = {
    "exponential": lambda u, _: _extreme(u),
    "gumbel": lambda u, _: -_extreme(u).log(),
    "rayleigh": lambda u, _: (_extreme(u) * 2).sqrt(),
    "weibull": lambda u, shape: _extreme(u).pow(1 / shape[0]),
    "pareto": lambda u, shape: (_extreme(u) / shape[0]).expm1(),
    "power": lambda u, shape: u.pow(1 / shape[0]),
}


def _logistic(u: Value) -> Value:
    """Of u in (0, 1)."""
    return u.log() - (1 - u).log()


def _laplace(u: Value) -> Value:
    left = u < 0.5
    size = _where(left, u, 1 - u)
    return _where(left, (size * 2).log(), -((size * 2).log()))


def _cauchy(u: Value) -> Value:
    return ((u - 0.5) * math.pi).tan()


# Of a number in (0, 1) that lies as far from both ends.
OF_OPEN: dict[str, Callable[[Value], Value]] = {
    "logistic": _logistic,
    "laplace": _laplace,
    "cauchy": _cauchy,
}
SHAPED = ("weibull", "pareto", "power")


@cache
def continuous(name: str, dtype: str) -> Draw:
    """loc + scale * a distribution; its numbers are loc, scale and its shape."""

    def finish(words: Words, numbers: list[Value], _: bool) -> list[Value]:
        loc, scale, *shape = numbers
        if name in ("normal", "lognormal"):
            found = _pairs(words, dtype)
        elif name in OF_HALF_OPEN:
            found = [OF_HALF_OPEN[name](u, shape) for u in _half_open(words, dtype)]
        elif name in OF_OPEN:
            step = 2.0**-54 if dtype == DOUBLE else 2.0**-25
            found = [OF_OPEN[name](u + step) for u in _half_open(words, dtype)]
        else:
            found = [OF_POSITIVE[name](u, shape) for u in _positive(words, dtype)]
        found = [one * scale + loc for one in found]
        return [one.exp() for one in found] if name == "lognormal" else found

    numbers = (dtype,) * (3 if name in SHAPED else 2)
    return Draw(2 if dtype == DOUBLE else 4, finish, numbers)


@cache
def integers(dtype: str, whole: bool) -> Draw:
    """low + one of fewer than 2**32 numbers, or of all 2**32 where `whole`: the high word of a
    product with 64 random bits, by which each is as likely as any other within 2**-32."""

    def finish(words: Words, numbers: list[Value], wide: bool) -> list[Value]:
        low, span = numbers
        if whole:
            found = list(words)
        else:
            found = []
            for high, rest in ((words.a, words.b), (words.c, words.d)):
                above, below = product(high, span, wide)
                carried, _ = product(rest, span, wide)
                found.append(above + (below + carried < below).cast("uint32"))
        if dtype == "bool":
            return [one != 0 for one in found]
        return [one.cast(dtype) + low for one in found]

    return Draw(4 if whole else 2, finish, ("uint32" if dtype == "bool" else dtype, "uint32"))


def _high_product(x: Value, y: Value) -> Value:
    """The high 64 bits of a product of 64."""
    mask = 0xFFFFFFFF
    low, high, of_low, of_high = x & mask, x >> 32, y & mask, y >> 32
    first = low * of_high + (low * of_low >> 32)
    second = high * of_low + (first & mask)
    return high * of_high + (first >> 32) + (second >> 32)


@cache
def long_integers(dtype: str, whole: bool) -> Draw:
    """low + one of more than 2**32 numbers, of 128 random bits: alike within 2**-64."""

    def finish(words: Words, numbers: list[Value], _: bool) -> list[Value]:
        low, span = numbers
        halves = [
            high.cast("uint64") << 32 | rest.cast("uint64")
            for high, rest in ((words.a, words.b), (words.c, words.d))
        ]
        if whole:
            return [one.cast(dtype) + low for one in halves]
        below = halves[0] * span
        carry = (below + _high_product(halves[1], span) < below).cast("uint64")
        return [(_high_product(halves[0], span) + carry).cast(dtype) + low]

    return Draw(2 if whole else 1, finish, (dtype, "uint64"))


@cache
def gamma(dtype: str) -> Draw:
    """Marsaglia and Tsang's method: a try for each element that is still NaN. What it reads is the
    result so far and the shape; -1 where that is none."""

    def finish(words: Words, values: list[Value], _: bool) -> list[Value]:
        so_far, shape = values
        normal = _pairs(Words(words.a, words.b, words.a, words.b), "float32")[0].cast(dtype)
        # Of less than 1, as of one more, times a power.
        small = shape < 1
        own = _where(small, shape + 1, shape) - 1 / 3
        cube = normal * (own * 9).rsqrt() + 1
        cube = cube * cube * cube
        draws = [one.cast(dtype) for one in _positive(words, "float32")]
        bound = normal * normal * 0.5 + own - own * cube + own * cube.log()
        taken = (cube > 0) & (draws[2].log() < bound)
        found = own * cube * _where(small, draws[3].pow(1 / shape), shape * 0 + 1)
        refused = shape.program.constant(math.nan, dtype)
        tried = _where(taken, found, refused)
        tried = _where(shape == 0, shape, tried)
        tried = _where(shape >= 0, tried, shape.program.constant(-1.0, dtype))
        return [_where(so_far.isnan(), tried, so_far)]

    return Draw(1, finish, (), (dtype, dtype))
