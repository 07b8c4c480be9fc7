"""NumPy's functions of the parts of floats, their exponents and digits, and what it computes in
float64."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.namespace import elementwise
from tilewright.namespace.complex_math import choose
from tilewright.namespace.creation import asarray
from tilewright.namespace.mixed import an_array, as_float, together, written
from tilewright.namespace.options import pair_with_options, with_options
from tilewright.operands import HALVES, check_stored, invalid, read_host
from tilewright.program import Program

if TYPE_CHECKING:
    from tilewright.operands import ArrayLike
    from tilewright.program import Value

__all__ = ["float_power", "frexp", "i0", "ldexp", "spacing"]


def _real_floats(call: str, x: Any, name: str = "x") -> Array:
    found = as_float(call, an_array(call, x, name))
    if found.dtype.kind == "c":
        invalid(call, f"{name} is {found.dtype}, expected real numbers")
    return found


def _words(x: Array) -> tuple[Array, int, int]:
    """The bits of floats, and how many are the fraction's and the exponent's."""
    if x.dtype == np.float64:
        return x.copy().view("int64"), 52, 11
    return x.copy().view("int32"), 23, 8


def _power_of_two(exponents: Array, word: str, digits: int, bias: int, dtype: Any) -> Array:
    powers: Array = ((exponents.astype(word) + bias) << digits).view(dtype)
    return powers


def ldexp(x1: ArrayLike, x2: ArrayLike, /, out: Array | None = None, **options: Any) -> Array:
    """x1 times 2 to the power of x2, which are integers."""
    if options:
        return with_options("ldexp", (x1, x2), out, options)
    if not isinstance(x2, Array):
        host = read_host("ldexp", "x2", x2)
        if host.dtype.kind not in "iu":
            raise TypeError(f"ldexp: x2 is {host.dtype}, expected integers")
        like = an_array("ldexp", x1, "x1")
        x2 = asarray(host.clip(-(2**31), 2**31 - 1).astype(np.int32), device=like.backend)
    x, exponent = together("ldexp", x1=x1, x2=x2)
    if exponent.dtype.kind not in "iu":
        raise TypeError(f"ldexp: x2 is {exponent.dtype}, expected integers")
    x = _real_floats("ldexp", x, "x1")
    narrow = x.dtype
    value = x.astype("float32") if narrow in HALVES else x
    word, digits, most = ("int64", 52, 1022) if value.dtype == np.float64 else ("int32", 23, 126)
    check_stored("ldexp", x.backend, np.dtype(word))
    held = np.iinfo(exponent.dtype)
    low, high = max(held.min, -3 * most), min(held.max, 3 * most)
    rest = elementwise.clip(exponent, low, high).astype(word)
    # The largest step is the last one, so that a subnormal result is rounded once.
    steps = []
    for _ in range(3):
        step = elementwise.clip(rest, -most, most)
        rest = rest - step
        steps.append(step)
    for step in reversed(steps):
        value = value * _power_of_two(step, word, digits, most + 1, value.dtype)
    return written("ldexp", out, value.astype(narrow, copy=False))


def frexp(
    x: Array, out1: Array | None = None, out2: Array | None = None, /, *, out: Any = (None, None),
    **options: Any,
) -> tuple[Array, Array]:  # fmt: skip
    """A fraction from 0.5 up to below 1, with the sign of x, and the exponent of two that it is
    multiplied by; of 0, infinity and NaN itself and 0."""
    if out1 is not None or out2 is not None:
        out = (out1, out2)
    if options:
        return pair_with_options("frexp", (x,), out, options)
    x = _real_floats("frexp", x)
    narrow = x.dtype
    value = x.astype("float32") if narrow in HALVES else x
    double = value.dtype == np.float64
    check_stored("frexp", x.backend, np.dtype("int64" if double else "int32"))
    # Subnormal numbers are made large enough first.
    least, up = (2.0**-1022, 54) if double else (2.0**-126, 24)
    small = elementwise.abs(value) < least
    bits, digits, width = _words(elementwise.where(small, value * 2.0**up, value))
    ones, bias = (1 << width) - 1, (1 << (width - 1)) - 2
    exponent = ((bits >> digits) & ones) - bias
    fraction = ((bits & ~(ones << digits)) | (bias << digits)).view(value.dtype)
    plain = elementwise.isfinite(value) & (value != 0)
    exponent = elementwise.where(plain, exponent - elementwise.where(small, up, 0), 0)
    fraction = elementwise.where(plain, fraction, value).astype(narrow, copy=False)
    return written("frexp", out[0], fraction), written("frexp", out[1], exponent.astype("int32"))


def spacing(x: Array, /, out: Array | None = None, **options: Any) -> Array:
    """How far it is from each number to the next one away from 0, with its sign."""
    if options:
        return with_options("spacing", (x,), out, options)
    x = _real_floats("spacing", x)
    if x.dtype in HALVES:
        raise _core.Unsupported(
            f"spacing: x is {x.dtype}, which is computed in float32, whose next numbers it does "
            "not hold; write .astype('float32')"
        )
    away = elementwise.where(elementwise.less(x, 0), -np.inf, np.full((), np.inf, x.dtype))
    further = elementwise.nextafter(x, away) - x
    return written("spacing", out, elementwise.where(elementwise.isfinite(x), further, np.nan))


def float_power(x1: ArrayLike, x2: ArrayLike, /, out: Array | None = None, **options: Any) -> Array:
    """Powers in float64, or complex128, whatever the dtypes are."""
    if options:
        return with_options("float_power", (x1, x2), out, options)
    a, b = together("float_power", x1=x1, x2=x2)
    wide = "complex128" if "c" in (a.dtype.kind, b.dtype.kind) else "float64"
    check_stored("float_power", a.backend, np.dtype(wide))
    return written("float_power", out, elementwise.pow(a.astype(wide), b.astype(wide)))


# The modified Bessel function ---------------------------------------------------------------------

# Up to here a series by x, from here on by 1 / x.
FAR = 8.0
FARTHEST = 40.0


@cache
def _series(is_far: bool) -> list[float]:
    """Chebyshev's coefficients of exp(-x) i0(x), far away times the root of x."""

    def near(y: Any) -> Any:
        x = (y + 1) * (FAR / 2)
        return np.exp(-x) * np.i0(x)

    def far(y: Any) -> Any:
        x = 2 * FAR / (y + 1)
        close = np.minimum(x, FARTHEST)
        # Farther away i0 overflows; its asymptotic series is exact there.
        term = total = np.ones_like(x)
        for k in range(1, 16):
            term = term * (2 * k - 1) ** 2 / (8 * k * x)
            total = total + term
        exact = np.exp(-close) * np.i0(close) * np.sqrt(close)
        return np.where(x < FARTHEST, exact, total / np.sqrt(2 * np.pi))

    fitted = np.polynomial.chebyshev.chebinterpolate(far if is_far else near, 28)
    return [float(one) for one in fitted]


