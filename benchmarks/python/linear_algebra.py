"""Matrix products, convolution and attention on the CPU backend beside NumPy and torch.

python benchmarks/python/linear_algebra.py --threads 2 --peak build/lib/benchmark_peak
"""

from __future__ import annotations

from collections.abc import Iterator

import harness

if __name__ == "__main__":
    CHOSEN = harness.arguments(str(__doc__))

import numpy as np
import tilewright
import torch
from numpy.typing import NDArray

Case = tuple[str, float, str, dict[str, harness.Call]]

GEMM_SIZES = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
#: batch, channels, size, filters, filter size, padding, stride, groups
CONVOLUTIONS = (
    (1, 64, 56, 64, 3, 1, 1, 1),
    (8, 64, 56, 64, 3, 1, 1, 1),
    (1, 64, 56, 64, 1, 0, 1, 1),
    (8, 64, 56, 64, 1, 0, 1, 1),
    (1, 64, 56, 128, 3, 1, 2, 1),
    (1, 512, 7, 512, 3, 1, 1, 1),
    (1, 3, 224, 64, 7, 3, 2, 1),
    (1, 256, 56, 256, 3, 1, 1, 256),
)
#: batch, heads, queries, keys, head dimension, causal
ATTENTIONS = (
    (1, 8, 1024, 1024, 64, False),
    (1, 8, 1024, 1024, 64, True),
    (1, 8, 1024, 1024, 128, False),
    (1, 32, 1, 4096, 128, False),
    (1, 1, 1, 65536, 64, False),
)

RANDOM = np.random.default_rng(0)


def normal(*shape: int) -> NDArray[np.float32]:
    return RANDOM.standard_normal(shape, dtype=np.float32)


def gemms(be: tilewright.Backend) -> Iterator[Case]:
    for n in GEMM_SIZES:
        a, b, c = normal(n, n), normal(n, n), np.empty((n, n), np.float32)
        ours = [be.array(x) for x in (a, b, c)]
        theirs = [torch.from_numpy(x) for x in (a, b, np.empty_like(c))]

        def product(n: int = n, x: list[tilewright.Array] = ours) -> None:
            be.gemm("none", "none", n, n, n, 1.0, x[0], n, x[1], n, 0.0, x[2], n)

        yield (
            f"gemm {n}",
            2.0 * n**3,
            "GFLOP/s",
            {
                "tilewright": product,
                "numpy": lambda a=a, b=b, c=c: np.matmul(a, b, out=c),
                "torch": lambda x=theirs: torch.mm(x[0], x[1], out=x[2]),
            },
        )


def matrix_by_vector(be: tilewright.Backend) -> Iterator[Case]:
    for n in (256, 1024, 4096, 8192):
        matrix, vector, out = normal(n, n), normal(n), np.empty(n, np.float32)
        ours = [be.array(x) for x in (matrix, vector, out)]

        def product(n: int = n, x: list[tilewright.Array] = ours) -> None:
            be.matmul_vec(x[0], n, n, x[1], x[2])

        yield (
            f"matmul_vec {n}",
            4.0 * n * n,
            "GB/s",
            {
                "tilewright": product,
                "numpy": lambda a=matrix, b=vector, c=out: np.matmul(a, b, out=c),
            },
        )


def convolutions(be: tilewright.Backend) -> Iterator[Case]:
    for n, channels, size, filters, width, pad, stride, groups in CONVOLUTIONS:
        shape = [n, channels, size, size]
        filter_shape = [filters, channels // groups, width, width]
        out_size = (size + 2 * pad - width) // stride + 1
        out_shape = [n, filters, out_size, out_size]
        images, weights, gradient = normal(*shape), normal(*filter_shape), normal(*out_shape)
        x, w, y = be.array(images), be.array(weights), be.array(gradient)
        gx, gw = be.array(images), be.array(weights)
        tx, tw, ty = (torch.from_numpy(v) for v in (images, weights, gradient))
        sizes = ([stride] * 2, [pad] * 2, [1, 1], groups)
        work = 2.0 * n * filters * out_size**2 * (channels // groups) * width**2
        name = f"{n}x{channels}x{size}x{size} by {filters} {width}x{width} /{stride}" + (
            f" groups {groups}" if groups > 1 else ""
        )

        def forward(a=(x, shape, w, filter_shape, y, out_shape, *sizes)) -> None:  # type: ignore[no-untyped-def]
            be.conv2d_forward(*a)

        def to_input(a=(y, out_shape, w, filter_shape, gx, shape, *sizes)) -> None:  # type: ignore[no-untyped-def]
            be.conv2d_backward_data(*a)

        def to_filter(a=(x, shape, y, out_shape, gw, filter_shape, *sizes)) -> None:  # type: ignore[no-untyped-def]
            be.conv2d_backward_filter(*a)

        def torch_forward(a=(tx, tw, None, stride, pad, 1, groups)) -> None:  # type: ignore[no-untyped-def]
            torch.nn.functional.conv2d(*a)

        def torch_backward(mask, a=(ty, tx, tw, None, *sizes[:3], False, [0, 0], groups)) -> None:  # type: ignore[no-untyped-def]
            torch.ops.aten.convolution_backward(*a, mask)

        yield (
            f"conv2d {name}",
            work,
            "GFLOP/s",
            {"tilewright": forward, "torch": torch_forward},
        )
        yield (
            f"conv2d_backward_data {name}",
            work,
            "GFLOP/s",
            {
                "tilewright": to_input,
                "torch": lambda f=torch_backward: f([True, False, False]),
            },
        )
        yield (
            f"conv2d_backward_filter {name}",
            work,
            "GFLOP/s",
            {
                "tilewright": to_filter,
                "torch": lambda f=torch_backward: f([False, True, False]),
            },
        )


def attentions(be: tilewright.Backend) -> Iterator[Case]:
    for batch, heads, queries, keys, dim, causal in ATTENTIONS:
        q = normal(batch, heads, queries, dim)
        k, v = normal(batch, heads, keys, dim), normal(batch, heads, keys, dim)
        ours = [be.array(x) for x in (q, k, v, q)]
        theirs = [torch.from_numpy(x) for x in (q, k, v)]
        sizes = (batch, heads, queries, keys, dim, dim**-0.5, causal)

        def attend(x: list[tilewright.Array] = ours, s=sizes) -> None:  # type: ignore[no-untyped-def]
            be.attention(*x, *s)

        yield (
            f"attention {heads} heads {queries}x{keys}x{dim}{' causal' if causal else ''}",
            4.0 * batch * heads * queries * keys * dim * (0.5 if causal else 1.0),
            "GFLOP/s",
            {
                "tilewright": attend,
                "torch": lambda x=theirs, causal=causal: (
                    torch.nn.functional.scaled_dot_product_attention(*x, is_causal=causal)
                ),
            },
        )


def main() -> None:
    torch.set_num_threads(CHOSEN.threads)
    torch.set_grad_enabled(False)
    results = []
    with tilewright.init_backend("cpu") as be:
        for group in (gemms, matrix_by_vector, convolutions, attentions):
            for name, work, unit, sides in group(be):
                if CHOSEN.only in name:
                    results.append(
                        harness.measure(name, work, unit, sides, CHOSEN.repeats, CHOSEN.sample)
                    )
        harness.report(results, be.device.name, CHOSEN, ("tilewright", "numpy", "torch"))


if __name__ == "__main__":
    main()
