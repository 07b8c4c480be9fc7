"""What a replay saves: many small launches, queued one by one and as a recording.

    python benchmarks/python/recording.py [--device webgpu:0] [--launches N] [--elements N]
        [--times N]

The sides take turns. "queued" is the host's time until the calls return, "thread" what of it the
calling thread had a processor for, "done" the time until the work is; where the device is slower
than the host the last says little, and where it is the host's processor the first too. Between two
waits all is done `--times` times: some devices make the next replay ready while they are waited
for, and then the first of several is quicker than the others. Shown are medians, and the medians of
the ratios turn by turn: what a replay takes of the time of the calls.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median

import numpy as np
import tilewright


def seconds(call: Callable[[], object], wait: Callable[[], object]) -> tuple[float, ...]:
    start, start_of_thread = time.perf_counter(), time.thread_time()
    call()
    queued = time.perf_counter() - start
    thread = time.thread_time() - start_of_thread
    wait()
    return queued, thread, time.perf_counter() - start


def repeated(call: Callable[[], object], times: int) -> Callable[[], None]:
    def calls() -> None:
        for _ in range(times):
            call()

    return calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--launches", type=int, default=1000)
    parser.add_argument("--elements", type=int, default=64)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--turns", type=int, default=30)
    options = parser.parse_args()
    with tilewright.init_backend(options.device) as be:
        print(f"{be.device.id} ({be.device.name}), {options.launches} launches, µs a launch")
        x, y = (be.array(np.ones(options.elements, np.float32)) for _ in range(2))
        side = 64
        square = be.array(np.eye(side, dtype=np.float32))
        product = be.empty((side, side))
        n, a, b = options.elements, x.handle, y.handle
        rows: dict[str, Callable[[], object]] = {
            "unary of the trait": lambda: be.unary("neg", a, b, n),
            "add of arrays": lambda: be.add(x, y, out=y),
            f"matmul of arrays, {side} x {side}": lambda: be.matmul(square, square, out=product),
        }
        print(f"{'':34}{'queued':>26}{'':6}{'thread':>26}{'':6}{'done':>26}")
        for name, op in rows.items():

            def issue(op: Callable[[], object] = op) -> None:
                for _ in range(options.launches):
                    op()

            with be.record() as recording:
                issue()
            sides = [repeated(call, options.times) for call in (issue, recording.replay)]
            turns = []
            for turn in range(options.turns + 2):
                calls, replay = (seconds(call, be.synchronize) for call in sides)
                if turn >= 2:
                    turns.append((calls, replay))
            cells = ""
            launches = options.launches * options.times
            for i in range(3):
                calls_us = median(c[i] for c, _ in turns) * 1e6 / launches
                replay_us = median(r[i] for _, r in turns) * 1e6 / launches
                share = median(r[i] / c[i] for c, r in turns)
                cells += f"{calls_us:9.2f} {replay_us:8.2f} {share:7.2f}      "
            print(f"{name:34}{cells.rstrip()}")


if __name__ == "__main__":
    main()
