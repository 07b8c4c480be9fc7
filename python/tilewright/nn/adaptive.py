"""Adaptive pooling: as many windows along an axis as are asked for, of as equal lengths as there
are."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.namespace.complex_math import choose
from tilewright.nn.running import floats, mapped, reduced, to_truth
from tilewright.nn.windows import to_sizes
from tilewright.operands import invalid
from tilewright.program import Program

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.nn.windows import Sizes
    from tilewright.program import Value

    Host = np.ndarray[Any, Any]

INT32 = np.dtype(np.int32)
MOST_INT32 = 2**31 - 1


def _tables(length: int, out: int, back: bool) -> tuple[Host, Host]:
    """What each output of an axis is of: places of the input and their weights, 0 for those that
    only fill the row; or `back`, what each place of the input gets of the outputs."""
    starts = np.arange(out) * length // out
    ends = -(-(np.arange(1, out + 1) * length) // out)
    matrix = [(p, i, 1 / (ends[p] - starts[p])) for p in range(out)
              for i in range(starts[p], ends[p])]  # fmt: skip
    rows: list[list[tuple[int, float]]] = [[] for _ in range(length if back else out)]
    for p, i, weight in matrix:
        rows[i if back else p].append((p, weight) if back else (i, weight))
    most = max((len(row) for row in rows), default=1)
    places = np.zeros((len(rows), most), np.int32)
    weights = np.zeros((len(rows), most))
    for at, row in enumerate(rows):
        for j, (place, weight) in enumerate(row):
            places[at, j], weights[at, j] = place, weight
    return places, weights


def _weighed(x: Value, weight: Value) -> Value:
    return choose(weight == 0, 0.0, x * weight)


def _shared(x: Array, axis: int, out: int, back: bool, length: int) -> Array:
    """One axis of the means, or of their gradient; it stays in float32 or float64."""
    from tilewright.namespace.manipulation import broadcast_to
    from tilewright.namespace.selection import take

    places, weights = _tables(length, out, back)
    taken = take(x, places, axis=axis)
    wide = np.float64 if x.dtype == np.float64 else np.float32
    there = x.backend._upload(weights.astype(wide))
    there = there.reshape((*weights.shape, *(1,) * (x.ndim - axis - 1)))
    operands = [taken, broadcast_to(there, taken.shape)]
    return reduced("sum", _weighed, taken, operands, [axis + 1])


def _sizes(call: str, axes: int, x: Array, output_size: Any) -> tuple[int, ...]:
    """The outputs of each axis."""
    if x.ndim not in (axes + 1, axes + 2):
        invalid(call, f"x has shape {x.shape}, expected {axes + 2} dimensions, or one less")
    lengths = x.shape[x.ndim - axes :]
    if isinstance(output_size, (tuple, list)) and len(output_size) == axes:
        pairs = zip(output_size, lengths, strict=True)
        output_size = tuple(length if one is None else one for one, length in pairs)
    sizes = to_sizes(call, "output_size", output_size, axes, 1)
    if 0 in lengths:
        invalid(call, f"x has shape {x.shape}, expected elements along the last axes")
    return sizes


def _check_grad(call: str, grad: Array, x: Array, sizes: tuple[int, ...]) -> None:
    shape = (*x.shape[: x.ndim - len(sizes)], *sizes)
    if grad.shape != shape:
        invalid(call, f"grad has shape {grad.shape}, expected {shape} as the result has")


def _means(call: str, axes: int, x: Any, output_size: Any, grad: Any = None) -> Array:
    (x,) = floats(call, x=x)
    sizes = _sizes(call, axes, x, output_size)
    found = x
    if grad is not None:
        _, found = floats(call, x=x, grad=grad)
        _check_grad(call, found, x, sizes)
    given = found
    first = x.ndim - axes
    for i, (length, size) in enumerate(zip(x.shape[first:], sizes, strict=True)):
        if length != size:
            found = _shared(found, first + i, size, grad is not None, length)
    result: Array = found.astype(x.dtype, copy=found is given)
    return result


# Of the largest ----------------------------------------------------------------------------------


def _itself(x: Value) -> Value:
    return x


def _own(grad: Value, place: Value, own: Value, weight: Value) -> Value:
    return choose((weight > 0) & (place == own), grad, 0.0)


@cache
def _place_of(dtype: str) -> Program:
    """The place of an element that is the largest of its window, else more than any place."""
    program = Program()
    x, largest, place = program.input(dtype), program.input(dtype), program.input("int32")
    found = (x == largest) | (x.isnan() & largest.isnan())
    program.output(choose(found, place, MOST_INT32))
    return program


def _spread(x: Any, tables: list[Host], first: int, take: Any) -> Any:
    """x with an axis more behind each of those of the tables, along which its elements lie that a
    table's row names."""
    for i, places in enumerate(tables):
        x = take(x, places, first + 2 * i)
    return x


