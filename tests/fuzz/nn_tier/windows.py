"""Convolutions, pools, interpolation, edges, shuffles and grids."""

from __future__ import annotations

from typing import Any

import numpy as np

from .case import Case


def plane(case: Case, axes: int, channels: int, least: int = 1) -> list[int]:
    """[batch, channels, ...]"""
    draw = case.draw
    most = {1: 40, 2: 12, 3: 6}[axes]
    sizes = [draw.integer(least, max(least, most)) for _ in range(axes)]
    return [draw.one_of([2, 1, 3, 0]), channels, *sizes]


def sizes(case: Case, axes: int, low: int, high: int) -> Any:
    """A number, or one for each axis."""
    if case.draw.below(2):
        return case.draw.integer(low, high)
    return tuple(case.draw.integer(low, high) for _ in range(axes))


def convolution(case: Case) -> Case:
    draw = case.draw
    axes = draw.one_of([2, 1, 3])
    transposed = draw.rarely(3)
    dtype = draw.one_of(["float32", "float16"])
    groups, per, filters = draw.one_of([1, 2, 3]), draw.one_of([1, 2, 4]), draw.one_of([1, 3, 2])
    shape = plane(case, axes, groups * per, 3)
    window = [draw.integer(1, 3) for _ in range(axes)]
    x = case.array(shape if draw.below(4) else shape[1:], dtype)
    if transposed:
        weight = case.array([groups * per, filters, *window], dtype)
    else:
        weight = case.array([groups * filters, per, *window], dtype)
    bias = case.maybe([groups * filters], dtype)
    options: dict[str, Any] = {}
    if draw.below(2):
        options = {"stride": sizes(case, axes, 1, 3), "padding": sizes(case, axes, 0, 2)}
    if draw.rarely(3):
        options["dilation"] = sizes(case, axes, 1, 2)
    if groups > 1 or draw.below(2):
        options["groups"] = groups
    if not transposed and draw.rarely(3):
        options["padding"] = draw.one_of(["same", "valid"])
        options.pop("stride", None)
    if not transposed and draw.rarely(3):
        options["padding_mode"] = draw.one_of(["zeros", "reflect", "replicate", "circular"])
    if not transposed and draw.rarely(4):
        options["activation"] = draw.one_of(["relu", "silu", "leaky_relu", "gelu"])
    case.calls(f"conv{'_transpose' * transposed}{axes}d", x, weight, bias, **options)
    # Sums of products may end near 0.
    case.to(loose=True, ulps=64 if dtype == "float32" else 4).maybe_gradient(dtype, (2,))
    return case.to(beside="single", ulps=64 if dtype == "float32" else 4)


def pool(case: Case) -> Case:
    draw = case.draw
    axes = draw.one_of([2, 1, 3])
    kind = draw.one_of(["max", "avg", "lp", "adaptive_avg", "adaptive_max"])
    dtype = case.real()
    shape = plane(case, axes, draw.one_of([2, 1, 3, 0]), 3)
    shape = shape if draw.below(4) else shape[1:]
    x = case.array(shape, dtype, "counts" if kind == "lp" else "small")
    if kind.startswith("adaptive"):
        given: Any = sizes(case, axes, 1, 5)
        more = {"return_indices": True} if kind.endswith("max") and draw.below(2) else {}
        case.calls(f"{kind}_pool{axes}d", x, given, **more)
        return case.maybe_gradient(dtype)
    options: dict[str, Any] = {}
    window = sizes(case, axes, 1, 3)
    if draw.below(2):
        options["stride"] = sizes(case, axes, 1, 3)
    if draw.rarely(3):
        options["ceil_mode"] = True
    if kind != "lp" and draw.below(2):
        options["padding"] = sizes(case, axes, 0, 1)
    if kind == "max" and draw.rarely(3):
        options["dilation"] = sizes(case, axes, 1, 2)
    if kind == "max" and draw.below(2):
        options["return_indices"] = True
    if kind == "avg" and draw.rarely(3):
        options["count_include_pad"] = False
    if kind == "avg" and draw.rarely(4):
        options["divisor_override"] = draw.one_of([1, 3, -2])
    powers = [draw.one_of([2.0, 1.0, 3.0])] if kind == "lp" else []
    case.calls(f"{kind}_pool{axes}d", x, *powers, window, **options)
    return case.maybe_gradient(dtype)


