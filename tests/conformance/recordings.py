"""What the tests of recordings share."""

from __future__ import annotations

from typing import Any

import numpy as np
import tilewright as tw
from tilewright import Backend

from .workspace import download


def another(be: Backend, **config: Any) -> Backend:
    return type(be)(adapter_index=be.config["adapter_index"], **config)


def floats(be: Backend, values: Any) -> int:
    host = np.asarray(values, np.float32)
    buffer = be.alloc(host.nbytes)
    be.copy_htod(buffer, host)
    return buffer


def read(be: Backend, buffer: int) -> list[float]:
    return download(be, buffer).view(np.float32).tolist()


def relu_recorded(be: Backend, n: int = 4) -> tuple[tw.Recording, int, int]:
    x, y = floats(be, np.arange(n) - 1), floats(be, np.zeros(n))
    with be.record() as r:
        be.unary("relu", x, y, n)
    return r, x, y
