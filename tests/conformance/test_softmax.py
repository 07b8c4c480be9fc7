from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tilewright import Backend

from . import bounds, references
from .workspace import Array, Workspace, elements, normal

SHAPES = [
    (1,),
    (3,),
    (17,),
    (257,),
    (65537,),
    (3, 17),
    (257, 3),
    (17, 257),
    (3, 1, 17),
    (5, 17, 3),
    (2, 3, 5, 7),
    (3, 1, 2, 17, 1),
    (2, 3, 1, 5, 7),
]

LONG = [
    ((65537, 3), 1), ((65537, 3), 0), ((3, 65537), 0), ((2, 65537, 5), 1), ((1, 1000003), 1),
    ((3, 65540), 1), ((40, 20481), 1), ((200, 16388), 1), ((150, 30001), 1),
]  # fmt: skip


def run(ws: Workspace, x: Array, axis: int, in_place: bool = False) -> Array:
    buffer = ws.output(x) if in_place else ws.input(x)
    out = buffer if in_place else ws.room(x.shape, x.dtype)
    ws.be.softmax(buffer, out, list(x.shape), axis, x.dtype.name)
    return ws.read(out)


def check(ws: Workspace, x: Array, axis: int, in_place: bool = False) -> None:
    exact = references.softmax(x, axis)
    wide = x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        below_max = np.nan_to_num(wide.max(axis, keepdims=True) - wide)
    tolerance = bounds.softmax(exact, below_max, x.shape[axis])
    bounds.assert_within(run(ws, x, axis, in_place), exact, tolerance)


@pytest.mark.sampled(12)
@pytest.mark.essential
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("in_place", [False, True])
def test_every_axis(
    be: Backend, rng: np.random.Generator, shape: tuple[int, ...], in_place: bool, dtype: str
) -> None:
    for axis in range(-len(shape), len(shape)):
        with Workspace(be) as ws:
            check(ws, 3 * normal(rng, shape, dtype), axis, in_place)


@pytest.mark.parametrize(("shape", "axis"), LONG, ids=str)
def test_long(
    ws: Workspace, rng: np.random.Generator, shape: tuple[int, ...], axis: int, dtype: str
) -> None:
    check(ws, normal(rng, shape, dtype), axis)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 5)], ids=str)
def test_nothing_to_do(ws: Workspace, shape: tuple[int, ...], dtype: str) -> None:
    for axis in range(len(shape)):
        assert run(ws, np.empty(shape, dtype), axis).shape == shape


@pytest.mark.essential
@pytest.mark.parametrize("n", [3, 17, 257])
def test_large_values_do_not_overflow(ws: Workspace, n: int, dtype: str) -> None:
    x = np.linspace(-60000, 60000, n).astype(dtype)
    check(ws, x, 0)
    check(ws, -x, 0)
    check(ws, np.full(n, 60000, dtype), 0)


def test_special_values(ws: Workspace, dtype: str) -> None:
    """As the NumPy formula gives them: -inf has weight 0, inf or NaN make their row NaN."""
    inf, nan = np.inf, np.nan
    rows = [[1, -inf, 2], [-inf, -inf, 0], [1, inf, 2], [nan, 1, 2], [-inf, -inf, -inf], [1, 2, 3]]
    x = np.array(rows, dtype)
    check(ws, x, 1)
    check(ws, x.T.copy(), 0)


@pytest.mark.parametrize("length", [20001, 32768])
def test_special_values_in_long_rows(
    ws: Workspace, rng: np.random.Generator, length: int, dtype: str
) -> None:
    """In one part of a row, which others are to know of, and in none."""
    x = normal(rng, (7, length), dtype)
    x[0, 17], x[1, 5000], x[2, length - 1] = -np.inf, np.nan, np.inf
    x[3, :9000], x[4, 9000:], x[5] = -np.inf, -np.inf, -np.inf
    check(ws, x, 1)
    check(ws, x, 1, in_place=True)


def test_same_request_same_bits(ws: Workspace, rng: np.random.Generator, dtype: str) -> None:
    x = normal(rng, (33, 4097), dtype)
    assert len({run(ws, x, 1).tobytes() for _ in range(5)}) == 1
    assert len({run(ws, x, 0).tobytes() for _ in range(5)}) == 1


shapes = st.lists(st.integers(1, 6), min_size=1, max_size=5)


@given(shape=shapes, data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_rows_sum_to_one(be: Backend, shape: list[int], data: st.DataObject, seed: int) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = normal(np.random.default_rng(seed), shape, np.float32)
    with Workspace(be) as ws:
        total = run(ws, x, axis).astype(np.float64).sum(axis)
    n = elements(shape)
    np.testing.assert_allclose(total, 1, rtol=0, atol=(8 + n) * bounds.U)


@given(n=st.integers(1, 300), shift=st.integers(-1000, 1000), seed=st.integers(0, 2**32 - 1))
def test_a_shift_changes_nothing(be: Backend, n: int, shift: int, seed: int) -> None:
    """On multiples of 1/64 the shift itself is exact."""
    x = (np.random.default_rng(seed).integers(-256, 256, n) / 64).astype(np.float32)
    with Workspace(be) as ws:
        np.testing.assert_array_equal(run(ws, x, 0), run(ws, x + np.float32(shift), 0))
