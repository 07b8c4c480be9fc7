"""The standard's creation functions."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace import ranges
from tilewright.namespace.devices import to_backend
from tilewright.operands import (
    DTYPES,
    INT32,
    LIMITS,
    PYTHON_NUMBERS,
    check_stored,
    has_own_dtype,
    invalid,
    parts_dtype,
    read_host,
    shown,
    stored,
    to_dtype,
    to_integer,
    to_shape,
)
from tilewright.program import Program
from tilewright.reading import default_integer
from tilewright.small_floats import BFLOAT16, converted, own_dtype
from tilewright.small_floats import from_dlpack as host_from_dlpack

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from tilewright.backend import Backend
    from tilewright.namespace.devices import Device

FLOAT32 = np.dtype(np.float32)
COMPLEX64 = np.dtype(np.complex64)


def _dtype_for(
    call: str, dtype: npt.DTypeLike | None, default: np.dtype[Any], backend: Backend
) -> np.dtype[Any]:
    wanted = default if dtype is None else to_dtype(call, dtype)
    check_stored(call, backend, wanted)
    return wanted


def _default_for(value: Any, backend: Backend) -> np.dtype[Any]:
    """The dtype of Python's numbers."""
    kind = value if isinstance(value, str) else np.asarray(value).dtype.kind
    if kind == "b":
        return np.dtype(np.bool_)
    if kind == "c":
        return COMPLEX64
    return default_integer(backend) if kind in "iu" else FLOAT32


def _check_real(call: str, name: str, dtype: np.dtype[Any], wanted: np.dtype[Any]) -> None:
    """Complex numbers do not become real."""
    if dtype.kind == "c" and wanted.kind not in "cb":
        invalid(call, f"{name} is {dtype}, which {wanted} does not hold; give its real parts")


def array(
    obj: Any,
    /,
    dtype: npt.DTypeLike | None = None,
    *,
    copy: bool | None = True,
    device: Device | None = None,
) -> Array:
    """asarray() that copies an Array too, by NumPy's name."""
    return _to_array("array", obj, dtype, device, copy)


def asarray(
    obj: Any,
    /,
    *,
    dtype: npt.DTypeLike | None = None,
    device: Device | None = None,
    copy: bool | None = None,
) -> Array:
    """obj on a device: an Array that is there already as it is, unless `copy` asks for a copy;
    anything else that reads as an array as a copy. Python's numbers become bool, int64 (int32 where
    the device has no int64), float32 and complex64; other values keep their dtype."""
    return _to_array("asarray", obj, dtype, device, copy)


def _to_array(
    call: str, obj: Any, dtype: npt.DTypeLike | None, device: Device | None, copy: bool | None
) -> Array:
    if copy is not None and not isinstance(copy, bool):
        invalid(call, f"copy is {shown(copy)}, expected True, False or None")
    if isinstance(obj, Array):
        backend = obj.backend if device is None else to_backend(call, device)
        wanted = obj.dtype if dtype is None else to_dtype(call, dtype)
        if backend is obj.backend and wanted == obj.dtype:
            return obj.copy() if copy else obj
        if copy is False:
            invalid(call, "copy is False, but another device or dtype takes a copy")
        check_stored(call, backend, wanted)
        if backend is obj.backend:
            return obj.astype(wanted)
        _check_real(call, "obj", obj.dtype, wanted)
        return backend._upload(converted(obj._values(), wanted))
    if copy is False:
        invalid(call, f"copy is False, but obj is {shown(obj)}, which is not on the device")
    backend = to_backend(call, device)
    if dtype is None:
        if type(obj) is np.ndarray and obj.dtype in stored(backend):
            return backend._upload(obj)
        found = _core._listed(backend, obj)
        if found is not None:
            return found
    are_numbers = type(obj) in (list, tuple) and _are_numbers(obj)
    if isinstance(obj, (list, tuple)) and not are_numbers:
        if dtype is None and _are_bfloat16(obj):
            dtype = BFLOAT16
        obj = _host_items(obj)
    values = read_host(call, "obj", obj)
    if values.dtype.kind == "O":
        _refuse_too_large(call, values)
    own = own_dtype(values.dtype)
    if own.kind not in "biufc":
        invalid(call, f"obj is of dtype {values.dtype}, expected bool or numbers")
    if dtype is not None:
        wanted = _dtype_for(call, dtype, FLOAT32, backend)
    elif not are_numbers and has_own_dtype(obj):
        wanted = own.newbyteorder("=")
        if wanted not in DTYPES:
            invalid(call, f"obj is of dtype {values.dtype}, expected 64 bits or less a part")
        check_stored(call, backend, wanted)
    else:
        wanted = _default_for(values, backend)
    if values.dtype.kind in "iu" and wanted.kind in "iu" and values.size:
        limits = np.iinfo(wanted)
        if int(values.min()) < limits.min or int(values.max()) > limits.max:
            invalid(call, f"obj has numbers that {wanted} does not hold")
    _check_real(call, "obj", values.dtype, wanted)
    with np.errstate(all="ignore"):
        return backend._upload(converted(values, wanted))


