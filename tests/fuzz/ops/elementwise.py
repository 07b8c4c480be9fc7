"""unary, silu, gelu, binary, binary_scalar, binary_broadcast, reduce and cast."""

from __future__ import annotations

import math

import numpy as np
from conformance import bounds, references

from ..call import Call, Operand, Result
from ..draw import Array, Draw
from . import generates

MOST = 1 << 17  # elements


def elements(draw: Draw) -> int:
    """Seldom many."""
    return draw.size_or_zero(MOST if draw.rarely(6) else 3000)


@generates("unary", "silu", "gelu")
def unary(draw: Draw, name: str) -> Call:
    op = draw.one_of(list(references.UNARY)) if name == "unary" else name
    n, dtype = elements(draw), draw.dtype()
    x = draw.numbers(n, dtype)
    exact = references.UNARY[op](x)
    source = Operand(x, draw.integer(0, 40))
    in_place = draw.rarely(3)
    out = source if in_place else Operand(np.full(n, np.nan, dtype), draw.integer(0, 40))
    values = {"op": op, "input": source, "output": out, "n": n, "dtype": dtype}
    tolerance = bounds.elementwise(op, exact, x.astype(np.float64), draw.subnormals)
    return Call(name, values, [Result(out, exact, tolerance)], empty=n == 0)


@generates("binary")
def binary(draw: Draw, name: str) -> Call:
    op = draw.one_of(list(references.BINARY))
    n, dtype = elements(draw), draw.dtype()
    a, b = draw.numbers(n, dtype), draw.numbers(n, dtype)
    left, right = Operand(a, draw.integer(0, 40)), Operand(b, draw.integer(0, 40))
    if draw.rarely(8):
        right = left
        b = a
    room = Operand(np.full(n, np.nan, dtype), draw.integer(0, 40))
    out = draw.one_of([room, left, right])
    exact = references.BINARY[op](a, b)
    tolerance = bounds.elementwise(op, exact, exact, draw.subnormals)
    values = {"op": op, "a": left, "b": right, "output": out, "n": n, "dtype": dtype}
    return Call(name, values, [Result(out, exact, tolerance)], empty=n == 0)


@generates("binary_scalar")
def binary_scalar(draw: Draw, name: str) -> Call:
    op = draw.one_of(list(references.BINARY))
    n, dtype = elements(draw), draw.dtype()
    a = draw.numbers(n, dtype)
    number = draw.numbers(1, dtype)
    first = draw.rarely(2)
    source = Operand(a, draw.integer(0, 40))
    out = source if draw.rarely(3) else Operand(np.full(n, np.nan, dtype), draw.integer(0, 40))
    wide = np.broadcast_to(number, a.shape)
    exact = references.BINARY[op](*((wide, a) if first else (a, wide)))
    tolerance = bounds.elementwise(op, exact, exact, draw.subnormals)
    values = {"op": op, "a": source, "scalar": float(number[0]), "output": out, "n": n}
    values |= {"scalar_first": first, "dtype": dtype}
    return Call(name, values, [Result(out, exact, tolerance)], empty=n == 0)


@generates("binary_broadcast")
def binary_broadcast(draw: Draw, name: str) -> Call:
    op = draw.one_of(list(references.BINARY))
    shape, dtype = draw.shape(8, 20_000), draw.dtype()
    sides = [strides_of(draw, shape) for _ in "ab"]
    a, b = (draw.numbers(reach(shape, strides), dtype) for strides in sides)
    wide = [
        np.lib.stride_tricks.as_strided(x, shape, byte_strides(x, shape, strides), writeable=False)
        if x.size
        else np.empty(shape, dtype)
        for x, strides in zip((a, b), sides, strict=True)
    ]
    exact = references.BINARY[op](*wide)
    out = Operand(np.full(shape, np.nan, dtype), draw.integer(0, 40))
    left, right = Operand(a, draw.integer(0, 40)), Operand(b, draw.integer(0, 40))
    rowwise = contiguous(shape)
    if draw.rarely(4):
        if sides[0] == rowwise and a.size:
            left.array = a.reshape(shape)
            out = left
        elif sides[1] == rowwise and b.size:
            right.array = b.reshape(shape)
            out = right
    values = {
        "op": op,
        "a": left,
        "a_strides": sides[0],
        "b": right,
        "b_strides": sides[1],
        "output": out,
        "shape": draw.one_of([shape, tuple(shape), np.array(shape, np.int64)]),
        "dtype": dtype,
    }
    tolerance = bounds.elementwise(op, exact, exact, draw.subnormals)
    return Call(name, values, [Result(out, exact, tolerance)], empty=0 in shape)


