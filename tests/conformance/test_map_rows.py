"""map_rows(): folds of rows and what comes of them, of every dtype, shape and walk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument, Program, Unsupported

from .elements import FLOATS, has, stored, stored_dtype
from .workspace import Workspace

Array = Any

U = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}
SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((1,), (0,)),
    ((5,), ()),
    ((7, 1), (1,)),
    ((1, 257), (1,)),
    ((130, 5), (1,)),
    ((3, 1000), (1,)),
    ((9, 4099), (1,)),
    ((2, 20001), (1,)),
    ((200, 17), (0,)),
    ((4099, 3), (0,)),
    ((130, 70), (0,)),
    ((5, 6, 7), (1,)),
    ((5, 6, 8), (0, 2)),
    ((3, 2, 4, 64), (1, 3)),
    ((2, 70_000), (1,)),
]


def widened(program: Program, dtype: str) -> Any:
    value = program.input(dtype)
    return value.cast("float32") if dtype in ("float16", "bfloat16") else value


def wide(dtype: str) -> str:
    return "float64" if dtype == "float64" else "float32"


def variance_programs(dtype: str) -> tuple[list[Program], Program, Program]:
    """Folds: the sum, and of the squares off the mean; then x off its mean over its deviation, and
    both moments."""
    total, squares, last, ends = Program(), Program(), Program(), Program()
    total.output(widened(total, dtype))
    x, found = widened(squares, dtype), squares.input(wide(dtype))
    off = x - found * squares.number(wide(dtype))
    squares.output(off * off)
    x, first, second = widened(last, dtype), last.input(wide(dtype)), last.input(wide(dtype))
    inverse = last.number(wide(dtype))
    made = (x - first * inverse) * (1 / (second * inverse + last.number(wide(dtype))).sqrt())
    last.output(made.cast(dtype) if dtype != wide(dtype) else made)
    first, second = ends.input(wide(dtype)), ends.input(wide(dtype))
    inverse = ends.number(wide(dtype))
    ends.output(first * inverse)
    ends.output(second * inverse)
    return [total, squares], last, ends


def normalise(
    be: Backend, x: Any, shape: Sequence[int], axes: Sequence[int], dtype: str, out: Any,
    moments: Sequence[Any],
) -> None:  # fmt: skip
    folds, last, ends = variance_programs(dtype)
    count = np.prod([shape[axis] for axis in axes], dtype=int)
    be.map_rows(
        [("sum", folds[0]), ("sum", folds[1], [1 / count])], shape, axes, [x],
        last, [1 / count, 0.01], [out], ends, [1 / count], moments,
    )  # fmt: skip


def check(found: Array, exact: Array, dtype: str, many: float) -> None:
    with np.errstate(all="ignore"):
        bound = many * max(U[dtype], 2.0**-23 if dtype != "float64" else 0) * (abs(exact) + 1)
    np.testing.assert_array_less(abs(found.astype(np.float64) - exact), bound)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "axes"), SHAPES, ids=str)
def test_moments(be: Backend, rng: np.random.Generator, shape: Any, axes: Any, dtype: str) -> None:
    if not has(be, dtype):
        return
    x = stored(rng.uniform(-3, 3, shape), dtype)
    exact = x.astype(np.float64) if dtype != "bfloat16" else of_bfloat16(x)
    mean = exact.mean(axes, keepdims=True) if axes else exact
    var = ((exact - mean) ** 2).mean(axes, keepdims=True) if axes else exact * 0
    left = [size for i, size in enumerate(shape) if i not in axes]
    with Workspace(be) as ws:
        out = ws.room(shape, stored_dtype(dtype))
        first, second = (ws.room(left, wide(dtype)) for _ in range(2))
        normalise(be, ws.input(x), shape, axes, dtype, out, [first, second])
        found = ws.read(out)
        found = of_bfloat16(found) if dtype == "bfloat16" else found
        check(found, (exact - mean) / np.sqrt(var + 0.01), dtype, 64)
        check(ws.read(first), mean.reshape(left), wide(dtype), 64)
        check(ws.read(second), var.reshape(left), wide(dtype), 64)


def of_bfloat16(x: Array) -> Array:
    return (np.asarray(x).view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype("f8")


@pytest.mark.parametrize("op", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", "float32", "float64"])
def test_every_op_and_dtype(be: Backend, rng: np.random.Generator, op: str, dtype: str) -> None:
    """Integers wrap, and what was found stands beside each element."""
    fold, last = Program(), Program()
    fold.output(fold.input(dtype))
    x, found = last.input(dtype), last.input(dtype)
    last.output(x - found)
    folds = [(op, fold)]
    with Workspace(be) as ws:
        if not has(be, dtype):
            with pytest.raises(Unsupported, match=dtype):
                be.map_rows(
                    folds, (4,), (0,), [ws.input(np.zeros(4, dtype))], last, [], [ws.room(4, "f8")]
                )
            return
        for shape, axis in [((3, 37), 1), ((2, 5000), 1), ((70, 130), 0), ((1, 20_000), 1)]:
            if np.dtype(dtype).kind == "f":
                x_ = (1 + rng.integers(-4, 5, shape) / 4096).astype(dtype)
                tolerance = 1e-2 if dtype == "float32" else 1e-9
            else:
                x_ = rng.integers(0, 100, shape).astype(dtype)
                tolerance = 0
            numpy = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}[op]
            wider = x_.astype("f8") if np.dtype(dtype).kind == "f" else x_
            with np.errstate(over="ignore"):
                exact = wider - numpy(wider, axis=axis, keepdims=True, dtype=wider.dtype) if (
                    op in ("sum", "prod")
                ) else wider - numpy(wider, axis=axis, keepdims=True)  # fmt: skip
            out = ws.room(shape, dtype)
            be.map_rows(folds, shape, (axis,), [ws.input(x_)], last, [], [out])
            np.testing.assert_allclose(ws.read(out), exact, rtol=tolerance, atol=tolerance)


def test_eight_folds_and_inputs_that_lie_otherwise(be: Backend, rng: np.random.Generator) -> None:
    """Rows by strides, one value for each row, one for each column, and one for all."""
    for shape, long in [((6, 33), False), ((3, 20_011), True)]:
        rows, cols = shape
        base = rng.uniform(-1, 1, (cols, 2 * rows)).astype("f4")
        line, column, one = (rng.uniform(-1, 1, size).astype("f4") for size in (rows, cols, 1))
        x = base.T[::2]
        folds, exact = [], []
        for i in range(8):
            program = Program()
            a, b, c, d = (program.input("float32") for _ in range(4))
            before = [program.input("float32") for _ in range(i)]
            value = a * c + b * d
            value = value + before[i // 2] * 0.25 if i % 3 else value
            program.output(value)
            op = ("sum", "max", "min")[i % 3]
            folds.append((op, program))
            y = x.astype("f8") * column + (line * one)[:, None]
            y = y + exact[i // 2][:, None] * 0.25 if i % 3 else y
            exact.append({"sum": y.sum(1), "max": y.max(1), "min": y.min(1)}[op])
        last = Program()
        values = [last.input("float32") for _ in range(12)]
        total = values[0]
        for value in values[4:]:
            total = total + value
        last.output(total)
        last.output(values[1])
        with Workspace(be) as ws:
            big = ws.input(base)
            inputs = [
                (big, (2, 2 * rows)), (ws.input(line), (1, 0)), (ws.input(column), (0, 1)),
                (ws.input(one), (0, 0)),
            ]  # fmt: skip
            first, second = ws.room((cols, rows), "f4"), ws.room(shape, "f4")
            be.map_rows(folds, shape, (1,), inputs, last, [], [(first, (1, rows)), second])
            expected = x.astype("f8") + sum(exact)[:, None]
            scale = sum(abs(one).max() for one in exact)
            np.testing.assert_allclose(ws.read(first).T, expected, atol=1e-5 * (1 + scale))
            np.testing.assert_array_equal(
                ws.read(second), np.broadcast_to(line[:, None], shape), err_msg=str(long)
            )


@pytest.mark.parametrize(
    ("length", "inputs"), [(8_197, 1), (17_001, 2), (33_000, 1), (33_001, 1)], ids=str
)
def test_rows_longer_than_what_is_kept(
    be: Backend, rng: np.random.Generator, length: int, inputs: int
) -> None:
    """Enough of them for one launch, whose larger workgroups keep a part of each."""
    shape = (132, length)
    given = [rng.uniform(-1, 1, shape).astype("f4") for _ in range(inputs)]
    folds = []
    for i, op in enumerate(["max", "min", "sum"]):
        fold = Program()
        values = [fold.input("float32") for _ in range(inputs)]
        found = [fold.input("float32") for _ in range(i)]
        x, y = values[0], values[-1]
        fold.output((x - found[0]) * (y - found[1]) if i == 2 else y)
        folds.append((op, fold))
    last, ends = Program(), Program()
    values = [last.input("float32") for _ in range(inputs)]
    found = [last.input("float32") for _ in range(3)]
    last.output(values[0] - found[0])
    for one in [ends.input("float32") for _ in range(3)]:
        ends.output(one)
    first, second = given[0].astype("f8"), given[-1].astype("f8")
    most, least = second.max(1), second.min(1)
    total = ((first - most[:, None]) * (second - least[:, None])).sum(1)
    with Workspace(be) as ws:
        out, lines = ws.room(shape, "f4"), [ws.room(132, "f4") for _ in range(3)]
        be.map_rows(
            folds, shape, (1,), [ws.input(one) for one in given], last, [], [out], ends, [], lines
        )
        np.testing.assert_array_equal(ws.read(lines[0]), most)
        np.testing.assert_array_equal(ws.read(lines[1]), least)
        np.testing.assert_allclose(ws.read(lines[2]), total, rtol=1e-4)
        np.testing.assert_allclose(ws.read(out), first - most[:, None], atol=1e-6)


@pytest.mark.parametrize("size", [8, 9])
def test_one_for_each_line_of_a_row(be: Backend, rng: np.random.Generator, size: int) -> None:
    """Beside whole vectors neighbours that lie at one place are read once."""
    shape = (3, 5, size)
    x = rng.uniform(-1, 1, shape).astype("f4")
    weight, offset = (rng.uniform(-1, 1, 5).astype("f4") for _ in range(2))
    fold, last = Program(), Program()
    a, b, _ = (fold.input("float32") for _ in range(3))
    fold.output(a * b)
    a, b, c, found = (last.input("float32") for _ in range(4))
    last.output(a * b + c - found)
    scaled = x.astype("f8") * weight[:, None]
    exact = scaled + offset[:, None] - scaled.sum((1, 2), keepdims=True)
    with Workspace(be) as ws:
        out = ws.room(shape, "f4")
        lines = [(ws.input(one), (0, 1, 0)) for one in (weight, offset)]
        be.map_rows([("sum", fold)], shape, (1, 2), [ws.input(x), *lines], last, [], [out])
        np.testing.assert_allclose(ws.read(out), exact, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("first", [0, 1])
def test_one_for_a_row_and_one_for_each_element(
    be: Backend, rng: np.random.Generator, dtype: str, first: int
) -> None:
    """What is made of the one stands before the other among the program's values, or behind."""
    shape = (5, 12)
    x, each = (rng.integers(-8, 9, size).astype("f4") for size in (shape, 12))
    fold, last = Program(), Program()
    fold.output(widened(fold, dtype))
    for _ in range(2):
        fold.input(dtype)
    a, b, c = (widened(last, dtype) for _ in range(3))
    last.input("float32")
    factor, offset = (b, c) if first == 0 else (c, b)
    last.output((a * factor + offset).cast(dtype))
    with Workspace(be) as ws:
        out = ws.room(shape, stored_dtype(dtype))
        one = (ws.input(stored(np.full(1, 1.5, "f4"), dtype)), (0, 0))
        of_each = (ws.input(stored(each, dtype)), (0, 1))
        operands = [ws.input(stored(x, dtype)), *((one, of_each) if first == 0 else (of_each, one))]
        be.map_rows([("sum", fold)], shape, (1,), operands, last, [], [out])
        got = ws.read(out)
    np.testing.assert_array_equal(got, stored(x * 1.5 + each, dtype))


