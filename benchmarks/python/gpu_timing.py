"""How a GPU benchmark takes its times: turn by turn, each side from warm to its last result."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

Call = Callable[[], object]
#: Seconds of one op, measured now.
Turn = Callable[[], float]

WARM_UP = 0.2
SAMPLE = 0.1


@dataclass
class Case:
    group: str
    name: str
    work: float  # operations or bytes of one op; 0 where time itself is the result
    unit: str  # of work over seconds / 1e9, or "ms" or "us"
    sides: dict[str, Turn]


@dataclass
class Result:
    group: str
    name: str
    work: float
    unit: str
    seconds: dict[str, float] = field(default_factory=dict)  # the median turn of each side

    def value(self, side: str) -> float:
        """In the unit of the case."""
        seconds = self.seconds[side]
        return (
            seconds * {"ms": 1e3, "us": 1e6}[self.unit]
            if not self.work
            else self.work / seconds / 1e9
        )

    def ratio(self, peer: str) -> float:
        """How many times as fast as the peer."""
        return self.seconds[peer] / self.seconds["tilewright"]


def queued(call: Call, wait: Call, sample: float = SAMPLE) -> Turn:
    """Many calls in a row and one wait for them all: the time of one."""

    def turn() -> float:
        started = time.perf_counter()
        seconds = 0.0
        # A GPU lowers its clock while it is idle: no time counts before it is warm.
        while time.perf_counter() - started < WARM_UP:
            before = time.perf_counter()
            call()
            wait()
            seconds = time.perf_counter() - before
        count = max(3, int(sample / seconds))
        started = time.perf_counter()
        for _ in range(count):
            call()
        wait()
        return (time.perf_counter() - started) / count

    return turn


def samples(call: Call, repeats: int) -> list[float]:
    """The seconds of calls that wait for their own results, warm."""
    started = time.perf_counter()
    while time.perf_counter() - started < WARM_UP:
        call()
    taken = []
    for _ in range(repeats):
        before = time.perf_counter()
        call()
        taken.append(time.perf_counter() - before)
    return taken


def whole(call: Call, repeats: int = 5) -> Turn:
    """A call that waits for its own result: the median."""
    return lambda: statistics.median(samples(call, repeats))


def chained(short: Call, long: Call, more: int, repeats: int = 5) -> Turn:
    """Where ops can only be run as a whole graph: two graphs that differ by `more` ops."""
    return lambda: (min(samples(long, repeats)) - min(samples(short, repeats))) / more


def measure(case: Case, turns: int) -> Result:
    taken: dict[str, list[float]] = {side: [] for side in case.sides}
    for _ in range(turns):
        for side, turn in case.sides.items():
            taken[side].append(turn())
    result = Result(case.group, case.name, case.work, case.unit)
    result.seconds = {side: statistics.median(seconds) for side, seconds in taken.items()}
    return result


def lines(results: Sequence[Result]) -> list[str]:
    """The results as text, ratios behind the peers."""
    text = []
    for r in results:
        ours = f"{r.group:14} {r.name:40} {r.value('tilewright'):11.2f} {r.unit:8}"
        peers = (
            f"   {side} {r.value(side):.2f} ({r.ratio(side):.2f}x)"
            for side in r.seconds
            if side != "tilewright"
        )
        text.append(ours + "".join(peers))
    return text
