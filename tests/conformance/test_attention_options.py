"""attention with masks, caps, windows, other sizes of values, lengths, pages and packed batches."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import tilewright as tw
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright import Backend

from . import bounds
from .attention_cases import Operands, Options, check, draw, expected, run, strewn
from .workspace import Workspace, normal

#: one option alone, for few and for many queries, and awkward sizes
ALONE = [
    Options((7,), (9,), soft_cap=3.0),
    Options((70,), (131,), heads=4, kv_heads=2, soft_cap=0.5, scale=3.0),
    Options((1,), (700,), heads=8, soft_cap=20.0, scale=3.0),
    *(Options((5, 5), (37, 37), heads=4, mask=f"{kind} {axes}")
      for kind in ("bool", "added") for axes in ("bhqk", "k", "bk", "qk", "hq", "x")),
    Options((67,), (129,), heads=3, kv_heads=3, dim=33, mask="bool bhqk"),
    Options((67, 67), (129, 129), heads=6, kv_heads=2, dim=64, mask="added bqk"),
    Options((1, 1), (1030, 1030), heads=4, dim=128, mask="bool bk"),
    Options((1, 1), (777, 777), heads=4, dim=20, mask="added hk"),
    Options((50,), (50,), left=3),
    Options((50,), (50,), right=4),
    Options((50,), (50,), left=0, right=0),
    Options((129,), (129,), heads=4, dim=64, left=16, right=16),
    Options((129,), (129,), heads=4, dim=64, causal=True, left=31),
    Options((200,), (1000,), causal=True, q_offset=800, left=300),
    Options((1,), (3000,), heads=8, causal=True, q_offset=2999, left=1023, dim=64),
    Options((1,), (3000,), heads=8, causal=True, q_offset=1500, left=40, dim=64),
    Options((3,), (90,), q_offset=200, left=120),
    Options((3,), (90,), q_offset=200, left=5),
    Options((9,), (4,), causal=True, at_end=True),
    Options((4,), (9,), causal=True, at_end=True, left=2),
    Options((33,), (70,), heads=2, dim=16, value_dim=40),
    Options((33,), (70,), heads=2, dim=192, value_dim=128),
    Options((1,), (70,), heads=16, dim=576, value_dim=512),
    Options((5,), (70,), heads=2, dim=3, value_dim=1),
    Options((2,), (600,), heads=2, dim=1, value_dim=130),
    Options((65,), (65,), heads=2, dim=256, causal=True, soft_cap=30.0, left=40),
    Options((1,), (1100,), heads=8, kv_heads=4, dim=256, causal=True, q_offset=1099, left=511,
            soft_cap=50.0),
    Options((65,), (65,), heads=2, dim=300, left=10),
]  # fmt: skip

SEQUENCES = [
    Options((4, 4, 4), (5, 0, 9), layout="lengths"),
    Options((4, 4, 4), (5, 9, 1), layout="lengths", causal=True, room=20),
    Options((40, 40), (40, 17), layout="lengths", heads=4, kv_heads=4, causal=True, dim=32),
    Options((1, 1, 1, 1), (700, 1, 0, 333), layout="lengths", heads=8, causal=True, at_end=True,
            room=1500, dim=64),
    Options((3, 3), (30, 2), layout="lengths", causal=True, at_end=True, left=8),
    Options((66, 66), (130, 65), layout="lengths", left=9, right=9, at_end=True, dim=24),
    Options((9, 9), (30, 2), layout="lengths", mask="bool bhqk", soft_cap=4.0),
    Options((5, 1, 17), (5, 1, 17), layout="packed"),
    Options((5, 0, 17, 3), (5, 4, 0, 3), layout="packed", causal=True),
    Options((70, 3, 131), (70, 3, 131), layout="packed", heads=4, kv_heads=2, dim=64, left=20,
            right=20),
    Options((1, 1, 70, 1), (50, 700, 90, 1), layout="packed", heads=8, causal=True, at_end=True,
            dim=64),
    Options((1,) * 40, tuple(range(3, 43)), layout="packed", heads=4, causal=True, at_end=True),
    Options((33, 64), (33, 64), layout="packed", heads=1, dim=128, value_dim=72, soft_cap=2.0),
    Options((1, 1, 1), (9, 0, 5), layout="paged", causal=True, at_end=True),
    Options((1, 1), (900, 513), layout="paged", heads=8, kv_heads=2, dim=128, page_size=16,
            causal=True, at_end=True, room=2048),
    Options((1, 1), (900, 13), layout="paged", heads=4, kv_heads=4, dim=64, page_size=32,
            causal=True, at_end=True, left=255, soft_cap=50.0),
    Options((30, 30), (62, 31), layout="paged", heads=2, page_size=5, causal=True, at_end=True),
    Options((6, 6), (7, 13), layout="paged", page_size=1, mask="added bqk"),
    Options((20, 1, 1, 45), (20, 77, 1, 60), layout="paged packed", heads=4, kv_heads=2, dim=32,
            page_size=8, causal=True, at_end=True),
    Options((20, 0, 3), (20, 7, 9), layout="paged packed", value_dim=7, page_size=3, left=4),
    # Few queries of heads that share keys by 1 to 12, in rows of every width, whole and in pieces.
    Options((1, 1, 1, 1), (2100, 5, 0, 900), layout="paged packed", heads=8, dim=128, page_size=16,
            causal=True, at_end=True),
    Options((1, 1), (1500, 70), layout="paged packed", heads=6, kv_heads=2, dim=96, value_dim=64,
            page_size=24, causal=True, at_end=True, left=300),
    Options((2, 0, 5, 1), (800, 9, 1300, 1), layout="paged packed", heads=4, kv_heads=2, dim=64,
            page_size=16, causal=True, at_end=True, soft_cap=20.0),
    Options((1, 1, 1), (333, 40, 1700), layout="paged packed", heads=12, kv_heads=1, dim=32,
            value_dim=24, page_size=8, causal=True, at_end=True),
    Options((1, 3), (700, 650), layout="packed", heads=4, kv_heads=4, dim=256, right=0,
            at_end=True),
    Options((4, 4), (999, 1024), layout="lengths", heads=10, kv_heads=2, dim=40, causal=True,
            at_end=True, room=1100),
    Options((3,), (1200,), heads=3, kv_heads=3, dim=248, value_dim=256, left=700, right=90,
            q_offset=600),
    # Many, in tiles.
    Options((300,), (700,), layout="paged packed", heads=8, kv_heads=2, dim=128, page_size=16,
            causal=True, at_end=True),
    Options((150, 1, 90), (150, 40, 200), layout="paged packed", heads=12, kv_heads=4, dim=80,
            page_size=24, causal=True, at_end=True, left=60, soft_cap=10.0),
    Options((130, 130), (260, 131), layout="paged", heads=2, kv_heads=2, dim=36, value_dim=160,
            page_size=16, right=3, at_end=True),
    Options((200, 100), (250, 90), layout="packed", heads=6, kv_heads=1, dim=64, causal=True),
]  # fmt: skip


@pytest.mark.sampled(16)
@pytest.mark.essential
@pytest.mark.parametrize("case", ALONE, ids=str)
def test_one_option(ws: Workspace, rng: np.random.Generator, case: Options, dtype: str) -> None:
    check(ws, rng, case, dtype)


@pytest.mark.sampled(16)
@pytest.mark.essential
@pytest.mark.parametrize("case", SEQUENCES, ids=str)
def test_sequences(ws: Workspace, rng: np.random.Generator, case: Options, dtype: str) -> None:
    """Of other sequences, and behind the last key, there is NaN."""
    check(ws, rng, case, dtype)


OPTIONS = st.fixed_dictionaries(
    {
        "heads": st.sampled_from([1, 2, 3, 6]),
        "dim": st.sampled_from([1, 4, 7, 16, 32, 80]),
        "value_dim": st.sampled_from([None, None, 4, 5, 66]),
        "causal": st.booleans(),
        "q_offset": st.integers(0, 60),
        "left": st.one_of(st.none(), st.integers(0, 50)),
        "right": st.one_of(st.none(), st.integers(0, 50)),
        "soft_cap": st.sampled_from([0.0, 0.0, 1.5, 30.0]),
        "layout": st.sampled_from(["dense", "lengths", "packed", "paged", "paged packed"]),
        "page_size": st.sampled_from([1, 2, 7, 16]),
        "room": st.integers(0, 90),
        "stored": st.sampled_from(["", "float16", "int8"]),
    }
)


@settings(max_examples=60)
@given(
    options=OPTIONS,
    sizes=st.lists(st.tuples(st.integers(1, 40), st.integers(1, 90)), min_size=1, max_size=3),
    mask=st.sampled_from(["", "", "bool bhqk", "added bhqk", "bool bk", "added q"]),
    at_end=st.booleans(),
    grouped=st.booleans(),
    dtype=st.sampled_from(["float32", "float16"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_options(
    be: Backend,
    options: dict[str, object],
    sizes: list[tuple[int, int]],
    mask: str,
    at_end: bool,
    grouped: bool,
    dtype: str,
    seed: int,
) -> None:
    layout = str(options["layout"])
    queries, keys = (tuple(some) for some in zip(*sizes, strict=True))
    if "packed" not in layout:
        queries = queries[:1] * len(keys)
    if "paged" not in layout:
        options["stored"] = ""
    if layout == "dense":
        keys = keys[:1] * len(keys)
        options["room"] = 0
    if "packed" in layout:
        mask = ""
    if at_end:
        options["q_offset"] = 0
    kv_heads = 1 if grouped else options["heads"]
    case = Options(queries, keys, mask=mask, at_end=at_end, kv_heads=kv_heads, **options)  # type: ignore[arg-type]
    with Workspace(be) as ws:
        check(ws, np.random.default_rng(seed), case, dtype)


@pytest.mark.parametrize("queries", [1, 40])
def test_rows_that_see_nothing_are_zero(
    ws: Workspace, rng: np.random.Generator, queries: int, dtype: str
) -> None:
    for kind in ("bool", "added"):
        case = Options((queries,), (65,), heads=2, mask=f"{kind} qk")
        operands = draw(rng, case, dtype)
        assert operands.mask is not None
        operands.mask[0, 0, queries // 2] = False if kind == "bool" else -np.inf
        got = run(ws, rng, case, operands, dtype)[0]
        assert (got[:, queries // 2] == 0).all()
        assert (got[:, : queries // 2] != 0).all()


@pytest.mark.parametrize("queries", [1, 40])
def test_the_most_negative_numbers_hide_no_whole_row(
    ws: Workspace, rng: np.random.Generator, queries: int, dtype: str
) -> None:
    """A row with one of them everywhere is the mean of its values, as in every library."""
    case = Options((queries,), (33,), heads=2, mask="added qk", scale=1e-3)
    operands = draw(rng, case, "float32")
    assert operands.mask is not None
    operands.mask[...] = np.finfo(np.float32).min
    got = run(ws, rng, case, operands, "float32")[0]
    mean = operands.v[0].astype(np.float64).mean(axis=1, keepdims=True)
    np.testing.assert_allclose(got, np.broadcast_to(mean, got.shape), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layout", ["dense", "lengths", "packed", "paged"])
@pytest.mark.parametrize("queries", [1, 40])
def test_nan_stays_with_those_that_see_it(
    ws: Workspace, rng: np.random.Generator, layout: str, queries: int, dtype: str
) -> None:
    """A NaN in a key or a value reaches the queries whose window it lies in, and no other."""
    case = Options((queries,), (90,), causal=True, q_offset=90 - queries, left=20, layout=layout)
    exact, tolerance = expected(case, operands := draw(rng, case, dtype))[0]
    at = 70
    place = np.arange(queries) + 90 - queries
    reached = (place >= at) & (place <= at + 20)
    for which in (operands.k, operands.v):
        kept = which[0][:, at].copy()
        which[0][:, at] = np.nan
        got = run(ws, rng, case, operands, dtype)[0]
        assert np.isnan(got[:, reached]).all()
        bounds.assert_within(got[:, ~reached], exact[:, ~reached], tolerance[:, ~reached])
        which[0][:, at] = kept


@pytest.mark.parametrize("queries", [1, 40])
def test_what_a_mask_hides_may_be_nan(
    ws: Workspace, rng: np.random.Generator, queries: int, dtype: str
) -> None:
    for kind in ("bool", "added"):
        case = Options((queries,), (90,), mask=f"{kind} k")
        operands = draw(rng, case, dtype)
        assert operands.mask is not None
        operands.mask[..., 50] = False if kind == "bool" else -np.inf
        exact, tolerance = expected(case, operands)[0]
        operands.k[0][:, 50] = operands.v[0][:, 50] = np.nan
        bounds.assert_within(run(ws, rng, case, operands, dtype)[0], exact, tolerance)


@pytest.mark.parametrize("queries", [1, 40])
def test_a_page_that_is_none_makes_nan(
    ws: Workspace, rng: np.random.Generator, queries: int, dtype: str
) -> None:
    keys, size, dim = 12, 4, 8
    q = normal(rng, (2, 1, queries, dim), dtype)
    k, v = (normal(rng, (4, size, dim), dtype) for _ in range(2))
    for wrong in (-1, 4, 2**31 - 1, -(2**31)):
        table = np.array([[0, 1, 2], [3, wrong, 0]], np.int32)
        out = ws.room(q.shape, dtype)
        ws.be.attention(
            ws.input(q), ws.input(k), ws.input(v), out, 2, 1, queries, keys, dim, 0.5, False, 0, 1,
            dtype, page_table=ws.input(table), page_size=size, pages=4,
        )  # fmt: skip
        bad = np.isnan(ws.read(out))
        assert bad[1].all() and not bad[0].any()
        # Those that do not see it do not read it.
        ws.be.attention(
            ws.input(q), ws.input(k), ws.input(v), out, 2, 1, queries, keys, dim, 0.5, False, 0, 1,
            dtype, page_table=ws.input(table), page_size=size, pages=4,
            kv_lengths=ws.input(np.array([12, 4], np.int32)),
        )  # fmt: skip
        assert not np.isnan(ws.read(out)).any()


@pytest.mark.parametrize("queries", [1, 40])
def test_lengths_outside_are_the_nearest_inside(
    ws: Workspace, rng: np.random.Generator, queries: int, dtype: str
) -> None:
    q = normal(rng, (4, 2, queries, 8), dtype)
    k, v = (normal(rng, (4, 2, 30, 8), dtype) for _ in range(2))

    def with_lengths(lengths: list[int]) -> np.ndarray:
        out = ws.room(q.shape, dtype)
        ws.be.attention(
            ws.input(q), ws.input(k), ws.input(v), out, 4, 2, queries, 30, 8, 0.5, False, 0, 2,
            dtype, kv_lengths=ws.input(np.array(lengths, np.int32)),
        )  # fmt: skip
        return ws.read(out)

    got = with_lengths([-1, 31, 2**31 - 1, -(2**31)])
    np.testing.assert_array_equal(got, with_lengths([0, 30, 30, 0]))
    assert not got[0].any() and not got[3].any()


def test_a_recording_reads_lengths_and_pages_at_each_replay(
    ws: Workspace, rng: np.random.Generator, dtype: str
) -> None:
    """So that a step of decoding is recorded once."""
    be, size, dim = ws.be, 4, 8
    pages_k, pages_v = (normal(rng, (6, size, dim), dtype) for _ in range(2))
    q = normal(rng, (2, 3, 1, dim), dtype)
    out = ws.room(q.shape, dtype)
    table, lengths = (ws.output(np.zeros(n, np.int32)) for n in ((2, 3), 2))
    given = [ws.input(one) for one in (q, pages_k, pages_v)]
    with be.record() as recording:
        be.attention(
            *given, out, 2, 3, 1, 3 * size, dim, 0.5, True, 0, 1, dtype, at_end=True,
            window_left=5, kv_lengths=lengths, page_table=table, page_size=size, pages=6,
        )  # fmt: skip
    for keys, places in (((5, 12), [[3, 0, 0], [1, 2, 4]]), ((6, 1), [[3, 5, 0], [2, 0, 0]])):
        be.copy_htod(lengths, np.array(keys, np.int32))
        be.copy_htod(table, np.array(places, np.int32))
        recording.replay()
        case = Options((1, 1), keys, 3, 1, dim, causal=True, at_end=True, left=5, scale=0.5)
        k, v = (
            [pages[places[i]].reshape(1, -1, dim)[:, : keys[i]] for i in range(2)]
            for pages in (pages_k, pages_v)
        )
        for own, (exact, tolerance) in zip(
            ws.read(out), expected(case, Operands(list(q), k, v, None)), strict=True
        ):
            bounds.assert_within(own, exact, tolerance)
    recording.drop()


def test_starts_that_are_wrong_do_no_harm(ws: Workspace, rng: np.random.Generator) -> None:
    """The output is undefined, and nothing else is written."""
    q, k, v = (normal(rng, (20, 2, 8), "float32") for _ in range(3))
    strides = (0, 8, 16, 1)
    for q_starts, kv_starts in itertools.product(
        ([0, 5, 20], [7, 3, 90], [-5, 2**31 - 1, -(2**31)], [20, 0, 20]), repeat=2
    ):
        out = ws.room(q.shape)
        ws.be.attention(
            (ws.input(q), strides), (ws.input(k), strides), (ws.input(v), strides), (out, strides),
            2, 2, 20, 20, 8, 0.5, True, 0, 2,
            q_starts=ws.input(np.array(q_starts, np.int32)),
            kv_starts=ws.input(np.array(kv_starts, np.int32)),
        )  # fmt: skip
        ws.read(out)


def test_rows_in_no_sequence_stay(ws: Workspace, rng: np.random.Generator, dtype: str) -> None:
    q, k, v = (normal(rng, (20, 2, 8), dtype) for _ in range(3))
    strides = (0, 8, 16, 1)
    out = ws.output(np.full(q.shape, 7, dtype))
    starts = ws.input(np.array([3, 5, 11], np.int32))
    ws.be.attention(
        (ws.input(q), strides), (ws.input(k), strides), (ws.input(v), strides), (out, strides),
        2, 2, 20, 20, 8, 0.5, True, 0, 2, dtype, q_starts=starts, kv_starts=starts,
    )  # fmt: skip
    got = ws.read(out)
    assert (got[:3] == 7).all() and (got[11:] == 7).all() and (got[3:11] != 7).all()


def test_one_query_in_no_sequence_stays(
    ws: Workspace, rng: np.random.Generator, dtype: str
) -> None:
    """Among few queries over many keys, which may be joined from pieces."""
    keys, dim = 1500, 32
    q = normal(rng, (4, 2, dim), dtype)
    k, v = (normal(rng, (keys, 2, dim), dtype) for _ in range(2))
    strides = (0, dim, 2 * dim, 1)
    out = ws.output(np.full(q.shape, 7, dtype))
    ws.be.attention(
        (ws.input(q), strides), (ws.input(k), strides), (ws.input(v), strides), (out, strides),
        2, 2, 4, keys, dim, 0.5, True, 0, 2, dtype, at_end=True,
        q_starts=ws.input(np.array([1, 2, 3], np.int32)),
        kv_starts=ws.input(np.array([0, 20, keys], np.int32)),
    )  # fmt: skip
    got = ws.read(out)
    assert (got[[0, 3]] == 7).all() and (got[1:3] != 7).all()


@pytest.mark.parametrize("queries", [1, 100])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_stay_infinite(
    ws: Workspace, rng: np.random.Generator, queries: int, value: float, dtype: str
) -> None:
    """The last key's too, which tiles reach past."""
    case = Options((queries,), (333,), heads=4, dim=64, causal=True, at_end=True, layout="lengths")
    operands = draw(rng, case, dtype)
    operands.v[0][:, -1] = value
    got = run(ws, rng, case, operands, dtype)[0]
    assert (got[:, -1] == value).all()
    assert np.isfinite(got[:, :-1]).all()


