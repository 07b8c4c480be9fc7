"""Forked children of a process that uses the device: a clear error there, nothing in the parent."""

from __future__ import annotations

from collections.abc import Callable

import pytest

START = """
import gc, signal, warnings
warnings.simplefilter("ignore")  # Python warns of forks with threads; that is what is tested
be = tw.init_backend(DEVICE)
x, y = be.array(np.ones(1000, np.float32)), be.array(np.ones(1000, np.float32))
saxpy, handle, host = kernel(be, "saxpy"), be.alloc(64), np.zeros(16, np.float32)
def queue():
    for _ in range(5): saxpy(x, y, grid=1, params=(64, 2.0))
queue()
def parent_goes_on():
    queue()
    assert computes(be) and (x.numpy() == 1).all()
    be.copy_dtoh(host, handle)
"""

CHILDREN = {
    "calls": """
def body():
    for call in (
        queue, x.numpy, be.synchronize, lambda: be.copy_htod(handle, host),
        lambda: be.copy_dtoh(host, handle), lambda: be.alloc(3 << 20), lambda: be.array(host),
        lambda: kernel(be, "rounds"), lambda: be.copy_dtod(handle, x.handle, 32),
    ):
        message = raised(tw.DeviceError, call)
        assert "forked" in message and "spawn" in message, message
""",
    "opens another": """
def body():
    message = raised(tw.BackendUnavailable, tw.init_backend, DEVICE)
    assert "forked" in message and "spawn" in message, message
    assert "forked" in raised(tw.BackendUnavailable, tw.LevelZeroBackend().init)
    reasons = [device.reason for device in tw.devices() if device.backend == "level-zero"]
    assert len(reasons) == 1 and "forked" in reasons[0], reasons
    assert (tw.init_backend("cpu").relu([-1, 2]).numpy() == [0, 2]).all()
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
    global be, x, y, saxpy
    del be, x, y, saxpy
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
}


@pytest.mark.parametrize("what", CHILDREN)
def test_a_child_that(succeeds: Callable[..., str], what: str) -> None:
    code = START + CHILDREN[what] + "\nfor _ in range(3): in_child(body); parent_goes_on()\n"
    succeeds(code + "del x, y, saxpy; be.close(); be.init(); assert computes(be)")


def test_a_fork_before_the_first_use(succeeds: Callable[..., str]) -> None:
    succeeds("""
import signal
child = os.fork()
if child == 0:
    signal.alarm(60)
    os._exit(0 if all_of_it() else 1)
assert os.waitpid(child, 0)[1] == 0
assert all_of_it()
""")
