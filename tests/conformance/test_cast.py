from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tilewright import Backend

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
