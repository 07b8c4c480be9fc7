"""The array tier against NumPy."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest
import tilewright as tw

Floats = np.ndarray[Any, np.dtype[np.float32]]


def values(*shape: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def close(got: tw.Array, expected: Any, tolerance: float = 1e-5) -> None:
    expected = np.asarray(expected)
    assert got.shape == expected.shape
    np.testing.assert_allclose(got.numpy(), expected, rtol=tolerance, atol=tolerance)


# Elementwise -------------------------------------------------------------------------------------

UNARY = {
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "neg": np.negative,
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "square": np.square,
}


def test_every_unary_op_has_its_method() -> None:
    assert set(UNARY) == {op.value for op in tw.UnaryOp}


@pytest.mark.parametrize("op", UNARY)
def test_unary(be: tw.Backend, op: str) -> None:
    x = np.abs(values(3, 17)) + np.float32(0.1)
    close(getattr(be, op)(x), UNARY[op](x.astype(np.float64)))
    target = be.empty((3, 17))
    assert getattr(be, op)(x, out=target) is target
    close(target, UNARY[op](x.astype(np.float64)))


BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "pow": np.power,
}


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize(
    ("a_shape", "b_shape"),
    [
        ((5,), (5,)),
        ((3, 4), (4,)),
        ((3, 1), (1, 4)),
        ((2, 1, 4), (3, 1)),
        ((), (2, 3)),
        ((1,), (0,)),
        ((2, 3, 1, 5), (3, 4, 1)),
    ],
)
def test_binary_broadcasts(
    be: tw.Backend, op: str, a_shape: tuple[int, ...], b_shape: tuple[int, ...]
) -> None:
    a, b = np.abs(values(*a_shape)) + 1, values(*b_shape, seed=1)
    close(getattr(be, op)(a, b), BINARY[op](a, b))
    close(getattr(be, op)(be.array(b), be.array(a)), BINARY[op](b, a)) if op != "pow" else None


def test_numbers_and_lists_take_the_dtype_of_the_other_side(be: tw.Backend) -> None:
    half = be.array(np.ones((2, 2), np.float16))
    for other in (2, 2.5, [1, 2], [[1.5], [2]]):
        assert be.add(half, other).dtype == np.float16
        assert be.add(other, np.ones((2, 2), np.float16)).dtype == np.float16
    assert be.add(1, 2).dtype == np.float32 and be.add(1, 2).item() == 3


def test_out_may_be_an_input_that_is_not_broadcast(be: tw.Backend) -> None:
    a, b = values(3, 4), values(4)
    x, y = be.array(a), be.array(b)
    assert be.add(x, y, out=x) is x
    close(x, a + b)
    be.add(y, x, out=x)
    close(x, a + b + b)
    view = y.reshape(1, 4)
    with pytest.raises(tw.InvalidArgument, match="add: out is float32 of shape"):
        be.add(x, view, out=view)


# Reductions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["sum", "max", "min", "mean"])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(
    "axis", [None, 0, 1, -1, (), (0, 1), (1, 2), (0, 2), (-1, 0), (0, 1, 2, 3), (0, 1, 3)]
)
def test_reductions(be: tw.Backend, op: str, axis: Any, keepdims: bool) -> None:
    x = values(3, 4, 5, 6)
    close(getattr(be, op)(x, axis, keepdims), getattr(np, op)(x, axis, keepdims=keepdims))


def test_reductions_of_float16_round_once(be: tw.Backend) -> None:
    x = np.full((64, 3, 64), 60000, np.float16)
    x[32:] = -60000
    close(be.sum(x, (0, 2)), np.zeros(3))


def test_reductions_of_nothing(be: tw.Backend) -> None:
    nothing = np.zeros((0, 3), np.float32)
    assert be.sum(nothing).item() == 0
    assert math.isnan(be.mean(nothing).item())
    close(be.sum(nothing, 0), np.zeros(3))
    close(be.max(nothing, 1), np.zeros(0))
    for op in (be.max, be.min):
        with pytest.raises(tw.InvalidArgument, match="no elements"):
            op(nothing)


# Products ----------------------------------------------------------------------------------------

SHAPES = [
    ((4,), (4,)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((3, 4), (4, 5)),
    ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (4,)),
    ((4,), (2, 4, 3)),
    ((3, 4), (2, 4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (1, 5, 4, 2)),
    ((7, 2, 3, 4), (2, 4, 5)),
    ((1, 3, 4), (6, 4, 2)),
    ((0, 4), (4, 2)),
    ((3, 0), (0, 2)),
    ((0, 3, 4), (4, 2)),
    ((2, 3, 0), (0, 2)),
]


@pytest.mark.parametrize(("a_shape", "b_shape"), SHAPES)
def test_matmul(be: tw.Backend, a_shape: tuple[int, ...], b_shape: tuple[int, ...]) -> None:
    a, b = values(*a_shape), values(*b_shape, seed=1)
    close(be.matmul(a, b), a @ b)
    half = be.matmul(a.astype(np.float16), b.astype(np.float16), out_dtype="float32")
    assert half.dtype == np.float32
    close(half, a.astype(np.float16).astype(np.float64) @ b.astype(np.float16), 1e-4)
    rounded = be.matmul(a, b, precision="float16")
    close(rounded, a.astype(np.float16).astype(np.float64) @ b.astype(np.float16), 1e-4)
    if a.ndim > 1:
        close(be.matmul(a.swapaxes(-1, -2), b, transpose_a=True), a @ b)
    if b.ndim > 1:
        close(be.matmul(a, b.swapaxes(-1, -2), transpose_b=True), a @ b)
    close(be.matmul(a, b, alpha=0.5), (a @ b) / 2)
    target = be.array(np.ones((a @ b).shape, np.float32))
    assert be.matmul(a, b, beta=2, out=target) is target
    close(target, a @ b + 2)


HOLLOW = tw.Array.__new__(tw.Array)
"""Of a class whose __init__ was not called."""


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (((3, 4), (3, 4)), {}, "a of shape .* has rows of 4, but b .* has columns of 3"),
        (((2, 3, 4), (3, 4, 5)), {}, "do not broadcast"),
        (((), (3,)), {}, "a has no dimension"),
        (((3,), (3, 2)), {"transpose_a": True}, "a is a vector"),
        (((3, 3), (3, 3)), {"transpose_b": 1}, "transpose_b is 1"),
        (((3, 3), (3, 3)), {"beta": 1}, "no out to add to"),
        (((3, 3), (3, 3)), {"precision": "float8"}, "precision is 'float8'"),
        (((3, 3), (3, 3)), {"out_dtype": "float16"}, "out_dtype is float16"),
        (((3, 3), (3, 3)), {"out_dtype": "float64"}, "out_dtype is float64, expected float32"),
        (((3, 3), (3, 3)), {"alpha": "1"}, "alpha is '1'"),
        (((3, 3), (3, 3)), {"alpha": np.ones(3)}, r"alpha is array\(.* expected a number"),
        (((3, 3), (3, 3)), {"beta": np.ones(0)}, r"beta is array\(.* expected a number"),
        (((3, 3), (3, 3)), {"transpose_b": np.ones(3)}, r"transpose_b is array\(.* True or False"),
        (((3, 3), (3, 3)), {"transpose_b": HOLLOW}, "transpose_b is of type Array, expected True"),
        (((3, 3), (3, 3)), {"precision": HOLLOW}, "precision is of type Array, expected a"),
        (((3, 3), (3, 3)), {"out": HOLLOW}, "out is of type Array, which was never initialised"),
    ],
)
def test_wrong_products_are_refused(
    be: tw.Backend, arguments: Any, options: Any, message: str
) -> None:
    a, b = (values(*shape) for shape in arguments)
    with pytest.raises(tw.InvalidArgument, match=message):
        be.matmul(a, b, **options)


# Convolution -------------------------------------------------------------------------------------


def convolution(x: Floats, w: Floats, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    (n, c, _, _), (k, _, r, s) = x.shape, w.shape
    x = np.pad(x, [(0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2])
    p = (x.shape[2] - dilation[0] * (r - 1) - 1) // stride[0] + 1
    q = (x.shape[3] - dilation[1] * (s - 1) - 1) // stride[1] + 1
    out = np.zeros((n, k, p, q))
    for i in range(r):
        for j in range(s):
            at = x[:, :, i * dilation[0] :, j * dilation[1] :]
            at = at[:, :, : stride[0] * p : stride[0], : stride[1] * q : stride[1]]
            for g in range(groups):
                part = slice(g * k // groups, (g + 1) * k // groups)
                source = at[:, g * c // groups : (g + 1) * c // groups]
                out[:, part] += np.einsum("ncpq,kc->nkpq", source, w[part, :, i, j])
    return out


@pytest.mark.parametrize(
    ("stride", "padding", "dilation", "groups"),
    [(1, 0, 1, 1), (2, 1, 1, 1), ((1, 2), (0, 2), (2, 1), 2), (1, 1, 2, 4)],
)
def test_convolution_and_its_gradients(
    be: tw.Backend, stride: Any, padding: Any, dilation: Any, groups: int
) -> None:
    def pair(value: Any) -> Any:
        return value if isinstance(value, tuple) else (value, value)

    x, w, bias = values(2, 4, 7, 8), values(8, 4 // groups, 3, 3, seed=1), values(8, seed=2)
    how: Any = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    plain = (pair(stride), pair(padding), pair(dilation), groups)
    expected = convolution(x, w, *plain)
    close(be.conv2d(x, w, **how), expected, 1e-4)
    close(be.conv2d(x, w, bias, **how), expected + bias[:, None, None], 1e-4)
    # The gradients are the adjoints of the convolution.
    grad = values(*expected.shape, seed=3)
    dx = be.conv2d_backward_data(grad, w, x.shape, **how)
    dw = be.conv2d_backward_filter(x, grad, w.shape, **how)
    other_x, other_w = values(*x.shape, seed=4), values(*w.shape, seed=5)
    np.testing.assert_allclose(
        np.vdot(dx.numpy(), other_x), np.vdot(grad, convolution(other_x, w, *plain)), rtol=1e-3
    )
    np.testing.assert_allclose(
        np.vdot(dw.numpy(), other_w), np.vdot(grad, convolution(x, other_w, *plain)), rtol=1e-3
    )


@pytest.mark.parametrize(
    ("shapes", "options", "message"),
    [
        (((1, 1, 4), (1, 1, 3, 3)), {}, "x has shape"),
        (((1, 1, 4, 4), (3, 3)), {}, "w has shape"),
        (((1, 1, 4, 4), (1, 1, 5, 5)), {}, "w spans 5 in height"),
        (((1, 2, 4, 4), (1, 1, 3, 3)), {}, r"filter_shape\[1\] is 1"),
        (((1, 1, 4, 4), (1, 1, 3, 3)), {"stride": 0}, r"stride\[0\] is 0"),
        (((1, 1, 4, 4), (1, 1, 3, 3)), {"padding": -1}, "pad|span"),
        (((1, 1, 4, 4), (1, 1, 3, 3)), {"stride": (1, 2, 3)}, "stride is"),
        (((1, 1, 4, 4), (1, 1, 3, 3)), {"dilation": "1"}, "dilation is '1'"),
        (((1, 1, 4, 4), (1, 1, 3, 3)), {"groups": 2}, "groups is 2"),
        (((1, 1, 4, 4), (1, 1, 3, 3)), {"bias": [1, 2]}, "bias has shape"),
    ],
)
def test_wrong_convolutions_are_refused(
    be: tw.Backend, shapes: Any, options: Any, message: str
) -> None:
    x, w = (values(*shape) for shape in shapes)
    with pytest.raises(tw.InvalidArgument, match=message):
        be.conv2d(x, w, **options)


# Attention and rows ------------------------------------------------------------------------------


def softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@pytest.mark.parametrize("shape", [(5, 8), (3, 5, 8), (2, 3, 5, 8)])
def test_attention(be: tw.Backend, shape: tuple[int, ...]) -> None:
    q, k, v = (values(*shape, seed=i) for i in range(3))
    scores = q.astype(np.float64) @ k.swapaxes(-1, -2) / math.sqrt(8)
    close(be.attention(q, k, v), softmax(scores) @ v)
    close(be.attention(q, k, v, scale=1), softmax(scores * math.sqrt(8)) @ v)
    hidden = np.triu(np.full((5, 5), -np.inf), 1)
    close(be.attention(q, k, v, causal=True), softmax(scores + hidden) @ v)
    hidden = np.triu(np.full((5, 5), -np.inf), 3)
    close(be.attention(q, k, v, causal=True, q_offset=2), softmax(scores + hidden) @ v)


def test_attention_with_fewer_key_heads(be: tw.Backend) -> None:
    q, k, v = values(1, 4, 3, 8), values(1, 2, 6, 8, seed=1), values(1, 2, 6, 8, seed=2)
    each_k, each_v = np.repeat(k, 2, 1), np.repeat(v, 2, 1)
    scores = q.astype(np.float64) @ each_k.swapaxes(-1, -2) / math.sqrt(8)
    close(be.attention(q, k, v), softmax(scores) @ each_v)
    with pytest.raises(tw.InvalidArgument, match="kv_heads is 2, expected a divisor of heads 3"):
        be.attention(q[:, :3], k, v)
    with pytest.raises(tw.InvalidArgument, match="attention: v has shape"):
        be.attention(q, k, v[:, :, :5])
    with pytest.raises(tw.InvalidArgument, match="attention: k has shape"):
        be.attention(q, k[..., :7], v)
    with pytest.raises(tw.InvalidArgument, match="attention: scale is nan"):
        be.attention(q, k, v, scale=math.nan)


def test_one_query_against_a_cache(be: tw.Backend) -> None:
    q, keys = values(4, 8), values(2, 6, 8, seed=1)
    each = np.repeat(keys, 2, 0)
    scores = np.einsum("hd,hsd->hs", q, each) / math.sqrt(8)
    close(be.attention_scores(q, keys), scores)
    close(be.attention_scores(q[0], keys[0]), scores[0])
    close(be.weighted_sum(scores.astype(np.float32), keys), np.einsum("hs,hsd->hd", scores, each))
    close(be.weighted_sum([1, 2], [[1, 2, 3], [4, 5, 6]]), [9, 12, 15])
    with pytest.raises(tw.InvalidArgument, match="rows has shape"):
        be.weighted_sum([1, 2, 3], [[1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_softmax(be: tw.Backend, axis: int) -> None:
    x = values(3, 4, 5) * 10
    close(be.softmax(x, axis), softmax(x, axis))


def test_norms(be: tw.Backend) -> None:
    x, w, b = values(2, 3, 8).astype(np.float64), values(8, seed=1), values(8, seed=2)
    x32 = x.astype(np.float32)
    close(be.rmsnorm(x32, w, 1e-6), x * w / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6))
    centred = x - x.mean(-1, keepdims=True)
    close(be.layer_norm(x32, w, b), centred / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b)
    with pytest.raises(tw.InvalidArgument, match="rmsnorm: weight has shape"):
        be.rmsnorm(x32, w[:7])
    with pytest.raises(tw.InvalidArgument, match="layer_norm: bias has shape"):
        be.layer_norm(x32, w, b[:7])
    with pytest.raises(tw.InvalidArgument, match="rmsnorm: eps is"):
        be.rmsnorm(x32, w, -1)


def test_rope(be: tw.Backend) -> None:
    x, angles = values(2, 3, 4, 6), values(9, 3, seed=1)
    cos, sin = np.cos(angles), np.sin(angles)
    first, second = x[..., :3], x[..., 3:]
    c, s = cos[2:6], sin[2:6]
    expected = np.concatenate([first * c - second * s, second * c + first * s], -1)
    close(be.rope(x, cos, sin, position=2), expected)
    close(be.rope(x[0, 0], cos, sin, position=2), expected[0, 0])
    with pytest.raises(tw.InvalidArgument, match="rope: position 6 and seq 4"):
        be.rope(x, cos, sin, position=6)
    with pytest.raises(tw.InvalidArgument, match="rope: cos has shape"):
        be.rope(x, cos[:, :2], sin)


def test_gather(be: tw.Backend) -> None:
    table = values(5, 2, 3)
    some: list[Any] = [[0, -1, 3], np.array([[1], [-5]]), [], 2, np.uint8([4]), (1, 1)]
    for indices in some:
        close(be.gather(table, indices), table[np.asarray(indices, np.int64)])
    on_device = be.gather(table, be.array([4, 0], dtype="int32"))
    close(on_device, table[[4, 0]])
    outside = be.gather(table, be.array([5, -1, 0], dtype="int32")).numpy()
    assert np.isnan(outside[:2]).all() and (outside[2] == table[0]).all()
    wrong: list[tuple[Any, str]] = [
        ([5], r"indices\[0\] is 5, expected -5 to 4"),
        ([[0, 1], [2, -6]], r"indices\[1, 1\] is -6"),
        (1 << 40, "indices is 1099511627776"),
        ([0.5], "indices is float64"),
        (np.zeros(2), "indices is float64"),
        (be.array([1.0]), "indices is float32"),
        ("ab", "indices is 'ab'"),
        ([True], "indices is bool"),
    ]
    for indices, message in wrong:
        with pytest.raises(tw.InvalidArgument, match=f"^gather: {message}"):
            be.gather(table, indices)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "int64", "uint64"])
def test_indices_of_a_type_that_counts_fewer_rows(be: tw.Backend, kind: str) -> None:
    rows = 70_000
    table = np.arange(rows, dtype=np.float32)
    some = np.array([0, 1, 127], kind)
    close(be.gather(table, some), table[some])
    expected = table.copy()
    expected[some] = 5
    close(be.scatter(table, some, np.full(3, 5, np.float32)), expected)
    if kind.startswith("int"):
        back = np.array([-1, -128], kind)
        close(be.gather(table, back), table[back])
    few = table[:3]
    most = np.iinfo(kind).max
    for call in (be.gather, lambda t, i: be.scatter(t, i, t[:1])):
        with pytest.raises(tw.InvalidArgument, match=rf"indices\[0\] is {most}, expected -3 to 2"):
            call(few, np.array([most], kind))


def test_rows_that_int32_does_not_count(be: tw.Backend) -> None:
    table = be.empty((2**40, 0))
    assert be.gather(table, [5, -(2**40)]).shape == (2, 0)
    for index in (2**31, -1):
        with pytest.raises(tw.Unsupported, match=r"gather: indices reach row \d+; .*2147483647"):
            be.gather(table, [index])


def test_scatter(be: tw.Backend) -> None:
    table, rows = values(5, 3), values(2, 3, seed=1)
    expected = table.copy()
    expected[[3, -5]] = rows
    x = be.array(table)
    apart = be.empty((5, 3))
    assert be.scatter(x, [3, -5], rows, out=apart) is apart
    close(apart, expected)
    close(x, table)
    assert be.scatter(x, [3, -5], rows) is x
    close(x, expected)
    close(be.scatter(table, [3, -5], rows), expected)
    with pytest.raises(tw.InvalidArgument, match="scatter: source has shape"):
        be.scatter(x, [1], rows)
    with pytest.raises(tw.InvalidArgument, match=r"scatter: indices\[1\] is 5"):
        be.scatter(x, [1, 5], rows)
    close(x, expected)


def test_cast(be: tw.Backend) -> None:
    x = np.float32([1, 65504, 1e6, 2.0**-24, -0.1])
    with np.errstate(over="ignore"):
        half = x.astype(np.float16)
    assert (be.cast(x, "float16").numpy() == half).all()
    assert (be.array(half).astype(np.float32).numpy() == half.astype(np.float32)).all()
    same = be.array(x)
    assert be.cast(same, np.float32) is not same
    assert be.cast(x, "int32").numpy().tolist() == [1, 65504, 10**6, 0, 0]
    with pytest.raises(tw.InvalidArgument, match="cast: dtype is 'complex64'"):
        be.cast(x, "complex64")


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_cast_of_integers(be: tw.Backend, dtype: str) -> None:
    x = np.int32([[0, -1, 2049], [2**24 + 1, 2**31 - 1, -(2**31)]])
    with np.errstate(over="ignore"):
        expected = x.astype(dtype)
    array = be.array(x)
    for got in (array.astype(dtype), be.array(array, dtype), be.cast(x, dtype)):
        assert got.dtype == dtype
        np.testing.assert_array_equal(got.numpy(), expected)
    same = array.astype("int32")
    assert same is not array
    np.testing.assert_array_equal(same.numpy(), x)
    with pytest.raises(tw.InvalidArgument, match="cast: out is float32"):
        be.cast(array, "float16", out=be.empty(x.shape))


# What all ops refuse -----------------------------------------------------------------------------

ONE_INPUT = ["relu", "sum", "max", "softmax", "silu"]


@pytest.mark.parametrize("op", ONE_INPUT)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros(3), r"x is float64, expected float32 or float16; write x\.astype\(np\.float32\)"),
        (np.arange(3), r"x is int64"),
        (np.arange(3, dtype=np.int32), r"x is int32, .*; write x\.astype\(np\.float32\)"),
        ("abc", r"x is 'abc' \(str\), expected numbers"),
        (None, "x is of dtype object"),
    ],
)
def test_wrong_inputs_are_refused(be: tw.Backend, op: str, given: Any, message: str) -> None:
    with pytest.raises(tw.InvalidArgument, match=f"^{op}: {message}"):
        getattr(be, op)(given)


@pytest.mark.parametrize("op", ["relu", "softmax"])
def test_wrong_outputs_are_refused(be: tw.Backend, op: str) -> None:
    with tw.CpuBackend() as other:
        wrong: list[tuple[Any, str]] = [
            (be.zeros(4), r"out is float32 of shape \(4,\), expected float32 of shape \(3,\)"),
            (be.zeros(3, "float16"), "out is float16"),
            (np.zeros(3, np.float32), "out is array.*expected an Array"),
            (1, "out is 1"),
            (other.zeros(3), "out is an Array of another backend"),
        ]
        for out, message in wrong:
            with pytest.raises(tw.InvalidArgument, match=f"^{op}: {message}"):
                getattr(be, op)([1, 2, 3], out=out)
        with pytest.raises(tw.InvalidArgument, match=r"^add: b is an Array of another backend"):
            be.add(be.zeros(3), other.zeros(3))


def test_mixed_types_are_refused_with_the_cast(be: tw.Backend) -> None:
    wide, half = be.zeros(3), be.zeros(3, "float16")
    message = r"write b\.astype\(np\.float32\) or a\.astype\(np\.float16\)"
    with pytest.raises(tw.InvalidArgument, match=message):
        be.add(wide, half)
    with pytest.raises(tw.InvalidArgument, match=r"write a\.astype\(np\.float32\)"):
        be.matmul(half, wide)


def test_an_output_that_is_read_is_refused(be: tw.Backend) -> None:
    x = be.zeros((3, 3))
    for op in (
        lambda: be.matmul(x, x, out=x),
        lambda: be.sum(x.reshape(9, 1), 1, keepdims=True, out=x.reshape(9, 1)),
        lambda: be.attention(x, x, x, out=x),
        lambda: be.gather(x, [0, 1, 2], out=x),
    ):
        with pytest.raises(tw.InvalidArgument, match="out shares its buffer with an input"):
            op()


# Two forms under one name ------------------------------------------------------------------------


def test_shared_names_take_the_trait_form(be: tw.Backend) -> None:
    x, y = be.array([[1.0, 2.0]]), be.empty((1, 2))
    assert be.softmax(x, y, (1, 2), 1) is None
    close(y, softmax(x.numpy()))
    assert be.softmax(axis=1, shape=[1, 2], output=y, input=x) is None
    assert be.silu(x.handle, y.handle, 2) is None
    assert be.cast(x, "float32", be.empty(2, "float16"), "float16", 2) is None
    assert be.rmsnorm(x, x, y, 1, 2, 1e-5, "float32") is None
    ones = be.array(np.ones((1, 1, 2, 2), np.float32))
    grad, shape = be.empty((1, 1, 2, 2)), (1, 1, 2, 2)
    one = be.array(np.ones((1, 1, 1, 1), np.float32))
    unit = (1, 1, 1, 1)
    assert be.conv2d_backward_data(ones, shape, one, unit, grad, shape, (1, 1), (0, 0)) is None
    with pytest.raises(tw.InvalidArgument, match="softmax: shape is 5"):
        be.softmax(x, y, 5, 1)  # type: ignore[call-overload]


def test_the_array_form_with_all_its_arguments_is_not_taken_for_the_trait(be: tw.Backend) -> None:
    x = np.ones((1, 1, 2, 2), np.float32)
    got = be.conv2d_backward_data(
        x, x, (1, 1, 3, 3), stride=1, padding=0, dilation=1, groups=1, out=be.empty((1, 1, 3, 3))
    )
    close(got, [[[[1, 2, 1], [2, 4, 2], [1, 2, 1]]]])


def test_ops_on_arrays_go_straight_to_the_core(be: tw.Backend) -> None:
    """What runs in Python at each call is bounded: the functions called are counted."""
    x, row, out = be.zeros((4, 4)), be.zeros(4), be.empty((4, 4))
    calls: list[tuple[int, Callable[[], Any]]] = [
        (1, lambda: be.add(x, x, out=out)),
        (1, lambda: be.add(x, row)),
        (1, lambda: x + row),
        (1, lambda: be.relu(x)),
        (1, lambda: be.matmul(x, x, out=out)),
        (1, lambda: be.matmul(x, row, alpha=2)),
        (2, lambda: be.softmax(x, out=out)),
    ]
    for most, call in calls:
        entered: list[str] = []

        def count(frame: FrameType, event: str, _: Any, entered: list[str] = entered) -> None:
            if event == "call":
                entered.append(frame.f_code.co_name)

        sys.setprofile(count)
        try:
            call()
        finally:
            sys.setprofile(None)
        assert len(entered) - 1 <= most, entered
