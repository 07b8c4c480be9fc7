from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tilewright import Activation

from . import bounds, references
from .activations import SLOPE, ended
from .arguments import DTYPE, Call, EmptyCalls, Flag, In, Name, Number, Out, Size
from .workspace import Array, Workspace, keeps_subnormals, normal

if TYPE_CHECKING:
    from fuzz import call as fuzz
    from fuzz.draw import Draw

CALL: Call = {
    "trans_weights": Name("transpose"),
    "m": Size(2),
    "n": Size(3),
    "k": Size(5, positive=True),
    "x": In(4 * (7 + 5)),
    "ldx": Size(7, positive=True),
    "weights": In(4 * (5 * 6 + 5)),
    "ldw": Size(6, positive=True),
    "out": Out(4 * (4 + 3)),
    "ldo": Size(4, positive=True),
    "bias": In(4 * 6),
    "activation": Name("leaky_relu", also_wrong=("square",)),
    "slope": Number(0.1, wrong=(np.nan, np.inf, -np.inf)),
    "gated": Flag(True),
    "dtype": DTYPE,
    "norm_eps": Number(1e-5, wrong=(np.nan, np.inf, -1.0)),
    "norm_weight": In(4 * 5),
    "add": Flag(True),
}
EMPTY: EmptyCalls = [({"m": 0}, ("x", "out")), ({"n": 0}, ("weights", "out", "bias"))]

# m, n, k; more of ldx, of ldw, of ldo. By rows, where k is whole 16 bytes; thin; by tiles.
SHAPES = [
    (1, 1, 8, 0, 0, 0),
    (1, 67, 96, 0, 8, 0),
    (1, 259, 1048, 0, 0, 3),
    (2, 33, 264, 8, 0, 0),
    (3, 41, 72, 0, 0, 1),
    (4, 19, 520, 8, 16, 2),
    (1, 37, 13, 0, 0, 0),
    (3, 9, 50, 1, 2, 0),
    (70, 2, 24, 0, 0, 0),
    (5, 3, 8, 0, 0, 0),
    (33, 68, 40, 0, 0, 0),
    (65, 67, 31, 2, 1, 3),
    (130, 129, 20, 0, 4, 1),
]
#: of the products, with float32 sums of integers
LONG = (17, 20, 4096)


def padded(x: Array, more: int) -> Array:
    wide = np.full((x.shape[0], x.shape[1] + more), np.nan, x.dtype)
    wide[:, : x.shape[1]] = x
    return wide


def run(
    ws: Workspace, x: Array, weights: Array, bias: Array | None, n: int, activation: str = "none",
    gated: bool = False, trans: bool = True, more: tuple[int, int, int] = (0, 0, 0),
) -> Array:  # fmt: skip
    """weights are [results, k]."""
    m, k = x.shape
    held = padded(weights if trans else np.ascontiguousarray(weights.T), more[1])
    out = ws.room((m, n + more[2]), x.dtype)
    ws.be.linear(
        "transpose" if trans else "none", m, n, k, ws.input(padded(x, more[0])), k + more[0],
        ws.input(held), held.shape[1], out, n + more[2],
        None if bias is None else ws.input(bias), activation, SLOPE, gated, x.dtype.name,
    )  # fmt: skip
    got = ws.read(out)
    assert np.isnan(got[:, n:]).all(), "elements between rows were written"
    return got[:, :n]


def expected(
    x: Array, weights: Array, bias: Array | None, n: int, activation: str, gated: bool,
    subnormals: bool, of_x: float = 0.0,
) -> tuple[Array, Array]:  # fmt: skip
    """The exact result, and how far one may be from it; x itself may be off by so much of it."""
    wide_x, wide_w = x.astype(np.float64), weights.astype(np.float64)
    of_bias = np.zeros(len(weights)) if bias is None else bias.astype(np.float64)
    sums = wide_x @ wide_w.T + of_bias
    products = np.abs(wide_x) @ np.abs(wide_w).T
    off = bounds.inner_product(products + np.abs(of_bias), x.shape[1] + 1) + of_x * products
    return ended(activation, sums, off, n, gated, subnormals)


def norm_of(x: Array, norm: Array | None, eps: float) -> tuple[Array, float]:
    """The normed rows, and how much of itself an element of them may be off by, rounded between
    where x is float16."""
    k = x.shape[1]
    exact = references.rmsnorm(x, np.ones(k) if norm is None else norm, float(np.float32(eps)))
    rounding = 2.0**-11 if x.dtype == np.float16 else bounds.U
    return exact, bounds.summation(1.0, k) / 2 + 6 * bounds.U + rounding


def added(exact: Array, tolerance: Array, held: Array) -> tuple[Array, Array]:
    total = exact + held
    return total, tolerance + bounds.ulp(np.abs(exact) + np.abs(held))


def check(
    ws: Workspace, x: Array, weights: Array, bias: Array | None, n: int, activation: str = "none",
    gated: bool = False, trans: bool = True, more: tuple[int, int, int] = (0, 0, 0),
) -> None:  # fmt: skip
    got = run(ws, x, weights, bias, n, activation, gated, trans, more)
    exact, tolerance = expected(x, weights, bias, n, activation, gated, keeps_subnormals(ws.be))
    bounds.assert_within(got, exact, tolerance)