def _refuse_too_large(call: str, values: np.ndarray[Any, Any]) -> None:
    """Integers beyond 64 bits, of which NumPy makes objects."""
    for one in values.flat:
        if isinstance(one, int) and not -(2**63) <= one < 2**64:
            invalid(call, f"obj has {shown(one)}, which no dtype of integers holds; write a float")


def _are_numbers(items: Any) -> bool:
    """Whether a list, or lists in it, have Python's own numbers alone."""
    kinds = set(map(type, items))
    if kinds <= {list, tuple}:
        return all(map(_are_numbers, items))
    return kinds <= PYTHON_NUMBERS


def _are_bfloat16(items: Any) -> bool:
    """Whether a list has Arrays of bfloat16 in it, and beside them but Python's numbers."""
    found = False
    for one in items:
        if isinstance(one, (list, tuple)):
            found = _are_bfloat16(one) or found
        elif isinstance(one, Array) and one.dtype is BFLOAT16:
            found = True
        elif has_own_dtype(one):
            return False
    return found


def _host_items(items: Any) -> Any:
    """A list with the Arrays in it read."""
    if isinstance(items, Array):
        return items._numbers()
    if isinstance(items, (list, tuple)) and any(
        isinstance(one, (list, tuple, Array)) for one in items
    ):
        return [_host_items(one) for one in items]
    return items


def from_dlpack(x: Any, /, *, device: Device | None = None, copy: bool | None = None) -> Array:
    """A copy of another library's tensor; an Array as asarray() takes it."""
    if isinstance(x, Array):
        return asarray(x, device=device, copy=copy)
    if not hasattr(x, "__dlpack__"):
        invalid("from_dlpack", f"x is {shown(x)}, expected an object with __dlpack__")
    if copy is False:
        invalid("from_dlpack", "copy is False, but the memory of another library is copied")
    try:
        values = host_from_dlpack(x)
    except Exception as error:
        raise _core.InvalidArgument(f"from_dlpack: x cannot be read: {error}") from error
    return asarray(values, device=device)


def empty(
    shape: int | Sequence[int],
    *,
    dtype: npt.DTypeLike | None = None,
    device: Device | None = None,
) -> Array:
    """An Array whose contents are undefined; float32 unless a dtype is given."""
    backend = to_backend("empty", device)
    found = _core._filled(backend, shape, dtype, None)
    if found is not None:
        return found
    sizes = to_shape("empty", shape)
    return backend._new(sizes, _dtype_for("empty", dtype, FLOAT32, backend))


def full(
    shape: int | Sequence[int],
    fill_value: Any,
    *,
    dtype: npt.DTypeLike | None = None,
    device: Device | None = None,
) -> Array:
    """An Array with one value everywhere, of the value's dtype unless one is given."""
    return _filled("full", shape, fill_value, dtype, device)


def _filled(
    call: str,
    shape: int | Sequence[int],
    value: Any,
    dtype: npt.DTypeLike | None,
    device: Device | None,
) -> Array:
    backend = to_backend(call, device)
    if type(value) is float or (dtype is not None and value is not None):
        found = _core._filled(backend, shape, dtype, value)
        if found is not None:
            return found
    sizes = to_shape(call, shape)
    if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic):
        kinds = {bool: "b", int: "i", float: "f", complex: "c"}
        default = _default_for(next(kinds[one] for one in kinds if isinstance(value, one)), backend)
    elif hasattr(value, "dtype") and getattr(value, "shape", None) == ():
        default = to_dtype(call, value.dtype)
    else:
        invalid(call, f"fill_value is {shown(value)}, expected a number")
    wanted = _dtype_for(call, dtype, default, backend)
    if isinstance(value, int) and wanted.kind in "iu":
        least, most = LIMITS[wanted]
        if not least <= value <= most:
            invalid(call, f"fill_value is {shown(value)}, which {wanted} does not hold")
    if isinstance(value, int) and wanted.kind in "fc":
        try:
            value = float(value)
        except OverflowError:
            invalid(call, f"fill_value is {shown(value)}, which {wanted} does not hold")
    made = backend._new(sizes, wanted)
    made[...] = value
    return made


