"""Events in asyncio: a task that awaits one leaves the loop to others; a thread waits instead."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import os
import threading
import weakref
from collections.abc import Generator
from typing import Any

from tilewright import _core

LINGER = 1.0  # seconds that a thread waits for the next event


def awaited(event: _core.Event) -> Generator[Any, None, None]:
    """What `await event` runs."""
    if event.done():
        return
    future = asyncio.get_running_loop().create_future()
    _waiter_of(event.backend).add(event, future)
    yield from future.__await__()


class _Waiter:
    """Waits for the events of one backend, which get done in the order of its queue, in a thread
    that is there while there are any."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: collections.deque[tuple[_core.Event, asyncio.Future[None]]]
        self._waiting = collections.deque()
        self._runs = False

    def add(self, event: _core.Event, future: asyncio.Future[None]) -> None:
        with self._changed:
            if not self._runs:
                threading.Thread(target=self._run, name="tilewright events", daemon=True).start()
                self._runs = True
            self._waiting.append((event, future))
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._changed.wait_for(lambda: self._waiting, LINGER):
                    self._runs = False
                    return
                event, future = self._waiting.popleft()
            _settle_after(event, future)
            # Not kept while there is nothing to do: the backend goes with its last event.
            del event, future


def _settle_after(event: _core.Event, future: asyncio.Future[None]) -> None:
    error: BaseException | None = None
    try:
        if not future.cancelled():
            event.wait()
    except BaseException as raised:
        error = raised
    # A loop that is closed has nobody who awaits.
    with contextlib.suppress(RuntimeError):
        future.get_loop().call_soon_threadsafe(_settle, future, error)


def _settle(future: asyncio.Future[None], error: BaseException | None) -> None:
    if future.done():
        return  # cancelled meanwhile
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)


_waiters: weakref.WeakKeyDictionary[_core.Backend, _Waiter] = weakref.WeakKeyDictionary()
_waiters_lock = threading.Lock()


def _waiter_of(backend: _core.Backend) -> _Waiter:
    with _waiters_lock:
        waiter = _waiters.get(backend)
        if waiter is None:
            waiter = _waiters[backend] = _Waiter()
        return waiter


def _forget_threads() -> None:
    """A forked child has none of its parent's threads, and maybe their locks."""
    global _waiters, _waiters_lock
    _waiters = weakref.WeakKeyDictionary()
    _waiters_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
