"""What goes by whole rows and columns: numbers of a row beside its elements, NaN at any place, and
sizes around those of vectors and blocks."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend
from tilewright.program import Program

from . import bounds, references
from .arrays import Host, on, values
from .elements import has

LENGTHS = (1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 511, 513, 1025, 2100)


def chain(dtype: str) -> Program:
    """(x - a) * b * c + d, of which the last number stands before the sum."""
    program = Program()
    x, a, b, c, d = (program.input(dtype) for _ in range(5))
    program.output(d + (x - a) * b * c)
    return program


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("inner", LENGTHS)
def test_numbers_of_rows(be: Backend, rng: np.random.Generator, dtype: str, inner: int) -> None:
    program = chain(dtype)
    for outer in ((3,), (2, 5), (37, 3), (2, 400)):
        if np.prod(outer) * inner > 300_000:
            continue
        shape = (*outer, inner)
        x = values(rng, shape, dtype)
        lines = [values(rng, (*outer[-1:], 1), dtype, -2, 2) for _ in range(4)]
        for cut in (slice(None), slice(1, None)):
            own = on(be, np.concatenate([x[..., :1], x], -1))[..., 1:] if cut.start else on(be, x)
            spread = [tw.broadcast_to(on(be, one), shape) for one in lines]
            result = tw.empty(shape, dtype=dtype, device=be)
            be.map(program, shape, [own, *spread], [], [result])
            a, b, c, d = (one.astype(np.float64) for one in lines)
            expected = d + (x.astype(np.float64) - a) * b * c
            bound = 1e-5 if dtype == "float32" else 4e-2
            np.testing.assert_allclose(result.numpy(), expected, rtol=bound, atol=bound * 40)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", [n for n in LENGTHS if n < 600])
def test_nan_at_any_place(be: Backend, rng: np.random.Generator, dtype: str, length: int) -> None:
    x = values(rng, (length, length), dtype)
    x[np.arange(length), np.arange(length)] = np.nan
    x[0] = 1.5
    for host in (x, np.ascontiguousarray(x.T)):
        for axis in (0, 1):
            own = on(be, host)
            np.testing.assert_array_equal(tw.max(own, axis=axis).numpy(), host.max(axis))
            np.testing.assert_array_equal(tw.min(own, axis=axis).numpy(), host.min(axis))
            np.testing.assert_array_equal(tw.argmax(own, axis=axis).numpy(), host.argmax(axis))


@pytest.mark.parametrize("length", LENGTHS)
def test_sums_of_rows_columns_and_planes(
    be: Backend, rng: np.random.Generator, length: int
) -> None:
    for count in (1, 5, 40):
        x = rng.standard_normal((count, length, 6)).astype(np.float32)
        wide = x.astype(np.float64)
        for axis in (0, 1, 2, (0, 2), (0, 1)):
            for name in ("sum", "prod"):
                got = getattr(tw, name)(on(be, x), axis=axis).numpy()
                expected = getattr(np, name)(wide, axis=axis)
                size = getattr(np, name)(abs(wide), axis=axis)
                assert (abs(got - expected) <= 1e-5 * size + 1e-37).all(), (name, axis, x.shape)
        got = tw.cumulative_sum(on(be, x), axis=1).numpy()
        assert (abs(got - wide.cumsum(1)) <= 1e-5 * abs(wide).cumsum(1)).all()


@pytest.mark.parametrize("count", [1, 2, 5, 40, 300])
def test_short_lines_of_indices(be: Backend, rng: np.random.Generator, count: int) -> None:
    for shape in ((1, 9), (700, 9), (3, 200, 9), (2, 3, 700)):
        x = rng.standard_normal(shape).astype(np.float32)
        some = rng.integers(-shape[-1], shape[-1], count).astype(np.int32)
        each = rng.integers(-shape[-1], shape[-1], (*shape[:-1], count)).astype(np.int32)
        same(tw.take(on(be, x), on(be, some), axis=-1), np.take(x, some, -1))
        same(tw.take_along_axis(on(be, x), on(be, each)), np.take_along_axis(x, each, -1))
        each[..., -1] = shape[-1]
        with pytest.raises(IndexError, match=str(shape[-1])):
            tw.take_along_axis(on(be, x), on(be, each)).numpy()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_places_of_every_kind(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    """Indices of each dtype, from the front and from the end, as they lie and across."""
    if not has(be, dtype):
        return
    x = values(rng, (6, 700), dtype)
    for kind in ("int8", "uint8", "int16", "int32", "int64"):
        if not has(be, kind):
            continue
        for low in (0, 0 if kind == "uint8" else -6):
            some = rng.integers(low, 6, (6, 700)).astype(kind)
            same(
                tw.take_along_axis(on(be, x), on(be, some), axis=0), np.take_along_axis(x, some, 0)
            )
            same(
                tw.take_along_axis(on(be, x.T).T, on(be, some.T).T, axis=0),
                np.take_along_axis(x, some, 0),
            )
            line = rng.integers(low, 6, 600).astype(kind)
            same(tw.take(on(be, x), on(be, line), axis=0), np.take(x, line, 0))
            same(tw.take(on(be, x.T), on(be, line), axis=1), np.take(x.T, line, 1))
    for far in (700, -701, 2**31 - 1, -(2**31)):
        with pytest.raises(IndexError, match=str(far)):
            tw.take(on(be, x), on(be, np.array([0, far], np.int32)), axis=1).numpy()


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7, 8, 9, 33])
def test_transposed_operands(be: Backend, rng: np.random.Generator, rows: int) -> None:
    """Beside one that lies row by row, and copies of each permutation."""
    for cols in (1, 5, 16, 255, 256, 257, 2100):
        x = rng.standard_normal((rows, cols)).astype(np.float32)
        y = rng.standard_normal((cols, rows)).astype(np.float32)
        same(tw.add(on(be, x), on(be, y).T), x + y.T)
        same(tw.add(on(be, y), on(be, x).T), y + x.T)
        wide = rng.standard_normal((cols, rows + 2)).astype(np.float32)
        same(tw.add(on(be, x), on(be, wide)[:, 1:-1].T), x + wide[:, 1:-1].T)
        if cols > 300:
            continue
        cube = rng.standard_normal((3, rows, cols)).astype(np.float32)
        for axes in permutations(range(3)):
            for dtype in ("float32", "int8", "float64"):
                if has(be, dtype):
                    host = cube.astype(dtype)
                    got = tw.permute_dims(on(be, host), axes).copy()
                    same(got, host.transpose(axes))


@pytest.mark.parametrize("length", LENGTHS)
def test_softmax_of_short_rows(be: Backend, rng: np.random.Generator, length: int) -> None:
    for count in (1, 2, 5, 67):
        x = 4 * rng.standard_normal((count, length)).astype(np.float32)
        x[0, -1], x[-1, 0] = 90, -200
        wide = x.astype(np.float64)
        off = wide - wide.max(1, keepdims=True)
        exact = references.softmax(x, 1)
        bound = bounds.softmax(exact, -off, length)
        bounds.assert_within(tw.nn.softmax(on(be, x), dim=1).numpy(), exact, bound)
        got = tw.nn.log_softmax(on(be, x), dim=1).numpy()
        exact = off - np.log(np.exp(off).sum(1, keepdims=True))
        assert (abs(got - exact) <= 3e-6 * (1 + abs(exact))).all()
    x = np.zeros((5, length), np.float32)
    x[1, -1], x[2, 0], x[3] = np.nan, np.inf, -np.inf
    for function in (tw.nn.softmax, tw.nn.log_softmax):
        got = function(on(be, x), dim=1).numpy()
        assert np.isfinite(got[[0, 4]]).all()
        assert np.isnan(got[[1, 3]]).all() and np.isnan(got[2, 0])


@pytest.mark.parametrize("columns", [15, 16, 17, 100, 2049])
def test_scans_of_columns(be: Backend, rng: np.random.Generator, columns: int) -> None:
    x = rng.standard_normal((2, 37, columns)).astype(np.float32)
    wide = x.astype(np.float64)
    got = tw.cumulative_sum(on(be, x), axis=1).numpy()
    assert (abs(got - wide.cumsum(1)) <= 1e-5 * abs(wide).cumsum(1)).all()
    got = tw.cumulative_sum(on(be, x[:, ::-1])[:, ::-1], axis=1).numpy()
    assert (abs(got - wide.cumsum(1)) <= 1e-5 * abs(wide).cumsum(1)).all()


@pytest.mark.parametrize("columns", [3, 16, 48])
def test_long_scans_of_few_columns(be: Backend, rng: np.random.Generator, columns: int) -> None:
    """Their errors do not grow with the rows, as those of sums one after another do."""
    x = rng.random((30_000, columns), np.float32)
    wide = x.astype(np.float64).cumsum(0)
    got = tw.cumulative_sum(on(be, x), axis=0).numpy()
    assert (abs(got - wide) / wide).max() < 3e-6
    assert (abs(x.cumsum(0) - wide) / wide).max() > 4e-6


def same(got: tw.Array, expected: Host) -> None:
    np.testing.assert_array_equal(got.numpy(), expected)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "float64"])
@pytest.mark.parametrize("columns", [2, 3, 10, 20, 31])
def test_long_folds_of_few_columns(
    be: Backend, rng: np.random.Generator, dtype: str, columns: int
) -> None:
    """Rows of which several are one, and those that are left over."""
    if not has(be, dtype):
        with pytest.raises(tw.Unsupported, match=dtype):
            tw.sum(tw.ones((40, columns), dtype=dtype, device=be), axis=0)
        return
    rows = (1 << 20) // columns + 13
    x = values(rng, (rows, columns), dtype, -9, 9)
    own, exact = on(be, x), x.astype(np.float64)
    bound = {"float32": 1e-5, "float16": 1e-3}.get(dtype, 1e-12)
    size = np.abs(exact).sum(0) + 1
    for got, expected in (
        (tw.sum(own, axis=0), exact.sum(0)),
        (tw.sum(own * 2 + own[0], axis=0), (exact * 2 + exact[0]).sum(0)),
    ):
        if dtype == "float16":  # whose sums of so many may be infinite
            continue
        assert (np.abs(got.numpy() - expected) <= bound * 3 * size).all()
    np.testing.assert_array_equal(tw.max(own, axis=0).numpy(), x.max(0))
    np.testing.assert_array_equal(tw.min(own, axis=0).numpy(), x.min(0))
    np.testing.assert_array_equal(tw.argmax(own, axis=0).numpy(), x.argmax(0))
    np.testing.assert_array_equal(tw.any(own > 8, axis=0).numpy(), (x > 8).any(0))
    if dtype != "int32":
        np.testing.assert_allclose(tw.mean(own, axis=0).numpy(), exact.mean(0), 1e-3, bound * 9)
        np.testing.assert_allclose(tw.var(own, axis=0).numpy(), exact.var(0), bound * 20)


@pytest.mark.parametrize("behind", [1, 2, 3, 5, 8, 9])
def test_folds_of_few_side_by_side(be: Backend, rng: np.random.Generator, behind: int) -> None:
    """Axes around one of many elements, whose results lie as close as their own elements do."""
    for before, between in ((1, 40), (7, 31), (33, 1000), (600, 65)):
        x = values(rng, (before, between, behind), "float32")
        own, exact = on(be, x), x.astype(np.float64)
        np.testing.assert_allclose(
            tw.sum(own, axis=(0, 2)).numpy(), exact.sum((0, 2)), 1e-5, 1e-3 * before**0.5
        )
        np.testing.assert_array_equal(tw.max(own, axis=(0, 2)).numpy(), x.max((0, 2)))
        np.testing.assert_allclose(tw.var(own, axis=(0, 2)).numpy(), exact.var((0, 2)), 1e-4, 1e-6)
