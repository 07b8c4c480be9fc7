"""Compiled kernels on disk: used again, and of no harm when they are damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

COUNT = """
driver = CpuDriver()
with tw.init_backend(DEVICE) as be:
    before = driver.calls()
    driver.fail("zeModuleGetNativeBinary", 0x7ffffffe)
    assert computes(be)
    print("compiled" if driver.failed() else "from disk")
assert driver.alive() == "", driver.alive()
"""


def files(folder: Path) -> list[Path]:
    return sorted((folder / "cache" / "level-zero").glob("*"))


def test_a_second_process_does_not_compile(succeeds: Callable[..., str], tmp_path: Path) -> None:
    succeeds("assert all_of_it()")
    assert len(files(tmp_path)) == 1
    assert succeeds(COUNT) == "from disk\n"


MAP = """
driver = CpuDriver()
with tw.init_backend(DEVICE) as be:
    program = tw.Program()
    program.output((program.input("int16").cast("float32") * program.number()).exp())
    buffer, out = be.array(np.arange(-50, 50, dtype=np.int16).view(np.float32)), be.alloc(400)
    driver.fail("zeModuleGetNativeBinary", 0x7ffffffe)
    be.map(program, (100,), [buffer.handle], [0.125], [out])
    print("compiled" if driver.failed() else "from disk")
    got = np.empty(100, np.float32)
    be.copy_dtoh(got, out)
    assert np.allclose(got, np.exp(np.arange(-50, 50) / 8), rtol=1e-6)
"""


def test_programs_of_an_earlier_process_are_not_compiled(
    succeeds: Callable[..., str], tmp_path: Path
) -> None:
    """The same program is the same SPIR-V each time that it is made."""
    assert succeeds(MAP) == "compiled\n"
    succeeds(MAP.replace("driver.fail(", "print("))
    assert len(files(tmp_path)) == 1
    assert succeeds(MAP) == "from disk\n"


DAMAGES = {
    "empty": lambda content: b"",
    "cut off": lambda content: content[: len(content) // 2],
    "changed": lambda content: content[:-9] + b"x" * 9,
    "other": lambda content: b"nonsense" * 1000,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files(succeeds: Callable[..., str], tmp_path: Path, damage: str) -> None:
    succeeds("assert all_of_it()")
    (file,) = files(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(DAMAGES[damage](whole))
    assert succeeds(COUNT) == "compiled\n"
    succeeds("assert all_of_it()")
    assert file.read_bytes() == whole


def test_a_binary_that_the_driver_refuses(succeeds: Callable[..., str], tmp_path: Path) -> None:
    succeeds("assert all_of_it()")
    refuses = "driver = CpuDriver()\ndriver.fail('zeModuleCreate', 0x7800000f)\n"
    succeeds(refuses + "assert all_of_it()\nassert driver.failed() == 'zeModuleCreate'")
    assert len(files(tmp_path)) == 1


def test_a_folder_that_cannot_be_written(succeeds: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("no folder")
    assert succeeds("assert all_of_it()") == ""


def test_none_are_kept_without_the_pipeline_cache(
    succeeds: Callable[..., str], tmp_path: Path
) -> None:
    succeeds("with tw.init_backend(DEVICE, enable_pipeline_cache=False) as be: assert computes(be)")
    assert files(tmp_path) == []


def test_processes_that_write_at_once(succeeds: Callable[..., str], tmp_path: Path) -> None:
    code = """
import subprocess, sys
start = "from child import *; from work import *; assert all_of_it()"
several = [subprocess.Popen([sys.executable, "-c", start]) for _ in range(4)]
assert [process.wait() for process in several] == [0] * 4
"""
    succeeds(code)
    assert len(files(tmp_path)) == 1
    assert succeeds(COUNT) == "from disk\n"
