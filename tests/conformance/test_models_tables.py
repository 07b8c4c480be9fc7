"""Rows of tables in blocks, to the bit what the whole table stands for."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from tilewright import Backend
from tilewright.models.tables import look_up
from tilewright.quant import QuantizedTensor
from tilewright.quant.formats import FORMATS


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("format", sorted(FORMATS))
def test_blocks(be: Backend, rng: np.random.Generator, format: str, dtype: str) -> None:
    kind = FORMATS[format]
    for words, columns, count in ((37, 512, 5), (3, 256, 1), (300, 768, 77)):
        blocks = rng.integers(0, 120, words * columns // kind.block * kind.bytes, np.uint8)
        table = QuantizedTensor.from_blocks(blocks, format, (words, columns), device=be)
        numbers = rng.integers(0, words, count).astype(np.int32)
        expected = table.dequantize(dtype).numpy()[numbers]
        found = look_up(table, tilewright.asarray(numbers, device=be), np.dtype(dtype))
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.numpy(), expected)


def test_plain_tables(be: Backend, rng: np.random.Generator) -> None:
    table = rng.standard_normal((9, 5)).astype(np.float32)
    numbers = np.array([8, 0, 0, 3], np.int32)
    on_device = tilewright.asarray(table, device=be)
    found = look_up(on_device, tilewright.asarray(numbers, device=be), np.dtype("float32"))
    np.testing.assert_array_equal(found.numpy(), table[numbers])