@pytest.mark.parametrize("op", ["max", "min"])
def test_special_values_of_largest_and_least(be: Backend, op: str) -> None:
    x = np.linspace(-3, 3, 6 * 37, dtype="f4").reshape(6, 37)
    x[1, 5], x[2, 36], x[3, 0] = np.nan, np.inf, -np.inf
    x[4, :], x[5, :] = np.inf, -np.inf
    x[0, 30] = np.copysign(np.float32(np.nan), np.float32(-1))
    fold, ends = Program(), Program()
    fold.output(fold.input("float32"))
    ends.output(ends.input("float32"))
    with Workspace(be) as ws:
        line = ws.room(6, "f4")
        be.map_rows([(op, fold)], x.shape, (1,), [ws.input(x)], None, [], [], ends, [], [line])
        expected = x.max(1) if op == "max" else x.min(1)
        np.testing.assert_array_equal(ws.read(line), expected)


def test_special_values(be: Backend) -> None:
    folds, last, _ = variance_programs("float32")
    x = np.ones((6, 37), "f4")
    x[1, 5], x[2, 36], x[3, 0], x[4, :] = np.nan, np.inf, -np.inf, 0
    with Workspace(be) as ws:
        out = ws.room(x.shape, "f4")
        be.map_rows(
            [("sum", folds[0]), ("sum", folds[1], [1 / 37])], x.shape, (1,), [ws.input(x)],
            last, [1 / 37, 0.01], [out],
        )  # fmt: skip
        found = ws.read(out)
    assert np.isnan(found[1:4]).all()
    assert not np.isnan(found[[0, 4, 5]]).any()


