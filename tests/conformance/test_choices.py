"""Every kernel that an op may choose, on shapes that fit none of them, and on some that do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import pytest
from tilewright import Backend, _core

from . import test_conv2d
from .conftest import opened
from .convolutions import Conv, check_forward
from .factorisations import TYPES, draw, runs
from .products import Product
from .test_attention import Attention
from .test_attention import check as check_attention
from .test_batched_gemm import batched_gemm
from .test_lu import check as check_lu
from .test_qr import check as check_qr
from .workspace import Workspace, integers, normal

# Few, since a large kernel takes a software GPU seconds to compile.
PRODUCTS = [
    Product(129, 65, 33),
    Product(256, 256, 64),
    Product(65, 130, 17, "transpose", "none", 0.5, -0.75, pad_a=1, pad_b=7, pad_c=5),
    Product(33, 257, 40, "transpose", "transpose", 1.0, 1.0, pad_a=3, pad_b=4, pad_c=3),
    Product(132, 136, 24, "none", "transpose", 1.0, 0.0, "float16", "float16"),
    Product(130, 131, 31, "none", "none", 1.0, 0.0, "float16", "float32", count=2, gap=5),
]

LOOSE_PRODUCTS = [
    Product(128, 131, 129),
    Product(131, 128, 130, "transpose", "none", 0.5, -0.75, pad_c=5),
    Product(133, 129, 140, "transpose", "transpose", pad_b=1),
    Product(129, 130, 128, "none", "transpose", 1.0, 0.0, "float16", "float16", pad_a=2),
    Product(257, 133, 128, "none", "none", 1.0, 0.0, "float16", "float32", count=2, gap=5),
]

DEEP_PRODUCTS = [
    Product(37, 65, 4099, pad_c=3),
    Product(64, 36, 4096, "transpose", "none", 0.5, -0.75),
    Product(3, 70, 4101, "none", "transpose", 1.0, 1.0, pad_b=2),
    Product(41, 33, 4100, "transpose", "transpose", 1.0, 0.0, "float16", "float32"),
    Product(34, 35, 300, "none", "none", 1.0, 0.0, "float16", "float16", count=2, gap=5),
]

WINDOWS = [
    Conv((1, 33, 1, 1), (1, 33, 3, 3), pad=(1, 1)),
    Conv((1, 35, 7, 9), (6, 35, 3, 3)),
    Conv((3, 32, 13, 12), (19, 32, 3, 3), pad=(1, 1)),
    Conv((2, 50, 8, 9), (40, 50, 3, 3), pad=(2, 1)),
    Conv((2, 64, 20, 18), (72, 64, 3, 3), pad=(0, 2)),
    Conv((1, 32, 3, 3), (9, 32, 3, 3), pad=(4, 5)),  # tiles that see padding only
]

# Channels that fill vectors of eight and steps of 32 or not, also of a tap; rows, columns and
# positions beyond whole tiles; tiles over several images and with single taps.
HALF_WINDOWS = [
    Conv((2, 64, 12, 13), (72, 64, 3, 3), pad=(1, 1)),
    Conv((3, 20, 11, 9), (33, 20, 3, 2), stride=(2, 1), pad=(0, 2), dilation=(1, 2)),
    Conv((2, 18, 14, 15), (70, 9, 5, 3), stride=(2, 3), pad=(2, 4), groups=2),
    Conv((1, 3, 33, 40), (64, 3, 7, 7), stride=(2, 2), pad=(3, 3)),
    Conv((2, 36, 10, 11), (39, 36, 3, 4), pad=(5, 1), dilation=(2, 3)),
    Conv((150, 8, 2, 1), (9, 8, 2, 1), pad=(1, 0)),
    Conv((1, 16, 20, 21), (16, 1, 3, 3), pad=(1, 1), groups=16),
    Conv((2, 72, 8, 8), (40, 72, 1, 1)),
    Conv((3, 37, 4, 6), (50, 37, 1, 1)),
    Conv((2, 40, 9, 11), (65, 40, 1, 1), stride=(2, 3)),
    Conv((1, 24, 5, 5), (24, 12, 1, 1), pad=(1, 0), groups=2),
    # Deep ones of few positions, whose depth is cut into pieces.
    Conv((1, 604, 4, 5), (40, 604, 3, 3), pad=(1, 1)),
    Conv((2, 4103, 4, 4), (36, 4103, 1, 1)),
    Conv((2, 1204, 4, 5), (34, 602, 3, 3), groups=2),
]


def check_products(
    products: Sequence[Product], be: Backend, rng: np.random.Generator
) -> Iterator[None]:
    for product in products:
        with Workspace(be) as ws:
            product.check(ws, rng, batched_gemm(be))
            yield


def check_conv2d_forward(be: Backend, rng: np.random.Generator) -> Iterator[None]:
    for conv in WINDOWS:
        for dtype in ("float32", "float16"):
            with Workspace(be) as ws:
                check_forward(ws, rng, conv, dtype)
                check_forward(ws, rng, conv, dtype, integers)
                yield
    for conv in HALF_WINDOWS:
        with Workspace(be) as ws:
            for numbers in (normal, integers):
                check_forward(ws, rng, conv, "float16", numbers)
                test_conv2d.check_backward_data(ws, rng, conv, "float16", numbers)
            yield
    with Workspace(be) as ws:
        for special in (np.nan, np.inf):
            test_conv2d.test_special_values_reach_only_the_windows_that_see_them(
                ws, rng, special, "float16"
            )
        test_conv2d.test_padding_is_zero_also_beside_infinity(ws, "float16")
        yield


HEADS = [
    Attention(1, 3, 67, 197, 65, causal=True, q_offset=90),
    Attention(2, 6, 150, 131, 68, causal=True, q_offset=20, kv_heads=3),
    Attention(1, 2, 257, 70, 128),
    Attention(1, 3, 129, 65, 257),
    Attention(2, 6, 150, 131, 40, causal=True, q_offset=20, kv_heads=3),
]


def check_heads(be: Backend, rng: np.random.Generator) -> Iterator[None]:
    for heads in HEADS:
        for dtype in ("float32", "float16"):
            with Workspace(be) as ws:
                check_attention(ws, rng, heads, dtype)
                yield


def check_panels_of_lu(be: Backend, rng: np.random.Generator) -> Iterator[None]:
    for n in (1, 70, 300):
        for dtype in TYPES:
            if runs(be, "lu", dtype):
                check_lu(be, draw(rng, (2, n, n), dtype))
                yield


def check_panels_of_qr(be: Backend, rng: np.random.Generator) -> Iterator[None]:
    for m, n in ((1, 1), (70, 33), (33, 70), (300, 20)):
        for dtype in TYPES:
            if runs(be, "qr", dtype):
                check_qr(be, draw(rng, (2, m, n), dtype), False)
                yield


# What does not fit into the workgroup memory of every device, in bytes.
NEEDS = {("attention", "64x64"): 28672, ("attention", "128x64"): 42240}

# By point: calls that come by it, each ended by a yield.
CHECKS: dict[str, Callable[[Backend, np.random.Generator], Iterator[None]]] = {
    "gemm": partial(check_products, PRODUCTS),
    "gemm_rows": partial(check_products, LOOSE_PRODUCTS),
    "gemm_pieces": partial(check_products, DEEP_PRODUCTS),
    "conv2d_forward": check_conv2d_forward,
    "attention": check_heads,
    "lu_panel": check_panels_of_lu,
    "qr_panel": check_panels_of_qr,
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    found = []
    for device, point, candidate in candidates():
        if not is_of_units(point, candidate):
            found.append((device, point, candidate))
    metafunc.parametrize(("device", "point", "candidate"), found, scope="session")


def candidates() -> Iterator[tuple[str, str, str]]:
    """Device, choice point and candidate, of those that fit into the device's memory."""
    for device, backend in opened.items():
        if choices := _core._choices_of(backend):
            room = backend.capabilities().limits["max_workgroup_memory_bytes"]
            for point, named in choices.points.items():
                for candidate in named:
                    if NEEDS.get((point, candidate), 0) <= room:
                        yield device, point, candidate


def is_of_units(point: str, candidate: str) -> bool:
    """test_matrix_units.py has those."""
    if point == "conv2d_forward":
        return candidate not in ("direct", "winograd")
    return "matrix" in point or candidate.startswith("units-")


def check_candidate(be: Backend, point: str, candidate: str, calls: Iterator[None]) -> None:
    choices = _core._choices_of(be)
    assert choices is not None
    choices.watch(True)
    choices.force(point, candidate)
    ran = 0
    try:
        for _ in calls:
            made = [one for one in choices.take_made() if one["point"] == point]
            admitted = [one for one in made if candidate in one["candidates"]]
            assert all(one["taken"] == candidate for one in admitted)
            ran += len(admitted)
    finally:
        choices.force(point, "")
        choices.watch(False)
    assert ran > 0, "no call admits the candidate"


@pytest.mark.sampled(24)
def test_every_candidate(be: Backend, rng: np.random.Generator, point: str, candidate: str) -> None:
    check_candidate(be, point, candidate, CHECKS[point](be, rng))
