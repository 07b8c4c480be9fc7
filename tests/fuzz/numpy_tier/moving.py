"""What makes, moves and joins elements, and what hands them to the host."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import tilewright as tw

from .case import Case


def one(case: Case) -> Case:
    draw = case.draw
    shape = case.shape()
    ndim = len(shape)
    case.operand(shape, case.dtype("fciub"))
    axis = case.axis(ndim)
    axes = case.axes(ndim)
    number = draw.one_of([1, 2, 0, -1, 5])
    several = draw.one_of([2, (1, 2), (2, 1, 2), 0])
    at = tuple(draw.integer(-ndim, ndim - 1) for _ in range(2)) if ndim else (0, 0)
    k = draw.integer(-2, 2)
    calls: list[tuple[str, Any]] = [
        ("flip axis", lambda xp, x: xp.flip(x, axis=axes)),
        ("roll axis", lambda xp, x: xp.roll(x, number, axis=axis)),
        ("roll", lambda xp, x: xp.roll(x, number)),
        ("repeat axis", lambda xp, x: xp.repeat(x, abs(number), axis=axis)),
        ("repeat", lambda xp, x: xp.repeat(x, abs(number))),
        ("tile", lambda xp, x: xp.tile(x, several)),
        ("expand_dims axis", lambda xp, x: xp.expand_dims(x, axis=axis)),
        ("squeeze", lambda xp, x: xp.squeeze(x)),
        ("squeeze axis", lambda xp, x: xp.squeeze(x, axis=axis)),
        ("moveaxis at", lambda xp, x: xp.moveaxis(x, at[0], at[1])),
        ("swapaxes at", lambda xp, x: xp.swapaxes(x, at[0], at[1])),
        ("permute_dims", lambda xp, x: xp.permute_dims(x, tuple(range(ndim))[::-1])),
        ("rollaxis at", lambda xp, x: xp.rollaxis(x, at[0], at[1])),
        ("matrix_transpose", lambda xp, x: xp.matrix_transpose(x)),
        ("tril k", lambda xp, x: xp.tril(x, k=k)),
        ("triu k", lambda xp, x: xp.triu(x, k=k)),
        ("rot90 k", lambda xp, x: xp.rot90(x, k)),
        ("unstack axis", lambda xp, x: xp.unstack(x, axis=axis)),
        ("split axis", lambda xp, x: xp.split(x, [1, 3], axis=axis)),
        ("array_split axis", lambda xp, x: xp.array_split(x, 3, axis=axis)),
        ("diagonal k at", lambda xp, x: xp.diagonal(x, k, at[0], at[1])),
        ("trace k", lambda xp, x: xp.trace(x, k)),
        ("diag k", lambda xp, x: xp.diag(x, k)),
        ("diagflat k", lambda xp, x: xp.diagflat(x, k)),
        ("ravel", lambda xp, x: xp.ravel(x)),
        ("ravel F", lambda _, x: x.ravel("F")),
        ("flatten", lambda _, x: x.flatten()),
        ("reshape -1", lambda _, x: x.reshape(-1)),
        ("reshape F", lambda _, x: x.reshape((-1, max(1, shape[0] if shape else 1)), order="F")),
        ("resize", lambda xp, x: xp.resize(x, (2, 3))),
        ("atleast_1d", lambda xp, x: xp.atleast_1d(x)),
        ("atleast_2d", lambda xp, x: xp.atleast_2d(x)),
        ("atleast_3d", lambda xp, x: xp.atleast_3d(x)),
        ("delete axis", lambda xp, x: xp.delete(x, [0, -1], axis=axis)),
        ("insert axis", lambda xp, x: xp.insert(x, 1, 2, axis=axis)),
        ("fliplr", lambda xp, x: xp.fliplr(x)),
        ("flipud", lambda xp, x: xp.flipud(x)),
        ("trim_zeros", lambda xp, x: xp.trim_zeros(x)),
        ("zeros_like", lambda xp, x: xp.zeros_like(x)),
        ("ones_like", lambda xp, x: xp.ones_like(x)),
        ("full_like", lambda xp, x: xp.full_like(x, 2)),
        ("vander", lambda xp, x: xp.vander(x, 3)),
        ("fftshift", lambda xp, x: xp.fft.fftshift(x)),
    ]  # fmt: skip
    name, run = draw.one_of(calls)
    text = f"{name} of axis {axis}, axes {axes}, at {at}, k {k}, {number}, {several}"
    return case.is_(name.split()[0], text, run, ulps=0 if name != "vander" else 4,
                    any_dtype=name == "vander",
                    by="sums" if name == "trace k" else "")  # fmt: skip


def pad(case: Case) -> Case:
    draw = case.draw
    shape = case.shape(1, 4)
    case.operand(shape, case.dtype("fciub"))
    mode = draw.one_of(["constant", "edge", "reflect", "symmetric", "wrap"])
    width: Any = [(draw.below(4), draw.below(4)) for _ in shape] if draw.below(2) else draw.below(4)
    if len(shape) > 4:
        width = 1
    return case.is_("pad", f"pad(x, {width}, {mode!r})", ulps=0,
                    run=lambda xp, x: xp.pad(x, width, mode=mode))  # fmt: skip


def joined(case: Case) -> Case:
    draw = case.draw
    shape, dtype = case.shape(), case.dtype("fciub")
    ndim = len(shape)
    axis = case.axis(ndim)
    name = draw.one_of(["concat", "stack", "concat None", "vstack", "hstack", "dstack",
                        "column_stack", "append", "block", "meshgrid",
                        "broadcast_arrays"])  # fmt: skip
    for i in range(draw.integer(1, 3)):
        own = list(shape)
        if i and name == "concat" and ndim and -ndim <= axis < ndim:
            own[axis] = draw.below(4)
        if name == "broadcast_arrays":
            own = case.part_of(shape)
        if name == "meshgrid":
            own = [draw.below(5)]
        case.operand(own, dtype if draw.below(3) else case.dtype("fciub"))
    calls: dict[str, Any] = {
        "concat": lambda xp, *x: xp.concat(x, axis=axis),
        "concat None": lambda xp, *x: xp.concat(x, axis=None),
        "stack": lambda xp, *x: xp.stack(x, axis=axis),
        "append": lambda xp, *x: xp.append(x[0], x[-1], axis=axis),
        "block": lambda xp, *x: xp.block([[*x], [*x]]),
        "meshgrid": lambda xp, *x: xp.meshgrid(*x),
        "broadcast_arrays": lambda xp, *x: xp.broadcast_arrays(*x),
    }
    run = calls.get(name, lambda xp, *x: getattr(xp, name)(x))
    return case.is_(name.split()[0], f"f(..., axis={axis})", run, ulps=0)


def cast(case: Case) -> Case:
    """Of numbers that the dtype holds."""
    draw = case.draw
    dtype, to = case.dtype("fciub"), case.dtype("fciub")
    case.operand(case.shape(), dtype, "counts")
    if to == "bfloat16":
        to = "float16"
    if draw.below(2):
        return case.is_("astype", f"x.astype({to!r})", lambda _, x: x.astype(to), ulps=0)
    return case.is_("astype", f"astype(x, {to!r})", ulps=0,
                    run=lambda xp, x: xp.astype(x, np.dtype(to)))  # fmt: skip


def to_host(case: Case) -> Case:
    draw = case.draw
    shape, dtype = case.shape(), case.dtype("fciub")
    case.operand(shape, dtype)
    at = draw.below(max(1, math.prod(shape)))

    def on_host(function: Any) -> Any:
        return lambda _, x: function(x)

    def numpy(x: Any) -> Any:
        return x.numpy() if isinstance(x, tw.Array) else x.copy()

    def dlpack(x: Any) -> Any:
        return np.array(np.from_dlpack(x)) if isinstance(x, tw.Array) else x.copy()

    def there_and_back(x: Any) -> Any:
        return tw.from_dlpack(x, device=x.backend) if isinstance(x, tw.Array) else x.copy()

    def read_anew(x: Any) -> Any:
        return tw.asarray(x, copy=True) if isinstance(x, tw.Array) else x.copy()

    calls: list[tuple[str, Any]] = [
        ("asarray", np.asarray), ("numpy", numpy), ("from_dlpack", dlpack),
        ("from_dlpack ours", there_and_back), ("asarray ours", read_anew),
        ("pickle", lambda x: np.asarray(pickle.loads(pickle.dumps(x)))),
        ("copy", copy.copy), ("deepcopy", copy.deepcopy), ("x.copy", lambda x: x.copy()),
        ("tolist", lambda x: x.tolist()), ("item", lambda x: x.item(at)),
        ("len", len), ("list", list), ("bool", bool), ("float", float), ("int", int),
        ("tobytes", lambda x: x.tobytes()), ("contains", lambda x: 2 in x),
        ("fill", lambda x: x.copy().fill(3)), ("nbytes", lambda x: (x.nbytes, x.ndim, x.size)),
        ("flat", lambda x: x.flat[at]), ("byteswap", lambda x: x.byteswap()),
        ("view", lambda x: x.view("uint8")), ("iter", lambda x: [one + 1 for one in x]),
        ("shape", lambda x: (np.shape(x), np.size(x), np.ndim(x))),
    ]  # fmt: skip
    name, run = draw.one_of(calls)
    if name in ("from_dlpack", "nbytes", "tobytes") and dtype == "bfloat16":
        name, run = calls[0]  # NumPy has float32 there.
    return case.is_(f"host {name}", name, on_host(run), host=True, ulps=0, narrow=True,
                    ours=False)  # fmt: skip


def made(case: Case) -> Case:
    """Of numbers alone; a device is named by the Array."""
    draw = case.draw
    dtype = case.dtype("fciu")
    if dtype == "bfloat16":
        dtype = "float32"
    case.operand([], dtype)
    n, m = draw.below(40), draw.below(9)
    k, step = draw.integer(-3, 3), draw.one_of([1, 2, 3])
    calls: list[tuple[str, Any]] = [
        ("zeros", lambda xp, **o: xp.zeros((n, m), dtype=dtype, **o)),
        ("ones", lambda xp, **o: xp.ones((n, m), dtype=dtype, **o)),
        ("full", lambda xp, **o: xp.full((m, n), 3, dtype=dtype, **o)),
        ("eye", lambda xp, **o: xp.eye(n, m, k=k, dtype=dtype, **o)),
        ("arange", lambda xp, **o: xp.arange(m, n, step, dtype=dtype, **o)),
        ("linspace", lambda xp, **o: xp.linspace(0, m, n, dtype="float32", **o)),
        ("tri", lambda xp, **o: xp.tri(n, m, k, dtype=dtype, **o)),
        ("identity", lambda xp, **o: xp.identity(m, dtype=dtype, **o)),
        ("indices", lambda xp, **o: xp.indices((m, 3), **o)),
    ]
    name, call = draw.one_of(calls)

    def run(_: Any, x: Any) -> Any:
        return call(np) if isinstance(x, np.ndarray) else call(tw, device=x.backend)

    return case.is_(name, f"{dtype} n {n}, m {m}, k {k}, step {step}", run, ours=False,
                    ulps=2)  # fmt: skip


KINDS = [one, one, one, joined, joined, cast, to_host, to_host, pad, made]
