"""bfloat16, which NumPy has not: a dtype for Arrays, and what stands for it on the host."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tilewright import _core

if TYPE_CHECKING:
    import numpy.typing as npt


class BFloat16:
    """The dtype of Arrays of bfloat16, which is the upper half of float32: its range, 8 bits of
    precision.

    It is asked what NumPy's dtypes are asked, and equals its name and the dtype of ml_dtypes.
    NumPy itself does not take it for a dtype and raises TypeError.
    """

    __slots__ = ()

    name = "bfloat16"
    kind = "f"
    itemsize = 2
    alignment = 2
    byteorder = "="
    isnative = True
    hasobject = False
    shape = ()
    ndim = 0
    names = None
    fields = None

    def newbyteorder(self, order: str = "S") -> BFloat16:
        """The same: Arrays have the byte order of their device."""
        return self

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, str) and other == "bfloat16") or _is_ml(other)

    def __hash__(self) -> int:
        return hash("bfloat16")

    def __str__(self) -> str:
        return "bfloat16"

    def __repr__(self) -> str:
        return "dtype(bfloat16)"

    def __reduce__(self) -> str:
        return "BFLOAT16"


def _is_ml(other: object) -> bool:
    """Whether it is the class or the dtype of ml_dtypes."""
    if isinstance(other, np.dtype):
        return other.kind == "V" and other.name == "bfloat16"
    return isinstance(other, type) and issubclass(other, np.generic) and _is_ml(np.dtype(other))


BFLOAT16 = cast("np.dtype[Any]", BFloat16())
_core._set_bfloat16(BFLOAT16)

# What host arrays of bfloat16 are within the package: bits under a name.
HOST = np.dtype([("bfloat16", np.uint16)])


def own_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of an Array with the elements of a host array."""
    return BFLOAT16 if dtype.kind == "V" and (dtype == HOST or _is_ml(dtype)) else dtype


def recognised(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Bits under a name where the elements are bfloat16, any others as they are."""
    if own_dtype(values.dtype) is BFLOAT16:
        return np.ascontiguousarray(values).reshape(values.shape).view(HOST)
    return values


def widened(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """float32 of bfloat16, any others as they are."""
    if values.dtype != HOST:
        return values
    bits = np.asarray(values["bfloat16"].astype(np.uint32) << np.uint32(16))
    return bits.view(np.float32)


def converted(values: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """The elements as an Array's dtype holds them."""
    if dtype is BFLOAT16:
        return values if values.dtype == HOST else _rounded(values)
    return widened(values).astype(dtype, copy=False)


def ml_dtype(call: str) -> np.dtype[Any]:
    """What bfloat16 is in NumPy's arrays; TypeError where ml_dtypes is not installed."""
    try:
        found = importlib.import_module("ml_dtypes")
    except ImportError:
        raise TypeError(
            f'{call}: NumPy has no bfloat16; write .astype("float32") first, or install ml_dtypes'
        ) from None
    return cast("np.dtype[Any]", np.dtype(found.bfloat16))


def promote_types(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """NumPy's, with bfloat16 among them: it holds integers of 8 bits, float32 those of 16 and all
    of float16 and bfloat16."""
    if BFLOAT16 not in (a, b):
        return np.promote_types(a, b)
    other = b if a == BFLOAT16 else a
    if other == BFLOAT16 or other.kind == "b" or (other.kind in "iu" and other.itemsize == 1):
        return BFLOAT16
    return np.promote_types(other, np.float32)


def can_cast(source: np.dtype[Any], to: np.dtype[Any], casting: str) -> bool:
    """NumPy's, with bfloat16 among them."""
    if BFLOAT16 not in (source, to):
        return np.can_cast(source, to, casting)  # type: ignore[arg-type]
    if source == to or casting == "unsafe":
        return True
    if casting != "same_kind":
        return casting == "safe" and promote_types(source, to) == to
    wide = np.dtype(np.float32)
    source, to = (wide if one == BFLOAT16 else one for one in (source, to))
    return np.can_cast(source, to, "same_kind")


def _rounded(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The nearest bfloat16, ties to even, by one rounding of whatever the elements are."""
    bits = _odd(values).view(np.uint32)
    last = (bits >> np.uint32(16)) & np.uint32(1)
    nearest = (bits.astype(np.uint64) + (np.uint64(0x7FFF) + last)) >> np.uint64(16)
    is_nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    return np.where(is_nan, quiet, nearest).astype(np.uint16).reshape(values.shape).view(HOST)


def _odd(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """float32 from which a second rounding gives what one alone would: what float32 does not hold
    has its last bit set."""
    values = np.atleast_1d(values)
    if values.dtype in (np.float32, np.float16):
        return np.ascontiguousarray(values, np.float32)
    if values.dtype.kind in "iu":
        # float64 holds 52 bits and a sign of whether more are set.
        size = np.abs(values.astype(np.int64)).astype(np.uint64) if values.dtype.kind == "i" else (
            values.astype(np.uint64)
        )  # fmt: skip
        rest = np.uint64(0xFFF)
        kept = (size & ~rest) | np.where(size & rest, np.uint64(0x1000), np.uint64(0))
        wide = np.where(size >> np.uint64(53), kept, size).astype(np.float64)
        wide = np.where(values < 0, -wide, wide)
    else:
        wide = values.astype(np.float64)
    with np.errstate(all="ignore"):
        near = np.ascontiguousarray(wide, np.float32)
        bits = near.view(np.uint32)
        is_off = (near != wide) & ~np.isnan(wide)
        toward_zero = bits - (np.abs(near) > np.abs(wide))
    return np.where(is_off, toward_zero | np.uint32(1), bits).astype(np.uint32).view(np.float32)


class _Once:
    """A tensor that np.from_dlpack() reads from a capsule."""

    def __init__(self, capsule: Any, device: Any) -> None:
        self._capsule, self._device = capsule, device

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> Any:
        return self._device


def from_dlpack(x: Any) -> npt.NDArray[Any]:
    """What np.from_dlpack() makes of a tensor, and elements of bfloat16 as bits under a name."""
    try:
        return np.from_dlpack(x)
    except Exception:
        capsule = x.__dlpack__()
        if not _core._dlpack_as_uint16(capsule):
            raise
        return np.from_dlpack(_Once(capsule, x.__dlpack_device__())).view(HOST)


def to_dlpack(values: npt.NDArray[Any], options: dict[str, Any]) -> Any:
    """A capsule of host memory, in which bits under a name are bfloat16."""
    if values.dtype != HOST:
        return values.__dlpack__(**options)
    capsule = values.view(np.uint16).__dlpack__(**options)
    _core._dlpack_as_bfloat16(capsule)
    return capsule
