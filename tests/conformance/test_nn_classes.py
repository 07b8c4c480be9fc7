"""nll_loss, cross_entropy and one_hot, and their gradients, against NumPy in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, IndexOutOfRange, InvalidArgument

from .networks import Host, dtypes_of, gradient, has_int64, held, near, on

RNG = np.random.default_rng(20261128)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def the_same_draws() -> None:
    """Whichever tests came before."""
    RNG.bit_generator.state = START


# The shapes of inputs, with the classes along axis 1, or 0 of a vector.
SHAPES = ((5,), (7, 4), (3, 6, 2), (2, 3, 4, 5), (4, 1), (0, 3))
REDUCTIONS = ("none", "mean", "sum")


def log_softmax(x: Host, axis: int) -> Host:
    most = x.max(axis=axis, keepdims=True, initial=-np.inf)
    return np.asarray(x - most - np.log(np.exp(x - most).sum(axis=axis, keepdims=True)))


def lines(x: Host) -> Host:
    """A row of classes for each target."""
    return np.moveaxis(x, min(1, x.ndim - 1), -1)


def joined(loss: Host, total: Any, reduction: str) -> Any:
    with np.errstate(invalid="ignore", divide="ignore"):
        return {"none": loss, "sum": loss.sum(), "mean": loss.sum() / np.float64(total)}[reduction]


def nll(logs: Host, t: Host, weight: Host | None, ignored: int, reduction: str,
        smoothing: float = 0.0) -> Any:  # fmt: skip
    rows = lines(logs).reshape(-1, lines(logs).shape[-1])
    classes = rows.shape[1]
    w = np.ones(classes) if weight is None else weight
    loss, total = np.zeros(rows.shape[0]), 0.0
    for i, at in enumerate(np.reshape(t, -1)):
        if at != ignored:
            spread = -(w * rows[i]).sum() * smoothing / classes if smoothing else 0.0
            loss[i] = -w[at] * rows[i, at] * (1 - smoothing) + spread
            total += w[at]
    return joined(loss.reshape(np.shape(t)), total, reduction)


def entropy_of_parts(x: Host, q: Host, weight: Host | None, reduction: str,
                     smoothing: float) -> Any:  # fmt: skip
    rows, parts = lines(log_softmax(x, min(1, x.ndim - 1))), lines(q)
    classes = rows.shape[-1]
    w = np.ones(classes) if weight is None else weight
    loss = -(w * rows * (parts * (1 - smoothing) + smoothing / classes)).sum(axis=-1)
    return joined(loss, loss.size, reduction)


def drawn(shape: tuple[int, ...], dtype: str) -> tuple[Host, Host, Host]:
    """An input, targets and weights."""
    x = held(RNG.uniform(-4, 4, shape), dtype)
    classes = shape[min(1, len(shape) - 1)]
    t = RNG.integers(0, classes, lines(x).shape[:-1])
    return x, np.asarray(t, np.int32), held(RNG.uniform(0.25, 2, classes), dtype)


def slopes(loss: Callable[[Host], Any], x: Host, reduction: str, grad: Any) -> Host:
    return gradient(lambda one: float((np.asarray(loss(one)) * grad).sum()), x)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", ["nll", "plain", "weights", "smooth", "parts", "smooth parts"])
def test_values_and_gradients(be: Backend, name: str, reduction: str) -> None:
    for dtype in dtypes_of(be):
        for shape in SHAPES if dtype == "float32" and be.name == "cpu" else SHAPES[2:3]:
            check(be, name, reduction, dtype, shape)


def check(be: Backend, name: str, reduction: str, dtype: str, shape: tuple[int, ...]) -> None:
    x, t, w = drawn(shape, dtype)
    ignored = -100
    if t.size > 2:
        t.reshape(-1)[0] = ignored
    weight = None if name == "plain" else w
    smoothing = 0.2 if "smooth" in name else 0.0
    options: dict[str, Any] = {"reduction": reduction}
    if weight is not None:
        options["weight"] = on(be, w, dtype)
    if smoothing:
        options["label_smoothing"] = smoothing
    loss: Callable[[Host], Any]
    axis = min(1, x.ndim - 1)
    target: Any = on(be, t, "int32")
    forward, backward = tw.nn.cross_entropy, tw.nn.cross_entropy_backward
    if name == "nll":
        x = held(log_softmax(x, axis), dtype)
        forward, backward = tw.nn.nll_loss, tw.nn.nll_loss_backward  # type: ignore[assignment]
        loss = lambda one: nll(one, t, weight, ignored, reduction)  # noqa: E731
    elif "parts" in name:
        q = held(np.exp(log_softmax(held(RNG.uniform(-2, 2, shape), dtype), axis)), dtype)
        target = on(be, q, dtype)
        loss = lambda one: entropy_of_parts(one, q, weight, reduction, smoothing)  # noqa: E731
    else:
        loss = lambda one: nll(log_softmax(one, axis), t, weight, ignored, reduction, smoothing)  # noqa: E731
    exact = loss(x)
    a = on(be, x, dtype)
    count = max(1, t.size) if reduction == "sum" else 1
    near(forward(a, target, **options), exact, dtype, 64, 8.0 * count)
    if reduction == "none":
        grad: Any = held(RNG.uniform(-2, 2, np.shape(exact)), dtype)
        given: Any = on(be, grad, dtype)
    else:
        grad, given = 1.5, 1.5
    size = 1 if dtype != "float64" else 1e9  # differences have 8 digits
    got = backward(given, a, target, **options)
    if not x.size:
        near(got, x, dtype)
        return
    near(got, slopes(loss, x, reduction, grad), dtype, 64 * size, 4)


def test_large_inputs(be: Backend) -> None:
    """No exponential overflows."""
    x = np.float32([[1e4, 0, -1e4], [0, -20, -30], [5, 5, 5], [0, -np.inf, 3]])
    t = np.int32([0, 0, 2, 2])
    got = tw.nn.cross_entropy(on(be, x), t, reduction="none").numpy()
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        logs = log_softmax(wide, 1)
    np.testing.assert_allclose(got, -logs[np.arange(4), t], rtol=1e-6, atol=3e-8)
    back = tw.nn.cross_entropy_backward(1, on(be, x), t, reduction="sum").numpy()
    slope = np.exp(logs) - np.eye(3)[t]
    np.testing.assert_allclose(back[1:], slope[1:], rtol=1e-5, atol=1e-7)
    assert back[0].tolist() == [0, 0, 0]


def test_all_ignored(be: Backend) -> None:
    x, t = on(be, np.ones((3, 4))), np.int32([7, 7, 7])
    near(tw.nn.cross_entropy(x, t, ignore_index=7), np.nan, "float32")
    near(tw.nn.cross_entropy(x, t, ignore_index=7, reduction="sum"), 0.0, "float32")
    got = tw.nn.cross_entropy_backward(1, x, t, ignore_index=7)
    near(got, np.zeros((3, 4)), "float32")
    # A class itself may be ignored.
    t = np.int32([0, 1, 2])
    near(tw.nn.nll_loss(x, t, ignore_index=1, reduction="none"), [-1, 0, -1], "float32")


def test_targets_of_every_dtype(be: Backend) -> None:
    x, t = held(RNG.uniform(-1, 1, (4, 3)), "float32"), np.array([0, 2, 1, 1])
    exact = nll(x, t, None, -100, "none")
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        if "64" not in dtype or has_int64(be):
            near(tw.nn.nll_loss(on(be, x), on(be, t, dtype), reduction="none"), exact, "float32")
    near(tw.nn.nll_loss(on(be, x), t.tolist(), reduction="none"), exact, "float32")
    turned = on(be, np.ascontiguousarray(x.T)).T
    near(tw.nn.nll_loss(turned[::-1], t[::-1].copy(), reduction="none"), exact[::-1], "float32")


def test_one_hot(be: Backend) -> None:
    for shape in ((), (4,), (2, 3), (0,)):
        t = RNG.integers(0, 5, shape)
        exact = np.eye(5)[t]
        got = tw.nn.one_hot(on(be, t, "int32"), 5)
        assert got.dtype == ("int64" if has_int64(be) else "int32")
        np.testing.assert_array_equal(got.numpy(), exact)
        near(tw.nn.one_hot(on(be, t, "int32"), 5, dtype="float32"), exact, "float32")
    assert tw.nn.one_hot(on(be, [1, 0, 6], "int32")).shape == (3, 7)


@pytest.mark.parametrize("wrong", [4, -1, 2000, -4])
def test_classes_out_of_range(be: Backend, wrong: int) -> None:
    x, t = on(be, np.ones((3, 4))), on(be, [0, wrong, 1], "int32")
    for call in (
        lambda: tw.nn.nll_loss(x, t), lambda: tw.nn.cross_entropy(x, t),
        lambda: tw.nn.cross_entropy(x, t, label_smoothing=0.5, reduction="none"),
        lambda: tw.nn.nll_loss_backward(1, x, t), lambda: tw.nn.cross_entropy_backward(1, x, t),
        lambda: tw.nn.one_hot(t, 4),
    ):  # fmt: skip
        with pytest.raises(IndexOutOfRange, match="out of range for axis"):
            call().numpy()
            be.synchronize()
    near(tw.nn.nll_loss(x, t, ignore_index=wrong), -1.0, "float32")


def test_wrong_arguments(be: Backend) -> None:
    x, nn = on(be, np.ones((3, 4))), tw.nn
    t = on(be, [0, 1, 2], "int32")
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("nll_loss: input is int32, expected floats", lambda: nn.nll_loss(t, t)),
        ("nll_loss: target is float32, expected integers", lambda: nn.nll_loss(x, x[:, 0])),
        ("nll_loss: target is .*, expected integers", lambda: nn.nll_loss(x, [0.5, 1, 2])),
        ("nll_loss: target has shape .2,., expected .3,.", lambda: nn.nll_loss(x, t[:2])),
        ("nll_loss: weight has shape .3,., expected .4,.",
         lambda: nn.nll_loss(x, t, weight=x[:, 0])),
        ("nll_loss: reduction is 'max'", lambda: nn.nll_loss(x, t, reduction="max")),
        ("nll_loss: ignore_index is 0.5", lambda: nn.nll_loss(x, t, ignore_index=0.5)),
        ("nll_loss: input has no dimensions", lambda: nn.nll_loss(x[0, 0], t)),
        ("nll_loss: input has shape .3, 0., expected one class", lambda: nn.nll_loss(x[:, :0], t)),
        ("cross_entropy: target has shape .3,., expected .3, 4. as input has",
         lambda: nn.cross_entropy(x, x[:, 0])),
        ("cross_entropy: label_smoothing is 2.0, expected a number from 0 to 1",
         lambda: nn.cross_entropy(x, t, label_smoothing=2)),
        ("cross_entropy: weight is float16, expected float32",
         lambda: nn.cross_entropy(x, t, weight=x[0].astype("float16"))),
        ("cross_entropy_backward: grad has shape .3,., expected .. as the loss has",
         lambda: nn.cross_entropy_backward(x[:, 0], x, t)),
        ("one_hot: x is float32, expected integers", lambda: nn.one_hot(x)),
        ("one_hot: num_classes is 0, expected 1 or more", lambda: nn.one_hot(t, 0)),
        ("one_hot: x has no elements", lambda: nn.one_hot(t[:0])),
    ]  # fmt: skip
    for message, call in calls:
        with pytest.raises(InvalidArgument, match=message):
            call()
