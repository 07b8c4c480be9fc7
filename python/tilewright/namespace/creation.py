"""The standard's creation functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.namespace import ranges
from tilewright.namespace.arguments import check_creation, check_plain
from tilewright.namespace.devices import to_backend
from tilewright.operands import (
    DTYPES,
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
    object: Any, dtype: npt.DTypeLike | None = None, *, copy: bool | None = True,
    order: str | None = "K", subok: bool = False, ndmin: int = 0, ndmax: int = 0, like: Any = None,
    device: Device | None = None,
) -> Array:  # fmt: skip
    """asarray() that copies an Array too, by NumPy's name."""
    if order != "K" or like is not None:
        check_creation("array", order, like)
    made = _to_array("array", object, dtype, device, copy)
    if ndmin > made.ndim:
        made = made.reshape((1,) * (ndmin - made.ndim) + made.shape)
    if ndmax and made.ndim > ndmax:
        invalid("array", f"object has {made.ndim} dimensions, expected at most ndmax={ndmax}")
    return made


def asarray(
    a: Any, dtype: npt.DTypeLike | None = None, order: str | None = None,
    device: Device | None = None, copy: bool | None = None, like: Any = None,
) -> Array:  # fmt: skip
    """a on a device: an Array that is there already as it is, unless `copy` asks for a copy;
    anything else that reads as an array as a copy. Python's numbers become bool, int64 (int32 where
    the device has no int64), float32 and complex64; other values keep their dtype."""
    if order is not None or like is not None:
        check_creation("asarray", order, like)
    return _to_array("asarray", a, dtype, device, copy)


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
        _refuse_objects(call, values)
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


def _refuse_objects(call: str, values: np.ndarray[Any, Any]) -> None:
    """What NumPy makes objects of: integers beyond 64 bits, iterators, numbers of classes."""
    if values.ndim == 0 and hasattr(values.item(), "__next__"):
        kind = type(values.item()).__name__
        invalid(call, f"obj is a {kind}, expected numbers; write tw.{call}(list(obj))")
    for one in values.flat:
        if isinstance(one, int) and not -(2**63) <= one < 2**64:
            invalid(call, f"obj has {shown(one)}, which no dtype of integers holds; write a float")
        if not isinstance(one, (int, float, complex)):
            kind, way = type(one).__name__, ""
            if hasattr(one, "__float__"):
                way = "; write float(one) of each"
            invalid(call, f"obj has {kind}, expected numbers{way}")


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
    shape: int | Sequence[int], dtype: npt.DTypeLike | None = None, order: str = "C",
    device: Device | None = None, like: Any = None,
) -> Array:  # fmt: skip
    """An Array whose contents are undefined; float32 unless a dtype is given."""
    if order != "C" or like is not None:
        check_creation("empty", order, like)
    backend = to_backend("empty", device)
    found = _core._filled(backend, shape, dtype, None)
    if found is not None:
        return found
    sizes = to_shape("empty", shape)
    return backend._new(sizes, _dtype_for("empty", dtype, FLOAT32, backend))


def full(
    shape: int | Sequence[int], fill_value: Any, dtype: npt.DTypeLike | None = None,
    order: str = "C", device: Device | None = None, like: Any = None,
) -> Array:  # fmt: skip
    """An Array with one value everywhere, of the value's dtype unless one is given."""
    if order != "C" or like is not None:
        check_creation("full", order, like)
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
    elif isinstance(value, (Array, np.ndarray, list, tuple)):
        return _full_of(call, sizes, value, dtype, backend)
    else:
        invalid(call, f"fill_value is {shown(value)}, expected a number or an array")
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


def _full_of(call: str, sizes: tuple[int, ...], value: Any, dtype: Any, backend: Backend) -> Array:
    """Of an array that broadcasts to the shape."""
    source = _to_array(call, value, None, backend, None)
    wanted = _dtype_for(call, dtype, source.dtype, backend)
    made = backend._new(sizes, wanted)
    made[...] = source
    return made


