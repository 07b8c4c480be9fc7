"""Complex functions in the ops of programs: a complex value is two real ones.

Errors are counted against the size of the result, not of each part. Branch cuts, signs of zero,
infinities and NaN are C99's where NumPy has them too; docs/arrays.md says what differs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tilewright.program import Value


class Z(NamedTuple):
    """A complex value."""

    re: Value
    im: Value


class Limits(NamedTuple):
    """Where functions of a float dtype take another form."""

    large: float  # from here on sums and products of two overflow
    small: float  # squares up to here are lost
    square: float  # whose square is far from both ends
    exponent: float  # whose exponential is far from overflow, as is that of `shift` more
    shift: float
    flat: float  # from here on tanh is 1


LIMITS = {
    "float32": Limits(2.0**124, 2.0**-60, 2.0**60, 80.0, 64.0, 10.0),
    "float64": Limits(2.0**1020, 2.0**-500, 2.0**500, 700.0, 512.0, 20.0),
}


def _limits(x: Value) -> Limits:
    return LIMITS[str(x.dtype)]


def _number(like: Value, number: float) -> Value:
    return like.program.constant(number, str(like.dtype))


def choose(condition: Value, a: Any, b: Any) -> Value:
    """One of two, of which one at least is a value."""
    if isinstance(a, (int, float)):
        a = _number(b, a)
    if isinstance(b, (int, float)):
        b = _number(a, b)
    return condition.program.apply("where", condition, a, b)


def _copysign(size: Any, sign: Value) -> Value:
    return sign.program.apply("copysign", size, sign)


def _strange(x: Value) -> Value:
    """Whether it is infinite or NaN."""
    return ~x.isfinite()


def size_of(z: Z) -> Value:
    """The absolute value. float64 has no hypot on some devices."""
    if str(z.re.dtype) != "float64":
        return z.re.hypot(z.im)
    a, b = abs(z.re), abs(z.im)
    larger, smaller = a.max(b), a.min(b)
    ratio = smaller / larger
    size = choose(larger == 0, larger, larger * (ratio * ratio + 1).sqrt())
    return choose(a.isinf() | b.isinf(), math.inf, size)


def times_i(z: Z) -> Z:
    return Z(-z.im, z.re)


def over_i(z: Z) -> Z:
    return Z(z.im, -z.re)


def multiply(a: Z, b: Z) -> Z:
    return Z(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)


def divide(a: Z, b: Z) -> Z:
    """Smith's method: no square of a part, which might overflow."""
    steep = abs(b.re) < abs(b.im)
    larger, smaller = choose(steep, b.im, b.re), choose(steep, b.re, b.im)
    first, second = choose(steep, a.im, a.re), choose(steep, a.re, a.im)
    ratio = smaller / larger
    below = larger + smaller * ratio
    across = (second - first * ratio) / below
    by_zero = larger == 0
    zero = abs(larger)
    return Z(
        choose(by_zero, a.re / zero, (first + second * ratio) / below),
        choose(by_zero, a.im / zero, choose(steep, -across, across)),
    )


def reciprocal(z: Z) -> Z:
    steep = abs(z.re) < abs(z.im)
    larger, smaller = choose(steep, z.im, z.re), choose(steep, z.re, z.im)
    ratio = smaller / larger
    below = larger + smaller * ratio
    return Z(choose(steep, ratio, 1.0) / below, -(choose(steep, 1.0, ratio) / below))


def square(z: Z) -> Z:
    product = z.re * z.im
    return Z((z.re - z.im) * (z.re + z.im), product + product)


def sign(z: Z) -> Z:
    larger = abs(z.re).max(abs(z.im))
    x, y = z.re / larger, z.im / larger
    size = (x * x + y * y).sqrt()
    zero = larger == 0

    def part(own: Value, of: Value, other: Value) -> Value:
        result = choose(zero, 0.0, of / size)
        result = choose(other.isinf() & ~own.isinf(), 0.0, result)
        return choose(own.isinf() & ~other.isinf(), _copysign(_number(own, 1.0), own), result)

    return Z(part(z.re, x, z.im), part(z.im, y, z.re))


def _stretched(x: Value) -> tuple[Value, Value]:
    """Two factors of exp(x), where one overflows before what it is multiplied by makes it less."""
    limits = _limits(x)
    far = x > limits.exponent
    shifted = choose(far, x - limits.shift, x)
    return shifted.exp(), choose(far, math.exp(limits.shift), _number(x, 1.0))


