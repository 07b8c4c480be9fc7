"""A network that learns: the example of tw.nn, on every device."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tilewright as tw
from tilewright import Backend

from .networks import gradient

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python" / "networks"


def test_digits(be: Backend) -> None:
    example = runpy.run_path(str(EXAMPLES / "digits.py"))
    assert example["train"](be.device.id) >= 0.97


def test_gradients_of_the_example(be: Backend) -> None:
    """By hand they are those of the loss that NumPy computes, with what was left out."""
    example = runpy.run_path(str(EXAMPLES / "digits.py"))
    draws = np.random.default_rng(3)
    pixels, labels = draws.uniform(0, 1, (5, 6)), draws.integers(0, 3, 5)
    with tw.device(be):
        network = example["Perceptron"](6, 3, tw.random.default_rng(1))
        network.weights[0], network.weights[2] = (
            network.weights[0][:, :8].copy(), network.weights[2][:8].copy(),
        )  # fmt: skip
        network.weights[1] = network.weights[1][:8].copy()
        state = network.rng.state
        kept = tw.nn.dropout(tw.ones((5, 8)), example["DROPPED"], rng=state).numpy()
        x, t = tw.asarray(pixels.astype(np.float32)), tw.asarray(labels.astype(np.int32))
        got = [one.numpy() for one in network.gradients(x, t)]
        weights = [one.numpy().astype(np.float64) for one in network.weights]

    def loss(at: int, changed: np.ndarray) -> float:
        w1, b1, w2, b2 = (*weights[:at], changed, *weights[at + 1 :])
        scores = np.maximum(pixels @ w1 + b1, 0) * kept @ w2 + b2
        logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return -float(logs[np.arange(5), labels].mean())

    for at, weight in enumerate(weights):
        exact = gradient(lambda one, at=at: loss(at, one), weight)
        np.testing.assert_allclose(got[at], exact, rtol=1e-4, atol=1e-5)


def test_under_compile(be: Backend) -> None:
    """What draws nothing can be recorded, and replayed with other elements."""
    labels = np.int32([1, 0, 2])

    def there_and_back(x: tw.Array, w: tw.Array) -> tuple[tw.Array, ...]:
        pooled = tw.nn.max_pool2d(x, 2, 1, 1)
        normal = tw.nn.batch_norm(pooled, training=True)
        scores = tw.nn.gelu(normal).reshape((3, -1)) @ w
        loss = tw.nn.cross_entropy(scores, labels, label_smoothing=0.1)
        by_scores = tw.nn.cross_entropy_backward(1, scores, labels, label_smoothing=0.1)
        by_normal = tw.nn.gelu_backward((by_scores @ w.T).reshape(normal.shape), normal)
        by_pooled = tw.nn.batch_norm_backward(by_normal, pooled, training=True).x
        return loss, by_scores, tw.nn.max_pool2d_backward(by_pooled, x, 2, 1, 1)

    draws = np.random.default_rng(5)
    compiled = tw.compile(there_and_back)
    w = tw.asarray(draws.normal(size=(2 * 5 * 5, 3)).astype(np.float32), device=be)
    for _ in range(3):
        x = tw.asarray(draws.normal(size=(3, 2, 4, 4)).astype(np.float32), device=be)
        for got, plain in zip(compiled(x, w), there_and_back(x, w), strict=True):
            np.testing.assert_allclose(got.numpy(), plain.numpy(), rtol=1e-6, atol=1e-7)
    compiled.clear()


def test_launches(be: Backend) -> None:
    """As many as the documentation says, of few elements."""
    nn, draws = tw.nn, np.random.default_rng(6)
    x, g = (
        tw.asarray(draws.normal(size=(8, 6, 5, 4)).astype(np.float32), device=be) for _ in range(2)
    )
    rows, by_rows, weight = x.reshape(8, -1), g.reshape(8, -1), tw.ones(6, device=be)
    mean, var = tw.zeros(6, device=be), tw.ones(6, device=be)
    filters, bias = tw.ones((2, 6, 3, 3), device=be), tw.ones(2, device=be)
    result, rng = nn.softmax(rows), tw.random.default_rng(1, device=be)
    by_pooled, places = nn.max_pool2d(x, 2, return_indices=True)
    statistics = nn.batch_norm(x, training=True, return_statistics=True)[1:]
    calls: list[tuple[int, Callable[[], Any]]] = [
        (1, lambda: nn.softmax(rows)),
        (1, lambda: nn.log_softmax(rows)),
        (1, lambda: nn.softmax_backward(by_rows, rows, result=result)),
        (1, lambda: nn.log_softmax_backward(by_rows, rows)),
        (3, lambda: nn.normalize(rows)),
        (4, lambda: nn.normalize_backward(by_rows, rows)),
        (2, lambda: nn.prelu_backward(g, x, weight)),
        (2, lambda: nn.batch_norm(x, weight=weight, training=True)),
        (3, lambda: nn.batch_norm(x, mean, var, training=True)),
        (1, lambda: nn.batch_norm(x, mean, var)),
        (4, lambda: nn.batch_norm_backward(g, x, weight=weight, training=True)),
        (
            3,
            lambda: nn.batch_norm_backward(
                g, x, weight=weight, training=True, statistics=statistics
            ),
        ),
        (1, lambda: nn.group_norm(x, 2)),
        (1, lambda: nn.layer_norm(x, 4)),
        (1, lambda: nn.layer_norm_backward(g, x, 4)),
        (1, lambda: nn.rms_norm(x, 4)),
        (1, lambda: nn.add_layer_norm(x, g, 4)),
        (1, lambda: nn.add_rms_norm(x, g, 4)),
        (1, lambda: nn.conv2d(x, filters, bias, activation="silu")),
        (1, lambda: nn.dropout(rows, rng=rng)),
        (1, lambda: nn.max_pool2d(x, 2)),
        (1, lambda: nn.max_pool2d(x, 2, return_indices=True)),
        (1, lambda: nn.avg_pool2d(x, 2)),
        (1, lambda: nn.max_pool2d_backward(by_pooled, x, 2, indices=places)),
        (1, lambda: nn.interpolate(x, scale_factor=2.0, mode="bilinear")),
        (1, lambda: nn.embedding(np.array([1, 2]), rows)),
    ]
    for i, (count, call) in enumerate(calls):
        be.synchronize()
        with be.profile() as profile:
            call()
            be.synchronize()
        launches = [one.kernel for one in profile.records if one.kernel != "write_bytes"]
        assert len(launches) == count, (i, launches)
