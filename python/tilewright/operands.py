"""How the array tier reads its operands, and where it puts its results."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, cast

import numpy as np

from tilewright import _core, tracing
from tilewright.array import Array
from tilewright.small_floats import BFLOAT16, converted, from_dlpack, own_dtype, recognised

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    ArrayLike: TypeAlias = Array | npt.ArrayLike
    BufferLike: TypeAlias = int | _core.ArrayBase
    # A buffer, or one with strides and an offset in elements.
    OperandLike: TypeAlias = (
        BufferLike | tuple[BufferLike, Sequence[int]] | tuple[BufferLike, Sequence[int], int]
    )

FLOAT32 = np.dtype(np.float32)
FLOAT16 = np.dtype(np.float16)
INT32 = np.dtype(np.int32)

shown = _core._shown

MOST_ELEMENTS = 1 << 59  # from here on the bytes of an array overflow 64 bits
# What NumPy's arrays may have.
MOST_DIMENSIONS = 64


def invalid(call: str, what: str) -> NoReturn:
    raise _core.InvalidArgument(f"{call}: {what}")


# What Arrays hold: NumPy's names of the dtypes, and bfloat16.
DTYPES = (
    *(np.dtype(name) for name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
        "float32", "float64", "complex64", "complex128",
    )),
    BFLOAT16,
)  # fmt: skip
PYTHON_NUMBERS = {bool, int, float, complex}
# Those that are computed in float32, and rounded where they are stored.
HALVES = (FLOAT16, BFLOAT16)


_NAMES = {one: one.name for one in DTYPES}
_BY_NAME = {one.name: one for one in DTYPES}
# The least and the largest number of each dtype of integers.
LIMITS = {
    one: (int(np.iinfo(one).min), int(np.iinfo(one).max)) for one in DTYPES if one.kind in "iu"
}


def name_of(dtype: np.dtype[Any]) -> str:
    """dtype.name, which NumPy puts together each time it is asked."""
    return _NAMES[dtype]


def parts_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """What a complex dtype consists of."""
    return np.dtype(np.float64) if dtype == np.complex128 else FLOAT32


def complex_dtype(parts: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.complex128 if parts == np.float64 else np.complex64)


# What was given for them before: a class or a dtype of NumPy's, or a name.
_KNOWN: dict[Any, np.dtype[Any]] = {one: one for one in DTYPES}
_core._set_dtype_names(_KNOWN)


def to_dtype(call: str, dtype: npt.DTypeLike, name: str = "dtype") -> np.dtype[Any]:
    """A dtype that Arrays hold, from anything that NumPy takes for one."""
    try:
        return _KNOWN[dtype]
    except (KeyError, TypeError):
        pass
    try:
        wanted = None if dtype is None else own_dtype(np.dtype(dtype))
    except Exception:
        wanted = None
    if wanted is None or wanted not in DTYPES:
        invalid(
            call, f"{name} is {shown(dtype)}, expected bool, an integer or float of 64 bits or "
            "less, complex64 or complex128"
        )  # fmt: skip
    if isinstance(dtype, (str, type)):
        _KNOWN[dtype] = wanted
    return wanted


def stored(backend: _core.Backend) -> frozenset[np.dtype[Any]]:
    """The dtypes that a device has."""
    kept: Any = getattr(backend, "_stored", None)
    if kept is None:
        names = [str(one.value) for one in backend.capabilities().storage_dtypes]
        parts = {"float32": "complex64", "float64": "complex128"}
        names += [parts[name] for name in names if name in parts]
        kept = frozenset(_BY_NAME[name] for name in names)
        backend._stored = kept  # type: ignore[attr-defined]
    return cast("frozenset[np.dtype[Any]]", kept)


def check_stored(call: str, backend: _core.Backend, dtype: np.dtype[Any]) -> None:
    if dtype in stored(backend):
        return
    instead = {"f": "float32", "c": "complex64"}.get(dtype.kind, "int32")
    raise _core.Unsupported(
        f"{call}: {backend.device.name} has no {dtype}; write .astype({instead!r}) or "
        f"dtype={instead!r}"
    )


def to_integer(call: str, name: str, value: Any) -> int:
    if type(value) is int:
        return value
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        invalid(call, f"{name} is {shown(value)}, expected an integer")
    try:
        return operator.index(value)
    except Exception:
        invalid(call, f"{name} is {shown(value)}, expected an integer")


def _is_plain(shape: tuple[Any, ...]) -> bool:
    """Whether a tuple is a shape as it stands, as most are."""
    elements = 1
    for size in shape:
        if type(size) is not int or size < 0:
            return False
        elements *= size or 1
    return len(shape) <= MOST_DIMENSIONS and elements < MOST_ELEMENTS


def to_shape(call: str, shape: int | Sequence[int]) -> tuple[int, ...]:
    """Sizes that are not negative; an integer is a shape of one."""
    if type(shape) is tuple and _is_plain(shape):
        return shape
    if hasattr(shape, "__index__") and not (isinstance(shape, np.ndarray) and shape.ndim):
        shape = (cast("int", shape),)
    if not isinstance(shape, (tuple, list, np.ndarray)):
        invalid(call, f"shape is {shown(shape)}, expected a tuple of integers")
    if len(shape) > MOST_DIMENSIONS:
        invalid(call, f"shape has {len(shape)} dimensions, expected at most {MOST_DIMENSIONS}")
    sizes = tuple(to_integer(call, f"shape[{i}]", size) for i, size in enumerate(shape))
    for i, size in enumerate(sizes):
        if size < 0:
            invalid(call, f"shape[{i}] is {size}, expected 0 or more")
    if math.prod(size or 1 for size in sizes) >= MOST_ELEMENTS:
        invalid(call, f"shape is {shown(sizes)}, more bytes than 64 bits count")
    return sizes


def to_axis(call: str, axis: Any, shape: tuple[int, ...], name: str = "axis") -> int:
    """An axis counted from the front."""
    at = to_integer(call, name, axis)
    if not -len(shape) <= at < len(shape):
        invalid(call, f"{name} is {at}, expected one of the {len(shape)} axes of shape {shape}")
    return at % len(shape)


def check_rank(call: str, name: str, array: Array, *ranks: int) -> None:
    if array.ndim not in ranks:
        expected = " or ".join(str(rank) for rank in ranks)
        invalid(call, f"{name} has shape {array.shape}, expected {expected} dimensions")


def has_own_dtype(given: Any) -> bool:
    """Python numbers, and lists of them, have no dtype of their own: they take that of the other
    operands, float32 where there is none."""
    if isinstance(given, range):
        return False
    if isinstance(given, (list, tuple)):
        is_plain = set(map(type, given)) <= PYTHON_NUMBERS
        return not is_plain and any(has_own_dtype(item) for item in given)
    return isinstance(given, np.generic) or not isinstance(given, (int, float, complex))


def check_made(call: str, name: str, array: Array) -> None:
    """Refuses an Array of a class whose __init__ did not call this one's."""
    if not hasattr(array, "backend"):
        invalid(call, f"{name} is of type {type(array).__name__}, which was never initialised")


