"""attention of many queries whose heads are whole vectors of eight, as matrix units take it: what
is hidden, what is not finite, and maxima that move, in float16 and float32 on every device."""

from __future__ import annotations

import numpy as np
import pytest

from . import attention_cases
from .attention_cases import Options
from .test_attention import Attention, check, check_inputs, run
from .workspace import Workspace, normal

SIZES = [
    Attention(1, 2, 70, 100, 16),
    Attention(2, 2, 150, 70, 16, causal=True),
    Attention(1, 2, 67, 197, 16, causal=True, q_offset=90),
    Attention(1, 6, 65, 131, 16, causal=True, q_offset=66, kv_heads=2),
    Attention(1, 1, 300, 1, 16),
    Attention(3, 1, 33, 31, 8, causal=True),
    Attention(1, 1, 129, 161, 40),
    Attention(1, 2, 70, 65, 72, causal=True),
    Attention(1, 1, 128, 128, 64, causal=True),
    Attention(1, 1, 130, 97, 128, causal=True, q_offset=5),
    Attention(1, 1, 66, 67, 120),
    Attention(1, 1, 70, 70, 136),
]

OPTIONS = [
    Options((150,), (150,), heads=2, causal=True, soft_cap=3.0),
    Options((150,), (150,), heads=2, left=20, right=9),
    Options((130, 130), (131, 70), layout="lengths", causal=True, at_end=True),
    Options((70, 3, 131, 0), (70, 40, 200, 5), layout="packed", heads=4, causal=True, at_end=True),
    Options((70, 70), (131, 70), layout="paged", page_size=5, causal=True, at_end=True),
    Options((90, 1, 70), (200, 40, 90), layout="paged packed", heads=4, page_size=16, causal=True,
            at_end=True, left=60, soft_cap=10.0),
    Options((100,), (90,), value_dim=40, causal=True),
    Options((100,), (40,), causal=True, at_end=True),
]  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", SIZES, ids=str)
def test_sizes(ws: Workspace, rng: np.random.Generator, case: Attention, dtype: str) -> None:
    check(ws, rng, case, dtype)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", OPTIONS, ids=str)
def test_options(ws: Workspace, rng: np.random.Generator, case: Options, dtype: str) -> None:
    attention_cases.check(ws, rng, case, dtype)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("winner", [0, 20, 40, 299])
@pytest.mark.parametrize("lead", [3, 7.9, 8.1, 16, 20, 126, 150, 3000])
@pytest.mark.parametrize("causal", [False, True])
def test_one_score_far_above_the_others(
    ws: Workspace, rng: np.random.Generator, lead: float, winner: int, causal: bool, dtype: str
) -> None:
    """By so many powers of two, for half of the queries; its value is among the largest."""
    case = Attention(1, 1, 70, 300, 16, causal, 290, scale=1.0)
    q = np.zeros(case.q, dtype)
    k, v = (normal(rng, case.kv, dtype) for _ in range(2))
    q[:, :, ::2, 0] = lead * np.log(2)
    q[..., 1::2, 1] = normal(rng, (35,), dtype)  # every other query has scores of its own
    k[..., 0] = 0
    k[:, :, winner, 0] = 1
    if lead > 10:
        v[:, :, winner] = 0.9 * np.finfo(dtype).max
    check_inputs(ws, case, q, k, v, dtype)


@pytest.mark.parametrize("step", [0.02, 1.0, -1.0])
def test_scores_that_grow_or_fall(
    ws: Workspace, rng: np.random.Generator, step: float, dtype: str
) -> None:
    case = Attention(1, 2, 150, 300, 16, scale=1.0)
    q, k, v = (normal(rng, shape, dtype) for shape in (case.q, case.kv, case.kv))
    q[0, 0, :, 0] = step
    k[..., 0] = np.arange(300)
    check_inputs(ws, case, q, k, v, dtype)


