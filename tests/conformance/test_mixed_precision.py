"""gemm_f16 and gemm_mixed_precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright import Backend

from . import references
from .conftest import has_matrix_units
from .high_precision import check_high, mixed
from .products import TRANSPOSES, Product
from .test_gemm import gemm
from .workspace import Workspace

PRECISIONS = ["float16", "bfloat16", "high"]


def f16(be: Backend) -> Any:
    def call(p: Product, a: Any, b: Any, c: Any) -> None:
        be.gemm_f16(*p.sizes(), a, p.ld("a"), b, p.ld("b"), p.beta, c, p.ld("c"))

    return call


@pytest.mark.sampled(12)
@pytest.mark.essential
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("trans_b", TRANSPOSES)
@pytest.mark.parametrize("trans_a", TRANSPOSES)
def test_inputs_are_rounded(
    be: Backend, rng: np.random.Generator, trans_a: str, trans_b: str, precision: str
) -> None:
    for m, n, k in [(1, 1, 1), (3, 17, 5), (17, 13, 23), (65, 33, 257), (257, 3, 17)]:
        p = Product(m, n, k, trans_a, trans_b, 1.5, 0.5, pad_a=1, pad_b=2, pad_c=3)
        with Workspace(be) as ws:
            p.check(ws, rng, mixed(be, precision), rounding=precision)


@pytest.mark.parametrize("trans_a", TRANSPOSES)
def test_gemm_f16(be: Backend, rng: np.random.Generator, trans_a: str) -> None:
    for m, n, k in [(1, 1, 1), (17, 13, 23), (65, 33, 257), (3, 1, 65537)]:
        types = ("float16", "float16")
        p = Product(m, n, k, trans_a, "none", 1.5, 0.5, *types, pad_a=1, pad_b=2, pad_c=3)
        with Workspace(be) as ws:
            p.check(ws, rng, f16(be))


def test_gemm_f16_sums_in_float32(ws: Workspace) -> None:
    """In float16 the sum would stop at 2048, and pass 65504 on its way."""
    k = 4096
    rows = np.ones((2, k), np.float16)
    rows[1, : k // 2], rows[1, k // 2 :] = 60, -60
    c = ws.room(2, "float16")
    ws.be.gemm_f16(
        "none", "none", 2, 1, k, 1.0, ws.input(rows), k, ws.input(np.ones(k, np.float16)), 1,
        0.0, c, 1,
    )  # fmt: skip
    assert ws.read(c).tolist() == [4096, 0]


def one_by_one(ws: Workspace, precision: str, x: float) -> np.float32:
    """x as rounded by a product with 1."""
    out = ws.room(1)
    ws.be.gemm_mixed_precision(
        precision, "none", "none", 1, 1, 1, 1.0, ws.input(np.array([x], np.float32)), 1,
        ws.input(np.ones(1, np.float32)), 1, 0.0, out, 1,
    )  # fmt: skip
    return np.float32(ws.read(out)[0])


@pytest.mark.parametrize(
    ("precision", "x", "expected"),
    [
        ("float16", 1 + 2**-11, 1.0),  # a tie goes to even
        ("float16", 1 + 3 * 2**-11, 1 + 2**-9),
        ("float16", 1 + 2**-11 + 2**-20, 1 + 2**-10),
        ("float16", 65519.0, 65504.0),
        ("float16", 65520.0, np.inf),
        ("float16", 2**-24, 2**-24),
        ("float16", 2**-25, 0.0),
        ("bfloat16", 1 + 2**-8, 1.0),
        ("bfloat16", 1 + 3 * 2**-8, 1 + 2**-6),
        ("bfloat16", 1 + 2**-8 + 2**-20, 1 + 2**-7),
        ("bfloat16", 65520.0, 65536.0),
        ("bfloat16", 3.4e38, np.inf),
    ],
)
def test_rounding_is_to_nearest_even(
    ws: Workspace, precision: str, x: float, expected: float
) -> None:
    assert one_by_one(ws, precision, x) == np.float32(expected)
    assert one_by_one(ws, precision, -x) == -np.float32(expected)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_nan_and_infinity_stay(ws: Workspace, precision: str) -> None:
    assert np.isnan(one_by_one(ws, precision, np.nan))
    assert one_by_one(ws, precision, np.inf) == np.inf
    assert one_by_one(ws, precision, -np.inf) == -np.inf


@pytest.mark.parametrize("precision", PRECISIONS)
def test_beta_zero_and_empty_products(
    be: Backend, rng: np.random.Generator, precision: str
) -> None:
    for m, n, k in [(5, 7, 3), (5, 7, 0), (0, 7, 3), (5, 0, 3)]:
        with Workspace(be) as ws:
            Product(m, n, k, c_is=np.nan).check(ws, rng, mixed(be, precision), rounding=precision)
        with Workspace(be) as ws:
            Product(m, n, k, dtype="float16", output_dtype="float16", c_is=np.nan).check(
                ws, rng, f16(be)
            )


@pytest.mark.parametrize(("m", "n", "k"), [(33, 20, 40), (130, 72, 9), (4, 11, 257)])
def test_high_of_any_range(be: Backend, rng: np.random.Generator, m: int, n: int, k: int) -> None:
    for _ in check_high(be, rng, max(m, 8), max(n, 8), k):
        pass


def test_without_matrix_units_high_is_gemm(be: Backend, rng: np.random.Generator) -> None:
    for m, n, k in [(65, 33, 257), (129, 131, 200)]:
        # Where there are units they take only what pays.
        sizes = (m, n, k) if not has_matrix_units(be.device.id) else (5, 6, 7)
        p = Product(*sizes, "transpose", "none", 1.5, 0.5, pad_a=1, pad_c=3)
        a, b, c = (
            p.flat(rng, "a", "float32"),
            p.flat(rng, "b", "float32"),
            p.flat(rng, "c", "float32"),
        )
        results = []
        for call in (mixed(be, "high"), gemm(be)):
            with Workspace(be) as ws:
                out = ws.output(c)
                call(p, ws.input(a), ws.input(b), out)
                results.append(ws.read(out))
        np.testing.assert_array_equal(*results)


def test_the_reference_rounds_as_numpy_does(rng: np.random.Generator) -> None:
    """bfloat16 is the upper half of float32: no number lies nearer to x than its rounding."""
    x = rng.standard_normal(4096).astype(np.float32)
    rounded = references.rounded(x, "bfloat16")
    bits = rounded.view(np.uint32)
    assert (bits & 0xFFFF == 0).all()
    step = (bits + 0x10000).view(np.float32) - rounded
    assert (np.abs(x - rounded) <= np.abs(step) / 2).all()
