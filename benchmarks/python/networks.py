"""Steps of networks that are one launch here beside torch's: activations behind convolutions, norms
of sums, and grid_sample with its gradients.

    python benchmarks/python/networks.py [--device webgpu:0] [--threads N] [--only NAME] [--dtype D]

torch works on CUDA beside a GPU. Both sides make new results, and take turns; shown are our median
time, and the medians of the ratios turn by turn. Above 1 we are the faster ones. "apart" is our own
way in two steps: a ratio above 1 is what one launch saves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import harness
from turns import Call, in_turns, options, torch_beside

CONVOLUTIONS = [
    ("conv 3x3, 64 of 56x56", (8, 64, 56, 56), (64, 64, 3, 3), 1),
    ("conv 1x1, 64 of 56x56", (8, 64, 56, 56), (64, 64, 1, 1), 1),
    ("depthwise 3x3, 96 of 56x56", (8, 96, 56, 56), (96, 1, 3, 3), 96),
    ("conv 3x3 of 3, 224x224", (4, 3, 224, 224), (32, 3, 3, 3), 1),
]
NORMS = [(1, 4096), (64, 4096), (4096, 1024)]
GRIDS = [
    ("bilinear", (8, 64, 56, 56), (56, 56), "bilinear", "zeros"),
    ("bilinear border", (1, 3, 1080, 1920), (1080, 1920), "bilinear", "border"),
    ("bicubic", (8, 64, 56, 56), (56, 56), "bicubic", "border"),
    ("nearest", (8, 64, 56, 56), (56, 56), "nearest", "zeros"),
    ("depth", (2, 16, 32, 48, 48), (32, 48, 48), "bilinear", "zeros"),
]  # fmt: skip

Make = Callable[..., Any]
Way = tuple[str, dict[str, Call]]


def convolutions(make: Make, torch: Any, tw: Any) -> Iterator[Way]:
    for label, shape, weight, groups in CONVOLUTIONS:
        (x, tx), (w, tw_), (b, tb) = make(shape), make(weight), make(weight[:1])
        pad = weight[2] // 2
        for name in ("relu", "silu", "gelu"):
            after = getattr(tw.nn, name)
            options_of = {"padding": pad, "groups": groups}
            sides = {
                "tilewright": lambda x=x, w=w, b=b, name=name, o=options_of: tw.nn.conv2d(
                    x, w, b, activation=name, **o
                ),
                "apart": lambda x=x, w=w, b=b, after=after, o=options_of: after(
                    tw.nn.conv2d(x, w, b, **o)
                ),
            }
            if torch is not None:
                f = torch.nn.functional
                there = getattr(f, name)
                sides["torch"] = lambda x=tx, w=tw_, b=tb, there=there, o=options_of, f=f: there(
                    f.conv2d(x, w, b, **o)
                )
            yield f"{label}, {name}", sides


def norms(make: Make, torch: Any, tw: Any) -> Iterator[Way]:
    for shape in NORMS:
        (x, tx), (r, tr), (w, tw_), (b, tb) = (
            make(one) for one in (shape, shape, shape[1:], shape[1:])
        )
        cols = shape[1]
        for name in ("rms_norm", "layer_norm"):
            lines = (w,) if name == "rms_norm" else (w, b)
            added, plain = getattr(tw.nn, f"add_{name}"), getattr(tw.nn, name)

            def apart(
                x: Any = x, r: Any = r, plain: Any = plain, lines: Any = lines, cols: int = cols
            ) -> Any:
                total = x + r
                return plain(total, cols, *lines), total

            sides: dict[str, Call] = {
                "tilewright": lambda x=x, r=r, added=added, lines=lines, cols=cols: added(
                    x, r, cols, *lines
                ),
                "apart": apart,
            }
            if torch is not None:
                there = getattr(torch.nn.functional, name)
                own = (tw_,) if name == "rms_norm" else (tw_, tb)

                def peer(
                    x: Any = tx, r: Any = tr, there: Any = there, own: Any = own, cols: int = cols
                ) -> Any:
                    total = x + r
                    return there(total, (cols,), *own), total

                sides["torch"] = peer
            yield f"add_{name} {shape[0]}x{cols}", sides


def grids(make: Make, torch: Any, tw: Any) -> Iterator[Way]:
    for label, shape, out, mode, padding in GRIDS:
        import numpy as np

        lines = [(2 * np.arange(n) + 1) / n - 1 for n in out]
        each = np.meshgrid(*lines, indexing="ij")
        plain = np.stack(list(reversed(each)), axis=-1)
        bent = plain + 0.1 * np.sin(3 * plain[..., ::-1])
        places = np.broadcast_to(bent, (shape[0], *bent.shape)).astype(np.float32)
        (x, tx), (grid, tgrid) = make(shape), make(np.ascontiguousarray(places))
        grad, tgrad = make((*shape[:2], *out))
        rest = (mode, padding, False)
        sides: dict[str, Call] = {
            "tilewright": lambda x=x, grid=grid, rest=rest: tw.nn.grid_sample(x, grid, *rest)
        }
        by_input = lambda g=grad, x=x, grid=grid, rest=rest: tw.nn.grid_sample_backward(  # noqa: E731
            g, x, grid, *rest, wanted=(True, False)
        )
        by_grid = lambda g=grad, x=x, grid=grid, rest=rest: tw.nn.grid_sample_backward(  # noqa: E731
            g, x, grid, *rest, wanted=(False, True)
        )
        ways: list[Way] = [
            (f"grid_sample {label}", sides),
            (f"grid_sample {label}, by input", {"tilewright": by_input}),
            (f"grid_sample {label}, by grid", {"tilewright": by_grid}),
        ]
        if torch is not None:
            sample = torch.nn.functional.grid_sample
            sides["torch"] = lambda x=tx, grid=tgrid, rest=rest, of=sample: of(x, grid, *rest)
            for i, leaf in enumerate((tx, tgrid)):
                leaf = leaf.clone().requires_grad_()
                given = (leaf, tgrid) if i == 0 else (tx, leaf)
                with torch.enable_grad():
                    result = sample(*given, *rest)
                ways[1 + i][1]["torch"] = lambda y=result, leaf=leaf, g=tgrad: torch.autograd.grad(
                    y, leaf, g, retain_graph=True
                )
        yield from ways


def main() -> None:
    parser = options(__doc__, turns=15)
    parser.add_argument("--only", default="", help="a part of the names")
    parser.add_argument("--dtype", default="float32", help="default: %(default)s")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import numpy as np
    import tilewright as tw

    tw.set_deferred(False)
    with tw.init_backend(arguments.device) as be:
        torch = torch_beside(be, arguments.threads)
        print(f"{be.device.name}; {torch}; {arguments.dtype}")
        random = np.random.default_rng(0)

        def make(of: Any) -> tuple[Any, Any]:
            """Of a shape, or these elements, on both sides."""
            x = of if isinstance(of, np.ndarray) else random.standard_normal(of, np.float32)
            own = tw.asarray(x, dtype=arguments.dtype, device=be)
            if torch.module is None:
                return own, None
            dtype = getattr(torch.module, arguments.dtype)
            return own, torch.module.from_numpy(x).to(dtype).to(torch.where)

        if torch.module is not None:
            torch.module.set_grad_enabled(False)
        for group in (convolutions, norms, grids):
            for label, calls in group(make, torch.module, tw):
                if arguments.only not in label:
                    continue
                sides = {
                    name: (call, torch.wait if name == "torch" else be.synchronize)
                    for name, call in calls.items()
                }
                time, ratios = in_turns(sides, arguments.turns, 1)
                print(f"{label:38s} {time * 1e3:8.3f} ms  {ratios}", flush=True)


if __name__ == "__main__":
    main()
