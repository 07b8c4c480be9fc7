"""Products on matrix units: Intel's compiler makes DPAS of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .compiler import DEVICES, Module, compile_all

# ocloc has said that all is well of devices without DPAS, and printed this.
REFUSED = "INVALID opcode"


def products_of(module: Module) -> int:
    """Of a step along k, each of 8 rows by as many columns as work-items."""
    values = dict(choice.split("=") for choice in module.choices)
    return int(values["WM"]) // 8 * int(values["WN"]) // 16


def check(driver: Path, modules: list[Module], folder: Path) -> None:
    dump = folder / "dump"
    dump.mkdir()
    jobs = [(module, device) for module in modules for device in DEVICES if module.runs_on(device)]
    assert jobs
    for number, job in enumerate(jobs):
        place = dump / str(number)
        place.mkdir()
        figures = compile_all(
            driver, [job], folder / str(number),
            IGC_ShaderDumpEnable="1", IGC_DumpToCustomDir=str(place),
        )  # fmt: skip
        assert figures[job].spilled == 0, f"{job[0]} on {job[1]}: {figures[job]}"
        assembly = "".join(file.read_text() for file in place.rglob("*.asm"))
        assert REFUSED not in assembly
        assert len(re.findall(r"\bdpas\.8x8\b", assembly)) == products_of(job[0]), job


def gemm_modules(modules: Path) -> list[Module]:
    return [Module(path) for path in sorted(modules.glob("gemm_matrix.*.spv"))]


@pytest.mark.parametrize("lanes", [8, 16])
@pytest.mark.parametrize("dtype", ["f16", "i8"])
def test_products_of_tiles_of_64(
    modules: Path, driver: Path, tmp_path: Path, lanes: int, dtype: str
) -> None:
    wanted = {f"LANES={lanes}", f"T={dtype}", "BM=64", "BN=64"} | (
        {"TC=f32"} if dtype == "f16" else set()
    )
    check(driver, [m for m in gemm_modules(modules) if wanted <= set(m.choices)], tmp_path)


@pytest.mark.exhaustive
def test_all_products(modules: Path, driver: Path, tmp_path: Path) -> None:
    check(driver, gemm_modules(modules), tmp_path)
