"""Random numbers beside NumPy's Generator.

    python benchmarks/python/random_numbers.py [--device webgpu:0] [--threads N] [--elements N]

The sides take turns; shown are medians of the times, and of the ratios turn by turn. Above 1 we are
the faster ones. NumPy uses one thread whatever it is given.
"""

from __future__ import annotations

from typing import Any

import harness
from turns import Call, in_turns, options

# By name: the arguments beside the size, and the dtype.
CASES: tuple[tuple[str, tuple[Any, ...], str | None], ...] = (
    ("random", (), "float32"),
    ("random", (), "float64"),
    ("uniform", (2, 5), None),
    ("standard_normal", (), "float32"),
    ("standard_normal", (), "float64"),
    ("standard_exponential", (), "float32"),
    ("standard_exponential", (), "float64"),
    ("integers", (0, 100), "int32"),
    ("integers", (0, 100), "int64"),
    ("standard_gamma", (2.5,), "float32"),
    ("standard_gamma", (0.5,), "float32"),
    ("standard_gamma", (2.5,), "float64"),
    ("beta", (2, 3), None),
    ("standard_t", (5,), None),
    ("vonmises", (0, 2), None),
    ("wald", (1, 1), None),
    ("poisson", (3,), None),
    ("poisson", (100,), None),
    ("binomial", (100, 0.4), None),
    ("hypergeometric", (30, 50, 20), None),
    ("negative_binomial", (3, 0.4), None),
    ("zipf", (2.5,), None),
)


def drawn(
    generator: Any, name: str, arguments: tuple[Any, ...], elements: int, **more: Any
) -> Call:
    return lambda: getattr(generator, name)(*arguments, size=elements, **more)


def main() -> None:
    parser = options(__doc__, turns=5)
    parser.add_argument("--elements", type=int, default=10**7, help="default: %(default)s")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import numpy as np
    import tilewright

    with tilewright.init_backend(arguments.device) as be:
        print(f"{be.device.name}; NumPy {np.__version__}; {arguments.elements} elements")
        ours, theirs = tilewright.random.default_rng(1, device=be), np.random.default_rng(1)
        calls = max(1, 10**5 // max(arguments.elements, 1))
        for name, values, dtype in CASES:
            more = {} if dtype is None else {"dtype": dtype}
            if be.name == "webgpu" and dtype == "float64" and name == "standard_normal":
                continue
            sides: dict[str, tuple[Call, Call]] = {
                "tilewright": (
                    drawn(ours, name, values, arguments.elements, **more),
                    be.synchronize,
                ),
                "numpy": (drawn(theirs, name, values, arguments.elements, **more), lambda: None),
            }
            own, ratios = in_turns(sides, arguments.turns, min(calls, 1000))
            shown = ", ".join(str(one) for one in values)
            print(f"{name}({shown}) {dtype or '':8s} {own * 1e3:9.4f} ms  {ratios}", flush=True)


if __name__ == "__main__":
    main()
