from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tilewright import Backend

from .elements import DTYPES, FLOATS, has, shown, stored, stored_dtype
from .workspace import Array, Workspace, normal

SIZES = [0, 1, 3, 17, 257, 65537]


def run(ws: Workspace, x: Array, to: str) -> Array:
    out = ws.room(x.shape, to)
    ws.be.cast(ws.input(x), x.dtype.name, out, to, x.size)
    return ws.read(out)


def check(ws: Workspace, x: Array, to: str) -> None:
    """NumPy rounds to nearest even, too."""
    with np.errstate(over="ignore"):
        expected = x.astype(to)
    got = run(ws, x, to)
    np.testing.assert_array_equal(got, expected)
    number = ~np.isnan(got)
    np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(expected[number]))


@pytest.mark.essential
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("source", ["float32", "float16"])
@pytest.mark.parametrize("to", ["float32", "float16"])
def test_against_numpy(
    ws: Workspace, rng: np.random.Generator, n: int, source: str, to: str
) -> None:
    check(ws, normal(rng, n, source), to)


@pytest.mark.essential
def test_every_float16(ws: Workspace) -> None:
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    check(ws, x, "float32")
    check(ws, x, "float16")
    wide = x.astype(np.float32)
    check(ws, wide, "float16")
    check(ws, wide, "float32")


@pytest.mark.essential
def test_around_every_float16(ws: Workspace) -> None:
    """Half-way between neighbours, and just beside it: ties go to even, nothing else does."""
    x = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    above = np.append(x[1:], np.float32(65536))
    middle = (x + above) / 2
    for y in (middle, np.nextafter(middle, x), np.nextafter(middle, above)):
        check(ws, y, "float16")
        check(ws, -y, "float16")


@pytest.mark.essential
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("to", ["float32", "float16"])
def test_integers(ws: Workspace, rng: np.random.Generator, n: int, to: str) -> None:
    """As many of each length as of the next, so that many are within float16's range."""
    x = rng.integers(-(2**31), 2**31, n) >> rng.integers(0, 32, n)
    check(ws, x.astype(np.int32), to)


@pytest.mark.essential
@pytest.mark.parametrize("to", ["float32", "float16"])
def test_integers_around_what_floats_hold(ws: Workspace, to: str) -> None:
    """Half-way between neighbours, and just beside it, up to the ends of int32's range."""
    half = 2.0 ** np.arange(24) + 0.5
    places = [2.0**exponent * (2**24 + near) for exponent in range(8) for near in (-1.5, 0.5, 1.5)]
    places += [2.0**exponent * (2**11 + near) for exponent in range(6) for near in (-1.5, 0.5, 1.5)]
    places += [*half, 65504, 65519, 65520, 65536, 2.0**31 - 64, 2.0**31 - 1, 2.0**31]
    near = np.add.outer(places, np.arange(-2, 3)).ravel()
    whole = np.clip(np.concatenate([near, -near]), -(2**31), 2**31 - 1)
    check(ws, whole.astype(np.int32), to)


def test_exactly_n_elements(ws: Workspace) -> None:
    out = ws.output(np.full(100, 7, np.float16))
    ws.be.cast(ws.input(np.ones(100, np.float32)), "float32", out, "float16", 33)
    np.testing.assert_array_equal(ws.read(out), [1] * 33 + [7] * 67)


def edges_of(dtype: str) -> Array:
    """Elements of a dtype around the ends of the others."""
    if dtype == "bool":
        return np.array([False, True] * 5)
    if dtype not in FLOATS:
        info = np.iinfo(dtype)
        powers = [2**bits for bits in (7, 8, 11, 15, 16, 24, 31, 32, 53, 63)]
        sizes = [0, *(power + more for power in powers for more in (-1, 0, 1))]
        both = [n for size in sizes for n in (size, -size)]
        return np.array([n for n in both if info.min <= n <= info.max], dtype)
    ends = 2.0 ** np.array([7, 8, 15, 16, 31, 32, 63, 64])
    near = np.concatenate([ends, ends - 0.5, ends - 1, ends * 1.001, ends * 0.999])
    ties = [1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-30, 1 + 3 * 2.0**-11 - 2.0**-40]
    halves = [65504, 65519.9, 65520, *ties]
    values = [0, -0.0, 0.5, 0.99, 2.5, np.inf, np.nan, 1e30, *near, *halves]
    return stored(np.concatenate([values, np.negative(values)]), dtype)


def cast_in_numpy(x: Array, source: str, to: str) -> Array:
    values = x if source == "float64" else shown(x, source)
    if to == "bool":
        return values != 0
    if to in FLOATS:
        return stored(values if source in FLOATS else values.astype(np.longdouble), to)
    if source not in FLOATS:
        return values.astype(to)
    info = np.iinfo(to)
    bounded = [0 if np.isnan(v) else np.clip(v, -(2.0**70), 2.0**70) for v in values]
    whole = [min(max(int(v), info.min), info.max) for v in bounded]
    return np.array(whole, dtype=object).astype(to)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("source", DTYPES)
def test_every_dtype_to_every_other(be: Backend, source: str) -> None:
    if not has(be, source):
        return
    x = edges_of(source)
    for to in (dtype for dtype in DTYPES if dtype != source and has(be, dtype)):
        with Workspace(be) as ws:
            out = ws.room(x.size, stored_dtype(to))
            be.cast(ws.input(x), source, out, to, x.size)
            got = shown(ws.read(out), to)
        with np.errstate(all="ignore"):
            expected = shown(cast_in_numpy(x, source, to), to)
        same = (got == expected) | (np.isnan(got) & np.isnan(expected) if to in FLOATS else False)
        assert same.all(), (source, to, x[~same], got[~same], expected[~same])


@given(x=hnp.arrays(np.float16, st.integers(0, 200)))
def test_there_and_back(be: Backend, x: Array) -> None:
    with Workspace(be) as ws:
        wide, back = ws.room(x.size, "float32"), ws.room(x.size, "float16")
        be.cast(ws.input(x), "float16", wide, "float32", x.size)
        be.cast(wide, "float32", back, "float16", x.size)
        np.testing.assert_array_equal(ws.read(back), x)


@given(x=hnp.arrays(np.float32, st.integers(0, 200), elements=st.floats(width=32)))
def test_any_float32(be: Backend, x: Array) -> None:
    with Workspace(be) as ws:
        check(ws, x, "float16")
