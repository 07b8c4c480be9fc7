"""One backend, many threads."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import tilewright as tw


def in_threads(work: Callable[[int], None], count: int = 8) -> None:
    """Runs work(i) in `count` threads that start together; raises what any of them raised."""
    start = threading.Barrier(count)

    def run(i: int) -> None:
        start.wait()
        work(i)

    with ThreadPoolExecutor(count) as threads:
        for done in [threads.submit(run, i) for i in range(count)]:
            done.result(timeout=60)


def test_eight_threads_share_a_backend(be: tw.Backend) -> None:
    def work(seed: int) -> None:
        host = np.random.default_rng(seed).standard_normal((17, 33)).astype(np.float32)
        for _ in range(50):
            x = be.array(host)
            y = be.matmul(be.add(x, 1), host.T) - be.sum(x)
            expected = (host + 1) @ host.T - host.sum()
            np.testing.assert_allclose(y.numpy(), expected, rtol=1e-3, atol=1e-3)

    in_threads(work)
    assert be.memory_stats().allocations == 0


def test_one_thread_frees_what_another_uses(be: tw.Backend) -> None:
    refused = []

    def work(i: int) -> None:
        for handle in handles:
            try:
                if i == 0:
                    be.free(handle)
                else:
                    be.unary("relu", handle, handle, 1000)
            except tw.InvalidArgument as error:
                refused.append(str(error))

    for _ in range(10):
        handles = [be.alloc(4000) for _ in range(50)]
        in_threads(work, 4)
    assert be.memory_stats().allocations == 0
    assert all("was freed" in message for message in refused)


def test_threads_free_the_same_handles_once(be: tw.Backend) -> None:
    handles = [be.alloc(64) for _ in range(500)]
    freed = []

    def work(_: int) -> None:
        for handle in handles:
            try:
                be.free(handle)
                freed.append(handle)
            except tw.InvalidArgument:
                pass

    in_threads(work)
    assert sorted(freed) == sorted(handles)


def test_close_waits_for_running_ops() -> None:
    for _ in range(10):
        backend = tw.CpuBackend()
        backend.init()
        x = backend.zeros(100_000)
        ended = []

        def work(i: int, backend: tw.Backend = backend, x: tw.Array = x) -> None:
            if i == 0:
                backend.close()
                return
            try:
                while True:
                    backend.exp(x)
            except (tw.NotInitialized, tw.InvalidArgument) as error:
                ended.append(error)  # noqa: B023

        in_threads(work, 4)
        assert len(ended) == 3
        assert not backend.is_initialized


def test_many_threads_open_and_close() -> None:
    backend = tw.CpuBackend()

    def work(i: int) -> None:
        for _ in range(50):
            (backend.init if i % 2 else backend.close)()

    in_threads(work)
    backend.init()
    assert backend.relu([-1, 1]).numpy().tolist() == [0, 1]


def test_a_call_lets_other_threads_run(be: tw.Backend) -> None:
    stop = threading.Event()
    steps = 0

    def count() -> None:
        nonlocal steps
        while not stop.is_set():
            steps += 1
            time.sleep(0)

    a = be.array(np.ones((1000, 1000), np.float32))
    b = be.empty((1000, 1000))
    counter = threading.Thread(target=count)
    interval = sys.getswitchinterval()
    # Python takes the GIL from nobody now: the counter runs only when a call releases it.
    sys.setswitchinterval(1000)
    try:
        counter.start()
        before = steps
        be.gemm("none", "none", 1000, 1000, 1000, 1, a, 1000, a, 1000, 0, b, 1000)
        after = steps
    finally:
        stop.set()
        counter.join()
        sys.setswitchinterval(interval)
    assert after > before
