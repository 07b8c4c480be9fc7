"""The faults and limits of the WebGPU backend. What could end a process has one of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import tilewright

DEVICE = "webgpu:0"
HERE = Path(__file__).parent

missing: str | None = None


def pytest_configure(config: pytest.Config) -> None:
    global missing
    try:
        tilewright.init_backend(DEVICE).close()
    except tilewright.Error as error:
        missing = str(error)
        named = os.environ.get("TILEWRIGHT_TEST_DEVICES", "")
        if os.environ.get("CI") or "webgpu" in named:
            raise pytest.UsageError(f"{DEVICE}: {missing}") from error


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    return True if missing and HERE in collection_path.parents else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if missing:
        terminalreporter.write_line(f"NOT TESTED tests/webgpu: {missing}", red=True)


def driver_library() -> str:
    """The Vulkan driver that the tests run on."""
    named = os.environ.get("VK_DRIVER_FILES") or os.environ.get("VK_ICD_FILENAMES")
    if named:
        files = [Path(name) for name in named.split(os.pathsep)]
    else:
        folders = [Path("/etc/vulkan/icd.d"), Path("/usr/share/vulkan/icd.d")]
        files = [file for folder in folders for file in sorted(folder.glob("*.json"))]
        files.sort(key=lambda file: not file.name.startswith("lvp"))
    return str(json.loads(files[0].read_text())["ICD"]["library_path"])


@pytest.fixture(scope="session")
def faulty_driver(
    compile_c: Callable[[str, Path], Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """The variables under which a process uses the driver of faulty_driver.c."""
    library = compile_c("libfaulty_driver.so", HERE / "faulty_driver.c")
    description = tmp_path_factory.mktemp("driver") / "faulty.json"
    icd = {"api_version": "1.3.0", "library_path": str(library)}
    description.write_text(json.dumps({"file_format_version": "1.0.0", "ICD": icd}))
    return {
        "VK_DRIVER_FILES": str(description),
        "FAULTY_DRIVER": str(library),
        "FAULTY_DRIVER_REAL": driver_library(),
    }


@pytest.fixture(scope="session")
def on_dawn() -> dict[str, str]:
    """The variables under which webgpu is Dawn: on the GPU of the machine, else on SwiftShader."""
    variables = {"TILEWRIGHT_WEBGPU": "dawn", "TILEWRIGHT_ALLOW_SOFTWARE": "1"}
    if driver := os.environ.get("TILEWRIGHT_TEST_SWIFTSHADER"):
        variables["VK_DRIVER_FILES"] = driver
    return variables
