"""sort(), argsort() and topk(): every dtype and order, awkward lengths, what is equal and NaN."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tilewright import Backend, InvalidArgument

from .elements import DTYPES, stored
from .sorts import assert_bits, check_sorts, check_topk, draw, order, taken
from .workspace import Workspace

# Beside what is inserted, what a workgroup sorts, and what it takes of a long row.
SHAPES = [(1, 1), (5, 2), (3, 32), (70, 33), (2, 1025), (1, 2047), (2, 2049), (1, 9001)]
FEW = [(9, 33), (2, 2500)]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(be: Backend, rng: np.random.Generator, dtype: str, descending: bool) -> None:
    all_of_them = dtype in ("int8", "float32", "int64") and not descending
    for shape, kind in itertools.product(SHAPES if all_of_them else FEW, ["any", "equal"]):
        with Workspace(be) as ws:
            check_sorts(ws, draw(rng, shape, dtype, kind), dtype, descending)


@pytest.mark.essential
@pytest.mark.parametrize("dtype", ["int8", "float16", "int32", "float32", "float64"])
def test_rows_of_all_lengths(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    """Beside what vectors of 4 to 32 keys hold, and 16 of them."""
    for length in (2, 4, 5, 8, 9, 16, 17, 31, 64, 65, 127, 128, 129, 255, 256, 257, 700):
        x = draw(rng, (2100 // length + 2, length), dtype, "equal" if length % 3 == 0 else "any")
        places = order(x, dtype, descending := length % 2 == 0)
        with Workspace(be) as ws:
            out = ws.room(x.shape, x.dtype)
            be.sort(ws.input(x), out, *x.shape, descending, dtype)
            assert_bits(ws.read(out), taken(x, places), f"rows of {length}")


@pytest.mark.essential
@pytest.mark.parametrize("kind", ["any", "few", "in order", "nearly in order", "mostly one"])
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "int64"])
def test_one_row_for_all_threads(
    be: Backend, rng: np.random.Generator, dtype: str, kind: str
) -> None:
    x = draw(
        rng, (1, 70_003 if be.name == "cpu" else 9001), dtype, "equal" if kind == "few" else "any"
    )
    if "in order" in kind:
        x = taken(x, order(x, dtype, False))
    if kind == "nearly in order":
        x[0, [3, -1]] = x[0, [-1, 3]]
    if kind == "mostly one":
        x[rng.random(x.shape) < 0.8] = x[0, 0]
    places = order(x, dtype, False)
    with Workspace(be) as ws:
        source, out = ws.output(x), ws.room(x.shape, x.dtype)
        be.sort(source, out, *x.shape, False, dtype)
        assert_bits(ws.read(out), taken(x, places), kind)
        be.sort(source, source, *x.shape, True, dtype)
        assert_bits(ws.read(source), taken(x, order(x, dtype, True)), f"{kind}, in place")


@pytest.mark.essential
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16", "float32", "int64", "float64"])
def test_places_of_rows_of_all_lengths(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    for length in (2, 5, 16, 17, 64, 127, 130, 256, 700, 2048):
        x = draw(rng, (2100 // length + 2, length), dtype, "equal" if length % 2 else "any")
        with Workspace(be) as ws:
            check_topk(ws, x, -(-length // 3), dtype, length % 3 == 0, "int32")
            check_topk(ws, x, length, dtype, length % 3 != 0)


@pytest.mark.essential
@pytest.mark.parametrize("descending", [False, True])
def test_places_of_64_bits_that_differ_in_few(be: Backend, descending: bool) -> None:
    """Numbers that are the same in all bits but the last, beside some that are far away."""
    rng = np.random.default_rng(0)
    for dtype in ("float64", "int64", "uint64"):
        x = (1 << 62) + rng.integers(0, 40, (7, 300))
        x[:, ::50] = rng.integers(-(2**63), 2**63 - 1, (7, 6))
        for some in (x, (1 << 62) + rng.integers(0, 9, (3, 2000))):
            with Workspace(be) as ws:
                check_sorts(ws, some.view(dtype), dtype, descending)


@pytest.mark.essential
@pytest.mark.parametrize("dtype", ["bool", "float32", "uint64"])
def test_long(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    for shape, kind in [((1, 300_007), "any"), ((3, 70_001), "equal")]:
        with Workspace(be) as ws:
            check_sorts(ws, draw(rng, shape, dtype, kind), dtype)


@pytest.mark.exhaustive
def test_blocks_of_several_rounds(be: Backend, rng: np.random.Generator) -> None:
    """So long that a workgroup moves more elements than its memory holds."""
    with Workspace(be) as ws:
        check_sorts(ws, rng.integers(-1000, 100_000, (1, 9_000_001)).astype("int32"), "int32")


def test_one_digit_alone(be: Backend, rng: np.random.Generator) -> None:
    """Keys that differ in one place only, wherever it is."""
    for shift in (0, 8, 16, 24):
        x = (rng.integers(0, 256, (1, 3001)) << shift).astype("uint32")
        with Workspace(be) as ws:
            check_sorts(ws, x + np.uint32(5 << ((shift + 8) % 32)), "uint32")


@pytest.mark.parametrize("x", [np.arange(5000), np.arange(5000)[::-1], np.zeros(5000)])
def test_what_is_in_order(be: Backend, x: np.ndarray) -> None:
    for dtype in ("int32", "float64"):
        with Workspace(be) as ws:
            check_sorts(ws, x[None].astype(dtype), dtype, descending=True)


@pytest.mark.parametrize("dtype", ["int8", "float16", "int32", "float64"])
def test_in_place(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    for shape, kind in [((7, 20), "any"), ((3, 3000), "any"), ((1, 70_000), "equal")]:
        x = draw(rng, shape, dtype, kind)
        with Workspace(be) as ws:
            both = ws.output(x)
            be.sort(both, both, *shape, True, dtype)
            assert_bits(ws.read(both), taken(x, order(x, dtype, True)), str(shape))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_topk(be: Backend, rng: np.random.Generator, dtype: str, largest: bool) -> None:
    # Around lengths where few of short rows are selected rather than sorted.
    cases = [((3, 50), 7), ((2, 4000), 9), ((3, 257), 1), ((2, 516), 3), ((3, 663), 20)]
    if dtype in ("uint8", "float32", "float64"):
        cases += [((1, 1), 1), ((2, 4000), 2500), ((2, 4000), 4000), ((3, 70), 70)]
        cases += [((1, 90_001), 1), ((1, 90_001), 2000)]
    for (shape, k), kind in itertools.product(cases, ["any", "equal"]):
        with Workspace(be) as ws:
            wide = "int32" if k == 9 else "int64"
            check_topk(ws, draw(rng, shape, dtype, kind), k, dtype, largest, wide)
    # Each element before those that were kept, and none.
    rising = np.sort(draw(rng, (1, 5003), dtype, "any"))
    for x in (rising, np.ascontiguousarray(rising[:, ::-1])):
        with Workspace(be) as ws:
            check_topk(ws, x, 67, dtype, largest)


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("many", [np.nan, np.inf, -np.inf, 0.0, -0.0])
def test_topk_of_rows_of_one_value(
    be: Backend, rng: np.random.Generator, many: float, largest: bool
) -> None:
    """All elements but some, of which there are fewer than are wanted, or more."""
    for n, k, others in (200, 6, 3), (700, 20, 30), (3000, 64, 1), (3000, 1, 0), (9001, 256, 700):
        x = np.full((2, n), many, np.float32)
        places = rng.permutation(n)[:others]
        x[:, places] = rng.standard_normal((2, others), np.float32)
        with Workspace(be) as ws:
            check_topk(ws, x, k, "float32", largest)


@pytest.mark.parametrize("offset", [16, 256, 1040])
def test_views(be: Backend, rng: np.random.Generator, offset: int) -> None:
    """Of one buffer, apart from each other, wherever they start."""
    for dtype, length in [("float32", 300), ("int16", 2600), ("uint64", 2600)]:
        x = draw(rng, (2, length), dtype)
        room = 2 * offset + 2 * x.nbytes
        with Workspace(be) as ws:
            whole = ws.output(np.zeros(room, np.uint8))
            be.copy_htod(whole, x, offset)
            apart = -(-(offset + x.nbytes) // 16) * 16
            source, out = be.view(whole, offset, x.nbytes), be.view(whole, apart, x.nbytes)
            be.sort(source, out, 2, length, False, dtype)
            left = ws.read(whole)
            assert left[offset : offset + x.nbytes].tobytes() == x.tobytes()
            expected = taken(x, order(x, dtype, False))
            assert_bits(left[apart : apart + x.nbytes].view(x.dtype).reshape(x.shape), expected, "")
            assert not left[:offset].any() and not left[apart + x.nbytes :].any()
            be.free(source)
            be.free(out)


def test_many_short_rows(be: Backend, rng: np.random.Generator) -> None:
    for shape in [(30_000, 3), (2000, 100)]:
        with Workspace(be) as ws:
            check_sorts(ws, draw(rng, shape, "int32"), "int32")


def test_in_a_recording(be: Backend, rng: np.random.Generator) -> None:
    with Workspace(be) as ws:
        x = draw(rng, (1, 4000), "float32")
        source, out = ws.output(x), ws.room(x.shape)
        values, indices = ws.room((1, 5)), ws.room((1, 5), "int64")
        with be.record() as recording:
            be.sort(source, out, 1, 4000)
            be.topk(source, values, indices, 1, 4000, 5)
        for _ in range(2):
            x = draw(rng, (1, 4000), "float32")
            be.copy_htod(source, x)
            recording.replay()
            assert_bits(ws.read(out), taken(x, order(x, "float32", False)), "replayed")
            assert_bits(ws.read(indices), order(x, "float32", True)[:, :5], "replayed")


def test_nothing(be: Backend) -> None:
    for rows, length in [(0, 5), (3, 0), (0, 0)]:
        be.sort(0, 0, rows, length)
        be.argsort(0, 0, rows, length)
        be.topk(0, 0, 0, rows, length, 0)
    with Workspace(be) as ws:
        be.topk(ws.input(np.ones(6, np.float32)), 0, 0, 2, 3, 0)


def test_errors(be: Backend) -> None:
    with Workspace(be) as ws:
        x, out = ws.input(np.ones(8, np.float32)), ws.output(np.zeros(8))
        with pytest.raises(InvalidArgument, match="k is 5, expected 0 to 4, the length of a row"):
            be.topk(x, out, out, 2, 4, 5)
        with pytest.raises(InvalidArgument, match="topk: indices overlaps values"):
            be.topk(x, out, out, 2, 4, 2)
        with pytest.raises(InvalidArgument, match="index_dtype is uint8, expected int64 or int32"):
            be.argsort(x, out, 2, 4, False, "float32", "uint8")
        part = be.view(x, 0, 24)
        other = be.view(x, 16, 24)
        with pytest.raises(InvalidArgument, match="sort: output overlaps input"):
            be.sort(part, other, 1, 6)
        be.free(part)
        be.free(other)


@given(
    rows=st.lists(
        st.lists(
            st.sampled_from([0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-40, 3.5]),
            min_size=1,
            max_size=40,
        ),
        min_size=1,
        max_size=4,
    ),
    descending=st.booleans(),
    dtype=st.sampled_from(["float16", "bfloat16", "float32", "float64"]),
    repeat=st.sampled_from([1, 80]),
)
def test_any_floats(
    be: Backend, rows: list[list[float]], descending: bool, dtype: str, repeat: int
) -> None:
    width = max(map(len, rows))
    x = stored([(row * width)[:width] * repeat for row in rows], dtype)
    with Workspace(be) as ws:
        check_sorts(ws, x, dtype, descending)


def test_more_rows_than_go_at_once(be: Backend, rng: np.random.Generator) -> None:
    """Those of a later part have their places where no binding starts."""
    length, k = 1_100_000, 2049
    at_once = min(256 << 20, be.capabilities().limits.get("max_binding_bytes", 256 << 20))
    rows = at_once // (8 * length) + 1
    last = draw(rng, (1, length), "uint32")
    source, values, indices = (be.alloc(4 * rows * n) for n in (length, k, k))
    try:
        be.copy_htod(source, last, offset=4 * (rows - 1) * length)
        be.topk(source, values, indices, rows, length, k, True, "uint32", "int32")
        got = np.empty((1, k), np.int32)
        be.copy_dtoh(got, indices, offset=4 * (rows - 1) * k)
    finally:
        for buffer in (source, values, indices):
            be.free(buffer)
    assert_bits(got, order(last, "uint32", True)[:, :k].astype(np.int32), f"row {rows - 1}")
