"""Pooling along one to three axes and its gradients against loops of NumPy in float64."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .networks import FLOATS, Host, held, host, near, on

RNG = np.random.default_rng(20261201)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def the_same_draws() -> None:
    """Whichever tests came before."""
    RNG.bit_generator.state = START


class Case(NamedTuple):
    shape: tuple[int, ...]
    window: Any
    stride: Any = None
    padding: Any = 0
    dilation: Any = 1
    ceil_mode: bool = False

    @property
    def axes(self) -> int:
        return len(self.shape) - 2


CASES = [
    Case((2, 3, 17), 2),
    Case((1, 2, 10), 3, 1, 1),
    Case((2, 1, 11), 3, 2, 1, 2),
    Case((1, 1, 8), 3, 2, 0, 1, True),
    Case((1, 2, 5), 2, 4, 1, 1, True),
    Case((2, 3, 6, 7), 2),
    Case((1, 2, 7, 5), (3, 2), (2, 1), (1, 0)),
    Case((1, 1, 9, 8), (2, 3), 2, 1, (3, 1), True),
    Case((0, 3, 4, 4), 2),
    Case((1, 2, 4, 5, 6), 2),
    Case((1, 1, 5, 4, 6), (3, 2, 3), (1, 2, 2), (1, 1, 0), (1, 1, 2), True),
    # With ceil_mode a window may be longer than the input.
    Case((1, 2, 2), 3, 2, 0, 1, True),
    Case((1, 1, 2, 3), 3, 2, 0, 1, True),
    Case((1, 1, 8, 11), 4, None, 0, 3, True),
    Case((1, 1, 2, 2, 1), 3, 3, 1, 1, True),
]


def many(value: Any, axes: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, tuple) else (value,) * axes


def windows(case: Case) -> tuple[tuple[int, ...], Callable[[tuple[int, ...]], Any]]:
    """The outputs of a plane, and the places that each one's window has of each axis."""
    axes = case.axes
    sizes, pads, gaps = (many(one, axes) for one in (case.window, case.padding, case.dilation))
    steps = sizes if case.stride is None else many(case.stride, axes)
    out = []
    for length, k, s, p, d in zip(case.shape[2:], sizes, steps, pads, gaps, strict=True):
        room = length + 2 * p - d * (k - 1) - 1
        count = (math.ceil(room / s) if case.ceil_mode else room // s) + 1
        if case.ceil_mode and (count - 1) * s >= length + p:
            count -= 1
        out.append(count)

    def places(at: tuple[int, ...]) -> Any:
        return [
            [o * s - p + i * d for i in range(k)]
            for o, k, s, p, d in zip(at, sizes, steps, pads, gaps, strict=True)
        ]

    return tuple(out), places


def pooled(x: Host, case: Case, grad: Host | None = None, *, is_max: bool, include: bool = True,
           override: int | None = None) -> tuple[Host, Host, Host]:  # fmt: skip
    """The result, the places of the largest, and the gradient by x."""
    out, places = windows(case)
    result = np.zeros((*case.shape[:2], *out))
    found = np.zeros(result.shape, np.int32)
    back = np.zeros(case.shape)
    lengths = case.shape[2:]
    pads = many(case.padding, case.axes)
    grad = np.zeros(result.shape) if grad is None else grad
    for plane in np.ndindex(case.shape[:2]):
        for at in np.ndindex(out):
            ways = list(itertools.product(*places(at)))
            here = [one for one in ways
                    if all(0 <= i < n for i, n in zip(one, lengths, strict=True))]  # fmt: skip
            edges = list(zip(lengths, pads, strict=True))
            counted = [
                one
                for one in ways
                if all(-p <= i < n + p for i, (n, p) in zip(one, edges, strict=True))
            ]
            values = np.array([x[plane + one] for one in here])
            if is_max:
                best = here[int(np.argmax(values))]
                result[plane + at] = values.max()
                found[plane + at] = np.ravel_multi_index(best, lengths)
                back[plane + best] += grad[plane + at]
            else:
                count = override or len(counted if include else here)
                result[plane + at] = values.sum() / count
                for one in here:
                    back[plane + one] += grad[plane + at] / count
    return result, found, back


def calls_of(kind: str, axes: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    name = f"{kind}_pool{axes}d"
    return getattr(tw.nn, name), getattr(tw.nn, f"{name}_backward")


def floats_of(be: Backend, index: int) -> list[str]:
    """Each dtype of a few cases, float32 of all."""
    stored = be.capabilities().storage_dtypes
    return [one for one in FLOATS if one in stored and (one == "float32" or index in (1, 6))]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("index", range(len(CASES)))
def test_max_pool(be: Backend, index: int) -> None:
    case = CASES[index]
    forward, backward = calls_of("max", case.axes)
    for dtype in floats_of(be, index):
        # Whole numbers, of which some are equal.
        x = held(RNG.integers(-9, 9, case.shape), dtype)
        grad = held(RNG.uniform(-2, 2, (*case.shape[:2], *windows(case)[0])), dtype)
        exact, places, by_x = pooled(x, case, grad, is_max=True)
        got, found = forward(on(be, x, dtype), *case[1:], True)
        near(got, exact, dtype)
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found.numpy(), places)
        near(forward(on(be, x, dtype), *case[1:]), exact, dtype)
        a, g = on(be, x, dtype), on(be, grad, dtype)
        near(backward(g, a, *case[1:]), by_x, dtype, 8, 8)
        near(backward(g, a, *case[1:], indices=found), by_x, dtype, 8, 8)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("index", [i for i, case in enumerate(CASES) if case.dilation == 1])
def test_avg_pool(be: Backend, index: int) -> None:
    case = CASES[index]
    forward, backward = calls_of("avg", case.axes)
    options = (case.window, case.stride, case.padding, case.ceil_mode)
    for dtype in floats_of(be, index):
        x = held(RNG.uniform(-2, 2, case.shape), dtype)
        grad = held(RNG.uniform(-2, 2, (*case.shape[:2], *windows(case)[0])), dtype)
        a, g = on(be, x, dtype), on(be, grad, dtype)
        for include, override in ((True, None), (False, None), (True, 7)):
            exact, _, by_x = pooled(x, case, grad, is_max=False, include=include, override=override)
            near(forward(a, *options, include, override), exact, dtype, 8, 8)
            near(backward(g, a, *options, include, override), by_x, dtype, 8, 8)


def test_views_and_planes_without_batch(be: Backend) -> None:
    x = held(RNG.integers(-9, 9, (3, 9, 8)), "float32")
    a = on(be, np.ascontiguousarray(x.transpose(2, 0, 1))).transpose(1, 2, 0)
    case = Case((1, 3, 9, 8), 3, 2, 1)
    exact, places, _ = pooled(x[None], case, is_max=True)
    got, found = tw.nn.max_pool2d(a, 3, 2, 1, return_indices=True)
    near(got, exact[0], "float32")
    np.testing.assert_array_equal(found.numpy(), places[0])
    exact, _, by_x = pooled(x[None], case, exact, is_max=False)
    near(tw.nn.avg_pool2d(a[:, :, :], 3, 2, 1), exact[0], "float32", 8, 8)
    turned = on(be, x[:, ::-1, ::-1].copy())[:, ::-1, ::-1]
    near(tw.nn.avg_pool2d(turned, 3, 2, 1), exact[0], "float32", 8, 8)
    near(tw.nn.avg_pool2d_backward(got, turned, 3, 2, 1), by_x[0], "float32", 8, 8)


def test_extremes(be: Backend) -> None:
    x = on(be, [[[1.0, np.nan, 2, 3, -np.inf, -np.inf, np.inf, 1]]])
    got, found = tw.nn.max_pool1d(x, 2, return_indices=True)
    near(got, [[[np.nan, 3, -np.inf, np.inf]]], "float32")
    assert found.tolist() == [[[1, 3, 4, 6]]]
    near(tw.nn.avg_pool1d(x, 2), [[[np.nan, 2.5, -np.inf, np.inf]]], "float32")
    # No place is in the padding, which is -infinity too.
    _, found = tw.nn.max_pool1d(x[:, :, 4:6], 2, 1, 1, return_indices=True)
    assert found.tolist() == [[[0, 0, 1]]]
    # Of 16 bits the sum may be more than they hold.
    large = on(be, np.full((1, 1, 8), 6e4), "float16")
    near(tw.nn.avg_pool1d(large, 4), held([[[6e4, 6e4]]], "float16"), "float16")
    grad = tw.nn.max_pool1d_backward(on(be, [[[1.0, np.inf, 2, np.nan]]]), x, 2)
    near(grad, [[[0, 1, 0, np.inf, 2, 0, np.nan, 0]]], "float32")


def test_gradient_is_the_same_at_each_call(be: Backend) -> None:
    x = on(be, RNG.uniform(-2, 2, (2, 2, 12, 12)))
    grad = on(be, RNG.uniform(-2, 2, (2, 2, 10, 10)))
    first, second = (host(tw.nn.max_pool2d_backward(grad, x, 3, 1)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def adaptive(x: Host, axis: int, out: int) -> Host:
    length = x.shape[axis]
    parts = [
        x.take(range(i * length // out, -(-(i + 1) * length // out)), axis).mean(axis)
        for i in range(out)
    ]
    return np.stack(parts, axis)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("shape", "out"),
    [((2, 3, 12), 4), ((2, 3, 7), 3), ((1, 2, 3), 5), ((2, 5, 8), (3, None)),
     ((2, 2, 7, 9), (1, 1)), ((1, 2, 4, 5, 6), (2, 3, 6)), ((0, 2, 5), 2)],
)  # fmt: skip
def test_adaptive_avg_pool(be: Backend, shape: tuple[int, ...], out: Any) -> None:
    axes = len(out) if isinstance(out, tuple) else 1
    forward, backward = calls_of("adaptive_avg", axes)
    for dtype in ("float32", "bfloat16"):
        x = held(RNG.uniform(-2, 2, shape), dtype)
        exact = x
        first = len(shape) - axes
        for i, size in enumerate(many(out, axes)):
            exact = adaptive(exact, first + i, shape[first + i] if size is None else size)
        near(forward(on(be, x, dtype), out), exact, dtype, 16, 4)
        grad = held(RNG.uniform(-2, 2, exact.shape), dtype)
        # It is linear: the gradient is what each element alone gives.
        by_x = np.zeros(shape)
        for place in np.ndindex(shape):
            one = np.zeros(shape)
            one[place] = 1
            for i, size in enumerate(many(out, axes)):
                one = adaptive(one, first + i, shape[first + i] if size is None else size)
            by_x[place] = (one * grad).sum()
        near(backward(on(be, grad, dtype), on(be, x, dtype), out), by_x, dtype, 16, 4)


def adaptive_windows(shape: tuple[int, ...], out: tuple[int, ...]) -> Any:
    """For each output of a plane the places of its window, in the order of rows."""
    plane = shape[len(shape) - len(out) :]
    for at in np.ndindex(out):
        ranges = [
            range(i * n // size, -(-(i + 1) * n // size))
            for i, n, size in zip(at, plane, out, strict=True)
        ]
        yield at, list(itertools.product(*ranges))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("shape", "out"),
    [((2, 3, 12), (4,)), ((2, 3, 7), (3,)), ((1, 2, 3), (5,)), ((2, 5, 8), (3, 5)),
     ((1, 2, 3, 5, 4), (2, 3, 4)), ((0, 2, 5), (2,))],
)  # fmt: skip
def test_adaptive_max_pool(be: Backend, shape: tuple[int, ...], out: tuple[int, ...]) -> None:
    axes = len(out)
    forward, backward = calls_of("adaptive_max", axes)
    for dtype in ("float32", "float16"):
        x = held(RNG.integers(-9, 9, shape), dtype)
        lead, plane = shape[: len(shape) - axes], shape[len(shape) - axes :]
        exact, places = np.zeros((*lead, *out)), np.zeros((*lead, *out), np.int32)
        by_x = np.zeros(shape)
        grad = held(RNG.uniform(-2, 2, exact.shape), dtype)
        for front in np.ndindex(lead):
            for at, window in adaptive_windows(shape, out):
                values = np.array([x[front + one] for one in window])
                best = window[int(np.argmax(values))]
                exact[front + at] = values.max()
                places[front + at] = np.ravel_multi_index(best, plane)
                by_x[front + best] += grad[front + at]
        a, g = on(be, x, dtype), on(be, grad, dtype)
        got, found = forward(a, out, True)
        near(got, exact, dtype)
        np.testing.assert_array_equal(found.numpy(), places)
        near(forward(a, out if axes > 1 else out[0]), exact, dtype)
        near(backward(g, a, out), by_x, dtype, 8, 8)
        near(backward(g, a, out, indices=found), by_x, dtype, 8, 8)


def test_wrong_arguments(be: Backend) -> None:
    x, nn = on(be, np.ones((1, 2, 6, 6))), tw.nn
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("max_pool2d: x is int32, expected floats", lambda: nn.max_pool2d(x.astype("int32"), 2)),
        ("max_pool1d: x has shape .1, 2, 6, 6., expected 3 dim",
         lambda: nn.max_pool1d(x, 2)),
        ("max_pool2d: kernel_size is .2, 2, 2.*, expected 2 integers, or one",
         lambda: nn.max_pool2d(x, (2, 2, 2))),
        ("avg_pool2d: kernel_size is 0.*, expected integers of 1 or more",
         lambda: nn.avg_pool2d(x, 0)),
        ("avg_pool2d: stride is .2, 0.*, expected integers of 1",
         lambda: nn.avg_pool2d(x, 2, (2, 0))),
        ("max_pool2d: padding is -1.*, expected integers of 0", lambda: nn.max_pool2d(x, 2, 1, -1)),
        ("max_pool2d: padding is 2, expected at most half of the kernel size, 2",
         lambda: nn.max_pool2d(x, 2, 1, 2)),
        ("max_pool2d: dilation is 0", lambda: nn.max_pool2d(x, 2, 1, 0, 0)),
        ("max_pool2d: an axis of x has 6 elements and 0 of padding .*, expected 9",
         lambda: nn.max_pool2d(x, 3, 1, 0, 4)),
        ("max_pool2d: an axis of x has 6 elements and 0 of padding .*, expected 11 at least, of",
         lambda: nn.max_pool2d(x, 3, 3, 0, 6, ceil_mode=True)),
        ("max_pool2d: ceil_mode is 1", lambda: nn.max_pool2d(x, 2, ceil_mode=1)),
        ("max_pool2d: return_indices is None",
         lambda: nn.max_pool2d(x, 2, return_indices=None)),
        ("max_pool2d_backward: grad has shape .1, 2, 6, 6., expected .1, 2, 3, 3.",
         lambda: nn.max_pool2d_backward(x, x, 2)),
        ("max_pool2d_backward: indices is float32",
         lambda: nn.max_pool2d_backward(x[:, :, :3, :3], x, 2, indices=x)),
        ("avg_pool2d: divisor_override is 0", lambda: nn.avg_pool2d(x, 2, divisor_override=0)),
        ("avg_pool2d: count_include_pad is 2",
         lambda: nn.avg_pool2d(x, 2, count_include_pad=2)),
        ("adaptive_avg_pool2d: output_size is 0", lambda: nn.adaptive_avg_pool2d(x, 0)),
        ("adaptive_avg_pool2d: output_size is .1, 2, 3",
         lambda: nn.adaptive_avg_pool2d(x, (1, 2, 3))),
        ("adaptive_avg_pool3d: x has shape .6,.", lambda: nn.adaptive_avg_pool3d(x[0, 0, 0], 1)),
        ("adaptive_max_pool2d: return_indices is 1", lambda: nn.adaptive_max_pool2d(x, 2, 1)),
        ("adaptive_max_pool2d_backward: indices is float32",
         lambda: nn.adaptive_max_pool2d_backward(x, x, 6, indices=x)),
        ("adaptive_avg_pool2d_backward: grad has shape",
         lambda: nn.adaptive_avg_pool2d_backward(x, x, 2)),
    ]  # fmt: skip
    for message, call in calls:
        with pytest.raises(InvalidArgument, match=message):
            call()
