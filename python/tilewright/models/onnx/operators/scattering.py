"""What writes elements to where indices say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.common import axis_in, ints
from tilewright.models.onnx.operators.registry import Run, operator
from tilewright.namespace.elementwise import maximum, minimum, multiply

REDUCTIONS = ("none", "add", "mul", "max", "min")
JOINS = {"mul": multiply, "max": maximum, "min": minimum}


def _written(x: Any, key: tuple[Any, ...], updates: Any, reduction: str) -> Any:
    """A copy of x with updates at the places of a key: the last of equal places counts, or all are
    joined."""
    result = x.copy()
    if not updates.size:
        return result
    if reduction == "none":
        result[key] = updates
    elif reduction == "add":
        np.add.at(result, key, updates)
    else:
        _joined(result, key, updates, JOINS[reduction])
    return result


def _joined(result: Any, key: tuple[Any, ...], updates: Any, join: Any) -> None:
    """By rounds, in each of which no place comes up twice; which these are is told by the indices,
    which are read."""
    parts = np.broadcast_arrays(*(_read(one) for one in key))
    sizes = result.shape[: len(key)]
    for one, size in zip(parts, sizes, strict=True):
        if not -size <= one.min() <= one.max() < size:
            raise ModelError(f"an index is out of range for {size} elements")
    wrapped = [np.where(one < 0, one + n, one) for one, n in zip(parts, sizes, strict=True)]
    at = np.ravel_multi_index(wrapped, sizes).reshape(-1)
    tail = result.shape[len(key) :]
    rows = updates.reshape((at.size, *tail))
    flat = result.reshape((math.prod(sizes), *tail), copy=False)
    order = np.argsort(at, kind="stable")
    ordered = at[order]
    rounds = np.arange(at.size) - np.searchsorted(ordered, ordered)
    for i in range(int(rounds.max()) + 1):
        chosen = order[rounds == i]
        flat[at[chosen]] = join(flat[at[chosen]], rows[chosen])


def _read(indices: Any) -> np.ndarray[Any, Any]:
    return indices if isinstance(indices, np.ndarray) else indices.numpy()


@operator("ScatterElements", "Scatter")
def _scatter_elements(node: Node) -> Run:
    axis = node.integer("axis", 0)
    reduction = node.string("reduction", "none", REDUCTIONS)

    def run(x: Any, indices: Any, updates: Any) -> Any:
        at = axis_in(axis, x.ndim)
        shape = tuple(indices.shape)
        if shape != tuple(updates.shape) or indices.ndim != x.ndim:
            raise ModelError(f"indices have shape {shape} and updates {tuple(updates.shape)}")
        if any(n > m for i, (n, m) in enumerate(zip(shape, x.shape, strict=True)) if i != at):
            raise ModelError(f"indices have shape {shape}, of an input {tuple(x.shape)}")
        key: list[Any] = list(np.indices(shape, sparse=True))
        key[at] = indices
        return _written(x, tuple(key), updates, reduction)

    return run


@operator("ScatterND")
def _scatter_nd(node: Node) -> Run:
    reduction = node.string("reduction", "none", REDUCTIONS)

    def run(x: Any, indices: Any, updates: Any) -> Any:
        count = indices.shape[-1] if indices.ndim else 0
        if not 0 < count <= x.ndim:
            raise ModelError(f"indices have shape {tuple(indices.shape)}, of {tuple(x.shape)}")
        expected = (*indices.shape[:-1], *x.shape[count:])
        if tuple(updates.shape) != expected:
            raise ModelError(f"updates have shape {tuple(updates.shape)}, expected {expected}")
        key = tuple(indices[..., i] for i in range(count))
        return _written(x, key, updates, reduction)

    return run


@operator("TensorScatter", host=(2,))
def _tensor_scatter(node: Node) -> Run:
    axis = node.integer("axis", -2)
    mode = node.string("mode", "linear", ("linear", "circular"))

    def run(x: Any, update: Any, starts: Any = None) -> Any:
        at = axis_in(axis, x.ndim)
        result = x.copy()
        firsts = (0,) * x.shape[0] if starts is None else ints(starts)
        count, size = update.shape[at], x.shape[at]
        for row, first in enumerate(firsts):
            places = np.arange(first, first + count)
            if mode == "circular":
                places = places % size
            if places.size and not (0 <= places.min() <= places.max() < size):
                raise ModelError(f"it writes from {first} on, {count} of {size} places")
            result[row][(slice(None),) * (at - 1) + (places,)] = update[row]
        return result

    return run
