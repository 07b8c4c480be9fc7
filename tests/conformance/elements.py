"""Elements of every dtype, in and out of NumPy, which has no bfloat16."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright import Backend

Array = npt.NDArray[Any]

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("float16", "bfloat16", "float32", "float64")
DTYPES = ("bool", *INTEGERS, *FLOATS)


def stored_dtype(dtype: str) -> np.dtype[Any]:
    """What NumPy keeps elements of this dtype in."""
    return np.dtype("uint16" if dtype == "bfloat16" else dtype)


def bfloat16(values: npt.ArrayLike) -> Array:
    """The bits of the nearest bfloat16, ties to even."""
    exact = np.asarray(values, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        near = exact.astype(np.float32)
        bits = near.view(np.uint32).astype(np.int64)
        # To odd on the way, so that nothing is rounded twice.
        inexact = (near != exact) & np.isfinite(near)
        bits = bits - (inexact & (np.abs(near.astype(np.float64)) > np.abs(exact)))
        bits = bits | inexact
        rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(near), 0x7FC0, rounded).astype(np.uint16)


def stored(values: npt.ArrayLike, dtype: str) -> Array:
    """Exact values as elements of the dtype."""
    if dtype == "bfloat16":
        return bfloat16(values)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(values).astype(dtype)


def shown(elements: Array, dtype: str) -> Array:
    """Elements as numbers that NumPy computes with: float64 for the floats but float64, which is
    long double."""
    if dtype == "bfloat16":
        return (elements.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype == "float64":
        return elements.astype(np.longdouble)
    return elements.astype(np.float64) if dtype in FLOATS else elements


def has(be: Backend, dtype: str) -> bool:
    """Whether the device takes the dtype in programs, as it says."""
    return dtype in be.capabilities().storage_dtypes


def spacing(x: npt.ArrayLike, dtype: str) -> Array:
    """The distance of neighbouring numbers of what the dtype is computed in."""
    kind = np.float64 if dtype == "float64" else np.float32
    info = np.finfo(kind)
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.minimum(np.abs(np.asarray(x, np.longdouble)), float(info.max) / 2).astype(kind)
        return np.spacing(size).astype(np.longdouble)


def assert_elements(
    got: Array, exact: npt.ArrayLike, tolerance: npt.ArrayLike, dtype: str, what: str
) -> None:
    """got lies in [exact - tolerance, exact + tolerance], rounded to the dtype."""
    exact = np.asarray(exact)
    with np.errstate(over="ignore", invalid="ignore"):
        slack = np.where(np.isfinite(exact), tolerance, 0.0)
        low = shown(stored(exact - slack, dtype), dtype)
        high = shown(stored(exact + slack, dtype), dtype)
        values = shown(got, dtype)
        good = ((values >= low) & (values <= high)) | (np.isnan(values) & np.isnan(exact))
    if good.all():
        return
    at = tuple(int(i) for i in np.argwhere(~good)[0])
    raise AssertionError(
        f"{what}: {np.count_nonzero(~good)} of {got.size} elements are off, the first at {at}: "
        f"{values[at]!s}, expected {low[at]!s} to {high[at]!s}"
    )
