"""How NumPy's functions of Arrays compare with the same calls of its own arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import tilewright as tw
from tilewright import Backend

from .arrays import on

Host = npt.NDArray[Any]
# An Array without elements, vectors, one element, and more dimensions.
SHAPES: tuple[tuple[int, ...], ...] = ((0, 3), (1,), (7,), (3, 5), (2, 3, 4))


def expected_dtype(be: Backend, dtype: np.dtype[Any], given: tuple[Host, ...]) -> np.dtype[Any]:
    """By the standard's rules: floats of integers are float32; int32 where there is no int64."""
    if dtype.kind == "f" and all(one.dtype.kind in "biu" for one in given):
        return np.dtype(np.float32)
    double = any(one.dtype in (np.float64, np.complex128) for one in given)
    if dtype == np.float64 and not double:
        return np.dtype(np.float32)
    if dtype == np.complex128 and not double:
        return np.dtype(np.complex64)
    stored = [str(one.value) for one in be.capabilities().storage_dtypes]
    if dtype.kind in "iu" and dtype.name not in stored:
        return np.dtype(dtype.name.replace("64", "32"))
    return dtype


def agree(be: Backend, call: Callable[..., Any], *given: Host, tolerance: float = 2e-5) -> None:
    """A call of Arrays gives what it gives of NumPy's arrays, computed in float64, in the dtype of
    the standard, on the device; and raises where that does."""
    wide = [one.astype(np.float64) if one.dtype.kind == "f" else one.copy() for one in given]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            like, exact = call(*(one.copy() for one in given)), call(*wide)
        except (ValueError, TypeError, IndexError) as error:
            try:
                call(*(on(be, one) for one in given))
            except (ValueError, TypeError, IndexError):
                return
            raise AssertionError(f"NumPy raises {error!r}") from error
    compare(be, call(*(on(be, one) for one in given)), like, exact, given, tolerance)


def compare(
    be: Backend, got: Any, like: Any, exact: Any, given: tuple[Host, ...], tolerance: float
) -> None:
    if isinstance(like, (tuple, list)):
        assert isinstance(got, (tuple, list)) and len(got) == len(like)
        for parts in zip(got, like, exact, strict=True):
            compare(be, *parts, given, tolerance)
        return
    if isinstance(like, (bool, int)) and not isinstance(like, np.generic):
        assert type(got) is type(like) and got == like
        return
    assert isinstance(got, tw.Array) and got.backend is be
    like, exact = np.asarray(like), np.asarray(exact)
    assert got.shape == like.shape, (got.shape, like.shape)
    assert got.dtype == expected_dtype(be, like.dtype, given), (got.dtype, like.dtype)
    host = got.numpy()
    if host.dtype.kind in "fc":
        np.testing.assert_allclose(host, exact, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(host, exact)
