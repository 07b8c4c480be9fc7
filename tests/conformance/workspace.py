"""Buffers that notice what an op must not do."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright import Backend

# Behind every buffer. All ones are a NaN in float32 and float16, so an op that reads too far shows
# it in its results, and one that writes too far shows it here.
GUARD_BYTES = 72
GUARD = 0xFF

Array = npt.NDArray[Any]


def raw(array: Array) -> Array:
    """The bytes of an array."""
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)


def download(be: Backend, buffer: Any) -> Array:
    """All bytes of a buffer."""
    contents = np.empty(be.buffer_bytes(buffer), np.uint8)
    be.copy_dtoh(contents, buffer)
    return contents


_keeps_subnormals: dict[str, bool] = {}


def keeps_subnormals(be: Backend) -> bool:
    """Whether the device's products keep numbers below 2^-126: asked of it once, with a product of
    one element. Many GPUs flush them to zero, and only there do exact ops get slack for it."""
    known = be.device.id
    if known not in _keeps_subnormals:
        with Workspace(be) as ws:
            out = ws.room(1)
            subnormal = ws.input(np.array([2.0**-127], np.float32))
            be.binary("mul", subnormal, ws.input(np.ones(1, np.float32)), out, 1)
            _keeps_subnormals[known] = bool(ws.read(out)[0] == 2.0**-127)
    return _keeps_subnormals[known]


def has_float64(be: Backend) -> bool:
    """Whether kernels of the device compute with it."""
    return be.supports("map", "float64")


class Workspace:
    """Makes buffers, frees them at the end, and then checks that the bytes behind each buffer and
    all inputs are what they were."""

    def __init__(self, be: Backend) -> None:
        self.be = be
        self._arrays: dict[Any, tuple[Array, bool]] = {}

    def input(self, array: Array) -> Any:
        """A buffer that no op may change."""
        return self._make(array, is_input=True)

    def output(self, array: Array) -> Any:
        """A buffer that starts with the given contents."""
        return self._make(array, is_input=False)

    def room(self, shape: int | Sequence[int], dtype: npt.DTypeLike = "float32") -> Any:
        """A buffer full of NaN to be written, so that an element left out shows."""
        array = np.empty(shape, dtype)
        array.reshape(-1).view(np.uint8)[...] = GUARD
        return self.output(array)

    def read(self, buffer: Any) -> Array:
        """What the buffer holds now, in the shape and type that it was made with."""
        array, _ = self._arrays[buffer]
        contents = download(self.be, buffer)
        assert (contents[array.nbytes :] == GUARD).all(), "bytes behind the buffer were written"
        return np.frombuffer(contents[: array.nbytes].tobytes(), array.dtype).reshape(array.shape)

    def _make(self, array: Array, is_input: bool) -> Any:
        buffer = self.be.alloc(array.nbytes + GUARD_BYTES)
        self._arrays[buffer] = (array.copy(), is_input)
        self.be.copy_htod(buffer, np.append(raw(array), np.full(GUARD_BYTES, GUARD, np.uint8)))
        return buffer

    def _check(self) -> None:
        for buffer, (array, is_input) in self._arrays.items():
            now = self.read(buffer)
            if is_input:
                assert (raw(now) == raw(array)).all(), "an input was changed"

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._check()
        finally:
            for buffer in self._arrays:
                self.be.free(buffer)


def normal(rng: np.random.Generator, shape: int | Sequence[int], dtype: npt.DTypeLike) -> Array:
    """Random numbers of mean zero, as bounds.py assumes them for products."""
    return rng.standard_normal(shape).astype(dtype)


def integers(rng: np.random.Generator, shape: int | Sequence[int], dtype: npt.DTypeLike) -> Array:
    """-2 to 2: sums of products of these are exact in float32, in whatever order."""
    return rng.integers(-2, 3, shape).astype(dtype)


def span(rows: int, cols: int, ld: int, stride: int = 0, count: int = 1) -> int:
    """The elements from the first to the last of `count` matrices."""
    if 0 in (rows, cols, count):
        return 0
    return (count - 1) * stride + (rows - 1) * ld + cols


def matrices(flat: Array, rows: int, cols: int, ld: int, stride: int = 0, count: int = 1) -> Array:
    """The matrices within a flat array, as a view."""
    assert flat.size >= span(rows, cols, ld, stride, count)
    item = flat.itemsize
    return np.lib.stride_tricks.as_strided(
        flat, (count, rows, cols), (stride * item, ld * item, item)
    )


def assert_unchanged_outside(after: Array, before: Array, part: Callable[[Array], Array]) -> None:
    """Nothing but the part that an op owns may differ."""
    expected = before.copy()
    part(expected)[...] = part(after)
    assert (raw(expected) == raw(after)).all(), "elements outside the output were written"


def elements(shape: Sequence[int]) -> int:
    return math.prod(shape)
