"""What a plan is, and which ones are kept."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core, tracing
from tilewright.array import Array
from tilewright.namespace.manipulation import moveaxis
from tilewright.operands import complex_dtype
from tilewright.transforms import tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.backend import Backend

# Of the tables that are kept for a backend, those of a plan within another counted with both.
MOST_BYTES = 256 << 20


class Plan:
    """Of rows of one length on one backend."""

    def __init__(self, backend: Backend, parts: np.dtype[Any]) -> None:
        self.backend = backend
        self.parts = parts
        self.complex = complex_dtype(parts)
        self.tables: list[Array] = []
        #: by which parts of the work are done, and whose tables it keeps alive
        self.within: list[Plan] = []

    def real_table(self, host: tables.Host) -> Array:
        self.tables.append(self.backend._upload(host.astype(self.parts)))
        return self.tables[-1]

    def complex_table(self, host: tables.Host) -> Array:
        self.tables.append(self.backend._upload(host.astype(self.complex)))
        return self.tables[-1]

    @property
    def nbytes(self) -> int:
        return sum(one.nbytes for one in self.tables) + sum(one.nbytes for one in self.within)

    @property
    def is_alive(self) -> bool:
        """Not after a close()."""
        try:
            for table in self.tables[:1]:
                self.backend.buffer_bytes(table)
        except _core.Error:
            return False
        return all(one.is_alive for one in self.within)

    def __call__(self, x: Array) -> Array:
        """The transforms of the rows, one after another in new memory."""
        raise NotImplementedError

    def along(self, x: Array, axis: int) -> Array:
        """Those along an axis of this length."""
        return moveaxis(self(moveaxis(x, axis, -1)), -1, axis)


# What is kept -----------------------------------------------------------------------------------

_lock = threading.Lock()
_kept: weakref.WeakKeyDictionary[Any, OrderedDict[Any, Plan]] = weakref.WeakKeyDictionary()


def found(backend: Backend, key: Any, make: Callable[[], Plan]) -> Plan:
    made = _found(backend, key, make)
    tracing.keep(made)  # also where another length's tables take its place here
    return made


def _found(backend: Backend, key: Any, make: Callable[[], Plan]) -> Plan:
    with _lock:
        plans = _kept.setdefault(backend, OrderedDict())
        kept = plans.get(key)
        if kept is not None and kept.is_alive:
            plans.move_to_end(key)
            return kept
        if kept is not None:
            plans.clear()
    made = tracing.apart(make)  # without the lock: two threads may make the same
    with _lock:
        plans[key] = made
        while len(plans) > 1 and sum(one.nbytes for one in plans.values()) > MOST_BYTES:
            plans.popitem(last=False)
    return made


def forget() -> None:
    """Lets go of all tables."""
    with _lock:
        _kept.clear()
