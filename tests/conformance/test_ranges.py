"""arange and linspace: NumPy's numbers to the last bit, many of them made on the device."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend
from tilewright.namespace import ranges
from tilewright.operands import DTYPES, stored

NUMPYS = [dtype for dtype in DTYPES if isinstance(dtype, np.dtype)]

LONG = ranges.SIDE**2 + 3 * ranges.SIDE + 5

LONG_FLOATS = np.arange(3, LONG + 3).astype(np.float32)

BOUNDS = [
    (0,), (1,), (100,), (5, 1, -2), (-3, 4, 1), (0, 1, 0.1), (0.1, 5, 0.37), (5, -5, -0.3),
    (2.5, 3), (0.0, 100, 1 / 3), (0, 9000), (0, 900, 0.1), (1e16, 1e16 + 20, 3.0),
    (3, 3), (3, 1), (0.1, 1e9, 1e8), (-(2**40), 2**40, 2**37), (2**63 - 5, 2**63 - 1),
    (-(2**63), 2**63 - 1, 2**61),
]  # fmt: skip
SPANS = [(0, 1, 7), (2, 3, 1), (-1, 5, 100), (0, 1, 5000), (0.1, 99.7, 10001), (3, 3, 4), (1, 0, 3),
         (0, 10, 11), (-1e300, 1e300, 9), (0, 1, 0), (0, 1, 2)]  # fmt: skip


def holds(dtype: np.dtype, values: np.ndarray) -> bool:
    if dtype.kind not in "iu" or not values.size:
        return True
    limits = np.iinfo(dtype)
    return limits.min <= int(values.min()) and int(values.max()) <= limits.max


def check(found: tw.Array, expected: np.ndarray) -> None:
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert found.numpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", NUMPYS, ids=str)
def test_bits_are_numpys(be: Backend, dtype: np.dtype) -> None:
    if dtype not in stored(be):
        with pytest.raises(tw.Unsupported, match="arange"):
            tw.arange(3, dtype=dtype, device=be)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for bounds in BOUNDS:
            values = np.arange(*bounds)
            if holds(dtype, values):
                check(tw.arange(*bounds, dtype=dtype, device=be), values.astype(dtype))
            else:
                with pytest.raises(tw.InvalidArgument, match=f"^arange: .* {dtype} does not hold"):
                    tw.arange(*bounds, dtype=dtype, device=be)
        for span in SPANS:
            for endpoint in (True, False):
                values = np.linspace(*span, endpoint=endpoint)
                if holds(dtype, np.array(span[:2])):
                    found = tw.linspace(*span, dtype=dtype, endpoint=endpoint, device=be)
                    check(found, values.astype(dtype))
                elif span[2]:
                    with pytest.raises(tw.InvalidArgument, match=f"^linspace: .* {dtype} does not"):
                        tw.linspace(*span, dtype=dtype, endpoint=endpoint, device=be)


def test_few_numbers(be: Backend) -> None:
    assert tw.arange(5, device=be).tolist() == [0, 1, 2, 3, 4]
    assert tw.arange(5, 0, -2, device=be).tolist() == [5, 3, 1]
    assert tw.arange(5, 0, device=be).shape == tw.arange(0.5, -1.0, device=be).shape == (0,)
    assert tw.arange(2.5, device=be).dtype == tw.float32
    assert tw.arange(0.0, 4.0, dtype="int32", device=be).tolist() == [0, 1, 2, 3]
    given = tw.arange(-1, 1, 0.1, device=be)
    np.testing.assert_array_equal(given.numpy(), np.arange(-1, 1, 0.1).astype(np.float32))


def test_in_a_recording(be: Backend) -> None:
    tw.fft.forget_plans()
    with be.record() as recording:
        made = tw.arange(5, device=be)
    for _ in range(2):
        recording.replay()
        assert made.tolist() == [0, 1, 2, 3, 4]
        made[...] = 7


def test_many(be: Backend) -> None:
    check(tw.arange(LONG, dtype="int32", device=be), np.arange(LONG, dtype=np.int32))
    check(tw.arange(3, LONG + 3, dtype="float32", device=be), LONG_FLOATS)
    check(tw.linspace(-1, 1, LONG, device=be), np.linspace(-1, 1, LONG).astype(np.float32))


def test_complex_ends(be: Backend) -> None:
    check(tw.linspace(0, 1 + 2j, 9, device=be), np.linspace(0, 1 + 2j, 9).astype(np.complex64))
    assert tw.linspace(0, 2j, 3, dtype="bool", device=be).tolist() == [False, True, True]


def test_without_wide_numbers(be: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device without numbers of 64 bits has the same float32."""
    stored = ranges.stored
    wide = {np.dtype(name) for name in ("float64", "int64", "uint64")}
    monkeypatch.setattr(ranges, "stored", lambda backend: stored(backend) - wide)
    for bounds in BOUNDS:
        check(tw.arange(*bounds, dtype="float32", device=be), np.arange(*bounds).astype("f4"))
    for span in (*SPANS[:8], (0.1, 99.7, 1_000_001)):
        check(tw.linspace(*span, device=be), np.linspace(*span).astype(np.float32))
    with pytest.raises(tw.Unsupported, match=r"^linspace: .* no float64.* beyond float32"):
        tw.linspace(-1e300, 1e300, 9, device=be)
    with pytest.raises(tw.Unsupported, match=r"^linspace: .* no float64.*astype\('int32'\)"):
        tw.linspace(0, 1, 4, dtype="int32", device=be)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda be: tw.linspace(0, 1, 10**12, device=be), "bytes is 4000000000000"),
        (lambda be: tw.arange(10**12, dtype="int8", device=be), "bytes|int8 does not hold"),
        (lambda be: tw.arange(10**12, dtype="float32", device=be), "bytes is 4000000000000"),
        (lambda be: tw.linspace(0, 1, 10**30, device=be), "^linspace: shape is"),
        (lambda be: tw.arange(10**30, device=be), "^arange: .* does not hold"),
        (
            lambda be: tw.arange(300, dtype="uint8", device=be),
            "^arange: the numbers go from 0 to 2",
        ),
        (lambda be: tw.arange(0, 1e308, 1e-308, device=be), "^arange: start, stop and step are 0"),
        (lambda be: tw.arange(0, float("nan"), device=be), "^arange: .* nan .*finite"),
        (lambda be: tw.linspace(0, 1j, 3, dtype="f4", device=be), "^linspace: .* its real parts"),
    ],
)
def test_what_is_no_range(be: Backend, make, message: str) -> None:
    with pytest.raises(tw.InvalidArgument, match=message):
        make(be)
