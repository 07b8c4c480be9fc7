"""Intel's compiler takes the shipped modules, and keeps them in registers."""

from __future__ import annotations

from pathlib import Path

import pytest

from .compiler import all_compiled, every_module


@pytest.mark.exhaustive
def test_kernels_stay_in_registers(modules: Path, driver: Path, tmp_path: Path) -> None:
    """Every module, each with one choice of values for its constants and, but for some, on one
    device alone: compiling all of them for all three takes minutes, and spills were found where
    these choices look."""
    results = all_compiled(driver, every_module(modules), tmp_path)
    spilling = [
        f"{module} on {device}: {figures}"
        for (module, device), figures in results.items()
        if figures.spilled > 0
    ]
    assert spilling == []
