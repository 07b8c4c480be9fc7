"""Runs a case on a backend: checks it against NumPy in float64, then times both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import tilewright

from .catalog import Case, Problem
from .catalog.case import AnyArray

_SHORTEST_SAMPLE = 2e-3
"""Seconds; calls shorter than that are timed several at once."""
_FEWEST_SAMPLES = 3
_MOST_SAMPLES = 101
_MOST_CALLS = 10_000
_CHUNK = 1 << 16
"""Elements that are compared at once, few enough for the cache."""
_GUARD = np.full(1 << 16, 0xA5, np.uint8)
"""What lies behind an output, for a kernel that writes beyond it to change."""


@dataclass
class Outcome:
    """What one case gave in one dtype. `status` is ok, wrong, unsupported or failed."""

    op: str
    variant: str
    name: str
    group: str
    dtype: str
    shape: str
    status: str
    message: str = ""
    error: float | None = None
    allowed_error: float | None = None
    seconds: float | None = None
    numpy_seconds: float | None = None
    ratio: float | None = None
    gflops: float | None = None
    gbytes: float | None = None
    compute_bound: bool = False

    def as_json(self) -> dict[str, Any]:
        fields = asdict(self)
        del fields["compute_bound"]
        return fields


def largest_error(result: AnyArray, exact: AnyArray) -> float:
    """The largest |result - exact| / (|exact| + rms of exact); infinite where one is NaN or
    infinite and the other is not."""
    result, exact = result.reshape(-1), exact.reshape(-1)
    finite = np.isfinite(exact)
    if not finite.all():
        if not np.array_equal(result[~finite], exact[~finite], equal_nan=True):
            return float("inf")
        result, exact = result[finite], exact[finite]
    if exact.size == 0:
        return 0.0
    rms = float(np.sqrt(np.dot(exact, exact) / exact.size))
    largest = 0.0
    for start in range(0, exact.size, _CHUNK):
        expected = exact[start : start + _CHUNK]
        difference = np.abs(result[start : start + _CHUNK] - expected)
        if not np.isfinite(difference).all():
            return float("inf")
        scale = np.abs(expected) + rms
        np.divide(difference, scale, out=difference, where=difference != 0)
        largest = max(largest, float(difference.max()))
    return largest


def exact_result(problem: Problem) -> AnyArray:
    exact = problem.numpy(*(_floats_as(x, np.float64) for x in problem.inputs))
    return exact.astype(np.float64, copy=False)


def run(backend: Any, case: Case, size: str, dtype: str, seconds: float) -> Outcome:
    """Checks the case and times it for about `seconds`, NumPy's share included; 0 only checks."""
    problem = case.problem(size, dtype)
    outcome = Outcome(
        op=case.op,
        variant=case.variant,
        name=case.name,
        group=case.group,
        dtype=dtype,
        shape=problem.shape,
        status="ok",
        allowed_error=problem.allowed_error,
        compute_bound=case.compute_bound,
    )
    try:
        with OnDevice(backend, problem) as on_device:
            on_device.call()
            outcome.error = largest_error(on_device.result(), exact_result(problem))
            if not outcome.error <= problem.allowed_error:
                outcome.status = "wrong"
                outcome.message = f"error {outcome.error:.1e}, allowed {problem.allowed_error:.1e}"
            elif on_device.wrote_beyond():
                outcome.status = "wrong"
                outcome.message = "it wrote beyond its output"
            elif seconds > 0:
                outcome.seconds = _time(on_device.call, backend.synchronize, seconds * 0.6)
    except tilewright.Unsupported as error:
        outcome.status, outcome.message = "unsupported", str(error)
    except tilewright.Error as error:
        outcome.status, outcome.message = "failed", str(error)
    if outcome.seconds is not None:
        outcome.numpy_seconds = _time_in_numpy(problem, seconds * 0.4)
        outcome.ratio = outcome.numpy_seconds / outcome.seconds
        outcome.gbytes = problem.bytes / outcome.seconds / 1e9
        if problem.flops:
            outcome.gflops = problem.flops / outcome.seconds / 1e9
    return outcome


