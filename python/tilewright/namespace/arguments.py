"""Arguments that NumPy's functions have beyond those of the standard: taken where they change
nothing, refused elsewhere with what to write instead."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright import _core
from tilewright.operands import invalid, shown


def check_creation(call: str, order: Any = None, like: Any = None) -> None:
    """order= of memory changes no element; like= is device= here."""
    if order not in (None, "C", "F", "K", "A"):
        invalid(call, f"order is {shown(order)}, expected 'C', 'F', 'K' or 'A'")
    if like is not None:
        invalid(call, f"like is {shown(like)}, expected None; write device=like.device")


def check_sort(call: str, kind: Any, order: Any) -> None:
    """kind= of a partition and order= of fields."""
    if kind != "introselect":
        invalid(call, f"kind is {shown(kind)}, expected 'introselect'")
    check_fields(call, order)


def check_fields(call: str, order: Any) -> None:
    if order is not None:
        invalid(call, f"order is {shown(order)}, expected None; Arrays have no fields to sort by")


def check_weights(call: str, weights: Any) -> None:
    if weights is not None:
        raise _core.Unsupported(
            f"{call}: weights is {shown(weights)}, expected None; write np.{call}(x.numpy(), ..., "
            "weights=weights) to compute it on the host"
        )


def check_mean(call: str, mean: Any) -> None:
    if mean is not None:
        invalid(call, f"mean is {shown(mean)}, expected None; it is computed along with the rest")


def check_pickles(call: str, allow_pickle: Any) -> None:
    if allow_pickle not in (True, False):
        invalid(call, f"allow_pickle is {shown(allow_pickle)}, expected True or False")


def check_plain(call: str, dtype: Any) -> None:
    """Refuses a dtype of several fields as NumPy's protocol has libraries expect it."""
    if isinstance(dtype, (list, np.dtype)) and np.dtype(dtype).fields is not None:
        raise TypeError(f"{call}: Arrays have no dtype of several fields, such as {dtype}")
