"""Parts of sparse matrices, and products by elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.array import Array
from tilewright.namespace import reductions
from tilewright.namespace.creation import asarray, zeros
from tilewright.namespace.elementwise import where
from tilewright.namespace.manipulation import concat
from tilewright.namespace.selection import nonzero, searchsorted, take
from tilewright.operands import INT32, invalid, read_host, shown, to_integer
from tilewright.reading import default_integer
from tilewright.sparse import structure

if TYPE_CHECKING:
    from tilewright.sparse.base import SparseArray
    from tilewright.sparse.compressed import csr_array
    from tilewright.sparse.coo import coo_array

#: Bytes of rows that sampled_addmm() lays beside each other at a time.
MOST_SAMPLED = 256 << 20


def elements_of_rows(indptr: Array, rows: Array) -> tuple[Array, Array, Array]:
    """Of rows, in any order and again and again, the places of their elements, which of `rows` each
    is of, and where those of each start. Waits for the device."""
    backend = indptr.backend
    counts = take(indptr[1:] - indptr[:-1], rows)
    total = 0
    if rows.size:
        ends = reductions.cumulative_sum(counts, dtype=default_integer(backend))
        total = int(ends[-1])
    if total > structure.MOST:
        invalid(
            "sparse",
            f"the result has {total} elements, more than int32 counts; compute parts of it",
        )
    first = zeros(1, dtype=INT32, device=backend)
    if total == 0:
        none = zeros(0, dtype=INT32, device=backend)
        return none, none, zeros(rows.size + 1, dtype=INT32, device=backend)
    ends = ends.astype(INT32, copy=False)
    each = structure.counted(total, backend)
    which = searchsorted(ends, each, side="right").astype(INT32, copy=False)
    places = take(take(indptr, rows) - (ends - counts), which) + each
    return places, which, concat([first, ends])


# Products by elements -----------------------------------------------------------------------------


def canonical(a: SparseArray) -> coo_array:
    """In order, without duplicates, and not what is a's own where that had to change."""
    coo = a.tocoo()
    if not coo.has_canonical_format:
        coo = coo.copy()
        coo.sum_duplicates()
    return coo


def of_both(a: SparseArray, b: SparseArray, dtype: np.dtype[Any]) -> csr_array:
    """The products of elements that both matrices have."""
    from tilewright.sparse.coo import coo_array

    one, two = canonical(a), canonical(b)
    keys = [structure.keys_of(x.row, x.col, a.shape) for x in (one, two)]
    if keys[0] is None or keys[1] is None:
        row, col = concat([one.row, two.row]), concat([one.col, two.col])
        order = structure.order_of(row, col, a.shape)
        row, col = take(row, order), take(col, order)
        at = nonzero((row[1:] == row[:-1]) & (col[1:] == col[:-1]))[0] if row.size > 1 else None
        # Of equal places the first matrix's element comes first.
        if at is not None:
            left, right = take(order, at), take(order, at + 1) - one.nnz
    elif one.nnz and two.nnz:
        at = searchsorted(keys[1], keys[0])
        at = where(at < two.nnz, at, two.nnz - 1)
        (left,) = nonzero(take(keys[1], at) == keys[0])
        right = take(at, left)
    else:
        at = None
    if at is None:
        left = right = zeros(0, dtype=INT32, device=a.backend)
    data = take(one.data.astype(dtype, copy=False), left) * take(
        two.data.astype(dtype, copy=False), right
    )
    row, col = take(one.row, left), take(one.col, left)
    return coo_array._made(data, row, col, a.shape).tocsr()


def sum_of_both(a: SparseArray, b: SparseArray, dtype: np.dtype[Any], sign: int) -> csr_array:
    """The sum of two matrices, or with a sign of -1 their difference."""
    from tilewright.sparse.coo import coo_array

    one, two = canonical(a), canonical(b)
    added = two.data if sign == 1 else -two.data
    row, col = concat([one.row, two.row]), concat([one.col, two.col])
    data = concat([one.data.astype(dtype, copy=False), added.astype(dtype, copy=False)])
    keys = [structure.keys_of(x.row, x.col, a.shape) for x in (one, two)]
    if keys[0] is None or keys[1] is None:
        order = structure.order_of(row, col, a.shape)
    else:
        order = structure.merged(keys[0], keys[1])
    parts = (take(x, order) for x in (row, col, data))
    row, col, data = structure.joined(*parts)
    return coo_array._made(data, row, col, a.shape).tocsr()


