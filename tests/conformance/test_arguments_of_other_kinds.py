"""Arrays in the place of words, and lists that are no arrays: refused, and named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument, nn, quant, sparse

Call = Callable[[tw.Array, Any], Any]
I32 = np.zeros(3, np.int32)


def grid(x: tw.Array) -> tw.Array:
    return tw.zeros((1, 2, 2, 2), device=x.backend)


WORDS: list[tuple[str, Call]] = [
    ("gelu: approximate", lambda x, v: nn.gelu(x, v)),
    ("linear: activation", lambda x, v: nn.linear(x, x, activation=v)),
    ("l1_loss: reduction", lambda x, v: nn.l1_loss(x, x, reduction=v)),
    ("cross_entropy: reduction", lambda x, v: nn.cross_entropy(x, I32, reduction=v)),
    ("pad: mode", lambda x, v: nn.pad(x, (1, 1), v)),
    ("conv1d: padding", lambda x, v: nn.conv1d(x[None], x[None], padding=v)),
    ("conv1d: padding_mode", lambda x, v: nn.conv1d(x[None], x[None], padding_mode=v)),
    ("grid_sample: mode", lambda x, v: nn.grid_sample(x[None, None], grid(x), v)),
    ("grid_sample: padding_mode",
     lambda x, v: nn.grid_sample(x[None, None], grid(x), padding_mode=v)),
    ("integers: endpoint",
     lambda x, v: tw.random.default_rng(1, device=x.backend).integers(5, endpoint=v)),
    ("choice: replace", lambda x, v: tw.random.default_rng(1).choice(x, replace=v)),
    ("rnn: nonlinearity", lambda x, v: nn.rnn(x[None], [(x, x, None)], nonlinearity=v)),
]  # fmt: skip
LISTS: list[tuple[str, Call]] = [
    ("csr_array: arg1", lambda x, v: sparse.csr_array(v, device=x.backend)),
    ("csr_array: data", lambda x, v: sparse.csr_array((v, I32, I32), device=x.backend)),
    ("csr_array: indices", lambda x, v: sparse.csr_array((x[0], v, I32), device=x.backend)),
    ("csr_array: indptr", lambda x, v: sparse.csr_array((x[0], I32, v), device=x.backend)),
    ("coo_array: row", lambda x, v: sparse.coo_array((x[0], (v, I32)), device=x.backend)),
    ("coo_array: col", lambda x, v: sparse.coo_array((x[0], (I32, v)), device=x.backend)),
    ("bsr_array: data", lambda x, v: sparse.bsr_array((v, I32, I32), device=x.backend)),
    ("csr_batch: indices", lambda x, v: sparse.csr_batch((x, v, I32), device=x.backend)),
    ("getitem: key", lambda x, v: sparse.csr_array(x)[v]),
    ("quantize: scale", lambda x, v: quant.quantize(x, v)),
    ("quantize: zero_point", lambda x, v: quant.quantize(x, 1.0, v)),
    ("nll_loss: target", lambda x, v: nn.nll_loss(x, v)),
]


@pytest.mark.parametrize("number", range(len(WORDS)))
def test_arrays_are_no_words(be: Backend, number: int) -> None:
    name, call = WORDS[number]
    x = tw.ones((3, 3), device=be)
    for value in (np.ones(2), np.ones((2, 3), np.float32)):
        with pytest.raises(InvalidArgument, match=f"^{name} "):
            call(x, value)


@pytest.mark.parametrize("number", range(len(LISTS)))
def test_lists_of_different_lengths(be: Backend, number: int) -> None:
    name, call = LISTS[number]
    with pytest.raises(InvalidArgument, match=f"^{name} of type list cannot be read as an array"):
        call(tw.ones((3, 3), device=be), [[1], [2, 3]])


def test_sizes_beyond_what_is_counted(be: Backend) -> None:
    for x in (tw.zeros((0, 2, 20), device=be), tw.zeros((1, 1, 20), device=be)):
        for size in (2**31, 2**63 - 1):
            with pytest.raises(InvalidArgument, match=f"^interpolate: size is .*gives {size} el"):
                nn.interpolate(x, size)
