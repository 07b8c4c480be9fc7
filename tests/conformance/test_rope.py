from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tilewright as tw
from hypothesis import given
from hypothesis import strategies as st
from tilewright import Backend

from . import bounds, references
from .arguments import DTYPE, Absent, Call, EmptyCalls, Flag, In, Name, Out, Size
from .workspace import Array, Workspace, normal

if TYPE_CHECKING:
    from fuzz import call as fuzz
    from fuzz.draw import Draw

CALL: Call = {
    "x": In(4 * 36),
    "cos": In(4 * 6),
    "sin": In(4 * 6),
    "output": Out(4 * 36, may_be=("x",)),
    "batch": Size(2),
    "heads": Size(3),
    "seq": Size(1),
    "head_dim": Size(6, positive=True),
    "table_rows": Size(3),
    "position": Size(2),
    "dtype": DTYPE,
    "pairing": Name("neighbours", also_wrong=("adjacent",)),
    "rotary_dim": Size(4, positive=True),
    "positions": Absent(),
    "positions_per_sequence": Size(1, positive=True),
    "inverse": Flag(True),
}
EMPTY: EmptyCalls = [
    ({"batch": 0}, ("x", "output")),
    ({"heads": 0}, ("x", "output")),
    ({"seq": 0, "table_rows": 0, "position": 0}, ("x", "cos", "sin", "output")),
]

CASES = [  # batch, heads, seq, head_dim, table_rows, position
    (1, 1, 1, 2, 1, 0),
    (2, 3, 17, 8, 17, 0),
    (1, 2, 3, 64, 257, 254),
    (3, 1, 5, 6, 100, 17),
    (1, 17, 1, 34, 33, 32),
    (1, 1, 257, 130, 300, 3),
    (65537, 1, 1, 2, 3, 1),
    (1, 1, 65537, 2, 65540, 3),
    (1, 1, 1, 131074, 1, 0),
]


def tables(rows: int, half: int, dtype: str) -> tuple[Array, Array]:
    angles = np.arange(rows)[:, None] / 10000 ** (np.arange(half) / half)
    return np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)


def run(
    ws: Workspace, x: Array, cos: Array, sin: Array, position: int, in_place: bool = False
) -> Array:
    buffer = ws.output(x) if in_place else ws.input(x)
    out = buffer if in_place else ws.room(x.shape, x.dtype)
    ws.be.rope(
        buffer, ws.input(cos), ws.input(sin), out, *x.shape, len(cos), position, x.dtype.name
    )
    return ws.read(out)


def check(
    ws: Workspace, x: Array, cos: Array, sin: Array, position: int, in_place: bool = False
) -> None:
    rows = slice(position, position + x.shape[2])
    exact = references.rope(x, cos[rows], sin[rows])
    wide = (a.astype(np.float64) for a in (x, cos[rows], sin[rows]))
    bounds.assert_within(run(ws, x, cos, sin, position, in_place), exact, bounds.rotation(*wide))


