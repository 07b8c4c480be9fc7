"""Libraries and drivers that are missing, broken or of another version."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

WEBGPU = Path(__file__).parents[2] / "csrc" / "webgpu"
# The calls of each list of the table: those of both libraries, and of each alone.
LISTS = {
    name: re.findall(r"X\((\w+)\)", calls)
    for name, calls in re.findall(
        r"#define TILEWRIGHT_(\w+)_CALLS\(X\)((?:.*\\\n)*.*)", (WEBGPU / "api.hpp").read_text()
    )
}
ALL = [call for calls in LISTS.values() for call in calls]
CALLS = LISTS["WEBGPU"] + LISTS["WGPU"]
DAWN_CALLS = LISTS["WEBGPU"] + LISTS["DAWN"] + LISTS["DAWN_OWN"]
USE = r"\bapi_?(?:\.|->)([A-Z]\w*)"

# In wgpu-native these end the process, some of them whatever they are given.
FATAL = [
    r"\w+SetLabel",
    r"\w+Async(?<!BufferMapAsync)",
    r"\w*WaitAny",
    "GetInstanceFeatures",
    "GetInstanceLimits",
    "HasInstanceFeature",
    "GetProcAddress",
    "InstanceGetWGSLLanguageFeatures",
    "InstanceHasWGSLLanguageFeature",
    "DeviceGetAdapterInfo",
    "DeviceGetLostFuture",
    "BufferGetMapState",
    "BufferReadMappedRange",
    "BufferWriteMappedRange",
    "ShaderModuleGetCompilationInfo",
    # On an empty stack of scopes.
    r"Device\w+ErrorScope",
    # What is destroyed must not be submitted, what is released may be.
    r"\w+Destroy",
    # For 0 bytes.
    "CommandEncoderClearBuffer",
    # Where the device is lost.
    "DevicePoll",
]

UNAVAILABLE = """
listed = [device for device in tw.devices() if device.backend == "webgpu"]
assert [(device.id, device.available) for device in listed] == [("webgpu:0", False)], listed
reason = listed[0].reason
for preference in ("webgpu", "webgpu:0"):
    message = raised(tw.BackendUnavailable, tw.init_backend, preference)
    assert reason in message, message
closed = tw.Backend("webgpu")
for call in (closed.init, closed.capabilities, closed.performance_hints):
    assert reason in raised(tw.BackendUnavailable, call)
