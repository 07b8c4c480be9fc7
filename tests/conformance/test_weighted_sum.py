from __future__ import annotations

import numpy as np
import pytest

from . import bounds, references
from .workspace import Workspace, integers, normal

CASES = [  # heads, kv_heads, count, dim
    (1, None, 1, 1),
    (1, None, 17, 3),
    (3, None, 257, 17),
    (6, 2, 33, 64),
    (8, 1, 65, 128),
    (1, 1, 65537, 5),
    (4, 2, 3, 65537),
    (257, None, 17, 9),
    (65537, None, 2, 3),
]


@pytest.mark.sampled(12)
@pytest.mark.essential
@pytest.mark.parametrize(("heads", "kv_heads", "count", "dim"), CASES)
@pytest.mark.parametrize("numbers", [normal, integers])
def test_against_float64(
    ws: Workspace,
    rng: np.random.Generator,
    heads: int,
    kv_heads: int | None,
    count: int,
    dim: int,
    numbers: object,
    dtype: str,
) -> None:
    draw = integers if numbers is integers else normal
    weights = draw(rng, (heads, count), dtype)
    rows = draw(rng, (kv_heads or heads, count, dim), dtype)
    out = ws.room((heads, dim), dtype)
    ws.be.weighted_sum(ws.input(weights), ws.input(rows), out, count, dim, heads, kv_heads, dtype)
    all_rows = references.repeated_heads(rows, heads)
    exact = np.einsum("hc,hcd->hd", weights.astype(np.float64), all_rows)
    magnitudes = np.einsum("hc,hcd->hd", abs(weights.astype(np.float64)), abs(all_rows))
    tolerance = 0.0 if draw is integers else bounds.inner_product(magnitudes, count)
    bounds.assert_within(ws.read(out), exact, tolerance)


def test_no_rows_sum_to_zero(ws: Workspace, dtype: str) -> None:
    empty, out = np.empty(0, dtype), ws.room((2, 5), dtype)
    ws.be.weighted_sum(ws.input(empty), ws.input(empty), out, 0, 5, 2, None, dtype)
    assert (ws.read(out) == 0).all()


@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_special_values_stay_in_their_column(ws: Workspace, special: float, dtype: str) -> None:
    rows = np.ones((2, 9, 5), dtype)
    rows[1, 4, 2] = special
    out = ws.room((2, 5), dtype)
    ws.be.weighted_sum(ws.input(np.ones((2, 9), dtype)), ws.input(rows), out, 9, 5, 2, None, dtype)
    expected = np.full((2, 5), 9, dtype)
    expected[1, 2] = special
    np.testing.assert_array_equal(ws.read(out), expected)


def test_a_weight_of_zero_does_not_hide_nan(ws: Workspace, dtype: str) -> None:
    rows = np.array([[[1.0], [np.nan]]], dtype)
    out = ws.room((1, 1), dtype)
    ws.be.weighted_sum(
        ws.input(np.array([[1, 0]], dtype)), ws.input(rows), out, 2, 1, 1, None, dtype
    )
    assert np.isnan(ws.read(out)[0, 0])


def test_same_request_same_bits(ws: Workspace, rng: np.random.Generator, dtype: str) -> None:
    weights = ws.input(normal(rng, (8, 333), dtype))
    rows = ws.input(normal(rng, (8, 333, 64), dtype))
    results = set()
    for _ in range(5):
        out = ws.room((8, 64), dtype)
        ws.be.weighted_sum(weights, rows, out, 333, 64, 8, None, dtype)
        results.add(ws.read(out).tobytes())
    assert len(results) == 1
