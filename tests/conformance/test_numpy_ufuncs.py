"""NumPy's ufuncs of Arrays: their methods and arguments; and NumPy's methods."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument, Unsupported

from .arrays import on, same, values
from .numpy_names import SHAPES, agree, expected_dtype

UFUNCS = ["add", "logical_and", "logical_or", "maximum", "minimum", "multiply"]


@pytest.mark.parametrize("name", UFUNCS)
def test_methods_of_ufuncs(be: Backend, rng: np.random.Generator, name: str) -> None:
    ufunc = getattr(np, name)
    for shape in SHAPES:
        for dtype in ("float32", "int32", "bool"):
            if dtype == "bool" and name == "multiply":
                continue
            host = values(rng, shape, dtype, -2, 2)
            # NumPy keeps the operands of a reduce() that raises.
            for axis in (0, -1, None) if host.size or "imum" not in name else ():
                agree(be, lambda x, a=axis: ufunc.reduce(x, axis=a), host, tolerance=1e-4)
            if host.size or "imum" not in name:
                agree(be, lambda x: ufunc.reduce(x, keepdims=True), host, tolerance=1e-4)
            if dtype != "bool" or name != "add":
                agree(be, lambda x: ufunc.accumulate(x, axis=-1), host, tolerance=1e-4)
        agree(be, ufunc.outer, host, values(rng, (3,), "bool"))
    host = values(rng, (3, 4), "float32")
    out = tw.zeros(4, dtype="bool" if "logical" in name else "float32", device=be)
    assert ufunc.reduce(on(be, host), out=out) is out
    np.testing.assert_allclose(out.numpy(), ufunc.reduce(host), rtol=1e-5)


def test_reduced_from_a_value(be: Backend, rng: np.random.Generator) -> None:
    host, mask = values(rng, (3, 4), "float32"), rng.uniform(size=(3, 4)) < 0.5
    agree(be, lambda x, w: np.add.reduce(x, where=w, initial=2), host, mask)
    agree(be, lambda x, w: np.maximum.reduce(x, axis=1, where=w, initial=-3), host, mask)
    agree(be, lambda x: np.subtract.outer(x, x[0]), host)


@pytest.mark.parametrize("name", ["add", "subtract"])
def test_added_at_places(be: Backend, rng: np.random.Generator, name: str) -> None:
    def add(x: Any, places: Any, v: Any) -> Any:
        x = x.copy()
        getattr(np, name).at(x, places, v)
        return x

    for dtype in ("float32", "int32", "complex64"):
        host, v = values(rng, (5, 3), dtype, -9, 9), values(rng, (4, 3), dtype)
        agree(be, lambda x, v: add(x, np.array([0, 1, 1, -1]), v), host, v, tolerance=1e-5)
        agree(be, lambda x, v: add(x.T, (slice(None), [3, 3, 3]), v[0, 0]), host, v)
        agree(be, lambda x, v: add(x, (np.array([4, 4]), np.array([0, 0])), v[0, :2]), host, v)
        agree(be, lambda x, v: add(x, np.array([], "int64"), 1), host, v)
    with pytest.raises(TypeError, match="b is float32, which int32 does not hold"):
        np.add.at(on(be, np.int32([1])), 0, on(be, np.float32(1)))
    with pytest.raises(Unsupported, match=r"host = x\.numpy\(\); np\.multiply\.at\(host, "):
        np.multiply.at(on(be, np.int32([1])), 0, 2)


def test_arguments_of_ufuncs(be: Backend) -> None:
    host, mask = np.float32([0.1, 0.5, 0.9]), np.array([True, False, True])
    x = on(be, host)
    out = tw.full(3, 7.0, device=be)
    assert np.exp(x, where=mask, out=out) is out
    np.testing.assert_allclose(out.numpy(), [np.exp(0.1), 7, np.exp(0.9)], rtol=1e-6)
    same(np.add(x, 1, order="F", casting="same_kind", subok=False), host + 1)
    same(np.equal(x, x, dtype=bool), [True] * 3)
    with pytest.raises(TypeError, match="an operand is float32, no int32 by 'same_kind'"):
        np.add(x, x, dtype="int32")
    parts = tw.zeros(3, device=be), tw.zeros(3, device=be)
    assert np.modf(x * 3, out=parts)[1] is parts[1]
    same(parts[1], np.float32([0, 1, 2]))
    same(np.add(host, 1, out=out), host + 1)


METHODS = [
    "x.argpartition(2).shape", "x.clip(-1, 1)", "x.clip(max=2)", "x.conjugate()", "x.cumprod()",
    "x.cumsum()", "x.cumsum(1, 'float32')", "x.diagonal(1)", "x.dot(2)", "x.dot(x.T)",
    "x.flat[2:5]", "x.flatten('F')", "x.item((1, 2))", "x.item(-2)", "x.item(1, 2)", "x.item(3)",
    "x.max(0)", "x.max(initial=100)", "x.mean(0, 'float32')", "x.min(1, initial=-100)",
    "x.nonzero()[0].shape", "x.ravel('F')", "x.repeat([1, 0, 2], 0)", "x.reshape(2, 6, order='F')",
    "x.round(1)", "x.squeeze()", "x.std(ddof=1)", "x.swapaxes(0, 1)", "x.take([2, 0])",
    "x.tobytes()", "x.trace()", "x.var(1, ddof=1)", "abs(x[0]).cumsum().searchsorted(9)",
    "x[0, :1].squeeze()",
]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_methods(be: Backend, rng: np.random.Generator, method: str) -> None:
    host = values(rng, (3, 4), "float32")
    like, x = eval(method, {"x": host}), eval(method, {"x": on(be, host)})
    if not isinstance(x, tw.Array):
        assert x == like and type(x) is type(like)
        return
    like = np.asarray(like)
    assert x.shape == like.shape and x.dtype == expected_dtype(be, like.dtype, (host,))
    np.testing.assert_allclose(x.numpy(), like, rtol=1e-5, atol=1e-5)


def test_methods_that_write(be: Backend) -> None:
    def write(x: Any) -> Any:
        x = x.copy()
        part = x.T
        part.flat = [1, 2, 3]
        part.flat[3] = 9
        part.flat[[0, 1]] = [7, 8]
        x[0].sort(kind="stable")
        x[1].partition(1)
        x.put([0, -1], [5, 6])
        return x

    agree(be, write, np.float32([[3, 1, 2, 0]] * 3))
    z = on(be, np.complex64([1 + 2j, 3 - 1j]))
    z.real = 7
    z.imag = [1, 2]
    same(z, np.complex64([7 + 1j, 7 + 2j]))
    x = on(be, np.float32([1, 2]))
    x.real = [3, 4]
    same(x, np.float32([3, 4]))
    with pytest.raises(TypeError, match="imag: the array is float32"):
        x.imag = 1


def test_flat_is_iterated(be: Backend) -> None:
    x = on(be, np.int32([[1, 2], [3, 4]])).T
    assert [one.item() for one in x.flat] == [1, 3, 2, 4]
    assert len(x.flat) == 4
    line = x.flat
    assert (next(line).item(), next(line).item()) == (1, 3)


def test_views_of_another_dtype(be: Backend) -> None:
    host = np.float32([[1.5, -2], [0, np.inf]])
    x = on(be, host)
    bits = x.view("int32")
    same(bits, host.view("int32"))
    bits[0, 0] = 0
    assert x[0, 0].item() == 0 and bits.overlaps(x)
    assert x.view().overlaps(x)
    for wanted in ("int16", "complex64"):
        with pytest.raises(Unsupported, match=f"the array is float32, and {wanted} is no real"):
            x.view(wanted)
    with pytest.raises(Unsupported, match=r"write x\.copy\(\)\.view\(dtype\)"):
        x[1:].view("int32")
    with pytest.raises(Unsupported, match=r"x\.numpy\(\)\.byteswap\(\)"):
        x.byteswap()


def test_rounded_without_dimensions(be: Backend) -> None:
    x = on(be, np.float32([2.5, -1.26]))
    assert round(x[0]) == 2 and type(round(x[0])) is int
    assert round(x[1], 1) == pytest.approx(-1.3)
    with pytest.raises(TypeError, match=r"round: the array has shape \(2,\)"):
        round(x)
    with pytest.raises(InvalidArgument, match="order is 'X'"):
        x.copy("X")
    with pytest.raises(IndexError, match="item: index 2 is out of range of 2"):
        x.reshape(1, 2).item(2)
