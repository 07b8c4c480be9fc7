"""What the tests of Arrays draw: every dtype, shape and view, and how NumPy's result compares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import tilewright as tw
from tilewright import Backend

Host = npt.NDArray[Any]

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
DTYPES = ("bool", *INTEGERS, *FLOATS)


def values(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: str, low: float = -9, high: float = 9
) -> Host:
    """Numbers that every dtype holds as far as its sign goes."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if kind == "u":
        low = max(low, 0)
    if kind in "iu":
        return rng.integers(int(low), int(high) + 1, shape).astype(dtype)
    return rng.uniform(low, high, shape).astype(dtype)


# Ways to cut the same elements out of memory that holds more, in NumPy and here alike.
VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda x: x,
    "turned": lambda x: x.T,
    "part": lambda x: x[1:],
    "spread": lambda x: x[::2, 1::3],
    "reversed": lambda x: x[::-1, ::-1],
    "column": lambda x: x[:, 1:2],
    "new axis": lambda x: x[:, None, 2:],
}


def on(be: Backend, host: Host) -> tw.Array:
    return tw.asarray(host, device=be)


def same(got: tw.Array, expected: Any) -> None:
    """The same dtype, shape and elements; NaN where NaN is expected."""
    expected = np.asarray(expected)
    assert got.dtype == expected.dtype, (got.dtype, expected.dtype)
    assert got.shape == expected.shape, (got.shape, expected.shape)
    np.testing.assert_array_equal(got.numpy(), expected)


def near(got: tw.Array, exact: Any, ulps: float, dtype: str) -> None:
    """Within `ulps` units of the last place of what float16 and float32 are computed in, and of a
    rounding to the dtype."""
    exact = np.asarray(exact)
    assert got.dtype == np.dtype(dtype) and got.shape == exact.shape
    host = got.numpy().astype(np.float64)
    with np.errstate(over="ignore"):
        # What rounds to infinity in the dtype is that.
        exact = np.where(np.isinf(exact.astype(dtype)), exact.astype(dtype), exact)
    computed = np.finfo(np.float64 if dtype == "float64" else np.float32)
    stored = np.finfo(dtype)
    bound = (ulps * computed.eps + stored.eps / 2) * abs(exact) + stored.smallest_subnormal
    bound = bound + ulps * computed.tiny
    both = np.isfinite(exact)
    np.testing.assert_array_equal(np.isnan(host), np.isnan(exact))
    np.testing.assert_array_equal(host[~both & ~np.isnan(exact)], exact[~both & ~np.isnan(exact)])
    wrong = both & ~(abs(host - np.where(both, exact, 0)) <= bound)
    assert not wrong.any(), (host[wrong][:3], exact[wrong][:3])
