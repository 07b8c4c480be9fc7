"""Shapes, layouts and ops drawn by a seed, beside torch's: how even the speed is.

    python benchmarks/python/even_speed.py [--device webgpu:0] [--seed N] [--count N]
        [--family NAME ...] [--dtype float16] [--seconds S] [--divide N] [--cases]
        [--json FILE] [--threads N] [--queued]

Families are drawn by their weights: unary 8, binary 8, broadcast 8, fused 4, views 6, reductions
12, softmax 8, norms 9, products 14, convolutions 6, gradients 6, attention 8, pooling 3, places
4, sorts 5, transforms 3. Within one of them the op and the kind of shape are drawn with the
chances that its function in even_memory.py or even_products.py lists, most of them the same for
each.

Sizes are log-uniform integers, and half of those from 32 on are rounded to a multiple of 16; the
others stay odd, prime or what they are. What waits for memory has 2^22 to 2^28 elements moved,
cut into axes at log-uniform places: rows, columns, long and short ones alike. Rows of softmax,
norms and sorts are a quarter each few (1 to 64) and long, and short (2 to 48). Products have m, n
and k from 16 to 8192, in batches 8 to 1024; sides of images 7 to 224, channels up to 512, batches
up to 64; attention 64 to 8192 queries and keys, short ones 16 to 192, decoding up to 32768 keys.
Permutations that leave the order of elements as it is are drawn again, since torch copies nothing
then. So is a case that moves fewer than 2^22 elements and has fewer than 5e8 operations, more than
2^28 or more than 3e11; on `cpu` 2^15, 1e7, 2^22 and 5e8.

Both sides have the same numbers. On a GPU our time is that of all launches of a call by the GPU's
clock (`be.profile()`), torch's that between two events of CUDA around a call, queued behind a
kernel that waits, so that the host counts on neither side; the median of several calls behind
products that wake the clocks. Either clock adds some microseconds to a launch or call, which the
second line of what is printed says. With `--queued` both are by the wall clock: calls one behind
the other, as many as take QUEUED seconds, and a wait for the last, turn by turn; so a short call
takes as long as the host takes to make it, on either side. TF32 is off, cuDNN chooses as it does
by itself. On `cpu` it is the wall clock, turn by turn. `fused` is one deferred expression beside
torch's calls one by one.

Each result is held against torch's, of float16 against torch's in float32, and where that is off
against torch's in float64. Printed are the geometric means of how many times as fast as torch we
are, with each ratio cut at 2 so that no case makes up for many, the tenth percentile, and the
worst ten with the kernels that ran; `--cases` prints all. With a wrong result the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import harness
from even_cases import ON_CPU, ON_GPU, Case, Dice, Operand, drawn
from even_memory import MEMORY
from even_products import PRODUCTS
from turns import Call, options, torch_beside

FAMILIES = MEMORY | PRODUCTS
CUT = 2.0
#: Cycles that a kernel waits while calls are queued behind it.
QUEUE = 20_000_000
#: What calls by the wall clock take at least, one behind the other.
QUEUED = 4e-3


@dataclass
class Result:
    family: str
    label: str
    us: float
    gb_per_s: float
    gflops: float
    ratio: float | None
    kernels: str
    wrong: str


class Data:
    """Numbers for both sides: made by torch where it is, on its device."""

    def __init__(self, np: Any, torch: Any, seed: int) -> None:
        self.np, self.torch = np, torch
        self.random = np.random.default_rng(seed)
        if torch.module is not None:
            self.generator = torch.module.Generator(torch.where).manual_seed(seed)

    def on_host(self, operand: Operand) -> Any:
        np, shape = self.np, operand.shape
        if operand.kind == "index":
            return self.random.integers(0, operand.below, shape)
        if operand.kind == "places":
            return self.random.permutation(operand.below)[: shape[0]]
        if operand.kind == "complex":
            both = self.random.standard_normal((*shape, 2), np.float32)
            return both.view(np.complex64)[..., 0]
        x = self.random.standard_normal(shape, np.float32)
        if operand.kind == "sorted":
            return np.sort(x)
        if operand.kind == "near one":
            return 1 + x * np.float32(1e-5)
        return np.abs(x) + np.float32(0.1) if operand.kind == "positive" else x

    def tensor(self, operand: Operand) -> Any:
        t, shape = self.torch.module, operand.shape
        given = {"device": self.torch.where, "generator": self.generator}
        if operand.kind == "index":
            return t.randint(0, operand.below, shape, **given)
        if operand.kind == "places":
            return t.randperm(operand.below, **given)[: shape[0]]
        if operand.kind == "complex":
            return t.randn(shape, dtype=t.complex64, **given)
        x = t.randn(shape, **given)
        if operand.kind == "sorted":
            return x.sort()[0]
        if operand.kind == "near one":
            return 1 + x * 1e-5
        return x.abs() + 0.1 if operand.kind == "positive" else x


class Bench:
    def __init__(
        self, tw: Any, np: Any, be: Any, torch: Any, arguments: argparse.Namespace
    ) -> None:
        self.tw, self.np, self.be, self.torch = tw, np, be, torch
        self.dtype, self.turns = arguments.dtype, arguments.turns
        self.data = Data(np, torch, arguments.seed)
        self.queued = arguments.queued
        self.on_gpu = be.name != "cpu" and "timestamps" in be.capabilities().features
        self.warm: Call = lambda: None
        self.warm_launches = 0
        if torch.where == "cuda":
            a = be.array(np.random.default_rng(0).standard_normal((4096, 4096), np.float32))
            out = be.empty(a.shape)
            self.warm = lambda: [be.matmul(a, a, out=out) for _ in range(8)]
            t = torch.module.from_numpy(a.numpy()).cuda()
            self.torch_warm: Call = lambda: [t @ t for _ in range(4)]
            with be.profile() as p:
                self.warm()
            self.warm_launches = len(p.records)

    def operands(self, case: Case) -> tuple[list[Any], list[Any]]:
        """The views that both compute with."""
        tensors, arrays = [], []
        for operand in case.operands:
            kind = "float32" if operand.kind == "complex" else self.dtype
            if self.torch.module is None:
                host = self.data.on_host(operand)
            else:
                x = self.data.tensor(operand)
                if x.is_floating_point():
                    x = x.to(getattr(self.torch.module, kind))
                host = x.cpu().numpy()
                tensors.append(operand.view(self.torch.module, x))
            if host.dtype == self.np.int64:
                host = host.astype(self.np.int32)
            elif host.dtype == self.np.float32:
                host = host.astype(kind, copy=False)
            arrays.append(operand.view(self.tw, self.tw.asarray(host, device=self.be)))
        return tensors, arrays

    def expected(self, case: Case, tensors: list[Any]) -> Any:
        """torch's result, of float16 that in float32: its running sums round each step."""
        t = self.torch.module
        if self.dtype != "float16":
            return case.peer(t, *tensors)
        found = case.peer(t, *(x.float() if x.dtype == t.float16 else x for x in tensors))
        return found.half() if found.dtype == t.float32 else found

    def exact(self, case: Case, tensors: list[Any]) -> Any:
        """torch's result in float64: some of cuDNN's gradients are far from it."""
        t = self.torch.module
        found = case.peer(t, *(x.double() if x.is_floating_point() else x for x in tensors))
        return found.float() if found.dtype == t.float64 else found

    def error(self, case: Case, result: Any, expected: Any, tensors: list[Any]) -> str:
        """What is wrong with our result, or nothing."""
        t = self.torch.module
        got = t.from_numpy(self.np.ascontiguousarray(result.numpy())).to(self.torch.where)
        expected = case.seen(t, expected, *tensors)
        if math.prod(got.shape) != math.prod(case.seen(t, got, *tensors).shape):
            got = got.reshape(-1)
        got = case.seen(t, got, *tensors)
        if got.numel() != expected.numel():
            return f"{tuple(got.shape)} in place of {tuple(expected.shape)}"
        got = got.reshape(expected.shape)
        if not (got.is_complex() or expected.is_complex()):
            got, expected = got.float(), expected.float()
        limit = max(case.tolerance, 4e-3 if self.dtype == "float16" else 0)
        limit *= float(expected.abs().max())
        worst = float((got - expected).abs().max())
        return "" if worst <= limit else f"off by {worst:.3g}, allowed are {limit:.3g}"

    def run(self, case: Case) -> Result:
        tensors, arrays = self.operands(case)
        kept: list[Any] = []

        def own() -> Any:
            # torch's last result is free at its next call as well.
            kept.clear()
            with self.tw.deferred() if case.deferred else nullcontext():
                kept[:] = [case.own(self.tw, *arrays)]
            if not self.queued:
                self.be.flush()
            return kept[0]

        def peer() -> Any:
            return case.peer(self.torch.module, *tensors)

        wrong = ""
        result = own()
        if self.torch.module is not None:
            wrong = self.error(case, result, self.expected(case, tensors), tensors)
            if wrong:
                wrong = self.error(case, result, self.exact(case, tensors), tensors)
        del result
        if self.queued and self.torch.where == "cuda":
            with self.be.profile() as p:
                own()
            kernels = names(p.records)
            seconds, theirs = self.by_queue(own, peer)
        elif self.on_gpu:
            seconds, kernels = self.by_gpu_clock(own)
            theirs = self.by_events(peer) if self.torch.where == "cuda" else None
            if theirs is None and self.torch.module is not None:
                theirs = self.by_wall({"torch": peer})["torch"]
        else:
            sides: dict[str, Call] = {"tilewright": own}
            if self.torch.module is not None:
                sides["torch"] = peer
            with self.be.profile() as p:
                own()
            kernels = names(p.records)
            times = self.by_wall(sides)
            seconds, theirs = times["tilewright"], times.get("torch")
        size = 2 if self.dtype == "float16" else 4
        return Result(
            case.family, case.label, seconds * 1e6, case.moved * size / seconds * 1e-9,
            case.work / seconds * 1e-9, None if theirs is None else theirs / seconds, kernels,
            wrong,
        )  # fmt: skip

    def by_gpu_clock(self, call: Call) -> tuple[float, str]:
        with self.be.profile() as p:
            self.warm()
            for _ in range(self.turns):
                call()
        records = p.records[self.warm_launches :]
        if not records:
            raise RuntimeError("a call made no launch that the GPU's clock could time")
        each = len(records) // self.turns
        if each * self.turns != len(records):
            return sum(r.duration_ns for r in records) * 1e-9 / self.turns, names(records)
        calls = [
            sum(r.duration_ns for r in records[i : i + each]) for i in range(0, len(records), each)
        ]
        return statistics.median(calls) * 1e-9, names(records[:each])

    def clocks(self) -> str:
        """What both clocks say of an op that has next to nothing to do."""
        x = self.tw.ones(64, device=self.be)
        text = f"64 elements take {self.by_gpu_clock(lambda: self.tw.add(x, x))[0] * 1e6:.1f} us"
        if self.torch.where != "cuda":
            return text
        if self.queued:
            t = self.torch.module.ones(64, device="cuda")
            ours, theirs = self.by_queue(lambda: self.tw.add(x, x), lambda: t + t)
            return f"64 elements take {ours * 1e6:.1f} us, torch's {theirs * 1e6:.1f} us, queued"

        t = self.torch.module.ones(64, device="cuda")
        return f"{text}, torch's {self.by_events(lambda: t + t) * 1e6:.1f} us"

    def by_events(self, call: Call) -> float:
        cuda = self.torch.module.cuda
        call()
        self.torch_warm()
        cuda._sleep(QUEUE)
        pairs = []
        for _ in range(self.turns):
            pair = [cuda.Event(enable_timing=True) for _ in range(2)]
            pair[0].record()
            call()
            pair[1].record()
            pairs.append(pair)
        cuda.synchronize()
        return statistics.median(first.elapsed_time(last) for first, last in pairs) * 1e-3

    def by_queue(self, own: Call, peer: Call) -> tuple[float, float]:
        """Of each side, how long a call of many takes."""
        sides = ((own, self.be.synchronize), (peer, self.torch.module.cuda.synchronize))

        def seconds(side: int, count: int) -> float:
            call, wait = sides[side]
            wait()
            start = time.perf_counter()
            for _ in range(count):
                call()
            wait()
            return (time.perf_counter() - start) / count

        counts = []
        for side in range(2):
            seconds(side, 2)
            counts.append(max(4, math.ceil(QUEUED / min(seconds(side, 4) for _ in range(2)))))
        turns = [[seconds(side, counts[side]) for side in range(2)] for _ in range(self.turns)]
        ours, theirs = (statistics.median(times) for times in zip(*turns, strict=True))
        return ours, theirs

    def by_wall(self, sides: dict[str, Call]) -> dict[str, float]:
        taken: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(self.turns):
            for name, call in sides.items():
                call()
                self.be.synchronize()
                start = time.perf_counter()
                call()
                self.be.synchronize()
                taken[name].append(time.perf_counter() - start)
        return {name: statistics.median(seconds) for name, seconds in taken.items()}