def _sum_of(series: list[float], y: Value) -> Value:
    """By Clenshaw's recurrence."""
    ahead: Value | float = 0.0
    behind: Value | float = 0.0
    for coefficient in series[:0:-1]:
        ahead, behind = y * 2 * ahead - behind + coefficient, ahead
    return y * ahead - behind + series[0]


@cache
def _bessel(dtype: str, wide: str) -> Program:
    program = Program()
    x = abs(program.input(dtype).cast(wide))
    near = _sum_of(_series(False), x.min(FAR) * (2 / FAR) - 1)
    beyond = x.max(FAR)
    far = _sum_of(_series(True), beyond.reciprocal() * (2 * FAR) - 1) * beyond.rsqrt()
    found = x.exp() * choose(x <= FAR, near, far)
    # Of infinity the series are 0 times infinity.
    program.output(choose(x.isinf(), x, found).cast(dtype))
    return program


def i0(x: Array) -> Array:
    """The modified Bessel function of the first kind and order 0."""
    x = _real_floats("i0", x)
    made: Array = x.backend._new(x.shape, x.dtype)
    if x.size:
        wide = "float64" if x.dtype == np.float64 else "float32"
        x.backend.map(_bessel(x.stored_as, wide), x.shape, [x], [], [made])
    return made
