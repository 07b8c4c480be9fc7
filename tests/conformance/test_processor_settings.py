"""The essential tests again under each setting of the CPU backend that changes its code paths; a
process reads them once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import tilewright
from suite import passed

INSTRUCTION_SETS = ["baseline", "avx2", "avx512"]


def settings() -> list[dict[str, str]]:
    """Every lower instruction set than this processor's, and thread counts that it lacks."""
    cpu = next(device for device in tilewright.devices() if device.backend == "cpu")
    highest = next(name for name in INSTRUCTION_SETS if name in cpu.features)
    lower = INSTRUCTION_SETS[: INSTRUCTION_SETS.index(highest)]
    isa = [{"TILEWRIGHT_CPU_ISA": name} for name in lower]
    return [*isa, {"TILEWRIGHT_NUM_THREADS": "1"}, {"TILEWRIGHT_NUM_THREADS": "5"}]


@pytest.mark.exhaustive
@pytest.mark.parametrize("setting", settings(), ids=lambda s: "-".join(s.values()))
def test_essential_tests_pass(setting: dict[str, str]) -> None:
    assert passed("cpu", Path(__file__).parent, "-m", "essential", **setting) > 500


CHECK = """
import tilewright
be = tilewright.init_backend("cpu")
print(*be.device.features, be.device.limits["threads"])
"""


@pytest.mark.parametrize("setting", settings(), ids=lambda s: "-".join(s.values()))
def test_the_setting_is_in_force(setting: dict[str, str]) -> None:
    command = [sys.executable, "-c", CHECK]
    environment = {**os.environ, **setting}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert set(setting.values()) < set(done.stdout.split())
