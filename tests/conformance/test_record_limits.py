"""Recordings, on every backend: what is refused, threads, profiles and ends."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument, NotInitialized

from .recordings import another, floats, read, relu_recorded

# What is refused ----------------------------------------------------------------------------------

REFUSED: dict[str, Callable[[Backend, int], object]] = {
    "copy_htod": lambda be, x: be.copy_htod(x, b"1234"),
    "copy_dtoh": lambda be, x: be.copy_dtoh(bytearray(4), x),
    "copy_dtoh_async": lambda be, x: be.copy_dtoh_async(bytearray(4), x),
    "synchronize": lambda be, x: be.synchronize(),
    "event": lambda be, x: be.event(),
    "flush": lambda be, x: be.flush(),
    "trim": lambda be, x: be.trim(),
    "begin_profile": lambda be, x: be.begin_profile(),
    "end_profile": lambda be, x: be.end_profile(),
    "record": lambda be, x: be.record(),
    "close": lambda be, x: be.close(),
}


@pytest.mark.parametrize("call", REFUSED)
def test_what_a_recording_cannot_keep(be: Backend, call: str) -> None:
    x = floats(be, [2])
    with be.record() as r:
        be.unary("neg", x, x, 1)
        with pytest.raises(InvalidArgument, match=rf"^{call}: this thread records, .*; "):
            REFUSED[call](be, x)
        be.unary("exp", x, x, 1)
    r.replay()
    np.testing.assert_allclose(read(be, x), [np.exp(-2)], rtol=1e-6)
    r.drop()
    be.free(x)


def test_a_replay_while_recording_is_refused(be: Backend) -> None:
    r, x, y = relu_recorded(be)
    with be.record() as other:
        with pytest.raises(InvalidArgument, match=r"^replay: this thread records"):
            r.replay()
        with pytest.raises(InvalidArgument, match=r"^replay: this thread records"):
            other.replay()
    for recording in (r, other):
        recording.replay()
        recording.drop()
        with pytest.raises(InvalidArgument, match=r"^replay: the recording was dropped"):
            recording.replay()
        with pytest.raises(InvalidArgument, match=r"^end: this recording is not under way"):
            recording.end()
        with pytest.raises(InvalidArgument, match=r"^record: this recording is not under way"):
            recording.__enter__()
    be.free(x)
    be.free(y)


def test_a_wrong_call_leaves_the_recording_as_it_was(be: Backend) -> None:
    x = floats(be, [2])
    with be.record() as r:
        with pytest.raises(InvalidArgument):
            be.unary("neg", x, x, 2)
        be.unary("neg", x, x, 1)
    r.replay()
    assert read(be, x) == [-2]
    r.drop()
    be.free(x)


def test_an_error_in_the_block_drops_it(be: Backend) -> None:
    x = floats(be, [2])
    with pytest.raises(ZeroDivisionError), be.record() as r:
        be.unary("neg", x, x, 1)
        raise ZeroDivisionError
    with pytest.raises(InvalidArgument, match="was dropped"):
        r.replay()
    be.unary("abs", x, x, 1)
    assert read(be, x) == [2]
    be.free(x)


def test_one_that_nobody_holds_ends(be: Backend) -> None:
    x = floats(be, [2])
    be.record()
    gc.collect(0)
    be.unary("neg", x, x, 1)
    assert read(be, x) == [-2]
    be.free(x)


# Threads, profiles, ends --------------------------------------------------------------------------


def in_a_thread(body: Callable[[], object]) -> list[str]:
    said: list[str] = []

    def run() -> None:
        try:
            body()
        except tw.Error as error:
            said.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return said


def test_other_threads_calls_run_as_always(be: Backend) -> None:
    r, a, b = relu_recorded(be)
    x, y = floats(be, [1, 2]), floats(be, [0, 0])

    def work() -> None:
        be.unary("neg", x, y, 2)
        assert read(be, y) == [-1, -2]
        r.replay()
        assert read(be, b) == [0, 0, 1, 2]

    with be.record() as mine:
        be.unary("exp", y, y, 2)
        assert in_a_thread(work) == []
        assert in_a_thread(be.record) == [
            "record: another thread records on this backend; one recording at a time"
        ]
        assert in_a_thread(mine.end) == [
            "end: another thread began this recording, which ends it too"
        ]
        assert in_a_thread(mine.replay) == [
            "replay: the recording is still under way in another thread, which must end() it first"
        ]
    assert read(be, y) == [-1, -2]
    assert in_a_thread(mine.replay) == []
    np.testing.assert_allclose(read(be, y), np.exp([-1, -2]), rtol=1e-6)
    for recording in (r, mine):
        recording.drop()
    for buffer in (a, b, x, y):
        be.free(buffer)


def test_replays_from_many_threads(be: Backend) -> None:
    """Of recordings that share nothing they write, and of one that is dropped meanwhile."""
    one, other = floats(be, np.ones(100)), floats(be, np.ones(100))
    sums = [floats(be, np.zeros(100)) for _ in range(4)]
    recordings = []
    for x in sums:
        with be.record() as r:
            be.binary("add", x, one, x, 100)
        recordings.append(r)
    with be.record() as dropped:
        be.unary("neg", other, other, 100)
    said: list[str] = []

    def replay(recording: tw.Recording) -> None:
        for _ in range(50):
            recording.replay()
        try:
            while True:
                dropped.replay()
        except InvalidArgument as error:
            said.append(str(error))

    threads = [threading.Thread(target=replay, args=(r,)) for r in recordings]
    for thread in threads:
        thread.start()
    dropped.drop()
    for thread in threads:
        thread.join()
    assert said == ["replay: the recording was dropped; record() another one"] * 4
    for x, r in zip(sums, recordings, strict=True):
        assert read(be, x) == [50] * 100
        r.drop()
        be.free(x)
    be.free(one)
    be.free(other)


def test_dropped_by_another_thread(be: Backend) -> None:
    x = floats(be, [2])
    r = be.record()
    be.unary("neg", x, x, 1)
    assert in_a_thread(r.drop) == []
    be.unary("exp", x, x, 1)
    np.testing.assert_allclose(read(be, x), [np.exp(2)], rtol=1e-6)
    with pytest.raises(InvalidArgument, match="not under way"):
        r.end()
    be.free(x)


def test_a_profile_has_what_replays_launch(be: Backend) -> None:
    x = floats(be, [1.0, 2.0])
    with be.profile() as p, be.record() as r:
        be.unary("exp", x, x, 2)
        be.unary("neg", x, x, 2)
    assert p.records == []
    with be.profile() as p:
        r.replay()
        r.replay()
    assert [record.kernel for record in p.records] == ["unary_exp", "unary_neg"] * 2
    r.replay()
    r.drop()
    be.free(x)


def test_a_replay_after_close(be: Backend) -> None:
    other = another(be)
    other.init()
    r, x, _y = relu_recorded(other)
    under_way = other.record()
    other.unary("exp", x, x, 1)
    assert in_a_thread(other.close) == []
    for recording in (r, under_way):
        with pytest.raises(NotInitialized, match=r"^replay: "):
            recording.replay()
    with other:
        for recording in (r, under_way):
            with pytest.raises(NotInitialized, match=r"^replay: the backend was closed since"):
                recording.replay()
        with other.record() as again:
            made = other.empty((3,))
            other.neg(made, out=made)
        again.replay()
        other.synchronize()
    r.drop()


def test_a_backend_that_goes_before_its_recording(be: Backend) -> None:
    other = another(be)
    other.init()
    relu_recorded(other)
    r, _x, _y = relu_recorded(other)
    del other
    gc.collect()
    r.replay()  # which holds its backend


def resident_bytes() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_recordings_that_are_replayed_once_leave_nothing(be: Backend) -> None:
    """Of the process, not of what the device counts."""

    def work() -> None:
        x = floats(be, [1.0] * 100)
        for _ in range(150):
            with be.record() as r:
                be.unary("neg", x, x, 100)
            r.replay()
            read(be, x)
            r.drop()
        be.free(x)

    work()
    before = resident_bytes()
    work()
    work()
    assert resident_bytes() - before < 5 << 20
