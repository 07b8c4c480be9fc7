"""Who holds which page of a cache, and what was computed before and is still there."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np


def chain(tokens: Sequence[int], page: int, before: bytes = b"") -> list[bytes]:
    """A name for each page of tokens, which says what all pages up to it have."""
    data, size = np.asarray(tokens, np.int32).tobytes(), page * 4
    names = []
    for first in range(0, len(data), size):
        before = hashlib.sha256(before + data[first : first + size]).digest()
        names.append(before)
    return names


class Pages:
    """Pages by number, counted by who holds them. One with a name stays as it is when nobody holds
    it any more, until a page is needed: then the one that was held longest ago goes first."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._free = list(range(count))[::-1]
        self._holders = [0] * count
        self._named: dict[bytes, int] = {}
        self._names: dict[int, bytes] = {}
        self._resting: OrderedDict[int, None] = OrderedDict()

    @property
    def available(self) -> int:
        """Pages that can be taken."""
        return len(self._free) + len(self._resting)

    @property
    def kept(self) -> int:
        """Pages that nobody holds and that may be found."""
        return len(self._resting)

    def find(self, names: Sequence[bytes]) -> list[int]:
        """The pages of the first of these names, as far as there are such, now held."""
        found = []
        for name in names:
            page = self._named.get(name)
            if page is None:
                break
            self._resting.pop(page, None)
            self._holders[page] += 1
            found.append(page)
        return found

    def take(self, count: int) -> list[int]:
        """Pages of nobody's, of which there must be so many."""
        taken = []
        for _ in range(count):
            if self._free:
                page = self._free.pop()
            else:
                page, _ = self._resting.popitem(last=False)
                self._forget(page)
            self._holders[page] = 1
            taken.append(page)
        return taken

    def name(self, page: int, name: bytes) -> None:
        """Lets a page be found, unless there is another with the same in it."""
        if name not in self._named and page not in self._names:
            self._named[name] = page
            self._names[page] = name

    def give(self, pages: Sequence[int]) -> None:
        """No more held by one; the last ones, without which the others are of use, go first."""
        for page in reversed(pages):
            self._holders[page] -= 1
            if self._holders[page]:
                continue
            if page in self._names:
                self._resting[page] = None
            else:
                self._free.append(page)

    def forget(self) -> None:
        """Nothing is found any more."""
        self._free += list(self._resting)
        self._resting.clear()
        self._named.clear()
        self._names.clear()

    def _forget(self, page: int) -> None:
        del self._named[self._names.pop(page)]