def byte_strides(x: Array, shape: list[int], strides: list[int]) -> list[int]:
    return [0 if n == 1 else s * x.itemsize for n, s in zip(shape, strides, strict=True)]


def contiguous(shape: list[int]) -> list[int]:
    return [math.prod(shape[i + 1 :]) for i in range(len(shape))]


def strides_of(draw: Draw, shape: list[int]) -> list[int]:
    """Those of a contiguous array, of one that is broadcast, of a transpose, or any."""
    kind = draw.below(4)
    if kind == 0:
        return contiguous(shape)
    if kind == 1:
        kept = [draw.below(2) for _ in shape]
        own = [size if keep else 1 for size, keep in zip(shape, kept, strict=True)]
        return [s * keep for s, keep in zip(contiguous(own), kept, strict=True)]
    if kind == 2:
        return contiguous(shape[::-1])[::-1]
    most = 30_000 // max(1, sum(shape))
    return [
        draw.integer(0, min(most, 20)) if size != 1 else draw.one_of([0, 1, 2**31, 2**62])
        for size in shape
    ]


def reach(shape: list[int], strides: list[int]) -> int:
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * s for size, s in zip(shape, strides, strict=True))


@generates("reduce")
def reduce(draw: Draw, name: str) -> Call:
    op = draw.one_of(["sum", "max", "min", "mean"])
    shape, dtype = draw.shape(8, MOST if draw.rarely(6) else 5000, 1), draw.dtype()
    axis = draw.below(len(shape))
    if op in ("max", "min") and shape[axis] == 0:
        shape[axis] = 1
    exactly = draw.below(2) == 0
    x = draw.with_specials((draw.integers if exactly else draw.normal)(shape, dtype))
    exact = references.reduce(op, x, axis)
    tolerance: object = 0.0
    if op in ("sum", "mean") and not (exactly and op == "sum"):
        with np.errstate(invalid="ignore"):
            magnitudes = references.reduce(op, np.abs(x), axis)
            tolerance = bounds.summation(magnitudes, shape[axis])
    source = Operand(x, draw.integer(0, 40))
    out = Operand(np.full(exact.shape, np.nan, dtype), draw.integer(0, 40))
    values = {
        "op": op,
        "input": source,
        "output": out,
        "shape": draw.one_of([shape, tuple(shape)]),
        "axis": axis - draw.one_of([0, len(shape)]),
        "dtype": dtype,
    }
    return Call(name, values, [Result(out, exact, tolerance)], empty=0 in shape)  # type: ignore


@generates("cast")
def cast(draw: Draw, name: str) -> Call:
    n = elements(draw)
    source, to = draw.one_of(["float32", "float16", "int32"]), draw.dtype()
    x = draw.int32(n) if source == "int32" else draw.numbers(n, source)
    out = Operand(np.full(n, np.nan, to), draw.integer(0, 40))
    values = {
        "input": Operand(x, draw.integer(0, 40)),
        "from": source,
        "output": out,
        "to": to,
        "n": n,
    }
    with np.errstate(over="ignore"):
        exact = x.astype(to).astype(np.float64)
    return Call(name, values, [Result(out, exact)], empty=n == 0)
