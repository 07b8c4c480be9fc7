"""The gradient of a filter as products of what is laid out, in rounds where room is little."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from conformance.convolutions import Conv
from conformance.test_conv2d import check_backward_filter
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
