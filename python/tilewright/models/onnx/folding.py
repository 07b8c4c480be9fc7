"""What is the same at each call is computed once, at load."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.models.onnx.nodes import Graph, Node
from tilewright.models.onnx.operators.common import NoRoomError, room
from tilewright.models.onnx.plan import Plan, State, Step
from tilewright.namespace.devices import device

#: as many elements as the product of those of a node's constants may be
MOST_PRODUCT = 1 << 27
#: as many bytes as a result may have that a file asks for by a shape alone
MOST_BYTES = 1 << 22


def fold(plan: Plan, state: State) -> None:
    """Takes nodes whose inputs are constants out of a plan. What fails is left to the run, which
    names it."""
    for node in plan.nodes:
        if not _is_constant(plan, node):
            continue
        on_host = node.on_host
        # Small ones stay there, whoever needs them.
        node.on_host = node.operator.anywhere and not any(
            name in plan.uploaded for name in node.inputs
        )
        try:
            with room(MOST_BYTES), device(state.backend):
                found = plan.step(state, Step(node, node.inputs, node.outputs, node.run), {})
        except (_core.Error, NoRoomError):
            node.on_host = on_host
            continue
        if any(one is None or isinstance(one, list) for one in found):
            continue
        for name, value in zip(node.outputs, found, strict=False):
            if not name:
                continue
            if isinstance(value, Array):
                plan.uploaded[name] = value
            else:
                plan.constants[name] = _own(value)


def _own(value: Any) -> Any:
    """Without the memory that a small view keeps."""
    found = np.asarray(value)
    if 0 in found.strides and found.size > 1:
        return np.ascontiguousarray(found)
    return found


def _is_constant(plan: Plan, node: Node) -> bool:
    if node.operator.control or node.operator.reads:
        return False
    sizes: list[int] = []
    for name in node.inputs:
        if not name:
            continue
        value = plan.constants.get(name)
        if value is None:
            value = plan.uploaded.get(name)
        if value is None:
            return False
        sizes.append(max(math.prod(value.shape), 1))
    if node.op == "Concat":
        return sum(sizes) <= MOST_PRODUCT
    return math.prod(sizes) <= MOST_PRODUCT


def fold_all(graph: Graph, state: State) -> None:
    for node in graph.nodes:
        for body in node.graphs():
            fold_all(body, state)
            fold(body.plan, state)
