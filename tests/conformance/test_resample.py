"""resample(): sums over neighbouring rows and columns by tables of weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
import tilewright as tw

from .arguments import Call, EmptyCalls, In, Name, Out, Size, Sizes
from .elements import FLOATS, assert_elements, shown, stored, stored_dtype
from .poolings import tolerance
from .workspace import Array, Workspace, has_float64

if TYPE_CHECKING:
    from fuzz import call as fuzz
    from fuzz.draw import Draw

CALL: Call = {
    "input": In(4 * 2 * 12),
    "output": Out(4 * 2 * 10),
    "planes": Size(2),
    "shape": Sizes((3, 4), positive=True, wrong=((), (3,), (3, 4, 1))),
    "output_shape": Sizes((2, 5), positive=True, wrong=((), (2,))),
    "row_spans": In(4 * 2 * 2),
    "row_weights": In(4 * 2 * 3),
    "row_taps": Size(3),
    "column_spans": In(4 * 2 * 5),
    "column_weights": In(4 * 5 * 2),
    "column_taps": Size(2),
    "dtype": Name("float32", also_wrong=("int32", "bool")),
}
EMPTY: EmptyCalls = [({"planes": 0}, ("input", "output"))]


class Table(NamedTuple):
    spans: Array
    weights: Array

    def matrix(self, length: int) -> Array:
        """What of it counts, as rows of weights."""
        out, taps = self.weights.shape
        found = np.zeros((out, length))
        for p in range(out):
            first, count = (int(one) for one in self.spans[p])
            for k in range(min(count, taps)):
                if 0 <= first + k < length:
                    found[p, first + k] = self.weights[p, k]
        return found


def drawn(rng: np.random.Generator, length: int, out: int, taps: int) -> Table:
    """Also spans that reach beyond the input, and some of nothing."""
    first = rng.integers(-2, length + 2, out)
    count = rng.integers(-1, taps + 2, out)
    return Table(np.stack([first, count], 1).astype(np.int32), rng.uniform(-1, 1, (out, taps)))


def copies(rng: np.random.Generator, length: int, out: int) -> Table:
    first = np.sort(rng.integers(0, length, out))
    return Table(np.stack([first, np.ones(out)], 1).astype(np.int32), np.ones((out, 1)))


def run(ws: Workspace, x: Array, tables: tuple[Table | None, Table | None], dtype: str) -> Array:
    planes, *shape = x.shape
    weight = "float64" if dtype == "float64" else "float32"
    arguments: list[object] = []
    out_shape = []
    for length, table in zip(shape, tables, strict=True):
        if table is None:
            arguments += [0, 0, 0]
            out_shape.append(length)
        else:
            weights = ws.input(table.weights.astype(weight))
            arguments += [ws.input(table.spans), weights, table.weights.shape[1]]
            out_shape.append(len(table.spans))
    out = ws.room((planes, *out_shape), stored_dtype(dtype))
    ws.be.resample(ws.input(x), out, planes, shape, out_shape, *arguments, dtype)
    return ws.read(out)


def check(ws: Workspace, x: Array, tables: tuple[Table | None, Table | None], dtype: str) -> None:
    kind = np.float64 if dtype == "float64" else np.float32
    exact = shown(x, dtype).astype(np.float64)
    sums = np.abs(exact)
    for axis, table in enumerate(tables):
        if table is not None:
            rounded = Table(table.spans, table.weights.astype(kind).astype(np.float64))
            matrix = rounded.matrix(x.shape[axis + 1])
            exact = np.moveaxis(np.moveaxis(exact, axis + 1, -1) @ matrix.T, -1, axis + 1)
            sums = np.moveaxis(np.moveaxis(sums, axis + 1, -1) @ np.abs(matrix).T, -1, axis + 1)
    count = sum(1 if table is None else table.weights.shape[1] for table in tables)
    bound = tolerance(sums, count, dtype)
    assert_elements(run(ws, x, tables, dtype), exact, bound, dtype, "resample")


CASES = [  # planes, shape, outputs and taps of both axes; none: as it is
    (2, (3, 4), (2, 3), (5, 2)),
    (1, (1, 1), (1, 1), (1, 1)),
    (3, (7, 9), (13, 2), (31, 2)),
    (5, (8, 33), (8, 4), (70, 4)),
    (1, (257, 5), (3, 100), (11, 1)),
    (2, (5, 259), (7, 2), (2, 130)),
    (4, (6, 17), None, (9, 3)),
    (4, (9, 17), (4, 5), None),
    (3, (5, 7), None, None),
    (1, (1, 10007), None, (20011, 2)),
    (66001, (1, 2), None, (3, 2)),
]


@pytest.mark.essential
@pytest.mark.sampled(20)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_against_float64(
    ws: Workspace,
    rng: np.random.Generator,
    case: tuple[int, tuple[int, int], tuple[int, int] | None, tuple[int, int] | None],
    dtype: str,
) -> None:
    planes, shape, *axes = case
    tables = tuple(
        None if axis is None else drawn(rng, length, *axis)
        for length, axis in zip(shape, axes, strict=True)
    )
    x = stored(rng.uniform(-2, 2, (planes, *shape)), dtype)
    if dtype == "float64" and not has_float64(ws.be):
        with pytest.raises(tw.Unsupported, match="float64"):
            run(ws, x, (tables[0], tables[1]), dtype)
        return
    check(ws, x, (tables[0], tables[1]), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_copies_are_bits(ws: Workspace, rng: np.random.Generator, dtype: str) -> None:
    """Also of NaN, infinity, -0 and what is below the normal numbers."""
    bits = np.uint32 if dtype == "float32" else np.uint16
    x = rng.integers(0, np.iinfo(bits).max, (3, 7, 11), endpoint=True).astype(bits)
    rows, columns = copies(rng, 7, 15), copies(rng, 11, 23)
    held = x if dtype == "bfloat16" else x.view(dtype)
    for tables in ((rows, columns), (rows, None), (None, columns), (None, None)):
        exact = x if tables[0] is None else x[:, tables[0].spans[:, 0]]
        exact = exact if tables[1] is None else exact[:, :, tables[1].spans[:, 0]]
        np.testing.assert_array_equal(run(ws, held, tables, dtype).view(bits), exact)


def test_what_weighs_nothing_is_not_read(ws: Workspace) -> None:
    x = np.array([[[1, np.nan, 2, np.inf]]], np.float32)
    table = Table(np.array([[0, 1], [2, 1], [0, 0], [3, 9]], np.int32), np.full((4, 2), 0.5))
    got = run(ws, x, (None, table), "float32")
    np.testing.assert_array_equal(got, [[[0.5, 1, 0, np.inf]]])


def test_spans_of_any_int32(ws: Workspace, rng: np.random.Generator) -> None:
    ends = np.array([-(2**31), 2**31 - 1, 0, -1, 3], np.int32)
    spans = np.stack(np.meshgrid(ends, ends), -1).reshape(-1, 2).astype(np.int32)
    table = Table(spans, rng.uniform(-1, 1, (len(spans), 3)))
    x = rng.uniform(-2, 2, (2, 4, 5)).astype(np.float32)
    check(ws, x, (table, table), "float32")


def test_wrong_together(ws: Workspace) -> None:
    x, out = ws.room((1, 2, 3)), ws.room((1, 2, 4))
    with pytest.raises(
        tw.InvalidArgument, match=r"output_shape\[1\] is 4, expected 3 .*column_taps"
    ):
        ws.be.resample(x, out, 1, (2, 3), (2, 4), 0, 0, 0, 0, 0, 0)


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    shape, out = ([draw.size(60), draw.size(60)] for _ in range(2))
    planes = draw.size_or_zero(max(1, 4000 // max(shape[0] * shape[1], out[0] * out[1])))
    dtype = draw.dtype()
    x = draw.normal((planes, *shape), dtype)
    exact = x.astype(np.float64)
    sums = np.abs(exact)
    tables: dict[str, object] = {}
    count = 0
    for i, axis in enumerate(("row", "column")):
        taps = draw.size(9)
        table = drawn(draw.rng, shape[i], out[i], taps)
        weights = table.weights.astype(np.float32)
        matrix = Table(table.spans, weights.astype(np.float64)).matrix(shape[i])
        exact = np.moveaxis(np.moveaxis(exact, i + 1, -1) @ matrix.T, -1, i + 1)
        sums = np.moveaxis(np.moveaxis(sums, i + 1, -1) @ np.abs(matrix).T, -1, i + 1)
        tables[f"{axis}_spans"] = operand(draw, table.spans)
        tables[f"{axis}_weights"] = operand(draw, weights)
        tables[f"{axis}_taps"] = taps
        count += taps
    result = room(draw, exact.shape, dtype)
    values = {
        "input": operand(draw, x),
        "output": result,
        "planes": planes,
        "shape": shape,
        "output_shape": out,
        **tables,
        "dtype": dtype,
    }
    bound = tolerance(sums, count, dtype)
    return fuzz.Call(name, values, [fuzz.Result(result, exact, bound)], empty=planes == 0)
