"""quantized_matmul with the norm of x, and bias, activation, gate and a sum behind the products."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from tilewright import Activation
from tilewright.quant.formats import FORMATS

from . import blocks
from .activations import SLOPE, ended
from .bounds import assert_within
from .test_linear import added, norm_of, padded
from .test_quantized_matmul import goes_to_units, tolerance_of
from .workspace import Array, Workspace, keeps_subnormals, normal

EPS = 1e-5
# m, n, blocks along k; more of ldx, of ldy
CASES = [
    (1, 1, 1, 0, 0),
    (1, 61, 3, 3, 1),
    (2, 7, 2, 4, 0),
    (3, 13, 1, 1, 5),
    (5, 64, 3, 8, 3),
    (8, 3, 7, 0, 0),
    (9, 37, 2, 0, 1),
    (65, 67, 3, 3, 2),
]


def run(
    ws: Workspace, format: str, x: Array, raw: Array, n: int, *, bias: Array | None = None,
    activation: str = "none", gated: bool = False, eps: float | None = None,
    norm: Array | None = None, held: Array | None = None, more: tuple[int, int] = (0, 0),
) -> Array:  # fmt: skip
    """`held` is what y has."""
    m, k = x.shape
    shape = (m, n + more[1])
    out = ws.room(shape, x.dtype) if held is None else ws.output(padded(held, more[1]))
    ws.be.quantized_matmul(
        ws.input(padded(x, more[0])), ws.input(blocks.planes(format, raw)), out, format, m, n, k,
        k + more[0], shape[1], x.dtype.name, None if bias is None else ws.input(bias), activation,
        SLOPE, gated, eps, None if norm is None else ws.input(norm), held is not None,
    )  # fmt: skip
    got = ws.read(out)
    assert np.isnan(got[:, n:]).all(), "elements between rows were written"
    return got[:, :n]


def check(
    ws: Workspace, format: str, x: Array, raw: Array, n: int, *, bias: Array | None = None,
    activation: str = "none", gated: bool = False, eps: float | None = None,
    norm: Array | None = None, held: Array | None = None, more: tuple[int, int] = (0, 0),
    tiled: bool = False,
) -> None:  # fmt: skip
    """With `tiled` few rows go as many do."""
    got = run(
        ws, format, x, raw, n, bias=bias, activation=activation, gated=gated, eps=eps, norm=norm,
        held=held, more=more,
    )  # fmt: skip
    normed, of_x = (x.astype(np.float64), 0.0) if eps is None else norm_of(x, norm, eps)
    sums = normed @ blocks.values(format, raw).astype(np.float64).T
    rows = x.repeat(64, axis=0) if tiled else x
    off = tolerance_of(format, normed, raw, goes_to_units(ws.be, rows))
    off = off + of_x * np.abs(normed) @ blocks.magnitudes(format, raw).T
    if bias is not None:
        sums = sums + bias
        off = off + 2.0**-23 * (np.abs(bias) + np.abs(sums))
    exact, tolerance = ended(activation, sums, off, n, gated, keeps_subnormals(ws.be))
    if held is not None:
        exact, tolerance = added(exact, tolerance, held)
    assert_within(got, exact, tolerance)


@pytest.mark.sampled(6)
@pytest.mark.essential
@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_against_float64(
    ws: Workspace, rng: np.random.Generator, format: str, case: tuple[int, int, int, int, int],
    gated: bool, dtype: str,
) -> None:  # fmt: skip
    m, n, count, *more = case
    k, results = count * blocks.sizes_of(format)[0], 2 * n if gated else n
    check(
        ws, format, normal(rng, (m, k), dtype), blocks.draw(rng, format, results, k), n,
        bias=normal(rng, results, dtype), activation="silu" if gated else "relu", gated=gated,
        eps=EPS, norm=normal(rng, k, dtype), held=normal(rng, (m, n), dtype), more=(*more,),
    )  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("activation", sorted(Activation.__members__))
@pytest.mark.parametrize("m", [1, 3, 40])
@pytest.mark.parametrize("gated", [False, True])
def test_each_activation(
    ws: Workspace, rng: np.random.Generator, activation: str, m: int, gated: bool, dtype: str
) -> None:
    results = 72 if gated else 36
    x, raw = normal(rng, (m, 64), dtype), blocks.draw(rng, "q4_0", results, 64)
    check(ws, "q4_0", x, raw, 36, activation=activation, gated=gated)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("m", [*range(1, 10), 16, 33, 70])
def test_each_alone_by_rows(ws: Workspace, rng: np.random.Generator, m: int, dtype: str) -> None:
    """Of each kernel, with k in pieces."""
    n, k = 130, 9 * 256
    x, raw = normal(rng, (m, k), dtype), blocks.draw(rng, "q4_k", n, k)
    check(ws, "q4_k", x, raw, n, eps=0.25)
    check(ws, "q4_k", x, raw, n, eps=EPS, norm=normal(rng, k, dtype), more=(m % 2, m % 3))
    check(ws, "q4_k", x, raw, n, held=normal(rng, (m, n), dtype), more=(m % 2, m % 3))
    check(ws, "q4_k", x, raw, n // 2, activation="gelu", gated=True)
    check(ws, "q4_k", x, raw, n, bias=normal(rng, n, dtype))


@pytest.mark.parametrize("m", [1, 3, 9])
def test_rows_of_any_size_are_normed(ws: Workspace, m: int, dtype: str) -> None:
    """Squares of float16 do not overflow, and rows of zeros are 0, or NaN without an eps."""
    rng = np.random.default_rng(m)
    raw = blocks.draw(rng, "q8_0", 13, 320)
    for size in (60000, 2.0**-9):
        check(ws, "q8_0", np.full((m, 320), size, dtype), raw, 13, eps=0.0)
    zeros = np.zeros((m, 320), dtype)
    assert (run(ws, "q8_0", zeros, raw, 13, eps=EPS) == 0).all()
    assert np.isnan(run(ws, "q8_0", zeros, raw, 13, eps=0.0)).all()


@pytest.mark.parametrize("m", [2, 7, 17])
def test_special_values_stay_in_their_row(
    ws: Workspace, rng: np.random.Generator, m: int, dtype: str
) -> None:
    x, held = normal(rng, (m, 64), dtype), normal(rng, (m, 19), dtype)
    x[0, 5], x[m - 1, 7] = np.nan, np.inf
    held[:, 4] = np.inf
    raw = blocks.draw(rng, "q4_0", 19, 64)
    got = run(ws, "q4_0", x, raw, 19, eps=EPS, norm=normal(rng, 64, dtype), held=held)
    assert np.isnan(got[[0, m - 1]]).all()
    rest = got[1 : m - 1]
    assert np.isfinite(np.delete(rest, 4, axis=1)).all()
    assert (rest[:, 4] == np.inf).all()


@pytest.mark.parametrize("m", [1, 2, 8])
@pytest.mark.parametrize("gated", [False, True])
def test_few_rows_are_one_launch(
    ws: Workspace, rng: np.random.Generator, m: int, gated: bool, dtype: str
) -> None:
    """But on Level Zero, whose GPUs have too few registers."""
    x, raw = normal(rng, (m, 64), dtype), blocks.draw(rng, "q4_0", 48 if gated else 24, 64)
    bias, norm = normal(rng, 48 if gated else 24, dtype), normal(rng, 64, dtype)
    held = normal(rng, (m, 24), dtype)
    with ws.be.profile() as profile:
        run(
            ws, "q4_0", x, raw, 24, bias=bias, activation="silu", gated=gated, eps=EPS, norm=norm,
            held=held,
        )  # fmt: skip
    found = [one.kernel for one in profile.records]
    by_rows = "quantized_matmul" if m == 1 or ws.be.name == "cpu" else "quantized_few"
    if ws.be.name != "level-zero":
        assert found == [by_rows]
    elif m == 1:
        assert found == ["norm_rows", by_rows]
    else:
        assert found == ["norm_rows", "quantized_tiles", "gemm_join"]


def test_a_weight_needs_an_eps(ws: Workspace, rng: np.random.Generator) -> None:
    x, raw = normal(rng, (2, 32), "float32"), blocks.draw(rng, "q4_0", 5, 32)
    with pytest.raises(tilewright.InvalidArgument, match="norm_weight needs norm_eps"):
        run(ws, "q4_0", x, raw, 5, norm=np.ones(32, np.float32))
