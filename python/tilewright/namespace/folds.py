"""Methods of ufuncs without a kernel of their own: reductions by halves, at() of extremes."""

from __future__ import annotations

from typing import Any

from tilewright import _core
from tilewright.array import Array
from tilewright.namespace.mixed import an_array, beside, written
from tilewright.shapes import to_axes
from tilewright.small_floats import can_cast

# What is folded by halves, in any order, and what it is of nothing.
FOLDS: dict[str, int | None] = {
    "bitwise_and": -1, "bitwise_or": 0, "bitwise_xor": 0, "gcd": 0, "lcm": None, "logical_xor": 0,
}  # fmt: skip


def _namespace() -> Any:
    import tilewright

    return tilewright


def folded(
    ufunc: Any, array: Any, refuse: Any, axis: Any = 0, dtype: Any = None, out: Any = (None,),
    keepdims: bool = False, initial: Any = None, where: Any = True,
) -> Array:  # fmt: skip
    """np.bitwise_or.reduce(x, axis=0, ...)."""
    name = ufunc.__name__
    call = f"np.{name}.reduce"
    if where is not True:
        refuse({"where": where})
    x = an_array(call, array, "array")
    if name == "logical_xor":
        x = x != 0
    elif dtype is not None:
        x = x.astype(dtype, copy=False)
    function = getattr(_namespace(), name)
    axes = tuple(range(x.ndim)) if axis is None or x.ndim == 0 else to_axes(call, axis, x.ndim)
    for at in sorted(axes, reverse=True):
        x = _folded_along(call, x, at, function, FOLDS[name])
    if keepdims:
        x = _namespace().expand_dims(x, axes) if axes else x
    if initial is not None:
        x = function(x, initial)
    return written(call, out[0], x)


def _folded_along(call: str, x: Array, axis: int, function: Any, nothing: int | None) -> Array:
    """One axis less: the halves of it are joined until one element is left."""
    before = (slice(None),) * axis
    size = x.shape[axis]
    if size == 0:
        if nothing is None:
            raise ValueError(f"{call}: array has no elements along axis {axis}, and no identity")
        made: Array = x.backend._new((*x.shape[:axis], *x.shape[axis + 1 :]), x.dtype)
        made[...] = _nothing(nothing, x)
        return made
    while size > 1:
        half = size // 2
        joined = function(x[(*before, slice(half))], x[(*before, slice(half, 2 * half))])
        if size % 2:
            last = x[(*before, slice(size - 1, size))]
            first = function(joined[(*before, slice(1))], last)
            joined = _namespace().concat([first, joined[(*before, slice(1, None))]], axis=axis)
        x, size = joined, half
    return x[(*before, 0)]


def _nothing(number: int, x: Array) -> Any:
    if x.dtype.kind == "b":
        return bool(number)
    return 2 ** (8 * x.itemsize) - 1 if number < 0 and x.dtype.kind == "u" else number


def extreme_at(name: str, a: Any, indices: Any, b: Any) -> None:
    """np.maximum.at(a, indices, b): the largest of each element and all values for its place. The
    values are sorted by place and size, of which the last for each place counts."""
    tw = _namespace()
    call = f"np.{name}.at"
    x = an_array(call, a, "a")
    values = beside(call, "b", b, x, is_written=True)
    if not can_cast(values.dtype, x.dtype, "same_kind"):
        raise TypeError(f"{call}: b is {values.dtype}, which {x.dtype} does not hold")
    _core._make_writable(x, call)
    places = tw.arange(x.size, device=x.backend).reshape(x.shape)[indices]
    values = tw.broadcast_to(values.astype(x.dtype, copy=False), places.shape).reshape(-1)
    places = places.reshape(-1)
    if not places.size:
        return
    order = tw.argsort(values, descending=name == "minimum")
    order = tw.take(order, tw.argsort(tw.take(places, order)))
    places, values = tw.take(places, order), tw.take(values, order)
    last = tw.empty(places.shape, dtype="bool", device=x.backend)
    last[-1:] = True
    if places.size > 1:
        last[:-1] = places[1:] != places[:-1]
    places, values = places[last], values[last]
    line = x.reshape(-1)
    line[places] = getattr(tw, name)(line[places], values)
    if not line.overlaps(x):
        x[...] = line.reshape(x.shape)
