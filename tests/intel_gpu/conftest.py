"""The SPIR-V kernels under the SPIR-V tools' and Intel's eyes, on machines without an Intel GPU.

SPIRV_MODULES names the build's folder of modules where that is not ./dev's; INTEL_GPU_DRIVER the
folder that Intel's driver and compiler are unpacked in (./dev test sets it)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
NEED_DRIVER = {"test_compiler.py", "test_driver.py"}

driver_folder = os.environ.get("INTEL_GPU_DRIVER", "")


def pytest_configure(config: pytest.Config) -> None:
    if not driver_folder and os.environ.get("CI"):
        raise pytest.UsageError("INTEL_GPU_DRIVER is not set; ./dev test sets it")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    return True if not driver_folder and collection_path.name in NEED_DRIVER else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not driver_folder:
        terminalreporter.write_line(
            "NOT TESTED Intel's compiler and driver: INTEL_GPU_DRIVER is not set", red=True
        )


@pytest.fixture(scope="session")
def modules() -> Path:
    folder = Path(os.environ.get("SPIRV_MODULES", ROOT / "build" / "python" / "spirv"))
    assert any(folder.glob("*.spv")), (
        f"{folder} has no SPIR-V modules: build with ./dev test, or set SPIRV_MODULES to "
        "the folder `spirv` of a build with the Level Zero backend"
    )
    return folder


@pytest.fixture(scope="session")
def driver() -> Path:
    return Path(driver_folder)
