"""Events, flush and reads that return before they are done, on every backend.

Whether a device is still at work cannot be known, so what is held is the order: what an event
promises once it is done, and that it gets done."""

from __future__ import annotations

import asyncio
import gc
import math
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright import Backend, IndexOutOfRange, InvalidArgument, NotInitialized

PATIENCE = 100.0  # seconds, in place of a hang


def numbers(n: int, first: int = 0) -> np.ndarray:
    return np.arange(first, first + n, dtype=np.float32)


def another(be: Backend) -> Backend:
    return type(be)(adapter_index=int(be.device.id.partition(":")[2]))


# Events -------------------------------------------------------------------------------------------


def test_after_a_wait_what_was_queued_before_is_done(be: Backend) -> None:
    x, host = be.array(numbers(1000)), np.zeros(1000, np.float32)
    for _ in range(20):
        be.neg(x, out=x)
    be.copy_dtoh_async(host, x)
    event = be.event()
    assert event.wait() is True
    assert event.done() is True
    np.testing.assert_array_equal(host, numbers(1000))


def test_done_comes_true_without_a_wait(be: Backend) -> None:
    x = be.array(numbers(1000))
    be.neg(x, out=x)
    event = be.event()
    pause = threading.Event()
    assert any(event.done() or pause.wait(0.01) for _ in range(int(100 * PATIENCE)))


def test_done_comes_true_after_a_flush_alone(be: Backend) -> None:
    """The first looks at nothing but what is at the device already."""
    x = be.array(numbers(1000))
    for _ in range(3):
        be.neg(x, out=x)
        be.flush()
    be.flush()
    assert be.event().wait(PATIENCE)
    assert be.event().done()


def test_an_event_of_nothing(be: Backend) -> None:
    be.synchronize()
    assert be.event().done()
    assert be.event().wait(0)
    with another(be) as other:
        other.flush()
        assert other.event().done()
        assert other.event().wait()


@pytest.mark.parametrize("timeout", [None, 0, 1, 0.5, PATIENCE, 1e300, math.inf, np.float32(0.25)])
def test_timeouts(be: Backend, timeout: Any) -> None:
    x = be.array(numbers(1000))
    be.neg(x, out=x)
    event = be.event()
    within = event.wait(timeout)
    assert within is True or (within is False and timeout is not None and timeout <= 1)
    assert event.wait(timeout=PATIENCE)
    assert event.wait(timeout)


@pytest.mark.parametrize("timeout", [-1, -1e-9, math.nan, -math.inf, "1", True, [1]])
def test_wrong_timeouts(be: Backend, timeout: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"wait: timeout is .*, expected"):
        be.event().wait(timeout)


def test_events_of_one_place_and_of_many(be: Backend) -> None:
    x = be.zeros(64)
    events = []
    for _ in range(300):
        be.add(x, 1.0, out=x)
        events += [be.event(), be.event()]
    assert events[-1].wait(PATIENCE)
    assert all(event.done() for event in events)
    assert x.numpy().tolist() == [300] * 64


def test_older_events_are_done_with_a_younger_one(be: Backend) -> None:
    x = be.zeros(64)
    first = be.event()
    be.add(x, 1.0, out=x)
    second = be.event()
    be.synchronize()
    assert second.done()
    assert first.done()


def test_it_outlives_what_it_waits_for(be: Backend) -> None:
    handle = be.alloc(4000)
    be.unary("neg", handle, handle, 1000)
    event = be.event()
    be.free(handle)
    be.trim()
    assert event.wait(PATIENCE)


def test_it_outlives_close(be: Backend) -> None:
    other = another(be)
    for call in (other.event, other.flush):
        with pytest.raises(NotInitialized):
            call()
    other.init()
    x, host = other.array(numbers(1000)), np.zeros(1000, np.float32)
    other.neg(x, out=x)
    event, read = other.event(), other.copy_dtoh_async(host, x)
    other.close()
    np.testing.assert_array_equal(host, -numbers(1000))
    for _ in range(2):
        for one in (event, read):
            assert one.done()
            assert one.wait(0)
            assert one.wait()
        other.init()
    assert other.event().wait()
    other.close()


