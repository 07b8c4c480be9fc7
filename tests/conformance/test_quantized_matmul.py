from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import tilewright
from tilewright.quant.formats import FORMATS

from . import blocks, bounds
from .activations import ended
from .arguments import DTYPE, Call, EmptyCalls, Flag, In, Name, Number, Out, Size
from .test_linear import added, norm_of
from .workspace import Array, Workspace, normal

if TYPE_CHECKING:
    from fuzz import call as fuzz
    from fuzz.draw import Draw

CALL: Call = {
    "x": In(4 * (40 + 32)),
    "packed": In(512),
    "y": Out(4 * (4 + 3)),
    "format": Name("q4_0", also_wrong=("q4", "float32")),
    "m": Size(2),
    "n": Size(3),
    "k": Size(32, positive=True),
    "ldx": Size(40, positive=True),
    "ldy": Size(4, positive=True),
    "dtype": DTYPE,
    "bias": In(4 * 6),
    "activation": Name("leaky_relu", also_wrong=("square",)),
    "slope": Number(0.1, wrong=(np.nan, np.inf, -np.inf)),
    "gated": Flag(True),
    "norm_eps": Number(1e-5, wrong=(np.nan, np.inf, -1.0)),
    "norm_weight": In(4 * 32),
    "add": Flag(True),
}
EMPTY: EmptyCalls = [({"m": 0}, ("x", "y")), ({"n": 0}, ("packed", "y", "bias"))]

# m, n, blocks along k; more of ldx, of ldy
CASES = [
    (1, 1, 1, 0, 0),
    (1, 17, 3, 0, 0),
    (1, 259, 5, 3, 1),
    (2, 7, 2, 4, 0),
    (3, 13, 1, 0, 5),
    (5, 64, 3, 8, 3),
    (8, 3, 7, 0, 0),
    (3, 5, 2, 1, 0),
    (17, 31, 2, 0, 0),
    (65, 67, 3, 3, 2),
]


def run(
    ws: Workspace, format: str, x: Array, raw: Array, n: int, more_x: int = 0, more_y: int = 0
) -> Array:
    m, k = x.shape
    wide = np.full((m, k + more_x), np.nan, x.dtype)
    wide[:, :k] = x
    out = ws.room((m, n + more_y), x.dtype)
    weights = ws.input(blocks.planes(format, raw))
    ws.be.quantized_matmul(
        ws.input(wide), weights, out, format, m, n, k, k + more_x, n + more_y, x.dtype.name
    )
    got = ws.read(out)
    assert np.isnan(got[:, n:]).all(), "elements between rows were written"
    return got[:, :n]


def goes_to_units(be: tilewright.Backend, x: Array) -> bool:
    fewest = 9 if be.name == "webgpu" else 48
    has_units = "matrix_units" in be.device.features
    return has_units and x.dtype == np.float16 and len(x) >= fewest


def tolerance_of(format: str, x: Array, raw: Array, on_units: bool) -> Array:
    """An inner product's, of a product and a minimum for each weight; scales round once more. On
    matrix units weights are float16."""
    size = np.abs(x.astype(np.float64))
    sums = size @ blocks.magnitudes(format, raw).T
    tolerance = bounds.inner_product(sums, x.shape[1]) + 2 * bounds.U * sums
    if on_units:
        tolerance += 2.0**-11 * sums + 2.0**-25 * size.sum(axis=1, keepdims=True)
    return np.asarray(tolerance)


def check(
    ws: Workspace, format: str, x: Array, raw: Array, n: int, more_x: int = 0, more_y: int = 0
) -> None:
    exact = x.astype(np.float64) @ blocks.values(format, raw).astype(np.float64).T
    tolerance = tolerance_of(format, x, raw, goes_to_units(ws.be, x))
    bounds.assert_within(run(ws, format, x, raw, n, more_x, more_y), exact, tolerance)


@pytest.mark.sampled(4)
@pytest.mark.essential
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_against_float64(
    ws: Workspace,
    rng: np.random.Generator,
    format: str,
    case: tuple[int, int, int, int, int],
    dtype: str,
) -> None:
    m, n, count, more_x, more_y = case
    k = count * blocks.sizes_of(format)[0]
    x = normal(rng, (m, k), dtype)
    check(ws, format, x, blocks.draw(rng, format, n, k), n, more_x, more_y)


@pytest.mark.parametrize("format", FORMATS)
def test_large_by_vector(ws: Workspace, rng: np.random.Generator, format: str) -> None:
    n, k = 1027, 9 * 256
    check(ws, format, normal(rng, (1, k), "float32"), blocks.draw(rng, format, n, k), n)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("m", [2, 4, 7, 16, 33, 70])
@pytest.mark.parametrize("format", FORMATS)
def test_large_by_rows(
    ws: Workspace, rng: np.random.Generator, format: str, m: int, dtype: str
) -> None:
    """Of each tile, with k in pieces."""
    n, k = 259, 9 * 256
    check(ws, format, normal(rng, (m, k), dtype), blocks.draw(rng, format, n, k), n, m % 2, m % 3)


