"""Products of float32 at precision "high": operands of any range, and what their results may be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from tilewright import Backend

from . import bounds
from .products import Product
from .workspace import Array, Workspace, keeps_subnormals, normal


def mixed(be: Backend, precision: str) -> Any:
    def call(p: Product, a: Any, b: Any, c: Any) -> None:
        be.gemm_mixed_precision(
            precision, *p.sizes(), a, p.ld("a"), b, p.ld("b"), p.beta, c, p.ld("c")
        )

    return call


def of_wide_rows(rng: np.random.Generator, m: int, n: int, k: int) -> tuple[Array, Array]:
    """Rows from 1e-38 to 1e38, by columns whose products with them stay below 1e31."""
    rows, columns = 10.0 ** np.linspace(-38, 38, m), 10.0 ** np.linspace(-38, -8, n)
    a = rng.uniform(-1, 1, (m, k)) * rows[:, None]
    b = rng.uniform(-1, 1, (k, n)) * rng.permutation(columns)
    return a.astype(np.float32), b.astype(np.float32)


def of_wide_columns(rng: np.random.Generator, m: int, n: int, k: int) -> tuple[Array, Array]:
    b, a = of_wide_rows(rng, n, m, k)
    return a.T.copy(), b.T.copy()


def of_wide_elements(rng: np.random.Generator, m: int, n: int, k: int) -> tuple[Array, Array]:
    """Each by itself from 1e-30 to 1e15, with zeros and numbers below the normal ones; a row and a
    column that have none but those."""
    a, b = (
        (normal(rng, shape, np.float64) * 10.0 ** rng.uniform(-30, 15, shape)).astype(np.float32)
        for shape in ((m, k), (k, n))
    )
    for x in (a, b):
        x[rng.random(x.shape) < 0.1] = 0
        few = rng.random(x.shape) < 0.1
        x[few] = rng.uniform(-(2.0**-126), 2.0**-126, np.count_nonzero(few))
    a[m // 2] = rng.uniform(-(2.0**-127), 2.0**-127, k)
    b[:, n // 2] = 0
    return a, b


def of_specials(rng: np.random.Generator, m: int, n: int, k: int) -> tuple[Array, Array]:
    """Infinities and NaN, each in a row or column of its own, beside zeros and beside numbers that
    are next to nothing in their lines."""
    a, b = normal(rng, (m, k), np.float32), normal(rng, (k, n), np.float32)
    a[:, 1] *= np.float32(1e-30)
    b[2] *= np.float32(1e-30)
    a[:, 3] = 0
    b[4, ::2] = 0
    a[0, 2], a[3, 4], a[5, 0], a[7, 5] = np.inf, -np.inf, np.nan, np.inf
    a[7, 6] = -np.inf
    b[1, 0], b[3, 2], b[0, 5], b[5, 7] = np.inf, -np.inf, np.nan, -np.inf
    return a, b


OPERANDS = [of_wide_rows, of_wide_columns, of_wide_elements, of_specials]


def check_operands(
    be: Backend, a: Array, b: Array, trans_a: str = "none", trans_b: str = "none"
) -> None:
    (m, k), n = a.shape, b.shape[1]
    left, right = a.astype(np.float64), b.astype(np.float64)
    stored_a = a if trans_a == "none" else a.T.copy()
    stored_b = b if trans_b == "none" else b.T.copy()
    with Workspace(be) as ws:
        c = ws.room((m, n))
        be.gemm_mixed_precision(
            "high", trans_a, trans_b, m, n, k, 1.0, ws.input(stored_a), stored_a.shape[1],
            ws.input(stored_b), stored_b.shape[1], 0.0, c, n,
        )  # fmt: skip
        got = ws.read(c)
    with np.errstate(invalid="ignore"):
        exact, magnitudes = left @ right, np.abs(left) @ np.abs(right)
        tolerance = bounds.inner_product(magnitudes, k)
        tolerance += bounds.split_product(magnitudes, left, right, k)
        if not keeps_subnormals(be):
            tiny_a, tiny_b = (np.where(np.abs(x) < 2.0**-126, np.abs(x), 0) for x in (left, right))
            tolerance += tiny_a @ np.abs(right) + np.abs(left) @ tiny_b + k * bounds.SMALLEST
    bounds.assert_within(got, exact, tolerance)


def check_high(be: Backend, rng: np.random.Generator, m: int, n: int, k: int) -> Iterator[None]:
    for operands in OPERANDS:
        for trans_a, trans_b in (("none", "none"), ("transpose", "transpose")):
            check_operands(be, *operands(rng, m, n, k), trans_a, trans_b)
            yield