def unpool(case: Case) -> Case:
    draw = case.draw
    axes = draw.one_of([2, 1, 3])
    dtype, shape = case.real(), plane(case, axes, 2)
    k = draw.integer(1, 3)
    # Each place once, so that the result follows.
    whole = int(np.prod(shape[2:])) * k**axes
    lines = [draw.rng.permutation(whole)[: int(np.prod(shape[2:]))] for _ in range(shape[0] * 2)]
    indices = case.content(np.array(lines).reshape(shape), draw.one_of(["int32", "int64"]))
    case.calls(f"max_unpool{axes}d", case.array(shape, dtype), indices, k)
    return case.maybe_gradient(dtype)


def interpolate(case: Case) -> Case:
    draw = case.draw
    axes = draw.one_of([2, 1, 3])
    dtype, shape = case.real(), plane(case, axes, 2)
    modes = ["nearest", {1: "linear", 2: "bilinear", 3: "trilinear"}[axes], "nearest-exact", "area"]
    mode = draw.one_of(modes + ["bicubic"] * (axes == 2))
    # Factors of which float32 and float64 find the same places.
    options: dict[str, Any] = {"mode": mode}
    if draw.below(2):
        options["scale_factor"] = draw.one_of([2.0, 1.0, 0.5, 4.0, tuple([2.0] * axes)])
    else:
        options["size"] = tuple(max(1, size * draw.one_of([2, 1, 4])) for size in shape[2:])
    if mode.endswith(("linear", "cubic")) and draw.below(2):
        options["align_corners"] = True
    if mode in ("bilinear", "bicubic") and draw.rarely(3):
        options["antialias"] = True
    case.calls("interpolate", case.array(shape, dtype), **options)
    return case.to(ulps=256).maybe_gradient(dtype)


def pad(case: Case) -> Case:
    draw = case.draw
    dtype, shape = case.real(), case.shape(1, 5, 500)
    mode = draw.one_of(["constant", "reflect", "replicate", "circular"])
    count = draw.integer(0, min(3, len(shape)))
    around = tuple(draw.integer(-draw.rarely(20), 3) for _ in range(2 * count))
    options: dict[str, Any] = {"mode": mode}
    if mode == "constant" and draw.below(2):
        options["value"] = draw.one_of([0.0, 1.0, -2.5])
    case.calls("pad", case.array(shape, dtype), around, **options)
    return case.maybe_gradient(dtype, (0,))


def shuffle(case: Case) -> Case:
    draw = case.draw
    name = draw.one_of(["pixel_shuffle", "pixel_unshuffle", "channel_shuffle"])
    dtype, factor = case.dtype(), draw.integer(1, 3)
    sizes = [draw.integer(0, 5), draw.integer(1, 5)]
    channels = draw.integer(1, 3)
    if name == "pixel_shuffle":
        channels *= factor**2
    elif name == "pixel_unshuffle":
        sizes = [size * factor for size in sizes]
    else:
        channels *= factor
    lead = [] if name != "channel_shuffle" and draw.rarely(3) else [2]
    case.calls(name, case.array([*lead, channels, *sizes], dtype), factor)
    return case.to(ulps=0, by="")


def grid(case: Case) -> Case:
    draw = case.draw
    axes = draw.one_of([2, 3])
    dtype = case.real()
    if draw.rarely(3):
        theta = case.array([2, axes, axes + 1], dtype)
        size = (2, 1, *(draw.integer(1, 5) for _ in range(axes)))
        case.calls("affine_grid", theta, size, align_corners=bool(draw.below(2)))
        return case.maybe_gradient(dtype, (0,))
    shape = plane(case, axes, 2)
    mode = draw.one_of(["bilinear", "nearest"] + ["bicubic"] * (axes == 2))
    outputs = [draw.integer(1, 5) for _ in range(axes)]
    # Between the middles of elements and the edges between these.
    content = draw.rng.integers(-40, 41, [shape[0], *outputs, axes]) / 32 + 1 / 128
    special = draw.rarely(6)
    if special and content.size:
        places = draw.rng.integers(0, content.size, 3)
        content.reshape(-1)[places] = draw.rng.choice([np.nan, np.inf, -np.inf, 1e30, -1e30], 3)
        content = content.clip(-6e4, 6e4) if draw.below(2) else content
    case.calls("grid_sample", case.array(shape, dtype), case.content(content, dtype), mode=mode,
               padding_mode=draw.one_of(["zeros", "border", "reflection"]),
               align_corners=bool(draw.below(2)))  # fmt: skip
    if special or mode == "nearest" or dtype in ("float16", "bfloat16"):
        case.beside = ""  # Roundings of places choose other elements.
    return case.to(ulps=512).maybe_gradient(dtype)


KINDS = [convolution, convolution, pool, pool, unpool, interpolate, pad, shuffle, grid]
