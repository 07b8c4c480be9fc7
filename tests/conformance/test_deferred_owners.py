"""Deferred work that others have too: callers, threads, recordings, weak references, and those who
need the memory of its operands."""

from __future__ import annotations

import gc
import operator
import threading
import weakref

import numpy as np
import pytest
import tilewright as tw

from .deferral import SHAPE, asked_for, in_another_thread, waits, whole  # noqa: F401


def test_a_reduction_into_what_others_wait_for(be):
    host = whole()
    out = tw.asarray(host[0].copy(), device=be)
    waiting = out + 1
    y = tw.asarray(host, device=be) * 2
    tw.sum(y, axis=0, out=out)
    np.testing.assert_array_equal(waiting.numpy(), host[0] + 1)
    np.testing.assert_array_equal(out.numpy(), (host * 2).sum(axis=0))


def test_a_reduction_into_a_part_of_what_it_reads(be):
    host = whole()
    x = tw.asarray(host, device=be)
    for _ in range(2):
        y = x[:3] * 2
        tw.sum(y, axis=0, out=x[0])
        host[0] = (host[:3] * 2).sum(axis=0)
        np.testing.assert_array_equal(x.numpy(), host)


def test_an_operand_that_a_caller_has_and_passes_on(be):
    host = whole()
    x = tw.asarray(host, device=be)
    both = (x, x * 2)
    operator.iadd(*both)
    np.testing.assert_array_equal(both[1].numpy(), host * 2)
    others = (x * 2,)
    x.__iadd__(*others)
    np.testing.assert_array_equal(others[0].numpy(), host * 6)
    np.testing.assert_array_equal(x.numpy(), host * 9)


def test_callbacks_of_weak_references_may_compute_all(be):
    host = whole()
    x = tw.asarray(host, device=be)
    seen = []
    y = x + 1
    kept = weakref.ref(y, lambda _: (be.synchronize(), seen.append(1)))
    del y
    z = x * 2
    weakref.finalize(z, lambda: x.fill(3))
    del z
    gc.collect()
    assert seen == [1] and kept() is None
    np.testing.assert_array_equal(x.numpy(), np.full(SHAPE, 3))


def test_callbacks_as_a_backend_closes(be):
    other = tw.init_backend(be.device.id)
    names = {}
    x = tw.asarray(whole(), device=other)
    t = x + 1
    y = t * 2
    names["z"] = y * 3
    names["w"] = names["z"] * 3
    weakref.finalize(t, lambda: (names.clear(), gc.collect()))
    del t
    other.close()
    with pytest.raises(tw.NotInitialized):
        y.numpy()


def test_more_operands_than_a_program_has_with_out(be):
    hosts = [whole() for _ in range(10)]
    x = [tw.asarray(host, device=be) for host in hosts]
    out = tw.empty(SHAPE, device=be)
    for _ in range(2):
        left = x[0] + x[1] + x[2] + x[3] + x[4]
        right = x[5] + x[6] + x[7] + x[8] + x[9]
        tw.add(left, right, out=out)
        np.testing.assert_array_equal(out.numpy(), sum(hosts))


@pytest.mark.parametrize("ask", ["reduce", "call"])
def test_a_write_waits_for_a_chain_that_another_thread_computes(be, ask):
    """The other thread takes in `y`, which reads `x`, and lets go of the GIL as it computes."""
    n = 1 << 22 if be.name == "cpu" else 1 << 16
    for i in range(4):
        x = tw.ones(n, device=be)
        y = x + 1
        started = threading.Event()
        found = []

        def work(y=y, started=started, found=found, i=i):
            started.set()
            with tw.deferred(ask == "reduce"):
                # A chain that was never seen, which a GPU compiles here.
                found.append(tw.max(tw.abs(y) - i) if ask == "reduce" else tw.pow(y, 3.0 + i))

        thread = threading.Thread(target=work)
        thread.start()
        started.wait()
        x[...] = -100
        thread.join()
        values = np.unique(found[0].numpy())
        np.testing.assert_allclose(values, [2.0 - i if ask == "reduce" else 2.0 ** (3 + i)])
        np.testing.assert_array_equal(np.unique(y.numpy()), [2])


def test_other_threads_leave_what_a_recording_holds(be):
    host = whole()
    x = tw.asarray(host, device=be)
    with tw.deferred(True):
        with be.record() as recording:
            y = x + 1
            in_another_thread(be.synchronize)
            assert waits(y)

            def read():
                with pytest.raises(tw.InvalidArgument, match="called for in a recording"):
                    y.numpy()

            in_another_thread(read)
        assert not waits(y)
    x[...] = 5
    recording.replay()
    np.testing.assert_array_equal(y.numpy(), np.full(SHAPE, 6))


def test_a_recording_leaves_what_other_threads_called_for(be):
    host = whole()
    x = tw.asarray(host, device=be)
    called = []

    def call():
        with tw.deferred(True):
            called.append(x + 1)

    with be.record():
        in_another_thread(call)
        with pytest.raises(tw.InvalidArgument, match="another thread"):
            be.relu(called[0])
    assert waits(called[0])
    np.testing.assert_array_equal(called[0].numpy(), host + 1)


def test_what_fails_at_a_recordings_end_ends_it(be):
    few = tw.init_backend(be.device.id, memory_limit=24 << 20)
    x = tw.ones(1 << 20, device=few)
    with tw.deferred(True):
        with pytest.raises(tw.OutOfMemory), few.record() as recording:
            results = [x + float(i) for i in range(8)]
        assert not recording.is_recording
        with pytest.raises(KeyError, match="mine"), few.record():
            results += [x + float(i) for i in range(8)]
            raise KeyError("mine")
    results.clear()
    assert float((tw.ones(3, device=few) + 1).sum()) == 6
    few.close()


def test_operands_of_what_waits_leave_room(be):
    few = tw.init_backend(be.device.id, memory_limit=64 << 20)
    big = np.ones(1 << 20, np.float32)
    with tw.deferred(True):
        masks = [tw.asarray(big, device=few) > 0 for _ in range(30)]
        parts = [tw.asarray(big, device=few)[:10] + 1 for _ in range(30)]
    assert all(mask.all() for mask in masks)
    assert all(float(part.sum()) == 20 for part in parts)
    few.close()


def test_one_that_cannot_be_computed_is_no_fault_of_others(be):
    few = tw.init_backend(be.device.id, memory_limit=8 << 20)
    row, x = tw.ones((1, 2048), device=few), tw.ones((2048, 1), device=few)
    with tw.deferred(True):
        large = row + x  # 16 MB
        y = tw.asarray(whole(), device=be)
        all_of_them = [y + float(i) for i in range(300)]
        assert len(all_of_them) == 300
        with pytest.raises(tw.OutOfMemory):
            large.numpy()
    few.close()
