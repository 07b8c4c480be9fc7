"""Products by constant matrices: of one value by several, such as queries, keys and values, as one,
and each with the row that is added to it."""

from __future__ import annotations

import numpy as np

from tilewright.models.onnx.nodes import INT, INTS, Node
from tilewright.models.onnx.operators.registry import OWN
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


def layers(uses: Uses) -> list[Node]:
    """Makes layers of products by matrices of float16 and float32, with their biases."""
    made = []
    for node in list(uses.graph.nodes):
        if node.domain or node.op not in ("MatMul", "Gemm"):
            continue
        weight = uses.constant(node.inputs[1])
        if weight is None or weight.ndim != 2 or weight.dtype not in (np.float16, np.float32):
            continue
        layer = _of_gemm(uses, node) if node.op == "Gemm" else _of_matmul(uses, node)
        if layer is not None:
            made.append(layer)
    return made


def _of_matmul(uses: Uses, product: Node) -> Node | None:
    bias = _bias(uses, product)
    last, added = (product, []) if bias is None else (bias[0], [bias[1]])
    if bias is not None:
        uses.remove(product)
    return uses.put(last, "Dense", [*product.inputs, *added], {"transB": (INT, 0)}, OWN)


def _of_gemm(uses: Uses, gemm: Node) -> Node | None:
    if gemm.flag("transA") or gemm.number("alpha", 1.0) != 1:
        return None
    turned = gemm.flag("transB")
    weight = uses.graph.constants[gemm.inputs[1]]
    inputs = gemm.inputs[:2]
    if gemm.has(2) and gemm.number("beta", 1.0) != 0:
        row = uses.constant(gemm.inputs[2])
        results = weight.shape[0 if turned else 1]
        if row is None or row.shape != (results,) or gemm.number("beta", 1.0) != 1:
            return None
        inputs = gemm.inputs
    return uses.put(gemm, "Dense", inputs, {"transB": (INT, int(turned))}, OWN)


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
