"""unary, silu and gelu."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tilewright import Backend, UnaryOp

from . import bounds, references
from .workspace import Array, Workspace, keeps_subnormals

OPS = list(references.UNARY)
SIZES = [0, 1, 3, 17, 257, 65537]

every_op = pytest.mark.parametrize("op", OPS)


def test_no_op_is_missing() -> None:
    assert {member.value for member in UnaryOp} == set(OPS)


def run(ws: Workspace, op: str, x: Array, in_place: bool = False) -> Array:
    buffer = ws.output(x) if in_place else ws.input(x)
    out = buffer if in_place else ws.room(x.shape, x.dtype)
    ws.be.unary(op, buffer, out, x.size, x.dtype.name)
    return ws.read(out)


def check(ws: Workspace, op: str, x: Array, in_place: bool = False) -> None:
    exact = references.UNARY[op](x)
    subnormals = keeps_subnormals(ws.be)
    tolerance = bounds.elementwise(op, exact, x.astype(np.float64), subnormals)
    bounds.assert_within(run(ws, op, x, in_place), exact, tolerance)


def spread(rng: np.random.Generator, n: int, dtype: str) -> Array:
    """Both signs and many orders of magnitude."""
    limit = 12 if dtype == "float16" else 40
    return (rng.standard_normal(n) * 2.0 ** rng.integers(-limit, limit // 2, n)).astype(dtype)


def special_values(dtype: str) -> Array:
    info = np.finfo(dtype)
    some = [0, 0.5, 1, 2, 3, 10, 88, 89, 100, 700, 1e4, info.max, info.tiny, np.inf]
    return np.array([*some, *(-x for x in some), np.nan]).astype(dtype)


@pytest.mark.sampled(12)
@pytest.mark.essential
@every_op
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("in_place", [False, True])
def test_against_float64(
    ws: Workspace, rng: np.random.Generator, op: str, n: int, in_place: bool, dtype: str
) -> None:
    check(ws, op, spread(rng, n, dtype), in_place)


@pytest.mark.essential
@every_op
def test_special_values(ws: Workspace, op: str, dtype: str) -> None:
    check(ws, op, special_values(dtype))


@every_op
def test_every_float16(ws: Workspace, op: str) -> None:
    check(ws, op, np.arange(65536, dtype=np.uint16).view(np.float16))


@every_op
@pytest.mark.parametrize("low_and_high", [(-1e-3, 1e-3), (0.9, 1.1), (-20.0, 20.0), (-110.0, 90.0)])
def test_float32_where_it_is_delicate(
    ws: Workspace, op: str, low_and_high: tuple[float, float]
) -> None:
    check(ws, op, np.linspace(*low_and_high, 65537, dtype=np.float32))


@every_op
def test_special_values_at_every_position(ws: Workspace, op: str, dtype: str) -> None:
    """Vector kernels have a body and a tail: each position sees each value."""
    values = special_values(dtype)
    check(ws, op, np.concatenate([np.roll(values, i) for i in range(len(values))]))


def test_zeros_keep_their_sign(ws: Workspace, dtype: str) -> None:
    zeros = np.array([0.0, -0.0], dtype)
    assert np.signbit(run(ws, "neg", zeros)).tolist() == [True, False]
    assert np.signbit(run(ws, "abs", zeros)).tolist() == [False, False]
    for op in ("sqrt", "tanh"):
        assert np.signbit(run(ws, op, zeros)).tolist() == [False, True]


@pytest.mark.essential
@pytest.mark.parametrize("call", ["silu", "gelu"])
@pytest.mark.parametrize("n", SIZES)
def test_calls_of_their_own(
    ws: Workspace, rng: np.random.Generator, call: str, n: int, dtype: str
) -> None:
    x = spread(rng, n, dtype)
    buffer, out = ws.input(x), ws.room(n, dtype)
    getattr(ws.be, call)(buffer, out, n, dtype)
    np.testing.assert_array_equal(ws.read(out), run(ws, call, x))


def test_exactly_n_elements(ws: Workspace, dtype: str) -> None:
    out = ws.output(np.full(100, 7, dtype))
    ws.be.unary("neg", ws.input(np.ones(100, dtype)), out, 33, dtype)
    np.testing.assert_array_equal(ws.read(out), [-1] * 33 + [7] * 67)


@given(
    x=hnp.arrays(np.float32, st.integers(0, 100), elements=st.floats(width=32)),
    op=st.sampled_from(["relu", "abs", "neg", "sqrt", "square", "reciprocal"]),
)
def test_exact_ops_are_those_of_numpy(be: Backend, x: Array, op: str) -> None:
    tiny = np.abs(x) < np.finfo(np.float32).tiny
    with Workspace(be) as ws:
        check(ws, op, np.where(tiny, np.float32(0), x))