def by_dense(a: SparseArray, dense: Array, dtype: np.dtype[Any]) -> Array:
    """a's elements, each times that of a matrix, a row or a column at its place."""
    rows, cols = a.shape
    shape = (1,) * (2 - dense.ndim) + dense.shape
    if len(shape) != 2 or shape[0] not in (1, rows) or shape[1] not in (1, cols):
        invalid(
            "multiply",
            f"x2 has shape {dense.shape}, expected one that broadcasts to {a.shape}, that of x1",
        )
    row, col = a._rows_and_columns()
    dense = dense.reshape(shape)
    if a.nnz == 0:
        return a._flat().astype(dtype, copy=False)
    if shape == (1, 1):
        factors = dense.reshape(())
    elif shape[0] == 1:
        factors = take(dense[0], col)
    elif shape[1] == 1:
        factors = take(dense[:, 0], row)
    else:
        factors = dense[row, col]
    product: Array = a._flat().astype(dtype, copy=False) * factors.astype(dtype, copy=False)
    return product


# Parts --------------------------------------------------------------------------------------------


def chosen(a: SparseArray, key: Any) -> SparseArray | Array:
    """a[key]: an element as an Array, else a sparse array of a's format."""
    rows, cols = _two(key)
    is_number = [isinstance(one, (int, np.integer)) for one in (rows, cols)]
    if all(is_number):
        return _element(a, _inside(a, 0, rows), _inside(a, 1, cols))
    if any(is_number):
        at = rows if is_number[0] else cols
        part = f"A[{at}:{at + 1}]" if is_number[0] else f"A[:, {at}:{at + 1}]"
        invalid(
            "getitem",
            f"the key is {shown(key)}, and sparse arrays have two dimensions; write {part}",
        )
    if not isinstance(rows, slice) and not isinstance(cols, slice):
        invalid(
            "getitem",
            f"the key is {shown(key)}, expected indices of one axis alone; write A[rows][:, cols]",
        )
    found: Any = a
    if not _is_all(rows):
        found = _of_rows(found.tocsr(), rows)
    if not _is_all(cols):
        found = _of_rows(found.tocsc().transpose(), cols, axis=1).transpose()
    return found.copy() if found is a else found.asformat("csr" if a.format == "bsr" else a.format)


def _is_all(key: Any) -> bool:
    return isinstance(key, slice) and key == slice(None)


def _two(key: Any) -> tuple[Any, Any]:
    parts: tuple[Any, ...] = key if isinstance(key, tuple) else (key,)
    for at, one in enumerate(parts):
        if one is Ellipsis:
            parts = (*parts[:at], *(slice(None),) * (3 - len(parts)), *parts[at + 1 :])
            break
    if len(parts) > 2 or any(one is None for one in parts):
        invalid("getitem", f"the key is {shown(key)}, expected one or two, of rows and columns")
    whole = (*parts, slice(None), slice(None))
    return whole[0], whole[1]


def _inside(a: SparseArray, axis: int, index: Any) -> int:
    size = a.shape[axis]
    at = to_integer("getitem", "index", index)
    if not -size <= at < size:
        what = "columns" if axis else "rows"
        raise IndexError(f"getitem: index {at} is out of range for {size} {what}")
    return at % size


def _element(a: SparseArray, i: int, j: int) -> Array:
    data = a._flat()
    if a.nnz == 0:
        return zeros((), dtype=a.dtype, device=a.backend)
    row, col = a._rows_and_columns()
    found: Array = reductions.sum(where((row == i) & (col == j), data, 0), dtype=a.dtype)
    return found


