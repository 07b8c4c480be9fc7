"""fft_plan(): any lengths, along several axes, of complex and of real numbers, against NumPy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend

from .test_fft import joined, parts
from .workspace import Array, Workspace, has_float64

EVERY = 200
PRIMES = [211, 509, 1009, 2003, 10007]
DRAWN = [570, 1156, 1507, 2185, 17000, 2 * 1009, 23264, 46337, 98304, 810374]


def transformed(x: Array, shape: tuple[int, ...], real: bool) -> Array:
    axes = tuple(range(1, 1 + len(shape)))
    return np.asarray(np.fft.rfftn(x, axes=axes) if real else np.fft.fftn(x, axes=axes))


def close(got: Array, exact: Array, dtype: str) -> None:
    """In all within 8 roundings of the size of the result, each element within 80."""
    off, size = np.abs(got - exact), np.sqrt(np.mean(np.abs(exact) ** 2))
    epsilon = float(np.finfo(dtype).eps)
    assert np.sqrt(np.mean(off**2)) <= 8 * epsilon * size, exact.shape
    assert off.max() <= 80 * epsilon * size, exact.shape


def check(
    be: Backend, rng: np.random.Generator, shape: tuple[int, ...], batch: int, real: bool,
    dtype: str = "float32",
) -> None:  # fmt: skip
    """There and, scaled, back."""
    count = math.prod(shape)
    plan = be.fft_plan(shape, batch, "real" if real else "complex", dtype)
    x = rng.standard_normal((batch, *shape) if real else (batch, *shape, 2)).astype(dtype)
    wide = x.astype("float64") if real else joined(x)
    exact = transformed(wide, shape, real)
    assert plan.input_size == x.size
    assert plan.transform_size == 2 * exact.size
    with Workspace(be) as ws:
        there = ws.room((*exact.shape, 2), dtype)
        plan.run(ws.input(x), there, False, 0.5)
        close(joined(ws.read(there)) * 2, exact, dtype)
        back = ws.room(x.shape, dtype)
        plan.run(ws.input(parts(exact, dtype)), back, True, 1 / count)
        got = ws.read(back)
        close(got.astype("float64") if real else joined(got), wide, dtype)


@pytest.mark.sampled(8)
@pytest.mark.essential
@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("first", range(1, EVERY + 1, 10))
def test_every_length(be: Backend, rng: np.random.Generator, first: int, real: bool) -> None:
    for n in range(first, first + 10):
        check(be, rng, (n,), 1 + n % 4, real)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("n", PRIMES + DRAWN)
def test_long(be: Backend, rng: np.random.Generator, n: int, real: bool) -> None:
    check(be, rng, (n,), 1 if n > 5000 else 3, real)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize(
    "shape",
    [
        (1, 1),
        (6, 1),
        (1, 6),
        (5, 17),
        (17, 5),
        (2, 3, 4, 5),
        (300, 7),
        (7, 600),
        (31, 1, 37),
        (38, 285),
    ],
    ids=str,
)
def test_several_axes(
    be: Backend, rng: np.random.Generator, shape: tuple[int, ...], real: bool
) -> None:
    for batch in (1, 3):
        check(be, rng, shape, batch, real)


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("shape", [(1,), (8,), (37,), (600,), (6, 19), (285,)], ids=str)
def test_float64(be: Backend, rng: np.random.Generator, shape: tuple[int, ...], real: bool) -> None:
    if not has_float64(be):
        with pytest.raises(tw.Unsupported, match=r"^fft_plan: .* has no float64 in kernels"):
            be.fft_plan(shape, dtype="float64")
        return
    check(be, rng, shape, 3, real, "float64")


def test_imaginary_parts_that_real_rows_do_not_have(ws: Workspace) -> None:
    """They are not read, not even where they are no numbers."""
    for n in (30, 33, 34, 37):
        plan = ws.be.fft_plan([n], kind="real")
        x = np.zeros((n // 2 + 1, 2), "float32")
        x[0] = 1, np.nan
        if n % 2 == 0:
            x[-1, 1] = np.inf
        out = ws.room(n)
        plan.run(ws.input(x), out, True)
        assert np.abs(ws.read(out) - 1).max() < 1e-5


def test_sizes_of_zero(be: Backend) -> None:
    plan = be.fft_plan([12], 0)
    assert (plan.input_size, plan.transform_size) == (0, 0)
    plan.run(0, 0)


def test_tables_live_as_long_as_the_plan(be: Backend) -> None:
    before = be.memory_stats().active_bytes
    plan = be.fft_plan([37, 1000], kind="real")
    assert be.memory_stats().active_bytes - before >= plan.table_bytes > 0
    with Workspace(be) as ws:
        x, y = ws.room(37 * 1000), ws.room(2 * 37 * 501)
        plan.run(x, y)
        held = be.memory_stats().active_bytes
        plan.run(x, y)
        assert be.memory_stats().active_bytes == held
    del plan
    assert be.memory_stats().active_bytes == before


def test_recorded(be: Backend, rng: np.random.Generator) -> None:
    plan = be.fft_plan([37], 2)
    x = rng.standard_normal((2, 37, 2)).astype("float32")
    with Workspace(be) as ws:
        source, out = ws.output(np.zeros_like(x)), ws.room(x.shape)
        with be.record() as r:
            plan.run(source, out)
        be.copy_htod(source, x)
        r.replay()
        close(joined(ws.read(out)), np.fft.fft(joined(x)), "float32")
        r.drop()


def test_optimal_sizes(be: Backend) -> None:
    def is_quick(n: int) -> bool:
        for prime in (2, 3, 5, 7):
            while n % prime == 0:
                n //= prime
        return n == 1

    quick = [n for n in range(1, 3000) if is_quick(n)]
    for n in range(1, 2500):
        assert be.optimal_fft_size(n) == next(one for one in quick if one >= n)
    assert be.optimal_fft_size(10**9 + 7) >= 10**9 + 7
    assert is_quick(be.optimal_fft_size(10**9 + 7))
    for wrong in (0, -1, 2**40 + 1, 2**63 - 1):
        with pytest.raises(tw.InvalidArgument, match=r"optimal_fft_size: n is .*expected 1 to"):
            be.optimal_fft_size(wrong)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "shape has 0 lengths, expected 1 to 8"),
        (([2] * 9,), "shape"),
        (([4, 0],), "shape has the length 0, expected 1"),
        (([2**31],), "shape has the length 2147483648, expected 1"),
        (([-3],), "shape"),
        ((4,), "shape is 4"),
        (([4], -1), "batch is -1"),
        (([2**30, 2**30], 8), "overflow|too large|larger|more"),
        (([4], 1, "imaginary"), "kind is 'imaginary'"),
        (([4], 1, "real", "int32"), "dtype is int32, expected float32 or float64"),
    ],
)
def test_wrong_plans(be: Backend, arguments: Any, message: str) -> None:
    with pytest.raises(tw.InvalidArgument, match=rf"^fft_plan: .*({message})"):
        be.fft_plan(*arguments)


def test_wrong_runs(be: Backend) -> None:
    plan = be.fft_plan([12], 2, "real")
    x, y = be.alloc(4 * 24), be.alloc(4 * 28)
    part = be.view(y, 0, 4 * 27)
    try:
        for arguments, message in [
            ((0, y), "input is the null handle"),
            ((x, 0), "output is the null handle"),
            ((x, x), "output"),
            ((x, part), "output"),
            ((x, y, True), "input"),
            ((y, y), "output .*input|input .*output"),
            ((x, y, False, 0.0), "scale is 0"),
            ((x, y, False, math.nan), "scale is nan"),
            ((x, y, False, 1e39), "scale is 1e\\+39, which is out of the range of float32"),
            ((x, y, 2), "inverse is 2"),
        ]:
            with pytest.raises(tw.InvalidArgument, match=rf"^fft_plan: .*({message})"):
                plan.run(*arguments)
    finally:
        for buffer in (part, x, y):
            be.free(buffer)


def test_after_a_close(be: Backend) -> None:
    with type(be)(adapter_index=be.config["adapter_index"]) as other:
        plan = other.fft_plan([12])
        x = other.alloc(8 * 12)
        other.close()
        with pytest.raises(tw.NotInitialized, match=r"^fft_plan: "):
            plan.run(x, x)
        with pytest.raises(tw.NotInitialized, match=r"^fft_plan: "):
            other.fft_plan([12])
