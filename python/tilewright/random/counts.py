"""Distributions of counts: Poisson's, the binomial and the geometric one.

Few counts are added up until they reach a random number; many are tried by Hörmann's transformed
rejection (1993), with probabilities by Loader's expansion, which float32 is enough for.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

from tilewright.random.distributions import draw_of_parameters, of_parameters
from tilewright.random.philox import Draw, Words

if TYPE_CHECKING:
    from tilewright.program import Value

# From here on counts are tried, and up to here added up: beyond STEPS lies nothing that 24 bits
# would reach.
MANY = 10.0
STEPS = 40
# Up to here float32 counts by ones, with room for what lies above a mean.
MOST = 2**22


def _where(condition: Value, a: Value | float, b: Value | float) -> Value:
    like = a if not isinstance(a, (int, float)) else b
    assert not isinstance(like, (int, float))
    program = like.program
    a, b = (
        program.constant(one, "float32") if isinstance(one, (int, float)) else one for one in (a, b)
    )
    return program.apply("where", condition, a, b)


def _uniform(word: Value) -> Value:
    return (word >> 8).cast("float32") * 2.0**-24


def _beyond(x: Value) -> Value:
    """What Stirling's formula lacks in the logarithm of a factorial."""
    inverse = 1 / x
    square = inverse * inverse
    return inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260)))


def _deviance(x: Value, mean: Value) -> Value:
    """x log(x / mean) + mean - x."""
    off = (mean - x) / x
    return x * (off - off.log1p())


class _Try:
    """A count by Hörmann's method, and whether it is in the part that is taken at once."""

    def __init__(self, words: Words, slope: Value, width: Value, middle: Value, at_once: Value):
        u, self.v = _uniform(words.a) - 0.5, (words.b.cast("float32") + 0.5) * 2.0**-32
        self.edge = 0.5 - abs(u)
        self.count = ((slope * 2 / self.edge + width) * u + middle).floor()
        self.at_once = (self.edge >= 0.07) & (self.v <= at_once)
        self.slope, self.width = slope, width

    def taken(self, inverse: Value, chance: Value, fits: Value) -> Value:
        """Where the logarithm of a count's probability is `chance`."""
        below = self.slope / (self.edge * self.edge) + self.width
        tried = (self.v * inverse / below).log() <= chance
        return self.at_once | (tried & fits)


@cache
def poisson(arrays: tuple[bool, ...]) -> Draw:
    """A try for each element, NaN where it is not taken, of its mean."""

    def finish(words: Words, values: list[Value], _: bool) -> list[Value]:
        (mean,) = of_parameters(values, arrays)
        # Few.
        few = _where(mean < MANY, mean, MANY)
        u, chance = _uniform(words.c), (-few).exp()
        reached, count = chance, (u > chance).cast("float32")
        for i in range(1, STEPS):
            chance = chance * few * (1 / i)
            reached = reached + chance
            count = count + (u > reached).cast("float32")
        # Many.
        wide = _where(mean < MANY, MANY, mean)
        width = wide.sqrt() * 2.53 + 0.931
        one = _Try(words, width * 0.02483 - 0.059, width, wide + 0.43,
                   0.9277 - 3.6224 / (width - 2))  # fmt: skip
        k = _where(one.count < 1, 1.0, one.count)
        log_chance = -_deviance(k, wide) - _beyond(k) - (k * (2 * math.pi)).log() * 0.5
        log_chance = _where(one.count == 0, -wide, log_chance)
        taken = one.taken(1.1239 + 1.1328 / (width - 3.4), log_chance, one.count >= 0)
        many = _where(taken, one.count, math.nan)
        tried = _where(mean < MANY, count, many)
        return [_where((mean >= 0) & (mean <= MOST), tried, -1.0)]

    return draw_of_parameters(finish, arrays)


@cache
def binomial(arrays: tuple[bool, ...]) -> Draw:
    """A try for each element, NaN where it is not taken, of how many there are, and how likely
    each."""

    def finish(words: Words, values: list[Value], _: bool) -> list[Value]:
        n, given = of_parameters(values, arrays)
        p = _where(given > 0.5, 1 - given, given)
        q, mean = 1 - p, n * p
        is_few = mean < MANY
        # Few.
        odds, u = p / q, _uniform(words.c)
        chance = (n * (-p).log1p()).exp()
        reached, count = chance, (u > chance).cast("float32")
        for i in range(1, STEPS):
            chance = chance * odds * ((n - (i - 1.0)) * (1 / i))
            reached = reached + chance
            count = count + ((u > reached) & (n > i)).cast("float32")
        count = _where(n == 0, 0.0, count)
        # Many.
        spread = _where(is_few, 1.0, (mean * q).sqrt())
        width = spread * 2.53 + 1.15
        one = _Try(words, width * 0.0248 + p * 0.01 - 0.0873, width, mean + 0.5, 0.92 - 4.2 / width)
        fits = (one.count >= 0) & (one.count <= n)

        def log_chance(k: Value) -> Value:
            rest = n - k
            near = _beyond(n) - _beyond(k) - _beyond(rest) - _deviance(k, mean)
            near = near - _deviance(rest, n * q)
            return near - (k * (2 * math.pi) * (rest / n)).log() * 0.5

        inside = _where((one.count < 1) | (one.count > n - 1), 1.0, one.count)
        chance = _where(one.count == 0, n * (-p).log1p(), log_chance(inside))
        chance = _where(one.count == n, n * p.log(), chance)
        most = log_chance((mean + p).floor())
        taken = one.taken((2.83 + 5.1 / width) * spread, chance - most, fits)
        many = _where(taken & fits, one.count, math.nan)
        tried = _where(is_few, count, many)
        tried = _where(given > 0.5, n - tried, tried)
        right = (n >= 0) & (n <= MOST) & (given >= 0) & (given <= 1)
        return [_where(right, tried, -1.0)]

    return draw_of_parameters(finish, arrays)


