from __future__ import annotations

import numpy as np
import pytest

from . import bounds, references
from .workspace import Array, Workspace, normal

SHAPES = [(1, 1), (3, 1), (1, 3), (17, 257), (257, 17), (5, 1000), (1, 65537), (65537, 3),
          (37, 1), (70, 2), (41, 8)]  # fmt: skip


def run(ws: Workspace, x: Array, weight: Array, eps: float, in_place: bool = False) -> Array:
    buffer = ws.output(x) if in_place else ws.input(x)
    out = buffer if in_place else ws.room(x.shape, x.dtype)
    ws.be.rmsnorm(buffer, ws.input(weight), out, *x.shape, eps, x.dtype.name)
    return ws.read(out)


def check(ws: Workspace, x: Array, weight: Array, eps: float, in_place: bool = False) -> None:
    exact = references.rmsnorm(x, weight, float(np.float32(eps)))
    tolerance = bounds.rmsnorm(exact, x.shape[1])
    bounds.assert_within(run(ws, x, weight, eps, in_place), exact, tolerance)


@pytest.mark.sampled(12)
@pytest.mark.essential
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("in_place", [False, True])
def test_against_float64(
    ws: Workspace, rng: np.random.Generator, shape: tuple[int, int], in_place: bool, dtype: str
) -> None:
    x, weight = normal(rng, shape, dtype), normal(rng, shape[1], dtype)
    check(ws, x, weight, 1e-5, in_place)


@pytest.mark.parametrize("shape", [(200, 16388), (150, 30001)])
def test_long_rows(
    ws: Workspace, rng: np.random.Generator, shape: tuple[int, int], dtype: str
) -> None:
    check(ws, normal(rng, shape, dtype), normal(rng, shape[1], dtype), 1e-5)


@pytest.mark.parametrize("eps", [0.0, 1e-12, 1e-5, 1.0, 1e6])
def test_eps(ws: Workspace, rng: np.random.Generator, eps: float, dtype: str) -> None:
    check(ws, normal(rng, (5, 33), dtype), normal(rng, 33, dtype), eps)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_nothing_to_do(ws: Workspace, shape: tuple[int, int], dtype: str) -> None:
    assert run(ws, np.empty(shape, dtype), np.ones(shape[1], dtype), 1e-5).shape == shape


def test_squares_of_float16_do_not_overflow(ws: Workspace) -> None:
    x = np.full((2, 300), 60000, np.float16)
    np.testing.assert_array_equal(run(ws, x, np.ones(300, np.float16), 1e-5), np.ones((2, 300)))


def test_special_values_stay_in_their_row(
    ws: Workspace, rng: np.random.Generator, dtype: str
) -> None:
    x = normal(rng, (5, 33), dtype)
    x[1, 4], x[3, 32] = np.nan, np.inf
    check(ws, x, np.ones(33, dtype), 1e-5)


def test_a_row_of_zeros(ws: Workspace, dtype: str) -> None:
    """0 with an eps, and 0 / 0 without."""
    x, weight = np.zeros((2, 17), dtype), np.ones(17, dtype)
    assert (run(ws, x, weight, 1e-5) == 0).all()
    assert np.isnan(run(ws, x, weight, 0.0)).all()


def test_same_request_same_bits(ws: Workspace, rng: np.random.Generator, dtype: str) -> None:
    x, weight = normal(rng, (33, 4097), dtype), normal(rng, 4097, dtype)
    assert len({run(ws, x, weight, 1e-5).tobytes() for _ in range(5)}) == 1
