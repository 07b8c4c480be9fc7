"""What NumPy's own functions take of Arrays beyond the standard's, and reductions without NaN."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument, Unsupported
from tilewright.reading import default_integer

from .arrays import on, same, values


def test_like(be: Backend) -> None:
    host = np.ones((2, 3), "int32")
    x = on(be, host)
    for got, expected in [
        (np.zeros_like(x), np.zeros_like(host)),
        (np.ones_like(x, "float32"), np.ones_like(host, "float32")),
        (np.full_like(x, 7, shape=(4,)), np.full_like(host, 7, shape=(4,))),
        (np.full_like(x, 2, "float32"), np.full_like(host, 2, "float32")),
        (np.array([[1, 2]], "int32", like=x), np.array([[1, 2]], "int32")),
        (np.array(3.0, "float32", ndmin=2, like=x), np.array(3, "float32", ndmin=2)),
        (np.asarray(host, like=x), host),
        (np.asanyarray([1.5], dtype="float32", like=x), np.float32([1.5])),
    ]:
        same(got, expected)
        assert got.backend is be
    empty = np.empty_like(x, shape=(0, 5), dtype="uint8")
    assert (empty.shape, empty.dtype, empty.backend) == ((0, 5), np.uint8, be)
    with pytest.raises(TypeError, match="empty_like: Arrays have no dtype of several fields"):
        np.empty_like(x, dtype=[("a", "i4")])


def test_ufuncs_with_a_dtype(be: Backend) -> None:
    host = np.int32([1, -2, 3])
    x = on(be, host)
    same(np.add(x, x, dtype="float32"), np.add(host, host, dtype="float32"))
    same(np.multiply(x, 2, dtype="int16"), np.multiply(host, 2, dtype="int16"))
    np.testing.assert_allclose(np.exp(x, dtype="float32").numpy(), np.exp(host), rtol=1e-6)
    with pytest.raises(Unsupported, match=r"np.exp\(\.\.\., signature=\.\.\.\) of an Array"):
        np.exp(x, signature="f->f")


def test_sums_and_outer(be: Backend, rng: np.random.Generator) -> None:
    host = values(rng, (3, 4), "int32")
    x = on(be, host)
    same(np.cumsum(x, axis=1).astype("int32"), np.cumsum(host, axis=1).astype("int32"))
    same(np.cumsum(x).astype("int32"), np.cumsum(host).astype("int32"))
    same(np.cumprod(x, 0, "float32"), np.cumprod(host, 0, "float32"))
    out = tw.zeros((3, 4), dtype="int32", device=be)
    assert np.cumsum(x, 0, "int32", out) is out
    same(out, np.cumsum(host, 0, "int32"))
    same(np.outer(x, x[0]), np.outer(host, host[0]))
    same(np.outer(x[0], np.int32([1, 2])), np.outer(host[0], np.int32([1, 2])))


def test_places(be: Backend, rng: np.random.Generator) -> None:
    host, wide = rng.integers(0, 60, (2, 7), "int32"), default_integer(be)
    x = on(be, host)
    for got, expected in zip(
        tw.unravel_index(x, (3, 4, 5)), np.unravel_index(host, (3, 4, 5)), strict=True
    ):
        same(got, expected.astype(wide))
    same(tw.ravel_multi_index(np.unravel_index(x, (3, 4, 5)), (3, 4, 5)), host.astype(wide))
    # Of few bits.
    for dtype in ("uint8", "int8"):
        small = (np.array([19, 7], dtype), np.array([99, 3], dtype))
        flat = tw.ravel_multi_index(tuple(on(be, one) for one in small), (20, 300))
        same(flat, np.ravel_multi_index(small, (20, 300)).astype(wide))
        for got, expected in zip(
            tw.unravel_index(on(be, small[1]), (20, 300)), np.unravel_index(small[1], (20, 300)),
            strict=True,
        ):  # fmt: skip
            same(got, expected.astype(wide))
    with pytest.raises(InvalidArgument, match="indices is float32, expected integers"):
        tw.unravel_index(x.astype("float32"), (9,))
    with pytest.raises(InvalidArgument, match="multi_index has 1 parts, expected 2 as dims has"):
        tw.ravel_multi_index((x,), (3, 4))
    for order in ("C", "F"):
        axes = tw.unravel_index(x, (3, 4, 5), order)
        for a, b in zip(axes, np.unravel_index(host, (3, 4, 5), order), strict=True):
            np.testing.assert_array_equal(a.numpy(), b)
        same(tw.ravel_multi_index(axes, (3, 4, 5), order=order), host.astype(wide))
    row, column = np.array([1, 9, -1]), np.array([0, -7, 3])
    given = tuple(tw.asarray(one, device=be) for one in (row, column))
    for mode in ("wrap", "clip"):
        same(
            tw.ravel_multi_index(given, (3, 4), mode),
            np.ravel_multi_index((row, column), (3, 4), mode),
        )
    with pytest.raises(
        IndexError, match=r"unravel_index: index \d+ is out of range for axis 0 of 60"
    ):
        tw.unravel_index(x + 60 - host.min(), (3, 4, 5))[0].numpy()
    with pytest.raises(
        IndexError, match="ravel_multi_index: index -7 is out of range for axis 1 of 4"
    ):
        tw.ravel_multi_index((given[0] % 3, given[1]), (3, 4)).numpy()


REDUCTIONS = ["nanmax", "nanmean", "nanmin", "nanprod", "nansum"]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_without_nan(be: Backend, rng: np.random.Generator, name: str, dtype: str) -> None:
    host = (values(rng, (6, 40), dtype) / 8).astype(dtype)
    host[rng.uniform(size=host.shape) < 0.3] = np.nan
    host[2] = np.nan
    ours: Callable[..., tw.Array] = getattr(tw, name)
    exact: Callable[..., Any] = getattr(np, name)
    for options in ({}, {"axis": 1}, {"axis": (0, 1), "keepdims": True}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            expected = exact(host.astype("float64"), **options)
        got = ours(on(be, host), **options)
        assert got.dtype == dtype and got.shape == expected.shape
        bound = 4 * np.finfo(dtype).eps
        np.testing.assert_allclose(got.numpy(), expected, rtol=bound, atol=bound)
    same(getattr(np, name)(on(be, host), axis=0), ours(on(be, host), axis=0).numpy())
    integers = values(rng, (5,), "int32", 1, 5)
    np.testing.assert_allclose(ours(on(be, integers)).numpy(), exact(integers), rtol=1e-6)
    with pytest.raises(InvalidArgument, match=rf"{name}: x is \[1\].*expected an Array"):
        ours([1])
