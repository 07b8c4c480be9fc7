"""Tries every candidate of every choice that a shape makes, and times those that are right."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .process import WorkerFailed, WorkerProcess
from .shapes import Shape

CLEARLY = 1.03
"""How many times as fast as the rule's choice another one must be to replace it."""
_WARM_UP = 0.3
"""Seconds; clocks drop while a kernel compiles."""
_SHORTEST_SAMPLE = 5e-3
_ROUNDS = 9
_MOST_CALLS = 1000

Key = tuple[str, str, str]
"""Point, sizes and flags: what a line of the file of results begins with."""


@dataclass
class Finding:
    """What is quickest at one point for one shape."""

    case: str
    shape: str
    dtype: str
    point: str
    sizes: str
    flags: str
    rule: str
    seconds: dict[str, float]
    """The median of each candidate that is right."""
    best: str

    @property
    def key(self) -> Key:
        return self.point, self.sizes, self.flags

    @property
    def gain(self) -> float:
        return self.seconds[self.rule] / self.seconds[self.best]


@dataclass
class Rejected:
    """A candidate that is not tried again, or a shape that could not be run at all."""

    point: str
    candidate: str
    shape: str
    why: str


@dataclass
class Search:
    device: str
    timeout: float
    on_step: Callable[[int, str], None]
    """Called before each step, with the number of the shape and what is done."""
    rejected: list[Rejected] = field(default_factory=list)
    _worker: WorkerProcess | None = None
    _number: int = 0

    def hello(self) -> dict[str, Any]:
        """Raises WorkerFailed where the device cannot be opened."""
        return self._ask("hello")

    def close(self) -> None:
        if self._worker is not None:
            self._worker.end()
            self._worker = None

    def findings(self, shapes: Sequence[Shape]) -> Iterator[Finding]:
        """What is best at each point that the shapes come by, once for each line of the file. A
        point is searched beside what was best at those before it, and the rule of those after."""
        best: dict[Key, str] = {}
        for self._number, shape in enumerate(shapes):
            self._step(shape)
            choices = self._choices(shape)
            taken = {choice["point"]: choice["rule"] for choice in choices}
            for choice in choices:
                point = choice["point"]
                key = (point, choice["sizes"], choice["flags"])
                if key not in best and len(choice["candidates"]) > 1:
                    best[key] = taken[point]
                    finding = self._best(shape, choice, taken)
                    if finding is not None:
                        best[key] = finding.best
                        yield finding
                if best.get(key) in choice["candidates"]:
                    taken[point] = best[key]

    def _step(self, shape: Shape, what: str = "opening") -> None:
        self.on_step(self._number, f"{shape}: {what}")

    def _ask(self, what: str, **arguments: Any) -> dict[str, Any]:
        if self._worker is None:
            self._worker = WorkerProcess(self.device, self.timeout)
        try:
            return self._worker.ask(what, **arguments)
        except WorkerFailed:
            self._worker = None
            raise

    def _choices(self, shape: Shape) -> list[dict[str, Any]]:
        try:
            prepared = self._prepare(shape)
        except WorkerFailed as failure:
            self.rejected.append(Rejected("", "", str(shape), str(failure)))
            return []
        choices: list[dict[str, Any]] = prepared["choices"]
        return [{**choice, "shape": prepared["shape"]} for choice in choices]

    def _prepare(self, shape: Shape) -> dict[str, Any]:
        return self._ask("prepare", case=shape.case, sizes=shape.sizes, dtype=shape.dtype)

    def _best(self, shape: Shape, choice: dict[str, Any], others: dict[str, str]) -> Finding | None:
        point, rule = choice["point"], choice["rule"]
        bad = {r.candidate for r in self.rejected if r.point == point}
        right = [c for c in choice["candidates"] if c not in bad]
        for candidate in tuple(right):
            self._step(shape, candidate)
            taken = {**others, point: candidate}
            self._attempt(shape, right, candidate, "check", at=point, point=point, taken=taken)
        samples = self._samples(shape, point, right, others)
        if rule not in samples:
            return None
        return Finding(
            case=shape.case,
            dtype=shape.dtype,
            shape=choice["shape"],
            point=point,
            sizes=choice["sizes"],
            flags=choice["flags"],
            rule=rule,
            seconds={c: statistics.median(times) for c, times in samples.items()},
            best=clearly_best(samples, rule),
        )

    def _attempt(
        self, shape: Shape, right: list[str], candidate: str, what: str, *, at: str, **more: Any
    ) -> dict[str, Any] | None:
        """What the worker answers; None where the candidate failed, which is then left out of
        `right`."""
        try:
            if self._worker is None:
                self._prepare(shape)
        except WorkerFailed as failure:
            self.rejected.append(Rejected("", "", str(shape), str(failure)))
            right.clear()
            return None
        try:
            return self._ask(what, **more)
        except WorkerFailed as failure:
            self.rejected.append(Rejected(at, candidate, str(shape), str(failure)))
            right.remove(candidate)
            return None

    def _samples(
        self, shape: Shape, point: str, right: list[str], others: dict[str, str]
    ) -> dict[str, list[float]]:
        """Seconds of one call by candidate, taken in turns, so that what the machine does
        besides meets all of them."""

        def take(candidate: str) -> float | None:
            taken = {**others, point: candidate}
            answer = self._attempt(
                shape, right, candidate, "sample", at=point, taken=taken, calls=calls[candidate]
            )
            return None if answer is None else float(answer["seconds"])

        calls = dict.fromkeys(right, 1)
        self._step(shape, "timing")
        warm = time.monotonic() + _WARM_UP
        first = True
        while first or time.monotonic() < warm:
            first = False
            for candidate in tuple(right):
                seconds = take(candidate)
                if seconds is not None:
                    wanted = round(_SHORTEST_SAMPLE / max(seconds, 1e-7))
                    calls[candidate] = max(1, min(_MOST_CALLS, wanted))
        samples: dict[str, list[float]] = {candidate: [] for candidate in right}
        for _ in range(_ROUNDS):
            for candidate in tuple(right):
                seconds = take(candidate)
                if seconds is not None:
                    samples[candidate].append(seconds)
        return {candidate: samples[candidate] for candidate in right}


def clearly_best(samples: dict[str, list[float]], rule: str) -> str:
    """The quickest candidate, if it was quicker than the rule's in most rounds too."""
    medians = {candidate: statistics.median(times) for candidate, times in samples.items()}
    best = min(medians, key=medians.__getitem__)
    if medians[rule] < CLEARLY * medians[best]:
        return rule
    rounds = list(zip(samples[best], samples[rule], strict=True))
    won = sum(ours < theirs for ours, theirs in rounds)
    return best if won >= 0.75 * len(rounds) else rule
