"""What distributions are drawn by."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tilewright import tracing
from tilewright.array import Array
from tilewright.namespace.devices import to_backend
from tilewright.operands import check_stored, invalid, name_of
from tilewright.random import distributions
from tilewright.random.arguments import float_dtype, put, size_of_result, to_parameter
from tilewright.random.philox import Draw, Stream, run, run_at

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

    from tilewright.backend import Backend
    from tilewright.random.arguments import Size
    from tilewright.random.generator import Generator

MOST_TRIES = 64
# Places that draws which try are told apart by.
MOST_PLACES = 2**31


class Draws:
    """A stream and where it is."""

    _key: tuple[int, int]
    _number: tuple[int, int]
    _place: int
    _lock: threading.Lock
    _device: Backend | None

    def _backend(self, call: str) -> Backend:
        return to_backend(call, self._device)

    def _next(self, blocks: int) -> Stream:
        if tracing.is_under_way():
            raise tracing.Refused(
                f"it draws from {self!r}, and each call of a function that tw.compile recorded "
                "would have the same numbers; draw before the call, and give it the Array"
            )
        with self._lock:
            place = self._place
            self._place = (place + blocks) & 0xFFFFFFFFFFFFFFFF
        return Stream(self._key, self._number, place)

    def _on(self, backend: Backend) -> Generator:
        """The same stream, with Arrays on this backend."""
        raise NotImplementedError

    def _drawn(
        self,
        backend: Backend,
        draw: Draw,
        numbers: list[Any],
        sizes: tuple[int, ...],
        dtype: np.dtype[Any],
    ) -> Array:
        count = math.prod(sizes)
        blocks = -(-count // draw.results)
        is_whole = blocks * draw.results == count
        result = backend._new(sizes if is_whole else (blocks * draw.results,), dtype)
        run(backend, self._next(blocks), draw, numbers, result)
        return result if is_whole else result[:count].reshape(sizes)

    def _continuous(
        self,
        call: str,
        name: str,
        loc: Any,
        scale: Any,
        size: Size,
        dtype: npt.DTypeLike,
        shape: Any = None,
        out: Array | None = None,
    ) -> Array:
        backend = self._backend(call)
        wanted = float_dtype(call, dtype)
        check_stored(call, backend, wanted)
        given = {"loc": loc, "scale": scale, **({} if shape is None else {"shape": shape})}
        arrays = {key: to_parameter(call, key, one, backend) for key, one in given.items()}
        if not isinstance(arrays["scale"], Array) and name != "uniform" and arrays["scale"] < 0:
            invalid(call, f"scale is {arrays['scale']}, expected 0 or more")
        sizes = size_of_result(call, size, out, list(arrays.values()))
        apart = any(isinstance(one, Array) for one in arrays.values())
        numbers = [] if apart else [float(arrays["loc"]), float(arrays["scale"])]
        if numbers == [0, 1]:
            numbers = []
        draw = distributions.continuous(name, name_of(wanted), not numbers)
        if shape is not None:
            numbers.append(float(arrays["shape"]))
        result = self._drawn(backend, draw, numbers, sizes, wanted)
        if apart:
            result *= arrays["scale"]
            result += arrays["loc"]
        return result if out is None else put(call, out, result)

    def _parameters(
        self, call: str, given: dict[str, Any], above: float | None = None
    ) -> list[Any]:
        """Numbers, or Arrays on the backend; numbers that are `above` one where one is given."""
        backend = self._backend(call)
        found = [to_parameter(call, name, one, backend) for name, one in given.items()]
        for name, one in zip(given, found, strict=True):
            if above is not None and not isinstance(one, Array) and not one > above:
                invalid(call, f"{name} is {one}, expected more than {above}")
        return found

    def _tried(
        self,
        backend: Backend,
        draw_of: Callable[[tuple[bool, ...]], Draw],
        parameters: list[Any],
        sizes: tuple[int, ...],
        dtype: np.dtype[Any],
    ) -> Array:
        """What a draw gives that tries once for each element, and again for those that are NaN.
        draw_of says it by which parameters are Arrays."""
        from tilewright.namespace.manipulation import broadcast_to

        arrays = [
            broadcast_to(one.astype(dtype), sizes).reshape(-1)._contiguous()
            for one in parameters
            if isinstance(one, Array)
        ]
        numbers = [one for one in parameters if not isinstance(one, Array)]
        draw = draw_of(tuple(isinstance(one, Array) for one in parameters))
        result = backend._new((math.prod(sizes),), dtype)
        for start in range(0, result.size, MOST_PLACES):
            if result.size <= MOST_PLACES:
                self._try(backend, draw, numbers, arrays, result)
                break
            part = slice(start, start + MOST_PLACES)
            found = backend._new(result[part].shape, dtype)
            self._try(backend, draw, numbers, [one[part] for one in arrays], found)
            result[part] = found
        return result.reshape(sizes)

    def _try(
        self,
        backend: Backend,
        draw: Draw,
        numbers: list[Any],
        arrays: list[Array],
        result: Array,
    ) -> None:
        from tilewright.namespace.selection import flatnonzero

        # As many blocks however many tries it takes, which may be another number elsewhere.
        stream = self._next(result.size * MOST_TRIES)
        run(backend, stream, draw, numbers, result, arrays)
        left = flatnonzero(result != result)
        for i in range(1, MOST_TRIES):
            if left.size == 0:
                break
            part = stream._replace(place=stream.place + i * result.size)
            tried = backend._new(left.shape, result.dtype)
            inputs = [one[left] for one in arrays]
            run_at(backend, part, draw, numbers, left.astype("uint32"), tried, inputs)
            result[left] = tried
            left = left[tried != tried]
