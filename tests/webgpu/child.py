"""What the processes that the tests start begin with."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import tilewright as tw


def raised(kind: type[tw.Error], call: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    """The message of the error that the call ends with, which must be of exactly this kind."""
    try:
        call(*arguments, **named)
    except tw.Error as error:
        assert type(error) is kind, f"{type(error).__name__}: {error}"
        return str(error)
    raise AssertionError(f"no {kind.__name__} was raised")


def works(be: tw.Backend, n: int = 1000) -> bool:
    """Whether an upload, a launch and a download do what they should."""
    x = np.arange(n, dtype=np.float32)
    return bool((be.add(x, 1).numpy() == x + 1).all())


def resident() -> int:
    """The memory that this process has, in bytes."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")


class FaultyDriver:
    """The switches of faulty_driver.c, where the process runs on it."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(os.environ["FAULTY_DRIVER"])

    def set(self, switch: str, value: bool = True) -> None:
        ctypes.c_int.in_dll(self._library, switch).value = value

    def count(self, counter: str) -> int:
        return ctypes.c_int.in_dll(self._library, counter).value