class OnDevice:
    """A problem whose buffers are on the device for as long as this is entered."""

    def __init__(self, backend: Any, problem: Problem) -> None:
        self._backend = backend
        self._problem = problem
        self._buffers: list[int] = []

    def __enter__(self) -> OnDevice:
        try:
            for array in self._problem.inputs:
                self._buffers.append(self._backend.alloc(array.nbytes))
                self._backend.copy_htod(self._buffers[-1], array)
            output = self._problem.output
            self._buffers.append(self._backend.alloc(output.nbytes + _GUARD.nbytes))
            self._backend.copy_htod(self._buffers[-1], output)
            self._backend.copy_htod(self._buffers[-1], _GUARD, output.nbytes)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        while self._buffers:
            self._backend.free(self._buffers.pop())

    def call(self) -> None:
        self._problem.call(self._backend, self._buffers[:-1], self._buffers[-1])

    def result(self) -> AnyArray:
        read = np.empty_like(self._problem.output)
        self._backend.copy_dtoh(read, self._buffers[-1])
        return read

    def wrote_beyond(self) -> bool:
        """Whether something behind the output has changed."""
        read = np.empty_like(_GUARD)
        self._backend.copy_dtoh(read, self._buffers[-1], self._problem.output.nbytes)
        return not np.array_equal(read, _GUARD)

    def forget_result(self) -> None:
        """What is not written from here on is NaN."""
        nan = np.full(self._problem.output.nbytes, 0xFF, np.uint8)
        self._backend.copy_htod(self._buffers[-1], nan)


def _floats_as(array: AnyArray, dtype: type[np.floating[Any]]) -> AnyArray:
    return array.astype(dtype, copy=False) if array.dtype.kind == "f" else array


def _in_numpy(problem: Problem) -> list[Callable[[], object]]:
    """The same work in NumPy, in the ways that one would write it; the quickest counts."""
    out = problem.output.copy()

    def in_storage_dtype() -> object:
        return problem.numpy(*problem.inputs, out=out)

    def through_float32() -> object:
        inputs = (_floats_as(x, np.float32) for x in problem.inputs)
        return problem.numpy(*inputs).astype(out.dtype)

    stored = {x.dtype.name for x in (*problem.inputs, out)}
    if "float16" not in stored:
        return [in_storage_dtype]
    return [in_storage_dtype, through_float32] if problem.own_float16 else [through_float32]


def _nothing() -> None:
    pass


def _time(call: Callable[[], object], wait: Callable[[], object], budget: float) -> float:
    """Seconds of one call: the median of samples, each of enough calls to be read off a clock and
    ended by a wait for the device. The first call warms up."""

    def sample(calls: int) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            call()
        wait()
        return (time.perf_counter() - start) / calls

    sample(1)
    once = sample(1)
    if once * _FEWEST_SAMPLES > budget:
        return once
    calls = max(1, min(_MOST_CALLS, round(_SHORTEST_SAMPLE / max(once, 1e-7))))
    wanted = round(budget / max(once * calls, 1e-7))
    samples = max(_FEWEST_SAMPLES, min(_MOST_SAMPLES, wanted))
    return statistics.median(sample(calls) for _ in range(samples))


def _time_in_numpy(problem: Problem, budget: float) -> float:
    """Of several ways the one that a first call finds quickest."""
    with np.errstate(all="ignore"):
        ways = _in_numpy(problem)
        if len(ways) == 1:
            return _time(ways[0], _nothing, budget)
        seconds, quickest = min(((_once(way), way) for way in ways), key=lambda pair: pair[0])
        return seconds if seconds > budget else _time(quickest, _nothing, budget)


def _once(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