def exp(z: Z) -> Z:
    x, y = z
    size, rest = _stretched(x)
    re, im = size * y.cos() * rest, choose(y == 0, y, size * y.sin() * rest)
    strange = _strange(y)
    gone = (x == -math.inf) & strange
    re = choose((x == math.inf) & strange, math.inf, re)
    return Z(choose(gone, 0.0, re), choose(gone, 0.0, im))


def exp2(z: Z) -> Z:
    return exp(Z(z.re * math.log(2), z.im * math.log(2)))


def expm1(z: Z) -> Z:
    x, y = z
    whole = exp(z)
    half = (y * 0.5).sin()
    near = x.expm1() * y.cos() - half * half * 2
    re = choose(x > 1, whole.re - 1, near)
    return Z(choose(x == -math.inf, -1.0, re), whole.im)


def _log_size(x: Value, y: Value) -> Value:
    """The logarithm of the absolute value, exact near 1 and free of overflow."""
    a, b = abs(x), abs(y)
    larger, smaller = a.max(b), a.min(b)
    ratio = choose(larger == 0, 0.0, smaller / larger)
    far = larger.log() + (ratio * ratio).log1p() * 0.5
    near = ((larger - 1) * (larger + 1) + smaller * smaller).log1p() * 0.5
    result = choose((larger > 0.7) & (larger < 1.5), near, far)
    return choose(a.isinf() | b.isinf(), math.inf, result)


def log(z: Z) -> Z:
    return Z(_log_size(z.re, z.im), z.im.atan2(z.re))


def _scaled(z: Z, by: float) -> Z:
    return Z(z.re * by, z.im * by)


def log2(z: Z) -> Z:
    return _scaled(log(z), 1 / math.log(2))


def log10(z: Z) -> Z:
    return _scaled(log(z), 1 / math.log(10))


def log1p(z: Z) -> Z:
    x, y = z
    above = x + 1
    small = abs(x).max(abs(y)) < 0.5
    near = (x * (x + 2) + y * y).log1p() * 0.5
    return Z(choose(small, near, _log_size(above, y)), y.atan2(above))


def sqrt(z: Z) -> Z:
    x, y = z
    limits = _limits(x)
    larger = abs(x).max(abs(y))
    huge, tiny = larger > limits.large, larger < limits.small
    scale = choose(huge, 0.0625, choose(tiny, 2.0**48, _number(x, 1.0)))
    back = choose(huge, 4.0, choose(tiny, 2.0**-24, _number(x, 1.0)))
    a, b = abs(x) * scale, abs(y) * scale
    root = ((a + size_of(Z(a, b))) * 0.5).sqrt()
    other = choose(root == 0, root, b / (root + root)) * back
    root = root * back
    right = x >= 0
    endless = y.isinf()
    return Z(
        choose(endless, math.inf, choose(right, root, other)),
        choose(endless, y, _copysign(choose(right, other, root), y)),
    )


def rsqrt(z: Z) -> Z:
    return reciprocal(sqrt(z))


def _hyperbolic(z: Z) -> tuple[Value, Value]:
    """sinh and cosh of the real part: two factors of each, as _stretched() gives them."""
    x = z.re
    limits = _limits(x)
    size = abs(x)
    far = size > limits.exponent
    half = (size - limits.shift).exp() * 0.5
    return choose(far, _copysign(half, x), x.sinh()), choose(far, half, x.cosh())


def _rest(x: Value) -> Value:
    limits = _limits(x)
    return choose(abs(x) > limits.exponent, math.exp(limits.shift), _number(x, 1.0))


def sinh(z: Z) -> Z:
    x, y = z
    odd, even = _hyperbolic(z)
    rest = _rest(x)
    re, im = odd * y.cos() * rest, even * y.sin() * rest
    keeps = _strange(y) & (x.isinf() | (x == 0))
    return Z(choose(keeps, x, re), choose(y == 0, y, im))


def cosh(z: Z) -> Z:
    x, y = z
    odd, even = _hyperbolic(z)
    rest = _rest(x)
    re, im = even * y.cos() * rest, odd * y.sin() * rest
    flat = (x == 0) | (y == 0)
    return Z(
        choose(_strange(y) & x.isinf(), math.inf, re),
        choose(flat, _copysign(_number(x, 0.0), x) * _copysign(_number(x, 1.0), y), im),
    )


def tanh(z: Z) -> Z:
    x, y = z
    odd, even = x.sinh(), x.cosh()
    sine, cosine = y.sin(), y.cos()
    below = odd * odd + cosine * cosine
    turn = sine * cosine
    far = abs(x) > _limits(x).flat
    distant = (abs(x) * -2).exp() * 4 * turn
    distant = choose(x.isinf() & _strange(y), 0.0, distant)
    re = choose(far, _copysign(_number(x, 1.0), x), odd * even / below)
    re = choose((x == 0) & _strange(y), x, re)
    return Z(re, choose(y == 0, y, choose(far, distant, turn / below)))


