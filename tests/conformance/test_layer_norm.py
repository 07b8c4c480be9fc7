from __future__ import annotations

import numpy as np
import pytest

from . import bounds, references
from .workspace import Array, Workspace, normal

SHAPES = [(1, 1), (3, 1), (1, 3), (17, 257), (257, 17), (5, 1000), (1, 65537), (65537, 3),
          (37, 1), (70, 2), (41, 8)]  # fmt: skip


def run(
    ws: Workspace, x: Array, weight: Array, bias: Array, eps: float, in_place: bool = False
) -> Array:
    buffer = ws.output(x) if in_place else ws.input(x)
    out = buffer if in_place else ws.room(x.shape, x.dtype)
    parameters = ws.input(weight), ws.input(bias)
    ws.be.layer_norm(buffer, *parameters, out, *x.shape, eps, x.dtype.name)
    return ws.read(out)


def check(
    ws: Workspace, x: Array, weight: Array, bias: Array, eps: float, in_place: bool = False
) -> None:
    eps32 = float(np.float32(eps))
    with np.errstate(all="ignore"):
        exact = references.layer_norm(x, weight, bias, eps32)
        tolerance = bounds.layer_norm(*(a.astype(np.float64) for a in (x, weight, bias)), eps32)
    bounds.assert_within(run(ws, x, weight, bias, eps, in_place), exact, tolerance)


@pytest.mark.sampled(12)
@pytest.mark.essential
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("in_place", [False, True])
def test_against_float64(
    ws: Workspace, rng: np.random.Generator, shape: tuple[int, int], in_place: bool, dtype: str
) -> None:
    x, weight, bias = (normal(rng, size, dtype) for size in (shape, shape[1], shape[1]))
    check(ws, x, weight, bias, 1e-5, in_place)


@pytest.mark.parametrize("shape", [(3, 65540), (40, 20481), (200, 16388), (150, 30001)])
@pytest.mark.parametrize("in_place", [False, True])
def test_long_rows(
    ws: Workspace, rng: np.random.Generator, shape: tuple[int, int], in_place: bool, dtype: str
) -> None:
    x, weight, bias = (normal(rng, size, dtype) for size in (shape, shape[1], shape[1]))
    x += (3 * np.arange(shape[0]) % 50).astype(dtype)[:, None]
    check(ws, x, weight, bias, 1e-5, in_place)


@pytest.mark.essential
@pytest.mark.parametrize("shape", [(5, 33), (3, 1025), (1, 65537)])
def test_a_mean_far_from_zero(
    ws: Workspace, rng: np.random.Generator, shape: tuple[int, int], dtype: str
) -> None:
    """mean(x^2) - mean(x)^2 would cancel here."""
    x = (1000 + rng.standard_normal(shape)).astype(dtype)
    check(ws, x, np.ones(shape[1], dtype), np.zeros(shape[1], dtype), 1e-5)


@pytest.mark.parametrize("eps", [0.0, 1e-12, 1e-5, 1.0, 1e6])
def test_eps(ws: Workspace, rng: np.random.Generator, eps: float, dtype: str) -> None:
    check(ws, *(normal(rng, size, dtype) for size in ((5, 33), 33, 33)), eps)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_nothing_to_do(ws: Workspace, shape: tuple[int, int], dtype: str) -> None:
    ones = np.ones(shape[1], dtype)
    assert run(ws, np.empty(shape, dtype), ones, ones, 1e-5).shape == shape


def test_special_values_stay_in_their_row(
    ws: Workspace, rng: np.random.Generator, dtype: str
) -> None:
    x = normal(rng, (5, 33), dtype)
    x[1, 4], x[3, 32] = np.nan, np.inf
    bad = np.isnan(run(ws, x, np.ones(33, dtype), np.zeros(33, dtype), 1e-5))
    assert bad[[1, 3]].all()
    assert not bad[[0, 2, 4]].any()


def test_special_values_stay_in_their_long_row(
    ws: Workspace, rng: np.random.Generator, dtype: str
) -> None:
    x = normal(rng, (5, 20001), dtype)
    x[1, 4], x[3, 20000] = np.nan, np.inf
    bad = np.isnan(run(ws, x, np.ones(20001, dtype), np.zeros(20001, dtype), 1e-5))
    assert bad.any(axis=1).tolist() == [False, True, False, True, False]
    assert bad[1].all()


def test_a_constant_row_becomes_the_bias(ws: Workspace, dtype: str) -> None:
    x, weight = np.full((3, 64), 5, dtype), np.full(64, 2, dtype)
    bias = np.arange(64).astype(dtype)
    np.testing.assert_array_equal(run(ws, x, weight, bias, 1e-5), np.tile(bias, (3, 1)))


def test_same_request_same_bits(ws: Workspace, rng: np.random.Generator, dtype: str) -> None:
    x, weight, bias = (normal(rng, size, dtype) for size in ((33, 4097), 4097, 4097))
    assert len({run(ws, x, weight, bias, 1e-5).tobytes() for _ in range(5)}) == 1
