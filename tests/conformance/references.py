"""Every op in NumPy and float64, written to be read."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def quiet(function: Callable[..., Array]) -> Callable[..., Array]:
    """Infinity and NaN are results here, not accidents."""

    def call(*inputs: npt.ArrayLike) -> Array:
        with np.errstate(all="ignore"):
            return function(*(np.asarray(x, np.float64) for x in inputs))

    return call


# 1 + erf(x) = erfc(-x) and 1 + tanh(x) = 2 sigmoid(2x), without the cancellation.
_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def gated(x: Array, gate: Array) -> Array:
    """x * gate, for a gate that falls to 0 faster than x to -infinity."""
    return np.where(x == -np.inf, 0, x * gate)


UNARY = {
    "relu": quiet(lambda x: np.maximum(x, 0)),
    "sigmoid": quiet(sigmoid),
    "tanh": quiet(np.tanh),
    "exp": quiet(np.exp),
    "log": quiet(np.log),
    "sqrt": quiet(np.sqrt),
    "abs": quiet(np.abs),
    "neg": quiet(np.negative),
    "silu": quiet(lambda x: gated(x, sigmoid(x))),
    "gelu": quiet(lambda x: gated(x, _erfc(-x / math.sqrt(2)) / 2)),
    "gelu_tanh": quiet(
        lambda x: gated(x, sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    ),
    "rsqrt": quiet(lambda x: 1 / np.sqrt(x)),
    "reciprocal": quiet(lambda x: 1 / x),
    "square": quiet(np.square),
}


def _pow(a: Array, b: Array) -> Array:
    """NumPy takes an exponent of stride 0 that is 0.5 as a square root, which of -inf is NaN."""
    a, b = np.broadcast_arrays(a, b)
    return np.power(a.ravel().copy(), b.ravel().copy()).reshape(a.shape)


BINARY = {
    "add": quiet(np.add),
    "sub": quiet(np.subtract),
    "mul": quiet(np.multiply),
    "div": quiet(np.divide),
    "max": quiet(np.maximum),
    "min": quiet(np.minimum),
    "pow": quiet(_pow),
}


def reduce(op: str, x: Array, axis: int) -> Array:
    x = x.astype(np.float64)
    with np.errstate(all="ignore"):
        if op == "mean":
            return np.asarray(x.sum(axis) / x.shape[axis])
        return np.asarray(getattr(x, op)(axis))


def transposed(matrix: Array, trans: str) -> Array:
    return matrix if trans == "none" else np.swapaxes(matrix, -1, -2)


def rounded(x: Array, precision: str) -> Array:
    """float32 rounded to nearest even, as float32."""
    if precision == "float16":
        with np.errstate(over="ignore"):
            return x.astype(np.float16).astype(np.float32)
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    out = bits.astype(np.uint32).view(np.float32)
    return np.where(np.isnan(x), x, out)


Pair = Sequence[int]


def conv2d_output_shape(
    x_shape: Sequence[int], w_shape: Sequence[int], stride: Pair, pad: Pair, dilation: Pair
) -> tuple[int, int, int, int]:
    sizes = [
        (x_shape[2 + i] + 2 * pad[i] - dilation[i] * (w_shape[2 + i] - 1) - 1) // stride[i] + 1
        for i in range(2)
    ]
    return x_shape[0], w_shape[0], sizes[0], sizes[1]


def _windows(
    padded: Array, out_shape: Sequence[int], r: int, s: int, stride: Pair, dilation: Pair
) -> Array:
    """What filter tap (r, s) sees at each output position, as a view [N, C, P, Q]."""
    top, left = r * dilation[0], s * dilation[1]
    bottom = top + (out_shape[2] - 1) * stride[0] + 1
    right = left + (out_shape[3] - 1) * stride[1] + 1
    return padded[:, :, top : bottom : stride[0], left : right : stride[1]]


def _padded(x: Array, pad: Pair) -> Array:
    return np.pad(x.astype(np.float64), [(0, 0), (0, 0), (pad[0], pad[0]), (pad[1], pad[1])])


def _group(size: int, groups: int) -> list[slice]:
    each = size // groups
    return [slice(g * each, (g + 1) * each) for g in range(groups)]


# As matrix products.
_einsum = functools.partial(np.einsum, optimize=True)


def conv2d(
    x: Array, w: Array, bias: Array | None, stride: Pair, pad: Pair, dilation: Pair, groups: int
) -> Array:
    w = w.astype(np.float64)
    out = np.zeros(conv2d_output_shape(x.shape, w.shape, stride, pad, dilation))
    padded = _padded(x, pad)
    for r in range(w.shape[2]):
        for s in range(w.shape[3]):
            seen = _windows(padded, out.shape, r, s, stride, dilation)
            for c, k in zip(_group(x.shape[1], groups), _group(w.shape[0], groups), strict=True):
                out[:, k] += _einsum("ncpq,kc->nkpq", seen[:, c], w[k, :, r, s])
    return out if bias is None else out + bias.astype(np.float64)[:, None, None]


def conv2d_backward_data(
    g: Array, w: Array, x_shape: Sequence[int], stride: Pair, pad: Pair, dilation: Pair, groups: int
) -> Array:
    g, w = g.astype(np.float64), w.astype(np.float64)
    padded = _padded(np.zeros(x_shape), pad)
    for r in range(w.shape[2]):
        for s in range(w.shape[3]):
            seen = _windows(padded, g.shape, r, s, stride, dilation)
            for c, k in zip(_group(x_shape[1], groups), _group(w.shape[0], groups), strict=True):
                seen[:, c] += _einsum("nkpq,kc->ncpq", g[:, k], w[k, :, r, s])
    height, width = x_shape[2:]
    return padded[:, :, pad[0] : pad[0] + height, pad[1] : pad[1] + width]


def conv2d_backward_filter(
    x: Array, g: Array, w_shape: Sequence[int], stride: Pair, pad: Pair, dilation: Pair, groups: int
) -> Array:
    g = g.astype(np.float64)
    out = np.zeros(w_shape)
    padded = _padded(x, pad)
    for r in range(w_shape[2]):
        for s in range(w_shape[3]):
            seen = _windows(padded, g.shape, r, s, stride, dilation)
            for c, k in zip(_group(x.shape[1], groups), _group(w_shape[0], groups), strict=True):
                out[k, :, r, s] = _einsum("ncpq,nkpq->kc", seen[:, c], g[:, k])
    return out


def softmax(x: Array, axis: int) -> Array:
    x = x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        e = np.exp(x - x.max(axis, keepdims=True))
        return np.asarray(e / e.sum(axis, keepdims=True))


def log_softmax(x: Array, axis: int) -> Array:
    x = x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        off = x - x.max(axis, keepdims=True)
        return np.asarray(off - np.log(np.exp(off).sum(axis, keepdims=True)))


def repeated_heads(x: Array, heads: int) -> Array:
    """[..., kv_heads, n, d] as every one of `heads` sees it."""
    return np.repeat(x.astype(np.float64), heads // x.shape[-3], axis=-3)


def attention_scores(q: Array, k: Array, scale: float, causal: bool, q_offset: int) -> Array:
    """scale q k^T over [batch, heads, seq_q, seq_kv], -inf where a key is not visible."""
    q = q.astype(np.float64)
    scores = scale * q @ np.swapaxes(repeated_heads(k, q.shape[-3]), -1, -2)
    if causal:
        i = np.arange(scores.shape[-2])[:, None]
        j = np.arange(scores.shape[-1])[None, :]
        scores = np.where(j <= i + q_offset, scores, -np.inf)
    return np.asarray(scores)


def rmsnorm(x: Array, weight: Array, eps: float) -> Array:
    x = x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return np.asarray(x * weight / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps))


def layer_norm(x: Array, weight: Array, bias: Array, eps: float) -> Array:
    x = x.astype(np.float64)
    centred = x - x.mean(-1, keepdims=True)
    return np.asarray(centred / np.sqrt(x.var(-1, keepdims=True) + eps) * weight + bias)


def rope(x: Array, cos: Array, sin: Array) -> Array:
    """cos and sin: the rows of the positions of x, [seq, head_dim / 2]."""
    x, cos, sin = (a.astype(np.float64) for a in (x, cos, sin))
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def gather(table: Array, indices: Array) -> Array:
    out = np.full((len(indices), table.shape[1]), np.nan, table.dtype)
    for i, index in enumerate(indices):
        if 0 <= index < len(table):
            out[i] = table[index]
    return out


def scatter(source: Array, indices: Array, output: Array) -> Array:
    output = output.copy()
    for row, index in zip(source, indices, strict=True):
        if 0 <= index < len(output):
            output[index] = row
    return output
