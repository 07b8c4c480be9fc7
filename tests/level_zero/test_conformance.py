"""The essential conformance tests where commands are shuffled as far as nothing orders them, with
the kernels for subgroups and with those for devices that have none."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

CONFORMANCE = Path(__file__).parents[1] / "conformance"
SETTINGS = [
    {"ZE_CPU_SHUFFLE": "1", "TILEWRIGHT_ZE_SUBGROUPS": "0"},
    {"ZE_CPU_SHUFFLE": "2", "TILEWRIGHT_ZE_SUBGROUPS": "1"},
    {"ZE_CPU_SHUFFLE": "3", "TILEWRIGHT_ZE_SUBGROUPS": "1"},
]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: "-".join(s.values()))
def test_essential_tests_pass(setting: dict[str, str]) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(CONFORMANCE)]
    done = subprocess.run(
        [*command, "-m", "essential"],
        env={**os.environ, **setting, "TILEWRIGHT_TEST_DEVICES": "level-zero:0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2_000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) > 500


@pytest.mark.parametrize(("value", "size"), [("0", 0), ("1", 16)])
def test_the_setting_is_in_force(succeeds: Callable[..., str], value: str, size: int) -> None:
    code = 'print(tw.init_backend(DEVICE).capabilities().limits["block_subgroup_size"])'
    assert succeeds(code, TILEWRIGHT_ZE_SUBGROUPS=value) == f"{size}\n"
