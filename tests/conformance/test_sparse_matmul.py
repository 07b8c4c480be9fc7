"""sparse_matmul(): a matrix in CSR by vectors and dense matrices, rows of all lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend

from . import bounds
from .arguments import Call, EmptyCalls, Flag, In, Name, Number, Out, Size
from .factorisations import kind_of, parts, wide
from .sparse_matrices import KINDS, Csr, blocked, draw, made, of_lengths, power_law
from .workspace import Array, Workspace, has_float64, integers

if TYPE_CHECKING:
    from fuzz import call as fuzz
    from fuzz.draw import Draw

CALL: Call = {
    "offsets": In(4 * 6),
    "columns": In(4 * 4),
    "values": In(4 * 8),
    "x": In(4 * 24),
    "y": Out(4 * 12),
    "rows": Size(2),
    "cols": Size(3),
    "nnz": Size(4),
    "n": Size(2),
    "ldx": Size(5, positive=True),
    "ldy": Size(4, positive=True),
    "alpha": Number(1.0),
    "beta": Number(0.0),
    "is_complex": Flag(False),
    "dtype": Name("float32", also_wrong=("int32", "bfloat16")),
    "block_rows": Size(1, positive=True),
    "block_cols": Size(1, positive=True),
    "batch": Size(2),
    "stride_offsets": Size(3),
    "stride_columns": Size(0),
    "stride_values": Size(4),
    "stride_x": Size(12),
    "stride_y": Size(6),
}
EMPTY: EmptyCalls = [
    ({"rows": 0, "ldy": 0}, ("y",)),
    ({"n": 0, "ldx": 0, "ldy": 0}, ("x", "y")),
    ({"rows": 0, "cols": 0, "nnz": 0, "ldx": 0, "ldy": 0}, ("columns", "values", "x", "y")),
    ({"batch": 0}, ("offsets", "columns", "values", "x", "y")),
]

TYPES = ["float32", "float16", "float64", "complex64", "complex128"]
WIDTHS = [1, 2, 3, 33, 64, 130]


def lacks(be: Backend, dtype: str) -> bool:
    return kind_of(dtype)[1] == "float64" and not has_float64(be)


def run(
    ws: Workspace,
    a: Csr,
    x: Array,
    y: Array | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    gap: int = 0,
) -> Array:
    """x and y have `gap` numbers behind each row, which stay as they are."""
    n = x.shape[1]
    is_complex, real = kind_of(a.values.dtype.name)
    held = np.full((a.cols * a.blocks[1], n + gap), np.nan, x.dtype)
    held[:, :n] = x
    room = np.full((a.rows * a.blocks[0], n + gap), np.nan, x.dtype)
    if y is not None:
        room[:, :n] = y
    out = ws.output(room)
    ws.be.sparse_matmul(
        ws.input(a.offsets), ws.input(a.columns), ws.input(a.values), ws.input(held), out,
        a.rows, a.cols, a.nnz, n, n + gap, n + gap, alpha, beta, is_complex, real, *a.blocks,
    )  # fmt: skip
    result = ws.read(out)
    assert np.isnan(result[:, n:]).all()
    return result[:, :n]


def check(
    ws: Workspace,
    a: Csr,
    x: Array,
    y: Array | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    gap: int = 0,
) -> None:
    values = wide(a.values)
    exact = alpha * a.times(wide(x), values)
    magnitudes = abs(alpha) * a.times(np.abs(wide(x)), np.abs(values))
    if y is not None and beta != 0:
        exact = exact + beta * wide(y)
        magnitudes = magnitudes + abs(beta) * np.abs(wide(y))
    dtype = a.values.dtype.name
    real = kind_of(dtype)[1]
    # Of complex numbers each part is a sum of twice as many products.
    tolerance = bounds.inner_product(magnitudes, 2 * a.longest, real)
    got = run(ws, a, x, y, alpha, beta, gap)
    if dtype.startswith("complex"):
        for part in (np.real, np.imag):
            bounds.assert_within(part(got), part(exact), 2 * tolerance)
    else:
        bounds.assert_within(got, exact, tolerance)


@pytest.mark.sampled(60)
@pytest.mark.essential
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_against_float64(
    ws: Workspace, rng: np.random.Generator, kind: str, n: int, dtype: str
) -> None:
    if lacks(ws.be, dtype):
        with pytest.raises(tw.Unsupported, match="float64"):
            run(ws, made("one element", rng, dtype), draw(rng, (1, n), dtype))
        return
    a = made(kind, rng, dtype)
    check(ws, a, draw(rng, (a.cols, n), dtype))


@pytest.mark.sampled(30)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("scales", [(1.5, -0.5), (0.0, 2.0), (-1.0, 1.0)])
@pytest.mark.parametrize("n", [1, 5, 64])
def test_alpha_beta_and_gaps(
    ws: Workspace, rng: np.random.Generator, n: int, scales: tuple[float, float], dtype: str
) -> None:
    if lacks(ws.be, dtype):
        return
    a = made("empty rows", rng, dtype)
    check(ws, a, draw(rng, (a.cols, n), dtype), draw(rng, (a.rows, n), dtype), *scales, gap=3)


def test_many_rows(ws: Workspace, rng: np.random.Generator) -> None:
    a = of_lengths(rng, power_law(rng, 100_003, 600_000), 100_003, "float32")
    for n in (1, 4):
        check(ws, a, draw(rng, (a.cols, n), "float32"))


@pytest.mark.parametrize("n", [1, 3, 40])
def test_integers_are_exact(ws: Workspace, rng: np.random.Generator, n: int) -> None:
    for kind in ("power-law", "one full row", "empty rows"):
        drawn = made(kind, rng, "float32")
        values = integers(rng, drawn.nnz, "float32")
        a = Csr(drawn.rows, drawn.cols, drawn.offsets, drawn.columns, values)
        x = integers(rng, (a.cols, n), "float32")
        np.testing.assert_array_equal(run(ws, a, x), a.times(x.astype(np.float64), wide(values)))


@pytest.mark.parametrize("special", [np.nan, np.inf])
@pytest.mark.parametrize("n", [1, 7])
def test_special_values_stay_in_their_row(ws: Workspace, special: float, n: int) -> None:
    offsets = np.arange(0, 5001 * 3, 3, dtype=np.int32)
    columns = np.zeros(15_000, np.int32)
    values = np.ones(15_000, np.float32)
    values[3 * 2500 + 1] = special
    got = run(ws, Csr(5000, 1, offsets, columns, values), np.ones((1, n), np.float32))
    np.testing.assert_array_equal(got[2500], np.full(n, special, np.float32))
    assert (np.delete(got, 2500, axis=0) == 3).all()


@pytest.mark.parametrize("n", [1, 6, 100])
def test_same_request_same_bits(ws: Workspace, rng: np.random.Generator, n: int) -> None:
    a = made("power-law", rng, "float32")
    x = draw(rng, (a.cols, n), "float32")
    assert len({run(ws, a, x).tobytes() for _ in range(5)}) == 1


@pytest.mark.parametrize("wrong", [6, 2**31 - 1, -1, -(2**31)])
@pytest.mark.parametrize("n", [1, 5])
def test_a_column_outside_is_raised(ws: Workspace, wrong: int, n: int) -> None:
    columns = np.arange(3000, dtype=np.int32) % 6
    columns[1234] = wrong
    offsets = np.arange(0, 3001, 3, dtype=np.int32)
    a = Csr(1000, 6, offsets, columns, np.ones(3000, np.float32))
    message = f"sparse_matmul: index {wrong} is out of range for axis 1 of 6 elements"
    with pytest.raises(tw.IndexOutOfRange, match=message):
        run(ws, a, np.ones((6, n), np.float32))
    # Once, and then all is as before.
    columns[1234] = 0
    assert (run(ws, a, np.ones((6, n), np.float32)) == 3).all()


@pytest.mark.parametrize("n", [1, 5])
@pytest.mark.parametrize("fill", [-1, 2**31 - 1, "falling", "random"])
def test_offsets_that_make_no_sense_reach_nothing_outside(
    ws: Workspace, rng: np.random.Generator, fill: int | str, n: int
) -> None:
    """The workspace has guards behind its buffers: nothing there is written."""
    rows, nnz = 3000, 5000
    if fill == "falling":
        offsets = np.linspace(nnz, 0, rows + 1).astype(np.int32)
    elif fill == "random":
        offsets = rng.integers(-(2**31), 2**31, rows + 1).astype(np.int32)
    else:
        offsets = np.full(rows + 1, fill, np.int32)
    columns = rng.integers(0, 9, nnz).astype(np.int32)
    a = Csr(rows, 9, offsets, columns, np.ones(nnz, np.float32))
    run(ws, a, np.ones((9, n), np.float32))


def test_beta_zero_reads_no_nan(ws: Workspace, rng: np.random.Generator) -> None:
    a = made("empty rows", rng, "float32")
    x = draw(rng, (a.cols, 1), "float32")
    assert np.isfinite(run(ws, a, x, np.full((a.rows, 1), np.nan, np.float32))).all()


def generate(draw_of: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    rng = draw_of.rng
    dtype = draw_of.one_of([d for d in TYPES if draw_of.doubles or kind_of(d)[1] != "float64"])
    is_complex, real = kind_of(dtype)
    blocks = draw_of.one_of([(1, 1), (1, 1), (2, 3), (4, 4)])
    batch = draw_of.one_of([1, 1, 2, 5])
    rows, cols = draw_of.size_or_zero(3000), draw_of.size(500)
    n = draw_of.size_or_zero(draw_of.one_of([1, 70]))
    if blocks != (1, 1) or batch != 1:
        rows, n = rows // 10, min(n, 9)
    nnz = draw_of.size_or_zero(4000) if rows else 0
    if blocks != (1, 1):
        nnz //= 4
    lengths = power_law(rng, rows, nnz) if rows else np.zeros(0, int)
    a = blocked(of_lengths(rng, lengths, cols, dtype), blocks, rng)
    x = draw(rng, (batch, cols * blocks[1], n), dtype)
    y = draw(rng, (batch, rows * blocks[0], n), dtype)
    alpha, beta = draw_of.one_of([(1.0, 0.0), (-0.75, 0.0), (1.0, 1.0), (2.0, -0.5)])
    exact, size = np.zeros((2, *y.shape), np.complex128 if is_complex else np.float64)
    for i in range(batch):
        exact[i] = alpha * a.times(wide(x[i]), wide(a.values)) + beta * wide(y[i])
        size[i] = abs(alpha) * a.times(np.abs(wide(x[i])), np.abs(wide(a.values)))
        size[i] += abs(beta) * np.abs(y[i])
    tolerance = 2 * bounds.inner_product(np.abs(size), 2 * a.longest, real)
    if is_complex:
        tolerance = np.repeat(tolerance, 2, axis=-1)
    out = operand(draw_of, y) if beta else room(draw_of, y.shape, dtype)
    values = {
        "offsets": operand(draw_of, a.offsets),
        "columns": operand(draw_of, a.columns),
        "values": operand(draw_of, a.values),
        "x": operand(draw_of, x),
        "y": out,
        "rows": rows,
        "cols": cols,
        "nnz": a.nnz,
        "n": n,
        "ldx": max(n, 1),
        "ldy": max(n, 1),
        "alpha": alpha,
        "beta": beta,
        "is_complex": is_complex,
        "dtype": real,
        "block_rows": blocks[0],
        "block_cols": blocks[1],
        "batch": batch,
        "stride_offsets": 0,
        "stride_columns": 0,
        "stride_values": 0,
        "stride_x": x[0].size,
        "stride_y": y[0].size,
    }
    result = fuzz.Result(out, parts(np.ascontiguousarray(exact)), tolerance, parts)
    return fuzz.Call(name, values, [result], empty=0 in (rows, n))
