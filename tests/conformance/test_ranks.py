"""Shapes of as many dimensions as NumPy's may have."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright as tw

from .workspace import Array, Workspace, normal

MANY = (1, 2, 1, 3, 2, 1, 1, 2, 2, 1, 3, 1, 2)
MOST = (1,) * 30 + (5,) + (1,) * 32 + (3,)


def few(x: Array, axis: int) -> Array:
    """[outer, length, inner] around the axis, which NumPy takes whatever the rank."""
    shape = MANY if x.size == np.prod(MANY) else MOST
    return x.reshape(int(np.prod(shape[:axis])), shape[axis], -1)


@pytest.mark.parametrize(("shape", "axes"), [(MANY, (0, 4, 12)), (MOST, (30, 63, 5))])
def test_ops_along_an_axis(
    ws: Workspace, rng: np.random.Generator, shape: tuple[int, ...], axes: tuple[int, ...]
) -> None:
    x = normal(rng, int(np.prod(shape)), "float32")
    for axis in axes:
        for at in (axis, axis - len(shape)):
            out = ws.room(x.shape, "float32")
            ws.be.softmax(ws.input(x), out, shape, at)
            powers = np.exp(few(x, axis).astype(np.float64))
            expected = powers / powers.sum(1, keepdims=True)
            np.testing.assert_allclose(ws.read(out), expected.ravel(), rtol=1e-5)
            summed = few(x, axis).astype(np.float64).sum(1).ravel()
            result = ws.room(summed.shape, "float32")
            ws.be.reduce("sum", ws.input(x), result, shape, at)
            np.testing.assert_allclose(ws.read(result), summed, rtol=1e-5, atol=1e-5)


def broadcast_add(ws: Workspace, a: Array, b: Array) -> Array:
    a, b = np.broadcast_arrays(a, b)
    out = ws.room(a.size, "float32")
    strides = [[stride // 4 for stride in one.strides] for one in (a, b)]
    whole = [
        np.ascontiguousarray(one[tuple(slice(0, 1 if s == 0 else None) for s in one.strides)])
        for one in (a, b)
    ]
    ws.be.binary_broadcast(
        "add", ws.input(whole[0].ravel()), strides[0], ws.input(whole[1].ravel()), strides[1],
        out, a.shape,
    )  # fmt: skip
    return ws.read(out).reshape(a.shape)


def test_broadcasting_what_merges(ws: Workspace, rng: np.random.Generator) -> None:
    a, b = normal(rng, MANY, "float32"), normal(rng, MANY[6:], "float32")
    np.testing.assert_array_equal(broadcast_add(ws, a, b), a + b)
    np.testing.assert_array_equal(broadcast_add(ws, b, a), a + b)


@pytest.mark.parametrize("rank", [8, 9, 16])
def test_broadcasting_what_does_not(ws: Workspace, rank: int) -> None:
    a_shape = tuple(2 - axis % 2 for axis in range(rank))
    b_shape = tuple(1 + axis % 2 for axis in range(rank))
    a = np.arange(np.prod(a_shape), dtype=np.float32).reshape(a_shape)
    b = np.arange(np.prod(b_shape), dtype=np.float32).reshape(b_shape)
    np.testing.assert_array_equal(broadcast_add(ws, a, b), a + b)


#: of nine dimensions that do not join, the output's
MIXED = (2, 3, 2, 2, 3, 2, 2, 3, 2)


@pytest.mark.parametrize("in_place", [False, True], ids=["apart", "in place"])
@pytest.mark.parametrize("op", ["sub", "div", "min", "pow"])
def test_every_op_of_many_dimensions(
    ws: Workspace, rng: np.random.Generator, op: str, in_place: bool, dtype: str
) -> None:
    """The order of the operands counts; the first may be the output."""
    b_shape = tuple(size if axis % 2 else 1 for axis, size in enumerate(MIXED))
    a = rng.uniform(0.5, 2, MIXED).astype(dtype)
    b = rng.uniform(0.5, 2, b_shape).astype(dtype)
    if op == "min":
        a.flat[5], b.flat[3] = np.nan, np.nan
    strides = [
        [
            step // x.itemsize if size > 1 else 0
            for step, size in zip(x.strides, x.shape, strict=True)
        ]
        for x in (a, b)
    ]
    out = ws.output(a) if in_place else ws.room(a.shape, dtype)
    ws.be.binary_broadcast(
        op, out if in_place else ws.input(a), strides[0], ws.input(b), strides[1], out, MIXED, dtype
    )
    function = {"sub": np.subtract, "div": np.divide, "min": np.minimum, "pow": np.power}[op]
    expected = function(a.astype(np.float64), b.astype(np.float64))
    np.testing.assert_allclose(ws.read(out), expected, rtol=1e-5 if dtype == "float32" else 2e-3)


def test_arrays_of_many_dimensions(be: tw.Backend) -> None:
    host = np.arange(np.prod(MANY), dtype=np.float32).reshape(MANY)
    x = be.array(host)
    np.testing.assert_array_equal((x + host[:, :1]).numpy(), host + host[:, :1])
    np.testing.assert_array_equal(be.sum(x, axis=(1, 3, 12)).numpy(), host.sum((1, 3, 12)))
    np.testing.assert_array_equal(
        be.matmul(x, np.ones((2, 3), np.float32)).numpy(), host @ np.ones((2, 3), np.float32)
    )
    assert be.max(x.reshape((1,) * 12 + (-1,))).item() == host.size - 1
