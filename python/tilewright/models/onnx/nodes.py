"""Nodes and graphs of a file, as they are read: names, attributes and tensors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from tilewright.models.files.errors import ModelError, shown
from tilewright.models.onnx import protocol
from tilewright.models.onnx.dtypes import KNOWN, dtype_of, name_of
from tilewright.models.onnx.tensors import NIBBLES, Files, Host, read_tensor

if TYPE_CHECKING:
    from tilewright.models.onnx.functions import Functions
    from tilewright.models.onnx.operators.registry import Operator, Run
    from tilewright.models.onnx.plan import Plan

#: AttributeProto.AttributeType
FLOAT, INT, STRING, TENSOR, GRAPH, FLOATS, INTS, STRINGS = 1, 2, 3, 4, 5, 6, 7, 8
TYPE = 13
KINDS = {
    1: "a float", 2: "an integer", 3: "a string", 4: "a tensor", 5: "a graph", 6: "floats",
    7: "integers", 8: "strings", 9: "tensors", 10: "graphs", 11: "a sparse tensor",
    12: "sparse tensors", 13: "a type", 14: "types",
}  # fmt: skip
DEEPEST = 16


class NodeError(ModelError):
    """What a node asks for that is not there, without the file's name."""


@dataclass
class Slot:
    """An input or output of a graph."""

    name: str
    dtype: Any
    #: a number, a name or None for each axis; None where the rank is not said
    shape: tuple[int | str | None, ...] | None
    #: "tensor", or what else it is
    kind: str = "tensor"


@dataclass
class Graph:
    name: str
    nodes: list[Node] = field(default_factory=list)
    inputs: list[Slot] = field(default_factory=list)
    #: inputs that are constants, since the file has a tensor for each
    defaults: list[Slot] = field(default_factory=list)
    outputs: list[Slot] = field(default_factory=list)
    constants: dict[str, Host] = field(default_factory=dict)
    #: constants of 4 bits, which are held in 8
    narrow: set[str] = field(default_factory=set)
    #: names that come from the graphs around
    captured: set[str] = field(default_factory=set)
    #: names that are wanted on the host
    demanded: set[str] = field(default_factory=set)
    #: of a graph within a node
    plan: Plan = field(init=False)


class Node:
    """One call of an operator."""

    def __init__(
        self, op: str, domain: str, version: int, name: str, inputs: Sequence[str],
        outputs: Sequence[str], attributes: dict[str, Any],
    ) -> None:  # fmt: skip
        self.op, self.domain, self.version = op, domain, version
        self.name = name or (outputs[0] if outputs else "")
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self._attributes = attributes
        self.operator: Operator
        self.run: Run
        #: computed on the host, as shapes are
        self.on_host = False
        #: what a convolution goes on with: a name of tw.Activation, and its slope
        self.activation: tuple[str, float] = ("none", 0.01)
        #: its weights are the same at each call
        self.fixed_weights = False

    def __str__(self) -> str:
        return f"node {shown(self.name)} ({self.op})"

    def has(self, at: int) -> bool:
        return at < len(self.inputs) and self.inputs[at] != ""

    def wants(self, at: int) -> bool:
        return at < len(self.outputs) and self.outputs[at] != ""

    def fail(self, what: str) -> NoReturn:
        raise NodeError(f"{self}: {what}")

    # Attributes ----------------------------------------------------------------------------------

    def attribute_names(self) -> list[str]:
        return list(self._attributes)

    def given(self, name: str) -> bool:
        return name in self._attributes

    def _get(self, name: str, kind: int, default: Any) -> Any:
        if name not in self._attributes:
            return default
        got, value = self._attributes[name]
        if got != kind:
            self.fail(
                f"the attribute {name} is {KINDS.get(got, 'unknown')}, expected {KINDS[kind]}"
            )
        return value

    def integer(self, name: str, default: Any = None) -> Any:
        found = self._get(name, INT, default)
        if found is None:
            self.fail(f"the attribute {name} is missing, expected an integer")
        return found

    def maybe(self, name: str) -> int | None:
        found: int | None = self._get(name, INT, None)
        return found

    def flag(self, name: str, default: int = 0) -> bool:
        found = self.integer(name, default)
        if found not in (0, 1):
            self.fail(f"the attribute {name} is {found}, expected 0 or 1")
        return bool(found)

    def number(self, name: str, default: float | None = None) -> float:
        found = self._get(name, FLOAT, default)
        if found is None:
            self.fail(f"the attribute {name} is missing, expected a float")
        return float(found)

    def string(self, name: str, default: str, among: Iterable[str] = ()) -> str:
        found: str = self._get(name, STRING, default)
        if among and found not in among:
            self.fail(f"the attribute {name} is {shown(found)}, expected one of {', '.join(among)}")
        return found

    def integers(self, name: str) -> tuple[int, ...] | None:
        found: tuple[int, ...] | None = self._get(name, INTS, None)
        return found

    def numbers(self, name: str) -> tuple[float, ...] | None:
        found: tuple[float, ...] | None = self._get(name, FLOATS, None)
        return found

    def strings(self, name: str) -> tuple[str, ...] | None:
        found: tuple[str, ...] | None = self._get(name, STRINGS, None)
        return found

    def tensor(self, name: str) -> Host | None:
        found: Host | None = self._get(name, TENSOR, None)
        return found

    def graph(self, name: str) -> Graph:
        found = self._get(name, GRAPH, None)
        if found is None:
            self.fail(f"the attribute {name} is missing, expected a graph")
        return found  # type: ignore[no-any-return]

    def graphs(self) -> list[Graph]:
        return [value for kind, value in self._attributes.values() if kind == GRAPH]

    def dtype(self, name: str, default: int | None = None) -> Any:
        """An attribute that is an element's kind."""
        kind = self.integer(name, default)
        found = dtype_of(kind)
        if found is None:
            self.fail(f"the attribute {name} is {name_of(kind)}, expected {KNOWN}")
        return found

    def only(self, name: str, expected: Any) -> None:
        """Refuses an attribute that is there and says something else."""
        if name in self._attributes and self._attributes[name][1] != expected:
            found = self._attributes[name][1]
            self.fail(f"the attribute {name} is {shown(found)}, expected {shown(expected)}")


