"""The gradient of a filter as products of what is laid out, in rounds where room is little."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from conformance.convolutions import Conv
from conformance.test_conv2d import check_backward_data, check_backward_filter
from conformance.workspace import Workspace, integers

from .conftest import DEVICE


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    ("conv", "limit"),
    [
        (Conv((2, 32, 40, 41), (64, 32, 3, 3), pad=(1, 1)), 12_000_000),
        # Results of one round end where none may start.
        (Conv((2, 9, 90, 91), (32, 9, 3, 3), pad=(1, 1)), 9_000_000),
    ],
    ids=str,
)
def test_little_memory_is_used_in_rounds(conv: Conv, limit: int, dtype: str) -> None:
    rng = np.random.default_rng(5)
    counts = []
    for memory in (limit, None):
        with tilewright.init_backend(DEVICE, memory_limit=memory) as backend:
            with backend.profile() as profile, Workspace(backend) as ws:
                check_backward_filter(ws, rng, conv, dtype, integers)
            counts.append([one.kernel for one in profile.records].count("conv2d_columns"))
    # A launch for what is met and one for the gradient, of each round.
    assert counts[0] > counts[1] == 2


def test_the_smaller_side_is_laid_out_and_lines_are_folded() -> None:
    """Few filters: taps of the output's gradient. Few channels: lines in place of a table."""
    with tilewright.init_backend(DEVICE) as backend, Workspace(backend) as ws:
        rng = np.random.default_rng(6)
        with backend.profile() as profile:
            conv = Conv((2, 64, 40, 41), (17, 64, 3, 3), pad=(1, 1))
            check_backward_filter(ws, rng, conv, "float32", integers)
        assert "conv2d_turned" in [one.kernel for one in profile.records]
        with backend.profile() as profile:
            conv = Conv((8, 8, 80, 82), (273, 8, 3, 3), pad=(1, 1))
            check_backward_data(ws, rng, conv, "float32", integers)
        assert "conv2d_fold" in [one.kernel for one in profile.records]
        with backend.profile() as profile:
            conv = Conv((4, 34, 80, 82), (160, 34, 1, 1))
            check_backward_data(ws, rng, conv, "float32", integers)
        assert {one.kernel for one in profile.records} <= {"gemm", "gemm_pack", "gemm_join"}
