"""eigh(): every dtype, both triangles, equal eigenvalues, and what is not finite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tilewright import Backend

from .arguments import Call, EmptyCalls, Flag, In, Out, Size
from .factorisations import (
    REAL_OR_DOUBLE,
    SIZES,
    TYPES,
    Run,
    adjoint,
    assert_near,
    assert_orthonormal,
    drawn_dtype,
    kind_of,
    parts,
    real_of,
    runs,
    symmetric,
    wide,
)
from .workspace import Array

if TYPE_CHECKING:
    from fuzz import call as fuzz
    from fuzz.draw import Draw

CALL: Call = {
    "a": In(4 * 8),
    "values": Out(4 * 4),
    "vectors": Out(4 * 8),
    "status": Out(4 * 2),
    "n": Size(2),
    "batch": Size(2),
    "upper": Flag(False),
    "with_vectors": Flag(True),
    "is_complex": Flag(False),
    "dtype": REAL_OR_DOUBLE,
}
EMPTY: EmptyCalls = [
    ({"n": 0}, ("a", "values", "vectors", "status")),
    ({"batch": 0}, ("a", "values", "vectors", "status")),
]


def solve(be: Backend, a: Array, upper: bool = False, with_vectors: bool = True) -> list[Array]:
    batch, n = a.shape[:2]
    outputs = [
        ((batch, n), real_of(a.dtype.name)),
        (a.shape if with_vectors else (0,), a.dtype.name),
        ((batch,), "int32"),
    ]
    return Run(be, "eigh", a.dtype.name)([a], outputs, n, batch, upper, with_vectors)


def check(be: Backend, a: Array, upper: bool = False) -> None:
    dtype, n = a.dtype.name, a.shape[-1]
    other = np.tri(n, k=-1, dtype=bool) if upper else ~np.tri(n, dtype=bool)
    given = np.where(other, np.nan, a).astype(dtype)
    found = solve(be, given, upper)
    assert bool(found) == runs(be, "eigh", dtype)
    if not found:
        return
    values, vectors, status = found
    assert not status.any()
    assert (np.diff(values, axis=-1) >= 0).all()
    assert_orthonormal(vectors, dtype, n)
    assert_near((wide(vectors) * values[:, None, :]) @ adjoint(wide(vectors)), a, dtype, n, 8.0)
    alone, _, status = solve(be, given, upper, with_vectors=False)
    assert not status.any()
    exact = np.linalg.eigvalsh(wide(a))
    assert_near(alone[:, None, :], exact[:, None, :], dtype, n)
    assert_near(values[:, None, :], exact[:, None, :], dtype, n)


@pytest.mark.parametrize("dtype", TYPES)
def test_product(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    for n in SIZES:
        check(be, symmetric(rng, 1, n, dtype), upper=n % 2 == 0)
    check(be, symmetric(rng, 5, 20, dtype))


@pytest.mark.parametrize("dtype", TYPES)
def test_equal_eigenvalues(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    q = np.linalg.qr(rng.standard_normal((40, 40)))[0]
    values = np.repeat([-1.0, 0.0, 2.0, 2.5], 10)
    cases = [(q * values) @ q.T, np.eye(40), np.zeros((40, 40)), np.diag(values)]
    a = np.array(cases)
    check(be, ((a + np.swapaxes(a, -1, -2)) / 2).astype(dtype))


@pytest.mark.parametrize("dtype", TYPES)
def test_of_all_scales(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    scale = np.geomspace(1, 1e-6, 33)
    a = symmetric(rng, 1, 33, dtype) * scale * scale[:, None]
    check(be, a.astype(dtype))
    check(be, (symmetric(rng, 1, 33, dtype) * 1e15).astype(dtype))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("dtype", TYPES)
def test_not_finite(be: Backend, rng: np.random.Generator, dtype: str, bad: float) -> None:
    a = symmetric(rng, 3, 20, dtype)
    a[1, 7, 3] = a[1, 3, 7] = bad
    for with_vectors in (False, True):
        found = solve(be, a, with_vectors=with_vectors)
        if found:
            assert (found[2] != 0).tolist() == [False, True, False]


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    n, batch = draw.size_or_zero(40), draw.size_or_zero(3)
    upper, with_vectors = bool(draw.below(2)), bool(draw.below(2))
    dtype = drawn_dtype(draw)
    is_complex, real = kind_of(dtype)
    a = symmetric(draw.rng, batch, n, dtype)
    exact = np.linalg.eigvalsh(wide(a))
    values = room(draw, (batch, n), real)
    vectors = room(draw, a.shape if with_vectors else (0,), dtype)
    status = operand(draw, np.full(batch if n else 0, -1, np.int32))
    given = {
        "a": operand(draw, a),
        "values": values,
        "vectors": vectors,
        "status": status,
        "n": n,
        "batch": batch,
        "upper": upper,
        "with_vectors": with_vectors,
        "is_complex": is_complex,
        "dtype": real,
    }
    results = [
        fuzz.Result(values, exact, 100 * np.finfo(real).eps * (n + 8)),
        # Up to their signs.
        fuzz.Result(vectors, np.zeros(parts(vectors.array).shape), 1.001, parts),
        fuzz.Result(status, np.zeros(status.array.shape)),
    ]
    return fuzz.Call(name, given, results, empty=a.size == 0)
