"""tilewright.dask.get: what it computes on a device is what Dask's schedulers do, in the calling
thread and with few chunks at a time."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import tilewright as tw
from dask.delayed import delayed
from tilewright import Backend
from tilewright.dask import get

from .arrays import on, same, values
from .test_dask_chunks import CASES, computed_as_by_numpy

SIDE = 64  # of the chunks whose memory is measured
CHUNK = SIDE * SIDE * 4

WAYS: dict[str, Callable[[Any], Any]] = {
    "compute": lambda y: y.compute(),
    "as it is": lambda y: y.compute(optimize_graph=False),
    "persist": lambda y: y.persist().compute(),
    "persist again": lambda y: (y.persist(), y.persist())[1].compute(),
    "with others": lambda y: dask.compute(y + 1, {"this": [y]})[1]["this"][0],
}


@pytest.fixture
def here(be: Backend) -> Iterator[Backend]:
    with tw.device(be), dask.config.set(scheduler=get):
        yield be


@pytest.mark.sampled(24)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES)
def test_as_numpys_chunks(here: Backend, rng: np.random.Generator, case: str, way: str) -> None:
    computed_as_by_numpy(here, rng, case, WAYS[way])


def test_each_call_computes_anew(here: Backend, rng: np.random.Generator) -> None:
    """What is kept of a graph is how to compute it; an assignment makes another graph."""
    host = values(rng, (6, 8), "float32")
    calls: list[int] = []

    def counted(chunk: Any) -> Any:
        calls.append(threading.get_ident())
        return chunk + len(calls)

    x = da.from_array(on(here, host), chunks=(6, 8), asarray=False, name=False)
    y = x.map_blocks(counted, dtype=x.dtype, meta=x._meta)
    calls.clear()
    for i in (1, 2, 3):
        same(y.persist().compute(), host + np.float32(i))
    assert calls == [threading.get_ident()] * 3
    y[0] = 0
    expected = host + np.float32(4)
    expected[0] = 0
    same(y.persist().compute(), expected)


def test_nothing_is_kept_without_the_graph(here: Backend) -> None:
    chunk = tw.ones((4, 4), device=here)
    gone = weakref.ref(chunk)
    y = da.from_array(chunk, chunks=2, asarray=False, name=False).sum()
    assert float(y.persist().compute()) == 16
    del chunk, y
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("persisted", [False, True])
def test_what_a_task_refuses(here: Backend, persisted: bool) -> None:
    """The error of the task is raised as it is, and others can be computed afterwards."""
    x = da.from_array(tw.ones((4, 4), device=here), chunks=2, asarray=False, name=False)
    y = x.map_blocks(lambda chunk: chunk.reshape(3), dtype=x.dtype, meta=x._meta)
    with pytest.raises(tw.InvalidArgument, match="reshape"):
        y.persist() if persisted else y.compute()
    assert float(x.sum().compute()) == 16


def test_delayed(here: Backend, rng: np.random.Generator) -> None:
    host = values(rng, (5, 4), "float32")
    x = delayed(on(here, host))
    both = delayed(lambda parts, scale: parts["sum"] * scale)({"sum": x + x}, scale=2)
    same(both.compute(), host * 4)
    same(dask.persist(both, x)[0].compute(), host * 4)
    within = delayed(lambda y: float(da.from_array(y, chunks=2, asarray=False).sum().compute()))
    assert within(x).compute() == pytest.approx(host.sum(), abs=1e-3)


def _loaded(n: int) -> Any:
    """n by n chunks that tasks make, which are not joined with what reads them."""

    def load(i: int, j: int) -> Any:
        return tw.full((SIDE, SIDE), i - j, dtype="float32") * 1

    meta = tw.empty((0, 0))
    return da.block(
        [
            [
                da.from_delayed(delayed(load)(i, j), (SIDE, SIDE), dtype="float32", meta=meta)
                for j in range(n)
            ]
            for i in range(n)
        ]
    )


def _statistics(x: Any) -> Any:
    return dask.compute(x.sum(axis=0), x.max(axis=1), x.mean(), x.min(axis=0))


def _pairs(x: Any) -> Any:
    y = x[::-1] + 1
    return dask.compute((x * y).sum(axis=0), (x - y).max(axis=1), (x / y).sum(axis=1))


# What computes a whole of n by n chunks, and how many of them it needs at a time at most.
MEMORY: dict[str, tuple[Callable[[Any], Any], Callable[[int], int]]] = {
    "sum": (lambda x: x.sum().compute(), lambda n: 3),
    "statistics": (_statistics, lambda n: 6),
    "pairs": (_pairs, lambda n: 10),
    "columns less their means": (lambda x: (x - x.mean(axis=0)).sum().compute(), lambda n: n + 4),
    "product": (lambda x: (x @ x).sum().compute(), lambda n: n * n + 2 * n + 2),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", MEMORY)
def test_chunks_are_freed(here: Backend, case: str) -> None:
    """Each after its last reader, and readers of what can be freed come first."""
    compute, most = MEMORY[case]
    n = 6
    with tw.init_backend(here.device.id) as own, tw.device(own), tw.deferred(False):
        before = own.memory_stats().peak_bytes
        results = compute(_loaded(n))
        own.synchronize()
        peak = own.memory_stats().peak_bytes - before
        del results
    assert peak <= most(n) * CHUNK, peak / CHUNK
