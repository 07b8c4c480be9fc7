"""Writes docs/level-zero-kernels.md: report.py MODULES DRIVER."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

import programs
from compiler import DEVICES, FLAGS, Module, all_compiled, on_all_devices

PAGE = Path(__file__).parents[2] / "docs" / "level-zero-kernels.md"
HEAD = """# What Intel's compiler makes of the kernels

Written by `./dev ocloc`, which compiles the SPIR-V modules of the build with Intel's offline
compiler ({version}) for an integrated Xe GPU (`tgllp`), Arc (`dg2-g10`) and
Data Center GPU Max (`pvc`, with `{flag}` as the backend has
it). Of each kernel there are so many modules that each value of each of its choices is met, with
one choice of values for the constants that a launch sets. A cell is the SIMD width; the bytes that
a hardware thread spills to memory (rounded up to a power of two by the compiler), where it spills;
and the workgroup memory. It is empty where that device takes another form of the kernel.
`program` is what the backend makes of elementwise programs as it runs: of each op alone, with
float32 or what the row says, and of a chain of 40 exponentials.
`tests/intel_gpu/test_compiler.py` lets no module spill.

| kernel | choices | constants | {devices} |
|---|---|---|{rules}|
"""


def main(modules: Path, driver: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = [Module(path) for path in programs.made(Path(folder))]
        jobs = on_all_devices(modules) + [(m, device) for m in made for device in DEVICES]
        results = all_compiled(driver, jobs, Path(folder))
    unpacked = (driver / "packages").read_text()
    package = unpacked.split("intel-opencl-icd_")[1].split("_")[0]
    page = HEAD.format(
        version=f"`ocloc` {package}",
        flag=FLAGS["pvc"],
        devices=" | ".join(f"`{device}`" for device in DEVICES),
        rules="|".join("---" for _ in DEVICES),
    )
    for module in dict.fromkeys(module for module, _ in jobs):
        cells = " | ".join(str(results.get((module, device), "")) for device in DEVICES)
        constants = " ".join(f"{name}={value}" for name, value in module.constants.items())
        page += f"| {module.kernel} | {' '.join(module.choices)} | {constants} | {cells} |\n"
    PAGE.write_text(re.sub(r"\|  +(?=\|)", "| ", page))


main(Path(sys.argv[1]), Path(sys.argv[2]))
