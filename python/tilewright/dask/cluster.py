"""A cluster on this machine with a worker process for each device."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

import distributed
from dask.utils import parse_bytes
from distributed.spill import SpillBuffer
from distributed.system import MEMORY_LIMIT

import tilewright as tw
from tilewright import _core
from tilewright.namespace import devices as opened
from tilewright.operands import shown

# The part of a device's memory that results take before those that were used longest ago are
# written to disk. The rest is for what tasks work on.
TARGET = 0.6

_LocalCluster: Any = distributed.LocalCluster
_Plugin: Any = distributed.WorkerPlugin


class UseDevice(_Plugin):  # type: ignore[misc]
    """In a worker: opens its device, and makes it the default one."""

    name = "tilewright-device"
    idempotent = True

    def __init__(self, device: str, options: dict[str, Any]) -> None:
        self.device = device
        self.options = options

    def setup(self, worker: Any) -> None:
        opened.set_default_device(opened.open_with(self.device, **self.options))


def results(worker_local_directory: str, target: int) -> SpillBuffer:
    """Where a worker keeps results: on its device, and beyond `target` bytes on disk."""
    return SpillBuffer(os.path.join(worker_local_directory, "storage"), target)


class LocalCluster(_LocalCluster):  # type: ignore[misc]
    """A worker process for each device, whose default device it is.

        if __name__ == "__main__":
            with LocalCluster() as cluster, distributed.Client(cluster) as client:
                ...

    devices: names that init_backend() takes; a name that stands twice gets two workers. Otherwise
        all devices of the kind and backend that init_backend() would take.
    device_memory_limit: bytes ("8 GiB" and the like too) that a worker takes of its device, its
        backend's memory_limit. Otherwise as much as there is, in equal parts where workers share a
        device. Results beyond 60 % of it are written to `local_directory`, and come back when
        they are asked for.
    memory_limit: of the host's memory, as distributed.LocalCluster has it.
    threads_per_worker: 1, since tasks of a device run one after another anyway.

    Each worker has its name and that of its backend as resources: `resources={"webgpu": 1}`. Other
    options are distributed.LocalCluster's.
    """

    def __init__(
        self,
        devices: str | Sequence[str] | None = None,
        *,
        device_memory_limit: int | str | None = None,
        threads_per_worker: int = 1,
        memory_limit: Any = "auto",
        env: dict[str, str] | None = None,
        **options: Any,
    ) -> None:
        for name in ("n_workers", "processes", "data", "resources", "worker_class"):
            if name in options:
                raise _core.InvalidArgument(
                    f"LocalCluster: {name} is given, but follows from devices; leave it out"
                )
        limit = None if device_memory_limit is None else parse_bytes(device_memory_limit)
        workers = _workers(devices, limit, env or {}, tuple(options.pop("plugins", ())))
        if memory_limit == "auto":
            memory_limit = MEMORY_LIMIT // len(workers)
        super().__init__(
            n_workers=0,
            processes=True,
            threads_per_worker=threads_per_worker,
            memory_limit=memory_limit,
            **options,
        )
        spec = self.new_spec
        self._device_specs = {
            name: spec | {"options": spec["options"] | own} for name, own in workers.items()
        }
        self.worker_spec.update(self._device_specs)
        if not self.asynchronous:
            try:
                self.sync(self._correct_state)
            except BaseException:
                self.close()
                raise

    def new_worker_spec(self) -> dict[str, Any]:
        """That of a device which has no worker."""
        for name, spec in self._device_specs.items():
            if name not in self.worker_spec:
                return {name: spec}
        raise _core.InvalidArgument(
            f"LocalCluster: scale() is given more than {len(self._device_specs)}, expected at most "
            "a worker for each device"
        )


def _workers(
    devices: Any, limit: int | None, env: dict[str, str], plugins: tuple[Any, ...]
) -> dict[str, dict[str, Any]]:
    """The options of each worker, by its name."""
    names = [devices] if isinstance(devices, str) else devices
    if names is None:
        names = _hardware()
    if not isinstance(names, (list, tuple)) or not names:
        raise _core.InvalidArgument(
            f"LocalCluster: devices is {shown(devices)}, expected names such as 'webgpu:0'"
        )
    found = [_described(one) for one in names]
    shares = Counter(one.id for one in found)
    opening = {} if limit is None else {"memory_limit": limit}
    workers: dict[str, dict[str, Any]] = {}
    for one in found:
        share = shares[one.id]
        name = one.id
        if share > 1:
            name = next(f"{name}-{i}" for i in range(share) if f"{name}-{i}" not in workers)
        memory = one.memory_bytes // share if limit is None else limit
        own_env = dict(env)
        if one.backend == "cpu":
            own_env.setdefault(
                "TILEWRIGHT_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // share))
            )
        workers[name] = {
            "name": name,
            "env": own_env,
            "resources": {one.backend: 1, name: 1},
            "plugins": (UseDevice(one.id, opening), *plugins),
            "data": (results, {"target": int(TARGET * memory)}) if memory else None,
        }
    return workers


def _described(name: Any) -> Any:
    """The device of a name, that of a backend being its first one that can be used."""
    if not isinstance(name, str):
        raise _core.InvalidArgument(
            f"LocalCluster: devices has {shown(name)}, expected names such as 'webgpu:0'"
        )
    wanted = name.lower().replace("_", "-")
    there = [one for one in tw.devices() if one.available]
    for one in there:
        if wanted in (one.id, one.backend):
            return one
    known = ", ".join(one.id for one in there)
    raise _core.InvalidArgument(
        f"LocalCluster: devices has {name!r}, which is not there or cannot be used; there is "
        f"{known}"
    )


def _hardware() -> list[str]:
    """The devices of the kind and backend that are taken where none is named."""
    with tw.init_backend() as best:
        device = best.device
    return [
        one.id
        for one in tw.devices()
        if one.available and (one.backend, one.kind) == (device.backend, device.kind)
    ]
