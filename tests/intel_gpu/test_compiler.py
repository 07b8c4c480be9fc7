"""Intel's compiler takes the shipped modules, and keeps them in registers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tilewright import Program

from . import programs
from .compiler import (
    CONSTANTS,
    DEVICES,
    KERNELS,
    Job,
    Module,
    all_compiled,
    constants_of,
    every_module,
)


def spilling(driver: Path, jobs: list[Job], folder: Path) -> list[str]:
    return [
        f"{module} on {device}: {figures}"
        for (module, device), figures in all_compiled(driver, jobs, folder).items()
        if figures.spilled > 0
    ]


def test_every_constant_has_values() -> None:
    kernels = [file for folder in ("opencl", "wgsl") for file in (KERNELS / folder).iterdir()]
    assert {name for file in kernels for name in constants_of(file)} == set(CONSTANTS)


@pytest.mark.exhaustive
def test_kernels_stay_in_registers(modules: Path, driver: Path, tmp_path: Path) -> None:
    """Every module, each with one choice of values for its constants and, but for some, on one
    device alone: compiling all of them for all three takes minutes, and spills were found where
    these choices look."""
    assert spilling(driver, every_module(modules), tmp_path) == []


@pytest.mark.exhaustive
def test_programs_stay_in_registers(driver: Path, tmp_path: Path) -> None:
    """Of each op by itself, in its largest form, and of a long chain in each of its forms."""
    modules = [Module(path) for path in programs.made(tmp_path)]
    assert len(modules) > len(Program.ops())
    jobs = [(module, device) for module in modules for device in DEVICES]
    compiled = tmp_path / "compiled"
    compiled.mkdir()
    assert spilling(driver, jobs, compiled) == []
