"""eig(): real matrices with complex eigenvalues, complex ones, every dtype, what is not finite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tilewright import Backend

from .arguments import Call, EmptyCalls, Flag, In, Out, Size
from .factorisations import REAL_OR_DOUBLE, TYPES, Run, draw, real_of, runs, wide
from .workspace import Array

if TYPE_CHECKING:
    from fuzz import call as fuzz
    from fuzz.draw import Draw

CALL: Call = {
    "a": In(4 * 8),
    "values": Out(8 * 4),
    "vectors": Out(8 * 8),
    "status": Out(4 * 2),
    "n": Size(2),
    "batch": Size(2),
    "with_vectors": Flag(True),
    "is_complex": Flag(False),
    "dtype": REAL_OR_DOUBLE,
}
EMPTY: EmptyCalls = [
    ({"n": 0}, ("a", "values", "vectors", "status")),
    ({"batch": 0}, ("a", "values", "vectors", "status")),
]


def solve(be: Backend, a: Array, with_vectors: bool = True) -> list[Array]:
    batch, n = a.shape[:2]
    pairs = "complex64" if real_of(a.dtype.name) == "float32" else "complex128"
    outputs = [
        ((batch, n), pairs),
        (a.shape if with_vectors else (0,), pairs),
        ((batch,), "int32"),
    ]
    return Run(be, "eig", a.dtype.name)([a], outputs, n, batch, with_vectors)


def check(be: Backend, a: Array) -> None:
    dtype, n = a.dtype.name, a.shape[-1]
    found = solve(be, a)
    assert bool(found) == runs(be, "eig", dtype)
    if not found:
        return
    values, vectors, status = (wide(one) for one in found)
    assert not status.any()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    # A V = V diag(values), to the rounding errors of A's norm.
    off = wide(a) @ vectors - vectors * values[:, None, :]
    norm = np.linalg.norm(wide(a), axis=(-2, -1), keepdims=True)
    eps = np.finfo(real_of(dtype)).eps
    assert (np.abs(off) <= 8 * (n + 8) * eps * norm).all()
    alone, _, status = solve(be, a, with_vectors=False)
    assert not status.any()
    # Sums of eigenvalues and of their squares are traces.
    for got in (values, alone):
        trace = np.trace(wide(a), axis1=-2, axis2=-1)
        assert (np.abs(got.sum(-1) - trace) <= 8 * (n + 8) * eps * norm[:, 0, 0] * n**0.5).all()


@pytest.mark.parametrize("dtype", TYPES)
def test_residuals(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    for n in [1, 2, 3, 17, 33, 65] if dtype in ("float32", "complex64") else [3, 40]:
        check(be, draw(rng, (1, n, n), dtype))
    check(be, draw(rng, (5, 20, 20), dtype))


def test_real_eigenvalues_and_pairs(be: Backend) -> None:
    a = np.zeros((3, 4, 4), np.float32)
    a[0] = np.diag([1, 2, 3, 4]) + np.eye(4, k=1)
    a[1, :2, :2] = a[1, 2:, 2:] = [[0, 1], [-1, 0]]
    a[2] = np.roll(np.eye(4), 1, axis=0)
    check(be, a)
    found = solve(be, a)
    if found:
        np.testing.assert_allclose(np.sort_complex(found[0][0]), [1, 2, 3, 4], atol=1e-4)
        np.testing.assert_allclose(np.sort_complex(found[0][1]), [-1j, -1j, 1j, 1j], atol=1e-5)
        for quarter in (1, -1, 1j, -1j):
            assert np.abs(found[0][2] - quarter).min() < 1e-5


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_finite(be: Backend, rng: np.random.Generator, bad: float) -> None:
    a = draw(rng, (3, 20, 20), "float32")
    a[1, 7, 3] = bad
    found = solve(be, a)
    if found:
        assert (found[2] != 0).tolist() == [False, True, False]


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer: triangular matrices, whose eigenvalues are on their diagonals."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    n, batch = draw.size_or_zero(30), draw.size_or_zero(3)
    with_vectors = bool(draw.below(2))
    a = np.triu(draw.normal((batch, n, n), "float32"), 1) / 8
    places = np.arange(n)
    a[:, places, places] = places + 1
    exact = np.zeros((batch, n, 2))
    exact[..., 0] = places + 1
    values = room(draw, exact.shape, "float32")
    vectors = room(draw, (batch, n, n, 2) if with_vectors else (0,), "float32")
    status = operand(draw, np.full(batch if n else 0, -1, np.int32))
    given = {
        "a": operand(draw, a.astype("float32")),
        "values": values,
        "vectors": vectors,
        "status": status,
        "n": n,
        "batch": batch,
        "with_vectors": with_vectors,
        "is_complex": False,
        "dtype": "float32",
    }
    results = [
        fuzz.Result(values, exact, 1e-2),
        fuzz.Result(vectors, np.zeros(vectors.array.shape), 1.001),
        fuzz.Result(status, np.zeros(status.array.shape)),
    ]
    return fuzz.Call(name, given, results, empty=a.size == 0)
