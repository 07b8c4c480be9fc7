"""cholesky(): both triangles, every dtype, sizes around blocks, and what has no factor."""

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
    adjoint,
    assert_near,
    drawn_dtype,
    kind_of,
    parts,
    positive,
    runs,
    wide,
)
from .workspace import Array, Workspace

if TYPE_CHECKING:
    from fuzz import call as fuzz
    from fuzz.draw import Draw

CALL: Call = {
    "a": In(4 * 8),
    "factor": Out(4 * 8, may_be=("a",)),
    "status": Out(4 * 2),
    "n": Size(2),
    "batch": Size(2),
    "upper": Flag(False),
    "is_complex": Flag(False),
    "dtype": REAL_OR_DOUBLE,
}
EMPTY: EmptyCalls = [
    ({"n": 0}, ("a", "factor", "status")),
    ({"batch": 0}, ("a", "factor", "status")),
]


def factor(be: Backend, a: Array, upper: bool = False) -> list[Array]:
    batch, n = a.shape[:2]
    outputs = [(a.shape, a.dtype.name), ((batch,), "int32")]
    return Run(be, "cholesky", a.dtype.name)([a], outputs, n, batch, upper)


def check(be: Backend, a: Array, upper: bool) -> None:
    """The other triangle of what goes in is never read."""
    given = np.where(np.tri(a.shape[-1], k=-1, dtype=bool), np.nan if upper else a, a)
    if not upper:
        given = np.where(np.tri(a.shape[-1], dtype=bool), a, np.nan)
    found = factor(be, given.astype(a.dtype), upper)
    if not found:
        return
    x, status = found
    assert not status.any()
    outside = np.tril(x, -1) if upper else np.triu(x, 1)
    assert not outside.any()
    product = adjoint(wide(x)) @ wide(x) if upper else wide(x) @ adjoint(wide(x))
    assert_near(product, a, a.dtype.name, a.shape[-1])


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_product(be: Backend, rng: np.random.Generator, dtype: str, upper: bool) -> None:
    for n in SIZES:
        check(be, positive(rng, 1, n, dtype), upper)
    check(be, positive(rng, 5, 40, dtype), upper)


@pytest.mark.parametrize("n", LONG)
def test_long(be: Backend, rng: np.random.Generator, n: int) -> None:
    for dtype in TYPES:
        check(be, positive(rng, 1, n, dtype), n == 257)


@pytest.mark.parametrize("dtype", TYPES)
def test_many_small(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    check(be, positive(rng, 1000, 4, dtype), False)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_in_place(be: Backend, rng: np.random.Generator, dtype: str, upper: bool) -> None:
    a = positive(rng, 2, 70, dtype)
    found = factor(be, a, upper)
    if not found:
        return
    expected = found[0]
    with Workspace(be) as ws:
        both, status = ws.output(a), ws.room(2, "int32")
        be.cholesky(both, both, status, 70, 2, upper, *kind_of(dtype))
        np.testing.assert_array_equal(ws.read(both), expected)
        assert not ws.read(status).any()


@pytest.mark.parametrize("dtype", TYPES)
def test_ill_conditioned(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    """Scales from 1 to 1e-6 of both sides keep the bound, which is of the norm."""
    a = positive(rng, 1, 65, dtype)
    scale = np.geomspace(1, 1e-3, 65)
    check(be, (a * scale * scale[:, None]).astype(dtype), False)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("upper", [False, True])
def test_diagonals_are_real(be: Backend, rng: np.random.Generator, dtype: str, upper: bool) -> None:
    """Imaginary parts on the diagonal are not read, and those of the factor are 0."""
    a = positive(rng, 2, 70, dtype)
    given = a.copy()
    given.imag[:, np.arange(70), np.arange(70)] = np.nan
    found = factor(be, given, upper)
    if found:
        x, status = found
        assert not status.any()
        assert not np.diagonal(x, axis1=-2, axis2=-1).imag.any()
        product = adjoint(wide(x)) @ wide(x) if upper else wide(x) @ adjoint(wide(x))
        assert_near(product, a, dtype, 70)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, -np.inf])
def test_not_positive_definite(
    be: Backend, rng: np.random.Generator, dtype: str, bad: float
) -> None:
    """Each status is the first leading part that fails; the other matrices are factored."""
    places = [0, 20, 31, 32, 69]
    a = positive(rng, len(places) + 1, 70, dtype)
    for i, place in enumerate(places):
        a[i, place, :] = a[i, :, place] = 0
        a[i, place, place] = bad
    found = factor(be, a)
    assert bool(found) == runs(be, "cholesky", dtype)
    if found:
        assert found[1].tolist() == [place + 1 for place in places] + [0]
        assert_near(np.tril(found[0][-1:]) @ adjoint(found[0][-1:]), a[-1:], dtype, 70)


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    n, batch = draw.size_or_zero(70), draw.size_or_zero(4)
    upper = bool(draw.below(2))
    dtype = drawn_dtype(draw)
    is_complex, real = kind_of(dtype)
    a = positive(draw.rng, batch, n, dtype)
    exact = np.linalg.cholesky(wide(a))
    if upper:
        exact = adjoint(exact)
    source = operand(draw, a)
    out = source if draw.rarely(3) else room(draw, a.shape, dtype)
    status = operand(draw, np.full(batch if n else 0, -1, np.int32))
    values = {
        "a": source,
        "factor": out,
        "status": status,
        "n": n,
        "batch": batch,
        "upper": upper,
        "is_complex": is_complex,
        "dtype": real,
    }
    results = [
        fuzz.Result(
            out, parts(np.ascontiguousarray(exact)), 100 * np.finfo(real).eps * (n + 8), parts
        ),
        fuzz.Result(status, np.zeros(status.array.shape)),
    ]
    return fuzz.Call(name, values, results, empty=a.size == 0)
