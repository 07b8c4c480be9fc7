"""A perceptron of two layers learns scikit-learn's digits, on any backend:

python examples/python/networks/digits.py webgpu:0
"""

import sys
from typing import Any

import numpy as np
import tilewright as tw
from sklearn.datasets import load_digits  # type: ignore[import-untyped]
from tilewright import nn

HIDDEN, BATCH, EPOCHS, DROPPED = 128, 50, 15, 0.2


class Perceptron:
    """relu() between two products, with dropout while it learns."""

    def __init__(self, inputs: int, outputs: int, rng: tw.random.Generator) -> None:
        self.rng = rng
        self.weights = [
            rng.normal(0, (2 / inputs) ** 0.5, (inputs, HIDDEN)),
            tw.zeros(HIDDEN),
            rng.normal(0, (2 / HIDDEN) ** 0.5, (HIDDEN, outputs)),
            tw.zeros(outputs),
        ]

    def scores(self, x: tw.Array) -> Any:
        w1, b1, w2, b2 = self.weights
        return nn.relu(x @ w1 + b1) @ w2 + b2

    def gradients(self, x: tw.Array, labels: tw.Array) -> list[tw.Array]:
        """Of the mean loss, by each of the weights: there and back by hand."""
        w1, b1, w2, b2 = self.weights
        before = x @ w1 + b1
        state = self.rng.state
        hidden = nn.dropout(nn.relu(before), DROPPED, rng=self.rng)
        scores = hidden @ w2 + b2

        by_scores = nn.cross_entropy_backward(1, scores, labels)
        # From where the generator was it leaves out the same again.
        by_hidden = nn.dropout_backward(by_scores @ w2.T, DROPPED, rng=state)
        by_before = nn.relu_backward(by_hidden, before)
        return [x.T @ by_before, by_before.sum(0), hidden.T @ by_scores, by_scores.sum(0)]


def train(device: str) -> float:
    """The part of the digits that were kept back which the perceptron tells right."""
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    pixels = (digits.data[order] / 16).astype(np.float32)
    known = len(order) * 4 // 5
    with tw.device(device):
        x, labels = tw.asarray(pixels), tw.asarray(digits.target[order].astype(np.int32))
        network = Perceptron(64, 10, tw.random.default_rng(1))
        optimizer = nn.optim.AdamW(network.weights, 3e-3)
        for _ in range(EPOCHS):
            for first in range(0, known, BATCH):
                part = slice(first, min(first + BATCH, known))
                optimizer.step(network.gradients(x[part], labels[part]))
        guessed = tw.argmax(network.scores(x[known:]), axis=1)
        return float((guessed.astype("int32") == labels[known:]).astype("float32").mean())


if __name__ == "__main__":
    print(f"{train(sys.argv[1] if len(sys.argv) > 1 else 'cpu'):.1%} right")
