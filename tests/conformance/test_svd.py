"""svd(): reduced and full, tall and wide, every dtype, matrices without full rank, what is not
finite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tilewright import Backend

from .arguments import Call, EmptyCalls, Flag, In, Out, Size
from .factorisations import (
    REAL_OR_DOUBLE,
    TYPES,
    Run,
    adjoint,
    assert_near,
    assert_orthonormal,
    draw,
    real_of,
    runs,
    wide,
)
from .workspace import Array

if TYPE_CHECKING:
    from fuzz import call as fuzz
    from fuzz.draw import Draw

CALL: Call = {
    "a": In(4 * 12),
    "u": Out(4 * 8),
    "values": Out(4 * 4),
    "vh": Out(4 * 12),
    "status": Out(4 * 2),
    "m": Size(2),
    "n": Size(3),
    "batch": Size(2),
    "full": Flag(False),
    "with_vectors": Flag(True),
    "is_complex": Flag(False),
    "dtype": REAL_OR_DOUBLE,
}
EMPTY: EmptyCalls = [
    ({"m": 0}, ("a", "u", "values", "vh", "status")),
    ({"n": 0}, ("a", "u", "values", "vh", "status")),
    ({"batch": 0}, ("a", "u", "values", "vh", "status")),
]

# m, n, batch
SHAPES = [(1, 1, 1), (2, 3, 5), (17, 3, 1), (3, 17, 1), (33, 32, 2), (65, 64, 1), (64, 100, 1)]


def solve(be: Backend, a: Array, full: bool = False, with_vectors: bool = True) -> list[Array]:
    batch, m, n = a.shape
    k, dtype = min(m, n), a.dtype.name
    outputs = [
        ((batch, m, m if full else k) if with_vectors else (0,), dtype),
        ((batch, k), real_of(dtype)),
        ((batch, n if full else k, n) if with_vectors else (0,), dtype),
        ((batch,), "int32"),
    ]
    return Run(be, "svd", dtype)([a], outputs, m, n, batch, full, with_vectors)


def check(be: Backend, a: Array, full: bool = False) -> None:
    dtype, size = a.dtype.name, max(a.shape[1:])
    found = solve(be, a, full)
    assert bool(found) == runs(be, "svd", dtype)
    if not found:
        return
    u, values, vh, status = found
    assert not status.any()
    assert (values >= 0).all() and (np.diff(values, axis=-1) <= 0).all()
    assert_orthonormal(u, dtype, size)
    assert_orthonormal(adjoint(vh), dtype, size)
    k = values.shape[-1]
    product = (wide(u)[..., :k] * values[:, None, :]) @ wide(vh)[:, :k]
    assert_near(product, a, dtype, size, 8.0)
    _, alone, _, status = solve(be, a, with_vectors=False)
    assert not status.any()
    exact = np.linalg.svd(wide(a), compute_uv=False)[:, None, :]
    assert_near(alone[:, None, :], exact, dtype, size)
    assert_near(values[:, None, :], exact, dtype, size)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_product(be: Backend, rng: np.random.Generator, dtype: str, full: bool) -> None:
    for m, n, batch in SHAPES if dtype in ("float32", "complex64") else [(40, 7, 2)]:
        check(be, draw(rng, (batch, m, n), dtype), full)


def test_without_full_rank(be: Backend, rng: np.random.Generator) -> None:
    a = draw(rng, (3, 40, 4), "float32") @ draw(rng, (3, 4, 20), "float32")
    a[1] = 0
    a[2, :, 5:] = a[2, :, :1]
    check(be, a)


def test_equal_values(be: Backend) -> None:
    check(be, np.array([np.eye(30), np.ones((30, 30)), np.eye(30)[::-1]], "float32"))


def test_ill_conditioned(be: Backend, rng: np.random.Generator) -> None:
    a = draw(rng, (1, 50, 33), "float32") * np.geomspace(1, 1e-8, 33)
    check(be, a.astype("float32"))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_finite(be: Backend, rng: np.random.Generator, bad: float) -> None:
    a = draw(rng, (3, 20, 10), "float32")
    a[1, 7, 3] = bad
    for with_vectors in (False, True):
        found = solve(be, a, with_vectors=with_vectors)
        if found:
            assert (found[3] != 0).tolist() == [False, True, False]


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    m, n, batch = draw.size_or_zero(40), draw.size_or_zero(40), draw.size_or_zero(3)
    full, with_vectors = bool(draw.below(2)), bool(draw.below(2))
    k = min(m, n)
    shown = with_vectors and k > 0
    a = draw.normal((batch, m, n), "float32")
    values = room(draw, (batch, k), "float32")
    u = room(draw, (batch, m, m if full else k) if shown else (0,), "float32")
    vh = room(draw, (batch, n if full else k, n) if shown else (0,), "float32")
    status = operand(draw, np.full(batch if k else 0, -1, np.int32))
    given = {
        "a": operand(draw, a),
        "u": u,
        "values": values,
        "vh": vh,
        "status": status,
        "m": m,
        "n": n,
        "batch": batch,
        "full": full,
        "with_vectors": with_vectors,
        "is_complex": False,
        "dtype": "float32",
    }
    exact = (
        np.linalg.svd(a.astype(np.float64), compute_uv=False) if a.size else np.empty((batch, k))
    )
    results = [
        fuzz.Result(values, exact, 1e-5 * (max(m, n) + 8)),
        fuzz.Result(u, np.zeros(u.array.shape), 1.001),
        fuzz.Result(vh, np.zeros(vh.array.shape), 1.001),
        fuzz.Result(status, np.zeros(status.array.shape)),
    ]
    return fuzz.Call(name, given, results, empty=a.size == 0)
