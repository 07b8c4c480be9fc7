"""map_reduce(): every op and dtype, awkward sizes, strides, programs in front and behind."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import tilewright
from hypothesis import given
from hypothesis import strategies as st
from tilewright import Backend, InvalidArgument, Program, Reduction, Unsupported

from . import folds
from .elements import DTYPES, FLOATS, has, shown, stored, stored_dtype
from .folds import check_reduction, draw, identity, takes
from .workspace import Workspace

# moments gives two results: test_moments.py.
OPS = [str(op) for op in Reduction if op != Reduction.moments]

SHAPES = [
    ((1,), (0,)),
    ((3,), (0,)),
    ((257,), (0,)),
    ((7, 0), (0,)),
    ((5, 17), ()),
    ((65537,), (0,)),
    ((3, 17), (0,)),
    ((3, 17), (1,)),
    ((17, 3), (0, 1)),
    ((65537, 3), (1,)),
    ((3, 16391), (1,)),
    ((16391, 3), (0,)),
    ((70, 130), (0,)),
    ((9, 33, 5), (1,)),
    ((9, 33, 5), (0, 2)),
    ((3, 1, 17, 2), (-1, 0)),
]

# One of each way to walk; kernels of the other dtypes differ in nothing else.
FEW = [((65537,), (0,)), ((3, 17), (1,)), ((70, 130), (0,)), ((9, 33, 5), (0, 2))]


@pytest.mark.sampled(20)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", OPS)
def test_every_op_and_dtype(be: Backend, rng: np.random.Generator, op: str, dtype: str) -> None:
    if not has(be, dtype):
        with Workspace(be) as ws, pytest.raises(Unsupported, match=dtype):
            x = ws.input(np.zeros(4, stored_dtype(dtype)))
            be.map_reduce(identity(dtype), op, (4,), (0,), [x], [], [ws.room(8)])
        return
    if not takes(op, dtype):
        with Workspace(be) as ws, pytest.raises(InvalidArgument, match="gives bool, which"):
            be.map_reduce(identity("bool"), op, (4,), (0,), [ws.room(4)], [], [ws.room(4)])
        return
    for shape, axes in SHAPES if dtype in ("int8", "float32") else FEW:
        with Workspace(be) as ws:
            check_reduction(ws, op, draw(rng, op, shape, dtype), axes, dtype)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("op", ["sum", "argmax"])
@pytest.mark.parametrize("shape", [(10_000_000,), (1_000_000, 10), (10, 1_000_000)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_long(be: Backend, rng: np.random.Generator, op: str, shape: Any, dtype: str) -> None:
    """Nearly equal numbers, where a plain running sum rounds the same way each time."""
    if dtype == "float32":
        x = (0.1 + 0.01 * rng.random(shape, np.float32)).astype(dtype)
    else:
        x = rng.integers(-(2**31), 2**31, shape).astype(dtype)
    for axis in range(len(shape)):
        with Workspace(be) as ws:
            check_reduction(ws, op, x, (axis,), dtype)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("op", ["sum", "prod", "max", "min", "argmax", "argmin", "any", "all"])
def test_special_values(be: Backend, op: str, dtype: str) -> None:
    """Every pair of them within a row of ones, at the ends and in the middle."""
    if not has(be, dtype):
        return
    n = 37
    values = [np.nan, np.inf, -np.inf, 0.0, -1.0]
    rows = []
    for (a, b), (i, j) in itertools.product(
        itertools.product(values, values), [(0, n - 1), (n // 2, n - 1), (0, 1), (5, 5)]
    ):
        row = np.ones(n)
        row[i], row[j] = a, b
        rows.append(row)
    x = stored(np.stack(rows), dtype)
    with Workspace(be) as ws:
        check_reduction(ws, op, x, (1,), dtype)
        check_reduction(ws, op, np.ascontiguousarray(x.T), (0,), dtype)
        check_reduction(ws, op, x, (0, 1), dtype)


@pytest.mark.parametrize("op", ["argmax", "argmin"])
def test_the_first_of_equal_ones_is_found(be: Backend, op: str) -> None:
    for n in (5, 300, 5000, 200_001):
        for first, second in [(0, n - 1), (n // 2, n // 2 + 1), (n - 2, n - 1), (1, n // 3 + 1)]:
            x = np.zeros(n, "f4")
            x[[first, second]] = 1 if op == "argmax" else -1
            with Workspace(be) as ws:
                assert check_reduction(ws, op, x, (0,), "float32") == min(first, second)


@pytest.mark.parametrize(("op", "value"), [("sum", 0), ("prod", 1), ("any", False), ("all", True)])
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "int32"])
def test_of_nothing(be: Backend, op: str, value: Any, dtype: str) -> None:
    for shape, axes in [((0,), (0,)), ((3, 0, 5), (1,)), ((2, 0), (0, 1))]:
        with Workspace(be) as ws:
            kept = [n for i, n in enumerate(shape) if i not in axes]
            out = ws.room(kept, folds.result_dtype(op, dtype))
            be.map_reduce(identity(dtype), op, shape, axes, [0], [], [out])
            assert (ws.read(out) == value).all()
    with Workspace(be) as ws:  # and no results
        be.map_reduce(identity(dtype), op, (3, 0), (0,), [0], [], [0])


@pytest.mark.parametrize("op", ["max", "min", "argmax", "argmin"])
def test_of_nothing_that_has_no_value(be: Backend, op: str) -> None:
    with Workspace(be) as ws:
        with pytest.raises(InvalidArgument, match=f"{op} of no elements"):
            be.map_reduce(identity("float32"), op, (3, 0), (1,), [0], [], [ws.room(8)])
        be.map_reduce(identity("float32"), op, (0, 3), (1,), [0], [], [0])


@pytest.mark.sampled(20)
@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", "float32", "int32", "float64"])
def test_strides(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    """Cut, reversed, transposed and repeated inputs, and outputs with gaps."""
    if not has(be, dtype):
        return
    base = draw(rng, "sum", (40, 50), dtype)
    size = base.itemsize
    looks = [
        base[1:31:3, 5:45],
        base[::-1, ::-1],
        base.T,
        base[3:4, :].repeat(1, 0),
        np.broadcast_to(base[2], (30, 50)),
        base[5:25, ::7].T,
        base[:, 1:2],
    ]
    for x, axes, op in itertools.product(looks, [(0,), (1,), (0, 1)], ["sum", "max", "argmin"]):
        origin = x.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        if not 0 <= origin < base.nbytes:
            continue
        operand = (tuple(step // size for step in x.strides), origin // size)
        result = folds.result_dtype(op, dtype)
        expected = folds.exact(op, x, axes, dtype)
        kept = expected.shape
        with Workspace(be) as ws:
            before = ws.output(np.full(3 * expected.size + 2, 7, stored_dtype(result)))
            place = (tuple(3 for _ in kept), 1)
            be.map_reduce(
                identity(dtype), op, x.shape, axes, [(ws.input(base), *operand)], [],
                [(before, *place)],
            )  # fmt: skip
            left = ws.read(before).copy()
            got = left[1::3][: expected.size].reshape(kept).copy()
            bound = folds.tolerance(op, x, axes, dtype)
            folds.assert_same(got, expected, bound, result, f"{op} {operand}")
            left[1::3][: expected.size] = 7
            assert (left == 7).all(), "what lies between the results was written"


def test_many_dimensions(be: Backend, rng: np.random.Generator) -> None:
    shape = (2, 3, 1, 2, 2, 3, 2, 1, 2, 2)
    x = rng.integers(-9, 9, shape).astype("int32")
    turned = x.transpose(3, 1, 0, 9, 5, 2, 7, 4, 8, 6)
    for op in ("sum", "argmax"):
        for axes in [(0, 2, 4, 6, 8), (9, 1), (3,), tuple(range(10))]:
            expected = folds.exact(op, turned, axes, "int32")
            with Workspace(be) as ws:
                out = ws.room(expected.shape, folds.result_dtype(op, "int32"))
                strides = tuple(step // 4 for step in turned.strides)
                be.map_reduce(
                    identity("int32"), op, turned.shape, axes, [(ws.input(x), strides)], [], [out]
                )
                np.testing.assert_array_equal(ws.read(out), expected)


def test_32_dimensions(be: Backend) -> None:
    x = np.arange(2**10, dtype="int32")
    shape = [2 if i % 4 == 1 or i == 30 or i == 16 else 1 for i in range(32)]
    assert np.prod(shape) == 2**10
    with Workspace(be) as ws:
        out = ws.room((2**9,), "int32")
        be.map_reduce(identity("int32"), "sum", shape, (30,), [ws.input(x)], [], [out])
        np.testing.assert_array_equal(ws.read(out), x.reshape(-1, 2).sum(1))


def test_a_program_in_front(be: Backend, rng: np.random.Generator) -> None:
    """(a * b + c).sum(), with a number and an input that is not needed."""
    program = Program()
    a, b, unused, k = (program.input(t) for t in ("float32", "float32", "int32", "int8"))
    c = program.number("float32")
    program.output(a * b + c * k.cast("float32"))
    assert unused.dtype == "int32"
    for shape, axes in [((100_003,), (0,)), ((37, 129), (1,)), ((129, 37), (0,))]:
        x, y = (rng.standard_normal(shape).astype("f4") for _ in range(2))
        small = rng.integers(-5, 6, shape[-1:]).astype("int8")
        broadcast = (*(0 for _ in shape[1:]), 1)
        with Workspace(be) as ws:
            expected = (x.astype("f8") * y + 0.5 * small).sum(axes)
            out = ws.room(expected.shape)
            be.map_reduce(
                program, "sum", shape, axes,
                [ws.input(x), ws.input(y), ws.input(np.zeros(shape, "int32")),
                 (ws.input(small), broadcast)],
                [0.5], [out],
            )  # fmt: skip
            bound = 1e-6 * (np.abs(x.astype("f8") * y) + 3).sum(axes)
            folds.assert_same(ws.read(out), expected, bound, "float32", "fused sum")


def test_a_program_behind(be: Backend, rng: np.random.Generator) -> None:
    """The root of a mean of float16 that a float16 sum could not hold, beside another operand."""
    front = Program()
    x = front.input("float16")
    front.output(x * x)
    behind = Program()
    total, scale = behind.input("float16"), behind.input("float32")
    count = behind.number("float32")
    root = (total.cast("float32") / count).sqrt()
    behind.output((root * scale).cast("float16"), root > 100)
    values = rng.integers(1, 250, (6, 5000)).astype("float16")
    scales = rng.random(6).astype("f4")
    with Workspace(be) as ws:
        out, large = ws.room(6, "float16"), ws.room(6, "bool")
        be.map_reduce(
            front, "sum", values.shape, (1,), [ws.input(values)], [], [out, large],
            behind, [ws.input(scales)], [5000.0],
        )  # fmt: skip
        exact = np.sqrt((values.astype("f8") ** 2).mean(1))
        np.testing.assert_allclose(ws.read(out), exact * scales, rtol=2e-3)
        np.testing.assert_array_equal(ws.read(large), exact > 100)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_a_program_behind_a_place(be: Backend, dtype: str) -> None:
    if not has(be, dtype):
        return
    behind = Program()
    behind.output(behind.input(dtype) * 2 + 1)
    x = np.array([[3, 9, 9], [5, 1, 2]], "int32")
    with Workspace(be) as ws:
        out = ws.room(2, dtype)
        be.map_reduce(identity("int32"), "argmax", x.shape, (1,), [ws.input(x)], [], [out], behind)
        assert ws.read(out).tolist() == [3, 1]


def test_sums_wrap_and_widen_as_their_dtype(be: Backend) -> None:
    x = np.full(1000, 100, "int8")
    with Workspace(be) as ws:
        out = ws.room(1, "int8")
        be.map_reduce(identity("int8"), "sum", x.shape, (0,), [ws.input(x)], [], [out])
        assert ws.read(out) == np.array(100_000).astype("int8")
        wide = "int64" if has(be, "int64") else "int32"
        program = Program()
        program.output(program.input("int8").cast(wide))
        out = ws.room(1, wide)
        be.map_reduce(program, "sum", x.shape, (0,), [ws.input(x)], [], [out])
        assert ws.read(out) == 100_000


def test_no_inputs(be: Backend) -> None:
    program = Program()
    program.output(program.constant(3, "int32"))
    with Workspace(be) as ws:
        out = ws.room(2, "int32")
        be.map_reduce(program, "sum", (2, 1001), (1,), [], [], [out])
        assert (ws.read(out) == 3003).all()


@pytest.mark.parametrize("op", ["sum", "prod", "argmax"])
def test_same_request_same_bits(be: Backend, rng: np.random.Generator, op: str) -> None:
    x = draw(rng, op, (333, 4097), "float32")
    for axes in [(0,), (1,), (0, 1)]:
        with Workspace(be) as ws:
            runs = [check_reduction(ws, op, x, axes, "float32") for _ in range(4)]
            assert len({run.tobytes() for run in runs}) == 1


@given(
    shape=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    data=st.data(),
    op=st.sampled_from(OPS),
    dtype=st.sampled_from(DTYPES),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_request(
    be: Backend, shape: list[int], data: st.DataObject, op: str, dtype: str, seed: int
) -> None:
    if not has(be, dtype) or not takes(op, dtype):
        return
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), unique=True))
    with Workspace(be) as ws:
        check_reduction(ws, op, draw(np.random.default_rng(seed), op, shape, dtype), axes, dtype)


def test_beyond_one_binding(be: Backend) -> None:
    """200 MB, also where a binding holds less: in pieces."""
    n = 50_000_000
    x = np.arange(n, dtype="uint32") % 1000
    x[n - 3] = 5000
    buffer, out = be.alloc(4 * n), be.alloc(64)
    be.copy_htod(buffer, x)
    try:
        for op, dtype, expected in [
            ("sum", "uint32", x.sum(dtype="uint32")), ("argmax", "int64", n - 3),
        ]:  # fmt: skip
            be.map_reduce(identity("uint32"), op, (n,), (0,), [buffer], [], [out])
            got = np.empty(1, dtype)
            be.copy_dtoh(got, out)
            assert got == expected
        rows = be.alloc(4 * 1000)
        be.map_reduce(identity("uint32"), "max", (1000, n // 1000), (1,), [buffer], [], [rows])
        got = np.empty(1000, "uint32")
        be.copy_dtoh(got, rows)
        be.free(rows)
        np.testing.assert_array_equal(got, x.reshape(1000, -1).max(1))
    finally:
        be.free(buffer)
        be.free(out)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"op": "median"}, "op is 'median'"),
        ({"axes": (2,)}, r"axes\[0\] is 2, expected -2 to 1"),
        ({"axes": (1, -1)}, r"axes\[1\] is -1, which is there already"),
        ({"inputs": []}, "the program has 1 inputs, and 0 are given"),
        ({"outputs": []}, "the program has 1 outputs, and 0 are given"),
        ({"numbers": [1.0]}, "the program has 0 numbers, and 1 are given"),
        ({"shape": (2, -1)}, r"shape\[1\] is -1"),
        ({"shape": (3, 3)}, r"inputs\[0\] holds 16 bytes"),
        ({"shape": (2**62, 4)}, "64 bits"),
        ({"outputs": [("out", (1, 1))]}, r"outputs\[0\] has 2 strides, expected 1"),
        ({"outputs": [("out", (0,))]}, r"outputs\[0\] has strides by which"),
        ({"outputs": ["x"]}, r"outputs\[0\] .* overlaps inputs\[0\]"),
        ({"outputs": [("x", (1,), 2)]}, r"outputs\[0\] .* overlaps inputs\[0\]"),
        ({"outputs": [("out", (1,), 3)]}, r"outputs\[0\] holds 16 bytes"),
        ({"behind": "x"}, "behind is"),
        ({"behind_inputs": ["x"]}, "behind, which is none, has 0 inputs, and 1 are given"),
        ({"program": None}, "program is None"),
    ],
)
def test_wrong_arguments(be: Backend, changed: dict[str, Any], message: str) -> None:
    exact = {name: be.alloc(16) for name in ("x", "out")}
    be.copy_htod(exact["out"], np.full(4, 7, "f4"))

    def placed(operands: list[Any]) -> list[Any]:
        return [
            (exact[one[0]], *one[1:]) if isinstance(one, tuple) else exact[one] for one in operands
        ]

    given: dict[str, Any] = {
        "program": identity("float32"), "op": "sum", "shape": (2, 2), "axes": (1,),
        "inputs": ["x"], "numbers": [], "outputs": ["out"], **changed,
    }  # fmt: skip
    for name in ("inputs", "outputs", "behind_inputs"):
        if name in given:
            given[name] = placed(given[name])
    try:
        with pytest.raises(InvalidArgument, match=message):
            be.map_reduce(**given)
        left = np.empty(4, "f4")
        be.copy_dtoh(left, exact["out"])
        assert (left == 7).all()
    finally:
        for buffer in exact.values():
            be.free(buffer)


def test_wrong_programs(be: Backend) -> None:
    two, none, other = Program(), Program(), Program()
    x = two.input("float32")
    two.output(x, x)
    none.output(none.constant(1.0, "float32"))
    other.output(other.input("int32"))
    with Workspace(be) as ws:
        x, out = ws.room(4), ws.room(4)
        with pytest.raises(InvalidArgument, match="has 2 outputs, expected one"):
            be.map_reduce(two, "sum", (4,), (0,), [x], [], [out])
        with pytest.raises(InvalidArgument, match="behind has 0 inputs, the first of which"):
            be.map_reduce(identity("float32"), "sum", (4,), (0,), [x], [], [out], none)
        with pytest.raises(InvalidArgument, match="is int32, expected float32, what sum gives"):
            be.map_reduce(identity("float32"), "sum", (4,), (0,), [x], [], [out], other)
        with pytest.raises(InvalidArgument, match="is float32, expected int64 or int32"):
            be.map_reduce(
                identity("float32"), "argmax", (4,), (0,), [x], [], [out], identity("float32")
            )


def test_elements_are_what_the_tests_say() -> None:
    assert shown(stored(1.0, "bfloat16"), "bfloat16") == 1.0
    assert set(FLOATS) < set(DTYPES)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8", "bool", "int64"])
def test_of_arrays(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    if not has(be, dtype):
        return
    x = rng.integers(0, 4, (5, 8, 3)).astype(dtype)
    ones = np.where(x == 3, 2, 1).astype(dtype)
    ones[1:] = 1
    place = "int64" if has(be, "int64") else "int32"
    for look in (np.s_[:], np.s_[::2, ::-1], np.s_[1:3, 1, :]):
        a, y = tilewright.asarray(x, device=be)[look], x[look]
        for axis in (None, 0, -1):
            assert be.argmax(a, axis).dtype == place
            assert (be.argmax(a, axis).numpy() == y.argmax(axis)).all()
            assert (
                be.argmin(a, axis, keepdims=True).numpy() == y.argmin(axis, keepdims=True)
            ).all()
            assert (be.cumsum(a, axis).numpy() == np.cumsum(y, axis)).all()
            product = be.prod(tilewright.asarray(ones, device=be)[look], axis).numpy()
            assert (product == np.prod(ones[look].astype("f8"), axis)).all()
            assert be.any(a, axis).dtype == bool
            assert (be.any(a, axis).numpy() == y.any(axis)).all()
            assert (be.all(a, axis, keepdims=True).numpy() == y.all(axis, keepdims=True)).all()
    if has(be, "int64"):
        assert be.cumsum(tilewright.asarray(x, device=be), 0).dtype == np.cumsum(x, 0).dtype
        assert be.prod(tilewright.asarray(x, device=be), 0).dtype == np.prod(x, 0).dtype


def test_wrong_axes_of_arrays(be: Backend) -> None:
    a = be.array(np.zeros((2, 3, 4), "float32"))
    assert be.all(a, (0, 2)).shape == (3,)
    with pytest.raises(InvalidArgument, match=r"argmax: axis is .*expected one axis"):
        be.argmax(a, (0, 1))  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match=r"prod: axis is .*at most 3 axes"):
        be.prod(a, (0, 1, 2, 3))
    with pytest.raises(InvalidArgument, match="cumsum: axis is 3, expected one of the 3 axes"):
        be.cumsum(a, 3)