def zeros(
    shape: int | Sequence[int],
    *,
    dtype: npt.DTypeLike | None = None,
    device: Device | None = None,
) -> Array:
    """Zeros; float32 unless a dtype is given."""
    return _filled("zeros", shape, 0, FLOAT32 if dtype is None else dtype, device)


def ones(
    shape: int | Sequence[int],
    *,
    dtype: npt.DTypeLike | None = None,
    device: Device | None = None,
) -> Array:
    """Ones; float32 unless a dtype is given."""
    return _filled("ones", shape, 1, FLOAT32 if dtype is None else dtype, device)


def _like(call: str, x: Any, device: Device | None) -> tuple[Backend, tuple[int, ...]]:
    if not isinstance(x, Array):
        invalid(call, f"x is {shown(x)}, expected an Array")
    return (x.backend if device is None else to_backend(call, device)), x.shape


def empty_like(
    x: Array, /, *, dtype: npt.DTypeLike | None = None, device: Device | None = None
) -> Array:
    """Of the shape, dtype and device of another Array, contents undefined."""
    backend, shape = _like("empty_like", x, device)
    return empty(shape, dtype=x.dtype if dtype is None else dtype, device=backend)


def full_like(
    x: Array,
    /,
    fill_value: Any,
    *,
    dtype: npt.DTypeLike | None = None,
    device: Device | None = None,
) -> Array:
    """Of the shape, dtype and device of another Array, with one value everywhere."""
    backend, shape = _like("full_like", x, device)
    return _filled("full_like", shape, fill_value, x.dtype if dtype is None else dtype, backend)


def zeros_like(
    x: Array, /, *, dtype: npt.DTypeLike | None = None, device: Device | None = None
) -> Array:
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(
    x: Array, /, *, dtype: npt.DTypeLike | None = None, device: Device | None = None
) -> Array:
    return full_like(x, 1, dtype=dtype, device=device)


def _number(call: str, name: str, value: Any, expected: tuple[type, ...] = (int, float)) -> Any:
    number = value.item() if isinstance(value, (np.generic, Array)) else value
    if isinstance(number, bool) or not isinstance(number, expected):
        invalid(call, f"{name} is {shown(value)}, expected a number")
    return number


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: npt.DTypeLike | None = None,
    device: Device | None = None,
) -> Array:
    """Numbers from start up to before stop, by equal steps; integers where all three are."""
    backend = to_backend("arange", device)
    ends = (0, start) if stop is None else (start, stop)
    few = _core._counted(backend, ends[0], ends[1], step, dtype)
    if few is not None:
        return few
    first, by = _number("arange", "start", start), _number("arange", "step", step)
    if stop is None:
        first, past = 0, first
    else:
        past = _number("arange", "stop", stop)
    if by == 0:
        invalid("arange", "step is 0, expected another number")
    are_integers = all(isinstance(one, int) for one in (first, past, by))
    default = default_integer(backend) if are_integers else FLOAT32
    wanted = _dtype_for("arange", dtype, default, backend)
    try:
        if not all(map(math.isfinite, (first, past, by))):
            invalid("arange", f"start, stop and step are {first}, {past} and {by}, expected finite")
        steps = -((first - past) // by) if are_integers else math.ceil((past - first) / by)
        start, delta = float(first), float(first + by) - float(first)
        count = max(0, steps)
    except OverflowError as error:
        raise _core.InvalidArgument(
            f"arange: start, stop and step are {shown(first)}, {shown(past)} and {shown(by)}, more "
            "numbers than there may be, or larger ones than floats hold"
        ) from error
    if are_integers or ranges.are_whole(first, by):
        first, by = int(first), int(by)
    if count:
        ranges.check_held("arange", wanted, int(first), int(first + (count - 1) * by))
    made = parts_dtype(wanted) if wanted.kind == "c" else wanted
    result = backend._new(to_shape("arange", count), made)
    if count:
        ranges.fill("arange", result, first, by, delta)
    if count > 1 and start + delta != first + by:
        result[1] = first + by
    return result.astype(wanted, copy=False)


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: npt.DTypeLike | None = None,
    device: Device | None = None,
    endpoint: bool = True,
) -> Array:
    """`num` numbers by equal steps from start to stop, which is left out unless `endpoint`."""
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
        return result
    for part, low, high in ((0, first.real, last.real), (1, first.imag, last.imag)):
        numbers = backend._new(result.shape, parts_dtype(made))
        _spread(numbers, low, high, bool(endpoint))
        result._part(part)[...] = numbers
    return result.astype(wanted, copy=False)


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


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: npt.DTypeLike | None = None,
    device: Device | None = None,
) -> Array:
    """Zeros with ones on a diagonal: the main one, or that `k` places above it."""
    rows = to_integer("eye", "n_rows", n_rows)
    cols = rows if n_cols is None else to_integer("eye", "n_cols", n_cols)
    above = to_integer("eye", "k", k)
    for name, size in (("n_rows", rows), ("n_cols", cols)):
        if size < 0:
            invalid("eye", f"{name} is {size}, expected 0 or more")
    made = _filled("eye", (rows, cols), 0, FLOAT32 if dtype is None else dtype, device)
    length = min(rows + min(above, 0), cols - max(above, 0))
    if length > 0:
        start = above if above >= 0 else -above * cols
        made._view((length,), (cols + 1,), start)[...] = 1
    return made


