"""Convolutions of drawn shapes on the CPU beside torch, float32, turn by turn.

    python benchmarks/python/convolutions.py [--threads N] [--turns N] [--count N] [--seed N]

TILEWRIGHT_CPU_ISA=avx2 with ATEN_CPU_CAPABILITY=avx2, ONEDNN_MAX_CPU_ISA=AVX2 and
MKL_ENABLE_INSTRUCTIONS=AVX2 takes AVX2 on both
sides. A quarter of the shapes has filters of one channel. Shown are our microseconds, the least,
and how many times as fast as torch we are by the least times of both; at the end the geometric
mean.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

import harness


def draw(rng: Any) -> dict[str, Any]:
    """A shape of 2 to 400 million multiply-adds."""
    while True:
        depthwise = rng.random() < 0.25
        window = int(rng.choice([1, 3, 3, 3, 5, 7]))
        if depthwise:
            window = int(rng.choice([3, 3, 3, 5]))
        stride = int(rng.choice([1, 1, 1, 2]))
        batch = int(rng.choice([1, 1, 1, 2, 8]))
        size = int(rng.integers(7, 113))
        low, high = math.log(3), math.log(600)
        channels, filters = (round(math.exp(rng.uniform(low, high))) for _ in range(2))
        groups = 1
        if depthwise:
            filters = groups = channels
        elif rng.random() < 0.7:
            channels, filters = (max(8, n // 8 * 8) for n in (channels, filters))
        side = (size + 2 * (window // 2) - window) // stride + 1
        work = batch * side * side * filters * channels // groups * window * window
        if 2e6 <= work <= 4e8:
            return {
                "x": (batch, channels, size, size),
                "w": (filters, channels // groups, window, window),
                "stride": stride, "padding": window // 2, "groups": groups,
            }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name, value in {"threads": 1, "turns": 15, "count": 40, "seed": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=value, help="default: %(default)s")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import numpy as np
    import tilewright
    import torch

    torch.set_num_threads(arguments.threads)
    rng = np.random.default_rng(arguments.seed)
    ratios = []
    with tilewright.init_backend("cpu") as be, torch.inference_mode():
        print(*be.device.features, arguments.threads, "threads; torch", torch.__version__)
        for _ in range(arguments.count):
            drawn = draw(rng)
            numbers = [rng.standard_normal(drawn[name], np.float32) for name in ("x", "w")]
            window = {name: drawn[name] for name in ("stride", "padding", "groups")}
            own, theirs = [be.array(n) for n in numbers], [torch.from_numpy(n) for n in numbers]
            out = be.conv2d(own[0], own[1], **window)

            def ours(own: Any = own, window: Any = window, out: Any = out) -> None:
                be.conv2d(own[0], own[1], out=out, **window)

            def peer(theirs: Any = theirs, window: Any = window) -> None:
                torch.nn.functional.conv2d(theirs[0], theirs[1], **window)

            best = [math.inf, math.inf]
            for _ in range(arguments.turns):
                for side, call in enumerate((ours, peer)):
                    call()  # the peer's threads may be awake, and caches are its own
                    start = time.perf_counter()
                    call()
                    best[side] = min(best[side], time.perf_counter() - start)
            ratios.append(best[1] / best[0])
            text = " ".join(f"{name} {value}" for name, value in drawn.items())
            print(f"{text}: {best[0] * 1e6:.0f} us, {ratios[-1]:.2f}")
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean {mean:.2f}, least {min(ratios):.2f}, largest {max(ratios):.2f}")


if __name__ == "__main__":
    main()
