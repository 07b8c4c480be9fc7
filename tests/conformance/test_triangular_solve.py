"""triangular_solve(): from both sides, both triangles, transposed or not, with a unit diagonal."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tilewright import Backend

from .arguments import Call, EmptyCalls, Flag, In, Name, Out, Size
from .factorisations import (
    REAL_OR_DOUBLE,
    TYPES,
    Run,
    assert_near,
    draw,
    drawn_dtype,
    kind_of,
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
    "b": In(4 * 12),
    "x": Out(4 * 12, may_be=("b",)),
    "n": Size(2),
    "columns": Size(3),
    "batch": Size(2),
    "upper": Flag(False),
    "trans": Name("transpose"),
    "unit": Flag(False),
    "right": Flag(False),
    "is_complex": Flag(False),
    "dtype": REAL_OR_DOUBLE,
}
EMPTY: EmptyCalls = [
    ({"n": 0}, ("a", "b", "x")),
    ({"columns": 0}, ("b", "x")),
    ({"batch": 0}, ("a", "b", "x")),
]

OPS = {
    "none": lambda a: a,
    "transpose": lambda a: np.swapaxes(a, -1, -2),
    "conj_transpose": lambda a: np.conj(np.swapaxes(a, -1, -2)),
}
FORMS = list(
    itertools.product([False, True], ["none", "transpose", "conj_transpose"], [False, True])
)
# n, columns, batch
SHAPES = [(1, 1, 1), (3, 5, 5), (17, 100, 1), (33, 2, 3), (64, 65, 1), (100, 33, 2)]


def system(rng: np.random.Generator, n: int, batch: int, dtype: str) -> Array:
    """Whose triangles are well conditioned, with a unit diagonal as well."""
    a = draw(rng, (batch, n, n), dtype) / (2 * n)
    return np.asarray((a + np.eye(n)).astype(dtype))


def triangle(a: Array, upper: bool, unit: bool) -> Array:
    half = np.triu(a, 1) if upper else np.tril(a, -1)
    own = np.eye(a.shape[-1]) if unit else a * np.eye(a.shape[-1])
    return np.asarray(half + own)


def check(
    be: Backend, a: Array, b: Array, upper: bool, trans: str, unit: bool, right: bool
) -> None:
    dtype, (batch, n) = a.dtype.name, a.shape[:2]
    columns = b.shape[1] if right else b.shape[2]
    # What is not read.
    hidden = np.where(np.tri(n, k=-1, dtype=bool) == upper, np.nan, a)
    hidden = np.where(np.eye(n, dtype=bool), np.nan if unit else a, hidden)
    if not upper:
        hidden = np.where(np.tri(n, k=-1, dtype=bool), a, hidden)
        hidden = np.where(np.tri(n, dtype=bool), hidden, np.nan)
    run = Run(be, "triangular_solve", dtype)
    found = run(
        [hidden.astype(dtype), b], [(b.shape, dtype)], n, columns, batch, upper, trans, unit, right
    )
    assert bool(found) == runs(be, "triangular_solve", dtype)
    if found:
        op = OPS[trans](triangle(wide(a), upper, unit))
        x = wide(found[0])
        assert_near(x @ op if right else op @ x, b, dtype, n)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_residuals(be: Backend, rng: np.random.Generator, dtype: str, right: bool) -> None:
    for n, columns, batch in SHAPES:
        a = system(rng, n, batch, dtype)
        b = draw(rng, (batch, columns, n) if right else (batch, n, columns), dtype)
        for upper, trans, unit in FORMS if n == 33 else FORMS[:: 5 if n < 60 else 3]:
            check(be, a, b, upper, trans, unit, right)


@pytest.mark.parametrize("dtype", TYPES)
def test_wide_and_long(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    a = system(rng, 300, 1, dtype)
    check(be, a, draw(rng, (1, 300, 700), dtype), True, "none", False, False)
    check(be, a, draw(rng, (1, 700, 300), dtype), False, "conj_transpose", True, True)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_in_place(be: Backend, rng: np.random.Generator, dtype: str, right: bool) -> None:
    if not runs(be, "triangular_solve", dtype):
        return
    a = system(rng, 50, 2, dtype)
    b = draw(rng, (2, 20, 50) if right else (2, 50, 20), dtype)
    is_complex, real = kind_of(dtype)
    kind = {"right": right, "is_complex": is_complex, "dtype": real}
    with Workspace(be) as ws:
        matrix, both, apart = ws.input(a), ws.output(b), ws.room(b.shape, dtype)
        be.triangular_solve(matrix, ws.input(b), apart, 50, 20, 2, **kind)  # type: ignore[arg-type]
        be.triangular_solve(matrix, both, both, 50, 20, 2, **kind)  # type: ignore[arg-type]
        np.testing.assert_array_equal(ws.read(both), ws.read(apart))


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    from .factorisations import draw as numbers

    n, columns, batch = draw.size_or_zero(70), draw.size_or_zero(80), draw.size_or_zero(3)
    upper, unit, right = (bool(draw.below(2)) for _ in range(3))
    trans = draw.one_of(["none", "transpose", "conj_transpose"])
    dtype = drawn_dtype(draw)
    is_complex, real = kind_of(dtype)
    a = system(draw.rng, n, batch, dtype) if n else np.empty((batch, 0, 0), dtype)
    b = numbers(draw.rng, (batch, columns, n) if right else (batch, n, columns), dtype)
    exact = np.zeros(b.shape, wide(b).dtype)
    if b.size:
        op = OPS[trans](triangle(wide(a), upper, unit))
        if right:
            exact = np.swapaxes(
                np.linalg.solve(np.swapaxes(op, -1, -2), np.swapaxes(wide(b), -1, -2)), -1, -2
            )
        else:
            exact = np.linalg.solve(op, wide(b))
    source = operand(draw, b)
    out = source if draw.rarely(3) else room(draw, b.shape, dtype)
    values = {
        "a": operand(draw, a),
        "b": source,
        "x": out,
        "n": n,
        "columns": columns,
        "batch": batch,
        "upper": upper,
        "trans": trans,
        "unit": unit,
        "right": right,
        "is_complex": is_complex,
        "dtype": real,
    }
    near = 1e3 * float(np.finfo(real).eps)
    results = [fuzz.Result(out, parts(np.ascontiguousarray(exact)), near, parts)]
    return fuzz.Call(name, values, results, empty=b.size == 0)
