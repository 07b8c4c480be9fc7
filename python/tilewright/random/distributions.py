"""Distributions: what the words of a block become."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

from tilewright.random.philox import Draw, Words, product

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.program import Value
    from tilewright.random.philox import Finish

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
def continuous(name: str, dtype: str, plain: bool) -> Draw:
    """loc + scale * a distribution; its numbers are loc, scale and its shape. A `plain` one is the
    distribution alone, and has no numbers but its shape."""

    def finish(words: Words, numbers: list[Value], _: bool) -> list[Value]:
        shape = numbers if plain else numbers[2:]
        if name in ("normal", "lognormal"):
            found = _pairs(words, dtype)
        elif name in OF_HALF_OPEN:
            found = [OF_HALF_OPEN[name](u, shape) for u in _half_open(words, dtype)]
        elif name in OF_OPEN:
            step = 2.0**-54 if dtype == DOUBLE else 2.0**-25
            found = [OF_OPEN[name](u + step) for u in _half_open(words, dtype)]
        else:
            found = [OF_POSITIVE[name](u, shape) for u in _positive(words, dtype)]
        if not plain:
            found = [one * numbers[1] + numbers[0] for one in found]
        return [one.exp() for one in found] if name == "lognormal" else found

    numbers = (dtype,) * ((0 if plain else 2) + (name in SHAPED))
    return Draw(2 if dtype == DOUBLE else 4, finish, numbers)


@cache
def integers(dtype: str, whole: bool) -> Draw:
    """low + one of fewer than 2**32 numbers, or of all 2**32 where `whole`: the high word of a
    product with 64 random bits, by which each is as likely as any other within 2**-32."""

    def finish(words: Words, numbers: list[Value], wide: bool) -> list[Value]:
        low, span = numbers
        if whole:
            found = list(words)
        elif wide:
            # The product of the first word and what is carried from the second fit 64 bits.
            times = span.cast("uint64")
            found = [
                (high.cast("uint64") * times + (rest.cast("uint64") * times >> 32)) >> 32
                for high, rest in ((words.a, words.b), (words.c, words.d))
            ]
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


def _tries(words: Words, own: Value, ninth: Value, dtype: str) -> tuple[Value, Value, Value]:
    """What a try of Marsaglia and Tsang's method gives, whether it is taken, and a number that is
    left. `own` is the shape less a third, `ninth` 1 / sqrt(9 own)."""
    normal = _pairs(Words(words.a, words.b, words.a, words.b), "float32")[0].cast(dtype)
    cube = normal * ninth + 1
    cube = cube * cube * cube
    chance, left = (one.cast(dtype) for one in _positive(words, "float32")[2:])
    bound = normal * normal * 0.5 + own - own * cube + own * cube.log()
    return own * cube, (cube > 0) & (chance.log() < bound), left


@cache
def gamma(dtype: str, small: bool) -> Draw:
    """A try for each element, NaN where it is not taken. Its numbers are `own` and `ninth` of
    _tries(), and where the shape is `small`, less than 1, its reciprocal: then it is as of one
    more, times a power."""

    def finish(words: Words, numbers: list[Value], _: bool) -> list[Value]:
        found, taken, left = _tries(words, numbers[0], numbers[1], dtype)
        if small:
            found = found * left.pow(numbers[2])
        return [_where(taken, found, found.program.constant(math.nan, dtype))]

    return Draw(1, finish, (dtype,) * (3 if small else 2))


@cache
def gamma_of_shapes(dtype: str) -> Draw:
    """The same of a shape for each element; -1 where that is none."""

    def finish(words: Words, values: list[Value], _: bool) -> list[Value]:
        shape = values[0]
        small = shape < 1
        own = _where(small, shape + 1, shape) - 1 / 3
        found, taken, left = _tries(words, own, (own * 9).rsqrt(), dtype)
        found = found * _where(small, left.pow(1 / shape), shape * 0 + 1)
        tried = _where(taken, found, shape.program.constant(math.nan, dtype))
        tried = _where((shape == 0) | shape.isinf(), shape, tried)
        return [_where(shape >= 0, tried, shape.program.constant(-1.0, dtype))]

    return Draw(1, finish, (), (dtype,))


@cache
def von_mises(arrays: tuple[bool, ...]) -> Draw:
    """A try of Best and Fisher's method (1979) for each element: an angle, NaN where it is not
    taken. Of kappa, and of the s of their envelope less 1, which may be any."""

    def finish(words: Words, values: list[Value], _: bool) -> list[Value]:
        kappa, more = of_parameters(values, arrays)
        turn, chance, side, _rest = _half_open(words, "float32")
        z = (turn * math.pi).cos()
        # 1 - w, of which the angle's cosine is w.
        rest = more * (1 - z) / (more + 1 + z)
        y = kappa * (more + rest)
        v = chance + 2.0**-25
        taken = (y * (2 - y) >= v) | ((y / v).log() + 1 - y >= 0)
        angle = (rest * 0.5).sqrt()
        angle = _where(angle < 1, angle, angle * 0 + 1).asin() * 2
        angle = _where(side < 0.5, angle, -angle)
        found = _where(taken, angle, angle.program.constant(math.nan, "float32"))
        return [found]

    return draw_of_parameters(finish, arrays)


def of_parameters(values: list[Value], arrays: tuple[bool, ...]) -> list[Value]:
    """Parameters in their order, of which some are numbers and some inputs, which come behind."""
    numbers = iter(values[: arrays.count(False)])
    inputs = iter(values[arrays.count(False) :])
    return [next(inputs if is_array else numbers) for is_array in arrays]


def draw_of_parameters(finish: Finish, arrays: tuple[bool, ...]) -> Draw:
    kinds = ("float32",) * len(arrays)
    return Draw(1, finish, kinds[: arrays.count(False)], kinds[: arrays.count(True)])
