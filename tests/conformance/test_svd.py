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
    drawn_dtype,
    kind_of,
    parts,
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


@pytest.mark.sampled(12)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_product(be: Backend, rng: np.random.Generator, dtype: str, full: bool) -> None:
    for m, n, batch in SHAPES:
        check(be, draw(rng, (batch, m, n), dtype), full)


@pytest.mark.parametrize("dtype", TYPES)
def test_without_full_rank(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    a = draw(rng, (3, 40, 4), dtype) @ draw(rng, (3, 4, 20), dtype)
    a[1] = 0
    a[2, :, 5:] = a[2, :, :1]
    check(be, a)


@pytest.mark.parametrize("dtype", TYPES)
def test_equal_values(be: Backend, dtype: str) -> None:
    check(be, np.array([np.eye(30), np.ones((30, 30)), np.eye(30)[::-1]], dtype))


@pytest.mark.parametrize("dtype", TYPES)
def test_ill_conditioned(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    for least in (1e-8, 1e-18):
        a = draw(rng, (1, 50, 33), dtype) * np.geomspace(1, least, 33)
        check(be, a.astype(dtype))


@pytest.mark.parametrize("dtype", TYPES)
def test_of_all_scales(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    power = 30 if kind_of(dtype)[1] == "float32" else 250
    for scale in (10.0**power, 10.0**-power):
        check(be, (draw(rng, (1, 40, 30), dtype) * scale).astype(dtype))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("dtype", TYPES)
def test_not_finite(be: Backend, rng: np.random.Generator, dtype: str, bad: float) -> None:
    a = draw(rng, (3, 20, 10), dtype)
    a[1, 7, 3] = bad
    for with_vectors in (False, True):
        found = solve(be, a, with_vectors=with_vectors)
        if found:
            assert (found[3] != 0).tolist() == [False, True, False]


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    from .factorisations import draw as numbers

    m, n, batch = draw.size_or_zero(40), draw.size_or_zero(40), draw.size_or_zero(3)
    full, with_vectors = bool(draw.below(2)), bool(draw.below(2))
    k = min(m, n)
    shown = with_vectors and k > 0
    dtype = drawn_dtype(draw)
    is_complex, real = kind_of(dtype)
    a = numbers(draw.rng, (batch, m, n), dtype)
    values = room(draw, (batch, k), real)
    u = room(draw, (batch, m, m if full else k) if shown else (0,), dtype)
    vh = room(draw, (batch, n if full else k, n) if shown else (0,), dtype)
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
        "is_complex": is_complex,
        "dtype": real,
    }
    exact = np.linalg.svd(wide(a), compute_uv=False) if a.size else np.empty((batch, k))
    results = [
        fuzz.Result(values, exact, 100 * np.finfo(real).eps * (max(m, n) + 8)),
        fuzz.Result(u, np.zeros(parts(u.array).shape), 1.001, parts),
        fuzz.Result(vh, np.zeros(parts(vh.array).shape), 1.001, parts),
        fuzz.Result(status, np.zeros(status.array.shape)),
    ]
    return fuzz.Call(name, given, results, empty=a.size == 0)
