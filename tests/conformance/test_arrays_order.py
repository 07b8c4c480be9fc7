"""order= takes elements as NumPy takes them, of any layout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument


def layouts(flat: Any) -> Iterator[Any]:
    whole = flat.reshape(2, 3, 4)
    yield whole
    yield whole.T
    yield whole.transpose(1, 2, 0)
    yield whole[:, ::-1, :].transpose(2, 0, 1)
    yield whole[:, ::2]
    yield whole[1].T
    yield whole[0, 0]
    yield whole[:, :0]


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
def test_orders(be: Backend, order: Any) -> None:
    host = np.arange(24, dtype=np.float32)
    for there, here in zip(layouts(tw.asarray(host, device=be)), layouts(host), strict=True):
        np.testing.assert_array_equal(there.ravel(order).numpy(), here.ravel(order))
        np.testing.assert_array_equal(there.flatten(order).numpy(), here.flatten(order))
        np.testing.assert_array_equal(np.ravel(there, order).numpy(), np.ravel(here, order))
        np.testing.assert_array_equal(there.copy(order).numpy(), here)
        if order == "K":
            with pytest.raises(InvalidArgument, match="reshape: order is 'K'"):
                there.reshape(-1, order=order)
            continue
        assert there.tobytes(order) == here.tobytes(order)
        flat = np.reshape(there, -1, order=order)
        np.testing.assert_array_equal(flat.numpy(), np.reshape(here, -1, order=order))
        copied = there.copy(order).ravel("K")
        np.testing.assert_array_equal(copied.numpy(), here.copy(order).ravel("K"))


def test_wrong_orders(be: Backend) -> None:
    x = tw.ones((2, 2), device=be)
    for call in (x.ravel, x.flatten, x.copy, x.tobytes):
        with pytest.raises(InvalidArgument, match="order is 'Z'"):
            call("Z")
