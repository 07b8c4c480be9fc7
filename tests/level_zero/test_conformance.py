"""Conformance tests with the kernels that other devices take, and with commands in other orders,
as far as nothing orders them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from suite import passed

CONFORMANCE = Path(__file__).parents[1] / "conformance"
# The only ops whose kernels differ between a GPU with subgroups and this device.
PRODUCTS = ("test_gemm.py", "test_batched_gemm.py", "test_mixed_precision.py", "test_choices.py")
DEVICE = "level-zero:0"


def test_essential_tests_pass_without_subgroups() -> None:
    setting = {"TILEWRIGHT_ZE_SUBGROUPS": "0", "ZE_CPU_SHUFFLE": "2"}
    assert passed(DEVICE, CONFORMANCE, "-m", "essential", **setting) > 500


def test_products_that_read_blocks_pass() -> None:
    setting = {"TILEWRIGHT_ZE_SUBGROUPS": "1", "ZE_CPU_SHUFFLE": "3"}
    assert passed(DEVICE, *(CONFORMANCE / file for file in PRODUCTS), **setting) > 300


@pytest.mark.parametrize(("value", "sizes"), [("", "16 0"), ("0", "0 0"), ("1", "16 16")])
def test_the_setting_is_in_force(succeeds: Callable[..., str], value: str, sizes: str) -> None:
    code = """
limits = tw.init_backend(DEVICE).capabilities().limits
print(limits["block_subgroup_size"], limits["product_subgroup_size"])
"""
    assert succeeds(code, TILEWRIGHT_ZE_SUBGROUPS=value) == f"{sizes}\n"
