"""What Dask's arrays ask of their chunks, where NumPy's protocols do not say it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from dask.array import dispatch
from dask.sizeof import sizeof

import tilewright as tw
from tilewright.array import Array
from tilewright.namespace.einsum import einsum
from tilewright.namespace.linear import matmul
from tilewright.namespace.manipulation import concat
from tilewright.namespace.products import tensordot
from tilewright.namespace.quantiles import percentile
from tilewright.namespace.selection import take


def _concatenate(arrays: Sequence[Array], axis: int | None = 0) -> Array:
    return concat(list(arrays), axis=axis)


def _take(x: Array, indices: Any, axis: int | None = None) -> Array:
    return take(x, indices, axis)


def _tensordot(a: Array, b: Array, axes: Any = 2) -> Array:
    if axes == ((1,), (0,)) and a.ndim == b.ndim == 2:
        return matmul(a, b)
    return tensordot(a, b, axes=axes)


def _einsum(subscripts: str, *operands: Array, dtype: Any = None, **_: Any) -> Array:
    if dtype is not None:
        operands = tuple(one.astype(dtype, copy=False) for one in operands)
    return einsum(subscripts, *operands)


def _divide(a: Any, b: Any, dtype: Any = None) -> Array:
    """Counts are NumPy's, and take the dtype of what they divide."""
    like = a if isinstance(a, Array) else b
    kind = like.dtype if like.dtype.kind in "fc" else np.dtype(np.float32)
    a, b = (one if isinstance(one, Array) else np.asarray(one).astype(kind) for one in (a, b))
    quotient: Array = a / b
    return quotient if dtype is None else quotient.astype(dtype, copy=False)


def _numel(x: Array, **options: Any) -> Any:
    """How many elements a reduction goes over: NumPy's, since it is known without the device."""
    axis, keepdims = options.get("axis"), options.get("keepdims", False)
    dtype = options.get("dtype", np.float64)
    if axis is None:
        axis = range(x.ndim)
    axes = {one % x.ndim for one in ([axis] if isinstance(axis, int) else axis)}
    count = math.prod(x.shape[one] for one in axes)
    sizes = [1 if i in axes else size for i, size in enumerate(x.shape)]
    shape = [size for i, size in enumerate(sizes) if keepdims or i not in axes]
    return np.broadcast_to(np.array(count, dtype), shape)


def _nannumel(x: Array, **options: Any) -> Array:
    """How many elements are not NaN."""
    dtype = options.pop("dtype", None)
    counts: Array = (~tw.isnan(x)).sum(**options)
    return counts if dtype is None else counts.astype(dtype, copy=False)


def _percentile(x: Array, q: Any, method: str = "linear") -> tuple[Any, int]:
    """Those of one chunk, which Dask merges on the host."""
    if not x.size:
        return None, 0
    wanted = q.numpy() if isinstance(q, Array) else q
    return percentile(x, wanted, method=method).numpy(), x.size


def _register() -> None:
    for table, function in (
        (dispatch.concatenate_lookup, _concatenate),
        (dispatch.take_lookup, _take),
        (dispatch.tensordot_lookup, _tensordot),
        (dispatch.einsum_lookup, _einsum),
        (dispatch.empty_lookup, tw.empty),
        (dispatch.divide_lookup, _divide),
        (dispatch.numel_lookup, _numel),
        (dispatch.nannumel_lookup, _nannumel),
        (dispatch.percentile_lookup, _percentile),
        (dispatch.to_numpy_dispatch, lambda x, **_: x.numpy()),
        (sizeof, lambda x: int(x.nbytes)),
    ):
        register: Any = table.register
        register(Array, function)


_register()
