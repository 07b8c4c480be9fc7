"""How far a result may be from the exact one, and why.

Every op computes in float32 and rounds once to what it stores. A tolerance bounds the error of the
computation, before that last rounding; assert_within() rounds both ends of the interval. So float16
results are held as tightly as float32 ones, overflow to infinity comes out by itself, and a
tolerance of 0 asks for the correctly rounded result.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

U = 2.0**-24  # unit roundoff of float32
SMALLEST = 2.0**-126  # results below may be flushed to zero
TOP = 2.0**127  # the largest power of two

# The error of one call of a function, in units in the last place of its float32 result. IEEE 754
# defines the operations at 0 exactly; the others are what a good vector implementation reaches.
# GPUs divide less exactly than that, and kernels put it right wherever the quotient is normal.
ULPS = {
    "relu": 0,
    "abs": 0,
    "neg": 0,
    "sqrt": 0,
    "square": 0,
    "reciprocal": 0,
    "add": 0,
    "sub": 0,
    "mul": 0,
    "div": 0,
    "max": 0,
    "min": 0,
    "exp": 1,
    "log": 1,
    "rsqrt": 1,
    "tanh": 3,
    "sigmoid": 4,  # 3.4 and 3.7 are the most seen, of an exponential, a sum and a quotient
    "silu": 4,
    "pow": 1.1,  # 1.02 without a fused multiply-add
}
# Of a quotient below the normal numbers, which a GPU's own division makes: Vulkan and WGSL promise
# no more than this of one.
SMALL_QUOTIENT_ULPS = 2.5


def assert_within(got: Array, exact: npt.ArrayLike, tolerance: npt.ArrayLike = 0.0) -> None:
    """got lies in [exact - tolerance, exact + tolerance], rounded to its type; NaN where exact is
    NaN and nowhere else."""
    exact = np.asarray(exact, np.float64)
    assert got.shape == exact.shape, f"shape is {got.shape}, expected {exact.shape}"
    with np.errstate(over="ignore", invalid="ignore"):
        slack = np.where(np.isfinite(exact), tolerance, 0.0)
        low = (exact - slack).astype(got.dtype)
        high = (exact + slack).astype(got.dtype)
        good = ((got >= low) & (got <= high)) | (np.isnan(got) & np.isnan(exact))
    if good.all():
        return
    where = tuple(int(i) for i in np.argwhere(~good)[0])
    raise AssertionError(
        f"{np.count_nonzero(~good)} of {got.size} elements are off, the first at {where}: "
        f"{got[where]!s}, expected {low[where]!s} to {high[where]!s}"
    )


def ulp(x: npt.ArrayLike) -> Array:
    """The distance of neighbouring float32 numbers at x, and at the largest for all beyond."""
    with np.errstate(invalid="ignore"):
        size = np.minimum(np.abs(np.asarray(x, np.float64)), TOP).astype(np.float32)
        return np.spacing(size).astype(np.float64)


def elementwise(op: str, exact: Array, x: Array, subnormals: bool = True) -> Array:
    """ULPS of the result. 1 + erf and 1 + tanh cancel for negative x, so gelu counts in those of
    x. Where the device has no subnormals, exact results below the normal numbers may be flushed;
    workspace.keeps_subnormals() says so."""
    if op in ("gelu", "gelu_tanh"):
        return 3 * ulp(x) + SMALLEST
    if ULPS[op] == 0:
        small = 0.0
        if not subnormals and op not in ("abs", "neg", "relu", "max", "min"):
            small = SMALLEST
        elif op in ("div", "reciprocal"):
            small = SMALL_QUOTIENT_ULPS * float(ulp(0.0))
        return np.where(np.abs(exact) < SMALLEST, small, 0.0)
    return ULPS[op] * ulp(exact) + SMALLEST


def inner_product(magnitudes: Array, k: int, dtype: str = "float32") -> Array:
    """k products of numbers of mean zero, summed in any order; magnitudes is the sum of their
    absolute values.

    The worst case is k roundings of u times that sum. But partial sums of such numbers grow like
    sqrt(j), and the errors, u times these, add up as a random walk does: to about 0.6 u times that
    sum, whatever k is. 8 u is 13 standard deviations. Two more roundings are for alpha and beta.
    Of float64 what is taken for exact is off by as much.
    """
    if dtype == "float64":
        return np.asarray(2 * min(k + 2, 8) * 2.0**-53 * magnitudes)
    return min(k + 2, 8) * U * magnitudes + SMALLEST


def split_product(magnitudes: Array, rows: Array, columns: Array, k: int) -> Array:
    """What matrix units may leave out of float32 products that they take as sums of float16: of
    each product 2^-21, and what is small beside the largest of its row of op(A) and column of
    op(B)."""
    largest_a = np.where(np.isfinite(rows), np.abs(rows), 0).max(-1, initial=0)
    largest_b = np.where(np.isfinite(columns), np.abs(columns), 0).max(-2, initial=0)
    largest = largest_a[..., :, None] * largest_b[..., None, :]
    return np.asarray(2.0**-21 * magnitudes + k * 2.0**-36 * largest)


def summation(magnitudes: Array, n: int) -> Array:
    """A pairwise sum: a tree over pieces that are summed one by one, in several lanes at once.
    Pieces of up to 256 cost sqrt(256) roundings as random walks go, each level of the tree one."""
    return (math.log2(max(n, 1)) + 16) * U * magnitudes + SMALLEST


def softmax(exact: Array, below_max: Array, n: int) -> Array:
    """exp(x - max) / sum: the subtraction is off by u |x - max|, which exp turns into a relative
    error; then exp, the sum of n positive terms, and the division."""
    relative = U * np.abs(below_max) + ULPS["exp"] * 2 * U + summation(1.0, n) + U
    with np.errstate(invalid="ignore"):
        return exact * relative + SMALLEST


def log_softmax(exact: Array, below_max: Array, n: int) -> Array:
    """x - max - log(sum): two differences, and what the sum is off relatively, as softmax() has it.
    The errors of what enters exp, u |x - max|, which some devices double, have in it the weights of
    their terms: log n is the most that their mean is, and the logarithm is no more. Of that OpenCL
    promises 3 units of the last place."""
    of_sum = ULPS["exp"] * 2 * U + summation(1.0, n) + (2 + 3 * 2) * U * math.log(n)
    with np.errstate(invalid="ignore"):
        return U * (np.abs(below_max) + np.abs(exact)) + of_sum


def attention(
    weights: Array, v: Array, scores: Array, score_magnitudes: Array, head_dim: int
) -> Array:
    """Each score is off by an inner product's error and two roundings of what enters exp. Weights
    so have the relative error of twice the largest of these (numerator and denominator), of two
    exps, and of the sum over the keys; rescaling between blocks of keys is one exp more."""
    visible = np.isfinite(scores)
    error = inner_product(score_magnitudes, head_dim) + 4 * U * np.where(visible, np.abs(scores), 0)
    worst = np.max(np.where(visible, error, 0), axis=-1, keepdims=True)
    n = scores.shape[-1]
    relative = 2 * worst + 6 * ULPS["exp"] * U + 2 * summation(1.0, n)
    return relative * (weights @ np.abs(v)) + SMALLEST


def rmsnorm(exact: Array, cols: int) -> Array:
    """The sum of squares has n positive terms and its root half their relative error; square,
    division, eps, root, and two products round once each."""
    return np.abs(exact) * (summation(1.0, cols) / 2 + 6 * U) + SMALLEST


def layer_norm(x: Array, weight: Array, bias: Array, eps: float) -> Array:
    """Two passes: the mean is off by the error of its sum, which moves every element; the variance
    about it is a sum of positive terms and sees the mean's error only squared."""
    n = x.shape[-1]
    mean = x.mean(-1, keepdims=True)
    deviation = np.sqrt(x.var(-1, keepdims=True) + eps)
    mean_error = summation(np.abs(x).mean(-1, keepdims=True), n) + U * np.abs(mean)
    centred = np.abs(x - mean)
    relative = summation(1.0, n) / 2 + (mean_error / deviation) ** 2 + 7 * U
    spread = (mean_error + centred * relative) / deviation * np.abs(weight)
    return spread + 2 * U * (centred / deviation * np.abs(weight) + np.abs(bias)) + SMALLEST


def rotation(x: Array, cos: Array, sin: Array) -> Array:
    """Two products and a sum."""
    half = x.shape[-1] // 2
    first, second = np.abs(x[..., :half]), np.abs(x[..., half:])
    cos, sin = np.abs(cos), np.abs(sin)
    pair = [first * cos + second * sin, second * cos + first * sin]
    return 2 * U * np.concatenate(pair, axis=-1) + SMALLEST
