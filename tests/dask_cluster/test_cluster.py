"""A cluster with a worker for each device: two of the processor and a software GPU."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import dask
import dask.array as da
import numpy as np
import psutil
import pytest
import tilewright as tw
from distributed import Client, wait
from tilewright.dask import LocalCluster
from tilewright.namespace import devices

DEVICES = ["cpu", "cpu", "webgpu:0"]
NAMES = ["cpu:0-0", "cpu:0-1", "webgpu:0"]
# What a worker takes of its device, so that a few Arrays are too many.
LIMIT = 16 << 20
# Seconds that nothing takes, on a machine that does much else.
LONG = 300

PATIENCE = {
    "distributed.comm.timeouts.connect": LONG,
    "distributed.comm.timeouts.tcp": LONG,
    "distributed.scheduler.allowed-failures": 10,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.terminate": False,
    "distributed.admin.tick.limit": LONG,
}


def processes() -> set[psutil.Process]:
    """Those that this one has started, but for Python's own, which ends with it."""
    found = set()
    for one in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if "multiprocessing.resource_tracker" not in " ".join(one.cmdline()):
                found.add(one)
    return found


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    before = processes()
    with (
        pytest.MonkeyPatch.context() as patch,
        dask.config.set(PATIENCE),
        LocalCluster(
            DEVICES, device_memory_limit=LIMIT, memory_limit=0, dashboard_address=None
        ) as cluster,
        Client(cluster, timeout=LONG) as client,
    ):
        # Where results of workers arrive in this process.
        patch.setattr(devices, "_default", None)
        patch.setattr(devices, "_set", None)
        tw.set_default_device("cpu")
        started = processes() - before
        assert len(started) >= len(DEVICES)
        yield client
    _, left = psutil.wait_procs(list(processes() - before), timeout=LONG)
    assert not left


def addresses(client: Client) -> dict[str, str]:
    """Of workers, by their names, when all are there."""
    client.wait_for_workers(len(DEVICES), timeout=LONG)
    return {name: address for address, name in client.run(_name).items()}


def _name(dask_worker: Any) -> str:
    return str(dask_worker.name)


def _resources(dask_worker: Any) -> dict[str, float]:
    return dict(dask_worker.state.total_resources)


def device_of(_: object = None) -> str:
    return tw.default_device().device.id


