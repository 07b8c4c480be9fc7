"""Sequences of tensors, which are lists here, and optional values, of which nothing is None."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilewright as tw
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.common import axis_in, ints, on_host, scalar
from tilewright.models.onnx.operators.control import captured
from tilewright.models.onnx.operators.registry import Run, operator, plain


def _list(given: Any) -> list[Any]:
    if not isinstance(given, list):
        raise ModelError("its input is a tensor or nothing, expected a sequence")
    return given


def _place(given: Any, length: int, default: int) -> int:
    at = default if given is None else int(scalar(given))
    if not -length <= at < max(length, 1):
        raise ModelError(f"its position is {at}, of a sequence of {length}")
    return at + length if at < 0 else at


def _construct(*values: Any) -> Any:
    return (list(values),)


@operator("SequenceEmpty", as_is=True)
def _empty(node: Node) -> Run:
    if node.given("dtype"):
        node.dtype("dtype")
    return lambda: ([],)


def _at(sequence: Any, position: Any) -> Any:
    values = _list(sequence)
    if not values:
        raise ModelError("its sequence is empty, expected an element")
    return values[_place(position, len(values), 0)]


def _insert(sequence: Any, value: Any, position: Any = None) -> Any:
    values = list(_list(sequence))
    values.insert(_place(position, len(values) + 1, len(values)), value)
    return (values,)


def _erase(sequence: Any, position: Any = None) -> Any:
    values = list(_list(sequence))
    if not values:
        raise ModelError("its sequence is empty, expected an element")
    del values[_place(position, len(values), len(values) - 1)]
    return (values,)


def _length(sequence: Any) -> Any:
    return np.array(len(_list(sequence)), np.int64)


plain("SequenceConstruct", _construct, as_is=True)
plain("SequenceAt", _at, as_is=True, host=(1,))
plain("SequenceInsert", _insert, as_is=True, host=(2,))
plain("SequenceErase", _erase, as_is=True, host=(1,))
plain("SequenceLength", _length, as_is=True)


@operator("SplitToSequence", host=(1,))
def _split(node: Node) -> Run:
    axis, keeps = node.integer("axis", 0), node.flag("keepdims", 1)

    def run(x: Any, split: Any = None) -> Any:
        at = axis_in(axis, x.ndim)
        size = x.shape[at]
        if split is None:
            sizes: tuple[int, ...] = (1,) * size
        elif np.asarray(split).ndim == 0:
            step = int(scalar(split))
            if step < 1:
                raise ModelError(f"split is {step}, expected 1 or more")
            sizes = tuple(min(step, size - i) for i in range(0, size, step))
        else:
            sizes = ints(split)
        if sum(sizes) != size or min(sizes, default=0) < 0:
            raise ModelError(f"split is {sizes}, of {size} elements")
        found, first = [], 0
        for one in sizes:
            part = x[(slice(None),) * at + (slice(first, first + one),)]
            found.append(tw.squeeze(part, axis=at) if split is None and not keeps else part)
            first += one
        return (found,)

    return run


@operator("ConcatFromSequence", as_is=True)
def _concat(node: Node) -> Run:
    axis, is_new = node.integer("axis"), node.flag("new_axis")

    def run(sequence: Any) -> Any:
        values = _list(sequence)
        if not values:
            raise ModelError("its sequence is empty, expected an element")
        at = axis_in(axis, values[0].ndim + is_new)
        if on_host(*values):
            return (np.stack if is_new else np.concatenate)(values, at)
        arrays = [tw.asarray(one) for one in values]
        return tw.stack(arrays, axis=at) if is_new else tw.concat(arrays, axis=at)

    return run


@operator("SequenceMap", as_is=True, control=True)
def _map(node: Node) -> Run:
    body = node.graph("body")
    if len(body.inputs) != len(node.inputs) or len(body.outputs) != len(node.outputs):
        node.fail(f"its body has {len(body.inputs)} inputs, expected {len(node.inputs)}")

    def run(state: Any, plan: Any, env: dict[str, Any], first: Any, *others: Any) -> Any:
        count = len(_list(first))
        for one in others:
            if isinstance(one, list) and len(one) != count:
                raise ModelError(f"its sequences have {count} and {len(one)} elements")
        around = captured(body, plan, env)
        names = [one.name for one in body.inputs]
        found: list[list[Any]] = [[] for _ in body.outputs]
        for i in range(count):
            values = [one[i] if isinstance(one, list) else one for one in (first, *others)]
            made = body.plan.run(state, {**around, **dict(zip(names, values, strict=True))})
            for each, value in zip(found, made, strict=True):
                each.append(value)
        return tuple(found)

    return run


@operator("Optional", as_is=True)
def _optional(node: Node) -> Run:
    return lambda value=None: (value,)


def _has(value: Any = None) -> Any:
    return np.array(value is not None)


def _get(value: Any) -> Any:
    if value is None:
        raise ModelError("its input is nothing, expected a value")
    return (value,)


plain("OptionalHasElement", _has, as_is=True)
plain("OptionalGetElement", _get, as_is=True)
