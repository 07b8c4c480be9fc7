from __future__ import annotations

import numpy as np
import pytest

from . import bounds, references
from .workspace import Workspace, normal

CASES = [  # heads, kv_heads, seq, head_dim
    (1, None, 1, 1),
    (1, None, 17, 3),
    (3, None, 257, 17),
    (6, 2, 33, 64),
    (8, 1, 65, 128),
    (1, 1, 65537, 5),
    (4, 2, 3, 65537),
    (257, None, 17, 9),
    (65537, None, 2, 3),
    (2, 2, 0, 4),
]


@pytest.mark.essential
@pytest.mark.parametrize(("heads", "kv_heads", "seq", "head_dim"), CASES)
@pytest.mark.parametrize("scale", [1.0, 0.125, 1.7])
def test_against_float64(
    ws: Workspace,
    rng: np.random.Generator,
    heads: int,
    kv_heads: int | None,
    seq: int,
    head_dim: int,
    scale: float,
    dtype: str,
) -> None:
    q = normal(rng, (heads, head_dim), dtype)
    keys = normal(rng, (kv_heads or heads, seq, head_dim), dtype)
    out = ws.room((heads, seq), dtype)
    ws.be.attention_scores(
        ws.input(q), ws.input(keys), out, seq, head_dim, scale, heads, kv_heads, dtype
    )
    all_keys = references.repeated_heads(keys, heads)
    scale = float(np.float32(scale))
    exact = scale * np.einsum("hsd,hd->hs", all_keys, q.astype(np.float64))
    magnitudes = scale * np.einsum("hsd,hd->hs", abs(all_keys), abs(q.astype(np.float64)))
    bounds.assert_within(ws.read(out), exact, bounds.inner_product(magnitudes, head_dim))


@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_special_values_stay_at_their_key(ws: Workspace, special: float, dtype: str) -> None:
    keys = np.ones((2, 9, 5), dtype)
    keys[1, 4, 2] = special
    out = ws.room((2, 9), dtype)
    ws.be.attention_scores(
        ws.input(np.ones((2, 5), dtype)), ws.input(keys), out, 9, 5, 1.0, 2, None, dtype
    )
    expected = np.full((2, 9), 5, dtype)
    expected[1, 4] = special
    np.testing.assert_array_equal(ws.read(out), expected)


def test_same_request_same_bits(ws: Workspace, rng: np.random.Generator, dtype: str) -> None:
    q, keys = ws.input(normal(rng, (8, 64), dtype)), ws.input(normal(rng, (8, 333, 64), dtype))
    results = set()
    for _ in range(5):
        out = ws.room((8, 333), dtype)
        ws.be.attention_scores(q, keys, out, 333, 64, 0.125, 8, None, dtype)
        results.add(ws.read(out).tobytes())
    assert len(results) == 1
