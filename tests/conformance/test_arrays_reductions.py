"""The standard's reductions and cumulative functions of Arrays against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend

from .arrays import DTYPES, FLOATS, Host, on, same, values

AXES: list[Any] = [None, 0, -1, (0, 2), ()]
CUTS: list[Callable[[Any], Any]] = [lambda x: x, lambda x: x[::-1, 1:, ::2], lambda x: x.T]


def cuts(dtype: str) -> list[Callable[[Any], Any]]:
    """All of them for one dtype of each kind; each is a kernel of its own on GPUs."""
    return CUTS if dtype in ("bool", "uint8", "float32") else CUTS[1:2]


def close(got: tw.Array, exact: Any, dtype: Any, magnitudes: Any, count: int) -> None:
    """Within a rounding for each element at the most, and one to the dtype."""
    exact = np.asarray(exact)
    assert got.dtype == dtype and got.shape == exact.shape
    unit = np.finfo(np.float64 if dtype == np.float64 else np.float32).eps
    bound = (count + 4) * unit * abs(np.asarray(magnitudes)) + np.finfo(dtype).eps * abs(exact)
    assert (abs(got.numpy().astype(np.float64) - exact) <= bound + 1e-30).all()


def wide(dtype: str) -> np.dtype[Any]:
    kind = np.dtype(dtype).kind
    return np.dtype({"f": dtype, "u": "uint64"}.get(kind, "int64"))


@pytest.mark.sampled(16)
@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_and_products(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    host = values(rng, (3, 4, 5), dtype, -2, 2)
    for cut in cuts(dtype):
        part, x = cut(host), cut(on(be, host))
        for axis in AXES[:4]:
            if dtype in FLOATS:
                exact = part.astype(np.float64)
                close(tw.sum(x, axis=axis), exact.sum(axis=axis), np.dtype(dtype),
                    abs(exact).sum(axis=axis), 60)  # fmt: skip
            else:
                same(tw.sum(x, axis=axis), part.sum(axis=axis, dtype=wide(dtype)))
                same(tw.prod(x, axis=axis), part.prod(axis=axis, dtype=wide(dtype)))
    same(tw.sum(on(be, host), axis=(), keepdims=True), host.astype(wide(dtype)))
    ones = np.ones((2, 3), dtype)
    same(tw.prod(on(be, ones), keepdims=True), np.ones((1, 1), wide(dtype)))
    same(tw.sum(on(be, ones), dtype="float32"), np.float32(6))


@pytest.mark.sampled(16)
@pytest.mark.parametrize("dtype", DTYPES)
def test_extremes_and_truths(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    host = values(rng, (3, 4, 5), dtype)
    for cut in cuts(dtype):
        part, x = cut(host), cut(on(be, host))
        for axis in (None, 1, (0, 2)):
            same(tw.max(x, axis=axis, keepdims=True), part.max(axis=axis, keepdims=True))
            same(tw.any(x, axis=axis), part.any(axis=axis))
            same(tw.count_nonzero(x, axis=axis), np.asarray(np.count_nonzero(part, axis=axis)))
        same(tw.min(x, axis=0), part.min(axis=0))
        same(tw.all(x, axis=-1), part.all(axis=-1))
        for axis in (None, 0, -1):
            same(tw.argmax(x, axis=axis), np.asarray(part.argmax(axis=axis)))
        same(tw.argmin(x, axis=1, keepdims=True), part.argmin(axis=1, keepdims=True))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", *FLOATS])
def test_means_and_variances(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    host = values(rng, (3, 4, 5), dtype)
    result = np.dtype(dtype if dtype in FLOATS else "float32")
    for cut in cuts(dtype):
        part, x = cut(host), cut(on(be, host))
        exact: Host = part.astype(np.float64)
        for axis, keepdims in ((None, False), (1, True), ((0, 2), False)):
            middle = exact.mean(axis=axis, keepdims=keepdims)
            got = tw.mean(x, axis=axis, keepdims=keepdims)
            close(got, middle, result, abs(exact).max(), 60)
            for correction in (0, 1):
                spread = exact.var(axis=axis, ddof=correction, keepdims=keepdims)
                got = tw.var(x, axis=axis, correction=correction, keepdims=keepdims)
                close(got, spread, result, 2 * spread + abs(exact).max(), 60)
        off = exact.std(axis=0, ddof=1)
        close(tw.std(x, axis=0, correction=1), off, result, off + abs(exact).max(), 60)
    if dtype == "float16":
        large = np.full(100, 60000, np.float16)
        assert tw.mean(on(be, large)).item() == 59_999.0 + 1
        assert tw.var(on(be, large)).item() == 0


@pytest.mark.sampled(16)
@pytest.mark.parametrize("dtype", DTYPES)
def test_cumulative(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    host = values(rng, (4, 6), dtype, 0, 2)
    if dtype in FLOATS:
        host = np.round(host)
    for part, x in ((host, on(be, host)), (host.T[::-1], on(be, host).T[::-1])):
        for axis in (0, 1):
            sums = np.cumsum(part, axis=axis, dtype=wide(dtype))
            same(tw.cumulative_sum(x, axis=axis), sums)
            same(tw.cumulative_prod(x, axis=axis), np.cumprod(part, axis=axis, dtype=wide(dtype)))
            zeros = np.zeros_like(np.take(sums, [0], axis))
            same(tw.cumulative_sum(x, axis=axis, include_initial=True),
                np.concatenate([zeros, sums], axis=axis))  # fmt: skip
    same(tw.cumulative_sum(on(be, host)[0]), np.cumsum(host[0], dtype=wide(dtype)))
    same(tw.cumulative_sum(on(be, host)[0], dtype="float32"), np.cumsum(host[0], dtype="float32"))


def test_of_nothing(be: Backend) -> None:
    x = on(be, np.ones((0, 3), np.float32))
    same(tw.sum(x, axis=0), np.zeros(3, np.float32))
    same(tw.prod(x), np.float32(1))
    same(tw.any(x), np.False_)
    same(tw.all(x), np.True_)
    same(tw.sum(x, axis=1), np.zeros(0, np.float32))
    same(tw.max(x, axis=1), np.zeros(0, np.float32))
    same(tw.cumulative_sum(x, axis=0), np.zeros((0, 3), np.float32))
    same(tw.cumulative_sum(x, axis=0, include_initial=True), np.zeros((1, 3), np.float32))
    assert np.isnan(tw.mean(x).item()) and np.isnan(tw.var(x, axis=0).numpy()).all()
    assert np.isnan(tw.var(on(be, np.ones(1, np.float32)), correction=1).item())
    for call in (tw.max, tw.min, tw.argmax, tw.argmin):
        with pytest.raises(tw.InvalidArgument, match="no elements"):
            call(x, axis=0)


def test_places_along_one_element(be: Backend) -> None:
    x = np.random.default_rng(3).standard_normal((33, 1, 5)).astype(np.float32)
    for part in (on(be, x), on(be, x)[::2, :, 1:], tw.permute_dims(on(be, x), (2, 1, 0))):
        for call in (tw.argmax, tw.argmin):
            found = call(part, axis=1)
            same(found, np.zeros((part.shape[0], part.shape[2]), found.numpy().dtype))
            same(call(part, axis=1, keepdims=True), np.zeros(part.shape, found.numpy().dtype))


def test_nan_wins(be: Backend) -> None:
    for dtype in FLOATS:
        x = on(be, np.array([1, np.nan, 3, np.nan], dtype))
        assert np.isnan([tw.max(x).item(), tw.min(x).item(), tw.sum(x).item()]).all()
        assert tw.argmax(x).item() == tw.argmin(x).item() == 1


def test_large_sums(be: Backend) -> None:
    host = np.arange(70_001, dtype=np.int32)
    x = on(be, host)
    same(tw.sum(x), np.int64(host.sum(dtype=np.int64)))
    same(tw.sum(x[::-7]), np.int64(host[::-7].sum(dtype=np.int64)))
    same(tw.cumulative_sum(x), host.cumsum(dtype=np.int64))


def test_into_out_and_methods(be: Backend) -> None:
    host = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = on(be, host)
    out = tw.zeros((2, 2), device=be)
    assert tw.sum(x, axis=1, out=out[:, 1]).shape == (2,)
    same(out, np.float32([[0, 3], [0, 12]]))
    tw.max(x, axis=0, out=x[0])
    same(x, np.float32([[3, 4, 5], [3, 4, 5]]))
    for name in (
        "sum",
        "prod",
        "max",
        "min",
        "mean",
        "std",
        "var",
        "any",
        "all",
        "argmax",
        "argmin",
    ):
        method, function = getattr(x, name), getattr(tw, name)
        same(method(axis=1), function(x, axis=1).numpy())
        same(getattr(np, name)(x, axis=1), function(x, axis=1).numpy())
    assert 4.0 in x and 9.0 not in x
    with pytest.raises(tw.InvalidArgument, match="sum: out is float32 of shape"):
        tw.sum(x, out=out)


def test_what_reductions_refuse(be: Backend) -> None:
    x = on(be, np.ones((2, 3), np.int32))
    wrong: list[tuple[str, Callable[[], Any]]] = [
        ("sum: axis is 2", lambda: tw.sum(x, axis=2)),
        ("sum: axis is .* different axes", lambda: tw.sum(x, axis=(0, 0))),
        ("sum: x is", lambda: tw.sum([1, 2])),  # type: ignore[arg-type]
        ("max: keepdims is 1", lambda: tw.max(x, keepdims=1)),  # type: ignore[arg-type]
        ("argmax: axis is .* one axis", lambda: tw.argmax(x, axis=(0, 1))),  # type: ignore[arg-type]
        ("sum: dtype is bool", lambda: tw.sum(x, dtype="bool")),
        ("var: correction is 'a'", lambda: tw.var(x, correction="a")),  # type: ignore[arg-type]
        ("cumulative_sum: axis is None", lambda: tw.cumulative_sum(x)),
        ("cumulative_sum: axis is 2", lambda: tw.cumulative_sum(x, axis=2)),
    ]
    for message, call in wrong:
        with pytest.raises(tw.InvalidArgument, match=message):
            call()


MATMULS: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((3, 4), (4, 5)), ((2, 1, 3, 4), (5, 4, 2)),
    ((2, 0), (0, 3)), ((0, 2), (2, 3)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_every_dtype(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    for shape_a, shape_b in MATMULS if dtype in ("bool", "float32", "int64") else MATMULS[4:5]:
        a, b = values(rng, shape_a, dtype, 0, 3), values(rng, shape_b, dtype, 0, 3)
        if dtype in FLOATS:
            a, b = np.round(a), np.round(b)
        same(on(be, a) @ on(be, b), np.asarray(np.matmul(a, b)))
    square = values(rng, (3, 3), "int32")
    x = on(be, square)
    same(x.T @ x[::-1], square.T @ square[::-1])
    x @= x
    same(x, square @ square)
    with pytest.raises(tw.InvalidArgument, match="rows of 3, but x2 of shape"):
        tw.matmul(x, on(be, np.ones((2, 2), np.int32)))
    with pytest.raises(tw.InvalidArgument, match="x2 has no dimension"):
        tw.matmul(x, on(be, np.ones((), np.int32)))
