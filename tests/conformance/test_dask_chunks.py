"""Arrays as the chunks of Dask's arrays: what Dask computes by them is what it computes of NumPy's,
and stays on the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import tilewright as tw
from dask.base import tokenize
from dask.sizeof import sizeof
from distributed.protocol import deserialize, serialize
from tilewright import Backend
from tilewright.dask.creation import Creation, to_array
from tilewright.namespace import devices

from .arrays import DTYPES, on, same, values

CASES: dict[str, Callable[[Any], Any]] = {
    "elementwise": lambda x: np.exp(x) * x - abs(x) / 3,
    "where": lambda x: da.where(x > 0, x, -x),
    "clip": lambda x: da.clip(x, -1, 1).astype("float16"),
    "sum": lambda x: x.sum(),
    "sum of rows": lambda x: x.sum(axis=1, keepdims=True),
    "prod": lambda x: (x / 4).prod(axis=0),
    "max": lambda x: x.max(axis=0),
    "min": lambda x: x.min(),
    "any": lambda x: (x > 8).any(axis=1),
    "all": lambda x: (x > -8).all(axis=0),
    "mean": lambda x: x.mean(axis=0),
    "mean of all": lambda x: x - x.mean(),
    "nanmean": lambda x: da.nanmean(da.where(x > 5, np.nan, x), axis=0),
    "argmax": lambda x: x.argmax(axis=0).astype("int32"),
    "argmin of all": lambda x: da.argmin(x).astype("int32"),
    "cumsum": lambda x: da.cumsum(x, axis=0),
    "topk": lambda x: da.topk(x, 3, axis=1),
    "norm": lambda x: da.linalg.norm(x),
    "histogram": lambda x: da.histogram(x, bins=5, range=(-9, 9))[0].astype("int32"),
    "percentile": lambda x: da.percentile(x[0], [5, 50, 80]),
    "matmul": lambda x: x @ x.T,
    "dot of a vector": lambda x: da.dot(x, x[0]),
    "tensordot": lambda x: da.tensordot(x, x.T, axes=1),
    "tensordot of all": lambda x: da.tensordot(x, x, axes=((0, 1), (0, 1))),
    "einsum": lambda x: da.einsum("ij,kj->ik", x, x),
    "outer": lambda x: da.outer(x[0], x[:, 1]),
    "slices": lambda x: x[3:17:3, ::-2],
    "indices": lambda x: x[[13, 0, 7]][:, np.array([5, 20, 2])],
    "mask": lambda x: x[x > 1],
    "assignment": lambda x: _assigned(x),
    "rechunk": lambda x: x.rechunk((13, 9)),
    "reshape": lambda x: x.T.reshape(-1),
    "concatenate": lambda x: da.concatenate([x, 2 * x], axis=1),
    "stack": lambda x: da.stack([x, x + 1], axis=1),
    "block": lambda x: da.block([[x, x], [x, x]]),
    "pad": lambda x: da.pad(x, 2, mode="constant", constant_values=1),
    "roll": lambda x: da.roll(x, 3, axis=0),
    "map_blocks": lambda x: x.map_blocks(lambda chunk: chunk * 2 + 1),
    "map_overlap": lambda x: x.map_overlap(lambda b: b * 2, depth=1, boundary="reflect"),
    "digitize": lambda x: da.digitize(x, np.float32([-4, 0, 5])).astype("int32"),
    "bincount": lambda x: da.bincount(abs(x[0]).astype("int32"), minlength=12).astype("int32"),
    "fft": lambda x: _parts(da.fft.fft(x.rechunk({1: -1}))),
    "fft of columns": lambda x: _parts(da.fft.fft(x.rechunk({0: -1}), axis=0)),
    "rfft": lambda x: _parts(da.fft.rfft(x.rechunk({1: -1}))),
    "fftn": lambda x: _parts(da.fft.fftn(x.rechunk(-1))),
    "rfft there and back": lambda x: da.fft.irfft(da.fft.rfft(x.rechunk({1: -1})), n=26),
}
# Merged on the host by Dask.
ON_HOST = {"percentile"}


def _parts(z: Any) -> Any:
    return da.concatenate([da.real(z), da.imag(z)])


def _assigned(x: Any) -> Any:
    x = x.copy()
    x[2:9, 3] = 0
    return x


@pytest.fixture
def here(be: Backend) -> Iterator[Backend]:
    """The device under test is the default one, and Dask works in this thread."""
    with tw.device(be), dask.config.set(scheduler="synchronous"):
        yield be


@pytest.mark.sampled(16)
@pytest.mark.parametrize("case", CASES)
def test_as_numpys_chunks(here: Backend, rng: np.random.Generator, case: str) -> None:
    computed_as_by_numpy(here, rng, case, lambda y: y.compute())


def computed_as_by_numpy(
    here: Backend, rng: np.random.Generator, case: str, compute: Callable[[Any], Any]
) -> None:
    host = values(rng, (20, 26), "float32")
    exact = CASES[case](da.from_array(host.astype("float64"), chunks=(8, 11))).compute()
    got = compute(CASES[case](da.from_array(on(here, host), chunks=(8, 11), asarray=False)))
    if case in ON_HOST:
        assert isinstance(got, np.ndarray)
    else:
        assert isinstance(got, tw.Array) and got.backend is here
    size = max(1, abs(exact.astype("float64")).max())
    bound = 1e-3 if got.dtype == np.float16 else 2e-6
    assert got.shape == exact.shape
    np.testing.assert_allclose(np.asarray(got), exact, rtol=0, atol=bound * size)


def test_backend(here: Backend, rng: np.random.Generator) -> None:
    """What `array.backend` names, and to_backend()."""
    host = values(rng, (9, 5), "float32")
    x = da.from_array(host, chunks=4).to_backend("tilewright")
    assert isinstance(x._meta, tw.Array)
    same(x.compute(), host)
    same(to_array(x.blocks[0, 0].compute()), host[:4, :4])
    assert Creation.to_backend(x) is x
    assert isinstance(x.to_backend("numpy").compute(), np.ndarray)
    with dask.config.set({"array.backend": "tilewright"}):
        for made, expected in [
            (da.ones((5, 7), chunks=3), np.ones((5, 7), "float32")),
            (da.zeros(6, chunks=4, dtype="int32"), np.zeros(6, "int32")),
            (da.full((3, 2), 2.5, chunks=2), np.full((3, 2), 2.5, "float32")),
            (da.arange(10, chunks=3, dtype="int32"), np.arange(10, dtype="int32")),
            (da.arange(2.0, 9, 2, chunks=3), np.arange(2, 9, 2, "float32")),
        ]:
            assert isinstance(made._meta, tw.Array) and made.dtype == expected.dtype
            same(made.compute(), expected)
        assert da.empty((4, 0), dtype="uint8").compute().shape == (4, 0)


@pytest.mark.parametrize("dtype", [*DTYPES, "complex64"])
def test_what_is_sent_arrives(here: Backend, rng: np.random.Generator, dtype: str) -> None:
    host = values(rng, (6, 8), "int8" if dtype == "complex64" else dtype).astype(dtype)
    whole = on(here, host)
    for x in (whole, whole[::-2, 1::3].T, whole[:, :0], whole[0, 0]):
        header, frames = serialize(x)
        assert header["serializer"] == "dask"
        again = deserialize(header, [bytes(frame) for frame in frames])
        assert again.backend.device.id == here.device.id
        same(again, x.numpy())


def test_where_it_arrives(here: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    x = tw.ones(5, device=here)
    header, frames = serialize(x)
    header["sub-header"]["process"] = "another one"
    with tw.init_backend("cpu") as other:
        monkeypatch.setattr(devices, "_set", other)
        again = deserialize(header, frames)
        assert again.backend is other
        del again
    monkeypatch.setattr(devices, "_set", None)
    assert deserialize(header, frames).backend.device.id == here.device.id
    header["sub-header"]["device"] = "webgpu:99"
    assert deserialize(header, frames).backend is here


def test_sizes_and_tokens(be: Backend) -> None:
    x = tw.ones((100, 50), device=be)
    assert sizeof(x) == 20_000 and x.__sizeof__() > 20_000
    assert tokenize(x) == tokenize(x.copy()) == tokenize(x.T.copy().T)
    tokens = {tokenize(one) for one in (x, x + 1, x.T, x.astype("int32"), x.numpy())}
    assert len(tokens) == 5
