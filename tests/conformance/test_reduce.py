from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tilewright import Backend, ReduceOp

from . import bounds, references
from .workspace import Array, Workspace, elements, normal

OPS = ["sum", "max", "min", "mean"]
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
    (65, 33, 129),
]

LONG = [
    ((65537, 3), 0),
    ((65537, 3), 1),
    ((3, 65537), 0),
    ((3, 65537), 1),
    ((2, 65537, 5), 1),
    ((65537, 1, 2), 1),
    ((10_000_000,), 0),
    ((10, 1_000_000), 1),
    ((1_000_000, 10), 0),
    ((1_000_000, 10), 1),
]

every_op = pytest.mark.parametrize("op", OPS)


def test_no_op_is_missing() -> None:
    assert {member.value for member in ReduceOp} == set(OPS)


def run(ws: Workspace, op: str, x: Array, axis: int) -> Array:
    shape = list(x.shape)
    del shape[axis]
    out = ws.room(shape, x.dtype)
    ws.be.reduce(op, ws.input(x), out, list(x.shape), axis, x.dtype.name)
    return ws.read(out)


def check(ws: Workspace, op: str, x: Array, axis: int) -> None:
    exact = references.reduce(op, x, axis)
    tolerance = np.zeros(exact.shape)
    if op in ("sum", "mean"):
        magnitudes = references.reduce(op, np.abs(x), axis)
        with np.errstate(invalid="ignore"):
            tolerance = bounds.summation(magnitudes, x.shape[axis])
    bounds.assert_within(run(ws, op, x, axis), exact, tolerance)


@pytest.mark.sampled(20)
@pytest.mark.essential
@every_op
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_axis(
    be: Backend, rng: np.random.Generator, op: str, shape: tuple[int, ...], dtype: str
) -> None:
    for axis in range(-len(shape), len(shape)):
        with Workspace(be) as ws:
            check(ws, op, normal(rng, shape, dtype), axis)


@pytest.mark.sampled(20)
@every_op
@pytest.mark.parametrize(("shape", "axis"), LONG, ids=str)
def test_long(
    ws: Workspace, rng: np.random.Generator, op: str, shape: tuple[int, ...], axis: int, dtype: str
) -> None:
    """Nearly equal numbers, where a plain running sum rounds the same way each time."""
    check(ws, op, (0.1 + 0.01 * rng.random(shape, np.float32)).astype(dtype), axis)


@pytest.mark.sampled(12)
@pytest.mark.essential
@pytest.mark.parametrize("n", [255, 65535, 65536, 65537, 1_000_003, 10_000_000])
def test_sums_of_integers_are_exact(
    ws: Workspace, rng: np.random.Generator, n: int, dtype: str
) -> None:
    """No element may be left out or counted twice."""
    x = rng.integers(-1, 2, n).astype(dtype)
    total = int(x.astype(np.int64).sum())
    assert run(ws, "sum", x, 0) == np.array(total).astype(dtype)
    wide = rng.integers(-1, 2, (n // 50, 50)).astype(dtype)
    for axis in range(2):
        expected = wide.astype(np.int64).sum(axis).astype(dtype)
        np.testing.assert_array_equal(run(ws, "sum", wide, axis), expected)


@pytest.mark.parametrize("n", [3, 17, 257, 65537])
@pytest.mark.parametrize("op", ["max", "min"])
def test_the_extreme_is_found_wherever_it_is(ws: Workspace, op: str, n: int, dtype: str) -> None:
    sign = 1 if op == "max" else -1
    for at in {0, 1, n // 2, n - 2, n - 1}:
        x = np.full(n, -5 * sign, dtype)
        x[at] = 3 * sign
        assert run(ws, op, x, 0) == 3 * sign


@pytest.mark.essential
@every_op
@pytest.mark.parametrize("n", [3, 17, 100])
def test_special_values(ws: Workspace, op: str, n: int, dtype: str) -> None:
    """Every pair of them within a row of zeros, at the ends and in the middle."""
    values = [np.nan, np.inf, -np.inf, 1.0, -1.0]
    rows = []
    for (a, b), (i, j) in itertools.product(
        itertools.product(values, values), [(0, n - 1), (n // 2, n - 1), (0, 1)]
    ):
        row = np.zeros(n, dtype)
        row[i], row[j] = a, b
        rows.append(row)
    x = np.stack(rows)
    check(ws, op, x, 1)
    check(ws, op, x.T.copy(), 0)


def test_an_empty_axis(ws: Workspace, dtype: str) -> None:
    for shape, axis in [((0,), 0), ((3, 0), 1), ((0, 3), 0), ((2, 0, 3), 1)]:
        x = np.empty(shape, dtype)
        assert (run(ws, "sum", x, axis) == 0).all()
        assert np.isnan(run(ws, "mean", x, axis)).all()


@every_op
def test_an_empty_result(ws: Workspace, op: str, dtype: str) -> None:
    for shape, axis in [((0, 3), 1), ((3, 0), 0), ((2, 0, 3), 2)]:
        assert run(ws, op, np.empty(shape, dtype), axis).size == 0


def test_float16_is_summed_in_float32(ws: Workspace) -> None:
    x = np.full(100_000, 0.01, np.float16)
    bounds.assert_within(run(ws, "sum", x, 0), x.astype(np.float64).sum(), 1e-2)
    big = np.full(1000, 60000, np.float16)
    assert run(ws, "mean", big, 0) == 60000
    assert run(ws, "sum", big, 0) == np.inf


@pytest.mark.sampled(12)
@every_op
def test_same_request_same_bits(
    ws: Workspace, rng: np.random.Generator, op: str, dtype: str
) -> None:
    x = normal(rng, (333, 4097), dtype)
    for axis in range(2):
        assert len({run(ws, op, x, axis).tobytes() for _ in range(5)}) == 1


@given(
    shape=st.lists(st.integers(1, 7), min_size=1, max_size=5),
    data=st.data(),
    op=st.sampled_from(OPS),
    dtype=st.sampled_from(["float32", "float16"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_request(
    be: Backend, shape: list[int], data: st.DataObject, op: str, dtype: str, seed: int
) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    with Workspace(be) as ws:
        check(ws, op, normal(np.random.default_rng(seed), shape, dtype), axis)


@given(
    n=st.integers(1, 3000),
    cut=st.floats(0, 1),
    op=st.sampled_from(["sum", "max", "min"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_whole_is_made_of_its_parts(
    be: Backend, n: int, cut: float, op: str, seed: int
) -> None:
    """On integers, where sums are exact."""
    x = np.random.default_rng(seed).integers(-9, 10, n).astype(np.float32)
    at = min(max(int(cut * n), 1), n)
    parts = [part for part in (x[:at], x[at:]) if part.size]
    with Workspace(be) as ws:
        results = np.array([run(ws, op, part.copy(), 0) for part in parts], np.float32)
        assert run(ws, op, x, 0) == run(ws, op, results, 0)
        assert elements(results.shape) == len(parts)