@pytest.mark.parametrize("at", [3, 100])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_stay_hidden(
    ws: Workspace, rng: np.random.Generator, special: float, at: int, dtype: str
) -> None:
    case = Attention(1, 2, 140, 150, 16, causal=True, q_offset=4)
    q, k, v = (normal(rng, shape, dtype) for shape in (case.q, case.kv, case.kv))
    expected = run(ws, case, q, k, v, dtype)
    v[0, :, at, 5] = special
    got = run(ws, case, q, k, v, dtype)
    sees = at - 4 if at > 4 else 0
    np.testing.assert_array_equal(got[0, :, sees:, 5], np.full((2, 140 - sees), special))
    few = 2e-3 if dtype == "float16" else 1e-5  # other keys come in another order
    np.testing.assert_allclose(got[0, :, :sees], expected[0, :, :sees], rtol=few, atol=few)
    others = [column for column in range(16) if column != 5]
    np.testing.assert_allclose(got[..., others], expected[..., others], rtol=few, atol=few)


@pytest.mark.parametrize("at", [3, 100])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_special_keys(
    ws: Workspace, rng: np.random.Generator, special: float, at: int, dtype: str
) -> None:
    """A score of -infinity weighs nothing, the others leave nothing of their query; who does not
    see the key is not touched."""
    case = Attention(1, 2, 140, 150, 16, causal=True, q_offset=4)
    q, k, v = (normal(rng, shape, dtype) for shape in (case.q, case.kv, case.kv))
    q[..., 0] = abs(q[..., 0]) + 1
    before = run(ws, case, q, k, v, dtype)
    k[:, :, at, 0] = special
    got = run(ws, case, q, k, v, dtype)
    sees = at - 4 if at > 4 else 0
    np.testing.assert_array_equal(got[:, :, :sees], before[:, :, :sees])
    if special == -np.inf:
        assert np.isfinite(got).all()
        assert (got[:, :, sees + 8 :] != before[:, :, sees + 8 :]).any()
    else:
        assert np.isnan(got[:, :, sees:]).all()


def test_scores_that_all_are_minus_infinity(
    ws: Workspace, rng: np.random.Generator, dtype: str
) -> None:
    """Of the first keys, after which others come; a query that only sees those is NaN or 0, not
    what memory held."""
    case = Attention(1, 1, 130, 130, 16, causal=True)
    q, k, v = (normal(rng, shape, dtype) for shape in (case.q, case.kv, case.kv))
    q[..., 0] = abs(q[..., 0]) + 1
    k[:, :, :40, 0] = -np.inf
    got = run(ws, case, q, k, v, dtype)
    later = Attention(1, 1, 90, 90, 16, causal=True)
    expected = run(ws, later, q[:, :, 40:], k[:, :, 40:], v[:, :, 40:], dtype)
    few = 2e-3 if dtype == "float16" else 1e-5
    np.testing.assert_allclose(got[:, :, 40:], expected, rtol=few, atol=few)
    assert (np.isnan(got[:, :, :40]) | (got[:, :, :40] == 0)).all()


def test_nan_stays_in_its_query(ws: Workspace, rng: np.random.Generator, dtype: str) -> None:
    case = Attention(1, 2, 70, 67, 16)
    q, k, v = (normal(rng, shape, dtype) for shape in (case.q, case.kv, case.kv))
    q[0, 1, 44, 3] = np.nan
    bad = np.isnan(run(ws, case, q, k, v, dtype))
    assert bad[0, 1, 44].all()
    assert bad.sum() == 16


def test_same_request_same_bits(ws: Workspace, rng: np.random.Generator, dtype: str) -> None:
    case = Attention(1, 4, 129, 257, 16, causal=True, q_offset=128)
    q, k, v = (normal(rng, shape, dtype) for shape in (case.q, case.kv, case.kv))
    assert len({run(ws, case, q, k, v, dtype).tobytes() for _ in range(4)}) == 1
