"""The faults and limits of the Level Zero backend, on the driver of tests/level_zero_cpu_driver."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from opencl import spirv_of

HERE = Path(__file__).parent
KERNELS = HERE / "kernels.cl"

Run = Callable[..., subprocess.CompletedProcess[str]]

missing: str | None = None


def pytest_configure(config: pytest.Config) -> None:
    global missing
    driver = os.environ.get("ZE_ENABLE_ALT_DRIVERS", "")
    if not Path(driver).name.startswith("libze_cpu"):
        missing = 'the Level Zero driver on a CPU is not set up; eval "$(./dev ze-cpu)" does it'
        named = os.environ.get("TILEWRIGHT_TEST_DEVICES", "")
        if os.environ.get("CI") or "level-zero" in named:
            raise pytest.UsageError(f"level-zero:0: {missing}")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    return True if missing and HERE in collection_path.parents else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if missing:
        terminalreporter.write_line(f"NOT TESTED tests/level_zero: {missing}", red=True)


@pytest.fixture(scope="session")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The SPIR-V of kernels.cl."""
    file = tmp_path_factory.mktemp("module") / "kernels.spv"
    file.write_bytes(spirv_of(KERNELS))
    return file


@pytest.fixture(scope="session")
def newer_loader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The system's loader with a call of later ones, which came with lists that keep order."""
    folder = tmp_path_factory.mktemp("loader")
    source, library = folder / "newer.c", folder / "libze_newer.so"
    source.write_text("int zeCommandListHostSynchronize(void) { return 0; }\n")
    link = ["-Wl,--no-as-needed", "-l:libze_loader.so.1"]
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, *link], check=True)
    return library


@pytest.fixture
def run_python(run_python: Run, module: Path, tmp_path: Path) -> Run:
    """With compiled kernels in a folder of the test's own, and kernels.cl in MODULE."""

    def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
        own = {"TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache"), "MODULE": str(module)}
        return run_python("from work import *\n" + code, **(own | variables))

    return run
