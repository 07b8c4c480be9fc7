"""Intel's compiler takes the shipped modules, and keeps them in registers."""

from __future__ import annotations

from pathlib import Path

from .compiler import DEVICES, all_compiled, representatives

# Bytes that a hardware thread may spill, by kernel and one of the module's choices, for each of
# DEVICES; other modules may not spill at all. The compiler rounds up to a power of two.
MAY_SPILL = {
    ("gemm", "SUBGROUP=16"): (1024, 0, 0),
}


def test_kernels_stay_in_registers(modules: Path, driver: Path, tmp_path: Path) -> None:
    results = all_compiled(driver, representatives(modules), tmp_path)
    spilling = []
    for (module, device), figures in results.items():
        limits = (MAY_SPILL.get((module.kernel, choice)) for choice in module.choices)
        most = max((each[DEVICES.index(device)] for each in limits if each), default=0)
        if figures.spilled > most:
            spilling.append(f"{module} on {device}: {figures}")
    assert spilling == []