@cache
def logseries() -> Draw:
    """Kemp's method (1981), of p and of log(1 - p)."""

    def finish(words: Words, numbers: list[Value], _: bool) -> list[Value]:
        p, log_rest = numbers
        v = (words.a.cast("float32") + 0.5) * 2.0**-32
        u = (words.b.cast("float32") + 0.5) * 2.0**-32
        q = -((log_rest * u).expm1())
        count = (v.log() / q.log()).floor() + 1
        count = _where(v <= q * q, count, _where(v >= q, 1.0, q * 0 + 2))
        return [_where((v >= p) | (count < 1), 1.0, count)]

    return Draw(1, finish, ("float32", "float32"))


@cache
def zipf() -> Draw:
    """A try of Devroye's method (1986), NaN where it is not taken, of a - 1, 1 / (1 - a),
    2**(a - 1) and of the most that is taken."""

    def finish(words: Words, numbers: list[Value], _: bool) -> list[Value]:
        less, power, two, most = numbers
        u, v = ((one.cast("float32") + 0.5) * 2.0**-32 for one in (words.a, words.b))
        count = u.pow(power).floor()
        count = _where(count < 1, 1.0, count)
        more = (less * (1 / count).log1p()).expm1()
        taken = (v * count * more / (two - 1) <= (more + 1) / two) & (count <= most)
        return [_where(taken, count, math.nan)]

    return Draw(1, finish, ("float32",) * 4)


def _log_binomial(k: Value, n: Value, p: Value) -> Value:
    """The logarithm of how likely k of n are, less what n alone says."""
    rest = n - k
    is_inside = (k >= 1) & (rest >= 1)
    inner, other = _where(is_inside, k, 1.0), _where(is_inside, rest, 1.0)
    near = -_beyond(inner) - _beyond(other) - _deviance(inner, n * p)
    near = near - _deviance(other, n * (1 - p))
    near = near - (inner * (2 * math.pi) * (other / n)).log() * 0.5
    at_ends = _where(k < 1, n * (-p).log1p(), n * p.log()) - _beyond(n)
    return _where(is_inside, near, at_ends)


@cache
def hypergeometric(arrays: tuple[bool, ...]) -> Draw:
    """A try for each element, NaN where it is not taken, of how many are good, how many are bad,
    and how many are drawn: by adding up where these are few, else by the ratio of uniform numbers
    (Stadlober 1990)."""

    def finish(words: Words, values: list[Value], _: bool) -> list[Value]:
        good, bad, drawn = of_parameters(values, arrays)
        every = good + bad
        # As if the fewer were drawn, and the fewer were good.
        sample = _where(drawn * 2 > every, every - drawn, drawn)
        less, more = _where(good > bad, bad, good), _where(good > bad, good, bad)
        fewest, others = _where(less < sample, less, sample), _where(less < sample, sample, less)
        is_few = fewest < MANY
        # Few.
        u, bare = _uniform(words.c), every - others
        chance = u * 0 + 1
        for i in range(int(MANY) - 1):
            chance = _where(fewest > i, chance * ((bare - i) / (every - i)), chance)
        reached, count = chance, (u > chance).cast("float32")
        for i in range(1, int(MANY) - 1):
            odds = (others - (i - 1)) * (fewest - (i - 1)) / ((bare - fewest + i) * i)
            chance = chance * odds
            reached = reached + chance
            count = count + ((u > reached) & (fewest > i)).cast("float32")
        few = _where(fewest == 0, 0.0, count)
        # Many.
        p = _where(is_few, 0.5, sample / every)
        mean = sample * (less / every)
        spread = mean * (more / every) * ((every - sample) / (every - 1))
        width = (spread + 0.5).sqrt() * 1.7155277699214135 + 0.8989161620588988
        u, v = (_uniform(words.a) + 2.0**-25), _uniform(words.b)
        tried = (mean + 0.5 + width * (v - 0.5) / u).floor()
        fits = (tried >= 0) & (tried <= fewest)
        k = _where(fits, tried, 0.0)
        top = ((sample + 1) * ((less + 1) / (every + 2))).floor()

        def log_chance(k: Value) -> Value:
            return _log_binomial(k, less, p) + _log_binomial(sample - k, more, p)

        taken = fits & (u.log() * 2 <= log_chance(k) - log_chance(top))
        found = _where(is_few, few, _where(taken, tried, math.nan))
        found = _where(good > bad, sample - found, found)
        found = _where(drawn * 2 > every, good - found, found)
        right = (good >= 0) & (bad >= 0) & (drawn >= 0) & (drawn <= every) & (every <= MOST)
        return [_where(right, found, -1.0)]

    return draw_of_parameters(finish, arrays)