def test_each_worker_has_its_device(client: Client) -> None:
    workers = addresses(client)
    assert sorted(workers) == NAMES
    found = client.run(device_of)
    assert {name: found[workers[name]] for name in NAMES} == {
        "cpu:0-0": "cpu:0",
        "cpu:0-1": "cpu:0",
        "webgpu:0": "webgpu:0",
    }
    assert client.run(_resources)[workers["webgpu:0"]] == {"webgpu": 1, "webgpu:0": 1}
    limits = client.run(lambda: tw.default_device().memory_stats().limit_bytes)
    assert set(limits.values()) == {LIMIT}
    threads = client.run(lambda: os.environ.get("TILEWRIGHT_NUM_THREADS"))
    share = str(max(1, (os.cpu_count() or 1) // 2))
    assert threads[workers["cpu:0-0"]] == threads[workers["cpu:0-1"]] == share
    on_gpu = client.submit(device_of, resources={"webgpu": 1}, pure=False)
    assert on_gpu.result(timeout=LONG) == "webgpu:0"


def test_transforms(client: Client) -> None:
    host = np.random.default_rng(3).standard_normal((60, 84)).astype(np.float32)
    x = da.from_array(host, chunks=(16, -1)).to_backend("tilewright")
    columns = x.rechunk((-1, 21))
    for made, exact in [
        (da.fft.fft(x), np.fft.fft(host.astype(float))),
        (da.fft.rfft(columns, axis=0), np.fft.rfft(host.astype(float), axis=0)),
        (da.fft.fftn(x.rechunk(-1)), np.fft.fftn(host.astype(float))),
    ]:
        found = client.compute(made).result(timeout=LONG)
        assert isinstance(found, tw.Array) and found.dtype == np.complex64
        np.testing.assert_allclose(found.numpy(), exact, rtol=0, atol=2e-6 * abs(exact).max())


def test_a_sum_and_a_product(client: Client) -> None:
    host = np.random.default_rng(0).standard_normal((300, 200), np.float32)
    x = da.from_array(host, chunks=100).to_backend("tilewright")
    total, product = dask.compute(x.sum(), x @ x.T)
    for got, exact in ((total, host.sum(dtype="f8")), (product, host.astype("f8") @ host.T)):
        assert isinstance(got, tw.Array)
        np.testing.assert_allclose(got.numpy(), exact, rtol=1e-4, atol=1e-3)


def test_an_array_arrives_on_the_workers_device(client: Client) -> None:
    x = tw.asarray(np.arange(12, dtype="float32").reshape(3, 4), device="cpu")
    for name, address in addresses(client).items():
        at: dict[str, Any] = {"workers": [address], "pure": False}
        assert client.submit(_placed, x, **at).result(timeout=LONG) == name.partition("-")[0]
        sent = client.scatter(x, workers=[address], hash=False)
        back = client.submit(_doubled, sent, **at).result(timeout=LONG)
        assert back.backend.device.id == "cpu:0"
        np.testing.assert_array_equal(back.numpy(), 2 * x.numpy())


def _placed(x: tw.Array) -> str:
    return x.backend.device.id


def _doubled(x: tw.Array) -> tw.Array:
    assert x.backend is tw.default_device()
    return x * 2


@pytest.mark.parametrize("name", ["cpu:0-0", "webgpu:0"])
def test_what_does_not_fit_is_kept_on_disk(client: Client, name: str) -> None:
    address = addresses(client)[name]
    at: dict[str, Any] = {"workers": [address], "pure": False}
    # Of 1 MB each, of which 60 % of the limit hold 10.
    made = client.map(_made, range(20), **at)
    wait(made, timeout=LONG)
    ((fast, slow, active),) = client.run(_kept, workers=[address]).values()
    assert fast + slow >= 20 and slow >= 10
    assert active <= LIMIT
    found = client.gather(client.map(_first, made, **at))
    assert found == [(float(i), name.partition("-")[0]) for i in range(20)]


def _made(value: int) -> tw.Array:
    return tw.full((250, 1000), value, dtype="float32")


def _kept(dask_worker: Any) -> tuple[int, int, int]:
    data = dask_worker.data
    return len(data.fast), len(data.slow), tw.default_device().memory_stats().active_bytes


def _first(x: tw.Array) -> tuple[float, str]:
    assert x.backend is tw.default_device()
    return x.max().item(), x.backend.device.id


def test_what_a_dead_worker_had_is_computed_again(client: Client) -> None:
    x = da.from_array(np.ones((400, 300), np.float32), chunks=100).to_backend("tilewright")
    kept = x.persist()
    wait(kept, timeout=LONG)
    address = addresses(client)["cpu:0-1"]
    process = client.run(os.getpid, workers=[address])[address]
    os.kill(process, signal.SIGKILL)
    assert float(kept.sum().compute()) == 120_000
    # A new one is started, which takes the same device.
    end = time.monotonic() + LONG
    while (fresh := _address(client, "cpu:0-1")) in (None, address):
        assert time.monotonic() < end
        time.sleep(0.2)
    where = client.submit(device_of, workers=[fresh], pure=False)
    assert where.result(timeout=LONG) == "cpu:0"


def _address(client: Client, name: str) -> str | None:
    """Of a worker, as far as the scheduler knows."""

    def find(dask_scheduler: Any) -> str | None:
        known = dask_scheduler.workers.values()
        return next((one.address for one in known if one.name == name), None)

    found: str | None = client.run_on_scheduler(find)
    return found


def test_an_error_of_a_task_is_raised_here(client: Client) -> None:
    address = addresses(client)["cpu:0-0"]
    full = client.submit(_too_much, workers=[address], pure=False)
    with pytest.raises(tw.OutOfMemory, match="memory_limit"):
        full.result(timeout=LONG)
    wrong = client.submit(tw.matmul, 1, 2, pure=False)
    with pytest.raises(tw.InvalidArgument, match="matmul: x1 is 1"):
        wrong.result(timeout=LONG)


def _too_much() -> list[tw.Array]:
    return [tw.zeros(LIMIT // 16, dtype="float32") for _ in range(8)]


def test_errors() -> None:
    for names, options, message in [
        (["nope:1"], {}, "devices has 'nope:1', which is not there or cannot be used; there is"),
        ([3], {}, "devices has 3 .*expected names such as 'webgpu:0'"),
        ([], {}, r"devices is \[\].*expected names such as 'webgpu:0'"),
        (["cpu"], {"n_workers": 2}, "n_workers is given, but follows from devices"),
    ]:
        with pytest.raises(tw.InvalidArgument, match="LocalCluster: " + message):
            LocalCluster(names, **options)