@pytest.mark.parametrize("m", [1, 2, 9])
@pytest.mark.parametrize("format", FORMATS)
def test_each_column_meets_its_weight(ws: Workspace, format: str, m: int) -> None:
    """Rows of the identity give the weights themselves, and sums of zeros add nothing to them."""
    k = blocks.sizes_of(format)[0]
    rng = np.random.default_rng(k + m)
    raw = blocks.draw(rng, format, 11, k)
    exact = blocks.values(format, raw).T.astype(np.float64)
    x = np.eye(k, dtype=np.float32)
    tolerance = 4 * bounds.U * blocks.magnitudes(format, raw).T
    for first in range(0, k, max(m, k // 8)):
        rows = slice(first, first + m)
        bounds.assert_within(run(ws, format, x[rows], raw, 11), exact[rows], tolerance[rows])


@pytest.mark.parametrize("m", [1, 3, 17])
def test_special_values_stay_in_their_row(ws: Workspace, rng: np.random.Generator, m: int) -> None:
    x = normal(rng, (m, 64), "float32")
    x[m - 1, 5] = np.nan
    got = run(ws, "q4_0", x, blocks.draw(rng, "q4_0", 19, 64), 19)
    assert np.isnan(got[m - 1]).all()
    assert np.isfinite(got[: m - 1]).all()


@pytest.mark.parametrize("m", [1, 5, 70])
def test_same_request_same_bits(ws: Workspace, rng: np.random.Generator, m: int) -> None:
    x, raw = normal(rng, (m, 512), "float32"), blocks.draw(rng, "q4_k", 33, 512)
    results = {run(ws, "q4_k", x, raw, 33).tobytes() for _ in range(3)}
    assert len(results) == 1


@pytest.mark.parametrize("format", ["q5_1", "q4_k"])
def test_k_is_whole_blocks(ws: Workspace, format: str) -> None:
    block = blocks.sizes_of(format)[0]
    buffer, out = ws.input(np.zeros(4096, np.uint8)), ws.room(16)
    for k in (block // 2, block + 1):
        with pytest.raises(tilewright.InvalidArgument, match=f"k is {k}.* {block}"):
            ws.be.quantized_matmul(buffer, buffer, out, format, 1, 1, k, k, 1)


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    format, dtype = draw.one_of(list(FORMATS)), draw.dtype()
    m, n = draw.size_or_zero(12 if draw.rarely(2) else 80), draw.size_or_zero(100)
    k = blocks.sizes_of(format)[0] * draw.integer(1, 5)
    more_x, more_y = draw.integer(0, 5), draw.integer(0, 5)
    x = draw.normal((m, k + more_x), dtype)
    # Buffers end with the last row's elements.
    used_x = max(0, m * (k + more_x) - more_x)
    used_y = max(0, m * (n + more_y) - more_y) if n else 0
    gated = draw.rarely(3)
    results = 2 * n if gated else n
    raw = blocks.draw(np.random.default_rng(draw.integer(0, 2**31)), format, results, k)
    activation = draw.one_of(["none", "none", "relu", "silu"])
    bias = draw.normal(results, dtype) if draw.rarely(3) else None
    eps = draw.one_of([None, None, 1e-5])
    norm = draw.normal(k, dtype) if eps is not None and draw.rarely(2) else None
    held = draw.normal((m, n + more_y), dtype) if draw.rarely(3) else None
    out = room(draw, used_y, dtype)
    if held is not None:
        out = operand(draw, held.reshape(-1)[:used_y])
    exact = np.full((m, n + more_y), np.nan) if held is None else held.astype(np.float64)
    tolerance = np.zeros((m, n + more_y))
    if m and n:
        weights = blocks.values(format, raw).astype(np.float64)
        normed, of_x = x[:, :k].astype(np.float64), 0.0
        if eps is not None:
            normed, of_x = norm_of(x[:, :k], norm, eps)
        of_bias = np.zeros(results) if bias is None else bias.astype(np.float64)
        sums = normed @ weights.T + of_bias
        may_be_on_units = m > 8 and dtype == "float16"
        off = tolerance_of(format, normed, raw, may_be_on_units)
        off += bounds.ulp(np.abs(sums) + np.abs(of_bias))
        off += of_x * np.abs(normed) @ blocks.magnitudes(format, raw).T
        found, slack = ended(activation, sums, off, n, gated, False)
        if held is not None:
            found, slack = added(found, slack, held[:, :n])
        exact[:, :n], tolerance[:, :n] = found, slack
    values = {
        "x": operand(draw, x.reshape(-1)[:used_x]),
        "packed": operand(draw, blocks.planes(format, raw)),
        "y": out,
        "format": format,
        "m": m,
        "n": n,
        "k": k,
        "ldx": k + more_x,
        "ldy": n + more_y,
        "dtype": dtype,
        "bias": None if bias is None else operand(draw, bias),
        "activation": activation,
        "slope": 0.01,
        "gated": gated,
        "norm_eps": eps,
        "norm_weight": None if norm is None else operand(draw, norm),
        "add": held is not None,
    }
    result = fuzz.Result(out, exact.reshape(-1)[:used_y], tolerance.reshape(-1)[:used_y])
    return fuzz.Call(name, values, [result], empty=0 in (m, n))
