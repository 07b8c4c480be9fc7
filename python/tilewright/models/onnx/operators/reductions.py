"""Reductions along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.array import Array
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.common import axes_in
from tilewright.models.onnx.operators.registry import Run, operator
from tilewright.models.onnx.operators.shapes import axes_of

Reduce = Callable[[Any, tuple[int, ...], bool], Any]


def reduction(
    name: str, run: Reduce, host: Reduce | None = None, keeps_alone: bool = False
) -> None:
    """keeps_alone: what it is of a single element is that element."""

    def make(node: Node) -> Run:
        keeps = node.flag("keepdims", 1)
        does_nothing = node.flag("noop_with_empty_axes")
        axes_from = axes_of(node)

        def reduced(x: Any, given: Any = None) -> Any:
            found = axes_from(given)
            if not found:
                if does_nothing and keeps_alone:
                    return x
                axes = () if does_nothing else tuple(range(x.ndim))
            else:
                axes = axes_in(found, x.ndim)
            if not isinstance(x, Array):
                assert host is not None
                with np.errstate(all="ignore"):
                    return np.asarray(host(x, axes, keeps)).astype(x.dtype)
            if x.ndim == 0 or not axes:
                # One element each.
                return run(x.reshape((*x.shape, 1)), (x.ndim,), False)
            return run(x, axes, keeps)

        return reduced

    operator(name, host=(1,), anywhere=host is not None)(make)


def _same(found: Any, x: Any) -> Any:
    return found if found.dtype == x.dtype else found.astype(x.dtype)


def _sum(x: Any, axes: tuple[int, ...], keeps: bool) -> Any:
    return tw.sum(x, axis=axes, keepdims=keeps, dtype=x.dtype)


def _extreme(own: Any, bottom: bool) -> Reduce:
    def run(x: Any, axes: tuple[int, ...], keeps: bool) -> Any:
        if any(x.shape[i] == 0 for i in axes):
            # Of nothing it is what changes nothing.
            shape = [1 if i in axes else n for i, n in enumerate(x.shape) if keeps or i not in axes]
            if x.dtype.kind == "f":
                return tw.full(tuple(shape), -np.inf if bottom else np.inf, dtype=x.dtype)
            if x.dtype == np.bool_:
                return tw.full(tuple(shape), not bottom, dtype=x.dtype)
            info = np.iinfo(x.dtype)
            return tw.full(tuple(shape), info.min if bottom else info.max, dtype=x.dtype)
        if x.dtype == np.bool_:
            return (tw.any if bottom else tw.all)(x, axis=axes, keepdims=keeps)
        return own(x, axis=axes, keepdims=keeps)

    return run


def _mean(x: Any, axes: tuple[int, ...], keeps: bool) -> Any:
    return _same(tw.mean(x, axis=axes, keepdims=keeps), x)


def _l2(x: Any, axes: tuple[int, ...], keeps: bool) -> Any:
    wide = x if x.dtype.kind == "f" else x.astype("float32")
    return _same(tw.sqrt(tw.sum(tw.square(wide), axis=axes, keepdims=keeps)), x)


def _log(x: Any, axes: tuple[int, ...], keeps: bool) -> Any:
    return _same(tw.log(tw.sum(x, axis=axes, keepdims=keeps)), x)


def _log_sum_exp(x: Any, axes: tuple[int, ...], keeps: bool) -> Any:
    wide = x if x.dtype.kind == "f" else x.astype("float32")
    if any(x.shape[i] == 0 for i in axes):
        return _log(wide, axes, keeps).astype(x.dtype)
    most = tw.max(wide, axis=axes, keepdims=True)
    finite = tw.where(tw.isfinite(most), most, tw.zeros_like(most))
    total = tw.log(tw.sum(tw.exp(wide - finite), axis=axes, keepdims=keeps))
    return _same(total + finite.reshape(total.shape), x)


reduction(
    "ReduceSum", _sum, lambda x, axes, keeps: np.sum(x, axis=axes, keepdims=keeps),
    keeps_alone=True,
)  # fmt: skip
reduction(
    "ReduceMax", _extreme(tw.max, True),
    lambda x, axes, keeps: np.max(x, axis=axes, keepdims=keeps), keeps_alone=True,
)  # fmt: skip
reduction(
    "ReduceMin", _extreme(tw.min, False),
    lambda x, axes, keeps: np.min(x, axis=axes, keepdims=keeps), keeps_alone=True,
)  # fmt: skip
reduction(
    "ReduceProd",
    lambda x, axes, keeps: tw.prod(x, axis=axes, keepdims=keeps, dtype=x.dtype),
    lambda x, axes, keeps: np.prod(x, axis=axes, keepdims=keeps), keeps_alone=True,
)  # fmt: skip
reduction("ReduceMean", _mean, keeps_alone=True)
reduction("ReduceL1", lambda x, axes, keeps: _sum(tw.abs(x), axes, keeps))
reduction("ReduceL2", _l2)
reduction("ReduceSumSquare", lambda x, axes, keeps: _sum(tw.square(x), axes, keeps))
reduction("ReduceLogSum", _log)
reduction("ReduceLogSumExp", _log_sum_exp)
