from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tilewright import Backend

from . import bounds, references
from .workspace import Workspace, normal


@dataclass(frozen=True)
class Attention:
    batch: int
    heads: int
    seq_q: int
    seq_kv: int
    head_dim: int
    causal: bool = False
    q_offset: int = 0
    kv_heads: int | None = None
    scale: float | None = None

    @property
    def used_scale(self) -> float:
        return float(np.float32(self.scale or 1 / np.sqrt(self.head_dim)))

    @property
    def q(self) -> tuple[int, int, int, int]:
        return self.batch, self.heads, self.seq_q, self.head_dim

    @property
    def kv(self) -> tuple[int, int, int, int]:
        return self.batch, self.kv_heads or self.heads, self.seq_kv, self.head_dim

    def __str__(self) -> str:
        name = f"{self.batch}x{self.heads}x{self.seq_q}x{self.seq_kv}x{self.head_dim}"
        if self.causal:
            name += f"-causal{self.q_offset}"
        return name + (f"-kv{self.kv_heads}" if self.kv_heads else "")


CASES = [
    Attention(1, 1, 1, 1, 1),
    Attention(1, 1, 3, 17, 1),
    Attention(2, 3, 17, 13, 8),
    Attention(1, 2, 1, 257, 64),
    Attention(1, 2, 257, 1, 16),
    Attention(1, 1, 65, 129, 33),
    Attention(1, 1, 5, 7, 257),
    Attention(1, 2, 64, 64, 64, causal=True),
    Attention(2, 1, 17, 17, 3, causal=True),
    Attention(1, 2, 33, 257, 16, causal=True),
    Attention(1, 1, 257, 33, 16, causal=True),
    Attention(1, 2, 1, 100, 32, causal=True, q_offset=99),
    Attention(1, 2, 7, 100, 32, causal=True, q_offset=93),
    Attention(1, 2, 7, 100, 32, causal=True, q_offset=40),
    Attention(1, 2, 3, 5, 8, causal=True, q_offset=2**40),
    Attention(2, 6, 19, 23, 16, kv_heads=2),
    Attention(1, 8, 33, 65, 24, causal=True, q_offset=32, kv_heads=1),
    Attention(3, 4, 5, 9, 7, causal=True, kv_heads=4),
    Attention(1, 1, 31, 63, 16, scale=3.0),
    Attention(1, 1, 31, 63, 16, scale=1e-3),
    Attention(17, 17, 3, 5, 4),
    Attention(1, 2, 70, 70, 24, causal=True, q_offset=3),
    Attention(1, 3, 67, 197, 65, causal=True, q_offset=90),
    Attention(1, 140, 121, 70, 33, causal=True),
    Attention(2, 70, 250, 131, 68, causal=True, q_offset=20, kv_heads=10),
    Attention(1, 140, 127, 65, 128),
    # Large scores, where a wrong maximum shows: what is one workgroup wide, and less.
    Attention(1, 4, 3, 65, 192, scale=3.0),
    Attention(1, 12, 1, 129, 130, causal=True, q_offset=128, kv_heads=3, scale=3.0),
    Attention(2, 3, 1, 1, 256, kv_heads=1, scale=3.0),
    Attention(1, 2, 1, 70, 200, scale=3.0),
    Attention(1, 8, 1, 70, 100, kv_heads=1, scale=3.0),
]

LONG = [
    Attention(1, 1, 2048, 2048, 64, causal=True),
    Attention(1, 2, 1025, 2049, 40),
    Attention(1, 1, 1, 65537, 16),
    Attention(1, 4, 3, 65537, 8, causal=True, q_offset=65534, kv_heads=2),
    Attention(1, 1, 65537, 3, 4),
    Attention(65537, 1, 1, 2, 3),
]


def run(ws: Workspace, case: Attention, q: Any, k: Any, v: Any, dtype: str) -> Any:
    out = ws.room(case.q, dtype)
    ws.be.attention(
        ws.input(q), ws.input(k), ws.input(v), out, *case.q[:3], case.seq_kv, case.head_dim,
        case.used_scale, case.causal, case.q_offset, case.kv_heads, dtype,
    )  # fmt: skip
    return ws.read(out)


