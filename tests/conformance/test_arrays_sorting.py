"""The sorts and selections of Arrays against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .arrays import DTYPES, VIEWS, on, same, values
from .sorts import order


def ordered(host: np.ndarray, axis: int, descending: bool = False) -> np.ndarray:
    moved = np.ascontiguousarray(np.moveaxis(host, axis, -1))
    return np.moveaxis(order(moved, host.dtype.name, descending), -1, axis)


@pytest.mark.parametrize("dtype", DTYPES)
def test_axes_and_views(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    host = values(rng, (7, 12), dtype)
    for view in VIEWS.values() if dtype in ("int8", "float32") else (lambda x: x.T,):
        part, x = view(host), view(on(be, host))
        for axis in (-1, 0):
            places = ordered(part, axis)
            same(tw.sort(x, axis=axis), np.take_along_axis(part, places, axis))
            same(tw.argsort(x, axis=axis), places)
            places = ordered(part, axis, descending=True)
            same(tw.argsort(x, axis=axis, descending=True), places)
            expected = np.take_along_axis(part, places, axis)
            same(tw.sort(x, axis=axis, descending=True, stable=False), expected)
    same(tw.sort(on(be, host), axis=None), np.sort(host, axis=None))


@pytest.mark.parametrize("dtype", ["bool", "uint16", "int64", "float16", "float64"])
def test_in_place(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    for axis, view in [(-1, VIEWS["whole"]), (0, VIEWS["whole"]), (-1, VIEWS["spread"])]:
        host = values(rng, (6, 20), dtype)
        x = on(be, host)
        assert view(x).sort(axis) is None
        view(host).sort(axis, kind="stable")
        same(x, host)


def test_topk(be: Backend, rng: np.random.Generator) -> None:
    host = values(rng, (5, 40, 3), "int16")
    x = on(be, host)
    for axis, k, largest in [(-1, 2, True), (1, 7, False), (0, 5, True), (1, 0, True)]:
        found = tw.topk(x, k, axis=axis, largest=largest)
        places = np.take(ordered(host, axis, largest), range(k), axis)
        same(found.indices, places)
        same(found.values, np.take_along_axis(host, places, axis))
    values_of, indices = tw.topk(on(be, np.float32([np.nan, 1, 3, 2])), 2)
    same(values_of, np.float32([3, 2]))
    same(indices, np.array([2, 3]))


def test_numpy_s_functions(be: Backend, rng: np.random.Generator) -> None:
    host = values(rng, (4, 9), "float32")
    x = on(be, host)
    same(np.sort(x, axis=0), np.sort(host, axis=0))
    same(np.argsort(x, kind="stable"), np.argsort(host, kind="stable"))
    same(x.argsort(axis=0), np.argsort(host, axis=0, kind="stable"))
    assert (np.partition(x, 3).numpy()[:, 3] == np.partition(host, 3)[:, 3]).all()
    same(tw.argpartition(x, (1, -1)), np.argsort(host, kind="stable"))


def test_nothing(be: Backend) -> None:
    for shape in [(0,), (3, 0), (0, 3)]:
        x = tw.zeros(shape, dtype="int32", device=be)
        same(tw.sort(x), np.zeros(shape, "int32"))
        same(tw.argsort(x, axis=0), np.zeros(shape, "int64"))
        assert tw.topk(x, 0).values.shape == (*shape[:-1], 0)
        x.sort()


def test_errors(be: Backend) -> None:
    x = tw.ones((2, 3), device=be)
    for call, message in [
        (lambda: tw.sort(x, axis=2), "sort: axis is 2, expected one of the 2 axes"),
        (lambda: tw.sort(x, kind="bubble"), "kind is 'bubble'"),
        (lambda: tw.sort([1, 2]), "sort: x is .* expected an Array"),
        (lambda: tw.argsort(x, descending=1), "descending is 1 .*expected True or False"),
        (lambda: tw.sort(tw.ones((), device=be)), "axis is -1, expected one of the 0 axes"),
        (lambda: tw.sort(tw.ones(3, dtype="complex64", device=be)), "which has no order"),
        (lambda: x.sort(None), "axis is None, expected an axis"),
        (lambda: tw.topk(x, 4), "topk: k is 4, expected 0 to 3"),
        (lambda: tw.topk(x, 1.5), "topk: k is 1.5"),
        (lambda: tw.partition(x, 3), "partition: kth is 3, expected -3 to 2"),
    ]:
        with pytest.raises(InvalidArgument, match=message):
            call()
    same(x, np.ones((2, 3), "float32"))