def test_what_an_event_met_it_says_each_time(be: Backend) -> None:
    """Whoever hears of it first, the events that are behind it say it too, and no others."""
    x, beyond = be.array(numbers(4)), tilewright.asarray([9], device=be)
    be.synchronize()
    before = be.event()
    if be.name == "cpu":
        with pytest.raises(IndexOutOfRange, match="index 9"):
            x[beyond]
        return
    unread = x[beyond]
    behind = [be.event(), be.event()]
    with pytest.raises(IndexOutOfRange, match="index 9"):
        be.synchronize()
    after = [be.event()]
    be.relu(x)
    after.append(be.event())
    for _ in range(3):
        for event in behind:
            with pytest.raises(IndexOutOfRange, match="index 9 is out of range for axis 0"):
                event.wait()
            with pytest.raises(IndexOutOfRange, match="index 9"):
                event.done()
        for event in (before, *after):
            assert event.wait()
    # What is queued behind an event, and goes out with it, is not its.
    right = x[tilewright.asarray([1], device=be)]
    earlier = be.event()
    wrong = x[beyond]
    later = be.event()
    for _ in range(2):
        assert earlier.wait()
        with pytest.raises(IndexOutOfRange, match="index 9"):
            later.wait()
    del right, wrong
    # The one that asks first may be an event, of what is not the last.
    again = x[beyond]
    first = be.event()
    be.relu(x)
    second = be.event()
    for event in (second, first, second, first):
        with pytest.raises(IndexOutOfRange, match="index 9"):
            event.wait()
    be.synchronize()
    assert be.event().wait()
    assert np.array_equal(be.relu(x).numpy(), numbers(4))
    del unread, again


def test_it_keeps_its_backend(be: Backend) -> None:
    other = another(be)
    other.init()
    event = other.event()
    assert event.backend is other
    seen = weakref.ref(other)
    del other
    gc.collect()
    assert seen() is not None
    assert event.wait()
    del event
    gc.collect()
    assert seen() is None


# Reads --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offset", "count"),
    [(0, 4000), (0, 1), (1, 1), (3, 2), (3, 5), (2, 3997), (3999, 1), (4, 3996), (1, 3998), (7, 0)],
)
def test_a_read_of_any_bytes(be: Backend, offset: int, count: int) -> None:
    values = np.random.default_rng(1).integers(0, 256, 4000, np.uint8)
    handle = be.alloc(4000)
    be.copy_htod(handle, values)
    host = np.full(count + 8, 7, np.uint8)
    assert be.copy_dtoh_async(host[4 : 4 + count], handle, offset).wait()
    be.free(handle)
    np.testing.assert_array_equal(host[4 : 4 + count], values[offset : offset + count])
    assert host[:4].tolist() == host[4 + count :].tolist() == [7] * 4


def test_what_is_queued_after_a_read_does_not_show(be: Backend) -> None:
    x = be.array(numbers(1000))
    hosts, events = [], []
    for i in range(200):
        hosts.append(np.empty(1000, np.float32))
        events.append(be.copy_dtoh_async(hosts[i], x))
        if i % 3 == 2:
            be.copy_htod(x, numbers(1000, i + 1))
        else:
            be.add(x, 1.0, out=x)
    del x
    for event in reversed(events):
        assert event.wait()
    for i, host in enumerate(hosts):
        np.testing.assert_array_equal(host, numbers(1000, i))


