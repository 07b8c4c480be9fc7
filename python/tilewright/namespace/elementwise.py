"""The standard's elementwise functions. Each takes Arrays and numbers, at least one Array among
them, broadcasts, and writes into `out` where that is given."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol, overload

from tilewright import _core
from tilewright.array import Array
from tilewright.namespace.options import of_compiled, with_options
from tilewright.operands import HALVES, invalid, shown
from tilewright.small_floats import own_dtype, promote_types

if TYPE_CHECKING:

    class Unary(Protocol):
        def __call__(self, x: Any, /, out: Array | None = None, **options: Any) -> Array: ...

    class Binary(Protocol):
        def __call__(
            self, x1: Any, x2: Any, /, out: Array | None = None, **options: Any
        ) -> Array: ...

    class Rounding(Protocol):
        def __call__(
            self, a: Any, /, decimals: Any = 0, out: Array | None = None, **options: Any
        ) -> Array: ...


_functions = _core._elementwise_functions()

abs: Unary = _functions["abs"]
acos: Unary = _functions["acos"]
acosh: Unary = _functions["acosh"]
add: Binary = _functions["add"]
asin: Unary = _functions["asin"]
asinh: Unary = _functions["asinh"]
atan: Unary = _functions["atan"]
atan2: Binary = _functions["atan2"]
atanh: Unary = _functions["atanh"]
bitwise_and: Binary = _functions["bitwise_and"]
bitwise_invert: Unary = _functions["bitwise_invert"]
bitwise_left_shift: Binary = _functions["bitwise_left_shift"]
bitwise_or: Binary = _functions["bitwise_or"]
bitwise_right_shift: Binary = _functions["bitwise_right_shift"]
bitwise_xor: Binary = _functions["bitwise_xor"]
cbrt: Unary = _functions["cbrt"]
ceil: Unary = _functions["ceil"]
copysign: Binary = _functions["copysign"]
cos: Unary = _functions["cos"]
cosh: Unary = _functions["cosh"]
divide: Binary = _functions["divide"]
equal: Binary = _functions["equal"]
exp: Unary = _functions["exp"]
exp2: Unary = _functions["exp2"]
expm1: Unary = _functions["expm1"]
floor: Unary = _functions["floor"]
floor_divide: Binary = _functions["floor_divide"]
greater: Binary = _functions["greater"]
greater_equal: Binary = _functions["greater_equal"]
hypot: Binary = _functions["hypot"]
isfinite: Unary = _functions["isfinite"]
isinf: Unary = _functions["isinf"]
isnan: Unary = _functions["isnan"]
less: Binary = _functions["less"]
less_equal: Binary = _functions["less_equal"]
log: Unary = _functions["log"]
log10: Unary = _functions["log10"]
log1p: Unary = _functions["log1p"]
log2: Unary = _functions["log2"]
logaddexp: Binary = _functions["logaddexp"]
logical_and: Binary = _functions["logical_and"]
logical_not: Unary = _functions["logical_not"]
logical_or: Binary = _functions["logical_or"]
logical_xor: Binary = _functions["logical_xor"]
maximum: Binary = _functions["maximum"]
minimum: Binary = _functions["minimum"]
multiply: Binary = _functions["multiply"]
negative: Unary = _functions["negative"]
not_equal: Binary = _functions["not_equal"]
positive: Unary = _functions["positive"]
pow: Binary = _functions["pow"]
reciprocal: Unary = _functions["reciprocal"]
remainder: Binary = _functions["remainder"]
round: Rounding = _functions["round"]
rsqrt: Unary = _functions["rsqrt"]
sign: Unary = _functions["sign"]
signbit: Unary = _functions["signbit"]
sin: Unary = _functions["sin"]
sinh: Unary = _functions["sinh"]
sqrt: Unary = _functions["sqrt"]
square: Unary = _functions["square"]
subtract: Binary = _functions["subtract"]
tan: Unary = _functions["tan"]
tanh: Unary = _functions["tanh"]
trunc: Unary = _functions["trunc"]

_clip = _functions["clip"]
_nextafter = _functions["nextafter"]
_where = _functions["where"]


def clip(
    a: Array, a_min: Any = None, a_max: Any = None, out: Array | None = None, *, min: Any = None,
    max: Any = None,
) -> Array:  # fmt: skip
    """Each element, or the bound that it is beyond: numbers or Arrays, of which either may be left
    out."""
    if a_min is not None or a_max is not None:
        if min is not None or max is not None:
            raise TypeError("clip: a_min or a_max and min or max are given, expected one pair")
        min, max = a_min, a_max
    if not isinstance(a, Array):
        invalid("clip", f"x is {shown(a)}, expected an Array; write tw.asarray(x)")
    if min is None and max is None:
        return positive(a, out=out)
    if min is None:
        return minimum(a, max, out=out)
    if max is None:
        return maximum(a, min, out=out)
    return _clip(a, min, max, out=out)


def nextafter(x1: Any, x2: Any, /, out: Array | None = None, **options: Any) -> Array:
    """The next number of the dtype from x1 on towards x2."""
    if options:
        return with_options("nextafter", (x1, x2), out, options)
    dtypes = [one.dtype for one in (x1, x2) if hasattr(one, "dtype")]
    met = reduce(promote_types, map(own_dtype, dtypes)) if dtypes else None
    if met in HALVES:
        raise _core.Unsupported(
            f"nextafter: {met} is computed in float32, whose next numbers it does not hold; write "
            ".astype('float32')"
        )
    return _nextafter(x1, x2, out=out)


@overload
def where(condition: Array, /) -> tuple[Array, ...]: ...
@overload
def where(condition: Any, x1: Any, x2: Any, /, *, out: Array | None = None) -> Array: ...
def where(
    condition: Any, x1: Any = None, x2: Any = None, /, *, out: Array | None = None
) -> Array | tuple[Array, ...]:
    """The elements of x1 where the condition is true, and of x2 elsewhere; of the condition alone
    nonzero()."""
    if x1 is None and x2 is None and out is None:
        from tilewright.namespace.selection import nonzero

        return nonzero(condition)
    return _where(condition, x1, x2, out=out)


_core._set_options(of_compiled)
