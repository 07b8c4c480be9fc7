"""Activations and their gradients against NumPy in float64: dtypes, views, extremes, errors."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .arrays import VIEWS
from .networks import Host, derivative, dtypes_of, held, host, near, on

RNG = np.random.default_rng(20261125)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def the_same_draws() -> None:
    """Whichever tests came before."""
    RNG.bit_generator.state = START


def sigmoid(x: Host) -> Host:
    e = np.exp(-abs(x))
    return np.asarray(np.where(x < 0, e, 1) / (1 + e))


def softplus(x: Host) -> Host:
    return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-abs(x))))


def times(x: Host, weight: Host) -> Host:
    """Nothing of an infinity is nothing."""
    return np.asarray(np.where(weight == 0, 0, x * weight))


def gelu(x: Host) -> Host:
    half = np.vectorize(lambda one: math.erfc(-one / math.sqrt(2)) / 2, otypes=[float])(x)
    return times(x, half)


def gelu_tanh(x: Host) -> Host:
    return times(x, sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def softsign(x: Host) -> Host:
    return np.asarray(np.where(np.isinf(x), np.sign(x), x / (1 + abs(x))))


def hardswish(x: Host) -> Host:
    return times(x, np.clip(x + 3, 0, 6) / 6)


def tanhshrink(x: Host) -> Host:
    return np.asarray(x - np.tanh(x))


ALPHA, SCALE = 1.6732632423543772, 1.0507009873554805


class Case(NamedTuple):
    of: Callable[..., Host]
    numbers: dict[str, Any] = {}  # noqa: RUF012
    exponentials: bool = True
    kinks: tuple[float, ...] = ()


def linear(a: float) -> Callable[..., Host]:
    return lambda x: np.where(x > 0, x, x * a)


CASES: dict[str, Case] = {
    "relu": Case(lambda x: np.maximum(x, 0), {}, False, (0,)),
    "relu6": Case(lambda x: np.clip(x, 0, 6), {}, False, (0, 6)),
    "leaky_relu": Case(linear(0.01), {}, False, (0,)),
    "leaky_relu of 0.3": Case(linear(0.3), {"negative_slope": 0.3}, False, (0,)),
    "elu": Case(lambda x: np.where(x > 0, x, np.expm1(x)), {}, True, (0,)),
    "elu of 1.7": Case(
        lambda x: np.where(x > 0, x, 1.7 * np.expm1(x)), {"alpha": 1.7}, True, (0,)
    ),
    "celu": Case(lambda x: np.where(x > 0, x, np.expm1(x)), {}, True, (0,)),
    "celu of 2": Case(
        lambda x: np.where(x > 0, x, 2 * np.expm1(x / 2)), {"alpha": 2.0}, True, (0,)
    ),
    "selu": Case(lambda x: SCALE * np.where(x > 0, x, ALPHA * np.expm1(x)), {}, True, (0,)),
    "gelu": Case(gelu),
    "gelu by tanh": Case(gelu_tanh, {"approximate": "tanh"}),
    "silu": Case(lambda x: times(x, sigmoid(x))),
    "mish": Case(lambda x: times(x, np.tanh(softplus(x)))),
    "softplus": Case(lambda x: np.where(x > 20, x, softplus(x))),
    "softplus of 2": Case(
        lambda x: np.where(2 * x > 9, x, softplus(2 * x) / 2), {"beta": 2, "threshold": 9},
        True, (4.5,),
    ),
    "softsign": Case(softsign, {}, False),
    "sigmoid": Case(sigmoid),
    "logsigmoid": Case(lambda x: -softplus(-x)),
    "hardsigmoid": Case(lambda x: np.clip(x + 3, 0, 6) / 6, {}, False, (-3, 3)),
    "hardswish": Case(hardswish, {}, False, (-3, 3)),
    "hardtanh": Case(lambda x: np.clip(x, -1, 1), {}, False, (-1, 1)),
    "hardtanh of -2 and 0.5": Case(
        lambda x: np.clip(x, -2, 0.5), {"min_val": -2, "max_val": 0.5}, False, (-2, 0.5)
    ),
    "hardshrink": Case(lambda x: np.where(abs(x) <= 0.5, 0, x), {}, False, (-0.5, 0.5)),
    "softshrink": Case(
        lambda x: x - np.clip(x, -1.5, 1.5), {"lambd": 1.5}, False, (-1.5, 1.5)
    ),
    "tanhshrink": Case(tanhshrink),
    "threshold": Case(
        lambda x: np.where(x <= 0.25, -7, x), {"threshold": 0.25, "value": -7}, False, (0.25,)
    ),
    "tanh": Case(np.tanh),
    "rrelu": Case(linear(11 / 48), {}, False, (0,)),
    "rrelu of 0 and 1": Case(linear(0.5), {"lower": 0, "upper": 1}, False, (0,)),
}  # fmt: skip


def forward_of(name: str) -> Callable[..., tw.Array]:
    found: Callable[..., tw.Array] = getattr(tw.nn, name.split()[0])
    return found


def backward_of(name: str) -> Callable[..., tw.Array]:
    found: Callable[..., tw.Array] = getattr(tw.nn, f"{name.split()[0]}_backward")
    return found


def numbers(shape: tuple[int, ...], dtype: str, kinks: tuple[float, ...]) -> Host:
    """What a dtype holds, away from where there is no derivative."""
    drawn = held(RNG.uniform(-9, 9, shape), dtype)
    for kink in kinks:
        drawn = np.where(abs(drawn - kink) < 0.02, kink + 0.125, drawn)
    return held(drawn, dtype)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(be: Backend, name: str) -> None:
    of, options, has_exponentials, kinks = CASES[name]
    forward, backward = forward_of(name), backward_of(name)
    for dtype in dtypes_of(be, has_exponentials):
        for shape in ((), (0, 3), (61, 7)) if dtype == "float32" else ((61, 7),):
            x = numbers(shape, dtype, kinks)
            grad = held(RNG.uniform(-2, 2, shape), dtype)
            near(forward(on(be, x, dtype), **options), of(x), dtype)
            got = backward(on(be, grad, dtype), on(be, x, dtype), **options)
            exact = grad * derivative(of, x)
            # The differences themselves have 8 digits.
            near(got, exact, dtype, 16 if dtype != "float64" else 2e8)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", CASES)
def test_extremes(be: Backend, name: str) -> None:
    of, options, has_exponentials, _ = CASES[name]
    sizes = np.array([1e-38, 1e-7, 17.0, 30.0, 88.0, 104.0, 1e4, 6e4, np.inf])
    x = np.concatenate([-sizes, [0.0, np.nan], sizes])
    for dtype in sorted({"float16", "float32", "float64"} & set(dtypes_of(be, has_exponentials))):
        given = held(x, dtype)
        with np.errstate(all="ignore"):
            exact = of(given)
            low, high = of(given - 1.0) - of(given), of(given + 1.0) - of(given)
        near(forward_of(name)(on(be, given, dtype), **options), exact, dtype)
        grads = on(be, np.ones(x.size), dtype)
        got = host(backward_of(name)(grads, on(be, given, dtype), **options))
        np.testing.assert_array_equal(np.isnan(got), np.isnan(x))
        # Far away each is a line, whose slope at an end is that beside it.
        far = (abs(given) >= 60) & np.isfinite(given)
        np.testing.assert_allclose(got[far], low[far] * -1, atol=2e-2)
        np.testing.assert_allclose(got[far], high[far], atol=2e-2)
        np.testing.assert_allclose(got[[8, -1]], got[[6, -3]], atol=1e-6)


def test_float64_without_exponentials(be: Backend) -> None:
    """What a device lacks is said; nothing is computed elsewhere."""
    x = np.linspace(-3, 3, 7)
    if "float64" in dtypes_of(be):
        near(tw.nn.mish(on(be, x, "float64")), times(x, np.tanh(softplus(x))), "float64")
        return
    with pytest.raises(tw.Unsupported, match="float64"):
        tw.nn.mish(on(be, x, "float64")).numpy()


@pytest.mark.parametrize("view", VIEWS)
def test_views(be: Backend, view: str) -> None:
    cut = VIEWS[view]
    x, grad = held(RNG.uniform(-3, 3, (2, 12, 13)), "float32")
    a, g = cut(on(be, x)), cut(on(be, grad))
    near(tw.nn.silu(a), cut(x) * sigmoid(cut(x)), "float32")
    slope = derivative(lambda x: x * sigmoid(x), x)
    near(tw.nn.silu_backward(g, a), cut(grad * slope), "float32", 16)
    near(tw.nn.gelu_backward(cut(on(be, grad)), cut(on(be, x))), cut(grad * derivative(gelu, x)),
         "float32", 16)  # fmt: skip


def test_into_an_array(be: Backend) -> None:
    x = held(RNG.uniform(-3, 3, (5, 8)), "float32")
    exact = np.where(x > 0, x, 0.5 * np.expm1(x))
    a, out = on(be, x), on(be, np.zeros((8, 5)))
    assert tw.nn.elu(a, 0.5, out=out.T) is not None
    near(out.T, exact, "float32")
    assert tw.nn.elu(a, 0.5, out=a) is a
    near(a, exact, "float32")
    # What lies across its own operand is computed apart.
    square = held(RNG.uniform(-3, 3, (6, 6)), "float32")
    a = on(be, square)
    tw.nn.relu(a.T, out=a)
    near(a, np.maximum(square.T, 0), "float32")
    # What waits for its elements has them before they are written.
    a = on(be, x)
    with tw.deferred(True):
        later = a + 1
        tw.nn.relu(a, out=a)
    near(later, x + 1, "float32")


def test_one_launch(be: Backend) -> None:
    """Each is one program over its operands, at strides too."""
    x = on(be, held(RNG.uniform(-3, 3, (40, 30)), "float32"))
    cut = x[::2, ::-1]
    for call in (
        lambda: tw.nn.mish(cut), lambda: tw.nn.mish_backward(cut, cut), lambda: tw.nn.glu(cut),
        lambda: tw.nn.softplus(cut, 2), lambda: tw.nn.glu_backward(cut[:, :15], cut),
    ):  # fmt: skip
        be.synchronize()
        with be.profile() as profile:
            call()
            be.synchronize()
        # GPUs are sent two bytes, which say the halves of an axis.
        launches = [one for one in profile.records if one.kernel != "write_bytes"]
        assert len(launches) == 1, profile.records


def test_one_launch_with_what_they_come_of(be: Backend) -> None:
    x = held(RNG.uniform(-3, 3, (40, 30)), "float32")
    a, b = on(be, x), on(be, x[::-1])
    sigmoid = 1 / (1 + np.exp(-x))
    calls = {
        "relu": (lambda: tw.nn.relu(a + b) * 2, np.maximum(x + x[::-1], 0) * 2),
        "silu": (lambda: tw.nn.silu(a) * b, x * sigmoid * x[::-1]),
        "sigmoid": (lambda: 1 - tw.nn.sigmoid(a), 1 - sigmoid),
        "tanh": (lambda: tw.nn.tanh(a) + 1, np.tanh(x) + 1),
    }
    with tw.deferred(True):
        for name, (call, expected) in calls.items():
            call().numpy()  # a program of its own from the second time on
            be.synchronize()
            with be.profile() as profile:
                found = call()
                be.synchronize()
            assert len(profile.records) == 1, (name, profile.records)
            near(found, expected, "float32")
        for approximate in ("none", "tanh"):
            apart = tw.nn.gelu(a, approximate=approximate)
            be.synchronize()
            near(tw.nn.gelu(a, approximate=approximate) - apart, 0 * x, "float32")


def test_prelu(be: Backend) -> None:
    for dtype in dtypes_of(be, False):
        for shape, channels in (((3, 5, 4), 5), ((7, 2), 2), ((6,), 1), ((2, 3, 2, 5), 1)):
            x, grad = (held(RNG.uniform(-4, 4, shape), dtype) for _ in range(2))
            weight = held(RNG.uniform(0, 1, channels), dtype)
            spread = weight.reshape((-1,) + (1,) * (len(shape) - 2)) if channels > 1 else weight
            a, w, g = (on(be, one, dtype) for one in (x, weight, grad))
            near(tw.nn.prelu(a, w), np.where(x > 0, x, x * spread), dtype)
            by_x, by_weight = tw.nn.prelu_backward(g, a, w)
            near(by_x, grad * np.where(x > 0, 1, spread), dtype)
            parts = np.where(x > 0, 0, grad * x)
            axes = tuple(i for i in range(x.ndim) if i != 1 or channels == 1)
            near(by_weight, parts.sum(axis=axes).reshape(weight.shape), dtype, 8,
                 abs(parts).sum(axis=axes).reshape(weight.shape))  # fmt: skip


def test_glu(be: Backend) -> None:
    for dtype in dtypes_of(be):
        for dim, shape in ((-1, (3, 8)), (0, (6, 5)), (1, (2, 4, 3)), (0, (0,)), (1, (3, 0))):
            x = held(RNG.uniform(-4, 4, shape), dtype)
            a, b = np.split(x, 2, axis=dim)
            grad = held(RNG.uniform(-2, 2, a.shape), dtype)
            near(tw.nn.glu(on(be, x, dtype), dim), a * sigmoid(b), dtype)
            parts = [grad * sigmoid(b), grad * a * sigmoid(b) * sigmoid(-b)]
            got = tw.nn.glu_backward(on(be, grad, dtype), on(be, x, dtype), dim)
            near(got, np.concatenate(parts, axis=dim), dtype)


def test_under_compile(be: Backend) -> None:
    run = tw.compile(lambda x: tw.nn.gelu_backward(tw.nn.mish(x), x))
    for _ in range(3):
        x = held(RNG.uniform(-3, 3, (4, 5)), "float32")
        exact = times(x, np.tanh(softplus(x))) * derivative(gelu, x)
        near(run(on(be, x)), exact, "float32", 16)
    run.clear()


def test_signatures() -> None:
    """They say their arguments, as functions that are written out do."""
    said = str(inspect.signature(tw.nn.softplus))
    assert said == "(x, /, beta=1.0, threshold=20.0, *, out=None)"
    said = str(inspect.signature(tw.nn.threshold_backward))
    assert said == "(grad, x, /, threshold, value, *, out=None)"
    for name in tw.nn.__all__:
        assert name == "optim" or getattr(tw.nn, name).__doc__, name
        if name.endswith("_backward"):
            assert name.removesuffix("_backward") in tw.nn.__all__


def test_wrong_arguments(be: Backend) -> None:
    x, nn = on(be, np.ones((3, 4))), tw.nn
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("relu: x is .*, expected an Array", lambda: nn.relu([1.0])),
        ("relu: x is int32, expected floats", lambda: nn.relu(on(be, [1], "int32"))),
        ("relu: out is float32 of shape .3, 4., expected float32 of shape .4, 3.",
         lambda: nn.relu(x.T, out=x)),
        ("relu_backward: x has shape .4, 3., expected .3, 4. as grad has",
         lambda: nn.relu_backward(x, x.T)),
        ("elu_backward: x is float16, expected float32 as grad is",
         lambda: nn.elu_backward(x, x.astype("float16"))),
        ("elu: alpha is 'a' .str., expected a number", lambda: nn.elu(x, "a")),
        ("celu: alpha is 0, expected another number", lambda: nn.celu(x, alpha=0)),
        ("softplus: beta is 0", lambda: nn.softplus(x, 0)),
        ("hardtanh: min_val is 2.0 and max_val 1.0", lambda: nn.hardtanh(x, 2)),
        ("softshrink: lambd is -1.0, expected 0 or more", lambda: nn.softshrink(x, -1)),
        ("hardshrink_backward: lambd is nan", lambda: nn.hardshrink_backward(x, x, math.nan)),
        ("rrelu: lower is 0.5 and upper", lambda: nn.rrelu(x, 0.5)),
        ("gelu: approximate is 'erf'.*, expected 'none' or 'tanh'", lambda: nn.gelu(x, "erf")),
        ("gelu_backward: approximate", lambda: nn.gelu_backward(x, x, "erf")),
        ("prelu: weight has 3 elements, expected 1 or 4", lambda: nn.prelu(x, x[:, 0])),
        ("prelu: weight has shape .3, 4.", lambda: nn.prelu(x, x)),
        ("glu: axis 0 of x has 3 elements, expected an even number", lambda: nn.glu(x, 0)),
        ("glu: dim is 2, expected one of the 2 axes", lambda: nn.glu(x, 2)),
        ("glu_backward: grad has shape .3, 4., expected .3, 2.", lambda: nn.glu_backward(x, x)),
    ]  # fmt: skip
    for message, call in calls:
        with pytest.raises(InvalidArgument, match=message):
            call()
    for text, call in (
        ("unexpected keyword argument 'slope'", lambda: nn.leaky_relu(x, slope=1)),
        ("takes 1 numbers, got 2", lambda: nn.leaky_relu(x, 1, 2)),
        ("multiple values for argument 'alpha'", lambda: nn.elu(x, 1, alpha=1)),
        ("missing the required argument 'value'", lambda: nn.threshold(x, 1)),
        ("takes 0 numbers, got 1", lambda: nn.relu(x, 1)),
    ):
        with pytest.raises(TypeError, match=text):
            call()
    near(x, np.ones((3, 4)), "float32")
