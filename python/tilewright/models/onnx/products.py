"""Products of one value by several matrices, such as queries, keys and values, as one."""

from __future__ import annotations

import numpy as np

from tilewright.models.onnx.nodes import INT, INTS, Node
from tilewright.models.onnx.uses import Uses


def join(uses: Uses) -> None:
    groups: dict[str, list[Node]] = {}
    for node in uses.graph.nodes:
        if node.op == "MatMul" and not node.domain and node not in uses.gone:
            weight = uses.constant(node.inputs[1])
            if weight is not None and weight.ndim == 2 and not uses.is_output(node.outputs[0]):
                groups.setdefault(node.inputs[0], []).append(node)
    for nodes in groups.values():
        weights = [uses.graph.constants[node.inputs[1]] for node in nodes]
        kinds = {(one.shape[0], one.dtype) for one in weights}
        if len(nodes) > 1 and len(kinds) == 1:
            _joined(uses, nodes)


def _joined(uses: Uses, nodes: list[Node]) -> None:
    """In the place of the first of them, with the additions behind them where all have one."""
    weights = [uses.graph.constants[node.inputs[1]] for node in nodes]
    first = nodes[0]
    product = Node("MatMul", "", first.version, first.name, [], [], {})
    made = [product]
    product.inputs = [first.inputs[0], uses.add(np.concatenate(weights, axis=1))]
    outputs = [node.outputs[0] for node in nodes]
    biases = [_bias(uses, node) for node in nodes]
    adds = [one for one in biases if one is not None]
    if len(adds) == len(nodes):
        values = np.concatenate([uses.graph.constants[name] for _, name in adds])
        add = Node("Add", "", first.version, f"{first.name} Add", [], [], {})
        product.outputs = [uses.name()]
        add.inputs = [product.outputs[0], uses.add(values)]
        outputs = [node.outputs[0] for node, _ in adds]
        made.append(add)
        for node, _ in adds:
            uses.remove(node)
    made[-1].outputs = [uses.name()]
    sizes = tuple(one.shape[1] for one in weights)
    made.append(
        Node(
            "Split",
            "",
            first.version,
            f"{first.name} Split",
            made[-1].outputs,
            outputs,
            {"axis": (INT, -1), "split": (INTS, sizes)},
        )
    )
    at = uses.graph.nodes.index(first)
    uses.graph.nodes[at:at] = made
    for node in nodes:
        uses.remove(node)


def _bias(uses: Uses, product: Node) -> tuple[Node, str] | None:
    """The addition of a constant row that alone reads a product."""
    add = uses.alone_after(product)
    if add is None or add.op != "Add" or add.domain:
        return None
    name = add.inputs[1] if add.inputs[0] == product.outputs[0] else add.inputs[0]
    bias = uses.constant(name)
    weight = uses.graph.constants[product.inputs[1]]
    is_row = bias is not None and bias.shape == weight.shape[1:] and bias.dtype == weight.dtype
    return (add, name) if is_row else None