def names(records: Any) -> str:
    """The kernels in the order of their time, the longest first."""
    totals: dict[str, int] = {}
    for record in records:
        totals[record.kernel] = totals.get(record.kernel, 0) + record.duration_ns
    ordered = sorted(totals, key=lambda name: -totals[name])
    return f"{len(records)}: " + ", ".join(f"{n} {totals[n] / 1e3:.0f}" for n in ordered[:4])


def mean(ratios: list[float]) -> float:
    return math.exp(statistics.fmean(math.log(min(ratio, CUT)) for ratio in ratios))


def tenth(ratios: list[float]) -> float:
    return sorted(ratios)[len(ratios) // 10]


def line(result: Result) -> str:
    ratio = "" if result.ratio is None else f"{result.ratio:5.2f} "
    rate = f"{result.gflops / 1e3:7.1f} TF/s" if result.gflops else f"{result.gb_per_s:7.0f} GB/s"
    text = f"{ratio}{result.us:9.1f} us {rate}  {result.family}: {result.label} [{result.kernels}]"
    return text + (f" WRONG: {result.wrong}" if result.wrong else "")


def summary(results: list[Result]) -> list[str]:
    ratios = [r.ratio for r in results if r.ratio is not None]
    text = []
    if ratios:
        text.append(f"{'':14} {'cases':>5} {'mean':>6} {'tenth':>6} {'worst':>6}")
        groups: dict[str, Callable[[Result], bool]] = {
            name: lambda r, name=name: r.family == name for name in FAMILIES
        }
        groups["all"] = lambda r: True
        for name, holds in groups.items():
            some = [r.ratio for r in results if r.ratio is not None and holds(r)]
            if some:
                text.append(
                    f"{name:14} {len(some):5d} {mean(some):6.2f} {tenth(some):6.2f} "
                    f"{min(some):6.2f}"
                )
        worst = sorted((r for r in results if r.ratio is not None), key=lambda r: r.ratio or 0)
        text += ["the worst:", *map(line, worst[:10])]
    wrong = [r for r in results if r.wrong]
    return [*text, f"{len(wrong)} wrong" if wrong else "", *map(line, wrong)]


def main() -> int:
    parser = options(__doc__, turns=7)
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    parser.add_argument("--count", type=int, default=100, help="default: %(default)s")
    parser.add_argument(
        "--family", nargs="+", choices=list(FAMILIES), default=list(FAMILIES), help="only these"
    )
    parser.add_argument("--dtype", default="float32", choices=["float32", "float16"])
    parser.add_argument("--divide", type=int, default=1, help="what cases move and do, by so much")
    parser.add_argument("--seconds", type=float, help="no further case after so many")
    parser.add_argument(
        "--queued", action="store_true", help="on a GPU by the wall clock, many calls at a time"
    )
    parser.add_argument("--cases", action="store_true", help="print each case")
    parser.add_argument("--json", type=Path, help="write the results to this file as well")
    arguments = parser.parse_args()
    started = time.perf_counter()
    harness.threads(arguments.threads)
    import numpy as np
    import tilewright as tw

    tw.set_deferred(False)
    results: list[Result] = []
    with tw.init_backend(arguments.device) as be:
        torch = torch_beside(be, arguments.threads)
        if torch.module is not None:
            torch.module.set_grad_enabled(False)
        print(f"{be.device.name}; {torch}; {arguments.dtype}, seed {arguments.seed}", flush=True)
        bench = Bench(tw, np, be, torch, arguments)
        if bench.on_gpu:
            print(bench.clocks(), flush=True)
        limits = (ON_CPU if be.name == "cpu" else ON_GPU).divided(arguments.divide)
        dice = Dice(np.random.default_rng(arguments.seed), limits)
        families = {name: FAMILIES[name] for name in arguments.family}
        for case in drawn(families, dice, arguments.count):
            if arguments.seconds and time.perf_counter() - started > arguments.seconds:
                print(f"after {arguments.seconds:g} s: {len(results)} cases")
                break
            try:
                results.append(bench.run(case))
            except tw.Unsupported as error:
                refused = Result(case.family, case.label, 0, 0, 0, None, "", str(error))
                results.append(refused)
            if arguments.cases or torch.module is None:
                print(line(results[-1]), flush=True)
    print("\n".join(summary(results)))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([asdict(r) for r in results], indent=1) + "\n")
    return 1 if any(r.wrong for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