def check(ws: Workspace, rng: np.random.Generator, case: Attention, dtype: str) -> None:
    q, k, v = (normal(rng, shape, dtype) for shape in (case.q, case.kv, case.kv))
    check_inputs(ws, case, q, k, v, dtype)


def check_inputs(ws: Workspace, case: Attention, q: Any, k: Any, v: Any, dtype: str) -> None:
    scale, rules = case.used_scale, (case.causal, case.q_offset)
    scores = references.attention_scores(q, k, scale, *rules)
    sizes = references.attention_scores(abs(q), abs(k), scale, False, 0)
    weights = references.softmax(scores, -1)
    values = references.repeated_heads(v, case.heads)
    tolerance = bounds.attention(weights, values, scores, sizes, case.head_dim)
    bounds.assert_within(run(ws, case, q, k, v, dtype), weights @ values, tolerance)


@pytest.mark.sampled(20)
@pytest.mark.essential
@pytest.mark.parametrize("case", CASES, ids=str)
def test_against_float64(
    ws: Workspace, rng: np.random.Generator, case: Attention, dtype: str
) -> None:
    check(ws, rng, case, dtype)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("case", LONG, ids=str)
def test_long(ws: Workspace, rng: np.random.Generator, case: Attention, dtype: str) -> None:
    check(ws, rng, case, dtype)


#: keys that decoding sees of a cache made for many more
VISIBLE = [1, 31, 32, 33, 64, 65, 700]


@pytest.mark.sampled(20)
@pytest.mark.parametrize("sharing", [1, 2, 4, 7, 8, 11])
@pytest.mark.parametrize("visible", VISIBLE)
def test_decoding_with_a_roomy_cache(
    ws: Workspace, rng: np.random.Generator, visible: int, sharing: int, dtype: str
) -> None:
    """What is not visible is NaN, which no result may show."""
    dim = {1: 64, 2: 33, 4: 16, 7: 128, 8: 12, 11: 130}[sharing]
    seq_q = 3 if visible in (33, 64) else 1
    case = Attention(2, 2 * sharing, seq_q, 1500, dim, True, visible - seq_q, 2)
    q, k, v = (normal(rng, shape, dtype) for shape in (case.q, case.kv, case.kv))
    seen = Attention(2, 2 * sharing, seq_q, visible, dim, True, visible - seq_q, 2)
    scale, rules = case.used_scale, (True, case.q_offset)
    few_k, few_v = k[:, :, :visible], v[:, :, :visible]
    scores = references.attention_scores(q, few_k, scale, *rules)
    sizes = references.attention_scores(abs(q), abs(few_k), scale, False, 0)
    weights = references.softmax(scores, -1)
    values = references.repeated_heads(few_v, case.heads)
    tolerance = bounds.attention(weights, values, scores, sizes, seen.head_dim)
    k[:, :, visible:] = v[:, :, visible:] = np.nan
    bounds.assert_within(run(ws, case, q, k, v, dtype), weights @ values, tolerance)


def test_a_cache_larger_than_one_binding(be: Backend) -> None:
    """What is visible has to fit, on software Vulkan into 128 MB."""
    heads, keys, dim, visible = 2, 140_000, 128, 3
    shape = (heads, visible, dim)
    seen = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    buffers = [be.alloc(4 * heads * n * dim) for n in (1, keys, keys, 1)]
    q, k, v, out = buffers
    be.copy_htod(q, np.zeros((heads, dim), np.float32))
    for head in range(heads):
        start = 4 * head * keys * dim
        be.copy_htod(k, np.ones((visible, dim), np.float32), offset=start)
        be.copy_htod(v, seen[head], offset=start)
    be.attention(q, k, v, out, 1, heads, 1, keys, dim, 1.0, True, visible - 1)
    got = np.empty((heads, dim), np.float32)
    be.copy_dtoh(got, out)
    for buffer in buffers:
        be.free(buffer)
    np.testing.assert_allclose(got, seen.mean(axis=1), rtol=1e-6)


def test_a_value_that_some_of_the_queries_do_not_see(
    ws: Workspace, rng: np.random.Generator, dtype: str
) -> None:
    case = Attention(1, 4, 3, 70, 16, True, 67, 2)
    q, k, v = (normal(rng, shape, dtype) for shape in (case.q, case.kv, case.kv))
    v[:, :, -1] = np.nan
    got = run(ws, case, q, k, v, dtype)
    assert np.isfinite(got[:, :, :2]).all()
    assert np.isnan(got[:, :, 2]).all()


