"""NumPy's functions that make text of arrays, which read the elements that they show."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.array import Array, _values_text
from tilewright.namespace.mixed import an_array

__all__ = ["array2string", "array_repr", "array_str"]


def array2string(
    a: Array, max_line_width: int | None = None, precision: int | None = None,
    suppress_small: bool | None = None, separator: str = " ", prefix: str = "", *,
    formatter: Any = None, threshold: int | None = None, edgeitems: int | None = None,
    sign: str | None = None, floatmode: str | None = None, suffix: str = "", legacy: Any = None,
) -> str:  # fmt: skip
    """The elements as text; where the middle is left out, only the edges are read."""
    options = {
        "max_line_width": max_line_width, "precision": precision, "suppress_small": suppress_small,
        "formatter": formatter, "threshold": threshold, "edgeitems": edgeitems, "sign": sign,
        "floatmode": floatmode, "legacy": legacy,
    }  # fmt: skip
    given = {name: value for name, value in options.items() if value is not None}
    x = an_array("array2string", a, "a")
    return _values_text(x, separator, prefix, suffix=suffix, **given)


def _printed(max_line_width: Any, precision: Any, suppress_small: Any) -> Any:
    options = {"linewidth": max_line_width, "precision": precision, "suppress": suppress_small}
    given: Any = {name: value for name, value in options.items() if value is not None}
    return np.printoptions(**given)


def array_repr(
    arr: Array, max_line_width: int | None = None, precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:  # fmt: skip
    """repr(arr), by these of NumPy's print options."""
    with _printed(max_line_width, precision, suppress_small):
        return repr(an_array("array_repr", arr, "arr"))


def array_str(
    a: Array, max_line_width: int | None = None, precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:  # fmt: skip
    """str(a), by these of NumPy's print options."""
    with _printed(max_line_width, precision, suppress_small):
        return str(an_array("array_str", a, "a"))
