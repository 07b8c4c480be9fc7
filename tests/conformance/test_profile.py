"""Profiles on every backend."""

from __future__ import annotations

import itertools
import json
import threading
from pathlib import Path

import numpy as np
import pytest
from tilewright import Backend, InvalidArgument


def test_each_launch_is_in_it_once(be: Backend) -> None:
    x, y = be.zeros(1000), be.zeros(1000)
    be.exp(x, out=y)
    with be.profile() as p:
        assert p.records == []
        for _ in range(3):
            be.exp(x, out=y)
        be.add(x, y, out=x)
    be.exp(x, out=y)
    assert [record.kernel for record in p.records] == ["unary_exp"] * 3 + ["binary_add"]
    assert all(record.duration_ns > 0 for record in p.records)
    assert all(min(record.grid) > 0 for record in p.records)
    assert p.records[0].start_ns == 0
    assert [(t.kernel, t.calls) for t in sorted(p.totals)] == [("binary_add", 1), ("unary_exp", 3)]


def test_thousands_of_launches_over_many_submissions(be: Backend) -> None:
    n = 5000
    x = be.zeros(16)
    with be.profile() as p:
        for i in range(n):
            be.add(x, 1.0, out=x)
            if i % 777 == 0:
                be.synchronize()
    assert x.numpy().tolist() == [n] * 16
    added = [r for r in p.records if r.kernel == "binary_add"]
    assert len(added) == n
    assert all(0 < r.duration_ns < 1e10 for r in added)
    # One after another, each after the one before.
    for before, after in itertools.pairwise(added):
        assert after.start_ns >= before.start_ns + before.duration_ns


def test_an_empty_profile(be: Backend) -> None:
    with be.profile() as p:
        pass
    assert p.records == []
    assert p.totals == []
    assert p.table() == "kernel  calls  total  mean  share"


def test_the_trace(be: Backend, tmp_path: Path) -> None:
    with be.profile() as p:
        be.relu(be.zeros(10))
    p.save(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    names = [e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M"]
    assert be.device.name in names
    launches = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert [e["name"] for e in launches] == [r.kernel for r in p.records]
    assert [e["dur"] for e in launches] == [r.duration_ns / 1000 for r in p.records]
    assert all(len(e["args"]["grid"]) == 3 for e in launches)


def test_one_at_a_time(be: Backend) -> None:
    with be.profile():
        with pytest.raises(InvalidArgument, match="already being taken"), be.profile():
            pytest.fail("a second profile was begun")
        with pytest.raises(InvalidArgument, match="already being taken"):
            be.begin_profile()
    with pytest.raises(InvalidArgument, match="no profile is being taken"):
        be.end_profile()


def test_an_exception_ends_it(be: Backend) -> None:
    p = be.profile()
    with pytest.raises(ZeroDivisionError), p:
        be.relu(be.zeros(10))
        raise ZeroDivisionError
    assert p.records[-1].kernel == "unary_relu"
    with be.profile():
        pass


def test_closing_ends_it(be: Backend) -> None:
    other = type(be)(adapter_index=int(be.device.id.partition(":")[2]))
    for _ in range(2):
        other.init()
        other.begin_profile()
        other.relu(other.zeros(10))
        other.close()


def test_all_threads_are_in_it(be: Backend) -> None:
    def work() -> None:
        x = be.zeros(100)
        for _ in range(100):
            be.add(x, 1.0, out=x)
        np.testing.assert_array_equal(x.numpy(), np.full(100, 100, np.float32))

    threads = [threading.Thread(target=work) for _ in range(4)]
    with be.profile() as p:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(r.kernel == "binary_add" for r in p.records) == 400
