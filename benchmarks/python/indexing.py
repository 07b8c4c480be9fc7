"""Masks and arrays of indices, beside NumPy and torch.

    python benchmarks/python/indexing.py [--device webgpu:0] [--threads N] [--quick]

torch works on CUDA beside a GPU and on the processor beside `cpu`; NumPy is asked on the processor
alone. All make their results anew, and those of masks wait for the device. The sides take turns,
each sample several calls that are awaited together; shown are medians of the times, and of the
ratios turn by turn. Above 1 we are the faster ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import harness
from turns import Call, in_turns, options, torch_beside


def cases(np: Any, quick: bool) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A name, arrays, and what is done to them: the same words on every side."""
    random = np.random.default_rng(0)
    n = 1 << (20 if quick else 24)
    side = 1 << (10 if quick else 12)
    x = random.random(n, np.float32)
    wide = random.random((side, side), np.float32)
    small = random.integers(0, 256, n, np.uint8)
    index = random.integers(0, n, n // 2)
    rows = random.integers(0, side, side)
    yield "x[i]", {"x": x, "i": index}, "x[i]"
    yield "uint8 x[i]", {"x": small, "i": index}, "x[i]"
    yield "x[i] in order", {"x": x, "i": np.arange(n // 2)}, "x[i]"
    yield "x[rows]", {"x": wide, "i": rows}, "x[i]"
    yield "x[:, cols]", {"x": wide, "i": rows}, "x[:, i]"
    yield "x[rows, cols]", {"x": wide, "i": rows, "j": rows[::-1].copy()}, "x[i, j]"
    yield "x[i] = v", {"x": x.copy(), "i": index, "v": x[: n // 2]}, "x[i] = v"
    yield "x[rows] = v", {"x": wide.copy(), "i": rows, "v": wide[::-1].copy()}, "x[i] = v"
    for share in (0.01, 0.5, 0.99):
        yield f"x[mask], {share:.0%}", {"x": x, "m": random.random(n) < share}, "x[m]"
    yield "uint8 x[mask], 50%", {"x": small, "m": x < 0.5}, "x[m]"
    yield "rows[mask], 50%", {"x": wide, "m": wide[0] < 0.5}, "x[m]"
    yield "x[mask] = 0", {"x": x.copy(), "m": x < 0.5}, "x[m] = 0"
    yield "x[mask] = v", {"x": x.copy(), "m": x < 0.5, "v": x[: int((x < 0.5).sum())]}, "x[m] = v"
    yield "nonzero, 50%", {"x": x < 0.5}, "nonzero(x)"
    yield "nonzero of rows, 10%", {"x": wide < 0.1}, "nonzero(x)"
    yield "searchsorted", {"x": np.sort(x), "v": x[: n // 8].copy()}, "searchsorted(x, v)"


def call_of(arrays: dict[str, Any], words: str, functions: Any) -> Call:
    names = {"nonzero": functions.nonzero, "searchsorted": functions.searchsorted, **arrays}
    if words == "nonzero(x)" and functions.__name__ == "torch":
        words = "nonzero(x, as_tuple=True)"
    code = compile(words, words, "exec")
    return lambda: exec(code, names)


def main() -> None:
    parser = options(__doc__, turns=7)
    parser.add_argument("--quick", action="store_true", help="small arrays alone")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import numpy as np
    import tilewright

    with tilewright.init_backend(arguments.device) as be:
        on_cpu = be.name == "cpu"
        torch = torch_beside(be, arguments.threads)
        print(f"{be.device.name}; {torch}")
        for name, arrays, words in cases(np, arguments.quick):
            # Dawn has no int64.
            narrow = "int64" not in {str(one.value) for one in be.capabilities().storage_dtypes}
            here = {
                key: tilewright.asarray(
                    x.astype(np.int32) if narrow and x.dtype == np.int64 else x, device=be
                )
                for key, x in arrays.items()
            }
            sides: dict[str, tuple[Call, Call]] = {
                "tilewright": (call_of(here, words, tilewright), be.synchronize)
            }
            if on_cpu:
                own = {key: x.copy() for key, x in arrays.items()}
                sides["numpy"] = (call_of(own, words, np), lambda: None)
            if torch.module is not None:
                there = {
                    key: torch.module.from_numpy(x.copy()).to(torch.where)
                    for key, x in arrays.items()
                }
                sides["torch"] = (call_of(there, words, torch.module), torch.wait)
            mine, ratios = in_turns(sides, arguments.turns, 1 if on_cpu else 10)
            print(f"{name:22s} {mine * 1e3:9.3f} ms  {ratios}", flush=True)


if __name__ == "__main__":
    main()
