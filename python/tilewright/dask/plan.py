"""A graph of Dask's as calls one after another, each with what it frees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from dask import _task_spec as spec

from tilewright.dask.order import Graph, order

_Node: Any = spec.GraphNode
_Task: Any = spec.Task
_Alias: Any = spec.Alias
_Data: Any = spec.DataNode
_Reference: Any = spec.TaskRef
# What calls the tasks that Dask has fused, in an order that it finds anew at each call.
_fused: Any = spec._execute_subgraph
_convert: Any = spec.convert_legacy_graph


class Result(int):
    """The result of the step of this number."""


class Step(NamedTuple):
    call: Callable[..., Any]
    given: list[Any]  # the arguments, those by name last
    reads: tuple[tuple[int, int], ...]  # which of them are results, and of which steps
    names: tuple[str, ...]
    frees: tuple[int, ...]


class Plan:
    """What computes `keys`, which may be in nested lists, of a graph. It keeps no part of the graph
    but functions and arguments, and can run any number of times, in several threads too."""

    def __init__(self, graph: Graph, keys: Any) -> None:
        self._keys = keys
        self._steps: list[Step] = []
        graph = _of_nodes(graph)
        wanted = list(dict.fromkeys(_flat(keys)))
        found: dict[Any, Any] = {}
        for key in order(graph, wanted, {}):
            found[key] = self._add(graph[key], found)
        self._results = {key: found[key] for key in wanted}
        self._free_after_last_reader()

    def run(self) -> Any:
        """The results, in tuples where keys are in lists."""
        return _taken(self._keys, self.results())

    def results(self) -> dict[Any, Any]:
        """The results by their keys."""
        done: list[Any] = []
        for call, given, reads, names, frees in self._steps:
            values = given.copy()
            for i, number in reads:
                values[i] = done[number]
            if names:
                n = len(values) - len(names)
                done.append(call(*values[:n], **dict(zip(names, values[n:], strict=True))))
            else:
                done.append(call(*values))
            for number in frees:
                done[number] = None
        return {
            key: done[one] if type(one) is Result else one for key, one in self._results.items()
        }

    def _add(self, node: Any, found: Mapping[Any, Any]) -> Any:
        """Appends what computes a node; its Result, or its value where that is known."""
        if isinstance(node, _Data):
            return node.value
        if isinstance(node, _Alias):
            return found[node.target]
        if not isinstance(node, _Task) or type(node).__call__ is not _Task.__call__:
            names = tuple(node.dependencies)
            return self._step(_call_node, [node, names, *(found[one] for one in names)])
        given = [self._argument(one, found) for one in node.args]
        if node.func is _fused and isinstance(given[0], dict):
            inner, key, inputs = given[:3]
            return self._add_fused(inner, key, dict(zip(inputs, given[3:], strict=True)))
        given += (self._argument(one, found) for one in node.kwargs.values())
        return self._step(node.func, given, tuple(node.kwargs))

    def _add_fused(self, inner: Graph, key: Any, found: dict[Any, Any]) -> Any:
        """Appends what computes a key of a graph within a task, in the scope `found`."""
        last, names = None, list(inner)
        for one in reversed(names) if names[0] == key else names:
            node = inner[one]
            is_next = last is None or last in node.dependencies
            if one in found or not is_next or not node.dependencies <= found.keys():
                break
            found[one] = self._add(node, found)
            last = one
        if key not in found:  # no chain
            for one in order(inner, [key], found):
                found[one] = self._add(inner[one], found)
        return found[key]

    def _argument(self, one: Any, found: Mapping[Any, Any]) -> Any:
        if isinstance(one, _Reference):
            return found[one.key]
        return self._add(one, found) if isinstance(one, _Node) else one

    def _step(
        self, call: Callable[..., Any], given: list[Any], names: tuple[str, ...] = ()
    ) -> Result:
        reads = []
        for i, one in enumerate(given):
            if type(one) is Result:
                reads.append((i, int(one)))
                given[i] = None
        self._steps.append(Step(call, given, tuple(reads), names, ()))
        return Result(len(self._steps) - 1)

    def _free_after_last_reader(self) -> None:
        kept = {int(one) for one in self._results.values() if type(one) is Result}
        for i in range(len(self._steps) - 1, -1, -1):
            step = self._steps[i]
            read = {number for _, number in step.reads} | {i}
            self._steps[i] = Step(*step[:4], tuple(read - kept))
            kept |= read


def _call_node(node: Any, names: tuple[Any, ...], *values: Any) -> Any:
    return node(dict(zip(names, values, strict=True)))


def _taken(keys: Any, results: Mapping[Any, Any]) -> Any:
    if isinstance(keys, list):
        return tuple(_taken(one, results) for one in keys)
    return results[keys]


def _flat(keys: Any) -> Iterator[Any]:
    if isinstance(keys, list):
        for one in keys:
            yield from _flat(one)
    else:
        yield keys


def _of_nodes(graph: Graph) -> Graph:
    if all(isinstance(node, _Node) for node in graph.values()):
        return graph
    converted: Graph = _convert(graph)
    return converted