def read_host(call: str, name: str, given: Any) -> npt.NDArray[Any]:
    """What NumPy makes of it, without a copy where it can."""
    if isinstance(given, (str, bytes, bytearray)):
        invalid(call, f"{name} is {shown(given)}, expected numbers")
    try:
        if hasattr(given, "__dlpack__") and not hasattr(given, "__array_interface__"):
            return from_dlpack(given)
        values = np.asarray(given)
        if values.dtype.kind == "V":
            return recognised(values)
        if isinstance(given, (list, tuple)) and values.dtype == np.float64:
            values = _whole(given, values)
        return values
    except Exception as error:
        raise _core.InvalidArgument(
            f"{call}: {name} of type {type(given).__name__} cannot be read as an array: {error}"
        ) from error


def _whole(given: Any, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Integers of which NumPy makes float64, since some are beyond int64, as they are."""
    if not (np.abs(values) >= 2.0**63).any():
        return values
    exact = np.array(given, dtype=object)
    if not all(isinstance(one, (int, np.integer)) for one in exact.flat):
        return values
    return exact.astype(np.uint64)  # what is negative, or beyond it, is an OverflowError


def to_host(call: str, name: str, value: Any, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """The number or array as an array of this dtype."""
    try:
        return converted(np.asarray(value), dtype) if dtype is BFLOAT16 else (
            np.asarray(value, dtype)
        )  # fmt: skip
    except (OverflowError, ValueError) as error:
        raise _core.InvalidArgument(f"{call}: {name} is {shown(value)}: {error}") from error


def check_dtype(
    call: str, name: str, dtype: np.dtype[Any], expected: tuple[np.dtype[Any], ...]
) -> None:
    if dtype in expected:
        return
    names = " or ".join(str(one) for one in expected)
    if dtype.kind in "fiub":
        invalid(call, f"{name} is {dtype}, expected {names}; write {name}.astype(np.{expected[0]})")
    invalid(call, f"{name} is of dtype {dtype}, expected {names}")


class Operands(_core.Backend):
    """What every op of the array tier starts and ends with."""

    def _upload(self, values: npt.NDArray[Any]) -> Array:
        if tracing.is_under_way():
            # What is written to it must not be there at the next replay.
            return tracing.apart(lambda: self._uploaded(values)).copy()
        return self._uploaded(values)

    def _uploaded(self, values: npt.NDArray[Any]) -> Array:
        array = self._new(values.shape, own_dtype(values.dtype))
        self.copy_htod(array, values)
        return array

    def _read_each(self, call: str, **given: Any) -> list[Array]:
        """What _read does where the operands are not all such Arrays already."""
        arrays: list[Any] = []
        dtype: np.dtype[Any] | None = None
        dtype_of = ""
        for name, one in given.items():
            if isinstance(one, Array):
                self._own(call, name, one)
                own: np.dtype[Any] | None = one.dtype
                arrays.append(one)
            elif type(one) is float or type(one) is int:
                own = None
                arrays.append(one)
            else:
                values = read_host(call, name, one)
                own = own_dtype(values.dtype) if has_own_dtype(one) else None
                if own is None and values.dtype.kind not in "iuf":
                    invalid(call, f"{name} is {shown(one)}, expected numbers")
                arrays.append(values)
            if own is None:
                continue
            check_dtype(call, name, own, (FLOAT32, FLOAT16))
            if dtype is None:
                dtype, dtype_of = own, name
            elif own != dtype:
                wide, narrow = (name, dtype_of) if own == FLOAT32 else (dtype_of, name)
                invalid(
                    call,
                    f"{dtype_of} is {dtype} and {name} is {own}; "
                    f"write {narrow}.astype(np.float32) or {wide}.astype(np.float16)",
                )
        dtype = dtype or FLOAT32
        for i, one in enumerate(arrays):
            if not isinstance(one, Array):
                arrays[i] = self._upload(to_host(call, list(given)[i], one, dtype))
        return arrays

    # Creation -------------------------------------------------------------------------------------

    def array(self, x: ArrayLike, dtype: npt.DTypeLike | None = None) -> Array:
        """A copy of x on this device.

        x is anything NumPy or DLPack can read. Python numbers and lists become float32. What the
        host stores in another type than float32, float16 or int32 needs `dtype`, which converts;
        asarray() keeps it.
        """
        wanted = None if dtype is None else to_dtype("array", dtype)
        if wanted is not None:
            check_stored("array", self, wanted)
        if isinstance(x, Array):
            check_made("array", "x", x)
            if x.backend is not self:
                return self.array(x._values(), wanted or x.dtype)
            if wanted not in (None, x.dtype):
                return self.cast(x, wanted)
            return x.copy()
        values = read_host("array", "x", x)
        own = own_dtype(values.dtype)
        if own.kind not in "fiub":
            invalid("array", f"x is of dtype {values.dtype}, expected numbers")
        if wanted is None:
            if has_own_dtype(x) and own not in (FLOAT32, FLOAT16, INT32, BFLOAT16):
                invalid(
                    "array", f"x is {own}, expected float32 or float16 or int32 or bfloat16; write "
                    f"x.astype(np.float32), or keep it by dtype={str(own)!r}"
                )  # fmt: skip
            wanted = own if has_own_dtype(x) else FLOAT32
        return self._upload(converted(values, wanted))

    def from_dlpack(self, x: Any) -> Array:
        """A copy of another library's tensor on this device."""
        if not hasattr(x, "__dlpack__"):
            invalid("from_dlpack", f"x is {shown(x)}, expected an object with __dlpack__")
        try:
            values = from_dlpack(x)
        except Exception as error:
            raise _core.InvalidArgument(f"from_dlpack: x cannot be read: {error}") from error
        own = own_dtype(values.dtype)
        check_dtype("from_dlpack", "x", own, (FLOAT32, FLOAT16, INT32, BFLOAT16))
        return self._upload(values)

    def empty(self, shape: int | Sequence[int], dtype: npt.DTypeLike = FLOAT32) -> Array:
        """An Array whose contents are undefined."""
        sizes, wanted = to_shape("empty", shape), to_dtype("empty", dtype)
        check_stored("empty", self, wanted)
        return self._new(sizes, wanted)

    def zeros(self, shape: int | Sequence[int], dtype: npt.DTypeLike = FLOAT32) -> Array:
        return self._filled("zeros", shape, 0, dtype)

    def full(
        self, shape: int | Sequence[int], value: float, dtype: npt.DTypeLike = FLOAT32
    ) -> Array:
        """An Array with `value` everywhere."""
        is_number = isinstance(value, (int, float, np.integer, np.floating))
        if not is_number or isinstance(value, bool):
            invalid("full", f"value is {shown(value)}, expected a number")
        # NumPy refuses Python's numbers where they do not fit, and cuts its own.
        number = value.item() if isinstance(value, np.generic) else value
        return self._filled("full", shape, number, dtype)

    def _filled(
        self, call: str, shape: int | Sequence[int], value: float, dtype: npt.DTypeLike
    ) -> Array:
        sizes, wanted = to_shape(call, shape), to_dtype(call, dtype)
        check_stored(call, self, wanted)
        # bfloat16's range is float32's.
        one = to_host(call, "value", value, FLOAT32 if wanted is BFLOAT16 else wanted)
        # Made before the host's copy, so that a size no device could hold is refused by it.
        array = self._new(sizes, wanted)
        array[...] = one.item()
        return array
