"""The cases of the contract, with the numbers as it gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .workspace import Array, Workspace


def f(values: Any, dtype: str) -> Array:
    return np.array(values, dtype)


def test_gemm_of_1_to_6_and_7_to_12(ws: Workspace, dtype: str) -> None:
    a, b = ws.input(f(range(1, 7), dtype)), ws.input(f(range(7, 13), dtype))
    c = ws.room(4, dtype)
    ws.be.gemm("none", "none", 2, 2, 3, 1.0, a, 3, b, 2, 0.0, c, 2, dtype)
    assert ws.read(c).tolist() == [58, 64, 139, 154]


def test_gemm_with_alpha_and_beta(ws: Workspace, dtype: str) -> None:
    eye, c = ws.input(np.eye(2, dtype=dtype)), ws.output(np.ones(4, dtype))
    ws.be.gemm("none", "none", 2, 2, 2, 2.0, eye, 2, eye, 2, 3.0, c, 2, dtype)
    assert ws.read(c).tolist() == [5, 3, 3, 5]


@pytest.mark.parametrize("trans_a", ["none", "transpose"])
@pytest.mark.parametrize("trans_b", ["none", "transpose"])
def test_transposes_larger_than_a_tile(
    ws: Workspace, rng: np.random.Generator, trans_a: str, trans_b: str, dtype: str
) -> None:
    a = rng.integers(-3, 4, (17, 23)).astype(dtype)
    b = rng.integers(-3, 4, (23, 13)).astype(dtype)
    stored_a = a if trans_a == "none" else a.T
    stored_b = b if trans_b == "none" else b.T
    c = ws.room((17, 13), dtype)
    ws.be.gemm(
        trans_a, trans_b, 17, 13, 23, 1.0,
        ws.input(stored_a), stored_a.shape[1], ws.input(stored_b), stored_b.shape[1],
        0.0, c, 13, dtype,
    )  # fmt: skip
    np.testing.assert_array_equal(ws.read(c), a.astype(np.float64) @ b.astype(np.float64))


def test_padded_leading_dimensions(ws: Workspace, dtype: str) -> None:
    a = f([1, 2, 3, -1, 4, 5, 6, -1], dtype)
    b = f([7, 8, -1, -1, 9, 10, -1, -1, 11, 12, -1, -1], dtype)
    c = ws.output(np.full(6, -7, dtype))
    ws.be.gemm("none", "none", 2, 2, 3, 1.0, ws.input(a), 4, ws.input(b), 4, 0.0, c, 3, dtype)
    assert ws.read(c).tolist() == [58, 64, -7, 139, 154, -7]


@pytest.mark.parametrize("ld", [(2, 2, 2), (3, 1, 2), (3, 2, 1)])
def test_leading_dimensions_that_are_too_small(
    ws: Workspace, ld: tuple[int, int, int], dtype: str
) -> None:
    a, b, c = ws.input(np.ones(6, dtype)), ws.input(np.ones(6, dtype)), ws.output(np.ones(4, dtype))
    with pytest.raises(ValueError, match=r"ld[abc] is"):
        ws.be.gemm("none", "none", 2, 2, 3, 1.0, a, ld[0], b, ld[1], 0.0, c, ld[2], dtype)
    assert ws.read(c).tolist() == [1, 1, 1, 1]


def test_batched_identity(ws: Workspace, dtype: str) -> None:
    eyes = np.stack([np.eye(5, dtype=dtype)] * 3)
    x = np.arange(75).reshape(3, 5, 5).astype(dtype)
    c = ws.room(x.shape, dtype)
    ws.be.batched_gemm(
        "none", "none", 5, 5, 5, 1.0, ws.input(eyes), 5, 25, ws.input(x), 5, 25, 0.0, c, 5, 25, 3,
        dtype,
    )  # fmt: skip
    np.testing.assert_array_equal(ws.read(c), x)


def conv3x3(ws: Workspace, x: Array, pad: int) -> Array:
    side = x.shape[0]
    out = side + 2 * pad - 2
    y = ws.room((out, out), x.dtype)
    w = ws.input(np.ones(9, x.dtype))
    ws.be.conv2d_forward(
        ws.input(x), [1, 1, side, side], w, [1, 1, 3, 3], y, [1, 1, out, out], [1, 1], [pad, pad],
        dtype=x.dtype.name,
    )  # fmt: skip
    return ws.read(y)


def test_conv_of_0_to_15_by_ones(ws: Workspace, dtype: str) -> None:
    x = np.arange(16).reshape(4, 4).astype(dtype)
    assert conv3x3(ws, x, 0).ravel().tolist() == [45, 54, 81, 90]


def test_conv_with_padding(ws: Workspace, dtype: str) -> None:
    y = conv3x3(ws, np.arange(1, 10).reshape(3, 3).astype(dtype), 1)
    assert y[1, 1] == 45
    assert y[0, 0] == 12


def attention(
    ws: Workspace, q: Array, k: Array, v: Array, scale: float = 1.0, causal: bool = False
) -> Array:
    o = ws.room(q.shape, q.dtype)
    ws.be.attention(
        ws.input(q), ws.input(k), ws.input(v), o, 1, 1, q.shape[0], k.shape[0], q.shape[1],
        scale, causal, dtype=q.dtype.name,
    )  # fmt: skip
    return ws.read(o)


def test_attention_with_equal_scores_averages_v(ws: Workspace, dtype: str) -> None:
    q, k = np.ones((2, 4), dtype), np.ones((4, 4), dtype)
    v = np.arange(16).reshape(4, 4).astype(dtype)
    np.testing.assert_array_equal(attention(ws, q, k, v), [[6, 7, 8, 9]] * 2)


def test_causal_attention_with_one_key_returns_it(ws: Workspace, dtype: str) -> None:
    v = f([[1, -2, 3, 0.5]], dtype)
    q, k = f([[5, 1, 2, 3]], dtype), f([[1, 1, 1, -4]], dtype)
    np.testing.assert_array_equal(attention(ws, q, k, v, causal=True), v)


def test_a_dominant_key_takes_all(ws: Workspace, dtype: str) -> None:
    k = np.zeros((5, 4), dtype)
    k[3] = 100
    v = np.arange(20).reshape(5, 4).astype(dtype)
    np.testing.assert_array_equal(attention(ws, np.ones((1, 4), dtype), k, v), v[3:4])


def reduce(ws: Workspace, op: str, x: Array, axis: int = 0) -> Array:
    out = ws.room(x.shape[:axis] + x.shape[axis + 1 :], x.dtype)
    ws.be.reduce(op, ws.input(x), out, list(x.shape), axis, x.dtype.name)
    return ws.read(out)


def test_reductions_of_small_arrays(ws: Workspace, dtype: str) -> None:
    x = f([3, -1, 4, 1], dtype)
    for op, expected in (("sum", 7), ("max", 4), ("min", -1), ("mean", 1.75)):
        assert reduce(ws, op, x) == expected


@pytest.mark.parametrize("n", [65_537, 10_000_000])
def test_reductions_of_long_arrays(ws: Workspace, n: int) -> None:
    x = np.ones(n, np.float32)
    x[n // 3], x[n - 1] = 5, -3
    for op, expected in (("sum", n), ("max", 5), ("min", -3), ("mean", 1)):
        assert reduce(ws, op, x) == expected


@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_every_axis_of_every_rank(ws: Workspace, rank: int, dtype: str) -> None:
    shape = (2, 3, 4, 5, 2)[:rank]
    x = (np.arange(np.prod(shape)) % 7 - 3).reshape(shape).astype(dtype)
    for axis in range(rank):
        for op in ("sum", "max", "min"):
            expected = getattr(x.astype(np.float64), op)(axis)
            np.testing.assert_array_equal(reduce(ws, op, x, axis), expected)
        mean = x.astype(np.float64).mean(axis)
        np.testing.assert_allclose(reduce(ws, "mean", x, axis), mean, rtol=1e-3, atol=0)


def test_zero_sizes(ws: Workspace, dtype: str) -> None:
    """Nothing to do is done without a word, and nothing is written."""
    some, out = ws.input(np.ones(4, dtype)), ws.output(np.full(4, 9, dtype))
    be = ws.be
    be.gemm("none", "none", 0, 2, 2, 1.0, some, 2, some, 2, 0.0, out, 2, dtype)
    be.matmul_vec(some, 0, 2, some, out, dtype)
    be.unary("exp", some, out, 0, dtype)
    be.binary("add", some, some, out, 0, dtype)
    be.binary_broadcast("add", some, [1, 1], some, [1, 1], out, [0, 2], dtype)
    be.reduce("sum", some, out, [2, 0], 0, dtype)
    be.softmax(some, out, [0, 2], 1, dtype)
    be.rmsnorm(some, some, out, 0, 4, 1e-5, dtype)
    be.layer_norm(some, some, some, out, 0, 4, 1e-5, dtype)
    be.cast(some, dtype, out, "float32", 0)
    be.copy_dtod(out, some, 0)
    be.copy_htod(out, b"")
    assert ws.read(out).tolist() == [9] * 4


@pytest.mark.parametrize("n", [1, 3, 5, 255, 257, 1021])
def test_sizes_that_are_no_multiple_of_4_or_256(ws: Workspace, n: int, dtype: str) -> None:
    x = (np.arange(n) % 100).astype(dtype)
    out = ws.room(n, dtype)
    ws.be.unary("neg", ws.input(x), out, n, dtype)
    np.testing.assert_array_equal(ws.read(out), -x)
    if n > 1:
        assert reduce(ws, "max", x) == x.max()


def test_more_than_65535_workgroups(ws: Workspace) -> None:
    """More rows, and more elements, than a grid of 65,535 groups has in one dimension."""
    n = 65_536 * 256 + 77
    x = np.arange(n, dtype=np.float32)
    buffer, out = ws.input(x), ws.room(n)
    ws.be.binary("add", buffer, buffer, out, n)
    np.testing.assert_array_equal(ws.read(out), x + x)
    rows = np.arange(2 * 70_000, dtype=np.float32).reshape(70_000, 2)
    np.testing.assert_array_equal(reduce(ws, "sum", rows, 1), rows.sum(1))
    np.testing.assert_array_equal(reduce(ws, "max", rows, 0), rows.max(0))
