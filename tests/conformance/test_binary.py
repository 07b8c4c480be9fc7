"""binary and binary_broadcast."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tilewright import Backend, BinaryOp

from . import bounds, references
from .workspace import Array, Workspace, keeps_subnormals, normal

OPS = list(references.BINARY)
SIZES = [0, 1, 3, 17, 257, 65537]

every_op = pytest.mark.parametrize("op", OPS)


def test_no_op_is_missing() -> None:
    assert {member.value for member in BinaryOp} == set(OPS)


def expect(ws: Workspace, op: str, got: Array, a: Array, b: Array) -> None:
    exact = references.BINARY[op](a, b)
    tolerance = bounds.elementwise(op, exact, exact, keeps_subnormals(ws.be))
    bounds.assert_within(got, exact, tolerance)


def inputs(rng: np.random.Generator, op: str, shape: int | tuple[int, ...], dtype: str) -> Array:
    """Numbers of both signs; for pow those with a real result that is no underflow."""
    if op == "pow":
        return rng.uniform(0.1, 4.0, shape).astype(dtype)
    return normal(rng, shape, dtype)


@pytest.mark.sampled(12)
@every_op
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("output", ["new", "a"])
@pytest.mark.parametrize("first", [False, True])
def test_a_number(
    ws: Workspace, rng: np.random.Generator, op: str, n: int, output: str, first: bool, dtype: str
) -> None:
    a, number = inputs(rng, op, n, dtype), 0.7
    left = ws.output(a) if output == "a" else ws.input(a)
    out = left if output == "a" else ws.room(n, dtype)
    ws.be.binary_scalar(op, left, number, out, n, first, dtype)
    b = np.full(n, number, dtype)
    expect(ws, op, ws.read(out), *((b, a) if first else (a, b)))


def test_the_smallest_quotients(ws: Workspace, rng: np.random.Generator) -> None:
    """On both sides of the smallest normal number, above which each is rounded to nearest."""
    n = 20_000
    a = (rng.uniform(1, 2, n) * 2.0 ** rng.integers(-126, 0, n)).astype(np.float32)
    b = (a / (rng.uniform(1, 2, n) * 2.0 ** rng.integers(-128, -123, n))).astype(np.float32)
    b = np.where(np.isfinite(b), b, np.float32(1))
    quotients = a.astype(np.float64) / b
    assert np.count_nonzero((quotients >= 2.0**-126) & (quotients < 2.0**-125)) > n / 10
    for divided, by in ((a, b), (-a, b), (a, -b)):
        out = ws.room(n)
        ws.be.binary("div", ws.input(divided), ws.input(by), out, n)
        expect(ws, "div", ws.read(out), divided, by)


def test_numbers_round_as_numpys_do(ws: Workspace, dtype: str) -> None:
    """Each number stands in the place of an element; more of them than the backend keeps."""
    kind = np.dtype(dtype).type
    around = [kind(x) for x in (1, 1.5, -2, 6e-5, 6e-8, 60000, 1e-20 if dtype == "float32" else 0)]
    above = [np.nextafter(x, kind(np.inf)) for x in around]
    numbers = [0.0, -0.0, np.nan, np.inf, -np.inf, 65519.99, 65520.0, -1e300, 1e-300, 0.1, 3.3, 7.7]
    for x, y in zip(around, above, strict=True):
        middle = (float(x) + float(y)) / 2
        numbers += [middle, np.nextafter(middle, -np.inf), np.nextafter(middle, np.inf)]
    assert len(numbers) > 32
    one, out = ws.input(np.ones(3, dtype)), ws.room(3, dtype)
    for number in numbers:
        ws.be.binary_scalar("mul", one, number, out, 3, dtype=dtype)
        with np.errstate(over="ignore"):
            expected = np.asarray(number, np.float64).astype(dtype)
        if expected != 0 and abs(expected) < np.finfo(dtype).tiny:
            continue  # the product of a subnormal, which a GPU may flush
        np.testing.assert_array_equal(ws.read(out), np.full(3, expected))


def test_a_number_is_uploaded_once(be: Backend) -> None:
    be.trim()
    x = be.array(np.arange(5, dtype=np.float32))
    cached = be.memory_stats().cached_bytes
    made = be.memory_stats().total_allocations
    for _ in range(3):
        assert (x + 2.5).numpy().tolist() == [2.5, 3.5, 4.5, 5.5, 6.5]
        assert (2.5 - x).numpy().tolist() == [2.5, 1.5, 0.5, -0.5, -1.5]
    after = be.memory_stats()
    assert after.total_allocations == made + 6, "the results and nothing else"
    assert after.cached_bytes >= cached
    for number in range(200):
        _ = x * number
    be.trim()
    assert (x * 2).numpy().tolist() == [0, 2, 4, 6, 8]
    del x


@pytest.mark.sampled(12)
@pytest.mark.essential
@every_op
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("output", ["new", "a", "b", "both"])
def test_against_float64(
    ws: Workspace, rng: np.random.Generator, op: str, n: int, output: str, dtype: str
) -> None:
    a, b = inputs(rng, op, n, dtype), inputs(rng, op, n, dtype)
    if output == "both":
        b = a
        left = right = out = ws.output(a)
    else:
        left = ws.output(a) if output == "a" else ws.input(a)
        right = ws.output(b) if output == "b" else ws.input(b)
        out = {"a": left, "b": right}.get(output) or ws.room(n, dtype)
    ws.be.binary(op, left, right, out, n, dtype)
    expect(ws, op, ws.read(out), a, b)


@pytest.mark.essential
@every_op
def test_special_values(ws: Workspace, op: str, dtype: str) -> None:
    """Every pair of them, as NumPy has it."""
    info = np.finfo(dtype)
    some = [0, 0.5, 1, 2, 3, 7.5, info.max, info.tiny, np.inf]
    values = np.array([*some, *(-x for x in some), np.nan]).astype(dtype)
    a, b = (x.ravel().copy() for x in np.meshgrid(values, values))
    out = ws.room(a.size, dtype)
    ws.be.binary(op, ws.input(a), ws.input(b), out, a.size, dtype)
    expect(ws, op, ws.read(out), a, b)


@every_op
def test_special_values_with_themselves(ws: Workspace, op: str, dtype: str) -> None:
    """In place of both inputs, where a compiler sees that they are one."""
    info = np.finfo(dtype)
    some = [0, 0.5, 1, 3, info.max, info.tiny, np.inf]
    values = np.array([*some, *(-x for x in some), np.nan]).astype(dtype)
    for n in (values.size, 65537):
        x = np.resize(values, n)
        out = ws.output(x)
        ws.be.binary(op, out, out, out, n, dtype)
        expect(ws, op, ws.read(out), x, x)


def test_pow_of_integers(ws: Workspace, dtype: str) -> None:
    a, b = (x.ravel() for x in np.meshgrid(np.arange(-9, 10), np.arange(-5, 6)))
    a, b = a.astype(dtype), b.astype(dtype)
    out = ws.room(a.size, dtype)
    ws.be.binary("pow", ws.input(a), ws.input(b), out, a.size, dtype)
    expect(ws, "pow", ws.read(out), a, b)


def test_exactly_n_elements(ws: Workspace, dtype: str) -> None:
    ones, out = ws.input(np.ones(100, dtype)), ws.output(np.full(100, 7, dtype))
    ws.be.binary("add", ones, ones, out, 33, dtype)
    np.testing.assert_array_equal(ws.read(out), [2] * 33 + [7] * 67)


def broadcast_strides(shape: tuple[int, ...], to: tuple[int, ...]) -> list[int]:
    """Strides, in elements, of a contiguous array of `shape` broadcast to `to`."""
    view = np.broadcast_to(np.empty(shape, np.int8), to)
    return list(view.strides)


def run_broadcast(ws: Workspace, op: str, a: Array, b: Array) -> Array:
    shape = np.broadcast_shapes(a.shape, b.shape)
    out = ws.room(shape, a.dtype)
    ws.be.binary_broadcast(
        op,
        ws.input(a), broadcast_strides(a.shape, shape),
        ws.input(b), broadcast_strides(b.shape, shape),
        out, list(shape), a.dtype.name,
    )  # fmt: skip
    return ws.read(out)


BROADCASTS = [
    ((), ()),
    ((3,), (1,)),
    ((1,), (3,)),
    ((3, 17), (17,)),
    ((3, 17), (3, 1)),
    ((3, 1), (1, 17)),
    ((257, 1, 5), (1, 17, 5)),
    ((2, 3, 5, 7), (3, 1, 7)),
    ((2, 1, 5, 1, 7), (1, 3, 1, 2, 7)),
    ((2, 1, 2, 1, 2, 1, 2, 1), (1, 3, 1, 3, 1, 3, 1, 3)),
    ((65537, 1), (1, 3)),
    ((1, 65537), (3, 1)),
    ((65537,), ()),
    ((0, 3), (1, 3)),
    ((3, 0), (3, 1)),
]


@pytest.mark.sampled(12)
@pytest.mark.essential
@pytest.mark.parametrize(("a_shape", "b_shape"), BROADCASTS, ids=str)
def test_broadcasting(
    be: Backend,
    rng: np.random.Generator,
    a_shape: tuple[int, ...],
    b_shape: tuple[int, ...],
    dtype: str,
) -> None:
    for op in OPS:
        a, b = inputs(rng, op, a_shape, dtype), inputs(rng, op, b_shape, dtype)
        a, b = np.asarray(a), np.asarray(b)
        with Workspace(be) as ws:
            expect(ws, op, run_broadcast(ws, op, a, b), a, b)


def test_any_strides(ws: Workspace, rng: np.random.Generator, dtype: str) -> None:
    """A transpose, and windows that overlap."""
    a, b = normal(rng, (5, 7, 3), dtype), normal(rng, 20, dtype)
    out = ws.room((3, 7, 5), dtype)
    ws.be.binary_broadcast(
        "sub", ws.input(a), [1, 3, 21], ws.input(b), [0, 2, 1], out, [3, 7, 5], dtype
    )
    windows = np.lib.stride_tricks.sliding_window_view(b[:17], 5)[::2]
    expect(ws, "sub", ws.read(out), a.T, np.broadcast_to(windows, (3, 7, 5)))


@pytest.mark.parametrize("which", ["a", "b"])
def test_broadcasting_in_place(
    ws: Workspace, rng: np.random.Generator, which: str, dtype: str
) -> None:
    full, row = normal(rng, (33, 17), dtype), normal(rng, 17, dtype)
    out = ws.output(full)
    if which == "a":
        ws.be.binary_broadcast("sub", out, [17, 1], ws.input(row), [0, 1], out, [33, 17], dtype)
        expect(ws, "sub", ws.read(out), full, row)
    else:
        ws.be.binary_broadcast("sub", ws.input(row), [0, 1], out, [17, 1], out, [33, 17], dtype)
        expect(ws, "sub", ws.read(out), row, full)


@given(
    shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=6, max_side=5),
    op=st.sampled_from(OPS),
    dtype=st.sampled_from(["float32", "float16"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_broadcast(
    be: Backend, shapes: hnp.BroadcastableShapes, op: str, dtype: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    a, b = (np.asarray(inputs(rng, op, shape, dtype)) for shape in shapes.input_shapes)
    with Workspace(be) as ws:
        expect(ws, op, run_broadcast(ws, op, a, b), a, b)


@given(data=st.data(), n=st.integers(0, 70))
def test_max_and_min_are_those_of_numpy(be: Backend, data: st.DataObject, n: int) -> None:
    # A device without subnormals takes them for zeros, and may return either of two equal numbers.
    values = st.floats(width=32, allow_subnormal=keeps_subnormals(be))
    numbers = hnp.arrays(np.float32, n, elements=values)
    a, b = data.draw(numbers), data.draw(numbers)
    for op, numpy_op in (("max", np.maximum), ("min", np.minimum)):
        with Workspace(be) as ws:
            out = ws.room(n)
            be.binary(op, ws.input(a), ws.input(b), out, n)
            np.testing.assert_array_equal(ws.read(out), numpy_op(a, b))


def test_ops_over_all_pairs_of_few_values_commute(be: Backend) -> None:
    values = np.array([0.0, 1.5, -2.0, np.inf, -np.inf], np.float32)
    a, b = np.array(list(itertools.product(values, values)), np.float32).T.copy()
    for op in ("add", "mul", "max", "min"):
        with Workspace(be) as ws:
            one, other = ws.room(a.size), ws.room(a.size)
            left, right = ws.input(a), ws.input(b)
            be.binary(op, left, right, one, a.size)
            be.binary(op, right, left, other, a.size)
            np.testing.assert_array_equal(ws.read(one), ws.read(other))
