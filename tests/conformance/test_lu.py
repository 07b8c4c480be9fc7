"""lu(): rows in order, multipliers of 1 at most, every dtype, and pivots of 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tilewright import Backend

from .arguments import Call, EmptyCalls, Flag, In, Out, Size
from .factorisations import (
    LONG,
    REAL_OR_DOUBLE,
    SIZES,
    TYPES,
    Run,
    assert_near,
    draw,
    drawn_dtype,
    kind_of,
    panels_by,
    parts,
    runs,
    wide,
)
from .workspace import Array, Workspace

if TYPE_CHECKING:
    from fuzz import call as fuzz
    from fuzz.draw import Draw

CALL: Call = {
    "a": In(4 * 8),
    "factors": Out(4 * 8, may_be=("a",)),
    "permutation": Out(4 * 4),
    "status": Out(4 * 4),
    "n": Size(2),
    "batch": Size(2),
    "is_complex": Flag(False),
    "dtype": REAL_OR_DOUBLE,
}
EMPTY: EmptyCalls = [
    ({"n": 0}, ("a", "factors", "permutation", "status")),
    ({"batch": 0}, ("a", "factors", "permutation", "status")),
]


def factor(be: Backend, a: Array) -> list[Array]:
    batch, n = a.shape[:2]
    outputs = [(a.shape, a.dtype.name), ((batch, n), "int32"), ((batch, 2), "int32")]
    return Run(be, "lu", a.dtype.name)([a], outputs, n, batch)


def parity(permutation: Array) -> int:
    """Of the exchanges that make it."""
    sign = np.linalg.det(np.eye(len(permutation))[permutation])
    return 0 if sign > 0 else 1


def check(be: Backend, a: Array, zero: int = 0) -> None:
    found = factor(be, a)
    assert bool(found) == runs(be, "lu", a.dtype.name)
    if not found:
        return
    x, permutation, status = found
    n = a.shape[-1]
    lower, upper = np.tril(wide(x), -1) + np.eye(n), np.triu(wide(x))
    # What a pivot is larger than by its real and imaginary parts may be larger by its magnitude.
    assert np.abs(lower).max(initial=0) <= (1.5 if a.dtype.kind == "c" else 1 + 1e-6)
    np.testing.assert_array_equal(np.sort(permutation), np.broadcast_to(np.arange(n), (len(a), n)))
    rows = np.take_along_axis(a, permutation[..., None].astype(np.int64), 1)
    assert_near(lower @ upper, rows, a.dtype.name, n)
    assert (status[:, 0] == zero).all()
    assert [s % 2 for s in status[:, 1]] == [parity(p) for p in permutation]


@pytest.mark.parametrize("dtype", TYPES)
def test_product(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    for n in SIZES:
        check(be, draw(rng, (1, n, n), dtype))
    check(be, draw(rng, (5, 40, 40), dtype))


@pytest.mark.parametrize("n", LONG)
def test_long(be: Backend, rng: np.random.Generator, n: int) -> None:
    for dtype in TYPES:
        check(be, draw(rng, (1, n, n), dtype))


# Rows that a workgroup's registers hold, and twice as many, by dtype.
HELD = {"float32": 1024, "float64": 512, "complex64": 512, "complex128": 256}


@pytest.mark.parametrize(
    ("dtype", "n"),
    [
        ("complex128", HELD["complex128"] + 33),
        *(
            pytest.param(dtype, times * held + more, marks=pytest.mark.exhaustive)
            for dtype, held in HELD.items()
            for times, more in ((1, 0), (1, 35), (2, 1), (2, 35))
        ),
        pytest.param("complex128", 4 * 256 + 37, marks=pytest.mark.exhaustive),
        pytest.param("complex64", 4 * 512 + 37, marks=pytest.mark.exhaustive),
    ],
)
def test_panels_of_one_workgroup(be: Backend, rng: np.random.Generator, dtype: str, n: int) -> None:
    with panels_by(be, "lu_panel", "one-workgroup"):
        check(be, draw(rng, (2 if n < 600 else 1, n, n), dtype))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("n", "batch"), [(1, 1), (64, 1), (512, 1), (550, 3)])
def test_shared_panels(
    be: Backend, rng: np.random.Generator, dtype: str, n: int, batch: int
) -> None:
    with panels_by(be, "lu_panel", "all-workgroups"):
        check(be, draw(rng, (batch, n, n), dtype))


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", TYPES)
def test_the_rule_for_panels(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    """On both sides of the rows from which on GPUs take all workgroups to a panel."""
    for n in (HELD[dtype] + 1, 1540):
        check(be, draw(rng, (1, n, n), dtype))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", TYPES)
def test_shared_panels_that_are_hard(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    """Columns of 0, exact pivots, equal ones, and what is not finite."""
    with panels_by(be, "lu_panel", "all-workgroups"):
        check_hard_panels(be, rng, dtype)


def check_hard_panels(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    n = 540
    a = draw(rng, (1, n, n), dtype)
    for column in (0, 17, 31):
        zero = a.copy()
        zero[:, :, column] = 0
        check(be, zero, column + 1)
    upper = np.triu(np.full((n, n), 0.5)) + np.eye(n)
    order = rng.permutation(n)
    found = factor(be, upper[np.argsort(order)].astype(dtype)[None])
    if not found:
        return
    np.testing.assert_array_equal(found[0][0], upper)
    np.testing.assert_array_equal(found[1][0], np.argsort(np.argsort(order)))
    # The first of the largest, whichever chunks of rows they are in.
    for column in (0, 20):
        equal = np.eye(n, dtype=dtype)
        equal[column:, column] = np.where(np.isin(np.arange(column, n), (150, 300, 301)), -2, 1)
        assert factor(be, equal[None])[1][0, column] == 150
    a = np.repeat(a, 3, axis=0)
    a[0, 3, 3], a[1, 530, 20] = np.nan, np.inf
    a[2] = np.nan
    permutation = factor(be, a)[1]
    np.testing.assert_array_equal(np.sort(permutation), np.broadcast_to(np.arange(n), (3, n)))
    if be.name != "cpu":  # LAPACK exchanges rows of NaN
        np.testing.assert_array_equal(permutation[2], np.arange(n))


@pytest.mark.parametrize("dtype", TYPES)
def test_many_small(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    check(be, draw(rng, (1000, 4, 4), dtype))


@pytest.mark.parametrize("dtype", TYPES)
def test_in_place(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    a = draw(rng, (2, 70, 70), dtype)
    found = factor(be, a)
    if not found:
        return
    expected, order, _ = found
    with Workspace(be) as ws:
        both, permutation, status = ws.output(a), ws.room((2, 70), "int32"), ws.room(4, "int32")
        be.lu(both, both, permutation, status, 70, 2, *kind_of(dtype))
        np.testing.assert_array_equal(ws.read(both), expected)
        np.testing.assert_array_equal(ws.read(permutation), order)


@pytest.mark.parametrize("column", [0, 5, 15, 16, 31, 32, 60])
@pytest.mark.parametrize("dtype", TYPES)
def test_a_pivot_of_zero(be: Backend, rng: np.random.Generator, dtype: str, column: int) -> None:
    a = draw(rng, (2, 61, 61), dtype)
    a[:, :, column] = 0
    check(be, a, column + 1)


@pytest.mark.parametrize("dtype", TYPES)
def test_exact_pivots(be: Backend, dtype: str) -> None:
    """A permuted triangle: nothing is left to eliminate, so the very factors."""
    n = 45
    upper = np.triu(np.full((n, n), 0.5)) + np.eye(n)
    order = np.random.default_rng(3).permutation(n)
    found = factor(be, upper[np.argsort(order)].astype(dtype)[None])
    if not found:
        return
    x, permutation, status = found
    np.testing.assert_array_equal(x[0], upper)
    np.testing.assert_array_equal(permutation[0], np.argsort(np.argsort(order)))
    assert status[0, 0] == 0


@pytest.mark.parametrize("dtype", TYPES)
def test_not_finite(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    """Comes to an end, with an order of rows."""
    a = draw(rng, (3, 40, 40), dtype)
    a[0, 3, 3], a[1, 10, 35] = np.nan, np.inf
    a[2] = np.nan
    found = factor(be, a)
    if not found:
        return
    permutation = found[1]
    np.testing.assert_array_equal(np.sort(permutation), np.broadcast_to(np.arange(40), (3, 40)))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_of_all_scales(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    """Quotients of complex numbers whose squares are out of range."""
    for scale in (1e-30, 1e30) if dtype == "complex64" else (1e-200, 1e200):
        check(be, (draw(rng, (2, 40, 40), dtype) * scale).astype(dtype))


def dominant(rng: np.random.Generator, batch: int, n: int, dtype: str) -> tuple[Array, Array]:
    """Matrices whose pivots leave no doubt, and the order of their rows."""
    a = draw(rng, (batch, n, n), dtype) + 4 * max(n, 1) * np.eye(n)
    order = rng.permuted(np.broadcast_to(np.arange(n), (batch, n)), axis=1)
    rows = np.empty_like(a)
    np.put_along_axis(rows, order[..., None], a, 1)
    return rows.astype(dtype), order


def eliminated(a: Array) -> Array:
    x = wide(a)
    for k in range(x.shape[-1]):
        x[:, k + 1 :, k] /= x[:, k, None, k]
        x[:, k + 1 :, k + 1 :] -= x[:, k + 1 :, k, None] * x[:, k, None, k + 1 :]
    return x


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    n, batch = draw.size_or_zero(70), draw.size_or_zero(4)
    dtype = drawn_dtype(draw)
    is_complex, real = kind_of(dtype)
    a, order = dominant(draw.rng, batch, n, dtype)
    exact = eliminated(np.take_along_axis(a, order[..., None], 1))
    source = operand(draw, a)
    out = source if draw.rarely(3) else room(draw, a.shape, dtype)
    permutation = operand(draw, np.full((batch, n), -1, np.int32))
    status = operand(draw, np.full((batch if n else 0, 2), -1, np.int32))
    exchanges = np.zeros(status.array.shape)
    values = {
        "a": source,
        "factors": out,
        "permutation": permutation,
        "status": status,
        "n": n,
        "batch": batch,
        "is_complex": is_complex,
        "dtype": real,
    }
    results = [
        fuzz.Result(out, parts(exact), 100 * np.finfo(real).eps * (n + 8) ** 2, parts),
        fuzz.Result(permutation, order),
        fuzz.Result(status, exchanges, np.array([0, n])),
    ]
    return fuzz.Call(name, values, results, empty=a.size == 0)
