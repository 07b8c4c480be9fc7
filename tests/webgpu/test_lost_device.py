"""A device that is lost: by the driver's word, which wgpu-native itself answers with the end of
the process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SAYS = r"""
def lost(call, *arguments):
    message = raised(tw.DeviceLost, call, *arguments)
    assert message.startswith("webgpu: ") and "lost" in message, message
    assert "close() and init() again" in message, message
driver = FaultyDriver()
be = tw.init_backend("webgpu:0")
other = tw.init_backend("webgpu:0")
x = be.array(np.arange(1000, dtype=np.float32))
handle = be.alloc(64)
assert works(be) and works(other)
recorded = be.alloc(64)
with be.record() as recording:
    for _ in range(100): be.unary("neg", recorded, recorded, 16)
recording.replay()
be.synchronize()  # the next one is ready
"""

LATER_CALLS = r"""
y = np.zeros(16, np.float32)
for call in (
    lambda: be.relu(x), lambda: x.numpy(), lambda: be.copy_htod(handle, y),
    lambda: be.copy_dtoh(y, handle), lambda: be.synchronize(), lambda: be.alloc(10_000_000),
    lambda: be.add(x, x), lambda: be.softmax(x), lambda: be.copy_dtod(handle, x.handle, 32),
    be.event, be.flush, lambda: be.copy_dtoh_async(y, handle), recording.replay,
):
    lost(call)
"""

RECOVERS = r"""
driver.set("device_is_lost_in_a_wait", False)
driver.set("device_is_lost", False)
driver.set("work_hangs", False)
large = None
recording.drop()
be.free(handle)
be.free(recorded)
assert be.memory_stats().allocations == 1
be.close()
be.init()
assert works(be)
del x
assert works(tw.init_backend("webgpu:0"))
print("done")
"""

# The loss shows in a wait: one that shows inside a submission ends the process.
HANGS = """
import threading, time
y_host = np.zeros(1000, np.float32)
x_host = np.ones(5_000_000, np.float32)
large = be.array(x_host)
be.synchronize()
driver.set("work_hangs")
be.relu(x)
threading.Timer(0.5, driver.set, ["device_is_lost_in_a_wait"]).start()
"""

WHEN = {
    "at a read": "be.relu(x); driver.set('device_is_lost'); lost(x.numpy)",
    "at a wait": "be.relu(x); driver.set('device_is_lost'); lost(be.synchronize)",
    "at a wait for nothing": "be.synchronize(); driver.set('device_is_lost'); lost(be.synchronize)",
    "while it submits": """
driver.set("device_is_lost")
def submit_many():
    for _ in range(10_000): be.unary("relu", handle, handle, 16)
lost(submit_many)""",
    "at a replay": "driver.set('device_is_lost'); lost(recording.replay)",
    "behind a replay": """
driver.set("device_is_lost")
def replay_and_wait():
    recording.replay()
    be.synchronize()
lost(replay_and_wait)""",
    "while two threads encode a replay": """
with be.record() as long:
    for _ in range(2000): be.unary("neg", recorded, recorded, 16)
long.replay()
driver.set("device_is_lost")
lost(long.replay)
long.drop()""",
    "at an upload": """
driver.set("device_is_lost")
def upload_much():
    big = np.ones(1 << 20, np.float32)
    for _ in range(100): be.array(big)
lost(upload_much)""",
    "at an allocation": """
driver.set("device_is_lost")
def allocate_much():
    kept = []
    for _ in range(200): kept.append(be.zeros(1 << 20)); be.relu(kept[-1])
    be.synchronize()
lost(allocate_much)""",
    "while a read waits": HANGS + "lost(x.numpy)",
    "while a wait waits": HANGS + "lost(be.synchronize)",
    "while an event is waited for": HANGS + "lost(be.event().wait)",
    "while an event is asked": HANGS
    + """
event = be.event()
def ask():
    while not event.done(): time.sleep(0.01)
lost(ask)
lost(event.wait, 0)""",
    "while a read is under way": HANGS
    + """
read = be.copy_dtoh_async(y_host, x)
lost(read.wait)
assert not y_host.any()
lost(read.done)""",
    "while reads wait for room": HANGS
    + """
def read_much():
    for _ in range(10): be.copy_dtoh_async(x_host, large)
lost(read_much)""",
    "while a task awaits": HANGS
    + """
import asyncio
async def main(): await be.event()
lost(asyncio.run, main())""",
    "while uploads wait": HANGS
    + """
def upload_much():
    for _ in range(100): be.copy_htod(large, x_host)
lost(upload_much)""",
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("when", WHEN)
def test_a_lost_device(
    succeeds: Callable[..., str], faulty_driver: dict[str, str], when: str
) -> None:
    code = SAYS + WHEN[when] + LATER_CALLS + RECOVERS
    assert succeeds(code, **faulty_driver) == "done\n"


@pytest.mark.parametrize("end", ["be.close()", "del be, x", "import os", "other.close()"])
def test_a_lost_device_goes_quietly(
    succeeds: Callable[..., str], faulty_driver: dict[str, str], end: str
) -> None:
    code = SAYS + "be.relu(x)\ndriver.set('device_is_lost')\nlost(x.numpy)\n" + end
    assert succeeds(code + "\nprint('done')", **faulty_driver) == "done\n"


def test_a_lost_device_closes_under_its_events(
    succeeds: Callable[..., str], faulty_driver: dict[str, str]
) -> None:
    """They go on saying that it was lost."""
    code = """
host = bytearray(4000)
be.relu(x)
event, read = be.event(), be.copy_dtoh_async(host, x)
driver.set('device_is_lost')
lost(be.synchronize)
driver.set('device_is_lost', False)
be.close()
for one in (event, read):
    lost(one.wait)
    lost(one.done)
host.extend(b"more")
be.init()
assert works(be)
lost(event.wait, 0)
print("done")
"""
    assert succeeds(SAYS + code, **faulty_driver) == "done\n"


def test_a_lost_device_under_many_threads(
    succeeds: Callable[..., str], faulty_driver: dict[str, str]
) -> None:
    code = """
ends = []
def work(i):
    try:
        be.unary("relu", handle, handle, 16)
        (x.numpy if i % 2 else be.synchronize)()
    except tw.Error as error: ends.append(type(error))
threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert ends == [tw.DeviceLost] * 6, ends
"""
    assert succeeds(SAYS + HANGS + code + RECOVERS, **faulty_driver) == "done\n"
