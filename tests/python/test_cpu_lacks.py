"""What the CPU backend does not have, it says."""

import pytest
import tilewright


def test_kernels_of_ones_own(be: tilewright.Backend) -> None:
    with pytest.raises(tilewright.Unsupported) as raised:
        be.kernel("@compute @workgroup_size(1) fn main() {}")
    assert str(raised.value) == (
        "create_kernel: the cpu backend takes no kernels of one's own; use a GPU backend"
    )
