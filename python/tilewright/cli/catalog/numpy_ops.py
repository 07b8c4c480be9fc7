"""The ops that NumPy has no single function for, written with it, in the dtype they are given."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from .case import AnyArray

_ERF_STEP = 1.0 / 512.0
_ERF_END = 6.0
"""From here on erf is 1 in float64."""
_CHUNK = 1 << 15
"""Elements whose intermediates stay in the cache."""


@cache
def _erf_table(dtype: Any) -> AnyArray:
    points = range(int(_ERF_END / _ERF_STEP) + 1)
    return np.array([math.erf(i * _ERF_STEP) for i in points]).astype(dtype)


def erf(x: AnyArray) -> AnyArray:
    """By its Taylor series to the third order around the nearest of a table's points: exact to
    2e-13 in float64, which is far below what it is held against."""
    table = _erf_table(x.dtype)
    result = np.empty_like(x)
    flat, out = x.reshape(-1), result.reshape(-1)
    for start in range(0, flat.size, _CHUNK):
        part = flat[start : start + _CHUNK]
        size = np.minimum(np.abs(part), _ERF_END)
        index = np.rint(size * (1 / _ERF_STEP)).astype(np.int32)
        x0 = index.astype(x.dtype) * x.dtype.type(_ERF_STEP)
        d = size - x0
        slope = np.exp(-x0 * x0) * (2 / math.sqrt(math.pi))
        series = d * (1 - d * (x0 - d * (2 * x0 * x0 - 1) / 3))
        np.copysign(table[index] + slope * series, part, out=out[start : start + _CHUNK])
    return result


def sigmoid(x: AnyArray) -> AnyArray:
    result: AnyArray = 1 / (1 + np.exp(-x))
    return result


def silu(x: AnyArray) -> AnyArray:
    result: AnyArray = x / (1 + np.exp(-x))
    return result


def gelu(x: AnyArray) -> AnyArray:
    result: AnyArray = x * (1 + erf(x * np.asarray(math.sqrt(0.5), x.dtype))) / 2
    return result


def gelu_tanh(x: AnyArray) -> AnyArray:
    result: AnyArray = (
        x * (1 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * (x * x * x)))) / 2
    )
    return result


def softmax(x: AnyArray, axis: int) -> AnyArray:
    result: AnyArray = np.exp(x - x.max(axis=axis, keepdims=True))
    result /= result.sum(axis=axis, keepdims=True)
    return result


def log_softmax(x: AnyArray, axis: int) -> AnyArray:
    result: AnyArray = x - x.max(axis=axis, keepdims=True)
    result -= np.log(np.exp(result).sum(axis=axis, keepdims=True))
    return result


def cross_entropy(x: AnyArray, targets: AnyArray, reduction: str | None) -> AnyArray:
    off = x - x.max(axis=1, keepdims=True)
    losses = np.log(np.exp(off).sum(axis=1)) - off[np.arange(len(x)), targets.astype(np.int64)]
    return np.asarray(losses.mean()) if reduction == "mean" else losses


def cross_entropy_backward(x: AnyArray, targets: AnyArray) -> AnyArray:
    result = softmax(x, 1)
    result[np.arange(len(x)), targets.astype(np.int64)] -= 1
    return result


def rmsnorm(x: AnyArray, weight: AnyArray, eps: float) -> AnyArray:
    result: AnyArray = x * weight / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)
    return result


def layer_norm(x: AnyArray, weight: AnyArray, bias: AnyArray, eps: float) -> AnyArray:
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = np.mean(centred * centred, axis=-1, keepdims=True)
    result: AnyArray = centred / np.sqrt(variance + eps) * weight + bias
    return result


def rope(x: AnyArray, cos: AnyArray, sin: AnyArray, neighbours: bool = False) -> AnyArray:
    first, second = (x[..., ::2], x[..., 1::2]) if neighbours else np.split(x, 2, axis=-1)
    turned = [first * cos - second * sin, second * cos + first * sin]
    if neighbours:
        return np.stack(turned, axis=-1).reshape(x.shape)
    return np.concatenate(turned, axis=-1)


def attention(
    q: AnyArray, k: AnyArray, v: AnyArray, scale: float, causal: bool, window: int | None = None,
    soft_cap: float = 0,
) -> AnyArray:  # fmt: skip
    """One head at a time, so that only one score matrix exists."""
    out = np.empty_like(q)
    group = q.shape[1] // k.shape[1]
    hidden = np.triu(np.ones((q.shape[2], k.shape[2]), bool), 1) if causal else None
    if window is not None and hidden is not None:
        hidden |= np.tril(np.ones_like(hidden), -window - 1)
    for n, h in np.ndindex(q.shape[:2]):
        scores = q[n, h] @ k[n, h // group].T * scale
        if soft_cap:
            scores = soft_cap * np.tanh(scores / soft_cap)
        if hidden is not None:
            scores[hidden] = -np.inf
        out[n, h] = softmax(scores, -1) @ v[n, h // group]
    return out


def _windows(image: AnyArray, filter_size: tuple[int, ...], pad: int) -> AnyArray:
    """[C,H,W] -> [C,P,Q,R,S], a view of the padded image."""
    padded = np.pad(image, ((0, 0), (pad, pad), (pad, pad)))
    return np.lib.stride_tricks.sliding_window_view(padded, filter_size, axis=(1, 2))


def conv2d(x: AnyArray, w: AnyArray, pad: int) -> AnyArray:
    """Stride 1: the windows of one image at a time, and a matrix product; 1 x 1 is the product."""
    filters, channels, *filter_size = w.shape
    if filter_size == [1, 1]:
        pixels = x.reshape(len(x), channels, -1)
        product: AnyArray = np.matmul(w.reshape(filters, channels), pixels)
        return product.reshape(-1, filters, *x.shape[2:])
    return np.stack(
        [np.tensordot(w, _windows(image, w.shape[2:], pad), ((1, 2, 3), (0, 3, 4))) for image in x]
    )


def conv2d_backward_data(grad: AnyArray, w: AnyArray, pad: int) -> AnyArray:
    """Stride 1: the convolution of the gradient with the filter turned around."""
    turned = np.ascontiguousarray(w[:, :, ::-1, ::-1].swapaxes(0, 1))
    return conv2d(grad, turned, w.shape[2] - 1 - pad)


def conv2d_backward_filter(
    x: AnyArray, grad: AnyArray, filter_size: tuple[int, ...], pad: int
) -> AnyArray:
    parts = (
        np.tensordot(g, _windows(image, filter_size, pad), ((1, 2), (1, 2)))
        for image, g in zip(x, grad, strict=True)
    )
    result: AnyArray = sum(parts, np.zeros((), x.dtype))
    return result


def to_float16(x: AnyArray) -> AnyArray:
    """The nearest float16 numbers, in the dtype of x."""
    return x.astype(np.float16).astype(x.dtype)


def to_bfloat16(x: AnyArray) -> AnyArray:
    """The nearest bfloat16 numbers (ties to even), in the dtype of x; x holds float32 numbers."""
    bits = x.astype(np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    result: AnyArray = rounded.view(np.float32).astype(x.dtype)
    return result


def pool(op: str, x: AnyArray) -> AnyArray:
    """Of windows of 2 by 2, side by side."""
    planes, height, width = x.shape
    windows = x.reshape(planes, height // 2, 2, width // 2, 2)
    result: AnyArray = windows.max((2, 4)) if op == "max" else windows.mean((2, 4))
    return result


def pool_backward(grad: AnyArray, places: AnyArray | None, shape: tuple[int, int]) -> AnyArray:
    """The same windows: of the mean, or of the largest at their places."""
    if places is None:
        return (grad / 4).repeat(2, 1).repeat(2, 2)
    result = np.zeros((len(grad), shape[0] * shape[1]), grad.dtype)
    np.put_along_axis(
        result, places.reshape(len(grad), -1).astype(np.int64), grad.reshape(len(grad), -1), 1
    )
    return result.reshape(len(grad), *shape)


def resample(
    x: AnyArray, row_spans: AnyArray, rows: AnyArray, column_spans: AnyArray, columns: AnyArray
) -> AnyArray:
    """Between two neighbours of each axis."""
    top, left = row_spans[:, 0].astype(np.int64), column_spans[:, 0].astype(np.int64)
    rows, columns = rows.astype(x.dtype), columns.astype(x.dtype)
    tall = x[:, top] * rows[:, :1] + x[:, top + 1] * rows[:, 1:]
    result: AnyArray = tall[:, :, left] * columns[:, 0] + tall[:, :, left + 1] * columns[:, 1]
    return result


def _corners(
    x: AnyArray, grid: AnyArray
) -> tuple[AnyArray, AnyArray, tuple[AnyArray, AnyArray, AnyArray, AnyArray]]:
    """How far places are beyond their first neighbour, down and to the right, and the four of x."""
    height, width = x.shape[1:]
    sizes = np.array([width, height], grid.dtype)
    at = np.clip(((grid + 1) * sizes - 1) / 2, 0, sizes - 1)
    first = np.minimum(at.astype(np.int64), np.maximum(sizes.astype(np.int64) - 2, 0))
    off = at - first
    left, top = first[..., 0], first[..., 1]
    right, below = np.minimum(left + 1, width - 1), np.minimum(top + 1, height - 1)
    four = x[:, top, left], x[:, top, right], x[:, below, left], x[:, below, right]
    return off[..., 1], off[..., 0], four


def grid_sample(x: AnyArray, grid: AnyArray) -> AnyArray:
    """Between four neighbours, places outside moved to the border."""
    down, across, (a, b, c, d) = _corners(x, grid)
    result: AnyArray = (a * (1 - across) + b * across) * (1 - down) + (
        c * (1 - across) + d * across
    ) * down
    return result


def grid_sample_backward_grid(grad: AnyArray, x: AnyArray, grid: AnyArray) -> AnyArray:
    """Of the same, which does not change along an axis where a place is at the border."""
    height, width = x.shape[1:]
    down, across, (a, b, c, d) = _corners(x, grid)
    sizes = np.array([width, height], grid.dtype)
    at = ((grid + 1) * sizes - 1) / 2
    moves = (at > 0) & (at < sizes - 1)
    by_x = (grad * ((b - a) * (1 - down) + (d - c) * down)).sum(0)
    by_y = (grad * ((c - a) * (1 - across) + (d - b) * across)).sum(0)
    result: AnyArray = np.stack([by_x, by_y], axis=-1) * moves * (sizes / 2)
    return result
