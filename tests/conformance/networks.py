"""What the tests of tw.nn share: elements of every dtype of floats, bounds, and derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import tilewright as tw
from tilewright import Backend

from .elements import bfloat16, has, shown

Host = npt.NDArray[Any]

FLOATS = ("float16", "bfloat16", "float32", "float64")
# The distance of 1 and the number beside it.
EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


def held(values: npt.ArrayLike, dtype: str) -> Host:
    """The nearest numbers that the dtype holds, as float64."""
    if dtype == "bfloat16":
        return np.asarray(shown(bfloat16(values), "bfloat16"), np.float64)
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(dtype).astype(np.float64)


def on(be: Backend, values: npt.ArrayLike, dtype: str = "float32") -> tw.Array:
    return tw.asarray(np.asarray(values), dtype=dtype, device=be)


def host(x: tw.Array) -> Host:
    wide = x.astype("float32") if x.dtype == tw.bfloat16 else x
    return wide.numpy().astype(np.float64)


def near(got: tw.Array, exact: npt.ArrayLike, dtype: str, ulps: float = 8, at: Any = 1.0) -> None:
    """Of the dtype and the shape, and within `ulps` units of what the dtype is computed in of the
    larger of the result and `at`, and of a rounding to it."""
    exact = np.asarray(exact, np.float64)
    assert got.dtype == dtype and got.shape == exact.shape, (got.dtype, got.shape, exact.shape)
    found = host(got)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(exact))
    stored = held(exact, dtype)
    infinite = np.isinf(stored)
    np.testing.assert_array_equal(found[infinite], stored[infinite])
    rest = ~infinite & ~np.isnan(exact)
    computed = EPS["float64" if dtype == "float64" else "float32"]
    bound = ulps * computed * np.maximum(abs(exact), at) + EPS[dtype] * abs(exact)
    bound = np.broadcast_to(bound + 6e-8 * (dtype == "float16"), exact.shape)
    found, exact, bound = found[rest], exact[rest], bound[rest]
    wrong = abs(found - exact) > bound
    assert not wrong.any(), (found[wrong][:4], exact[wrong][:4])


def dtypes_of(be: Backend, has_exponentials: bool = True) -> list[str]:
    """Those that a device computes; float64 has no exponentials on webgpu."""
    lacks = be.name == "webgpu" and has_exponentials
    return [one for one in FLOATS if has(be, one) and not (one == "float64" and lacks)]


def derivative(function: Callable[..., Any], x: Host, step: float = 1e-6) -> Host:
    """Of an elementwise function, by central differences."""
    found: Host = (function(x + step) - function(x - step)) / (2 * step)
    return found


def gradient(loss: Callable[[Host], float], x: Host, step: float = 1e-6) -> Host:
    """Of a number by each element, by central differences."""
    found = np.empty(x.shape)
    for place in np.ndindex(x.shape):
        one = np.zeros(x.shape)
        one[place] = step
        found[place] = (loss(x + one) - loss(x - one)) / (2 * step)
    return found


def has_int64(be: Backend) -> bool:
    return has(be, "int64")
