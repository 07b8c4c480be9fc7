"""What sorts must give: NumPy's stable order of keys, NaN last."""

from __future__ import annotations

from typing import Any

import numpy as np

from .elements import FLOATS, shown, stored, stored_dtype
from .workspace import Array, Workspace


def order(x: Array, dtype: str, descending: bool) -> Array:
    """The places of the elements of each row."""
    if dtype not in FLOATS:
        kind = np.uint64 if dtype.startswith("u") or dtype == "bool" else np.int64
        wide = x.astype(kind)
        return np.argsort(~wide if descending else wide, axis=-1, kind="stable")
    with np.errstate(invalid="ignore"):  # NaN that signals
        numbers = shown(x, dtype).astype(np.float64)
    return np.argsort(-numbers if descending else numbers, axis=-1, kind="stable")


def draw(rng: np.random.Generator, shape: Any, dtype: str, kind: str = "any") -> Array:
    """Bits of all kinds, or few different values, so that many are equal."""
    bits = stored_dtype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bits)
    count = int(np.prod(shape))
    if kind == "any":
        return np.frombuffer(rng.bytes(bits.itemsize * count), bits).reshape(shape).copy()
    if dtype not in FLOATS:
        low = 0 if dtype.startswith("u") else -3
        return rng.integers(low, 4, shape).astype(bits)
    some = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, -2.5]
    return stored(np.asarray(some)[rng.integers(0, len(some), shape)], dtype)


def taken(x: Array, places: Array) -> Array:
    return np.take_along_axis(x, places, -1)


def assert_bits(got: Array, expected: Array, what: str) -> None:
    """The very elements: NaN and zeros of either sign where they are expected."""
    assert got.shape == expected.shape and got.dtype == expected.dtype
    if got.tobytes() != expected.tobytes():
        one, other = (a.reshape(-1).view(f"u{a.itemsize}") for a in (got, expected))
        at = int(np.flatnonzero(one != other)[0])
        raise AssertionError(f"{what}: element {at} is {one[at]:#x}, expected {other[at]:#x}")


def check_sorts(ws: Workspace, x: Array, dtype: str, descending: bool = False) -> None:
    """sort and argsort of rows."""
    rows, length = x.shape
    places = order(x, dtype, descending)
    source, out = ws.input(x), ws.room(x.shape, x.dtype)
    ws.be.sort(source, out, rows, length, descending, dtype)
    assert_bits(ws.read(out), taken(x, places), f"sort of {rows} x {length}")
    for wide in ("int64", "int32"):
        indices = ws.room(x.shape, wide)
        ws.be.argsort(source, indices, rows, length, descending, dtype, wide)
        assert_bits(ws.read(indices), places.astype(wide), f"argsort of {rows} x {length} {wide}")


def check_topk(
    ws: Workspace, x: Array, k: int, dtype: str, largest: bool = True, wide: str = "int64"
) -> None:
    rows, length = x.shape
    places = order(x, dtype, largest)[:, :k]
    values, indices = ws.room((rows, k), x.dtype), ws.room((rows, k), wide)
    ws.be.topk(ws.input(x), values, indices, rows, length, k, largest, dtype, wide)
    assert_bits(ws.read(indices), places.astype(wide), f"places of {k} of {rows} x {length}")
    assert_bits(ws.read(values), taken(x, places), f"{k} of {rows} x {length}")
