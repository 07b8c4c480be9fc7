"""Steps of optimisers beside torch.optim, with foreach=True and with fused=True.

    python benchmarks/python/optimisers.py [--device webgpu:0] [--threads N] [--dtype NAME]

The parameters are those of a ResNet-18 (62 of them, 11.7 million elements) and of a small
transformer (four layers of 256, a vocabulary of 8,192; 51 of them, 5.3 million). The sides take
turns; shown are medians of the times, and medians of the ratios turn by turn. Above 1 we are the
faster ones. `one by one` is map() for each parameter. The parameters are compared after some steps.
"""

from __future__ import annotations

from typing import Any

import harness
from turns import Call, in_turns, options, torch_beside


def resnet_18() -> list[tuple[int, ...]]:
    shapes: list[tuple[int, ...]] = [(64, 3, 7, 7), (64,), (64,)]
    inside = 64
    for width in (64, 128, 256, 512):
        for block in range(2):
            shapes += [(width, inside, 3, 3), (width,), (width,)]
            shapes += [(width, width, 3, 3), (width,), (width,)]
            if block == 0 and width != inside:
                shapes += [(width, inside, 1, 1), (width,), (width,)]
            inside = width
    return [*shapes, (1000, 512), (1000,)]


def transformer(layers: int = 4, width: int = 256, words: int = 8192) -> list[tuple[int, ...]]:
    shapes: list[tuple[int, ...]] = [(words, width)]
    for _ in range(layers):
        for rows, cols in ((3, 1), (1, 1), (4, 1), (1, 4)):
            shapes += [(rows * width, cols * width), (rows * width,)]
        shapes += [(width,)] * 4
    return [*shapes, (width,), (width,)]


NETWORKS = {"resnet-18": resnet_18, "transformer": transformer}
#: our class, its options, and torch's besides
RULES: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("SGD", {"lr": 1e-3}),
    "momentum": ("SGD", {"lr": 1e-3, "momentum": 0.9}),
    "adamw": ("AdamW", {"lr": 1e-3, "weight_decay": 0.01}),
}


def sides(
    be: Any, torch: Any, shapes: list[tuple[int, ...]], rule: str, dtype: str
) -> dict[str, tuple[Call, Call]]:
    import numpy as np
    import tilewright as tw

    t = torch.module
    name, chosen = RULES[rule]
    rng = np.random.default_rng(1)
    hosts = [rng.standard_normal(shape, np.float32).astype(dtype) for shape in shapes]
    grads = [rng.standard_normal(shape, np.float32).astype(dtype) for shape in shapes]

    def ours() -> Any:
        return getattr(tw.nn.optim, name)([be.array(one) for one in hosts], **chosen)

    def theirs(**how: bool) -> Any:
        params = [t.nn.Parameter(t.from_numpy(one.copy()).to(torch.where)) for one in hosts]
        for one, grad in zip(params, grads, strict=True):
            one.grad = t.from_numpy(grad).to(torch.where)
        return getattr(t.optim, name)(params, **chosen, **how)

    ours_together, ours_alone = ours(), ours()
    of_us = [be.array(one) for one in grads]
    foreach, fused = theirs(foreach=True), theirs(fused=True)
    tolerance = 1e-2 if dtype == "float16" else 1e-5
    for _ in range(3):
        ours_together.step(of_us)
        foreach.step()
    for one, other in zip(ours_together.params, foreach.param_groups[0]["params"], strict=True):
        np.testing.assert_allclose(
            one.numpy(), other.detach().cpu().numpy(), rtol=tolerance, atol=tolerance
        )
    ones = [getattr(tw.nn.optim, name)([one], **chosen) for one in ours_alone.params]

    def one_by_one() -> None:
        for optimiser, grad in zip(ones, of_us, strict=True):
            optimiser.step([grad])

    return {
        "tilewright": (lambda: ours_together.step(of_us), be.synchronize),
        "one by one": (one_by_one, be.synchronize),
        "torch foreach": (foreach.step, torch.wait),
        "torch fused": (fused.step, torch.wait),
    }


def main() -> None:
    parser = options(__doc__, turns=15)
    parser.add_argument("--dtype", default="float32", help="default: %(default)s")
    parser.add_argument("--calls", type=int, default=20, help="of a turn; default: %(default)s")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import tilewright

    with tilewright.init_backend(arguments.device) as be:
        torch = torch_beside(be, arguments.threads)
        print(f"{be.device.name}; {torch}")
        for network, shapes in NETWORKS.items():
            for rule in RULES:
                both = sides(be, torch, shapes(), rule, arguments.dtype)
                own, ratios = in_turns(both, arguments.turns, arguments.calls)
                print(f"{network:11s} {rule:8s}: {own * 1e6:9.1f} us  {ratios}", flush=True)


if __name__ == "__main__":
    main()