def _in_windows(x: Array, sizes: tuple[int, ...]) -> tuple[Array, Array, list[int]]:
    """The elements of each window, their places in the plane, and the axes of the windows."""
    from tilewright.namespace.selection import take

    first = x.ndim - len(sizes)
    plane = x.shape[first:]
    tables = [_tables(n, size, False)[0] for n, size in zip(plane, sizes, strict=True)]
    # What fills a row is an element of its window again.
    for table, n, size in zip(tables, plane, sizes, strict=True):
        starts = np.arange(size) * n // size
        table[:] = np.maximum(table, starts[:, None])
    numbers = np.arange(math.prod(plane), dtype=np.int32).reshape(plane)
    there = x.backend._upload(_spread(numbers, tables, 0, np.take))
    elements = _spread(x, tables, first, lambda x, places, axis: take(x, places, axis=axis))
    return elements, there, [first + 2 * i + 1 for i in range(len(sizes))]


def _largest(x: Array, sizes: tuple[int, ...]) -> tuple[Array, Array]:
    from tilewright.namespace.manipulation import broadcast_to

    elements, numbers, inner = _in_windows(x, sizes)
    found = reduced("max", _itself, elements, [elements], inner, x.dtype)
    places = x.backend._new(found.shape, INT32)
    if found.size:
        kept = tuple(1 if i in inner else size for i, size in enumerate(elements.shape))
        operands = [
            elements, broadcast_to(found.reshape(kept), elements.shape),
            broadcast_to(numbers, elements.shape),
        ]  # fmt: skip
        program = _place_of(x.stored_as)
        x.backend.map_reduce(program, "min", elements.shape, inner, operands, [], [places])
    return found, places


def _max(call: str, axes: int, x: Any, output_size: Any, return_indices: Any) -> Any:
    (x,) = floats(call, x=x)
    sizes = _sizes(call, axes, x, output_size)
    with_places = to_truth(call, "return_indices", return_indices)
    found, places = _largest(x, sizes)
    return (found, places) if with_places else found


def _max_gradient(call: str, axes: int, grad: Any, x: Any, output_size: Any, indices: Any) -> Array:
    from tilewright.namespace.manipulation import broadcast_to
    from tilewright.namespace.mixed import an_array
    from tilewright.namespace.selection import take

    x, grad = floats(call, x=x, grad=grad)
    sizes = _sizes(call, axes, x, output_size)
    _check_grad(call, grad, x, sizes)
    if indices is None:
        indices = _largest(x, sizes)[1]
    else:
        x.backend._own(call, "indices", an_array(call, indices, "indices"))
        if indices.shape != grad.shape or indices.dtype != INT32:
            invalid(
                call,
                f"indices is {indices.dtype} of shape {indices.shape}, expected int32 of shape "
                f"{grad.shape}",
            )
    if x.size == 0:
        return mapped(call, _itself, x, [x])
    first = x.ndim - axes
    plane = x.shape[first:]
    both = [_tables(n, size, True) for n, size in zip(plane, sizes, strict=True)]
    tables = [places for places, _ in both]

    def on_device(x: Array, places: Host, axis: int) -> Array:
        return take(x, places, axis=axis)

    grads = _spread(grad, tables, first, on_device)
    places = _spread(indices, tables, first, on_device)
    # Which of a row's entries count, as a product over the axes.
    weights = np.ones((1,) * (2 * axes), np.float32)
    numbers = np.arange(math.prod(plane), dtype=np.int32).reshape(
        tuple(size for n in plane for size in (n, 1))
    )
    for i, (_, weight) in enumerate(both):
        shape = [1] * (2 * axes)
        shape[2 * i : 2 * i + 2] = weight.shape
        weights = weights * (weight > 0).astype(np.float32).reshape(shape)
    wide = np.float64 if x.dtype == np.float64 else np.float32
    operands = [
        grads, places, broadcast_to(x.backend._upload(numbers), grads.shape),
        broadcast_to(x.backend._upload(weights.astype(wide)), grads.shape),
    ]  # fmt: skip
    inner = [first + 2 * i + 1 for i in range(axes)]
    return reduced("sum", _own, grads, operands, inner, x.dtype)


