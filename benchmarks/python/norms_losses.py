"""Norms, softmaxes, losses, embeddings, activations and dropout of tw.nn beside torch's.

    python benchmarks/python/norms_losses.py [--device webgpu:0] [--threads N] [--only NAME]
        [--dtype D] [--divide N] [--kernels]

torch works on CUDA beside a GPU. Both sides make new results, and take turns; shown are our median
time, the bytes of operands and results that go by in it, and the medians of the ratios turn by
turn. Above 1 we are the faster ones. With `--kernels` our time is that of the launches by the GPU's
clock, and torch's that of ten calls between two events of CUDA. Gradients are of a gradient of
ones, and torch's come out of its graph, which is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import harness
from turns import Call, in_turns, options, torch_beside


@dataclass
class Case:
    """One function of both sides: `floats` are operands that gradients go to, `others` are not."""

    label: str
    name: str
    floats: list[tuple[int, ...]]
    others: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    # Names by which the floats after the first are given; without one they are given by place.
    names: tuple[str, ...] = ()
    has_gradient: bool = True
    # Options that go behind the operands.
    places: tuple[Any, ...] = ()


def cases(np: Any, divide: int) -> Iterator[Case]:
    random = np.random.default_rng(1)
    rows, images, tokens = max(32768 // divide, 1), max(64 // divide, 1), max(16384 // divide, 1)
    picture = (images, 64, 112, 112)
    yield Case("layer norm 1024", "layer_norm", [(rows, 1024), (1024,), (1024,)],
               names=("weight", "bias"), places=((1024,),))  # fmt: skip
    yield Case("layer norm 4099", "layer_norm", [(rows // 4, 4099), (4099,), (4099,)],
               names=("weight", "bias"), places=((4099,),))  # fmt: skip
    yield Case("rms norm 4096", "rms_norm", [(rows // 4, 4096), (4096,)],
               names=("weight",), places=((4096,),))  # fmt: skip
    yield Case("batch norm, training", "batch_norm", [picture, (64,), (64,)], [],
               {"training": True}, ("weight", "bias"))  # fmt: skip
    yield Case("group norm 8", "group_norm", [picture, (64,), (64,)],
               names=("weight", "bias"), places=(8,))  # fmt: skip
    yield Case("instance norm", "instance_norm", [picture])
    for length in (1000, 50257):
        yield Case(f"softmax {length}", "softmax", [(rows * 1000 // length, length)], [],
                   {"dim": -1})  # fmt: skip
        yield Case(f"log softmax {length}", "log_softmax", [(rows * 1000 // length, length)], [],
                   {"dim": -1})  # fmt: skip
        few = rows * 1000 // length
        yield Case(f"cross entropy {length}", "cross_entropy", [(few, length)],
                   [random.integers(0, length, few)])  # fmt: skip
    large = (max((1 << 25) // divide, 1),)
    target = random.random(large, np.float32)
    for name in ("mse_loss", "smooth_l1_loss", "binary_cross_entropy_with_logits"):
        yield Case(name.replace("_", " "), name, [large], [target])
    indices = random.integers(0, 50257, tokens)
    yield Case("embedding 50257 x 1024", "embedding", [(50257, 1024)], [indices])
    few_rows = random.integers(0, 64, tokens)
    yield Case("embedding 64 x 1024", "embedding", [(64, 1024)], [few_rows])
    for name in ("gelu", "silu", "relu"):
        yield Case(name, name, [large])
    yield Case("dropout 0.5", "dropout", [large], [], {"p": 0.5, "training": True},
               has_gradient=False)  # fmt: skip


class Sides:
    def __init__(self, tw: Any, torch: Any, np: Any, be: Any, dtype: str, case: Case) -> None:
        self.tw, self.torch, self.case, self.be = tw, torch.module, case, be
        random = np.random.default_rng(0)
        values = [random.standard_normal(shape, np.float32) for shape in case.floats]
        self.own = [tw.asarray(one, dtype=dtype, device=be) for one in values]
        kinds = [dtype if one.dtype == np.float32 else "int32" for one in case.others]
        self.others = [
            tw.asarray(one, dtype=kind, device=be)
            for one, kind in zip(case.others, kinds, strict=True)
        ]
        if self.torch is not None:
            kind = getattr(self.torch, dtype)
            self.peers = [self.torch.from_numpy(v).to(kind).to(torch.where) for v in values]
            self.leaves = [one.clone().requires_grad_() for one in self.peers]
            self.peer_others = [self.torch.from_numpy(one).to(torch.where) for one in case.others]
            self.peer_others = [
                one.to(kind) if one.is_floating_point() else one for one in self.peer_others
            ]

    def _arguments(self, floats: list[Any], others: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        """Operands and options by place, and those by name."""
        first = [*others, floats[0]] if self.case.name == "embedding" else [floats[0], *others]
        first += self.case.places
        return first, dict(self.case.kwargs) | dict(zip(self.case.names, floats[1:], strict=True))

    def forward(self) -> tuple[Call, Call | None]:
        function = getattr(self.tw.nn, self.case.name)
        places, kwargs = self._arguments(self.own, self.others)
        statistics = {"running_mean": None, "running_var": None}
        kwargs |= statistics if self.case.name == "batch_norm" else {}
        kwargs |= (
            {"rng": self.tw.random.default_rng(0, device=self.be)}
            if self.case.name == "dropout"
            else {}
        )

        def own() -> Any:
            return function(*places, **kwargs)

        if self.torch is None:
            return own, None
        there = getattr(self.torch.nn.functional, self.case.name)
        peer_places, peer_kwargs = self._arguments(self.peers, self.peer_others)
        peer_kwargs |= statistics if self.case.name == "batch_norm" else {}

        def peer() -> Any:
            with self.torch.no_grad():
                return there(*peer_places, **peer_kwargs)

        return own, peer

    def gradient(self) -> tuple[Call, Call | None]:
        case, nn = self.case, self.tw.nn
        backward = getattr(nn, f"{case.name}_backward")
        forward, _ = self.forward()
        result = forward()
        kwargs = dict(case.kwargs)
        ones = self.tw.ones(result.shape, dtype=result.dtype, device=self.be)
        first: list[Any] = [ones, self.own[0], *self.others, *case.places]
        if case.name == "embedding":
            first = [ones, *self.others, case.floats[0][0]]
        elif case.name == "batch_norm":
            _, *found = nn.batch_norm(
                self.own[0], weight=self.own[1], bias=self.own[2], training=True,
                return_statistics=True,
            )  # fmt: skip
            kwargs |= {"weight": self.own[1], "statistics": tuple(found)}
        elif "norm" in case.name and case.names:
            kwargs |= {"weight": self.own[1]}
        elif case.name in ("softmax", "log_softmax"):
            kwargs |= {"result": result}  # which torch's graph keeps too

        def own() -> Any:
            return backward(*first, **kwargs)

        if self.torch is None:
            return own, None
        places, peer_kwargs = self._arguments(self.leaves, self.peer_others)
        peer_kwargs |= (
            {"running_mean": None, "running_var": None} if case.name == "batch_norm" else {}
        )
        there = getattr(self.torch.nn.functional, case.name)(*places, **peer_kwargs)
        grad = self.torch.ones_like(there)

        def peer() -> Any:
            return self.torch.autograd.grad(there, self.leaves, grad, retain_graph=True)

        return own, peer

    def moved(self, result: Any) -> int:
        operands = [*self.own, *self.others]
        if self.case.name == "embedding":
            operands = [result, *self.others]
        return sum(one.size * one.dtype.itemsize for one in [*operands, result])


def by_clock(be: Any, torch: Any, own: Call, peer: Call | None) -> tuple[float, str]:
    """Seconds of the kernels of one call, and how many times as fast as torch that is."""
    own()
    with be.profile() as profile:
        own()
    seconds = sum(record.duration_ns for record in profile.records) * 1e-9
    launches = f"{len(profile.records)} launches"
    if peer is None:
        return seconds, launches
    peer()
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    first.record()
    for _ in range(10):
        peer()
    last.record()
    torch.cuda.synchronize()
    return seconds, f"{first.elapsed_time(last) / 1e4 / seconds:.2f} of torch, {launches}"


def main() -> None:
    parser = options(__doc__, turns=11)
    parser.add_argument("--only", default="", help="a part of the names")
    parser.add_argument("--dtype", default="float32", help="default: %(default)s")
    parser.add_argument("--kernels", action="store_true", help="by the GPU's clock")
    parser.add_argument("--divide", type=int, default=1, help="the sizes, by so much")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import numpy as np
    import tilewright as tw

    tw.set_deferred(False)
    with tw.init_backend(arguments.device) as be:
        torch = torch_beside(be, arguments.threads)
        print(f"{be.device.name}; {torch}; {arguments.dtype}")
        for case in cases(np, arguments.divide):
            if arguments.only not in case.label:
                continue
            both = Sides(tw, torch, np, be, arguments.dtype, case)
            ways = [("", both.forward())]
            if case.has_gradient:
                ways.append(("gradient", both.gradient()))
            moved = both.moved(ways[0][1][0]())
            for kind, (own, peer) in ways:
                sides: dict[str, tuple[Call, Call]] = {"tilewright": (own, be.synchronize)}
                if peer is not None:
                    sides["torch"] = (peer, torch.wait)
                if arguments.kernels:
                    time, ratios = by_clock(be, torch.module, own, peer)
                else:
                    time, ratios = in_turns(sides, arguments.turns, 3)
                print(
                    f"{case.label:32s} {kind:9s} {time * 1e3:8.3f} ms "
                    f"{moved / time * 1e-9:7.1f} GB/s  {ratios}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
