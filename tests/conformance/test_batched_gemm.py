from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright import Backend

from .products import DOUBLE, TRANSPOSES, TYPES, Product
from .workspace import Workspace, integers


def batched_gemm(be: Backend) -> Any:
    def call(p: Product, a: Any, b: Any, c: Any) -> None:
        be.batched_gemm(
            *p.sizes(), a, p.ld("a"), p.stride("a"), b, p.ld("b"), p.stride("b"),
            p.beta, c, p.ld("c"), p.stride("c"), p.count, p.dtype, p.output_dtype,
        )  # fmt: skip

    return call


@pytest.mark.sampled(20)
@pytest.mark.essential
@pytest.mark.parametrize("types", [*TYPES, DOUBLE])
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


def test_the_order_of_the_arguments(ws: Workspace, dtype: str) -> None:
    """Each matrix's stride stands behind its leading dimension. No two of these are alike."""
    a = ws.input(np.array([1, 2, 3, -1, -1, 4, 5, 6], dtype))
    b = ws.input(np.array([7, 8, -1, 9, 10, -1, 11, 12], dtype))
    by_position, by_name = (ws.output(np.full(7, -7, dtype)) for _ in range(2))
    ws.be.batched_gemm(
        "none", "none", 1, 2, 3, 2.0, a, 4, 5, b, 3, 0, 3.0, by_position, 6, 5, 2, dtype
    )
    ws.be.batched_gemm(
        trans_a="none", trans_b="none", m=1, n=2, k=3, alpha=2.0, a=a, lda=4, stride_a=5,
        b=b, ldb=3, stride_b=0, beta=3.0, c=by_name, ldc=6, stride_c=5, batch_count=2, dtype=dtype,
    )  # fmt: skip
    for c in (by_position, by_name):
        assert ws.read(c).tolist() == [116 - 21, 128 - 21, -7, -7, -7, 278 - 21, 308 - 21]


@pytest.mark.parametrize("types", [*TYPES, DOUBLE])
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