def test_options_that_say_nothing_are_the_plain_call(
    ws: Workspace, rng: np.random.Generator, dtype: str
) -> None:
    """To the bit: the same kernels run."""
    for seq_q, seq_kv in ((1, 300), (40, 90)):
        q, o = normal(rng, (1, 2, seq_q, 16), dtype), (1, 2, seq_q, 16)
        k, v = (normal(rng, (1, 2, seq_kv, 16), dtype) for _ in range(2))
        buffers = [ws.input(one) for one in (q, k, v)]

        def attend(
            causal: bool, q_offset: int, buffers: list[int] = buffers, o: tuple[int, ...] = o,
            sizes: tuple[int, int] = (seq_q, seq_kv), **options: object,
        ) -> np.ndarray:  # fmt: skip
            out = ws.room(o, dtype)
            ws.be.attention(
                *buffers, out, 1, 2, *sizes, 16, 0.25, causal, q_offset, 2, dtype, **options
            )  # type: ignore[call-overload]
            return ws.read(out)

        plain, late = attend(False, 0), attend(True, seq_kv - seq_q)
        same = [
            (plain, attend(False, 0, window_left=seq_q - 1, window_right=seq_kv - 1)),
            (plain, attend(False, 0, value_dim=16, window_left=2**63 - 1)),
            (plain, attend(True, 0, window_right=2**62, at_end=True, q_starts=None, mask=None)
             if seq_q == 1 else plain),
            (late, attend(True, 0, at_end=True)),
            (late, attend(False, 0, at_end=True, window_right=0)),
            (late, attend(False, seq_kv - seq_q - 1, window_right=1)),
        ]  # fmt: skip
        for expected_bits, got in same:
            np.testing.assert_array_equal(got, expected_bits)


