"""Long recordings, whose replays are a closed command list that a queue runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

START = """
import threading
be = tw.init_backend(DEVICE)
driver = CpuDriver()
n, steps = 64, 150
x, y, one = (be.alloc(4 * n) for _ in range(3))
be.copy_htod(one, np.ones(n, np.float32))
be.copy_htod(x, np.zeros(n, np.float32))

def recorded(steps=steps):
    \"\"\"x += 1 so often, by two commands, each of which needs the one before.\"\"\"
    with be.record() as recording:
        for _ in range(steps):
            be.binary("add", x, one, y, n)
            be.copy_dtod(x, y, 4 * n)
    return recording

def value():
    host = np.empty(n, np.float32)
    be.copy_dtoh(host, x)
    (only,) = set(host.tolist())
    return only

def calls_of(call):
    before = driver.calls()
    call()
    return driver.calls() - before

long = recorded()
"""

END = """
be.close()
assert driver.alive() == "", driver.alive()
"""

ORDER = """
sent, short = np.empty(n, np.float32), recorded(5)
for turn in range(4):
    sent[:] = turn
    be.copy_htod(x, sent)
    for _ in range(3):
        long.replay()
        be.binary_scalar("mul", x, 0.5, x, n)
        short.replay()
    expected = float(turn)
    for _ in range(3):
        expected = (expected + steps) / 2 + 5
    assert value() == expected, (turn, value(), expected)
    host = np.zeros(n, np.float32)
    long.replay()
    event = be.copy_dtoh_async(host, x)
    long.replay()
    assert event.wait() and set(host.tolist()) == {expected + steps}
    assert value() == expected + 2 * steps
"""


@pytest.mark.parametrize("seed", ["", "1", "2"])
@pytest.mark.parametrize("copy_engine", ["0", "1"])
@pytest.mark.parametrize("newer", [False, True])
def test_among_other_work(
    succeeds: Callable[..., str], newer_loader: Path, seed: str, copy_engine: str, newer: bool
) -> None:
    variables = {"ZE_CPU_COPY_ENGINE": copy_engine}
    if seed:
        variables["ZE_CPU_SHUFFLE"] = seed
    if newer:
        variables["TILEWRIGHT_ZE_LIBRARY"] = str(newer_loader)
    succeeds(START + ORDER + END, **variables)


def test_calls_of_a_replay(succeeds: Callable[..., str]) -> None:
    """From the third one on there are few; a short recording is appended each time."""
    succeeds(
        START
        + """
for _ in range(2):
    assert calls_of(long.replay) >= 2 * steps
for _ in range(3):
    assert calls_of(long.replay) == 4
assert value() == 5 * steps
short = recorded(50)
for _ in range(3):
    assert calls_of(short.replay) >= 100
assert value() == 5 * steps + 150
"""
        + END
    )


def test_in_a_profile_and_in_debug_mode(succeeds: Callable[..., str]) -> None:
    succeeds(
        START
        + """
for profiled in (False, False, True, True, False):
    if profiled:
        be.begin_profile()
    long.replay()
    if profiled:
        assert len(be.end_profile()) == steps
assert value() == 5 * steps
be.close()
be = tw.init_backend(DEVICE, debug_mode=True)
x, y, one = (be.alloc(4 * n) for _ in range(3))
be.copy_htod(one, np.ones(n, np.float32))
be.copy_htod(x, np.zeros(n, np.float32))
long = recorded()
for _ in range(3):
    long.replay()
assert value() == 3 * steps
"""
        + END
    )


def test_by_several_threads(succeeds: Callable[..., str]) -> None:
    succeeds(
        START
        + """
recordings = [recorded() for _ in range(3)]
threads = [
    threading.Thread(target=lambda one: [one.replay() for _ in range(6)], args=[each])
    for each in recordings for _ in range(2)
]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert value() == 36 * steps
"""
        + END
    )


def test_dropped_while_it_runs(succeeds: Callable[..., str]) -> None:
    """What it used is not given to others before its end; nor is the list taken from the GPU."""
    succeeds(
        START
        + """