assert not tw.WebGPUBackend.is_available()
assert tw.init_backend("auto").name == "cpu"
print(reason)
"""


def test_the_table_has_no_call_that_ends_the_process() -> None:
    assert "DeviceCreateBuffer" in CALLS
    fatal = [call for call in CALLS if any(re.fullmatch(pattern, call) for pattern in FATAL)]
    assert fatal == []


def test_every_call_goes_through_the_table() -> None:
    for file in [*WEBGPU.glob("*.cpp"), *WEBGPU.glob("*.hpp")]:
        text = file.read_text()
        assert re.findall(r"\bwgpu[A-Z]\w*\s*\(", text) == [], file.name
        assert set(re.findall(USE, text)) <= set(ALL), file.name


def test_every_call_of_the_table_is_used() -> None:
    text = "".join(file.read_text() for file in [*WEBGPU.glob("*.cpp"), *WEBGPU.glob("*.hpp")])
    assert set(ALL) == set(re.findall(USE, text))


def test_a_library_that_is_not_there(succeeds: Callable[..., str], tmp_path: Path) -> None:
    path = str(tmp_path / "nothing.so")
    reason = succeeds(UNAVAILABLE, TILEWRIGHT_WGPU_LIBRARY=path)
    assert path in reason
    assert "TILEWRIGHT_WGPU_LIBRARY names it: correct or unset it" in reason


def test_a_file_that_is_no_library(succeeds: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "text.so"
    path.write_text("no library")
    reason = succeeds(UNAVAILABLE, TILEWRIGHT_WGPU_LIBRARY=str(path))
    assert str(path) in reason
    assert "TILEWRIGHT_WGPU_LIBRARY names it: correct or unset it" in reason


def test_what_is_no_file(succeeds: Callable[..., str], tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.so"
    os.mkfifo(pipe)
    for path, why in [(pipe, "is a named pipe"), (tmp_path, "is a folder")]:
        reason = succeeds(UNAVAILABLE, TILEWRIGHT_WGPU_LIBRARY=str(path))
        assert f"{path} cannot be opened ({why}); TILEWRIGHT_WGPU_LIBRARY names it" in reason


def stand_in(folder: Path, calls: list[str], version: str) -> Path:
    """The source of a library with these calls, none of which does anything."""
    a, b, c, d = map(int, version.split("."))
    source = folder / "stand_in.c"
    number = a << 24 | b << 16 | c << 8 | d
    bodies = [f"unsigned wgpu{name}(void) {{ return {number}u; }}\n" for name in calls]
    source.write_text("".join(bodies) or "int nothing;\n")
    return source


@pytest.mark.parametrize("left_out", [CALLS, ["DeviceCreateBuffer"], CALLS[:2]])
def test_a_library_that_lacks_calls(
    succeeds: Callable[..., str],
    compile_c: Callable[[str, Path], Path],
    tmp_path: Path,
    left_out: list[str],
) -> None:
    calls = [call for call in CALLS if call not in left_out]
    library = compile_c("stand_in.so", stand_in(tmp_path, calls, "29.0.1.1"))
    reason = succeeds(UNAVAILABLE, TILEWRIGHT_WGPU_LIBRARY=str(library))
    assert f"{library} lacks {', '.join(left_out)};" in reason
    assert "unset TILEWRIGHT_WGPU_LIBRARY or name that version" in reason


@pytest.mark.parametrize("version", ["28.0.0.1", "29.0.1.2", "30.1.2.3"])
def test_a_library_of_another_version(
    succeeds: Callable[..., str],
    compile_c: Callable[[str, Path], Path],
    tmp_path: Path,
    version: str,
) -> None:
    library = compile_c("stand_in.so", stand_in(tmp_path, CALLS, version))
    reason = succeeds(UNAVAILABLE, TILEWRIGHT_WGPU_LIBRARY=str(library))
    assert f"{library} is wgpu-native {version}, but this build needs 29.0.1.1" in reason
    assert "unset TILEWRIGHT_WGPU_LIBRARY or name that version" in reason


NO_DRIVER = "no GPU with Vulkan, Metal or DirectX 12 was found; install the GPU's driver"


def test_no_driver(succeeds: Callable[..., str], tmp_path: Path) -> None:
    reason = succeeds(UNAVAILABLE, VK_DRIVER_FILES=str(tmp_path))
    assert NO_DRIVER in reason


@pytest.mark.parametrize("content", ["", "{}", '{"ICD": {"library_path": "/nowhere/driver.so"}}'])
def test_a_broken_driver(run_python: Callable[..., str], tmp_path: Path, content: str) -> None:
    file = tmp_path / "driver.json"
    file.write_text(content)
    done = run_python(UNAVAILABLE, VK_DRIVER_FILES=str(file))
    assert done.returncode == 0, done.stderr
    assert NO_DRIVER in done.stdout


def test_no_vulkan_loader(
    succeeds: Callable[..., str], compile_c: Callable[[str, Path], Path], tmp_path: Path
) -> None:
    """A library of the loader's name is found first, and has none of its calls."""
    library = compile_c("libvulkan.so.1", stand_in(tmp_path, [], "0.0.0.0"))
    reason = succeeds(UNAVAILABLE, LD_LIBRARY_PATH=str(library.parent))
    assert NO_DRIVER in reason


def test_an_index_beyond_the_adapters(succeeds: Callable[..., str]) -> None:
    code = """
count = sum(device.backend == "webgpu" for device in tw.devices())
message = raised(tw.BackendUnavailable, tw.Backend("webgpu", adapter_index=99).init)
assert f"adapter_index is 99, but there are {count} adapters" in message, message
assert "webgpu:99" in raised(tw.BackendUnavailable, tw.init_backend, "webgpu:99")
"""
    succeeds(code)
