"""Lists of Python's numbers beside Arrays: they wrap and overflow as little as NumPy's do."""
# ruff: noqa: RUF005 - sums with lists, not longer lists

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

BYTES = np.array([200, 100, 250], np.uint8)
CASES: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda xp, u: u + [100, 200, 10],
    "add from the left": lambda xp, u: [100, 200, 10] + u,
    "multiply": lambda xp, u: xp.multiply(u, [2, 3, 4]),
    "compare": lambda xp, u: u > [300, -1, 0],
    "maximum": lambda xp, u: xp.maximum(u, [300, -1, 0]),
    "where": lambda xp, u: xp.where(u > 150, u, [300, -1, 0]),
    "concatenate": lambda xp, u: xp.concatenate([u, [300, -1]]),
    "append": lambda xp, u: xp.append(u, [300]),
    "isin": lambda xp, u: xp.isin(u, [-1, 200]),
    "digitize": lambda xp, u: xp.digitize(u, [-1, 150]),
    "histogram": lambda xp, u: xp.histogram(u, [0, 64, 128, 256])[0],
    "convolve": lambda xp, u: xp.convolve(u, [1, 2, 1]),
    "polyval": lambda xp, u: xp.polyval([2, 1], u),
    "matmul": lambda xp, u: u @ [2, 1, 1],
    "outer": lambda xp, u: xp.outer(u, [1, 1000]),
}


@pytest.mark.parametrize("dtype", ["uint8", "int16"])
@pytest.mark.parametrize("name", CASES)
def test_integers(be: Backend, name: str, dtype: str) -> None:
    case, host = CASES[name], BYTES.astype(dtype)
    expected = case(np, host)
    found = case(np, tw.asarray(host, device=be))
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.numpy(), expected)


def test_floats_keep_their_range(be: Backend) -> None:
    half = tw.asarray([200.0, 100.0, 250.0], dtype="float16", device=be)
    for found in (half * [1e5, 1, 1], half * [100_000, 1, 1]):
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found.numpy(), np.float32([2e7, 100, 250]))
    single = half.astype("float32")
    assert (single + [1, 2, 3]).dtype == np.float32
    assert (single + [0.1, 2, 3]).dtype == np.float32
    assert (single + [0.1j, 2, 3]).dtype == np.complex64


def test_unsigned_integers_of_64_bits_meet_what_they_hold(be: Backend) -> None:
    x = tw.asarray([1, 2], dtype="uint64", device=be)
    assert (x + [1, 2]).dtype == np.uint64
    with pytest.raises(InvalidArgument, match="has numbers that uint64 does not hold"):
        x + [-1, 2]


def test_what_is_assigned_fits(be: Backend) -> None:
    x = tw.asarray(BYTES, device=be)
    x[:2] = [7, 8]
    np.testing.assert_array_equal(x.numpy(), np.uint8([7, 8, 250]))
    with pytest.raises(InvalidArgument, match="value has numbers that uint8 does not hold"):
        x[:2] = [300, 1]
    half = tw.asarray([1.0, 2.0], dtype="float16", device=be)
    half[:] = [3, 4.5]
    assert half.dtype == np.float16 and half.tolist() == [3.0, 4.5]
