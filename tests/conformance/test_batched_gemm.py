from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright import Backend

from .products import TRANSPOSES, TYPES, Product
from .workspace import Workspace, integers


def batched_gemm(be: Backend) -> Any:
    def call(p: Product, a: Any, b: Any, c: Any) -> None:
        be.batched_gemm(
            *p.sizes(), a, p.ld("a"), b, p.ld("b"), p.beta, c, p.ld("c"),
            p.stride("a"), p.stride("b"), p.stride("c"), p.count, p.dtype, p.output_dtype,
        )  # fmt: skip

    return call


@pytest.mark.essential
@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("trans_b", TRANSPOSES)
@pytest.mark.parametrize("trans_a", TRANSPOSES)
@pytest.mark.parametrize("shared", [(False, False), (True, False), (False, True), (True, True)])
def test_every_layout(
    be: Backend,
    rng: np.random.Generator,
    trans_a: str,
    trans_b: str,
    types: tuple[str, str],
    shared: tuple[bool, bool],
) -> None:
    for count, m, n, k in [(1, 3, 17, 5), (3, 17, 13, 23), (17, 33, 1, 65), (2, 129, 65, 33)]:
        with Workspace(be) as ws:
            Product(
                m, n, k, trans_a, trans_b, 0.5, -1.0, *types, 3, 1, 2,
                count=count, gap=5, share_a=shared[0], share_b=shared[1],
            ).check(ws, rng, batched_gemm(be))  # fmt: skip


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("count", [257, 65537])
def test_many_small_products(
    ws: Workspace, rng: np.random.Generator, count: int, types: tuple[str, str]
) -> None:
    Product(3, 1, 5, "none", "none", 1.0, 0.0, *types, count=count, gap=1, numbers=integers).check(
        ws, rng, batched_gemm(ws.be), exactly=True
    )


@pytest.mark.parametrize("types", TYPES)
def test_beta_zero_does_not_read_c(
    ws: Workspace, rng: np.random.Generator, types: tuple[str, str]
) -> None:
    Product(17, 5, 3, "none", "none", 1.0, 0.0, *types, 1, 1, 1, 4, 3, c_is=np.nan).check(
        ws, rng, batched_gemm(ws.be)
    )


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize(
    ("count", "m", "n", "k"), [(0, 3, 5, 7), (3, 0, 5, 7), (3, 5, 0, 7), (3, 5, 7, 0)]
)
def test_empty_products(
    ws: Workspace, rng: np.random.Generator, count: int, m: int, n: int, k: int,
    types: tuple[str, str],
) -> None:  # fmt: skip
    Product(m, n, k, "none", "none", 1.0, -2.0, *types, count=count, gap=2).check(
        ws, rng, batched_gemm(ws.be)
    )


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_same_request_same_bits(ws: Workspace, rng: np.random.Generator, dtype: str) -> None:
    p = Product(33, 17, 65, dtype=dtype, output_dtype=dtype, count=9)
    a, b = ws.input(p.flat(rng, "a", dtype)), ws.input(p.flat(rng, "b", dtype))
    results = []
    for _ in range(5):
        c = ws.room(33 * 17 * 9, dtype)
        batched_gemm(ws.be)(p, a, b, c)
        results.append(ws.read(c).tobytes())
    assert len(set(results)) == 1
