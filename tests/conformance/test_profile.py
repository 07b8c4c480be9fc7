"""Profiles on every GPU."""

from __future__ import annotations

import itertools
import json
import threading
from pathlib import Path

import numpy as np
import pytest
from tilewright import Backend, InvalidArgument

from .own_kernels import ROUNDS


def test_each_launch_is_in_it_once(gpu: Backend) -> None:
    x, y = gpu.zeros(1000), gpu.zeros(1000)
    gpu.exp(x, out=y)
    with gpu.profile() as p:
        assert p.records == []
        for _ in range(3):
            gpu.exp(x, out=y)
        gpu.add(x, y, out=x)
    gpu.exp(x, out=y)
    assert [record.kernel for record in p.records] == ["unary_exp"] * 3 + ["binary_add"]
    assert all(record.duration_ns > 0 for record in p.records)
    assert all(min(record.grid) > 0 for record in p.records)
    assert p.records[0].start_ns == 0
    assert [(t.kernel, t.calls) for t in sorted(p.totals)] == [("binary_add", 1), ("unary_exp", 3)]


def test_thousands_of_launches_over_many_submissions(gpu: Backend) -> None:
    n = 5000
    x = gpu.zeros(16)
    with gpu.profile() as p:
        for i in range(n):
            gpu.add(x, 1.0, out=x)
            if i % 777 == 0:
                gpu.synchronize()
    assert x.numpy().tolist() == [n] * 16
    added = [r for r in p.records if r.kernel == "binary_add"]
    assert len(added) == n
    assert all(0 < r.duration_ns < 1e10 for r in added)
    # One after another, each after the one before.
    for before, after in itertools.pairwise(added):
        assert after.start_ns >= before.start_ns + before.duration_ns


def test_more_work_takes_longer(gpu: Backend) -> None:
    x = gpu.zeros(64 * 64)
    short, long = (gpu.kernel(**ROUNDS.on(gpu) | {"name": name}) for name in ("short", "long"))
    with gpu.profile() as p:
        for _ in range(5):
            short(x, grid=64, params=1)
            long(x, grid=64, params=20_000)
    times = {t.kernel: t for t in p.totals}
    assert times["long"].total_ns > times["short"].total_ns
    assert p.totals[0].kernel == "long"
    assert sum(t.share for t in p.totals) == pytest.approx(1)
    assert p.total_ns == sum(r.duration_ns for r in p.records)
    head, first, second = str(p).splitlines()
    assert head.split() == ["kernel", "calls", "total", "mean", "share"]
    assert first.startswith("long")
    assert second.split()[1] == "5"


def test_an_empty_profile(gpu: Backend) -> None:
    with gpu.profile() as p:
        pass
    assert p.records == []
    assert p.totals == []
    assert p.table() == "kernel  calls  total  mean  share"


def test_the_trace(gpu: Backend, tmp_path: Path) -> None:
    with gpu.profile() as p:
        gpu.relu(gpu.zeros(10))
    p.save(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    names = [e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M"]
    assert gpu.device.name in names
    launches = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert [e["name"] for e in launches] == [r.kernel for r in p.records]
    assert [e["dur"] for e in launches] == [r.duration_ns / 1000 for r in p.records]
    assert all(len(e["args"]["grid"]) == 3 for e in launches)


def test_one_at_a_time(gpu: Backend) -> None:
    with gpu.profile():
        with pytest.raises(InvalidArgument, match="already being taken"), gpu.profile():
            pytest.fail("a second profile was begun")
        with pytest.raises(InvalidArgument, match="already being taken"):
            gpu.begin_profile()
    with pytest.raises(InvalidArgument, match="no profile is being taken"):
        gpu.end_profile()


def test_an_exception_ends_it(gpu: Backend) -> None:
    p = gpu.profile()
    with pytest.raises(ZeroDivisionError), p:
        gpu.relu(gpu.zeros(10))
        raise ZeroDivisionError
    assert p.records[-1].kernel == "unary_relu"
    with gpu.profile():
        pass


def test_closing_ends_it(gpu: Backend) -> None:
    other = type(gpu)(adapter_index=int(gpu.device.id.partition(":")[2]))
    for _ in range(2):
        other.init()
        other.begin_profile()
        other.relu(other.zeros(10))
        other.close()


def test_all_threads_are_in_it(gpu: Backend) -> None:
    def work() -> None:
        x = gpu.zeros(100)
        for _ in range(100):
            gpu.add(x, 1.0, out=x)
        np.testing.assert_array_equal(x.numpy(), np.full(100, 100, np.float32))

    threads = [threading.Thread(target=work) for _ in range(4)]
    with gpu.profile() as p:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(r.kernel == "binary_add" for r in p.records) == 400
