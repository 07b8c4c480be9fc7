"""Ops on whole arrays: NumPy's shapes, rules and results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tilewright import Backend

from . import bounds, references
from .workspace import Array, integers, normal

UNARY = [*references.UNARY]
BINARY = {"maximum": "max", "minimum": "min"} | {
    op: op for op in references.BINARY if op not in ("max", "min")
}


def check_product(got: Array, a: Array, b: Array) -> None:
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    magnitudes = np.matmul(abs(wide_a), abs(wide_b))
    bounds.assert_within(
        got, np.matmul(wide_a, wide_b), bounds.inner_product(magnitudes, a.shape[-1])
    )


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0), (17,), (3, 5, 7), (1, 2, 1, 2, 1)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_there_and_back(be: Backend, shape: tuple[int, ...], dtype: str) -> None:
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    array = be.array(x)
    assert array.shape == shape
    assert array.dtype == np.dtype(dtype)
    assert array.nbytes == x.nbytes
    assert array.ndim == x.ndim
    assert array.size == x.size
    np.testing.assert_array_equal(array.numpy(), x)
    np.testing.assert_array_equal(np.asarray(array), x)
    out = np.empty_like(x)
    assert array.numpy(out=out) is out
    np.testing.assert_array_equal(out, x)


def test_dlpack_both_ways(be: Backend, rng: np.random.Generator) -> None:
    x = normal(rng, (3, 5), np.float32)
    array = be.from_dlpack(x)
    np.testing.assert_array_equal(array.numpy(), x)
    np.testing.assert_array_equal(np.from_dlpack(array), x)


def test_what_dlpack_gave_outlives_the_array(be: Backend) -> None:
    array = be.array(np.arange(100_000, dtype=np.float32))
    view = np.from_dlpack(array)
    del array
    other = be.array(np.full(100_000, -1, np.float32))
    np.testing.assert_array_equal(view, np.arange(100_000))
    del other


def test_arrays_free_themselves(be: Backend) -> None:
    before = be.memory_stats().allocations
    array = be.array([1.0, 2.0])
    assert be.memory_stats().allocations == before + 1
    again = array.reshape(2, 1)
    del array
    np.testing.assert_array_equal(again.numpy(), [[1], [2]])
    del again
    assert be.memory_stats().allocations == before


@pytest.mark.sampled(12)
@pytest.mark.parametrize("op", UNARY)
def test_unary(be: Backend, rng: np.random.Generator, op: str, dtype: str) -> None:
    x = normal(rng, (3, 17, 5), dtype)
    exact = references.UNARY[op](x)
    tolerance = bounds.elementwise(op, exact, x.astype(np.float64))
    call = getattr(be, op)
    bounds.assert_within(call(x).numpy(), exact, tolerance)
    array = be.array(x)
    assert call(array, out=array) is array
    bounds.assert_within(array.numpy(), exact, tolerance)


@given(
    shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=5, max_side=5, min_side=0),
    call=st.sampled_from(list(BINARY)),
    seed=st.integers(0, 2**32 - 1),
)
def test_binary_broadcasts_as_numpy_does(
    be: Backend, shapes: hnp.BroadcastableShapes, call: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    a, b = (rng.uniform(0.5, 2, shape).astype(np.float32) for shape in shapes.input_shapes)
    exact = references.BINARY[BINARY[call]](a, b)
    tolerance = bounds.elementwise(BINARY[call], exact, exact)
    got = getattr(be, call)(np.asarray(a), np.asarray(b)).numpy()
    bounds.assert_within(got, exact, tolerance)


def test_operators(be: Backend) -> None:
    x = np.array([[1, 2], [3, 4]], np.float32)
    a = be.array(x)
    for got, expected in [
        (a + a, x + x), (a + 1, x + 1), (1 + a, x + 1), (a - x, x - x), (x - a, x - x),
        (2 - a, 2 - x), (a * a, x * x), (a / 2, x / 2), (2 / a, 2 / x), (a @ a, x @ x),
        (x @ a, x @ x), (a**2, x**2), (-a, -x), (abs(-a), x),
    ]:  # fmt: skip
        assert isinstance(got, type(a))
        np.testing.assert_array_equal(got.numpy(), expected)


@given(
    shape=st.lists(st.integers(1, 6), min_size=0, max_size=5),
    data=st.data(),
    op=st.sampled_from(["sum", "max", "min", "mean"]),
    dtype=st.sampled_from(["float32", "float16"]),
    keepdims=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_reductions_over_any_axes(
    be: Backend,
    shape: list[int],
    data: st.DataObject,
    op: str,
    dtype: str,
    keepdims: bool,
    seed: int,
) -> None:
    chosen = data.draw(st.one_of(st.none(), st.sets(st.integers(0, 4))))
    axis = None if chosen is None else tuple(i for i in chosen if i < len(shape))
    x = normal(np.random.default_rng(seed), shape, dtype)
    wide = np.asarray(x, np.float64)
    exact = np.asarray(getattr(np, op)(wide, axis=axis, keepdims=keepdims))
    tolerance = np.zeros(exact.shape)
    if op in ("sum", "mean"):
        magnitudes = getattr(np, op)(abs(wide), axis=axis, keepdims=keepdims)
        # One call for each run of neighbouring axes, so up to three roundings more.
        tolerance = bounds.summation(np.asarray(magnitudes), x.size) + 3 * bounds.U * abs(exact)
    got = getattr(be, op)(np.asarray(x), axis=axis, keepdims=keepdims).numpy()
    bounds.assert_within(got, exact, tolerance)


MATMULS = [
    ((3,), (3,)),
    ((3,), (3, 5)),
    ((5, 3), (3,)),
    ((17, 13), (13, 23)),
    ((2, 5, 3), (3,)),
    ((3,), (2, 3, 5)),
    ((4, 5, 3), (3, 7)),
    ((5, 3), (4, 3, 7)),
    ((4, 5, 3), (4, 3, 7)),
    ((2, 1, 5, 3), (1, 4, 3, 7)),
    ((2, 4, 5, 3), (4, 3, 7)),
    ((4, 1, 3), (2, 1, 3, 7)),
    ((0, 3), (3, 5)),
    ((5, 0), (0, 7)),
    ((0, 5, 3), (0, 3, 7)),
]


@pytest.mark.parametrize(("a_shape", "b_shape"), MATMULS, ids=str)
def test_matmul(
    be: Backend,
    rng: np.random.Generator,
    a_shape: tuple[int, ...],
    b_shape: tuple[int, ...],
    dtype: str,
) -> None:
    a, b = normal(rng, a_shape, dtype), normal(rng, b_shape, dtype)
    check_product(be.matmul(a, b).numpy(), a, b)
    if len(a_shape) > 1:
        turned = np.swapaxes(a, -1, -2)
        check_product(be.matmul(turned, b, transpose_a=True).numpy(), a, b)
    if len(b_shape) > 1:
        turned = np.swapaxes(b, -1, -2)
        check_product(be.matmul(a, turned, transpose_b=True).numpy(), a, b)


def test_matmul_into_an_array(be: Backend, rng: np.random.Generator) -> None:
    a, b, c = (integers(rng, shape, np.float32) for shape in ((5, 3), (3, 7), (5, 7)))
    out = be.array(c)
    assert be.matmul(a, b, alpha=2.0, beta=3.0, out=out) is out
    np.testing.assert_array_equal(out.numpy(), 2 * (a @ b) + 3 * c)


def test_matmul_of_rounded_inputs(be: Backend, rng: np.random.Generator) -> None:
    a, b = normal(rng, (17, 33), np.float32), normal(rng, (33, 9), np.float32)
    for precision in ("float16", "bfloat16"):
        rounded = references.rounded(a, precision), references.rounded(b, precision)
        check_product(be.matmul(a, b, precision=precision).numpy(), *rounded)
    check_product(be.matmul(a, b, precision="high").numpy(), a, b)


def test_an_empty_batch_checks_its_arguments(be: Backend) -> None:
    a, b = be.zeros((0, 2, 3)), be.zeros((0, 3, 4))
    half = [be.zeros(x.shape, "float16") for x in (a, b)]
    assert be.matmul(a, b, precision="bfloat16", alpha=2.0).shape == (0, 2, 4)
    wrong: list[tuple[str, Callable[[], object]]] = [
        ("precision", lambda: be.matmul(a, b, precision="float32")),
        ("precision", lambda: be.matmul(*half, precision="float16")),
        ("alpha", lambda: be.matmul(a, b, alpha="2")),
        ("alpha", lambda: be.matmul(a, b, precision="float16", alpha=[1.0])),
        ("beta", lambda: be.matmul(a, b, precision="float16", beta=1.0)),
        ("out_dtype", lambda: be.matmul(a, b, out_dtype="float16")),
        ("transpose_a", lambda: be.matmul(a, b, transpose_a=1)),
    ]
    for name, call in wrong:
        with pytest.raises(tilewright.InvalidArgument, match=rf"^matmul: .*\b{name}\b"):
            call()


def test_matmul_of_float16_into_float32(be: Backend, rng: np.random.Generator) -> None:
    a, b = normal(rng, (17, 33), np.float16), normal(rng, (33, 9), np.float16)
    got = be.matmul(a, b, out_dtype=np.float32).numpy()
    assert got.dtype == np.float32
    check_product(got, a, b)


def test_conv2d_and_its_gradients(be: Backend, rng: np.random.Generator) -> None:
    x, w, bias = (integers(rng, s, np.float32) for s in ((2, 4, 9, 8), (6, 2, 3, 2), (6,)))
    window: dict[str, Any] = {"stride": (2, 1), "padding": (1, 2), "dilation": 2, "groups": 2}
    rules = ((2, 1), (1, 2), (2, 2), 2)
    y = be.conv2d(x, w, bias, **window).numpy()
    np.testing.assert_array_equal(y, references.conv2d(x, w, bias, *rules))
    g = integers(rng, y.shape, np.float32)
    to_x = be.conv2d_backward_data(g, w, x.shape, **window).numpy()
    np.testing.assert_array_equal(to_x, references.conv2d_backward_data(g, w, x.shape, *rules))
    to_w = be.conv2d_backward_filter(x, g, w.shape, **window).numpy()
    np.testing.assert_array_equal(to_w, references.conv2d_backward_filter(x, g, w.shape, *rules))


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_attention(be: Backend, rng: np.random.Generator, rank: int, dtype: str) -> None:
    lead = (2, 4)[4 - rank :]
    kv_lead = (2, 2)[4 - rank :]
    q, k, v = (normal(rng, (*s, 16), dtype) for s in ((*lead, 5), (*kv_lead, 9), (*kv_lead, 9)))
    scale = float(np.float32(0.25))
    wide = [x.reshape((1,) * (4 - rank) + x.shape) for x in (q, k, v)]
    scores = references.attention_scores(wide[0], wide[1], scale, True, 4)
    sizes = references.attention_scores(abs(wide[0]), abs(wide[1]), scale, False, 0)
    weights = references.softmax(scores, -1)
    values = references.repeated_heads(wide[2], wide[0].shape[1])
    tolerance = bounds.attention(weights, values, scores, sizes, 16)
    got = be.attention(q, k, v, causal=True, q_offset=4).numpy()
    bounds.assert_within(got, (weights @ values).reshape(q.shape), np.reshape(tolerance, q.shape))


def test_rows(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    x = normal(rng, (3, 5, 17), dtype)
    weight, bias = normal(rng, 17, dtype), normal(rng, 17, dtype)
    eps = float(np.float32(1e-5))
    for axis in (-1, 0, 1):
        exact = references.softmax(x, axis)
        below = x.max(axis, keepdims=True) - x.astype(np.float64)
        tolerance = bounds.softmax(exact, below, x.shape[axis])
        bounds.assert_within(be.softmax(x, axis=axis).numpy(), exact, tolerance)
    exact = references.rmsnorm(x, weight, eps)
    bounds.assert_within(be.rmsnorm(x, weight).numpy(), exact, bounds.rmsnorm(exact, 17))
    exact = references.layer_norm(x, weight, bias, eps)
    wide = (a.astype(np.float64) for a in (x, weight, bias))
    tolerance = bounds.layer_norm(*wide, eps)
    bounds.assert_within(be.layer_norm(x, weight, bias).numpy(), exact, tolerance)


def test_rows_by_index(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    table = normal(rng, (7, 2, 3), dtype)
    indices = np.array([[3, 0], [-1, 6]])
    np.testing.assert_array_equal(be.gather(table, indices).numpy(), table[indices])
    target = be.array(np.zeros_like(table))
    assert be.scatter(target, [5, 2], table[:2]) is target
    expected = np.zeros_like(table)
    expected[[5, 2]] = table[:2]
    np.testing.assert_array_equal(target.numpy(), expected)


def test_rope(be: Backend, rng: np.random.Generator, dtype: str) -> None:
    x = normal(rng, (2, 3, 5, 8), dtype)
    cos, sin = normal(rng, (9, 4), dtype), normal(rng, (9, 4), dtype)
    wide = (a.astype(np.float64) for a in (x, cos[3:8], sin[3:8]))
    exact = references.rope(x, cos[3:8], sin[3:8])
    bounds.assert_within(be.rope(x, cos, sin, position=3).numpy(), exact, bounds.rotation(*wide))


def test_one_query_against_a_cache(be: Backend, rng: np.random.Generator) -> None:
    q, keys = integers(rng, (4, 8), np.float32), integers(rng, (2, 17, 8), np.float32)
    all_keys = np.repeat(keys, 2, axis=0)
    scores = be.attention_scores(q, keys, scale=0.5)
    np.testing.assert_array_equal(scores.numpy(), 0.5 * np.einsum("hsd,hd->hs", all_keys, q))
    summed = be.weighted_sum(scores, keys).numpy()
    np.testing.assert_array_equal(summed, np.einsum("hs,hsd->hd", scores.numpy(), all_keys))


def test_cast(be: Backend, rng: np.random.Generator) -> None:
    x = normal(rng, (3, 5), np.float32)
    half = be.array(x).astype(np.float16)
    np.testing.assert_array_equal(half.numpy(), x.astype(np.float16))
    np.testing.assert_array_equal(half.astype("float32").numpy(), x.astype(np.float16))


def test_an_array_of_another_type_is_cast_on_the_device(gpu: Backend) -> None:
    x = np.arange(-500, 500, dtype=np.float32) / 7
    there = gpu.array(x)
    with gpu.profile() as p:
        half = gpu.array(there, "float16")
        same = gpu.array(half, "float16")
    # Beside it there may be a kernel that copies, and one that asks the device something.
    assert [record.kernel for record in p.records].count("cast") == 1
    np.testing.assert_array_equal(same.numpy(), x.astype(np.float16))


def test_arrays_that_are_not_contiguous(be: Backend, rng: np.random.Generator) -> None:
    x = normal(rng, (6, 8), np.float32)
    for view in (x.T, x[::2], x[:, ::-1], x[1:5, 2:7], np.broadcast_to(x[0], (3, 8))):
        np.testing.assert_array_equal(be.neg(view).numpy(), -view)


def test_float64_is_refused_with_the_cast_to_write(be: Backend) -> None:
    x = np.ones(3)
    wrong: list[Callable[[], object]] = [
        lambda: be.array(x),
        lambda: be.exp(x),
        lambda: be.add(be.array([1.0, 2.0, 3.0]), x),
        lambda: be.matmul(np.ones((3, 3)), np.ones((3, 3))),
        lambda: be.sum(x),
    ]
    for call in wrong:
        with pytest.raises(tilewright.InvalidArgument, match=r"\.astype\(np\.float32\)"):
            call()


def test_wrong_arguments(be: Backend) -> None:
    a, b = be.array(np.ones((2, 3), np.float32)), be.array(np.ones((4, 5), np.float32))
    half = be.array(np.ones((2, 3), np.float16))
    image, filters = np.ones((1, 1, 3, 3), np.float32), np.ones((1, 1, 2, 2), np.float32)
    wrong: list[tuple[str, Callable[[], object]]] = [
        ("broadcast", lambda: be.add(a, b)),
        ("rows of 3", lambda: be.matmul(a, b)),
        ("float16", lambda: be.add(a, half)),
        ("axis", lambda: be.sum(a, axis=2)),
        ("axis", lambda: be.softmax(a, axis=-3)),
        ("out", lambda: be.add(a, a, out=b)),
        ("out", lambda: be.add(a, a, out=np.ones((2, 3), np.float32))),
        ("out", lambda: be.matmul(be.array(np.eye(3, dtype=np.float32)), a.reshape(3, 2), out=a)),
        ("x", lambda: be.conv2d(a, b)),
        (r"stride\[1\] is 0", lambda: be.conv2d(image, filters, stride=(1, 0))),
        (r"padding\[0\] is -1", lambda: be.conv2d(image, filters, padding=(-1, 0))),
        (r"dilation\[0\] is -", lambda: be.conv2d(image, filters, dilation=-(2**60))),
        ("x", lambda: be.exp("words")),
        ("x", lambda: be.exp(None)),
        ("x", lambda: be.exp(np.array([1 + 2j]))),
        ("x", lambda: be.max(np.empty((2, 0), np.float32), axis=1)),
        ("indices", lambda: be.gather(a, [2])),
        ("indices", lambda: be.gather(a, [0.5])),
        ("shape", lambda: a.reshape(4, 2)),
        ("shape", lambda: be.empty(-1)),
        ("shape", lambda: be.empty((2**62, 2**62))),
        ("dtype", lambda: be.empty(3, "clongdouble")),
    ]
    for word, call in wrong:
        with pytest.raises(tilewright.InvalidArgument, match=word):
            call()
    np.testing.assert_array_equal(a.numpy(), np.ones((2, 3)))


def test_arrays_of_another_backend_are_refused(be: Backend) -> None:
    with type(be)(adapter_index=be.config["adapter_index"]) as other:
        foreign = other.array([1.0, 2.0])
        with pytest.raises(tilewright.InvalidArgument, match="another backend"):
            be.exp(foreign)
        with pytest.raises(tilewright.InvalidArgument, match="out"):
            be.exp([1.0, 2.0], out=foreign)


def test_arrays_of_a_closed_backend(be: Backend) -> None:
    other = type(be)(adapter_index=be.config["adapter_index"])
    other.init()
    array = other.array([1.0, 2.0])
    other.close()
    with pytest.raises(tilewright.NotInitialized):
        array.numpy()
    with pytest.raises(tilewright.NotInitialized):
        other.exp(array)
    other.init()
    with pytest.raises(tilewright.InvalidArgument):
        array.numpy()
    del array
    other.close()