def sin(z: Z) -> Z:
    return over_i(sinh(times_i(z)))


def cos(z: Z) -> Z:
    return cosh(times_i(z))


def tan(z: Z) -> Z:
    return over_i(tanh(times_i(z)))


def _roots(z: Z) -> tuple[Z, Z]:
    return sqrt(Z(1 - z.re, -z.im)), sqrt(Z(1 + z.re, z.im))


def _is_far(z: Z) -> Value:
    large = abs(z.re).max(abs(z.im)) > _limits(z.re).large
    return large | z.re.isinf() | z.im.isinf()


def asin(z: Z) -> Z:
    """Kahan's: Branch cuts for complex elementary functions."""
    x, y = z
    below, above = _roots(z)
    far = _is_far(z)
    re = x.atan2(choose(far, abs(y), below.re * above.re - below.im * above.im))
    im = (below.re * above.im - below.im * above.re).asinh()
    distant = _copysign(_log_size(x, y) + math.log(2), y)
    return Z(choose(x == 0, x, re), choose(far, distant, im))


def acos(z: Z) -> Z:
    x, y = z
    below, above = _roots(z)
    far = _is_far(z)
    re = choose(far, abs(y).atan2(x), below.re.atan2(above.re) * 2)
    im = (above.re * below.im - above.im * below.re).asinh()
    distant = _copysign(_log_size(x, y) + math.log(2), -y)
    return Z(choose(x == 0, math.pi / 2, re), choose(far, distant, im))


def asinh(z: Z) -> Z:
    return over_i(asin(times_i(z)))


def acosh(z: Z) -> Z:
    turned = acos(z)
    return Z(abs(turned.im), _copysign(turned.re, z.im))


def atanh(z: Z) -> Z:
    x, y = z
    limits = _limits(x)
    a, b = abs(x), abs(y)
    off = 1 - a
    re = (a * 4 / (off * off + b * b)).log1p() * 0.25
    im = (b + b).atan2(off * (a + 1) - b * b) * 0.5
    # Next to the pole, where the square of b is nothing.
    re = choose((a == 1) & (b < limits.small), (b.log() - math.log(2)) * -0.5, re)
    larger, smaller = a.max(b), a.min(b)
    far = (larger > limits.square) | a.isinf() | b.isinf()
    ratio = smaller / larger
    distant = choose(larger.isinf(), 0.0, a / larger / (larger * (ratio * ratio + 1)))
    distant = choose(a.isinf() | b.isinf(), 0.0, distant)
    re, im = choose(far, distant, re), choose(far & ~y.isnan(), math.pi / 2, im)
    return Z(choose(x == 0, x, _copysign(re, x)), _copysign(im, y))


def atan(z: Z) -> Z:
    return over_i(atanh(times_i(z)))


def power(base: Z, exponent: Z | Value) -> Z:
    """exp(exponent * log(base)); 1 where the exponent is 0, and of 0 itself 0 where the exponent's
    real part is above 0."""
    turned = log(base)
    if isinstance(exponent, Z):
        real = exponent.im == 0
        first = Z(turned.re * exponent.re, turned.im * exponent.re)
        second = Z(turned.im * exponent.im, turned.re * exponent.im)
        product = Z(
            choose(real, first.re, first.re - second.re),
            choose(real, first.im, first.im + second.im),
        )
        above, none = exponent.re > 0, real & (exponent.re == 0)
    else:
        product = Z(turned.re * exponent, turned.im * exponent)
        above, none = exponent > 0, exponent == 0
    result = exp(product)
    zero = (base.re == 0) & (base.im == 0)
    at_zero = choose(above, 0.0, _number(base.re, math.nan))
    return Z(
        choose(none, 1.0, choose(zero, at_zero, result.re)),
        choose(none, 0.0, choose(zero, at_zero, result.im)),
    )


def integer_power(z: Z, exponent: int) -> Z:
    """By squaring, which is exact where the products are."""
    one = _number(z.re, 1.0)
    result: Z | None = None
    left = abs(exponent)
    while left:
        if left & 1:
            result = z if result is None else multiply(result, z)
        left >>= 1
        if left:
            z = square(z)
    if result is None:
        return Z(one, _number(z.re, 0.0))
    return reciprocal(result) if exponent < 0 else result
