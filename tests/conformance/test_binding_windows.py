"""Operands of which one binding does not hold all, on a device that stands for one whose bindings
hold less: they are bound in windows, and what is computed is the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend
from tilewright.models.tables import look_up
from tilewright.quant import QuantizedTensor
from tilewright.quant.formats import FORMATS

from . import blocks
from .elements import has
from .test_config import configured
from .test_quantized_ends import check
from .workspace import Workspace, normal

#: bytes of a binding
MOST = 1 << 16
EPS = 1e-5


@pytest.fixture
def small(be: Backend) -> Iterator[Backend]:
    """The same device with small bindings."""
    with configured(be, max_binding_size=MOST) as other:
        if be.name != "cpu":
            assert other.device.limits["max_binding_bytes"] == MOST
            assert other.capabilities().limits["max_binding_bytes"] == MOST
        yield other


@pytest.fixture
def windows(small: Backend) -> Iterator[Workspace]:
    with Workspace(small) as workspace:
        yield workspace


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_tables_in_blocks(
    small: Backend, rng: np.random.Generator, format: str, dtype: str
) -> None:
    """Whole, and rows of them, to the bit."""
    words, columns = 701, 768
    raw = blocks.draw(rng, format, words, columns)
    table = QuantizedTensor.from_blocks(raw, format, (words, columns), device=small)
    expected = blocks.values(format, raw).astype(dtype)
    np.testing.assert_array_equal(table.dequantize(dtype).numpy(), expected)
    numbers = rng.integers(0, words, 33).astype(np.int32)
    found = look_up(table, tw.asarray(numbers, device=small), np.dtype(dtype))
    np.testing.assert_array_equal(found.numpy(), expected[numbers])


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_products_of_blocks(
    windows: Workspace, rng: np.random.Generator, format: str, dtype: str
) -> None:
    """By the kernels of one row, of few and of many, with what may follow; y too is in windows."""
    k, n = 512, 1037
    raw = blocks.draw(rng, format, n, k)
    for m in (1, 3, 47):
        x = normal(rng, (m, k), dtype)
        check(windows, format, x, raw, n)
        check(
            windows, format, x, raw, n, bias=normal(rng, n, dtype), activation="silu", eps=EPS,
            norm=normal(rng, k, dtype), held=normal(rng, (m, n), dtype), more=(m % 2, m % 3),
        )  # fmt: skip


@pytest.mark.parametrize("format", ["q8_0", "q4_1", "q6_k"])
def test_gated_products_of_blocks(
    windows: Workspace, rng: np.random.Generator, format: str, dtype: str
) -> None:
    """Rows of weights that belong together lie in different windows."""
    k, n = 768, 516
    raw = blocks.draw(rng, format, 2 * n, k)
    for m in (1, 5, 41):
        x = normal(rng, (m, k), dtype)
        check(
            windows, format, x, raw, n, bias=normal(rng, 2 * n, dtype), activation="gelu",
            gated=True, eps=EPS, norm=normal(rng, k, dtype), held=normal(rng, (m, n), dtype),
            more=(4, m % 3), tiled=True,
        )  # fmt: skip
        check(windows, format, x, raw, n, activation="relu", gated=True, tiled=True)


def whole_numbers(rng: np.random.Generator, shape: Any, dtype: str) -> Any:
    return rng.integers(-3, 4, shape).astype(dtype)


@pytest.mark.parametrize("m", [1, 7, 300])
def test_products_of_matrices(small: Backend, rng: np.random.Generator, m: int, dtype: str) -> None:
    k, n = 131, 1100
    x, w = whole_numbers(rng, (m, k), dtype), whole_numbers(rng, (n, k), dtype)
    bias = whole_numbers(rng, n, dtype)
    exact = x.astype(np.float64) @ w.T.astype(np.float64)
    a, b = small.array(x), small.array(w)
    np.testing.assert_array_equal((a @ b.T).numpy(), exact.astype(dtype))
    y = tw.nn.linear(a, b, small.array(bias), activation="relu")
    np.testing.assert_array_equal(y.numpy(), np.maximum(exact + bias, 0).astype(dtype))


def test_batches_of_products(small: Backend, rng: np.random.Generator, dtype: str) -> None:
    x, w = whole_numbers(rng, (21, 64, 67), dtype), whole_numbers(rng, (21, 67, 48), dtype)
    found = small.array(x) @ small.array(w)
    np.testing.assert_array_equal(found.numpy(), (x.astype(np.float64) @ w).astype(dtype))


def test_what_no_window_holds(gpu: Backend) -> None:
    with configured(gpu, max_binding_size=MOST) as small:
        a, b = np.ones((2, 200), np.float32), np.ones((200, 300), np.float32)
        with pytest.raises(tw.Unsupported, match=rf"{b.nbytes} bytes.*{MOST}"):
            small.matmul(a, b)
        row = QuantizedTensor.from_blocks(bytes(34 * 2100), "q8_0", (1, 32 * 2100), device=small)
        with pytest.raises(tw.Unsupported, match=rf"quantized_matmul: .* bytes.*{MOST}"):
            tw.quant.matmul(small.zeros((1, 32 * 2100)), row)


@pytest.mark.parametrize("row_size", [1, 3, 8, 250])
def test_gathers_of_rows(small: Backend, rng: np.random.Generator, row_size: int) -> None:
    rows = 100_000 // row_size
    for dtype in ("float32", "float16", "bfloat16"):
        table = whole_numbers(rng, (rows, row_size), "float32")
        numbers = np.array([0, rows - 1, rows // 2, -1, 7, rows, rows // 3, 7], np.int32)
        held = small.array(table).astype(dtype)
        found = small.gather(held, small.array(numbers)).astype("float32").numpy()
        inside = (numbers >= 0) & (numbers < rows)
        np.testing.assert_array_equal(found[inside], table[numbers[inside]])
        assert np.isnan(found[~inside]).all()


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "int64", "bool"])
@pytest.mark.parametrize("shape", [(70_000, 3), (3000, 64), (5, 20_001), (40, 30, 170)], ids=str)
def test_indexed_arrays(
    small: Backend, rng: np.random.Generator, shape: tuple[int, ...], dtype: str
) -> None:
    x = rng.integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype)
    places = "int64" if has(small, "int64") else "int32"
    if not has(small, dtype):
        with pytest.raises(tw.Unsupported, match=dtype):
            tw.asarray(x, device=small)
        return
    on_device = tw.asarray(x, device=small)
    for axis, size in enumerate(shape):
        numbers = rng.integers(-size, size, 19).astype(places)
        for some in (numbers, numbers.astype(np.int32)):
            found = tw.take(on_device, tw.asarray(some, device=small), axis=axis)
            np.testing.assert_array_equal(found.numpy(), np.take(x, some, axis=axis))
    first, second = (rng.integers(-size, size, 301).astype(places) for size in shape[:2])
    here, there = tw.asarray(first, device=small), tw.asarray(second, device=small)
    np.testing.assert_array_equal(on_device[here, there].numpy(), x[first, second])
    backwards = on_device[::-1]
    np.testing.assert_array_equal(backwards[here].numpy(), x[::-1][first])
    on_device[here, there] = on_device[0, 0]
    x[first, second] = x[0, 0]
    np.testing.assert_array_equal(on_device.numpy(), x)
    once = rng.permutation(shape[0])[:9].astype(places)
    new = rng.integers(0, 2, (len(once), *shape[1:])).astype(dtype)
    on_device[tw.asarray(once, device=small)] = tw.asarray(new, device=small)
    x[once] = new
    np.testing.assert_array_equal(on_device.numpy(), x)


def test_indices_that_are_outside(small: Backend) -> None:
    x = tw.zeros((2000, 33), device=small)
    with pytest.raises(IndexError, match="index 2000 is out of range"):
        tw.take(x, tw.asarray(np.array([3, 2000], np.int32), device=small), axis=0).numpy()
