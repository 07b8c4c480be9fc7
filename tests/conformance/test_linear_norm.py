"""linear with the norm of x, and added to what is there."""

from __future__ import annotations

import numpy as np
import pytest

from .activations import SLOPE
from .bounds import assert_within
from .test_linear import SHAPES, added, expected, norm_of, operands, padded
from .workspace import Array, Workspace, keeps_subnormals, normal

EPS = 1e-5
#: along k: whole vectors of both dtypes, of one, of none
DEPTHS = [1, 7, 100, 4096]


def run(
    ws: Workspace, x: Array, weights: Array, bias: Array | None, n: int, *,
    norm: Array | None = None, eps: float | None = None, held: Array | None = None,
    activation: str = "none", gated: bool = False, trans: bool = True,
    more: tuple[int, int, int] = (0, 0, 0),
) -> Array:  # fmt: skip
    """weights are [results, k]; `held` is what out has."""
    m, k = x.shape
    given = padded(weights if trans else np.ascontiguousarray(weights.T), more[1])
    shape = (m, n + more[2])
    out = ws.room(shape, x.dtype) if held is None else ws.output(padded(held, more[2]))
    ws.be.linear(
        "transpose" if trans else "none", m, n, k, ws.input(padded(x, more[0])), k + more[0],
        ws.input(given), given.shape[1], out, shape[1], None if bias is None else ws.input(bias),
        activation, SLOPE, gated, x.dtype.name, eps, None if norm is None else ws.input(norm),
        held is not None,
    )  # fmt: skip
    got = ws.read(out)
    assert np.isnan(got[:, n:]).all(), "elements between rows were written"
    return got[:, :n]


def check(
    ws: Workspace, x: Array, weights: Array, bias: Array | None, n: int, *,
    norm: Array | None = None, eps: float | None = None, held: Array | None = None,
    activation: str = "none", gated: bool = False, trans: bool = True,
    more: tuple[int, int, int] = (0, 0, 0),
) -> None:  # fmt: skip
    got = run(
        ws, x, weights, bias, n, norm=norm, eps=eps, held=held, activation=activation,
        gated=gated, trans=trans, more=more,
    )  # fmt: skip
    normed, of_x = (x.astype(np.float64), 0.0) if eps is None else norm_of(x, norm, eps)
    small = keeps_subnormals(ws.be)
    exact, tolerance = expected(normed, weights, bias, n, activation, gated, small, of_x)
    if held is not None:
        exact, tolerance = added(exact, tolerance, held)
    assert_within(got, exact, tolerance)


@pytest.mark.sampled(3)
@pytest.mark.essential
@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("trans", [True, False])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_against_float64(
    ws: Workspace, rng: np.random.Generator, shape: tuple[int, int, int, int, int, int],
    trans: bool, gated: bool, dtype: str,
) -> None:  # fmt: skip
    m, n, k, *more = shape
    x, weights, bias = operands(rng, m, n, k, dtype, gated)
    check(
        ws, x, weights, bias, n, norm=normal(rng, k, dtype), eps=EPS,
        held=normal(rng, (m, n), dtype), activation="silu" if gated else "none", gated=gated,
        trans=trans, more=(*more,),
    )  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("k", DEPTHS)
@pytest.mark.parametrize("m", range(1, 10))
def test_depths_by_rows(
    ws: Workspace, rng: np.random.Generator, m: int, k: int, dtype: str
) -> None:
    x, weights, bias = operands(rng, m, 37, k, dtype, False)
    check(ws, x, weights, bias, 37, norm=normal(rng, k, dtype), eps=EPS)
    check(ws, x, weights, None, 37, eps=0.25, activation="tanh")
    check(ws, x, weights, None, 37, held=normal(rng, (m, 37), dtype))


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("m", [1, 3, 40])
@pytest.mark.parametrize("gated", [False, True])
def test_bent_before_it_is_added(
    ws: Workspace, rng: np.random.Generator, m: int, gated: bool, activation: str, dtype: str
) -> None:
    x, weights, bias = operands(rng, m, 36, 48, dtype, gated)
    held = normal(rng, (m, 36), dtype)
    check(ws, x, weights, bias, 36, held=held, activation=activation, gated=gated)


