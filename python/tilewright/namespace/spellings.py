"""NumPy's spellings of what the standard calls otherwise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tilewright.array import Array
from tilewright.namespace import elementwise
from tilewright.namespace.arguments import check_creation
from tilewright.namespace.complex_functions import conj
from tilewright.namespace.creation import asarray, eye
from tilewright.namespace.dtypes import result_type
from tilewright.namespace.manipulation import concat, permute_dims
from tilewright.namespace.mixed import an_array
from tilewright.namespace.numeric import rounded
from tilewright.operands import to_integer
from tilewright.shapes import to_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from tilewright.namespace.devices import Device
    from tilewright.operands import ArrayLike

__all__ = [
    "absolute",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "around",
    "asanyarray",
    "ascontiguousarray",
    "bitwise_not",
    "concatenate",
    "conjugate",
    "identity",
    "invert",
    "left_shift",
    "may_share_memory",
    "mod",
    "ndim",
    "power",
    "promote_types",
    "right_shift",
    "rint",
    "shape",
    "shares_memory",
    "size",
    "transpose",
    "true_divide",
]

absolute = elementwise.abs
arccos = elementwise.acos
arccosh = elementwise.acosh
arcsin = elementwise.asin
arcsinh = elementwise.asinh
arctan = elementwise.atan
arctan2 = elementwise.atan2
arctanh = elementwise.atanh
bitwise_not = elementwise.bitwise_invert
conjugate = conj
invert = elementwise.bitwise_invert
left_shift = elementwise.bitwise_left_shift
mod = elementwise.remainder
power = elementwise.pow
right_shift = elementwise.bitwise_right_shift
rint = elementwise.round
true_divide = elementwise.divide


def around(a: Array, decimals: int = 0, out: Array | None = None) -> Array:
    """Rounded to so many decimals, halves to even."""
    return rounded(a, decimals, out)


def asanyarray(
    a: Any, dtype: npt.DTypeLike | None = None, order: str | None = None, *,
    device: Device | None = None, copy: bool | None = None, like: Any = None,
) -> Array:  # fmt: skip
    """asarray(), since Arrays have no subclasses."""
    return asarray(a, dtype, order, device=device, copy=copy, like=like)


def ascontiguousarray(
    a: Any, dtype: npt.DTypeLike | None = None, *, like: Any = None, device: Device | None = None
) -> Array:
    """asarray() with elements that lie row by row, one dimension at least."""
    check_creation("ascontiguousarray", like=like)
    found = asarray(a, dtype=dtype, device=device)
    return found._contiguous() if found.ndim else found.reshape(1)


def concatenate(
    arrays: Sequence[ArrayLike],
    axis: int | None = 0,
    out: Array | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    casting: str = "same_kind",
) -> Array:
    """concat(), with the axis by its place too."""
    return concat(arrays, axis=axis, out=out, dtype=dtype, casting=casting)


def identity(
    n: int, dtype: npt.DTypeLike | None = None, *, like: Any = None, device: Device | None = None
) -> Array:
    """A square matrix with ones on its diagonal."""
    check_creation("identity", like=like)
    return eye(to_integer("identity", "n", n), dtype=dtype, device=device)


def shares_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether two Arrays have memory in common."""
    return isinstance(a, Array) and isinstance(b, Array) and a.overlaps(b)


may_share_memory = shares_memory


def ndim(a: Array) -> int:
    """How many dimensions an Array has."""
    return an_array("ndim", a, "a").ndim


def promote_types(type1: npt.DTypeLike, type2: npt.DTypeLike) -> np.dtype[Any]:
    """The dtype that both are promoted to, by the standard's rules."""
    return result_type(type1, type2)


def shape(a: Array) -> tuple[int, ...]:
    """An Array's shape."""
    return an_array("shape", a, "a").shape


def size(a: Array, axis: int | tuple[int, ...] | None = None) -> int:
    """How many elements there are, or along axes."""
    a = an_array("size", a, "a")
    if axis is None:
        return a.size
    return math.prod(a.shape[i] for i in to_axes("size", axis, a.ndim))


def transpose(a: Array, axes: Sequence[int] | None = None) -> Array:
    """A view with the axes in another order, the reverse one if none is given."""
    return permute_dims(an_array("transpose", a, "a"), axes)
