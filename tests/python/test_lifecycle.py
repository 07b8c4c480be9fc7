"""Backends come to life, close and come back."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from conformance import calls
from conformance.calls import positional


def test_a_new_backend_is_not_initialized() -> None:
    backend = tw.CpuBackend()
    assert not backend.is_initialized
    assert backend.name == "cpu"
    assert "not initialised" in repr(backend)


# These two open the device for themselves.
OPENING = {"capabilities", "performance_hints"}

# Arguments that would be valid if the backend were open.
CALLS: dict[str, Any] = {
    name: positional(call) for name, call in calls.CALLS.items() if name not in OPENING
} | {
    "copy_dtoh_async": (bytearray(4), 1),
    "flush": (),
    "event": (),
    "record": (),
    "map": (tw.Program(), (1,), [1], [], [2]),
    "map_many": (tw.Program(), [(1, [1], [2])], []),
    "map_reduce": (tw.Program(), "sum", (1,), (0,), [1], [], [2]),
    "map_rows": ([("sum", tw.Program())], (1,), (0,), [1], tw.Program(), [], [2]),
    "scan": (tw.Program(), "sum", (1,), 0, [1], [], 2),
    "gather_elements": ((1, (0,)), [(2, "int64", 1, 1, 0)], 3, (1,)),
    "scatter_elements": (1, [(2, "int64", 1, 1, 0)], (3, (0,)), (1,)),
    "concat": ([1, 2], (1, 1), 3, (2,), 0),
    "create_kernel": ("",),
    "free_kernel": (1,),
    "kernel_info": (1,),
    "launch_kernel": (1, (2,), b"", (1, 1, 1)),
    "supports": ("gemm",),
    "fft_plan": ((4,),),
    "available_ops": (),
    "begin_profile": (),
    "end_profile": (),
}


def test_every_trait_call_is_listed() -> None:
    lifecycle = {"init", "close", "release", "release_kernel"} | OPENING
    lifecycle |= {"fft_roots", "optimal_fft_size"}  # which ask no device
    core = tw._core.Backend  # type: ignore[attr-defined]
    names = {name for name, value in vars(core).items() if callable(value) and name[0] != "_"}
    assert names - lifecycle == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_every_call_before_init_and_after_close_raises(name: str) -> None:
    backend = tw.CpuBackend()
    for _ in range(2):
        with pytest.raises(tw.NotInitialized, match=f"^{name}: the backend is not initialised"):
            getattr(backend, name)(*CALLS[name])
        backend.init()
        backend.close()


def test_the_array_tier_before_init_raises() -> None:
    for op in (lambda b: b.array([1.0]), lambda b: b.add(1, 2), lambda b: b.zeros(3)):
        with pytest.raises(tw.NotInitialized):
            op(tw.CpuBackend())
    with pytest.raises(tw.NotInitialized):
        _ = tw.CpuBackend().device


def test_init_and_close_are_idempotent() -> None:
    backend = tw.CpuBackend()
    backend.close()
    for _ in range(3):
        backend.init()
        backend.init()
        handle = backend.alloc(16)
        assert backend.memory_stats().allocations == 1
        backend.close()
        backend.close()
        assert not backend.is_initialized
    backend.init()
    with pytest.raises(tw.InvalidArgument):
        backend.free(handle)


def test_a_backend_is_a_context_manager() -> None:
    with tw.CpuBackend() as backend:
        assert backend.is_initialized
        assert backend.relu([-1, 2]).numpy().tolist() == [0, 2]
    assert not backend.is_initialized
    with pytest.raises(ZeroDivisionError), backend:
        _ = 1 / 0
    assert not backend.is_initialized


def test_what_the_backend_says_of_itself(be: tw.Backend) -> None:
    device = be.device
    assert (device.id, device.backend, device.kind) == ("cpu:0", "cpu", tw.DeviceKind.cpu)
    assert device.available and device.reason == ""
    assert device.memory_bytes > 0
    assert be.capabilities().dtypes == (tw.DType.float32, tw.DType.float16)
    assert be.capabilities().max_buffer_bytes > 0
    assert be.capabilities().compute_units >= 1
    assert be.performance_hints().simd_width >= 1
    assert be.performance_hints().concurrency >= 1
    assert repr(device).startswith("DeviceInfo(id='cpu:0', backend='cpu'")
    for told in (device, be.capabilities(), be.performance_hints(), be.memory_stats()):
        assert "object at" not in repr(told)
        with pytest.raises(AttributeError):
            told.memory_bytes = 1  # type: ignore[union-attr, misc]


def test_config_reaches_the_backend() -> None:
    backend = tw.CpuBackend(memory_limit=1000, max_buffer_size=600, debug_mode=True)
    assert backend.config["memory_limit"] == 1000
    assert backend.config["debug_mode"] is True
    with backend:
        assert backend.memory_stats().limit_bytes == 1000
        with pytest.raises(tw.InvalidArgument, match=r"601.*600"):
            backend.alloc(601)
        first = backend.alloc(600)
        with pytest.raises(tw.OutOfMemory, match="memory_limit") as raised:
            backend.alloc(500)
        assert raised.value.requested_bytes == 500
        backend.free(first)
        backend.alloc(500)


def test_device_id_is_another_name_of_adapter_index() -> None:
    assert tw.CpuBackend(device_id=0).config["adapter_index"] == 0
    with pytest.raises(tw.InvalidArgument, match="not both"):
        tw.CpuBackend(device_id=0, adapter_index=0)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"devise_id": 1}, '"devise_id" is no config key, expected one of adapter_index'),
        ({"memory_limit": "1G"}, "memory_limit is '1G'"),
        ({"memory_limit": -1}, "memory_limit is -1"),
        ({"memory_limit": 1.5}, "memory_limit is 1.5"),
        ({"debug_mode": 1}, "debug_mode is 1"),
        ({"power_preference": "most"}, "power_preference is"),
        ({"power_preference": 3}, "power_preference is 3"),
        ({"adapter_index": 1 << 70}, "adapter_index is"),
        ({"\udc80": 1}, r"a config key is .*expected a str of valid Unicode"),
    ],
)
def test_wrong_config_is_refused_by_name(config: dict[str, object], message: str) -> None:
    with pytest.raises(tw.InvalidArgument, match=message):
        tw.CpuBackend(**config)
    with pytest.raises(tw.InvalidArgument, match=message):
        tw.init_backend("cpu", **config)


def test_a_subclass_that_forgets_init_is_refused() -> None:
    class Forgetful(tw.Backend):
        def __init__(self) -> None:
            pass

    with pytest.raises(TypeError):
        Forgetful().init()
    with pytest.raises(TypeError):
        tw.Backend.__new__(tw.Backend).init()


def test_none_is_no_backend() -> None:
    none: Any = None
    for make in (
        lambda: tw._core.CompiledKernel(none, "", "main", None, False),
        lambda: tw.Kernel(none, ""),
    ):
        with pytest.raises(TypeError, match="incompatible constructor arguments"):
            make()
    with pytest.raises(tw.InvalidArgument, match=r"^Array: backend is None, expected a Backend"):
        tw.Array(none, (1,), np.dtype("float32"))
    with pytest.raises(tw.InvalidArgument, match=r"^Backend: name is None, expected a str"):
        tw.Backend(none)


def test_a_backend_in_a_cycle_with_its_arrays_is_collected() -> None:
    class Holder(tw.CpuBackend):
        kept: list[tw.Array]

    backend = Holder()
    backend.init()
    backend.kept = [backend.array(np.ones(10, np.float32))]
    before = sum(isinstance(one, Holder) for one in gc.get_objects())
    del backend
    gc.collect()
    assert before == 1
    assert not any(isinstance(one, Holder) for one in gc.get_objects())
