"""map(): any strides, offsets and ranks, in place, and packed elements of 1 and 2 bytes."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from numpy.lib.stride_tricks import as_strided
from tilewright import Backend, Program

from .elements import has, stored_dtype
from .workspace import Workspace

Array = npt.NDArray[Any]

# One of each size, and those that have a storage form of their own.
DTYPES = ("bool", "int8", "uint16", "float16", "bfloat16", "float32", "int32", "int64", "float64")


def bits(rng: np.random.Generator, count: int, dtype: str) -> Array:
    """Elements that are told apart, and none of them NaN."""
    kind = stored_dtype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, count).astype(bool)
    if dtype == "bfloat16":
        return rng.integers(0x3F00, 0x4500, count).astype(np.uint16)
    return rng.integers(0, 100, count).astype(kind)


def copier(dtype: str) -> Program:
    program = Program()
    program.output(program.input(dtype))
    return program


def check_copy(
    be: Backend,
    dtype: str,
    shape: tuple[int, ...],
    source: tuple[tuple[int, ...], int],
    target: tuple[tuple[int, ...], int],
) -> None:
    """Copies from (strides, offset) to (strides, offset); what lies between stays."""
    rng = np.random.default_rng(5)

    def reach(strides: tuple[int, ...], offset: int) -> int:
        steps = zip(shape, strides, strict=True)
        return offset + 1 + sum((size - 1) * step for size, step in steps if step > 0)

    def seen(memory: Array, strides: tuple[int, ...], offset: int) -> Array:
        return as_strided(memory[offset:], shape, [memory.itemsize * s for s in strides])

    x = bits(rng, reach(*source) + 3, dtype)
    y = bits(rng, reach(*target) + 3, dtype)
    with Workspace(be) as ws:
        out = ws.output(y)
        be.map(copier(dtype), shape, [(ws.input(x), *source)], [], [(out, *target)])
        expected = y.copy()
        seen(expected, *target)[...] = seen(x, *source)
        assert (ws.read(out) == expected).all(), (dtype, shape, source, target)


@pytest.mark.parametrize("dtype", DTYPES)
def test_offsets(be: Backend, dtype: str) -> None:
    """Neighbours in the same word stay what they were."""
    if not has(be, dtype):
        return
    for n, source, target in itertools.product((1, 2, 5, 64, 1031), (0, 1, 3), (0, 1, 2, 7)):
        check_copy(be, dtype, (n,), ((1,), source), ((1,), target))


@pytest.mark.parametrize("dtype", DTYPES)
def test_strides(be: Backend, dtype: str) -> None:
    if not has(be, dtype):
        return
    check_copy(be, dtype, (33, 17), ((1, 33), 0), ((17, 1), 0))  # transposed
    check_copy(be, dtype, (33, 17), ((17, 1), 0), ((1, 33), 5))
    check_copy(be, dtype, (40, 9), ((0, 1), 2), ((9, 1), 0))  # broadcast
    check_copy(be, dtype, (40, 9), ((1, 0), 0), ((9, 1), 1))
    check_copy(be, dtype, (301,), ((-1,), 300), ((1,), 0))  # backwards
    check_copy(be, dtype, (301,), ((1,), 0), ((-3,), 903))
    check_copy(be, dtype, (13, 7), ((-7, 2), 100), ((50, 3), 4))  # gaps
    check_copy(be, dtype, (3, 1, 4, 1, 5), ((20, 7, 5, 9, 1), 0), ((1, 0, 3, 0, 12), 1))
    check_copy(be, dtype, (), ((), 3), ((), 2))


@pytest.mark.parametrize("dtype", ("int8", "float32", "int64"))
def test_many_elements(be: Backend, dtype: str) -> None:
    """Of which a work-item has several where each has a place of its own to find."""
    if not has(be, dtype):
        return
    check_copy(be, dtype, (1027, 1025), ((1030, 1), 3), ((1025, 1), 0))
    check_copy(be, dtype, (1051, 999), ((0, 1), 0), ((999, 1), 1))
    check_copy(be, dtype, (131, 8, 1009), ((8072, -1009, 1), 7063), ((8072, 1009, 1), 0))


@pytest.mark.parametrize("dtype", ("int8", "float16", "float32", "int64"))
def test_tiles(be: Backend, dtype: str) -> None:
    """Whole blocks and what is left of them, along each dimension that is walked by lines."""
    if not has(be, dtype):
        return
    check_copy(be, dtype, (70, 1030), ((1, 70), 0), ((1030, 1), 0))
    check_copy(be, dtype, (1030, 70), ((70, 1), 0), ((1, 1030), 3))
    check_copy(be, dtype, (70, 600), ((-1, 70), 69), ((600, -1), 599))
    check_copy(be, dtype, (35, 33, 40), ((40, 1400, 1), 0), ((1320, 40, 1), 0))
    check_copy(be, dtype, (35, 33, 40), ((1, 1400, 35), 0), ((1320, 40, 1), 2))
    check_copy(be, dtype, (33, 35, 40), ((1400, 1, 35), 1), ((1400, 40, 1), 0))
    check_copy(be, dtype, (33, 67, 70), ((1, 2310, 33), 1), ((4690, 70, 1), 3))
    check_copy(be, dtype, (67, 33, 70), ((70, 4690, 1), 0), ((1, 67, 2211), 0))
    check_copy(be, dtype, (64, 2, 600), ((-1, 64, 128), 63), ((1200, 600, 1), 0))
    check_copy(be, dtype, (700, 3), ((3, 1), 0), ((4, 1), 0))
    check_copy(be, dtype, (700, 3), ((1, 700), 0), ((3, 1), 0))
    check_copy(be, dtype, (3, 700), ((1, 3), 0), ((700, 1), 0))
    check_copy(be, dtype, (90, 65, 3), ((0, 3, 1), 0), ((195, 3, 1), 0))
    check_copy(be, dtype, (30, 1, 65, 9), ((0, 0, 0, 1), 4), ((700, 0, 10, 1), 0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_short_axes_that_were_no_neighbours(be: Backend, dtype: str) -> None:
    """Moved, and computed with others in place, from blocks of a few elements."""
    if not has(be, dtype):
        return
    rng = np.random.default_rng(10)
    program = Program()
    a, b, c = (program.input(dtype) for _ in range(3))
    program.output(program.apply("equal" if dtype == "bool" else "max", a, b), c)
    for shape, axes in (
        ((4, 2, 301, 2), (2, 0, 3, 1)), ((3, 5, 2, 97), (3, 2, 1, 0)),
        ((2, 20011, 2, 3), (1, 3, 0, 2)), ((2, 3, 400, 3, 2), (4, 2, 0, 3, 1)),
        ((1103, 3, 2), (0, 2, 1)),
    ):  # fmt: skip
        x = bits(rng, math.prod(shape), dtype).reshape(shape)
        turned = x.transpose(axes)
        steps = tuple(step // x.itemsize for step in turned.strides)
        y = bits(rng, x.size, dtype).reshape(turned.shape)
        with Workspace(be) as ws:
            source, out = ws.input(x.reshape(-1)), ws.room(turned.shape, x.dtype)
            be.map(copier(dtype), turned.shape, [(source, steps)], [], [out])
            assert (ws.read(out) == turned).all(), (shape, axes)
            held, one = ws.output(y), ws.input(y[:1, :1, :1].reshape(-1)[:1])
            number = (one, (0,) * len(shape))
            be.map(program, turned.shape, [held, (source, steps), number], [], [held, out])
            larger = y == turned if dtype == "bool" else np.maximum(y, turned)
            assert (ws.read(held) == larger).all(), (shape, axes)
            assert (ws.read(out) == y.reshape(-1)[0]).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32", "int64"])
def test_short_rows_that_repeat(be: Backend, dtype: str) -> None:
    """An operand of channels, whose rows are short, and of a short row, for many samples."""
    if not has(be, dtype):
        return
    rng = np.random.default_rng(9)
    program = Program()
    a, b = program.input(dtype), program.input(dtype)
    program.output(a - b)
    for shape in ((1501, 2, 5), (37, 60, 7), (300, 3, 1), (2003, 3), (9, 2, 3, 11, 13)):
        for of in range(1, len(shape)):
            kept = [size if d == of else 1 for d, size in enumerate(shape)]
            x, y = (rng.integers(0, 100, s).astype(dtype) for s in (shape, kept))
            strides = tuple(int(d == of) for d in range(len(shape)))
            with Workspace(be) as ws:
                out = ws.room(shape, stored_dtype(dtype))
                be.map(program, shape, [ws.input(x), (ws.input(y), strides)], [], [out])
                assert (ws.read(out) == x - y).all(), (shape, of)
                # In place, and turned.
                held = ws.output(x)
                be.map(program, shape, [(ws.input(y), strides), held], [], [held])
                assert (ws.read(held) == y - x).all(), (shape, of)


def test_operands_that_repeat(be: Backend) -> None:
    """The same elements again and again, in blocks of which the last ones are shorter."""
    rng = np.random.default_rng(7)
    program = Program()
    a, b, c, d = (program.input("float32") for _ in range(4))
    program.output((a + b) * (c - d))
    for rows, cols in ((300, 64), (77, 700), (2000, 3), (5, 513)):
        row, col = rng.random(cols, "f4"), rng.random(rows, "f4")
        whole, one = rng.random((rows, cols), "f4"), rng.random(1, "f4")
        with Workspace(be) as ws:
            out = ws.room((rows, cols))
            inputs = [
                (ws.input(row), (0, 1)),
                (ws.input(col), (1, 0)),
                ws.input(whole),
                (ws.input(one), (0, 0)),
            ]
            be.map(program, (rows, cols), inputs, [], [out])
            expected = (row + col[:, None]) * (whole - one)
            np.testing.assert_allclose(ws.read(out), expected, rtol=1e-6, atol=1e-6)


def test_many_dimensions(be: Backend) -> None:
    for rank in (8, 9, 12, 14):
        shape = (2,) * rank
        backwards = tuple(2**i for i in range(rank))
        forwards = backwards[::-1]
        check_copy(be, "float32", shape, (backwards, 1), (forwards, 0))
    shape = (1,) * 40 + (3, 5) + (1,) * 22
    check_copy(
        be,
        "float32",
        shape,
        ((0,) * 40 + (1, 3) + (0,) * 22, 0),
        ((9,) * 40 + (5, 1) + (7,) * 22, 0),
    )


def test_large(be: Backend) -> None:
    """More workgroups than a dimension of a grid has."""
    n = 5_000_011
    rng = np.random.default_rng(2)
    for dtype in ("int8", "float32"):
        values = rng.integers(-100, 100, n).astype(dtype)
        program = Program()
        x = program.input(dtype)
        program.output(x + 1)
        with Workspace(be) as ws:
            out = ws.room(n, dtype)
            be.map(program, (n,), [ws.input(values)], [], [out])
            assert (ws.read(out) == values + np.ones((), dtype)).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_in_place(be: Backend, dtype: str) -> None:
    """Elements are read before they are written, whatever the program makes of them."""
    if not has(be, dtype) or dtype == "bool":
        return
    rng = np.random.default_rng(8)
    x, y = bits(rng, 1029, dtype), bits(rng, 1029, dtype)
    program = Program()
    a, b = program.input(dtype), program.input(dtype)
    program.output(program.apply("max", a, b), program.apply("min", a, b))
    with Workspace(be) as ws:
        first, second = ws.output(x), ws.output(y)
        be.map(program, (1029,), [first, second], [], [second, first])
        assert (ws.read(second) == np.maximum(x, y)).all()
        assert (ws.read(first) == np.minimum(x, y)).all()


def test_parts_of_one_buffer(be: Backend) -> None:
    program = Program()
    a, b = program.input("float32"), program.input("float32")
    program.output(a + b)
    values = np.arange(300, dtype="f4")
    with Workspace(be) as ws:
        memory = ws.output(values)
        be.map(program, (99,), [(memory, (1,), 0), (memory, (1,), 100)], [], [(memory, (1,), 200)])
        expected = values.copy()
        expected[200:299] = values[:99] + values[100:199]
        assert (ws.read(memory) == expected).all()


def test_one_buffer_for_several_inputs(be: Backend) -> None:
    program = Program()
    a, b, c = (program.input("float32") for _ in range(3))
    program.output(a * b + c)
    values = np.arange(200, dtype="f4")
    with Workspace(be) as ws:
        memory, out = ws.input(values), ws.room((10, 10))
        be.map(program, (10, 10), [memory, (memory, (1, 10)), (memory, (0, 0), 7)], [], [out])
        square = values[:100].reshape(10, 10)
        assert (ws.read(out) == square * square.T + 7).all()


def test_operands_that_lie_across(be: Backend) -> None:
    """One op of rows and of columns, or of columns alone, with a number or a cut input beside."""
    programs = [Program() for _ in range(3)]
    a, b = programs[0].input("float32"), programs[0].input("float32")
    programs[0].output(a - b)
    programs[1].output(3 - programs[1].input("float32"))
    programs[2].output(-programs[2].input("float32"))
    rng = np.random.default_rng(6)
    shapes = (
        (33, 17), (70, 131), (5, 1100), (8, 300), (13, 1031), (1100, 5), (31, 1030), (16, 16),
        (2, 40),
    )  # fmt: skip
    for rows, cols in shapes:
        x = rng.standard_normal((rows, cols + 3), dtype="f4")
        y = rng.standard_normal((cols, rows), dtype="f4")
        plain, turned = ((cols + 3, 1), 2), ((1, rows), 0)
        with Workspace(be) as ws:
            wide, across, out = ws.input(x), ws.input(y), ws.output(np.zeros_like(x))
            cases = (
                (0, [(wide, *plain), (across, *turned)], x[:, 2:-1] - y.T),
                (0, [(across, *turned), (wide, *plain)], y.T - x[:, 2:-1]),
                (0, [(across, *turned)] * 2, np.zeros_like(y.T)),
                (1, [(across, *turned)], 3 - y.T),
                (2, [(across, *turned)], -y.T),
            )
            for program, inputs, expected in cases:
                be.map(programs[program], (rows, cols), inputs, [], [(out, (cols + 3, 1), 1)])
                found = ws.read(out)
                assert (found[:, 1:-2] == expected).all()
                assert (found[:, [0, -1]] == 0).all()
                tight = ws.room((rows, cols))
                be.map(programs[program], (rows, cols), inputs, [], [tight])
                assert (ws.read(tight) == found[:, 1:-2]).all()


def test_nothing_to_do(be: Backend) -> None:
    with Workspace(be) as ws:
        out = ws.output(np.arange(4, dtype="f4"))
        be.map(copier("float32"), (3, 0), [ws.input(np.ones(1, "f4"))], [], [out])
        be.map(copier("float32"), (0,), [0], [], [0])
        assert (ws.read(out) == np.arange(4)).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_operands_among_each_other(be: Backend, dtype: str) -> None:
    """Pairs in one buffer, as the parts of complex numbers: each is read and written in place."""
    if not has(be, dtype):
        return
    program = Program()
    x, y = program.input(dtype), program.input(dtype)
    program.output(y, x)
    rng = np.random.default_rng(7)
    for shape, strides, second in (
        ((1031,), (2,), 1),
        ((1, 33), (5, 3), 2),
        ((17, 9), (18, 2), 1),
        ((9, 17), (2, 18), 1),
        ((4, 5), (-12, -2), 1),
    ):
        start = sum((size - 1) * -step for size, step in zip(shape, strides, strict=True)
                    if step < 0)  # fmt: skip
        whole = start + second + 1
        whole += sum((size - 1) * max(step, 0) for size, step in zip(shape, strides, strict=True))
        pairs = bits(rng, whole, dtype)

        def seen(memory: Array, offset: int, shape: Any = shape, strides: Any = strides) -> Array:
            return as_strided(memory[offset:], shape, [memory.itemsize * s for s in strides])

        expected = pairs.copy()
        seen(expected, start)[...] = seen(pairs, start + second)
        seen(expected, start + second)[...] = seen(pairs, start)
        with Workspace(be) as ws:
            memory = ws.output(pairs)
            both = [(memory, strides, start), (memory, strides, start + second)]
            be.map(program, shape, both, [], both)
            assert (ws.read(memory) == expected).all(), (dtype, shape, strides)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "float32", "int64", "int8"])
@pytest.mark.parametrize("parts", [2, 4])
def test_outputs_one_of_each_in_turn(be: Backend, dtype: str, parts: int) -> None:
    """As random numbers lie that a block of words becomes; what is behind them stays."""
    if not has(be, dtype):
        return
    program = Program()
    value = program.input(dtype)
    program.output(*(value + i for i in range(parts)))
    for shape in ((1,), (2,), (513,), (5003,), (3, 5), (40, 7), (7, 600)):
        count = math.prod(shape)
        x = np.random.default_rng(4).integers(0, 100, count).astype(dtype)
        strides = tuple(math.prod(shape[d + 1 :]) * parts for d in range(len(shape)))
        with Workspace(be) as ws:
            out = ws.output(np.full(count * parts + 1, 77, dtype))
            places = [(out, strides, i) for i in range(parts)]
            be.map(program, shape, [ws.input(x)], [], places)
            added = x[:, None] + np.arange(parts).astype(dtype)
            assert (ws.read(out) == np.append(added, np.array(77, dtype))).all()
