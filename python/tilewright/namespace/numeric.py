"""NumPy's elementwise functions beyond the standard's, and those that compare whole arrays."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace import at_once, elementwise, reductions
from tilewright.namespace.dtypes import finfo, result_type
from tilewright.namespace.manipulation import broadcast_arrays
from tilewright.namespace.mixed import an_array, as_float, together, written
from tilewright.namespace.options import pair_with_options, with_options
from tilewright.operands import HALVES, invalid, name_of, to_integer
from tilewright.program import Program

if TYPE_CHECKING:
    from tilewright.operands import ArrayLike

__all__ = [
    "allclose",
    "array_equal",
    "array_equiv",
    "deg2rad",
    "degrees",
    "divmod",
    "fabs",
    "fix",
    "fmax",
    "fmin",
    "fmod",
    "gcd",
    "heaviside",
    "isclose",
    "iscomplex",
    "iscomplexobj",
    "isneginf",
    "isposinf",
    "isreal",
    "isrealobj",
    "lcm",
    "logaddexp2",
    "modf",
    "nan_to_num",
    "rad2deg",
    "radians",
    "sinc",
]

LN2 = math.log(2)


def _pair(call: str, x1: Any, x2: Any) -> tuple[Array, Array]:
    """Both in their common dtype, of one shape."""
    a, b = together(call, x1=x1, x2=x2)
    common = result_type(a, b)
    a, b = broadcast_arrays(a.astype(common, copy=False), b.astype(common, copy=False))
    return a, b


def _real(call: str, x: Array) -> Array:
    if x.dtype.kind == "c":
        invalid(call, f"x is {x.dtype}, expected real numbers")
    return x


@kept_by_form
def rounded(x: Array, decimals: Any = 0, out: Array | None = None) -> Array:
    """To so many places behind the point, or before it where that is negative."""
    x = an_array("round", x, "a")
    places = to_integer("round", "decimals", decimals)
    if x.dtype.kind == "c":
        found = x.copy()
        for part in (found.real, found.imag):
            part[...] = rounded(part, places)
        return written("round", out, found)
    if places == 0 or (x.dtype.kind != "f" and places > 0):
        return elementwise.round(x, out=out)
    if x.dtype.kind == "b":
        invalid("round", "a is bool and decimals is negative, expected numbers")
    if x.dtype.kind in "iu":
        unit = 10**-places
        if unit > np.iinfo(x.dtype).max:
            return written("round", out, x * 0)
        # To the even multiple where two are as near.
        down = elementwise.floor_divide(x, unit)
        rest = x - down * unit
        up = (rest > unit // 2) | ((rest == unit // 2) & (down % 2 == 1))
        return written("round", out, (down + up.astype(x.dtype)) * unit)
    # As NumPy has it: those of 16 bits in float32, whose factors do not overflow.
    wide = x.astype("float32") if x.dtype in HALVES else x
    unit = 10.0 ** abs(places)
    if places > 0:
        made = elementwise.round(wide * unit) / unit
        made = elementwise.where(elementwise.isfinite(wide * unit), made, wide)
    else:
        made = elementwise.round(wide / unit) * unit
    return written("round", out, made.astype(x.dtype, copy=False))


def divmod(
    x1: ArrayLike, x2: ArrayLike, out1: Array | None = None, out2: Array | None = None, /, *,
    out: Any = (None, None), **options: Any,
) -> tuple[Array, Array]:  # fmt: skip
    """floor_divide() and remainder()."""
    if out1 is not None or out2 is not None:
        out = (out1, out2)
    if options:
        return pair_with_options("divmod", (x1, x2), out, options)
    a, b = _pair("divmod", x1, x2)
    parts = elementwise.floor_divide(a, b), elementwise.remainder(a, b)
    return written("divmod", out[0], parts[0]), written("divmod", out[1], parts[1])


def fix(x: Array, out: Array | None = None) -> Array:
    """Each element without its fraction."""
    return elementwise.trunc(an_array("fix", x), out=out)


def _number_of(call: str, x1: Any, x2: Any, choose: Any, out: Array | None) -> Array:
    a, b = _pair(call, x1, x2)
    _real(call, a)
    found: Array = choose(a, b)
    if a.dtype.kind == "f":
        found = elementwise.where(elementwise.isnan(a), b, found)
        found = elementwise.where(elementwise.isnan(b), a, found)
    return written(call, out, found)


def fmax(x1: ArrayLike, x2: ArrayLike, /, out: Array | None = None, **options: Any) -> Array:
    """The larger of each pair, and of a number and NaN the number."""
    if options:
        return with_options("fmax", (x1, x2), out, options)
    return _number_of("fmax", x1, x2, elementwise.maximum, out)


def fmin(x1: ArrayLike, x2: ArrayLike, /, out: Array | None = None, **options: Any) -> Array:
    """The less of each pair, and of a number and NaN the number."""
    if options:
        return with_options("fmin", (x1, x2), out, options)
    return _number_of("fmin", x1, x2, elementwise.minimum, out)


@kept_by_form
def fmod(x1: ArrayLike, x2: ArrayLike, /, out: Array | None = None, **options: Any) -> Array:
    """What is left of x1 divided by x2, with the sign of x1, as C has it."""
    if options:
        return with_options("fmod", (x1, x2), out, options)
    a, b = _pair("fmod", x1, x2)
    if a.dtype.kind == "b":
        a, b = a.astype("int8"), b.astype("int8")
    if a.dtype.kind == "f":
        # Of numbers of one sign it is exact.
        left = elementwise.remainder(elementwise.abs(a), elementwise.abs(b))
        left = elementwise.copysign(
            elementwise.where(elementwise.isinf(b), elementwise.abs(a), left), a
        )
        left = elementwise.where(elementwise.isinf(a), math.nan, left)
    else:
        left = elementwise.remainder(_real("fmod", a), b)
        if a.dtype.kind == "i":
            crossed = (left != 0) & ((a < 0) != (b < 0))
            left = elementwise.where(crossed, left - b, left)
    return written("fmod", out, left)


def fabs(x: Array, /, out: Array | None = None, **options: Any) -> Array:
    """abs() in floats."""
    if options:
        return with_options("fabs", (x,), out, options)
    return elementwise.abs(as_float("fabs", _real("fabs", an_array("fabs", x))), out=out)


def modf(
    x: Array, out1: Array | None = None, out2: Array | None = None, /, *, out: Any = (None, None),
    **options: Any,
) -> tuple[Array, Array]:  # fmt: skip
    """The fraction of each element and what is before it, both with its sign."""
    if out1 is not None or out2 is not None:
        out = (out1, out2)
    if options:
        return pair_with_options("modf", (x,), out, options)
    x = as_float("modf", _real("modf", an_array("modf", x)))
    whole = elementwise.trunc(x)
    part = elementwise.where(elementwise.isinf(x), 0.0, x - whole)
    part = elementwise.copysign(part, x)
    return written("modf", out[0], part), written("modf", out[1], whole)


def deg2rad(x: Array, /, out: Array | None = None, **options: Any) -> Array:
    """Degrees as radians."""
    if options:
        return with_options("deg2rad", (x,), out, options)
    x = as_float("deg2rad", _real("deg2rad", an_array("deg2rad", x)))
    return elementwise.multiply(x, math.pi / 180, out=out)


def rad2deg(x: Array, /, out: Array | None = None, **options: Any) -> Array:
    """Radians as degrees."""
    if options:
        return with_options("rad2deg", (x,), out, options)
    x = as_float("rad2deg", _real("rad2deg", an_array("rad2deg", x)))
    return elementwise.multiply(x, 180 / math.pi, out=out)


radians, degrees = deg2rad, rad2deg


@kept_by_form
def sinc(x: Array) -> Array:
    """sin(pi x) / (pi x), 1 at 0."""
    y = as_float("sinc", an_array("sinc", x)) * math.pi
    zero = y == 0
    y = elementwise.where(zero, 1.0, y)
    return elementwise.where(zero, 1.0, elementwise.sin(y) / y)


@kept_by_form
def heaviside(x1: ArrayLike, x2: ArrayLike, /, out: Array | None = None, **options: Any) -> Array:
    """0 where x1 is negative, 1 where it is positive, and x2 where it is 0."""
    if options:
        return with_options("heaviside", (x1, x2), out, options)
    a, b = _pair("heaviside", x1, x2)
    a, b = as_float("heaviside", _real("heaviside", a)), as_float("heaviside", b)
    found = elementwise.where(a == 0, b, elementwise.where(a > 0, 1.0, a * 0.0))
    found = elementwise.where(a < 0, 0.0, elementwise.where(a > 0, 1.0, found))
    return written("heaviside", out, found)


def logaddexp2(x1: ArrayLike, x2: ArrayLike, /, out: Array | None = None, **options: Any) -> Array:
    """log2(2**x1 + 2**x2)."""
    if options:
        return with_options("logaddexp2", (x1, x2), out, options)
    a, b = (as_float("logaddexp2", one) for one in _pair("logaddexp2", x1, x2))
    return written("logaddexp2", out, elementwise.logaddexp(a * LN2, b * LN2) / LN2)


# Divisors: Euclid's steps, as many as the worst numbers of the dtype need -------------------------

STEPS = {1: 12, 2: 24, 4: 48, 8: 96}
AT_ONCE = 12


@cache
def _divisor_steps(dtype: str) -> Program:
    program = Program()
    a, b = program.input(dtype), program.input(dtype)
    for _ in range(AT_ONCE):
        done = b == 0
        rest = a % program.apply("where", done, 1, b)
        a = program.apply("where", done, a, b)
        b = program.apply("where", done, 0, rest)
    program.output(a, b)
    return program


def _divisor(call: str, x1: Any, x2: Any) -> tuple[Array, Array, Array]:
    """Both without their signs, and their greatest common divisor."""
    a, b = _pair(call, x1, x2)
    if a.dtype.kind not in "iu":
        invalid(call, f"x1 and x2 are {a.dtype}, expected integers")
    if a.dtype.kind == "i":
        a, b = elementwise.abs(a), elementwise.abs(b)
    a, b = a.copy(), b.copy()
    left, right = a.copy(), b.copy()
    if a.size:
        program = _divisor_steps(name_of(a.dtype))
        for _ in range(STEPS[a.itemsize] // AT_ONCE):
            left, right = left._contiguous(), right._contiguous()
            made = [a.backend._new(a.shape, a.dtype) for _ in range(2)]
            a.backend.map(program, a.shape, [left, right], [], made)
            left, right = made
    return a, b, left


def gcd(x1: ArrayLike, x2: ArrayLike, /, out: Array | None = None, **options: Any) -> Array:
    """The greatest common divisor of each pair of integers."""
    if options:
        return with_options("gcd", (x1, x2), out, options)
    return written("gcd", out, _divisor("gcd", x1, x2)[2])


def lcm(x1: ArrayLike, x2: ArrayLike, /, out: Array | None = None, **options: Any) -> Array:
    """The least common multiple of each pair of integers, 0 where one is 0."""
    if options:
        return with_options("lcm", (x1, x2), out, options)
    a, b, divisor = _divisor("lcm", x1, x2)
    quotient = elementwise.floor_divide(a, elementwise.maximum(divisor, 1))
    return written("lcm", out, quotient * b)


# Tests ------------------------------------------------------------------------------------------


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex."""
    return bool(an_array("iscomplexobj", x).dtype.kind == "c")


