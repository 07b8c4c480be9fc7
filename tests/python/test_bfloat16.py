"""tw.bfloat16 as a dtype, and the ways of its elements to and from the host."""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tilewright as tw

from .test_dlpack import DLManagedTensor, OnlyDLPack

ML = np.dtype(ml_dtypes.bfloat16)
NUMBERS = [1.5, -2.0, 0.0, 3.389531389251535e38, 1e-40]

UNSIGNED, BRAIN = 1, 4  # DLPack's codes of dtypes


@pytest.fixture
def x(be: tw.Backend) -> tw.Array:
    return tw.asarray(NUMBERS, dtype="bfloat16", device=be)


def test_it_is_asked_what_dtypes_are_asked(x: tw.Array) -> None:
    dtype = x.dtype
    assert dtype is tw.bfloat16
    assert (dtype.name, str(dtype), dtype.kind, dtype.itemsize) == ("bfloat16", "bfloat16", "f", 2)
    assert repr(dtype) == "dtype(bfloat16)" and dtype.newbyteorder("=") is dtype
    assert (x.itemsize, x.nbytes, x.stored_as) == (2, 10, "bfloat16")
    assert hash(dtype) == hash("bfloat16") and {dtype: 1}["bfloat16"] == 1
    for one in (copy.copy(dtype), copy.deepcopy(dtype), pickle.loads(pickle.dumps(dtype))):
        assert one is dtype


@pytest.mark.parametrize("same", ["bfloat16", ML, ml_dtypes.bfloat16, tw.bfloat16])
def test_what_it_equals(x: tw.Array, same: Any) -> None:
    assert x.dtype == same and same == x.dtype
    assert x.astype(same, copy=False) is x
    assert tw.zeros(2, dtype=same, device=x.backend).dtype is tw.bfloat16
    assert tw.isdtype(same, "real floating") and tw.isdtype(x.dtype, same)
    assert tw.finfo(same).bits == 16


@pytest.mark.parametrize("other", ["float16", np.float32, np.dtype("V2"), int, None, 2, "x"])
def test_what_it_does_not_equal(x: tw.Array, other: Any) -> None:
    assert x.dtype != other and other != x.dtype


def test_limits(x: tw.Array) -> None:
    limits, theirs = tw.finfo(x), ml_dtypes.finfo(ml_dtypes.bfloat16)
    assert limits.eps == float(theirs.eps) and limits.max == float(theirs.max)
    assert limits.min == float(theirs.min) and limits.dtype is tw.bfloat16
    assert limits.smallest_normal == float(theirs.smallest_normal)
    with pytest.raises(tw.InvalidArgument, match="iinfo: type is bfloat16"):
        tw.iinfo(x)


def test_the_trait_knows_it_by_its_member(be: tw.Backend) -> None:
    assert tw.zeros(2, dtype=tw.DType.bfloat16, device=be).dtype is tw.bfloat16
    assert be.empty(3, "bfloat16").dtype is be.array([1], tw.bfloat16).dtype is tw.bfloat16
    assert be.cast(be.array([1.00390625]), "bfloat16").tolist() == [1]


def test_numpy_does_not_know_it(x: tw.Array) -> None:
    for call in (lambda: np.dtype(x.dtype), lambda: np.empty(2, x.dtype)):
        with pytest.raises(TypeError):
            call()


