"""Normalisations and their gradients against NumPy in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .networks import Host, dtypes_of, gradient, held, host, near, on

RNG = np.random.default_rng(20261202)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def the_same_draws() -> None:
    """Whichever tests came before."""
    RNG.bit_generator.state = START


def normal(x: Host, axes: tuple[int, ...], eps: float) -> Host:
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return np.asarray((x - mean) / np.sqrt(var + eps))


def by_channel(line: Host | None, x: Host, other: float) -> Any:
    return other if line is None else line.reshape((-1,) + (1,) * (x.ndim - 2))


def batch(x: Host, w: Host | None, b: Host | None, eps: float = 1e-5) -> Host:
    axes = tuple(i for i in range(x.ndim) if i != 1)
    return np.asarray(normal(x, axes, eps) * by_channel(w, x, 1) + by_channel(b, x, 0))


def group(x: Host, count: int, w: Host | None, b: Host | None, eps: float = 1e-5) -> Host:
    split = x.reshape(x.shape[0], count, -1)
    found = normal(split, (2,), eps).reshape(x.shape)
    return np.asarray(found * by_channel(w, x, 1) + by_channel(b, x, 0))


def layer(x: Host, axes: int, w: Host | None, b: Host | None, eps: float = 1e-5) -> Host:
    found = normal(x, tuple(range(x.ndim - axes, x.ndim)), eps)
    return np.asarray(found * (1 if w is None else w) + (0 if b is None else b))


def drawn(shape: tuple[int, ...], own: tuple[int, ...], dtype: str) -> list[Host]:
    """An input off 0, a gradient, weight and bias."""
    x = held(RNG.uniform(-2, 2, shape) + 3, dtype)
    others = [RNG.uniform(-2, 2, shape), RNG.uniform(0.5, 2, own), RNG.uniform(-1, 1, own)]
    return [x, *(held(one, dtype) for one in others)]


def check(
    be: Backend, dtype: str, given: list[Host], of: Callable[..., Host],
    forward: Callable[..., tw.Array], backward: Callable[..., Any],
) -> None:  # fmt: skip
    """Values and gradients, of x, of weight and of bias, with them and without."""
    x, grad, w, b = given
    a, g, weight, bias = (on(be, one, dtype) for one in given)
    near(forward(a, weight=weight, bias=bias), of(x, w, b), dtype, 64, 4)
    near(forward(a), of(x, None, None), dtype, 64, 4)
    size = 1 if dtype != "float64" else 1e9  # differences have 8 digits
    got = backward(g, a, weight=weight)
    at = abs(grad).max() * 8
    near(got.x, gradient(lambda one: float((of(one, w, b) * grad).sum()), x), dtype, 64 * size, at)
    many = at * x.size / w.size
    near(got.weight, gradient(lambda one: float((of(x, one, b) * grad).sum()), w), dtype,
         64 * size, many)  # fmt: skip
    near(got.bias, gradient(lambda one: float((of(x, w, one) * grad).sum()), b), dtype, 64 * size,
         many)  # fmt: skip
    plain = backward(g, a)
    assert plain.weight is None and plain.bias is None
    by_x = gradient(lambda one: float((of(one, None, None) * grad).sum()), x)
    near(plain.x, by_x, dtype, 64 * size, at)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape", [(6, 3), (4, 2, 5), (2, 3, 4, 3), (2, 1, 2, 3, 2)])
def test_batch_norm_in_training(be: Backend, shape: tuple[int, ...]) -> None:
    for dtype in dtypes_of(be, False) if shape == (2, 3, 4, 3) else ["float32"]:
        check(
            be, dtype, drawn(shape, shape[1:2], dtype), batch,
            lambda x, **options: tw.nn.batch_norm(x, training=True, **options),
            lambda g, x, **options: tw.nn.batch_norm_backward(g, x, training=True, **options),
        )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_running_statistics(be: Backend, dtype: str) -> None:
    x, grad, w, b = drawn((5, 3, 4), (3,), dtype)
    a, g, weight, bias = (on(be, one, dtype) for one in (x, grad, w, b))
    # Those of 16 bits may be float32.
    mean, var = on(be, np.zeros(3)), on(be, np.ones(3))
    wide_mean, wide_var = np.zeros(3), np.ones(3)
    for _ in range(3):
        tw.nn.batch_norm(a, mean, var, weight, bias, True, 0.3)
        wide_mean = 0.7 * wide_mean + 0.3 * x.mean((0, 2))
        wide_var = 0.7 * wide_var + 0.3 * x.var((0, 2), ddof=1)
    near(mean, wide_mean, "float32", 32)
    near(var, wide_var, "float32", 32)
    wide_mean, wide_var = host(mean), host(var)

    def of(x: Host, w: Host, b: Host) -> Host:
        root = np.sqrt(by_channel(wide_var, x, 1) + 1e-3)
        off = (x - by_channel(wide_mean, x, 0)) / root
        return np.asarray(off * by_channel(w, x, 1) + by_channel(b, x, 0))

    near(tw.nn.batch_norm(a, mean, var, weight, bias, eps=1e-3), of(x, w, b), dtype, 32, 4)
    near(mean, wide_mean, "float32", 0)
    got = tw.nn.batch_norm_backward(g, a, mean, var, weight, eps=1e-3)
    near(got.x, gradient(lambda one: float((of(one, w, b) * grad).sum()), x), dtype, 64, 8)
    near(got.weight, gradient(lambda one: float((of(x, one, b) * grad).sum()), w), dtype, 64, 99)
    near(got.bias, grad.sum((0, 2)), dtype, 64, 99)
    plain = tw.nn.batch_norm_backward(g, a, mean, var, eps=1e-3)
    near(plain.x, gradient(lambda one: float((of(one, np.ones(3), b) * grad).sum()), x), dtype,
         64, 8)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_statistics_are_what_the_gradient_takes(be: Backend, dtype: str) -> None:
    x, grad, w, b = (on(be, one, dtype) for one in drawn((4, 3, 5), (3,), dtype))
    y, mean, var = tw.nn.batch_norm(
        x, weight=w, bias=b, training=True, return_statistics=True
    )  # fmt: skip
    plain = tw.nn.batch_norm(x, weight=w, bias=b, training=True)
    np.testing.assert_array_equal(y.numpy(), plain.numpy())
    near(mean, host(x).mean((0, 2)), "float32", 16, 4)
    near(var, host(x).var((0, 2)), "float32", 32, 9)
    expected = tw.nn.batch_norm_backward(grad, x, weight=w, training=True)
    got = tw.nn.batch_norm_backward(grad, x, weight=w, training=True, statistics=(mean, var))
    for one, other in zip(got, expected, strict=True):
        assert one is not None and other is not None
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    given: list[tuple[Any, dict[str, Any], str]] = [
        (mean, {"training": True}, "statistics is .*, expected the mean and variance"),
        ((mean, var[:2]), {"training": True}, r"the variance is float32 of shape \(2,\)"),
        ((mean.astype("int32"), var), {"training": True}, "the mean is int32 of shape"),
        (
            (mean, var),
            {"running_mean": w, "running_var": w},
            "statistics is given, expected None where training is False",
        ),
    ]
    for statistics, options, said in given:
        with pytest.raises(tw.InvalidArgument, match=said):
            tw.nn.batch_norm_backward(grad, x, statistics=statistics, **options)


# The last three have channels that are summed first, whose length is no multiple of four or is one.
GROUPS = [((3, 8), 2), ((2, 6, 5), 3), ((2, 4, 3, 2), 1), ((2, 6, 67), 3), ((2, 4, 8, 9), 2),
          ((1, 2, 68), 2)]  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("shape", "count"), GROUPS)
def test_group_norm(be: Backend, shape: tuple[int, ...], count: int) -> None:
    for dtype in dtypes_of(be, False) if count == 3 else ["float32"]:
        check(
            be, dtype, drawn(shape, shape[1:2], dtype),
            lambda x, w, b: group(x, count, w, b),
            lambda x, **options: tw.nn.group_norm(x, count, **options),
            lambda g, x, **options: tw.nn.group_norm_backward(g, x, count, **options),
        )  # fmt: skip


@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 3, 3, 4)])
def test_instance_norm(be: Backend, shape: tuple[int, ...]) -> None:
    check(
        be, "float32", drawn(shape, shape[1:2], "float32"),
        lambda x, w, b: group(x, shape[1], w, b), tw.nn.instance_norm,
        tw.nn.instance_norm_backward,
    )  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("shape", "axes"), [((7,), 1), ((5, 9), 1), ((3, 4, 5), 2), ((2, 6), 2)])
def test_layer_norm(be: Backend, shape: tuple[int, ...], axes: int) -> None:
    own = shape[len(shape) - axes :]
    for dtype in dtypes_of(be, False) if shape == (3, 4, 5) else ["float32"]:
        check(
            be, dtype, drawn(shape, own, dtype), lambda x, w, b: layer(x, axes, w, b),
            lambda x, **options: tw.nn.layer_norm(x, own, **options),
            lambda g, x, **options: tw.nn.layer_norm_backward(g, x, own, **options),
        )  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("shape", "axes"), [((7,), 1), ((5, 9), 1), ((3, 4, 5), 2)])
def test_rms_norm(be: Backend, shape: tuple[int, ...], axes: int) -> None:
    own = shape[len(shape) - axes :]

    def of(x: Host, w: Host | float) -> Host:
        square = (x**2).mean(tuple(range(len(shape) - axes, len(shape))), keepdims=True)
        return np.asarray(x / np.sqrt(square + 1e-3) * w)

    for dtype in dtypes_of(be, False) if len(shape) == 3 else ["float32"]:
        x, grad, w, _ = drawn(shape, own, dtype)
        a, g, weight = (on(be, one, dtype) for one in (x, grad, w))
        size = 1 if dtype != "float64" else 1e9  # differences have 8 digits
        near(tw.nn.rms_norm(a, own, weight, 1e-3), of(x, w), dtype, 32)
        near(tw.nn.rms_norm(a, own, eps=1e-3), of(x, 1), dtype, 32)
        got = tw.nn.rms_norm_backward(g, a, own, weight, 1e-3)
        by_x = gradient(lambda one, w=w, grad=grad: float((of(one, w) * grad).sum()), x)
        near(got.x, by_x, dtype, 64 * size, 8)
        by_w = gradient(lambda one, x=x, grad=grad: float((of(x, one) * grad).sum()), w)
        assert got.weight is not None
        near(got.weight, by_w, dtype, 64 * size, 8 * x.size / w.size)
        plain = tw.nn.rms_norm_backward(g, a, own, eps=1e-3)
        by_x = gradient(lambda one, grad=grad: float((of(one, 1) * grad).sum()), x)
        near(plain.x, by_x, dtype, 64 * size, 8)
        assert plain.weight is None


def test_views_and_large_means(be: Backend) -> None:
    """The variance is that of what is off the mean: a large mean takes no digits of it."""
    x = held(RNG.uniform(-1, 1, (4, 3, 50)) + 1000, "float32")
    turned = on(be, np.ascontiguousarray(x.transpose(2, 0, 1))).transpose(1, 2, 0)
    near(tw.nn.batch_norm(turned, training=True), batch(x, None, None), "float32", 1500, 2)
    near(tw.nn.layer_norm(turned[:, ::-1], 50), layer(x[:, ::-1], 1, None, None), "float32", 1500,
         2)  # fmt: skip
    near(tw.nn.group_norm(turned, 3), group(x, 3, None, None), "float32", 1500, 2)
    large = on(be, np.full((2, 2, 4), 6e4), "float16")
    near(tw.nn.group_norm(large, 1), np.zeros((2, 2, 4)), "float16")


def test_nothing(be: Backend) -> None:
    empty = on(be, np.ones((0, 4, 3)))
    near(tw.nn.group_norm(empty, 2), np.ones((0, 4, 3)), "float32")
    near(tw.nn.layer_norm(empty, 3), np.ones((0, 4, 3)), "float32")
    got = tw.nn.group_norm_backward(empty, empty, 2, on(be, np.ones(4)))
    near(got.x, np.ones((0, 4, 3)), "float32")
    near(got.weight, np.zeros(4), "float32")
    near(tw.nn.instance_norm(empty[:, :0]), np.ones((0, 0, 3)), "float32")
    got = tw.nn.instance_norm_backward(empty[:, :0], empty[:, :0], on(be, np.ones(0)))
    near(got.weight, np.zeros(0), "float32")
    for shape in ((0, 4, 80), (2, 0, 80)):
        empty, weight = on(be, np.ones(shape)), on(be, np.ones(shape[1]))
        got = tw.nn.group_norm_backward(empty, empty, 2, weight)
        near(got.x, np.ones(shape), "float32")
        near(got.weight, np.zeros(shape[1]), "float32")
        near(got.bias, np.zeros(shape[1]), "float32")


def test_wrong_arguments(be: Backend) -> None:
    x, nn = on(be, np.ones((2, 4, 3))), tw.nn
    four, three = on(be, np.ones(4)), on(be, np.ones(3))
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("batch_norm: x is int32", lambda: nn.batch_norm(x.astype("int32"))),
        ("batch_norm: x has shape .4,., expected .batch, channels", lambda: nn.batch_norm(four)),
        ("batch_norm: running_mean and running_var are expected, both of them where",
         lambda: nn.batch_norm(x)),
        ("batch_norm: running_mean and running_var are expected, both of them, or neither",
         lambda: nn.batch_norm(x, four, training=True)),
        ("batch_norm: running_var has shape .3,., expected .4,.",
         lambda: nn.batch_norm(x, four, three)),
        ("batch_norm: running_mean is int32, expected float32",
         lambda: nn.batch_norm(x, four.astype("int32"), four)),
        ("batch_norm: weight is float16, expected float32",
         lambda: nn.batch_norm(x, four, four, four.astype("float16"))),
        ("batch_norm: bias is 1.0", lambda: nn.batch_norm(x, four, four, bias=1.0)),
        ("batch_norm: x has shape .1, 4., expected more than one element",
         lambda: nn.batch_norm(x[:1, :, 0], training=True)),
        ("batch_norm: training is 1", lambda: nn.batch_norm(x, four, four, training=1)),
        ("batch_norm: eps is -1.0, expected 0 or more",
         lambda: nn.batch_norm(x, four, four, eps=-1)),
        ("batch_norm: momentum is None", lambda: nn.batch_norm(x, four, four, momentum=None)),
        ("batch_norm_backward: x has shape .2, 4., expected .2, 4, 3.",
         lambda: nn.batch_norm_backward(x, x[:, :, 0], four, four)),
        ("group_norm: num_groups is 3, expected a divisor of the 4",
         lambda: nn.group_norm(x, 3)),
        ("group_norm: num_groups is 0", lambda: nn.group_norm(x, 0)),
        ("group_norm_backward: weight has shape .3,.",
         lambda: nn.group_norm_backward(x, x, 2, three)),
        ("instance_norm: x has shape .4,., expected", lambda: nn.instance_norm(four)),
        ("layer_norm: normalized_shape is 4.*, expected the last sizes of x's shape .2, 4, 3.",
         lambda: nn.layer_norm(x, 4)),
        ("layer_norm: normalized_shape is ..", lambda: nn.layer_norm(x, ())),
        ("rms_norm: normalized_shape is", lambda: nn.rms_norm(x, (4,))),
        ("rms_norm: eps is nan", lambda: nn.rms_norm(x, 3, eps=np.nan)),
        ("layer_norm: weight has shape .4,., expected .3,.", lambda: nn.layer_norm(x, 3, four)),
    ]  # fmt: skip
    for message, call in calls:
        with pytest.raises(InvalidArgument, match=message):
            call()
    near(four, np.ones(4), "float32", 0)
