"""Long recordings that are replayed without a wait between: two threads encode them."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

START = """
import os, threading
from pathlib import Path

def encoders():
    \"\"\"The nanoseconds that each thread of that name has run.\"\"\"
    tasks = Path("/proc/self/task").iterdir()
    return [int((task / "schedstat").read_text().split()[0]) for task in tasks
            if (task / "comm").read_text() == "tw-encoder\\n"]

def steps(count):
    \"\"\"x += 1 so often, through a copy that each next launch needs.\"\"\"
    with be.record() as recording:
        for _ in range(count):
            be.binary("add", x, one, y, 16)
            be.copy_dtod(x, y, 64)
    return recording

be = tw.init_backend("webgpu:0")
x, y, one = (be.alloc(64) for _ in range(3))
be.copy_htod(one, np.ones(16, np.float32))
def begin(): be.copy_htod(x, np.zeros(16, np.float32))
def end():
    host = np.empty(16, np.float32)
    be.copy_dtoh(host, x)
    return set(host.tolist())
"""

IN_ORDER = """
long = steps(500)
for turn in range(3):
    begin()
    for _ in range(4): long.replay()
    assert end() == {2000}
long.drop()
"""

TWO_THREADS = """
short = steps(20)
for _ in range(20): short.replay()
be.synchronize()
assert encoders() == []
with be.record() as long:
    for _ in range(2000): be.unary("neg", x, y, 16)
for _ in range(200):
    for _ in range(3): long.replay()
    be.flush()
    if encoders() and encoders()[0] > 1_000_000: break
assert len(encoders()) == 1 and encoders()[0] > 1_000_000
be.synchronize()
be.close()
assert encoders() == []
"""

FROM_MANY_THREADS = """
recordings = [steps(200) for _ in range(3)]
begin()
def work(recording):
    for _ in range(5): recording.replay()
threads = [threading.Thread(target=work, args=[one]) for one in recordings]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert end() == {3000}
"""


@pytest.mark.parametrize("variables", [{}, {"TILEWRIGHT_WEBGPU_IMMEDIATES": "0"}])
def test_all_runs_in_its_order(succeeds: Callable[..., str], variables: dict[str, str]) -> None:
    succeeds(START + IN_ORDER, **variables)


def test_replays_of_several_threads(succeeds: Callable[..., str]) -> None:
    succeeds(START + FROM_MANY_THREADS)


def test_a_second_thread_encodes_until_the_backend_closes(succeeds: Callable[..., str]) -> None:
    """Where there is a processor for it; what is short is encoded by the caller alone."""
    if len(os.sched_getaffinity(0)) > 1:
        succeeds(START + TWO_THREADS)
    else:
        succeeds(START + IN_ORDER + "assert encoders() == []")
