"""What sparse matrices are made of and turned into, on the device: orders, offsets and sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.array import Array
from tilewright.namespace import reductions
from tilewright.namespace.creation import arange, asarray, ones, zeros
from tilewright.namespace.manipulation import concat
from tilewright.namespace.selection import nonzero, searchsorted, take
from tilewright.namespace.sorting import argsort
from tilewright.operands import (
    FLOAT16,
    FLOAT32,
    INT32,
    invalid,
    parts_dtype,
    read_host,
    shown,
    stored,
)

if TYPE_CHECKING:
    from tilewright.backend import Backend

#: What elements may be.
DTYPES = (
    FLOAT16,
    FLOAT32,
    np.dtype(np.float64),
    np.dtype(np.complex64),
    np.dtype(np.complex128),
)
MOST = 2**31 - 1
_PARTS = {one: parts_dtype(one).name if one.kind == "c" else one.name for one in DTYPES}


def parts_name(dtype: np.dtype[Any]) -> str:
    """Of the numbers that elements consist of."""
    return _PARTS[dtype]


INT64 = np.dtype(np.int64)


def to_device(call: str, name: str, given: Any, backend: Backend) -> Array:
    """The Array itself, or what the host has on the device."""
    if isinstance(given, Array):
        backend._own(call, name, given)
        return given
    return asarray(given, device=backend)


def to_values(call: str, given: Any, dtype: np.dtype[Any] | None, backend: Backend) -> Array:
    """The elements, contiguous, in a dtype that is multiplied."""
    own = given if isinstance(given, Array) else read_host(call, "data", given)
    if dtype is None and own.dtype not in DTYPES:
        names = "float16, float32, float64, complex64 or complex128"
        invalid(
            call,
            f"data is {own.dtype}, expected {names}; write dtype='float32', or {own.dtype} "
            "converted to one of them",
        )
    if dtype is not None and not isinstance(own, Array):
        own = own.astype(dtype)
    values = to_device(call, "data", own, backend)
    if dtype is not None:
        values = values.astype(dtype, copy=False)
    if values.ndim != 1:
        invalid(call, f"data has shape {values.shape}, expected one dimension")
    return values._contiguous()


def to_dtype(call: str, dtype: Any) -> np.dtype[Any]:
    from tilewright.operands import to_dtype as known

    wanted = known(call, dtype)
    if wanted not in DTYPES:
        invalid(call, f"dtype is {wanted}, expected one of {', '.join(map(str, DTYPES))}")
    return wanted


def _integers(call: str, name: str, given: Any, backend: Backend) -> Array:
    own = given if isinstance(given, Array) else read_host(call, name, given)
    if own.size == 0 and own.dtype.kind == "f" and not isinstance(own, Array):
        own = own.astype(np.int32)
    if own.dtype.kind not in "iu":
        invalid(call, f"{name} is {own.dtype}, expected integers")
    if own.ndim != 1:
        invalid(call, f"{name} has shape {own.shape}, expected one dimension")
    if isinstance(own, Array):
        backend._own(call, name, own)
    return own  # type: ignore[return-value]


def to_indices(call: str, name: str, given: Any, size: int, what: str, backend: Backend) -> Array:
    """Indices of an axis of `size` rows or columns, as int32. Waits for the device where they are
    there already, to look at them."""
    own = _integers(call, name, given, backend)
    if own.size:
        low, high = int(own.min()), int(own.max())
        if low < 0 or high >= size:
            bad = low if low < 0 else high
            invalid(call, f"{name} has index {bad}, expected 0 to {size - 1}, for {size} {what}")
    if not isinstance(own, Array):
        own = asarray(own.astype(np.int32), device=backend)
    return own.astype(INT32, copy=False)._contiguous()


def to_offsets(call: str, given: Any, rows: int, what: str, nnz: int, backend: Backend) -> Array:
    """indptr as int32. Waits for the device where it is there already, to look at it."""
    name = "indptr"
    own = _integers(call, name, given, backend)
    if own.shape != (rows + 1,):
        invalid(
            call,
            f"{name} has {own.size} elements, expected {rows + 1}, one more than there are {what}",
        )
    first, last = int(own[0]), int(own[-1])
    if first != 0:
        invalid(call, f"{name}[0] is {first}, expected 0")
    if last != nnz:
        invalid(call, f"{name}[-1] is {last}, expected {nnz}, the number of indices")
    if rows:
        falls = own[1:] < own[:-1]
        if bool(falls.any()):
            at = int(falls.argmax())
            invalid(
                call,
                f"{name}[{at + 1}] is {int(own[at + 1])}, expected {int(own[at])} or more, as "
                f"{name}[{at}] is",
            )
    if not isinstance(own, Array):
        own = asarray(own.astype(np.int32), device=backend)
    return own.astype(INT32, copy=False)._contiguous()


def to_shape(call: str, shape: Any) -> tuple[int, int]:
    from tilewright.operands import to_shape as known

    sizes = known(call, shape)
    if len(sizes) != 2:
        invalid(call, f"shape is {shown(shape)}, expected two sizes")
    for i, size in enumerate(sizes):
        if size > MOST:
            invalid(call, f"shape[{i}] is {size}, more than indices of int32 count")
    return sizes[0], sizes[1]


def counted(n: int, backend: Backend) -> Array:
    return arange(n, dtype=INT32, device=backend)


def order_of(major: Array, minor: Array, shape: tuple[int, int]) -> Array:
    """The places of elements by major and then by minor index; of equal ones in their order."""
    if shape[0] * shape[1] <= MOST:
        return argsort(major * shape[1] + minor)
    by_minor = argsort(minor)
    return take(by_minor, argsort(take(major, by_minor)))


def keys_of(major: Array, minor: Array, shape: tuple[int, int]) -> Array | None:
    """A number for each place that ascends with major and then minor index, where the device has
    one that is wide enough."""
    is_wide = shape[0] * shape[1] > MOST
    if is_wide and INT64 not in stored(major.backend):
        return None
    dtype = INT64 if is_wide else INT32
    found: Array = major.astype(dtype, copy=False) * shape[1] + minor.astype(dtype, copy=False)
    return found


def merged(one: Array, two: Array) -> Array:
    """The order of two ascending lists behind each other; of equal ones the first list's first."""
    backend, n, m = one.backend, one.size, two.size
    of_one = counted(n, backend) + searchsorted(two, one).astype(INT32, copy=False)
    of_two = counted(m, backend) + searchsorted(one, two, side="right").astype(INT32, copy=False)
    order = zeros(n + m, dtype=INT32, device=backend)
    order[concat([of_one, of_two])] = counted(n + m, backend)
    return order