def text(raw: Any) -> str:
    return raw if isinstance(raw, str) else bytes(raw).decode("utf-8", "replace")


class Reader:
    """Makes graphs of protos; what is wrong with nodes is gathered, to be told at once."""

    def __init__(self, files: Files, versions: dict[str, int], functions: Functions) -> None:
        self.files, self.versions, self.functions = files, versions, functions
        self.problems: list[str] = []

    def attribute(self, node: str, proto: Any, deep: int) -> Any:
        kind = proto.type
        where = f"{node}: the attribute {shown(proto.name)}"
        if kind == FLOAT:
            return proto.f
        if kind == INT:
            return proto.i
        if kind == STRING:
            return text(proto.s)
        if kind == TENSOR and proto.t.data_type in NIBBLES:
            raise NodeError(f"{where} is {name_of(proto.t.data_type)}, expected {KNOWN}")
        if kind == TENSOR:
            return read_tensor(self.files, where, proto.t)
        if kind == GRAPH:
            return self.graph(proto.g, deep + 1)
        if kind == FLOATS:
            return tuple(proto.floats)
        if kind == INTS:
            return tuple(proto.ints)
        if kind == STRINGS:
            return tuple(text(one) for one in proto.strings)
        if kind == TYPE:
            return proto.tp
        raise NodeError(f"{where} is {KINDS.get(kind, f'of the unknown kind {kind}')}")

    def node(self, proto: Any, deep: int) -> Node | None:
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        name = proto.name or (proto.output[0] if proto.output else "")
        label = f"node {shown(name)} ({proto.op_type})"
        try:
            attributes = {}
            for one in proto.attribute:
                if one.ref_attr_name:
                    raise NodeError(f"{label}: an attribute refers to a function's")
                attributes[one.name] = (one.type, self.attribute(label, one, deep))
        except NodeError as error:
            self.problems.append(str(error))
            return None
        except ModelError as error:
            # Of a tensor among them, which names the file already.
            self.problems.append(str(error).removeprefix(f"{self.files.path}: "))
            return None
        return Node(
            proto.op_type, domain, self.versions.get(domain, 0), proto.name, proto.input,
            proto.output, attributes,
        )  # fmt: skip

    def graph(self, proto: Any, deep: int = 0, given: Collection[str] = ()) -> Graph:
        """Of a model, `given` are inputs that come with each call, though the file has a tensor
        for where they do not."""
        if deep > DEEPEST:
            raise NodeError(f"graphs lie more than {DEEPEST} deep in each other")
        graph = Graph(proto.name)
        for one in proto.initializer:
            if not one.name:
                raise NodeError("an initializer has no name")
            graph.constants[one.name] = read_tensor(
                self.files, f"the tensor {shown(one.name)}", one
            )
            if one.data_type in NIBBLES:
                graph.narrow.add(one.name)
        for one in proto.sparse_initializer:
            self.problems.append(
                f"the tensor {shown(one.values.name)} is sparse, expected a dense one"
            )
        for one in proto.input:
            if one.name not in graph.constants or deep:
                graph.inputs.append(self.slot(one))
            elif one.name in given:
                del graph.constants[one.name]
                graph.narrow.discard(one.name)
                graph.inputs.append(self.slot(one))
            else:
                graph.defaults.append(self.slot(one))
        graph.outputs = [self.slot(one) for one in proto.output]
        for each in proto.node if deep else self.functions.inlined(proto.node):
            found = self.node(each, deep)
            if found is not None:
                graph.nodes.append(found)
        return graph

    def slot(self, proto: Any) -> Slot:
        kind = proto.type.WhichOneof("value")
        if kind is None:
            return Slot(proto.name, None, None)
        if kind != "tensor_type":
            return Slot(proto.name, None, None, kind.removesuffix("_type"))
        tensor = proto.type.tensor_type
        dtype = dtype_of(tensor.elem_type)
        if dtype is None and tensor.elem_type:
            self.problems.append(
                f"{shown(proto.name)} is {name_of(tensor.elem_type)}, expected {KNOWN}"
            )
        if not tensor.HasField("shape"):
            return Slot(proto.name, dtype, None)
        shape: list[int | str | None] = []
        for one in tensor.shape.dim:
            match one.WhichOneof("value"):
                case "dim_value":
                    shape.append(one.dim_value if one.dim_value >= 0 else None)
                case "dim_param":
                    shape.append(one.dim_param or None)
                case _:
                    shape.append(None)
        return Slot(proto.name, dtype, tuple(shape))


def versions_of(path: Any, model: Any) -> dict[str, int]:
    """The version of each domain that a model was made by."""
    found = {}
    for one in model.opset_import:
        domain = "" if one.domain == "ai.onnx" else one.domain
        found[domain] = int(one.version)
    newest = protocol.newest()
    version = found.get("", 0 if found else 1)
    if version and not 7 <= version <= newest:
        raise ModelError(
            f"{path}: it was made by version {version} of ONNX's operators, expected 7 to {newest}"
        )
    return found
