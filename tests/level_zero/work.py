"""What the processes of these tests do on a device."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import tilewright as tw

DEVICE = "level-zero:0"


def kernel(be: tw.Backend, name: str) -> Any:
    return be.kernel(Path(os.environ["MODULE"]).read_bytes(), entry=name, trusted=True)


def computes(be: tw.Backend, n: int = 1000) -> bool:
    """Whether uploads, launches, copies and downloads do what they should."""
    x = np.arange(n, dtype=np.float32)
    a, b, c = be.array(x), be.array(x), be.alloc(4 * n)
    saxpy = kernel(be, "saxpy")
    for _ in range(3):
        saxpy(a, b, grid=(n + 63) // 64, params=(n, 2.0))
    with be.record() as recording:
        saxpy(a, b, grid=(n + 63) // 64, params=(n, 1.0))
        be.copy_dtod(c, b.handle, 4 * n)
    for _ in range(2):
        recording.replay()
    received = np.empty_like(x)
    be.copy_dtoh(received, c)
    recording.drop()
    be.free(c)
    return bool((received == 9 * x).all())


def all_of_it(n: int = 1000) -> bool:
    """A backend from its opening to its end, with a profile and a large transfer."""
    with tw.init_backend(DEVICE) as be:
        be.begin_profile()
        right = computes(be, n)
        launches = be.end_profile()
        sent = np.arange(3 << 20, dtype=np.uint8)
        received = np.empty_like(sent)
        buffer = be.alloc(sent.nbytes)
        be.copy_htod(buffer, sent)
        be.copy_dtoh(received, buffer)
        be.synchronize()
        return right and len(launches) == 5 and bool((sent == received).all())
