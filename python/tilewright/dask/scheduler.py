"""A scheduler of Dask's for one device: tasks one after another in the calling thread.

A device takes calls in a queue and runs them in order, so threads that hand them over gain nothing.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dask import base, config
from dask.callbacks import Callback
from dask.highlevelgraph import HighLevelGraph
from dask.local import get_sync
from dask.utils import ensure_dict

from tilewright.dask.plan import Plan

_persist: Any = base.persist
_get_sync: Any = get_sync
_ensure_dict: Any = ensure_dict


def _is_watched(options: Mapping[str, Any]) -> bool:
    """Whether someone is to see or keep more than the results."""
    return bool(
        Callback.active
        or options.get("callbacks")
        or any(
            options.get(name) is not None or config.get(name, None)
            for name in ("cache", "rerun_exceptions_locally")
        )
    )


def _run(graph: Any, keys: Any, **options: Any) -> Any:
    if not isinstance(graph, Mapping):
        graph = graph.__dask_graph__()
    graph = _ensure_dict(graph)
    if _is_watched(options):
        return _get_sync(graph, keys, **options)
    return Plan(graph, keys).run()


class _Kept(NamedTuple):
    """The plan of a graph, for the keys and by the optimisation that it was last persisted by."""

    graph: weakref.ref[HighLevelGraph]
    optimize: Any
    keys: list[Any]
    plan: Plan


_kept: dict[int, _Kept] = {}


def _plan(collection: Any, is_optimized: bool) -> Plan | None:
    """How to compute a collection, kept as long as its graph, which nothing of Dask's changes. None
    where the collection is of a kind that Dask has to take apart."""
    kind = type(collection)
    if hasattr(kind, "expr") or hasattr(kind, "__dask_exprs__"):
        return None
    graph = collection.__dask_graph__()
    if not isinstance(graph, HighLevelGraph):
        return None
    optimize = getattr(collection, "__dask_optimize__", None) if is_optimized else None
    # A bound method would keep the collection.
    function = getattr(optimize, "__func__", optimize)
    keys = collection.__dask_keys__()
    number = id(graph)
    found = _kept.get(number)
    if found and found.graph() is graph and (found.optimize, found.keys) == (function, keys):
        return found.plan
    optimized: Any = graph if optimize is None else optimize(graph.copy(), keys)
    plan = Plan(_ensure_dict(optimized), keys)
    alive = weakref.ref(graph, lambda _, kept=_kept: kept.pop(number, None))  # type: ignore[misc]
    _kept[number] = _Kept(alive, function, keys, plan)
    return plan


class Get:
    """Computes a graph of Dask's by one device, for `scheduler=` and `dask.config.set(scheduler=)`.

    Tasks run in the calling thread, depth first from what is asked for, but the last readers of a
    result come as soon as they can; after them it is freed. With callbacks of Dask's, `cache` or
    `rerun_exceptions_locally` Dask's synchronous scheduler runs them instead.

    The plan of an array, bag or delayed value that is persisted is kept while its graph is there,
    so that the next persist() of the same one starts at once.
    """

    def __call__(self, graph: Any, keys: Any, **options: Any) -> Any:
        return _run(graph, keys, **options)

    def persist(
        self, collections: Sequence[Any], optimize_graph: bool = True, **options: Any
    ) -> Sequence[Any]:
        """What dask.persist() calls of a scheduler that has it."""
        if len(collections) == 1 and not _is_watched(options):
            plan = _plan(collections[0], optimize_graph)
            if plan is not None:
                rebuild, state = collections[0].__dask_postpersist__()
                return (rebuild(plan.results(), *state),)
        persisted: Sequence[Any] = _persist(
            *collections, traverse=False, optimize_graph=optimize_graph, scheduler=_run, **options
        )
        return persisted


get = Get()
