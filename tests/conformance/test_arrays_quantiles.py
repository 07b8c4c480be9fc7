"""Medians and quantiles against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .arrays import on, same, values


def close(got: tw.Array, exact: np.ndarray, dtype: str) -> None:
    assert got.dtype == (dtype if np.dtype(dtype).kind == "f" else "float32")
    assert got.shape == np.shape(exact)
    tolerance = 3 * float(np.finfo(got.dtype).eps)
    np.testing.assert_allclose(got.numpy(), exact, tolerance, 9 * tolerance)


@pytest.mark.parametrize("dtype", ["bool", "int16", "uint64", "float16", "float32", "float64"])
def test_quantiles(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    host = values(rng, (4, 7, 6), dtype)
    wide, x = host.astype(np.float64), on(be, host)
    for axis, keepdims in [(None, False), (1, True), ((0, 2), False), (-1, False)]:
        options = {"axis": axis, "keepdims": keepdims}
        close(tw.median(x, **options), np.median(wide, **options), dtype)
        for q in (0.25, [0.0, 0.31, 1.0]):
            close(tw.quantile(x, q, **options), np.quantile(wide, q, **options), dtype)
    close(np.percentile(x, 40, axis=0), np.percentile(wide, 40, axis=0), dtype)


def test_quantiles_of_special_values(be: Backend) -> None:
    host = np.float32([[1, np.nan, 3], [1, np.inf, 3], [np.inf, np.inf, np.inf]])
    same(tw.median(on(be, host), axis=1), np.float32([np.nan, 3, np.inf]))
    same(tw.quantile(on(be, host[2]), 0.3), np.float32(np.inf))
    for host in (np.float32([-np.inf, 2]), np.float32([2, np.inf]), np.float32([-np.inf, np.inf])):
        with np.errstate(invalid="ignore"):
            expected = np.median(host)
        same(tw.median(on(be, host)), expected)
        same(np.nanmedian(on(be, np.append(host, np.float32("nan")))), expected)


def test_errors(be: Backend) -> None:
    x = tw.ones((2, 3), device=be)
    for call, message in [
        (lambda: tw.median(x, axis=2), "median: axis is 2"),
        (lambda: tw.median(x[:0]), "median of no elements"),
        (lambda: tw.quantile(x, 1.5), "q is 1.5 .*expected 0 to 1"),
        (lambda: tw.quantile(x, "a"), "q is 'a'.*expected a number"),
        (lambda: tw.percentile(x, [5, 101]), "expected 0 to 100"),
        (lambda: tw.quantile(x, 0.5, method="lower"), "method is 'lower'.*expected 'linear'"),
    ]:
        with pytest.raises(InvalidArgument, match=message):
            call()
