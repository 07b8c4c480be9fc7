"""Convolutions of tw.nn along one to three axes against sums over taps of NumPy in float64."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .elements import has
from .networks import Host, gradient, held, host, near, on

RNG = np.random.default_rng(20261126)
START = RNG.bit_generator.state
NUMPY_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pytest.fixture(autouse=True)
def the_same_draws() -> None:
    """Whichever tests came before."""
    RNG.bit_generator.state = START


class Case(NamedTuple):
    shape: tuple[int, ...]
    filters: int
    window: tuple[int, ...]
    stride: Any = 1
    padding: Any = 0
    dilation: Any = 1
    groups: int = 1
    mode: str = "zeros"

    @property
    def axes(self) -> int:
        return len(self.window)

    @property
    def weight(self) -> tuple[int, ...]:
        return (self.filters, self.shape[-self.axes - 1] // self.groups, *self.window)

    @property
    def options(self) -> tuple[Any, ...]:
        return self.stride, self.padding, self.dilation, self.groups, self.mode


CASES = [
    Case((2, 3, 17), 4, (3,)),
    Case((1, 4, 10), 6, (4,), 2, 3, 2, 2),
    Case((2, 2, 9), 2, (4,), 1, "same", 1, 2),
    Case((1, 1, 1), 1, (1,)),
    Case((3, 8), 5, (3,), 1, 1),
    Case((1, 3, 11), 2, (5,), 2, 2, 1, 1, "reflect"),
    Case((2, 3, 8, 7), 4, (3, 2), (2, 1), (1, 0)),
    Case((1, 6, 9, 8), 6, (3, 3), 1, ((2, 1), (0, 1)), 1, 6),
    Case((1, 2, 6, 7), 3, (3, 3), 1, 2, 1, 1, "circular"),
    Case((1, 2, 6, 7), 3, (3, 4), 2, ((1, 2), (2, 2)), 1, 1, "replicate"),
    Case((2, 4, 7, 5), 4, (2, 3), 1, "same", (2, 1), 2),
    Case((0, 3, 4, 4), 2, (3, 3)),
    Case((2, 3, 5, 6, 7), 4, (2, 3, 3)),
    Case((1, 4, 7, 5, 6), 6, (3, 2, 1), (2, 1, 2), (1, 0, 1), (2, 1, 1), 2),
    Case((1, 2, 4, 4, 5), 2, (3, 3, 3), 1, "same", 1, 2, "reflect"),
    Case((2, 2, 3, 5), 3, (1, 1, 1), (1, 2, 1)),
    Case((1, 1, 1, 4, 3), 2, (3, 1, 1), 1, (2, 0, 0)),
]
NAMES = [f"{i}-{'x'.join(map(str, one.shape))}-{one.mode}" for i, one in enumerate(CASES)]


def many(value: Any, axes: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, tuple) else (value,) * axes


def around(case: Case) -> list[tuple[int, int]]:
    if case.padding == "same":
        reach = [
            (k - 1) * d for k, d in zip(case.window, many(case.dilation, case.axes), strict=True)
        ]
        return [(one // 2, one - one // 2) for one in reach]
    each = many(case.padding, case.axes)
    return [one if isinstance(one, tuple) else (one, one) for one in each]


def taps(case: Case, out: Sequence[int]) -> Any:
    """Each tap of a filter, and where of the padded input it meets outputs."""
    steps, gaps = many(case.stride, case.axes), many(case.dilation, case.axes)
    for tap in itertools.product(*map(range, case.window)):
        where = tuple(
            slice(t * d, t * d + (o - 1) * s + 1, s)
            for t, d, o, s in zip(tap, gaps, out, steps, strict=True)
        )
        yield tap, where


def meeting(results: Host, inputs: Host) -> Host:
    """What a tap gets, of [batch, groups, filters, ...] and [batch, groups, channels, ...]."""
    flat = [one.reshape((*one.shape[:3], math.prod(one.shape[3:]))) for one in (results, inputs)]
    found: Host = np.einsum("ngkz,ngcz->gkc", *flat)
    return found


class Expected(NamedTuple):
    result: Host
    by_x: Host
    by_weight: Host
    by_bias: Host
    grad: Host
    most: float
    """How many products a result sums, at most."""


def padded(x: Host, case: Case) -> Host:
    lead = [(0, 0)] * (x.ndim - case.axes)
    return np.pad(x, lead + around(case), mode=NUMPY_MODES[case.mode])  # type: ignore[call-overload]


def unpadded(back: Host, shape: tuple[int, ...], case: Case) -> Host:
    """The gradient of padded(): found by padding the places."""
    places = padded(np.arange(np.prod(shape[-case.axes :])).reshape(shape[-case.axes :]) + 1, case)
    found = np.zeros((*shape[: -case.axes], int(np.prod(shape[-case.axes :])) + 1))
    flat = back.reshape((*shape[: -case.axes], places.size))
    for i, place in enumerate(places.reshape(-1).astype(int)):
        found[..., place] += flat[..., i]
    return found[..., 1:].reshape(shape)


def expected(x: Host, weight: Host, bias: Host, case: Case, dtype: str) -> Expected:
    is_batched = x.ndim == case.axes + 2
    shape = x.shape if is_batched else (1, *x.shape)
    x = x.reshape(shape)
    whole = padded(x, case)
    steps, gaps = many(case.stride, case.axes), many(case.dilation, case.axes)
    out = tuple(
        (n - (k - 1) * d - 1) // s + 1
        for n, k, d, s in zip(whole.shape[2:], case.window, gaps, steps, strict=True)
    )
    g, n = case.groups, shape[0]
    split = whole.reshape((n, g, shape[1] // g, *whole.shape[2:]))
    filters = weight.reshape((g, case.filters // g, *weight.shape[1:]))
    result = np.zeros((n, g, case.filters // g, *out))
    grad = held(RNG.standard_normal(result.shape), dtype)
    back, by_weight = np.zeros(split.shape), np.zeros(filters.shape)
    for tap, where in taps(case, out):
        own = (slice(None),) * 3
        part = split[own + where]
        at = (*own, *tap)
        result += np.einsum("ngc...,gkc->ngk...", part, filters[at])
        back[own + where] += np.einsum("ngk...,gkc->ngc...", grad, filters[at])
        by_weight[at] = meeting(grad, part)
    result = result.reshape((n, case.filters, *out))
    grad = grad.reshape(result.shape)
    result = result + bias.reshape((-1, *(1,) * case.axes))
    by_x = unpadded(back.reshape(whole.shape), shape, case)
    by_bias = grad.sum(axis=(0, *range(2, grad.ndim)))
    if not is_batched:
        result, grad, by_x = result[0], grad[0], by_x[0]
    return Expected(
        result, by_x, by_weight.reshape(weight.shape), by_bias, grad,
        float(max(np.prod(weight.shape[1:]), grad.size / case.filters, 1)),
    )  # fmt: skip


def close(got: tw.Array | None, exact: Host, dtype: str, terms: float) -> None:
    """What sums so many products of numbers about 1. float16 may be rounded before parts of sums
    are joined."""
    assert got is not None
    deep = terms**0.5
    near(got, exact, dtype, 16 * deep + (8192 if dtype == "float16" else 0), at=deep)


def functions(axes: int, transposed: bool = False) -> tuple[Any, Any]:
    name = f"conv_transpose{axes}d" if transposed else f"conv{axes}d"
    return getattr(tw.nn, name), getattr(tw.nn, f"{name}_backward")


def dtypes(be: Backend) -> list[str]:
    return [one for one in ("float32", "float16", "bfloat16") if has(be, one) and takes(be, one)]


def takes(be: Backend, dtype: str) -> bool:
    # bfloat16 is computed in float32.
    dtype = "float32" if dtype == "bfloat16" else dtype
    return be.supports("conv2d_forward", dtype) and be.supports("conv2d_backward_filter", dtype)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_convolutions(be: Backend, case: Case) -> None:
    forward, backward = functions(case.axes)
    for dtype in dtypes(be):
        x = held(RNG.standard_normal(case.shape), dtype)
        weight = held(RNG.standard_normal(case.weight), dtype)
        bias = held(RNG.standard_normal(case.filters), dtype)
        exact = expected(x, weight, bias, case, dtype)
        xs, ws = on(be, x, dtype), on(be, weight, dtype)
        got = forward(xs, ws, on(be, bias, dtype), *case.options)
        close(got, exact.result, dtype, exact.most)
        found = backward(on(be, exact.grad, dtype), xs, ws, *case.options)
        terms = exact.most * case.filters
        close(found.x, exact.by_x, dtype, terms)
        close(found.weight, exact.by_weight, dtype, terms)
        close(found.bias, exact.by_bias, dtype, terms)


class Back(NamedTuple):
    """A transposed convolution: what it is the gradient of, and its output_padding."""

    shape: tuple[int, ...]
    results: int
    window: tuple[int, ...]
    stride: Any = 1
    padding: Any = 0
    output_padding: Any = 0
    groups: int = 1
    dilation: Any = 1

    @property
    def axes(self) -> int:
        return len(self.window)


BACK = [
    Back((2, 3, 7), 4, (3,)),
    Back((1, 4, 6), 4, (4,), 3, 1, 2, 2),
    Back((3, 5), 2, (2,), 1, 0, 1, 1, 2),
    Back((1, 2, 1), 1, (3,), 2, 1),
    Back((2, 4, 5, 4), 6, (3, 2), (2, 1), (1, 0), (1, 0), 2),
    Back((1, 2, 4, 5), 3, (3, 3), 2, 1, 2, 1, 3),
    Back((0, 2, 3, 3), 2, (2, 2)),
    Back((2, 3, 3, 4, 5), 2, (2, 3, 3), 2, (0, 1, 1), (1, 0, 1)),
    Back((1, 4, 4, 2, 3), 4, (3, 1, 2), (1, 2, 1), (1, 0, 0), 0, 4, (2, 1, 1)),
]


@pytest.mark.parametrize("case", BACK, ids=[f"{i}-{one.shape}" for i, one in enumerate(BACK)])
def test_transposed(be: Backend, case: Back) -> None:
    """Each element of x spreads its filter over the result."""
    axes, g = case.axes, case.groups
    forward, backward = functions(axes, transposed=True)
    steps, gaps = many(case.stride, axes), many(case.dilation, axes)
    pads, more = many(case.padding, axes), many(case.output_padding, axes)
    lengths = case.shape[-axes:]
    each = zip(lengths, steps, case.window, gaps, more, strict=True)
    whole = [(n - 1) * s + (k - 1) * d + 1 + e for n, s, k, d, e in each]
    inside = tuple(slice(p, n - p) for p, n in zip(pads, whole, strict=True))
    channels = case.shape[-axes - 1]
    batch = case.shape[0] if len(case.shape) == axes + 2 else 1
    tap_case = Case(case.shape, channels, case.window, case.stride, 0, case.dilation)
    for dtype in dtypes(be):
        x = held(RNG.standard_normal((batch, g, channels // g, *lengths)), dtype)
        weight = held(
            RNG.standard_normal((g, channels // g, case.results // g, *case.window)), dtype
        )
        bias = held(RNG.standard_normal(case.results), dtype)
        spread = np.zeros((batch, g, case.results // g, *whole))
        own = (slice(None),) * 3
        for tap, where in taps(tap_case, lengths):
            spread[own + where] += np.einsum("ngk...,gkc->ngc...", x, weight[(*own, *tap)])
        result = spread[own + inside].reshape(
            (batch, case.results, *spread[own + inside].shape[3:])
        )
        grad = held(RNG.standard_normal(result.shape), dtype)
        wide = np.zeros(spread.shape)
        wide[own + inside] = grad.reshape(wide[own + inside].shape)
        by_x, by_weight = np.zeros(x.shape), np.zeros(weight.shape)
        for tap, where in taps(tap_case, lengths):
            by_x += np.einsum("ngc...,gkc->ngk...", wide[own + where], weight[(*own, *tap)])
            by_weight[(*own, *tap)] = meeting(x, wide[own + where])
        result = result + bias.reshape((-1, *(1,) * axes))
        options = (case.stride, case.padding, case.output_padding, case.groups, case.dilation)
        lead = case.shape[:-axes] if len(case.shape) == axes + 2 else (channels,)
        xs = on(be, x.reshape((*lead, *lengths)), dtype)
        ws = on(be, weight.reshape((channels, case.results // g, *case.window)), dtype)
        shape = result.shape if len(case.shape) == axes + 2 else result.shape[1:]
        got = forward(xs, ws, on(be, bias, dtype), *options)
        terms = float(np.prod(case.window) * max(channels, case.results) * max(batch, 1))
        close(got, result.reshape(shape), dtype, terms)
        found = backward(on(be, grad.reshape(shape), dtype), xs, ws, *options)
        terms *= float(np.prod(lengths))
        close(found.x, by_x.reshape(case.shape), dtype, terms)
        close(found.weight, by_weight.reshape(ws.shape), dtype, terms)
        close(found.bias, grad.sum(axis=(0, *range(2, grad.ndim))), dtype, terms)


def test_gradients_by_differences(be: Backend) -> None:
    x, weight = RNG.standard_normal((1, 2, 4, 3, 3)), RNG.standard_normal((2, 1, 2, 2, 2))
    options = (1, 1, 1, 2, "reflect")
    grad = RNG.standard_normal((1, 2, 5, 4, 4))

    def loss(a: Host, b: Host) -> float:
        found = tw.nn.conv3d(on(be, a), on(be, b), None, *options)
        return float((host(found) * grad).sum())

    by = tw.nn.conv3d_backward(on(be, grad), on(be, x), on(be, weight), *options)
    # Linear in each, so that a long step is exact.
    np.testing.assert_allclose(host(by.x), gradient(lambda a: loss(a, weight), x, 1.0), atol=2e-4)
    np.testing.assert_allclose(
        host(by.weight), gradient(lambda b: loss(x, b), weight, 1.0), atol=2e-4
    )


def test_depth_is_laid_out_in_parts(be: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a part holds, the results are those of one."""
    x, weight = RNG.standard_normal((5, 2, 4, 3, 3)), RNG.standard_normal((3, 2, 2, 2, 2))
    xs, ws = on(be, x), on(be, weight)
    whole = tw.nn.conv3d(xs, ws, padding=1)
    by = tw.nn.conv3d_backward(whole, xs, ws, padding=1)
    # Depth of 5 by 2 channels and 2 taps of 9 elements: two samples.
    monkeypatch.setattr("tilewright.nn.convolving.MOST_UNFOLDED", 2 * 5 * 2 * 2 * 9 * 4)
    np.testing.assert_array_equal(tw.nn.conv3d(xs, ws, padding=1).numpy(), whole.numpy())
    parts = tw.nn.conv3d_backward(whole, xs, ws, padding=1)
    assert by.x is not None and by.weight is not None
    assert parts.x is not None and parts.weight is not None
    np.testing.assert_allclose(parts.x.numpy(), by.x.numpy(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(parts.weight.numpy(), by.weight.numpy(), rtol=1e-4, atol=1e-3)


def test_views_and_what_is_wanted(be: Backend) -> None:
    x = RNG.standard_normal((2, 7, 3)).astype(np.float32)
    weight = RNG.standard_normal((3, 4, 3)).astype(np.float32)
    xs = on(be, x).transpose((0, 2, 1))  # channels last
    ws = on(be, weight).transpose((1, 0, 2))
    got = tw.nn.conv1d(xs, ws)
    plain = tw.nn.conv1d(
        on(be, x.transpose((0, 2, 1)).copy()), on(be, weight.transpose((1, 0, 2)).copy())
    )
    np.testing.assert_allclose(got.numpy(), plain.numpy(), rtol=1e-5, atol=1e-6)
    found = tw.nn.conv1d_backward(got, xs, ws, wanted=(False, True, False))
    assert found.x is None and found.bias is None and found.weight is not None
    assert found.weight.shape == (4, 3, 3)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_pad(be: Backend, mode: str) -> None:
    widths = (2, 1, 0, 3) if mode != "constant" else (2, 1, 0, 3, 1, 0)
    x = RNG.standard_normal((2, 4, 5)).astype(np.float32)
    pairs = [(0, 0)] * (3 - len(widths) // 2)
    pairs += list(zip(widths[::2], widths[1::2], strict=True))[::-1]
    kind = {"constant": "constant", "replicate": "edge", "circular": "wrap"}.get(mode, mode)
    extra = {"constant_values": 3.0} if mode == "constant" else {}
    expected = np.pad(x, pairs, mode=kind, **extra)  # type: ignore[call-overload]
    got = tw.nn.pad(on(be, x), widths, mode, 3.0)
    np.testing.assert_array_equal(got.numpy(), expected)
    grad = RNG.standard_normal(expected.shape)
    places = np.pad(np.arange(1, x.size + 1).reshape(x.shape), pairs, mode=kind)  # type: ignore[call-overload]
    back = np.bincount(places.reshape(-1), grad.reshape(-1), x.size + 1)[1:].reshape(x.shape)
    found = tw.nn.pad_backward(on(be, grad), widths, mode)
    np.testing.assert_allclose(found.numpy(), back, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_pad_of_less_than_nothing(be: Backend, mode: str) -> None:
    """Numbers below 0 leave elements out first."""
    x = RNG.standard_normal((3, 6, 5)).astype(np.float32)
    pairs, kind = [(0, 0), (-2, 1), (2, -1)], {"replicate": "edge", "circular": "wrap"}
    around: Any = [(0, 0), (0, 1), (2, 0)]
    name: Any = kind.get(mode, mode)
    expected = np.pad(x[:, 2:, :4], around, mode=name)
    widths = [*pairs[2], *pairs[1]]
    got = tw.nn.pad(on(be, x), widths, mode)
    np.testing.assert_array_equal(got.numpy(), expected)
    grad = RNG.standard_normal(expected.shape)
    numbers = np.arange(1, x.size + 1).reshape(x.shape)[:, 2:, :4]
    places = np.pad(numbers, around, mode=name)
    back = np.bincount(places.reshape(-1), grad.reshape(-1), x.size + 1)[1:].reshape(x.shape)
    found = tw.nn.pad_backward(on(be, grad), widths, mode)
    np.testing.assert_allclose(found.numpy(), back, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_float64_is_refused_by_name(be: Backend, axes: int) -> None:
    if not has(be, "float64"):
        with pytest.raises(tw.Unsupported):
            on(be, np.zeros(2), "float64") + 1
        return
    x, weight = (on(be, np.ones((2, 2, *(3,) * axes)), "float64") for _ in range(2))
    for transposed in (False, True):
        forward, backward = functions(axes, transposed)
        name = forward.__name__
        for call in (partial(forward, x, weight), partial(backward, x, x, weight)):
            with pytest.raises(
                InvalidArgument, match=f"^{name}(_backward)?: .*is float64, .*astype"
            ):
                call()


def test_linear(be: Backend) -> None:
    for dtype in dtypes(be):
        if dtype == "bfloat16":
            continue
        x, weight, bias, grad = (
            held(RNG.standard_normal(shape), dtype)
            for shape in ((2, 3, 7), (5, 7), (5,), (2, 3, 5))
        )
        got = tw.nn.linear(on(be, x, dtype), on(be, weight, dtype), on(be, bias, dtype))
        near(got, x @ weight.T + bias, dtype, 32, at=4)
        found = tw.nn.linear_backward(on(be, grad, dtype), on(be, x, dtype), on(be, weight, dtype))
        near(found.x, grad @ weight, dtype, 32, at=4)
        near(found.weight, np.einsum("abk,abc->kc", grad, x), dtype, 32, at=4)
        near(found.bias, grad.sum(axis=(0, 1)), dtype, 32, at=4)


def test_linear_of_no_results_or_features(be: Backend) -> None:
    for rows, features, results in ((3, 4, 0), (3, 0, 2), (0, 4, 2)):
        x, weight, grad = (
            ones(be, rows, features),
            ones(be, results, features),
            ones(be, rows, results),
        )
        found = tw.nn.linear_backward(grad, x, weight)
        np.testing.assert_array_equal(found.x.numpy(), np.full((rows, features), results))
        np.testing.assert_array_equal(found.weight.numpy(), np.full((results, features), rows))
        np.testing.assert_array_equal(found.bias.numpy(), np.full(results, rows))


def test_nan_stays_where_it_is_met(be: Backend) -> None:
    x = np.ones((1, 1, 9), np.float32)
    x[0, 0, 0], x[0, 0, 8] = np.nan, np.inf
    got = tw.nn.conv1d(on(be, x), on(be, np.ones((1, 1, 3)))).numpy()[0, 0]
    assert np.isnan(got[0]) and got[6] == np.inf
    np.testing.assert_array_equal(got[1:6], 3.0)


def ones(be: Backend, *shape: int) -> tw.Array:
    return tw.ones(shape, device=be)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"x": (2, 3)}, r"conv2d: x has shape \(2, 3\), expected 4 dimensions"),
        ({"weight": (2, 3, 3)}, r"conv2d: weight has shape \(2, 3, 3\), expected 4 dimensions"),
        ({"weight": (2, 3, 0, 3)}, "none of them 0"),
        ({"weight": (2, 4, 3, 3)}, r"expected 4 channels of x, which has shape \(1, 3, 5, 5\)"),
        ({"groups": 2}, "expected 6 channels of x"),
        ({"groups": 0}, "groups is 0, expected a divisor of 2"),
        ({"groups": 3}, "groups is 3, expected a divisor of 2"),
        ({"bias": (3,)}, r"bias has shape \(3,\), expected \(2,\)"),
        ({"stride": 0}, "stride is 0 .*, expected integers of 1 or more"),
        ({"dilation": (1, 0)}, r"dilation is \(1, 0\) .*, expected integers of 1 or more"),
        ({"padding": -1}, "padding is -1 .*, expected integers of 0 or more"),
        ({"padding": "full"}, "padding is 'full' .*, expected integers, pairs"),
        ({"padding": "same", "stride": 2}, 'padding is "same" with stride'),
        ({"padding_mode": "mirror"}, "padding_mode is 'mirror' .*, expected one of zeros, reflect"),
        ({"padding_mode": "reflect", "padding": 5}, "expected 4 at most with reflect"),
        ({"dilation": 3}, "weight spans 7 along axis 0, dilation counted, more than the 5"),
    ],
)  # fmt: skip
def test_wrong_arguments(be: Backend, given: dict[str, Any], said: str) -> None:
    options = {"x": (1, 3, 5, 5), "weight": (2, 3, 3, 3)} | given
    x, weight = ones(be, *options.pop("x")), ones(be, *options.pop("weight"))
    bias = ones(be, *options.pop("bias")) if "bias" in options else None
    with pytest.raises(InvalidArgument, match=said):
        tw.nn.conv2d(x, weight, bias, **options)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"weight": (2, 3, 3)}, r"expected 3 in front, the channels of x"),
        ({"output_padding": 1}, "output_padding is 1 .*, expected less than 1 along axis 0"),
        ({"padding": 4}, "padding is 4 .*: of 5 elements along axis 0 nothing is left"),
        ({"groups": 2}, "groups is 2, expected a divisor of 3, the channels of x"),
    ],
)
def test_wrong_arguments_of_transposed(be: Backend, given: dict[str, Any], said: str) -> None:
    options = {"weight": (3, 2, 3)} | given
    weight = ones(be, *options.pop("weight"))
    with pytest.raises(InvalidArgument, match=said):
        tw.nn.conv_transpose1d(ones(be, 1, 3, 5), weight, None, **options)