def compressed(major: Array, size: int) -> Array:
    """Where each of `size` rows starts, of elements in their order."""
    if major.size == 0:
        return zeros(size + 1, dtype=INT32, device=major.backend)
    return searchsorted(major, counted(size + 1, major.backend)).astype(INT32, copy=False)


def expanded(indptr: Array, nnz: int) -> Array:
    """Which row each element is in."""
    if nnz == 0:
        return zeros(0, dtype=INT32, device=indptr.backend)
    rows = searchsorted(indptr[1:], counted(nnz, indptr.backend), side="right")
    return rows.astype(INT32, copy=False)


def multiply(
    indptr: Array,
    indices: Array,
    data: Array,
    x: Array,
    cols: int,
    y: Array | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> Array:
    """alpha * A x + beta * y of a matrix in CSR, or with `data` of [blocks, rows, columns] in BSR:
    `cols` counts blocks then. x, of A's dtype, is a vector, a matrix, or a batch of matrices."""
    backend, dtype, shape = x.backend, data.dtype, x.shape
    x = x._contiguous()
    n = 1 if len(shape) == 1 else shape[-1]
    rows = indptr.size - 1
    block = data.shape[1:] if data.ndim == 3 else (1, 1)
    lines = rows * block[0]
    if y is None:
        of_y = (lines,) if len(shape) == 1 else (*shape[:-2], lines, n)
        y = backend._new(of_y, dtype)
    if y.size == 0:
        return y
    batch = shape[0] if len(shape) == 3 else 1
    is_complex = dtype.kind == "c"
    none = 0  # the handle of what has no elements
    nnz = indices.size
    backend.sparse_matmul(
        indptr, indices if nnz else none, data if nnz else none, x if x.size else none, y, rows,
        cols, nnz, n, n, n, alpha, beta, is_complex, parts_name(dtype), block[0], block[1],
        batch, 0, 0, 0, cols * block[1] * n, lines * n,
    )  # fmt: skip
    return y


def multiply_each(indptr: Array, indices: Array, data: Array, x: Array, cols: int) -> Array:
    """The products of matrices in CSR, `data` of [matrices, elements], of one pattern or of one
    each, with as many matrices [matrices, cols, n], or with the same one, [cols, n]."""
    backend, dtype = x.backend, data.dtype
    x = x._contiguous()
    (count, nnz), (rows, n) = data.shape, (indptr.shape[-1] - 1, x.shape[-1])
    y: Array = backend._new((count, rows, n), dtype)
    if y.size == 0:
        return y
    none = 0
    backend.sparse_matmul(
        indptr, indices if nnz else none, data if nnz else none, x if x.size else none, y, rows,
        cols, nnz, n, n, n, 1.0, 0.0, dtype.kind == "c", parts_name(dtype), 1, 1, count,
        rows + 1 if indptr.ndim == 2 else 0, nnz if indices.ndim == 2 else 0, nnz,
        cols * n if x.ndim == 3 else 0, rows * n,
    )  # fmt: skip
    return y


def sums_of(data: Array, starts: Array) -> Array:
    """The sums of neighbouring elements, from each of the starts to the next one."""
    backend = data.backend
    ends = asarray(np.array([data.size], np.int32), device=backend)
    indptr = concat([starts.astype(INT32, copy=False), ends])
    places = zeros(data.size, dtype=INT32, device=backend)
    return multiply(indptr, places, data, ones(1, dtype=data.dtype, device=backend), 1)


def fresh(major: Array, minor: Array) -> Array:
    """Whether elements in order are at another place than the one before; the first one is."""
    one = ones(min(major.size, 1), dtype=np.bool_, device=major.backend)
    if major.size < 2:
        return one
    return concat([one, (major[1:] != major[:-1]) | (minor[1:] != minor[:-1])])


def joined(major: Array, minor: Array, data: Array) -> tuple[Array, Array, Array]:
    """Elements in order without duplicates, which are added up."""
    if data.size < 2:
        return major, minor, data
    (starts,) = nonzero(fresh(major, minor))
    if starts.size == data.size:
        return major, minor, data
    return take(major, starts), take(minor, starts), sums_of(data, starts)


def is_canonical(major: Array, minor: Array) -> bool:
    """Whether elements are in order, no two at one place."""
    if major.size < 2:
        return True
    after = major[1:] > major[:-1]
    beside = (major[1:] == major[:-1]) & (minor[1:] > minor[:-1])
    return bool(reductions.all(after | beside))
