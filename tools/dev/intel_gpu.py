"""./dev ocloc: what Intel's compiler makes of the SPIR-V kernels; no Intel GPU is needed."""

from __future__ import annotations

import argparse
import platform
import shutil
import sys

import debian
import system
import ze_cpu
from project import BUILD_FOLDER, Environment
from shell import BUILD, ROOT, Failed, say

RUNS_HERE = (sys.platform, platform.machine()) == ("linux", "x86_64") and bool(
    shutil.which("apt-get")
)
WHERE_IT_RUNS = "Intel's GPU driver is taken from Debian's packages for x86-64, with apt-get"
# The driver brings the compiler. With what it asks for it is unpacked and not installed: as
# installed it would be a device of every OpenCL and Level Zero program.
PACKAGE = "intel-opencl-icd"
# Every system has these; and clang, which SPIR-V does without.
NOT_UNPACKED = ("gcc-", "libc6", "libgcc", "libstdc++", "libclang", "libopencl-clang")
FOLDER = BUILD / "intel-gpu"
STAMP = FOLDER / "packages"
REPORT = ROOT / "tests" / "intel_gpu" / "report.py"


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "ocloc",
        help="what Intel's compiler makes of the kernels",
        description="Compiles the SPIR-V kernels for several Intel GPUs and writes SIMD widths, "
        "spills and workgroup memory to docs/level-zero-kernels.md.",
        allow_abbrev=False,
    )
    parser.set_defaults(call=call, passes_on=False)


def call(_: argparse.Namespace, __: list[str]) -> int:
    environment = Environment()
    environment.install_project()
    install()
    ze_cpu.prepare(environment, with_tests=False)
    driver_on_cpu = ze_cpu.variables(environment)
    environment.run("python", REPORT, BUILD_FOLDER / "spirv", FOLDER, env=driver_on_cpu)
    return 0


def install() -> None:
    """Unpacks the driver into FOLDER."""
    if not RUNS_HERE:
        raise Failed(WHERE_IT_RUNS)
    system.require(system.SPIRV_TOOLS, system.LEVEL_ZERO_LOADER)
    if STAMP.exists():
        return
    say("unpacking Intel's GPU driver and compiler")
    names = debian.unpack(PACKAGE, FOLDER, lambda name: not name.startswith(NOT_UNPACKED))
    STAMP.write_text(" ".join(names))


def variables() -> dict[str, str]:
    """What tells the tests where the driver is, if it is."""
    return {"INTEL_GPU_DRIVER": str(FOLDER)} if STAMP.exists() else {}
