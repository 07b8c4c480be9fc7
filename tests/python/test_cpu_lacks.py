"""What the CPU backend does not have, it says."""

import pytest
import tilewright


def test_kernels_of_ones_own(be: tilewright.Backend) -> None:
    with pytest.raises(tilewright.Unsupported) as raised:
        be.kernel("@compute @workgroup_size(1) fn main() {}")
    assert str(raised.value) == (
        "create_kernel: the cpu backend takes no kernels of one's own; use a GPU backend"
    )


def test_profiles(be: tilewright.Backend) -> None:
    for _ in range(2):
        with pytest.raises(tilewright.Unsupported) as raised, be.profile():
            pytest.fail("a profile was begun")
        assert str(raised.value) == (
            "begin_profile: the cpu backend launches no kernels that a device could time "
            "(timestamps); use a GPU backend"
        )
    with pytest.raises(tilewright.InvalidArgument, match="no profile is being taken"):
        be.end_profile()
