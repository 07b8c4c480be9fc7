"""Every tile of the matrix products, also where the rule takes another one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tilewright
from conformance.products import Product
from conformance.workspace import Workspace
from tilewright import _core

from .conftest import DEVICE


@pytest.fixture(scope="module")
def backend() -> Iterator[tilewright.Backend]:
    with tilewright.init_backend(DEVICE) as backend:
        yield backend


def tile_names() -> list[str]:
    with tilewright.init_backend(DEVICE) as backend:
        choices = _core._choices_of(backend)
        assert choices is not None
        return list(choices.points["gemm"])


def multiply(backend: tilewright.Backend) -> Any:
    def call(p: Product, a: Any, b: Any, c: Any) -> None:
        backend.batched_gemm(
            *p.sizes(), a, p.ld("a"), b, p.ld("b"), p.beta, c, p.ld("c"),
            p.stride("a"), p.stride("b"), p.stride("c"), p.count, p.dtype, p.output_dtype,
        )  # fmt: skip

    return call


@pytest.mark.parametrize("tile", tile_names())
@pytest.mark.parametrize(
    ("trans_a", "trans_b", "types"),
    [
        ("none", "none", ("float32", "float32")),
        ("transpose", "transpose", ("float32", "float32")),
        ("none", "transpose", ("float16", "float16")),
        ("transpose", "none", ("float16", "float32")),
    ],
)
def test_every_tile(
    backend: tilewright.Backend, tile: str, trans_a: str, trans_b: str, types: tuple[str, str]
) -> None:
    """Smaller than the tile with k cut, with whole and with broken vectors past its end."""
    choices = _core._choices_of(backend)
    assert choices is not None
    rng = np.random.default_rng(7)
    choices.force("gemm", tile)
    try:
        for count, m, n, k in [(2, 12, 8, 600), (1, 140, 132, 36), (1, 131, 133, 17)]:
            with Workspace(backend) as ws:
                Product(m, n, k, trans_a, trans_b, 0.5, -1.0, *types, count=count).check(
                    ws, rng, multiply(backend)
                )
    finally:
        choices.force("gemm", "")