def test_without_ml_dtypes_the_cast_is_named(x: tw.Array, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    for call in (np.asarray, tw.Array.numpy):
        with pytest.raises(TypeError, match=r"no bfloat16; write .astype\(\"float32\"\) first"):
            call(x)
    with pytest.raises(TypeError, match="numpy_async: NumPy has no bfloat16"):
        x.numpy_async().close()
    assert x.tolist() == tw.asarray(NUMBERS, dtype="bfloat16", device=x.backend).tolist()
    wide = np.asarray(x, np.float64)
    assert wide.dtype == np.float64 and wide.tolist() == x.tolist()
    assert np.asarray(x.astype("float32")).tolist() == x.tolist()
    assert float(x[0]) == 1.5 and x[1].item() == -2 and x.item(2) == 0
    assert f"{x[0]:.2f}" == "1.50" and bool(x[0]) and 1.5 in x
    assert repr(x[:2]) == "Array([ 1.5, -2. ], shape=(2,), dtype=bfloat16, backend='cpu')"
    assert repr(tw.zeros(5000, dtype="bfloat16", device=x.backend)).startswith(
        "Array([0., 0., 0., .."
    )
    assert x.tobytes() == x.view("uint16").tobytes()
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()


def test_elements_of_ml_dtypes(be: tw.Backend, x: tw.Array) -> None:
    host = np.array([[1.5, np.nan, 3], [-0.0, np.inf, 1e-40]], ml_dtypes.bfloat16)
    for one in (host, host.T, host[::-1, ::2], host[:0], host[0, 0]):
        for made in (tw.asarray(one, device=be), be.array(one)):
            assert made.dtype is tw.bfloat16 and made.shape == one.shape
            back = made.numpy()
            assert back.dtype == ML and back.tobytes() == one.tobytes()
            assert np.asarray(made).tobytes() == one.tobytes()
    y = tw.asarray(host, device=be)
    out = np.empty((2, 3), ML)
    assert y.numpy(out) is out and out.tobytes() == host.tobytes()
    with pytest.raises(tw.InvalidArgument, match="out is float32"):
        y.numpy(np.empty((2, 3), np.float32))
    assert (x + ml_dtypes.bfloat16(2)).dtype is tw.bfloat16
    assert (y + host).tolist()[0][::2] == [3, 6] and (y + host).dtype is tw.bfloat16
    assert (y + np.float32([[1]])).dtype == np.float32
    assert tw.matmul(y, host.T).shape == (2, 2) == tw.matmul(host, y.T).shape
    y[0] = host[1]
    assert y[0].numpy().tobytes() == host[1].tobytes()
    assert tw.asarray(host, dtype="float32", device=be).numpy().tobytes() == (
        host.astype(np.float32).tobytes()
    )
    everything = np.arange(2**16, dtype=np.uint16).view(ML)
    held = tw.asarray(everything, device=be)
    assert held.astype("float32").numpy().tobytes() == everything.astype(np.float32).tobytes()


def test_copies_between_backends(x: tw.Array) -> None:
    with tw.init_backend("cpu") as there:
        for made in (there.array(x), tw.asarray(x, device=there), x.to_device(there)):
            assert made.dtype is tw.bfloat16 and made.backend is there
            assert made.tolist() == x.tolist()
        assert there.array(x, "float32").tolist() == x.tolist()
        del made
        gc.collect()


def test_hosts_round_as_ml_dtypes_does(be: tw.Backend) -> None:
    rng = np.random.default_rng(3)
    wide = rng.integers(0, 2**32, 4000, dtype=np.uint32).view(np.float32)
    wide = wide[~np.isnan(wide)]
    got = tw.asarray(wide, dtype="bfloat16", device=be).numpy()
    assert got.tobytes() == wide.astype(ml_dtypes.bfloat16).tobytes()


def tensor_of(capsule: Any) -> DLManagedTensor:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return DLManagedTensor.from_address(pointer(capsule, b"dltensor"))


class Torch(OnlyDLPack):
    """A tensor of bfloat16 as torch gives it: bits of uint16, labelled."""

    code = BRAIN

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.host.__dlpack__()
        tensor_of(capsule).tensor.code = self.code
        return capsule


@pytest.mark.parametrize("copy", [None, True])
def test_capsules_say_bfloat16(x: tw.Array, copy: bool | None) -> None:
    y = x[::-2]
    capsule = y.__dlpack__(copy=copy)
    tensor = tensor_of(capsule).tensor
    assert (tensor.code, tensor.bits, tensor.lanes, tensor.ndim) == (BRAIN, 16, 1, 1)
    assert tensor.shape[0] == 3 and tensor.device_type == 1
    count = x.backend.memory_stats().allocations
    del capsule, tensor
    gc.collect()
    assert x.backend.memory_stats().allocations <= count
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        assert '"dltensor_versioned"' in repr(x.__dlpack__(max_version=(1, 0)))
    shared = x.__dlpack__()
    x[0] = 7.0
    first = ctypes.c_uint16.from_address(
        tensor_of(shared).tensor.data + tensor_of(shared).tensor.byte_offset
    )
    assert first.value == np.float32(7).view(np.uint32) >> 16


def test_capsules_of_others(be: tw.Backend, x: tw.Array) -> None:
    bits = np.uint16([[0x3FC0, 0x7FC0, 0], [0x8000, 0x0001, 0xFF80]])
    for host in (bits, bits.T, bits[:, ::-2].copy(), bits[:0]):
        for made in (tw.from_dlpack(Torch(host), device=be), be.from_dlpack(Torch(host)),
                     tw.asarray(Torch(host), device=be), be.array(Torch(host))):  # fmt: skip
            assert made.dtype is tw.bfloat16
            assert made.view("uint16").numpy().tolist() == host.tolist()
    assert (x[:3] + Torch(bits[0])).dtype is tw.bfloat16
    again = tw.from_dlpack(OnlyDLPack(x), device=be)  # type: ignore[arg-type]
    assert again.tolist() == x.tolist()

    class Complex(Torch):
        code = 5

    with pytest.raises(tw.InvalidArgument, match="from_dlpack: x cannot be read"):
        tw.from_dlpack(Complex(bits), device=be)


def test_only_fitting_capsules_are_labelled(be: tw.Backend) -> None:
    core = tw._core
    for host in (np.zeros(2, np.int16), np.zeros(2, np.uint32)):
        assert not core._dlpack_as_bfloat16(host.__dlpack__())
    taken = np.zeros(2, np.uint16).__dlpack__()
    np.from_dlpack(Taking(taken))  # type: ignore[arg-type]
    for nothing in (taken, None, 3, "dltensor"):
        assert not core._dlpack_as_bfloat16(nothing)
        assert not core._dlpack_as_uint16(nothing)


class Taking:
    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def test_frames_of_dask(x: tw.Array) -> None:
    from tilewright import travel

    header, frames = travel.to_frames(x)
    assert travel.from_frames(header, frames).dtype is tw.bfloat16
    assert travel.from_frames(header, frames).tolist() == x.tolist()
    assert travel.token(x) != travel.token(x.view("uint16"))


def test_the_standards_dtypes_leave_it_out(be: tw.Backend) -> None:
    info = tw.__array_namespace_info__()
    assert "bfloat16" not in info.dtypes(device=be)
    assert "bfloat16" not in info.dtypes(device=be, kind="real floating")
