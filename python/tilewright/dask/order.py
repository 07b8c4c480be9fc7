"""In which order tasks of Dask's run one after another, so that few results are there at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from dask import _task_spec as spec
from dask.core import getcycle

Graph = Mapping[Any, Any]

_Node: Any = spec.GraphNode
_Task: Any = spec.Task
_Data: Any = spec.DataNode
_Reference: Any = spec.TaskRef
_getcycle: Any = getcycle

# With more readers left it is not looked at what they would free.
MANY = 8


def order(graph: Graph, keys: Sequence[Any], there: Mapping[Any, Any]) -> Sequence[Any]:
    """What `keys` need: depth first, but for readers that free what they read. `there` is known."""
    reads = _depth_first(graph, keys, there)
    if sum(map(len, reads.values())) == len(set(chain.from_iterable(reads.values()))):
        return list(reads)
    return _Walk(reads, keys, [one for one in reads if isinstance(graph[one], _Data)]).order()


class _Walk:
    def __init__(
        self, reads: Mapping[Any, Sequence[Any]], keys: Sequence[Any], values: Sequence[Any]
    ) -> None:
        self.reads = reads
        self.readers: dict[Any, list[Any]] = {key: [] for key in reads}
        for key, needed in reads.items():
            for one in needed:
                self.readers[one].append(key)
        # How many results a task waits for, how many readers of a result still wait, and how many
        # have not run.
        self.missing = {key: len(needed) for key, needed in reads.items()}
        self.left = {key: len(some) for key, some in self.readers.items()}
        self.waiting = self.left | dict.fromkeys(keys, -1)  # what is asked for is never freed
        self.done: dict[Any, None] = dict.fromkeys(values)

    def order(self) -> Sequence[Any]:
        for start in self.reads:
            following = [start]
            while following:
                key = following.pop()
                if key not in self.done:
                    for one in self._ran(key):
                        following += reversed(self._freeing(one))
        return list(self.done)

    def _ran(self, key: Any) -> Sequence[Any]:
        """Notes that a task ran; the results that can be freed since, perhaps."""
        self.done[key] = None
        touched = list(self.reads[key])
        for one in touched:
            self.left[one] -= 1
        for reader in self.readers[key]:
            self.missing[reader] -= 1
            if not self.missing[reader]:
                for one in self.reads[reader]:
                    self.waiting[one] -= 1
                    touched.append(one)
        return touched

    def _freeing(self, key: Any) -> Sequence[Any]:
        """The readers of a result that are to run now, so that it is freed."""
        if self.waiting[key] or not 0 < self.left[key] <= MANY:
            return ()
        readers = [one for one in self.readers[key] if one not in self.done]
        if len(readers) > 1:
            others = {one for reader in readers for one in self.reads[reader]} - {key}
            if not all(self._is_freed_by(readers, one) for one in others):
                return ()
        return readers

    def _is_freed_by(self, readers: Sequence[Any], key: Any) -> bool:
        return (
            not self.waiting[key]
            and self.left[key] <= len(readers)
            and all(one in readers or one in self.done for one in self.readers[key])
        )


def _depth_first(
    graph: Graph, keys: Sequence[Any], there: Mapping[Any, Any]
) -> dict[Any, Sequence[Any]]:
    """What `keys` need, each after what it reads, and the tasks among that."""
    reads: dict[Any, Sequence[Any]] = {}
    begun: set[Any] = set()
    for start in keys:
        if start in reads:
            continue
        path = [(start, _references(graph[start]), 0)]
        begun.add(start)
        while path:
            key, needed, at = path.pop()
            while at < len(needed) and (needed[at] in reads or needed[at] in there):
                at += 1
            if at == len(needed):
                reads[key] = [
                    one for one in needed if one not in there and not isinstance(graph[one], _Data)
                ]
                continue
            one = needed[at]
            if one in begun:
                raise RuntimeError(_cycle(graph, one))
            if one not in graph:
                raise ValueError(f"Missing dependency {one} for dependents {{{key!r}}}")
            begun.add(one)
            path += [(key, needed, at + 1), (one, _references(graph[one]), 0)]
    return reads


def _references(node: Any) -> Sequence[Any]:
    """The keys of what a node reads, in the order of its arguments."""
    known = tuple(node.dependencies)
    if len(known) < 2 or not isinstance(node, _Task):
        return known
    keys: list[Any] = []
    for one in (*node.args, *node.kwargs.values()):
        if isinstance(one, _Reference):
            keys.append(one.key)
        elif isinstance(one, _Node):
            keys += _references(one)
    distinct = tuple(dict.fromkeys(keys))
    return distinct if len(distinct) == len(known) else known


def _cycle(graph: Graph, key: Any) -> str:
    keys = _getcycle(graph, [key])
    return "Cycle detected between the following keys:\n  -> " + "\n  -> ".join(map(str, keys))
