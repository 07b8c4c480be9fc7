"""The cases of one process."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import tilewright as tw
from conformance.calls import lacks
from conformance.workspace import has_float64, keeps_subnormals
from tilewright import _core

from . import arrays, kernels, nn_tier, numpy_tier, sequences, spirv
from .call import Call, Fault, Placed
from .draw import Draw
from .ops import GENERATORS
from .process import forget_peak, peak
from .refusals import Strangers, refused

#: what one case may take of the machine
MOST_MEMORY = 512 << 20


Kind = Callable[["Bench", Draw], None]


@dataclass
class Bench:
    """The backend under test, and others beside it."""

    be: tw.Backend
    make: Callable[..., tw.Backend]
    other: tw.Backend
    cpu: tw.Backend
    strangers: Strangers
    counts: Counter[str] = field(default_factory=Counter)
    only: tuple[str, ...] = ()

    @property
    def kinds(self) -> list[Kind]:
        """What cases may be. `only` names some of these, or calls."""
        kinds = WITH_KERNELS.get(self.be.name, KINDS)
        if self.be.name == "level-zero" and not spirv.has_own_driver():
            kinds = [kind for kind in kinds if kind is not wrong_spirv]
        named = [kind for kind in kinds if kind.__name__ in self.only]
        calls = [valid, invalid] if set(self.only) & set(GENERATORS) else []
        return [*named, *calls] or kinds

    def generator(self, draw: Draw) -> Callable[[Draw], Call]:
        there = [name for name in GENERATORS if not lacks(self.be, name)]
        names = [name for name in there if name in self.only] or there
        return GENERATORS[draw.one_of(names)]


@contextmanager
def bench(be: tw.Backend) -> Iterator[Bench]:
    """Around a backend that is open."""

    def make(**config: object) -> tw.Backend:
        return type(be)(adapter_index=be.config["adapter_index"], **config)

    with make() as other, tw.CpuBackend() as cpu:
        freed = be.alloc(1000)
        be.free(freed)
        yield Bench(
            be, make, other, cpu, Strangers(freed, [other.alloc(1 << 16), cpu.alloc(1 << 16)])
        )


def valid(bench: Bench, draw: Draw) -> None:
    """One valid call, by any of the kernels that it may choose."""
    call = bench.generator(draw)(draw)
    for operand in call.operands:
        copied = call.name.startswith("copy_")
        operand.null = operand.array.size == 0 and not copied and draw.below(2) == 1
    draw.says(call)
    with chosen(bench.be, draw), Placed(bench.be, call, draw) as placed:
        call.run(bench.be)
        placed.check_results()
    bench.counts["valid"] += 1
    bench.counts[call.name] += 1


def invalid(bench: Bench, draw: Draw) -> None:
    """One call made invalid, several times, and then as it was."""
    call = bench.generator(draw)(draw)
    bench.counts["refused"] += refused(draw, bench.be, call, bench.strangers)


@contextmanager
def chosen(be: tw.Backend, draw: Draw) -> Iterator[None]:
    """Has an op take a candidate that it would not."""
    choices = _core._choices_of(be)
    if choices is None or not choices.points or not draw.rarely(3):
        yield
        return
    forced = {point: draw.one_of(names) for point, names in sorted(choices.points.items())}
    for point, candidate in forced.items():
        choices.force(point, candidate)
    try:
        yield
    finally:
        for point in forced:
            choices.force(point, "")


def array(bench: Bench, draw: Draw) -> None:
    arrays.valid(bench.be, draw)
    bench.counts["valid"] += 1


def wrong_array(bench: Bench, draw: Draw) -> None:
    for _ in range(draw.integer(1, 4)):
        refused = arrays.refused(bench.be, bench.other, draw)
        bench.counts["refused" if refused else "valid"] += 1


def namespace(bench: Bench, draw: Draw) -> None:
    refused = numpy_tier.valid(bench.be, draw)
    bench.counts["refused" if refused else "valid"] += 1


def layers(bench: Bench, draw: Draw) -> None:
    refused = nn_tier.valid(bench.be, bench.cpu, draw)
    bench.counts["refused" if refused else "valid"] += 1


def sequence(bench: Bench, draw: Draw) -> None:
    steps = draw.integer(5, 60)
    bench.counts["valid"] += sequences.play(sequences.Player(bench.be), draw, steps)


def limited(bench: Bench, draw: Draw) -> None:
    bench.counts["valid"] += sequences.within_a_limit(bench.make, draw)


def several(bench: Bench, draw: Draw) -> None:
    bench.counts["valid"] += sequences.several_backends(bench.make, draw)


def threaded(bench: Bench, draw: Draw) -> None:
    bench.counts["valid"] += sequences.threads(bench.be, bench.make, draw)


def kernel(bench: Bench, draw: Draw) -> None:
    kernels.valid(bench.be, draw)
    bench.counts["valid"] += 1


def wrong_kernel(bench: Bench, draw: Draw) -> None:
    refused = kernels.mutated(bench.be, draw)
    bench.counts["refused" if refused else "valid"] += 1


def spirv_kernel(bench: Bench, draw: Draw) -> None:
    spirv.valid(bench.be, draw)
    bench.counts["valid"] += 1


def wrong_spirv(bench: Bench, draw: Draw) -> None:
    refused = spirv.mutated(bench.be, draw)
    bench.counts["refused" if refused else "valid"] += 1


KINDS: list[Kind] = [valid] * 30 + [invalid] * 14 + [array] * 16 + [wrong_array] * 8
KINDS += [sequence] * 4 + [limited, several, threaded] * 2 + [namespace] * 50 + [layers] * 20
#: for backends that take kernels
WITH_KERNELS: dict[str, list[Kind]] = {
    "webgpu": [*KINDS, *[kernel] * 3, *[wrong_kernel] * 5],
    "level-zero": [*KINDS, *[spirv_kernel] * 2, *[wrong_spirv] * 5],
}


def run_case(bench: Bench, draw: Draw) -> None:
    """Raises Fault where the case finds one."""
    forget_peak()
    before, memory = bench.be.memory_stats(), peak()
    kind = draw.one_of(bench.kinds)
    try:
        with np.errstate(all="ignore"):
            kind(bench, draw)
    except Fault:
        raise
    except Exception as error:
        raise Fault(f"{draw.about}\nraises {type(error).__name__}: {error}") from error
    left = buffers_since(bench.be, before)
    if left:
        # Tables that are kept, and what an exception holds until a later generation goes.
        tw.fft.forget_plans()
        gc.collect()
        left = buffers_since(bench.be, before)
    if left:
        raise Fault(f"{draw.about}\nbuffers are left behind: {left}")
    if peak() - memory > MOST_MEMORY:
        raise Fault(f"{draw.about}\nthe process grew by {peak() - memory >> 20} MB")


def buffers_since(be: tw.Backend, before: tw.MemoryStats) -> int:
    return be.memory_stats().allocations - before.allocations


def check_nothing_left(be: tw.Backend) -> None:
    tw.fft.forget_plans()
    gc.collect()
    be.trim()
    stats = be.memory_stats()
    if stats.allocations or stats.active_bytes or stats.cached_bytes:
        raise Fault(f"memory is left behind: {stats}")


def run(
    bench: Bench, seed: int, cases: Iterable[int], choices: Sequence[int] | None = None
) -> Iterator[tuple[int, Draw]]:
    """Gives each case before it runs."""
    subnormals, doubles = keeps_subnormals(bench.be), has_float64(bench.be)
    for case in cases:
        draw = Draw(seed, case, choices, subnormals, doubles)
        yield case, draw
        run_case(bench, draw)
