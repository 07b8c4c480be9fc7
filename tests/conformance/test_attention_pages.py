"""attention over pages that are stored in fewer bits than q is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend

from . import bounds
from .attention_cases import Options, check, draw, expected, run
from .test_attention_options import SEQUENCES
from .workspace import Workspace, normal

#: of the cases with pages each as float16 and as int8 besides
STORED = [
    replace(case, stored=stored)
    for case in [
        *(case for case in SEQUENCES if case.paged),
        Options((1, 1), (70, 33), layout="paged packed", heads=6, kv_heads=3, dim=20, page_size=7,
                causal=True, at_end=True),
        Options((2, 2), (650, 4), layout="paged", heads=4, kv_heads=2, dim=13, value_dim=6,
                page_size=5, causal=True, at_end=True, left=300),
        Options((1, 1), (800, 900), layout="paged", heads=2, page_size=16, mask="bool bk"),
        Options((1,), (300,), layout="paged packed", heads=4, kv_heads=4, dim=300, value_dim=264,
                page_size=16, at_end=True),
        Options((70,), (90,), layout="paged packed", heads=2, kv_heads=1, dim=6, value_dim=10,
                page_size=4, causal=True, at_end=True),
    ]
    for stored in ("float16", "int8")
]  # fmt: skip


@pytest.mark.sampled(16)
@pytest.mark.essential
@pytest.mark.parametrize("case", STORED, ids=str)
def test_stored_pages(ws: Workspace, rng: np.random.Generator, case: Options, dtype: str) -> None:
    check(ws, rng, case, dtype)


@pytest.mark.parametrize("queries", [1, 40])
def test_nan_and_no_pages_of_int8(
    ws: Workspace, rng: np.random.Generator, queries: int, dtype: str
) -> None:
    """A row whose scale is NaN, and a page that is none, reach those that see them alone."""
    case = Options((queries,), (90,), causal=True, at_end=True, left=20, layout="paged packed",
                   dim=32, stored="int8")  # fmt: skip
    exact, tolerance = expected(case, operands := draw(rng, case, dtype))[0]
    assert operands.scales is not None
    place = np.arange(queries) + 90 - queries
    reached = (place >= 70) & (place <= 90)
    for of_rows in operands.scales:
        kept = of_rows[0][:, 70].copy()
        of_rows[0][:, 70] = np.nan
        got = run(ws, rng, case, operands, dtype)[0]
        assert np.isnan(got[:, reached]).all()
        bounds.assert_within(got[:, ~reached], exact[:, ~reached], tolerance[:, ~reached])
        of_rows[0][:, 70] = kept
    k, v = (whole_rows(rng, (2, 4, 1, 32)) for _ in range(2))
    q = ws.be.array(normal(rng, (queries, 2, 32), dtype))
    scales = ws.be.array(np.ones((2, 2, 1, 4), np.float32))
    for table, is_bad in (([[0, 1]], False), ([[0, 2]], True), ([[-1, 1]], True)):
        got = ws.be.attention(
            q, tw.asarray(k, device=ws.be), tw.asarray(v, device=ws.be), page_table=table,
            lengths=[8],
            q_starts=[0, queries], scales=scales,
        ).numpy()  # fmt: skip
        assert np.isnan(got).all() == np.isnan(got).any() == is_bad


def whole_rows(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.integers(-127, 128, shape).astype(np.int8)


@pytest.mark.parametrize("stored", ["", "int8"])
@pytest.mark.parametrize("order", ["up", "down", "to and fro"])
def test_scores_far_apart(
    ws: Workspace, rng: np.random.Generator, stored: str, order: str, dtype: str
) -> None:
    """By some hundred, so that rows take other maxima on their way."""
    case = Options((1, 2, 1), (700, 333, 5), layout="paged packed", heads=4, dim=32, page_size=16,
                   causal=True, at_end=True, stored=stored)  # fmt: skip
    given = draw(rng, case, dtype)
    given.q = [abs(one) for one in given.q]
    for i, rows in enumerate(given.k):
        given.k[i] = abs(rows)
        ramp = np.linspace(0, 60, rows.shape[1])
        if order != "up":
            ramp = ramp[::-1] if order == "down" else abs(30 - ramp)
        if given.scales is not None:
            given.scales[0][i] = (given.scales[0][i] * ramp).astype(np.float32)
        else:
            given.k[i] = (given.k[i] * ramp[:, None]).astype(dtype)
    got = run(ws, rng, case, given, dtype)
    for own, (exact, tolerance) in zip(got, expected(case, given), strict=True):
        bounds.assert_within(own, exact, tolerance)


@pytest.mark.parametrize("queries", [1, 80])
def test_what_is_wrong_in_arrays_is_named(be: Backend, queries: int) -> None:
    q, k = (
        be.array(np.zeros((queries, 4, 8), np.float32)),
        tw.asarray(np.zeros((3, 4, 2, 8), np.int8), device=be),
    )
    scales = be.array(np.ones((3, 2, 2, 4), np.float32))
    given: dict[str, Any] = {"page_table": [[0]], "lengths": [4], "q_starts": [0, queries]}
    wrong: list[tuple[Any, Any, Any, str]] = [
        (k, k, None, "a cache of int8 needs scales, which is not given"),
        (
            k,
            k,
            scales[:2],
            r"scales is float32 of shape \(2, 2, 2, 4\), expected float32 of \(3, 2",
        ),
        (k, k, k, "scales is int8 of shape"),
        (k, k, 3.0, "scales is .*, expected an Array"),
        (k, k.astype("float16"), scales, "k int8 and v float16, expected one dtype"),
        (k.astype("int32"), k, scales, "k is int32, expected float32, float16 or int8"),
        (k.astype("float16"), k.astype("float16"), scales, "a cache of float16 has no scales"),
    ]
    for keys, values, of_rows, words in wrong:
        with pytest.raises(tw.InvalidArgument, match=f"^attention: {words}"):
            be.attention(q, keys, values, scales=of_rows, **given)
    halves = k.astype("float16")
    assert be.attention(q, halves, halves, **given).shape == q.shape
