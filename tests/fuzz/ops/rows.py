"""Ops on rows: softmax, norms, gather and scatter."""

from __future__ import annotations

import numpy as np
from conformance import bounds, references

from ..call import Call, Operand, Result
from ..draw import Array, Draw
from . import generates

MOST = 1 << 16  # elements


def operand(draw: Draw, array: Array) -> Operand:
    return Operand(array, draw.integer(0, 40))


def room(draw: Draw, shape: object, dtype: str) -> Operand:
    return operand(draw, np.full(shape, np.nan, dtype))  # type: ignore[call-overload]


@generates("softmax")
def softmax(draw: Draw, name: str) -> Call:
    shape, dtype = draw.shape(8, MOST if draw.rarely(6) else 4000, 1), draw.dtype()
    axis, log = draw.below(len(shape)), draw.rarely(2)
    scale = draw.one_of([1.0, 10.0, 100.0])
    x = draw.with_specials((draw.normal(shape, "float32") * np.float32(scale)).astype(dtype))
    exact, tolerance = np.empty(shape), np.empty(shape)
    if x.size:
        with np.errstate(all="ignore"):
            exact = (references.log_softmax if log else references.softmax)(x, axis)
            wide = x.astype(np.float64)
            below = wide - wide.max(axis, keepdims=True)
            # What weighs nothing is nothing, however far it is off.
            below = np.where(np.isfinite(below), below, 0.0)
            # Devices may take exp of a large number by way of a product, which rounds once more.
            bound = bounds.log_softmax if log else bounds.softmax
            tolerance = bound(exact, 2 * below, shape[axis])
    source = operand(draw, x)
    out = source if draw.rarely(3) else room(draw, shape, dtype)
    values = {
        "input": source,
        "output": out,
        "shape": shape,
        "axis": axis - draw.one_of([0, len(shape)]),
        "dtype": dtype,
        "log": log,
    }
    return Call(name, values, [Result(out, exact, tolerance)], empty=0 in shape)


@generates("rmsnorm", "layer_norm")
def norm(draw: Draw, name: str) -> Call:
    rows = draw.size_or_zero(3000)
    cols = draw.size_or_zero(max(1, MOST // max(1, rows)))
    dtype = draw.dtype()
    eps = draw.one_of([1e-5, 1.0, 1e-12, 0.0, 1e6])
    x = draw.normal((rows, cols), dtype)
    if eps < 1e-5 and cols:
        # A row of one element, or of equal ones, has no variance to divide by.
        eps = 1e-5
    weight, bias = draw.normal(cols, dtype), draw.normal(cols, dtype)
    residual = draw.normal(x.shape, dtype) if draw.rarely(2) else None
    added = x if residual is None else (x.astype("f4") + residual.astype("f4")).astype(dtype)
    own = x
    x = added
    has_weight, has_bias = not draw.rarely(4), not draw.rarely(4)
    weight = weight if has_weight else np.ones_like(weight)
    bias = bias if has_bias else np.zeros_like(bias)
    eps32 = float(np.float32(eps))
    wide = [a.astype(np.float64) for a in (x, weight, bias)]
    exact, tolerance = np.empty(x.shape), np.empty(x.shape)
    if x.size:
        if name == "rmsnorm":
            exact = references.rmsnorm(x, weight, eps32)
            tolerance = bounds.rmsnorm(exact, cols)
        else:
            exact = references.layer_norm(x, weight, bias, eps32)
            tolerance = bounds.layer_norm(*wide, eps32)
    source = operand(draw, own)
    out = source if draw.rarely(3) else room(draw, x.shape, dtype)
    results = [Result(out, exact, tolerance)]
    other = total = None
    if residual is not None:
        other = operand(draw, residual)
        if draw.rarely(2):
            total = other if draw.rarely(2) else room(draw, x.shape, dtype)
            results.append(Result(total, added.astype(np.float64), np.zeros(x.shape)))
    values = {
        "x": source,
        "weight": operand(draw, weight) if has_weight else None,
        "bias": operand(draw, bias) if has_bias else None,
        "out": out,
        "rows": rows,
        "cols": cols,
        "eps": eps,
        "dtype": dtype,
        "residual": other,
        "sum": total,
    }
    return Call(name, values, results, empty=0 in (rows, cols))


def indices(draw: Draw, count: int, rows: int) -> Array:
    """Most of them within the rows; many equal ones."""
    at = draw.rng.integers(-1, rows + 1, count).astype(np.int32)
    if count and draw.rarely(4):
        at[draw.rng.integers(0, count, 2)] = [-(2**31), 2**31 - 1]
    return at


@generates("gather")
def gather(draw: Draw, name: str) -> Call:
    rows, count = draw.size_or_zero(2000), draw.size_or_zero(2000)
    row_size = draw.size_or_zero(max(1, MOST // max(1, rows, count)))
    dtype = draw.dtype()
    table, at = draw.anything((rows, row_size), dtype), indices(draw, count, rows)
    exact = references.gather(table, at)
    out = room(draw, exact.shape, dtype)
    values = {
        "table": operand(draw, table),
        "indices": operand(draw, at),
        "output": out,
        "table_rows": rows,
        "row_size": row_size,
        "count": count,
        "dtype": dtype,
    }
    return Call(name, values, [Result(out, exact)], empty=0 in (rows, row_size, count))


@generates("scatter")
def scatter(draw: Draw, name: str) -> Call:
    rows, count = draw.size_or_zero(2000), draw.size_or_zero(2000)
    row_size = draw.size_or_zero(max(1, MOST // max(1, rows, count)))
    dtype = draw.dtype()
    source, at = draw.anything((count, row_size), dtype), indices(draw, count, rows)
    before = draw.normal((rows, row_size), dtype)
    exact = references.scatter(source, at, before)
    out = operand(draw, before)
    values = {
        "source": operand(draw, source),
        "indices": operand(draw, at),
        "output": out,
        "output_rows": rows,
        "row_size": row_size,
        "count": count,
        "dtype": dtype,
    }
    return Call(name, values, [Result(out, exact)], empty=0 in (rows, row_size, count))
