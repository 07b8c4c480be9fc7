"""What changes shapes and moves elements without looking at them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.array import Array
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Node
from tilewright.models.onnx.operators.common import (
    axes_in,
    axis_in,
    check_room,
    concat,
    ints,
    transposed,
)
from tilewright.models.onnx.operators.registry import Run, operator


@operator("Constant", anywhere=True)
def _constant(node: Node) -> Run:
    names = ("value", "value_float", "value_floats", "value_int", "value_ints")
    given = [name for name in names if node.given(name)]
    if len(given) != 1:
        node.fail("it has no value that the library has, expected a tensor or numbers")
    found: Any
    match given[0]:
        case "value":
            found = node.tensor("value")
        case "value_float":
            found = np.array(node.number("value_float"), np.float32)
        case "value_floats":
            found = np.array(node.numbers("value_floats"), np.float32)
        case "value_int":
            found = np.array(node.integer("value_int"), np.int64)
        case _:
            found = np.array(node.integers("value_ints"), np.int64)
    return lambda: found


@operator("ConstantOfShape", host=(0,), anywhere=True, grows=True)
def _constant_of_shape(node: Node) -> Run:
    value = node.tensor("value")
    if value is None:
        value = np.zeros(1, np.float32)
    if value.size != 1:
        node.fail(f"its value has shape {value.shape}, expected one element")

    def run(shape: Any) -> Any:
        sizes = ints(shape)
        check_room(sizes, value.itemsize)
        if node.on_host:
            return np.full(sizes, value.reshape(-1)[0], value.dtype)
        return tw.full(sizes, value.reshape(-1)[0].item(), dtype=value.dtype)

    return run


@operator("Shape", as_is=True)
def _shape(node: Node) -> Run:
    start, end = node.integer("start", 0), node.maybe("end")
    return lambda x: np.array(tuple(x.shape)[start:end], np.int64)


@operator("Size", as_is=True)
def _size(node: Node) -> Run:
    return lambda x: np.array(math.prod(x.shape), np.int64)


@operator("Reshape", host=(1,), anywhere=True)
def _reshape(node: Node) -> Run:
    keeps_zeros = node.flag("allowzero")

    def run(x: Any, shape: Any) -> Any:
        sizes = list(ints(shape))
        if not keeps_zeros:
            for i, size in enumerate(sizes):
                if size == 0:
                    if i >= x.ndim:
                        raise ModelError(f"the shape is {sizes}, of input {tuple(x.shape)}")
                    sizes[i] = x.shape[i]
        if -1 in sizes:
            others = math.prod(one for one in sizes if one != -1)
            if sizes.count(-1) > 1 or others <= 0 or x.size % others:
                raise ModelError(f"the shape is {sizes}, of input {tuple(x.shape)}")
            sizes[sizes.index(-1)] = x.size // others
        if math.prod(sizes) != x.size or any(one < 0 for one in sizes):
            raise ModelError(f"the shape is {sizes}, of input {tuple(x.shape)}")
        return x.reshape(tuple(sizes))

    return run


@operator("Flatten", anywhere=True)
def _flatten(node: Node) -> Run:
    axis = node.integer("axis", 1)

    def run(x: Any) -> Any:
        at = axis if axis == x.ndim else axis_in(axis, x.ndim)
        return x.reshape((math.prod(x.shape[:at]), math.prod(x.shape[at:])))

    return run


def axes_of(node: Node) -> Any:
    """A function of what the input says: axes were an attribute before they were an input."""
    fixed = node.integers("axes")

    def axes(given: Any) -> tuple[int, ...] | None:
        if fixed is not None:
            return fixed
        return None if given is None else ints(given)

    return axes


@operator("Squeeze", host=(1,), anywhere=True)
def _squeeze(node: Node) -> Run:
    axes_from = axes_of(node)

    def run(x: Any, given: Any = None) -> Any:
        found = axes_from(given)
        if found is None:
            axes: Any = {i for i, size in enumerate(x.shape) if size == 1}
        else:
            axes = set(axes_in(found, x.ndim))
            if any(x.shape[i] != 1 for i in axes):
                raise ModelError(
                    f"axes are {found}, of input {tuple(x.shape)}, expected sizes of 1"
                )
        return x.reshape(tuple(size for i, size in enumerate(x.shape) if i not in axes))

    return run


@operator("Unsqueeze", host=(1,), anywhere=True)
def _unsqueeze(node: Node) -> Run:
    axes_from = axes_of(node)

    def run(x: Any, given: Any = None) -> Any:
        found = axes_from(given)
        if found is None:
            raise ModelError("axes are missing, expected them as its second input")
        rank = x.ndim + len(found)
        axes = set(axes_in(found, rank))
        sizes = iter(x.shape)
        return x.reshape(tuple(1 if i in axes else next(sizes) for i in range(rank)))

    return run


@operator("Transpose", anywhere=True)
def _transpose(node: Node) -> Run:
    perm = node.integers("perm")

    def run(x: Any) -> Any:
        axes = tuple(reversed(range(x.ndim))) if perm is None else perm
        if sorted(axes) != list(range(x.ndim)):
            raise ModelError(f"perm is {axes}, of input {tuple(x.shape)}")
        return transposed(x, axes)

    return run


@operator("Concat", anywhere=True)
def _concat(node: Node) -> Run:
    axis = node.integer("axis")

    def run(*values: Any) -> Any:
        kinds = {one.dtype.name for one in values}
        if len(kinds) > 1:
            raise ModelError(f"its inputs are {' and '.join(sorted(kinds))}, expected one dtype")
        return concat(values, axis_in(axis, values[0].ndim))

    return run


@operator("Split", host=(1,), anywhere=True)
def _split(node: Node) -> Run:
    axis, fixed = node.integer("axis", 0), node.integers("split")
    parts = node.integer("num_outputs", len(node.outputs))
    if parts != len(node.outputs):
        node.fail(f"the attribute num_outputs is {parts}, of {len(node.outputs)} outputs")

    def run(x: Any, given: Any = None) -> Any:
        at = axis_in(axis, x.ndim)
        size = x.shape[at]
        if fixed is not None or given is not None:
            sizes: Any = fixed if given is None else ints(given)
        else:
            step = -(-size // parts)
            sizes = [max(min(step, size - i * step), 0) for i in range(parts)]
        if sum(sizes) != size or min(sizes, default=0) < 0:
            raise ModelError(f"split is {tuple(sizes)}, of {size} elements")
        found, first = [], 0
        for one in sizes:
            found.append(x[(slice(None),) * at + (slice(first, first + one),)])
            first += one
        return tuple(found)

    return run


@operator("Slice", host=(1, 2, 3, 4), anywhere=True)
def _slice(node: Node) -> Run:
    fixed = node.integers("starts"), node.integers("ends"), node.integers("axes")

    def run(
        x: Any, starts: Any = None, ends: Any = None, axes: Any = None, steps: Any = None
    ) -> Any:
        if starts is None:
            first, last, along = fixed
        else:
            first, last = ints(starts), ints(ends)
            along = None if axes is None else ints(axes)
        if first is None or last is None or len(first) != len(last):
            raise ModelError(f"starts are {first} and ends {last}, expected as many of both")
        along = tuple(range(len(first))) if along is None else along
        by = (1,) * len(first) if steps is None else ints(steps)
        if len(along) != len(first) or len(by) != len(first):
            raise ModelError(f"axes are {along} and steps {by}, expected {len(first)} of both")
        key = [slice(None)] * x.ndim
        for axis, low, high, step in zip(axes_in(along, x.ndim), first, last, by, strict=True):
            if step == 0:
                raise ModelError("a step is 0, expected another number")
            key[axis] = _cut(x.shape[axis], low, high, step)
        return x[tuple(key)]

    return run


def _cut(size: int, low: int, high: int, step: int) -> slice:
    low = low + size if low < 0 else low
    high = high + size if high < 0 else high
    if step > 0:
        return slice(min(max(low, 0), size), min(max(high, 0), size), step)
    low, high = min(max(low, 0), size - 1), min(max(high, -1), size - 1)
    return slice(low, None if high < 0 else high, step) if size else slice(0, 0)


@operator("Expand", host=(1,), anywhere=True, grows=True)
def _expand(node: Node) -> Run:
    def run(x: Any, shape: Any) -> Any:
        try:
            sizes = np.broadcast_shapes(tuple(x.shape), ints(shape)) if min(
                ints(shape), default=0
            ) >= 0 else None  # fmt: skip
        except ValueError:
            sizes = None
        if sizes is None:
            raise ModelError(f"the shape is {ints(shape)}, to which {tuple(x.shape)} has no way")
        check_room(sizes, x.dtype.itemsize)
        if isinstance(x, Array):
            return tw.broadcast_to(x, sizes)
        return np.broadcast_to(x, sizes)

    return run


@operator("Tile", host=(1,), anywhere=True, grows=True)
def _tile(node: Node) -> Run:
    def run(x: Any, repeats: Any) -> Any:
        times = ints(repeats)
        if len(times) != x.ndim or min(times, default=0) < 0:
            raise ModelError(f"repeats are {times}, expected one for each of {x.ndim} dimensions")
        check_room([a * b for a, b in zip(x.shape, times, strict=True)], x.dtype.itemsize)
        return tw.tile(x, times) if isinstance(x, Array) else np.tile(x, times)

    return run


@operator("DepthToSpace")
def _depth_to_space(node: Node) -> Run:
    block = node.integer("blocksize")
    mode = node.string("mode", "DCR", ("DCR", "CRD"))

    def run(x: Any) -> Any:
        batch, channels, rows, columns = _image(x)
        deep = channels // max(block * block, 1)
        if block < 1 or deep * block * block != channels:
            raise ModelError(f"blocksize is {block}, of {channels} channels")
        if mode == "DCR":
            found = x.reshape((batch, block, block, deep, rows, columns))
            found = found.transpose((0, 3, 4, 1, 5, 2))
        else:
            found = x.reshape((batch, deep, block, block, rows, columns))
            found = found.transpose((0, 1, 4, 2, 5, 3))
        return found.reshape((batch, deep, rows * block, columns * block))

    return run


@operator("SpaceToDepth")
def _space_to_depth(node: Node) -> Run:
    block = node.integer("blocksize")
    mode = node.string("mode", "DCR", ("DCR", "CRD"))

    def run(x: Any) -> Any:
        batch, channels, rows, columns = _image(x)
        if block < 1 or rows % block or columns % block:
            raise ModelError(f"blocksize is {block}, of {rows} rows and {columns} columns")
        high, wide = rows // block, columns // block
        found = x.reshape((batch, channels, high, block, wide, block))
        axes = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
        found = found.transpose(axes)
        return found.reshape((batch, channels * block * block, high, wide))

    return run


def _image(x: Any) -> tuple[int, ...]:
    if x.ndim != 4:
        raise ModelError(f"its input has shape {tuple(x.shape)}, expected four dimensions")
    return tuple(x.shape)


MODES = {"constant": "constant", "reflect": "reflect", "edge": "edge", "wrap": "wrap"}


@operator("Pad", host=(1, 2, 3), grows=True)
def _pad(node: Node) -> Run:
    mode = node.string("mode", "constant", MODES)
    fixed, number = node.integers("pads"), node.number("value", 0.0)

    def run(x: Any, pads: Any = None, value: Any = None, axes: Any = None) -> Any:
        found = fixed if pads is None else ints(pads)
        along = tuple(range(x.ndim)) if axes is None else axes_in(ints(axes), x.ndim)
        if found is None or len(found) != 2 * len(along):
            raise ModelError(f"pads are {found}, expected two for each of {len(along)} axes")
        pairs = [(0, 0)] * x.ndim
        for i, axis in enumerate(along):
            pairs[axis] = (found[i], found[len(along) + i])
        key = tuple(
            slice(-min(a, 0), size + min(b, 0) if b < 0 else None)
            for size, (a, b) in zip(x.shape, pairs, strict=True)
        )
        if any(min(pair) < 0 for pair in pairs):
            x = x[key]
        widths = [(max(a, 0), max(b, 0)) for a, b in pairs]
        check_room([n + a + b for n, (a, b) in zip(x.shape, widths, strict=True)], x.dtype.itemsize)
        if not any(a or b for a, b in widths):
            return x
        if mode == "constant":
            filler = number if value is None else np.asarray(value).reshape(-1)[0].item()
            return tw.pad(x, widths, constant_values=filler)
        return tw.pad(x, widths, mode)

    return run


@operator("CenterCropPad", host=(1,), grows=True)
def _center_crop_pad(node: Node) -> Run:
    chosen = node.integers("axes")

    def run(x: Any, shape: Any) -> Any:
        axes = tuple(range(x.ndim)) if chosen is None else axes_in(chosen, x.ndim)
        sizes = ints(shape)
        if len(sizes) != len(axes):
            raise ModelError(f"the shape is {sizes}, expected {len(axes)} sizes")
        key, widths = [slice(None)] * x.ndim, [(0, 0)] * x.ndim
        for axis, size in zip(axes, sizes, strict=True):
            more = size - x.shape[axis]
            if more < 0:
                first = -more // 2
                key[axis] = slice(first, first + size)
            else:
                widths[axis] = (more // 2, more - more // 2)
        x = x[tuple(key)]
        check_room([n + a + b for n, (a, b) in zip(x.shape, widths, strict=True)])
        return tw.pad(x, widths)

    return run


@operator("Trilu", host=(1,))
def _trilu(node: Node) -> Run:
    upper = node.flag("upper", 1)

    def run(x: Any, k: Any = None) -> Any:
        at = 0 if k is None else ints(k)[0]
        return (tw.triu if upper else tw.tril)(x, k=at)

    return run


@operator("ReverseSequence", host=(1,))
def _reverse_sequence(node: Node) -> Run:
    time, batch = node.integer("time_axis", 0), node.integer("batch_axis", 1)

    def run(x: Any, lengths: Any) -> Any:
        counts = ints(lengths)
        steps, texts = x.shape[axis_in(time, x.ndim)], x.shape[axis_in(batch, x.ndim)]
        if {time, batch} != {0, 1} or len(counts) != texts:
            raise ModelError(f"lengths are {counts}, expected one for each of {texts}")
        if not all(0 <= one <= steps for one in counts):
            raise ModelError(f"lengths are {counts}, expected at most {steps}")
        places = np.tile(np.arange(steps), (texts, 1))
        for row, count in zip(places, counts, strict=True):
            row[:count] = row[:count][::-1]
        rows = np.arange(texts)
        return x[places.T, rows[None]] if time == 0 else x[rows[:, None], places]

    return run
