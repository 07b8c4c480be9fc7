"""tilewright.dask.get on graphs of any kind, beside Dask's own scheduler."""

from __future__ import annotations

import io
import threading
import weakref
from operator import add
from typing import Any, ClassVar

import dask
import pytest
import tilewright.dask
from dask import _task_spec as spec
from dask.callbacks import Callback
from dask.delayed import delayed
from dask.diagnostics import ProgressBar
from dask.local import get_sync
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.dask import get
from tilewright.dask.order import order

_Task: Any = spec.Task
_Alias: Any = spec.Alias
_Data: Any = spec.DataNode
_List: Any = spec.List
_Dict: Any = spec.Dict
_Reference: Any = spec.TaskRef
_get_sync: Any = get_sync


def _inc(x: int) -> int:
    return x + 1


def _joined(*parts: Any, **named: Any) -> tuple[Any, ...]:
    return (*parts, *sorted(named.items()))


class _Doubled(_Task):  # type: ignore[misc]
    """A task with a way of its own to be called."""

    def __call__(self, values: Any = ()) -> Any:
        return 2 * super().__call__(values)


def test_graphs_of_tuples() -> None:
    graph = {
        "x": 1,
        "y": (_inc, "x"),
        "z": ["x", "y", 3],
        ("w", 0): (add, (_inc, "y"), "x"),
        "same": ("w", 0),
    }
    for keys in ("y", ["z"], [["x", ["y"]], ("w", 0), "same"], []):
        assert get(graph, keys) == _get_sync(graph, keys)
    assert get(graph, [["x", ["y"]], ("w", 0), "same"]) == ((1, (2,)), 4, 4)


def test_graphs_of_nodes() -> None:
    x, y = _Reference("x"), _Reference("y")
    graph = {
        "x": _Data("x", 5),
        "y": _Task("y", _inc, x),
        "alias": _Alias("alias", "y"),
        "args": _Task("args", _joined, x, _List(x, y, _List(y)), 7, one=y, two=_Dict({"k": x})),
        "own": _Doubled("own", add, x, y),
        "none": _Task("none", _joined),
    }
    keys = [["alias", "args"], "own", "none", "x"]
    assert get(graph, keys) == _get_sync(graph, keys)
    assert get(graph, keys) == (
        (6, (5, [5, 6, [6]], 7, ("one", 6), ("two", {"k": 5}))), 22, (), 5,
    )  # fmt: skip


def test_tasks_within_tasks() -> None:
    """What Dask fuses: chains, trees, those of tasks that are fused themselves; names in one task
    are none of another's."""
    x, y, z = _Reference("x"), _Reference("y"), _Reference("z")
    chain = spec.Task.fuse(_Task("y", _inc, x), _Task("z", _inc, y), key="chain")
    tree = spec.Task.fuse(
        _Task("z", _inc, _Reference("chain")),
        _Task("y", add, z, x),
        _Task("top", _joined, y, z, x),
        key="tree",
    )
    again = spec.Task.fuse(chain, tree, key="again")
    graph = {
        "x": _Data("x", 1),
        "y": _Task("y", lambda: 100),
        "z": _Alias("z", "chain"),
        "chain": chain,
        "tree": tree,
        "again": again,
    }
    keys = ["x", "y", "z", "chain", "tree", "again"]
    assert get(graph, keys) == _get_sync(graph, keys)
    assert get(graph, keys) == (1, 100, 3, 3, (5, 4, 1), (5, 4, 1))


def test_what_is_missing() -> None:
    with pytest.raises(KeyError, match="nowhere"):
        get({"x": 1}, ["x", "nowhere"])
    graph = {"y": _Task("y", _inc, _Reference("x"))}
    for one in (get, _get_sync):
        with pytest.raises(ValueError, match="Missing dependency x"):
            one(graph, "y")


@pytest.mark.parametrize("length", [1, 2, 5])
def test_cycles(length: int) -> None:
    graph: dict[str, Any] = {f"x{i}": (_inc, f"x{(i + 1) % length}") for i in range(length)}
    graph["y"] = (add, "x0", "x0")
    for one in (get, _get_sync):
        with pytest.raises(RuntimeError, match="Cycle detected between the following keys"):
            one(graph, "y")


def test_long_chains() -> None:
    graph: dict[str, Any] = {f"x{i}": (_inc, f"x{i - 1}") for i in range(1, 5000)}
    assert get(graph | {"x0": 0}, "x4999") == 4999


