"""DLPack both ways."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import numpy as np
import pytest
import tilewright as tw


def test_memory_is_shared_with_other_libraries(be: tw.Backend) -> None:
    x = be.array(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert x.__dlpack_device__() == (1, 0)
    view = np.from_dlpack(x)
    be.add(x, 1, out=x)
    assert view.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_shared_memory_outlives_the_array_and_the_backend(be: tw.Backend) -> None:
    x = be.array(np.arange(1000, dtype=np.float32))
    view = np.from_dlpack(x)
    del x
    gc.collect()
    assert be.memory_stats().allocations == 0
    be.array(np.zeros(1000, np.float32))
    be.trim()
    be.close()
    assert (view == np.arange(1000)).all()


def test_a_copy_is_not_shared(be: tw.Backend) -> None:
    x = be.array([1.0, 2.0])

    class Copied:
        def __dlpack__(self, **options: Any) -> Any:
            return x.__dlpack__(**{**options, "copy": True})

        def __dlpack_device__(self) -> tuple[int, int]:
            return x.__dlpack_device__()

    copied = np.from_dlpack(Copied())
    be.add(x, 1, out=x)
    assert copied.tolist() == [1, 2]
    with pytest.raises(BufferError, match="host memory only"):
        x.__dlpack__(dl_device=(2, 0))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
@pytest.mark.parametrize("shape", [(), (0, 2), (3, 4)])
def test_arrays_from_dlpack(be: tw.Backend, dtype: str, shape: tuple[int, ...]) -> None:
    host = np.random.default_rng(0).uniform(-9, 9, shape).astype(dtype)
    for x in (be.from_dlpack(host), be.array(OnlyDLPack(host))):
        assert x.dtype == dtype and x.shape == shape
        assert (x.numpy() == host).all()


def test_strided_tensors_are_read_in_order(be: tw.Backend) -> None:
    host = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert (be.from_dlpack(host.T).numpy() == host.T).all()
    assert (be.add(OnlyDLPack(host[:, ::2]), 0).numpy() == host[:, ::2]).all()


def test_what_dlpack_cannot_bring(be: tw.Backend) -> None:
    with pytest.raises(tw.InvalidArgument, match="from_dlpack: x is float64"):
        be.from_dlpack(np.zeros(2))
    with pytest.raises(tw.InvalidArgument, match="expected an object with __dlpack__"):
        be.from_dlpack([1, 2])
    with pytest.raises(tw.InvalidArgument, match="add: a is float64"):
        be.add(OnlyDLPack(np.zeros(2)), 1)

    class Broken:
        def __dlpack__(self, **_: Any) -> Any:
            raise RuntimeError("no tensor here")

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    for read in (be.from_dlpack, be.array):
        with pytest.raises(tw.InvalidArgument, match="no tensor here"):
            read(Broken())  # type: ignore[arg-type]
    with pytest.raises(tw.InvalidArgument):
        be.from_dlpack(CTensor(device=(2, 0)))


def test_a_tensor_made_by_hand_is_read_and_returned(be: tw.Backend) -> None:
    tensor = CTensor()
    assert be.from_dlpack(tensor).numpy().tolist() == [[1, 2, 3], [4, 5, 6]]
    gc.collect()
    assert tensor.returned == 1


class OnlyDLPack:
    """An array with no other way in than DLPack."""

    def __init__(self, host: np.ndarray[Any, Any]) -> None:
        self.host = host

    def __dlpack__(self, **options: Any) -> Any:
        return self.host.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class DLManagedTensor(ctypes.Structure):
    _fields_ = (
        ("tensor", DLTensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    )


class CTensor:
    """A 2 x 3 float32 tensor as a C library would hand it over, without strides."""

    def __init__(self, device: tuple[int, int] = (1, 0)) -> None:
        self.device = device
        self.returned = 0
        self.data = (ctypes.c_float * 6)(1, 2, 3, 4, 5, 6)
        self.shape = (ctypes.c_int64 * 2)(2, 3)
        self.deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.take_back)
        self.managed = DLManagedTensor()
        self.managed.deleter = self.deleter
        tensor = self.managed.tensor
        tensor.data = ctypes.addressof(self.data)
        tensor.device_type, tensor.device_id = device
        tensor.ndim, tensor.code, tensor.bits, tensor.lanes = 2, 2, 32, 1
        tensor.shape = self.shape

    def take_back(self, _: int) -> None:
        self.returned += 1

    def __dlpack__(self, **_: Any) -> Any:
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self.managed), b"dltensor", None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device
