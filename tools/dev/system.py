"""What has to come from the system, and how to get it there."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shell import Failed, run, say, succeeds


@dataclass(frozen=True)
class Need:
    what: str
    present: Callable[[], bool]
    packages: str
    """What Debian and its kin call it, by space."""


def compiler() -> str | None:
    """The C++ compiler that CMake would take."""
    named = os.environ.get("CXX")
    if named:
        return named
    return next((name for name in ("c++", "g++", "clang++") if shutil.which(name)), None)


def has_header(header: str) -> bool:
    command = compiler()
    return command is not None and succeeds(
        [*command.split(), "-std=c++20", "-x", "c++", "-E", "-"], stdin=f"#include <{header}>\n"
    )


def has_library(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def has_python_headers() -> bool:
    return (Path(sysconfig.get_path("include")) / "Python.h").exists()


def has_venv() -> bool:
    return succeeds([sys.executable, "-c", "import ensurepip"])


CPP = Need("a C++20 compiler", lambda: has_header("concepts"), "g++")
VENV = Need("Python's venv", has_venv, "python3-venv")
PYTHON_HEADERS = Need("Python's C headers", has_python_headers, "python3-dev")
DOCTEST = Need("doctest", lambda: has_header("doctest/doctest.h"), "doctest-dev")
LEVEL_ZERO = Need("Level Zero's header", lambda: has_header("level_zero/ze_api.h"), "libze-dev")
BENCHMARK = Need(
    "google-benchmark", lambda: has_header("benchmark/benchmark.h"), "libbenchmark-dev"
)
LEVEL_ZERO_LOADER = Need(
    "the Level Zero loader", lambda: has_library("libze_loader.so.1"), "libze1"
)
OPENCL_HEADERS = Need("OpenCL's headers", lambda: has_header("CL/cl.h"), "opencl-c-headers")
SPIRV_TOOLS = Need("SPIR-V tools", lambda: has_header("spirv-tools/libspirv.h"), "spirv-tools")


def gcc12_library(arch: str) -> Need:
    """GCC 12's C++ library for a wheel; see cmake/manylinux/toolchain.cmake."""
    triple = f"{arch}-linux-gnu"
    if arch == os.uname().machine:
        headers, package = Path("/usr/include/c++/12"), "libstdc++-12-dev"
    else:
        headers = Path(f"/usr/{triple}/include/c++/12")
        package = f"libstdc++-12-dev-{'arm64' if arch == 'aarch64' else 'amd64'}-cross"
    return Need(f"GCC 12's C++ library for {triple}", (headers / "string").exists, package)


def require(*needs: Need) -> None:
    """Installs what is missing where that takes no question, else names the command to type."""
    missing = [need for need in needs if not need.present()]
    if not missing:
        return
    named = ", ".join(need.what for need in missing)
    packages = [package for need in missing for package in need.packages.split()]
    as_root = root_prefix()
    if shutil.which("apt-get") is None:
        raise Failed(
            f"missing on this system: {named}.\nInstall them with its package manager; Debian's "
            f"names for them are {' '.join(packages)}."
        )
    if as_root is None:
        command = f"sudo apt-get install {' '.join(packages)}"
        raise Failed(f"missing on this system: {named}.\nType: {command}")
    say(f"installing {named}")
    install = [*as_root, "apt-get", "install", "-y", "-q", "--no-install-recommends", *packages]
    if run(install, check=False) != 0:
        run([*as_root, "apt-get", "update", "-q"])
        run(install)
    still = ", ".join(need.what for need in missing if not need.present())
    if still:
        raise Failed(f"{' '.join(packages)} is installed, but this is still missing: {still}")


def root_prefix() -> list[str] | None:
    """What to put before a command that root must run; nothing where that would ask a question."""
    noninteractive = ["env", "DEBIAN_FRONTEND=noninteractive"]
    if os.geteuid() == 0:
        return noninteractive
    return ["sudo", "-n", *noninteractive] if succeeds(["sudo", "-n", "true"]) else None
