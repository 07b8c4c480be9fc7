"""gemm of int8 and uint8 into int32: exact, and sums wrap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright import Backend, InvalidArgument, _core

from .products import TRANSPOSES
from .workspace import Workspace

SHAPES = [
    (1, 1, 1),
    (1, 5, 3),
    (3, 1, 17),
    (17, 13, 23),
    (64, 64, 64),
    (65, 67, 130),
    (129, 130, 33),
    (5, 257, 4),
    (128, 128, 96),
    (300, 20, 16),
    (2, 3, 5000),
    (33, 64, 4096),
    (4, 4, 0),
]
DTYPES = ["int8", "uint8"]


def whole(rng: np.random.Generator, dtype: str, *shape: int) -> Any:
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype, endpoint=True)


def product(
    be: Backend, rng: np.random.Generator, dtype: str, trans_a: str, trans_b: str,
    sizes: tuple[int, int, int], pad: int = 0, beta: int = 0, count: int = 1,
    shared: bool = False,
) -> None:  # fmt: skip
    m, n, k = sizes
    rows_a, cols_a = (k, m) if trans_a != "none" else (m, k)
    rows_b, cols_b = (n, k) if trans_b != "none" else (k, n)
    a = whole(rng, dtype, count, rows_a, cols_a + pad)
    b = whole(rng, dtype, 1 if shared else count, rows_b, cols_b + 2 * pad)
    c = rng.integers(-(2**31), 2**31, (count, m, n + 3 * pad), np.int32)
    left, right = a[..., :cols_a].astype(np.int64), b[..., :cols_b].astype(np.int64)
    left = left.mT if trans_a != "none" else left
    right = right.mT if trans_b != "none" else right
    expected = c.copy()
    sums = left @ right + beta * c[..., :n].astype(np.int64)
    expected[..., :n] = sums.astype(np.int32)
    with Workspace(be) as ws:
        x, y, z = ws.input(a), ws.input(b), ws.output(c)
        be.batched_gemm(
            trans_a, trans_b, m, n, k, 1.0, x, cols_a + pad, rows_a * (cols_a + pad), y,
            cols_b + 2 * pad, 0 if shared else rows_b * (cols_b + 2 * pad), float(beta), z,
            n + 3 * pad, m * (n + 3 * pad), count, dtype,
        )  # fmt: skip
        np.testing.assert_array_equal(ws.read(z), expected)


@pytest.mark.essential
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("trans_b", TRANSPOSES)
@pytest.mark.parametrize("trans_a", TRANSPOSES)
@pytest.mark.parametrize(("pad", "beta"), [(0, 0), (0, 1), (1, 0), (3, 1)])
def test_every_layout(
    be: Backend, rng: np.random.Generator, dtype: str, trans_a: str, trans_b: str, pad: int,
    beta: int,
) -> None:  # fmt: skip
    for sizes in SHAPES:
        product(be, rng, dtype, trans_a, trans_b, sizes, pad, beta)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("sizes", [(33, 20, 48), (5, 3, 2), (64, 128, 512), (7, 9, 2100)])
def test_batches(
    be: Backend, rng: np.random.Generator, dtype: str, shared: bool, sizes: tuple[int, int, int]
) -> None:
    for beta in (0, 1):
        product(be, rng, dtype, "none", "transpose", sizes, 0, beta, 3, shared)
        product(be, rng, dtype, "none", "none", sizes, 4, beta, 2, shared)


@pytest.mark.parametrize("dtype", DTYPES)
def test_many_tiles(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    choices = _core._choices_of(be)
    try:
        # On matrix units many of the smallest: the largest take a software GPU's compiler minutes.
        if choices is not None:
            choices.force("gemm_bytes_matrix", "32x32")
        product(be, rng, dtype, "none", "none", (2300, 2052, 36))
        product(be, rng, dtype, "none", "transpose", (1060, 2052, 68))
        product(be, rng, dtype, "transpose", "transpose", (1030, 4100, 16))
    finally:
        if choices is not None:
            choices.force("gemm_bytes_matrix", "")


def test_sums_wrap(be: Backend) -> None:
    k = 140_000
    least = np.full((1, k), -128, np.int8)
    with Workspace(be) as ws:
        x, c = ws.input(least), ws.room(1, np.int32)
        be.gemm("none", "transpose", 1, 1, k, 1, x, k, x, k, 0, c, 1, "int8", "int32")
        expected = np.array([k * 128 * 128]).astype(np.int32)
        np.testing.assert_array_equal(ws.read(c), expected)


def test_views_between_words(be: Backend, rng: np.random.Generator) -> None:
    """Rows that start and end within words read nothing of their neighbours."""
    for k in (1, 2, 3, 5, 31, 33):
        product(be, rng, "int8", "none", "transpose", (9, 7, k), 1)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"alpha": 0.5}, "^gemm: alpha is 0.5, expected 1 for int8 inputs"),
        ({"beta": 2.0}, "^gemm: beta is 2, expected 0 or 1 for int8 inputs"),
        ({"to": "float32"}, "^gemm: output_dtype is float32, expected int32 for int8 inputs"),
        ({"to": "int8"}, "^gemm: output_dtype is int8, expected int32 for int8 inputs"),
    ],
)
def test_what_integers_may_not(be: Backend, changed: dict[str, Any], message: str) -> None:
    x = {"alpha": 1.0, "beta": 0.0, "to": "int32", **changed}
    with Workspace(be) as ws:
        a, c = ws.input(np.ones(4, np.int8)), ws.output(np.ones(4, np.int32))
        with pytest.raises(InvalidArgument, match=message):
            be.gemm(
                "none", "none", 2, 2, 2, x["alpha"], a, 2, a, 2, x["beta"], c, 2, "int8", x["to"]
            )


def test_supports(be: Backend) -> None:
    for dtype in DTYPES:
        assert be.supports("gemm", dtype, to="int32")
        assert be.supports("batched_gemm", dtype)
        assert not be.supports("gemm", dtype, to="float32")
    assert not be.supports("gemm", "int16")
