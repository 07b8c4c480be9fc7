from __future__ import annotations

import numpy as np
import pytest

from . import bounds
from .workspace import Workspace, integers, normal

SHAPES = [
    (0, 3),
    (1, 1),
    (1, 3),
    (3, 1),
    (17, 257),
    (257, 17),
    (1, 65537),
    (65537, 1),
    (65537, 17),
    (17, 65537),
    (1025, 1023),
    (2_097_153, 3),
]


@pytest.mark.sampled(12)
@pytest.mark.essential
@pytest.mark.parametrize("shape", SHAPES)
def test_against_float64(
    ws: Workspace, rng: np.random.Generator, shape: tuple[int, int], dtype: str
) -> None:
    matrix, vector = normal(rng, shape, dtype), normal(rng, shape[1], dtype)
    out = ws.room(shape[0], dtype)
    ws.be.matmul_vec(ws.input(matrix), *shape, ws.input(vector), out, dtype)
    matrix, vector = matrix.astype(np.float64), vector.astype(np.float64)
    magnitudes = np.abs(matrix) @ np.abs(vector)
    tolerance = bounds.inner_product(magnitudes, shape[1])
    bounds.assert_within(ws.read(out), matrix @ vector, tolerance)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("shape", SHAPES)
def test_integers_are_exact(
    ws: Workspace, rng: np.random.Generator, shape: tuple[int, int], dtype: str
) -> None:
    matrix, vector = integers(rng, shape, dtype), integers(rng, shape[1], dtype)
    out = ws.room(shape[0], dtype)
    ws.be.matmul_vec(ws.input(matrix), *shape, ws.input(vector), out, dtype)
    bounds.assert_within(ws.read(out), matrix.astype(np.float64) @ vector.astype(np.float64))


def test_without_columns_the_result_is_zero(ws: Workspace, dtype: str) -> None:
    empty = np.empty(0, dtype)
    out = ws.room(5, dtype)
    ws.be.matmul_vec(ws.input(empty), 5, 0, ws.input(empty), out, dtype)
    assert (ws.read(out) == 0).all()


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_special_values_stay_in_their_row(
    ws: Workspace, rng: np.random.Generator, special: float, dtype: str
) -> None:
    matrix = normal(rng, (17, 33), dtype)
    matrix[5, 32] = special
    out = ws.room(17, dtype)
    ws.be.matmul_vec(ws.input(matrix), 17, 33, ws.input(np.ones(33, dtype)), out, dtype)
    got = ws.read(out)
    np.testing.assert_array_equal(got[5], special)
    assert np.isfinite(np.delete(got, 5)).all()


def test_same_request_same_bits(ws: Workspace, rng: np.random.Generator, dtype: str) -> None:
    matrix, vector = ws.input(normal(rng, (513, 1025), dtype)), ws.input(normal(rng, 1025, dtype))
    results = []
    for _ in range(5):
        out = ws.room(513, dtype)
        ws.be.matmul_vec(matrix, 513, 1025, vector, out, dtype)
        results.append(ws.read(out).tobytes())
    assert len(set(results)) == 1
