"""take, put, nonzero, searchsorted and their kin against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend

from .arrays import DTYPES, FLOATS, VIEWS, on, same, values


def test_take(be: Backend, rng: np.random.Generator) -> None:
    host = values(rng, (5, 6, 4), "float32")
    x = on(be, host)
    for view in (lambda v: v, lambda v: v[::-1, ::2], lambda v: v[1]):
        own, there = view(host), view(x)
        for axis in (*range(-own.ndim, own.ndim), None):
            size = own.size if axis is None else own.shape[axis]
            for shape in ((), (7,), (2, 3), (0,)):
                index = rng.integers(-size, size, shape)
                same(tw.take(there, on(be, index), axis=axis), np.take(own, index, axis=axis))
                same(np.take(there, index, axis=axis), np.take(own, index, axis=axis))
            wild = rng.integers(-99, 99, 8)
            for mode in ("wrap", "clip"):
                expected = np.take(own, wild, axis=axis, mode=mode)
                same(there.take(wild, axis, mode=mode), expected)
    out = tw.zeros((5, 2, 4), device=be)
    assert tw.take(x, [1, 2], axis=1, out=out) is out
    same(out, host[:, [1, 2]])
    with pytest.raises(tw.InvalidArgument, match="mode is 'around'"):
        tw.take(x, [0], axis=0, mode="around")
    with pytest.raises(IndexError, match="take: index 5"):
        tw.take(x, [5], axis=0)
    with pytest.raises(tw.InvalidArgument, match="axis is 3"):
        tw.take(x, [0], axis=3)
    with pytest.raises(tw.InvalidArgument, match="expected an Array"):
        tw.take(host, [0], axis=0)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6, 8, 9, 511, 513, 1300])
def test_take_of_columns_and_rows(be: Backend, rng: np.random.Generator, count: int) -> None:
    """Lines and rows of many lengths, with indices on the device of any integer dtype."""
    host = values(rng, (37, 21), "float32")
    x = on(be, host)
    for dtype in ("int32", "int64", "uint8", "int16"):
        index = rng.integers(0 if dtype == "uint8" else -21, 21, count).astype(dtype)
        same(tw.take(x, on(be, index), axis=1), host[:, index])
        same(tw.take(x.T, on(be, index), axis=0), host.T[index])
        same(tw.take(x[::2, ::-1], on(be, index), axis=-1), host[::2, ::-1][:, index])
    index[-1] = 21
    for axis, there in ((1, x), (0, x.T)):
        with pytest.raises(IndexError, match=f"take: index 21 is out of range for axis {axis}"):
            tw.take(there, on(be, index), axis=axis).numpy()
    for width in (3, 8, 31, 33, 127, 128, 129, 300):
        table = values(rng, (19, width), "float32")
        rows = rng.integers(-19, 19, count)
        same(tw.take(on(be, table), on(be, rows), axis=0), table[rows])


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "int64"])
def test_along_axis(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    host = values(rng, (4, 5, 3), dtype)
    x = on(be, host)
    for axis in (0, 1, 2, -1):
        shape = list(host.shape)
        shape[axis] = 7
        index = rng.integers(-host.shape[axis], host.shape[axis], shape)
        expected = np.take_along_axis(host, index, axis)
        same(tw.take_along_axis(x, on(be, index), axis=axis), expected)
        same(np.take_along_axis(x, on(be, index), axis), expected)
        narrow = index[:1] if axis % 3 != 0 else index[:, :1]
        expected = np.take_along_axis(host, narrow, axis)
        same(tw.take_along_axis(x, on(be, narrow), axis=axis), expected)
        order = np.argsort(rng.random(host.shape), axis)
        own, mine = host.copy(), x.copy()
        np.put_along_axis(own, order, host, axis)
        tw.put_along_axis(mine, on(be, order), x, axis)
        same(mine, own)
        np.put_along_axis(mine, order, 1, axis)
        np.put_along_axis(own, order, 1, axis)
        same(mine, own)
    same(tw.take_along_axis(x, [3, 1], axis=None), np.take_along_axis(host, np.array([3, 1]), None))
    with pytest.raises(tw.InvalidArgument, match="expected 3 dimensions"):
        tw.take_along_axis(x, [0], axis=0)
    with pytest.raises(tw.InvalidArgument, match="do not broadcast"):
        tw.take_along_axis(x, np.zeros((4, 4, 2), int), axis=1)
    with pytest.raises(IndexError, match="axis 1 of 5"):
        tw.take_along_axis(x, np.full((1, 1, 1), 5), axis=1)


def test_put(be: Backend, rng: np.random.Generator) -> None:
    host = values(rng, (4, 6), "int32")
    for view in VIEWS.values():
        own, x = view(host.copy()), view(on(be, host))
        size = own.size
        index = rng.permutation(size)[: size // 2] - size // 3
        np.put(own, index, [5, 6, 7])
        tw.put(x, on(be, index), [5, 6, 7])
        same(x, own)
        np.put(own, [size + 3, -1], 1, mode="wrap")
        x.put([size + 3, -1], 1, mode="wrap")
        same(x, own)
    x = on(be, host)
    with pytest.raises(IndexError, match="put: index 24"):
        tw.put(x, [24], 1)
    with pytest.raises(tw.InvalidArgument, match="no elements"):
        tw.put(x, [0], [])


@pytest.mark.sampled(16)
@pytest.mark.parametrize("dtype", DTYPES)
def test_nonzero(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    for shape in ((11,), (4, 5), (2, 3, 1, 4), (0, 3), (3, 2, 2, 2, 3), (5000, 2), (4097,)):
        host = values(rng, shape, dtype)
        host[rng.random(shape) < 0.5] = 0
        x = on(be, host)
        for got, expected in zip(tw.nonzero(x), np.nonzero(host), strict=True):
            same(got, expected)
        same(tw.argwhere(x), np.argwhere(host))
        same(np.flatnonzero(x), np.flatnonzero(host))
        same(tw.count_nonzero(x), np.asarray(np.count_nonzero(host)))
        for got, expected in zip(np.where(x.T), np.where(host.T), strict=True):
            same(got, expected)


def test_nonzero_of_all_and_none(be: Backend) -> None:
    for n in (1, 4095, 4096, 4097, 9000):
        x = tw.ones(n, dtype="bool", device=be)
        same(tw.nonzero(x)[0], np.arange(n))
        same(tw.nonzero(~x)[0], np.arange(0))
        x[: n - 1] = False
        same(x.nonzero()[0], np.array([n - 1]))
        same(tw.argwhere(x), np.array([[n - 1]]))
    with pytest.raises(tw.InvalidArgument, match="no dimensions"):
        tw.nonzero(tw.ones((), device=be))
    assert tw.argwhere(tw.ones((), device=be)).shape == (1, 0)
    assert tw.argwhere(tw.zeros((), device=be)).shape == (0, 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_searchsorted(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    for n in (0, 1, 5, 1000):
        host = np.sort(values(rng, (n,), dtype))
        wanted = values(rng, (3, 41), dtype, -11, 11)
        if dtype in FLOATS:
            wanted[0, :6] = [np.nan, np.inf, -np.inf, 0.0, -0.0, -np.nan]
            if n > 4:
                host[-1], host[-2], host[0] = np.nan, np.inf, -np.inf
                host[n // 2] = -0.0
                host = np.sort(host)
        for side in ("left", "right"):
            expected = np.searchsorted(host, wanted, side)  # type: ignore[call-overload]
            got: Any = tw.searchsorted(on(be, host), on(be, wanted), side=side)
            same(got, np.asarray(expected))
    order = rng.permutation(1000)
    shuffled = np.empty_like(host)
    shuffled[order] = host
    same(
        np.searchsorted(on(be, shuffled), on(be, wanted[1]), sorter=on(be, order)),
        np.searchsorted(host, wanted[1]),
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_searchsorted_of_ascending_values(
    be: Backend, rng: np.random.Generator, dtype: str
) -> None:
    """In runs, with a fall between them, over few and over many elements."""
    for n, count in ((1, 100), (37, 2000), (5000, 333), (5000, 16)):
        host = np.sort(values(rng, (n,), dtype))
        runs = [np.sort(values(rng, (count,), dtype, -11, 11)) for _ in range(2)]
        if dtype in FLOATS:
            for run in runs:
                run[-3:] = np.nan
            host[-1] = np.nan
        wanted = np.concatenate([host, *runs])
        for side in ("left", "right"):
            expected = np.searchsorted(host, wanted, side)  # type: ignore[call-overload]
            got: Any = tw.searchsorted(on(be, host), on(be, wanted), side=side)
            same(got, np.asarray(expected))


@pytest.mark.parametrize(
    ("dtype", "n", "count"),
    [
        ("int32", 1000, 600_000),
        ("float64", 3, 540_000),
        ("float32", 300_000, 530_000),
        ("uint8", 1_000_001, 9000),
        ("int64", 70_000, 528_000),
    ],
)
def test_searchsorted_of_many_values(
    be: Backend, rng: np.random.Generator, dtype: str, n: int, count: int
) -> None:
    """Some a work-item."""
    host = np.sort(rng.integers(0, 200, n)).astype(dtype)
    wanted = rng.integers(0, 210, count).astype(dtype)
    wanted[-1] = 250 if dtype == "uint8" else 30_000
    for side in ("left", "right"):
        expected = np.searchsorted(host, wanted, side)  # type: ignore[call-overload]
        same(tw.searchsorted(on(be, host), on(be, wanted), side=side), expected)


def test_searchsorted_arguments(be: Backend) -> None:
    x = on(be, np.array([1, 3, 5], np.int16))
    assert tw.searchsorted(x, 3).item() == 1
    assert x.searchsorted(3, side="right").item() == 2
    assert tw.searchsorted(x, on(be, np.array([2, 70000], np.int32))).tolist() == [1, 3]
    assert x[::-1].searchsorted(4, sorter=[2, 1, 0]).item() == 2
    with pytest.raises(tw.InvalidArgument, match="side is 'middle'"):
        tw.searchsorted(x, 3, side="middle")
    with pytest.raises(tw.InvalidArgument, match="one dimension"):
        tw.searchsorted(x.reshape(1, 3), 3)
    with pytest.raises(tw.InvalidArgument, match="sorter has shape"):
        tw.searchsorted(x, 3, sorter=[0, 1])
