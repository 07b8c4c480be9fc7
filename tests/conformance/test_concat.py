"""concat(): operands one after the other along an axis, whatever their dtype and wherever they
start, bit for bit what NumPy makes of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .workspace import Workspace

Host = npt.NDArray[Any]
DTYPES = {
    "bool": "u1", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "float16": "f2",
    "bfloat16": "u2", "int32": "i4", "uint32": "u4", "float32": "f4", "int64": "i8",
    "uint64": "u8", "float64": "f8",
}  # fmt: skip
# The shape before the axis, the sizes along it, the shape behind it.
SHAPES = [
    ((), (3,), ()),
    ((), (4, 8), ()),
    ((), (1, 1, 1), ()),
    ((), (5, 0, 2, 7), ()),
    ((), (1000, 24, 3000), ()),
    ((), tuple(range(1, 40)), ()),
    ((7,), (1, 2), ()),
    ((5,), (3, 6, 1), (3,)),
    ((2, 3), (1, 1, 1, 1, 1), (4, 5)),
    ((13,), (4,) * 9, (2,)),
    ((3,), (0, 5, 0), (1,)),
    ((9,), tuple(range(1, 20)), ()),
    ((1, 257), (31, 1, 33), (1,)),
]


def drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Host:
    """Any bits but a bool's."""
    item = np.dtype(DTYPES[dtype]).itemsize
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype("u1")
    bits = rng.integers(0, 256, (*shape, item)).astype("u1")
    return bits.reshape(-1).view(f"u{item}").reshape(shape)


@pytest.mark.essential
@pytest.mark.sampled(30)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("before", "sizes", "behind"), SHAPES)
def test_as_numpy(
    ws: Workspace, rng: np.random.Generator, before: tuple[int, ...], sizes: tuple[int, ...],
    behind: tuple[int, ...], dtype: str,
) -> None:  # fmt: skip
    hosts = [drawn(rng, (*before, size, *behind), dtype) for size in sizes]
    expected = np.concatenate(hosts, axis=len(before))
    out = ws.room(expected.shape, expected.dtype)
    ws.be.concat([ws.input(x) for x in hosts], sizes, out, expected.shape, len(before), dtype)
    np.testing.assert_array_equal(ws.read(out), expected)
    # The same axis, counted from the end.
    again = ws.room(expected.shape, expected.dtype)
    axis = -1 - len(behind)
    ws.be.concat([ws.input(x) for x in hosts], sizes, again, expected.shape, axis, dtype)
    np.testing.assert_array_equal(ws.read(again), expected)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "int64"])
@pytest.mark.parametrize("start", [0, 1, 2, 3, 5, 64])
def test_wherever_they_start(
    ws: Workspace, rng: np.random.Generator, start: int, dtype: str
) -> None:
    """Parts of one buffer, to a place of another, whose other elements stay."""
    host = drawn(rng, (300,), dtype)
    kept = drawn(rng, (200,), dtype)
    source, out = ws.input(host), ws.output(kept)
    sizes, places = (7, 3, 11), (start, 40 + 2 * start, 131 + start)
    rows = 3
    inputs = [(source, (1,), at) for at in places]
    ws.be.concat(inputs, sizes, (out, (1,), start), (rows, sum(sizes)), 1, dtype)
    parts = [
        host[at : at + rows * size].reshape(rows, size)
        for at, size in zip(places, sizes, strict=True)
    ]
    expected = kept.copy()
    expected[start : start + rows * sum(sizes)] = np.concatenate(parts, 1).reshape(-1)
    np.testing.assert_array_equal(ws.read(out), expected)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
