from __future__ import annotations

import threading

import numpy as np
import pytest
import tilewright
from tilewright import Backend

from .calls import CALLS, positional
from .workspace import download


def fresh(be: Backend) -> Backend:
    """One more backend of the same device, not initialised."""
    return type(be)(adapter_index=be.config["adapter_index"])


def test_init_and_close_as_often_as_one_likes(be: Backend) -> None:
    other = fresh(be)
    assert not other.is_initialized
    other.close()
    for _ in range(3):
        other.init()
        other.init()
        assert other.is_initialized
        other.free(other.alloc(16))
        other.close()
        other.close()
        assert not other.is_initialized


def test_a_context_manager(be: Backend) -> None:
    with fresh(be) as other:
        assert other.is_initialized
    assert not other.is_initialized
    with pytest.raises(ZeroDivisionError), fresh(be) as other:
        raise ZeroDivisionError
    assert not other.is_initialized


# What a closed backend answers all the same.
OF_THE_DEVICE = {"capabilities", "performance_hints"}


@pytest.mark.parametrize("call", sorted(CALLS.keys() - OF_THE_DEVICE))
def test_every_call_before_init_raises(be: Backend, call: str) -> None:
    with pytest.raises(tilewright.NotInitialized) as raised:
        getattr(fresh(be), call)(*positional(CALLS[call]))
    assert isinstance(raised.value, tilewright.Error)
    assert isinstance(raised.value, RuntimeError)
    assert str(raised.value).startswith(f"{call}: ")


@pytest.mark.parametrize("call", sorted(CALLS.keys() - OF_THE_DEVICE))
def test_every_call_after_close_raises(be: Backend, call: str) -> None:
    other = fresh(be)
    other.init()
    other.close()
    with pytest.raises(tilewright.NotInitialized):
        getattr(other, call)(*positional(CALLS[call]))


def test_what_the_device_can_do_is_known_before_init_and_after_close(be: Backend) -> None:
    other = fresh(be)
    for _ in range(2):
        for call in OF_THE_DEVICE:
            assert repr(getattr(other, call)()) == repr(getattr(be, call)())
            assert not other.is_initialized
        with pytest.raises(tilewright.NotInitialized):
            other.alloc(4)
        other.init()
        other.close()


def test_a_limit_counts_before_init_too(be: Backend) -> None:
    other = type(be)(adapter_index=be.config["adapter_index"], max_buffer_size=1000)
    assert other.capabilities().max_buffer_bytes == 1000


def test_a_device_that_is_not_there_can_do_nothing(be: Backend) -> None:
    other = type(be)(adapter_index=999)
    for ask in (other.init, other.capabilities, other.performance_hints):
        with pytest.raises(tilewright.BackendUnavailable, match=r"adapter_index is 999, but"):
            ask()


def test_a_backend_that_runs_is_available(be: Backend) -> None:
    assert type(be).is_available()  # type: ignore[attr-defined]
    for name in (be.name, be.name.upper(), be.name.replace("-", "_")):
        assert tilewright.is_available(name)
        with tilewright.init_backend(f"{name}:{be.config['adapter_index']}") as same:
            assert same.device.id == be.device.id


def test_what_a_closed_backend_still_says(be: Backend) -> None:
    other = fresh(be)
    assert other.name == be.name
    assert other.config["memory_limit"] is None
    assert be.name in repr(other)
    other.release(1)
    with pytest.raises(tilewright.NotInitialized, match=r"^device: "):
        _ = other.device


def test_closing_frees_everything_and_old_handles_stay_invalid(be: Backend) -> None:
    other = fresh(be)
    other.init()
    old = [other.alloc(100) for _ in range(10)]
    other.close()
    other.init()
    assert other.memory_stats().allocations == 0
    assert other.memory_stats().active_bytes == 0
    new = [other.alloc(100) for _ in range(10)]
    assert not set(old) & set(new)
    for buffer in old:
        with pytest.raises(tilewright.InvalidArgument):
            other.buffer_bytes(buffer)
    other.close()


def test_a_backend_may_be_dropped_with_its_buffers(be: Backend) -> None:
    for _ in range(20):
        other = fresh(be)
        other.init()
        other.alloc(10_000_000)
        del other


def test_backends_do_not_see_each_other(be: Backend) -> None:
    with fresh(be) as one, fresh(be) as two:
        a, b = one.alloc(16), two.alloc(16)
        one.copy_htod(a, np.full(16, 1, np.uint8))
        two.copy_htod(b, np.full(16, 2, np.uint8))
        assert (download(one, a) == 1).all()
        for wrong in (lambda: one.free(b), lambda: two.copy_dtod(b, a, 16)):
            with pytest.raises(tilewright.InvalidArgument):
                wrong()
        assert (download(two, b) == 2).all()


def test_what_a_backend_says_of_itself(device: str, be: Backend) -> None:
    assert be.name == device.partition(":")[0]
    assert be.device.backend == be.name
    assert be.device.id.startswith(be.name + ":")
    assert be.device.available
    assert be.device.name
    capabilities, hints = be.capabilities(), be.performance_hints()
    assert {str(dtype) for dtype in capabilities.dtypes} >= {"float32"}
    assert capabilities.max_buffer_bytes > 0
    # WebGPU has no way to ask for their number.
    assert capabilities.compute_units > 0 or be.name == "webgpu"
    assert hints.simd_width > 0
    alignment = hints.preferred_alignment
    assert alignment > 0 and alignment & (alignment - 1) == 0
    assert alignment >= 4 * hints.simd_width or be.name != "cpu"
    assert hints.concurrency == max(capabilities.compute_units, 1)
    assert be.device.id in {listed.id for listed in tilewright.devices()}


def test_ops_from_many_threads(be: Backend) -> None:
    """Each thread its own buffers; nothing may get mixed up."""
    failures: list[str] = []

    def work(number: int) -> None:
        try:
            for i in range(30):
                n = 1000 + 37 * number + i
                a, b = be.alloc(4 * n), be.alloc(4 * n)
                be.copy_htod(a, np.full(n, number, np.float32))
                be.binary("add", a, a, b, n)
                got = np.empty(n, np.float32)
                be.copy_dtoh(got, b)
                if not (got == 2 * number).all():
                    failures.append(f"thread {number}, round {i}")
                be.free(a)
                be.free(b)
        except Exception as error:
            failures.append(repr(error))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_closing_while_others_work(be: Backend) -> None:
    """Calls under way end as they should; later ones say that the backend is closed."""
    other = fresh(be)
    other.init()
    ends: list[BaseException] = []

    def work() -> None:
        try:
            while True:
                n = 100_000
                a = other.alloc(4 * n)
                other.copy_htod(a, np.ones(n, np.float32))
                other.unary("exp", a, a, n)
                other.free(a)
        except BaseException as error:
            ends.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    while other.is_initialized and other.memory_stats().total_allocations < 20:
        pass
    other.close()
    for thread in threads:
        thread.join()
    assert len(ends) == 4
    assert all(isinstance(end, tilewright.NotInitialized) for end in ends), ends
