"""Forked children of a process that uses the GPU: a clear error in the child, nothing in the
parent."""

from __future__ import annotations

from collections.abc import Callable

import pytest

START = """
import gc, os, signal, warnings
warnings.simplefilter("ignore")  # Python warns of forks with threads; that is what is tested
be = tw.init_backend("webgpu:0")
x = be.array(np.arange(1000, dtype=np.float32))
handle = be.alloc(64)
host = np.zeros(16, np.float32)
def queue():
    for _ in range(5): be.unary("relu", handle, handle, 16)
queue()
with be.record() as recording: queue()
recording.replay()
be.synchronize()  # the next one is ready
with be.record() as long:
    for _ in range(100): queue()
for _ in range(2): long.replay()  # with a second thread
event = be.event()
def parent_goes_on():
    assert event.wait()
    queue()
    recording.replay()
    for _ in range(2): long.replay()
    assert works(be) and (x.numpy() == np.arange(1000)).all()
    be.copy_dtoh(host, handle)
"""

CHILDREN = {
    "calls": """
def body():
    for call in (
        lambda: be.relu(x), x.numpy, be.synchronize, lambda: be.copy_htod(handle, host),
        lambda: be.copy_dtoh(host, handle), lambda: be.alloc(1 << 20), lambda: be.zeros(3),
        lambda: be.softmax(x), lambda: be.copy_dtod(handle, x.handle, 32),
        be.event, be.flush, lambda: be.copy_dtoh_async(host, handle), event.wait, event.done,
        recording.replay, long.replay,
    ):
        message = raised(tw.DeviceError, call)
        assert "forked" in message and "spawn" in message, message
""",
    "opens another": """
def body():
    message = raised(tw.BackendUnavailable, tw.init_backend, "webgpu:0")
    assert "forked" in message and "spawn" in message, message
    assert "forked" in raised(tw.BackendUnavailable, tw.Backend("webgpu").init)
    reasons = [device.reason for device in tw.devices() if device.backend == "webgpu"]
    assert len(reasons) == 1 and "forked" in reasons[0], reasons
    assert (tw.init_backend("cpu").relu([-1, 2]).numpy() == [0, 2]).all()
    assert tw.init_backend("auto").name == "cpu"
""",
    "closes": """
def body():
    be.free(handle)
    be.trim()
    be.close()
    assert not be.is_initialized
    raised(tw.NotInitialized, be.synchronize)
    raised(tw.BackendUnavailable, be.init)
""",
    "collects": """
def body():
    global be, x
    del be, x
    gc.collect()
""",
    "ends as Python does": """
def body():
    raise SystemExit
def in_child(body):
    child = os.fork()
    if child == 0: sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
import sys
""",
    "forks again": """
def body():
    def grandchild(): assert "forked" in raised(tw.DeviceError, be.relu, x)
    in_child(grandchild)
""",
}


@pytest.mark.parametrize("what", CHILDREN)
def test_a_child_that(succeeds: Callable[..., str], what: str) -> None:
    code = START + CHILDREN[what] + "\nfor _ in range(3): in_child(body); parent_goes_on()\n"
    code += "for _ in range(100): queue()\n"  # which a thread still submits
    code += "in_child(body); parent_goes_on()\n"
    succeeds(code + "be.close(); be.init(); assert works(be)")


UNDER_LOAD = """
import threading
stop = threading.Event()
wrong = []
def work():
    a = np.ones(5000, np.float32)
    while not stop.is_set():
        if not (be.add(be.array(a), 1).numpy() == 2).all(): wrong.append(1)
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for _ in range(15):
    in_child(lambda: raised(tw.DeviceError, be.relu, x))
    in_child(be.close)
stop.set()
for thread in threads: thread.join()
assert not wrong
parent_goes_on()
"""


def test_forks_while_threads_compute(succeeds: Callable[..., str]) -> None:
    succeeds(START + UNDER_LOAD)


LOOKING = """
import os, signal, threading, warnings
warnings.simplefilter("ignore")
looking = threading.Thread(target=tw.devices)
looking.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        raised_or_not = [device.available for device in tw.devices()]
        os._exit(0 if True in raised_or_not else 1)
    assert os.waitpid(child, 0)[1] == 0
looking.join()
assert works(tw.init_backend("webgpu:0"))
"""


def test_forks_while_a_thread_looks_for_devices(succeeds: Callable[..., str]) -> None:
    succeeds(LOOKING)


FIRST_USE = """
import os, signal
child = os.fork()
if child == 0:
    signal.alarm(60)
    os._exit(0 if works(tw.init_backend("webgpu:0")) else 1)
assert os.waitpid(child, 0)[1] == 0
assert works(tw.init_backend("webgpu:0"))
"""


def test_a_fork_before_the_first_use(succeeds: Callable[..., str]) -> None:
    succeeds(FIRST_USE)
