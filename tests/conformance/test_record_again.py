"""Replays one after another, with and without waits and other work between them: what a device
makes ready for the next one meanwhile must not show."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend

from .recordings import another, floats, read
from .workspace import download

N = 5


def counter(be: Backend, launches: int) -> tuple[tw.Recording, int]:
    """Each replay adds so much to all of a buffer."""
    x = floats(be, np.zeros(N))
    with be.record() as r:
        for _ in range(launches):
            be.binary_scalar("add", x, 1.0, x, N)
    return r, x


@pytest.mark.parametrize("launches", [1, 2, 63, 64, 65, 200, 4200])
def test_with_waits_and_without(be: Backend, launches: int) -> None:
    r, x = counter(be, launches)
    done = 0
    for wait in (True, True, False, False, True, False, True, True):
        r.replay()
        done += launches
        if wait:
            be.synchronize()
    assert read(be, x) == [done] * N
    for i in range(3):  # reads wait too
        r.replay()
        assert read(be, x) == [done + (i + 1) * launches] * N
    r.drop()
    be.free(x)


def test_of_nothing(be: Backend) -> None:
    x = floats(be, np.zeros(N))
    with be.record() as r:
        pass
    for _ in range(3):
        r.replay()
        be.binary_scalar("add", x, 1.0, x, N)
        be.synchronize()
    assert read(be, x) == [3] * N
    r.drop()
    be.free(x)


@pytest.mark.parametrize("copy_every", [1, 7, 64])
def test_copies_among_the_launches(be: Backend, copy_every: int) -> None:
    x, y = floats(be, np.zeros(N)), floats(be, np.zeros(N))
    with be.record() as r:
        for i in range(130):
            be.binary_scalar("add", x, 1.0, x, N)
            if i % copy_every == copy_every - 1:
                be.copy_dtod(y, x, 4 * N)
                be.binary_scalar("mul", x, 0.0, x, N)
                be.copy_dtod(x, y, 4 * N)
    for i in range(1, 6):
        r.replay()
        if i % 2:
            be.synchronize()
        assert read(be, x) == [130 * i] * N
    r.drop()
    be.free(x)
    be.free(y)


def test_other_work_between(be: Backend) -> None:
    """Uploads, ops and reads that are not waited for, in the order of the calls."""
    r, x = counter(be, 70)
    y = floats(be, np.zeros(N))
    r.replay()
    be.synchronize()
    for i in range(6):
        be.copy_htod(x, np.full(N, i, np.float32))
        be.unary("neg", x, x, N)
        r.replay()
        be.unary("neg", x, y, N)
        got = np.zeros(N, np.float32)
        event = be.copy_dtoh_async(got, x)
        be.copy_htod(x, np.full(N, 1000, np.float32))
        r.replay()
        event.wait()
        assert got.tolist() == [70 - i] * N
        assert read(be, y) == [i - 70] * N
        assert read(be, x) == [1070] * N
    r.drop()
    be.free(x)
    be.free(y)


def test_several_in_turn(be: Backend) -> None:
    """What one is ready for goes out in the order of the replays, not in that of the waits."""
    x, y = floats(be, np.ones(N)), floats(be, np.zeros(N))
    with be.record() as double:
        for _ in range(3):
            be.binary("add", x, x, x, N)
    with be.record() as decrease:
        for _ in range(66):
            be.binary_scalar("sub", x, 1.0, x, N)
    with be.record() as keep:
        be.copy_dtod(y, x, 4 * N)
    expected = 1
    for i in range(6):
        double.replay()
        decrease.replay()
        keep.replay()
        decrease.replay()
        be.binary_scalar("add", x, 132.0, x, N)
        expected *= 8
        if i % 2:
            be.synchronize()
        assert read(be, y) == [expected - 66] * N
        assert read(be, x) == [expected] * N
    for recording in (decrease, double, keep):
        recording.drop()
    be.free(x)
    be.free(y)


def test_kernels_with_other_parameters(be: Backend) -> None:
    """Launches of one kernel one after another, of which some have the same parameters."""
    x, y = floats(be, np.zeros(200)), floats(be, np.arange(200))
    with be.record() as r:
        for n in (7, 7, 9, 9, 9, 7, 200, 200, 7):
            be.binary("add", x, y, x, n)
            be.binary("add", x, y, x, n)
    expected = np.zeros(200, np.float32)
    for n in (7, 7, 9, 9, 9, 7, 200, 200, 7):
        expected[:n] += 2 * np.arange(n)
    for i in range(1, 4):
        r.replay()
        np.testing.assert_array_equal(download(be, x).view(np.float32), i * expected)
    r.drop()
    be.free(x)
    be.free(y)


def test_an_empty_one(be: Backend) -> None:
    with be.record() as r:
        pass
    for _ in range(3):
        r.replay()
        be.synchronize()
    r.drop()


def test_one_that_ends_between_replays(be: Backend) -> None:
    with another(be) as other:
        for how in ("drop", "free", "forget") * 4:
            r, x = counter(other, 130)
            for _ in range(2):
                r.replay()
                other.synchronize()
            if how == "drop":
                r.drop()
            other.free(x)
            if how == "free":
                with pytest.raises(tw.InvalidArgument, match="was freed"):
                    r.replay()
            del r
            gc.collect(0)
            other.synchronize()
        assert other.memory_stats().allocations == 0


def test_a_profile_of_some(be: Backend) -> None:
    r, x = counter(be, 66)
    for _ in range(2):
        r.replay()
        be.synchronize()
        with be.profile() as p:
            r.replay()
        assert len(p.records) == 66
    r.replay()
    assert read(be, x) == [5 * 66] * N
    r.drop()
    be.free(x)


def test_a_backend_that_closes_beside_one(be: Backend) -> None:
    other = another(be)
    other.init()
    r, _ = counter(other, 100)
    r.replay()
    other.synchronize()
    other.close()
    with pytest.raises(tw.NotInitialized):
        r.replay()
