"""Expressions of arrays with deferred work, beside the same written in torch.

    python benchmarks/python/deferred.py [--device webgpu:0] [--elements N] [--calls N]
        [--threads N]

torch works eagerly, on CUDA beside a GPU and on the processor beside `cpu`; so does NumPy on its
one thread, beside `cpu`. The sides take turns, each sample --calls calls that are awaited together;
shown are medians of the times, and of the ratios turn by turn. Above 1 we are the faster ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import harness
from turns import Call, in_turns, options, torch_beside

# Each is given the namespace that has the functions.
EXPRESSIONS: dict[str, Callable[..., Any]] = {
    "(a * b + c * tanh(d)).sum()": lambda m, a, b, c, d: (a * b + c * m.tanh(d)).sum(),
    "a * b + c * tanh(d)": lambda m, a, b, c, d: a * b + c * m.tanh(d),
    "sqrt(a * a + b * b)": lambda m, a, b, c, d: m.sqrt(a * a + b * b),
    "where(a < b, a * c, b * d)": lambda m, a, b, c, d: m.where(a < b, a * c, b * d),
    "exp(a - b) / (c + 1)": lambda m, a, b, c, d: m.exp(a - b) / (c + 1),
    "a + b": lambda m, a, b, c, d: a + b,
}


def main() -> None:
    parser = options(__doc__, turns=9)
    parser.add_argument("--elements", type=int, default=64_000_000, help="default: %(default)s")
    parser.add_argument("--calls", type=int, help="default: those of 200 million elements")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import numpy as np
    import tilewright as tw

    with tw.init_backend(arguments.device) as be:
        torch = torch_beside(be, arguments.threads)
        print(f"{be.device.name}; {torch}")
        random = np.random.default_rng(0)
        values = [random.random(arguments.elements, dtype=np.float32) for _ in range(4)]
        arrays = [tw.asarray(one, device=be) for one in values]
        tensors = []
        if torch.module is not None:
            tensors = [torch.module.from_numpy(one).to(torch.where) for one in values]
        calls = arguments.calls or max(1, round(2e8 / arguments.elements))

        kept: list[Any] = []

        def ours(write: Callable[..., Any]) -> Call:
            return lambda: kept.append(write(tw, *arrays))

        def wait() -> None:
            be.synchronize()  # computes what is still asked for
            kept.clear()

        for name, write in EXPRESSIONS.items():
            sides: dict[str, tuple[Call, Call]] = {"tilewright": (ours(write), wait)}
            if be.name == "cpu":
                sides["NumPy"] = (lambda write=write: write(np, *values), lambda: None)
            if torch.module is not None:
                sides["torch"] = (lambda write=write: write(torch.module, *tensors), torch.wait)
            seconds, ratios = in_turns(sides, arguments.turns, calls)
            print(f"{name:28} {seconds * 1e3:9.3f} ms  {ratios}")


if __name__ == "__main__":
    main()
