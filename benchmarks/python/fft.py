"""Fourier transforms beside NumPy's, SciPy's and torch's.

    python benchmarks/python/fft.py [--device webgpu:0] [--threads N] [--elements N]
        [--lengths 1000,1024] [--square 4096] [--dtypes complex64,complex128]
        [--drawn 40] [--single] [--processor-time]

torch works on CUDA beside a GPU; NumPy (one thread) and SciPy are asked on the processor alone.
Lengths are drawn by kind, in each run the same ones, where --lengths names none; there are as many
rows as make up --elements, or one with --single. --drawn takes so many lengths from 2 to a million
instead, each decade as likely, and adds the geometric means of the ratios. --square adds transforms
along both axes of a matrix.
--processor-time compares the least time that the process's own threads were busy, which other
programs of the machine change little.
The sides take turns; shown are medians of the times, and of the ratios turn by turn. Above 1 we are
the faster ones.
"""

from __future__ import annotations

import functools
import math
import time
from typing import Any

import harness
from turns import Call, in_turns, options, torch_beside

OPS = ("fft", "rfft", "irfft")


def is_smooth(n: int, most: int) -> bool:
    for prime in range(2, most + 1):
        while n % prime == 0:
            n //= prime
    return n == 1


def lengths(random: Any, most: int) -> dict[int, str]:
    """Some of each kind, small and large."""
    kinds: dict[int, str] = {}
    for low, high in ((16, 128), (128, 2048), (2048, 32768), (2**18, 2**20)):
        if high > most:
            continue
        kinds[2 ** int(random.integers(low.bit_length(), high.bit_length()))] = "power of 2"
        drawn = random.integers(low, high, 5000).tolist()
        kinds[next(n for n in drawn if is_smooth(n, 7) and n & (n - 1))] = "smooth"
        kinds[next(n for n in drawn if not is_smooth(n, 13))] = "any"
    return kinds


def drawn(random: Any, count: int) -> dict[int, str]:
    """Any lengths from 2 to a million, their logarithms evenly spread."""
    found = (2 * 500_000 ** random.random(count)).astype(int).tolist()
    return {n: "smooth" if is_smooth(n, 13) else "any" for n in found}


def ratios_of(text: str) -> dict[str, float]:
    """ "0.90 of NumPy, ..." as numbers."""
    return {name: float(ratio) for ratio, name in (one.split(" of ") for one in text.split(", "))}


def means(ratios: list[dict[str, float]]) -> str:
    """Geometric ones, and the least of each."""
    found = []
    for name in ratios[0]:
        of = [one[name] for one in ratios]
        mean = math.exp(math.fsum(map(math.log, of)) / len(of))
        found.append(f"{mean:.2f} of {name}, {min(of):.2f} at least")
    return "; ".join(found)


def least_of(sides: dict[str, tuple[Call, Call]], turns: int, calls: int) -> tuple[float, str]:
    """As in_turns(), by the time that this process's threads were busy."""
    least = dict.fromkeys(sides, math.inf)
    for turn in range(turns + 1):
        for name, (call, wait) in sides.items():
            begin = time.process_time()
            for _ in range(calls):
                call()
            wait()
            if turn > 0:  # the first one makes tables
                least[name] = min(least[name], (time.process_time() - begin) / calls)
    own = least.pop("tilewright")
    return own, ", ".join(f"{other / own:.2f} of {name}" for name, other in least.items())


def main() -> None:
    parser = options(__doc__, turns=7)
    parser.add_argument("--elements", type=int, default=1 << 20, help="default: %(default)s")
    parser.add_argument("--lengths", help="these, by commas")
    parser.add_argument("--square", type=int, help="rows of a square matrix")
    parser.add_argument("--drawn", type=int, help="so many lengths from 2 to a million")
    parser.add_argument("--single", action="store_true", help="of one row each")
    parser.add_argument("--processor-time", action="store_true", help="on the processor alone")
    parser.add_argument("--dtypes", help="by commas; both on the processor, else complex64")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import numpy as np
    import scipy.fft
    import tilewright as tw

    with tw.init_backend(arguments.device) as be:
        on_cpu = be.name == "cpu"
        torch = torch_beside(be, arguments.threads)
        print(f"{be.device.name}; {torch}")
        random = np.random.default_rng(0)
        cases = sorted(lengths(random, arguments.elements).items())
        if arguments.drawn:
            cases = sorted(drawn(random, arguments.drawn).items())
        if arguments.lengths:
            cases = [(int(n), "asked for") for n in arguments.lengths.split(",")]
        dtypes = ["complex64", "complex128"] if on_cpu else ["complex64"]
        if arguments.dtypes:
            dtypes = arguments.dtypes.split(",")
        if arguments.square:
            cases.append((arguments.square, "square"))
        summary: dict[tuple[str, str, str], list[dict[str, float]]] = {}
        for n, kind in cases:
            square = kind == "square"
            rows = n if square else max(1, 0 if arguments.single else arguments.elements // n)
            for dtype in dtypes:
                z = random.standard_normal((rows, n)) + 1j * random.standard_normal((rows, n))
                z = z.astype(dtype)
                for op in ("fft2",) if square else OPS:
                    host = z.real.copy() if op == "rfft" else z[:, : n // 2 + 1].copy()
                    host = z if op in ("fft", "fft2") else host
                    size = {} if square else {"n": n}
                    x = tw.asarray(host, device=be)
                    own: Call = functools.partial(getattr(tw.fft, op), x, **size)
                    sides: dict[str, tuple[Call, Call]] = {"tilewright": (own, be.synchronize)}
                    if on_cpu:
                        in_numpy = functools.partial(getattr(np.fft, op), host, **size)
                        in_scipy = functools.partial(
                            getattr(scipy.fft, op), host, workers=arguments.threads, **size
                        )
                        sides["NumPy"] = (in_numpy, lambda: None)
                        sides["SciPy"] = (in_scipy, lambda: None)
                    if torch.module is not None and torch.where == "cuda":
                        there = torch.module.from_numpy(host).cuda()
                        in_torch = functools.partial(getattr(torch.module.fft, op), there, **size)
                        sides["torch"] = (in_torch, torch.wait)
                    measure = least_of if arguments.processor_time else in_turns
                    calls = max(1, arguments.elements // (rows * n) // 32)
                    seconds, ratios = measure(sides, arguments.turns, calls)
                    if ratios:
                        summary.setdefault((op, dtype, kind), []).append(ratios_of(ratios))
                    each = seconds * 1e9 / (rows * n)
                    print(f"{op:5} {dtype:10} {n:7} {kind:10}  {each:8.2f} ns an element  {ratios}")
        if arguments.drawn:
            for (op, dtype, kind), found in summary.items():
                print(f"{op:5} {dtype:10} {len(found)} {kind}: {means(found)}")


if __name__ == "__main__":
    main()
