"""Conformance tests with the kernels that other devices take, and with commands in other orders,
as far as nothing orders them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from suite import passed

CONFORMANCE = Path(__file__).parents[1] / "conformance"
KERNELS = Path(__file__).parents[2] / "csrc" / "kernels" / "opencl"
DEVICE = "level-zero:0"

PRODUCTS = ["gemm", "batched_gemm", "mixed_precision"]
# The tests of each kernel that has a form for subgroups.
TESTS = {
    "attention": ["attention"],
    "gemm": PRODUCTS,
    "gemm_thin": PRODUCTS,
    "matmul_vec": ["matmul_vec", "weighted_sum", "attention_scores"],
    "norm_rows": ["layer_norm", "rmsnorm"],
    "reduce_rows": ["reduce"],
    "softmax_rows": ["softmax"],
}


def files(names: Iterable[str]) -> list[Path]:
    return [CONFORMANCE / f"test_{name}.py" for name in dict.fromkeys(names)]


def test_every_kernel_with_a_form_for_subgroups_is_known() -> None:
    choice = re.compile(r"^//! SUBGROUP: ", re.MULTILINE)
    assert set(TESTS) == {p.stem for p in KERNELS.glob("*.cl") if choice.search(p.read_text())}


@pytest.mark.exhaustive
def test_essential_tests_pass_without_subgroups() -> None:
    setting = {"TILEWRIGHT_ZE_SUBGROUPS": "0", "ZE_CPU_SHUFFLE": "2"}
    tests = files(name for names in TESTS.values() for name in names)
    assert passed(DEVICE, *tests, "-m", "essential", **setting) > 500


@pytest.mark.exhaustive
def test_products_that_read_blocks_pass() -> None:
    """Their kernels alone differ between a GPU with subgroups and this device."""
    setting = {"TILEWRIGHT_ZE_SUBGROUPS": "1", "ZE_CPU_SHUFFLE": "3"}
    assert passed(DEVICE, *files([*PRODUCTS, "choices"]), **setting) > 300


@pytest.mark.exhaustive
def test_essential_tests_pass_as_on_a_processor_with_avx2() -> None:
    setting = {"CL_CONFIG_CPU_TARGET_ARCH": "core-avx2", "ZE_CPU_SIMD_WIDTH": "8"}
    assert passed(DEVICE, CONFORMANCE, "-m", "essential", **setting) > 500


@pytest.mark.exhaustive
def test_products_on_wider_matrix_units_pass() -> None:
    tests = files([*PRODUCTS, "gemm_bytes", "matrix_units"])
    assert passed(DEVICE, *tests, "-m", "not exhaustive", ZE_CPU_DPAS="16") > 100


@pytest.mark.parametrize("lanes", [0, 8, 16])
def test_matrix_units_are_found(succeeds: Callable[..., str], lanes: int) -> None:
    code = """
be = tw.init_backend(DEVICE)
print("matrix_units" in be.device.features, be.capabilities().limits["matrix_lanes"])
"""
    assert succeeds(code, ZE_CPU_DPAS=str(lanes)) == f"{lanes != 0} {lanes}\n"


@pytest.mark.parametrize(("value", "sizes"), [("", "16 0"), ("0", "0 0"), ("1", "16 16")])
def test_the_setting_is_in_force(succeeds: Callable[..., str], value: str, sizes: str) -> None:
    code = """
limits = tw.init_backend(DEVICE).capabilities().limits
print(limits["block_subgroup_size"], limits["product_subgroup_size"])
"""
    assert succeeds(code, TILEWRIGHT_ZE_SUBGROUPS=value) == f"{sizes}\n"
