"""Each shipped kernel is there in both languages, and each SPIR-V module is valid."""

from __future__ import annotations

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .conftest import ROOT

KERNELS = ROOT / "csrc" / "kernels"


def shipped() -> set[str]:
    table = (ROOT / "csrc" / "gpu" / "kernel_library.hpp").read_text()
    return set(re.findall(r"\bX\((\w+)\)", table))


def test_every_kernel_is_there_in_wgsl() -> None:
    assert shipped() <= {path.stem for path in (KERNELS / "wgsl").glob("*.wgsl")}


def test_every_kernel_is_there_in_opencl_c() -> None:
    assert shipped() == {path.stem for path in (KERNELS / "opencl").glob("*.cl")}


def test_every_kernel_has_modules(modules: Path) -> None:
    assert shipped() == {path.name.split(".")[0] for path in modules.glob("*.spv")}


def test_modules_are_valid(modules: Path) -> None:
    def complaint(module: Path) -> str:
        done = subprocess.run(["spirv-val", module], capture_output=True, text=True, check=False)
        return f"{module.name}: {done.stdout}{done.stderr}" if done.returncode != 0 else ""

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = list(filter(None, pool.map(complaint, sorted(modules.glob("*.spv")))))
    assert complaints == []
