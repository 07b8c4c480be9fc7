"""Losses of scores of classes and their gradients, in long double, and how far off they may be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .elements import spacing
from .workspace import Array

WIDE = np.longdouble


@dataclass(frozen=True)
class Lines:
    """Scores with their targets: what cross_entropy() takes."""

    scores: Array
    targets: Array
    axis: int
    weights: Array | None = None
    ignored: int = -100
    smoothing: float = 0.0
    reduction: str | None = None
    dtype: str = "float32"

    @property
    def classes(self) -> int:
        return int(self.scores.shape[self.axis])

    def options(self, weights: Any) -> tuple[Any, ...]:
        """Arguments from the shape on."""
        return (
            self.scores.shape, self.axis, self.dtype, self.targets.dtype.name, weights,
            self.ignored, self.smoothing, self.reduction,
        )  # fmt: skip


@dataclass(frozen=True)
class Found:
    """Of each line a row: its parts, and what the whole loses."""

    off: Array  # log sum e^x - x
    share: Array  # of each class
    kept: Array
    weight: Array  # of the target
    terms: Array  # what is added up to `off`, in size
    losses: Array

    @property
    def total(self) -> Any:
        return self.weight[self.kept].sum()


def find(of: Lines) -> Found:
    rows = np.moveaxis(of.scores, of.axis, -1).reshape(-1, of.classes).astype(WIDE)
    targets = of.targets.reshape(-1).astype(np.int64)
    kept = targets != of.ignored
    picked = np.where(kept, targets, 0)
    weights = np.ones(of.classes, WIDE) if of.weights is None else of.weights.astype(WIDE)
    smoothing = WIDE(of.smoothing if of.dtype == "float64" else np.float32(of.smoothing))
    with np.errstate(all="ignore"):
        most = rows.max(axis=1, keepdims=True)
        log = np.log(np.exp(rows - most).sum(axis=1, keepdims=True))
        off = (most - rows) + log
        own = rows[np.arange(len(rows)), picked][:, None]
        middle = np.where(np.isfinite(own), own, 0)
        terms = abs(most - rows) + 2 * abs(most - middle) + abs(log)
    share = np.broadcast_to(weights * smoothing / of.classes, rows.shape).copy()
    share[np.arange(len(rows)), picked] += weights[picked] * (1 - smoothing)
    with np.errstate(all="ignore"):
        sharp = weights[picked] * off[np.arange(len(rows)), picked]
        spread = (weights * off).sum(axis=1) * smoothing / of.classes if of.smoothing else 0
        losses = np.where(kept, sharp * (1 - smoothing) + spread, 0)
    return Found(off, share, kept, weights[picked], terms, losses)


def eps_of(dtype: str) -> float:
    return float(spacing(1.0, dtype))


def losses(of: Lines) -> tuple[Array, Array]:
    """What cross_entropy() gives, and how far off that may be: each sum by some roundings of each
    work-item and each step of joining."""
    found = find(of)
    each = found.losses
    eps = eps_of(of.dtype)
    with np.errstate(all="ignore"):
        parts = np.where(found.share == 0, 0, abs(found.share) * (12 * found.terms + 48))
        size = parts.sum(axis=1)
        slack = eps * np.where(found.kept & np.isfinite(size), size, 0)
        if of.reduction is None:
            shape = of.targets.shape
            return each.reshape(shape), slack.reshape(shape)
        whole = each.sum()
        whole_slack = slack.sum() + 32 * eps * abs(each).sum()
        if of.reduction == "mean":
            total = found.total
            whole, whole_slack = whole / total, whole_slack / abs(total) + eps * abs(whole / total)
    return np.asarray(whole), np.asarray(np.nan_to_num(whole_slack))


def gradient(of: Lines, grad: Array | None, factor: float = 1.0) -> tuple[Array, Array]:
    """The same of cross_entropy_backward()."""
    found = find(of)
    eps = eps_of(of.dtype)
    by = np.full(len(found.kept), WIDE(factor if of.dtype == "float64" else np.float32(factor)))
    if grad is not None:
        by = by * np.broadcast_to(grad.reshape(-1).astype(WIDE), by.shape)
    with np.errstate(all="ignore"):
        if of.reduction == "mean":
            by = by / found.total
        whole = found.share.sum(axis=1, keepdims=True)
        powers = np.exp(-found.off) * whole
        exact = np.where(found.kept[:, None], (powers - found.share) * by[:, None], 0)
        reach = np.where(np.isfinite(found.terms), found.terms, 0)
        slack = (
            eps
            * abs(by)[:, None]
            * (abs(powers) * (64 + 4 * np.minimum(reach, 200)) + 16 * abs(found.share))
        )
        # Powers below 2^-126 may be 0.
        slack = slack + 2.0**-120 * abs(by[:, None] * whole)
        slack = np.where(np.isfinite(slack), slack, 0)
    shape = np.moveaxis(of.scores, of.axis, -1).shape
    return tuple(np.moveaxis(one.reshape(shape), -1, of.axis) for one in (exact, slack))  # type: ignore[return-value]


def of_dtype(of: Lines, dtype: str) -> Lines:
    return replace(of, dtype=dtype)
