"""Functions of several Arrays, their values and the gradients by each, by NumPy in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tilewright import Backend

from .networks import Host, dtypes_of, gradient, held, near, on


def check(
    be: Backend, rng: np.random.Generator, forward: Callable[..., Any],
    backward: Callable[..., Any] | None, of: Callable[..., Host], hosts: Sequence[Host],
    options: dict[str, Any], by: Sequence[int], exponentials: bool = True, at: float = 4,
) -> None:  # fmt: skip
    """Of every dtype. `by` says which operands the gradients are by, in the order in which
    `backward(grad, *operands)` gives them; `of` takes the operands in float64."""
    for dtype in dtypes_of(be, exponentials):
        given = [held(one, dtype) for one in hosts]
        arrays = [on(be, one, dtype) for one in given]
        exact = np.asarray(of(*given))
        near(forward(*arrays, **options), exact, dtype, 64, at)
        if backward is None:
            continue
        grad = held(rng.uniform(0.5, 2, exact.shape), dtype)
        found = backward(on(be, grad, dtype), *arrays, **options)
        if not isinstance(found, tuple):
            found = (found,)
        for i, place in enumerate(by):

            def loss(
                one: Host, place: int = place, given: list[Host] = given, grad: Host = grad
            ) -> float:
                changed = [*given[:place], one, *given[place + 1 :]]
                return float((of(*changed) * grad).sum())

            # Differences have 8 digits.
            size = 1 if dtype != "float64" else 1e8
            near(found[i], gradient(loss, given[place]), dtype, 256 * size, at)


def reduced(losses: Host, reduction: str) -> Host:
    if reduction == "none":
        return losses
    return np.asarray(losses.mean() if reduction == "mean" else losses.sum())
