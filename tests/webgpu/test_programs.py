"""Kernels of programs: words that hold several elements, bindings, parameters, and the compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tilewright
from tilewright import Backend, Program, Unsupported

Array = npt.NDArray[Any]

DTYPES = ("bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64")
CLASSES = ("bool", "int32", "uint32", "int64", "uint64", "float32", "float64")


@pytest.fixture(scope="module")
def be() -> Iterator[Backend]:
    with tilewright.init_backend("webgpu:0") as backend:
        yield backend


class Elements:
    """A buffer of elements, of which views are operands, and the same in NumPy."""

    def __init__(self, be: Backend, content: Array) -> None:
        self.be, self.content = be, content
        self.buffer = be.alloc(content.nbytes)
        be.copy_htod(self.buffer, content)

    def operand(self, view: Array) -> tuple[int, tuple[int, ...], int]:
        size = self.content.itemsize
        start = view.__array_interface__["data"][0] - self.content.__array_interface__["data"][0]
        return self.buffer, tuple(s // size for s in view.strides), start // size

    def read(self) -> Array:
        got = np.empty_like(self.content)
        self.be.copy_dtoh(got, self.buffer)
        self.be.free(self.buffer)
        return got


def random_view(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: str, out: bool
) -> tuple[Array, Array]:
    """A view of a larger array, with this shape: sliced, transposed, turned round, broadcast; and
    all of that array."""
    order = rng.permutation(len(shape)) if rng.random() < 0.4 else np.arange(len(shape))
    sizes, cuts = [], []
    for at in order:
        n = shape[at]
        if not out and n > 1 and rng.random() < 0.15:
            sizes.append(1)
            cuts.append(slice(None))
            continue
        step = int(rng.choice([1, 1, 1, 1, 2, 3, -1]))
        before = int(rng.choice([0, 0, 1, 4, 5]))
        after = int(rng.choice([0, 0, 3, 4]))
        length = (n - 1) * abs(step) + 1
        sizes.append(before + length + after)
        first, last = before, before + length
        if step > 0:
            cuts.append(slice(first, last, step))
        else:
            cuts.append(slice(last - 1, first - 1 if first > 0 else None, step))
    total = int(np.prod(sizes))
    if dtype == "bool":
        base = rng.integers(0, 2, total + 7).astype(bool)
    else:
        base = rng.integers(0, 100, total + 7).astype(dtype)
    start = int(rng.choice([0, 0, 1, 2, 4, 7]))
    view = base[start : start + total].reshape(sizes)[tuple(cuts)]
    view = view.transpose(np.argsort(order))
    return np.broadcast_to(view, shape), base


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_layout_and_no_neighbour(be: Backend, dtype: str) -> None:
    if dtype not in be.capabilities().storage_dtypes:
        pytest.fail(f"{dtype} is not among {be.capabilities().storage_dtypes}")
    rng = np.random.default_rng(DTYPES.index(dtype))
    other = "int8" if dtype != "int8" else "float32"
    program = Program()
    x, y = program.input(dtype), program.input(other)
    flag = y > program.constant(50, other)
    program.output(program.apply("where", flag, x, program.constant(1, dtype)), flag)
    for _ in range(40):
        rank = int(rng.integers(1, 5))
        shape = tuple(int(n) for n in rng.choice([1, 2, 3, 4, 5, 8, 12, 31], rank))
        a, a_base = random_view(rng, shape, dtype, out=False)
        b, b_base = random_view(rng, shape, other, out=False)
        c, c_base = random_view(rng, shape, dtype, out=True)
        d, d_base = random_view(rng, shape, "bool", out=True)
        arrays = [Elements(be, base) for base in (a_base, b_base, c_base, d_base)]
        operands = [one.operand(view) for one, view in zip(arrays, (a, b, c, d), strict=True)]
        be.map(program, shape, operands[:2], [], operands[2:])
        with np.errstate(all="ignore"):
            expected = np.where(b > 50, a, np.ones((), dtype)).astype(dtype)
        c.flags.writeable = d.flags.writeable = True
        c[...] = expected
        d[...] = b > 50
        for one in arrays:
            assert (one.read() == one.content).all(), (shape, a.strides, b.strides, c.strides)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "float64"])
def test_in_place_and_beside_itself(be: Backend, dtype: str) -> None:
    program = Program()
    x, y = program.input(dtype), program.input(dtype)
    program.output(x + y)
    for n in (1, 3, 4, 9, 1025, 5000):
        values = (np.arange(2 * n + 8) % 50).astype(dtype)
        for first, second in ((0, n), (0, n + 3), (3, n + 4), (1, n + 1)):
            content = Elements(be, values.copy())
            one = (content.buffer, (1,), first)
            be.map(program, (n,), [one, (content.buffer, (1,), second)], [], [one])
            content.content[first : first + n] += values[second : second + n]
            assert (content.read() == content.content).all(), (n, first, second)


def test_two_outputs_in_the_words_of_one_buffer(be: Backend) -> None:
    program = Program()
    x = program.input("int8")
    program.output(x, x + program.constant(1, "int8"))
    for n in (1, 5, 6, 100, 4099):
        values = (np.arange(n) % 100).astype("int8")
        content = Elements(be, np.full(2 * n + 3, 77, "int8"))
        source = Elements(be, values)
        outputs = [(content.buffer, (1,), 1), (content.buffer, (1,), n + 1)]
        be.map(program, (n,), [source.operand(values)], [], outputs)
        content.content[1 : n + 1] = values
        content.content[n + 1 : 2 * n + 1] = values + 1
        assert (content.read() == content.content).all(), n
        source.read()


def test_more_parameters_than_a_launch_takes(be: Backend) -> None:
    program = Program()
    total = program.input("int64")
    for _ in range(40):
        total = total + program.number("int64")
    program.output(total)
    numbers = [3**i % (1 << 60) for i in range(40)]
    values = np.arange(9)
    content = Elements(be, values.copy())
    be.map(program, (9,), [content.buffer], numbers, [content.buffer])
    content.content += np.array(numbers).sum()
    assert (content.read() == content.content).all()

    # Thirteen dimensions that do not join, of three operands.
    shape = (2,) * 13
    rng = np.random.default_rng(5)
    add = Program()
    add.output(add.input("float32") + add.input("float32"))
    a = rng.integers(0, 99, shape).astype("f4").transpose(rng.permutation(13))
    b = rng.integers(0, 99, shape).astype("f4").transpose(rng.permutation(13))
    arrays = [Elements(be, x.transpose(np.argsort(x.strides)[::-1])) for x in (a, b)]
    out = Elements(be, np.zeros(shape, "f4"))
    operands = [one.operand(x) for one, x in zip(arrays, (a, b), strict=True)]
    be.map(add, shape, operands, [], [out.operand(out.content)])
    assert (out.read() == a + b).all()


def test_more_than_one_binding_holds(be: Backend) -> None:
    most = be.capabilities().limits["max_binding_bytes"]
    n = (1 << 26) + 1003
    if most >= 2 * n:  # a larger device holds it in one
        n = 1 << 20
    program = Program()
    program.output(program.input("int16").cast("int8"))
    values = (np.arange(n, dtype="i4") * 7 % 301).astype("i2")
    content = Elements(be, values)
    out = Elements(be, np.zeros(n, "i1"))
    be.map(program, (n,), [content.buffer], [], [out.buffer])
    got = out.read()
    be.free(content.buffer)
    assert (got == values.astype("i1")).all()


def applied(program: Program, op: str, dtype: str, values: dict[str, Any]) -> Any:
    """An op of a dtype, of inputs that the program has; None where it takes others."""
    takes = Program._operands(op)
    operands = [values["bool"], *[values[dtype]] * 2] if op == "where" else [values[dtype]] * takes
    try:
        return program.apply(op, *operands)
    except tilewright.InvalidArgument:
        return None


def compile_alone(be: Backend, op: str, dtype: str) -> None:
    program = Program()
    values = {name: program.input(name) for name in {dtype, "bool"}}
    result = applied(program, op, dtype, values)
    if result is None:
        return
    program.output(result)
    n = 5
    inputs = [be.alloc(8 * n) for _ in values]
    out = be.alloc(8 * n)
    try:
        be.map(program, (n,), inputs, [], [out])
        be.synchronize()
    except Unsupported as refused:
        assert dtype == "float64", refused
        assert op in str(refused)
    for buffer in (*inputs, out):
        be.free(buffer)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", CLASSES)
def test_each_op_compiles_alone(be: Backend, dtype: str) -> None:
    for op in Program.ops():
        compile_alone(be, op, dtype)


@pytest.mark.parametrize("dtype", [name for name in CLASSES if name != "float64"])
def test_all_ops_compile_together(be: Backend, dtype: str) -> None:
    program = Program()
    values = {name: program.input(name) for name in {dtype, "bool"}}
    results = [applied(program, op, dtype, values) for op in Program.ops()]
    total = program.constant(0, "uint32")
    for result in results:
        if result is not None:
            total = total + result.cast("bool").cast("uint32")
    program.output(total)
    inputs = [be.array(np.zeros(64, "u1").view("f4")) for _ in values]
    out = be.array(np.zeros(8, "f4"))
    be.map(program, (8,), [one.handle for one in inputs], [], [out.handle])
    be.synchronize()


def test_kernels_of_users_have_no_64_bit_types(succeeds: Callable[..., str]) -> None:
    """The compiler ends the process over some of their functions."""
    code = """
import tilewright
with tilewright.init_backend("webgpu:0") as be:
    try:
        be.create_kernel('''
@group(0) @binding(0) var<storage, read_write> d: array<vec4<i64>>;
@compute @workgroup_size(1) fn main() { d[0] = countLeadingZeros(d[0]); }''')
    except tilewright.KernelError as refused:
        print("i64" in str(refused))
"""
    assert succeeds(code) == "True\n"
