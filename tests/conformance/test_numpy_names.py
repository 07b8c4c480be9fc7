"""NumPy's names that are no functions of Arrays: grids, joined parts, files, what is missing."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from numpy.random import Generator
from tilewright import Backend, InvalidArgument

from .arrays import on, values


def agree(got: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            agree(one, other)
        return
    assert isinstance(got, tw.Array) and got.shape == expected.shape
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6)


def test_grids(be: Backend) -> None:
    with tw.device(be):
        agree(tw.mgrid[0:3, 1:7:2], np.mgrid[0:3, 1:7:2])
        agree(tw.mgrid[0:1:5j, 2:4], np.mgrid[0:1:5j, 2:4])
        agree(tw.mgrid[:4], np.mgrid[:4])
        agree(tw.mgrid[0:2, 0:3, 0:0], np.mgrid[0:2, 0:3, 0:0])
        agree(tw.ogrid[0:3, 1:7:2], np.ogrid[0:3, 1:7:2])
        agree(tw.ogrid[-1:1:4j], np.ogrid[-1:1:4j])
        assert tw.mgrid[0:3].backend is be
        with pytest.raises(InvalidArgument, match=r"mgrid: key is 3.*write tw\.mgrid\[0:n\]"):
            tw.mgrid[3]
        with pytest.raises(InvalidArgument, match=r"ogrid: a slice is .*with a stop"):
            tw.ogrid[2:, 0:1]


def test_joined(be: Backend, rng: Generator) -> None:
    v, w = values(rng, (3,), "float32"), values(rng, (3,), "float32")
    m = values(rng, (2, 3), "float32")
    a, b, c = on(be, v), on(be, w), on(be, m)
    with tw.device(be):
        agree(tw.r_[1:5, 9, [7, 8]], np.r_[1:5, 9, [7, 8]])
        agree(tw.r_[0:1:3j, 2.5], np.r_[0:1:3j, 2.5])
    agree(tw.r_[a, 0, b], np.r_[v, 0, w])
    agree(tw.r_["-1", c, c], np.r_["-1", m, m])
    agree(tw.r_["0,2", a, b], np.r_["0,2", v, w])
    agree(tw.r_["1,2,0", a, b], np.r_["1,2,0", v, w])
    agree(tw.c_[a, b], np.c_[v, w])
    agree(tw.c_[c, c], np.c_[m, m])
    agree(tw.c_[a, v, 0:3], np.c_[v, v, 0:3])
    assert tw.r_[a, v].backend is be and tw.r_[a, 0].dtype == np.float32
    assert tw.s_[1:, ::2] == np.s_[1:, ::2] and tw.index_exp[2] == (2,)
    with pytest.raises(InvalidArgument, match=r"r_: key\[0\] is 'r'.*no matrices"):
        tw.r_["r", a, b]


def test_indices_and_elements(be: Backend, rng: Generator) -> None:
    host = values(rng, (2, 3), "float32")
    x = on(be, host)
    found = list(tw.ndenumerate(x))
    assert [at for at, _ in found] == list(tw.ndindex(2, 3))
    assert [float(one) for _, one in found] == host.reshape(-1).tolist()
    with pytest.raises(InvalidArgument, match="ndenumerate: arr is"):
        tw.ndenumerate(host)  # type: ignore[arg-type]


def test_sources(be: Backend, tmp_path: Path) -> None:
    host = np.float32([1.5, -2, 3, 4])
    for got, expected in (
        (tw.frombuffer(host.tobytes(), "float32", 2, 4, device=be), host[1:3]),
        (tw.frombuffer(buffer=host.tobytes(), dtype="int32", device=be), host.view("int32")),
        (tw.fromiter((i * i for i in range(5)), "int32", 4, device=be), np.int32([0, 1, 4, 9])),
    ):
        agree(got, expected)
        assert got.dtype == expected.dtype and got.backend is be
    x = on(be, host)
    x.tofile(tmp_path / "raw")
    agree(tw.fromfile(tmp_path / "raw", "float32", 3, "", 4, device=be), host[1:])
    x.tofile(str(tmp_path / "text"), " ", "%.2f")
    agree(tw.fromfile(str(tmp_path / "text"), "float32", sep=" ", device=be), host)
    assert bytes(x) == host.tobytes() == x.tobytes()
    file = io.StringIO()
    tw.savetxt(file, x.reshape(2, 2), delimiter=",", fmt="%.3f")
    assert file.getvalue() == "1.500,-2.000\n3.000,4.000\n"
    file.seek(0)
    read = tw.loadtxt(file, delimiter=",", device=be)
    agree(read, host.reshape(2, 2))
    assert read.dtype == np.float32
    missing = io.StringIO("1,,3\n4,5,6")
    agree(tw.genfromtxt(missing, delimiter=",", device=be), np.float32([[1, np.nan, 3], [4, 5, 6]]))
    with pytest.raises(InvalidArgument, match="frombuffer: buffer size must be a multiple"):
        tw.frombuffer(b"abc", "float32", device=be)
    with pytest.raises(InvalidArgument, match="fromiter: like is"):
        tw.fromiter([1], "int32", like=x)


def test_of_numpys_own(be: Backend) -> None:
    x = on(be, np.ones(2, np.float32))
    assert tw.isscalar(3) and not tw.isscalar(x) and tw.iterable(x) and not tw.iterable(3)
    assert tw.issubdtype(x.dtype, np.floating) and not tw.issubdtype(x.dtype, np.integer)
    assert tw.issubdtype(tw.bfloat16, np.floating) and not tw.issubdtype(tw.bfloat16, np.integer)
    assert not tw.issubdtype(tw.float32, tw.bfloat16) and tw.issubdtype("bfloat16", tw.bfloat16)
    with tw.errstate(all="raise"):
        assert (x / 0).tolist() == [np.inf, np.inf]


def test_flags(be: Backend) -> None:
    x = tw.zeros((3, 4), device=be)
    assert x.flags.c_contiguous and not x.flags.f_contiguous and x.flags.contiguous
    assert x.T.flags.f_contiguous and not x.T.flags["C_CONTIGUOUS"]
    assert x.flags.owndata and not x[1:].flags.owndata
    assert x.flags.writeable and x.flags["WRITEABLE"] and "C_CONTIGUOUS : True" in repr(x.flags)
    assert x[0].flags.c_contiguous and x[0].flags.f_contiguous and not x[:, :2].flags.c_contiguous


MISSING = {
    "vectorize": "write the function with those of tw",
    "asfortranarray": r"x\.T is a view of the other order",
    "polydiv": r"write np\.polydiv\(x\.numpy\(\), \.\.\.\)",
    "poly1d": r"tw\.polyval",
    "matrix": r"@, \.T and tw\.linalg",
    "isnat": r"write np\.isnat\(x\.numpy\(\)",
    "busday_count": r"np\.busday_count of the host's arrays",
    "nothing_like_it": "has no attribute 'nothing_like_it'$",
}


@pytest.mark.parametrize("name", MISSING)
def test_what_is_missing_says_what_to_write(name: str) -> None:
    assert not hasattr(tw, name) and name not in dir(tw)
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'") as error:
        getattr(tw, name)
    assert error.match(MISSING[name])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("seed", r"rng = tw\.random\.default_rng\(seed\)"),
        ("randn", r"standard_normal\(shape\)"),
        ("normal", r"default_rng\(seed\)\.normal\(\.\.\.\)"),
        ("nothing", "has no attribute 'nothing'$"),
    ],
)
def test_what_random_lacks(name: str, says: str) -> None:
    assert not hasattr(tw.random, name)
    with pytest.raises(AttributeError, match=says):
        getattr(tw.random, name)


def test_put_looks_at_its_values(be: Backend) -> None:
    x = tw.zeros(3, dtype="uint8", device=be)
    with pytest.raises(InvalidArgument, match="put: values has numbers that uint8 does not hold"):
        tw.put(x, [0], [300])
    with pytest.raises(InvalidArgument, match="put: values has numbers"):
        x.put(0, -1)
    np.put(x, [2], [255])  # type: ignore[arg-type]
    assert x.tolist() == [0, 0, 255]
