"""Who gives and who reads each value of a graph, while nodes are joined."""

from __future__ import annotations

from typing import Any

from tilewright.models.onnx.nodes import Graph, Node
from tilewright.models.onnx.tensors import Host


class Uses:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.gone: set[Node] = set()
        self._giver: dict[str, Node] = {}
        self._readers: dict[str, list[Node]] = {}
        #: what is read from outside of these nodes
        self._kept = {one.name for one in graph.outputs}
        self._made = 0
        for node in graph.nodes:
            for name in node.outputs:
                self._giver[name] = node
            for name in node.inputs:
                self._readers.setdefault(name, []).append(node)
            for body in node.graphs():
                self._kept |= body.captured

    def constant(self, name: str) -> Host | None:
        return self.graph.constants.get(name)

    def number(self, name: str) -> float | None:
        """A constant of one element."""
        found = self.constant(name)
        return float(found.reshape(-1)[0]) if found is not None and found.size == 1 else None

    def name(self) -> str:
        """One that no value has."""
        self._made += 1
        name = f"tilewright:{self._made}"
        while name in self.graph.constants or name in self._giver:
            name += "'"
        return name

    def add(self, values: Host) -> str:
        name = self.name()
        self.graph.constants[name] = values
        return name

    def is_output(self, name: str) -> bool:
        return name in self._kept

    def giver(self, name: str, *ops: str) -> Node | None:
        """The node that gives it, where it is one of these operators."""
        found = self._giver.get(name)
        return found if found is not None and not found.domain and found.op in ops else None

    def after(self, node: Node) -> list[Node]:
        """Who reads the first output, once for each time."""
        return self._readers.get(node.outputs[0], [])

    def alone_after(self, node: Node) -> Node | None:
        """The one node that reads the one output."""
        readers = self.after(node)
        outputs = [name for name in node.outputs if name]
        if len(readers) != 1 or len(outputs) != 1 or self.is_output(outputs[0]):
            return None
        return readers[0]

    def alone_before(self, node: Node, at: int, op: str) -> Node | None:
        """The node that gives an input, where nobody else reads that."""
        found = self.giver(node.inputs[at], op)
        return found if found is not None and self.alone_after(found) is node else None

    def remove(self, node: Node) -> None:
        self.gone.add(node)
        for name in node.inputs:
            readers = self._readers.get(name, [])
            if node in readers:
                readers.remove(node)

    def replace(self, last: Node, by: Node) -> None:
        """`by` gives what `last` did, which goes."""
        self.remove(last)
        by.outputs = [last.outputs[0]]
        self._giver[last.outputs[0]] = by

    def replace_at(self, last: Node, by: Node) -> None:
        """The same with `by` moved there, which reads what `last` did beside it."""
        nodes = self.graph.nodes
        nodes.remove(by)
        nodes[nodes.index(last)] = by
        self.replace(last, by)
        for name in by.inputs:
            readers = self._readers.setdefault(name, [])
            if name and by not in readers:
                readers.append(by)

    def node_before(
        self, last: Node, op: str, inputs: list[str], attributes: dict[str, Any]
    ) -> Node:
        """A new node in front of another one."""
        name = self.name()
        made = Node(op, "", last.version, last.name, inputs, [name], attributes)
        self.graph.nodes.insert(self.graph.nodes.index(last), made)
        self._giver[name] = made
        for one in inputs:
            self._readers.setdefault(one, []).append(made)
        return made

    def put(
        self, last: Node, op: str, inputs: list[str], attributes: dict[str, Any], domain: str = ""
    ) -> Node:
        """A new node in the place of one that goes."""
        made = Node(op, domain, last.version, last.name, inputs, [last.outputs[0]], attributes)
        self.graph.nodes[self.graph.nodes.index(last)] = made
        self.remove(last)
        self._giver[last.outputs[0]] = made
        for name in inputs:
            self._readers.setdefault(name, []).append(made)
        return made


def compacted(uses: Uses) -> None:
    """Without the nodes that are gone, and those that nothing reads any more."""
    nodes = [node for node in uses.graph.nodes if node not in uses.gone]
    while True:
        read = {name for node in nodes for name in node.inputs}
        left = [
            node
            for node in nodes
            if any(name in read or uses.is_output(name) for name in node.outputs if name)
        ]
        if len(left) == len(nodes):
            break
        nodes = left
    uses.graph.nodes = nodes
