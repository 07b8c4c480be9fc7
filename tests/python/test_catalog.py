"""The catalog of ops that bench and the README's table run through."""

import math
import re
from enum import Enum
from pathlib import Path

import numpy as np
import pytest
import tilewright
from tilewright.cli.catalog import CASES, SIZES, Case, numpy_ops
from tilewright.cli.measure import exact_result, largest_error, run

ROOT = Path(__file__).resolve().parents[2]
TRAIT = ROOT / "csrc" / "include" / "tilewright" / "backend.hpp"


def trait_ops() -> set[str]:
    """The trait's methods from its linear algebra to its kernels of one's own: all are ops."""
    public = TRAIT.read_text().split("// Linear algebra")[1].split("// Kernels of one's own")[0]
    return set(re.findall(r"^  void (\w+)\(", public, re.MULTILINE))


def test_the_trait_has_the_ops_that_this_test_reads() -> None:
    assert {"gemm", "conv2d_forward", "softmax", "reduce", "cast"} <= trait_ops()


def test_every_op_of_the_trait_is_in_the_catalog() -> None:
    assert {case.op for case in CASES} == trait_ops()


@pytest.mark.parametrize(
    ("op", "enum"),
    [
        ("unary", tilewright.UnaryOp),
        ("binary", tilewright.BinaryOp),
        ("reduce", tilewright.ReduceOp),
        ("map_reduce", tilewright.Reduction),
        ("scan", tilewright.ScanOp),
        ("gemm_mixed_precision", tilewright.Precision),
    ],
)
def test_every_value_of_an_enum_has_a_case(op: str, enum: type[Enum]) -> None:
    assert {member.value for member in enum} <= {case.variant for case in CASES if case.op == op}


def test_names_are_different() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_is_right_on_the_cpu(case: Case) -> None:
    with tilewright.CpuBackend() as backend:
        for dtype in case.dtypes:
            outcome = run(backend, case, "small", dtype, seconds=0)
            assert (outcome.status, outcome.message) == ("ok", "")
            assert backend.memory_stats().allocations == 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_reference_is_float64_of_the_output_s_shape(case: Case) -> None:
    assert set(case.sizes) == set(SIZES)
    problem = case.problem("small", case.dtypes[0])
    exact = exact_result(problem)
    assert exact.dtype == np.float64
    assert exact.shape == problem.output.shape
    assert problem.bytes > 0


def test_the_error_function_agrees_with_the_standard_library() -> None:
    x = np.linspace(-7, 7, 5001)
    assert np.abs(numpy_ops.erf(x) - [math.erf(v) for v in x]).max() < 1e-12


def test_bfloat16_rounds_to_nearest_even() -> None:
    x = np.array([1.0, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, -3.0], np.float32)
    expected = [1.0, 1.0, 1 + 2**-6, 1 + 2**-7, -3.0]
    assert numpy_ops.to_bfloat16(x).tolist() == expected


@pytest.mark.parametrize(
    ("result", "exact", "expected"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([3.0], [2.0], 0.25),
        ([math.nan], [1.0], math.inf),
        ([1.0], [math.nan], math.inf),
        ([math.inf, 1.0], [math.inf, 1.0], 0.0),
        ([-math.inf], [math.inf], math.inf),
        ([0.0], [0.0], 0.0),
        ([], [], 0.0),
    ],
)
def test_the_largest_error(result: list[float], exact: list[float], expected: float) -> None:
    assert largest_error(np.array(result, np.float32), np.array(exact)) == expected