def zeros(
    shape: int | Sequence[int], dtype: npt.DTypeLike | None = None, order: str = "C",
    device: Device | None = None, like: Any = None,
) -> Array:  # fmt: skip
    """Zeros; float32 unless a dtype is given."""
    if order != "C" or like is not None:
        check_creation("zeros", order, like)
    return _filled("zeros", shape, 0, FLOAT32 if dtype is None else dtype, device)


def ones(
    shape: int | Sequence[int], dtype: npt.DTypeLike | None = None, order: str = "C",
    device: Device | None = None, like: Any = None,
) -> Array:  # fmt: skip
    """Ones; float32 unless a dtype is given."""
    if order != "C" or like is not None:
        check_creation("ones", order, like)
    return _filled("ones", shape, 1, FLOAT32 if dtype is None else dtype, device)


def _filled_like(
    call: str, x: Any, value: Any, dtype: Any, order: Any, shape: Any, device: Device | None
) -> Array:
    if not isinstance(x, Array):
        invalid(call, f"x is {shown(x)}, expected an Array; write tw.asarray(x)")
    if order != "K":
        check_creation(call, order)
    check_plain(call, dtype)
    backend = x.backend if device is None else to_backend(call, device)
    sizes, wanted = x.shape if shape is None else shape, x.dtype if dtype is None else dtype
    if value is None:
        return empty(sizes, wanted, device=backend)
    return _filled(call, sizes, value, wanted, backend)


def empty_like(
    prototype: Array, /, dtype: npt.DTypeLike | None = None, order: str = "K", subok: bool = True,
    shape: int | Sequence[int] | None = None, *, device: Device | None = None,
) -> Array:  # fmt: skip
    """Of the shape, dtype and device of another Array, contents undefined."""
    return _filled_like("empty_like", prototype, None, dtype, order, shape, device)


def full_like(
    a: Array, fill_value: Any, dtype: npt.DTypeLike | None = None, order: str = "K",
    subok: bool = True, shape: int | Sequence[int] | None = None, *, device: Device | None = None,
) -> Array:  # fmt: skip
    """Of the shape, dtype and device of another Array, with one value everywhere."""
    return _filled_like("full_like", a, fill_value, dtype, order, shape, device)


def zeros_like(
    a: Array, dtype: npt.DTypeLike | None = None, order: str = "K", subok: bool = True,
    shape: int | Sequence[int] | None = None, *, device: Device | None = None,
) -> Array:  # fmt: skip
    return _filled_like("zeros_like", a, 0, dtype, order, shape, device)


def ones_like(
    a: Array, dtype: npt.DTypeLike | None = None, order: str = "K", subok: bool = True,
    shape: int | Sequence[int] | None = None, *, device: Device | None = None,
) -> Array:  # fmt: skip
    return _filled_like("ones_like", a, 1, dtype, order, shape, device)


def _number(call: str, name: str, value: Any, expected: tuple[type, ...] = (int, float)) -> Any:
    number = value.item() if isinstance(value, (np.generic, Array)) else value
    if isinstance(number, bool) or not isinstance(number, expected):
        invalid(call, f"{name} is {shown(value)}, expected a number")
    return number


def arange(
    start: Any = None, stop: Any = None, step: Any = 1, dtype: npt.DTypeLike | None = None,
    device: Device | None = None, like: Any = None,
) -> Array:  # fmt: skip
    """Numbers from start up to before stop, by equal steps; integers where all three are."""
    if start is None:
        if stop is None:
            raise TypeError("arange: neither start nor stop is given, expected one at least")
        start = 0
    if like is not None:
        check_creation("arange", like=like)
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


def eye(
    N: int, M: int | None = None, k: int = 0, dtype: npt.DTypeLike | None = None, order: str = "C",
    device: Device | None = None, like: Any = None,
) -> Array:  # fmt: skip
    """Zeros with ones on a diagonal: the main one, or that `k` places above it."""
    if order != "C" or like is not None:
        check_creation("eye", order, like)
    rows = to_integer("eye", "n_rows", N)
    cols = rows if M is None else to_integer("eye", "n_cols", M)
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
