"""NumPy's diagonals and triangles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace import products, reductions
from tilewright.namespace.arguments import check_creation
from tilewright.namespace.creation import zeros
from tilewright.namespace.dtypes import promote
from tilewright.namespace.manipulation import broadcast_to, concat
from tilewright.namespace.mixed import an_array, beside
from tilewright.namespace.selection import put
from tilewright.namespace.triangles import tril
from tilewright.operands import invalid, to_integer
from tilewright.reading import default_integer
from tilewright.shapes import to_one_axis

if TYPE_CHECKING:
    import numpy.typing as npt

    from tilewright.namespace.devices import Device
    from tilewright.operands import ArrayLike

__all__ = [
    "diag",
    "diag_indices_from",
    "diagflat",
    "diagonal",
    "fill_diagonal",
    "trace",
    "tri",
    "tril_indices_from",
    "triu_indices_from",
    "vander",
]


def diagonal(a: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """A view of the diagonals in the plane of two axes, as the last axis."""
    a = an_array("diagonal", a, "a")
    if a.ndim < 2:
        invalid("diagonal", f"a has shape {a.shape}, expected two dimensions at least")
    first, second = (to_one_axis("diagonal", one, a.ndim) for one in (axis1, axis2))
    if first == second:
        invalid("diagonal", f"axis1 and axis2 are both axis {first}, expected two")
    return products.diagonal_of(a, first, second, to_integer("diagonal", "offset", offset))


@kept_by_form
def trace(
    a: Array,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: npt.DTypeLike | None = None,
    out: Array | None = None,
) -> Array:
    """The sums of diagonal()."""
    return reductions.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype, out=out)


def _matrix(v: Array, k: int) -> Array:
    size = v.size + abs(k)
    made = zeros((size, size), dtype=v.dtype, device=v.backend)
    if v.size:
        products.diagonal_of(made, 0, 1, k)[...] = v
    return made


@kept_by_form
def diag(v: Array, k: int = 0) -> Array:
    """A matrix with a vector on a diagonal; of a matrix a view of its diagonal."""
    v = an_array("diag", v, "v")
    above = to_integer("diag", "k", k)
    if v.ndim == 1:
        return _matrix(v, above)
    if v.ndim != 2:
        invalid("diag", f"v has shape {v.shape}, expected one dimension or two")
    return diagonal(v, above)


@kept_by_form
def diagflat(v: Array, k: int = 0) -> Array:
    """A matrix with all elements on a diagonal."""
    return _matrix(an_array("diagflat", v, "v").reshape(-1), to_integer("diagflat", "k", k))


def fill_diagonal(a: Array, val: ArrayLike, wrap: bool = False) -> None:
    """Writes values, repeated if there are too few, where all indices are equal; with `wrap` again
    below a row that is left free, in tall matrices."""
    a = an_array("fill_diagonal", a, "a")
    if a.ndim < 2:
        invalid("fill_diagonal", f"a has shape {a.shape}, expected two dimensions at least")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        invalid("fill_diagonal", f"a has shape {a.shape}, expected equal sizes of all axes")
    values = beside("fill_diagonal", "val", val, a, is_written=True)
    values = values.reshape(-1).astype(a.dtype, copy=False)
    rows, columns = a.shape[:2]
    if wrap and a.ndim == 2 and rows > columns + 1:
        _core._make_writable(a, "fill_diagonal")
        places = np.arange(0, a.size, columns + 1)
        put(a, places, values)
        return
    length = min(a.shape)
    if length == 0:
        return
    view = a._view((length,), (sum(a.strides),), a.offset)
    if values.size > 1:
        values = concat([values] * -(-length // values.size))[:length]
    _core._make_writable(a, "fill_diagonal")
    view[...] = values


def tri(
    N: int, M: int | None = None, k: int = 0, dtype: npt.DTypeLike | None = None, *,
    like: Any = None, device: Device | None = None,
) -> Array:  # fmt: skip
    """Ones on and below a diagonal, 0 above it."""
    check_creation("tri", like=like)
    rows = to_integer("tri", "N", N)
    columns = rows if M is None else to_integer("tri", "M", M)
    wanted = np.dtype(np.float32) if dtype is None else dtype
    made = zeros((max(rows, 0), max(columns, 0)), dtype=wanted, device=device)
    made[...] = 1
    return tril(made, k=k)


def _places(call: str, x: Any, found: Any) -> tuple[Array, ...]:
    wanted = default_integer(x.backend)
    return tuple(x.backend._upload(one.astype(wanted)) for one in found)


def _of_matrix(call: str, arr: Any) -> Array:
    arr = an_array(call, arr, "arr")
    if arr.ndim != 2:
        invalid(call, f"arr has shape {arr.shape}, expected two dimensions")
    return arr  # type: ignore[no-any-return]


def tril_indices_from(arr: Array, k: int = 0) -> tuple[Array, ...]:
    """The places of a matrix on and below a diagonal."""
    arr = _of_matrix("tril_indices_from", arr)
    return _places("tril_indices_from", arr, np.tril_indices(arr.shape[0], k, arr.shape[1]))


def triu_indices_from(arr: Array, k: int = 0) -> tuple[Array, ...]:
    """The places of a matrix on and above a diagonal."""
    arr = _of_matrix("triu_indices_from", arr)
    return _places("triu_indices_from", arr, np.triu_indices(arr.shape[0], k, arr.shape[1]))


def diag_indices_from(arr: Array) -> tuple[Array, ...]:
    """The places at which all indices are equal."""
    arr = an_array("diag_indices_from", arr, "arr")
    if arr.ndim < 2 or len(set(arr.shape)) > 1:
        invalid("diag_indices_from", f"arr has shape {arr.shape}, expected equal sizes of two axes")
    return _places("diag_indices_from", arr, np.diag_indices(arr.shape[0], arr.ndim))


def vander(x: Array, N: int | None = None, increasing: bool = False) -> Array:
    """A matrix whose columns are powers of a vector, from the highest to 1."""
    x = an_array("vander", x)
    if x.ndim != 1:
        invalid("vander", f"x has shape {x.shape}, expected one dimension")
    count = x.size if N is None else to_integer("vander", "N", N)
    if count < 0:
        invalid("vander", f"N is {count}, expected 0 or more")
    whole = x.dtype.kind not in "fc"
    dtype = promote(x.dtype, default_integer(x.backend)) if whole else x.dtype
    made: Array = x.backend._new((x.size, count), dtype)
    columns = made if increasing else made[:, ::-1]
    if count:
        columns[:, 0] = 1
    if count > 1 and x.size:
        wide = broadcast_to(x.astype(dtype, copy=False)[:, None], (x.size, count - 1))
        columns[:, 1:] = reductions.cumulative_prod(wide, axis=1, dtype=dtype)
    return made
