"""Kernels on matrix units, where the device has them: every candidate, on shapes that fit none of
them, and which kernels run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest
from tilewright import Backend, _core
from tilewright.quant.formats import FORMATS

from . import blocks
from .attention_cases import Options
from .attention_cases import check as check_options
from .conftest import has_matrix_units
from .high_precision import check_high, mixed
from .products import Product
from .test_attention import Attention
from .test_attention import check as check_attention
from .test_attention_many import OPTIONS, SIZES
from .test_attention_many import test_one_score_far_above_the_others as check_lead
from .test_batched_gemm import batched_gemm
from .test_choices import (
    candidates,
    check_candidate,
    check_conv2d_forward,
    check_heads,
    check_products,
    is_of_units,
)
from .test_gemm_bytes import product as product_of_bytes
from .test_linear import check as check_linear
from .test_linear import operands as operands_of_linear
from .test_quantized_matmul import check as check_quantized_matmul
from .workspace import Workspace, normal

pytestmark = [pytest.mark.matrix_units, pytest.mark.sampled(1)]
webgpu_alone = pytest.mark.matrix_units("webgpu")

PRODUCTS = [
    Product(34, 40, 96, "none", "none", 1.0, 0.0, "float16", "float16"),
    Product(130, 136, 264, "none", "transpose", 0.5, -0.75, "float16", "float16", pad_c=4),
    Product(136, 264, 35, "transpose", "none", 1.0, 1.0, "float16", "float32"),
    Product(72, 65, 1032, "transpose", "transpose", 1.0, 0.0, "float16", "float16", count=2, gap=8),
    Product(129, 131, 133, "none", "none", 1.0, 0.0, "float16", "float16", pad_a=2),
]

# Of float32, which are split or rounded.
SINGLES = [
    Product(34, 40, 96),
    Product(130, 136, 200, "none", "transpose", 0.5, -0.75, pad_c=4),
    Product(72, 65, 131, "transpose", "none", 1.0, 1.0, pad_a=3, pad_b=1),
    Product(66, 37, 1100, "transpose", "transpose", 1.5, 0.0, pad_b=5, pad_c=3),
]

LARGE_SINGLE = (2048, 2048, 256)

# m, n, blocks along k; more of ldx, of ldy
QUANTIZED = {"q4_0": (33, 67, 9, 8, 1), "q4_k": (130, 132, 4, 0, 4)}


def check_quantized(be: Backend, rng: np.random.Generator) -> Iterator[None]:
    for format, (m, n, count, more_x, more_y) in QUANTIZED.items():
        k = count * blocks.sizes_of(format)[0]
        with Workspace(be) as ws:
            x, raw = normal(rng, (m, k), "float16"), blocks.draw(rng, format, n, k)
            check_quantized_matmul(ws, format, x, raw, n, more_x, more_y)
            yield


def check_gemm_matrix(be: Backend, rng: np.random.Generator) -> Iterator[None]:
    yield from check_products(PRODUCTS, be, rng)
    for precision in ("high", "float16"):
        for single in SINGLES:
            with Workspace(be) as ws:
                single.check(ws, rng, mixed(be, precision), rounding=precision)
                yield
    yield from check_high(be, rng, 35, 37, 70)


# m, n, k; padding, beta, matrices, whether they share B
OF_BYTES = [
    ((34, 40, 96), 0, 0, 1, False),
    ((130, 136, 272), 16, 1, 1, False),
    ((72, 65, 1031), 3, 0, 2, False),
    ((129, 131, 133), 0, 1, 2, True),
    ((64, 64, 2048), 0, 0, 1, False),
    ((33, 7, 16), 1, 0, 3, True),
]


def check_bytes(be: Backend, rng: np.random.Generator) -> Iterator[None]:
    for i, (sizes, pad, beta, count, shared) in enumerate(OF_BYTES):
        for j, dtype in enumerate(("int8", "uint8")):
            for trans_a, trans_b in product(("none", "transpose"), repeat=2):
                if (i + j) % 2 or trans_b == "transpose":
                    product_of_bytes(
                        be, rng, dtype, trans_a, trans_b, sizes, pad, beta, count, shared
                    )
                    yield


# Minutes of a software GPU's compiler.
LARGE = {"32x128", "64x64", "128x64", "64x128", "128x128"}

# What is compiled for Intel's units of 8 work-items, or of 16.
OF_BLOCKS = {("gemm_matrix", name) for name in ("plain", "32x32", "32x128", "64x64")}

CHECKS: dict[str, Callable[[Backend, np.random.Generator], Iterator[None]]] = {
    "gemm_matrix": check_gemm_matrix,
    "gemm_bytes_matrix": check_bytes,
    "quantized_matmul_matrix": check_quantized,
    "conv2d_forward": check_conv2d_forward,
    "attention": check_heads,
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "candidate" not in metafunc.fixturenames:
        return
    found = []
    for device, point, candidate in candidates():
        if device.startswith("level-zero") and (point, candidate) not in OF_BLOCKS:
            continue
        if is_of_units(point, candidate) and has_matrix_units(device):
            is_large = candidate in LARGE or candidate.startswith("units-")
            marks = [pytest.mark.exhaustive] if is_large else []
            found.append(pytest.param(device, point, candidate, marks=marks))
    metafunc.parametrize(("device", "point", "candidate"), found, scope="session")


def test_every_candidate(be: Backend, rng: np.random.Generator, point: str, candidate: str) -> None:
    check_candidate(be, point, candidate, CHECKS[point](be, rng))


@webgpu_alone
@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 64), (256, 512, 96), (136, 264, 200)])
def test_products_of_float16_run_on_them(
    be: Backend, rng: np.random.Generator, m: int, n: int, k: int
) -> None:
    check_runs_on_them(be, rng, m, n, k)


@pytest.mark.parametrize("output_dtype", ["float16", "float32"])
def test_large_products_of_float16_run_on_them(
    be: Backend, rng: np.random.Generator, output_dtype: str
) -> None:
    check_runs_on_them(be, rng, 1031, 1025, 521, output_dtype)


def check_runs_on_them(
    be: Backend, rng: np.random.Generator, m: int, n: int, k: int, output_dtype: str = "float16"
) -> None:
    with Workspace(be) as ws, be.profile() as profile:
        Product(m, n, k, "none", "none", 1.0, 0.0, "float16", output_dtype).check(
            ws, rng, batched_gemm(be)
        )
    kernels = [one.kernel for one in profile.records if one.kernel.startswith("gemm")]
    assert "gemm_matrix" in kernels, kernels


GATED = [(64, 64, 64), (130, 132, 136), (67, 200, 72)]


@webgpu_alone
@pytest.mark.parametrize("trans", [True, False])
@pytest.mark.parametrize("shape", GATED, ids=str)
def test_gates_are_multiplied_where_their_products_are(
    be: Backend, rng: np.random.Generator, shape: tuple[int, int, int], trans: bool
) -> None:
    """But where they lie side by side in what is read at once."""
    m, n, k = shape
    x, weights, bias = operands_of_linear(rng, m, n, k, "float16", True)
    with Workspace(be) as ws, be.profile() as profile:
        check_linear(ws, x, weights, bias, n, "silu", True, trans)
    kernels = [one.kernel for one in profile.records if one.kernel.startswith("gemm_")]
    is_whole = trans or n % 8 == 0
    assert kernels[kernels.index("gemm_matrix") :] == ["gemm_matrix", "gemm_join"][: 2 - is_whole]


@pytest.mark.matrix_units("level-zero")
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_products_of_bytes_run_on_them(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    with be.profile() as profile:
        product_of_bytes(be, rng, dtype, "none", "transpose", (70, 65, 131), 2)
    assert [one.kernel for one in profile.records][-3:] == 2 * ["matrix_pack"] + ["gemm_matrix"]


def kernels_of_float32(
    be: Backend, rng: np.random.Generator, sizes: tuple[int, int, int], precision: str
) -> list[str]:
    with Workspace(be) as ws, be.profile() as profile:
        Product(*sizes).check(ws, rng, mixed(be, precision), rounding=precision)
    return [one.kernel for one in profile.records if one.kernel.startswith("gemm")]


MEASURED = {"high": ["gemm_largest"], "float16": []}


@webgpu_alone
@pytest.mark.parametrize("precision", MEASURED)
def test_float32_with_a_precision_runs_on_them(
    be: Backend, rng: np.random.Generator, precision: str
) -> None:
    choices = _core._choices_of(be)
    assert choices is not None
    choices.force("gemm_matrix", "32x32")
    try:
        kernels = kernels_of_float32(be, rng, (70, 50, 40), precision)
    finally:
        choices.force("gemm_matrix", "")
    assert kernels == [*MEASURED[precision], "gemm_split", "gemm_matrix"], kernels


@webgpu_alone
@pytest.mark.exhaustive
@pytest.mark.parametrize("precision", MEASURED)
def test_large_products_of_float32_run_on_them_by_themselves(
    be: Backend, rng: np.random.Generator, precision: str
) -> None:
    kernels = kernels_of_float32(be, rng, LARGE_SINGLE, precision)
    assert kernels[:3] == [*MEASURED[precision], "gemm_split", "gemm_matrix"][:3], kernels


def test_float32_without_a_precision_does_not_run_on_them(
    be: Backend, rng: np.random.Generator
) -> None:
    m, n, k = LARGE_SINGLE
    with Workspace(be) as ws, be.profile() as profile:
        Product(m, n, k).check(ws, rng, batched_gemm(be))
    assert "gemm_matrix" not in [one.kernel for one in profile.records]


@webgpu_alone
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize(("trans_a", "trans_b"), [("none", "transpose"), ("transpose", "none")])
def test_large_products_of_bytes_run_on_them(
    be: Backend, rng: np.random.Generator, dtype: str, trans_a: str, trans_b: str
) -> None:
    with be.profile() as profile:
        product_of_bytes(be, rng, dtype, trans_a, trans_b, (128, 136, 256))
    kernels = [one.kernel for one in profile.records if one.kernel.startswith("gemm")]
    packed = [] if (trans_a, trans_b) == ("none", "transpose") else ["gemm_bytes_pack"]
    assert kernels == [*packed, "gemm_matrix"], kernels


@pytest.mark.sampled(4)
@pytest.mark.parametrize("format", FORMATS)
def test_quantised_weights_run_on_them(be: Backend, rng: np.random.Generator, format: str) -> None:
    k = 2 * blocks.sizes_of(format)[0]
    with Workspace(be) as ws, be.profile() as profile:
        x, raw = normal(rng, (51, k), "float16"), blocks.draw(rng, format, 70, k)
        check_quantized_matmul(ws, format, x, raw, 70, 5, 3)
        check_quantized_matmul(ws, format, x, raw, 70, 8)
    kernels = [one.kernel for one in profile.records]
    assert ("quantized_matrix" if be.name == "webgpu" else "gemm_matrix") in kernels, kernels


@webgpu_alone
@pytest.mark.sampled(8)
@pytest.mark.parametrize("case", [case for case in SIZES if case.head_dim <= 16], ids=str)
def test_attention_of_many_queries_runs_on_them(
    be: Backend, rng: np.random.Generator, case: Attention
) -> None:
    with Workspace(be) as ws, be.profile() as profile:
        check_attention(ws, rng, case, "float16")
    kernels = [one.kernel for one in profile.records]
    assert "attention_matrix" in kernels, kernels


@webgpu_alone
@pytest.mark.sampled(8)
@pytest.mark.parametrize("case", OPTIONS, ids=str)
def test_attention_with_options(be: Backend, rng: np.random.Generator, case: Options) -> None:
    with Workspace(be) as ws, be.profile() as profile:
        check_options(ws, rng, case, "float16")
    assert any(one.kernel.startswith("attention_matrix") for one in profile.records)


@webgpu_alone
@pytest.mark.sampled(4)
@pytest.mark.parametrize("lead", [7.9, 8.1, 20, 3000])
@pytest.mark.parametrize("winner", [20, 299])
def test_one_score_far_above_the_others(
    be: Backend, rng: np.random.Generator, lead: float, winner: int
) -> None:
    """Sums are weighed anew where a maximum moves by more than 2^8."""
    with Workspace(be) as ws:
        check_lead(ws, rng, lead, winner, True, "float16")
