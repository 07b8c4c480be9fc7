"""What the processes that the tests start begin with."""

from __future__ import annotations

import ctypes
import os
import random
import signal
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


def any_op(be: tw.Backend) -> None:
    """One of several ops, each of which compiles kernels at its first use."""
    x, row = np.ones((20, 20), np.float32), np.ones(20, np.float32)
    ops: list[Callable[[], tw.Array]] = [
        lambda: be.exp(x),
        lambda: be.add(x, 1),
        lambda: be.sum(x, 0),
        lambda: be.max(x, 1),
        lambda: be.softmax(x),
        lambda: be.matmul(x, x),
        lambda: be.matmul(x, row),
    ]
    random.choice(ops)().numpy()


def in_child(body: Callable[[], Any]) -> None:
    """Runs this in a forked child, which must end well and in time."""
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            body()
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def resident() -> int:
    """The memory that this process has, in bytes."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")


class FaultyDriver:
    """The switches of faulty_driver.c, where the process runs on it."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(os.environ["FAULTY_DRIVER"])

    def set(self, switch: str, value: int = True) -> None:
        ctypes.c_int.in_dll(self._library, switch).value = value

    def count(self, counter: str) -> int:
        return ctypes.c_int.in_dll(self._library, counter).value


class CpuDriver:
    """The Level Zero driver on a CPU that the process runs on."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(os.environ["ZE_ENABLE_ALT_DRIVERS"])
        self._library.zeCpuCallCount.restype = ctypes.c_uint64

    def calls(self) -> int:
        """Calls that have reached the driver."""
        return int(self._library.zeCpuCallCount())

    def fail(self, what: str, result: int) -> None:
        """Has the call of this number from now, or of this name, give the result, once."""
        self._library.zeCpuFailCall(what.encode(), result)

    def failed(self) -> str:
        """The call that was made to fail; empty if none was."""
        return self._text(self._library.zeCpuFailedCall)

    def alive(self) -> str:
        """The objects that were made and not let go of, with their numbers."""
        return self._text(self._library.zeCpuLiveObjects)

    def lose(self) -> None:
        """All devices are lost from now on."""
        self._library.zeCpuLoseDevices()

    @staticmethod
    def _text(call: Callable[..., Any]) -> str:
        room = ctypes.create_string_buffer(4096)
        call(room, ctypes.c_size_t(len(room)))
        return room.value.decode()
