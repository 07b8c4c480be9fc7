"""What reductions and scans of programs give, in NumPy, and how they are run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright import Program

from .elements import FLOATS, assert_elements, shown, stored, stored_dtype
from .workspace import Workspace

Array = npt.NDArray[Any]

ARITHMETIC = ("sum", "prod")
TRUTH = ("any", "all")
PLACES = ("argmax", "argmin")
U = {"float16": 2.0**-24, "bfloat16": 2.0**-24, "float32": 2.0**-24, "float64": 2.0**-53}


def identity(dtype: str) -> Program:
    program = Program()
    program.output(program.input(dtype))
    return program


def takes(op: str, dtype: str) -> bool:
    """Sums of bool are counts, so of integers."""
    return dtype != "bool" or op not in ARITHMETIC


def result_dtype(op: str, dtype: str) -> str:
    return "bool" if op in TRUTH else "int64" if op in PLACES else dtype


def draw(rng: np.random.Generator, op: str, shape: Sequence[int], dtype: str) -> Array:
    """Elements with ties and zeros; of products near 1, so that they stay within range."""
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype not in FLOATS:
        info = np.iinfo(dtype)
        if op == "any":
            return rng.integers(0, 20, shape).astype(dtype) // 19
        return rng.integers(max(info.min, -100), min(info.max, 100) + 1, shape).astype(dtype)
    if op == "prod":
        size = max(math.prod(shape), 1)
        return stored(1 + rng.uniform(-1, 1, shape) / size**0.5, dtype)
    return stored(np.round(rng.standard_normal(shape), 2), dtype)


def along(x: Array, axes: Sequence[int]) -> Array:
    """With what is reduced in one last axis."""
    axes = sorted(axis % x.ndim for axis in axes)
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    size = math.prod(x.shape[axis] for axis in axes)
    return x.transpose(kept + axes).reshape([*(x.shape[axis] for axis in kept), size])


def exact(op: str, x: Array, axes: Sequence[int], dtype: str) -> Array:
    values = along(shown(x, dtype), axes)
    with np.errstate(all="ignore"):
        if op == "sum":
            return np.asarray(np.sum(values, -1, dtype=values.dtype))
        if op == "prod":
            return np.asarray(np.prod(values, -1, dtype=values.dtype))
        of = {"max": np.max, "min": np.min, "any": np.any, "all": np.all,
              "argmax": np.argmax, "argmin": np.argmin}[op]  # fmt: skip
        return np.asarray(of(values, axis=-1))


def tolerance(op: str, x: Array, axes: Sequence[int], dtype: str) -> Array:
    """Of a sum, 8 u times the sum of the magnitudes, as bounds.py has it for sums that are joined
    from pieces: at most 256 in a row, and pairs from there on, so that rounding walks randomly. A
    factor of a product is rounded once."""
    if dtype not in FLOATS or op not in ARITHMETIC:
        return np.zeros(())
    values = along(shown(x, dtype), axes)
    with np.errstate(all="ignore"):
        if op == "sum":
            # 256 in a row at worst, where all are nearly equal.
            return 24 * U[dtype] * np.abs(values).sum(-1)
        return (2 + values.shape[-1]) * U[dtype] * np.abs(np.prod(values, -1))


def assert_same(got: Array, expected: Array, bound: Array, dtype: str, what: str) -> None:
    assert got.shape == expected.shape
    if dtype in FLOATS:
        assert_elements(got, expected, bound, dtype, what)
    else:
        np.testing.assert_array_equal(got, expected.astype(stored_dtype(dtype)), what)


def check_reduction(
    ws: Workspace, op: str, x: Array, axes: Sequence[int], dtype: str, **given: Any
) -> Array:
    """Contiguous, whole arrays."""
    result = result_dtype(op, dtype)
    expected = exact(op, x, axes, dtype)
    out = ws.room(expected.shape, stored_dtype(result))
    ws.be.map_reduce(identity(dtype), op, x.shape, axes, [ws.input(x)], [], [out], **given)
    got = ws.read(out)
    what = f"{op} of {dtype} {x.shape} along {tuple(axes)}"
    assert_same(got, expected, tolerance(op, x, axes, dtype), result, what)
    return got


# Scans -------------------------------------------------------------------------------------------

SCANS = {
    "sum": np.cumsum,
    "prod": np.cumprod,
    "max": np.maximum.accumulate,
    "min": np.minimum.accumulate,
}


def nothing_before(op: str, dtype: str) -> Any:
    """What stands where there is nothing to join."""
    if op in ARITHMETIC:
        return {"sum": 0, "prod": 1}[op]
    if dtype == "bool":
        return op == "min"
    if dtype in FLOATS:
        return -np.inf if op == "max" else np.inf
    return np.iinfo(dtype).min if op == "max" else np.iinfo(dtype).max


def scanned(op: str, values: Array, axis: int, first: Any, exclusive: bool, back: bool) -> Array:
    if back:
        values = np.flip(values, axis)
    more = {"dtype": values.dtype} if op in ARITHMETIC else {}
    with np.errstate(all="ignore"):
        result = np.asarray(SCANS[op](values, axis=axis, **more))
    if exclusive:
        result = np.roll(result, 1, axis)
        result[(slice(None),) * (axis % values.ndim) + (slice(0, 1),)] = first
    return np.flip(result, axis) if back else result


def check_scan(
    ws: Workspace,
    op: str,
    x: Array,
    axis: int,
    dtype: str,
    exclusive: bool = False,
    reverse: bool = False,
) -> Array:
    values = shown(x, dtype)
    expected = scanned(op, values, axis, nothing_before(op, dtype), exclusive, reverse)
    bound = np.zeros(())
    if dtype in FLOATS and op == "sum":
        magnitudes = scanned("sum", np.abs(values), axis, 0, exclusive, reverse)
        # Blocks of 512 in a row, then those, and chunks of them.
        bound = 64 * U[dtype] * magnitudes
    elif dtype in FLOATS and op == "prod":
        bound = (2 + x.shape[axis]) * U[dtype] * np.abs(expected)
    out = ws.room(x.shape, x.dtype)
    ws.be.scan(identity(dtype), op, x.shape, axis, [ws.input(x)], [], out, exclusive, reverse)
    got = ws.read(out)
    what = f"{op} scan of {dtype} {x.shape} along {axis}"
    assert_same(got, expected, bound, dtype, f"{what}, exclusive {exclusive}, reverse {reverse}")
    return got
