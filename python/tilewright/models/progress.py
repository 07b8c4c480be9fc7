"""A bar on standard error, by the `tqdm` package where it is there."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def bar(wanted: bool | None, label: str) -> Iterator[Callable[[int, int], None] | None]:
    """What is told of the bytes that are done, and of all."""
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield None
        return
    try:
        tqdm: Any = importlib.import_module("tqdm").tqdm
    except ImportError:
        yield None
        return
    with tqdm(desc=label, unit="B", unit_scale=True, leave=False) as shown:

        def update(done: int, every: int) -> None:
            shown.total = every
            shown.update(done - shown.n)

        yield update