def own():
    \"\"\"A recording with memory of its own: a sum that is computed in it, into `result`.\"\"\"
    result = be.alloc(4 * n)
    with be.record() as recording:
        middle = be.alloc(4 * n)
        be.binary("add", one, one, middle, n)
        for _ in range(298):
            be.binary("add", middle, one, middle, n)
        be.copy_dtod(result, middle, 4 * n)
        be.free(middle)
    return recording, result

for turn in range(5):
    recording, result = own()
    for _ in range(3):
        recording.replay()
    recording.drop()
    del recording
    other = [be.alloc(4 * n) for _ in range(4)]
    for buffer in other:
        be.copy_htod(buffer, np.full(n, -1, np.float32))
    host = np.empty(n, np.float32)
    be.copy_dtoh(host, result)
    assert set(host.tolist()) == {300.0}, host
    for buffer in [result, *other]:
        be.free(buffer)
be.trim()
for _ in range(3):
    long.replay()
"""
        + END
    )


FAILS = """
def sure(call):
    \"\"\"Whether the call went through.\"\"\"
    try:
        call()
        return True
    except tw.Error as error:
        assert "level-zero" in str(error), error
        return False

OUT_OF_HOST_MEMORY = 0x70000002
def once(which, what):
    recording = recorded()
    for turn in range(5):
        before = value()
        if turn == which:
            driver.fail(what, OUT_OF_HOST_MEMORY)
        through = sure(recording.replay)
        name = driver.failed()
        driver.fail("0", 0)
        if turn == which:
            seen.add(name)
            assert name != "", what
        after = value()
        if through:
            assert after == before + steps, (what, name, turn)
        else:
            assert turn == which and before <= after <= before + steps, (what, name, turn)
    recording.drop()
seen = set()
for what in ["zeCommandListCreate", "zeCommandListClose", "zeCommandListAppendEventReset",
             "zeCommandListAppendLaunchKernel:7", "zeCommandListAppendMemoryCopy:7",
             "zeCommandListAppendBarrier", "zeCommandListAppendBarrier:9",
             "zeCommandQueueExecuteCommandLists"]:
    once(1, what)
for number in range(1, 5):
    once(2, str(number))
assert {"zeCommandListCreate", "zeCommandListClose", "zeCommandListAppendEventReset",
        "zeCommandQueueExecuteCommandLists", "zeCommandListAppendBarrier"} <= seen, seen
"""

NO_QUEUE = """
driver.fail("zeCommandQueueCreate", 0x70000002)
for _ in range(4):
    long.replay()
assert driver.failed() == "zeCommandQueueCreate" and value() == 4 * steps
driver.fail("0", 0)
again = recorded()
for _ in range(3):
    again.replay()
assert value() == 7 * steps and calls_of(again.replay) == 4
again.drop()
"""


@pytest.mark.parametrize("code", [FAILS, NO_QUEUE])
def test_calls_that_fail(succeeds: Callable[..., str], code: str) -> None:
    """A replay that raises leaves nothing behind; the next ones go on."""
    succeeds(START + code + END)


@pytest.mark.parametrize("replays", [1, 3])
def test_a_loss(succeeds: Callable[..., str], replays: int) -> None:
    succeeds(
        START
        + f"""
for _ in range({replays}):
    long.replay()
be.synchronize()
driver.lose()
def uses():
    for _ in range(3):
        long.replay()
        be.synchronize()
assert "level-zero" in raised(tw.DeviceLost, uses)
assert "was lost" in raised(tw.DeviceLost, long.replay)
long.drop()
be.close()
"""
    )


def test_a_forked_child(succeeds: Callable[..., str]) -> None:
    succeeds(
        START
        + """
import warnings
warnings.simplefilter("ignore")
for _ in range(3):
    long.replay()
child = os.fork()
if child == 0:
    message = raised(tw.DeviceError, long.replay)
    long.drop()
    os._exit(0 if "forked" in message else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
long.replay()
assert value() == 4 * steps
"""
        + END
    )
