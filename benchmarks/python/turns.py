"""What benchmarks share that time one call of ours and those of peers, turn by turn."""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

Call = Callable[[], object]


def options(doc: str | None, turns: int) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--device", default="cpu", help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--turns", type=int, default=turns, help="default: %(default)s")
    return parser


@dataclass(frozen=True)
class Torch:
    """torch on CUDA beside a GPU, else on the processor; None as its module where it is missing."""

    module: Any
    where: str
    wait: Call

    def __str__(self) -> str:
        return "torch is not there" if self.module is None else f"torch on {self.where}"


def torch_beside(be: Any, threads: int) -> Torch:
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        return Torch(None, "cpu", lambda: None)
    torch.set_num_threads(threads)
    if be.name == "cpu" or not torch.cuda.is_available():
        return Torch(torch, "cpu", lambda: None)
    # float32 as we have it: cuDNN rounds to TF32 unless told not to.
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    return Torch(torch, "cuda", torch.cuda.synchronize)


def seconds(call: Call, wait: Call, calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    wait()
    return (time.perf_counter() - start) / calls


def in_turns(sides: Mapping[str, tuple[Call, Call]], turns: int, calls: int) -> tuple[float, str]:
    """Our median seconds, and how many times as fast as each peer we are in the median turn. A side
    is its call and what waits for it; a sample is several calls that are awaited together."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for call, wait in sides.values():
        seconds(call, wait, 1)
    for _ in range(turns):
        for name, (call, wait) in sides.items():
            times[name].append(seconds(call, wait, calls))
    own = times.pop("tilewright")
    ratios = ", ".join(
        f"{median(p / o for p, o in zip(peer, own, strict=True)):.2f} of {name}"
        for name, peer in times.items()
    )
    return median(own), ratios
