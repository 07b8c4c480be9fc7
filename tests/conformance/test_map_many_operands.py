"""map(): more inputs and outputs than a kernel of any device binds."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright import Backend, Program

from .elements import has
from .workspace import Workspace

Array = npt.NDArray[Any]


@pytest.mark.parametrize("n", [1, 5, 1000, 1031])
@pytest.mark.parametrize("count", [7, 8, 9, 12, 40, 70])
def test_many_inputs(ws: Workspace, rng: np.random.Generator, count: int, n: int) -> None:
    program = Program()
    total = program.input("float32") * 1.0
    for i in range(1, count):
        total = total + program.input("float32") * float(i + 1)
    program.output(total)
    inputs = [rng.integers(0, 100, n).astype(np.float32) for _ in range(count)]
    out = ws.room(n, "float32")
    ws.be.map(program, (n,), [ws.input(x) for x in inputs], [], [out])
    expected = sum((i + 1) * x for i, x in enumerate(inputs))
    np.testing.assert_array_equal(ws.read(out), expected)


@pytest.mark.parametrize("times", [1, 6])
def test_strides_broadcasts_and_offsets(
    ws: Workspace, rng: np.random.Generator, times: int
) -> None:
    """Rows, columns, one element, walked backwards, transposed, from anywhere; numbers too."""
    shape = (6, 5, 7)
    program = Program()
    inputs = [program.input("float32") for _ in range(12 * times)]
    total = inputs[0]
    for x in inputs[1:]:
        total = total * program.number("float32") + x
    program.output(total, inputs[3] - inputs[4])
    numbers = [float(i % 3) for i in range(12 * times - 1)]
    walks = [
        ((35, 7, 1), 0), ((35, 7, 1), 3), ((0, 0, 1), 0), ((0, 1, 0), 2), ((1, 0, 0), 0),
        ((0, 0, 0), 9), ((-35, -7, -1), 209), ((1, 6, 30), 0), ((70, 14, 2), 1), ((0, 7, 1), 0),
        ((7, 0, 1), 5), ((35, 7, 1), 0),
    ] * times  # fmt: skip
    hosts = [rng.integers(-2, 3, 430).astype(np.float32) for _ in walks]
    views = [
        np.lib.stride_tricks.as_strided(host[at:], shape, [4 * s for s in strides])
        for host, (strides, at) in zip(hosts, walks, strict=True)
    ]
    operands = [(ws.input(host), *walk) for host, walk in zip(hosts, walks, strict=True)]
    out, difference = ws.room(shape, "float32"), ws.room(shape, "float32")
    ws.be.map(program, shape, operands, numbers, [out, (difference, (35, 7, 1), 0)])
    expected = views[0]
    for x, number in zip(views[1:], numbers, strict=True):
        expected = expected * np.float32(number) + x
    np.testing.assert_array_equal(ws.read(out), expected)
    np.testing.assert_array_equal(ws.read(difference), views[3] - views[4])


@pytest.mark.parametrize("count", [11, 71])
def test_many_outputs_in_place(ws: Workspace, rng: np.random.Generator, count: int) -> None:
    """Each output is an input of all that come after it too, which see it as it was."""
    n = 131
    program = Program()
    inputs = [program.input("float32") for _ in range(count)]
    program.output(*(inputs[i] + inputs[i - 1] for i in range(count)))
    hosts = [rng.integers(0, 100, n).astype(np.float32) for _ in range(count)]
    buffers = [ws.output(host) for host in hosts]
    ws.be.map(program, (n,), buffers, [], buffers)
    for i, buffer in enumerate(buffers):
        np.testing.assert_array_equal(ws.read(buffer), hosts[i] + hosts[i - 1])


@pytest.mark.parametrize("times", [3, 15])
def test_small_dtypes_among_others(
    be: Backend, ws: Workspace, rng: np.random.Generator, times: int
) -> None:
    n = 77
    dtypes = [one for one in ("int8", "uint16", "float32", "int64", "bool") if has(be, one)]
    dtypes = dtypes * times
    program = Program()
    inputs = [program.input(dtype) for dtype in dtypes]
    total = inputs[0].cast("int32")
    for x in inputs[1:]:
        total = total + x.cast("int32")
    program.output(total, total.cast("int8"), inputs[1].cast("uint16"))
    hosts = [rng.integers(0, 2, n).astype(dtype) for dtype in dtypes]
    outs = [ws.room(n, dtype) for dtype in ("int32", "int8", "uint16")]
    ws.be.map(program, (n,), [ws.input(host) for host in hosts], [], outs)
    expected = sum(host.astype(np.int32) for host in hosts)
    np.testing.assert_array_equal(ws.read(outs[0]), expected)
    np.testing.assert_array_equal(ws.read(outs[1]), expected.astype(np.int8))
    np.testing.assert_array_equal(ws.read(outs[2]), hosts[1].astype(np.uint16))


def test_seven_buffers_of_many_dimensions(ws: Workspace, rng: np.random.Generator) -> None:
    """Their shape and strides take a buffer more."""
    shape = (2,) * 9
    program = Program()
    total = program.input("float32")
    for _ in range(6):
        total = total + program.input("float32")
    program.output(total)
    hosts = [rng.integers(0, 99, shape).astype(np.float32) for _ in range(7)]
    turned = [host.transpose(rng.permutation(9)) for host in hosts]
    operands = [
        (ws.input(host), tuple(step // 4 for step in x.strides))
        for host, x in zip(hosts, turned, strict=True)
    ]
    out = ws.room(shape, "float32")
    ws.be.map(program, shape, operands, [], [out])
    np.testing.assert_array_equal(ws.read(out), sum(turned))


def test_many_dtypes(be: Backend, ws: Workspace) -> None:
    dtypes = [
        one
        for one in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "bfloat16")
        if has(be, one)
    ] * 9
    program = Program()
    total = program.input(dtypes[0]).cast("float32")
    for dtype in dtypes[1:]:
        total = total + program.input(dtype).cast("float32")
    program.output(total)
    inputs = [ws.input(np.zeros(4, "uint16" if one == "bfloat16" else one)) for one in dtypes]
    out = ws.room(4, "float32")
    ws.be.map(program, (4,), inputs, [], [out])
    assert (ws.read(out) == 0).all()
