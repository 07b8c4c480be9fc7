"""The process that runs candidates: a device of its own, one request a line, one answer a line.

An answer with `failed` says what went wrong; the process should then not be trusted any more.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

import tilewright
from tilewright import _core

from .. import environment
from ..catalog.case import Draw
from ..measure import OnDevice, largest_error
from .shapes import CASES_BY_NAME


class Worker:
    """What can be asked, by the names of the methods."""

    def __init__(self, device: str) -> None:
        self._backend = tilewright.init_backend(device)
        choices = _core._choices_of(self._backend)
        if choices is None:
            raise tilewright.Unsupported(
                f"tune: {self._backend.device.id} has no kernels to choose between; tune a GPU"
            )
        choices.watch(True)
        self._choices = choices
        self._prepared = ExitStack()

    def hello(self) -> dict[str, Any]:
        """The device and its file of results."""
        return {
            "device": environment.device_facts(self._backend.device),
            "dtypes": self._backend.capabilities().dtypes,
            "path": self._choices.path,
            "head": self._choices.head,
            "loaded": self._choices.loaded is not None,
        }

    def prepare(self, case: str, sizes: list[int], dtype: str) -> dict[str, Any]:
        """Puts the op's inputs on the device; the choices that the call makes."""
        self._prepared.close()
        self._problem = CASES_BY_NAME[case].build(Draw(dtype), *sizes)
        self._run = self._prepared.enter_context(OnDevice(self._backend, self._problem))
        self._run.call()
        made = self._choices.take_made()
        with self._forced({choice["point"]: choice["rule"] for choice in made}):
            self._run.call()
            self._expected = self._run.result().astype(np.float64)
        self._choices.take_made()
        return {"shape": self._problem.shape, "choices": made}

    def check(self, point: str, taken: dict[str, str]) -> dict[str, Any]:
        """Whether the candidate taken at the point, beside those at others, gives what the rules'
        choices gave, and writes nothing else."""
        candidate = taken[point]
        with self._forced(taken):
            self._run.forget_result()
            self._run.call()
            error = largest_error(self._run.result().astype(np.float64), self._expected)
        made = {choice["point"]: choice["taken"] for choice in self._choices.take_made()}
        if made[point] != candidate:
            return {"failed": f"{made[point]} ran in its place"}
        allowed = 2 * self._problem.allowed_error
        if not error <= allowed:
            return {"failed": f"wrong result: error {error:.1e}, allowed {allowed:.1e}"}
        if self._run.wrote_beyond():
            return {"failed": "it wrote beyond its output"}
        return {}

    def sample(self, taken: dict[str, str], calls: int) -> dict[str, Any]:
        """Seconds of one call, of several in a row."""
        with self._forced(taken):
            start = time.perf_counter()
            for _ in range(calls):
                self._run.call()
            self._backend.synchronize()
            return {"seconds": (time.perf_counter() - start) / calls}

    @contextmanager
    def _forced(self, taken: dict[str, str]) -> Iterator[None]:
        try:
            for point, candidate in taken.items():
                self._choices.force(point, candidate)
            yield
        finally:
            for point in taken:
                self._choices.force(point, "")


def main() -> None:
    # What a driver prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    worker: Worker | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if worker is None:
                worker = Worker(sys.argv[1])
            answer = getattr(worker, request.pop("ask"))(**request)
        except (tilewright.Error, MemoryError) as error:
            answer = {"failed": str(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
