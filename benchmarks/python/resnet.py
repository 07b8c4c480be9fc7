"""A training step of ResNet-18, forward, backward and SGD with momentum, beside torch eager.

    python benchmarks/python/resnet.py [--device webgpu:0] [--threads N] [--batch N] [--side N]
        [--profile]

Both networks have the same weights, images and classes, float32 without TF32. Before anything is
timed, their losses and gradients are compared, by the largest difference in parts of the largest
gradient of each weight: that is large where a number near 0 falls on the other side of a relu. The
sides take turns; shown are medians of the times and the median of the ratios turn by turn. Above 1
we are the faster ones. `--profile` shows our kernels by their time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import harness
from turns import in_turns, options, torch_beside

CLASSES = 1000
# Of each stage: channels, and the stride of its first block.
STAGES = [(64, 1), (128, 2), (256, 2), (512, 2)]
LR, MOMENTUM = 1e-3, 0.9


def shapes() -> dict[str, tuple[int, ...]]:
    """Of all weights, by their name."""
    found: dict[str, tuple[int, ...]] = {"stem": (64, 3, 7, 7)}
    norms = {"stem": 64}
    before = 64
    for stage, (channels, stride) in enumerate(STAGES):
        for block in range(2):
            name = f"{stage}.{block}"
            found[f"{name}.first"] = (channels, before, 3, 3)
            found[f"{name}.second"] = (channels, channels, 3, 3)
            norms |= {f"{name}.first": channels, f"{name}.second": channels}
            if block == 0 and (stride != 1 or before != channels):
                found[f"{name}.across"] = (channels, before, 1, 1)
                norms[f"{name}.across"] = channels
            before = channels
    for name, channels in norms.items():
        found[f"{name}.scale"] = found[f"{name}.shift"] = (channels,)
    return found | {"head": (CLASSES, 512), "head.bias": (CLASSES,)}


def weights(np: Any) -> dict[str, Any]:
    random = np.random.default_rng(0)
    found = {}
    for name, shape in shapes().items():
        if name.endswith(("scale", "shift", "bias")):
            value = np.full(shape, float(name.endswith("scale")), np.float32)
        else:
            inputs = np.prod(shape[1:])
            value = random.standard_normal(shape, np.float32) * np.float32((2 / inputs) ** 0.5)
        found[name] = value
    return found


Back = Callable[[Any], Any]


class Ours:
    """With the way back of each step kept until it is gone."""

    def __init__(self, np: Any, tw: Any, device: str) -> None:
        self.nn = tw.nn
        self.weights = {name: tw.asarray(x, device=device) for name, x in weights(np).items()}
        self.optimizer = tw.nn.optim.SGD(self.weights.values(), LR, momentum=MOMENTUM)
        self.grads: dict[str, Any] = {}

    def conv(self, x: Any, name: str, stride: int, padding: int) -> tuple[Any, Back]:
        nn, w = self.nn, self.weights[name]

        def back(grad: Any) -> Any:
            wanted = (name != "stem", True, False)
            by = nn.conv2d_backward(grad, x, w, stride, padding, wanted=wanted)
            self.grads[name] = by.weight
            return by.x

        return nn.conv2d(x, w, None, stride, padding), back

    def norm(self, x: Any, name: str) -> tuple[Any, Back]:
        nn, scale, shift = self.nn, self.weights[f"{name}.scale"], self.weights[f"{name}.shift"]

        found, *statistics = nn.batch_norm(
            x, weight=scale, bias=shift, training=True, return_statistics=True
        )

        def back(grad: Any) -> Any:
            by = nn.batch_norm_backward(grad, x, weight=scale, training=True, statistics=statistics)
            self.grads[f"{name}.scale"], self.grads[f"{name}.shift"] = by.weight, by.bias
            return by.x

        return found, back

    def unit(self, x: Any, name: str, stride: int, padding: int) -> tuple[Any, Back]:
        found, by_conv = self.conv(x, name, stride, padding)
        found, by_norm = self.norm(found, name)
        return found, lambda grad: by_conv(by_norm(grad))

    def block(self, x: Any, name: str, stride: int) -> tuple[Any, Back]:
        nn = self.nn
        first, by_first = self.unit(x, f"{name}.first", stride, 1)
        bent = nn.relu(first)
        second, by_second = self.unit(bent, f"{name}.second", 1, 1)
        across, by_across = x, None
        if f"{name}.across" in self.weights:
            across, by_across = self.unit(x, f"{name}.across", stride, 0)
        total = second + across

        def back(grad: Any) -> Any:
            grad = nn.relu_backward(grad, total)
            by_x = by_first(nn.relu_backward(by_second(grad), first))
            return by_x + (grad if by_across is None else by_across(grad))

        return nn.relu(total), back

    def gradients(self, images: Any, classes: Any) -> Any:
        """The loss; the gradients are in `grads`."""
        nn = self.nn
        stem, by_stem = self.unit(images, "stem", 2, 3)
        x, places = nn.max_pool2d(nn.relu(stem), 3, 2, 1, return_indices=True)
        steps = []
        for stage, (_, stride) in enumerate(STAGES):
            for block in range(2):
                x, back = self.block(x, f"{stage}.{block}", stride if block == 0 else 1)
                steps.append(back)
        pooled = x.mean((2, 3))
        scores = nn.linear(pooled, self.weights["head"], self.weights["head.bias"])
        loss = nn.cross_entropy(scores, classes)

        by = nn.linear_backward(
            nn.cross_entropy_backward(1, scores, classes), pooled, self.weights["head"]
        )
        self.grads["head"], self.grads["head.bias"] = by.weight, by.bias
        plane = x.shape[2] * x.shape[3]
        grad = (by.x / plane).reshape((*by.x.shape, 1, 1)) + 0 * x
        for back in reversed(steps):
            grad = back(grad)
        bent = nn.max_pool2d_backward(grad, nn.relu(stem), 3, 2, 1, indices=places)
        by_stem(nn.relu_backward(bent, stem))
        return loss

    def step(self, images: Any, classes: Any) -> Any:
        loss = self.gradients(images, classes)
        self.optimizer.step([self.grads[name] for name in self.weights])
        return loss


class Theirs:
    def __init__(self, np: Any, torch: Any, where: str) -> None:
        self.torch, self.f = torch, torch.nn.functional
        self.weights = {
            name: torch.from_numpy(x).to(where).requires_grad_() for name, x in weights(np).items()
        }
        self.optimizer = torch.optim.SGD(self.weights.values(), LR, momentum=MOMENTUM)

    def unit(self, x: Any, name: str, stride: int, padding: int) -> Any:
        w = self.weights
        x = self.f.conv2d(x, w[name], None, stride, padding)
        scale, shift = w[f"{name}.scale"], w[f"{name}.shift"]
        return self.f.batch_norm(x, None, None, scale, shift, training=True)

    def gradients(self, images: Any, classes: Any) -> Any:
        f = self.f
        x = f.max_pool2d(f.relu(self.unit(images, "stem", 2, 3)), 3, 2, 1)
        for stage, (_, stride) in enumerate(STAGES):
            for block in range(2):
                name, own = f"{stage}.{block}", stride if block == 0 else 1
                y = f.relu(self.unit(x, f"{name}.first", own, 1))
                y = self.unit(y, f"{name}.second", 1, 1)
                is_across = f"{name}.across" in self.weights
                x = f.relu(y + (self.unit(x, f"{name}.across", own, 0) if is_across else x))
        scores = f.linear(x.mean((2, 3)), self.weights["head"], self.weights["head.bias"])
        loss = f.cross_entropy(scores, classes)
        self.optimizer.zero_grad()
        loss.backward()
        return loss

    def step(self, images: Any, classes: Any) -> Any:
        loss = self.gradients(images, classes)
        self.optimizer.step()
        return loss


def main() -> None:
    parser = options(__doc__, turns=5)
    parser.add_argument("--batch", type=int, default=32, help="default: %(default)s")
    parser.add_argument("--side", type=int, default=224, help="of images; default: %(default)s")
    parser.add_argument("--calls", type=int, default=1, help="steps a sample")
    parser.add_argument("--profile", action="store_true", help="our kernels by their time")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import numpy as np
    import tilewright as tw

    random = np.random.default_rng(1)
    images = random.standard_normal(
        (arguments.batch, 3, arguments.side, arguments.side), np.float32
    )
    classes = random.integers(0, CLASSES, arguments.batch)
    ours = Ours(np, tw, arguments.device)
    be = ours.weights["stem"].backend
    own = tw.asarray(images, device=be), tw.asarray(classes.astype(np.int32), device=be)
    peer = torch_beside(be, arguments.threads)
    print(f"{be.device.name}; {peer}; batch {arguments.batch} of {arguments.side}²", flush=True)

    sides: dict[str, Any] = {"tilewright": (lambda: ours.step(*own), be.synchronize)}
    if peer.module is not None:
        theirs = Theirs(np, peer.module, peer.where)
        there = [peer.module.from_numpy(one).to(peer.where) for one in (images, classes)]
        loss = (ours.gradients(*own).item(), theirs.gradients(*there).item())
        off = {
            name: float(abs(ours.grads[name].numpy() - (g := w.grad.cpu().numpy())).max())
            / float(abs(g).max())
            for name, w in theirs.weights.items()
        }
        worst = max(off, key=lambda name: off[name])
        print(f"losses {loss[0]:.5f} and {loss[1]:.5f}; gradients differ most by {off[worst]:.1e}, "
              f"of {worst}", flush=True)  # fmt: skip
        sides["torch"] = (lambda: theirs.step(*there), peer.wait)
    if arguments.profile:
        ours.step(*own)
        with be.profile() as profile:
            ours.step(*own)
        times: Counter[str] = Counter()
        launches: Counter[str] = Counter()
        for record in profile.records:
            times[record.kernel] += record.duration_ns
            launches[record.kernel] += 1
        for kernel, ns in times.most_common(16):
            print(f"  {kernel:<28} {launches[kernel]:>5} launches {ns / 1e6:>9.2f} ms")
    took, ratios = in_turns(sides, arguments.turns, arguments.calls)
    print(f"a step: {took * 1e3:.1f} ms{', ' + ratios if ratios else ''}")


if __name__ == "__main__":
    main()
