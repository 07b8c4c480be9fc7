"""Nodes that become a part of others, and patterns of exporters that are one operator."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.models.onnx import operators, patterns, products, types
from tilewright.models.onnx.nodes import Graph, Node
from tilewright.models.onnx.uses import Uses, compacted

#: what a convolution or layer computes where its sums are
PLAIN = {"Relu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "HardSwish": "hardswish"}
#: inputs of which operators make weights of their own
WEIGHTS = {"LSTM": (1, 2, 3, 7), "GRU": (1, 2, 3), "RNN": (1, 2, 3), "MatMulNBits": (1, 2, 3, 4)}


def fuse(graph: Graph) -> None:
    """Of each graph, those within nodes among them."""
    for node in graph.nodes:
        for body in node.graphs():
            fuse(body)
    _leave_casts(graph)
    uses = Uses(graph)
    for node in list(graph.nodes):
        if node.op == "BatchNormalization" and not node.domain:
            _into_convolution(uses, node)
    for node in list(graph.nodes):
        if node.op == "Conv" and not node.domain and node not in uses.gone:
            _bend(uses, node)
            if _add(uses, node):
                _bend(uses, node)
    patterns.match(uses)
    products.join(uses)
    compacted(uses)
    uses = Uses(graph)
    for layer in products.layers(uses):
        _bend(uses, layer)
    compacted(uses)
    for node in graph.nodes:
        node.operator = operators.OPERATORS[node.domain, node.op]
        places = WEIGHTS.get(node.op)
        if places is not None:
            weights = [name for i, name in enumerate(node.inputs) if i in places and name]
            node.fixed_weights = all(name in graph.constants for name in weights)


def _leave_casts(graph: Graph) -> None:
    """Takes out casts to the dtype that a value has."""
    known = types.dtypes(graph)
    gone: dict[str, str] = {}
    outputs = {one.name for one in graph.outputs}
    for node in graph.nodes:
        for body in node.graphs():
            outputs |= body.captured
    left = []
    for node in graph.nodes:
        node.inputs = [gone.get(name, name) for name in node.inputs]
        is_same = (
            node.op == "Cast"
            and not node.domain
            and known.get(node.inputs[0]) is not None
            and known[node.inputs[0]] == known.get(node.outputs[0])
            and node.outputs[0] not in outputs
        )
        if is_same:
            gone[node.outputs[0]] = node.inputs[0]
        else:
            left.append(node)
    graph.nodes = left


def _into_convolution(uses: Uses, norm: Node) -> None:
    """A norm by constants scales the filters in front of it."""
    if len([one for one in norm.outputs if one]) != 1 or norm.given("training_mode"):
        return
    conv = uses.alone_before(norm, 0, "Conv")
    if conv is None or len(norm.inputs) != 5:
        return
    given: list[Any] = [uses.constant(name) for name in (*norm.inputs[1:], conv.inputs[1])]
    bias: Any = uses.constant(conv.inputs[2]) if conv.has(2) else None
    if any(one is None for one in given) or (conv.has(2) and bias is None):
        return
    scale, offset, mean, variance, filters = given
    shapes = {one.shape for one in (scale, offset, mean, variance)}
    if shapes != {filters.shape[:1]} or filters.dtype not in (np.float32, np.float64):
        return
    with np.errstate(all="ignore"):
        wide = [one.astype(np.float64) for one in (scale, offset, mean, variance)]
        factor = wide[0] / np.sqrt(wide[3] + norm.number("epsilon", 1e-5))
        moved = wide[1] + ((0 if bias is None else bias.astype(np.float64)) - wide[2]) * factor
        scaled = filters * factor.reshape((-1, *(1,) * (filters.ndim - 1)))
        names = [uses.add(one.astype(filters.dtype)) for one in (scaled, moved)]
    conv.inputs = [conv.inputs[0], *names]
    uses.replace(norm, conv)


def _clip_bounds(uses: Uses, node: Node) -> tuple[float, float] | None:
    if node.version < 11:
        return node.number("min", -np.inf), node.number("max", np.inf)
    found = []
    for at, default in ((1, -np.inf), (2, np.inf)):
        value: Any = uses.constant(node.inputs[at]) if node.has(at) else np.array(default)
        if value is None or value.size != 1:
            return None
        found.append(float(value.reshape(-1)[0]))
    return found[0], found[1]


def _add(uses: Uses, conv: Node) -> bool:
    """The sum of a convolution that nothing else reads with another value; whether it was taken."""
    add = uses.alone_after(conv)
    if add is None or add.op != "Add" or add.domain or conv.activation[0] != "none":
        return False
    if add.version < 7:
        # Which says by attributes how it is broadcast.
        return False
    other = add.inputs[1] if add.inputs[0] == conv.outputs[0] else add.inputs[0]
    if other in uses.graph.constants:
        return False
    bias = conv.inputs[2] if conv.has(2) else ""
    conv.inputs = [*conv.inputs[:2], bias, other]
    uses.replace_at(add, conv)
    return True


def _bend(uses: Uses, conv: Node) -> None:
    """An activation behind a convolution or layer that nothing else reads."""
    after = uses.alone_after(conv)
    if after is None:
        # x * sigmoid(x)
        pair = uses.after(conv)
        if len(pair) == 2 and {one.op for one in pair} == {"Sigmoid", "Mul"}:
            sigmoid, product = sorted(pair, key=lambda one: one.op, reverse=True)
            if uses.alone_after(sigmoid) is product and not uses.is_output(conv.outputs[0]):
                conv.activation = ("silu", 0.01)
                uses.remove(sigmoid)
                uses.replace(product, conv)
        return
    if after.domain or after.inputs[0] != conv.outputs[0]:
        return
    if after.op in PLAIN:
        conv.activation = (PLAIN[after.op], 0.01)
    elif after.op == "LeakyRelu":
        conv.activation = ("leaky_relu", after.number("alpha", 0.01))
    elif after.op == "Gelu":
        tanh = after.string("approximate", "none") == "tanh"
        conv.activation = ("gelu_tanh" if tanh else "gelu", 0.01)
    elif after.op == "Clip" and conv.outputs[0] not in after.inputs[1:]:
        bounds = _clip_bounds(uses, after)
        kinds = {(0.0, 6.0): "relu6", (0.0, np.inf): "relu"}
        if bounds not in kinds:
            return
        conv.activation = (kinds[bounds], 0.01)
    else:
        return
    uses.replace(after, conv)
