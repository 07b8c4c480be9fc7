"""Keys and values of the tokens so far, in pages that sequences take, share and give back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright._core import OutOfMemory
from tilewright.models.decoders.prefixes import Pages, chain
from tilewright.namespace.creation import zeros

if TYPE_CHECKING:
    from collections.abc import Sequence as Listed

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
        self._names: list[bytes] = []
        #: names of the pages that a prompt lacked when it began
        self.coming: list[bytes] = []

    def begin(self, tokens: Listed[int]) -> None:
        """Takes the whole pages that the cache has of these tokens already, all but the last of
        which may be so, since something has to be computed."""
        whole = (len(tokens) - 1) // PAGE
        names = chain(tokens[: whole * PAGE], PAGE)
        self.pages = self.cache.find(names)
        self._names, self.coming = names[: len(self.pages)], names[len(self.pages) :]
        self.length = len(self.pages) * PAGE

    def missing(self, count: int) -> int:
        """Pages that so many tokens more would take."""
        return max(0, -(-(self.length + count) // PAGE) - len(self.pages))

    def reserve(self, count: int) -> None:
        """Takes the pages of so many tokens more."""
        self.pages += self.cache.take(self.missing(count))

    def grow(self, count: int) -> range:
        """Room for more tokens; gives the places that they stand at."""
        self.reserve(count)
        self.length += count
        return range(self.length - count, self.length)

    def slots(self, places: range) -> list[int]:
        """Where the keys of these places lie in the cache."""
        return [self.pages[place // PAGE] * PAGE + place % PAGE for place in places]

    def keep(self, tokens: Listed[int]) -> None:
        """Lets others find the pages that are full by now; `tokens` are those of the sequence. The
        last one may have no keys yet, and others behind it may have some that nobody asks for."""
        first, past = len(self._names), min(self.length, len(tokens)) // PAGE
        if first >= past:
            return
        before = self._names[-1] if self._names else b""
        names = chain(tokens[first * PAGE : past * PAGE], PAGE, before)
        for page, name in zip(self.pages[first:past], names, strict=True):
            self.cache.name(page, name)
        self._names += names

    def close(self) -> None:
        """Gives the pages back."""
        self.cache.give(self.pages)
        self.pages, self.length, self._names = [], 0, []


#: what a cache may be held as, beside the dtype of the states
STORED = ("float16", "int8")


def page_bytes(shape: Shape, stored: np.dtype[Any]) -> int:
    """Of a page of one layer, with the scales of its rows."""
    scale = 4 if stored == np.int8 else 0
    return PAGE * 2 * shape.kv_heads * (shape.head * stored.itemsize + scale)


class Cache(Pages):
    """Pages of keys and values for each layer, [pages, PAGE, heads, dim] of both: a token's keys
    and values lie side by side, as a layer's product has them. One page more than sequences can
    take is for rows of a step that belong to none."""

    def __init__(self, backend: Backend, shape: Shape, dtype: np.dtype[Any], tokens: int) -> None:
        super().__init__(-(-tokens // PAGE))
        #: what keys and values are held as
        self.dtype = dtype
        size = (self.count + 1, PAGE, 2 * shape.kv_heads, shape.head)
        need = shape.layers * (self.count + 1) * page_bytes(shape, dtype)
        there = backend.device.memory_bytes
        if there and need > there:
            raise OutOfMemory(
                f"load: a cache of {tokens} tokens takes {need / 1e9:.2f} GB, and "
                f"{backend.device.name} has {there / 1e9:.2f} GB; give a smaller cache_tokens"
            )
        #: of a layer, which heads of keys and then of values
        self.rows = [zeros(size, dtype=dtype, device=backend) for _ in range(shape.layers)]
        self.keys = [one[:, :, : shape.kv_heads] for one in self.rows]
        self.values = [one[:, :, shape.kv_heads :] for one in self.rows]
        self.scales: list[Array | None] = [None] * shape.layers
        if dtype == np.int8:
            of_rows = (size[0], 2, shape.kv_heads, PAGE)
            self.scales = [
                zeros(of_rows, dtype=np.float32, device=backend) for _ in range(shape.layers)
            ]

    @property
    def tokens(self) -> int:
        """That it has room for."""
        return self.count * PAGE

    def take(self, count: int) -> list[int]:
        if count > self.available:
            raise OutOfMemory(
                f"the cache has {self.tokens} tokens, of which {self.available * PAGE} are "
                f"free, and {count * PAGE} more are needed; load with a larger cache_tokens"
            )
        return super().take(count)
