"""What chooses elements by indices, and what finds indices."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilewright as tw
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.common import axis_in, check_room, on_host, scalar
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