def test_errors_are_those_of_tasks() -> None:
    with pytest.raises(ZeroDivisionError):
        delayed(lambda x: 1 // x)(0).compute(scheduler=get)
    with pytest.raises(KeyboardInterrupt):
        get({"x": (_interrupted,)}, "x")


def _interrupted() -> None:
    raise KeyboardInterrupt


class _Seen(Callback):
    def __init__(self) -> None:
        self.calls: list[Any] = []

    def _start(self, dsk: Any) -> None:
        self.calls.append(("start", len(dsk)))

    def _start_state(self, dsk: Any, state: Any) -> None:
        self.calls.append(("state", sorted(state["ready"])))

    def _pretask(self, key: Any, dsk: Any, state: Any) -> None:
        self.calls.append(("before", key))

    def _posttask(self, key: Any, result: Any, dsk: Any, state: Any, worker: Any) -> None:
        self.calls.append(("after", key, result))

    def _finish(self, dsk: Any, state: Any, errored: bool) -> None:
        self.calls.append(("finish", errored))


@pytest.mark.parametrize("registered", [False, True])
def test_callbacks(registered: bool) -> None:
    graph = {"x": 1, "y": (_inc, "x"), "z": (_inc, "y")}
    seen = _Seen()
    if registered:
        with seen:
            assert get(graph, "z") == 3
    else:
        assert get(graph, "z", callbacks=[seen._callback]) == 3
    assert seen.calls == [
        ("start", 3), ("state", ["y"]), ("before", "y"), ("after", "y", 2),
        ("before", "z"), ("after", "z", 3), ("finish", False),
    ]  # fmt: skip
    seen.calls.clear()
    with seen, pytest.raises(ZeroDivisionError):
        dask.persist(delayed(lambda x: 1 // x)(0), scheduler=get)
    assert seen.calls[-1] == ("finish", True)


def test_progress_bar() -> None:
    shown = io.StringIO()
    with ProgressBar(out=shown):
        assert dask.delayed(_inc)(1).persist(scheduler=get).compute(scheduler=get) == 2
    assert "100% Completed" in shown.getvalue()


def test_options_of_other_schedulers() -> None:
    kept: dict[str, Any] = {"y": 10}
    assert get({"z": _Task("z", _inc, _Reference("y"))}, "z", cache=kept) == 11
    y = delayed(_inc)(1)
    assert y.compute(scheduler=get, num_workers=3, pool=None, chunksize=2) == 2
    assert y.persist(scheduler=get, num_workers=3).compute(scheduler="sync") == 2
    calls: list[int] = []

    def failing() -> None:
        calls.append(1)
        raise ZeroDivisionError

    for is_again, count in ((False, 1), (True, 1)):
        calls.clear()
        with pytest.raises(ZeroDivisionError):
            get({"x": (failing,)}, "x", rerun_exceptions_locally=is_again)
        assert len(calls) == count


def test_it_works_in_the_calling_thread() -> None:
    here = delayed(threading.get_ident)()
    with dask.config.set(scheduler=get):
        assert here.compute() == threading.get_ident()
        found: list[int] = []
        thread = threading.Thread(target=lambda: found.append(here.persist().compute()))
        thread.start()
        thread.join()
        assert found == [thread.ident]
        # A task that computes something itself.
        assert delayed(lambda: delayed(_inc)(1).compute())().compute() == 2


def test_threads_share_a_plan() -> None:
    y = delayed(sum)([delayed(_inc)(i) for i in range(50)])
    found: list[int] = []

    def compute() -> None:
        found.extend(y.persist(scheduler=get).compute(scheduler=get) for _ in range(50))

    threads = [threading.Thread(target=compute) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == [sum(range(1, 51))] * 200


class _Result:
    """What knows how many of its kind there are."""

    alive: ClassVar[weakref.WeakSet[_Result]] = weakref.WeakSet()
    most = 0

    def __init__(self, *read: Any) -> None:
        _Result.alive.add(self)
        _Result.most = max(_Result.most, len(_Result.alive))
        self.value = 1 + sum(one.value if isinstance(one, _Result) else one for one in read)


def _value(*read: _Result) -> int:
    return sum(one.value for one in read)


@pytest.mark.parametrize("count", [3, 40])
def test_results_are_freed(count: int) -> None:
    """A result that several read is freed before the next one is made."""
    graph: dict[Any, Any] = {}
    for i in range(count):
        graph["loaded", i] = (_Result, i)
        for kind in range(3):
            graph["read", kind, i] = (_value, ("loaded", i))
    for kind in range(3):
        graph["all", kind] = (sum, [("read", kind, i) for i in range(count)])
    _Result.most = 0
    assert get(graph, [("all", kind) for kind in range(3)]) == (count * (count + 1) // 2,) * 3
    # The one that was read last and the next one.
    assert _Result.most <= 2
    assert not _Result.alive


@settings(max_examples=200, deadline=None)
@given(
    reads=st.lists(st.lists(st.integers(0, 11), max_size=4), min_size=1, max_size=12),
    wanted=st.lists(st.integers(0, 11), min_size=1, max_size=4),
)
def test_any_graph(reads: list[list[int]], wanted: list[int]) -> None:
    """Each task once and after what it reads, and the same results."""
    n = len(reads)
    graph: dict[Any, Any] = {
        i: _Task(i, _joined, i, *(_Reference(one % i) for one in some if i))
        if len(some) != 1
        else (_Data(i, i) if some[0] % 2 or not i else _Alias(i, some[0] % i))
        for i, some in enumerate(reads)
    }
    keys = [one % n for one in wanted]
    ordered = order(graph, keys, {})
    assert len(set(ordered)) == len(ordered)
    for at, key in enumerate(ordered):
        known = {*ordered[:at]}
        assert all(one in known for one in graph[key].dependencies)
    assert get(graph, keys) == _get_sync(graph, keys)


def test_it_is_public() -> None:
    assert tilewright.dask.get is get and "get" in tilewright.dask.__all__
