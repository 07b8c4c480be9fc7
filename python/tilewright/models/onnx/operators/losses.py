"""Losses of classes."""

from __future__ import annotations

from typing import Any

import tilewright as tw
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.registry import Run, operator

WAYS = ("none", "mean", "sum")


def _loss(x: Any, target: Any, weight: Any, reduction: str, ignored: int | None) -> Any:
    if x.ndim < 2 or tuple(target.shape) != (x.shape[0], *x.shape[2:]):
        raise ModelError(f"target has shape {tuple(target.shape)}, of an input {tuple(x.shape)}")
    classes = target.astype("int64")
    left_out = None if ignored is None else classes == ignored
    if left_out is not None:
        classes = tw.where(left_out, tw.zeros_like(classes), classes)
    found = -tw.take_along_axis(x, tw.expand_dims(classes, axis=1), axis=1).reshape(target.shape)
    weights = None
    if weight is not None:
        weights = tw.take(weight, classes.reshape(-1), axis=0).reshape(target.shape)
    if left_out is not None:
        ones = tw.ones_like(found) if weights is None else weights
        weights = tw.where(left_out, tw.zeros_like(found), ones)
    if weights is not None:
        found = found * weights
    if reduction == "none":
        return found
    total = tw.sum(found, dtype=x.dtype)
    if reduction == "sum":
        return total
    if weights is None:
        return tw.mean(found)
    return total / tw.sum(weights, dtype=x.dtype)


@operator("NegativeLogLikelihoodLoss")
def _nll(node: Node) -> Run:
    reduction, ignored = node.string("reduction", "mean", WAYS), node.maybe("ignore_index")
    return lambda x, target, weight=None: _loss(x, target, weight, reduction, ignored)


@operator("SoftmaxCrossEntropyLoss")
def _cross_entropy(node: Node) -> Run:
    reduction, ignored = node.string("reduction", "mean", WAYS), node.maybe("ignore_index")

    def run(x: Any, target: Any, weight: Any = None) -> Any:
        logs = tw.nn.log_softmax(x, 1)
        return _loss(logs, target, weight, reduction, ignored), logs

    return run
