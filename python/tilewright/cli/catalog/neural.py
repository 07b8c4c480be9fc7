"""Convolution, attention, normalisation and the row-wise ops of neural networks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import numpy_ops
from .case import AnyArray, Case, Draw, Problem, by, count, sizes, softmax_scale

GROUP = "Neural network"
_EPS = 1e-5


def _conv(kind: str, filter_size: int) -> Callable[[Draw, int, int, int, int], Problem]:
    """Square images and filters, stride 1, padded so that the output has the input's size."""
    pad = filter_size // 2

    def build(draw: Draw, batch: int, channels: int, filters: int, size: int) -> Problem:
        x_shape = (batch, channels, size, size)
        w_shape = (filters, channels, filter_size, filter_size)
        y_shape = (batch, filters, size, size)
        options = ((1, 1), (pad, pad), (1, 1), 1)
        work = 2.0 * batch * filters * size * size * channels * filter_size**2
        x, w, y = draw.normal(*x_shape), draw.normal(*w_shape), draw.normal(*y_shape)
        shape = f"{by(*x_shape)}, {filters}"
        if kind == "forward":
            return Problem(
                shape=shape,
                inputs=[x, w],
                output=y,
                call=lambda be, b, out: be.conv2d_forward(
                    b[0], x_shape, b[1], w_shape, out, y_shape, *options, None, draw.dtype
                ),
                numpy=lambda x, w, out=None: numpy_ops.conv2d(x, w, pad),
                flops=work,
                slack=64.0,
            )
        if kind == "backward_data":
            return Problem(
                shape=shape,
                inputs=[y, w],
                output=x,
                call=lambda be, b, out: be.conv2d_backward_data(
                    b[0], y_shape, b[1], w_shape, out, x_shape, *options, draw.dtype
                ),
                numpy=lambda y, w, out=None: numpy_ops.conv2d_backward_data(y, w, pad),
                flops=work,
                slack=64.0,
            )
        return Problem(
            shape=shape,
            inputs=[x, y],
            output=w,
            call=lambda be, b, out: be.conv2d_backward_filter(
                b[0], x_shape, b[1], y_shape, out, w_shape, *options, draw.dtype
            ),
            numpy=lambda x, y, out=None: numpy_ops.conv2d_backward_filter(x, y, w_shape[2:], pad),
            flops=work,
            slack=128.0,
        )

    return build


def _attention(causal: bool, group: int) -> Callable[[Draw, int, int, int, int], Problem]:
    """`group` query heads share one key and value head."""

    def build(draw: Draw, batch: int, heads: int, seq: int, dim: int) -> Problem:
        kv_heads = heads // group
        scale = softmax_scale(dim)
        pairs = seq * (seq + 1) / 2 if causal else float(seq) * seq
        return Problem(
            shape=by(batch, heads, seq, dim),
            inputs=[
                draw.normal(batch, heads, seq, dim),
                draw.normal(batch, kv_heads, seq, dim),
                draw.normal(batch, kv_heads, seq, dim),
            ],
            output=draw.zeros(batch, heads, seq, dim),
            call=lambda be, x, out: be.attention(
                *(x[0], x[1], x[2], out, batch, heads, seq, seq, dim, scale, causal),
                *(0, kv_heads, draw.dtype),
            ),
            numpy=lambda q, k, v, out=None: numpy_ops.attention(q, k, v, scale, causal),
            flops=4.0 * batch * heads * pairs * dim,
            slack=64.0,
        )

    return build


def _windowed(draw: Draw, batch: int, heads: int, seq: int, dim: int) -> Problem:
    """Causal, an eighth of the keys in each window, with a soft cap."""
    scale, window, cap = softmax_scale(dim), seq // 8, 30.0
    q, k, v = (draw.normal(batch, heads, seq, dim) for _ in range(3))
    pairs = seq * (window + 1) - window * (window + 1) / 2
    return Problem(
        shape=by(batch, heads, seq, dim),
        inputs=[q, k, v],
        output=draw.zeros(batch, heads, seq, dim),
        call=lambda be, x, out: be.attention(
            *(x[0], x[1], x[2], out, batch, heads, seq, seq, dim, scale, True),
            *(0, heads, draw.dtype),
            soft_cap=cap,
            window_left=window,
        ),
        numpy=lambda q, k, v, out=None: numpy_ops.attention(q, k, v, scale, True, window, cap),
        flops=4.0 * batch * heads * pairs * dim,
        slack=64.0,
    )


