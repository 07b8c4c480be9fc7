"""Devices that are lost, before work and in the middle of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

USES = """
be = tw.init_backend(DEVICE)
x, y = be.array(np.ones(1000, np.float32)), be.array(np.ones(1000, np.float32))
saxpy, handle, host = kernel(be, "saxpy"), be.alloc(64), np.zeros(16, np.float32)
large = be.alloc(20 << 20)
driver = CpuDriver()
uses = {
    "launch": lambda: saxpy(x, y, grid=1, params=(64, 2.0)),
    "upload": lambda: be.copy_htod(handle, host),
    "large upload": lambda: be.copy_htod(large, np.ones(20 << 20, np.uint8)),
    "download": lambda: be.copy_dtoh(host, handle),
    "large download": lambda: be.copy_dtoh(np.ones(20 << 20, np.uint8), large),
    "copy": lambda: be.copy_dtod(handle, x.handle, 64),
    "alloc": lambda: be.alloc(3 << 20),
    "kernel": lambda: kernel(be, "rounds"),
    "wait": be.synchronize,
    "profile": be.begin_profile,
    "event": lambda: be.event().wait(),
    "read": lambda: be.copy_dtoh_async(host, handle).wait(),
    "large read": lambda: be.copy_dtoh_async(np.ones(20 << 20, np.uint8), large).wait(),
}
"""


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "first",
    [
        *["launch", "upload", "large upload", "download", "large download", "copy", "wait"],
        *["event", "read", "large read"],
    ],
)
@pytest.mark.parametrize("hangs", ["0", "1"])
def test_after_a_loss(succeeds: Callable[..., str], first: str, hangs: str) -> None:
    code = (
        USES
        + f"""
uses["launch"]()
driver.lose()
try:
    for _ in range(2):
        uses["{first}"]()
        be.synchronize()
except tw.DeviceLost as error:
    assert "level-zero" in str(error), error
else:
    raise AssertionError("the loss was not seen")
for use in uses.values():
    message = raised(tw.DeviceLost, use)
    assert "was lost" in message and "close() and init() again" in message, message
be.close()
assert not be.is_initialized
assert driver.alive() == "", driver.alive()
"""
    )
    succeeds(code, ZE_CPU_LOST_HANGS=hangs)


@pytest.mark.parametrize("commands", [1, 2, 3, 5, 8, 13])
def test_in_the_middle(succeeds: Callable[..., str], commands: int) -> None:
    code = """
try:
    assert all_of_it()
except tw.DeviceLost as error:
    print("lost")
assert CpuDriver().alive() == "", CpuDriver().alive()
"""
    assert succeeds(code, ZE_CPU_LOSE_AFTER=str(commands)) == "lost\n"


def test_threads_that_wait_all_see_it(succeeds: Callable[..., str]) -> None:
    code = (
        USES
        + """
import threading
seen = []
def work():
    try:
        while True:
            uses["launch"]()
            be.synchronize()
    except tw.DeviceLost:
        seen.append(1)
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
driver.lose()
for thread in threads: thread.join()
assert len(seen) == 4
"""
    )
    succeeds(code, ZE_CPU_LOST_HANGS="1")


def test_a_lost_device_lets_the_interpreter_end(succeeds: Callable[..., str]) -> None:
    succeeds(USES + "uses['launch'](); driver.lose()", ZE_CPU_LOST_HANGS="1")