PAGES: dict[str, object] = {"page_table": "i", "page_size": 2, "pages": 1}
REFUSED: list[tuple[dict[str, object], str]] = [
    ({"soft_cap": -1.0}, "soft_cap is -1"),
    ({"window_left": -1}, "window_left is -1"),
    ({"window_right": -2}, "window_right is -2"),
    ({"value_dim": 0}, "value_dim is 0"),
    ({"at_end": True, "q_offset": 1}, "q_offset is 1, expected 0 with at_end"),
    ({"page_table": "i"}, "page_table needs page_size"),
    ({"page_table": "i", "page_size": 2}, "page_table needs pages"),
    ({"page_size": 2}, "page_size needs page_table"),
    ({"pages": 2}, "pages needs page_table"),
    ({"page_table": "i", "page_size": 3, "pages": 1}, "page_size is 3, expected a divisor"),
    ({"q_starts": "i"}, "q_starts needs kv_starts"),
    ({"kv_starts": "i"}, "kv_starts needs q_starts"),
    ({"q_starts": "i", "kv_starts": "i", "kv_lengths": "i"}, "kv_starts goes without kv_lengths"),
    ({"q_starts": "i", "kv_starts": "i", "mask": "i"}, "mask goes without q_starts"),
    ({"q_starts": "i", "page_table": "i", "page_size": 2, "pages": 1}, "needs kv_lengths"),
    ({"page_dtype": "int8"}, "page_dtype needs page_table"),
    ({"page_scales": "i"}, "page_scales needs page_dtype"),
    (PAGES | {"page_dtype": "int8"}, "page_dtype int8 needs page_scales"),
    (PAGES | {"page_dtype": "float16", "page_scales": "i"}, "page_scales goes with the page_dtype"),
    (PAGES | {"page_dtype": "uint8"}, "page_dtype is uint8, expected float32, float16 or int8"),
    ({"mask_dtype": "int32"}, "mask_dtype is int32, expected bool or float32"),
    ({"mask": ("i", (0, 0, -1, 1), 8)}, r"mask.strides\[2\] is -1"),
    ({"mask": ("i", (0, 0, 1))}, "mask has 3 strides, expected 4"),
]


