"""gather_elements() and scatter_elements(): every dtype, strides, recordings, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright
from numpy.lib.stride_tricks import as_strided
from tilewright import Backend, InvalidArgument

from .arrays import DTYPES
from .workspace import Array, Workspace

# shape, strides of source, output and index, its size and stride: source and output of 400 items.
WALKS: list[tuple[Any, ...]] = [
    ((7,), (0,), (1,), (1,), 50, 3),
    ((40,), (0,), (2,), (1,), 400, 1),
    ((5, 8), (0, 1), (8, 1), (1, 0), 12, 16),
    ((5, 8), (0, 1), (16, 1), (1, 0), 12, 8),
    ((5, 7), (0, 1), (9, 1), (1, 0), 12, 9),
    ((6, 5), (30, 0), (5, 1), (0, 1), 30, 1),
    ((3, 4, 5), (100, 0, 2), (20, 5, 1), (0, 1, 0), 9, 10),
    ((3, 4, 5), (0, 7, 0), (60, 15, 3), (5, 0, 1), 20, 13),
    ((2, 2, 2, 2, 2, 2, 2, 2), (0, 64, 0, 16, 0, 4, 0, 1), (128, 64, 32, 16, 8, 4, 2, 1),
     (8, 0, 4, 0, 2, 0, 1, 0), 11, 20),
]  # fmt: skip


def walked(flat: Array, shape: Any, strides: Any, offset: int = 0) -> Array:
    item = flat.itemsize
    return as_strided(flat[offset:], shape, [step * item for step in strides])


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", (*DTYPES, "bfloat16"))
def test_every_dtype_and_walk(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    if dtype in ("int64", "uint64", "float64"):
        stored = {str(one) for one in be.capabilities().storage_dtypes}
        # Elements are moved by their size, whatever a device computes with.
        assert stored
    host = np.dtype("uint16" if dtype == "bfloat16" else dtype)
    for walk, (shape, source, output, steps, size, stride) in enumerate(WALKS):
        x = rng.integers(0, 255, 401 * host.itemsize, np.uint8).view(host)
        x = (x != 0) if host.kind == "b" else x
        count = int(np.ptp(walked(np.arange(2000), shape, steps))) + 1
        index = rng.permutation(np.arange(-size, 0))[:count] % size
        index = np.resize(index, count).astype(("int64", "int32", "uint8", "int16")[walk % 4])
        at = walked(index, shape, steps).astype(np.int64) * stride
        places = walked(np.arange(2000), shape, source) + at
        apart = np.unique(places).size == places.size
        with Workspace(be) as ws:
            buffers = ws.input(x), ws.input(index)
            out = ws.room(401, host)
            by = [((buffers[1], steps), index.dtype.name, size, stride, 0)]
            be.gather_elements((buffers[0], source, 1), by, (out, output, 1), shape, dtype)
            expected = np.full(401 * host.itemsize, 0xFF, np.uint8).view(host)
            walked(expected, shape, output, 1)[...] = x[1 + places]
            assert ws.read(out).tobytes() == expected.tobytes(), walk
            if not apart:
                continue
            target = ws.room(401, host)
            be.scatter_elements((buffers[0], output, 1), by, (target, source, 1), shape, dtype)
            expected = np.full(401 * host.itemsize, 0xFF, np.uint8).view(host)
            expected[1 + places] = walked(x, shape, output, 1)
            assert ws.read(target).tobytes() == expected.tobytes(), walk


@pytest.mark.essential
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "int64"])
def test_many_items(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    """So many that GPUs take several a work-item where rows share an index; and one by one."""
    count, size, wide = 100_003, 5_003, 7
    host = np.dtype(dtype)
    x = rng.integers(0, 100, (size * wide + 1) * host.itemsize, np.uint8).view(host)
    table = x[1:].reshape(size, wide)
    index = rng.integers(-size, size, count).astype(np.int32)
    with Workspace(be) as ws:
        source, by = ws.input(x), [((ws.input(index), (1, 0)), "int32", size, wide, 0)]
        out = ws.room(count * wide + 2, dtype)
        be.gather_elements((source, (0, 1), 1), by, (out, (wide, 1), 1), (count, wide), dtype)
        got = ws.read(out)
        assert (got[1:-1].reshape(count, wide) == table[index]).all()
        assert got[[0, -1]].tobytes() == b"\xff" * (2 * host.itemsize)

        every = np.tile(index, 4)
        by = [((ws.input(every), (1,)), "int32", size, wide, 0)]
        out = ws.room(every.size, dtype)
        be.gather_elements((source, (0,), 3), by, (out, (1,), 0), (every.size,), dtype)
        assert (ws.read(out) == table[every, 2]).all()

        places = rng.permutation(count).astype(np.int32)
        rows = np.resize(x, (count, wide))
        target = ws.room((count, wide), dtype)
        by = [((ws.input(places), (1, 0)), "int32", count, wide, 0)]
        given = ws.input(rows), (wide, 1), 0
        be.scatter_elements(given, by, (target, (0, 1), 0), (count, wide), dtype)
        expected = np.empty_like(rows)
        expected[places] = rows
        assert (ws.read(target) == expected).all()

        index[77_777] = size
        by = [((ws.input(index), (1, 0)), "int32", size, wide, 0)]
        with pytest.raises(IndexError, match=f"index {size} is out of range"):
            be.gather_elements(
                (source, (0, 1), 1), by, (target, (wide, 1), 0), (count, wide), dtype
            )
            be.synchronize()


def test_several_arrays_and_backward_axes(be: Backend, rng: np.random.Generator) -> None:
    x = rng.integers(0, 1000, (5, 6, 7)).astype(np.int32)
    i, j, k = (rng.integers(-n, n, (3, 4)) for n in (5, 6, 7))
    with Workspace(be) as ws:
        source, out = ws.input(x), ws.room((3, 4), "int32")
        by = [
            (ws.input(one.astype(dtype)), dtype, size, step, axis)
            for one, dtype, size, step, axis in (
                (i, "int8", 5, -42, 0), (j, "int32", 6, 7, 1), (k, "int64", 7, -1, 2)
            )
        ]  # fmt: skip
        # x[::-1, :, ::-1], whose first element is the last of axes 0 and 2.
        be.gather_elements((source, (), 4 * 42 + 6), by, out, (3, 4), "int32")
        np.testing.assert_array_equal(ws.read(out), x[::-1, :, ::-1][i, j, k])
        be.gather_elements(
            (source, (), 0),
            [(one[0], one[1], one[2], abs(one[3]), 0) for one in by],
            out,
            (3, 4),
            "int32",
        )
        np.testing.assert_array_equal(ws.read(out), x[i, j, k])


def test_recorded(be: Backend) -> None:
    with Workspace(be) as ws:
        x, out = ws.output(np.arange(6, dtype="f4")), ws.room(3)
        index = ws.output(np.array([5, 0, -2], "i4"))
        mask, counts = ws.input(np.array([1, 0, 1, 1, 0, 0], bool)), ws.room(2, "uint32")
        kept = ws.room(3)
        with be.record() as recording:
            be.gather_elements((x, (0,)), [(index, "int32", 6, 1, 0)], out, (3,))
            be.mask_counts(mask, counts, 6)
            be.compact(mask, counts, x, kept, 6, 3)
        recording.replay()
        assert ws.read(out).tolist() == [5, 0, 4] and ws.read(kept).tolist() == [0, 2, 3]
        be.copy_htod(x, np.arange(10, 16, dtype="f4"))
        recording.replay()
        assert ws.read(out).tolist() == [15, 10, 14] and ws.read(kept).tolist() == [10, 12, 13]
        be.copy_htod(index, np.array([6, 0, 0], "i4"))
        with pytest.raises(tilewright.IndexOutOfRange, match=r"index 6 .* axis 0 of 6"):
            recording.replay()
            be.synchronize()
        be.copy_htod(index, np.array([0, 0, 0], "i4"))
        recording.replay()
        assert ws.read(out).tolist() == [10, 10, 10]
        recording.drop()


def test_calls_alike_find_what_is_outside(be: Backend) -> None:
    """A call that is as one before is not planned again."""
    x, y = np.arange(6, dtype="f4"), np.arange(6, 12, dtype="f4")
    with Workspace(be) as ws:
        sources, out = [ws.output(x), ws.output(y)], ws.output(np.zeros(3, "f4"))
        index = ws.output(np.zeros(3, "i4"))
        for name in ("take", "other", "take"):
            for source, host in zip(sources, (x, y), strict=True):
                be.copy_htod(index, np.array([5, 0, -2], "i4"))
                be.gather_elements(
                    (source, (0,)), [(index, "int32", 6, 1, 0)], out, (3,), name=name
                )
                assert ws.read(out).tolist() == host[[5, 0, -2]].tolist()
                be.copy_htod(index, np.array([0, 7, 1], "i4"))
                with pytest.raises(tilewright.IndexOutOfRange, match=f"^{name}: index 7 .* of 6"):
                    be.gather_elements(
                        (source, (0,)), [(index, "int32", 6, 1, 0)], out, (3,), name=name
                    )
                    be.synchronize()


def test_places_that_a_count_leaves_out(be: Backend) -> None:
    mask = np.ones(9000, bool)
    for dtype in ("uint8", "float32"):
        with Workspace(be) as ws:
            there, counts = ws.input(mask), ws.room(4, "uint32")
            source = ws.input(np.arange(9000).astype(dtype))
            be.mask_counts(there, counts, 9000)
            assert ws.read(counts).tolist() == [0, 4096, 8192, 9000]
            out, places = ws.room(5000, dtype), ws.room(5000, "int32")
            be.compact(there, counts, source, out, 9000, 5000, dtype)
            be.nonzero(there, counts, places, (9000,), 5000, "int32")
            np.testing.assert_array_equal(ws.read(out), np.arange(5000).astype(dtype))
            np.testing.assert_array_equal(ws.read(places), np.arange(5000))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indices": []}, "indices is empty"),
        ({"indices": 3}, "indices is 3"),
        ({"indices": [("i", "int32", 4, 1)]}, r"expected \(operand, dtype, size, stride, axis\)"),
        ({"indices": [("i", "float32", 4, 1, 0)]}, r"indices\[0\].dtype is float32"),
        ({"indices": [("i", "nope", 4, 1, 0)]}, r"indices\[0\].dtype is 'nope'"),
        ({"indices": [("i", "int32", -1, 1, 0)]}, r"indices\[0\].size is -1"),
        ({"indices": [("i", "int32", 5, 1, 0)]}, "holds 16 bytes"),
        ({"indices": [("i", "int32", 2, 2**62, 0)]}, "64 bits|holds 16"),
        ({"indices": [("i", "int32", 2, -1, 0)]}, "before that"),
        ({"indices": [("i", "int64", 4, 1, 0)]}, r"indices\[0\] holds 16 bytes"),
        ({"indices": [(("i", (1, 1)), "int32", 4, 1, 0)]}, r"indices\[0\] has 2 strides"),
        ({"indices": [("x", "int32", 4, 1, 0)] * 61, "shape": (1, 1, 1, 4)}, "at most 64 together"),
        ({"source": ("x", (1, 1))}, "has 2 strides"),
        ({"source": ("x", (0,), -1)}, "offset is -1"),
        ({"shape": (5,)}, "holds 16 bytes"),
        ({"shape": (-1,)}, r"shape\[0\] is -1"),
        ({"output": "x"}, "overlaps"),
        ({"output": "i"}, "overlaps"),
        ({"dtype": "complex9"}, "dtype is 'complex9'"),
        ({"dtype": "float64"}, "holds 16 bytes"),
        ({"name": 3}, "name is 3"),
    ],
)
def test_wrong_arguments(be: Backend, change: dict[str, Any], message: str) -> None:
    buffers = {}
    for name in ("x", "i", "out"):
        buffers[name] = be.alloc(16)
        be.copy_htod(buffers[name], np.zeros(4, "i4"))

    def placed(one: Any) -> Any:
        if isinstance(one, str):
            return buffers.get(one, one)
        if isinstance(one, (list, tuple)):
            return type(one)(placed(item) for item in one)
        return one

    for call in ("gather_elements", "scatter_elements"):
        given: dict[str, Any] = {
            "source": ("x", (0,)), "indices": [("i", "int32", 4, 1, 0)], "output": "out",
            "shape": (4,), "dtype": "int32", "name": "",
        }  # fmt: skip
        given |= change
        if call == "scatter_elements":
            swapped = {"source": given["output"], "output": given["source"]}
            given |= swapped if "output" not in change else {"source": "x", "output": ("x", (0,))}
        with pytest.raises(InvalidArgument, match=message):
            getattr(be, call)(**{key: placed(value) for key, value in given.items()})
    for buffer in buffers.values():
        assert be.memory_stats()
        be.free(buffer)


def test_an_axis_without_elements(be: Backend) -> None:
    with Workspace(be) as ws:
        index, out = ws.input(np.zeros(3, "i4")), ws.room(3)
        with pytest.raises(tilewright.IndexOutOfRange, match="take: axis 4 has no elements"):
            be.gather_elements((0, (0,)), [(index, "int32", 0, 1, 4)], out, (3,), name="take")
        be.gather_elements((0, (0,)), [(0, "int32", 0, 1, 4)], 0, (0,))