LONG_SEQUENCE = """
import resource, sys
import numpy as np
import tilewright

n, d = 8192, 4
be = tilewright.init_backend(sys.argv[1])
q, k, v, o = (be.alloc(4 * n * d) for _ in range(4))
ones = np.ones(n * d, np.float32)
for buffer in (q, k, v):
    be.copy_htod(buffer, ones)
be.attention(q, k, v, o, 1, 1, 64, 64, d, 0.5, False)  # whatever is set up once
be.synchronize()
before = be.memory_stats().peak_bytes + 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
be.attention(q, k, v, o, 1, 1, n, n, d, 0.5, sys.argv[2] == "True")
be.copy_dtoh(ones, o)
after = be.memory_stats().peak_bytes + 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert abs(ones - 1).max() < 1e-5
print(after - before)
"""


@pytest.mark.parametrize("causal", [False, True])
def test_no_matrix_of_all_scores_is_stored(device: str, causal: bool) -> None:
    """The scores of 8192 queries and keys are 256 MB. Memory, of the device and of the process, may
    not grow by anything near."""
    command = [sys.executable, "-c", LONG_SEQUENCE, device, str(causal)]
    grown = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert grown < 64 << 20


@pytest.mark.parametrize("scale", [60.0, 1e10])
def test_large_scores_do_not_overflow(
    ws: Workspace, rng: np.random.Generator, scale: float, dtype: str
) -> None:
    """exp of these scores is far beyond float32; the softmax is not."""
    case = Attention(1, 1, 9, 65, 16, scale=scale)
    q, k, v = (normal(rng, shape, dtype) for shape in (case.q, case.kv, case.kv))
    got = run(ws, case, q, k, v, dtype)
    scores = references.attention_scores(q, k, scale, False, 0)[0, 0]
    winner = scores.argmax(-1)
    scores = np.sort(scores, axis=-1)
    clear = scores[:, -1] - scores[:, -2] > 40 + 1e-3 * scale
    assert clear.sum() >= 3
    # The winner's weight is divided by itself: a product and a quotient may round.
    taken = v[0, 0][winner][clear].astype(np.float64)
    bounds.assert_within(got[0, 0][clear], taken, 2 * bounds.U * abs(taken))


#: keys enough for several blocks of any backend
MANY_KEYS = 1200


@pytest.mark.parametrize("winner", [0, 20, 700, MANY_KEYS - 1])
@pytest.mark.parametrize("lead", [3, 11, 15.9, 16.1, 17, 20, 126, 128, 150, 3000])
@pytest.mark.parametrize("causal", [False, True])
def test_one_score_far_above_the_others(
    ws: Workspace, rng: np.random.Generator, lead: float, winner: int, causal: bool, dtype: str
) -> None:
    """By so many powers of two; its value is among the largest, which nothing may lift."""
    case = Attention(1, 1, 60, MANY_KEYS, 4, causal, MANY_KEYS - 30, scale=1.0)
    q = np.zeros(case.q, dtype)
    k, v = (normal(rng, case.kv, dtype) for _ in range(2))
    q[..., 0] = lead * np.log(2)
    q[..., 1::2, 1] = normal(rng, (30,), dtype)  # every other query has scores of its own
    k[..., 0] = 0
    k[:, :, winner, 0] = 1
    if lead > 10:
        v[:, :, winner] = 0.9 * np.finfo(dtype).max
    check_inputs(ws, case, q, k, v, dtype)


@pytest.mark.parametrize("step", [0.02, 1.0, -1.0])
def test_scores_that_grow_or_fall(
    ws: Workspace, rng: np.random.Generator, step: float, dtype: str
) -> None:
    case = Attention(1, 1, 40, MANY_KEYS, 3, scale=1.0)
    q, k, v = (normal(rng, shape, dtype) for shape in (case.q, case.kv, case.kv))
    q[..., 0] = step
    k[..., 0] = np.arange(MANY_KEYS)
    check_inputs(ws, case, q, k, v, dtype)


