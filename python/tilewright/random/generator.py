"""Generator: random Arrays by NumPy's names, the same stream on every device."""

from __future__ import annotations

import builtins
import math
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.namespace.devices import to_backend
from tilewright.operands import check_stored, invalid, name_of, shown, to_dtype, to_integer
from tilewright.random import distributions
from tilewright.random.arguments import size_of_result
from tilewright.random.permutations import Permutations
from tilewright.random.vectors import Vectors
from tilewright.reading import default_integer

if TYPE_CHECKING:
    import numpy.typing as npt

    from tilewright.array import Array
    from tilewright.backend import Backend
    from tilewright.namespace.devices import Device
    from tilewright.random.arguments import Size
    from tilewright.random.philox import Stream


class BitGenerator:
    """Where a Generator's words come from: its state and its seed."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator

    def __repr__(self) -> str:
        return f"Philox4x32-10 of {self._generator!r}"

    @property
    def state(self) -> dict[str, Any]:
        return self._generator.state

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        self._generator.state = state

    @property
    def seed_seq(self) -> np.random.SeedSequence:
        return self._generator._seed


class Generator(Vectors, Permutations):
    """Random numbers by Philox4x32-10, which counts: element for element the same on every device,
    floats to their rounding. Made by default_rng(). Each call goes on where the one before ended.
    """

    def __init__(self, seed: Any = None, *, device: Device | None = None) -> None:
        if isinstance(seed, np.random.SeedSequence):
            self._seed = seed
        else:
            try:
                self._seed = np.random.SeedSequence(seed)
            except (TypeError, ValueError, OverflowError) as error:
                raise _core.InvalidArgument(
                    f"default_rng: seed is {shown(seed)}, expected integers of 0 or more: {error}"
                ) from error
        if device is not None:
            device = to_backend("default_rng", device)
        self._device = device
        words = [int(one) for one in self._seed.generate_state(4)]
        self._key, self._number, self._place = (words[0], words[1]), (words[2], words[3]), 0
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        where = "" if self._device is None else f", device={self._device.device.id!r}"
        return f"Generator(Philox4x32-10, place={self._place}{where})"

    @property
    def state(self) -> dict[str, Any]:
        """The key, the stream's number and how many blocks of four words it has given; to be set
        again, too."""
        return {"key": self._key, "stream": self._number, "place": self._place}

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        try:
            key, number = (tuple(int(one) for one in state[name]) for name in ("key", "stream"))
            place = int(state["place"])
            fits = all(0 <= one < 2**32 for one in (*key, *number)) and 0 <= place < 2**64
            if not fits or len(key) != 2 or len(number) != 2:
                raise ValueError
        except (KeyError, TypeError, ValueError) as error:
            raise _core.InvalidArgument(
                f"state is {shown(state)}, expected what another Generator's was"
            ) from error
        self._key, self._number, self._place = (key[0], key[1]), (number[0], number[1]), place

    def __getstate__(self) -> dict[str, Any]:
        device = None if self._device is None else self._device.device.id
        return {"seed": self._seed, "state": self.state, "device": device}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        try:
            self.__init__(kept["seed"], device=kept["device"])  # type: ignore[misc]
        except _core.Error:
            # The device is not here.
            self.__init__(kept["seed"])  # type: ignore[misc]
        self.state = kept["state"]

    @property
    def bit_generator(self) -> BitGenerator:
        return BitGenerator(self)

    def spawn(self, n_children: int) -> list[Generator]:
        """Generators of streams of their own."""
        count = to_integer("spawn", "n_children", n_children)
        if count < 0:
            invalid("spawn", f"n_children is {count}, expected 0 or more")
        return [Generator(one, device=self._device) for one in self._seed.spawn(count)]

    def _on(self, backend: Backend) -> Generator:
        """The same stream, with Arrays on this backend."""
        return _Elsewhere(self, backend)

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Size = None,
        dtype: npt.DTypeLike | None = None,
        endpoint: bool = False,
    ) -> Array:
        """From low up to before high, or with high where `endpoint`; from 0 where low alone is
        given. Each is as likely as any other within 2**-32, and within 2**-64 where there are more
        than 2**32. int64 (int32 where the device has no int64) unless a dtype is given."""
        call = "integers"
        backend = self._backend(call)
        wanted = default_integer(backend) if dtype is None else to_dtype(call, dtype)
        if wanted.kind not in "biu":
            invalid(call, f"dtype is {wanted}, expected integers or bool")
        check_stored(call, backend, wanted)
        first = to_integer(call, "low", low)
        if high is None:
            first, past = 0, first
        else:
            past = to_integer(call, "high", high)
        if not isinstance(endpoint, (bool, np.bool_)):
            invalid(call, f"endpoint is {shown(endpoint)}, expected True or False")
        past += bool(endpoint)
        if past <= first:
            invalid(call, f"low is {first} and high {past - bool(endpoint)}, expected more")
        limits = (0, 1) if wanted.kind == "b" else (np.iinfo(wanted).min, np.iinfo(wanted).max)
        if first < limits[0] or past - 1 > limits[1]:
            invalid(call, f"{first} to {past - 1} is not what {wanted} holds")
        span, sizes = past - first, size_of_result(call, size, None, [])
        if span > 2**32:
            draw = distributions.long_integers(name_of(wanted), span == 2**64)
        else:
            draw = distributions.integers(name_of(wanted), span == 2**32)
        numbers = [first, 0 if span in (2**32, 2**64) else span]
        if wanted.kind == "b" and span == 1:
            result = backend._new((math.prod(sizes),), wanted)
            result[...] = bool(first)
            return result.reshape(sizes)
        return self._drawn(backend, draw, numbers, sizes, wanted)

    def bytes(self, length: int) -> builtins.bytes:
        """Of the stream's words, the least byte first, on the host."""
        count = to_integer("bytes", "length", length)
        if count < 0:
            invalid("bytes", f"length is {count}, expected 0 or more")
        words = self.bits(-(-count // 4)).numpy()
        return words.astype("<u4").tobytes()[:count]

    def bits(self, size: Size = None) -> Array:
        """The words of the stream: uint32."""
        return self.integers(0, 2**32, size, "uint32")


class _Elsewhere(Generator):
    def __init__(self, generator: Generator, backend: Backend) -> None:
        self._of, self._device = generator, backend

    def _next(self, blocks: int) -> Stream:
        return self._of._next(blocks)
