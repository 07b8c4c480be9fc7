from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tilewright import Backend

from .products import DOUBLE, TRANSPOSES, TYPES, Product
from .workspace import Workspace, integers

SHAPES = [
    (1, 1, 1),
    (3, 1, 17),
    (1, 257, 3),
    (17, 13, 23),
    (64, 64, 64),
    (129, 65, 33),
    (257, 3, 1),
    (3, 257, 17),
    (257, 257, 257),
]

LONG_SHAPES = [
    (65537, 1, 3),
    (1, 65537, 17),
    (65537, 17, 1),
    (3, 1, 65537),
    (17, 3, 65537),
    (1, 1, 65537),
]


def gemm(be: Backend) -> Any:
    def call(p: Product, a: Any, b: Any, c: Any) -> None:
        be.gemm(
            *p.sizes(), a, p.ld("a"), b, p.ld("b"), p.beta, c, p.ld("c"), p.dtype, p.output_dtype
        )

    return call


@pytest.mark.sampled(20)
@pytest.mark.essential
@pytest.mark.parametrize("types", [*TYPES, DOUBLE])
@pytest.mark.parametrize("trans_b", TRANSPOSES)
@pytest.mark.parametrize("trans_a", TRANSPOSES)
@pytest.mark.parametrize("padding", [(0, 0, 0), (1, 7, 5)])
def test_every_layout(
    be: Backend,
    rng: np.random.Generator,
    trans_a: str,
    trans_b: str,
    types: tuple[str, str],
    padding: tuple[int, int, int],
) -> None:
    for m, n, k in SHAPES:
        with Workspace(be) as ws:
            Product(m, n, k, trans_a, trans_b, 1.0, 0.0, *types, *padding).check(ws, rng, gemm(be))


@pytest.mark.sampled(20)
@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("shape", LONG_SHAPES)
@pytest.mark.parametrize("trans", [("none", "none"), ("transpose", "transpose")])
def test_long_shapes(
    ws: Workspace,
    rng: np.random.Generator,
    trans: tuple[str, str],
    shape: tuple[int, int, int],
    types: tuple[str, str],
) -> None:
    Product(*shape, *trans, 1.0, 0.0, *types).check(ws, rng, gemm(ws.be))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("m", [1, 2, 5, 8, 9, 33, 64])
@pytest.mark.parametrize("trans", [("none", "none"), ("transpose", "none"), ("none", "transpose")])
def test_few_rows_of_a_large_matrix(
    be: Backend, rng: np.random.Generator, m: int, trans: tuple[str, str], types: tuple[str, str]
) -> None:
    for n, k in [(2053, 1031), (257, 4099)]:
        with Workspace(be) as ws:
            Product(m, n, k, *trans, 0.3, -0.7, *types, 3, 2, 1).check(ws, rng, gemm(be))


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("k", [29, 67])
def test_few_by_few(be: Backend, rng: np.random.Generator, k: int, types: tuple[str, str]) -> None:
    """Rows and columns that no tile divides, along columns and, of so many rows, not."""
    for m in (1, 2, 3, 5, 6, 7, 8):
        for n in (1, 2, 3, 5, 6, 7):
            with Workspace(be) as ws:
                Product(m, n, k, "none", "transpose", 0.3, -0.7, *types, 3, 2, 1).check(
                    ws, rng, gemm(be)
                )


@pytest.mark.parametrize("types", [*TYPES, DOUBLE])
@pytest.mark.parametrize("alpha", [0.0, 1.0, -1.0, 0.3, 2.0])
@pytest.mark.parametrize("beta", [0.0, 1.0, -0.7])
def test_alpha_and_beta(
    be: Backend, rng: np.random.Generator, alpha: float, beta: float, types: tuple[str, str]
) -> None:
    for m, n, k in [(3, 17, 5), (65, 33, 129)]:
        with Workspace(be) as ws:
            Product(m, n, k, "none", "transpose", alpha, beta, *types, 3, 2, 1).check(
                ws, rng, gemm(be)
            )