@pytest.mark.parametrize(("options", "words"), REFUSED, ids=lambda x: str(x)[:30])
def test_what_is_wrong_is_named(be: Backend, options: dict[str, object], words: str) -> None:
    with Workspace(be) as ws:
        x, out = ws.input(np.ones(64, np.float32)), ws.room(64)
        numbers = ws.input(np.zeros(64, np.int32))

        def placed(one: object) -> object:
            if isinstance(one, tuple):
                return (numbers, *one[1:])
            return numbers if one == "i" else one

        given = {name: placed(one) for name, one in options.items()}
        arguments = (x, x, x, out, 1, 1, 2, 4, 8, 1.0, False)
        with pytest.raises(tw.InvalidArgument, match=f"^attention: .*{words}"):
            be.attention(*arguments, **given)  # type: ignore[call-overload]


def test_the_array_tier(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    """Each option by its own name gives what the trait's call gives."""
    heads, kv_heads, dim, value_dim = 4, 2, 16, 12
    case = Options((5, 5), (9, 6), heads, kv_heads, dim, value_dim, True, at_end=True, left=4,
                   soft_cap=3.0, layout="lengths", mask="bool bk")  # fmt: skip
    operands = draw(rng, case, dtype)
    q, k, v = (be.array(strewn(one, most, 0)) for one, most in
               ((operands.q, 5), (operands.k, 9), (operands.v, 9)))  # fmt: skip
    got = be.attention(
        q, k, v, causal=True, at_end=True, window=(4, None), soft_cap=3.0, lengths=[9, 6],
        mask=operands.mask,
    )  # fmt: skip
    for own, (exact, tolerance) in zip(got.numpy(), expected(case, operands), strict=True):
        bounds.assert_within(own, exact, tolerance)

    case = Options((5, 0, 20), (5, 3, 20), heads, kv_heads, dim, causal=True, layout="packed")
    operands = draw(rng, case, dtype)
    q, k, v = (be.array(np.concatenate([one.swapaxes(0, 1) for one in some]))
               for some in (operands.q, operands.k, operands.v))  # fmt: skip
    got = be.attention(q, k, v, causal=True, q_starts=[0, 5, 5, 25], kv_starts=[0, 5, 8, 28])
    assert got.shape == q.shape
    for own, (exact, tolerance) in zip(
        np.split(got.numpy(), [5, 5]), expected(case, operands), strict=True
    ):
        bounds.assert_within(own.swapaxes(0, 1), exact, tolerance)

    case = Options((1, 1), (7, 3), heads, kv_heads, dim, layout="lengths")
    operands = draw(rng, case, dtype)
    pages_k, pages_v = (np.full((4, 4, kv_heads, dim), np.nan, dtype) for _ in range(2))
    for pages, rows in ((pages_k, operands.k), (pages_v, operands.v)):
        whole = strewn(rows, 8, 0).swapaxes(1, 2)
        pages[3], pages[1], pages[0] = whole[0, :4], whole[0, 4:], whole[1, :4]
    got = be.attention(
        be.array(strewn(operands.q, 1, 0)), be.array(pages_k), be.array(pages_v),
        page_table=[[3, 1], [0, -1]], lengths=[7, 3],
    )  # fmt: skip
    for own, (exact, tolerance) in zip(got.numpy(), expected(case, operands), strict=True):
        bounds.assert_within(own, exact, tolerance)


WRONG: list[tuple[dict[str, object], str]] = [
    ({"window": 3}, r"window is 3 \(int\), expected \(left, right\)"),
    ({"window": (1, "a")}, r"window\[1\] is 'a'"),
    ({"window": (-1, None)}, "window_left is -1"),
    ({"mask": np.ones((3, 4), bool)}, r"mask has shape \(3, 4\), expected what broadcasts"),
    ({"lengths": [1, 2]}, r"lengths has shape \(2,\), expected shape \(1,\)"),
    ({"lengths": [1.5]}, "lengths is float.*, expected integers"),
    ({"q_starts": [0, 2]}, "q_starts needs kv_starts"),
    ({"kv_starts": [0, 2]}, "kv_starts needs q_starts"),
    ({"page_table": [[0]]}, "k has shape .*, expected 4 dimensions"),
    ({"scales": [1.0]}, "scales needs page_table, which is not given"),
]


@pytest.mark.parametrize(("options", "words"), WRONG, ids=lambda x: str(x)[:30])
def test_what_is_wrong_in_arrays_is_named(
    be: Backend, options: dict[str, object], words: str
) -> None:
    x = be.array(np.ones((2, 4, 8), np.float32))
    with pytest.raises(tw.InvalidArgument, match=f"^attention: {words}"):
        be.attention(x, x, x, **options)  # type: ignore[call-overload]
