"""The order of what is queued, copies larger than what is staged, devices side by side."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
import tilewright

from .conftest import DEVICE

MEGABYTE = 1 << 20


@pytest.fixture
def be() -> Iterator[tilewright.Backend]:
    with tilewright.init_backend(DEVICE) as backend:
        yield backend


def numbers(n: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(n, dtype=np.float32)


def test_an_upload_stays_behind_the_launches_before_it(be: tilewright.Backend) -> None:
    x, y = be.alloc(64), be.alloc(64 * 500)
    for i in range(500):
        be.copy_htod(x, np.full(16, i, np.float32))
        be.unary("neg", x, x, 16)
        be.copy_dtod(y, x, 64, dst_offset=64 * i)
    result = np.empty((500, 16), np.float32)
    be.copy_dtoh(result, y)
    assert (result == -np.arange(500, dtype=np.float32)[:, None]).all()


@pytest.mark.parametrize("size", [16, 64 << 10, 4 * MEGABYTE, 21 * MEGABYTE + 4])
def test_large_copies_stay_in_order(be: tilewright.Backend, size: int) -> None:
    """More bytes than all staging buffers hold, between launches on the same buffer."""
    n = size // 4
    first, second = numbers(n, 1), numbers(n, 2)
    x, y = be.alloc(size), be.alloc(size)
    be.copy_htod(x, first)
    be.unary("neg", x, y, n)
    be.copy_htod(x, second)
    be.binary("add", x, y, y, n)
    be.copy_htod(x, first[: n // 2], offset=4 * (n - n // 2))
    got = np.empty(n, np.float32)
    be.copy_dtoh(got, y)
    assert (got == second - first).all()
    be.copy_dtoh(got, x)
    assert (got[n - n // 2 :] == first[: n // 2]).all()
    assert (got[: n - n // 2] == second[: n - n // 2]).all()
    part = np.empty(n // 2, np.float32)
    be.copy_dtoh(part, x, offset=4 * (n // 4))
    assert (part == got[n // 4 : n // 4 + n // 2]).all()


def test_small_and_large_uploads_take_turns(be: tilewright.Backend) -> None:
    sizes = [1, 5_000_000, 3, 100_000, 7, 2_000_000, 17]
    arrays = [be.array(numbers(n, n)) for _ in range(2) for n in sizes]
    for array in arrays:
        assert (array.numpy() == numbers(array.size, array.size)).all()


def test_devices_side_by_side() -> None:
    """Each device that there is, twice."""
    ids = [d.id for d in tilewright.devices() if d.backend == "webgpu" and d.available]
    backends = [tilewright.init_backend(name) for name in ids for _ in range(2)]
    start = numbers(10_000)
    arrays = [be.array(start) for be in backends]
    for _ in range(20):
        arrays = [be.add(a, i) for i, (be, a) in enumerate(zip(backends, arrays, strict=True))]
    for i, array in enumerate(arrays):
        np.testing.assert_allclose(array.numpy(), start + 20 * i, rtol=1e-5, atol=1e-5)
    with pytest.raises(tilewright.InvalidArgument):
        backends[1].unary("neg", arrays[0], arrays[0], 10)
    for be in backends:
        be.close()


def test_threads_wait_queue_and_copy_at_once(be: tilewright.Backend) -> None:
    wrong: list[str] = []

    def work(seed: int) -> None:
        x = be.array(np.zeros(1000, np.float32))
        large = numbers(MEGABYTE, seed)
        for i in range(1, 31):
            x = be.add(x, 1)
            if i % 10 == 0 and not (x.numpy() == i).all():
                wrong.append(f"{seed}: {i} sums")
            if i % 15 == 0 and not (be.array(large).numpy() == large).all():
                wrong.append(f"{seed}: a large copy")
            if i % 7 == 0:
                be.synchronize()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_subgroup_size_is_measured(be: tilewright.Backend) -> None:
    if "subgroups" in be.device.features:
        lanes = be.capabilities().limits["subgroup_size"]
        assert lanes in (1 << i for i in range(8))
        assert be.performance_hints().simd_width == lanes
    else:
        assert "subgroup_size" not in be.capabilities().limits