def _indices(a: Any, given: Any, axis: int) -> Array:
    """A slice with steps, a list, an array of indices or a mask as int32."""
    size = a.shape[0]
    if isinstance(given, slice):
        return asarray(np.arange(size, dtype=np.int32)[given], device=a.backend)
    own = given if isinstance(given, Array) else read_host("getitem", "key", given)
    if not isinstance(own, Array) and own.size == 0:
        own = own.astype(np.int32)
    what = "columns" if axis else "rows"
    if own.ndim != 1:
        invalid("getitem", f"indices of {what} have shape {own.shape}, expected one dimension")
    if own.dtype == np.bool_:
        if own.size != size:
            invalid("getitem", f"the mask has {own.size} elements, expected {size}, one of each of "
                    f"the {what}")  # fmt: skip
        own = nonzero(own)[0] if isinstance(own, Array) else np.flatnonzero(own)
    elif own.dtype.kind not in "iu":
        invalid("getitem", f"indices of {what} are {own.dtype}, expected integers")
    if own.size:
        low, high = int(own.min()), int(own.max())
        if low < -size or high >= size:
            bad = low if low < -size else high
            raise IndexError(f"getitem: index {bad} is out of range for {size} {what}")
        if low < 0:
            own = where(own < 0, own + size, own) if isinstance(own, Array) else own % size
    if isinstance(own, Array):
        a.backend._own("getitem", "indices", own)
        return own.astype(INT32, copy=False)._contiguous()
    return asarray(own.astype(np.int32), device=a.backend)


def _of_rows(a: csr_array, rows: Any, axis: int = 0) -> csr_array:
    if isinstance(rows, slice):
        start, stop, step = rows.indices(a.shape[0])
        if step == 1:
            return _side_by_side(a, start, max(start, stop))
    places, _, indptr = elements_of_rows(a.indptr, which := _indices(a, rows, axis))
    data, indices = take(a.data, places), take(a.indices, places)
    return type(a)._made(data, indices, indptr, (which.size, a.shape[1]))


def _side_by_side(a: csr_array, start: int, stop: int) -> csr_array:
    """Waits for the device, which knows where their elements are."""
    offsets = a.indptr[start : stop + 1]
    ends = asarray(np.array([0, stop - start]), device=a.backend)
    first, past = (int(one) for one in take(offsets, ends).tolist())
    data, indices = a.data[first:past].copy(), a.indices[first:past].copy()
    return type(a)._made(data, indices, offsets - first, (stop - start, a.shape[1]))


# Sampled products ---------------------------------------------------------------------------------


def sampled_addmm(
    a: SparseArray, x: Any, y: Any, *, beta: float = 1.0, alpha: float = 1.0
) -> csr_array:
    """alpha * (x @ y) + beta * A at the elements that A has stored, and nowhere else: x is rows x k
    and y k x columns. In CSR, with the places of A.tocsr(); elements of one place are added up
    first. Whether there are such is asked of the device once for each sparse array."""
    call = "sampled_addmm"
    if not getattr(a, "_is_sparse", False):
        invalid(call, f"A is {shown(a)}, expected a sparse array")
    x = structure.to_device(call, "x", x, a.backend)
    y = structure.to_device(call, "y", y, a.backend)
    if x.ndim != 2 or x.shape[0] != a.shape[0]:
        invalid(call, f"x has shape {x.shape}, expected {a.shape[0]} rows, as A has")
    if y.shape != (x.shape[1], a.shape[1]):
        invalid(call, f"y has shape {y.shape}, expected {(x.shape[1], a.shape[1])}")
    for name, one in (("x", x), ("y", y)):
        if one.dtype != a.dtype:
            invalid(call, f"{name} is {one.dtype}, expected {a.dtype} as A is")
    csr = a.tocsr()
    if not csr.has_canonical_format:
        summed = csr.copy()
        summed.sum_duplicates()
        csr = csr if summed.nnz == csr.nnz else summed
    row, col = csr._rows_and_columns()
    # Whole columns, side by side.
    across, k = y.T._contiguous(), x.shape[1]
    step = max(1, MOST_SAMPLED // max(1, 2 * k * a.dtype.itemsize))
    parts = [
        reductions.sum(
            take(x, row[i : i + step], axis=0) * take(across, col[i : i + step], axis=0), axis=1
        )
        for i in range(0, csr.nnz, step)
    ]
    if not parts:
        return csr._with(csr.data.copy())
    products = parts[0] if len(parts) == 1 else concat(parts)
    data = products * alpha
    if beta != 0:
        data = data + csr.data * beta
    return csr._with(data.astype(a.dtype, copy=False))
