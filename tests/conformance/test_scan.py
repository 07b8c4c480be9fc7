"""scan(): every op and dtype, awkward sizes, strides, exclusive and from the end."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tilewright import Backend, InvalidArgument, Program, ScanOp, Unsupported

from . import folds
from .elements import DTYPES, has, shown, stored, stored_dtype
from .folds import check_scan, draw, identity, takes
from .workspace import Workspace

SHAPES = [
    ((1,), 0),
    ((3,), 0),
    ((257,), 0),
    ((16391,), 0),
    ((3, 17), 0),
    ((3, 17), 1),
    ((65537, 3), 1),
    ((1031, 3), 0),
    ((3, 4099), 1),
    ((70, 130), 0),
    ((9, 33, 5), 1),
]

# One of each way to walk; kernels of the other dtypes differ in nothing else.
FEW = [((257,), 0), ((3, 4099), 1), ((70, 130), 0)]


@pytest.mark.sampled(20)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", list(ScanOp))
def test_every_op_and_dtype(be: Backend, rng: np.random.Generator, op: str, dtype: str) -> None:
    if not has(be, dtype):
        with Workspace(be) as ws, pytest.raises(Unsupported, match=dtype):
            x = ws.input(np.zeros(4, stored_dtype(dtype)))
            be.scan(identity(dtype), op, (4,), 0, [x], [], ws.room(8))
        return
    if not takes(op, dtype):
        with Workspace(be) as ws, pytest.raises(InvalidArgument, match="gives bool, which"):
            be.scan(identity("bool"), op, (4,), 0, [ws.room(4)], [], ws.room(4))
        return
    for shape, axis in SHAPES if dtype in ("int8", "float32") else FEW:
        with Workspace(be) as ws:
            check_scan(ws, op, draw(rng, op, shape, dtype), axis, dtype)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "float16", "float32"])
def test_exclusive_and_from_the_end(
    be: Backend, rng: np.random.Generator, dtype: str, exclusive: bool, reverse: bool
) -> None:
    for op, (shape, axis) in itertools.product(ScanOp, [((5,), 0), ((2100,), 0), ((70, 33), 0)]):
        if takes(op, dtype):
            with Workspace(be) as ws:
                check_scan(ws, op, draw(rng, op, shape, dtype), axis, dtype, exclusive, reverse)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5, 6, 7, 8, 13, 63, 64, 65])
def test_few_columns(
    be: Backend, rng: np.random.Generator, columns: int, dtype: str, exclusive: bool
) -> None:
    for op, (shape, axis) in itertools.product(
        ("sum", "max"), [((7, 5, columns), 1), ((2, 700, columns), 1), ((1, 1, columns), 1)]
    ):
        if takes(op, dtype):
            with Workspace(be) as ws:
                check_scan(ws, op, draw(rng, op, shape, dtype), axis, dtype, exclusive)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("shape", [(10_000_000,), (1_000_000, 10), (10, 1_000_000)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_long(be: Backend, rng: np.random.Generator, shape: Any, dtype: str) -> None:
    if dtype == "float32":
        x = (0.1 + 0.01 * rng.random(shape, np.float32)).astype(dtype)
    else:
        x = rng.integers(-(2**31), 2**31, shape).astype(dtype)
    for axis in range(len(shape)):
        with Workspace(be) as ws:
            check_scan(ws, "sum", x, axis, dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("op", list(ScanOp))
def test_special_values(be: Backend, op: str, dtype: str) -> None:
    if not has(be, dtype):
        return
    n = 37
    rows = []
    first, second = [np.nan, np.inf, -np.inf, 0.0], [np.nan, np.inf, -2.0]
    for value, other, at in itertools.product(first, second, [0, 3, n // 2]):
        row = np.ones(n)
        row[at], row[n - 5] = value, other
        rows.append(row)
    with Workspace(be) as ws:
        check_scan(ws, op, stored(np.stack(rows), dtype), 1, dtype)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", "float32", "int32", "float64"])
def test_strides(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    """A cut, reversed and transposed input, and an output with gaps, both ways round."""
    if not has(be, dtype):
        return
    base = draw(rng, "sum", (40, 50), dtype)
    size = base.itemsize
    for x, axis in itertools.product(
        [base[1:31:3, 5:45], base[::-1, ::-1], base.T, base[5:25, ::7].T], [0, 1]
    ):
        origin = x.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        source = (tuple(step // size for step in x.strides), origin // size)
        rows, cols = x.shape
        expected = folds.scanned("max", shown(x, dtype), axis, 0, False, False)
        for strides in [(cols + 3, 1), (2, 2 * rows)]:
            with Workspace(be) as ws:
                room = np.full(2 * rows * cols + 4 * rows, 7, stored_dtype(dtype))
                out = ws.output(room)
                be.scan(
                    identity(dtype), "max", x.shape, axis, [(ws.input(base), *source)], [],
                    (out, strides, 1),
                )  # fmt: skip
                left = ws.read(out).copy()
                window = np.lib.stride_tricks.as_strided(
                    left[1:], x.shape, [step * left.itemsize for step in strides]
                )
                folds.assert_same(window.copy(), expected, np.zeros(()), dtype, str(source))
                window[...] = 7
                assert (left == 7).all(), "what lies between the results was written"


def test_a_program_in_front(be: Backend, rng: np.random.Generator) -> None:
    program = Program()
    x, y = program.input("int8"), program.input("int32")
    program.output(x.cast("int32") * y + program.number("int32"))
    a, b = rng.integers(-9, 9, (7, 3001)).astype("int8"), rng.integers(-9, 9, 3001).astype("int32")
    with Workspace(be) as ws:
        out = ws.room(a.shape, "int32")
        be.scan(program, "sum", a.shape, -1, [ws.input(a), (ws.input(b), (0, 1))], [5], out)
        np.testing.assert_array_equal(ws.read(out), np.cumsum(a * b + 5, 1, dtype="int32"))


def test_nothing(be: Backend) -> None:
    for shape, axis in [((0,), 0), ((3, 0), 1), ((0, 3), 1)]:
        be.scan(identity("float32"), "sum", shape, axis, [0], [], 0)


def test_same_request_same_bits(be: Backend, rng: np.random.Generator) -> None:
    x = draw(rng, "sum", (33, 40_961), "float32")
    for axis in range(2):
        with Workspace(be) as ws:
            runs = [check_scan(ws, "sum", x, axis, "float32") for _ in range(4)]
            assert len({run.tobytes() for run in runs}) == 1


@given(
    shape=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    data=st.data(),
    op=st.sampled_from([str(op) for op in ScanOp]),
    dtype=st.sampled_from(DTYPES),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_request(
    be: Backend, shape: list[int], data: st.DataObject, op: str, dtype: str, seed: int
) -> None:
    if not has(be, dtype) or not takes(op, dtype):
        return
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    exclusive, reverse = data.draw(st.booleans()), data.draw(st.booleans())
    x = draw(np.random.default_rng(seed), op, shape, dtype)
    with Workspace(be) as ws:
        check_scan(ws, op, x, axis, dtype, exclusive, reverse)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"op": "any"}, "op is 'any'"),
        ({"axis": 2}, "axis is 2, expected -2 to 1"),
        ({"shape": (), "inputs": [("x", ())]}, "shape has no dimension"),
        ({"inputs": []}, "the program has 1 inputs, and 0 are given"),
        ({"numbers": [1.0]}, "the program has 0 numbers, and 1 are given"),
        ({"shape": (3, 3)}, r"inputs\[0\] holds 16 bytes"),
        ({"output": ("out", (1, 1))}, "output has strides by which"),
        ({"output": "x"}, r"output .* overlaps inputs\[0\]"),
        ({"output": ("out", (2, 1), 1)}, "output holds 16 bytes"),
        ({"exclusive": 1}, "exclusive is 1"),
    ],
)
def test_wrong_arguments(be: Backend, changed: dict[str, Any], message: str) -> None:
    exact = {name: be.alloc(16) for name in ("x", "out")}
    be.copy_htod(exact["out"], np.full(4, 7, "f4"))

    def placed(one: Any) -> Any:
        return (exact[one[0]], *one[1:]) if isinstance(one, tuple) else exact[one]

    given: dict[str, Any] = {
        "program": identity("float32"), "op": "sum", "shape": (2, 2), "axis": 1,
        "inputs": ["x"], "numbers": [], "output": "out", **changed,
    }  # fmt: skip
    given["inputs"] = [placed(one) for one in given["inputs"]]
    given["output"] = placed(given["output"])
    try:
        with pytest.raises(InvalidArgument, match=message):
            be.scan(**given)
        left = np.empty(4, "f4")
        be.copy_dtoh(left, exact["out"])
        assert (left == 7).all()
    finally:
        for buffer in exact.values():
            be.free(buffer)