@cache
def _part(dtype: str, upper: bool) -> Program:
    """Elements by row and column: 0 on the other side of a diagonal so far above the middle."""
    program = Program()
    x, row, column = program.input(dtype), program.input("uint32"), program.input("uint32")
    edge = row.cast("int32") + program.number("int32")
    is_kept = column.cast("int32") >= edge if upper else column.cast("int32") <= edge
    zero = program.constant(False if dtype == "bool" else 0, dtype)
    program.output(program.apply("where", is_kept, x, zero))
    return program


def _triangle(call: str, x: Any, k: Any, upper: bool) -> Array:
    if not isinstance(x, Array) or x.ndim < 2:
        invalid(call, f"x is {shown(x)}, expected an Array of 2 dimensions at least")
    above = to_integer(call, "k", k)
    rows, cols = x.shape[-2:]
    if max(rows, cols) > ranges.SIDE or x.dtype == BFLOAT16:
        return _large_triangle(call, x, above, upper)
    above = max(-rows - 1, min(above, cols + 1))
    result = x.backend._new(x.shape, x.dtype)
    is_complex = x.dtype.kind == "c"
    parts, to = (x._parts(), result._parts()) if is_complex else (x, result)
    table, lead = ranges.first_integers(x.backend), (0,) * (x.ndim - 2)
    last = (0,) if is_complex else ()
    inputs: list[Any] = [parts, (table, (*lead, 1, 0, *last)), (table, (*lead, 0, 1, *last))]
    if result.size:
        x.backend.map(_part(parts.stored_as, upper), parts.shape, inputs, [above], [to])
    return result


def _large_triangle(call: str, x: Array, above: int, upper: bool) -> Array:
    from tilewright.namespace.elementwise import greater_equal, less_equal, where

    rows, cols = x.shape[-2:]
    if max(rows, cols) + min(abs(above), rows + cols) >= 2**31:
        raise _core.Unsupported(f"{call}: x has shape {x.shape}; rows are counted to 2**31")
    above = max(-rows - 1, min(above, cols + 1))
    row = x.backend._new((rows,), INT32)
    col = x.backend._new((cols,), INT32)
    if rows and cols:
        ranges.fill("tril", row, above, 1, 1.0)
        ranges.fill("tril", col, 0, 1, 1.0)
    row, col = row.reshape(rows, 1), col.reshape(1, cols)
    kept = greater_equal(col, row) if upper else less_equal(col, row)
    return where(kept, x, False if x.dtype.kind == "b" else 0)


@kept_by_form
def tril(x: Array, /, *, k: int = 0) -> Array:
    """The elements on and below a diagonal, 0 above it."""
    return _triangle("tril", x, k, False)


@kept_by_form
def triu(x: Array, /, *, k: int = 0) -> Array:
    """The elements on and above a diagonal, 0 below it."""
    return _triangle("triu", x, k, True)


@kept_by_form
def meshgrid(*arrays: Array, indexing: str = "xy") -> tuple[Array, ...]:
    """Each of several vectors along an axis of its own, broadcast to all of them."""
    from tilewright.namespace.manipulation import broadcast_to

    if indexing not in ("xy", "ij"):
        invalid("meshgrid", f"indexing is {shown(indexing)}, expected 'xy' or 'ij'")
    for i, one in enumerate(arrays):
        if not isinstance(one, Array) or one.ndim != 1:
            invalid("meshgrid", f"arrays[{i}] is {shown(one)}, expected an Array of one dimension")
    order = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        order[:2] = [1, 0]
    shape = [0] * len(arrays)
    for one, axis in zip(arrays, order, strict=True):
        shape[axis] = one.size
    found = []
    for one, axis in zip(arrays, order, strict=True):
        own = [1] * len(arrays)
        own[axis] = one.size
        found.append(broadcast_to(one.reshape(own), shape).copy())
    return tuple(found)