@pytest.mark.essential
@pytest.mark.parametrize("types", [*TYPES, DOUBLE])
@pytest.mark.parametrize("shape", [(17, 13, 23), (257, 257, 257), (3, 5, 65537)])
def test_integers_are_exact(
    ws: Workspace, rng: np.random.Generator, shape: tuple[int, int, int], types: tuple[str, str]
) -> None:
    """No term may be lost or counted twice, however many there are."""
    Product(*shape, "none", "none", 1.0, 1.0, *types, numbers=integers).check(
        ws, rng, gemm(ws.be), exactly=True
    )


@pytest.mark.parametrize("types", [*TYPES, DOUBLE])
@pytest.mark.parametrize("k", [0, 3, 257])
@pytest.mark.parametrize("old", [np.nan, np.inf])
def test_beta_zero_does_not_read_c(
    ws: Workspace, rng: np.random.Generator, types: tuple[str, str], k: int, old: float
) -> None:
    Product(17, 5, k, "none", "none", 1.0, 0.0, *types, 1, 1, 1, c_is=old).check(
        ws, rng, gemm(ws.be)
    )


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("beta", [0.0, 1.0, 0.5])
def test_alpha_zero_reads_neither_a_nor_b(
    ws: Workspace, rng: np.random.Generator, types: tuple[str, str], beta: float
) -> None:
    p = Product(17, 5, 3, "none", "none", 0.0, beta, *types)
    a, b = (np.full(p.flat(rng, name, types[0]).shape, np.nan, types[0]) for name in "ab")
    c = rng.standard_normal(17 * 5).astype(types[1])
    out = ws.output(c)
    gemm(ws.be)(p, ws.input(a), ws.input(b), out)
    assert (ws.read(out) == (beta * c).astype(types[1])).all()


@pytest.mark.parametrize("types", [*TYPES, DOUBLE])
@pytest.mark.parametrize("beta", [0.0, 1.0, -2.0])
def test_without_terms_c_is_only_scaled(
    ws: Workspace, rng: np.random.Generator, types: tuple[str, str], beta: float
) -> None:
    Product(17, 5, 0, "none", "none", 1.0, beta, *types, 0, 0, 3).check(ws, rng, gemm(ws.be))


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("shape", [(0, 3, 5), (3, 0, 5), (0, 0, 0), (0, 65537, 0)])
def test_an_empty_product_does_nothing(
    ws: Workspace, rng: np.random.Generator, shape: tuple[int, int, int], types: tuple[str, str]
) -> None:
    Product(*shape, "none", "none", 1.0, 0.0, *types).check(ws, rng, gemm(ws.be))


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("shape", [(17, 19, 33), (128, 128, 64), (2, 500, 300), (32, 32, 4096)])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_beta_of_nan_spreads(
    ws: Workspace, shape: tuple[int, int, int], alpha: float, types: tuple[str, str]
) -> None:
    m, n, k = shape
    a, b = (ws.input(np.ones(size, types[0])) for size in (m * k, k * n))
    out = ws.output(np.ones((m, n), types[1]))
    ws.be.gemm("none", "none", m, n, k, alpha, a, k, b, n, np.nan, out, n, *types)
    assert np.isnan(ws.read(out)).all()


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_special_values_spread_along_their_row_and_column(
    ws: Workspace, rng: np.random.Generator, special: float, types: tuple[str, str]
) -> None:
    a = rng.standard_normal((17, 33)).astype(types[0])
    b = rng.uniform(0.5, 1.5, (33, 19)).astype(types[0])
    a[5, 7] = special
    out = ws.room((17, 19), types[1])
    ws.be.gemm(
        "none", "none", 17, 19, 33, 1.0, ws.input(a), 33, ws.input(b), 19, 0.0, out, 19, *types
    )
    got = ws.read(out)
    np.testing.assert_array_equal(got[5], np.full(19, special, types[1]))
    assert np.isfinite(np.delete(got, 5, axis=0)).all()


