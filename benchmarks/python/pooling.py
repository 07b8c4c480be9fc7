"""Poolings and interpolations of tw.nn and their gradients beside torch's.

    python benchmarks/python/pooling.py [--device webgpu:0] [--threads N] [--only NAME] [--dtype D]
                                        [--drawn COUNT]

torch works on CUDA beside a GPU. Both sides make new results, and take turns; shown are our median
time, the bytes of input and output that go by in it, and the medians of the ratios turn by turn.
Above 1 we are the faster ones. --drawn takes so many drawn shapes of each kind instead.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import harness
from turns import Call, in_turns, options, torch_beside

SHAPE = (32, 64, 112, 112)
# So many are awaited together.
CALLS = 8
# Name, the function of both, shape, options, names of torch's own.
FORWARD: list[tuple[str, str, tuple[int, ...], dict[str, Any]]] = [
    ("max 2x2/2", "max_pool2d", SHAPE, {"kernel_size": 2}),
    ("max 3x3/2", "max_pool2d", SHAPE, {"kernel_size": 3, "stride": 2, "padding": 1}),
    ("max 3x3/1", "max_pool2d", SHAPE, {"kernel_size": 3, "stride": 1, "padding": 1}),
    ("max 3x3/2 places", "max_pool2d", SHAPE,
     {"kernel_size": 3, "stride": 2, "padding": 1, "return_indices": True}),
    ("mean 2x2/2", "avg_pool2d", SHAPE, {"kernel_size": 2}),
    ("mean 3x3/2", "avg_pool2d", SHAPE, {"kernel_size": 3, "stride": 2, "padding": 1}),
    ("mean 3x3/1", "avg_pool2d", SHAPE, {"kernel_size": 3, "stride": 1, "padding": 1}),
    ("mean 7 of a row", "avg_pool1d", (64, 64, 4096), {"kernel_size": 7, "stride": 1}),
    ("max 2x2x2/2", "max_pool3d", (4, 16, 32, 56, 56), {"kernel_size": 2}),
    ("adaptive mean 7x7", "adaptive_avg_pool2d", SHAPE, {"output_size": 7}),
    ("adaptive mean 1x1", "adaptive_avg_pool2d", SHAPE, {"output_size": 1}),
    ("bilinear 2x", "interpolate", (8, 64, 56, 56),
     {"scale_factor": 2, "mode": "bilinear", "align_corners": False}),
    ("bicubic 2x", "interpolate", (8, 64, 56, 56),
     {"scale_factor": 2, "mode": "bicubic", "align_corners": False}),
    ("nearest 2x", "interpolate", (8, 64, 56, 56), {"scale_factor": 2}),
    ("bilinear to a half, smooth", "interpolate", SHAPE,
     {"scale_factor": 0.5, "mode": "bilinear", "antialias": True}),
    ("local response 5", "local_response_norm", (16, 96, 55, 55), {"size": 5}),
]  # fmt: skip


def drawn(random: Any, count: int, most: int) -> list[Any]:
    """Cases of up to so many elements."""
    found: list[Any] = []
    for _ in range(count):
        axes = int(random.integers(1, 4))
        lengths = [int(random.integers(5, (9000, 300, 60)[axes - 1])) for _ in range(axes)]
        lead = int(max(1, min(random.integers(16, 4096), most // math.prod(lengths))))
        shape = (1, lead, *lengths)
        window = [int(random.integers(1, 1 + min(n, (40, 9, 5)[axes - 1]))) for n in lengths]
        windows = {
            "kernel_size": tuple(window),
            "stride": tuple(int(random.integers(1, n + 2)) for n in window),
            "padding": tuple(int(random.integers(0, n // 2 + 1)) for n in window),
        }
        size = tuple(max(1, int(n * random.uniform(0.3, 2))) for n in lengths)
        for kind in ("max", "avg"):
            found.append((f"{kind} {windows} of {shape}", f"{kind}_pool{axes}d", shape, windows))
        found.append((f"nearest {size} of {shape}", "interpolate", shape, {"size": size}))
        mode = ("linear", "bilinear", "trilinear")[axes - 1]
        found.append(
            (f"{mode} {size} of {shape}", "interpolate", shape,
             {"size": size, "mode": mode, "align_corners": False})
        )  # fmt: skip
    return found


def in_torch(torch: Any, name: str, x: Any, kwargs: dict[str, Any]) -> Call:
    function = getattr(torch.nn.functional, name)

    def call() -> Any:
        with torch.no_grad():
            return function(x, **kwargs)

    return call


def gradients(
    tw: Any, torch: Any, name: str, a: Any, t: Any, kwargs: dict[str, Any]
) -> tuple[Call, Call | None]:
    """Those by the input, of a gradient of ones; indices are at hand on both sides."""
    ours = dict(kwargs)
    if name.startswith("max_pool"):
        result, ours["indices"] = getattr(tw.nn, name)(a, **{**kwargs, "return_indices": True})
        ours.pop("return_indices", None)
    else:
        result = getattr(tw.nn, name)(a, **kwargs)
    grad = tw.ones(result.shape, dtype=result.dtype, device=a.backend)
    backward = getattr(tw.nn, f"{name}_backward")

    def own() -> Any:
        return backward(grad, a, **ours)

    if torch is None:
        return own, None
    leaf = t.clone().requires_grad_()
    there = getattr(torch.nn.functional, name)(leaf, **kwargs)
    there = there[0] if isinstance(there, tuple) else there
    ones = torch.ones_like(there)

    def peer() -> Any:
        return torch.autograd.grad(there, leaf, ones, retain_graph=True)

    return own, peer


def main() -> None:
    parser = options(__doc__, turns=15)
    parser.add_argument("--only", default="", help="a part of the names")
    parser.add_argument("--dtype", default="float32", help="default: %(default)s")
    parser.add_argument("--drawn", type=int, help="so many drawn shapes")
    parser.add_argument("--batch", type=int, help="of the shapes, in place of their own")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import numpy as np
    import tilewright as tw

    tw.set_deferred(False)
    with tw.init_backend(arguments.device) as be:
        torch = torch_beside(be, arguments.threads)
        print(f"{be.device.name}; {torch}; {arguments.dtype}")
        random = np.random.default_rng(0)
        cases = FORWARD
        if arguments.drawn is not None:
            cases = drawn(random, arguments.drawn, 1 << 24)
        for label, name, shape, kwargs in cases:
            if arguments.only not in label:
                continue
            if arguments.batch is not None:
                shape = (arguments.batch, *shape[1:])
            x = random.standard_normal(shape, np.float32)
            a = tw.asarray(x, dtype=arguments.dtype, device=be)
            function, t = getattr(tw.nn, name), None
            if torch.module is not None:
                t = torch.module.from_numpy(x).to(getattr(torch.module, arguments.dtype))
                t = t.to(torch.where)
            ways: list[tuple[str, Call, Call | None]] = [
                (
                    "",
                    partial(function, a, **kwargs),
                    None if t is None else in_torch(torch.module, name, t, kwargs),
                ),
                ("gradient", *gradients(tw, torch.module, name, a, t, kwargs)),
            ]
            for kind, own, peer in ways:
                sides: dict[str, tuple[Call, Call]] = {"tilewright": (own, be.synchronize)}
                if peer is not None:
                    sides["torch"] = (peer, torch.wait)
                result = function(a, **kwargs)
                result = result[0] if isinstance(result, tuple) else result
                moved = (a.size + result.size) * a.dtype.itemsize
                time, ratios = in_turns(sides, arguments.turns, CALLS)
                print(
                    f"{label:27s} {kind:9s} {time * 1e3:8.2f} ms {moved / time * 1e-9:7.1f} GB/s  "
                    f"{ratios}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
