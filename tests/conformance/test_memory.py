"""alloc, free, copies and their bookkeeping, and ops on large buffers."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from hypothesis import given
from hypothesis import strategies as st
from tilewright import Backend

from .workspace import GUARD_BYTES, Workspace, download

LARGE = 200 * 10**6  # bytes


@pytest.mark.parametrize("bytes_", [1, 2, 3, 4, 5, 17, 255, 257, 4097, 65537, 1_000_003])
def test_any_size_works(be: Backend, rng: np.random.Generator, bytes_: int) -> None:
    contents = rng.integers(0, 256, bytes_, np.uint8)
    buffer = be.alloc(bytes_)
    assert be.buffer_bytes(buffer) == bytes_
    be.copy_htod(buffer, contents)
    np.testing.assert_array_equal(download(be, buffer), contents)
    be.free(buffer)


def test_handles_are_never_used_again(be: Backend) -> None:
    seen = set()
    for _ in range(1000):
        buffer = be.alloc(64)
        assert buffer != 0
        assert buffer not in seen
        seen.add(buffer)
        be.free(buffer)


def test_buffers_do_not_share_memory(be: Backend) -> None:
    buffers = [be.alloc(size) for size in (1, 3, 64, 65, 4096, 5) for _ in range(20)]
    for i, buffer in enumerate(buffers):
        be.copy_htod(buffer, np.full(be.buffer_bytes(buffer), i, np.uint8))
    for i, buffer in enumerate(buffers):
        assert (download(be, buffer) == i).all()
        be.free(buffer)


def test_parts_of_a_buffer(be: Backend) -> None:
    buffer = be.alloc(100)
    be.copy_htod(buffer, np.zeros(100, np.uint8))
    be.copy_htod(buffer, np.arange(1, 11, dtype=np.uint8), 3)
    be.copy_htod(buffer, np.arange(1, 8, dtype=np.uint8), offset=93)
    expected = np.zeros(100, np.uint8)
    expected[3:13], expected[93:] = range(1, 11), range(1, 8)
    np.testing.assert_array_equal(download(be, buffer), expected)
    for offset, size in [(0, 0), (100, 0), (1, 1), (3, 17), (99, 1)]:
        part = np.empty(size, np.uint8)
        be.copy_dtoh(part, buffer, offset)
        np.testing.assert_array_equal(part, expected[offset : offset + size])
    be.free(buffer)


def test_copies_within_a_buffer(be: Backend) -> None:
    buffer = be.alloc(64)
    be.copy_htod(buffer, np.arange(64, dtype=np.uint8))
    be.copy_dtod(buffer, buffer, 13, 3, 40)
    be.copy_dtod(buffer, buffer, 5, dst_offset=25, src_offset=20)  # ranges that touch
    expected = np.arange(64, dtype=np.uint8)
    expected[3:16], expected[25:30] = expected[40:53].copy(), expected[20:25].copy()
    np.testing.assert_array_equal(download(be, buffer), expected)
    be.free(buffer)


@pytest.mark.parametrize("bytes_", [65532, 65536, 65548, 81920, 1_000_012, LARGE])
@pytest.mark.parametrize("places", [(0, 0), (16, 48), (256, 0), (20, 32), (4, 8), (7, 16)], ids=str)
def test_large_copies_between_buffers(
    be: Backend, rng: np.random.Generator, bytes_: int, places: tuple[int, int]
) -> None:
    if bytes_ == LARGE and places != (16, 48):
        bytes_ = 3_000_000
    to, source = places
    contents = rng.integers(0, 256, source + bytes_ + 5, np.uint8)
    expected = rng.integers(0, 256, to + bytes_ + 21, np.uint8)
    buffers = [be.alloc(len(contents)), be.alloc(len(expected))]
    be.copy_htod(buffers[0], contents)
    be.copy_htod(buffers[1], expected)
    be.copy_dtod(buffers[1], buffers[0], bytes_, to, source)
    expected[to : to + bytes_] = contents[source : source + bytes_]
    np.testing.assert_array_equal(download(be, buffers[1]), expected)
    for buffer in buffers:
        be.free(buffer)


actions = st.one_of(
    st.tuples(st.just("htod"), st.integers(-2, 45), st.integers(0, 45)),
    st.tuples(st.just("dtoh"), st.integers(-2, 45), st.integers(0, 45)),
    st.tuples(
        st.just("dtod"),
        st.integers(-2, 45), st.integers(-2, 45), st.integers(-2, 45), st.booleans(),
    ),
)  # fmt: skip


@given(st.lists(actions, min_size=1, max_size=40))
def test_copies_follow_the_model(be: Backend, todo: list[tuple[object, ...]]) -> None:
    """Any sequence of copies, valid or not, leaves two buffers as it leaves two bytearrays."""
    model = [bytearray(37), bytearray(41)]
    buffers = [be.alloc(len(m)) for m in model]
    for buffer, m in zip(buffers, model, strict=True):
        be.copy_htod(buffer, m)
    fresh = 0
    for kind, *numbers in todo:
        fresh = fresh % 200 + 1
        if kind == "dtod":
            size, to, start, same = (int(x) for x in numbers)
            target = 0 if same else 1
            valid = size >= 0 and to >= 0 and start >= 0
            valid = valid and to + size <= len(model[target]) and start + size <= len(model[0])
            valid = valid and not (same and to < start + size and start < to + size)
            if valid:
                be.copy_dtod(buffers[target], buffers[0], size, to, start)
                model[target][to : to + size] = model[0][start : start + size]
            else:
                with pytest.raises(tilewright.InvalidArgument):
                    be.copy_dtod(buffers[target], buffers[0], size, to, start)
            continue
        offset, size = (int(x) for x in numbers)
        valid = offset >= 0 and offset + size <= len(model[1])
        if kind == "htod":
            data = bytes([fresh]) * size
            if valid:
                be.copy_htod(buffers[1], data, offset)
                model[1][offset : offset + size] = data
            else:
                with pytest.raises(tilewright.InvalidArgument):
                    be.copy_htod(buffers[1], data, offset)
        else:
            got = bytearray([201] * size)
            if valid:
                be.copy_dtoh(got, buffers[1], offset)
                assert got == model[1][offset : offset + size]
            else:
                with pytest.raises(tilewright.InvalidArgument):
                    be.copy_dtoh(got, buffers[1], offset)
                assert got == bytearray([201] * size)
    for buffer, m in zip(buffers, model, strict=True):
        assert bytes(download(be, buffer)) == bytes(m)
        be.free(buffer)


def test_work_queued_on_a_freed_buffer_completes(be: Backend) -> None:
    n = 1_000_000
    a, b = be.alloc(4 * n), be.alloc(4 * n)
    be.copy_htod(a, np.full(n, 3, np.float32))
    be.unary("square", a, b, n)
    be.free(a)
    other = be.alloc(4 * n)
    be.copy_htod(other, np.zeros(n, np.float32))
    got = np.empty(n, np.float32)
    be.copy_dtoh(got, b)
    assert (got == 9).all()
    be.free(b)
    be.free(other)


def test_the_numbers_of_memory_stats(be: Backend) -> None:
    before = be.memory_stats()
    buffers = [be.alloc(size) for size in (1000, 3, 77)]
    during = be.memory_stats()
    assert during.active_bytes == before.active_bytes + 1080
    assert during.allocations == before.allocations + 3
    assert during.total_allocations == before.total_allocations + 3
    assert during.peak_bytes >= during.active_bytes
    assert during.limit_bytes >= during.active_bytes
    for buffer in buffers:
        be.free(buffer)
    after = be.memory_stats()
    assert after.active_bytes == before.active_bytes
    assert after.allocations == before.allocations
    assert after.total_allocations == during.total_allocations
    assert after.peak_bytes == during.peak_bytes


def test_trim_gives_cached_memory_back(be: Backend) -> None:
    be.free(be.alloc(1 << 20))
    be.trim()
    assert be.memory_stats().cached_bytes == 0


def test_freed_memory_is_reused(be: Backend) -> None:
    """What is cached stays bounded, however often a buffer comes and goes."""
    be.trim()
    for _ in range(100):
        be.free(be.alloc(10_000_000))
    assert be.memory_stats().cached_bytes <= 30_000_000


def test_large_buffers(be: Backend, rng: np.random.Generator) -> None:
    """Allocation, copies and elementwise ops on more bytes than one binding of some devices."""
    n = LARGE // 4
    x = rng.random(n, np.float32)
    a, b = be.alloc(LARGE), be.alloc(LARGE)
    be.copy_htod(a, x)
    be.copy_dtod(b, a, LARGE)
    be.binary("add", a, b, b, n)
    got = np.empty(n, np.float32)
    be.copy_dtoh(got, b)
    np.testing.assert_array_equal(got, x + x)
    be.unary("neg", b, b, n)
    be.copy_dtoh(got, b)
    np.testing.assert_array_equal(got, -(x + x))
    be.free(a)
    be.free(b)


def test_parts_of_large_buffers(be: Backend, rng: np.random.Generator) -> None:
    a, b = be.alloc(LARGE + 3), be.alloc(LARGE)
    data = rng.integers(0, 256, 1_000_001, np.uint8)
    at = LARGE - 1_000_001 + 3
    be.copy_htod(a, data, at)
    be.copy_dtod(b, a, 1_000_001, LARGE // 2 + 1, at)
    got = np.empty_like(data)
    be.copy_dtoh(got, b, LARGE // 2 + 1)
    np.testing.assert_array_equal(got, data)
    be.free(a)
    be.free(b)


def test_ops_on_more_than_one_binding_holds(be: Backend) -> None:
    """An op without windows computes, or says how much one binding takes and changes nothing."""
    rows, cols = LARGE // 4 // 1000, 1000
    most = be.capabilities().limits.get("max_binding_bytes", LARGE)
    matrix, vector, out = be.alloc(LARGE), be.alloc(4 * cols), be.alloc(4 * rows)
    for name, run in (
        ("reduce", lambda: be.reduce("sum", matrix, out, (rows, cols), 1)),
        ("matmul_vec", lambda: be.matmul_vec(matrix, rows, cols, vector, out)),
    ):
        for buffer, number in ((matrix, 1), (vector, 1), (out, 7)):
            be.copy_htod(buffer, np.full(be.buffer_bytes(buffer) // 4, number, np.float32))
        if most >= LARGE:
            run()
        else:
            with pytest.raises(tilewright.Unsupported, match=rf"^{name}: .*{LARGE}.*{most}"):
                run()
        expected = cols if most >= LARGE else 7
        assert (download(be, out).view(np.float32) == expected).all()
    for buffer in (matrix, vector, out):
        be.free(buffer)


@pytest.mark.essential
@pytest.mark.parametrize("n", [1, 3, 17, 257, 65537, 1_000_003])
def test_odd_numbers_of_float16(ws: Workspace, rng: np.random.Generator, n: int) -> None:
    """Their bytes are no multiple of 4. The guard begins right behind the last element."""
    x = rng.standard_normal(n).astype(np.float16)
    a, out = ws.input(x), ws.room(n, "float16")
    ws.be.binary("add", a, a, out, n, "float16")
    np.testing.assert_array_equal(ws.read(out), x + x)
    assert ws.be.buffer_bytes(out) == 2 * n + GUARD_BYTES


def test_buffers_that_end_with_the_last_element(be: Backend, rng: np.random.Generator) -> None:
    for n in (1, 3, 7, 17, 255):
        x = rng.standard_normal(n).astype(np.float16)
        a, b = be.alloc(2 * n), be.alloc(2 * n)
        be.copy_htod(a, x)
        be.binary("mul", a, a, b, n, "float16")
        got = np.empty(n, np.float16)
        be.copy_dtoh(got, b)
        np.testing.assert_array_equal(got, x * x)
        be.free(a)
        be.free(b)


def test_more_than_the_device_can_ever_hold(be: Backend) -> None:
    most = be.capabilities().max_buffer_bytes
    before = be.memory_stats()
    for size in (most + 1, 2**62, 2**63 - 1):
        with pytest.raises(tilewright.InvalidArgument) as raised:
            be.alloc(size)
        assert str(size) in str(raised.value)
        assert str(most) in str(raised.value)
    assert be.memory_stats().active_bytes == before.active_bytes


def test_more_than_is_free_now(be: Backend) -> None:
    with tilewright.init_backend(be.device.id, memory_limit=10_000_000) as limited:
        first = limited.alloc(6_000_000)
        with pytest.raises(tilewright.OutOfMemory) as raised:
            limited.alloc(6_000_001)
        assert isinstance(raised.value, MemoryError)
        assert "6000001" in str(raised.value)
        assert limited.memory_stats().allocations == 1
        limited.free(first)
        limited.free(limited.alloc(6_000_001))
        assert limited.memory_stats().limit_bytes == 10_000_000


def test_the_limit_holds_for_live_and_cached_memory_together(be: Backend) -> None:
    with tilewright.init_backend(be.device.id, memory_limit=10_000_000) as limited:
        limited.free(limited.alloc(6_000_000))
        buffer = limited.alloc(8_000_000)
        stats = limited.memory_stats()
        assert stats.active_bytes + stats.cached_bytes <= 10_000_000
        limited.free(buffer)


def test_what_is_kept_is_within_the_limit_with_what_it_is_rounded_up_by(be: Backend) -> None:
    limit = 100_000
    with tilewright.init_backend(be.device.id, memory_limit=limit) as limited:
        for size in range(1, limit + 1, 999):
            limited.free(limited.alloc(size))
            assert limited.memory_stats().cached_bytes <= limit
        for size in range(1, limit // 2, 999):
            pair = [limited.alloc(size), limited.alloc(limit - size)]
            for left in (limit - size, 0):
                limited.free(pair.pop(0))
                stats = limited.memory_stats()
                assert stats.active_bytes == left
                assert left + stats.cached_bytes <= limit


def test_what_is_kept_can_be_limited(be: Backend) -> None:
    with tilewright.init_backend(be.device.id, cache_limit=5_000_000) as limited:
        assert limited.config["cache_limit"] == 5_000_000
        assert limited.memory_stats().cache_limit_bytes == 5_000_000
        for size in (1_000_000, 2_000_000, 3_000_000, 10_000_000):
            limited.free(limited.alloc(size))
        assert 3_000_000 <= limited.memory_stats().cached_bytes <= 5_000_000
    with tilewright.init_backend(be.device.id, cache_limit=0) as nothing_kept:
        x = nothing_kept.array(np.ones(1000, np.float32))
        np.testing.assert_array_equal(nothing_kept.add(x, x).numpy(), np.full(1000, 2))
        assert nothing_kept.memory_stats().cached_bytes == 0
    assert be.memory_stats().cache_limit_bytes > 256 << 20


def test_a_buffer_can_be_limited(be: Backend) -> None:
    with tilewright.init_backend(be.device.id, max_buffer_size=1000) as limited:
        limited.free(limited.alloc(1000))
        with pytest.raises(tilewright.InvalidArgument, match=r"1001.*1000"):
            limited.alloc(1001)


def test_release_is_free_that_never_raises(be: Backend) -> None:
    buffer = be.alloc(10)
    be.release(buffer)
    be.release(buffer)
    be.release(0)
    with pytest.raises(tilewright.InvalidArgument):
        be.free(buffer)
