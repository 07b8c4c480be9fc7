"""Dask's functions that make arrays, with Arrays as chunks: its entry point "tilewright".

    with dask.config.set({"array.backend": "tilewright"}):
        x = da.ones((10_000, 10_000), chunks=2_500)

and `x.to_backend("tilewright")` of an array of NumPy's chunks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import dask.array as da
import numpy as np
from dask.array.backends import ArrayBackendEntrypoint
from dask.array.core import normalize_chunks
from dask.utils import Dispatch

import tilewright as tw
from tilewright.array import Array
from tilewright.dask import chunks as chunks

_Dispatch: Any = Dispatch

to_array = _Dispatch("to_tilewright")
to_array.register(np.ndarray, lambda x, **_: tw.asarray(x))
to_array.register(Array, lambda x, **_: x)

_map_blocks: Any = da.map_blocks
_normalized: Any = normalize_chunks
_Entrypoint: Any = ArrayBackendEntrypoint


def _block(make: Callable[..., Array], dtype: str, block_info: Any = None) -> Array:
    return make(block_info[None]["chunk-shape"], dtype=dtype)


def _steps(first: float, by: float, dtype: str, block_info: Any = None) -> Array:
    ((begin, end),) = block_info[None]["array-location"]
    places = np.arange(begin, end)
    return tw.asarray((first + by * places).astype(dtype))


def _full(value: Any) -> Callable[..., Array]:
    def make(shape: Sequence[int], dtype: str) -> Array:
        return tw.full(shape, value, dtype=dtype)

    return make


def _made(make: Any, shape: Any, dtype: Any, chunks: Any, name: str | None) -> Any:
    sizes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    # da.full() names the type of a Python number as the dtype.
    numbers: dict[Any, str] = {None: "float32", float: "float32", complex: "complex64"}
    wanted = np.dtype(numbers.get(dtype, dtype))
    return _map_blocks(
        _block,
        make,
        wanted.name,
        chunks=_normalized(chunks, sizes, dtype=wanted),
        dtype=wanted,
        meta=tw.empty((0,) * len(sizes), dtype=wanted),
        name=name,
    )


class Creation(_Entrypoint):  # type: ignore[misc]
    """Arrays are float32 where no dtype is given."""

    @classmethod
    def to_backend_dispatch(cls) -> Any:
        return to_array

    @classmethod
    def to_backend(cls, data: Any, **options: Any) -> Any:
        if isinstance(data._meta, Array):
            return data
        meta = tw.empty((0,) * data.ndim, dtype=data.dtype)
        return data.map_blocks(to_array, dtype=data.dtype, meta=meta, **options)

    @staticmethod
    def ones(shape: Any, *, dtype: Any = None, chunks: Any = "auto", name: Any = None) -> Any:
        return _made(_full(1), shape, dtype, chunks, name)

    @staticmethod
    def zeros(shape: Any, *, dtype: Any = None, chunks: Any = "auto", name: Any = None) -> Any:
        return _made(_full(0), shape, dtype, chunks, name)

    @staticmethod
    def empty(shape: Any, *, dtype: Any = None, chunks: Any = "auto", name: Any = None) -> Any:
        return _made(tw.empty, shape, dtype, chunks, name)

    @staticmethod
    def full(
        shape: Any, fill_value: Any, *, dtype: Any = None, chunks: Any = "auto", name: Any = None
    ) -> Any:
        return _made(_full(fill_value), shape, dtype, chunks, name)

    @staticmethod
    def arange(
        start: float, /, stop: float | None = None, step: float = 1, *, dtype: Any = None,
        chunks: Any = "auto", name: Any = None,
    ) -> Any:  # fmt: skip
        first, last = (0, start) if stop is None else (start, stop)
        wanted = tw.arange(0, 0, step, dtype=dtype).dtype
        if dtype is None and any(isinstance(one, float) for one in (first, last)):
            wanted = np.dtype(np.float32)
        count = max(0, math.ceil((last - first) / step))
        return _map_blocks(
            _steps,
            first,
            step,
            wanted.name,
            chunks=_normalized(chunks, (count,), dtype=wanted),
            dtype=wanted,
            meta=tw.empty((0,), dtype=wanted),
            name=name,
        )
