"""quantized_matmul of one row of x that is long enough to be multiplied by packed dot products: by
bytes of whole numbers, where infinity, NaN and the ends of the range have ways of their own."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.quant.formats import FORMATS

from . import blocks, bounds
from .test_quantized_ends import EPS, check
from .test_quantized_matmul import run
from .workspace import Array, Workspace, normal

K = 1024


@pytest.mark.sampled(4)
@pytest.mark.essential
@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("format", FORMATS)
def test_with_all_around_it(
    ws: Workspace, rng: np.random.Generator, format: str, gated: bool, dtype: str
) -> None:
    results = 74 if gated else 37
    check(
        ws, format, normal(rng, (1, K), dtype), blocks.draw(rng, format, results, K), 37,
        bias=normal(rng, results, dtype), activation="silu" if gated else "relu", gated=gated,
        eps=EPS, norm=normal(rng, K, dtype), held=normal(rng, (1, 37), dtype),
    )  # fmt: skip


@pytest.mark.parametrize("k", [480, 512])
def test_the_kernel(ws: Workspace, rng: np.random.Generator, k: int) -> None:
    """Packed dot products from 16 groups on, where the API has them; shorter rows by floats."""
    x, raw = normal(rng, (1, k), "float32"), blocks.draw(rng, "q4_0", 24, k)
    with ws.be.profile() as profile:
        run(ws, "q4_0", x, raw, 24)
    has_dots = ws.be.name == "webgpu" and "Metal" not in ws.be.device.driver
    digits = has_dots and k >= 512 and ws.be.device.limits["max_workgroup_memory_bytes"] >= 26624
    found = [one.kernel for one in profile.records]
    assert found == ["quantized_digits" if digits else "quantized_matmul"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("groups", [16, 31, 127, 128, 129, 255, 300])
@pytest.mark.parametrize("eps", [None, EPS])
def test_any_number_of_groups(
    ws: Workspace, rng: np.random.Generator, groups: int, eps: float | None, dtype: str
) -> None:
    """Whole spans of them and not."""
    for format in ("q5_0", "q4_1", "mxfp4"):
        x = normal(rng, (1, 32 * groups), dtype)
        check(ws, format, x, blocks.draw(rng, format, 19, 32 * groups), 19, eps=eps)


@pytest.mark.parametrize("n", [6401, 17001])
@pytest.mark.parametrize("gated", [False, True])
def test_many_rows_of_weights(ws: Workspace, rng: np.random.Generator, n: int, gated: bool) -> None:
    """A work-item takes several."""
    raw = blocks.draw(rng, "q4_0", 2 * n if gated else n, 512)
    check(ws, "q4_0", normal(rng, (1, 512), "float32"), raw, n, gated=gated)


def by_floats(format: str, x: Array, raw: Array) -> Array:
    with np.errstate(all="ignore"):
        exact = x.astype(np.float64) @ blocks.values(format, raw).astype(np.float64).T
    return np.asarray(exact)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
def test_infinity_and_nan_are_those_of_floats(
    ws: Workspace, rng: np.random.Generator, format: str, special: float
) -> None:
    raw = blocks.draw(rng, format, 41, K)
    x = normal(rng, (1, K), "float32")
    x[0, 333] = special
    exact = by_floats(format, x, raw)
    got = run(ws, format, x, raw, 41)
    has_minimum = bool(blocks.HALVES[format][1])
    if not has_minimum:
        np.testing.assert_array_equal(got, exact.astype(np.float32))
    # Of a weight and a minimum of two signs infinity may be NaN.
    assert not np.isfinite(got).any()
    finite = np.isnan(got) | (got == exact)
    assert finite.all()


def test_of_two_infinities_a_row_is_nan(ws: Workspace, rng: np.random.Generator) -> None:
    raw = blocks.draw(rng, "q8_0", 23, K)
    x = normal(rng, (1, K), "float32")
    x[0, 100], x[0, 900] = np.inf, np.inf
    np.testing.assert_array_equal(
        run(ws, "q8_0", x, raw, 23), by_floats("q8_0", x, raw).astype(np.float32)
    )


@pytest.mark.parametrize(
    "size", [3.4e38 / 2**20, 1e30, 1.0, 1e-20, 1e-30, 2.0**-100], ids=lambda size: f"{size:.0e}"
)
def test_any_size(ws: Workspace, rng: np.random.Generator, size: float) -> None:
    """The bytes of a group have an exponent of their own."""
    raw = blocks.draw(rng, "q4_0", 29, K)
    x = (normal(rng, (1, K), "float32") * np.float32(size)).astype(np.float32)
    check(ws, "q4_0", x, raw, 29)


def test_a_large_number(ws: Workspace, rng: np.random.Generator) -> None:
    """Whose products with q are still below infinity."""
    x = np.zeros((1, K), np.float32)
    x[0, 40] = np.finfo(np.float32).max / 16
    raw = blocks.draw(rng, "q4_0", 29, K).reshape(-1, 18)
    raw[:, :2] = np.frombuffer(np.float16(0.0625).tobytes(), np.uint8)
    raw = raw.reshape(29, -1)
    bounds.assert_within(
        run(ws, "q4_0", x, raw, 29), by_floats("q4_0", x, raw),
        4 * bounds.U * np.abs(by_floats("q4_0", x, raw)),
    )  # fmt: skip


@pytest.mark.parametrize("below", [0, 1, 2**15, 2**16 - 1, 2**16, 2**16 + 1, 2**17])
def test_just_below_a_power_of_two(ws: Workspace, rng: np.random.Generator, below: int) -> None:
    """Which three bytes do not hold."""
    raw = blocks.draw(rng, "q8_0", 13, K)
    x = normal(rng, (1, K), "float32")
    bits = np.float32(8.0).view(np.uint32) - np.uint32(below)
    x[0, ::32] = bits.view(np.float32)
    x[0, 16::32] = -bits.view(np.float32)
    check(ws, "q8_0", x, raw, 13)


def test_an_element_is_off_by_little_of_its_group(ws: Workspace, rng: np.random.Generator) -> None:
    """Each of 32 by 2^-23 of the largest of them at most."""
    x = (normal(rng, (1, K), "float32") * np.float32(2.0) ** rng.integers(-30, 30, K)).astype(
        np.float32
    )
    raw = blocks.draw(rng, "q8_0", 31, K)
    largest = np.abs(x.reshape(-1, 32)).max(1).repeat(32)
    weights = np.abs(blocks.values("q8_0", raw).astype(np.float64))
    off = weights @ largest * 2.0**-23 + bounds.inner_product(weights @ np.abs(x[0]), K)
    bounds.assert_within(run(ws, "q8_0", x, raw, 31), by_floats("q8_0", x, raw), off)


def test_zeros_and_their_scale(ws: Workspace, rng: np.random.Generator) -> None:
    raw = blocks.draw(rng, "q6_k", 17, K)
    assert (run(ws, "q6_k", np.zeros((1, K), np.float32), raw, 17) == 0).all()


@pytest.mark.parametrize("format", ["q8_0", "q4_k"])
def test_same_bits_each_time(ws: Workspace, rng: np.random.Generator, format: str) -> None:
    x, raw = normal(rng, (1, 4608), "float32"), blocks.draw(rng, format, 61, 4608)
    assert len({run(ws, format, x, raw, 61).tobytes() for _ in range(3)}) == 1


def test_whole_numbers_are_exact(ws: Workspace) -> None:
    """Up to 2^22, as float32 has them."""
    rng = np.random.default_rng(5)
    raw = blocks.draw(rng, "q8_0", 11, K).reshape(-1, 34)
    raw[:, :2] = np.frombuffer(np.float16(1).tobytes(), np.uint8)
    raw = raw.reshape(11, -1)
    x = rng.integers(-40, 40, (1, K)).astype(np.float32)
    np.testing.assert_array_equal(run(ws, "q8_0", x, raw, 11), by_floats("q8_0", x, raw))
