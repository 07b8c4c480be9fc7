"""qr(): reduced and complete, tall, square and wide, every dtype, and what has no full rank."""

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
    assert_near,
    assert_orthonormal,
    draw,
    drawn_dtype,
    kind_of,
    panels_by,
    parts,
    runs,
    wide,
)
from .workspace import Array

if TYPE_CHECKING:
    from fuzz import call as fuzz
    from fuzz.draw import Draw

CALL: Call = {
    "a": In(4 * 12),
    "q": Out(4 * 8),
    "r": Out(4 * 12),
    "m": Size(2),
    "n": Size(3),
    "batch": Size(2),
    "complete": Flag(False),
    "is_complex": Flag(False),
    "dtype": REAL_OR_DOUBLE,
}
EMPTY: EmptyCalls = [
    ({"m": 0}, ("a", "q", "r")),
    ({"n": 0}, ("a", "q", "r")),
    ({"batch": 0}, ("a", "q", "r")),
]

# m, n, batch
SHAPES = [(1, 1, 1), (2, 3, 5), (17, 3, 1), (3, 17, 1), (33, 32, 2), (65, 64, 1), (64, 100, 1)]


def factor(be: Backend, a: Array, complete: bool = False) -> list[Array]:
    batch, m, n = a.shape
    columns = m if complete else min(m, n)
    outputs = [((batch, m, columns), a.dtype.name), ((batch, columns, n), a.dtype.name)]
    return Run(be, "qr", a.dtype.name)([a], outputs, m, n, batch, complete)


def check(be: Backend, a: Array, complete: bool) -> None:
    found = factor(be, a, complete)
    assert bool(found) == runs(be, "qr", a.dtype.name)
    if found:
        q, r = found
        assert not np.tril(r, -1).any()
        assert_orthonormal(q, a.dtype.name, max(a.shape[1:]))
        assert_near(wide(q) @ wide(r), a, a.dtype.name, max(a.shape[1:]))


@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_product(be: Backend, rng: np.random.Generator, dtype: str, complete: bool) -> None:
    for m, n, batch in SHAPES:
        check(be, draw(rng, (batch, m, n), dtype), complete)


@pytest.mark.parametrize("dtype", TYPES)
def test_long(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    check(be, draw(rng, (1, 600, 129), dtype), False)
    a = draw(rng, (1, 9000, 35), dtype)
    check(be, a, False)
    # More rows than one launch of one workgroup takes all columns of.
    with panels_by(be, "qr_panel", "one-workgroup"):
        check(be, a, False)


# On both sides of the rows from which on GPUs make a column by all workgroups, and of the chunks
# that these take; m, n, batch.
TALL = [(256, 20, 2), (257, 33, 2), (290, 35, 3), (321, 1, 1), (261, 300, 1), (1100, 50, 2)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", TALL)
def test_tall(be: Backend, rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> None:
    m, n, batch = shape
    check(be, draw(rng, (batch, m, n), dtype), False)


@pytest.mark.parametrize("dtype", TYPES)
def test_tall_and_hard(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    """No full rank, columns and ends of columns of 0, and rows and columns of all scales."""
    m, n = 330, 40
    power = 30 if kind_of(dtype)[1] == "float32" else 250
    a = draw(rng, (5, m, 4), dtype) @ draw(rng, (5, 4, n), dtype)
    a[1] = 0
    a[1, 7] = 1
    a[2, 20:] = 0
    a[3] = draw(rng, (m, n), dtype) * np.logspace(power / 1.5, -power / 1.5, m)[:, None]
    a[4] = draw(rng, (m, n), dtype) * np.logspace(-power / 1.5, power / 1.5, m)[:, None]
    check(be, a, False)
    for scale in (10.0**power, 10.0**-power, np.logspace(-power / 2, power / 2, n)):
        check(be, (draw(rng, (1, m, n), dtype) * scale).astype(dtype), False)
    # Products of two columns are out of range.
    large = float(np.finfo(kind_of(dtype)[1]).max) / 300
    check(be, (draw(rng, (1, m, n), dtype) * large / 5).astype(dtype), False)


@pytest.mark.parametrize("dtype", TYPES)
def test_tall_and_complete(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    check(be, draw(rng, (2, 270, 37), dtype), True)


@pytest.mark.parametrize("dtype", TYPES)
def test_without_full_rank(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    a = draw(rng, (3, 40, 4), dtype) @ draw(rng, (3, 4, 20), dtype)
    a[1] = 0
    a[2, :, 5:] = a[2, :, :1]
    check(be, a, False)


@pytest.mark.parametrize("dtype", TYPES)
def test_of_all_scales(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    power = 30 if kind_of(dtype)[1] == "float32" else 250
    for scale in (10.0**power, 10.0**-power, np.logspace(power / 1.5, -power / 1.5, 40)[:, None]):
        check(be, (draw(rng, (1, 40, 30), dtype) * scale).astype(dtype), False)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_columns_of_one_number(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    """What has a triangle already becomes one with a real diagonal."""
    a = np.triu(draw(rng, (2, 20, 20), dtype))
    check(be, a, False)
    found = factor(be, a)
    if found:
        assert not np.diagonal(found[1], axis1=-2, axis2=-1).imag.any()


@pytest.mark.parametrize("dtype", TYPES)
def test_not_finite(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    for m, value in ((40, np.nan), (300, np.nan), (300, np.inf)):
        a = draw(rng, (2, m, 20), dtype)
        a[0, m - 10, 3] = value
        found = factor(be, a)
        if found:
            assert np.isnan(found[1][0]).any() and np.isfinite(found[1][1]).all()


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    from .factorisations import draw as matrices

    m, n, batch = draw.size_or_zero(60), draw.size_or_zero(60), draw.size_or_zero(3)
    complete = bool(draw.below(2))
    k = min(m, n)
    columns = m if complete else k
    dtype = drawn_dtype(draw)
    is_complex, real = kind_of(dtype)
    # Away from what has no full rank, so that the factors are what exact ones round to.
    a = matrices(draw.rng, (batch, m, n), dtype) / 8 + np.eye(m, n) * max(m, n, 1) ** 0.5
    a = a.astype(dtype)
    sides = np.linalg.qr(wide(a), "complete" if complete else "reduced")
    empty = k == 0 or batch == 0
    q, r = room(draw, (batch, m, columns), dtype), room(draw, (batch, columns, n), dtype)
    values = {
        "a": operand(draw, a),
        "q": q,
        "r": r,
        "m": m,
        "n": n,
        "batch": batch,
        "complete": complete,
        "is_complex": is_complex,
        "dtype": real,
    }
    # Columns of a complete Q beyond k are not determined.
    near = 1e4 * float(np.finfo(real).eps)
    whole = 2.0 if complete and m > n else near
    results = [
        fuzz.Result(q, parts(sides[0]), whole, parts),
        fuzz.Result(r, parts(sides[1]), near, parts),
    ]
    return fuzz.Call(name, values, [] if empty else results, empty=empty)
