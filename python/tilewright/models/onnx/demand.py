"""Which values of a graph are wanted on the host: shapes, axes, counts and what makes them."""

from __future__ import annotations

from tilewright.models.onnx.nodes import Graph, Node

MOST_ELEMENTS = 1024


def demanded(graph: Graph, wanted: set[str]) -> set[str]:
    """The names that are wanted on the host where these are, in graph.demanded too; names of the
    graphs around among them. Nodes learn whether they are computed there."""
    names = set(wanted)
    while True:
        before = len(names)
        for node in reversed(graph.nodes):
            _of_node(node, names)
        if len(names) == before:
            break
    graph.demanded = names
    # What shapes are computed of, which is few; tables are gathered from where they are used.
    hostish = {name for name, one in graph.constants.items() if one.size <= MOST_ELEMENTS}
    for node in graph.nodes:
        operator = node.operator
        given = [name for name in node.inputs if name]
        node.on_host = operator.anywhere and (
            any(name in names for name in node.outputs)
            or (
                not operator.grows
                and any(name not in graph.constants for name in given)
                and all(name in hostish for name in given)
            )
        )
        if node.on_host or (operator.as_is and node.op in ("Shape", "Size")):
            hostish.update(node.outputs)
    return names


def _of_node(node: Node, names: set[str]) -> None:
    operator = node.operator
    for at in operator.host:
        if node.has(at):
            names.add(node.inputs[at])
    if operator.anywhere and any(name in names for name in node.outputs):
        names.update(name for name in node.inputs if name)
    for body in node.graphs():
        wanted = {
            inner
            for inner, outer in _ways_out(node, body)
            if (outer in names if outer is not None else True)
        }
        while True:
            found = demanded(body, wanted)
            again = {
                inner
                for into, inner in _around(node, body)
                if into in found and inner not in wanted
            }
            if not again:
                break
            wanted |= again
        names.update(found & body.captured)
        for own, given in _ways_in(node, body):
            if own in found or any(
                inner in wanted for into, inner in _around(node, body) if into == own
            ):
                names.add(given)


def _ways_out(node: Node, body: Graph) -> list[tuple[str, str | None]]:
    """Outputs of a body with those of the node that they become, None where the host decides."""
    outs = [one.name for one in body.outputs]
    if node.op == "Loop":
        return [(outs[0], None), *zip(outs[1:], [*node.outputs, *[""] * len(outs)], strict=False)]
    return list(zip(outs, [*node.outputs, *[""] * len(outs)], strict=False))


def _states(node: Node) -> int:
    if node.op == "Loop":
        return max(len(node.inputs) - 2, 0)
    if node.op == "Scan":
        return len(node.inputs) - int(node.integer("num_scan_inputs"))
    return 0


def _around(node: Node, body: Graph) -> list[tuple[str, str]]:
    """Inputs of a body with the outputs that they are the next time."""
    count, skip = _states(node), 2 if node.op == "Loop" else 0
    ins = [one.name for one in body.inputs][skip : skip + count]
    outs = [one.name for one in body.outputs][1 if node.op == "Loop" else 0 :]
    return list(zip(ins, outs, strict=False))


def _ways_in(node: Node, body: Graph) -> list[tuple[str, str]]:
    """Inputs of a body with those of the node that they are first."""
    count, skip = _states(node), 2 if node.op == "Loop" else 0
    ins = [one.name for one in body.inputs][skip : skip + count]
    return [(own, given) for own, given in zip(ins, node.inputs[skip:], strict=False) if given]
