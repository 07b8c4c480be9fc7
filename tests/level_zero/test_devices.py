"""Several devices and their tiles in one process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

LISTED = """
for d in tw.devices():
    if d.backend == "level-zero": print(d.id, d.name.partition("(tile ")[2], d.available, sep="|")
"""


@pytest.mark.parametrize(
    ("devices", "tiles", "expected"),
    [
        ("1", "0", ["level-zero:0||True"]),
        ("2", "0", ["level-zero:0||True", "level-zero:1||True"]),
        (
            "2",
            "2",
            [
                "level-zero:0||True",
                "level-zero:1||True",
                "level-zero:2|0)|True",
                "level-zero:3|1)|True",
                "level-zero:4|0)|True",
                "level-zero:5|1)|True",
            ],
        ),
    ],
)
def test_what_is_listed(
    succeeds: Callable[..., str], devices: str, tiles: str, expected: list[str]
) -> None:
    listed = succeeds(LISTED, ZE_CPU_DEVICES=devices, ZE_CPU_TILES=tiles)
    assert listed.splitlines() == expected


def test_no_device(succeeds: Callable[..., str]) -> None:
    reason = succeeds(
        "print(raised(tw.BackendUnavailable, tw.init_backend, DEVICE))", ZE_CPU_DEVICES="0"
    )
    assert "level-zero: no device: " in reason


def test_what_is_asked_of_a_closed_backend_leaves_nothing_behind(
    succeeds: Callable[..., str],
) -> None:
    succeeds("""
driver, closed = CpuDriver(), tw.LevelZeroBackend(adapter_index=0)
first = driver.calls()
assert "float32" in closed.capabilities().dtypes
assert closed.performance_hints().simd_width > 0
assert tw.LevelZeroBackend.is_available()
assert driver.calls() > first and driver.alive() == "", driver.alive()
driver.fail("zeContextCreate", 0x70000003)
raised(tw.BackendUnavailable, closed.capabilities)
driver.fail("zeContextCreate", 0x70000003)
assert not tw.LevelZeroBackend.is_available()  # it is listed, but does not open
assert driver.failed() == "zeContextCreate" and driver.alive() == "", driver.alive()
assert tw.LevelZeroBackend.is_available()
""")


SIDE_BY_SIDE = """
import threading
ids = [d.id for d in tw.devices() if d.backend == "level-zero"]
assert len(ids) == 6
backends = [tw.init_backend(id) for id in ids for _ in range(2)]
assert [be.device.id for be in backends[::2]] == ids
right = []
def work(be):
    for n in (10, 1000, 100_000): right.append(computes(be, n))
threads = [threading.Thread(target=work, args=[be]) for be in backends]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert right == [True] * 3 * len(backends)
foreign = backends[0].zeros(4)
raised(tw.InvalidArgument, backends[2].copy_dtod, backends[2].alloc(16), foreign.handle, 16)
for be in backends[1:]: be.close()
assert computes(backends[0])
del foreign
backends[0].close()
assert CpuDriver().alive() == "", CpuDriver().alive()
"""


def test_side_by_side(succeeds: Callable[..., str]) -> None:
    succeeds(SIDE_BY_SIDE, ZE_CPU_DEVICES="2", ZE_CPU_TILES="2")


def test_a_device_that_is_not_there(succeeds: Callable[..., str]) -> None:
    code = """
print(raised(tw.BackendUnavailable, tw.init_backend, "level-zero:7"))
print(raised(tw.BackendUnavailable, tw.LevelZeroBackend(adapter_index=7).init))
"""
    first, second = succeeds(code).splitlines()
    assert "level-zero:0" in first
    assert "adapter_index is 7, but there are 1 adapters" in second


@pytest.mark.parametrize("width", [8, 16, 32])
def test_subgroups_are_as_wide_as_the_device_says(succeeds: Callable[..., str], width: int) -> None:
    code = """
with tw.init_backend(DEVICE) as be:
    assert computes(be, 1000)
    print(be.capabilities().limits["subgroup_size"], be.performance_hints().simd_width)
"""
    assert succeeds(code, ZE_CPU_SIMD_WIDTH=str(width)) == f"{width} {width}\n"
    assert succeeds(code) in ("8 8\n", "16 16\n")


def test_what_a_device_says(succeeds: Callable[..., str]) -> None:
    code = """
with tw.init_backend(DEVICE) as be:
    d, c = be.device, be.capabilities()
    assert d.driver.startswith("Level Zero 1."), d.driver
    assert d.memory_bytes > 1 << 30
    assert c.max_buffer_bytes > 1 << 30
    assert c.limits["max_workgroup_size"] == 1024
    assert c.limits["max_workgroup_memory_bytes"] == 65536
    assert {"float16", "subgroups", "timestamps"} <= set(c.features), c.features
    most = c.limits["max_workgroups_per_dimension"]
    rounds, x = kernel(be, "rounds"), be.array(np.ones(4, np.float32))
    assert str(most) in raised(tw.InvalidArgument, rounds, x, grid=most + 1, params=1)
    print("copy_engine" in c.features)
"""
    assert succeeds(code, ZE_CPU_COPY_ENGINE="1") == "True\n"
    assert succeeds(code) == "False\n"


CHOICE = """
(device,) = [d for d in tw.devices() if d.backend == "level-zero"]
assert tw.init_backend(DEVICE).device.id == DEVICE
print(device.kind, tw.init_backend("{0}").device.id)
"""


def test_a_software_device_is_never_picked_by_itself(succeeds: Callable[..., str]) -> None:
    kind, chosen = succeeds(CHOICE.format("auto")).split()
    assert kind == "software"
    assert not chosen.startswith("level-zero")
    code = "print(raised(tw.BackendUnavailable, tw.init_backend, 'level-zero'))"
    assert "is a software GPU, which is never picked by itself" in succeeds(code)
    named = CHOICE.format("level-zero")
    allowed = succeeds(named, TILEWRIGHT_ALLOW_SOFTWARE="1")
    assert allowed == "software level-zero:0\n"


def test_hardware_is_picked(succeeds: Callable[..., str]) -> None:
    named = CHOICE.format("level-zero")
    assert succeeds(named, ZE_CPU_GPU="1", ZE_CPU_INTEGRATED="1") == "integrated level-zero:0\n"
    # The vendor's own API before webgpu, whatever that reaches.
    assert (
        succeeds(CHOICE.format("auto"), ZE_CPU_GPU="1", ZE_CPU_INTEGRATED="0")
        == "discrete level-zero:0\n"
    )
