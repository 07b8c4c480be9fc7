"""Compiles OpenCL C of the tests to SPIR-V."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

CLANG = (
    *(sys.executable, "-m", "ziglang", "clang", "-x", "cl", "-cl-std=CL2.0"),
    *("-target", "spirv64v1.2-unknown-unknown", "-O2", "-Xclang", "-disable-llvm-passes"),
    *("-cl-no-stdinc", "-Wall", "-Werror"),
)


def spirv_of(source: Path, *flags: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder, "module.spv")
        subprocess.run([*CLANG, *flags, "-c", source, "-o", module], check=True)
        return module.read_bytes()
