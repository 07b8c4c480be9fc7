"""Arbitrary requests: what test_requests.py runs in a process of its own."""

from __future__ import annotations

import contextlib
import gc
import math
import warnings
from typing import Any

import numpy as np
import tilewright as tw
from child import works
from conformance.calls import CALLS, Host, In, Out, positional
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ABSURD = [None, "", "x", "sum", "relu", "float16", "transpose", b"1", (), [1], {}, object(), True]
NUMBERS = [1.5, math.nan, math.inf, -math.inf, 1e39, -0.0, 1e-60]
INTEGERS = [2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**62, 2**63 - 1, 2**63, 2**64, 2**200, -(2**63)]

fast = settings(
    deadline=None,
    database=None,
    derandomize=True,
    max_examples=200,
    suppress_health_check=list(HealthCheck),
)


def values(handles: list[Any]) -> st.SearchStrategy[Any]:
    small = st.integers(-3, 20)
    return st.one_of(
        small,
        st.sampled_from(handles),
        st.sampled_from(INTEGERS),
        st.sampled_from(NUMBERS),
        st.sampled_from(ABSURD),
        st.lists(st.one_of(small, st.sampled_from(INTEGERS + ABSURD)), max_size=5),
    )


def any_calls(device: str) -> None:
    """Right arguments in part, anything for the others: it runs, or raises one of ours."""
    be, other = tw.init_backend(device), tw.init_backend(device)
    freed = be.alloc(16)
    be.free(freed)
    handles = [be.alloc(size) for size in (1, 3, 64, 4096)] + [other.alloc(64), freed, 0]
    names = [name for name in CALLS if name not in ("free", "alloc")]

    def run(data: st.DataObject, made: list[Any]) -> None:
        name = data.draw(st.sampled_from(names))
        extra = data.draw(st.integers(0, 7))
        arguments = list(CALLS[name].values())
        given_values = positional(CALLS[name])
        for i, argument in enumerate(arguments):
            if isinstance(argument, In | Out):
                given_values[i] = be.alloc(argument.bytes + extra)
                made.append(given_values[i])
            if not isinstance(argument, Host) and data.draw(st.integers(0, 3)) == 0:
                given_values[i] = data.draw(values(handles + made))
        try:
            result = getattr(be, name)(*given_values)
            if name == "view":
                made.append(result)
        except tw.Error as error:
            assert isinstance(error, tw.InvalidArgument | tw.Unsupported), error
            assert str(error).startswith(f"{name}: "), error

    @fast
    @given(st.data())
    def one(data: st.DataObject) -> None:
        made: list[Any] = []
        try:
            run(data, made)
        finally:
            for buffer in made:
                be.free(buffer)
        assert works(be, 50)

    one()
    gc.collect()
    assert be.memory_stats().allocations == 4, be.memory_stats()


def any_copies(device: str) -> None:
    """Copies of any offset and size do what they do to arrays, or raise and do nothing."""
    be = tw.init_backend(device)
    rng = np.random.default_rng(0)
    hosts = [rng.integers(0, 256, size, np.uint8) for size in (1, 3, 4, 63, 1001, 70_001)]
    buffers = [be.alloc(host.size) for host in hosts]
    for host, buffer in zip(hosts, buffers, strict=True):
        be.copy_htod(buffer, host)
    places = st.integers(0, len(hosts) - 1)
    offsets = st.one_of(st.integers(0, 70), st.sampled_from([*INTEGERS, -1, 999, 69_999]))

    @fast
    @given(st.sampled_from(["htod", "dtoh", "dtod"]), places, places, offsets, offsets, offsets)
    def one(kind: str, a: int, b: int, at: int, from_at: int, size: int) -> None:
        fits = at + size <= hosts[a].size and min(at, size) >= 0
        try:
            if kind == "htod":
                data = rng.integers(0, 256, abs(size) % 5000, np.uint8)
                fits = 0 <= at <= hosts[a].size - data.size
                be.copy_htod(buffers[a], data, at)
                hosts[a][at : at + data.size] = data
            elif kind == "dtoh":
                got = np.empty(abs(size) % 80_000, np.uint8)
                fits = 0 <= at <= hosts[a].size - got.size
                be.copy_dtoh(got, buffers[a], at)
                assert (got == hosts[a][at : at + got.size]).all()
            else:
                fits = fits and 0 <= from_at <= hosts[b].size - size
                apart = a != b or at + size <= from_at or from_at + size <= at
                fits = fits and (apart or size == 0)
                be.copy_dtod(buffers[a], buffers[b], size, at, from_at)
                hosts[a][at : at + size] = hosts[b][from_at : from_at + size].copy()
        except tw.InvalidArgument:
            assert not fits
        else:
            assert fits
        got = np.empty_like(hosts[a])
        be.copy_dtoh(got, buffers[a])
        assert (got == hosts[a]).all()

    one()


def any_arrays(device: str) -> None:
    """The array tier with anything for its arguments."""
    warnings.simplefilter("ignore")  # NumPy warns of numbers that float32 does not hold
    be = tw.init_backend(device)
    x = be.array(np.ones((3, 4), np.float32))
    names = [name for name in dir(be) if not name.startswith("_") and name not in NOT_OPS]

    @fast
    @given(st.data())
    def one(data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(names))
        anything = st.one_of(values([x]), st.just(x), st.just(x))
        positionals = data.draw(st.lists(anything, max_size=5))
        with contextlib.suppress(tw.Error, TypeError, ValueError, OverflowError, MemoryError):
            getattr(be, name)(*positionals)
        assert works(be, 50)
        assert (x.numpy().size, x.shape) == (12, (3, 4))

    one()


# What is no call, opens or closes, or takes memory that the machine may not have.
NOT_OPS = {"init", "close", "device", "name", "config", "is_initialized", "profile"}
NOT_OPS |= {"alloc", "free", "release", "empty", "zeros"}
