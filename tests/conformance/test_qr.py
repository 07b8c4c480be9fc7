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
    for m, n, batch in SHAPES if dtype in ("float32", "complex64") else [(40, 7, 2)]:
        check(be, draw(rng, (batch, m, n), dtype), complete)


def test_long(be: Backend, rng: np.random.Generator) -> None:
    check(be, draw(rng, (1, 600, 129), "float32"), False)


def test_without_full_rank(be: Backend, rng: np.random.Generator) -> None:
    a = draw(rng, (3, 40, 4), "float32") @ draw(rng, (3, 4, 20), "float32")
    a[1] = 0
    a[2, :, 5:] = a[2, :, :1]
    check(be, a, False)


def test_of_all_scales(be: Backend, rng: np.random.Generator) -> None:
    for scale in (1e30, 1e-30, np.geomspace(1e20, 1e-20, 40)[:, None]):
        check(be, (draw(rng, (1, 40, 30), "float32") * scale).astype("float32"), False)


def test_not_finite(be: Backend, rng: np.random.Generator) -> None:
    a = draw(rng, (2, 40, 20), "float32")
    a[0, 30, 3] = np.nan
    found = factor(be, a)
    if found:
        assert np.isnan(found[1][0]).any() and np.isfinite(found[1][1]).all()


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    m, n, batch = draw.size_or_zero(60), draw.size_or_zero(60), draw.size_or_zero(3)
    complete = bool(draw.below(2))
    k = min(m, n)
    columns = m if complete else k
    # Away from what has no full rank, so that the factors are what exact ones round to.
    a = (draw.normal((batch, m, n), "float32") / 8 + np.eye(m, n) * max(m, n, 1) ** 0.5).astype(
        "float32"
    )
    sides = np.linalg.qr(a.astype(np.float64), "complete" if complete else "reduced")
    empty = k == 0 or batch == 0
    q, r = room(draw, (batch, m, columns), "float32"), room(draw, (batch, columns, n), "float32")
    values = {
        "a": operand(draw, a),
        "q": q,
        "r": r,
        "m": m,
        "n": n,
        "batch": batch,
        "complete": complete,
        "is_complex": False,
        "dtype": "float32",
    }
    # Columns of a complete Q beyond k are not determined.
    whole = 2.0 if complete and m > n else 1e-4
    results = [fuzz.Result(q, sides[0], whole), fuzz.Result(r, sides[1], 1e-3)]
    return fuzz.Call(name, values, [] if empty else results, empty=empty)
