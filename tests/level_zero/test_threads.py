"""Threads that share a device."""

from __future__ import annotations

from collections.abc import Callable

SHARED = """
import threading
be = tw.init_backend(DEVICE)
wrong = []
saxpy = kernel(be, "saxpy")
def work(seed):
    random = np.random.default_rng(seed)
    for _ in range(20):
        n = int(random.integers(1, 200_000))
        a = random.random(n, np.float32)
        x, y = be.array(a), be.array(np.zeros(n, np.float32))
        for _ in range(4): saxpy(x, y, grid=(n + 63) // 64, params=(n, 0.25))
        if seed % 2: be.synchronize()
        if not np.array_equal(y.numpy(), a): wrong.append((seed, n))
threads = [threading.Thread(target=work, args=[seed]) for seed in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not wrong, wrong
"""


def test_threads_share_kernels_and_staging(succeeds: Callable[..., str]) -> None:
    succeeds(SHARED)
    succeeds(SHARED, ZE_CPU_SHUFFLE="7", ZE_CPU_COPY_ENGINE="1")


def test_threads_transfer_large_buffers(succeeds: Callable[..., str]) -> None:
    code = """
import threading
be = tw.init_backend(DEVICE)
wrong = []
def work(seed):
    sent = np.random.default_rng(seed).integers(0, 255, 9_000_001 + seed, dtype=np.uint8)
    buffer, received = be.alloc(sent.nbytes), np.empty_like(sent)
    for _ in range(3):
        be.copy_htod(buffer, sent)
        be.copy_dtoh(received, buffer)
        if not np.array_equal(sent, received): wrong.append(seed)
threads = [threading.Thread(target=work, args=[seed]) for seed in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not wrong, wrong
"""
    succeeds(code)
    succeeds(code, ZE_CPU_SHUFFLE="11", ZE_CPU_COPY_ENGINE="1")


def test_a_mark_is_kept_until_its_own_event(succeeds: Callable[..., str]) -> None:
    """One thread waits for a launch by the launch's event, and another marks the place behind it.
    The mark's event comes later, here much later, and must not be another's by then."""
    code = """
import threading, time
with tw.init_backend(DEVICE) as be:
    n = 700
    a, product = be.array(np.ones((n, n), np.float32)), be.alloc(4 * n * n)
    gemm = ("none", "none", n, n, n, 1.0, a.handle, n, a.handle, n, 0.0, product, n)
    def mark_behind_what_is_waited_for():
        be.synchronize()
        be.gemm(*gemm)
        waiting = threading.Thread(target=be.synchronize)
        waiting.start()
        time.sleep(0.001)
        event = be.event()
        waiting.join()
        assert event.done()
    x, received = be.alloc(400_000), np.empty(100_000, np.float32)
    for i in range(20):
        mark_behind_what_is_waited_for()
        sent = np.full(100_000, i, np.float32)
        be.copy_htod(x, sent)
        be.copy_dtoh(received, x)
        assert np.array_equal(received, sent), i
    mark_behind_what_is_waited_for()
print(CpuDriver().alive())
"""
    assert succeeds(code, ZE_CPU_BARRIER_TIME="3000") == "\n"
