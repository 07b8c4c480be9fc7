from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tilewright as tw
from hypothesis import given
from hypothesis import strategies as st
from tilewright import Backend

from . import bounds
from .arguments import DTYPE, Call, EmptyCalls, In, Name, Out, Size
from .page_rows import narrowed, widened
from .test_rope import Rope, rotated, tables
from .workspace import Array, Workspace, normal

if TYPE_CHECKING:
    from fuzz import call as fuzz
    from fuzz.draw import Draw

CALL: Call = {
    "x": Out(4 * 24),
    "cache": Out(48),
    "slots": In(4 * 2),
    "tokens": Size(2),
    "heads": Size(1),
    "kv_heads": Size(1, positive=True),
    "head_dim": Size(4, positive=True),
    "pages": Size(2, positive=True),
    "page_size": Size(3, positive=True),
    "dtype": DTYPE,
    "page_dtype": Name("int8", also_wrong=("int32", "bfloat16", "float64")),
    "page_scales": Out(4 * 12),
    "cos": In(4 * 4),
    "sin": In(4 * 4),
    "positions": In(4 * 2),
    "table_rows": Size(2),
    "pairing": Name("neighbours", also_wrong=("adjacent",)),
    "rotary_dim": Size(4, positive=True),
}
EMPTY: EmptyCalls = [({"tokens": 0}, ("x", "slots", "positions"))]


@dataclass(frozen=True)
class Case:
    tokens: int
    heads: int
    kv_heads: int
    dim: int
    stored: str = "int8"  # or "" as x, or float16
    rotary_dim: int | None = None
    pairing: str = "halves"
    rotates: bool = True
    strided: bool = False
    pages: int = 5
    page_size: int = 3

    def __str__(self) -> str:
        told = [f"{self.tokens}x{self.heads}/{self.kv_heads}x{self.dim}", self.stored or "same"]
        told += [f"{self.pairing}{self.rotary_dim}"] if self.rotates else []
        return "-".join([*told, *(["strided"] if self.strided else [])])


@dataclass
class Drawn:
    x: Array  # [tokens, heads + 2 * kv_heads, dim]
    slots: Array
    positions: Array
    cos: Array
    sin: Array