def _attention_scores(draw: Draw, heads: int, seq: int, dim: int) -> Problem:
    scale = softmax_scale(dim)
    return Problem(
        shape=by(heads, seq, dim),
        inputs=[draw.normal(heads, dim), draw.normal(heads, seq, dim)],
        output=draw.zeros(heads, seq),
        call=lambda be, x, out: be.attention_scores(
            x[0], x[1], out, seq, dim, scale, heads, heads, draw.dtype
        ),
        numpy=lambda q, keys, out=None: np.matmul(keys, q[:, :, None])[:, :, 0] * scale,
        flops=2.0 * heads * seq * dim,
        slack=32.0,
    )


def _weighted_sum(draw: Draw, heads: int, rows: int, dim: int) -> Problem:
    return Problem(
        shape=by(heads, rows, dim),
        inputs=[draw.normal(heads, rows), draw.normal(heads, rows, dim)],
        output=draw.zeros(heads, dim),
        call=lambda be, x, out: be.weighted_sum(
            x[0], x[1], out, rows, dim, heads, heads, draw.dtype
        ),
        numpy=lambda weights, rows, out=None: np.matmul(weights[:, None], rows)[:, 0],
        flops=2.0 * heads * rows * dim,
        slack=64.0,
    )


def _softmax(axis: int, log: bool = False) -> Callable[[Draw, int, int], Problem]:
    own = numpy_ops.log_softmax if log else numpy_ops.softmax

    def build(draw: Draw, rows: int, cols: int) -> Problem:
        return Problem(
            shape=by(rows, cols),
            inputs=[draw.normal(rows, cols)],
            output=draw.zeros(rows, cols),
            call=lambda be, x, out: be.softmax(x[0], out, (rows, cols), axis, draw.dtype, log),
            numpy=lambda x, out=None: own(x, axis),
            slack=32.0,
        )

    return build


def _classes(draw: Draw, rows: int, classes: int) -> AnyArray:
    return np.resize(draw.rows(classes, classes), rows)


def _cross_entropy(reduction: str | None) -> Callable[[Draw, int, int], Problem]:
    def build(draw: Draw, rows: int, cols: int) -> Problem:
        return Problem(
            shape=by(rows, cols),
            inputs=[draw.normal(rows, cols), _classes(draw, rows, cols)],
            output=draw.zeros(*([] if reduction else [rows])),
            call=lambda be, x, out: be.cross_entropy(
                *x, out, (rows, cols), 1, draw.dtype, reduction=reduction
            ),
            numpy=lambda x, t, out=None: numpy_ops.cross_entropy(x, t, reduction),
            slack=64.0,
        )

    return build


def _cross_entropy_backward(draw: Draw, rows: int, cols: int) -> Problem:
    return Problem(
        shape=by(rows, cols),
        inputs=[draw.normal(rows, cols), _classes(draw, rows, cols)],
        output=draw.zeros(rows, cols),
        call=lambda be, x, out: be.cross_entropy_backward(*x, out, (rows, cols), 1, draw.dtype),
        numpy=lambda x, t, out=None: numpy_ops.cross_entropy_backward(x, t),
        slack=64.0,
    )


def _rmsnorm(draw: Draw, rows: int, cols: int) -> Problem:
    return Problem(
        shape=by(rows, cols),
        inputs=[draw.normal(rows, cols), draw.normal(cols)],
        output=draw.zeros(rows, cols),
        call=lambda be, x, out: be.rmsnorm(x[0], x[1], out, rows, cols, _EPS, draw.dtype),
        numpy=lambda x, weight, out=None: numpy_ops.rmsnorm(x, weight, _EPS),
    )


