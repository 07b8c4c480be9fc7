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
    ((140, 32771), 1), ((2, 5003, 2), 1), ((3, 700, 7), 1), ((2, 130, 15), 1), ((2, 8, 700), 1),
    ((2000, 4, 33), 1), ((7, 13, 1031), 1), ((3, 16, 517), 1), ((530, 32771), 1),
    ((40, 30, 2), 1), ((37, 64, 4), 1), ((35, 17, 15), 1),
]  # fmt: skip


@pytest.fixture(params=[False, True], ids=["itself", "log"])
def log(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def run(ws: Workspace, x: Array, axis: int, log: bool, in_place: bool = False) -> Array:
    buffer = ws.output(x) if in_place else ws.input(x)
    out = buffer if in_place else ws.room(x.shape, x.dtype)
    ws.be.softmax(buffer, out, list(x.shape), axis, x.dtype.name, log)
    return ws.read(out)


def check(ws: Workspace, x: Array, axis: int, log: bool, in_place: bool = False) -> None:
    exact = (references.log_softmax if log else references.softmax)(x, axis)
    wide = x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        below_max = np.nan_to_num(wide.max(axis, keepdims=True) - wide)
    bound = bounds.log_softmax if log else bounds.softmax
    tolerance = bound(exact, below_max, x.shape[axis])
    bounds.assert_within(run(ws, x, axis, log, in_place), exact, tolerance)


@pytest.mark.sampled(12)
@pytest.mark.essential
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("in_place", [False, True])
def test_every_axis(
    be: Backend, rng: np.random.Generator, shape: tuple[int, ...], in_place: bool, dtype: str,
    log: bool,
) -> None:  # fmt: skip
    for axis in range(-len(shape), len(shape)):
        with Workspace(be) as ws:
            check(ws, 3 * normal(rng, shape, dtype), axis, log, in_place)


@pytest.mark.parametrize(("shape", "axis"), LONG, ids=str)
@pytest.mark.parametrize("in_place", [False, True])
def test_long(
    ws: Workspace, rng: np.random.Generator, shape: tuple[int, ...], axis: int, in_place: bool,
    dtype: str, log: bool,
) -> None:  # fmt: skip
    check(ws, normal(rng, shape, dtype), axis, log, in_place)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 5)], ids=str)
def test_nothing_to_do(ws: Workspace, shape: tuple[int, ...], dtype: str, log: bool) -> None:
    for axis in range(len(shape)):
        assert run(ws, np.empty(shape, dtype), axis, log).shape == shape


@pytest.mark.essential
@pytest.mark.parametrize("n", [3, 17, 257])
def test_large_values_do_not_overflow(ws: Workspace, n: int, dtype: str, log: bool) -> None:
    x = np.linspace(-60000, 60000, n).astype(dtype)
    check(ws, x, 0, log)
    check(ws, -x, 0, log)
    check(ws, np.full(n, 60000, dtype), 0, log)


def test_special_values(ws: Workspace, dtype: str, log: bool) -> None:
    """As the NumPy formula gives them: -inf has weight 0, inf or NaN make their row NaN."""
    inf, nan = np.inf, np.nan
    rows = [[1, -inf, 2], [-inf, -inf, 0], [1, inf, 2], [nan, 1, 2], [-inf, -inf, -inf], [1, 2, 3]]
    x = np.array(rows, dtype)
    check(ws, x, 1, log)
    check(ws, x.T.copy(), 0, log)
    for length in (3, 5, 16, 40):  # along an axis in front of others, behind others
        longer = np.concatenate([x, np.full((len(rows), length - 3), -inf, dtype)], axis=1)
        check(ws, np.stack([longer.T, longer.T]), 1, log)


@pytest.mark.parametrize("length", [20001, 32768])
def test_special_values_in_long_rows(
    ws: Workspace, rng: np.random.Generator, length: int, dtype: str, log: bool
) -> None:
    """In one part of a row, which others are to know of, and in none."""
    x = normal(rng, (7, length), dtype)
    x[0, 17], x[1, 5000], x[2, length - 1] = -np.inf, np.nan, np.inf
    x[3, :9000], x[4, 9000:], x[5] = -np.inf, -np.inf, -np.inf
    check(ws, x, 1, log)
    check(ws, x, 1, log, in_place=True)


def test_logarithms_keep_their_digits_where_weights_are_nothing(ws: Workspace, dtype: str) -> None:
    """Of rows and columns, short and long, whose softmax is 0 but for one element."""
    for n in (2, 5, 64, 129, 1000, 4099, 9000, 17000, 40004):
        x = -(np.arange(n) % 61 + 200).astype(dtype)
        x[n // 2] = 5
        assert np.count_nonzero(run(ws, x, 0, False)) == 1
        for shape, axis in ((1, n), 1), ((n, 1), 0), ((3, n), 1), ((n, 3), 0):
            rows = np.broadcast_to(x.reshape((1, n) if axis else (n, 1)), shape)
            check(ws, rows.copy(), axis, log=True)


def test_other_requests_come_between(ws: Workspace, rng: np.random.Generator, dtype: str) -> None:
    """Softmax and its logarithm of one shape are different kernels, whichever came first."""
    for shape, axis in ((5, 7), 1), ((3, 300), 1), ((300, 3), 0), ((2, 20001), 1), ((2, 20004), 1):
        x = normal(rng, shape, dtype)
        for log in (True, False, True):
            check(ws, x, axis, log)


def test_same_request_same_bits(
    ws: Workspace, rng: np.random.Generator, dtype: str, log: bool
) -> None:
    x = normal(rng, (33, 4097), dtype)
    assert len({run(ws, x, 1, log).tobytes() for _ in range(5)}) == 1
    assert len({run(ws, x, 0, log).tobytes() for _ in range(5)}) == 1


shapes = st.lists(st.integers(1, 6), min_size=1, max_size=5)


@given(shape=shapes, data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_rows_sum_to_one(be: Backend, shape: list[int], data: st.DataObject, seed: int) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = normal(np.random.default_rng(seed), shape, np.float32)
    with Workspace(be) as ws:
        total = run(ws, x, axis, False).astype(np.float64).sum(axis)
    n = elements(shape)
    np.testing.assert_allclose(total, 1, rtol=0, atol=(8 + n) * bounds.U)


@given(
    n=st.integers(1, 300), shift=st.integers(-1000, 1000), seed=st.integers(0, 2**32 - 1),
    log=st.booleans(),
)  # fmt: skip
def test_a_shift_changes_nothing(be: Backend, n: int, shift: int, seed: int, log: bool) -> None:
    """On multiples of 1/64 the shift itself is exact."""
    x = (np.random.default_rng(seed).integers(-256, 256, n) / 64).astype(np.float32)
    with Workspace(be) as ws:
        shifted = run(ws, x + np.float32(shift), 0, log)
        np.testing.assert_array_equal(run(ws, x, 0, log), shifted)
