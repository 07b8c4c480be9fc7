from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tilewright.quant.formats import FORMATS

from . import blocks, bounds
from .arguments import DTYPE, Call, EmptyCalls, In, Name, Out, Size
from .workspace import Array, Workspace, keeps_subnormals

if TYPE_CHECKING:
    from fuzz import call as fuzz
    from fuzz.draw import Draw

CALL: Call = {
    "packed": In(512),
    "output": Out(4 * 64),
    "format": Name("q4_0", also_wrong=("q4", "float32")),
    "rows": Size(2),
    "cols": Size(32),
    "dtype": DTYPE,
}
EMPTY: EmptyCalls = [({"rows": 0}, ("packed", "output")), ({"cols": 0}, ("packed", "output"))]

SHAPES = [(1, 1), (3, 1), (1, 7), (17, 3), (5, 13)]  # rows, blocks


def run(ws: Workspace, format: str, raw: Array, rows: int, cols: int, dtype: str) -> Array:
    out = ws.room((rows, cols), dtype)
    ws.be.dequantize(ws.input(blocks.planes(format, raw)), out, format, rows, cols, dtype)
    return ws.read(out)


def check(ws: Workspace, format: str, raw: Array, rows: int, cols: int, dtype: str) -> None:
    """float32 to the bit; float16 as NumPy rounds that."""
    got = run(ws, format, raw, rows, cols, dtype)
    exact = blocks.values(format, raw)
    if dtype == "float16":
        with np.errstate(over="ignore"):
            exact = exact.astype(np.float16)
    np.testing.assert_array_equal(got, exact)
    finite = ~np.isnan(exact)
    np.testing.assert_array_equal(np.signbit(got)[finite], np.signbit(exact)[finite])


@pytest.mark.essential
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_values_are_those_of_gguf(
    ws: Workspace, rng: np.random.Generator, format: str, shape: tuple[int, int], dtype: str
) -> None:
    rows, cols = shape[0], shape[1] * blocks.sizes_of(format)[0]
    check(ws, format, blocks.draw(rng, format, rows, cols), rows, cols, dtype)


@pytest.mark.parametrize("format", FORMATS)
def test_many_blocks(ws: Workspace, rng: np.random.Generator, format: str) -> None:
    rows, cols = 257, 11 * 256
    check(ws, format, blocks.draw(rng, format, rows, cols), rows, cols, "float32")


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "mxfp4"])
def test_every_float16_scale(ws: Workspace, rng: np.random.Generator, format: str) -> None:
    """Subnormal, infinite and NaN ones too."""
    elements, size = blocks.sizes_of(format)
    raw = rng.integers(0, 256, (1 << 16, size), np.uint8)
    halves = np.arange(1 << 16, dtype=np.uint16)
    for i, at in enumerate(blocks.HALVES[format][0]):
        raw[:, at : at + 2] = np.roll(halves, 12345 * i).view(np.uint8).reshape(-1, 2)
    raw = raw[:: 1 if elements == 32 else 8] if format != "q8_0" else raw
    got = run(ws, format, raw, len(raw), elements, "float32")
    np.testing.assert_array_equal(got, blocks.values(format, raw))


def test_every_exponent(ws: Workspace) -> None:
    """Those of mxfp4, with every value."""
    raw = np.zeros((256, 17), np.uint8)
    raw[:, 0] = np.arange(256)
    raw[:, 1:] = np.arange(16) | np.arange(16)[::-1] << 4
    got = run(ws, "mxfp4", raw, 256, 32, "float32")
    exact = blocks.values("mxfp4", raw)
    flushed = (np.abs(exact) < bounds.SMALLEST) & (not keeps_subnormals(ws.be))
    np.testing.assert_array_equal(np.where(flushed & (got == 0), exact, got), exact)


@pytest.mark.parametrize("format", ["q4_0", "q6_k"])
def test_cols_are_whole_blocks(ws: Workspace, format: str) -> None:
    import tilewright

    block = blocks.sizes_of(format)[0]
    buffer = ws.input(np.zeros(4096, np.uint8))
    out = ws.room(4096)
    for cols in (block - 1, block + 1, block + block // 2):
        with pytest.raises(tilewright.InvalidArgument, match=f"cols is {cols}.* {block}"):
            ws.be.dequantize(buffer, out, format, 1, cols)
    assert np.isnan(ws.read(out)).all()


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    format, dtype = draw.one_of(list(FORMATS)), draw.dtype()
    rows, block = draw.size_or_zero(60), blocks.sizes_of(format)[0]
    cols = block * draw.size_or_zero(6)
    raw = blocks.draw(np.random.default_rng(draw.integer(0, 2**31)), format, rows, cols)
    out = room(draw, (rows, cols), dtype)
    exact = np.zeros((rows, cols))
    if exact.size:
        exact = blocks.values(format, raw)
    values = {
        "packed": operand(draw, blocks.planes(format, raw)),
        "output": out,
        "format": format,
        "rows": rows,
        "cols": cols,
        "dtype": dtype,
    }
    result = fuzz.Result(out, exact, np.zeros(exact.shape))
    return fuzz.Call(name, values, [result], empty=exact.size == 0)
