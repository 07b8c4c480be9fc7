"""What exporters take apart: norms, Gelu and attention, as one operator again."""

from __future__ import annotations

import math

from tilewright.models.onnx.nodes import FLOAT, INT, INTS, Node
from tilewright.models.onnx.operators.registry import OWN
from tilewright.models.onnx.uses import Uses


def match(uses: Uses) -> None:
    # Norms with a mean have those without in them.
    for op, joins in (("Add", (_layer_norm,)), ("Mul", (_gelu, _rms_norm)),
                      ("MatMul", (_attention,))):  # fmt: skip
        for node in list(uses.graph.nodes):
            if node.op == op and not node.domain:
                for join in joins:
                    if node not in uses.gone:
                        join(uses, node)


def _near(value: float | None, wanted: float) -> bool:
    return value is not None and math.isclose(value, wanted, rel_tol=1e-4)


def _with_number(uses: Uses, node: Node | None, *ops: str) -> tuple[str, float] | None:
    """The other operand of a node that has a number beside it."""
    if node is None or node.op not in ops or len(node.inputs) != 2:
        return None
    for own, other in ((1, 0), (0, 1)):
        value = uses.number(node.inputs[own])
        if value is not None and (own == 1 or node.op in ("Add", "Mul")):
            return node.inputs[other], value
    return None


def _gelu(uses: Uses, last: Node) -> None:
    """x * (erf(x / sqrt 2) + 1) * 0.5, in the orders that are written."""
    for at in (0, 1):
        first = last.inputs[1 - at]
        # 0.5 * (x * (...))
        outer = _with_number(uses, last, "Mul")
        if outer is not None and _near(outer[1], 0.5):
            inner = uses.giver(outer[0], "Mul")
            if inner is None:
                return
            for side in (0, 1):
                if _is_erf(uses, inner.inputs[side], inner.inputs[1 - side]):
                    uses.put(last, "Gelu", [inner.inputs[1 - side]], {})
                    return
            return
        # (x * 0.5) * (...)
        half = _with_number(uses, uses.giver(first, "Mul"), "Mul")
        if half is not None and _near(half[1], 0.5) and _is_erf(uses, last.inputs[at], half[0]):
            uses.put(last, "Gelu", [half[0]], {})
            return
        # x * ((...) * 0.5)
        scaled = _with_number(uses, uses.giver(last.inputs[at], "Mul"), "Mul")
        if scaled is not None and _near(scaled[1], 0.5) and _is_erf(uses, scaled[0], first):
            uses.put(last, "Gelu", [first], {})
            return


def _is_erf(uses: Uses, name: str, x: str) -> bool:
    """Whether it is erf(x / sqrt 2) + 1."""
    one = _with_number(uses, uses.giver(name, "Add"), "Add")
    if one is None or one[1] != 1:
        return False
    erf = uses.giver(one[0], "Erf")
    if erf is None:
        return False
    over = _with_number(uses, uses.giver(erf.inputs[0], "Div", "Mul"), "Div", "Mul")
    if over is None or over[0] != x:
        return False
    source = uses.giver(erf.inputs[0], "Div")
    return _near(over[1], math.sqrt(2) if source is not None else math.sqrt(0.5))


def _is_mean_of_last(uses: Uses, node: Node | None) -> bool:
    if node is None or not node.flag("keepdims", 1):
        return False
    axes = node.integers("axes")
    if axes is None and node.has(1):
        found = uses.constant(node.inputs[1])
        axes = None if found is None else tuple(int(one) for one in found.reshape(-1))
    return axes == (-1,)


def _layer_norm(uses: Uses, last: Node) -> None:
    """((x - mean) / sqrt(mean((x - mean) ** 2) + eps)) * scale + bias."""
    for at in (0, 1):
        scaled, bias = uses.giver(last.inputs[at], "Mul"), uses.constant(last.inputs[1 - at])
        if scaled is None or bias is None or bias.ndim != 1:
            continue
        for side in (0, 1):
            over, scale = uses.giver(scaled.inputs[side], "Div"), scaled.inputs[1 - side]
            given = uses.constant(scale)
            if over is None or given is None or given.shape != bias.shape:
                continue
            away = uses.giver(over.inputs[0], "Sub")
            root = uses.giver(over.inputs[1], "Sqrt")
            if away is None or root is None:
                continue
            eps = _with_number(uses, uses.giver(root.inputs[0], "Add"), "Add")
            mean = uses.giver(away.inputs[1], "ReduceMean")
            spread = None if eps is None else uses.giver(eps[0], "ReduceMean")
            if not _is_mean_of_last(uses, mean) or not _is_mean_of_last(uses, spread):
                continue
            assert mean is not None and spread is not None and eps is not None
            power = uses.giver(spread.inputs[0], "Pow", "Mul")
            if power is None or mean.inputs[0] != away.inputs[0]:
                continue
            if _is_square(uses, power, over.inputs[0]):
                uses.put(
                    last, "LayerNormalization", [away.inputs[0], scale, last.inputs[1 - at]],
                    {"epsilon": (FLOAT, eps[1]), "axis": (INT, -1)},
                )  # fmt: skip
                return


