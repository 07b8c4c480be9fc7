"""What the tests of deferred work share."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import tilewright as tw
from tilewright import _core

SHAPE = (61, 83)
RNG = np.random.default_rng(20261123)


def whole(dtype=np.float32, low=-5, high=6):
    """Small whole numbers: floats compute them exactly in any order."""
    return RNG.integers(low, high, SHAPE).astype(dtype)


def waits(x):
    return _core._is_deferred(x)


@pytest.fixture(autouse=True)
def asked_for(request):
    """A CPU defers so few elements only where that is asked for."""
    if request.getfixturevalue("be").name != "cpu":
        yield
        return
    with tw.deferred(True):
        yield


def in_another_thread(work):
    """Where deferral is not asked for."""
    failure = []

    def run():
        try:
            work()
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failure:
        raise failure.pop()
