"""map_many(): a program over groups of operands of different lengths, by as many launches as
bindings ask for, bit for bit what map() makes of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument, Program

from .elements import has
from .workspace import GUARD, Workspace

if TYPE_CHECKING:
    from tilewright.program import Value

Host = npt.NDArray[Any]
DTYPES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
    "bfloat16", "float32", "float64",
)  # fmt: skip
LENGTHS = (1, 2, 3, 4, 5, 63, 64, 65, 511, 512, 513, 1024, 2047, 4099, 20011)


def drawn(rng: np.random.Generator, n: int, dtype: str) -> Host:
    if dtype == "bool":
        return rng.integers(0, 2, n).astype(bool)
    if dtype == "bfloat16":
        return (rng.standard_normal(n).astype("f4").view("u4") >> 16).astype("u2")
    if dtype.startswith("float"):
        return rng.standard_normal(n).astype(dtype)
    return rng.integers(0, 100, n).astype(dtype)


def combined(dtype: str) -> Program:
    """Two outputs of two inputs and a number."""
    program = Program()
    x, y = program.input(dtype), program.input(dtype)
    if dtype == "bool":
        program.output(x & y, x ^ y)
    else:
        k = program.number(dtype)
        program.output(x * k + y, x - y)
    return program


def numbers_of(program: Program) -> list[float]:
    return [3] * len(program.numbers)


def one_by_one(
    ws: Workspace, program: Program, hosts: Sequence[Sequence[Host]], like: Sequence[Any],
) -> list[list[Host]]:  # fmt: skip
    """What map() makes of each group."""
    found = []
    for inputs in hosts:
        n = inputs[0].size
        outs = [ws.room(n, dtype) for dtype in like]
        ws.be.map(program, (n,), [ws.input(x) for x in inputs], numbers_of(program), outs)
        found.append([ws.read(out) for out in outs])
    return found


def equal(got: Host, expected: Host) -> None:
    np.testing.assert_array_equal(got.view(np.uint8), expected.view(np.uint8))


def host_dtype(dtype: str) -> str:
    return "uint16" if dtype == "bfloat16" else dtype


@pytest.mark.sampled(8)
@pytest.mark.essential
@pytest.mark.parametrize("dtype", DTYPES)
def test_as_map(ws: Workspace, rng: np.random.Generator, dtype: str) -> None:
    if not has(ws.be, dtype):
        with pytest.raises(tw.Unsupported, match=dtype):
            x, y, a, b = (ws.room(4, host_dtype(dtype)) for _ in range(4))
            program = combined(dtype)
            ws.be.map_many(program, [(2, [x, y], [a, b])], numbers_of(program))
        return
    program = combined(dtype)
    hosts = [(drawn(rng, n, dtype), drawn(rng, n, dtype)) for n in LENGTHS]
    outs = [[ws.room(n, host_dtype(dtype)) for _ in range(2)] for n in LENGTHS]
    groups = [
        (n, [ws.input(x), ws.input(y)], out)
        for n, (x, y), out in zip(LENGTHS, hosts, outs, strict=True)
    ]
    ws.be.map_many(program, groups, numbers_of(program))
    expected = one_by_one(ws, program, hosts, [host_dtype(dtype)] * 2)
    for out, wanted in zip(outs, expected, strict=True):
        for one, other in zip(out, wanted, strict=True):
            equal(ws.read(one), other)


def test_in_place(ws: Workspace, rng: np.random.Generator) -> None:
    """Outputs that are inputs, of groups that are alike and of some that are not."""
    program = Program()
    x, y = program.input("float32"), program.input("float32")
    program.output(x + y, x * y)
    lengths = (5, 1000, 77, 3, 2048, 1)
    hosts = [[drawn(rng, n, "float32") for _ in range(2)] for n in lengths]
    groups, outs = [], []
    for i, (n, (a, b)) in enumerate(zip(lengths, hosts, strict=True)):
        first, second = ws.output(a), ws.output(b)
        # Each output is the other's input; itself; or one of them alone.
        out = ([first, second], [second, first], [first, ws.room(n)])[i % 3]
        groups.append((n, [first, second], out))
        outs.append(out)
    ws.be.map_many(program, groups, [])
    for (a, b), out in zip(hosts, outs, strict=True):
        equal(ws.read(out[0]), a + b)
        equal(ws.read(out[1]), a * b)


def test_parts_of_one_buffer(ws: Workspace, rng: np.random.Generator) -> None:
    """Groups that lie in one buffer, wherever they start, and leave all between them as it is."""
    program = Program()
    program.output(program.input("float32") * 2.0)
    host = drawn(rng, 6000, "float32")
    expected = host.copy()
    whole = ws.output(host)
    source = ws.input(host)
    groups: list[Any] = []
    at = 0
    for i, n in enumerate((64, 1, 100, 7, 513, 8, 1, 1, 1000, 2)):
        start = at + (0, 3, 4, 8)[i % 4]
        groups.append((n, [(source, (1,), at)], [(whole, (1,), start)]))
        expected[start : start + n] = 2 * host[at : at + n]
        at = start + n
    groups.append((4, [(whole, (1,), 5000)], [(whole, (1,), 5000)]))
    expected[5000:5004] = 2 * host[5000:5004]
    ws.be.map_many(program, groups, [])
    equal(ws.read(whole), expected)


def test_views(be: Backend, rng: np.random.Generator) -> None:
    host = drawn(rng, 4096, "float32")
    x = be.array(host)
    buffer = be.alloc(4096 * 4)
    be.copy_htod(buffer, host)
    views = [be.view(buffer, 1024 * i, 1024) for i in range(8)]
    program = Program()
    program.output(program.input("float32") + 1.0)
    be.map_many(program, [(200 + i, [one], [one]) for i, one in enumerate(views)], [])
    left = np.empty(4096, "f4")
    be.copy_dtoh(left, buffer)
    expected = host.copy()
    for i in range(8):
        expected[256 * i : 256 * i + 200 + i] += np.float32(1)
    np.testing.assert_array_equal(left, expected)
    # Arrays are operands, where their elements lie side by side.
    rows = x.reshape((64, 64))
    be.map_many(program, [(640, [rows[10:20]], [rows[10:20]]), (64, [rows[63]], [rows[63]])], [])
    host = host.reshape(64, 64).copy()
    host[10:20] += 1
    host[63] += 1
    np.testing.assert_array_equal(rows.numpy(), host)
    with pytest.raises(InvalidArgument, match=r"groups\[0\]\.inputs\[0\] has strides.*map\(\)"):
        be.map_many(program, [(64, [rows[:, 0]], [rows[0]])], [])
    for one in (*views, buffer):
        be.free(one)


def widening(program: Program) -> Sequence[Value]:
    a, b, c = program.input("int8"), program.input("float32"), program.input("float16")
    return (a.cast("float32") + b * c.cast("float32")), c, a.cast("int32")


def unused(program: Program) -> Sequence[Value]:
    """The second input is of no use."""
    a, _, c = program.input("int32"), program.input("float32"), program.input("int32")
    return (a * c, program.constant(7, "int32"))


@pytest.mark.parametrize("form", [widening, unused])
def test_mixed_dtypes(
    ws: Workspace, rng: np.random.Generator, form: Callable[[Program], Sequence[Value]]
) -> None:
    program = Program()
    program.output(*form(program))
    dtypes, outputs = program.inputs, program.outputs
    hosts = [[drawn(rng, n, str(dtype)) for dtype in dtypes] for n in LENGTHS]
    outs = [[ws.room(n, str(dtype)) for dtype in outputs] for n in LENGTHS]
    groups = [
        (n, [ws.input(x) for x in one], out)
        for n, one, out in zip(LENGTHS, hosts, outs, strict=True)
    ]
    ws.be.map_many(program, groups, [])
    expected = one_by_one(ws, program, hosts, [str(dtype) for dtype in outputs])
    for out, wanted in zip(outs, expected, strict=True):
        for one, other in zip(out, wanted, strict=True):
            equal(ws.read(one), other)


def test_many_numbers(ws: Workspace, rng: np.random.Generator) -> None:
    """More parameters than a launch takes go through a buffer."""
    program = Program()
    total = program.input("float32")
    for _ in range(120):
        total = total + program.number("float32")
    program.output(total)
    hosts = [rng.integers(0, 9, n).astype("f4") for n in (5, 1000, 33)]
    outs = [ws.room(x.size) for x in hosts]
    groups = [(x.size, [ws.input(x)], [out]) for x, out in zip(hosts, outs, strict=True)]
    ws.be.map_many(program, groups, [float(i) for i in range(120)])
    for x, out in zip(hosts, outs, strict=True):
        equal(ws.read(out), x + np.float32(7140))


def test_more_operands_than_bindings(ws: Workspace, rng: np.random.Generator) -> None:
    """A group alone has more than a kernel binds."""
    program = Program()
    inputs = [program.input("float32") for _ in range(70)]
    total = inputs[0]
    for one in inputs[1:]:
        total = total + one
    program.output(total)
    hosts = [[rng.integers(0, 9, n).astype("f4") for _ in range(70)] for n in (5, 300)]
    outs = [ws.room(n) for n in (5, 300)]
    groups = [
        (one[0].size, [ws.input(x) for x in one], [out])
        for one, out in zip(hosts, outs, strict=True)
    ]
    ws.be.map_many(program, groups, [])
    for one, out in zip(hosts, outs, strict=True):
        equal(ws.read(out), np.sum(one, axis=0, dtype="f4"))


def test_more_workgroups_than_a_dimension_has(be: Backend) -> None:
    n = 65_536 * 1_024 + 5
    program = Program()
    program.output(program.input("uint8") + 1)
    sizes = (n, 3, 70_001)
    buffers = [be.alloc(size + 1) for size in sizes]
    host = (np.arange(n + 1, dtype=np.uint32) * 7).astype(np.uint8)
    for buffer, size in zip(buffers, sizes, strict=True):
        be.copy_htod(buffer, host[: size + 1])
    be.map_many(
        program, [(size, [one], [one]) for size, one in zip(sizes, buffers, strict=True)], []
    )
    left = np.empty(n + 1, np.uint8)
    for buffer, size in zip(buffers, sizes, strict=True):
        be.copy_dtoh(left[: size + 1], buffer)
        assert (left[:size] == host[:size] + np.uint8(1)).all()
        assert left[size] == host[size]
        be.free(buffer)


def test_groups_without_elements(ws: Workspace) -> None:
    program = Program()
    program.output(program.input("float32") * 2.0)
    x, out = ws.input(np.ones(3, "f4")), ws.room(3)
    ws.be.map_many(program, [], [])
    ws.be.map_many(program, [(0, [0], [0]), (0, [x], [x])], [])
    ws.be.map_many(program, [(0, [0], [0]), (2, [x], [out]), (0, [x], [x])], [])
    got = ws.read(out)
    assert (got[:2] == 2).all() and (got[2:].view(np.uint8) == GUARD).all()


@pytest.mark.parametrize(
    ("groups", "numbers", "message"),
    [
        ([(4, ["x"], ["out"])], [1.0], r"program has 2 inputs, and groups\[0\] has 1"),
        ([(4, ["x", "y"], ["out"]), (4, ["x", "y"], [])], [1.0],
         r"1 outputs, and groups\[1\] has 0"),
        ([(4, ["x", "y"], ["out"])], [], "the program has 1 numbers, and 0 are given"),
        ([(-1, ["x", "y"], ["out"])], [1.0], r"groups\[0\].length is -1"),
        ([(1, ["x", "y"], ["z"]), (5, ["x", "y"], ["out"])], [1.0],
         r"groups\[1\].inputs\[0\] holds 16 bytes"),
        ([(4, ["x", ("y", (1,), 1)], ["out"])], [1.0], r"groups\[0\].inputs\[1\] holds 16 bytes"),
        ([(2, ["x", ("y", (1,), -1)], ["out"])], [1.0], r"inputs\[1\].offset is -1"),
        ([(2, ["x", ("y", (2,))], ["out"])], [1.0], r"groups\[0\].inputs\[1\] has strides"),
        ([(2, ["x", "y"], [("out", (0,))])], [1.0], r"groups\[0\].outputs\[0\] has strides"),
        ([(2, ["x", "y"], [("out", (2, 1))])], [1.0], r"groups\[0\].outputs\[0\] has strides"),
        ([(2, [("out", (1,), 1), "y"], ["out"])], [1.0],
         r"groups\[0\].outputs\[0\] .* overlaps groups\[0\].inputs\[0\] .* have its offset"),
        ([(2, ["x", "y"], ["out"]), (2, ["x", "out"], ["z"])], [1.0],
         r"groups\[0\].outputs\[0\] .* overlaps groups\[1\].inputs\[1\] .* another group reads"),
        ([(2, ["x", "y"], ["out"]), (2, ["x", "y"], [("out", (1,), 1)])], [1.0],
         r"overlaps groups\[\d\].outputs\[0\] .*outputs must be apart"),
        ([(2**62, ["x", "y"], ["out"])], [1.0], r"groups\[0\].inputs\[0\]|64 bits"),
        ([(2, ["x", ("y", (1,), 2**63 - 1)], ["out"])], [1.0], "64 bits"),
        ([(2, ["x", 12345678], ["out"])], [1.0], r"groups\[0\].inputs\[1\] is 12345678"),
        ([(2, ["x", "y"])], [1.0], r"groups\[0\] is .*expected \(length, inputs, outputs\)"),
        ([(2, 3, ["out"])], [1.0], r"groups\[0\].inputs is 3"),
        ([("n", ["x", "y"], ["out"])], [1.0], r"groups\[0\].length is 'n'"),
        (3, [1.0], r"groups is 3 \(int\), expected a list"),
    ],
)  # fmt: skip
def test_wrong_arguments(be: Backend, groups: Any, numbers: list[float], message: str) -> None:
    program = Program()
    program.output(program.input("float32") + program.input("float32") * program.number("float32"))
    exact = {}
    for name in ("x", "y", "z", "out"):
        exact[name] = be.alloc(16)
        be.copy_htod(exact[name], np.full(4, 7, "f4"))

    def placed(operands: Any) -> Any:
        if not isinstance(operands, list):
            return operands
        return [
            (exact[one[0]], *one[1:]) if isinstance(one, tuple) else exact.get(one, one)
            for one in operands
        ]

    if isinstance(groups, list):
        groups = [(one[0], *map(placed, one[1:])) for one in groups]
    with pytest.raises(InvalidArgument, match=message):
        be.map_many(program, groups, numbers)
    for name, buffer in exact.items():
        left = np.empty(4, "f4")
        be.copy_dtoh(left, buffer)
        assert (left == 7).all(), name
        be.free(buffer)


def test_no_output(be: Backend) -> None:
    program = Program()
    program.input("float32")
    with pytest.raises(InvalidArgument, match="no output; give it one"):
        be.map_many(program, [(1, [0], [])], [])


def test_few_launches(be: Backend) -> None:
    """Of 100 groups as many as a kernel binds are one launch, and on the cpu all."""
    program = Program()
    x, y = program.input("float32"), program.input("float32")
    program.output(x + y)

    def launches(groups: Any) -> int:
        be.map_many(program, groups, [])  # compiled
        with be.profile() as profile:
            be.map_many(program, groups, [])
        return len(profile.records)

    bound = be.device.limits["max_bindings"] if be.name != "cpu" else 200
    apart = [[be.array(np.full(n + 1, 2.0, "f4")) for _ in range(2)] for n in range(100)]
    # What a launch is told may take one.
    together = min(32, (bound - 1) // 2) if be.name != "cpu" else 100
    assert launches([(a.size, [a, b], [a]) for a, b in apart]) <= -(-100 // together)
    # In one buffer, wherever in it.
    whole = be.array(np.ones(100 * 64, "f4"))
    parts = [whole[64 * i : 64 * i + 60] for i in range(100)]
    assert launches([(60, [one, one], [one]) for one in parts]) <= (1 if be.name == "cpu" else 4)
    # Each by itself where no quad starts.
    odd = [(60, [whole[64 * i + 1 : 64 * i + 61]] * 2, [parts[i + 1]]) for i in range(0, 10, 2)]
    assert launches(odd) == (1 if be.name == "cpu" else 5)


def test_recorded(be: Backend, rng: np.random.Generator) -> None:
    program = Program()
    x, k = program.input("float32"), program.number("float32")
    program.output(x * k)
    sizes = (1, 100, 7, 4096, 13) * 5
    hosts = [drawn(rng, n, "float32") for n in sizes]
    arrays = [be.array(host) for host in hosts]
    groups = [(one.size, [one], [one]) for one in arrays]
    with be.record() as recording:
        be.map_many(program, groups, [2.0])
    for _ in range(3):
        recording.replay()
    for host, one in zip(hosts, arrays, strict=True):
        np.testing.assert_array_equal(one.numpy(), host * 8)
