"""unique and its like, and isin, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .arrays import DTYPES, Host, on, same, values


@pytest.mark.parametrize("dtype", DTYPES)
def test_unique(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    for shape in [(6, 50), (1,), (0,)]:
        host = values(rng, shape, dtype, -3, 4)
        exact, at, inverse, counts = np.unique(host, True, True, True)
        x = on(be, host)
        found = tw.unique_all(x)
        same(found.values, exact)
        same(found.indices, at)
        same(found.inverse_indices, inverse.reshape(shape))
        same(found.counts, counts)
    same(tw.unique_values(x), exact)
    same(tw.unique_counts(x).counts, counts)
    same(tw.unique_inverse(x).inverse_indices, inverse.reshape(shape))


def test_nan_and_zeros(be: Backend) -> None:
    host = np.float32([np.nan, 0.0, -0.0, 1.0, np.nan, -np.inf, 1.0])
    x = on(be, host)
    found = tw.unique_all(x)
    same(found.values, np.float32([-np.inf, 0, 1, np.nan, np.nan]))
    same(found.indices, np.array([5, 1, 3, 0, 4]))
    same(found.inverse_indices, np.array([3, 1, 1, 2, 4, 0, 2]))
    same(found.counts, np.array([1, 2, 2, 1, 1]))
    assert not np.signbit(found.values.numpy()[1])
    for options in ({}, {"equal_nan": False}):
        exact = np.unique(host, True, True, True, **options)
        for got, expected in zip(tw.unique(x, True, True, True, **options), exact, strict=True):
            same(got, expected)
        same(np.unique(x, **options), exact[0])


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32"])
def test_isin(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    host, some = values(rng, (5, 40), dtype, 0, 40), values(rng, (9,), dtype, 0, 40)
    some[:3] = host[0, :3]
    same(tw.isin(on(be, host), on(be, some)), np.isin(host, some))
    same(tw.isin(on(be, host), on(be, some), invert=True), np.isin(host, some, invert=True))
    same(tw.isin(on(be, host), on(be, some[:0])), np.isin(host, some[:0]))


COMPLEX = ("complex64", "complex128")


def complex_values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Host:
    """Many alike, in one part or in both; zeros of both signs, infinities and NaN."""
    some = np.float32([-1, -0.0, 0.0, 2, np.inf, np.nan])
    host = rng.choice(some, shape).astype(dtype)
    host.imag = rng.choice(some, shape)
    return host


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_numbers(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    """In NumPy's order: by the real part, then the imaginary one, what has a NaN last."""
    for shape in [(6, 50), (700,), (1,), (0,)]:
        host = complex_values(rng, shape, dtype)
        x = on(be, host)
        for options in ({}, {"equal_nan": False}):
            exact = np.unique(host, True, True, True, **options)
            for got, expected in zip(tw.unique(x, True, True, True, **options), exact, strict=True):
                same(got, expected)
        exact, at, inverse, counts = exact
        found = tw.unique_all(x)
        same(found.values, exact)
        same(found.indices, at)
        same(found.inverse_indices, inverse.reshape(shape))
        same(found.counts, counts)
        same(tw.unique_values(x), exact)
        same(tw.unique_counts(x).counts, counts)
        same(tw.unique_inverse(x).inverse_indices, inverse.reshape(shape))


@pytest.mark.parametrize("dtype", COMPLEX)
def test_isin_complex_numbers(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    host, some = complex_values(rng, (5, 40), dtype), complex_values(rng, (7,), dtype)
    real = np.float32([0, 2, np.nan])
    for among in (some, some[:0], real):
        same(tw.isin(on(be, host), on(be, among)), np.isin(host, among))
        same(tw.isin(on(be, host), on(be, among), invert=True), np.isin(host, among, invert=True))
    same(tw.isin(on(be, real), on(be, some)), np.isin(real, some))


def test_errors(be: Backend) -> None:
    x = tw.ones((2, 3), device=be)
    for call, message in [
        (lambda: tw.unique_values([1]), "unique_values: x is .* expected an Array"),
        (lambda: tw.isin(1j, 1), "isin: x1 is .*expected an Array"),
        (lambda: tw.isin(x, x, invert=1), "invert is 1 .*expected True or False"),
    ]:
        with pytest.raises(InvalidArgument, match=message):
            call()