def test_float16_products_are_summed_in_float32(ws: Workspace) -> None:
    """4096 ones, then 4096 times 1/64: a float16 sum would stop growing."""
    a = np.concatenate([np.ones(4096), np.full(4096, 1 / 64)]).astype(np.float16)
    b = np.ones(8192, np.float16)
    out = ws.room(1, "float32")
    ws.be.gemm(
        "none", "none", 1, 1, 8192, 1.0, ws.input(a), 8192, ws.input(b), 1, 0.0, out, 1,
        "float16", "float32",
    )  # fmt: skip
    assert ws.read(out)[0] == 4096 + 64


def test_float16_overflows_to_infinity_only_when_stored(ws: Workspace) -> None:
    a = np.array([300, 300], np.float16)
    b = np.array([300, -300], np.float16)
    out = ws.room(1, "float16")
    ws.be.gemm("none", "none", 1, 1, 2, 1.0, ws.input(a), 2, ws.input(b), 1, 0.0, out, 1, "float16")
    assert ws.read(out)[0] == 0
    ws.be.gemm("none", "none", 1, 1, 1, 1.0, ws.input(a), 2, ws.input(b), 1, 0.0, out, 1, "float16")
    assert ws.read(out)[0] == np.inf


@pytest.mark.parametrize("types", TYPES)
def test_same_request_same_bits(
    ws: Workspace, rng: np.random.Generator, types: tuple[str, str]
) -> None:
    p = Product(129, 65, 257, "none", "transpose", 1.0, 0.0, *types)
    a, b = ws.input(p.flat(rng, "a", types[0])), ws.input(p.flat(rng, "b", types[0]))
    results = []
    for _ in range(5):
        c = ws.room(129 * 65, types[1])
        gemm(ws.be)(p, a, b, c)
        results.append(ws.read(c).tobytes())
    assert len(set(results)) == 1


small = st.integers(1, 40)


@given(m=small, n=small, k=small, seed=st.integers(0, 2**32 - 1))
def test_powers_of_two_scale_exactly(be: Backend, m: int, n: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = Product(m, n, k)
    a, b = p.flat(rng, "a", "float32"), p.flat(rng, "b", "float32")
    with Workspace(be) as ws:
        once, four = ws.room(m * n), ws.room(m * n)
        left, right = ws.input(a), ws.input(b)
        gemm(be)(p, left, right, once)
        gemm(be)(Product(m, n, k, alpha=4.0), left, right, four)
        np.testing.assert_array_equal(ws.read(four), 4 * ws.read(once))


@given(
    m=small,
    n=small,
    k=small,
    trans_a=st.sampled_from(TRANSPOSES),
    trans_b=st.sampled_from(TRANSPOSES),
    types=st.sampled_from(TYPES),
    alpha=st.floats(-3, 3, width=32),
    beta=st.floats(-3, 3, width=32),
    pads=st.tuples(*[st.integers(0, 9)] * 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_request(
    be: Backend,
    m: int,
    n: int,
    k: int,
    trans_a: str,
    trans_b: str,
    types: tuple[str, str],
    alpha: float,
    beta: float,
    pads: tuple[int, int, int],
    seed: int,
) -> None:
    with Workspace(be) as ws:
        Product(m, n, k, trans_a, trans_b, alpha, beta, *types, *pads).check(
            ws, np.random.default_rng(seed), gemm(be)
        )


@given(m=small, n=small, k=small, seed=st.integers(0, 2**32 - 1))
def test_transposing_by_hand_changes_nothing(
    be: Backend, m: int, n: int, k: int, seed: int
) -> None:
    """On integers, which are exact, every way to write the same product gives the same result."""
    rng = np.random.default_rng(seed)
    a, b = integers(rng, (m, k), np.float32), integers(rng, (k, n), np.float32)
    expected = a @ b
    for trans_a in TRANSPOSES:
        for trans_b in TRANSPOSES:
            p = Product(m, n, k, trans_a, trans_b)
            stored_a = a if trans_a == "none" else a.T.copy()
            stored_b = b if trans_b == "none" else b.T.copy()
            with Workspace(be) as ws:
                c = ws.room((m, n))
                gemm(be)(p, ws.input(stored_a), ws.input(stored_b), c)
                np.testing.assert_array_equal(ws.read(c), expected)