@pytest.mark.parametrize("m", [1, 3, 9])
def test_rows_of_any_size_are_normed(ws: Workspace, m: int, dtype: str) -> None:
    """Squares of float16 do not overflow, and rows of zeros are 0, or NaN without an eps."""
    rng = np.random.default_rng(m)
    weights = normal(rng, (13, 304), dtype)
    for size in (60000, 2.0**-9):
        check(ws, np.full((m, 304), size, dtype), weights, None, 13, eps=0.0)
    zeros = np.zeros((m, 304), dtype)
    assert (run(ws, zeros, weights, None, 13, eps=EPS) == 0).all()
    assert np.isnan(run(ws, zeros, weights, None, 13, eps=0.0)).all()


@pytest.mark.parametrize("m", [2, 4, 17])
def test_special_values_stay_in_their_place(
    ws: Workspace, rng: np.random.Generator, m: int, dtype: str
) -> None:
    """An infinity makes NaN of itself, as rmsnorm has it."""
    x, weights, _ = operands(rng, m, 19, 64, dtype, False)
    norm, held = normal(rng, 64, dtype), normal(rng, (m, 19), dtype)
    x[0, 5], x[m - 1, 7] = np.nan, -np.inf
    held[:, 4] = np.inf
    weights[7, 3] = np.inf
    got = run(ws, x, weights, None, 19, norm=norm, eps=EPS, held=held)
    assert np.isnan(got[[0, m - 1]]).all()
    rest = got[1 : m - 1]
    assert np.isfinite(np.delete(rest, [4, 7], axis=1)).all()
    assert (rest[:, 4] == np.inf).all()
    wanted = np.where(x[1 : m - 1, 3] * norm[3] > 0, np.inf, -np.inf)
    np.testing.assert_array_equal(rest[:, 7], wanted)


@pytest.mark.parametrize("m", [1, 4])
@pytest.mark.parametrize("gated", [False, True])
def test_few_rows_are_one_launch(
    ws: Workspace, rng: np.random.Generator, m: int, gated: bool, dtype: str
) -> None:
    """Up to 2 on Level Zero, whose GPUs have no registers for the norm of more."""
    x, weights, bias = operands(rng, m, 24, 64, dtype, gated)
    norm, held = normal(rng, 64, dtype), normal(rng, (m, 24), dtype)
    with ws.be.profile() as profile:
        run(ws, x, weights, bias, 24, norm=norm, eps=EPS, held=held, activation="silu", gated=gated)
    found = [one.kernel for one in profile.records]
    by_itself = ws.be.name == "level-zero" and m > 2
    assert found == (
        ["linear"] if ws.be.name == "cpu" else ["norm_rows"] * by_itself + ["gemm_rows"]
    )


@pytest.mark.parametrize("m", [1, 33])
def test_same_request_same_bits(
    ws: Workspace, rng: np.random.Generator, m: int, dtype: str
) -> None:
    x, weights, bias = operands(rng, m, 36, 4096, dtype, False)
    norm = normal(rng, 4096, dtype)
    results = {run(ws, x, weights, bias, 36, norm=norm, eps=EPS).tobytes() for _ in range(3)}
    assert len(results) == 1


def test_a_weight_needs_an_eps(ws: Workspace, rng: np.random.Generator) -> None:
    import tilewright

    x, weights, _ = operands(rng, 2, 5, 8, "float32", False)
    with pytest.raises(tilewright.InvalidArgument, match="norm_weight needs norm_eps"):
        run(ws, x, weights, None, 5, norm=np.ones(8, np.float32))
