"""Formulas of optimisers in NumPy's float64, as torch has them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .networks import Host


class Sgd:
    """torch.optim.SGD of one parameter."""

    def __init__(self, lr: float = 1e-3, momentum: float = 0, dampening: float = 0,
                 weight_decay: float = 0, nesterov: bool = False,
                 maximize: bool = False) -> None:  # fmt: skip
        self.lr, self.momentum, self.dampening = lr, momentum, dampening
        self.weight_decay, self.nesterov, self.maximize = weight_decay, nesterov, maximize
        self.kept: Host | None = None

    def step(self, x: Host, grad: Host) -> Host:
        grad = -grad if self.maximize else grad
        if self.weight_decay:
            grad = grad + self.weight_decay * x
        if self.momentum:
            if self.kept is None:
                self.kept = grad
            else:
                self.kept = self.momentum * self.kept + (1 - self.dampening) * grad
            grad = grad + self.momentum * self.kept if self.nesterov else self.kept
        return np.asarray(x - self.lr * grad)

    def states(self) -> list[Host]:
        return [] if self.kept is None else [self.kept]


class Adam:
    """torch.optim.Adam, and with `decoupled` AdamW, of one parameter."""

    decoupled = False

    def __init__(self, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float | None = None, amsgrad: bool = False,
                 maximize: bool = False) -> None:  # fmt: skip
        self.lr, self.betas, self.eps, self.amsgrad = lr, betas, eps, amsgrad
        self.weight_decay = weight_decay if weight_decay is not None else 0.01 * self.decoupled
        self.maximize, self.steps = maximize, 0
        self.first: Any = 0.0
        self.second: Any = 0.0
        self.most: Any = 0.0

    def step(self, x: Host, grad: Host) -> Host:
        self.steps += 1
        grad = -grad if self.maximize else grad
        if self.decoupled and self.weight_decay:
            x = x * (1 - self.lr * self.weight_decay)
        elif self.weight_decay:
            grad = grad + self.weight_decay * x
        a, b = self.betas
        self.first = a * self.first + (1 - a) * grad
        self.second = b * self.second + (1 - b) * grad**2
        self.most = np.maximum(self.most, self.second)
        root = np.sqrt(self.most if self.amsgrad else self.second)
        below = root / math.sqrt(1 - b**self.steps) + self.eps
        return np.asarray(x - self.lr / (1 - a**self.steps) * self.first / below)

    def states(self) -> list[Host]:
        return [self.first, self.second, *([self.most] if self.amsgrad else [])]


class AdamW(Adam):
    decoupled = True


REFERENCES: dict[str, type[Sgd] | type[Adam]] = {"SGD": Sgd, "Adam": Adam, "AdamW": AdamW}