def test_it_is_one_launch(gpu: Backend) -> None:
    with Workspace(gpu) as ws:
        for shape in [(300, 1000), (300, 4099), (200, 30_000)]:
            x, out = ws.input(np.ones(shape, "f4")), ws.room(shape, "f4")
            moments = [ws.room(shape[:1], "f4") for _ in range(2)]
            normalise(gpu, x, shape, (1,), "float32", out, moments)
            with gpu.profile() as profile:
                normalise(gpu, x, shape, (1,), "float32", out, moments)
            assert [record.kernel for record in profile.records] == ["map_rows_sum_sum"]


def test_of_nothing(be: Backend) -> None:
    folds, last, ends = variance_programs("float32")
    given = [("sum", folds[0]), ("sum", folds[1], [1.0])]
    be.map_rows(given, (0, 5), (1,), [0], last, [1.0, 0.0], [0], ends, [1.0], [0, 0])
    with Workspace(be) as ws, pytest.raises(InvalidArgument, match="rows have no elements"):
        lines = [ws.room(3, "f4"), ws.room(3, "f4")]
        be.map_rows(given, (3, 0), (1,), [0], last, [1.0, 0.0], [0], ends, [1.0], lines)


def wrong_calls() -> list[tuple[str, Callable[[dict[str, Any]], None]]]:
    def program(dtype: str, found: int = 0, outputs: int = 1, to: str = "float32") -> Program:
        made = Program()
        value = made.input(dtype)
        for _ in range(found):
            made.input("float32")
        for i in range(outputs):
            made.output(value if to == dtype and i == 0 else value.cast(to) + i)
        return made

    def put(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
        return lambda call: call.__setitem__(name, value)

    one = program("float32")
    return [
        ("folds has 0, expected 1 to 8; without any map", put("folds", [])),
        ("folds has 9, expected 1 to 8", put("folds", [("sum", one)] * 9)),
        (r"folds\[0\] is argmax, expected sum, prod, max or min", put("folds", [("argmax", one)])),
        (r"folds\[0\]: the program has 2 outputs",
         put("folds", [("sum", program("float32", 0, 2))])),
        (r"folds\[0\] gives float16, expected float32",
         put("folds", [("sum", program("float32", to="float16"))])),
        (r"folds\[1\] gives int32, expected float32",
         put("folds", [("sum", one), ("sum", program("float32", 1, to="int32"))])),
        (r"folds\[1\] has 1 inputs, and 2 are given",
         put("folds", [("sum", one), ("sum", program("float32", 0))])),
        (r"folds\[1\] takes float16 as its input 0, expected float32 as folds\[0\]",
         put("folds", [("sum", one), ("sum", program("float16", 1))])),
        ("elements takes float16 as its input 0", put("elements", program("float16", 1))),
        ("elements has 3 inputs, and 2 are given", put("elements", program("float32", 2))),
        ("elements has 0 numbers, and 1 are given", put("numbers", [1.0])),
        ("elements and ends are none", lambda call: call.update(elements=None, outputs=[])),
        ("elements, which is none, has 0 outputs, and 1 are given", put("elements", None)),
        ("ends, which is none, has 0 outputs, and 1 are given", put("end_outputs", [1])),
        (r"axes\[0\] is 2, expected -2 to 1", put("axes", (2,))),
        (r"axes\[1\] is -1, which is there already", put("axes", (1, -1))),
        ("overlaps", lambda call: call.update(outputs=call["inputs"])),
        (r"folds\[0\] is", put("folds", [("sum",)])),
        (r"folds\[0\] is", put("folds", [("sum", "a program")])),
        ("folds is", put("folds", 3)),
    ]  # fmt: skip


@pytest.mark.parametrize(("message", "change"), wrong_calls(), ids=lambda one: str(one)[:40])
def test_wrong_calls(be: Backend, message: str, change: Callable[[dict[str, Any]], None]) -> None:
    fold, last = Program(), Program()
    fold.output(fold.input("float32"))
    x, found = last.input("float32"), last.input("float32")
    last.output(x + found)
    with Workspace(be) as ws:
        call: dict[str, Any] = {
            "folds": [("sum", fold)], "shape": (3, 4), "axes": (1,),
            "inputs": [ws.input(np.ones((3, 4), "f4"))], "elements": last, "numbers": [],
            "outputs": [ws.room((3, 4), "f4")],
        }  # fmt: skip
        be.map_rows(**call)
        change(call)
        with pytest.raises(InvalidArgument, match=message):
            be.map_rows(**call)


def test_recorded_and_planned_again(be: Backend, rng: np.random.Generator) -> None:
    """The same call with other values, sizes and numbers in turn, and within a recording."""
    with Workspace(be) as ws:
        for shape in [(5, 40), (3, 40), (5, 41), (5, 40)]:
            x = rng.uniform(-1, 1, shape).astype("f4")
            out = ws.room(shape, "f4")
            moments = [ws.room(shape[:1], "f4") for _ in range(2)]
            held = ws.output(x)
            for _ in range(3):
                normalise(be, held, shape, (1,), "float32", out, moments)
            check(ws.read(moments[0]), x.astype("f8").mean(1), "float32", 16)
        with be.record() as recording:
            normalise(be, held, shape, (1,), "float32", out, moments)
        x = rng.uniform(-1, 1, shape).astype("f4")
        be.copy_htod(held, x)
        recording.replay()
        check(ws.read(moments[1]), x.astype("f8").var(1), "float32", 16)


def test_dtype_is_asked_for(be: Backend) -> None:
    assert be.supports("map_rows", dtype="float32")
    assert be.supports("map_rows", dtype="float64") == has(be, "float64")
    assert stored_dtype("float32") == np.float32
    assert tw.Program is Program
