"""Unary and binary ops, reductions, scans, casts and programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tilewright.program import Program

from . import numpy_ops
from .case import FLOATS, AnyArray, Case, Draw, Problem, by, count, sizes

GROUP = "Elementwise and reductions"


def _square(x: AnyArray, out: AnyArray | None = None) -> AnyArray:
    return np.multiply(x, x, out=out)


def _rsqrt(x: AnyArray, out: AnyArray | None = None) -> AnyArray:
    return np.divide(1, np.sqrt(x), out=out, dtype=x.dtype)


_UNARY: dict[str, Callable[..., AnyArray]] = {
    "relu": lambda x, out=None: np.maximum(x, 0, out=out),
    "sigmoid": lambda x, out=None: numpy_ops.sigmoid(x),
    "tanh": np.tanh,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "neg": np.negative,
    "silu": lambda x, out=None: numpy_ops.silu(x),
    "gelu": lambda x, out=None: numpy_ops.gelu(x),
    "gelu_tanh": lambda x, out=None: numpy_ops.gelu_tanh(x),
    "rsqrt": _rsqrt,
    "reciprocal": np.reciprocal,
    "square": _square,
}
_POSITIVE_INPUT = {"log", "sqrt", "rsqrt", "reciprocal"}
_SEVERAL_FUNCTIONS = {"sigmoid", "silu", "gelu", "gelu_tanh", "rsqrt"}

_BINARY: dict[str, Callable[..., AnyArray]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "pow": np.power,
}

_REDUCE: dict[str, Callable[..., AnyArray]] = {
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
    "mean": np.mean,
}


def _unary(op: str) -> Callable[[Draw, int], Problem]:
    def build(draw: Draw, n: int) -> Problem:
        return Problem(
            shape=count(n),
            inputs=[draw.positive(n) if op in _POSITIVE_INPUT else draw.normal(n)],
            output=draw.zeros(n),
            call=lambda be, x, out: be.unary(op, x[0], out, n, draw.dtype),
            numpy=_UNARY[op],
            own_float16=op not in _SEVERAL_FUNCTIONS,
        )

    return build


def _binary(op: str) -> Callable[[Draw, int], Problem]:
    def build(draw: Draw, n: int) -> Problem:
        return Problem(
            shape=count(n),
            inputs=[
                draw.positive(n) if op == "pow" else draw.normal(n),
                draw.positive(n) if op == "div" else draw.normal(n),
            ],
            output=draw.zeros(n),
            call=lambda be, x, out: be.binary(op, x[0], x[1], out, n, draw.dtype),
            numpy=_BINARY[op],
            own_float16=True,
            flops=float(n) if op in ("add", "sub", "mul", "div") else 0.0,
        )

    return build


def _broadcast(strides: tuple[int, int]) -> Callable[[Draw, int, int], Problem]:
    """A matrix plus a row, strides (0, 1), or a column, strides (1, 0)."""

    def build(draw: Draw, rows: int, cols: int) -> Problem:
        small = draw.normal(1, cols) if strides[0] == 0 else draw.normal(rows, 1)
        return Problem(
            shape=by(rows, cols),
            inputs=[draw.normal(rows, cols), small],
            output=draw.zeros(rows, cols),
            call=lambda be, x, out: be.binary_broadcast(
                "add", x[0], (cols, 1), x[1], strides, out, (rows, cols), draw.dtype
            ),
            numpy=np.add,
            own_float16=True,
            flops=float(rows * cols),
        )

    return build


def _scalar(draw: Draw, n: int) -> Problem:
    return Problem(
        shape=count(n),
        inputs=[draw.normal(n)],
        output=draw.zeros(n),
        call=lambda be, x, out: be.binary_scalar("mul", x[0], 0.5, out, n, False, draw.dtype),
        numpy=lambda x, out=None: np.multiply(x, x.dtype.type(0.5), out=out),
        own_float16=True,
    )


def _reduce(op: str, axis: int) -> Callable[[Draw, int, int], Problem]:
    def build(draw: Draw, rows: int, cols: int) -> Problem:
        return Problem(
            shape=by(rows, cols),
            inputs=[draw.normal(rows, cols)],
            output=draw.zeros(rows if axis == -1 else cols),
            call=lambda be, x, out: be.reduce(op, x[0], out, (rows, cols), axis, draw.dtype),
            numpy=lambda x, out=None: _REDUCE[op](x, axis=axis, out=out),
            own_float16=True,
            flops=float(rows * cols),
            slack=64.0,
        )

    return build


def _mean_of_all(draw: Draw, n: int) -> Problem:
    return Problem(
        shape=count(n),
        inputs=[draw.positive(n)],
        output=draw.zeros(1),
        call=lambda be, x, out: be.reduce("mean", x[0], out, (n,), 0, draw.dtype),
        numpy=lambda x, out=None: np.mean(x, keepdims=True, out=out),
        flops=float(n),
        slack=64.0,
    )


def _cast(draw: Draw, n: int) -> Problem:
    target = "float16" if draw.dtype == "float32" else "float32"
    whole = draw.dtype == "int32"
    x = (Draw("float32").normal(n) * 2**28).astype("int32") if whole else draw.normal(n)

    def in_numpy(x: AnyArray, out: AnyArray | None = None) -> AnyArray:
        if out is None:
            return x
        np.copyto(out, x, casting="same_kind")
        return out

    return Problem(
        shape=f"{count(n)} to {target}",
        inputs=[x],
        output=np.zeros(n, target),
        call=lambda be, x, out: be.cast(x[0], draw.dtype, out, target, n),
        numpy=in_numpy,
        own_float16=True,
    )


def _map(draw: Draw, n: int) -> Problem:
    """(x * 2 + y) / 4 - 1, at least 0, as one program."""
    program = Program()
    x, y = program.input(draw.dtype), program.input(draw.dtype)
    program.output(((x * 2 + y) * 0.25 - 1).max(0))

    def in_numpy(x: AnyArray, y: AnyArray, out: AnyArray | None = None) -> AnyArray:
        result: AnyArray = np.maximum((x * 2 + y) * x.dtype.type(0.25) - 1, 0, out=out)
        return result

    return Problem(
        shape=count(n),
        inputs=[draw.normal(n), draw.normal(n)],
        output=draw.zeros(n),
        call=lambda be, x, out: be.map(program, (n,), list(x), [], [out]),
        numpy=in_numpy,
    )


def _map_many(draw: Draw, n: int, parts: int) -> Problem:
    """The same of so many groups, one behind another in each buffer."""
    program = Program()
    x, y = program.input(draw.dtype), program.input(draw.dtype)
    program.output(((x * 2 + y) * 0.25 - 1).max(0))
    starts = [n * i // parts // 4 * 4 for i in range(parts)] + [n]

    def run(be: Any, x: Sequence[int], out: int) -> None:
        groups = [
            (end - at, [(x[0], (1,), at), (x[1], (1,), at)], [(out, (1,), at)])
            for at, end in pairwise(starts)
        ]
        be.map_many(program, groups, [])

    def in_numpy(x: AnyArray, y: AnyArray, out: AnyArray | None = None) -> AnyArray:
        result: AnyArray = np.maximum((x * 2 + y) * x.dtype.type(0.25) - 1, 0, out=out)
        return result

    return Problem(
        shape=f"{parts} of {count(n // parts)}",
        inputs=[draw.normal(n), draw.normal(n)],
        output=draw.zeros(n),
        call=run,
        numpy=in_numpy,
    )


def _sum_of_moments(x: AnyArray, axis: int) -> AnyArray:
    """The mean and the squares off it."""
    made: AnyArray = x.mean(axis) + x.var(axis) * x.dtype.type(x.shape[axis])
    return made


_FOLDS: dict[str, Callable[..., AnyArray]] = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "any": np.any,
    "all": np.all,
    "argmax": np.argmax,
    "argmin": np.argmin,
    "moments": _sum_of_moments,
}
_SCANS: dict[str, Callable[..., AnyArray]] = {
    "sum": np.cumsum,
    "prod": np.cumprod,
    "max": np.maximum.accumulate,
    "min": np.minimum.accumulate,
}


def _near_one(dtype: str) -> Program:
    """x / 1000 + 1, whose products stay within range."""
    program = Program()
    program.output(program.input(dtype) * 0.001 + 1)
    return program


def _fold(op: str, axis: int) -> Callable[[Draw, int, int], Problem]:
    """Of x / 1000 + 1, in one pass."""

    def build(draw: Draw, rows: int, cols: int) -> Problem:
        front, behind = _near_one(draw.dtype), Program()
        wide = "float64" if draw.dtype == "float64" else "float32"
        found = {"argmax": "int32", "argmin": "int32", "any": "bool", "all": "bool",
                 "moments": wide}.get(op, draw.dtype)  # fmt: skip
        result = behind.input(found)
        if op == "moments":
            result = result + behind.input(found)
        behind.output(result.cast(draw.dtype))

        def in_numpy(x: AnyArray, out: AnyArray | None = None) -> AnyArray:
            near = x * x.dtype.type(0.001) + x.dtype.type(1)
            return np.asarray(_FOLDS[op](near, axis=axis)).astype(x.dtype)

        return Problem(
            shape=by(rows, cols),
            inputs=[draw.normal(rows, cols)],
            output=draw.zeros(rows if axis == -1 else cols),
            call=lambda be, x, out: be.map_reduce(
                front, op, (rows, cols), (axis,), list(x), [], [out], behind
            ),
            numpy=in_numpy,
            slack=64.0,
        )

    return build


def _rows(draw: Draw, rows: int, cols: int) -> Problem:
    """Off the largest of each row, over the sum of what is off it."""
    wide = "float64" if draw.dtype == "float64" else "float32"
    largest, total, last = Program(), Program(), Program()
    largest.output(largest.input(draw.dtype).cast(wide))
    x, most = total.input(draw.dtype).cast(wide), total.input(wide)
    total.output(most - x + 1)
    x = last.input(draw.dtype).cast(wide)
    most, all_ = last.input(wide), last.input(wide)
    last.output(((most - x) / all_).cast(draw.dtype))

    def in_numpy(x: AnyArray, out: AnyArray | None = None) -> AnyArray:
        off = x.max(axis=-1, keepdims=True) - x
        made: AnyArray = np.divide(off, (off + 1).sum(axis=-1, keepdims=True), out=out)
        return made

    return Problem(
        shape=by(rows, cols),
        inputs=[draw.normal(rows, cols)],
        output=draw.zeros(rows, cols),
        call=lambda be, x, out: be.map_rows(
            [("max", largest), ("sum", total)], (rows, cols), (-1,), list(x), last, [], [out]
        ),
        numpy=in_numpy,
        slack=64.0,
    )


def _scan(op: str, axis: int) -> Callable[[Draw, int, int], Problem]:
    """Of x / 1000 + 1, in one pass."""

    def build(draw: Draw, rows: int, cols: int) -> Problem:
        front = _near_one(draw.dtype)

        def in_numpy(x: AnyArray, out: AnyArray | None = None) -> AnyArray:
            near = x * x.dtype.type(0.001) + x.dtype.type(1)
            return _SCANS[op](near, axis=axis, out=out)

        return Problem(
            shape=by(rows, cols),
            inputs=[draw.normal(rows, cols)],
            output=draw.zeros(rows, cols),
            call=lambda be, x, out: be.scan(front, op, (rows, cols), axis, list(x), [], out),
            numpy=in_numpy,
            slack=64.0,
        )

    return build


_VECTORS = sizes((4099,), (1 << 23,), (1 << 26,))
_ROWS = sizes((7, 129), (8192, 1024), (16384, 4096))

CASES = [
    *(Case("unary", GROUP, _unary(op), _VECTORS, op) for op in _UNARY),
    *(Case("binary", GROUP, _binary(op), _VECTORS, op) for op in _BINARY),
    Case("binary_scalar", GROUP, _scalar, _VECTORS),
    Case("binary_broadcast", GROUP, _broadcast((0, 1)), _ROWS, "row"),
    Case("binary_broadcast", GROUP, _broadcast((1, 0)), _ROWS, "column"),
    *(Case("reduce", GROUP, _reduce(op, -1), _ROWS, op) for op in _REDUCE),
    Case("reduce", GROUP, _reduce("sum", 0), _ROWS, "sum_columns"),
    Case("reduce", GROUP, _mean_of_all, _VECTORS, "mean_all"),
    Case("cast", GROUP, _cast, _VECTORS, dtypes=(*FLOATS, "int32")),
    Case("map", GROUP, _map, _VECTORS),
    Case("map_many", GROUP, _map_many, sizes((4099, 7), (1 << 23, 62), (1 << 26, 62))),
    *(Case("map_reduce", GROUP, _fold(op, -1), _ROWS, op) for op in _FOLDS),
    Case("map_reduce", GROUP, _fold("sum", 0), _ROWS, "sum_columns"),
    Case("map_rows", GROUP, _rows, _ROWS),
    *(Case("scan", GROUP, _scan(op, -1), _ROWS, op) for op in _SCANS),
    Case("scan", GROUP, _scan("sum", 0), _ROWS, "sum_columns"),
]