def test_a_read_of_more_than_is_staged(be: Backend) -> None:
    n = (21 << 20) // 4 + 1
    x = be.array(numbers(n))
    hosts = [np.zeros(n, np.float32) for _ in range(2)]
    events = []
    for host in hosts:
        events.append(be.copy_dtoh_async(host, x))
        be.neg(x, out=x)
    assert events[1].wait()
    assert events[0].done()
    np.testing.assert_array_equal(hosts[0], numbers(n))
    np.testing.assert_array_equal(hosts[1], -numbers(n))


def test_more_reads_than_are_staged(be: Backend) -> None:
    n = (3 << 20) // 4
    x = be.array(numbers(n))
    hosts = [np.zeros(n, np.float32) for _ in range(12)]
    for host in hosts:
        be.copy_dtoh_async(host, x)
        be.add(x, 1.0, out=x)
    be.synchronize()
    for i, host in enumerate(hosts):
        np.testing.assert_array_equal(host, numbers(n, i))


@pytest.mark.parametrize(
    "fills",
    [
        lambda be: be.synchronize(),
        lambda be: be.event().wait(),
        lambda be: be.copy_dtoh_async(np.empty(1, np.float32), be.zeros(1)).wait(),
    ],
)
def test_a_read_whose_event_nobody_keeps(be: Backend, fills: Callable[[Backend], Any]) -> None:
    host = np.zeros(1000, np.float32)
    be.copy_dtoh_async(host, be.array(numbers(1000)))
    fills(be)
    np.testing.assert_array_equal(host, numbers(1000))


def test_a_read_with_work_behind_it(be: Backend) -> None:
    """Which goes to the device by itself, after the read."""
    x, host = be.array(numbers(1000)), np.zeros(1000, np.float32)
    be.copy_dtoh_async(host, x)
    be.flush()
    be.neg(x, out=x)
    be.synchronize()
    np.testing.assert_array_equal(host, numbers(1000))


def test_memory_that_is_read_to_stays(be: Backend) -> None:
    host = bytearray(4000)
    read = be.copy_dtoh_async(host, be.array(numbers(1000)))
    if be.name != "cpu":
        with pytest.raises(BufferError):
            host.extend(b"more")
    assert read.wait()
    host.extend(b"more")
    assert np.frombuffer(host[:4000], np.float32).tolist() == numbers(1000).tolist()


def test_memory_that_only_the_read_keeps(be: Backend) -> None:
    x = be.array(numbers(1000))
    memory = np.zeros(1000, np.float32)
    seen = weakref.ref(memory)
    read = be.copy_dtoh_async(memory, x)
    view = memoryview(memory)
    del memory
    assert seen() is not None
    del read
    be.synchronize()
    np.testing.assert_array_equal(np.asarray(view), numbers(1000))
    del view
    gc.collect()
    assert seen() is None


def test_wrong_reads(be: Backend) -> None:
    x, host = be.array(numbers(10)), np.zeros(20, np.float32)
    frozen = np.zeros(10, np.float32)
    frozen.flags.writeable = False
    freed = be.alloc(40)
    be.free(freed)
    with another(be) as other:
        foreign = other.zeros(10)
        for dst, src, offset, words in [
            (host, x, 0, "src holds 40 bytes, expected at least 80 from offset 0"),
            (host[:10], x, 4, "src holds 40 bytes, expected at least 40 from offset 4"),
            (host[:10], x, -4, "offset is -4"),
            (host[:0], x, 41, "src holds 40 bytes"),
            (host[::2], x, 0, "memory in one piece"),
            (frozen, x, 0, "a writable object with the buffer protocol"),
            (b"1234", x, 0, "a writable object with the buffer protocol"),
            (3, x, 0, "dst is 3 (int)"),
            (host[:10], freed, 0, "freed"),
            (host[:10], 0, 0, "null handle"),
            (host[:10], foreign, 0, "of this backend"),
            (host[:10], x, 1.5, "offset is 1.5"),
        ]:
            with pytest.raises(InvalidArgument) as raised:
                be.copy_dtoh_async(dst, src, offset)
            assert words in str(raised.value)
            assert str(raised.value).startswith("copy_dtoh_async: ")
        del foreign
    assert host.tolist() == [0] * 20
    host.resize(5, refcheck=False)


