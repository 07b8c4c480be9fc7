"""Loaders and drivers that are missing or wrong: each with its own reason and what to do."""

from __future__ import annotations

import ctypes.util
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

REASON = """
devices = [d for d in tw.devices() if d.backend == "level-zero"]
assert len(devices) == 1 and not devices[0].available
assert devices[0].id == DEVICE
reason = raised(tw.BackendUnavailable, tw.init_backend, "level-zero")
assert devices[0].reason in reason
closed = tw.LevelZeroBackend()
for call in (closed.init, closed.capabilities, closed.performance_hints):
    assert raised(tw.BackendUnavailable, call) == reason
assert not tw.LevelZeroBackend.is_available()
assert tw.init_backend("cpu").name == "cpu"
print(reason)
"""


def test_no_loader(succeeds: Callable[..., str], tmp_path: Path) -> None:
    path = str(tmp_path / "libze_loader.so.1")
    reason = succeeds(REASON, TILEWRIGHT_ZE_LIBRARY=path)
    assert f"the Level Zero loader {path} cannot be opened" in reason
    assert "TILEWRIGHT_ZE_LIBRARY names it: correct or unset it" in reason


def test_a_loader_that_is_no_library(succeeds: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "libze_loader.so.1"
    path.write_text("nonsense")
    reason = succeeds(REASON, TILEWRIGHT_ZE_LIBRARY=str(path))
    assert f"{path} cannot be opened" in reason


def test_a_loader_that_is_no_file(succeeds: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "libze_loader.so.1"
    os.mkfifo(path)
    reason = succeeds(REASON, TILEWRIGHT_ZE_LIBRARY=str(path))
    assert f"{path} cannot be opened (is a named pipe)" in reason


def test_a_library_that_is_no_loader(succeeds: Callable[..., str]) -> None:
    path = ctypes.util.find_library("m") or "libm.so.6"
    reason = succeeds(REASON, TILEWRIGHT_ZE_LIBRARY=path)
    assert f"{path} is no Level Zero loader, it lacks zeInit, zeDriverGet, " in reason
    assert "unset TILEWRIGHT_ZE_LIBRARY" in reason


def test_no_driver(succeeds: Callable[..., str], tmp_path: Path) -> None:
    reason = succeeds(REASON, ZE_ENABLE_ALT_DRIVERS=str(tmp_path / "none.so"))
    assert f"no driver: ZE_ENABLE_ALT_DRIVERS is {tmp_path}/none.so" in reason
    assert "ZE_RESULT_ERROR_UNINITIALIZED" in reason


def test_no_gpu(succeeds: Callable[..., str]) -> None:
    reason = succeeds(REASON, ZE_ENABLE_ALT_DRIVERS="")
    assert "level-zero: no driver: " in reason
    assert any(
        words in reason
        for words in ("no Intel GPU", "no permission", "no Level Zero driver", "given /dev/dri")
    )


STAND_IN = """
unsigned zeInit(unsigned flags) { (void)flags; return RESULT; }
#define ABSENT(name) unsigned name(void) { return 0x78000001; }
CALLS
"""
API = Path(__file__).parents[2] / "csrc" / "level_zero" / "api.hpp"
CALLS = re.findall(r"X\((\w+)\)", API.read_text().partition("LATER_CALLS")[0])[1:]  # Init is first


def stand_in(folder: Path, calls: list[str], result: int) -> Path:
    """The source of a loader whose zeInit() gives this result."""
    absent = "\n".join(f"ABSENT(ze{call})" for call in calls)
    source = folder / "stand_in.c"
    source.write_text(STAND_IN.replace("CALLS", absent).replace("RESULT", str(result)))
    return source


def test_a_loader_that_lacks_a_call(
    succeeds: Callable[..., str], compile_c: Callable[[str, Path], Path], tmp_path: Path
) -> None:
    calls = [call for call in CALLS if call not in ("MemFree", "KernelCreate")]
    library = compile_c("libze_loader.so.1", stand_in(tmp_path, calls, 0))
    reason = succeeds(REASON, TILEWRIGHT_ZE_LIBRARY=str(library))
    assert "it lacks zeMemFree, zeKernelCreate; unset" in reason


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (0x78000002, "ZE_RESULT_ERROR_UNSUPPORTED_VERSION: the driver is too old"),
        (0x70010000, "ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS: this user may not use"),
        (0x70020000, "ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE: the driver lacks a library"),
        (0x7FFFFFFE, "ZE_RESULT_ERROR_UNKNOWN"),
        (0x12345678, "result 0x12345678: a failure that is not known here"),
    ],
)
def test_a_loader_that_fails(
    succeeds: Callable[..., str],
    compile_c: Callable[[str, Path], Path],
    tmp_path: Path,
    result: int,
    words: str,
) -> None:
    library = compile_c("libze_loader.so.1", stand_in(tmp_path, CALLS, result))
    reason = succeeds(REASON, TILEWRIGHT_ZE_LIBRARY=str(library))
    assert f"level-zero: zeInit gave {words}" in reason


def test_parts_of_two_loaders(
    succeeds: Callable[..., str], compile_c: Callable[[str, Path], Path], tmp_path: Path
) -> None:
    loader = compile_c("libze_loader.so.1.99.0", stand_in(tmp_path, CALLS, 0x78000001))
    layer = compile_c("libze_validation_layer.so.1.8.0", stand_in(tmp_path, [], 0))
    code = f"import ctypes; ctypes.CDLL({str(layer)!r})\n" + REASON
    reason = succeeds(code, TILEWRIGHT_ZE_LIBRARY=str(loader))
    assert "parts of two Level Zero loaders are mixed: " in reason
    assert str(loader) in reason
    assert str(layer) in reason


DOCTOR = """
import json
import re
from tilewright.cli import main
main(["doctor", "--json"])
"""


@pytest.mark.parametrize("variable", ["TILEWRIGHT_ZE_LIBRARY", "ZE_ENABLE_ALT_DRIVERS"])
def test_the_doctor_says_the_same(
    run_python: Callable[..., str], tmp_path: Path, variable: str
) -> None:
    named = str(tmp_path / "nothing.so")
    done = run_python(DOCTOR, **{variable: named})
    checks = [c for c in json.loads(done.stdout)["checks"] if c["backend"] == "level-zero"]
    assert [check["ok"] for check in checks] == [False]
    assert named in checks[0]["found"]
    assert checks[0]["mend"] == f"unset {variable}"