@pytest.mark.parametrize("at", [3, 700])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_special_keys(
    ws: Workspace, rng: np.random.Generator, special: float, at: int, dtype: str
) -> None:
    """A score of -infinity weighs nothing, the others leave nothing of their query."""
    case = Attention(1, 1, 40, MANY_KEYS, 4)
    q, k, v = (normal(rng, shape, dtype) for shape in (case.q, case.kv, case.kv))
    q[..., 0] = abs(q[..., 0]) + 1
    k[:, :, at, 0] = special
    got = run(ws, case, q, k, v, dtype)
    if special == -np.inf:
        others = np.delete(k, at, 2), np.delete(v, at, 2)
        fewer = Attention(1, 1, 40, MANY_KEYS - 1, 4)
        expected = run(ws, fewer, q, *others, dtype)
        np.testing.assert_allclose(
            got, expected, rtol=2e-2 if dtype == "float16" else 2e-5, atol=1e-3
        )
    else:
        assert np.isnan(got).all()


def test_keys_that_are_not_visible_are_not_read(
    ws: Workspace, rng: np.random.Generator, dtype: str
) -> None:
    case = Attention(1, 1, 5, 70, 16, causal=True, q_offset=2)
    q, k, v = (normal(rng, shape, dtype) for shape in (case.q, case.kv, case.kv))
    expected = run(ws, case, q, k, v, dtype)
    k[:, :, 7:], v[:, :, 7:] = np.nan, np.nan
    np.testing.assert_array_equal(run(ws, case, q, k, v, dtype), expected)


def test_nan_stays_in_its_query(ws: Workspace, rng: np.random.Generator, dtype: str) -> None:
    case = Attention(1, 2, 9, 17, 8)
    q, k, v = (normal(rng, shape, dtype) for shape in (case.q, case.kv, case.kv))
    q[0, 1, 4, 3] = np.nan
    bad = np.isnan(run(ws, case, q, k, v, dtype))
    assert bad[0, 1, 4].all()
    assert bad.sum() == 8


def test_nan_in_a_key_reaches_all_who_see_it(
    ws: Workspace, rng: np.random.Generator, dtype: str
) -> None:
    case = Attention(1, 1, 9, 9, 8, causal=True)
    q, k, v = (normal(rng, shape, dtype) for shape in (case.q, case.kv, case.kv))
    k[0, 0, 5, 0] = np.nan
    bad = np.isnan(run(ws, case, q, k, v, dtype))[0, 0]
    assert bad[5:].all()
    assert not bad[:5].any()


def test_same_request_same_bits(ws: Workspace, rng: np.random.Generator, dtype: str) -> None:
    case = Attention(1, 4, 129, 257, 32, causal=True, q_offset=128)
    q, k, v = (normal(rng, shape, dtype) for shape in (case.q, case.kv, case.kv))
    assert len({run(ws, case, q, k, v, dtype).tobytes() for _ in range(4)}) == 1


@given(
    seq_q=st.integers(1, 20),
    seq_kv=st.integers(1, 90),
    head_dim=st.integers(1, 20),
    kv_heads=st.integers(1, 3),
    group=st.integers(1, 3),
    causal=st.booleans(),
    q_offset=st.integers(0, 100),
    dtype=st.sampled_from(["float32", "float16"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_request(
    be: Backend,
    seq_q: int,
    seq_kv: int,
    head_dim: int,
    kv_heads: int,
    group: int,
    causal: bool,
    q_offset: int,
    dtype: str,
    seed: int,
) -> None:
    heads = kv_heads * group
    case = Attention(2, heads, seq_q, seq_kv, head_dim, causal, q_offset, kv_heads)
    with Workspace(be) as ws:
        check(ws, np.random.default_rng(seed), case, dtype)


@given(seq_kv=st.integers(1, 130), seed=st.integers(0, 2**32 - 1))
def test_the_order_of_keys_does_not_matter(be: Backend, seq_kv: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = Attention(1, 1, 3, seq_kv, 8)
    q, k, v = (normal(rng, shape, np.float32) for shape in (case.q, case.kv, case.kv))
    order = rng.permutation(seq_kv)
    with Workspace(be) as ws:
        one = run(ws, case, q, k, v, "float32")
        other = run(ws, case, q, k[:, :, order], v[:, :, order], "float32")
    np.testing.assert_allclose(one, other, rtol=0, atol=100 * bounds.U * abs(v).max())
