from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tilewright import Backend

from . import bounds, references
from .arguments import DTYPE, Call, EmptyCalls, In, Out, Size
from .workspace import Array, Workspace, normal

if TYPE_CHECKING:
    from fuzz import call as fuzz
    from fuzz.draw import Draw

CALL: Call = {
    "x": In(4 * 24),
    "cos": In(4 * 6),
    "sin": In(4 * 6),
    "output": Out(4 * 24, may_be=("x",)),
    "batch": Size(2),
    "heads": Size(3),
    "seq": Size(1),
    "head_dim": Size(4, positive=True),
    "table_rows": Size(3),
    "position": Size(2),
    "dtype": DTYPE,
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


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    batch, heads, seq = (draw.size_or_zero(40) for _ in range(3))
    half = draw.size(max(1, min(200, (1 << 16) // max(1, batch * heads * seq))))
    position = draw.integer(0, 9)
    rows = position + seq + draw.integer(0, 3)
    dtype = draw.dtype()
    cos, sin = (draw.normal((rows, half), dtype) for _ in range(2))
    x = draw.normal((batch, heads, seq, 2 * half), dtype)
    seen = [table[position : position + seq] for table in (cos, sin)]
    exact = references.rope(x, *seen)
    tolerance = bounds.rotation(*(a.astype(np.float64) for a in (x, *seen)))
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
        "head_dim": 2 * half,
        "table_rows": rows,
        "position": position,
        "dtype": dtype,
    }
    result = fuzz.Result(out, exact, tolerance)
    return fuzz.Call(name, values, [result], empty=0 in (batch, heads, seq))