# Threads ------------------------------------------------------------------------------------------


def test_many_threads(be: Backend) -> None:
    """Each queues, reads and waits; all wait for one event besides."""
    shared = be.copy_dtoh_async(np.empty(100_000, np.float32), be.zeros(100_000))
    wrong: list[object] = []

    def work(seed: int) -> None:
        try:
            x = be.array(numbers(5000, seed))
            for i in range(30):
                host = np.zeros(5000, np.float32)
                read = be.copy_dtoh_async(host, x)
                be.add(x, 1.0, out=x)
                if i % 3:
                    assert read.wait(PATIENCE)
                else:
                    while not read.done():
                        assert shared.wait(PATIENCE)
                np.testing.assert_array_equal(host, numbers(5000, seed + i))
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# asyncio ------------------------------------------------------------------------------------------


def test_await(be: Backend) -> None:
    async def main() -> None:
        x = be.array(numbers(1000))
        reads = []
        for _ in range(5):
            reads.append(x.numpy_async())
            be.add(x, 1.0, out=x)
        for i, host in enumerate(await asyncio.gather(*reads)):
            np.testing.assert_array_equal(host, numbers(1000, i))
        out = np.empty(1000, np.float32)
        assert await x.numpy_async(out) is out
        assert out[0] == 5
        host = np.empty(1000, np.float32)
        assert await be.copy_dtoh_async(host, x) is None
        assert host[0] == 5
        assert await be.event() is None

    asyncio.run(main())


def test_other_tasks_go_on(be: Backend) -> None:
    """A task that awaits leaves the loop: another one, which it waits for, gets to run."""

    async def main() -> None:
        x, ran = be.array(numbers(200_000)), asyncio.Event()

        async def other() -> None:
            ran.set()

        task = asyncio.ensure_future(other())
        for _ in range(30):
            be.exp(x, out=x)
        await be.event()
        await asyncio.wait_for(ran.wait(), PATIENCE)
        await task

    asyncio.run(main())


def test_tasks_that_are_cancelled(be: Backend) -> None:
    async def main() -> np.ndarray:
        x, host = be.array(numbers(1000)), np.zeros(1000, np.float32)

        async def read() -> None:
            await be.copy_dtoh_async(host, x)

        tasks = [asyncio.ensure_future(read()) for _ in range(5)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await be.event()
        return host

    np.testing.assert_array_equal(asyncio.run(main()), numbers(1000))


def test_a_loop_that_closes_under_it(be: Backend) -> None:
    async def leaves_at_once() -> None:
        x = be.array(numbers(100_000))
        be.exp(x, out=x)
        task = asyncio.ensure_future(wait(be.event()))
        await asyncio.sleep(0)
        task.cancel()

    async def wait(event: tilewright.Event) -> None:
        await event

    for _ in range(5):
        asyncio.run(leaves_at_once())
    asyncio.run(wait(be.event()))


def test_loops_of_several_threads(be: Backend) -> None:
    right: list[bool] = []

    def work(first: int) -> None:
        async def main() -> None:
            x = be.array(numbers(1000, first))
            for _ in range(10):
                right.append(bool((await x.numpy_async() == numbers(1000, first)).all()))

        asyncio.run(main())

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 30


def test_wrong_out_of_numpy_async(be: Backend) -> None:
    x = be.zeros(10)
    wrong: Any
    for wrong, words in [
        (np.zeros(9, np.float32), "numpy_async: out is float32 of shape (9,), expected"),
        (np.zeros(10), "numpy_async: out is float64 of shape"),
        ([0] * 10, "numpy_async: out is of type list"),
    ]:
        with pytest.raises(InvalidArgument) as raised:
            x.numpy_async(wrong)
        assert words in str(raised.value)