def adaptive_avg_pool1d(x: Array, /, output_size: Sizes) -> Array:
    """As many means of equal parts of the last axis as output_size says; parts share an element
    where they do not come out even."""
    return _means("adaptive_avg_pool1d", 1, x, output_size)


def adaptive_avg_pool2d(x: Array, /, output_size: Any) -> Array:
    """adaptive_avg_pool1d() along the last two axes; None leaves an axis as it is."""
    return _means("adaptive_avg_pool2d", 2, x, output_size)


def adaptive_avg_pool3d(x: Array, /, output_size: Any) -> Array:
    """adaptive_avg_pool1d() along the last three axes; None leaves an axis as it is."""
    return _means("adaptive_avg_pool3d", 3, x, output_size)


def adaptive_avg_pool1d_backward(grad: Array, x: Array, /, output_size: Sizes) -> Array:
    """The gradient of adaptive_avg_pool1d() by x, of which only the shape counts."""
    return _means("adaptive_avg_pool1d_backward", 1, x, output_size, grad)


def adaptive_avg_pool2d_backward(grad: Array, x: Array, /, output_size: Any) -> Array:
    """The gradient of adaptive_avg_pool2d() by x, of which only the shape counts."""
    return _means("adaptive_avg_pool2d_backward", 2, x, output_size, grad)


def adaptive_avg_pool3d_backward(grad: Array, x: Array, /, output_size: Any) -> Array:
    """The gradient of adaptive_avg_pool3d() by x, of which only the shape counts."""
    return _means("adaptive_avg_pool3d_backward", 3, x, output_size, grad)


def adaptive_max_pool1d(x: Array, /, output_size: Any, return_indices: bool = False) -> Any:
    """The largest of as many equal parts of the last axis as output_size says; with return_indices
    also where each is in its plane, as int32."""
    return _max("adaptive_max_pool1d", 1, x, output_size, return_indices)


def adaptive_max_pool2d(x: Array, /, output_size: Any, return_indices: bool = False) -> Any:
    """adaptive_max_pool1d() along the last two axes; None leaves an axis as it is."""
    return _max("adaptive_max_pool2d", 2, x, output_size, return_indices)


def adaptive_max_pool3d(x: Array, /, output_size: Any, return_indices: bool = False) -> Any:
    """adaptive_max_pool1d() along the last three axes; None leaves an axis as it is."""
    return _max("adaptive_max_pool3d", 3, x, output_size, return_indices)


def adaptive_max_pool1d_backward(
    grad: Array, x: Array, /, output_size: Any, *, indices: Array | None = None
) -> Array:
    """The gradient of adaptive_max_pool1d() by x, which the first of the largest gets."""
    return _max_gradient("adaptive_max_pool1d_backward", 1, grad, x, output_size, indices)


def adaptive_max_pool2d_backward(
    grad: Array, x: Array, /, output_size: Any, *, indices: Array | None = None
) -> Array:
    """The gradient of adaptive_max_pool2d() by x, which the first of the largest gets."""
    return _max_gradient("adaptive_max_pool2d_backward", 2, grad, x, output_size, indices)


def adaptive_max_pool3d_backward(
    grad: Array, x: Array, /, output_size: Any, *, indices: Array | None = None
) -> Array:
    """The gradient of adaptive_max_pool3d() by x, which the first of the largest gets."""
    return _max_gradient("adaptive_max_pool3d_backward", 3, grad, x, output_size, indices)
