"""./dev ze-cpu: Level Zero without an Intel GPU, by the driver in tests/level_zero_cpu_driver."""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import system
from project import Environment, digest
from shell import BUILD, ROOT, Failed, say

SOURCE = ROOT / "tests" / "level_zero_cpu_driver"
FOLDER = BUILD / "ze-cpu"
RUNS_HERE = (sys.platform, platform.machine()) == ("linux", "x86_64")
WHERE_IT_RUNS = "the OpenCL CPU runtime under it exists for x86-64 Linux alone"
# The OpenCL CPU runtime, without what its packages ask for besides; under Intel's licence.
RUNTIME = (
    "intel-opencl-rt==2026.2.0",
    "intel-cmplr-lib-rt==2026.2.0",
    "tbb==2023.2.0",
    "tcmlib==1.6.0",
)


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "ze-cpu",
        help="a Level Zero driver on the CPU",
        description="Builds the Level Zero driver that computes on the CPU and prints the "
        'environment for it: `eval "$(./dev ze-cpu)"` runs any Level Zero program on it.',
        allow_abbrev=False,
    )
    parser.set_defaults(call=call, passes_on=False)


def call(_: argparse.Namespace, __: list[str]) -> int:
    environment = Environment()
    with stdout_on_stderr():
        prepare(environment)
    for name, value in variables(environment).items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def prepare(environment: Environment, *, with_tests: bool = False) -> None:
    """Installs what the driver needs and builds it."""
    if not RUNS_HERE:
        raise Failed(WHERE_IT_RUNS)
    system.require(
        system.CPP,
        system.LEVEL_ZERO_LOADER,
        system.LEVEL_ZERO,
        system.OPENCL_HEADERS,
        system.SPIRV_TOOLS,
        *([system.DOCTEST] if with_tests else []),
    )
    environment.install_groups("build")
    install_runtime(environment)
    names = ["ze-cpu-tests"] if with_tests else ["ze-cpu", "ze-cpu-tests"]
    state = f"{FOLDER} {digest(['tests/level_zero_cpu_driver'])}"
    built = any(environment.is_stamped(name, state) for name in names)
    if built and (FOLDER / "libze_cpu.so").exists():
        return
    say("building the Level Zero driver on the CPU")
    environment.run(
        "cmake",
        *("-S", SOURCE, "-B", FOLDER, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"),
        f"-DZE_CPU_TESTS={'ON' if with_tests else 'OFF'}",
        f"-DPython_EXECUTABLE={environment.python}",
    )
    environment.run("cmake", "--build", FOLDER)
    environment.stamp(names[0], state)


def install_runtime(environment: Environment) -> None:
    """Puts the runtime into a folder of its own: it must not mix with the project's packages."""
    state = " ".join(RUNTIME)
    library = runtime_library(environment)
    if environment.is_stamped("opencl-cpu", state) and library.exists():
        return
    say("installing the OpenCL CPU runtime (0.8 GB)")
    environment.pip(
        "install",
        "--no-deps",
        "--ignore-installed",
        "--no-compile",
        f"--prefix={runtime_folder(environment)}",
        *RUNTIME,
    )
    if not library.exists():
        raise Failed(f"the OpenCL CPU runtime was installed, but {library} is not there")
    environment.stamp("opencl-cpu", state)


def runtime_folder(environment: Environment) -> Path:
    return environment.path / "opencl-cpu"


def runtime_library(environment: Environment) -> Path:
    return runtime_folder(environment) / "lib" / "libintelocl.so"


def variables(environment: Environment) -> dict[str, str]:
    """What makes the Level Zero loader take this driver."""
    return {
        "ZE_ENABLE_ALT_DRIVERS": str(FOLDER / "libze_cpu.so"),
        "ZE_CPU_OPENCL": str(runtime_library(environment)),
    }


@contextmanager
def stdout_on_stderr() -> Iterator[None]:
    """Shows what this process and its children print where it is not read by a shell."""
    sys.stdout.flush()
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(stdout, 1)
        os.close(stdout)
