"""Writes docs/level-zero-kernels.md: report.py MODULES DRIVER."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from compiler import DEVICES, FLAGS, all_compiled, representatives

PAGE = Path(__file__).parents[2] / "docs" / "level-zero-kernels.md"
HEAD = """# What Intel's compiler makes of the kernels

Written by `./dev ocloc`, which compiles the SPIR-V modules of the build with Intel's offline
compiler ({version}) for an integrated Xe GPU (`tgllp`), Arc (`dg2-g10`) and
Data Center GPU Max (`pvc`, with `{flag}` as the backend has
it). Of each kernel there are so many modules that each value of each of its choices is met. A cell
is the SIMD width; the bytes that a hardware thread spills to memory (rounded up to a power of two
by the compiler), where it spills; and the workgroup memory. `tests/intel_gpu/test_compiler.py`
lets none of them spill.

| kernel | choices | {devices} |
|---|---|{rules}|
"""


def main(modules: Path, driver: Path) -> None:
    chosen = representatives(modules)
    with tempfile.TemporaryDirectory() as folder:
        results = all_compiled(driver, chosen, Path(folder))
    package = next((driver / "archives").glob("intel-opencl-icd_*")).name.split("_")[1]
    page = HEAD.format(
        version=f"`ocloc` {package}",
        flag=FLAGS["pvc"],
        devices=" | ".join(f"`{device}`" for device in DEVICES),
        rules="|".join("---" for _ in DEVICES),
    )
    for module in chosen:
        cells = " | ".join(str(results[module, device]) for device in DEVICES)
        page += f"| {module.kernel} | {' '.join(module.choices)} | {cells} |\n"
    PAGE.write_text(page.replace("|  |", "| |"))


main(Path(sys.argv[1]), Path(sys.argv[2]))
