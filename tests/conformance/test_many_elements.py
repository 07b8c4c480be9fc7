"""Arrays of more elements than 32 bits count."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend

MANY = 2**31 + 77


@pytest.mark.exhaustive
def test_beyond_32_bits(be: Backend) -> None:
    held = be.capabilities().max_buffer_bytes
    if held < MANY:
        with pytest.raises(tw.InvalidArgument, match=f"bytes is {MANY}, .* at most {held}"):
            tw.zeros(MANY, dtype="int8", device=be)
        return
    x = tw.zeros(MANY, dtype="int8", device=be)
    x[7], x[2**31], x[-1] = 1, 3, 5
    if be.name != "cpu":
        # Right, or refused with the number.
        try:
            assert x.sum().item() == 9
        except (tw.Unsupported, tw.InvalidArgument) as error:
            assert "2147483" in str(error)
        return
    assert x.sum().item() == 9 and x.max().item() == 5 and x.argmax().item() == MANY - 1
    assert x[2**31 - 1 :].tolist() == [0, 3, *[0] * 75, 5]
    assert x[:: -(2**30)].tolist() == [5, 0, 0]
    above = x > 2
    assert tw.nonzero(above)[0].tolist() == [2**31, MANY - 1]
    assert x[above].tolist() == [3, 5]
    assert x[[2**31, -1, 7]].tolist() == [3, 5, 1]
    np.testing.assert_array_equal(
        x[2**31 - 5 : 2**31 + 5].numpy(), np.eye(1, 10, 5, np.int8)[0] * 3
    )
