"""What NumPy has of its own that computes nothing of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.small_floats import BFLOAT16

__all__ = ["errstate", "isscalar", "issubdtype", "iterable"]

errstate, isscalar, iterable = np.errstate, np.isscalar, np.iterable


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """np.issubdtype() of bfloat16 too, which is a float."""
    if _is_bfloat16(arg2):
        return _is_bfloat16(arg1)
    if _is_bfloat16(arg1):
        return arg2 in (np.floating, np.inexact, np.number, np.generic)
    return bool(np.issubdtype(arg1, arg2))


def _is_bfloat16(dtype: Any) -> bool:
    return dtype is BFLOAT16 or (isinstance(dtype, str) and dtype == "bfloat16")
