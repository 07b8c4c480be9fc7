"""eigh() and svd() of matrices that iterations find hard: values over many orders of magnitude,
many equal ones or nearly so, and of low rank. What they give is right to a few roundings of the
norm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tilewright import Backend

from . import test_eigh as eigh
from . import test_svd as svd
from .factorisations import TYPES, adjoint, draw, real_of
from .workspace import Array

SIZES = [2, 20, 40, 100]


def geometric(n: int, rng: np.random.Generator) -> Array:
    return np.geomspace(1, 1e-12, n)


def beyond_range(n: int, rng: np.random.Generator) -> Array:
    """Most are rounding of the first."""
    return np.geomspace(1, 1e-300, n)


def plus_and_minus(n: int, rng: np.random.Generator) -> Array:
    return np.where(np.arange(n) % 2, 1.0, -1.0)


def projection(n: int, rng: np.random.Generator) -> Array:
    return np.where(np.arange(n) < (n + 1) // 2, 1.0, 0.0)


def repeated(n: int, rng: np.random.Generator) -> Array:
    return np.array([-3.0, 0.5, 0.5000001, 2.0])[np.arange(n) % 4]


def clustered(n: int, rng: np.random.Generator) -> Array:
    return np.asarray(1 + 1e-9 * rng.standard_normal(n))


def clusters(n: int, rng: np.random.Generator) -> Array:
    """Of values that are far apart."""
    return np.asarray(10.0 ** -(np.arange(n) % 7) * (1 + 1e-12 * rng.standard_normal(n)))


def rank_3(n: int, rng: np.random.Generator) -> Array:
    return np.where(np.arange(n) < 3, [1.0, *rng.uniform(1, 2, n - 1)], 0)


def one_large(n: int, rng: np.random.Generator) -> Array:
    return np.where(np.arange(n) == n // 2, 1e6, 1.0)


SPECTRA = [
    geometric, beyond_range, plus_and_minus, projection, repeated, clustered, clusters, rank_3,
    one_large,
]  # fmt: skip


def hilbert(n: int) -> Array:
    i = np.arange(n)
    return np.asarray(1 / (i[:, None] + i + 1.0))


def blocks(n: int) -> Array:
    """Equal blocks on the diagonal."""
    i = np.arange(n)
    same = i[:, None] // 3 == i // 3
    return np.where(same, 1.0 + (i[:, None] % 3 + i % 3), 0.0)


def tridiagonal(n: int) -> Array:
    """Wilkinson's, whose eigenvalues are nearly equal in pairs."""
    return np.asarray(
        np.diag(np.abs(np.arange(n) - n // 2).astype(float))
        + np.diag(np.ones(n - 1), 1)
        + np.diag(np.ones(n - 1), -1)
    )


GIVEN: list[Callable[[int], Array]] = [
    hilbert, blocks, tridiagonal, np.eye, lambda n: np.zeros((n, n)), lambda n: np.ones((n, n)),
    lambda n: np.diag(np.arange(n, 0.0, -1)), lambda n: np.eye(n)[::-1],
]  # fmt: skip


def unitary(rng: np.random.Generator, n: int, dtype: str) -> Array:
    wide = "complex128" if dtype.startswith("complex") else "float64"
    return np.asarray(np.linalg.qr(draw(rng, (n, n), wide))[0])


#: of large matrices, which take long on a software GPU
HARDEST = [geometric, beyond_range, plus_and_minus, projection, rank_3]


def matrices(rng: np.random.Generator, n: int, dtype: str, is_symmetric: bool) -> Array:
    made = []
    for spectrum in SPECTRA if n < 80 else HARDEST:
        values = spectrum(n, rng)
        q = unitary(rng, n, dtype)
        p = q if is_symmetric else unitary(rng, n, dtype)
        made.append((q * values) @ adjoint(p))
    made += [one(n) for one in (GIVEN if n < 80 else GIVEN[:1])]
    x = np.array(made)
    return np.asarray(((x + adjoint(x)) / 2 if is_symmetric else x).astype(dtype))


@pytest.mark.sampled(16)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", SIZES)
def test_eigh(be: Backend, rng: np.random.Generator, n: int, dtype: str) -> None:
    eigh.check(be, matrices(rng, n, dtype, True))


OF_SVD = [
    *((n, dtype, True) for n in SIZES[:-1] for dtype in TYPES),
    *((20, dtype, False) for dtype in TYPES),
    *(pytest.param(n, dtype, full, marks=pytest.mark.exhaustive) for n, dtype, full in (
        *((SIZES[-1], dtype, True) for dtype in TYPES),
        (129, "float32", True), (129, "float64", False),
    )),
]  # fmt: skip


@pytest.mark.sampled(16)
@pytest.mark.parametrize(("n", "dtype", "full"), OF_SVD)
def test_svd(be: Backend, rng: np.random.Generator, n: int, dtype: str, full: bool) -> None:
    a = matrices(rng, n, dtype, False)
    svd.check(be, a, full)
    svd.check(be, a[::2, :, : (n + 1) // 2], full)
    svd.check(be, a[1::2, : (n + 2) // 3], full)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("exponent", [-1, 1])
def test_scales(be: Backend, rng: np.random.Generator, dtype: str, exponent: int) -> None:
    """Of the largest and the least normal numbers, whose squares no number holds."""
    info = np.finfo(real_of(dtype))
    scale = float(info.max) / 1e3 if exponent > 0 else float(info.tiny) * 1e3
    eigh.check(be, (matrices(rng, 20, dtype, True)[:1] * scale).astype(dtype))
    svd.check(be, (matrices(rng, 20, dtype, False)[:1] * scale).astype(dtype))


@pytest.mark.parametrize("dtype", TYPES)
def test_subnormal(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    """Right to a few of the least numbers, also where a device takes them for 0 elsewhere."""
    least = float(np.finfo(real_of(dtype)).smallest_subnormal)
    whole = rng.integers(-1000, 1000, (1, 20, 20)).astype(float)
    hermitian = whole + np.swapaxes(whole, -1, -2)
    found = eigh.solve(be, (hermitian * least).astype(dtype))
    if found:
        assert not found[2].any()
        off = found[0].astype(np.longdouble) / least - np.linalg.eigvalsh(hermitian)
        assert np.abs(off).max() <= 2
    found = svd.solve(be, (whole * least).astype(dtype))
    if found:
        assert not found[3].any()
        exact = np.linalg.svd(whole, compute_uv=False)
        assert np.abs(found[1].astype(np.longdouble) / least - exact).max() <= 2
