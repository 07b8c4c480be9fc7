"""What a plan is, and which ones are kept."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from functools import cached_property
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
MOST_CALLS = 512


class Plan:
    """Of rows of one length on one backend."""

    def __init__(self, backend: Backend, parts: np.dtype[Any]) -> None:
        self.backend = backend
        self.parts = parts
        self.parts_name = parts.name
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

    @cached_property
    def _a_table(self) -> Array | None:
        for one in self.within:
            if one._a_table is not None:
                return one._a_table
        return self.tables[0] if self.tables else None

    @property
    def is_alive(self) -> bool:
        """Not after a close(), which frees all tables of a backend."""
        if self._a_table is None:
            return True
        try:
            self.backend.buffer_bytes(self._a_table)
        except _core.Error:
            return False
        return True

    def __call__(self, x: Array) -> Array:
        """The transforms of the rows, one after another in new memory."""
        raise NotImplementedError

    def along(self, x: Array, axis: int) -> Array:
        """Those along an axis of this length."""
        return moveaxis(self(moveaxis(x, axis, -1)), -1, axis)

    def ready(self, x: Array, axis: int) -> Callable[[Array], Array] | None:
        """along() for Arrays of the same dtype and shape; None where there is nothing quicker."""
        return None


# What is kept -----------------------------------------------------------------------------------


class Kept:
    """Of one backend, as its attribute `_transforms`."""

    def __init__(self) -> None:
        self.plans: OrderedDict[Any, Plan] = OrderedDict()
        #: by a call's name, axis and norm, and its argument's dtype and shape
        self.calls: dict[Any, tuple[Plan, Callable[[Array], Array]]] = {}

    def clear(self) -> None:
        self.plans.clear()
        self.calls.clear()


_lock = threading.Lock()
_every: weakref.WeakSet[Kept] = weakref.WeakSet()


def _kept_of(backend: Backend) -> Kept:
    kept: Kept | None = backend.__dict__.get("_transforms")
    if kept is None:
        with _lock:
            kept = backend.__dict__.setdefault("_transforms", Kept())
            _every.add(kept)
    return kept


def found(backend: Backend, key: Any, make: Callable[[], Plan]) -> Plan:
    made = _found(backend, key, make)
    tracing.keep(made)  # also where another length's tables take its place here
    return made


def _found(backend: Backend, key: Any, make: Callable[[], Plan]) -> Plan:
    here = _kept_of(backend)
    with _lock:
        plans = here.plans
        kept = plans.get(key)
        if kept is not None and kept.is_alive:
            plans.move_to_end(key)
            return kept
        if kept is not None:
            here.clear()
    made = tracing.apart(make)  # without the lock: two threads may make the same
    with _lock:
        plans[key] = made
        while len(plans) > 1 and sum(one.nbytes for one in plans.values()) > MOST_BYTES:
            plans.popitem(last=False)
            here.calls.clear()
    return made


def at_hand(call: str, x: Any, n: Any, axis: Any, norm: Any) -> Array | None:
    """What a call gives that came before in this form, without what it checked then."""
    if n is not None or axis.__class__ is not int or norm.__class__ is not str:
        return None
    try:
        calls = x.backend._transforms.calls
        plan, ready = calls[call, axis, norm, x.dtype, x.shape]
    except (AttributeError, KeyError):
        return None
    try:
        return ready(x)  # type: ignore[no-any-return]
    except _core.Error:
        if plan.is_alive:
            raise
        # A close() has freed the tables: the long way makes others, or says what is wrong.
        calls.clear()
        return None


def keep_at_hand(call: str, x: Array, axis: Any, norm: str, plan: Plan, at: int) -> None:
    """The next call of this form, along axis `at` of its whole length, takes the short way, where
    the plan has one."""
    ready = plan.ready(x, at)
    if ready is None or axis.__class__ is not int:
        return
    calls = _kept_of(x.backend).calls
    if len(calls) >= MOST_CALLS:
        calls.clear()
    calls[call, axis, norm, x.dtype, x.shape] = plan, ready


def forget() -> None:
    """Lets go of all tables."""
    with _lock:
        for one in list(_every):
            one.clear()