def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


def iscomplex(x: Array) -> Array:
    """Where the imaginary part is not 0."""
    return elementwise.not_equal(an_array("iscomplex", x).imag, 0)


def isreal(x: Array) -> Array:
    """Where the imaginary part is 0."""
    return elementwise.equal(an_array("isreal", x).imag, 0)


def _infinite(call: str, x: Any, negative: bool, out: Array | None) -> Array:
    x = _real(call, an_array(call, x))
    if x.dtype.kind != "f":
        return written(call, out, elementwise.isinf(x))
    return written(call, out, x == (-math.inf if negative else math.inf))


def isposinf(x: Array, out: Array | None = None) -> Array:
    """Where an element is infinite and positive."""
    return _infinite("isposinf", x, False, out)


def isneginf(x: Array, out: Array | None = None) -> Array:
    """Where an element is infinite and negative."""
    return _infinite("isneginf", x, True, out)


@kept_by_form
def isclose(
    a: ArrayLike, b: ArrayLike, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False
) -> Array:
    """Where |a - b| <= atol + rtol |b|, or both are equal."""
    found = at_once.close(a, b, rtol, atol, equal_nan)
    if found is not None:
        return found
    first, second = together("isclose", a=a, b=b)
    common = result_type(first, second)
    if common.kind == "b":
        common = np.dtype(np.uint8)
    first, second = first.astype(common, copy=False), second.astype(common, copy=False)
    if common.kind in "iu":
        off = elementwise.maximum(first, second) - elementwise.minimum(first, second)
    else:
        off = elementwise.abs(first - second)
    off, size = as_float("isclose", off), as_float("isclose", elementwise.abs(second))
    near = (off <= atol + rtol * size) & elementwise.isfinite(second)
    near = near | (first == second)
    if equal_nan and common.kind in "fc":
        near = near | (elementwise.isnan(first) & elementwise.isnan(second))
    return near  # type: ignore[no-any-return]