def test_within_a_buffer(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    host = drawn(rng, (400,), dtype)
    buffer = be.alloc(host.nbytes)
    be.copy_htod(buffer, host)
    inputs = [(buffer, (1,), 3), (buffer, (1,), 200)]
    be.concat(inputs, (5, 70), (buffer, (1,), 111), (75,), 0, dtype)
    left = np.empty_like(host)
    be.copy_dtoh(left, buffer)
    expected = host.copy()
    expected[111:186] = np.concatenate([host[3:8], host[200:270]])
    np.testing.assert_array_equal(left, expected)
    with pytest.raises(InvalidArgument, match=r"output.*overlaps inputs\[1\]"):
        be.concat(inputs, (5, 70), (buffer, (1,), 190), (75,), 0, dtype)
    be.free(buffer)


def test_arrays_and_views(be: Backend, rng: np.random.Generator) -> None:
    """Arrays are operands where their elements lie side by side."""
    host = rng.standard_normal((6, 8)).astype("f4")
    x, out = be.array(host), be.array(np.zeros((5, 8), "f4"))
    be.concat([x[3:5], x[0:3]], (2, 3), out, (5, 8), 0)
    np.testing.assert_array_equal(out.numpy(), np.concatenate([host[3:5], host[0:3]]))
    with pytest.raises(InvalidArgument, match=r"concat: inputs\[0\] has strides.*map\(\)"):
        be.concat([x[:, 3:5]], (2,), be.array(np.zeros((6, 2), "f4")), (6, 2), 1)
    with pytest.raises(InvalidArgument, match=r"concat: output has strides.*map\(\)"):
        be.concat([x[0:2]], (2,), be.array(np.zeros((2, 9), "f4"))[:, 1:], (2, 8), 0)


def test_many_more_than_a_kernel_binds(ws: Workspace, rng: np.random.Generator) -> None:
    hosts = [drawn(rng, (2, 1 + i % 3), "int16") for i in range(200)]
    expected = np.concatenate(hosts, 1)
    out = ws.room(expected.shape, expected.dtype)
    inputs = [ws.input(x) for x in hosts]
    sizes = [x.shape[1] for x in hosts]
    ws.be.concat(inputs, sizes, out, expected.shape, 1, "int16")
    np.testing.assert_array_equal(ws.read(out), expected)


def test_recorded(ws: Workspace, rng: np.random.Generator) -> None:
    a, b = drawn(rng, (40,), "float32"), drawn(rng, (7,), "float32")
    source, behind, out = ws.output(a), ws.input(b), ws.room(47, a.dtype)
    with ws.be.record() as recording:
        ws.be.concat([source, behind], (40, 7), out, (47,), 0)
    for _ in range(2):
        a += np.uint32(1)
        ws.be.copy_htod(source, a)
        recording.replay()
        np.testing.assert_array_equal(ws.read(out), np.concatenate([a, b]))


def test_nothing_to_do(be: Backend) -> None:
    be.concat([], (), 0, (0, 5), 0)
    be.concat([0, 0], (2, 3), 0, (0, 5), 1)
    with tw.CpuBackend() as other:
        stranger = other.alloc(64)
        with pytest.raises(InvalidArgument, match=r"inputs\[1\]"):
            be.concat([0, stranger], (0, 0), 0, (0, 5), 0)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"sizes": (3,)}, r"sizes has 1 sizes, and inputs has 2 operands"),
        ({"sizes": (3, 4)}, r"sizes add up to 7, expected shape\[0\], which is 8"),
        ({"sizes": (-1, 9)}, r"sizes\[0\] is -1"),
        ({"sizes": (2**62, 2**62)}, "more than 64 bits"),
        ({"axis": 2}, "axis is 2"),
        ({"axis": -3}, "axis is -3"),
        ({"shape": (8, -1)}, r"shape\[1\] is -1"),
        ({"shape": (8, 2**61)}, "the sizes .* multiply to more than 64 bits"),
        ({"sizes": (3, "a")}, "sizes"),
        ({"shape": ()}, "axis|shape"),
        ({"dtype": "complex64"}, "dtype"),
        ({"shape": (8, 5)}, r"(inputs\[0\]|output).*bytes"),
        ({"output": 2**40}, "output"),
        ({"inputs": [2**40, 2**41]}, r"inputs\[0\]"),
        ({"inputs": "ab"}, "inputs"),
    ],
)
def test_what_is_wrong(be: Backend, changed: dict[str, Any], words: str) -> None:
    sizes = {"a": 3 * 4, "b": 5 * 4, "out": 8 * 4}
    buffers = {name: be.alloc(4 * n) for name, n in sizes.items()}
    given = {
        "inputs": [buffers["a"], buffers["b"]],
        "sizes": (3, 5),
        "output": buffers["out"],
        "shape": (8, 4),
        "axis": 0,
    }
    be.concat(**given)
    try:
        with pytest.raises((InvalidArgument, TypeError), match=rf"concat: .*({words})"):
            be.concat(**(given | changed))
    finally:
        for buffer in buffers.values():
            be.free(buffer)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "float32", "int64", "complex64"])
@pytest.mark.parametrize("count", [2, 5, 70])
def test_of_arrays(be: Backend, rng: np.random.Generator, count: int, dtype: str) -> None:
    """tw.concat() and tw.stack() of what lies side by side, and of what does not."""
    if dtype not in tw.__array_namespace_info__().dtypes(device=be):
        dtype = "int32" if dtype == "int64" else "float32"
    hosts = [rng.integers(0, 9, (3, 2 + i % 3)).astype(dtype) for i in range(count)]
    arrays = [tw.asarray(x, device=be) for x in hosts]
    np.testing.assert_array_equal(tw.concat(arrays, axis=1).numpy(), np.concatenate(hosts, 1))
    alike = [x[:, :2] for x in hosts]
    views = [x[:, :2] for x in arrays]
    assert any(math.prod(x.shape) != x.size or x.shape != (3, 2) for x in arrays)
    for axis in (0, 1, 2):
        expected = np.stack(alike, axis)
        np.testing.assert_array_equal(tw.stack(views, axis=axis).numpy(), expected)
        copies = [x.copy() for x in views]
        np.testing.assert_array_equal(tw.stack(copies, axis=axis).numpy(), expected)
    parts = [x.reshape(-1)[1:] for x in arrays]
    expected = np.concatenate([x.reshape(-1)[1:] for x in hosts])
    np.testing.assert_array_equal(tw.concat(parts).numpy(), expected)
