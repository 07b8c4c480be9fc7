"""One GPU, many threads."""

from __future__ import annotations

import os
from collections.abc import Callable

Succeeds = Callable[..., str]

START = """
import threading
be = tw.init_backend("webgpu:0")
failures = []
def in_threads(work, count=8):
    begin = threading.Barrier(count)
    def run(i):
        begin.wait()
        try: work(i)
        except BaseException as error: failures.append(f"{type(error).__name__}: {error}")
    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert not failures, failures
"""

MIXED = """
def work(seed):
    rng = np.random.default_rng(seed)
    def close(got, expected): np.testing.assert_allclose(got.numpy(), expected, 1e-3, 1e-3)
    for turn in range(25):
        m, n, k = (int(size) for size in rng.integers(1, 40, 3))
        a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
        x = be.array(a)
        close(be.matmul(x, b), a @ b)
        close(be.sum(be.add(x, seed), axis=0), (a + seed).sum(axis=0))
        close(be.max(x, axis=1), a.max(axis=1))
        exps = np.exp(a - a.max(axis=1, keepdims=True))
        close(be.softmax(x), exps / exps.sum(axis=1, keepdims=True))
        data = rng.integers(0, 256, int(rng.integers(1, 5000)), np.uint8)
        one, two = be.alloc(data.size), be.alloc(data.size + 3)
        be.copy_htod(one, data)
        be.copy_dtod(two, one, data.size, 3, 0)
        got = np.empty(data.size, np.uint8)
        be.copy_dtoh(got, two, 3)
        assert (got == data).all()
        be.free(one)
        be.free(two)
        if turn % 10 == seed: be.trim()
        if turn % 5 == 0:
            raised(tw.InvalidArgument, be.unary, "relu", one, one, 1)
            be.synchronize()
in_threads(work)
assert be.memory_stats().allocations == 0
"""


def test_eight_threads(succeeds: Succeeds) -> None:
    succeeds(START + MIXED)


LARGE = """
def work(seed):
    data = np.random.default_rng(seed).standard_normal(3_000_000, np.float32)
    for _ in range(4):
        assert (be.neg(be.array(data)).numpy() == -data).all()
in_threads(work)
"""


def test_eight_threads_of_large_copies(succeeds: Succeeds) -> None:
    succeeds(START + LARGE)


CLOSED = """
for _ in range(10):
    be.init()
    x = be.zeros(100_000)
    ended = []
    def work(i):
        if i == 0:
            works(be)
            be.close()
            return
        try:
            while True: be.exp(x).numpy() if i % 2 else be.unary("exp", x, x, 1000)
        except (tw.NotInitialized, tw.InvalidArgument): ended.append(i)
    in_threads(work)
    assert len(ended) == 7 and not be.is_initialized
be.init()
assert works(be)
"""


def test_one_thread_closes_what_others_use(succeeds: Succeeds) -> None:
    succeeds(START + CLOSED)


SEVERAL = """
backends = [tw.init_backend("webgpu:0") for _ in range(4)]
def work(i):
    mine = backends[i % 4]
    for turn in range(60):
        assert works(mine, 1000 + i)
        if i >= 4 and turn % 20 == 19:
            with tw.init_backend("webgpu:0") as other: assert works(other)
in_threads(work)
"""


def test_several_backends_of_one_gpu(succeeds: Succeeds) -> None:
    succeeds(START + SEVERAL)


COMPILING = """
def work(i):
    # All ask for kernels that nobody has compiled yet.
    x = np.linspace(0.5, 2, 100, dtype=np.float32)
    for name in ("exp", "log", "sqrt", "tanh", "sigmoid", "neg", "square", "reciprocal"):
        got = getattr(be, name)(x).numpy()
        expected = 1 / (1 + np.exp(-x)) if name == "sigmoid" else getattr(np, name, np.negative)(x)
        if name != "neg": np.testing.assert_allclose(got, expected, 1e-4)
in_threads(work)
"""


def test_threads_that_compile_the_same_kernels(succeeds: Succeeds) -> None:
    succeeds(START + COMPILING)


# A driver that compiles as long as the test wants.
HELD_UP = """
driver = FaultyDriver()
x = be.array(np.ones(1000, np.float32))
be.add(x, x).numpy(); be.sum(x).numpy()
def while_it_compiles(compile, count, body):
    made = driver.count("pipelines_made")
    driver.set("pipelines_wait")
    def run(i):
        try: compile(i)
        except BaseException as error: failures.append(f"{type(error).__name__}: {error}")
    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads: thread.start()
    while driver.count("pipelines_waiting") == 0: pass
    body()
    driver.set("pipelines_wait", False)
    for thread in threads: thread.join()
    assert not failures, failures
    return driver.count("pipelines_made") - made
def go_on():
    for _ in range(300): y = be.add(x, x)
    assert (y.numpy() == 2).all() and be.sum(x).item() == 1000
    del y
    be.trim()
    be.synchronize()
    raised(tw.KernelError, be.kernel, "nonsense")
"""


