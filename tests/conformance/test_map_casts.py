"""Casts in programs: every dtype to every other."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright import Backend, Program

from .elements import DTYPES, FLOATS, bfloat16, has, shown, stored, stored_dtype
from .workspace import Workspace

Array = npt.NDArray[Any]

FLOAT_VALUES = [
    *(0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, 3.99, -3.99, np.inf, -np.inf, np.nan),
    *(127.4, 128.0, -128.9, 255.9, 256.0, 32767.5, 65519.0, 65520.0, -65536.0, 2147483647.0),
    *(2147483648.0, -2147483648.0, 4294967295.0, 4294967296.0, 1e10, -1e10, 9.3e18, -9.3e18),
    *(1.9e19, 3e38, 1.0 + 2.0**-11, 1.0 + 2.0**-9, 1.0 + 2.0**-8 + 2.0**-9, 2.0**-14, 1 / 3),
    *(1.0 + 2.0**-11 + 2.0**-30, 1.0 + 2.0**-9 + 2.0**-40, 16777217.0, 2.0**53),
]


def values_of(dtype: str) -> Array:
    rng = np.random.default_rng(11)
    if dtype == "bool":
        return np.array([False, True] * 40)
    if dtype in FLOATS:
        spread = rng.standard_normal(400) * 10.0 ** rng.uniform(-3, 10, 400)
        with np.errstate(over="ignore"):
            return stored(np.append(FLOAT_VALUES, spread), dtype)
    info = np.iinfo(dtype)
    edges = [info.min, info.max, 0, 1, info.max - 1, info.max // 2 + 1]
    edges += [e for e in (257, 16777217, 2**40 + 2**32 + 1, 2**62 + 2**54 + 1) if e <= info.max]
    wide = rng.integers(info.min, info.max, 400, dtype=dtype, endpoint=True)
    return np.append(np.array(edges, dtype), wide)


def exact_cast(values: Array, start: str, to: str) -> Array:
    numbers = values if start == "float64" else shown(values, start)
    if to == "bool":
        return numbers != 0
    if to == "bfloat16":
        return bfloat16_of_integers(values) if start not in FLOATS else bfloat16(numbers)
    with np.errstate(over="ignore", invalid="ignore"):
        if to in FLOATS:
            return numbers.astype(to)
        if start not in FLOATS:
            return numbers.astype(to)  # wraps
        info = np.iinfo(to)
        whole = [0 if np.isnan(x) else clamped(x, info) for x in numbers]
        return np.array(whole, to)


def clamped(x: float, info: np.iinfo[Any]) -> int:
    if np.isinf(x):
        return int(info.max if x > 0 else info.min)
    return int(min(max(int(x), int(info.min)), int(info.max)))


def bfloat16_of_integers(values: Array) -> Array:
    """Rounded once, whatever their size."""
    results = []
    for value in values.tolist():
        size = abs(int(value))
        drop = max(size.bit_length() - 8, 0)
        kept, rest = size >> drop, size & ((1 << drop) - 1)
        half = 1 << (drop - 1) if drop else 0
        kept += bool(drop) and (rest > half or (rest == half and kept & 1))
        results.append(float(kept << drop) * (-1 if value < 0 else 1))
    return bfloat16(np.array(results))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("start", DTYPES)
def test_casts(be: Backend, start: str) -> None:
    if not has(be, start):
        return
    values = values_of(start)
    for to in DTYPES:
        if not has(be, to) or to == start:
            continue
        program = Program()
        program.output(program.input(start).cast(to))
        with Workspace(be) as ws:
            out = ws.room(values.size, stored_dtype(to))
            be.map(program, values.shape, [ws.input(values)], [], [out])
            got = ws.read(out)
        expected = exact_cast(values, start, to)
        same = got == expected
        if to in FLOATS:
            a, b = shown(got, to), shown(expected, to)
            same = (a == b) & (np.signbit(a) == np.signbit(b)) | (np.isnan(a) & np.isnan(b))
        wrong = np.flatnonzero(~same)
        assert wrong.size == 0, (
            f"{start} to {to}: {shown(values, start)[wrong[0]]!r} became "
            f"{shown(got, to)[wrong[0]]!r}, expected {shown(expected, to)[wrong[0]]!r}"
        )


def test_a_cast_rounds_within_a_program(be: Backend) -> None:
    """float16 values are computed in float32; a cast to float16 is what rounds them."""
    x = np.array([1.0, 2048.0, 60000.0], "f4")
    program = Program()
    wide = program.input("float32")
    half = wide.cast("float16").cast("float32")
    program.output((wide + 1 / 4096).cast("float16").cast("float32") - half)
    with Workspace(be) as ws:
        out = ws.room(3)
        be.map(program, (3,), [ws.input(x)], [], [out])
        assert (ws.read(out) == 0).all()
