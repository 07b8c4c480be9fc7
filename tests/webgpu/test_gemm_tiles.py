"""Every way to compute a matrix product, also where the rule takes another one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tilewright
from conformance.products import TYPES, Product
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
            *p.sizes(), a, p.ld("a"), p.stride("a"), b, p.ld("b"), p.stride("b"),
            p.beta, c, p.ld("c"), p.stride("c"), p.count, p.dtype, p.output_dtype,
        )  # fmt: skip

    return call


@pytest.mark.sampled(16)
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


@pytest.mark.sampled(8)
@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("trans_b", ["none", "transpose"])
@pytest.mark.parametrize("trans_a", ["none", "transpose"])
def test_packed_rows(
    backend: tilewright.Backend, trans_a: str, trans_b: str, types: tuple[str, str]
) -> None:
    """One and both of A and B packed, with every tile moved or cut at the edges."""
    choices = _core._choices_of(backend)
    assert choices is not None
    rng = np.random.default_rng(11)
    choices.force("gemm_rows", "packed")
    try:
        for count, m, n, k in [(3, 131, 133, 129), (1, 257, 128, 130), (1, 128, 259, 132)]:
            product = Product(m, n, k, trans_a, trans_b, 0.5, -1.0, *types, count=count)
            with Workspace(backend) as ws, backend.profile() as profile:
                product.check(ws, rng, multiply(backend))
            launched = [record.kernel for record in profile.records]
            loose = any(product.ld(name) % 4 != 0 for name in "ab")
            assert launched.count("gemm_pack") == loose
    finally:
        choices.force("gemm_rows", "")


def test_without_room_nothing_is_packed() -> None:
    rng = np.random.default_rng(12)
    with tilewright.init_backend(DEVICE, memory_limit=800_000) as backend:
        choices = _core._choices_of(backend)
        assert choices is not None
        choices.force("gemm_rows", "packed")
        product = Product(131, 133, 257)
        with Workspace(backend) as ws, backend.profile() as profile:
            product.check(ws, rng, multiply(backend))
        assert [record.kernel for record in profile.records] == ["gemm"]
