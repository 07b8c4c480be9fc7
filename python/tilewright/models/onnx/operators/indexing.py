"""What chooses elements by indices, and what finds indices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.common import axis_in, check_room, ints, on_host, scalar
from tilewright.models.onnx.operators.registry import Run, operator


@operator("Gather", anywhere=True)
def _gather(node: Node) -> Run:
    axis = node.integer("axis", 0)

    def run(x: Any, indices: Any) -> Any:
        at = axis_in(axis, x.ndim)
        if indices.dtype.kind not in "iu":
            raise ModelError(f"indices are {indices.dtype}, expected integers")
        if on_host(x, indices):
            places = np.asarray(indices)
            if places.size and not (-x.shape[at] <= places.min() <= places.max() < x.shape[at]):
                raise ModelError(f"an index is out of range for {x.shape[at]} elements")
            return np.asarray(np.take(x, places, axis=at))
        if indices.ndim <= 1:
            found = tw.take(x, indices.reshape(-1), axis=at)
            return found if indices.ndim else tw.squeeze(found, axis=at)
        return x[(slice(None),) * at + (indices,)]

    return run


@operator("GatherElements")
def _gather_elements(node: Node) -> Run:
    axis = node.integer("axis", 0)

    def run(x: Any, indices: Any) -> Any:
        at = axis_in(axis, x.ndim)
        key = tuple(
            slice(0, size) if i != at else slice(None) for i, size in enumerate(indices.shape)
        )
        return tw.take_along_axis(x[key], indices, axis=at)

    return run


@operator("GatherND")
def _gather_nd(node: Node) -> Run:
    lead = node.integer("batch_dims", 0)

    def run(x: Any, indices: Any) -> Any:
        count = indices.shape[-1] if indices.ndim else 0
        if not 0 <= lead < min(x.ndim, indices.ndim) or lead + count > x.ndim or count < 1:
            raise ModelError(
                f"indices have shape {tuple(indices.shape)} with {lead} batch dimensions, of an "
                f"input {tuple(x.shape)}"
            )
        shape = indices.shape[:-1]
        key: list[Any] = []
        for i in range(lead):
            sizes = [1] * len(shape)
            sizes[i] = shape[i]
            key.append(np.arange(shape[i]).reshape(sizes))
        key += [indices[..., i] for i in range(count)]
        return x[tuple(key)]

    return run


REDUCTIONS = ("none", "add", "mul", "max", "min")


def _joined(old: Any, new: Any, reduction: str) -> Any:
    match reduction:
        case "add":
            return old + new
        case "mul":
            return old * new
        case "max":
            return tw.maximum(old, new)
        case _:
            return tw.minimum(old, new)


def _scattered(x: Any, places: np.ndarray[Any, Any], updates: Any, reduction: str) -> Any:
    """x as one row with updates at places, some of which may be equal: those of one round are at
    different places."""
    flat = x.reshape(-1).copy()
    size = flat.shape[0]
    at = places.reshape(-1).astype(np.int64)
    rows = updates.reshape(-1)
    if at.size and not (0 <= at.min() <= at.max() < size):
        raise ModelError(f"an index is out of range for the shape {tuple(x.shape)}")
    if reduction == "none":
        # The last of equal places counts.
        _, first = np.unique(at[::-1], return_index=True)
        order = np.sort(at.size - 1 - first)
        if order.size == at.size:
            flat[at] = rows
        elif order.size:
            flat[at[order]] = rows[order]
        return flat.reshape(x.shape)
    if reduction == "add" and x.dtype.kind in "iuf" and at.size:
        np.add.at(flat, at, rows)
        return flat.reshape(x.shape)
    order = np.argsort(at, kind="stable")
    sorted_at = at[order]
    starts = np.searchsorted(sorted_at, sorted_at)
    rounds = np.arange(at.size) - starts
    for i in range(int(rounds.max(initial=-1)) + 1):
        chosen = order[rounds == i]
        flat[at[chosen]] = _joined(flat[at[chosen]], rows[chosen], reduction)
    return flat.reshape(x.shape)


@operator("ScatterElements", "Scatter", host=(1,))
def _scatter_elements(node: Node) -> Run:
    axis = node.integer("axis", 0)
    reduction = node.string("reduction", "none", REDUCTIONS)

    def run(x: Any, indices: Any, updates: Any) -> Any:
        at = axis_in(axis, x.ndim)
        if indices.shape != tuple(updates.shape) or indices.ndim != x.ndim:
            raise ModelError(
                f"indices have shape {indices.shape} and updates {tuple(updates.shape)}"
            )
        wrapped = np.where(indices < 0, indices + x.shape[at], indices)
        if wrapped.size and not (0 <= wrapped.min() <= wrapped.max() < x.shape[at]):
            raise ModelError(f"an index is out of range for {x.shape[at]} elements")
        if any(
            n > m for i, (n, m) in enumerate(zip(indices.shape, x.shape, strict=True)) if i != at
        ):
            raise ModelError(f"indices have shape {indices.shape}, of input {tuple(x.shape)}")
        grid = list(np.indices(indices.shape, sparse=True))
        grid[at] = wrapped
        strides = [math.prod(x.shape[i + 1 :]) for i in range(x.ndim)]
        places = sum(one * step for one, step in zip(grid, strides, strict=True))
        return _scattered(x, np.broadcast_to(places, indices.shape), updates, reduction)

    return run


@operator("ScatterND", host=(1,))
def _scatter_nd(node: Node) -> Run:
    reduction = node.string("reduction", "none", REDUCTIONS)

    def run(x: Any, indices: Any, updates: Any) -> Any:
        count = indices.shape[-1] if indices.ndim else 0
        if count > x.ndim:
            raise ModelError(f"indices have shape {indices.shape}, of an input {tuple(x.shape)}")
        tail = tuple(x.shape[count:])
        if tuple(updates.shape) != (*indices.shape[:-1], *tail):
            raise ModelError(
                f"updates have shape {tuple(updates.shape)}, expected "
                f"{(*indices.shape[:-1], *tail)}"
            )
        lengths = np.array(x.shape[:count], np.int64)
        wrapped = np.where(indices < 0, indices + lengths, indices)
        if wrapped.size and ((wrapped < 0) | (wrapped >= lengths)).any():
            raise ModelError(f"an index is out of range for the shape {tuple(x.shape)}")
        deep = math.prod(tail)
        strides = [math.prod(x.shape[i + 1 : count]) for i in range(count)]
        first = (wrapped * np.array(strides, np.int64)).sum(-1).reshape(-1, 1)
        places = first * deep + np.arange(deep)
        return _scattered(x, places, updates, reduction)

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


@operator("OneHot", host=(1, 2), grows=True)
def _one_hot(node: Node) -> Run:
    axis = node.integer("axis", -1)

    def run(indices: Any, depth: Any, values: Any) -> Any:
        count = int(scalar(depth))
        at = axis_in(axis, indices.ndim + 1)
        shape = list(indices.shape)
        shape.insert(at, count)
        check_room(shape, 8)
        off, on = (one.item() for one in np.asarray(values).reshape(-1))
        whole = indices if indices.dtype.kind in "iu" else indices.astype("int64")
        places = tw.expand_dims(whole, axis=at)
        sizes = [1] * len(shape)
        sizes[at] = count
        classes = tw.arange(count, dtype=whole.dtype).reshape(tuple(sizes))
        found = tw.logical_or(places == classes, places + count == classes)
        dtype = values.dtype
        if dtype == np.bool_:
            return found if on and not off else tw.where(found, tw.asarray(on), tw.asarray(off))
        return tw.where(found, tw.asarray(on, dtype=dtype), tw.asarray(off, dtype=dtype))

    return run


@operator("ArgMax", "ArgMin")
def _arg(node: Node) -> Run:
    axis, keeps = node.integer("axis", 0), node.flag("keepdims", 1)
    last = node.flag("select_last_index")
    name = "argmax" if node.op == "ArgMax" else "argmin"

    def run(x: Any) -> Any:
        at = axis_in(axis, x.ndim)
        own = getattr(tw, name)
        if not last:
            return own(x, axis=at, keepdims=keeps).astype("int64")
        return (x.shape[at] - 1 - own(tw.flip(x, axis=at), axis=at, keepdims=keeps)).astype("int64")

    return run


@operator("TopK", host=(1,))
def _top_k(node: Node) -> Run:
    axis, largest = node.integer("axis", -1), node.flag("largest", 1)
    node.flag("sorted", 1)
    fixed = node.integer("k") if node.version < 10 else 0

    def run(x: Any, k: Any = None) -> Any:
        count = fixed if k is None else int(scalar(k))
        at = axis_in(axis, x.ndim)
        if not 0 <= count <= x.shape[at]:
            raise ModelError(f"k is {count}, expected at most {x.shape[at]}")
        found = tw.topk(x, count, axis=at, largest=largest)
        return found[0], found[1].astype("int64")

    return run


@operator("NonZero", reads=True)
def _non_zero(node: Node) -> Run:
    def run(x: Any) -> Any:
        rows = tw.nonzero(x.reshape((1,)) if x.ndim == 0 else x)
        return tw.stack(list(rows)).astype("int64")

    return run


@operator("Compress", reads=True)
def _compress(node: Node) -> Run:
    axis = node.maybe("axis")

    def run(x: Any, condition: Any) -> Any:
        if axis is None:
            flat = x.reshape(-1)
            return flat[tw.nonzero(condition[: flat.shape[0]])[0]]
        at = axis_in(axis, x.ndim)
        return tw.take(x, tw.nonzero(condition[: x.shape[at]])[0], axis=at)

    return run


@operator("CumSum", host=(1,))
def _cum_sum(node: Node) -> Run:
    return _cumulative(node, tw.cumulative_sum)


@operator("CumProd", host=(1,))
def _cum_prod(node: Node) -> Run:
    return _cumulative(node, tw.cumulative_prod)


def _cumulative(node: Node, own: Any) -> Run:
    exclusive, reverse = node.flag("exclusive"), node.flag("reverse")

    def run(x: Any, axis: Any) -> Any:
        at = axis_in(int(scalar(axis)), x.ndim)
        rows = tw.flip(x, axis=at) if reverse else x
        found = own(rows, axis=at, dtype=x.dtype, include_initial=exclusive)
        if exclusive:
            found = found[(slice(None),) * at + (slice(0, x.shape[at]),)]
        return tw.flip(found, axis=at) if reverse else found

    return run
