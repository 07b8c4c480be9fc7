"""Products of Arrays along axes, einsum, norms and padding against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend

from .arrays import VIEWS, on, same, values

EINSUM = [
    ("ij,jk->ik", [(3, 4), (4, 5)]),
    ("ij,jk", [(1, 4), (4, 5)]),
    ("ij->ji", [(3, 4)]),
    ("ii->i", [(4, 4)]),
    ("ii", [(4, 4)]),
    ("iji->j", [(4, 3, 4)]),
    ("i->", [(5,)]),
    ("ij,ij->", [(3, 4), (3, 4)]),
    ("ij,ij->i", [(3, 1), (3, 4)]),
    ("ij,jk->k", [(3, 4), (4, 5)]),
    ("i,j,k->kij", [(2,), (3,), (4,)]),
    ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
    ("bhqd,bkhd->bhqk", [(2, 3, 4, 5), (2, 6, 3, 5)]),
    ("...ij,...jk", [(2, 3, 4), (1, 4, 5)]),
    ("b...i,i->...b", [(2, 3, 4, 5), (5,)]),
    ("...,...", [(2, 3), (3,)]),
    (",ij", [(), (2, 3)]),
    ("ab,bc,cd,de", [(2, 3), (3, 4), (4, 5), (5, 2)]),
    ("abc,cd,b->ad", [(2, 3, 4), (4, 5), (3,)]),
    ("ij,jk->ik", [(0, 4), (4, 5)]),
    ("ij,jk->ik", [(3, 0), (0, 5)]),
]


@pytest.mark.parametrize(("subscripts", "shapes"), EINSUM)
def test_einsum(
    be: Backend, subscripts: str, shapes: list[tuple[int, ...]], rng: np.random.Generator
) -> None:
    for dtype in ("float32", "int32"):
        hosts = [values(rng, shape, dtype, -4, 4) for shape in shapes]
        expected = np.einsum(subscripts, *[host.astype(np.float64) for host in hosts])
        arrays = [on(be, host) for host in hosts]
        for got in (tw.einsum(subscripts, *arrays), np.einsum(subscripts, *arrays)):
            assert got.dtype == dtype and got.shape == expected.shape
            np.testing.assert_allclose(got.numpy(), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    ("subscripts", "shapes", "says"),
    [
        ("ij,jk", [(3, 4)], "2 operands, but 1 are given"),
        ("ij", [(3,)], "'ij' is for another shape than one of 1 dimensions"),
        ("i", [(3, 4)], "'i' is for another shape than one of 2 dimensions"),
        ("ij,jk", [(3, 4), (5, 6)], "'j' of 'ij,jk' is 4 long and 5 long"),
        ("i->j", [(3,)], "no operand has the 'j' of the result"),
        ("i->ii", [(3,)], "'ii' has a letter twice"),
        ("i!->i", [(3,)], "other signs than letters"),
        (3, [(3,)], "expected a string"),
    ],
)
def test_what_einsum_cannot_read(
    be: Backend, subscripts: Any, shapes: list[tuple[int, ...]], says: str
) -> None:
    arrays = [tw.zeros(shape, device=be) for shape in shapes]
    with pytest.raises(tw.InvalidArgument, match=f"^einsum: .*{says}"):
        tw.einsum(subscripts, *arrays)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "bool"])
def test_products_along_axes(be: Backend, dtype: str, rng: np.random.Generator) -> None:
    a, b = values(rng, (2, 3, 4), dtype, -3, 3), values(rng, (3, 4), dtype, -3, 3)
    x, y = on(be, a), on(be, b)

    def near(got: tw.Array, expected: Any) -> None:
        assert got.dtype == dtype and got.shape == expected.shape
        if dtype == "bool":
            expected = expected != 0
        tolerance = 2e-2 if dtype == "float16" else 1e-5
        np.testing.assert_allclose(got.numpy(), expected, rtol=tolerance, atol=tolerance)

    exact_a, exact_b = a.astype(np.float64), b.astype(np.float64)
    near(tw.vecdot(x, y), (exact_a * exact_b).sum(-1))
    near(tw.vecdot(x, y, axis=-2), (exact_a * exact_b).sum(-2))
    near(tw.vecdot(x[..., ::-1], y), (exact_a[..., ::-1] * exact_b).sum(-1))
    near(tw.tensordot(x, y), np.tensordot(exact_a, exact_b))
    near(tw.tensordot(x, y, axes=0), np.tensordot(exact_a, exact_b, axes=0))
    near(
        tw.tensordot(x, y, axes=((1, 2), (0, 1))), np.tensordot(exact_a, exact_b, ((1, 2), (0, 1)))
    )
    near(np.tensordot(x, y, axes=((2,), (1,))), np.tensordot(exact_a, exact_b, ((2,), (1,))))
    near(tw.linalg.outer(y[0], y[1]), np.outer(exact_b[0], exact_b[1]))
    near(tw.kron(y, x[0]), np.kron(exact_b, exact_a[0]))
    near(np.dot(x, y.T), np.dot(exact_a, exact_b.T))
    near(np.inner(x, y), np.inner(exact_a, exact_b))
    near(tw.dot(x[0, 0, 0], y), exact_a[0, 0, 0] * exact_b)


def test_cross_products(be: Backend, rng: np.random.Generator) -> None:
    for dtype in ("float32", "int16"):
        a, b = values(rng, (5, 3), dtype), values(rng, (1, 3), dtype)
        expected = np.cross(a, b).astype(dtype)
        near = 1e-5 if dtype == "float32" else 0
        for got in (
            tw.linalg.cross(on(be, a), on(be, b)),
            tw.linalg.cross(on(be, a).T, on(be, b).T, axis=0).T,
        ):
            assert got.dtype == dtype
            np.testing.assert_allclose(got.numpy(), expected, rtol=near, atol=near)
    assert tw.linalg.cross(tw.zeros((0, 3), device=be), tw.zeros(3, device=be)).shape == (0, 3)
    with pytest.raises(tw.InvalidArgument, match=r"x1 has 2 elements along axis -1, expected 3"):
        tw.linalg.cross(tw.zeros(2, device=be), tw.zeros(2, device=be))


@pytest.mark.parametrize("view", VIEWS)
def test_diagonals_and_traces(be: Backend, view: str, rng: np.random.Generator) -> None:
    host = values(rng, (5, 7), "int32")
    x, cut = VIEWS[view](on(be, host)), VIEWS[view](host)
    for offset in range(-6, 8):
        expected = np.diagonal(cut, offset, -2, -1)
        same(tw.linalg.diagonal(x, offset=offset), expected)
        assert tw.linalg.trace(x, offset=offset).tolist() == expected.sum(-1).tolist()
    tw.linalg.diagonal(x)[...] = 0
    assert not tw.linalg.trace(x).numpy().any()


@pytest.mark.sampled(12)
@pytest.mark.parametrize("order", [0, 0.5, 1, 2, 3, -1, np.inf, -np.inf])
def test_vector_norms(be: Backend, order: float, rng: np.random.Generator) -> None:
    for dtype in ("float32", "float16", "int8"):
        host = values(rng, (3, 4, 5), dtype, 1, 9)
        host.flat[7] = 0 if order >= 0 else 1
        x = on(be, -host)
        for axis, keepdims in ((None, False), (1, True), ((0, 2), False)):
            got = tw.linalg.vector_norm(x, axis=axis, ord=order, keepdims=keepdims)
            exact = np.abs(host.astype(np.float64))
            if order == 0:
                expected = (exact != 0).sum(axis, keepdims=keepdims)
            elif np.isinf(order):
                expected = (exact.max if order > 0 else exact.min)(axis, keepdims=keepdims)
            else:
                expected = (exact**order).sum(axis, keepdims=keepdims) ** (1 / order)
            assert got.dtype == ("float16" if dtype == "float16" else "float32")
            tolerance = 2e-3 if dtype == "float16" else 1e-5
            np.testing.assert_allclose(got.numpy(), expected, rtol=tolerance)


def test_matrix_norms_and_powers(be: Backend, rng: np.random.Generator) -> None:
    host = rng.uniform(-1, 1, (3, 4, 5)).astype(np.float32)
    for order in ("fro", 1, -1, np.inf, -np.inf):
        expected = [np.linalg.norm(one.astype(np.float64), order) for one in host]
        got = tw.linalg.matrix_norm(on(be, host), ord=order)
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-5)
        assert tw.linalg.matrix_norm(on(be, host), ord=order, keepdims=True).shape == (3, 1, 1)
    square = rng.uniform(-1, 1, (2, 4, 4)).astype(np.float32)
    for n in range(8):
        expected = np.linalg.matrix_power(square.astype(np.float64), n)
        got = tw.linalg.matrix_power(on(be, square), n)
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-4, atol=1e-4)


WIDTHS: list[tuple[tuple[int, ...], Any]] = [
    ((3, 4), 2),
    ((3, 4), ((1, 7), (0, 9))),
    ((5,), (11, 3)),
    ((1, 2), ((2, 0), (0, 5))),
    ((2, 3, 4), ((0, 1), (2, 0), (5, 5))),
    ((), 3),
]


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
def test_pad(be: Backend, mode: str, rng: np.random.Generator) -> None:
    for dtype in ("float32", "int8", "bool"):
        for shape, widths in WIDTHS:
            host = np.asarray(values(rng, shape, dtype))
            same(tw.pad(on(be, host), widths, mode), np.pad(host, widths, mode))
    host = values(rng, (3, 4), "int16")
    if mode == "constant":
        for filling in (3, (1, 2), ((1, 2), (3, 4))):
            expected = np.pad(host, ((2, 3), (0, 4)), mode, constant_values=filling)
            same(tw.pad(on(be, host), ((2, 3), (0, 4)), mode, constant_values=filling), expected)
        same(tw.pad(on(be, host[:0]), 1), np.pad(host[:0], 1))
    else:
        with pytest.raises(tw.InvalidArgument, match="has nothing along axis 0 for mode"):
            tw.pad(on(be, host[:0]), 1, mode)
    same(np.pad(on(be, host).T, (1, 5), mode=mode), np.pad(host.T, (1, 5), mode=mode))


def test_what_is_refused(be: Backend) -> None:
    x, v = tw.zeros((2, 3), device=be), tw.zeros(4, device=be)
    cases = {
        "vecdot: .* differ along axis": lambda: tw.vecdot(x, v),
        "vecdot: axis is -1": lambda: tw.vecdot(x, 3),
        r"vecdot: x1 is \[1\] .*write tw.asarray": lambda: tw.vecdot([1], 3),
        "tensordot: axes is 3": lambda: tw.tensordot(x, x, axes=3),
        "tensordot: .* differ in size": lambda: tw.tensordot(x, x, axes=1),
        "tensordot: axes is 'no'": lambda: tw.tensordot(x, x, axes="no"),
        "outer: x1 has shape .*, expected a vector": lambda: tw.linalg.outer(x, v),
        "diagonal: x has shape": lambda: tw.linalg.diagonal(v),
        "vector_norm: ord is 'two'": lambda: tw.linalg.vector_norm(x, ord="two"),
        "matrix_norm: ord is 3": lambda: tw.linalg.matrix_norm(x, ord=3),
        "matrix_norm: x has shape": lambda: tw.linalg.matrix_norm(v),
        "matrix_power: .* expected square": lambda: tw.linalg.matrix_power(x, 2),
        "pad: mode is 'none'": lambda: tw.pad(x, 1, "none"),
        "pad: pad_width has -1": lambda: tw.pad(x, -1),
        "pad: pad_width is .*pairs for 2 axes": lambda: tw.pad(x, ((1, 2), (3, 4), (5, 6))),
    }
    for says, call in cases.items():
        with pytest.raises(tw.InvalidArgument, match=f"^{says}"):
            call()
    with pytest.raises(tw.linalg.LinAlgError, match="is singular"):
        tw.linalg.matrix_power(tw.zeros((3, 3), device=be), -1)


def test_complex_products(be: Backend, rng: np.random.Generator) -> None:
    def drawn(*shape: int) -> Any:
        return (rng.uniform(-1, 1, shape) + 1j * rng.uniform(-1, 1, shape)).astype(np.complex64)

    a, b, v = drawn(2, 3, 4), drawn(3, 4), drawn(2, 3)
    x, y, w = on(be, a), on(be, b), on(be, v)
    for got, expected in (
        (tw.vecdot(x, y), (a.conj() * b).sum(-1)),
        (tw.tensordot(x, y), np.tensordot(a, b)),
        (tw.einsum("bij,kj->bik", x, y), np.einsum("bij,kj->bik", a, b)),
        (tw.einsum("bij->i", x), a.sum((0, 2))),
        (tw.linalg.cross(w[0], w[1]), np.cross(v[0], v[1])),
        (tw.linalg.outer(y[0], y[1]), np.outer(b[0], b[1])),
        (tw.kron(y, w), np.kron(b, v)),
        (tw.linalg.trace(x), np.trace(a, axis1=1, axis2=2)),
        (tw.linalg.vector_norm(x), np.linalg.norm(a.ravel())),
        (tw.linalg.matrix_norm(x, ord=1), np.abs(a).sum(1).max(-1)),
        (tw.pad(y, 1, "reflect"), np.pad(b, 1, "reflect")),
    ):
        assert got.dtype == expected.dtype and got.shape == expected.shape
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-5, atol=1e-5)
