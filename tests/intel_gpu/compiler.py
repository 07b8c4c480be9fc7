"""What Intel's compiler makes of a shipped SPIR-V module for a GPU that need not be there."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

KERNELS = Path(__file__).parents[2] / "csrc" / "kernels"
# Those whose registers hold half as much, and those that hold more.
NARROW = ("tgllp", "dg2-g10")
WIDE = "pvc"
DEVICES = (*NARROW, WIDE)
# The Level Zero backend's own, by device.
FLAGS = {"pvc": "-ze-intel-enable-auto-large-GRF-mode"}
ALWAYS = "-cl-fp32-correctly-rounded-divide-sqrt"
# What specialization constants are in launches; modules as they come have 1 for each.
CONSTANTS = {
    "ACTIVATION": range(10),
    "ADAPTIVE": (0, 1),
    "ALIGNED": (0, 1),
    "AT_END": (1,),
    "AXES": (1, 4),
    "BIAS": (0, 1),
    "BYTES": (1, 2, 4),
    "CAP": (1,),
    "CAUSAL": (0, 1),
    "COLUMNS": (32, 64),
    "COUNTED": (0, 1),
    "DEPTH": (0, 1),
    "DILATED": (0, 1),
    "EDGES": (0, 1),
    "FIRST": (0, 1),
    "GRAD": (0, 1, 2),
    "GROUP": (256,),
    "INDEX": (0, 1, 4, 8),
    "JOIN": (0, 1, 2),
    "JOINED": (0, 1),
    "KIND": (0, 1, 2, 3),
    "LANES": (8, 32),
    "LENGTHS": (1, 2),
    "LOG": (0, 1),
    "LONG": (0, 1),
    "MANTISSA": (10, 20, 23),
    "MASK": (0, 2),
    "MEAN": (0, 1),
    "OP": range(7),
    "PADDED": (0, 1),
    "PADDING": (0, 1, 2),
    "PAGED": (1,),
    "PAIRS": (0, 1),
    "RAGGED": (0, 1),
    "RANK": (1, 4),
    "RIGHT": (0, 1),
    "ROUND": (0, 1, 2),
    "ROWS": (0, 1),
    "SCATTER": (0, 1),
    "SIGNED": (0, 1),
    "SMALL": (0, 1),
    "SMOOTH": (0, 1),
    "STRIDE0": (0, 1, 2),
    "STRIDE1": (1, 2),
    "STRIDE2": (0, 1, 2),
    "SUM": (0, 1),
    "TA": (0, 1),
    "VECTORS": (2, 8),
    "WALKERS": (16, 128),
    "WEIGHT": (0, 1),
    "WEIGHTED": (0, 1),
    "WEIGHTS": (0, 1),
    "WHOLE": (0, 1),
    "WIDE": (0, 1),
    "WINDOW": (0, 1),
    "WINDOW1": (1, 2, 3),
    "WINDOW2": (2, 3),
}


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


def constants_of(kernel: Path) -> list[str]:
    return re.findall(r"^//! (\w+): constant", kernel.read_text(), re.MULTILINE)


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

    @property
    def turn(self) -> int:
        """A number that is the same in every run, for choices that modules share out."""
        return zlib.crc32(str(self).encode())

    @property
    def constants(self) -> dict[str, int]:
        """Values of its specialization constants, in their order."""
        files = [KERNELS / "opencl" / f"{self.kernel}.cl", KERNELS / "wgsl" / f"{self.kernel}.wgsl"]
        names = next((constants_of(file) for file in files if file.exists()), [])
        all_values = list(itertools.product(*(CONSTANTS[name] for name in names)))
        return dict(zip(names, all_values[self.turn % len(all_values)], strict=True))

    def runs_on(self, device: str) -> bool:
        """With subgroups, which all of these have, attention has another form, and narrow ones have
        no float64."""
        if "T=f64" in self.choices or self.kernel == "gemm_double":
            return device == WIDE
        # DPAS, which one of the narrow ones has, takes as many work-items as a register holds.
        if self.kernel == "gemm_matrix":
            return device == (WIDE if "LANES=16" in self.choices else NARROW[1])
        return device != WIDE or self.kernel != "attention" or "SUBGROUP=16" in self.choices

    def __str__(self) -> str:
        return ".".join([self.kernel, *self.choices])


Job = tuple[Module, str]


def environment(driver: Path) -> dict[str, str]:
    """For programs of the unpacked driver."""
    library = (driver / "usr" / "lib" / "x86_64-linux-gnu").resolve()
    return {**os.environ, "LD_LIBRARY_PATH": str(library)}


def specialized(module: Module, folder: Path) -> Path:
    values = " ".join(f"{id}:{value}" for id, value in enumerate(module.constants.values()))
    if not values:
        return module.path.resolve()
    path = folder / module.path.name
    option = f"--set-spec-const-default-value={values}"
    subprocess.run(["spirv-opt", option, module.path, "-o", path], check=True)
    return path


def figures_of(binary: Path) -> Compiled:
    # Its section .ze_info is text.
    text = binary.read_bytes().decode("latin-1")
    info = text[text.index("\nkernels:") :].split("kernels_misc_info:")[0]
    local = re.search(r"slm_size: +(\d+)", info)
    simd = re.search(r"simd_size: +(\d+)", info)
    assert simd is not None, f"{binary} has no SIMD width"
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


def on_all_devices(folder: Path) -> list[Job]:
    """The representatives on each device that runs them."""
    chosen = representatives(folder)
    return [(m, device) for m in chosen for device in DEVICES if m.runs_on(device)]


def every_module(folder: Path) -> list[Job]:
    """Each module where its registers run out first: with subgroups of 16, on a narrow device;
    else on the wide one, whose compiler takes 32 work-items at a time where those of the others go
    down to 8. Representatives of the latter are there on a narrow one as well."""
    also_narrow = set(representatives(folder))
    jobs = []
    for path in sorted(folder.glob("*.spv")):
        module = Module(path)
        wide = "SUBGROUP=16" not in module.choices and module.runs_on(WIDE)
        if wide:
            jobs.append((module, WIDE))
        narrow = [device for device in NARROW if module.runs_on(device)]
        if narrow and (not wide or module in also_narrow):
            jobs.append((module, narrow[module.turn % len(narrow)]))
    return jobs


def compile_all(
    driver: Path, jobs: Sequence[Job], folder: Path, **variables: str
) -> dict[Job, Compiled]:
    """By one process: half of what one takes for each module is its start."""
    folder.mkdir()
    lines = [
        f'-q -spirv_input -file "{specialized(module, folder)}" -device {device} '
        f'-options "{ALWAYS} {FLAGS.get(device, "")}" --format zebin '
        f'-output_no_suffix -output {device} -out_dir "{folder / str(module)}"\n'
        for module, device in jobs
    ]
    listed = folder / "jobs.txt"
    listed.write_text("".join(lines))
    ocloc = (driver / "usr/bin/ocloc").resolve()
    done = subprocess.run(
        [ocloc, "multi", listed],
        env=environment(driver) | variables, cwd=folder,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"{done.stdout}{done.stderr}")
    return {(m, device): figures_of(folder / str(m) / device) for m, device in jobs}


def all_compiled(driver: Path, jobs: Sequence[Job], folder: Path) -> dict[Job, Compiled]:
    count = os.cpu_count() or 1
    with ThreadPoolExecutor(count) as pool:
        shares = pool.map(
            lambda i: compile_all(driver, jobs[i::count], folder / str(i)), range(count)
        )
    results = {job: figures for share in shares for job, figures in share.items()}
    return {job: results[job] for job in jobs}
