"""Intel's compiler takes the shipped modules, and keeps them in registers."""

from __future__ import annotations

from pathlib import Path

from .compiler import all_compiled, representatives


def test_kernels_stay_in_registers(modules: Path, driver: Path, tmp_path: Path) -> None:
    results = all_compiled(driver, representatives(modules), tmp_path)
    spilling = [
        f"{module} on {device}: {figures}"
        for (module, device), figures in results.items()
        if figures.spilled > 0
    ]
    assert spilling == []