def _turned(uses: Uses, name: str) -> tuple[Node | None, str, tuple[int, ...]]:
    """The transpose of keys that gives a value, what is transposed, and how. Where what is
    transposed is scaled first, the value itself, as it is."""
    scaled = uses.giver(name, "Mul")
    for one in (name, *(scaled.inputs if scaled is not None else ())):
        node = uses.giver(one, "Transpose")
        perm = None if node is None else node.integers("perm")
        if node is not None and perm is not None and len(perm) == 4:
            return (node, node.inputs[0], perm) if one == name else (node, name, (0, 1, 2, 3))
    return None, "", ()


def _rms_norm(uses: Uses, last: Node) -> None:
    """x / sqrt(mean(x ** 2) + eps) * scale, by a quotient or by a factor."""
    for at in (0, 1):
        scale = uses.constant(last.inputs[at])
        inner = uses.giver(last.inputs[1 - at], "Mul", "Div")
        if scale is None or scale.ndim != 1 or inner is None:
            continue
        for side in (0, 1) if inner.op == "Mul" else (1,):
            x, root = inner.inputs[1 - side], uses.giver(inner.inputs[side], "Sqrt")
            if inner.op == "Mul":
                over = uses.giver(inner.inputs[side], "Div", "Reciprocal")
                if over is None or (over.op == "Div" and uses.number(over.inputs[0]) != 1):
                    continue
                root = uses.giver(over.inputs[-1], "Sqrt")
            eps = None if root is None else _with_number(
                uses, uses.giver(root.inputs[0], "Add"), "Add"
            )  # fmt: skip
            mean = None if eps is None else uses.giver(eps[0], "ReduceMean")
            if eps is None or mean is None or not _is_mean_of_last(uses, mean):
                continue
            power = uses.giver(mean.inputs[0], "Pow", "Mul")
            if power is not None and _is_square(uses, power, x):
                uses.put(
                    last, "RMSNormalization", [x, last.inputs[at]],
                    {"epsilon": (FLOAT, eps[1]), "axis": (INT, -1)},
                )  # fmt: skip
                return


def _is_square(uses: Uses, power: Node, x: str) -> bool:
    if power.op == "Pow":
        return power.inputs[0] == x and uses.number(power.inputs[1]) == 2
    return power.inputs == [x] * 2


def _attention(uses: Uses, last: Node) -> None:
    """softmax(q k^T * scale + mask) v, k^T being a transpose of heads."""
    soft = uses.alone_before(last, 0, "Softmax")
    if soft is None or soft.version < 13 or soft.integer("axis", -1) not in (-1, 3):
        return
    mask, name = "", soft.inputs[0]
    added = uses.alone_before(soft, 0, "Add")
    scores: Node | None = None
    if added is not None:
        for at in (0, 1):
            scores = uses.alone_before(added, at, "Div") or uses.alone_before(added, at, "Mul")
            scores = scores or uses.alone_before(added, at, "MatMul")
            if scores is not None:
                mask = added.inputs[1 - at]
                break
        if scores is None:
            return
    else:
        scores = uses.giver(name, "Div", "Mul", "MatMul")
    scale = 1.0
    if scores is not None and scores.op in ("Div", "Mul"):
        by = _with_number(uses, scores, scores.op)
        if by is None:
            return
        scale = 1 / by[1] if scores.op == "Div" and by[1] else by[1]
        product = uses.giver(by[0], "MatMul")
    else:
        product = scores
    if product is None or uses.alone_after(product) is None or not scale > 0:
        return
    turned, source, perm = _turned(uses, product.inputs[1])
    if turned is None:
        return
    # Heads stay where they are, rows and columns change places.
    back = uses.node_before(
        last, "Transpose", [source], {"perm": (INTS, (*perm[:2], perm[3], perm[2]))}
    )
    inputs = [product.inputs[0], back.outputs[0], last.inputs[1], *([mask] if mask else [])]
    uses.put(last, "Attended", inputs, {"scale": (FLOAT, scale)}, OWN)