def operands(
    rng: np.random.Generator, m: int, n: int, k: int, dtype: str, gated: bool
) -> tuple[Array, Array, Array]:
    results = 2 * n if gated else n
    return normal(rng, (m, k), dtype), normal(rng, (results, k), dtype), normal(rng, results, dtype)


@pytest.mark.sampled(3)
@pytest.mark.essential
@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("trans", [True, False])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_against_float64(
    ws: Workspace,
    rng: np.random.Generator,
    shape: tuple[int, int, int, int, int, int],
    trans: bool,
    gated: bool,
    dtype: str,
) -> None:
    m, n, k, *more = shape
    x, weights, bias = operands(rng, m, n, k, dtype, gated)
    check(ws, x, weights, bias, n, "silu" if gated else "relu", gated, trans, (*more,))


@pytest.mark.parametrize("activation", sorted(Activation.__members__))
@pytest.mark.parametrize("m", [1, 3, 40])
@pytest.mark.parametrize("gated", [False, True])
def test_each_activation(
    ws: Workspace, rng: np.random.Generator, activation: str, m: int, gated: bool, dtype: str
) -> None:
    x, weights, bias = operands(rng, m, 36, 48, dtype, gated)
    check(ws, x, weights, bias, 36, activation, gated)


@pytest.mark.parametrize("m", [2, 12])
def test_without_bias(ws: Workspace, rng: np.random.Generator, m: int, dtype: str) -> None:
    x, weights, _ = operands(rng, m, 21, 32, dtype, False)
    check(ws, x, weights, None, 21)
    check(ws, x, weights, None, 21, "gelu")


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("m", [1, 4, 17])
def test_long_sums(
    ws: Workspace, rng: np.random.Generator, m: int, gated: bool, dtype: str
) -> None:
    """Along k, which is cut in pieces where rows and columns are few."""
    _, n, k = LONG
    x, weights, bias = operands(rng, m, n, k, dtype, gated)
    check(ws, x, weights, bias, n, "relu6", gated)


@pytest.mark.parametrize("m", [1, 3, 17])
def test_special_values_stay_in_their_place(
    ws: Workspace, rng: np.random.Generator, m: int
) -> None:
    x, weights, bias = operands(rng, m, 19, 64, "float32", False)
    x[m - 1, 5] = np.nan
    weights[7, 3] = np.inf
    got = run(ws, x, weights, bias, 19, "relu")
    assert np.isnan(got[m - 1]).all()
    others = np.delete(got[: m - 1], 7, axis=1)
    assert np.isfinite(others).all()
    wanted = np.where(x[: m - 1, 3] > 0, np.inf, 0)
    np.testing.assert_array_equal(got[: m - 1, 7], wanted)


@pytest.mark.parametrize(("m", "n"), [(1, 24), (4, 24), (40, 64)])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_is_one_launch(ws: Workspace, rng: np.random.Generator, m: int, n: int, dtype: str) -> None:
    """Bias and activation are in the kernel of the product, but where that is Intel's own."""
    x, weights, bias = operands(rng, m, n, 64, dtype, False)
    with ws.be.profile() as profile:
        run(ws, x, weights, bias, n, "gelu")
    found = [one.kernel for one in profile.records if one.kernel.startswith(("gemm", "linear"))]
    if ws.be.name == "cpu":
        assert found == ["linear"]
        return
    on_units = dtype == "float16" and "matrix_units" in ws.be.device.features
    wanted = ["gemm_rows"] if m <= 4 else ["gemm_matrix"] if on_units else ["gemm"]
    assert found == wanted if ws.be.name == "webgpu" or m <= 4 else found == ["gemm", "gemm_join"]


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    m, n = draw.size_or_zero(40), draw.size_or_zero(60)
    k, dtype = 1 + draw.size_or_zero(200), draw.dtype()
    gated, trans = draw.rarely(3), not draw.rarely(3)
    results = 2 * n if gated else n
    x, weights = draw.normal((m, k), dtype), draw.normal((results, k), dtype)
    bias = None if draw.rarely(3) else draw.normal(results, dtype)
    activation = draw.one_of(["none", "relu", "silu", "tanh"])
    normed, of_x, norm = x.astype(np.float64), 0.0, None
    eps = draw.one_of([None, 1e-5, 0.5])
    if eps is not None:
        norm = None if draw.rarely(3) else draw.normal(k, dtype)
        normed, of_x = norm_of(x, norm, eps)
    exact, tolerance = expected(normed, weights, bias, n, activation, gated, False, of_x)
    held = draw.normal((m, n), dtype) if draw.rarely(3) else None
    if held is not None:
        exact, tolerance = added(exact, tolerance, held)
    out = room(draw, m * n, dtype) if held is None else operand(draw, held.reshape(-1))
    values = {
        "trans_weights": "transpose" if trans else "none",
        "m": m, "n": n, "k": k,
        "x": operand(draw, x), "ldx": k,
        "weights": operand(draw, weights if trans else np.ascontiguousarray(weights.T)),
        "ldw": k if trans else results,
        "out": out, "ldo": n,
        "bias": None if bias is None else operand(draw, bias),
        "activation": activation, "slope": 0.01, "gated": gated, "dtype": dtype,
        "norm_eps": eps, "norm_weight": None if norm is None else operand(draw, norm),
        "add": held is not None,
    }  # fmt: skip
    result = fuzz.Result(out, exact.reshape(-1), tolerance.reshape(-1))
    return fuzz.Call(name, values, [result], empty=m * n == 0)
