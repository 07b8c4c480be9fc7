"""What Intel's compiler makes of a shipped SPIR-V module for a GPU that need not be there."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

DEVICES = ("tgllp", "dg2-g10", "pvc")
# The Level Zero backend's own, by device.
FLAGS = {"pvc": "-ze-intel-enable-auto-large-GRF-mode"}
ALWAYS = "-cl-fp32-correctly-rounded-divide-sqrt"


@dataclass(frozen=True)
class Compiled:
    """Figures of one kernel on one device."""

    simd: int
    spilled: int
    """Bytes a hardware thread has in memory of what should be in registers, arrays of the kernel
    too; rounded up to a power of two by the compiler."""
    local: int
    """Bytes of workgroup memory."""

    def __str__(self) -> str:
        local = f", {self.local / 1024:.3g} KiB" if self.local else ""
        return f"{self.simd}{f', spills {self.spilled}' if self.spilled else ''}{local}"


@dataclass(frozen=True)
class Module:
    """A file of the build, named KERNEL.CHOICE=VALUE...spv."""

    path: Path

    @property
    def kernel(self) -> str:
        return self.path.name.split(".")[0]

    @property
    def choices(self) -> tuple[str, ...]:
        return tuple(self.path.name.split(".")[1:-1])

    def __str__(self) -> str:
        return ".".join([self.kernel, *self.choices])


def environment(driver: Path) -> dict[str, str]:
    """For programs of the unpacked driver."""
    library = driver / "usr" / "lib" / "x86_64-linux-gnu"
    return {**os.environ, "LD_LIBRARY_PATH": str(library)}


def compiled(driver: Path, module: Module, device: str, folder: Path) -> Compiled:
    done = subprocess.run(
        [
            driver / "usr/bin/ocloc", "compile", "-q", "-spirv_input", "-file", module.path,
            "-device", device, "-options", f"{ALWAYS} {FLAGS.get(device, '')}".strip(),
            "--format", "zebin", "-output_no_suffix", "-output", str(module), "-out_dir", folder,
        ],
        env=environment(driver), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"{module} for {device}:\n{done.stdout}{done.stderr}")
    (binary,) = (p for p in folder.iterdir() if p.name in (str(module), f"{module}.bin"))
    # The binary's section .ze_info is text.
    text = binary.read_bytes().decode("latin-1")
    info = text[text.index("\nkernels:") :].split("kernels_misc_info:")[0]
    local = re.search(r"slm_size: +(\d+)", info)
    simd = re.search(r"simd_size: +(\d+)", info)
    assert simd is not None, f"{module} for {device} has no SIMD width"
    # Some memory is given for each work-item.
    buffer = r"usage: +\w+_space\s+size: +(\d+)(\s+is_simt_thread: +true)?"
    spilled = sum(
        int(size) * (int(simd[1]) if for_each else 1) for size, for_each in re.findall(buffer, info)
    )
    return Compiled(int(simd[1]), spilled, int(local[1]) if local else 0)


def representatives(folder: Path) -> list[Module]:
    """Of each kernel so many modules that each value of each choice is met, in float32 first."""
    chosen = []
    met: set[tuple[str, str]] = set()
    for path in sorted(folder.glob("*.spv"), reverse=True):
        module = Module(path)
        values = {(module.kernel, choice) for choice in ("", *module.choices)}
        if not values <= met:
            chosen.append(module)
            met |= values
    return sorted(chosen, key=str)


def all_compiled(
    driver: Path, modules: Iterable[Module], folder: Path
) -> dict[tuple[Module, str], Compiled]:
    def one(job: tuple[Module, str]) -> Compiled:
        place = folder / job[1]
        place.mkdir(parents=True, exist_ok=True)
        return compiled(driver, *job, place)

    jobs = [(module, device) for module in modules for device in DEVICES]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(jobs, pool.map(one, jobs), strict=True))
