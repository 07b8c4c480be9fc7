"""Results that are written into memory that is there: `out=`, parts of complex numbers, methods
that change an Array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .case import Case


def out(case: Case) -> Case:
    draw = case.draw
    n, m, k = (draw.one_of([3, 1, 4, 2, 0, 17]) for _ in range(3))
    dtype = case.dtype("fciu")
    name = draw.one_of(["matmul", "take", "concatenate", "stack", "clip", "round", "choose",
                        "compress", "cumprod", "outer", "copyto", "var", "nancumsum"])  # fmt: skip
    shape = [n, m]
    to = shape
    over = name in ("clip", "round", "cumprod", "choose") and draw.below(2) == 1
    # What is below 0 has no place in an unsigned dtype.
    case.operand(shape, dtype, "counts" if name in ("take", "compress") else "small", over)
    if name in ("matmul", "outer"):
        case.operands.clear()
        first, second, to = ([n], [m], [n, m]) if name == "outer" else ([n, k], [k, m], [n, m])
        case.operand(first, dtype)
        case.operand(second, dtype)
    elif name in ("concatenate", "stack"):
        case.operand(shape, dtype)
        to = [2 * n, m] if name == "concatenate" else [2, n, m]
    elif name in ("take", "choose"):
        own = [k] if name == "take" else shape
        case.holding(draw.rng.integers(0, max(1, min(n, 2)), own), on_host=False)
        to = [k, m] if name == "take" else shape
    elif name == "compress":
        content = draw.rng.integers(0, 2, n).astype(bool)
        case.holding(content, on_host=False)
        to = [int(content.sum()), m]
    elif name == "var":
        to = [m]
    elif name == "copyto":
        case.operand([m], "bool")
    other = dtype if draw.below(4) else case.dtype("fciub")
    if draw.rarely(12):
        to = [*to[:-1], to[-1] + 1]
    if over:
        case.again(0, same=True)
    else:
        case.operand(to, other, "small", written=True)
    calls: dict[str, Callable[..., Any]] = {
        "matmul": lambda x, y, z: np.matmul(x, y, out=z),
        "outer": lambda x, y, z: np.outer(x, y, out=z),
        "concatenate": lambda x, y, z: np.concatenate([x, y], out=z),
        "stack": lambda x, y, z: np.stack([x, y], out=z),
        "take": lambda x, y, z: np.take(x, y, axis=0, out=z),
        "choose": lambda x, y, z: np.choose(y, [x, x], out=z),
        "compress": lambda x, y, z: np.compress(y, x, axis=0, out=z),
        "clip": lambda x, z: np.clip(x, 0, 2, out=z),
        "round": lambda x, z: np.round(x, out=z),
        "cumprod": lambda x, z: np.cumprod(x * 0 + 1, axis=0, out=z),
        "var": lambda x, z: np.var(x, axis=0, out=z),
        "nancumsum": lambda x, z: np.nancumsum(x, axis=0, out=z),
        "copyto": lambda x, y, z: np.copyto(z, x, where=y),
    }
    call = calls[name]
    by = "sums" if name in ("matmul", "nancumsum") else "whole" if name == "var" else ""
    return case.is_(f"{name} out", f"f(..., out={to})", lambda _, *x: call(*x), by=by, ours=False,
                    ulps=8)  # fmt: skip


def parts(case: Case) -> Case:
    """x.real = y, x.imag += y, of views of all kinds."""
    draw = case.draw
    shape, dtype = case.shape(), case.dtype("c")
    part = draw.one_of(["real", "imag"])
    case.operand(shape, dtype, written=True)
    kind = draw.one_of(["=", "+=", "a part of itself"])
    if kind == "a part of itself":
        case.again(0)
    else:
        case.operand(case.part_of(shape), case.dtype("fiub"))

    def run(_: Any, x: Any, y: Any) -> Any:
        if kind == "a part of itself":
            y = y.imag
        if kind == "+=":
            one = getattr(x, part)
            one += y
        else:
            setattr(x, part, y)

    return case.is_("x.real = y", f"x.{part} {kind} y", run, ulps=4)


def changed(case: Case) -> Case:
    draw = case.draw
    shape, dtype = case.shape(1), case.dtype("fciub")
    case.operand(shape, dtype, written=True)
    axis = draw.integer(-len(shape), len(shape) - 1)
    calls: dict[str, Callable[..., Any]] = {
        "x.fill": lambda x: x.fill(2),
        "x.sort": lambda x: x.sort(axis=axis),
        "x[...] = x.T": lambda x: x.__setitem__(..., x.T),
        "x[...] = flip": lambda x: x.__setitem__(..., np.flip(x)),
        "x[...] = x + x": lambda x: x.__setitem__(..., x + x),
        "x.flat = 3": lambda x: setattr(x, "flat", 3),
        "nan_to_num": lambda x: np.nan_to_num(x, copy=False),
    }
    name = draw.one_of(list(calls))
    return case.is_(name, f"of axis {axis}", lambda _, x: calls[name](x), ulps=0, ours=False)


KINDS = [out, out, parts, changed]
