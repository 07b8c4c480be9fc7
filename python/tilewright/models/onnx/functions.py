"""Functions that a model brings along, put in where they are called."""

from __future__ import annotations

from typing import Any

from tilewright.models.files.errors import shown
from tilewright.models.onnx.nodes import NodeError

#: nodes that a graph may have with its functions in place
MOST_NODES = 200_000
#: and bytes of them
MOST_BYTES = 1 << 28
DEEPEST = 16


class Functions:
    """By domain and name. Each call has names of its own."""

    def __init__(self, model: Any) -> None:
        self._functions = {(one.domain, one.name): one for one in model.functions}
        self._calls = 0
        self._nodes = self._bytes = 0

    def inlined(self, nodes: Any) -> list[Any]:
        """The nodes of a graph without calls of functions."""
        return self._graph(nodes, 0) if self._functions else list(nodes)

    def _graph(self, nodes: Any, deep: int) -> list[Any]:
        found = []
        for node in nodes:
            function = self._functions.get((node.domain, node.op_type))
            if function is None:
                found.append(self._with_bodies(node, deep))
            else:
                found += self._called(node, function, deep)
            self._nodes += 1
            if self._nodes > MOST_NODES:
                raise NodeError(f"its functions make more than {MOST_NODES} nodes")
        return found

    def _with_bodies(self, node: Any, deep: int) -> Any:
        if not any(one.g.node or one.graphs for one in node.attribute):
            return node
        copy = type(node)()
        copy.CopyFrom(node)
        for one in copy.attribute:
            if one.g.node:
                inner = self._graph(one.g.node, deep)
                del one.g.node[:]
                one.g.node.extend(inner)
        return copy

    def _called(self, call: Any, function: Any, deep: int) -> list[Any]:
        label = f"node {shown(call.name)} ({call.op_type})"
        if deep >= DEEPEST:
            raise NodeError(f"{label}: functions call each other more than {DEEPEST} deep")
        if len(call.input) > len(function.input) or len(call.output) > len(function.output):
            raise NodeError(f"{label}: it has more inputs or outputs than its function")
        self._bytes += sum(node.ByteSize() for node in function.node)
        if self._bytes > MOST_BYTES:
            raise NodeError(f"{label}: its functions make nodes of more than {MOST_BYTES} bytes")
        self._calls += 1
        prefix = f"{call.name or call.op_type}:{self._calls}:"
        names = dict.fromkeys(function.input, "")
        names |= dict(zip(function.input, call.input, strict=False))
        names |= {
            own: name for own, name in zip(function.output, call.output, strict=False) if name
        }
        attributes = {one.name: one for one in function.attribute_proto}
        attributes |= {one.name: one for one in call.attribute}
        body = [_renamed(node, names, prefix, attributes) for node in function.node]
        return self._graph([node for node in body if node.op_type], deep + 1)


def _renamed(node: Any, names: dict[str, str], prefix: str, given: dict[str, Any]) -> Any:
    """A node of a function by the names of one call, with the attributes that the call gives."""

    def name(own: str) -> str:
        return names.setdefault(own, prefix + own) if own else ""

    copy = type(node)()
    copy.CopyFrom(node)
    copy.name = prefix + (node.name or node.op_type)
    for field in (copy.input, copy.output):
        field[:] = [name(one) for one in field]
    kept = []
    for one in copy.attribute:
        if one.ref_attr_name:
            if one.ref_attr_name not in given:
                continue
            fresh = type(one)()
            fresh.CopyFrom(given[one.ref_attr_name])
            fresh.name = one.name
            kept.append(fresh)
            continue
        if one.HasField("g"):
            _rename_graph(one.g, names, prefix, given)
        kept.append(one)
    attributes = [type(one).FromString(one.SerializeToString()) for one in kept]
    del copy.attribute[:]
    copy.attribute.extend(attributes)
    return copy


def _rename_graph(graph: Any, names: dict[str, str], prefix: str, given: dict[str, Any]) -> None:
    for one in (*graph.input, *graph.output, *graph.initializer):
        one.name = names.setdefault(one.name, prefix + one.name)
    inner = [_renamed(node, names, prefix, given) for node in graph.node]
    # A body may give what it gets, which a node did outside.
    del graph.node[:]
    graph.node.extend(inner)