@kept_by_form
def _all_close(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: Any) -> Array:
    return reductions.all(isclose(a, b, rtol, atol, equal_nan))


def allclose(
    a: ArrayLike, b: ArrayLike, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether isclose() holds everywhere. Waits for the device."""
    return bool(_all_close(a, b, rtol, atol, equal_nan))


@kept_by_form
def _all_equal(first: Array, second: Array, equal_nan: Any) -> Array:
    same = first == second
    if equal_nan and first.dtype.kind in "fc" and second.dtype.kind in "fc":
        same = same | (elementwise.isnan(first) & elementwise.isnan(second))
    return reductions.all(same)


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> bool:
    """Whether both have one shape and equal elements. Waits for the device."""
    first, second = together("array_equal", a1=a1, a2=a2)
    return first.shape == second.shape and bool(_all_equal(first, second, equal_nan))


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> bool:
    """Whether both broadcast to equal elements. Waits for the device."""
    first, second = together("array_equiv", a1=a1, a2=a2)
    try:
        np.broadcast_shapes(first.shape, second.shape)
    except ValueError:
        return False
    return bool(reductions.all(first == second))


@kept_by_form
def nan_to_num(
    x: Array,
    copy: bool = True,
    nan: Any = 0.0,
    posinf: Any = None,
    neginf: Any = None,
) -> Array:
    """With numbers in the place of NaN and of what is infinite: unless others are given, the
    largest and the least of the dtype. Into x itself where `copy` is False."""
    x = an_array("nan_to_num", x)
    if x.dtype.kind == "c":
        found = x.copy() if copy else x
        for part in (found.real, found.imag):
            part[...] = nan_to_num(part, True, nan, posinf, neginf)
        return found
    if x.dtype.kind != "f":
        return x.copy() if copy else x
    limits = finfo(x.dtype)
    most = limits.max if posinf is None else posinf
    least = limits.min if neginf is None else neginf
    made = at_once.numbers(x, nan, most, least) if copy else None
    if made is not None:
        return made
    found = elementwise.where(x == math.inf, most, x)
    found = elementwise.where(x == -math.inf, least, found)
    found = elementwise.where(elementwise.isnan(x), nan, found)
    if copy:
        return found
    x[...] = found
    return x
