"""Times our calls beside a peer's: in one process, on as many threads, turn by turn.

On a shared machine a time by itself says little; the ratio of two that were taken turn by turn
does. Import this before NumPy or torch, since threads() sets what they read when they load.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

Call = Callable[[], object]


@dataclass
class Times:
    """Seconds of one call: of the best sample and of the median one."""

    best: float
    median: float


@dataclass
class Result:
    case: str
    work: float  # operations or bytes of one call
    unit: str  # of work over seconds / 1e9
    times: dict[str, Times] = field(default_factory=dict)

    def rate(self, side: str) -> float:
        return self.work / self.times[side].best / 1e9

    def ratio(self, peer: str) -> float:
        """How many times as fast as the peer."""
        return self.times[peer].best / self.times["tilewright"].best


def threads(count: int) -> None:
    """The number of threads for both sides."""
    for name in (
        "TILEWRIGHT_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
    ):
        os.environ[name] = str(count)


def settle(call: Call) -> None:
    """Lets the peers' threads, which wait for more work awake, go to sleep; then warms up until
    those of the call are all awake: a sleeping virtual core takes its time."""
    time.sleep(0.04)
    until = time.perf_counter() + 0.01
    call()
    while time.perf_counter() < until:
        call()


def measure(
    case: str, work: float, unit: str, sides: dict[str, Call], repeats: int, sample: float
) -> Result:
    """Calls each side in turn, `repeats` times, for about `sample` seconds each time."""
    calls = {}
    for side, call in sides.items():
        call()
        start = time.perf_counter()
        call()
        calls[side] = max(1, int(sample / max(time.perf_counter() - start, 1e-9)))
    samples: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(repeats):
        for side, call in sides.items():
            count = calls[side]
            settle(call)
            start = time.perf_counter()
            for _ in range(count):
                call()
            samples[side].append((time.perf_counter() - start) / count)
    result = Result(case, work, unit)
    for side, seconds in samples.items():
        result.times[side] = Times(min(seconds), statistics.median(seconds))
    return result


def peak(program: Path, count: int) -> float:
    """Multiply-add operations per second on `count` threads, by benchmarks/cpp/peak.cpp."""
    output = subprocess.run(
        [
            program,
            f"--benchmark_filter=threads:{count}$",
            "--benchmark_min_time=0.05",
            "--benchmark_repetitions=10",
            "--benchmark_format=json",
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    runs = json.loads(output)["benchmarks"]
    return max(float(run["flops"]) for run in runs if run["run_type"] == "iteration")


def arguments(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="for both sides")
    parser.add_argument("--repeats", type=int, default=15, help="turns of each side")
    parser.add_argument("--sample", type=float, default=0.02, help="seconds of one turn")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--peak", type=Path, help="the built benchmark_peak, to measure beside")
    parser.add_argument("--json", type=Path, help="write the results to this file as well")
    chosen = parser.parse_args()
    threads(chosen.threads)
    return chosen


def versions(packages: Sequence[str]) -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def report(
    results: Sequence[Result], device: str, chosen: argparse.Namespace, packages: Sequence[str]
) -> None:
    """Prints the table and writes the JSON."""
    header: dict[str, Any] = {
        "device": device,
        "threads": chosen.threads,
        "versions": versions(packages),
    }
    if chosen.peak is not None:
        header["peak_gflops"] = peak(chosen.peak, chosen.threads) / 1e9
    for name, value in header.items():
        print(f"{name}: {value}")
    print(f"{'case':44} {'tilewright':>19}   peers (rate, and how many times as fast we are)")
    for result in results:
        ours = f"{result.rate('tilewright'):10.1f} {result.unit:8}"
        peers = "".join(
            f"   {side} {result.rate(side):.1f} ({result.ratio(side):.2f}x)"
            for side in result.times
            if side != "tilewright"
        )
        of_peak = ""
        if "peak_gflops" in header and result.unit == "GFLOP/s":
            of_peak = f"   {result.rate('tilewright') / header['peak_gflops']:.2f} of the peak"
        print(f"{result.case:44} {ours}{peers}{of_peak}")
    if chosen.json is not None:
        chosen.json.write_text(
            json.dumps(header | {"results": [asdict(result) for result in results]}, indent=2)
        )
