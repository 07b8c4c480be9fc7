"""Elementwise ops, reductions and row ops of the CPU backend beside NumPy and torch.

    python benchmarks/python/elementwise.py [--threads N] [--repeats N] [op ...]

16M float32 elements, far more than the caches hold, seen as 4096 x 4096 by the ops on rows. All
sides read and write the same memory: where its pages lie makes a difference of a tenth and more.
The sides take turns. Shown are the medians of the times, and of the ratio to the faster peer turn
by turn, since memory that others use too is twice as fast in one second as in another; above 1 we
are the faster ones. torch is left out where it is missing.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import harness
import numpy as np

ROWS = COLUMNS = 4096
COUNT = ROWS * COLUMNS
MOST_IN_A_TURN = 9
Call = Callable[[], object]


class Sides:
    """The inputs and an output, and for each op a call to make on each side."""

    def __init__(self, torch: Any, backend: Any) -> None:
        self.torch, self.backend = torch, backend
        random = np.random.default_rng(0)
        x = random.standard_normal(COUNT, dtype=np.float32)
        self.arrays = {
            "x": backend.array(x),
            "y": backend.array(random.standard_normal(COUNT, dtype=np.float32)),
            "positive": backend.array(np.abs(x) + np.float32(0.1)),
            "weight": backend.array(random.standard_normal(COLUMNS, dtype=np.float32)),
            "out": backend.zeros(COUNT),
            "row_out": backend.zeros(COLUMNS),
        }
        self.x, self.y, self.positive, self.weight, self.out, self.row_out = map(
            np.from_dlpack, self.arrays.values()
        )

    def tensor(self, name: str, *shape: int) -> Any:
        tensor = self.torch.from_numpy(getattr(self, name))
        return tensor.view(*shape) if shape else tensor

    def unary(
        self, op: str, numpy: Call | None, torch: str, **options: object
    ) -> list[Call | None]:
        source = "positive" if op == "log" else "x"
        x, out = self.arrays[source], self.arrays["out"]
        peer = None
        if self.torch:
            function = getattr(self.torch.ops.aten, torch).out
            given, result = self.tensor(source), self.tensor("out")
            peer = lambda: function(given, **options, out=result)  # noqa: E731
        return [lambda: self.backend.unary(op, x, out, COUNT), numpy, peer]

    def binary(self, op: str, numpy: np.ufunc) -> list[Call | None]:
        first = "positive" if op == "pow" else "x"
        a, b, out = self.arrays[first], self.arrays["y"], self.arrays["out"]
        peer = None
        if self.torch:
            function = getattr(self.torch, {"max": "maximum"}.get(op, op))
            given, other, result = self.tensor(first), self.tensor("y"), self.tensor("out")
            peer = lambda: function(given, other, out=result)  # noqa: E731
        return [
            lambda: self.backend.binary(op, a, b, out, COUNT),
            lambda: numpy(getattr(self, first), self.y, out=self.out),
            peer,
        ]

    def reduce(self, op: str, axis: int | None) -> list[Call | None]:
        x, out = self.arrays["x"], self.arrays["row_out"]
        shape, at = ([COUNT], 0) if axis is None else ([ROWS, COLUMNS], axis)
        values = self.x.reshape(shape)
        result = self.row_out[:1].reshape(()) if axis is None else self.row_out
        numpy = getattr(np, op)
        peer = None
        if self.torch:
            function = getattr(self.torch, {"max": "amax"}.get(op, op))
            given, target = self.tensor("x", *shape), self.torch.from_numpy(result)
            peer = lambda: function(given, at, out=target)  # noqa: E731
        return [
            lambda: self.backend.reduce(op, x, out, shape, at),
            lambda: numpy(values, axis=at, out=result),
            peer,
        ]

    def softmax(self) -> list[Call | None]:
        x, out = self.arrays["x"], self.arrays["out"]
        values, result = self.x.reshape(ROWS, COLUMNS), self.out.reshape(ROWS, COLUMNS)

        def numpy() -> None:
            np.subtract(values, values.max(axis=1, keepdims=True), out=result)
            np.exp(result, out=result)
            np.divide(result, result.sum(axis=1, keepdims=True), out=result)

        peer = None
        if self.torch:
            given, target = self.tensor("x", ROWS, COLUMNS), self.tensor("out", ROWS, COLUMNS)
            peer = lambda: self.torch.softmax(given, 1, out=target)  # noqa: E731
        return [lambda: self.backend.softmax(x, out, [ROWS, COLUMNS], 1), numpy, peer]

    def layer_norm(self) -> list[Call | None]:
        x, w, out = (self.arrays[name] for name in ("x", "weight", "out"))
        peer = None
        if self.torch:
            given, weight = self.tensor("x", ROWS, COLUMNS), self.tensor("weight")
            norm = self.torch.nn.functional.layer_norm
            peer = lambda: norm(given, [COLUMNS], weight, weight, 1e-5)  # noqa: E731
        return [lambda: self.backend.layer_norm(x, w, w, out, ROWS, COLUMNS, 1e-5), None, peer]

    def sigmoid_in_numpy(self) -> None:
        np.negative(self.x, out=self.out)
        np.exp(self.out, out=self.out)
        np.add(self.out, 1, out=self.out)
        np.reciprocal(self.out, out=self.out)

    def cases(self) -> dict[str, list[Call | None]]:
        x, positive, out = self.x, self.positive, self.out
        found = {
            "add": self.binary("add", np.add),
            "mul": self.binary("mul", np.multiply),
            "maximum": self.binary("max", np.maximum),
            "pow": self.binary("pow", np.power),
            "exp": self.unary("exp", lambda: np.exp(x, out=out), "exp"),
            "log": self.unary("log", lambda: np.log(positive, out=out), "log"),
            "tanh": self.unary("tanh", lambda: np.tanh(x, out=out), "tanh"),
            "sigmoid": self.unary("sigmoid", self.sigmoid_in_numpy, "sigmoid"),
            "relu": self.unary("relu", lambda: np.maximum(x, 0, out=out), "relu"),
            "silu": self.unary("silu", None, "silu"),
            "gelu": self.unary("gelu", None, "gelu", approximate="none"),
            "gelu_tanh": self.unary("gelu_tanh", None, "gelu", approximate="tanh"),
            "softmax": self.softmax(),
            "layer_norm": self.layer_norm(),
        }
        for op in ("sum", "mean", "max"):
            found[op] = self.reduce(op, None)
            found[f"{op} of rows"] = self.reduce(op, 1)
            found[f"{op} of columns"] = self.reduce(op, 0)
        return found


def one_turn(call: Call) -> float:
    """Milliseconds of a call: the median of some, and of one where it takes long."""
    harness.settle(call)
    taken: list[float] = []
    while len(taken) < MOST_IN_A_TURN and sum(taken) < 10:
        start = time.perf_counter()
        call()
        taken.append((time.perf_counter() - start) * 1e3)
    return median(taken)


def times(calls: list[Call | None], repeats: int) -> list[list[float]]:
    """Milliseconds of each call, turn by turn; none of a call that there is not."""
    turns = [[one_turn(call) for call in calls if call is not None] for _ in range(repeats)]
    taken = iter(zip(*turns, strict=True))
    return [[] if call is None else list(next(taken)) for call in calls]


def report(name: str, taken: list[list[float]]) -> None:
    ours, *peers = taken
    shown = "".join(f"{median(peer):9.2f}" if peer else "        -" for peer in peers)
    best = min(filter(None, peers), key=median, default=None)
    ratio = "       -"
    if best is not None:
        ratio = f"{median(theirs / own for theirs, own in zip(best, ours, strict=True)):8.2f}"
    print(f"{name:16}{median(ours):11.2f}{shown}{ratio}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "ops", nargs="*", metavar="op", help="the ones to measure; all unless given"
    )
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeats", type=int, default=20)
    arguments = parser.parse_args()
    os.environ["TILEWRIGHT_NUM_THREADS"] = str(arguments.threads)

    import tilewright

    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        torch = None
    else:
        torch.set_num_threads(arguments.threads)

    with tilewright.init_backend("cpu") as backend:
        cases = Sides(torch, backend).cases()
        unknown = set(arguments.ops) - set(cases)
        if unknown:
            sys.exit(f"no op is called {', '.join(sorted(unknown))}; there are {', '.join(cases)}")
        print(f"{'ms':16}{'tilewright':>11}{'numpy':>9}{'torch':>9}{'ratio':>8}")
        for name in arguments.ops or cases:
            report(name, times(cases[name], arguments.repeats))


if __name__ == "__main__":
    main()