def _layer_norm(draw: Draw, rows: int, cols: int) -> Problem:
    return Problem(
        shape=by(rows, cols),
        inputs=[draw.normal(rows, cols), draw.normal(cols), draw.normal(cols)],
        output=draw.zeros(rows, cols),
        call=lambda be, x, out: be.layer_norm(x[0], x[1], x[2], out, rows, cols, _EPS, draw.dtype),
        numpy=lambda x, weight, bias, out=None: numpy_ops.layer_norm(x, weight, bias, _EPS),
    )


def _silu(draw: Draw, n: int) -> Problem:
    return Problem(
        shape=count(n),
        inputs=[draw.normal(n)],
        output=draw.zeros(n),
        call=lambda be, x, out: be.silu(x[0], out, n, draw.dtype),
        numpy=lambda x, out=None: numpy_ops.silu(x),
    )


def _gelu(draw: Draw, n: int) -> Problem:
    return Problem(
        shape=count(n),
        inputs=[draw.normal(n)],
        output=draw.zeros(n),
        call=lambda be, x, out: be.gelu(x[0], out, n, draw.dtype),
        numpy=lambda x, out=None: numpy_ops.gelu(x),
    )


def _rope(pairing: str) -> Callable[[Draw, int, int, int, int], Problem]:
    def build(draw: Draw, batch: int, heads: int, seq: int, dim: int) -> Problem:
        angles = np.outer(np.arange(seq), 10000.0 ** (-np.arange(0, dim, 2) / dim))
        return Problem(
            shape=by(batch, heads, seq, dim),
            inputs=[
                draw.normal(batch, heads, seq, dim),
                np.cos(angles).astype(draw.dtype),
                np.sin(angles).astype(draw.dtype),
            ],
            output=draw.zeros(batch, heads, seq, dim),
            call=lambda be, x, out: be.rope(
                x[0], x[1], x[2], out, batch, heads, seq, dim, seq, 0, draw.dtype, pairing
            ),
            numpy=lambda x, cos, sin, out=None: numpy_ops.rope(
                x, cos, sin, pairing == "neighbours"
            ),
        )

    return build


