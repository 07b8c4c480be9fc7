"""dtypes by the standard: NumPy's own and bfloat16, of which a device has what it says."""

from __future__ import annotations

import builtins
import math
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.operands import DTYPES, invalid, shown, to_dtype
from tilewright.small_floats import BFLOAT16, promote_types
from tilewright.small_floats import can_cast as can_cast_by

if TYPE_CHECKING:
    import numpy.typing as npt

bool = np.dtype(np.bool_)
int8 = np.dtype(np.int8)
int16 = np.dtype(np.int16)
int32 = np.dtype(np.int32)
int64 = np.dtype(np.int64)
uint8 = np.dtype(np.uint8)
uint16 = np.dtype(np.uint16)
uint32 = np.dtype(np.uint32)
uint64 = np.dtype(np.uint64)
float16 = np.dtype(np.float16)
float32 = np.dtype(np.float32)
float64 = np.dtype(np.float64)
bfloat16 = BFLOAT16
complex64 = np.dtype(np.complex64)
complex128 = np.dtype(np.complex128)

e = math.e
inf = math.inf
nan = math.nan
newaxis = None
pi = math.pi

KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


PYTHON_NUMBERS = (builtins.bool, int, float, complex)


def _of(call: str, given: Any) -> np.dtype[Any]:
    return given.dtype if isinstance(given, Array) else to_dtype(call, given)


def isdtype(dtype: npt.DTypeLike, kind: Any) -> builtins.bool:
    """Whether a dtype is of a kind: a name of the standard's, a dtype, or a tuple of these."""
    wanted = to_dtype("isdtype", dtype)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    found = False
    for one in kinds:
        if isinstance(one, str) and one in KINDS:
            found = found or wanted.kind in KINDS[one]
        elif isinstance(one, str) and one not in {d.name for d in DTYPES}:
            invalid(
                "isdtype", f"kind is {shown(one)}, expected a dtype or one of {', '.join(KINDS)}"
            )
        else:
            found = found or wanted == to_dtype("isdtype", one, "kind")
    return found


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype that operands of an arithmetic op meet in: Arrays, dtypes, and Python numbers,
    which take the others' dtype where that is of their kind."""
    if not arrays_and_dtypes:
        invalid("result_type", "nothing is given, expected Arrays, dtypes or numbers")
    first = arrays_and_dtypes[0]
    if isinstance(first, Array) and all(
        isinstance(one, Array) and one.dtype is first.dtype for one in arrays_and_dtypes
    ):
        return first.dtype
    dtypes: list[np.dtype[Any]] = []
    weak = 0
    for one in arrays_and_dtypes:
        if type(one) in PYTHON_NUMBERS:
            weak = max(weak, PYTHON_NUMBERS.index(type(one)))
            continue
        dtypes.append(_of("result_type", one))
    # Floats first: two integers may meet in one that a float does not hold, which holds each.
    dtypes.sort(key=lambda dtype: "cfiub".index(dtype.kind))
    strong = reduce(promote, dtypes) if dtypes else None
    default = (bool, int64, float32, complex128 if strong == float64 else complex64)
    if strong is None or weak > "bifc".index(strong.kind.replace("u", "i")):
        return default[weak]
    return strong


@cache
def promote(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """promote_types(), less float64 for uint64 and a signed integer, which does not hold them."""
    both = promote_types(a, b)
    if both.kind == "f" and a.kind not in "fc" and b.kind not in "fc":
        invalid("result_type", f"{a} and {b}: no dtype holds both; cast one of them")
    return both


def can_cast(from_: Any, to: npt.DTypeLike, casting: str = "safe") -> builtins.bool:
    """Whether the standard's promotion takes every value of a dtype or Array to another."""
    source, target = _of("can_cast", from_), to_dtype("can_cast", to, "to")
    if casting != "safe":
        return can_cast_by(source, target, casting)
    try:
        return promote(source, target) == target
    except _core.InvalidArgument:
        return False


BFLOAT16_MOST = 2.0**128 - 2.0**120


class finfo_object(NamedTuple):
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype[Any]


class iinfo_object(NamedTuple):
    bits: int
    max: int
    min: int
    dtype: np.dtype[Any]


def finfo(type: Any, /) -> finfo_object:
    """The limits of a float dtype, or of an Array's; of a complex one, those of its parts."""
    return _limits(_of("finfo", type))


@cache
def _limits(dtype: np.dtype[Any]) -> finfo_object:
    if dtype.kind not in "fc":
        invalid("finfo", f"type is {dtype}, expected a float dtype")
    if dtype == BFLOAT16:
        return finfo_object(16, 2.0**-7, BFLOAT16_MOST, -BFLOAT16_MOST, 2.0**-126, dtype)
    limits = np.finfo(dtype)
    dtype = np.dtype(limits.dtype)
    return finfo_object(
        limits.bits, float(limits.eps), float(limits.max), float(limits.min),
        float(limits.smallest_normal), dtype,
    )  # fmt: skip


def iinfo(type: Any, /) -> iinfo_object:
    """The limits of an integer dtype, or of an Array's."""
    dtype = _of("iinfo", type)
    if dtype.kind not in "iu":
        invalid("iinfo", f"type is {dtype}, expected an integer dtype")
    limits = np.iinfo(dtype)
    return iinfo_object(limits.bits, int(limits.max), int(limits.min), dtype)
