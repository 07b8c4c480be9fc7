"""Keys and values of the tokens so far, in pages that sequences take and give back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright._core import OutOfMemory
from tilewright.namespace.creation import zeros

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.backend import Backend
    from tilewright.models.decoders.shape import Shape

PAGE = 16


class Sequence:
    """Tokens whose keys and values are in a cache."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.length = 0
        self.pages: list[int] = []

    def grow(self, count: int) -> range:
        """Room for more tokens; gives the places that they stand at."""
        places = range(self.length, self.length + count)
        missing = -(-(self.length + count) // PAGE) - len(self.pages)
        if missing > 0:
            self.pages += self.cache.take(missing)
        self.length += count
        return places

    def slots(self, places: range) -> list[int]:
        """Where the keys of these places lie in the cache."""
        return [self.pages[place // PAGE] * PAGE + place % PAGE for place in places]

    def close(self) -> None:
        """Gives the pages back."""
        self.cache.give(self.pages)
        self.pages, self.length = [], 0


class Cache:
    """Pages of keys and values for each layer, [pages, PAGE, heads, dim] of both: a token's keys
    and values lie side by side, as a layer's product has them."""

    def __init__(self, backend: Backend, shape: Shape, dtype: np.dtype[Any], tokens: int) -> None:
        self.pages = -(-tokens // PAGE)
        size = (self.pages, PAGE, 2 * shape.kv_heads, shape.head)
        need = shape.layers * int(np.prod(size)) * dtype.itemsize
        there = backend.device.memory_bytes
        if there and need > there:
            raise OutOfMemory(
                f"load: a cache of {tokens} tokens takes {need / 1e9:.2f} GB, and "
                f"{backend.device.name} has {there / 1e9:.2f} GB; give a smaller cache_tokens"
            )
        both = [zeros(size, dtype=dtype, device=backend) for _ in range(shape.layers)]
        self.keys = [one[:, :, : shape.kv_heads] for one in both]
        self.values = [one[:, :, shape.kv_heads :] for one in both]
        self._rows = [one.reshape((-1, *size[2:]), copy=False) for one in both]
        self.free = list(range(self.pages))[::-1]

    def take(self, count: int) -> list[int]:
        if count > len(self.free):
            raise OutOfMemory(
                f"the cache has {self.pages * PAGE} tokens, of which {len(self.free) * PAGE} are "
                f"free, and {count * PAGE} more are needed; load with a larger cache_tokens"
            )
        return [self.free.pop() for _ in range(count)]

    def give(self, pages: list[int]) -> None:
        self.free += pages[::-1]

    def write(self, layer: int, slots: Array, rows: Array) -> None:
        """Keys and values of tokens, [tokens, 2 * heads, dim], to their places."""
        self._rows[layer][slots] = rows