def _pool(op: str) -> Callable[[Draw, int, int, int], Problem]:
    """Windows of 2 by 2, side by side."""

    def build(draw: Draw, planes: int, height: int, width: int) -> Problem:
        half = (height // 2, width // 2)
        sizes_of = (planes, (height, width), half, (2, 2), (2, 2), (0, 0), (1, 1))
        return Problem(
            shape=by(planes, height, width),
            inputs=[draw.normal(planes, height, width)],
            output=draw.zeros(planes, *half),
            call=lambda be, x, out: be.pool(op, x[0], out, *sizes_of, 0, None, draw.dtype),
            numpy=lambda x, out=None: numpy_ops.pool(op, x),
        )

    return build


def _pool_backward(op: str) -> Callable[[Draw, int, int, int], Problem]:
    def build(draw: Draw, planes: int, height: int, width: int) -> Problem:
        half = (height // 2, width // 2)
        sizes_of = (planes, (height, width), half, (2, 2), (2, 2), (0, 0), (1, 1))
        inputs = [draw.normal(planes, *half)]
        if op == "max":
            rows, columns = np.ogrid[: half[0], : half[1]]
            # One of the four, another one from window to window.
            places = (2 * rows + rows % 2) * width + 2 * columns + columns % 2
            inputs.append(np.broadcast_to(places, (planes, *half)).astype(np.int32))
        return Problem(
            shape=by(planes, height, width),
            inputs=inputs,
            output=draw.zeros(planes, height, width),
            call=lambda be, x, out: be.pool_backward(
                op, x[0], out, *sizes_of, 0, x[1] if op == "max" else None, draw.dtype
            ),
            numpy=lambda grad, places=None, out=None: numpy_ops.pool_backward(
                grad, places, (height, width)
            ),
        )

    return build


def _resample(draw: Draw, planes: int, height: int, width: int) -> Problem:
    """To twice the rows and columns, between two neighbours each."""

    def table(length: int) -> tuple[AnyArray, AnyArray]:
        at = np.clip((np.arange(2 * length) + 0.5) / 2 - 0.5, 0, length - 1)
        first = np.minimum(at.astype(np.int32), length - 2)
        spans = np.stack([first, np.full(2 * length, 2)], axis=1).astype(np.int32)
        return spans, np.stack([1 - (at - first), at - first], axis=1).astype(np.float32)

    rows, columns = table(height), table(width)
    return Problem(
        shape=by(planes, height, width),
        inputs=[draw.normal(planes, height, width), *rows, *columns],
        output=draw.zeros(planes, 2 * height, 2 * width),
        call=lambda be, x, out: be.resample(
            *(x[0], out, planes, (height, width), (2 * height, 2 * width)),
            *(x[1], x[2], 2, x[3], x[4], 2, draw.dtype),
        ),
        numpy=lambda x, *tables, out=None: numpy_ops.resample(x, *tables),
        slack=16.0,
    )


def _grid(draw: Draw, height: int, width: int) -> AnyArray:
    """Places beside those of the elements, as of a picture that is slightly bent."""
    lines = [(2 * np.arange(n) + 1) / n - 1 for n in (width, height)]
    plain = np.stack(np.meshgrid(*lines), axis=-1)
    return (plain + 0.1 * np.sin(3 * plain[..., ::-1])).astype(draw.dtype)


def _grid_sample(draw: Draw, channels: int, height: int, width: int) -> Problem:
    sizes_of = (1, channels, (height, width), (height, width), "bilinear", "border", False)
    return Problem(
        shape=by(channels, height, width),
        inputs=[draw.normal(channels, height, width), _grid(draw, height, width)],
        output=draw.zeros(channels, height, width),
        call=lambda be, x, out: be.grid_sample(x[0], x[1], out, *sizes_of, draw.dtype),
        numpy=lambda x, grid, out=None: numpy_ops.grid_sample(x, grid),
        slack=64.0,
    )


def _grid_sample_backward_grid(draw: Draw, channels: int, height: int, width: int) -> Problem:
    sizes_of = (1, channels, (height, width), (height, width), "bilinear", "border", False)
    planes = (channels, height, width)
    return Problem(
        shape=by(*planes),
        inputs=[draw.normal(*planes), draw.normal(*planes), _grid(draw, height, width)],
        output=draw.zeros(height, width, 2),
        call=lambda be, x, out: be.grid_sample_backward_grid(*x, out, *sizes_of, draw.dtype),
        numpy=lambda grad, x, grid, out=None: numpy_ops.grid_sample_backward_grid(grad, x, grid),
        slack=64.0 * max(height, width),
    )


def _gather(draw: Draw, rows: int, row_size: int, picked: int) -> Problem:
    output = draw.zeros(picked, row_size)
    return Problem(
        shape=f"{picked} of {by(rows, row_size)}",
        inputs=[draw.normal(rows, row_size), draw.rows(picked, rows)],
        output=output,
        call=lambda be, x, out: be.gather(x[0], x[1], out, rows, row_size, picked, draw.dtype),
        numpy=lambda table, indices, out=None: np.take(table, indices, 0, out=out, mode="clip"),
        moved=2 * output.nbytes + 4 * picked,
        own_float16=True,
    )


def _scatter(draw: Draw, rows: int, row_size: int, picked: int) -> Problem:
    source = draw.normal(picked, row_size)
    before = draw.normal(rows, row_size)

    def in_numpy(source: AnyArray, indices: AnyArray, out: AnyArray | None = None) -> AnyArray:
        if out is None:
            out = before.astype(source.dtype)
        out[indices] = source
        return out

    return Problem(
        shape=f"{picked} of {by(rows, row_size)}",
        inputs=[source, draw.rows(picked, rows)],
        output=before,
        call=lambda be, x, out: be.scatter(x[0], x[1], out, rows, row_size, picked, draw.dtype),
        numpy=in_numpy,
        moved=2 * source.nbytes + 4 * picked,
        own_float16=True,
    )


_SAMPLED = sizes((3, 8, 6), (128, 112, 112), (512, 112, 112))
_PLANES = sizes((3, 8, 6), (512, 112, 112), (2048, 112, 112))
_IMAGES = sizes((2, 5, 7, 9), (8, 64, 64, 56), (32, 128, 128, 56))
_HEADS = sizes((2, 4, 37, 16), (1, 8, 1024, 64), (1, 32, 2048, 128))
_ROTATED = sizes((2, 3, 11, 16), (1, 32, 2048, 128), (1, 32, 16384, 128))
_ROWS = sizes((7, 129), (8192, 1024), (16384, 4096))
_COLUMNS = sizes((129, 7), (1024, 8192), (4096, 16384))
_VECTORS = sizes((4099,), (1 << 23,), (1 << 26,))
_KEYS = sizes((3, 67, 20), (32, 2048, 128), (32, 16384, 128))
_TABLE = sizes((50, 24, 17), (65536, 256, 16384), (262144, 256, 131072))

CASES = [
    Case("conv2d_forward", GROUP, _conv("forward", 3), _IMAGES, "3x3", compute_bound=True),
    Case("conv2d_forward", GROUP, _conv("forward", 1), _IMAGES, "1x1", compute_bound=True),
    Case("conv2d_backward_data", GROUP, _conv("backward_data", 3), _IMAGES, compute_bound=True),
    Case("conv2d_backward_filter", GROUP, _conv("backward_filter", 3), _IMAGES, compute_bound=True),
    Case("attention", GROUP, _attention(False, 1), _HEADS, compute_bound=True),
    Case("attention", GROUP, _attention(True, 1), _HEADS, "causal", compute_bound=True),
    Case("attention", GROUP, _attention(True, 4), _HEADS, "grouped", compute_bound=True),
    Case("attention", GROUP, _windowed, _HEADS, "windowed", compute_bound=True),
    Case("attention_scores", GROUP, _attention_scores, _KEYS),
    Case("weighted_sum", GROUP, _weighted_sum, _KEYS),
    Case("softmax", GROUP, _softmax(-1), _ROWS, "rows"),
    Case("softmax", GROUP, _softmax(0), _COLUMNS, "columns"),
    Case("softmax", GROUP, _softmax(-1, log=True), _ROWS, "log"),
    Case("cross_entropy", GROUP, _cross_entropy(None), _ROWS),
    Case("cross_entropy", GROUP, _cross_entropy("mean"), _ROWS, "mean"),
    Case("cross_entropy_backward", GROUP, _cross_entropy_backward, _ROWS),
    Case("rmsnorm", GROUP, _rmsnorm, _ROWS),
    Case("layer_norm", GROUP, _layer_norm, _ROWS),
    Case("silu", GROUP, _silu, _VECTORS),
    Case("gelu", GROUP, _gelu, _VECTORS),
    Case("rope", GROUP, _rope("halves"), _ROTATED),
    Case("rope", GROUP, _rope("neighbours"), _ROTATED, "neighbours"),
    Case("pool", GROUP, _pool("max"), _PLANES, "max"),
    Case("pool", GROUP, _pool("mean"), _PLANES, "mean"),
    Case("pool", GROUP, _pool("mean_padded"), _PLANES, "mean_padded"),
    Case("pool_backward", GROUP, _pool_backward("max"), _PLANES, "max"),
    Case("pool_backward", GROUP, _pool_backward("mean"), _PLANES, "mean"),
    Case("resample", GROUP, _resample, sizes((3, 8, 6), (128, 112, 112), (512, 112, 112))),
    Case("grid_sample", GROUP, _grid_sample, _SAMPLED),
    Case("grid_sample_backward_grid", GROUP, _grid_sample_backward_grid, _SAMPLED),
    Case("gather", GROUP, _gather, _TABLE),
    Case("scatter", GROUP, _scatter, _TABLE),
]
