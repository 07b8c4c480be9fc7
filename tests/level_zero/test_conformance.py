"""The essential conformance tests where commands are shuffled as far as nothing orders them, with
the kernels for subgroups and with those for devices that have none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from suite import passed

CONFORMANCE = Path(__file__).parents[1] / "conformance"
SETTINGS = [
    {"ZE_CPU_SHUFFLE": "1", "TILEWRIGHT_ZE_SUBGROUPS": "0"},
    {"ZE_CPU_SHUFFLE": "2", "TILEWRIGHT_ZE_SUBGROUPS": "1"},
    {"ZE_CPU_SHUFFLE": "3", "TILEWRIGHT_ZE_SUBGROUPS": "1"},
]
PRODUCTS = ("test_gemm.py", "test_batched_gemm.py", "test_mixed_precision.py", "test_choices.py")
DEVICE = "level-zero:0"


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: "-".join(s.values()))
def test_essential_tests_pass(setting: dict[str, str]) -> None:
    assert passed(DEVICE, CONFORMANCE, "-m", "essential", **setting) > 500


def test_products_that_read_blocks_pass() -> None:
    files = [CONFORMANCE / file for file in PRODUCTS]
    assert passed(DEVICE, *files, TILEWRIGHT_ZE_SUBGROUPS="1") > 300


@pytest.mark.parametrize(("value", "sizes"), [("", "16 0"), ("0", "0 0"), ("1", "16 16")])
def test_the_setting_is_in_force(succeeds: Callable[..., str], value: str, sizes: str) -> None:
    code = """
limits = tw.init_backend(DEVICE).capabilities().limits
print(limits["block_subgroup_size"], limits["product_subgroup_size"])
"""
    assert succeeds(code, TILEWRIGHT_ZE_SUBGROUPS=value) == f"{sizes}\n"
