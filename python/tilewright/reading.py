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


def read_operand(backend: Any, call: str, name: str, given: Any, like: np.dtype[Any]) -> Any:
    """An Array on the backend, (dtype, number) of what has no dimension, or NotImplemented.

    Numbers in lists take the dtype of the Array that they meet, `like`, where that is of their
    kind.
    """
    readable = isinstance(given, (np.ndarray, np.generic, list, tuple, range)) or any(
        hasattr(given, way) for way in ("__dlpack__", "__array__", "__array_interface__")
    )
    if not readable or isinstance(given, (str, bytes)):
        return NotImplemented
    values = read_host(call, name, given)
    if not has_own_dtype(given):
        values = converted(values, _weak(values, like, backend, call, name))
    dtype = own_dtype(values.dtype)
    if dtype not in DTYPES:
        invalid(call, f"{name} is of dtype {dtype}, expected bool or numbers of 64 bits or less")
    if values.ndim == 0 and dtype.kind != "c":
        return to_dtype(call, dtype.name), widened(values).item()
    check_stored(call, backend, dtype)
    return backend._upload(values)


def _weak(
    values: np.ndarray[Any, Any], like: np.dtype[Any], backend: Any, call: str, name: str
) -> np.dtype[Any]:
    """The dtype of a list of Python's numbers."""
    order = "biufc"
    if values.size == 0:
        return like
    if values.dtype.kind not in order:
        invalid(call, f"{name} is of dtype {values.dtype}, expected numbers")
    if values.dtype.kind == "c":
        double = like in (np.float64, np.complex128)
        return np.dtype(np.complex128 if double else np.complex64)
    if values.dtype.kind == "f":
        if like.kind == "c":
            return np.dtype(np.float64 if like == np.complex128 else np.float32)
        return like if like.kind == "f" else np.dtype(np.float32)
    if values.dtype.kind == "b":
        return np.dtype(np.bool_)
    if like.kind == "c":
        return np.dtype(np.float64 if like == np.complex128 else np.float32)
    if like.kind == "b":
        return default_integer(backend)
    if like.kind in "iu":
        limits = np.iinfo(like)
        if values.min() < limits.min or values.max() > limits.max:
            invalid(call, f"{name} has numbers that {like} does not hold")
    return like


def default_integer(backend: Any) -> np.dtype[Any]:
    """int64, or int32 where the device has no int64."""
    kept: np.dtype[Any] | None = getattr(backend, "_integer", None)
    if kept is None:
        kept = INT64 if INT64 in stored(backend) else INT32
        backend._integer = kept
    return kept


_core._set_reader(read_operand)
