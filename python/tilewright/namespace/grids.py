"""Numbers by equal steps between others, and grids of vectors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace import ranges
from tilewright.namespace.creation import (
    COMPLEX64,
    FLOAT32,
    _check_real,
    _dtype_for,
    _number,
    arange,
    asarray,
)
from tilewright.namespace.devices import to_backend
from tilewright.namespace.dtypes import result_type
from tilewright.namespace.elementwise import floor
from tilewright.namespace.manipulation import broadcast_shapes, broadcast_to, moveaxis
from tilewright.namespace.mixed import beside
from tilewright.operands import (
    HALVES,
    invalid,
    parts_dtype,
    shown,
    stored,
    to_dtype,
    to_integer,
    to_shape,
)
from tilewright.shapes import to_one_axis

if TYPE_CHECKING:
    import numpy.typing as npt

    from tilewright.namespace.devices import Device


FLOAT64 = np.dtype(np.float64)


def is_number(given: Any) -> bool:
    """Whether it is a number, or has one element and no dimension; what is neither is left to be
    refused."""
    return not isinstance(given, (Array, np.ndarray, list, tuple)) or np.shape(given) == ()


def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False,
    dtype: npt.DTypeLike | None = None, axis: int = 0, *, device: Device | None = None,
) -> Any:  # fmt: skip
    """`num` numbers by equal steps from start to stop, which is left out unless `endpoint`; of
    Arrays such numbers of each pair of elements, along a new axis. With `retstep` the step too."""
    if not (is_number(start) and is_number(stop)):
        return _between_arrays(start, stop, num, endpoint, retstep, dtype, axis, device)
    to_one_axis("linspace", axis, 1)
    backend = to_backend("linspace", device)
    kinds = (int, float, complex)
    first = _number("linspace", "start", start, kinds)
    last = _number("linspace", "stop", stop, kinds)
    is_complex = isinstance(first, complex) or isinstance(last, complex)
    wanted = _dtype_for("linspace", dtype, COMPLEX64 if is_complex else FLOAT32, backend)
    count = to_integer("linspace", "num", num)
    if count < 0:
        invalid("linspace", f"num is {count}, expected 0 or more")
    if is_complex:
        _check_real("linspace", "start or stop", np.dtype(np.complex128), wanted)
    made = np.dtype(COMPLEX64) if is_complex and wanted.kind == "b" else wanted
    result = backend._new(to_shape("linspace", count), made)
    if made.kind != "c":
        _spread(result, first, last, bool(endpoint))
        return (result, _step(first, last, count, endpoint)) if retstep else result
    for part, low, high in ((0, first.real, last.real), (1, first.imag, last.imag)):
        numbers = backend._new(result.shape, parts_dtype(made))
        _spread(numbers, low, high, bool(endpoint))
        result._part(part)[...] = numbers
    made_of = result.astype(wanted, copy=False)
    return (made_of, _step(first, last, count, endpoint)) if retstep else made_of


def _step(first: Any, last: Any, count: int, endpoint: bool) -> Any:
    steps = count - 1 if endpoint else count
    return (last - first) / steps if steps > 0 else math.nan


def _between_arrays(
    start: Any, stop: Any, num: Any, endpoint: bool, retstep: bool, dtype: Any, axis: Any,
    device: Device | None,
) -> Any:  # fmt: skip
    """first + i * step, the last one being the end itself."""
    like = next((one for one in (start, stop) if isinstance(one, Array)), None)
    place = like.backend if like is not None and device is None else to_backend("linspace", device)
    ends = [one if isinstance(one, Array) else asarray(one, device=place) for one in (start, stop)]
    met = result_type(*ends)
    wide = met if met.kind in "fc" else np.dtype(np.float32)
    computed = FLOAT32 if wide in HALVES else wide
    if met.kind not in "fc" and FLOAT64 in stored(place):
        computed = FLOAT64
    ends = [one.astype(computed, copy=False) for one in ends]
    shape = broadcast_shapes(ends[0].shape, ends[1].shape)
    first, last = (broadcast_to(one, shape) for one in ends)
    count = to_integer("linspace", "num", num)
    if count < 0:
        invalid("linspace", f"num is {count}, expected 0 or more")
    steps = count - 1 if endpoint else count
    step = (last - first) / steps if steps > 0 else (last - first) * math.nan
    places = arange(count, device=place).astype(parts_dtype(computed) if computed.kind == "c"
                                                else computed)  # fmt: skip
    found = places.reshape(count, *(1,) * len(shape)) * (step if steps > 0 else 0) + first
    if endpoint and count > 1:
        found[-1] = last
    wanted = wide if dtype is None else to_dtype("linspace", dtype)
    if wanted.kind in "iu":
        found = floor(found)
    found = moveaxis(found.astype(wanted, copy=False), 0, to_one_axis("linspace", axis, found.ndim))
    return (found, step.astype(wide, copy=False)) if retstep else found


def _spread(result: Array, first: float, last: float, endpoint: bool) -> None:
    """NumPy's steps, of which the last one is the end itself."""
    if not result.size:
        return
    try:
        start, end = float(first), float(last)
        if result.dtype.kind in "iu":
            ranges.check_held("linspace", result.dtype, int(first), int(last))
    except (OverflowError, ValueError) as error:
        raise _core.InvalidArgument(
            f"linspace: start and stop are {shown(first)} and {shown(last)}: {error}"
        ) from error
    steps = result.size - 1 if endpoint else result.size
    step = (end - start) / steps if steps else 0.0
    ranges.fill("linspace", result, start, step, step)
    if endpoint and steps and start + steps * step != end:
        result[-1] = int(end) if result.dtype.kind in "iu" else end


@kept_by_form
def meshgrid(
    *xi: Array, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Array, ...]:
    """Each of several vectors along an axis of its own, broadcast to all of them unless `sparse`.
    Without `copy` views, as NumPy has them."""
    if indexing not in ("xy", "ij"):
        invalid("meshgrid", f"indexing is {shown(indexing)}, expected 'xy' or 'ij'")
    like = next((one for one in xi if isinstance(one, Array)), None)
    given: list[Array] = []
    for i, one in enumerate(xi):
        if like is not None and isinstance(one, (np.ndarray, np.generic, list, tuple, int, float)):
            one = beside("meshgrid", f"arrays[{i}]", one, like)
        if not isinstance(one, Array) or one.ndim > 1:
            invalid("meshgrid", f"arrays[{i}] is {shown(one)}, expected an Array of one dimension")
        given.append(one)
    order = list(range(len(given)))
    if indexing == "xy" and len(given) > 1:
        order[:2] = [1, 0]
    shape = [0] * len(given)
    for one, axis in zip(given, order, strict=True):
        shape[axis] = one.size
    found = []
    for one, axis in zip(given, order, strict=True):
        own = [1] * len(given)
        own[axis] = one.size
        view = one.reshape(own) if sparse else broadcast_to(one.reshape(own), shape)
        found.append(view.copy() if copy else view)
    return tuple(found)
