"""Buffers of the trait: handles, copies, and what they refuse."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
import pytest
import tilewright as tw


def read(be: tw.Backend, handle: int, count: int) -> list[float]:
    out = np.empty(count, np.float32)
    be.copy_dtoh(out, handle)
    return out.tolist()


def test_bytes_go_there_and_back(be: tw.Backend) -> None:
    for size in (1, 3, 4, 17, 257, 65_537):
        data = np.random.default_rng(size).integers(0, 256, size, np.uint8)
        handle = be.alloc(size)
        assert be.buffer_bytes(handle) == size
        be.copy_htod(handle, data)
        out = bytearray(size)
        be.copy_dtoh(out, handle)
        assert out == data.tobytes()


def test_offsets_count_bytes(be: tw.Backend) -> None:
    handle = be.alloc(8)
    be.copy_htod(handle, bytes(8))
    be.copy_htod(handle, b"abc", 5)
    out = bytearray(4)
    be.copy_dtoh(out, handle, offset=4)
    assert out == b"\0abc"
    other = be.alloc(4)
    be.copy_dtod(other, handle, 3, 1, 5)
    be.copy_dtoh(memoryview(out)[1:], other, 1)
    assert out == b"\0abc"


@pytest.mark.parametrize(
    "source",
    [b"\1\2\3\4", bytearray(b"\1\2\3\4"), memoryview(b"\1\2\3\4"), array.array("B", [1, 2, 3, 4])],
)
def test_anything_with_the_buffer_protocol_is_a_source(be: tw.Backend, source: Any) -> None:
    handle = be.alloc(4)
    be.copy_htod(handle, source)
    out = np.zeros(4, np.uint8)
    be.copy_dtoh(out, handle)
    assert out.tolist() == [1, 2, 3, 4]


def test_non_contiguous_arrays_are_copied_once(be: tw.Backend) -> None:
    data = np.arange(24, dtype=np.float32).reshape(4, 6)
    for view in (data[::2], data[:, ::3], data.T, data[::-1, ::-1]):
        handle = be.alloc(view.nbytes)
        be.copy_htod(handle, view)
        assert read(be, handle, view.size) == view.ravel().tolist()
        target = np.full_like(data, -1)
        window = target[: view.shape[0], : view.shape[1]] if view.shape != (6, 4) else target.T
        be.copy_dtoh(window, handle)
        assert (window == view).all()


def test_a_read_into_a_strided_array_leaves_the_gaps(be: tw.Backend) -> None:
    handle = be.alloc(12)
    be.copy_htod(handle, np.array([1, 2, 3], np.float32))
    out = np.full(6, -1, np.float32)
    be.copy_dtoh(out[::2], handle)
    assert out.tolist() == [1, -1, 2, -1, 3, -1]


def test_read_only_and_object_destinations_are_refused(be: tw.Backend) -> None:
    handle = be.alloc(8)
    frozen = np.zeros(2, np.float32)
    frozen.flags.writeable = False
    for out in (b"12345678", frozen, [0.0, 0.0], None, 3):
        with pytest.raises(tw.InvalidArgument, match=r"copy_dtoh: dst is .*writable"):
            be.copy_dtoh(out, handle)  # type: ignore[arg-type]
    objects = np.array([None])
    with pytest.raises(tw.InvalidArgument, match=r"copy_dtoh: dst .*not of objects"):
        be.copy_dtoh(objects, handle)
    with pytest.raises(tw.InvalidArgument, match=r"copy_htod: src .*not of objects"):
        be.copy_htod(handle, objects)
    assert objects[0] is None


def test_copies_past_the_end_change_nothing(be: tw.Backend) -> None:
    handle = be.alloc(8)
    be.copy_htod(handle, b"12345678")
    out = bytearray(b"........")
    for bad in (
        lambda: be.copy_htod(handle, b"123456789"),
        lambda: be.copy_htod(handle, b"12", 7),
        lambda: be.copy_htod(handle, b"1", -1),
        lambda: be.copy_htod(handle, b"1", (1 << 63) - 1),
        lambda: be.copy_htod(handle, b"1", 1 << 63),
        lambda: be.copy_dtoh(out, handle, 1),
        lambda: be.copy_dtod(handle, handle, 4, 0, 2),
        lambda: be.copy_dtod(handle, handle, -1),
        lambda: be.copy_dtod(handle, handle, 4, 5, 0),
    ):
        with pytest.raises(tw.InvalidArgument):
            bad()
    assert out == b"........"
    be.copy_dtoh(out, handle)
    assert out == b"12345678"


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (0, "bytes is 0"),
        (-1, "bytes is -1"),
        (1 << 62, "at most"),
        (1 << 63, "64 bits"),
        (1 << 5000, "of at most 64 bits"),
        (True, "bytes is True"),
        (4.0, "bytes is 4.0"),
        ("4", "bytes is '4'"),
        (None, "bytes is None"),
    ],
)
def test_wrong_sizes_are_refused(be: tw.Backend, size: Any, message: str) -> None:
    with pytest.raises(tw.InvalidArgument, match=f"^alloc: .*{message}"):
        be.alloc(size)
    assert be.memory_stats().allocations == 0


def test_numpy_integers_are_integers(be: tw.Backend) -> None:
    handle = be.alloc(np.int64(8))  # type: ignore[arg-type]
    be.free(np.uint64(handle))  # type: ignore[arg-type]


def test_use_after_free_and_double_free(be: tw.Backend) -> None:
    handle = be.alloc(4)
    be.free(handle)
    for use in (
        lambda: be.free(handle),
        lambda: be.copy_htod(handle, b"1234"),
        lambda: be.copy_dtoh(bytearray(4), handle),
        lambda: be.unary("relu", handle, handle, 1),
        lambda: be.buffer_bytes(handle),
    ):
        with pytest.raises(tw.InvalidArgument, match="was freed"):
            use()
    be.release(handle)


def test_handles_of_other_backends_and_none_at_all_are_refused(be: tw.Backend) -> None:
    with tw.CpuBackend() as other:
        theirs = other.alloc(4)
        theirs_too = other.array([1.0])
        for wrong in (theirs, theirs_too, 0, -1, 1, 1 << 64, "1", 1.0, None, True, [1], object()):
            with pytest.raises(tw.InvalidArgument, match=r"^unary: input "):
                be.unary("relu", wrong, wrong, 1)  # type: ignore[arg-type]


def test_handles_are_never_reused(be: tw.Backend) -> None:
    seen = set()
    for _ in range(2000):
        handle = be.alloc(64)
        assert handle not in seen
        seen.add(handle)
        be.free(handle)
    with tw.CpuBackend() as other:
        assert other.alloc(64) not in seen


def test_memory_stats_and_trim(be: tw.Backend) -> None:
    first, second = be.alloc(1000), be.alloc(24)
    stats = be.memory_stats()
    assert (stats.active_bytes, stats.peak_bytes, stats.allocations) == (1024, 1024, 2)
    be.free(first)
    be.free(second)
    stats = be.memory_stats()
    assert (stats.active_bytes, stats.peak_bytes, stats.allocations) == (0, 1024, 0)
    assert stats.total_allocations == 2
    be.trim()
    assert be.memory_stats().cached_bytes == 0


def test_an_array_stands_for_its_buffer(be: tw.Backend) -> None:
    x = be.array([-1.0, 2.0])
    y = be.empty(2)
    be.unary("relu", x, y, 2)
    assert read(be, y.handle, 2) == [0, 2]


def test_enums_and_their_names_mean_the_same(be: tw.Backend) -> None:
    x = be.array([1.0, 4.0])
    for op in ("sqrt", tw.UnaryOp.sqrt):
        for dtype in ("float32", tw.DType.float32):
            y = be.empty(2)
            be.unary(op, x, y, 2, dtype)
            assert y.numpy().tolist() == [1, 2]
    assert tw.UnaryOp.sqrt == "sqrt" and str(tw.UnaryOp.sqrt) == "sqrt"
    for wrong in (tw.BinaryOp.add, "Sqrt", "", "sqrt\0", 5, None, b"sqrt", "\ud800"):
        with pytest.raises(tw.InvalidArgument, match=r"unary: op is .*expected a unary op: relu, "):
            be.unary(wrong, x, x, 2)  # type: ignore[arg-type]
