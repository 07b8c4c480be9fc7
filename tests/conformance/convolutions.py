"""One convolution as the tests make it: its request, its buffers, and its check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import bounds, references
from .workspace import Workspace, integers, normal

Numbers = Callable[..., Any]


@dataclass(frozen=True)
class Conv:
    x: tuple[int, int, int, int]  # N C H W
    w: tuple[int, int, int, int]  # K C/groups R S
    stride: tuple[int, int] = (1, 1)
    pad: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1

    @property
    def y(self) -> tuple[int, int, int, int]:
        return references.conv2d_output_shape(self.x, self.w, self.stride, self.pad, self.dilation)

    @property
    def window(self) -> tuple[Any, ...]:
        return self.stride, self.pad, self.dilation, self.groups

    def __str__(self) -> str:
        parts = ["x".join(map(str, self.x)), "x".join(map(str, self.w))]
        for name in ("stride", "pad", "dilation"):
            pair = getattr(self, name)
            if pair != Conv.__dataclass_fields__[name].default:
                parts.append(f"{name}{pair[0]}x{pair[1]}")
        if self.groups != 1:
            parts.append(f"groups{self.groups}")
        return "-".join(parts)


def forward(ws: Workspace, conv: Conv, x: Any, w: Any, bias: Any, dtype: str) -> Any:
    out = ws.room(conv.y, dtype)
    ws.be.conv2d_forward(
        ws.input(x), conv.x, ws.input(w), conv.w, out, conv.y, *conv.window,
        None if bias is None else ws.input(bias), dtype,
    )  # fmt: skip
    return ws.read(out)


def backward_data(ws: Workspace, conv: Conv, g: Any, w: Any, dtype: str) -> Any:
    out = ws.room(conv.x, dtype)
    ws.be.conv2d_backward_data(
        ws.input(g), conv.y, ws.input(w), conv.w, out, conv.x, *conv.window, dtype
    )
    return ws.read(out)


def backward_filter(ws: Workspace, conv: Conv, x: Any, g: Any, dtype: str) -> Any:
    out = ws.room(conv.w, dtype)
    ws.be.conv2d_backward_filter(
        ws.input(x), conv.x, ws.input(g), conv.y, out, conv.w, *conv.window, dtype
    )
    return ws.read(out)


def check_forward(
    ws: Workspace, rng: np.random.Generator, conv: Conv, dtype: str, numbers: Numbers = normal
) -> None:
    x, w, bias = (numbers(rng, shape, dtype) for shape in (conv.x, conv.w, conv.w[0]))
    for b in (None, bias):
        exact = references.conv2d(x, w, b, *conv.window)
        size = references.conv2d(abs(x), abs(w), None if b is None else abs(b), *conv.window)
        terms = conv.w[1] * conv.w[2] * conv.w[3]
        tolerance = 0.0 if numbers is integers else bounds.inner_product(size, terms)
        bounds.assert_within(forward(ws, conv, x, w, b, dtype), exact, tolerance)