@pytest.mark.essential
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("in_place", [False, True])
def test_against_float64(
    ws: Workspace,
    rng: np.random.Generator,
    case: tuple[int, int, int, int, int, int],
    in_place: bool,
    dtype: str,
) -> None:
    *shape, table_rows, position = case
    cos, sin = tables(table_rows, shape[3] // 2, dtype)
    check(ws, normal(rng, shape, dtype), cos, sin, position, in_place)


@pytest.mark.parametrize("shape", [(0, 1, 1, 2), (1, 0, 1, 2), (1, 1, 0, 2)])
def test_nothing_to_do(ws: Workspace, shape: tuple[int, ...], dtype: str) -> None:
    assert run(ws, np.empty(shape, dtype), *tables(3, 1, dtype), 1).shape == shape


def test_no_rotation_and_a_quarter_turn(
    ws: Workspace, rng: np.random.Generator, dtype: str
) -> None:
    x = normal(rng, (2, 3, 5, 8), dtype)
    zeros, ones = np.zeros((5, 4), dtype), np.ones((5, 4), dtype)
    np.testing.assert_array_equal(run(ws, x, ones, zeros, 0), x)
    turned = np.concatenate([-x[..., 4:], x[..., :4]], axis=-1)
    np.testing.assert_array_equal(run(ws, x, zeros, ones, 0), turned)


def test_special_values_stay_in_their_pair(ws: Workspace, dtype: str) -> None:
    x = np.ones((1, 1, 3, 8), dtype)
    x[0, 0, 1, 2] = np.nan
    bad = np.isnan(run(ws, x, *tables(3, 4, dtype), 0))
    assert np.argwhere(bad).tolist() == [[0, 0, 1, 2], [0, 0, 1, 6]]


@given(
    shape=st.tuples(*[st.integers(1, 5)] * 3),
    half=st.integers(1, 40),
    position=st.integers(0, 50),
    dtype=st.sampled_from(["float32", "float16"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_request(
    be: Backend, shape: tuple[int, int, int], half: int, position: int, dtype: str, seed: int
) -> None:
    x = normal(np.random.default_rng(seed), (*shape, 2 * half), dtype)
    with Workspace(be) as ws:
        check(ws, x, *tables(position + shape[2] + 3, half, dtype), position)


@dataclass(frozen=True)
class Rope:
    """How rope is asked for besides."""

    shape: tuple[int, int, int, int]
    pairing: str = "halves"
    rotary_dim: int | None = None
    positions: str = ""  # "sequences" or "places"
    inverse: bool = False
    strided: bool = False
    in_place: bool = False

    def __str__(self) -> str:
        told = ["x".join(map(str, self.shape)), self.pairing, str(self.rotary_dim), self.positions]
        flags = [name for name in ("inverse", "strided", "in_place") if getattr(self, name)]
        return "-".join([*told, *flags])


def pairs_of(case: Rope) -> tuple[Array, Array]:
    """The places of the first and of the second element of each pair."""
    dim = case.rotary_dim or case.shape[3]
    each = np.arange(dim // 2)
    return (each, each + dim // 2) if case.pairing == "halves" else (2 * each, 2 * each + 1)


def rotated(case: Rope, x: Array, cos: Array, sin: Array, rows: Array) -> tuple[Array, Array]:
    """By the rows [batch, seq] of the table, and how far from it one may be."""
    exact, within = x.astype(np.float64), np.zeros(x.shape)
    outside = (rows < 0) | (rows >= len(cos))
    c, s = (
        np.where(outside[..., None], np.nan, table[np.where(outside, 0, rows)].astype(np.float64))
        for table in (cos, sin)
    )
    c, s = c[:, None], (-s if case.inverse else s)[:, None]
    first, second = pairs_of(case)
    a, b = exact[..., first].copy(), exact[..., second].copy()
    exact[..., first], exact[..., second] = a * c - b * s, b * c + a * s
    for place, one, other in ((first, a, b), (second, b, a)):
        within[..., place] = 2 * bounds.U * (abs(one * c) + abs(other * s)) + bounds.SMALLEST
    return exact, np.nan_to_num(within)


def check_options(ws: Workspace, rng: np.random.Generator, case: Rope, dtype: str) -> None:
    batch, heads, seq, dim = case.shape
    cos, sin = tables(50, (case.rotary_dim or dim) // 2, dtype)
    x = normal(rng, case.shape, dtype)
    options: dict[str, Any] = {
        "pairing": case.pairing,
        "rotary_dim": case.rotary_dim,
        "inverse": case.inverse,
    }
    position = 3 if not case.positions else 0
    rows = np.broadcast_to(position + np.arange(seq), (batch, seq))
    if case.positions:
        count = 1 if case.positions == "sequences" else seq
        numbers = rng.integers(-2, 53, (batch, count)).astype(np.int32)
        options |= {"positions": ws.input(numbers), "positions_per_sequence": count}
        rows = numbers + np.arange(seq) if count == 1 else numbers
    exact, within = rotated(case, x, cos, sin, rows)
    arguments = (*case.shape, len(cos), position, dtype)
    tables_given = ws.input(cos), ws.input(sin)
    if not case.strided:
        source = ws.output(x) if case.in_place else ws.input(x)
        out = source if case.in_place else ws.room(x.shape, dtype)
        ws.be.rope(source, *tables_given, out, *arguments, **options)
        bounds.assert_within(ws.read(out), exact, within)
        return
    # A part of the rows of a fused buffer, [batch, seq, heads + 2, dim + 3], from some element on.
    pitch = dim + 3
    whole = np.full((batch, seq, heads + 2, pitch), np.nan, dtype)
    part = np.s_[:, :, 1 : 1 + heads, 2 : 2 + dim]
    whole[part] = x.swapaxes(1, 2)
    strides = (seq * (heads + 2) * pitch, pitch, (heads + 2) * pitch, 1)
    if case.in_place:
        out = ws.output(whole)
        operand = (out, strides, pitch + 2)
        ws.be.rope(operand, *tables_given, operand, *arguments, **options)
        got = ws.read(out).copy()
        bounds.assert_within(got[part].swapaxes(1, 2), exact, within)
        got[part] = np.nan
        assert np.isnan(got).all()
        return
    out = ws.room(x.shape, dtype)
    source = (ws.input(whole), strides, pitch + 2)
    ws.be.rope(source, *tables_given, out, *arguments, **options)
    bounds.assert_within(ws.read(out), exact, within)


OPTIONS = [
    Rope((2, 3, 5, 8), "neighbours"),
    Rope((1, 1, 1, 2), "neighbours"),
    Rope((2, 2, 17, 130), "neighbours", inverse=True),
    Rope((1, 3, 33, 66), "neighbours", in_place=True),
    Rope((2, 3, 5, 9), rotary_dim=4),
    Rope((2, 3, 5, 80), rotary_dim=32, in_place=True),
    Rope((2, 3, 5, 7), "neighbours", rotary_dim=6),
    Rope((3, 2, 5, 8), positions="sequences"),
    Rope((3, 2, 5, 8), positions="places", inverse=True),
    Rope((40, 4, 1, 64), positions="sequences", in_place=True),
    Rope((3, 2, 7, 20), "neighbours", 12, "places", True),
    Rope((2, 3, 5, 8), strided=True),
    Rope((2, 3, 5, 34), "neighbours", 16, "sequences", strided=True),
    Rope((2, 3, 5, 34), rotary_dim=16, strided=True, in_place=True),
    Rope((3, 2, 9, 64), "neighbours", None, "places", strided=True, in_place=True),
    Rope((5, 7, 301, 64), "neighbours", 48, strided=True),
]


@pytest.mark.essential
@pytest.mark.parametrize("case", OPTIONS, ids=str)
def test_options(ws: Workspace, rng: np.random.Generator, case: Rope, dtype: str) -> None:
    """Rows outside the table are NaN, and what is not rotated stays."""
    if case.shape[2] > 47 and not case.positions:
        case = replace(case, shape=(*case.shape[:2], 47, case.shape[3]))
    check_options(ws, rng, case, dtype)


@given(
    shape=st.tuples(*[st.integers(1, 5)] * 3, st.integers(2, 70)),
    rotary=st.one_of(st.none(), st.integers(1, 35)),
    pairing=st.sampled_from(["halves", "neighbours"]),
    positions=st.sampled_from(["", "sequences", "places"]),
    inverse=st.booleans(),
    strided=st.booleans(),
    in_place=st.booleans(),
    dtype=st.sampled_from(["float32", "float16"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_options(
    be: Backend,
    shape: tuple[int, int, int, int],
    rotary: int | None,
    pairing: str,
    positions: str,
    inverse: bool,
    strided: bool,
    in_place: bool,
    dtype: str,
    seed: int,
) -> None:
    rotary_dim = None if rotary is None else 2 * min(rotary, shape[3] // 2)
    if rotary_dim is None:
        shape = (*shape[:3], shape[3] // 2 * 2)
    case = Rope(shape, pairing, rotary_dim, positions, inverse, strided, in_place)
    with Workspace(be) as ws:
        check_options(ws, np.random.default_rng(seed), case, dtype)


def test_the_inverse_brings_back(ws: Workspace, rng: np.random.Generator, dtype: str) -> None:
    """Which is the gradient: angles are turned the other way round."""
    x = normal(rng, (2, 3, 5, 16), dtype)
    cos, sin = (ws.input(one) for one in tables(9, 8, dtype))
    for pairing in ("halves", "neighbours"):
        there, back = ws.room(x.shape, dtype), ws.room(x.shape, dtype)
        ws.be.rope(ws.input(x), cos, sin, there, *x.shape, 9, 4, dtype, pairing)
        ws.be.rope(there, cos, sin, back, *x.shape, 9, 4, dtype, pairing, inverse=True)
        np.testing.assert_allclose(
            ws.read(back), x, rtol=0, atol=1e-2 if dtype == "float16" else 1e-5
        )


def test_what_is_wrong_is_named(be: Backend) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"rotary_dim": 10}, "rotary_dim is 10, expected at most head_dim 8"),
        ({"rotary_dim": 3}, "rotary_dim is 3, expected an even number"),
        ({"positions": True, "position": 1}, "position is 1, expected 0 with positions"),
        ({"positions": True, "positions_per_sequence": 2}, "positions_per_sequence is 2"),
        ({"positions_per_sequence": 5}, "positions_per_sequence is 5, expected 1 without"),
    ]
    with Workspace(be) as ws:
        x, table = ws.input(np.ones(2 * 5 * 8, np.float32)), ws.input(np.ones(80, np.float32))
        out, numbers = ws.room(80), ws.input(np.zeros(10, np.int32))
        for options, words in wrong:
            given = options | ({"positions": numbers} if "positions" in options else {})
            with pytest.raises(tw.InvalidArgument, match=f"^rope: {words}"):
                be.rope(x, table, table, out, 2, 1, 5, 8, 20, **given)
        with pytest.raises(tw.InvalidArgument, match="pass the same strides for both"):
            be.rope((x, (40, 40, 8, 1)), table, table, (x, (8, 8, 16, 1)), 2, 1, 5, 8, 20)


def test_the_array_tier(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    x = normal(rng, (2, 5, 3, 8), dtype)
    cos, sin = tables(30, 3, dtype)
    case = Rope((2, 3, 5, 8), "neighbours", 6, "places")
    rows = rng.integers(0, 30, (2, 5)).astype(np.int32)
    exact, within = rotated(case, x.swapaxes(1, 2), cos, sin, rows)
    on_device = [be.array(one) for one in (x, cos, sin)]
    options: dict[str, Any] = {"pairing": "neighbours", "rotary_dim": 6}
    got = be.rope(on_device[0].swapaxes(1, 2), *on_device[1:], positions=rows, **options)
    bounds.assert_within(got.numpy(), exact, within)
    first = rows[:, 0]
    exact, within = rotated(case, x.swapaxes(1, 2), cos, sin, first[:, None] + np.arange(5))
    got = be.rope(on_device[0].swapaxes(1, 2), *on_device[1:], positions=be.array(first), **options)
    bounds.assert_within(got.numpy(), exact, within)
    with pytest.raises(tw.InvalidArgument, match=r"positions has shape \(3,\), expected shape"):
        be.rope(on_device[0].swapaxes(1, 2), *on_device[1:], positions=[1, 2, 3], **options)


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    batch, heads, seq = (draw.size_or_zero(40) for _ in range(3))
    half = draw.size(max(1, min(200, (1 << 16) // max(1, batch * heads * seq))))
    kept = draw.one_of([0, 0, 1, 2, 5])
    positions = draw.one_of(["", "", "sequences", "places"]) if batch * seq else ""
    position = 0 if positions else draw.integer(0, 9)
    rows = position + seq + draw.integer(0, 3)
    dtype = draw.dtype()
    case = Rope(
        (batch, heads, seq, 2 * half + kept), draw.one_of(["halves", "neighbours"]),
        2 * half if kept else draw.one_of([None, 2 * half]), positions, bool(draw.below(2)),
    )  # fmt: skip
    cos, sin = (draw.normal((rows, half), dtype) for _ in range(2))
    x = draw.normal(case.shape, dtype)
    count = seq if positions == "places" else 1
    numbers = np.array(
        [draw.integer(-2, rows + 2) for _ in range(batch * count)], np.int32
    ).reshape(batch, count)  # fmt: skip
    places = np.broadcast_to(position + np.arange(seq), (batch, seq))
    if positions:
        places = numbers if count == seq else numbers + np.arange(seq)
    exact, tolerance = rotated(case, x, cos, sin, places)
    source = operand(draw, x)
    out = source if draw.rarely(3) else room(draw, x.shape, dtype)
    values = {
        "x": source,
        "cos": operand(draw, cos),
        "sin": operand(draw, sin),
        "output": out,
        "batch": batch,
        "heads": heads,
        "seq": seq,
        "head_dim": case.shape[3],
        "table_rows": rows,
        "position": position,
        "dtype": dtype,
        "pairing": case.pairing,
        "rotary_dim": case.rotary_dim,
        "positions": operand(draw, numbers) if positions else None,
        "positions_per_sequence": count if positions else 1,
        "inverse": case.inverse,
    }
    result = fuzz.Result(out, exact, tolerance)
    return fuzz.Call(name, values, [result], empty=0 in (batch, heads, seq))