def test_others_go_on_while_a_kernel_compiles(
    succeeds: Succeeds, faulty_driver: dict[str, str]
) -> None:
    code = """
assert while_it_compiles(lambda i: be.exp(x).numpy(), 1, go_on) == 1
print("done")
"""
    assert succeeds(START + HELD_UP + code, **faulty_driver) == "done\n"


def test_threads_that_ask_for_one_kernel_compile_it_once(
    succeeds: Succeeds, faulty_driver: dict[str, str]
) -> None:
    code = """
import time
assert while_it_compiles(lambda i: be.exp(x).numpy(), 4, lambda: time.sleep(0.2)) == 1
print("done")
"""
    assert succeeds(START + HELD_UP + code, **faulty_driver) == "done\n"


def test_kernels_compile_beside_each_other(
    succeeds: Succeeds, faulty_driver: dict[str, str]
) -> None:
    code = """
def both():
    while driver.count("pipelines_waiting") < 2: pass
ops = [be.exp, lambda y: be.max(y)]
assert while_it_compiles(lambda i: ops[i](x).numpy(), 2, both) >= 2
print("done")
"""
    assert succeeds(START + HELD_UP + code, **faulty_driver) == "done\n"


def test_a_recording_is_dropped_between_ops(
    succeeds: Callable[..., str], faulty_driver: dict[str, str]
) -> None:
    """Not within one by another thread: its other half would run, on scratch that nobody filled."""
    code = """
import threading
driver = FaultyDriver()
be = tw.init_backend("webgpu:0", enable_pipeline_cache=False)
n = 1 << 20
x, z, w, y = be.alloc(4 * n), be.alloc(4 * n), be.alloc(4), be.alloc(4)
be.copy_htod(x, np.ones(n, np.float32))
be.copy_htod(z, np.full(n, 3, np.float32))
got = np.empty(1, np.float32)
def a_kernel_waits(thread):
    while thread.is_alive():
        if driver.count("pipelines_waiting"): return True
    return False
def dropped_between_launches():
    be.copy_htod(y, np.full(1, -1, np.float32))
    be.reduce("sum", z, w, [n], 0)  # what scratch holds then
    be.synchronize()
    recordings = []
    def work():
        recordings.append(be.record())
        be.reduce("sum", x, y, [n], 0)
    driver.set("pipelines_wait")
    thread = threading.Thread(target=work)
    thread.start()
    assert a_kernel_waits(thread)
    driver.set("pipelines_wait", False)
    while driver.count("pipelines_waiting"): pass
    driver.set("pipelines_wait")
    second = a_kernel_waits(thread)  # may have been made meanwhile
    dropping = threading.Thread(target=recordings[0].drop)
    dropping.start()
    dropping.join(0.2)
    driver.set("pipelines_wait", False)
    thread.join()
    dropping.join()
    return second
while not dropped_between_launches(): pass
be.copy_dtoh(got, y)
assert got[0] in (-1, n), got
"""
    assert succeeds(code, **faulty_driver) == ""


QUICKLY = """
from pathlib import Path
be = tw.init_backend("webgpu:0")
x, got = be.alloc(64), np.empty(16, np.float32)
be.copy_htod(x, np.ones(16, np.float32))
for turn in range(5):
    for _ in range(999): be.unary("neg", x, x, 16)
    be.copy_dtoh(got, x)
    assert (got == (-1 if turn % 2 == 0 else 1)).all(), turn
print(sum("tw-submitter" in one.read_text() for one in Path("/proc/self/task").glob("*/comm")))
be.close()
print(sum("tw-submitter" in one.read_text() for one in Path("/proc/self/task").glob("*/comm")))
"""


def test_launches_in_quick_succession_have_a_thread(succeeds: Succeeds) -> None:
    assert succeeds(QUICKLY) == ("1\n0\n" if len(os.sched_getaffinity(0)) > 1 else "0\n0\n")


def test_calls_submit_themselves_without_it(succeeds: Succeeds) -> None:
    assert succeeds(QUICKLY, TILEWRIGHT_WEBGPU_THREAD="0") == "0\n0\n"
