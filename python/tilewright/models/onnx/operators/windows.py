"""Where windows lie along axes: kernels, strides, dilations and pads of a node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node

AUTO = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


@dataclass(frozen=True)
class Windows:
    """What a node says of the windows along its axes, () for what it leaves out."""

    auto: str
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]

    @classmethod
    def of(cls, node: Node, needs_kernel: bool = False) -> Windows:
        found = {}
        for name, least in (("kernel_shape", 1), ("strides", 1), ("dilations", 1), ("pads", 0)):
            sizes = node.integers(name) or ()
            if any(one < least for one in sizes):
                node.fail(f"the attribute {name} is {sizes}, expected {least} or more")
            found[name] = sizes
        kernel = found["kernel_shape"]
        if needs_kernel and not kernel:
            node.fail("the attribute kernel_shape is missing, expected integers")
        for name, per_axis in (("strides", 1), ("dilations", 1), ("pads", 2)):
            if kernel and found[name] and len(found[name]) != per_axis * len(kernel):
                node.fail(f"the attribute {name} is {found[name]}, of kernel_shape {kernel}")
        return cls(
            node.string("auto_pad", "NOTSET", AUTO), kernel, found["strides"], found["dilations"],
            found["pads"],
        )  # fmt: skip

    def at(self, lengths: Sequence[int], kernel: Sequence[int]) -> Placed:
        """Over axes of these lengths."""
        axes = len(lengths)
        strides = self.strides or (1,) * axes
        dilations = self.dilations or (1,) * axes
        pads = self.pads or (0,) * 2 * axes
        if not len(strides) == len(dilations) == len(kernel) == axes or len(pads) != 2 * axes:
            raise ModelError(f"its windows {tuple(kernel)} are along {axes} axes")
        pairs = []
        for i, (n, k, s, d) in enumerate(zip(lengths, kernel, strides, dilations, strict=True)):
            if self.auto == "NOTSET":
                pairs.append((pads[i], pads[axes + i]))
            elif self.auto == "VALID":
                pairs.append((0, 0))
            else:
                total = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
                less, more = total // 2, total - total // 2
                pairs.append((less, more) if self.auto == "SAME_UPPER" else (more, less))
        return Placed(tuple(lengths), tuple(kernel), strides, dilations, tuple(pairs))


@dataclass(frozen=True)
class Placed:
    lengths: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]

    def out(self, up: bool = False) -> tuple[int, ...]:
        found = []
        for n, k, s, d, (front, behind) in zip(
            self.lengths, self.kernel, self.strides, self.dilations, self.pads, strict=True
        ):
            room = n + front + behind - (k - 1) * d - 1
            if n == 0 or room < 0:
                raise ModelError(
                    f"a window spans {(k - 1) * d + 1}, more than the {n + front + behind} "
                    "elements of its input with pads"
                )
            count = (-(-room // s) if up else room // s) + 1
            if up and (count - 1) * s >= n + front:
                # Each window starts in the input or in front of it.
                count -= 1
            found.append(count)
        return tuple(found)

    @property
    def is_even(self) -> bool:
        return all(front == behind for front, behind in self.pads)

    @property
    def front(self) -> tuple[int, ...]:
        return tuple(front for front, _ in self.pads)


def spatial(x: Any) -> tuple[int, ...]:
    if x.ndim < 3:
        raise ModelError(f"its input has shape {tuple(x.shape)}, expected [batch, channels, ...]")
    return tuple(x.shape[2:])
