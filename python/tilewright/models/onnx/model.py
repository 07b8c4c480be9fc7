"""A file of ONNX as a function of Arrays."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright._core import InvalidArgument, OutOfMemory
from tilewright.array import Array
from tilewright.compiled import Replayed
from tilewright.models.files.errors import ModelError, fail, shown
from tilewright.models.files.mapped import to_path
from tilewright.models.onnx import protocol
from tilewright.models.onnx.demand import demanded
from tilewright.models.onnx.folding import fold, fold_all
from tilewright.models.onnx.functions import Functions
from tilewright.models.onnx.fusing import fuse
from tilewright.models.onnx.nodes import Graph, NodeError, Reader, Slot, versions_of
from tilewright.models.onnx.plan import Plan, State, check, lift, make_all
from tilewright.models.onnx.tensors import Files
from tilewright.namespace.creation import asarray
from tilewright.namespace.devices import device as chosen_device
from tilewright.namespace.devices import to_backend
from tilewright.operands import invalid

if TYPE_CHECKING:
    from tilewright.backend import Backend
    from tilewright.namespace.devices import Device

#: recordings that a model keeps, of as many shapes
MOST_KEPT = 8
#: models that a model keeps for inputs that have tensors in the file
MOST_OTHERS = 4
#: problems that a message tells
MOST_TOLD = 30
#: elements of an input that decides shapes, up to which its values tell recordings apart
MOST_DECIDING = 1024


class OnnxModel:
    """`model(x, y, name=z)` gives the outputs of a graph: an Array, or a tuple of several.

    Inputs are Arrays or what NumPy reads. With shapes that were there before, what the graph does
    is recorded at the second call and replayed from then on, where it reads nothing that the
    device has computed."""

    def __init__(self, path: Path, graph: Graph, plan: Plan, backend: Backend) -> None:
        self.path, self.device = path, backend
        self._plan = plan
        #: the inputs and outputs: name, dtype, and shape, in which what varies has a name or None
        self.inputs: tuple[Slot, ...] = tuple(graph.inputs)
        self.outputs: tuple[Slot, ...] = tuple(graph.outputs)
        #: inputs that need not be given, since the file has a tensor for each
        self.defaults: tuple[Slot, ...] = tuple(graph.defaults)
        self._others: OrderedDict[frozenset[str], OnnxModel] = OrderedDict()
        self._on_host = {one.name for one in self.inputs if one.name in plan.demanded}
        self._seen: OrderedDict[Any, Replayed | bool] = OrderedDict()
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"<OnnxModel {self.path.name}: {len(self._plan.steps)} nodes on {self.device!r}>"

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if len(arguments) == 1 and isinstance(arguments[0], dict) and not named:
            named, arguments = dict(arguments[0]), ()
        chosen = frozenset(one.name for one in self.defaults if one.name in named)
        if chosen:
            self._check_count(arguments)
            for slot, value in zip(self.inputs, arguments, strict=False):
                if slot.name in named:
                    invalid(self._call, f"the input {shown(slot.name)} is given twice")
                named[slot.name] = value
            return self._with(chosen)(named)
        given = self._bound(arguments, named)
        with self._lock:
            outputs = self._run(given)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def clear(self) -> None:
        """Lets go of the recordings, and of the memory that they keep."""
        with self._lock:
            self._seen.clear()
            self._others.clear()

    def _with(self, names: frozenset[str]) -> OnnxModel:
        """The model in which these are no constants, made of the file where it is asked for."""
        with self._lock:
            if names not in self._others:
                self._others[names] = open_onnx(self.path, self.device, names)
            self._others.move_to_end(names)
            while len(self._others) > MOST_OTHERS:
                self._others.popitem(last=False)
            return self._others[names]

    # Inputs --------------------------------------------------------------------------------------

    def _bound(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        self._check_count(arguments)
        slots = {one.name: one for one in self.inputs}
        given = dict(zip(slots, arguments, strict=False))
        for name, value in named.items():
            if name not in slots:
                invalid(self._call, f"it has no input {shown(name)}, expected {self._names}")
            if name in given:
                invalid(self._call, f"the input {shown(name)} is given twice")
            given[name] = value
        missing = [name for name in slots if name not in given]
        if missing:
            invalid(self._call, f"the inputs {', '.join(map(shown, missing))} are missing")
        return {name: self._checked(slots[name], given[name]) for name in slots}

    def _check_count(self, arguments: tuple[Any, ...]) -> None:
        if len(arguments) > len(self.inputs):
            invalid(
                self._call,
                f"{len(arguments)} inputs are given, expected {len(self.inputs)} at most",
            )

    @property
    def _call(self) -> str:
        return self.path.name

    @property
    def _names(self) -> str:
        return ", ".join(shown(one.name) for one in (*self.inputs, *self.defaults))

    def _checked(self, slot: Slot, value: Any) -> Any:
        is_plain = slot.kind == "tensor" and type(value) is np.ndarray
        if is_plain and slot.dtype == value.dtype and slot.shape in (None, value.shape):
            return value.copy() if slot.name in self._on_host else value
        where = f"the input {shown(slot.name)}"
        if slot.kind != "tensor" and (value is None or isinstance(value, list)):
            if value is None and slot.kind != "optional":
                invalid(self._call, f"{where} is None, expected a list")
            element = Slot(slot.name, slot.dtype, None)
            return value and [self._checked(element, one) for one in value]
        if not isinstance(value, Array):
            own = hasattr(value, "dtype")
            try:
                value = np.asarray(value)
            except ValueError as error:
                invalid(self._call, f"{where} is {shown(value)}, expected an array ({error})")
            if value.dtype.kind not in "biufcV":
                invalid(self._call, f"{where} is of {value.dtype}, expected numbers")
            if not own and slot.dtype is not None and value.dtype != slot.dtype:
                value = value.astype(slot.dtype)
        elif value.backend is not self.device:
            invalid(self._call, f"{where} is on {value.backend!r}, expected {self.device!r}")
        if slot.dtype is not None and slot.dtype != value.dtype:
            invalid(self._call, f"{where} is {value.dtype}, expected {slot.dtype}")
        if slot.shape is not None:
            self._check_shape(slot, where, tuple(value.shape))
        if slot.name in self._on_host:
            return value.numpy() if isinstance(value, Array) else value.copy()
        return value

    def _check_shape(self, slot: Slot, where: str, shape: tuple[int, ...]) -> None:
        assert slot.shape is not None
        is_right = len(shape) == len(slot.shape)
        for size, wanted in zip(shape, slot.shape, strict=False):
            # Names are not held to be the same everywhere: exporters use one for several.
            is_right = is_right and (not isinstance(wanted, int) or wanted == size)
        if not is_right:
            expected = ", ".join("?" if one is None else str(one) for one in slot.shape)
            invalid(self._call, f"{where} has shape {shape}, expected ({expected})")

    # Runs ----------------------------------------------------------------------------------------

    def _run(self, given: dict[str, Any]) -> list[Array]:
        hosts = {name: given[name] for name in self._on_host}
        key = _key_of(given, hosts)
        before = self._seen.pop(key, None) if key is not None else None
        if isinstance(before, Replayed) and before.is_there:
            self._seen[key] = before
            replayed: list[Array] = before.run(
                [one for name, one in given.items() if name not in hosts]
            )
            return replayed
        names = [name for name in given if name not in hosts]
        if before is not None and before is not False and names:
            # Shapes that come up again.
            arrays = [asarray(given[name], device=self.device) for name in names]

            def again(*inputs: Array) -> list[Array]:
                return self._steps({**hosts, **dict(zip(names, inputs, strict=True))})[0]

            try:
                made = Replayed(self.device, again, arrays)
            except (InvalidArgument, OutOfMemory):
                # It reads on the way, or there is no room for a recording's memory.
                before = False
            else:
                self._kept(key, made)
                found: list[Array] = made.run(arrays)
                return found
        env = {
            name: one if name in hosts else _sent(one, self.device) for name, one in given.items()
        }
        shared = [one for one in given.values() if isinstance(one, Array)]
        results, reads = self._steps(env)
        # What is written to a result changes no input, no weight and no other result.
        shared += self._plan.uploaded.values()
        for i, one in enumerate(results):
            if not isinstance(one, Array):
                continue
            if any(one.overlaps(other) for other in shared):
                results[i] = one.copy()
            shared.append(results[i])
        if key is not None:
            self._kept(key, before is not False and not reads)
        return results

    def _kept(self, key: Any, what: Replayed | bool) -> None:
        self._seen[key] = what
        while len(self._seen) > MOST_KEPT:
            self._seen.popitem(last=False)

    def _steps(self, env: dict[str, Any]) -> tuple[list[Array], bool]:
        state = State(self.device, str(self.path))
        with chosen_device(self.device), np.errstate(all="ignore"):
            found = self._plan.run(state, env)
            return [_sent(one, self.device) for one in found], state.reads


def _key_of(given: dict[str, Any], hosts: dict[str, Any]) -> Any:
    """What tells recordings apart, or None where there can be none."""
    # Names of dtypes would take longer than all else here.
    key: list[Any] = []
    for name, one in given.items():
        if not hasattr(one, "shape"):
            return None
        key += (one.shape, one.dtype)
        if name in hosts:
            if one.size > MOST_DECIDING:
                return None
            key.append(one.tobytes())
    return tuple(key)


def _sent(value: Any, backend: Backend) -> Any:
    """On the device, sequences by their elements, and nothing as it is."""
    if isinstance(value, list):
        return [_sent(one, backend) for one in value]
    return None if value is None else asarray(value, device=backend)


def open_onnx(
    path: str | os.PathLike[str], device: Device | None = None, given: Collection[str] = ()
) -> OnnxModel:
    """The model of a file of ONNX on a device; `given` are inputs whose tensors in the file are not
    taken."""
    where = to_path(path)
    model = protocol.parsed(where)
    backend = to_backend("load", device)
    try:
        reader = Reader(Files(where), versions_of(where, model), Functions(model))
        graph = reader.graph(model.graph, given=given)
    except NodeError as error:
        fail(where, str(error))
    problems = reader.problems
    check(graph, set(), problems)
    _told(where, problems)
    lift(graph, problems)
    _told(where, problems)
    try:
        fuse(graph)
        demanded(graph, set())
    except NodeError as error:
        fail(where, str(error))
    make_all(graph, problems)
    _told(where, problems)
    plan = Plan(graph)
    state = State(backend, str(where))
    try:
        with np.errstate(all="ignore"):
            fold_all(graph, state)
            fold(plan, state)
        _finish(plan, backend, where)
    except ModelError:
        raise
    except InvalidArgument as error:
        # Of a tensor that the device does not take.
        fail(where, str(error))
    return OnnxModel(where, graph, plan, backend)


def _finish(plan: Plan, backend: Backend, where: Path) -> None:
    plan.schedule()
    there = backend.device.memory_bytes
    needed = sum(one.nbytes for one in plan.constants.values())
    if there and needed > there:
        raise OutOfMemory(
            f"load: the tensors of {where} take {needed / 1e9:.2f} GB, and {backend.device.name} "
            f"has {there / 1e9:.2f} GB"
        )
    for step in plan.steps:
        for body in step.node.graphs():
            _finish(body.plan, backend, where)
    plan.upload(backend)


def _told(path: Path, problems: list[str]) -> None:
    if not problems:
        return
    told = list(dict.fromkeys(problems))
    more = f"\n  and {len(told) - MOST_TOLD} more" if len(told) > MOST_TOLD else ""
    if len(told) == 1:
        fail(path, told[0])
    raise ModelError(f"{path}: " + "\n  ".join(told[:MOST_TOLD]) + more)
