"""How operators and functions read operands that are no Arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright import _core
from tilewright.operands import (
    DTYPES,
    INT32,
    check_stored,
    has_own_dtype,
    invalid,
    read_host,
    stored,
    to_dtype,
)
from tilewright.small_floats import converted, own_dtype, widened

INT64 = np.dtype(np.int64)
ASSIGNED_BY = "positive"  # the function by which elements are assigned


def read_operand(backend: Any, call: str, name: str, given: Any, like: np.dtype[Any]) -> Any:
    """An Array on the backend, (dtype, number) of what has no dimension, or NotImplemented.

    A list of Python's numbers is an Array beside one of `like`; what is assigned to one takes its
    dtype.
    """
    readable = isinstance(given, (np.ndarray, np.generic, list, tuple, range)) or any(
        hasattr(given, way) for way in ("__dlpack__", "__array__", "__array_interface__")
    )
    if not readable or isinstance(given, (str, bytes)):
        return NotImplemented
    of_numbers = dtype_of_list
    if call == ASSIGNED_BY:
        call, name, of_numbers = "assignment", "value", assigned_dtype
    values = read_host(call, name, given)
    if not has_own_dtype(given):
        values = converted(values, of_numbers(values, like, backend, call, name))
    dtype = own_dtype(values.dtype)
    if dtype not in DTYPES:
        invalid(call, f"{name} is of dtype {dtype}, expected bool or numbers of 64 bits or less")
    if values.ndim == 0 and dtype.kind != "c":
        return to_dtype(call, dtype.name), widened(values).item()
    check_stored(call, backend, dtype)
    return backend._upload(values)


def dtype_of_list(
    values: np.ndarray[Any, Any], like: np.dtype[Any], backend: Any, call: str, name: str
) -> np.dtype[Any]:
    """The dtype of a list of Python's numbers beside an Array of `like`: what an Array of it would
    have, of double precision beside that. An empty list has none of its own, and a number alone
    takes that of the Array where it is of its kind."""
    if values.ndim == 0:
        return assigned_dtype(values, like, backend, call, name)
    return _of_list(values, like, backend, call, name)


def _of_list(
    values: np.ndarray[Any, Any], like: np.dtype[Any], backend: Any, call: str, name: str
) -> np.dtype[Any]:
    if values.size == 0:
        return like
    if values.dtype.kind not in "biufc":
        invalid(call, f"{name} is of dtype {values.dtype}, expected numbers")
    if values.dtype.kind == "b":
        return np.dtype(np.bool_)
    is_double = like in (np.float64, np.complex128)
    if values.dtype.kind == "c":
        return np.dtype(np.complex128 if is_double else np.complex64)
    if values.dtype.kind == "f" or like.kind in "fc":
        return np.dtype(np.float64 if is_double else np.float32)
    whole = default_integer(backend)
    # No dtype of integers holds all that one as wide and this one do.
    if like.kind == "u" and like.itemsize >= whole.itemsize:
        if not _are_held(values, like):
            invalid(call, f"{name} has numbers that {like} does not hold")
        return like
    if not _are_held(values, whole):
        invalid(call, f"{name} has numbers that {whole} does not hold")
    return whole


def assigned_dtype(
    values: np.ndarray[Any, Any], like: np.dtype[Any], backend: Any, call: str, name: str
) -> np.dtype[Any]:
    """The dtype that a list of Python's numbers is written to an Array of `like` in: its own where
    the numbers are of its kind, which it must hold then."""
    if values.size > 0 and values.dtype.kind in "iu" and like.kind in "iu":
        if not _are_held(values, like):
            invalid(call, f"{name} has numbers that {like} does not hold")
        return like
    if values.size > 0 and values.dtype.kind in "iuf" and like.kind == "f":
        return like
    return _of_list(values, like, backend, call, name)


def _are_held(values: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> bool:
    limits = np.iinfo(dtype)
    return bool(values.min() >= limits.min and values.max() <= limits.max)


def default_integer(backend: Any) -> np.dtype[Any]:
    """int64, or int32 where the device has no int64."""
    kept: np.dtype[Any] | None = getattr(backend, "_integer", None)
    if kept is None:
        kept = INT64 if INT64 in stored(backend) else INT32
        backend._integer = kept
    return kept


_core._set_reader(read_operand)
