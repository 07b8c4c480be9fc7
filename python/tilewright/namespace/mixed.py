"""Operands that are no Arrays, beside some that are."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.array import Array
from tilewright.namespace.creation import asarray
from tilewright.operands import check_stored, has_own_dtype, invalid, read_host, shown
from tilewright.reading import assigned_dtype, dtype_of_list
from tilewright.small_floats import can_cast, converted, own_dtype


def beside(call: str, name: str, given: Any, like: Array, *, is_written: bool = False) -> Array:
    """An operand on the device of an Array, whose dtype numbers take where that is of their kind,
    and lists of them too if they are written to it."""
    if isinstance(given, Array):
        like.backend._own(call, name, given)
        return given
    values = read_host(call, name, given)
    if own_dtype(values.dtype).kind not in "biufc":
        invalid(call, f"{name} is {shown(given)}, expected an Array or numbers")
    if not has_own_dtype(given):
        of_numbers = assigned_dtype if is_written else dtype_of_list
        values = converted(values, of_numbers(values, like.dtype, like.backend, call, name))
    return asarray(values, device=like.backend)


def first_array(call: str, name: str, given: Any) -> Array:
    """The first Array among operands, which may lie in lists of lists."""
    found = _search(given)
    if found is None:
        one = shown(given[0] if isinstance(given, (list, tuple)) and given else given)
        invalid(call, f"{name} is {one}, expected an Array; write tw.asarray({name})")
    return found


def _search(given: Any) -> Array | None:
    if isinstance(given, Array):
        return given
    if isinstance(given, (list, tuple)):
        return next((one for part in given if (one := _search(part)) is not None), None)
    return None


def together(call: str, **given: Any) -> list[Array]:
    """Operands of which one at least is an Array, the others on its device."""
    like = next((one for one in given.values() if isinstance(one, Array)), None)
    if like is None:
        name, one = next(iter(given.items()))
        invalid(call, f"{name} is {shown(one)}, expected an Array; write tw.asarray({name})")
    backend = like.backend
    found = list(given.values())
    if all(type(one) is Array and one.backend is backend for one in found):
        return found
    return [beside(call, name, one, like) for name, one in given.items()]


def an_array(call: str, x: Any, name: str = "x") -> Array:
    """x, which must be an Array."""
    if not isinstance(x, Array):
        invalid(call, f"{name} is {shown(x)}, expected an Array; write tw.asarray({name})")
    return x


def written(call: str, out: Array | None, found: Array) -> Array:
    """What was found, in `out` if that is given."""
    if out is None:
        return found
    found.backend._own(call, "out", an_array(call, out, "out"))
    if out.shape != found.shape:
        invalid(call, f"out has shape {out.shape}, expected {found.shape}")
    if not can_cast(found.dtype, out.dtype, "same_kind"):
        invalid(call, f"out is {out.dtype}, which does not hold {found.dtype}")
    out[...] = found
    return out


def as_float(call: str, x: Array) -> Array:
    """x as floats or complex numbers, float32 where it is neither."""
    if x.dtype.kind in "fc":
        return x
    check_stored(call, x.backend, np.dtype(np.float32))
    return x.astype("float32")


def check_layout(call: str, order: Any) -> None:
    """Refuses what is no order of memory; which one it is changes no element."""
    if order not in (None, "C", "F", "K", "A"):
        invalid(call, f"order is {shown(order)}, expected 'C', 'F', 'K' or 'A'")
