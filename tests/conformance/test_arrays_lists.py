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


def test_numbers_beyond_the_largest_integer_are_refused(be: Backend) -> None:
    x = tw.asarray(np.array([1, 2], np.int32), device=be)
    for call in (lambda: x + [2**63, 1], lambda: x < [2**63, 1], lambda: tw.append(x, [2**63])):
        with pytest.raises(InvalidArgument, match=r"has numbers that int(64|32) does not hold"):
            call()


def test_what_is_written_takes_the_dtype(be: Backend) -> None:
    """Of what it is written to, or is refused."""
    u = np.uint8([1, 2, 3])

    def on() -> tw.Array:
        return tw.asarray(u, device=be)

    mask = np.array([True, False, True])
    calls: dict[str, Callable[[Any, Any, list[int]], Any]] = {
        "insert": lambda xp, x, v: xp.insert(x, 1, v),
        "place": lambda xp, x, v: xp.place(x, x > 1, v),
        "putmask": lambda xp, x, v: xp.putmask(x, x > 1, v),
        "put_along_axis": lambda xp, x, v: (
            xp.put_along_axis(x, np.array([0]), np.uint8(v), 0)
            if xp is np
            else xp.put_along_axis(x, np.array([0]), v, 0)
        ),
        "by indices": lambda xp, x, v: x.__setitem__([0], v),
        "by a mask": lambda xp, x, v: x.__setitem__(mask, v * 2),
        "add.at": lambda xp, x, v: np.add.at(x, [0], np.uint8(v) if xp is np else v),
        "maximum.at": lambda xp, x, v: np.maximum.at(x, [0], np.uint8(v) if xp is np else v),
    }
    for name, call in calls.items():
        x, host = on(), u.copy()
        found, expected = call(tw, x, [7]), call(np, host, [7])
        np.testing.assert_array_equal(x.numpy(), host, name)
        if expected is not None:
            assert found.dtype == np.uint8
            np.testing.assert_array_equal(found.numpy(), expected)
        with pytest.raises(InvalidArgument, match="has numbers that uint8 does not hold"):
            call(tw, on(), [300])


def test_what_is_assigned_fits(be: Backend) -> None:
    x = tw.asarray(BYTES, device=be)
    x[:2] = [7, 8]
    np.testing.assert_array_equal(x.numpy(), np.uint8([7, 8, 250]))
    with pytest.raises(InvalidArgument, match="value has numbers that uint8 does not hold"):
        x[:2] = [300, 1]
    half = tw.asarray([1.0, 2.0], dtype="float16", device=be)
    half[:] = [3, 4.5]
    assert half.dtype == np.float16 and half.tolist() == [3.0, 4.5]
