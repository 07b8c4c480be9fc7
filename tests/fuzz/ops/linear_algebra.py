"""gemm in all its forms, and matmul_vec."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from conformance import bounds
from conformance.products import DOUBLE, TRANSPOSES, TYPES, Product
from tilewright import Precision, Transpose

from ..call import Call, Operand, Result
from ..draw import Array, Draw
from . import generates

# Dyadic, so that products of small integers stay exact.
SCALES = [1.0, 0.0, -1.0, 2.0, 0.5, -0.25]
MOST = 1 << 21  # multiplications in one product


def product_numbers(draw: Draw) -> tuple[Any, bool]:
    """Numbers whose product has a bound, and whether that is 0."""
    exact = draw.below(2) == 0
    values = draw.integers if exact else draw.normal

    def numbers(_: np.random.Generator, shape: Any, dtype: str) -> Array:
        return draw.with_specials(values(shape, dtype))

    return numbers, exact


def scale(draw: Draw, k: int) -> float:
    if draw.rarely(40) and k != 0:
        return math.nan
    return draw.one_of(SCALES)


@generates("gemm", "batched_gemm", "gemm_f16", "gemm_mixed_precision")
def product(draw: Draw, name: str) -> Call:
    m, n, k = draw_sizes(draw)
    batched = name == "batched_gemm"
    types = {"gemm_f16": [("float16", "float16")], "gemm_mixed_precision": [("float32", "float32")]}
    dtype, output_dtype = draw.one_of(types.get(name, [*TYPES, DOUBLE] if draw.doubles else TYPES))
    numbers, exact = product_numbers(draw)
    p = Product(
        m, n, k,
        draw.one_of(TRANSPOSES), draw.one_of(TRANSPOSES), scale(draw, k), scale(draw, 1),
        dtype, output_dtype,
        padding(draw), padding(draw), padding(draw),
        count=draw.size_or_zero(9) if batched else 1,
        gap=draw.integer(0, 5) if batched else 0,
        share_a=batched and draw.rarely(4),
        share_b=batched and draw.rarely(4),
        numbers=numbers,
    )  # fmt: skip
    a, b = p.flat(draw.rng, "a", dtype), p.flat(draw.rng, "b", dtype)
    c = p.flat(draw.rng, "c", output_dtype)
    if p.beta == 0:
        p.view("c")(c)[...] = np.nan
    precision = draw.one_of([*Precision]).value
    rounding = precision if name == "gemm_mixed_precision" else None
    with np.errstate(all="ignore"):
        right, magnitudes = p.exact(a, b, c, rounding)
        tolerance = 0.0 if exact else p.tolerance(a, b, magnitudes, rounding)
    operands = [Operand(x, draw.integer(0, 40)) for x in (a, b, c)]
    values = {
        "precision": precision,
        "trans_a": draw.one_of([p.trans_a, Transpose(p.trans_a)]),
        "trans_b": p.trans_b,
        "m": m,
        "n": n,
        "k": k,
        "alpha": p.alpha,
        "beta": p.beta,
        **dict(zip("abc", operands, strict=True)),
        **{f"ld{x}": leading_dimension(draw, p, x) for x in "abc"},
        **{f"stride_{x}": stride(draw, p, x) for x in "abc"},
        "batch_count": p.count,
        "dtype": dtype,
        "output_dtype": output_dtype,
    }
    result = Result(operands[2], right, tolerance, p.view("c"))
    return Call(name, values, [result], empty=0 in (m, n, k, p.count))


def leading_dimension(draw: Draw, p: Product, name: str) -> int:
    """Of a matrix without elements it may be 0."""
    rows, cols = p.layout[name][:2]
    return 0 if 0 in (rows, cols, p.count) and draw.below(2) else p.ld(name)


def stride(draw: Draw, p: Product, name: str) -> int:
    """Of a single matrix any will do."""
    if p.count == 1 and draw.rarely(8):
        return draw.one_of([2**31, 2**32 + 1, 2**62, 2**63 - 1])
    return p.stride(name)


def draw_sizes(draw: Draw) -> tuple[int, int, int]:
    """Three sizes of which one may be large."""
    sizes = [draw.size_or_zero(130) for _ in range(3)]
    if draw.rarely(3):
        at = draw.below(3)
        others = math.prod(max(1, size) for i, size in enumerate(sizes) if i != at)
        sizes[at] = draw.size(min(5000, max(1, MOST // others)))
    return sizes[0], sizes[1], sizes[2]


def padding(draw: Draw) -> int:
    return draw.one_of([0, 0, 1, 3, 4, 7, 60])


@generates("matmul_vec")
def matmul_vec(draw: Draw, name: str) -> Call:
    rows = draw.size_or_zero(5000)
    cols = draw.size_or_zero(max(1, (1 << 19) // max(1, rows)))
    dtype = draw.dtype()
    numbers, exact = product_numbers(draw)
    matrix, vector = (numbers(draw.rng, s, dtype) for s in ((rows, cols), cols))
    wide, by = matrix.astype(np.float64), vector.astype(np.float64)
    with np.errstate(all="ignore"):
        right = np.einsum("rc,c->r", wide, by)
        tolerance = 0.0 if exact else bounds.inner_product(abs(wide) @ abs(by), cols)
    out = Operand(np.full(rows, np.nan, dtype), draw.integer(0, 40))
    values = {
        "matrix": Operand(matrix, draw.integer(0, 40)),
        "rows": rows,
        "cols": cols,
        "vector": Operand(vector, draw.integer(0, 40)),
        "out": out,
        "dtype": dtype,
    }
    return Call(name, values, [Result(out, right, tolerance)], empty=0 in (rows, cols))