def test_wrong_gradients(be: Backend) -> None:
    x, weight = ones(be, 1, 3, 5), ones(be, 2, 3, 3)
    with pytest.raises(InvalidArgument, match=r"grad has shape \(1, 2, 4\), expected \(1, 2, 3\)"):
        tw.nn.conv1d_backward(ones(be, 1, 2, 4), x, weight)
    with pytest.raises(
        InvalidArgument, match=r"wanted is True .*, expected three of True and False"
    ):
        tw.nn.conv1d_backward(ones(be, 1, 2, 3), x, weight, wanted=True)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match=r"pad is \(1,\) .*, expected a pair"):
        tw.nn.pad(x, (1,))
    with pytest.raises(InvalidArgument, match=r"leaves out 6 of the 5 elements along axis 2"):
        tw.nn.pad(x, (-2, -4))
    with pytest.raises(InvalidArgument, match="expected 4 at most with reflect"):
        tw.nn.pad(x, (5, 1), "reflect")
    with pytest.raises(InvalidArgument, match="axis of 0, expected 0 at most with replicate"):
        tw.nn.pad(ones(be, 2, 0), (1, 1, 1, 1), "replicate")
    with pytest.raises(InvalidArgument, match=r"x has shape .* expected 3 elements"):
        tw.nn.linear(x, ones(be, 2, 3))