def draw(rng: np.random.Generator, case: Case, dtype: str) -> Drawn:
    """With slots in no page, and rows of no table."""
    places = case.pages * case.page_size
    x = normal(rng, (case.tokens, case.heads + 2 * case.kv_heads, case.dim), dtype)
    slots = rng.permutation(max(places, case.tokens))[: case.tokens].astype(np.int32)
    slots[rng.random(case.tokens) < 0.1] = -1
    slots[slots >= places] = places + 7
    positions = rng.integers(-1, 31, case.tokens).astype(np.int32)
    cos, sin = tables(30, (case.rotary_dim or case.dim) // 2, dtype)
    return Drawn(x, slots, positions, cos, sin)


def turned(case: Case, given: Drawn) -> tuple[Array, Array]:
    """Queries and keys rotated, in float64, and how far from it one may be."""
    exact, within = given.x.astype(np.float64), np.zeros(given.x.shape)
    if case.rotates:
        both = case.heads + case.kv_heads
        rope = Rope((1, both, case.tokens, case.dim), case.pairing, case.rotary_dim)
        rows = given.x[None, :, :both].swapaxes(1, 2)
        found = rotated(rope, rows, given.cos, given.sin, given.positions[None])
        for whole, part in zip((exact, within), found, strict=True):
            whole[:, :both] = part[0].swapaxes(0, 1)
    return exact, within


def room_of(case: Case, dtype: str) -> tuple[Array, tuple[int, ...], int, Any]:
    """A cache of the case that is full of one number, its strides, its offset, and its part."""
    stored = np.dtype(case.stored or dtype)
    both, gap = 2 * case.kv_heads, 3 if case.strided else 0
    shape = (case.pages, both + gap, case.page_size, case.dim + gap)
    if not case.strided:
        shape = (case.pages, case.page_size, both, case.dim)
    whole = np.full(shape, 7, stored)
    steps = [step // stored.itemsize for step in whole.strides]
    if not case.strided:
        return whole, tuple(steps), 0, np.s_[:]
    # Heads in front of places, with gaps.
    strides = (steps[0], steps[2], steps[1], 1)
    return whole, strides, steps[1] + 2, np.s_[:, 1 : 1 + both, :, 2 : 2 + case.dim]


def check(ws: Workspace, rng: np.random.Generator, case: Case, dtype: str) -> None:
    given = draw(rng, case, dtype)
    writes_x = case.rotates and case.heads > 0
    x, strides, at = given.x, None, 0
    if case.strided:
        whole_x = np.full((case.tokens, x.shape[1] + 1, case.dim + 5), np.nan, dtype)
        whole_x[:, :-1, 1 : 1 + case.dim] = x
        strides, at = (whole_x.shape[1] * whole_x.shape[2], whole_x.shape[2], 1), 1
        x = whole_x
    source = ws.output(x) if writes_x else ws.input(x)
    start, cache_strides, cache_at, part = room_of(case, dtype)
    cache = ws.output(start)
    both = 2 * case.kv_heads
    scales_before = np.full((case.pages, both, case.page_size), 7, np.float32)
    scales = ws.output(scales_before) if case.stored == "int8" else None
    options: dict[str, Any] = {}
    if case.rotates:
        options = {
            "cos": ws.input(given.cos), "sin": ws.input(given.sin),
            "positions": ws.input(given.positions), "table_rows": len(given.cos),
            "pairing": case.pairing, "rotary_dim": case.rotary_dim,
        }  # fmt: skip
    ws.be.write_pages(
        source if strides is None else (source, strides, at),
        (cache, cache_strides, cache_at) if case.strided else cache,
        ws.input(given.slots), case.tokens, case.heads, case.kv_heads, case.dim, case.pages,
        case.page_size, dtype, case.stored or None, scales, **options,
    )  # fmt: skip

    exact, within = turned(case, given)
    if writes_x:
        got = ws.read(source).copy()
        own = got[:, :-1, 1 : 1 + case.dim] if case.strided else got
        bounds.assert_within(own[:, : case.heads], exact[:, : case.heads], within[:, : case.heads])
        own[:, : case.heads] = given.x[:, : case.heads]
        np.testing.assert_array_equal(got, x)

    got = ws.read(cache).copy()
    pages = got[part].swapaxes(1, 2) if case.strided else got
    rows = pages.reshape(case.pages * case.page_size, both, case.dim)
    places = case.pages * case.page_size
    written = (given.slots >= 0) & (given.slots < places)
    kept = np.ones(places, bool)
    kept[given.slots[written]] = False
    exact, within = exact[written, case.heads :], within[written, case.heads :]
    found = rows[given.slots[written]]
    if scales is None:
        # float16 may round twice.
        slack = within + (abs(exact) * 2.0**-24 if case.stored else 0)
        bounds.assert_within(found, exact, slack)
        bounds.assert_within(found[:, case.kv_heads :], exact[:, case.kv_heads :])
    else:
        got_scales = ws.read(scales).swapaxes(1, 2).reshape(places, both)
        assert (got_scales[kept] == 7).all()
        found_scales = got_scales[given.slots[written]]
        check_bytes(found, found_scales, exact, within)
        # What is not rotated is the same on all devices.
        first = case.kv_heads if case.rotates else 0
        plain = given.x[written, case.heads + first :]
        for own, wanted in zip(
            (found[:, first:], found_scales[:, first:]), narrowed(plain), strict=True
        ):
            np.testing.assert_array_equal(own, wanted)
    assert (rows[kept] == 7).all()
    if case.strided:
        got[part] = 7
    assert case.strided is False or (got == 7).all()


def check_bytes(found: Array, scales: Array, exact: Array, within: Array) -> None:
    """Within half a step of rows, whose scale is that of their largest size."""
    bad = np.isnan(exact).any(-1)
    assert np.isnan(scales[bad]).all() and not found[bad].any()
    largest, slack = abs(exact).max(-1), within.max(-1)
    size = largest / 127
    assert (abs(scales - size)[~bad] <= (slack / 127 + size * 2.0**-22)[~bad]).all()
    off = abs(widened(found, scales) - exact)[~bad]
    most = (0.5 * size + slack)[~bad][..., None] * (1 + 2.0**-14)
    assert (off <= most).all()


CASES = [
    Case(1, 32, 8, 128),
    Case(7, 4, 2, 64, "float16"),
    Case(7, 4, 2, 64, ""),
    Case(13, 3, 1, 80, rotary_dim=32),
    Case(5, 3, 3, 33, rotates=False),
    Case(5, 0, 2, 7, rotary_dim=6),
    Case(6, 2, 2, 9, "", rotary_dim=4, pairing="neighbours"),
    Case(9, 6, 2, 20, pairing="neighbours"),
    Case(9, 0, 2, 256, "float16", rotates=False),
    Case(9, 2, 2, 36, strided=True),
    Case(9, 2, 1, 66, "", strided=True, rotary_dim=34),
    Case(9, 2, 1, 10, "float16", strided=True, pairing="neighbours"),
    Case(1, 1, 1, 1, rotates=False),
    Case(2, 1, 1, 5000),
    Case(700, 2, 2, 24, pages=60, page_size=16),
]


@pytest.mark.essential
@pytest.mark.parametrize("case", CASES, ids=str)
def test_against_float64(ws: Workspace, rng: np.random.Generator, case: Case, dtype: str) -> None:
    """What is in no page is left out, rows of no table are NaN, and all else stays."""
    check(ws, rng, case, dtype)


@given(
    tokens=st.integers(1, 40),
    heads=st.integers(0, 5),
    kv_heads=st.integers(1, 3),
    dim=st.integers(2, 70),
    rotary=st.one_of(st.none(), st.integers(1, 35)),
    stored=st.sampled_from(["int8", "int8", "", "float16"]),
    pairing=st.sampled_from(["halves", "neighbours"]),
    rotates=st.booleans(),
    strided=st.booleans(),
    page_size=st.sampled_from([1, 2, 7, 16]),
    dtype=st.sampled_from(["float32", "float16"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_request(
    be: Backend, tokens: int, heads: int, kv_heads: int, dim: int, rotary: int | None, stored: str,
    pairing: str, rotates: bool, strided: bool, page_size: int, dtype: str, seed: int,
) -> None:  # fmt: skip
    rotary_dim = None if rotary is None else 2 * min(rotary, dim // 2)
    if rotates and rotary_dim is None:
        dim = dim // 2 * 2
    case = Case(
        tokens, heads, kv_heads, dim, stored, rotary_dim if rotates else None, pairing, rotates,
        strided, -(-tokens // page_size), page_size,
    )  # fmt: skip
    with Workspace(be) as ws:
        check(ws, np.random.default_rng(seed), case, dtype)


def bytes_of(ws: Workspace, x: Array) -> tuple[Array, Array]:
    """Rows [tokens, 2, dim] as keys and values of one head, in pages of one place."""
    tokens, _, dim = x.shape
    cache, scales = ws.room((tokens, 2, dim), np.int8), ws.room((tokens, 2))
    slots = np.arange(tokens, dtype=np.int32)
    ws.be.write_pages(
        ws.input(x), cache, ws.input(slots), tokens, 0, 1, dim, tokens, 1, x.dtype.name, "int8",
        scales,
    )  # fmt: skip
    return ws.read(cache), ws.read(scales)


@pytest.mark.essential
def test_int8_is_the_same_on_all_devices(ws: Workspace, rng: np.random.Generator) -> None:
    """To the bit, for rows of all sizes, and halves between two numbers."""
    x = normal(rng, (4000, 2, 8), "float32") * np.exp2(rng.integers(-96, 120, (4000, 2, 1)))
    x = x.astype(np.float32)
    x[:500, 0] = rng.integers(-254, 255, (500, 8)) / 2  # with the largest below, all are halves
    x[:500, 0, 0] = 127
    x[500:600, 0, 0] = 2.0**-90 * 254 / 2
    for got, wanted in zip(bytes_of(ws, x), narrowed(x), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_rows_of_no_size_and_without_end(ws: Workspace, dtype: str) -> None:
    x = np.ones((8, 2, 12), dtype)
    x[1, 0], x[2, 1, 3], x[3, 0, 11], x[4, 1, 0] = 0, np.nan, np.inf, -np.inf
    x[5, 0, 0] = x[5, 0, 1] = np.nan
    x[5, 0, 2] = -np.inf
    x[6, 0] = 0
    x[6, 0, 5] = np.finfo(dtype).max
    found, scales = bytes_of(ws, x)
    for got, wanted in zip((found, scales), narrowed(x), strict=True):
        np.testing.assert_array_equal(got, wanted)
    assert np.isnan(scales[[2, 3, 4, 5], [1, 0, 1, 0]]).all() and np.isnan(scales).sum() == 4
    assert not found[1, 0].any() and scales[1, 0] == 0


def test_what_is_written_is_what_attention_reads(
    ws: Workspace, rng: np.random.Generator, dtype: str
) -> None:
    """One token at a time, as a decoder does, with queries that were rotated beside the keys."""
    heads, kv_heads, dim, page_size, count = 4, 2, 32, 4, 11
    be = ws.be
    x = be.array(normal(rng, (count, heads + 2 * kv_heads, dim), dtype))
    cos, sin = (be.array(one) for one in tables(count, dim // 2, dtype))
    places = np.arange(count, dtype=np.int32)
    kept = x.copy()
    results = []
    for stored in (dtype, "int8"):
        cache = tw.asarray(np.zeros((3, page_size, 2 * kv_heads, dim), stored), device=be)
        scales = be.array(np.zeros((3, 2, kv_heads, page_size), np.float32))
        own = scales if stored == "int8" else None
        rows = kept.copy()
        be.write_pages(
            rows, cache, places, heads=heads, scales=own, cos=cos, sin=sin, positions=places
        )
        results.append(
            be.attention(
                rows[:, :heads], cache[:, :, :kv_heads], cache[:, :, kv_heads:], causal=True,
                page_table=[[0, 1, 2]], lengths=[count], q_starts=[0, count], scales=own,
            ).numpy()
        )  # fmt: skip
    turned_by_rope = be.rope(
        kept[:, : heads + kv_heads].transpose(1, 0, 2)[None], cos, sin
    )[0].transpose(1, 0, 2)  # fmt: skip
    expected = be.attention(
        turned_by_rope[:, :heads].transpose(1, 0, 2)[None],
        turned_by_rope[:, heads:].transpose(1, 0, 2)[None],
        kept[:, heads + kv_heads :].transpose(1, 0, 2)[None], causal=True,
    )[0].transpose(1, 0, 2).numpy()  # fmt: skip
    rough = 2e-2 if dtype == "float16" else 1e-5
    np.testing.assert_allclose(results[0], expected, rtol=rough, atol=rough)
    off = abs(results[1] - expected).max()
    assert 0 < off < 0.05


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"page_dtype": "int8"}, "page_dtype int8 needs page_scales, which is not given"),
    ({"page_scales": "x"}, "page_scales goes with the page_dtype int8, not with float32"),
    ({"page_dtype": "uint8"}, "page_dtype is uint8, expected float32, float16 or int8"),
    ({"cos": "x"}, "cos needs sin, which is not given"),
    ({"sin": "x"}, "sin needs cos, which is not given"),
    ({"cos": "x", "sin": "x", "table_rows": 1}, "cos needs positions, which is not given"),
    ({"table_rows": 3}, "table_rows needs cos"),
    ({"rotary_dim": 4}, "rotary_dim needs cos"),
    ({"cos": "x", "sin": "x", "positions": "i", "rotary_dim": 3}, "rotary_dim is 3, expected an"),
    ({"cos": "x", "sin": "x", "positions": "i", "rotary_dim": 10}, "rotary_dim is 10, expected at"),
    ({"cos": "x", "sin": "x", "positions": "i"}, "table_rows is 0, expected 1 or more"),
    ({"pages": 2**31}, "pages 2147483648 of 1 places are more than the int32"),
]


@pytest.mark.parametrize(("options", "words"), WRONG, ids=lambda x: str(x)[:40])
def test_what_is_wrong_is_named(be: Backend, options: dict[str, Any], words: str) -> None:
    with Workspace(be) as ws:
        x, numbers = ws.input(np.ones(64, np.float32)), ws.input(np.zeros(64, np.int32))
        given = {"pages": 1} | {
            name: x if one == "x" else numbers if one == "i" else one
            for name, one in options.items()
        }
        with pytest.raises(tw.InvalidArgument, match=f"^write_pages: .*{words}"):
            be.write_pages(x, ws.room(64), numbers, 1, 1, 1, 8, page_size=1, **given)


def test_what_is_wrong_in_arrays_is_named(be: Backend) -> None:
    x, cache = (be.array(np.zeros(n, np.float32)) for n in ((3, 4, 8), (2, 4, 2, 8)))
    whole, table = cache.astype("int8"), be.array(np.zeros((5, 4), np.float32))
    turning: dict[str, Any] = {"cos": table, "sin": table, "positions": [0, 1, 2]}
    wrong: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((np.ones(3), cache, [0, 1, 2]), {}, "x is .*, expected an Array"),
        ((x, cache, [0, 1, 2]), {}, "x has shape .* with 0 heads of queries and cache"),
        ((x, cache, [0, 1]), {"heads": 2}, r"slots has shape \(2,\), expected shape \(3,\)"),
        ((x, whole, [0, 1, 2]), {"heads": 2}, "a cache of int8 needs scales, which is not given"),
        ((x, cache, [0, 1, 2]), {"heads": 2, "scales": table}, "a cache of float32 has no scales"),
        ((x, whole, [0, 1, 2]), {"heads": 2, "scales": table}, "scales is float32 of shape"),
        ((x, cache, [0, 1, 2]), {"heads": 2, "cos": table}, "sin is not given"),
        ((x, cache, [0, 1, 2]), {"heads": 2, "rotary_dim": 4}, "rotary_dim needs cos"),
        ((x, cache, [0, 1, 2]), {"heads": 2, "rotary_dim": 4, **turning}, "cos has shape"),
        ((x[:, :, ::2], cache[..., :4], [0, 1, 2]),
         {"heads": 2, **turning, "cos": table[:, :2], "sin": table[:, :2]}, "x has rows with gaps"),
    ]  # fmt: skip
    for arguments, options, words in wrong:
        with pytest.raises(tw.InvalidArgument, match=f"^write_pages: .*{words}"):
            be.write_pages(*arguments, **options)


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer: rotated by no angle, so that bytes are what they are on the CPU."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand

    dtype, heads, kv_heads = draw.dtype(), draw.integer(0, 3), draw.integer(1, 3)
    dim, tokens = 1 + draw.size(100), draw.size_or_zero(40)
    rotary_dim = draw.integer(1, dim // 2) * 2
    table_rows = draw.integer(1, 9)
    page_size = draw.one_of([1, 3, 16])
    pages = -(-tokens // page_size) + 1
    is_whole = bool(draw.below(2))
    x = draw.normal((tokens, heads + 2 * kv_heads, dim), dtype)
    slots = draw.rng.permutation(pages * page_size)[:tokens].astype(np.int32)
    shape = (pages, page_size, 2 * kv_heads, dim)
    start = np.full(shape, 7, np.int8 if is_whole else dtype)
    expected, scales = start.astype(np.float64), np.full((*shape[:1], shape[2], shape[1]), 7.0)
    rows = x[:, heads:]
    if is_whole:
        rows, found = narrowed(rows) if tokens else (rows, np.zeros(rows.shape[:2]))
        scales[slots // page_size, :, slots % page_size] = found
    expected[slots // page_size, slots % page_size] = rows
    cache = operand(draw, start)
    scale_room = operand(draw, np.full(scales.shape, 7, np.float32)) if is_whole else None
    rows_of_x = operand(draw, x)
    table = (table_rows, rotary_dim // 2)
    positions = draw.rng.integers(0, table_rows, tokens).astype(np.int32)
    values: dict[str, Any] = {
        "x": rows_of_x, "cache": cache, "slots": operand(draw, slots), "tokens": tokens,
        "heads": heads, "kv_heads": kv_heads, "head_dim": dim, "pages": pages,
        "page_size": page_size, "dtype": dtype, "page_dtype": "int8" if is_whole else None,
        "page_scales": scale_room, "cos": operand(draw, np.ones(table, dtype)),
        "sin": operand(draw, np.zeros(table, dtype)), "positions": operand(draw, positions),
        "table_rows": table_rows, "pairing": draw.one_of(["halves", "neighbours"]),
        "rotary_dim": rotary_dim,
    }  # fmt: skip
    results = [fuzz.Result(rows_of_x, x), fuzz.Result(cache, expected)]
    if scale_room is not None:
        results.append(fuzz.Result(scale_room, scales))
    return fuzz.Call(name, values, results, empty=tokens == 0)
