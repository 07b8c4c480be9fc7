"""A graph as steps that run one after the other, and what is constant of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.models.files.errors import ModelError, shown
from tilewright.models.onnx import operators, protocol
from tilewright.models.onnx.nodes import Graph, Node, NodeError
from tilewright.models.onnx.operators.registry import OWN
from tilewright.namespace.creation import asarray

if TYPE_CHECKING:
    from tilewright.backend import Backend
    from tilewright.models.onnx.operators.registry import Run

#: what takes constants of 4 bits, since it makes others of them
OF_NARROW = ("DequantizeLinear", "Cast")
#: behind the name of a value on the host, its copy on the device
THERE = "\0"


@dataclass
class State:
    """One run of a model: where it runs, and whether it read what the device had computed."""

    backend: Backend
    file: str
    reads: bool = False


@dataclass
class Step:
    node: Node
    inputs: list[str]
    outputs: list[str]
    run: Run
    #: what nothing needs behind it
    frees: list[str] = field(default_factory=list)


class Plan:
    """A graph that is checked, in the order of its nodes."""

    def __init__(self, graph: Graph) -> None:
        # Not the graph, whose plan it may be: nothing is to wait for the garbage collector.
        self.nodes, self.demanded = graph.nodes, graph.demanded
        self.steps: list[Step] = []
        self.outputs = [one.name for one in graph.outputs]
        #: on the host, and what is on the device of them
        self.constants: dict[str, Any] = dict(graph.constants)
        self.uploaded: dict[str, Array] = {}

    def schedule(self) -> None:
        """Says where each value is used last."""
        self.steps = [
            Step(node, node.inputs, node.outputs, node.run)
            for node in self.nodes
            if not all(name in self.constants or name in self.uploaded for name in node.outputs)
        ]
        for node in self.nodes:
            # It knows its node.
            del node.run
        stays = {*self.outputs, *self.constants, *self.uploaded}
        last: dict[str, int] = {}
        for i, step in enumerate(self.steps):
            for name in (*step.outputs, *step.inputs, *_captured(step.node)):
                last[name] = i
        for name, i in last.items():
            if name and name not in stays:
                self.steps[i].frees.append(name)

    def upload(self, backend: Backend) -> None:
        """Brings constants to the device that steps take there, and lets go of others' copies on
        the host."""
        on_device, on_host = set(self.outputs), set(self.demanded)
        for step in self.steps:
            operator = step.node.operator
            for i, name in enumerate(step.inputs):
                if step.node.on_host or i in operator.host or operator.as_is:
                    on_host.add(name)
                else:
                    on_device.add(name)
            for name in _captured(step.node):
                on_device.add(name)
                on_host.add(name)
        for name, value in list(self.constants.items()):
            if name in on_device and name not in self.uploaded:
                self.uploaded[name] = asarray(value, device=backend)
            if name not in on_host:
                del self.constants[name]

    def run(self, state: State, env: dict[str, Any]) -> list[Any]:
        """The outputs, of inputs and captured names in `env`, which is used up."""
        for step in self.steps:
            found = self.step(state, step, env)
            for name, value in zip(step.outputs, found, strict=False):
                if name:
                    env[name] = value
            del found
            for name in step.frees:
                env.pop(name, None)
                env.pop(name + THERE, None)
        return [self.value(name, env) for name in self.outputs]

    def value(self, name: str, env: dict[str, Any]) -> Any:
        if name in env:
            return env[name]
        found = self.uploaded.get(name)
        return self.constants[name] if found is None else found

    def step(self, state: State, step: Step, env: dict[str, Any]) -> Sequence[Any]:
        node = step.node
        operator = node.operator
        try:
            values = [
                self._operand(state, node, i, name, env) if name else None
                for i, name in enumerate(step.inputs)
            ]
            if operator.reads:
                state.reads = True
            found = step.run(state, self, env, *values) if operator.control else step.run(*values)
        except Exception as error:
            raise named(state.file, node, error) from error
        # A list is a sequence.
        every = found if isinstance(found, tuple) else (found,)
        if any(step.outputs[len(every) :]):
            raise ModelError(
                f"{state.file}: {node}: it has {len(step.outputs)} outputs, expected {len(every)}"
            )
        return every

    def _operand(self, state: State, node: Node, at: int, name: str, env: dict[str, Any]) -> Any:
        operator = node.operator
        is_wanted_here = node.on_host or at in operator.host
        if operator.as_is and not is_wanted_here:
            return self.value(name, env)
        if is_wanted_here:
            value = env[name] if name in env else self.constants.get(name)
            if value is None and name not in env:
                value = self.uploaded[name]
            if isinstance(value, Array):
                state.reads = True
                return value.numpy()
            return value
        value = self.value(name, env)
        if isinstance(value, np.ndarray):
            # On both sides from now on, for others who want it here or there.
            there = env.get(name + THERE)
            if there is None:
                there = env[name + THERE] = asarray(value, device=state.backend)
            return there
        return value


def named(file: str, node: Node, error: Exception) -> Exception:
    """The same error by the file and the node."""
    where = f"{file}: {node}"
    if str(error).startswith(f"{file}: "):
        return error
    if isinstance(error, NodeError):
        return ModelError(f"{file}: {error}")
    if isinstance(error, _core.Error):
        return type(error)(f"{where}: {error}")
    if isinstance(error, MemoryError):
        return _core.OutOfMemory(f"{where}: the host has no memory for it")
    return ModelError(f"{where}: it does not take its inputs ({type(error).__name__}: {error})")


def _captured(node: Node) -> set[str]:
    return {name for body in node.graphs() for name in body.captured}


# Checks ------------------------------------------------------------------------------------------


def check(
    graph: Graph, around: set[str], problems: list[str], narrow: frozenset[str] = frozenset()
) -> None:
    """Looks operators up, and whether each name is there where it is read; finds what comes from
    the graphs around."""
    there = {*graph.constants, *(one.name for one in graph.inputs)}

    def read(name: str, who: str) -> None:
        if name in there:
            return
        if name in around:
            graph.captured.add(name)
        else:
            problems.append(f"{who} reads {shown(name)}, which nothing before it gives")

    for node in graph.nodes:
        _check_operator(node, problems)
        for name in node.inputs:
            if name:
                read(name, str(node))
            if name in graph.narrow and node.op not in OF_NARROW:
                problems.append(f"{node} reads {shown(name)}, whose 4 bits are for {OF_NARROW[0]}")
        for body in node.graphs():
            check(body, there | around, problems, narrow | graph.narrow)
            for name in sorted(body.captured):
                read(name, str(node))
        for name in node.outputs:
            if name in there:
                problems.append(f"{node} gives {shown(name)}, which is there already")
            if name:
                there.add(name)
    for one in graph.outputs:
        read(one.name, "the graph")
        if one.name in graph.narrow:
            problems.append(f"the graph gives {shown(one.name)}, which has 4 bits")
    for name in sorted(graph.captured & narrow):
        problems.append(f"a graph within a node reads {shown(name)}, which has 4 bits")


def _check_operator(node: Node, problems: list[str]) -> None:
    domain = "" if node.domain == "ai.onnx" else node.domain
    found = None if domain == OWN else operators.OPERATORS.get((domain, node.op))
    full = f"{domain}.{node.op}" if domain else node.op
    if found is None:
        problems.append(f"{node}: the operator {full} is not there")
        return
    node.operator = found
    known = protocol.schema(domain, node.op, node.version)
    if known is None:
        if not domain and node.op not in operators.UNLISTED:
            problems.append(f"{node}: version {node.version} of the operators has no {node.op}")
        return
    count = len(node.inputs)
    if not known.min_input <= count <= known.max_input:
        problems.append(
            f"{node}: it has {count} inputs, expected {known.min_input} to {known.max_input}"
        )
    for i in range(min(known.min_input, count)):
        if node.inputs[i] or i >= len(known.inputs):
            continue
        if known.inputs[i].option.name == "Single":
            problems.append(f"{node}: its input {known.inputs[i].name} is missing")
    if not known.min_output <= len(node.outputs) <= known.max_output:
        problems.append(
            f"{node}: it has {len(node.outputs)} outputs, expected {known.min_output} to "
            f"{known.max_output}"
        )
    for name in node.attribute_names():
        if name not in known.attributes:
            problems.append(
                f"{node}: the attribute {shown(name)} is not known in version {node.version}"
            )


def lift(graph: Graph, problems: list[str]) -> None:
    """Makes tensors of nodes that are constants."""
    left = []
    for node in graph.nodes:
        for body in node.graphs():
            lift(body, problems)
        if node.op != "Constant" or node.domain:
            left.append(node)
            continue
        try:
            graph.constants[node.outputs[0]] = node.operator.make(node)()
        except ModelError as error:
            problems.append(str(error))
    graph.nodes = left


def make_all(graph: Graph, problems: list[str]) -> None:
    """Makes functions of the nodes, inner graphs first."""
    for node in graph.nodes:
        for body in node.graphs():
            make_all(body, problems)
            body.plan = Plan(body)
        try:
            node.run = node.operator.make(node)
        except ModelError as error:
            problems.append(str(error))
        except Exception as error:
            problems.append(f"{node}: {type(error).__name__}: {error}")
