"""Resize and Upsample, and what samples by a grid."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

import tilewright as tw
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.common import axes_in, check_room, ints
from tilewright.models.onnx.operators.registry import Run, operator
from tilewright.nn.taps import Taps, packed

PLACES = (
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
    "tf_crop_and_resize", "tf_half_pixel_for_nn",
)  # fmt: skip
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple")
#: what float32 may put a place beyond the middle of two elements, as ONNX Runtime has it
TIE = 1e-6


class Ways(NamedTuple):
    """How a node finds what an output is made of."""

    mode: str
    places: str
    nearest: str
    cubic: float
    leaves_out: bool
    smooth: bool


def _sources(ways: Ways, length: int, out: int, scale: float, roi: tuple[float, float]) -> Any:
    """Where in the input each output lies, in float32 and by the steps that runtimes take: what
    falls between two elements, or on one, is the same there and here."""
    at, one, half = np.arange(out, dtype=np.float32), np.float32(scale), np.float32(0.5)
    last = np.float32(length - 1)
    if one == 1 and ways.places != "tf_crop_and_resize":
        return at
    match ways.places:
        case "align_corners":
            return at * 0 if out == 1 else at * last / np.float32(out - 1)
        case "asymmetric":
            return at / one
        case "tf_crop_and_resize":
            start, end = np.float32(roi[0]), np.float32(roi[1])
            if out == 1:
                return at * 0 + half * (start + end) * last
            return start * last + at * (end - start) * last / np.float32(out - 1)
        case "tf_half_pixel_for_nn":
            return (at + half) / one
        case "pytorch_half_pixel":
            return at * 0 if out == 1 else (at + half) / one - half
        case "half_pixel_symmetric":
            middle = np.float32(length) / 2
            moved = middle * (1 - np.float32(out) / (one * np.float32(length)))
            return moved + (at + half) / one - half
        case _:
            return (at + half) / one - half


def _grown(length: int, scale: float) -> int:
    """As many whole elements as there are, in float32."""
    return int(np.float32(scale) * np.float32(length))


def _cubic(x: Any, a: float) -> Any:
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


@lru_cache(64)
def _taps(
    ways: Ways, length: int, out: int, scale: float, roi: tuple[float, float], wide: str
) -> Taps:
    kind: Any = np.dtype(wide).type
    at = _sources(ways, length, out, scale, roi).astype(np.float64)
    if ways.mode == "nearest":
        match ways.nearest:
            case "round_prefer_floor":
                place = np.ceil(at - 0.5 - TIE)
            case "round_prefer_ceil":
                place = np.floor(at + 0.5 + TIE)
            case "ceil":
                place = np.ceil(at)
            case "simple":
                place = np.ceil(at) if scale < 1 else np.trunc(at)
            case _:
                place = np.floor(at)
        place = np.clip(place, 0, length - 1).astype(np.int64)
        return packed(place[:, None], np.ones((out, 1)), kind)
    narrow = min(scale, 1.0) if ways.smooth else 1.0
    half = (1 if ways.mode == "linear" else 2) / narrow
    check_room((out, math.ceil(2 * half)))
    low = np.floor(at - half).astype(np.int64) + 1
    places = low[:, None] + np.arange(math.ceil(2 * half))
    away = (places - at[:, None]) * narrow
    near = np.maximum(1 - np.abs(away), 0)
    weights = near if ways.mode == "linear" else _cubic(away, ways.cubic)
    if ways.leaves_out:
        weights = np.where((places < 0) | (places >= length), 0.0, weights)
    if ways.leaves_out or ways.smooth:
        total = weights.sum(1, keepdims=True)
        weights = np.divide(weights, total, out=weights, where=total != 0)
    return packed(np.clip(places, 0, length - 1), weights, kind)


def _resized(x: Any, axis: int, taps: Taps, out: int) -> Any:
    """x with another length of one axis."""
    if taps.keeps(x.shape[axis]):
        return x
    before, behind = x.shape[:axis], x.shape[axis + 1 :]
    found = x.backend.empty((*before, out, *behind), x.dtype)
    if found.size:
        lead, tail = math.prod(before), math.prod(behind)
        x.backend.resample(
            x._contiguous(), found, lead, (x.shape[axis], tail), (out, tail),
            tw.asarray(taps.spans), tw.asarray(taps.weights), taps.weights.shape[1], 0, 0, 0,
            x.stored_as,
        )  # fmt: skip
    return found


def _plane(x: Any, rows: Taps, columns: Taps, shape: tuple[int, int]) -> Any:
    """x with other lengths of its last two axes, by one launch."""
    found = x.backend.empty((*x.shape[:-2], *shape), x.dtype)
    tables: list[Any] = []
    for taps, size in zip((rows, columns), x.shape[-2:], strict=True):
        if taps.keeps(size):
            tables += [0, 0, 0]
        else:
            tables += [tw.asarray(taps.spans), tw.asarray(taps.weights), taps.weights.shape[1]]
    x.backend.resample(
        x._contiguous(), found, math.prod(x.shape[:-2]), tuple(x.shape[-2:]), shape, *tables,
        x.stored_as,
    )  # fmt: skip
    return found


def _grow(
    x: Any, ways: Ways, sizes: list[int], scales: list[float], rois: list[tuple[float, float]],
    outside: float,
) -> Any:  # fmt: skip
    check_room(sizes, x.dtype.itemsize)
    if 0 in x.shape or 0 in sizes:
        if 0 in x.shape:
            raise ModelError(f"its input has shape {tuple(x.shape)}, expected elements")
        return tw.zeros(tuple(sizes), dtype=x.dtype)
    if tuple(x.shape) == tuple(sizes) and ways.places != "tf_crop_and_resize":
        return x
    dtype = x.dtype
    if dtype.kind != "f":
        if dtype.itemsize > 2 and dtype.kind != "b":
            raise ModelError(f"its input is {dtype}, expected floats or at most 16 bits")
        x = x.astype("float32")
    wide = "float64" if x.dtype == "float64" else "float32"
    lengths = tuple(x.shape)
    taps = [
        _taps(ways, n, out, scale, roi, wide)
        for n, out, scale, roi in zip(lengths, sizes, scales, rois, strict=True)
    ]
    moved = [i for i, (one, n) in enumerate(zip(taps, lengths, strict=True)) if not one.keeps(n)]
    if set(moved) <= {x.ndim - 2, x.ndim - 1} and x.ndim >= 2 and moved:
        x = _plane(x, taps[-2], taps[-1], (sizes[-2], sizes[-1]))
    else:
        given = x.dtype
        x = x.astype(wide, copy=False) if ways.mode != "nearest" else x
        for axis in moved:
            x = _resized(x, axis, taps[axis], sizes[axis])
        x = x.astype(given, copy=False)
    if ways.places == "tf_crop_and_resize":
        for axis, (n, out, scale, roi) in enumerate(zip(lengths, sizes, scales, rois, strict=True)):
            at = _sources(ways, n, out, scale, roi)
            beyond = (at < 0) | (at > n - 1)
            if beyond.any():
                shape = [1] * len(sizes)
                shape[axis] = out
                x = tw.where(
                    tw.asarray(beyond.reshape(shape)), tw.asarray(outside, dtype=x.dtype), x
                )
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        x = tw.clip(tw.round(x), float(info.min), float(info.max))
    return x.astype(dtype, copy=False)


POLICIES = ("stretch", "not_larger", "not_smaller")


@operator("Resize", host=(1, 2, 3), grows=True)
def _resize(node: Node) -> Run:
    mode = node.string("mode", "nearest", ("nearest", "linear", "cubic"))
    if node.version < 11:
        ways = Ways(mode, "asymmetric", "simple", -0.75, False, False)
    else:
        ways = Ways(
            mode,
            node.string("coordinate_transformation_mode", "half_pixel", PLACES),
            node.string("nearest_mode", "round_prefer_floor", NEAREST),
            node.number("cubic_coeff_a", -0.75),
            node.flag("exclude_outside"), node.flag("antialias"),
        )  # fmt: skip
    if ways.smooth and mode == "nearest":
        node.fail("the attribute antialias is 1, expected 0 of the mode nearest")
    outside = node.number("extrapolation_value", 0.0)
    policy = node.string("keep_aspect_ratio_policy", "stretch", POLICIES)
    chosen = node.integers("axes")

    def run(x: Any, roi: Any = None, scales: Any = None, sizes: Any = None) -> Any:
        if node.version < 11:
            roi, scales = None, roi
        axes = tuple(range(x.ndim)) if chosen is None else axes_in(chosen, x.ndim)
        out, by = list(x.shape), [1.0] * x.ndim
        if sizes is not None and np.asarray(sizes).size:
            wanted = ints(sizes)
            if len(wanted) != len(axes) or min(wanted) < 0:
                raise ModelError(f"sizes are {wanted}, expected {len(axes)} of 0 or more")
            factors = [n / max(x.shape[a], 1) for a, n in zip(axes, wanted, strict=True)]
            if policy != "stretch":
                one = min(factors) if policy == "not_larger" else max(factors)
                factors = [one] * len(axes)
                wanted = tuple(int(one * x.shape[a] + 0.5) for a in axes)
        else:
            if scales is None:
                raise ModelError("neither scales nor sizes are given, expected one of them")
            factors = [float(one) for one in np.asarray(scales).reshape(-1)]
            if len(factors) != len(axes) or not all(0 < one < 1e9 for one in factors):
                raise ModelError(f"scales are {factors}, expected {len(axes)} above 0")
            wanted = tuple(_grown(x.shape[a], one) for a, one in zip(axes, factors, strict=True))
        for axis, size, factor in zip(axes, wanted, factors, strict=True):
            out[axis], by[axis] = size, factor
        rois = [(0.0, 1.0)] * x.ndim
        if ways.places == "tf_crop_and_resize":
            bounds = [float(one) for one in np.asarray(roi).reshape(-1)]
            if len(bounds) != 2 * len(axes):
                raise ModelError(f"roi has {len(bounds)} numbers, expected {2 * len(axes)}")
            for i, axis in enumerate(axes):
                rois[axis] = (bounds[i], bounds[len(axes) + i])
        return _grow(x, ways, out, by, rois, outside)

    return run


@operator("Upsample", host=(1,), grows=True)
def _upsample(node: Node) -> Run:
    mode = node.string("mode", "nearest", ("nearest", "linear"))
    fixed = node.numbers("scales")
    ways = Ways(mode, "asymmetric", "simple", -0.75, False, False)

    def run(x: Any, scales: Any = None) -> Any:
        given = fixed if scales is None else tuple(float(one) for one in np.asarray(scales))
        if given is None or len(given) != x.ndim or not all(0 < one < 1e9 for one in given):
            raise ModelError(f"scales are {given}, expected {x.ndim} above 0")
        sizes = [_grown(n, one) for n, one in zip(x.shape, given, strict=True)]
        return _grow(x, ways, sizes, list(given), [(0.0, 1.0)] * x.ndim, 0.0)

    return run


MODES = {
    "bilinear": "bilinear", "linear": "bilinear", "nearest": "nearest", "bicubic": "bicubic",
    "cubic": "bicubic",
}  # fmt: skip


@operator("GridSample")
def _grid_sample(node: Node) -> Run:
    usual = "linear" if node.version >= 20 else "bilinear"
    mode = MODES[node.string("mode", usual, MODES)]
    edges = node.string("padding_mode", "zeros", ("zeros", "border", "reflection"))
    aligned = node.flag("align_corners")
    return lambda x, grid: tw.nn.grid_sample(x, grid, mode, edges, aligned)


@operator("AffineGrid", host=(1,), grows=True)
def _affine_grid(node: Node) -> Run:
    aligned = node.flag("align_corners")

    def run(theta: Any, size: Any) -> Any:
        sizes = ints(size)
        check_room(sizes)
        return tw.nn.affine_grid(theta, sizes, aligned)

    return run
