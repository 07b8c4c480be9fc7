"""map(): every elementwise op with every dtype, against NumPy in more digits."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright import Backend, Program, Unsupported

from .elements import DTYPES, FLOATS, assert_elements, has, shown, spacing, stored, stored_dtype
from .map_references import REFERENCES, Reference
from .workspace import Workspace, keeps_subnormals, raw

Array = npt.NDArray[Any]

SMALLEST = 2.0**-126

# Of each class one dtype, and of those that a storage form of their own; the others are exhaustive.
EACH_CLASS = ("bool", "int8", "int32", "uint32", "int64", "uint64", "float32", "float64")

FLOAT_EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 1.5, 2.5, -2.5]


def values_of(dtype: str, domain: str, count: int, seed: int) -> Array:
    """Elements of all sizes, the edges of the dtype among them; subnormal numbers are not."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, count).astype(bool)
    if dtype not in FLOATS:
        info = np.iinfo(dtype)
        wide = rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
        narrow = rng.integers(max(info.min, -9), 9, count).astype(dtype)
        edges = np.array([info.min, info.max, 0, 1, info.max - 1, info.min + 1], dtype)
        values = np.where(rng.random(count) < 0.5, wide, narrow)
        if domain == "shift" and seed % 2 == 1:
            values = rng.integers(-2 if info.min < 0 else 0, 70, count).astype(dtype)
        values[: edges.size] = rng.permutation(edges)
        return values
    most = 6 if domain == "small" else {"float16": 4}.get(dtype, 30)
    if domain == "unit":
        values = rng.uniform(-1, 1, count)
    elif domain == "small":
        values = rng.standard_normal(count) * rng.choice([1e-3, 1.0, 8.0], count)
    elif domain == "pow":
        values = np.abs(rng.standard_normal(count)) * rng.choice([1.0, 4.0], count)
        values = np.where(rng.random(count) < 0.2, np.rint(rng.standard_normal(count) * 4), values)
    else:
        values = rng.standard_normal(count) * 10.0 ** rng.uniform(-most, most, count)
        values[: count // 2] = rng.standard_normal(count // 2) * 4
    values[: len(FLOAT_EDGES)] = rng.permutation(FLOAT_EDGES)
    elements = stored(values, dtype)
    small = np.abs(shown(elements, dtype).astype(np.float64)) < (
        2.0**-14 if dtype == "float16" else 2.0**-1022 if dtype == "float64" else SMALLEST
    )
    return np.where(small, stored(0.0, dtype), elements)


def exact_result(reference: Reference, op: str, dtype: str, operands: list[Array]) -> Array:
    if op == "nextafter":
        if dtype in ("float16", "bfloat16"):  # computed in float32
            return np.nextafter(*(shown(x, dtype).astype(np.float32) for x in operands))
        return np.nextafter(*operands)
    with np.errstate(all="ignore"):
        # What float64 rounds once, NumPy rounds the same.
        if dtype == "float64" and reference.ulps == 0:
            return np.asarray(reference.of(*operands))
        return np.asarray(reference.of(*(shown(x, dtype) for x in operands)))


def tolerance_of(
    reference: Reference, exact: Array, operands: list[Array], dtype: str, subnormals: bool
) -> Array:
    sizes = [np.abs(exact), *(np.abs(shown(x, dtype)) for x in operands)]
    at = np.max(sizes, axis=0) if reference.at_x else exact
    tolerance = reference.ulps * spacing(at, dtype)
    if dtype != "float64" and (reference.ulps > 0 or not subnormals):
        # What is smaller may come out as 0.
        tolerance = np.maximum(tolerance, np.where(np.abs(exact) < 2 * SMALLEST, SMALLEST, 0.0))
    return tolerance


def check(be: Backend, op: str, dtype: str) -> None:
    reference = REFERENCES[op]
    count = 1037
    takes = Program._operands(op)
    program = Program()
    operands: list[Array] = []
    inputs = []
    for i in range(takes):
        kind = "bool" if reference.takes_bool and i == 0 else dtype
        inputs.append(program.input(kind))
        operands.append(values_of(kind, reference.domain, count, seed=7 * i + len(op)))
    if takes > 1 and not reference.takes_bool:
        operands[1][100:140] = operands[0][100:140]  # equal ones
    program.output(program.apply(op, *inputs))
    gives = "bool" if reference.gives_bool else dtype
    with Workspace(be) as ws:
        out = ws.room(count, stored_dtype(gives))
        be.map(program, (count,), [ws.input(x) for x in operands], [], [out])
        got = ws.read(out)
    what = f"{op} of {dtype}"
    if gives not in FLOATS:
        with np.errstate(all="ignore"):
            numbers = operands if dtype not in FLOATS else [shown(x, dtype) for x in operands]
            expected = reference.of(*numbers).astype(gives)
        wrong = np.flatnonzero(got != expected)
        assert wrong.size == 0, (
            f"{what}: {wrong.size} are off, the first at {wrong[0]}: {got[wrong[0]]}, expected "
            f"{expected[wrong[0]]} of {[x[wrong[0]] for x in operands]}"
        )
        return
    if reference.takes_bool:
        assert (raw(got) == raw(np.where(*operands))).all(), what
        return
    exact = exact_result(reference, op, dtype, operands)
    tolerance = tolerance_of(reference, exact, operands, dtype, keeps_subnormals(be))
    assert_elements(got, exact, tolerance, dtype, what)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("op", Program.ops())
def test_ops(be: Backend, op: str) -> None:
    for dtype in REFERENCES[op].dtypes:
        if dtype in EACH_CLASS and has(be, dtype) and dtype != "float64":
            check(be, op, dtype)


@pytest.mark.exhaustive
@pytest.mark.parametrize("op", Program.ops())
def test_ops_of_the_other_dtypes(be: Backend, op: str) -> None:
    for dtype in REFERENCES[op].dtypes:
        if dtype not in EACH_CLASS and has(be, dtype):
            check(be, op, dtype)


# What float64 has on every device that stores it; the others are Unsupported or right.
EVERY_FLOAT64 = (
    *("add", "sub", "mul", "div", "max", "min", "clip", "abs", "neg", "sign", "square"),
    *("reciprocal", "floor", "ceil", "trunc", "round", "sqrt", "relu", "copysign", "signbit"),
    *("isnan", "isinf", "isfinite", "equal", "not_equal", "less", "less_equal", "greater"),
    *("greater_equal", "where"),
)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("op", [op for op in Program.ops() if "float64" in REFERENCES[op].dtypes])
def test_float64(be: Backend, op: str) -> None:
    if not has(be, "float64"):
        return  # test_what_every_device_stores() has that
    try:
        check(be, op, "float64")
    except Unsupported as refused:
        assert op not in EVERY_FLOAT64 and be.name != "cpu", refused
        assert op in str(refused)
        assert "float64" in str(refused)


def test_what_every_device_stores(be: Backend) -> None:
    """The other tests go by it. What is emulated in software has all, so that they run there; Dawn
    has none of 64 bits anywhere."""
    lacking = [dtype for dtype in DTYPES if not has(be, dtype)]
    assert set(lacking) <= {"int64", "uint64", "float64"}
    is_dawn = be.device.implementation == "dawn"
    assert is_dawn or not lacking or be.device.kind not in ("cpu", "software")
    with Workspace(be) as ws:
        x, out = ws.input(np.zeros(8, "f4")), ws.room(8)
        for dtype in lacking:
            program = Program()
            program.output(program.input(dtype))
            with pytest.raises(Unsupported, match=dtype):
                be.map(program, (4,), [x], [], [out])


def test_a_row_for_each_op() -> None:
    assert list(REFERENCES) == Program.ops()


def test_many_inputs_and_outputs(be: Backend) -> None:
    rng = np.random.default_rng(3)
    n = 4099
    a, b, c = (rng.standard_normal(n).astype("f4") for _ in range(3))
    k = rng.integers(-100, 100, n).astype("i1")
    program = Program()
    x, y, z, w = (program.input(t) for t in ("float32", "float32", "float32", "int8"))
    factor = program.number("float32")
    program.output((x + y) * z, (w.cast("float32") * factor), x > y)
    with Workspace(be) as ws:
        outs = [ws.room(n), ws.room(n), ws.room(n, "bool")]
        be.map(program, (n,), [ws.input(v) for v in (a, b, c, k)], [0.5], outs)
        assert (ws.read(outs[1]) == k * np.float32(0.5)).all()
        assert (ws.read(outs[2]) == (a > b)).all()
        exact = (a.astype("f8") + b) * c
        assert_elements(
            ws.read(outs[0]),
            exact,
            2 * spacing(exact, "float32") + 1e-7 * np.abs(c),
            "float32",
            "sum",
        )


def test_numbers_change_without_a_new_program(be: Backend) -> None:
    program = Program()
    x = program.input("int64") if has(be, "int64") else program.input("int32")
    dtype = str(x.dtype)
    program.output(x * program.number(dtype) + program.number(dtype))
    values = np.arange(-50, 50).astype(dtype)
    for scale, shift in itertools.product((0, 3, -7), (2**31 - 1, -(2**31))):
        with Workspace(be) as ws:
            out = ws.room(values.size, dtype)
            be.map(program, values.shape, [ws.input(values)], [scale, shift], [out])
            with np.errstate(over="ignore"):
                expected = values * np.array(scale, dtype) + np.array(shift, dtype)
            assert (ws.read(out) == expected).all()


def test_a_long_chain(be: Backend) -> None:
    """More values than registers hold at a time."""
    program = Program()
    x = program.input("float32")
    values = [x * float(i) for i in range(40)]
    total = values[0]
    for one in values[1:]:
        total = total + one
    program.output(total)
    numbers = np.arange(3000, dtype="f4") % 17
    with Workspace(be) as ws:
        out = ws.room(numbers.size)
        be.map(program, numbers.shape, [ws.input(numbers)], [], [out])
        assert (ws.read(out) == numbers * 780).all()
