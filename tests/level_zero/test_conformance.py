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


PRODUCTS = ("test_gemm.py", "test_batched_gemm.py", "test_mixed_precision.py", "test_choices.py")


def passed(setting: dict[str, str], *arguments: str) -> int:
    """How many tests passed; all did."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        env={**os.environ, **setting, "TILEWRIGHT_TEST_DEVICES": "level-zero:0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2_000:]
    said = re.search(r"(\d+) passed", done.stdout)
    assert said is not None
    return int(said[1])


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: "-".join(s.values()))
def test_essential_tests_pass(setting: dict[str, str]) -> None:
    assert passed(setting, str(CONFORMANCE), "-m", "essential") > 500


def test_products_that_read_blocks_pass() -> None:
    files = [str(CONFORMANCE / file) for file in PRODUCTS]
    assert passed({"TILEWRIGHT_ZE_SUBGROUPS": "1"}, *files) > 300


@pytest.mark.parametrize(("value", "sizes"), [("", "16 0"), ("0", "0 0"), ("1", "16 16")])
def test_the_setting_is_in_force(succeeds: Callable[..., str], value: str, sizes: str) -> None:
    code = """
limits = tw.init_backend(DEVICE).capabilities().limits
print(limits["block_subgroup_size"], limits["product_subgroup_size"])
"""
    assert succeeds(code, TILEWRIGHT_ZE_SUBGROUPS=value) == f"{sizes}\n"
