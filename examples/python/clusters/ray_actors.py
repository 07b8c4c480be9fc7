"""Ray: an actor for each device, which keeps its Arrays there (`pip install ray`).

Arrays are pickled through the host's memory and arrive on the device of the actor.
"""

import importlib
from typing import Any

import numpy as np
import tilewright as tw

ray: Any = importlib.import_module("ray")


class Worker:
    """Lives in a process of its own, whose default device is one device."""

    def __init__(self, device: str) -> None:
        tw.set_default_device(device)
        self.kept: dict[str, tw.Array] = {}

    def put(self, name: str, values: Any) -> None:
        self.kept[name] = tw.asarray(values)

    def gram(self, name: str) -> tw.Array:
        """x.T @ x of some rows."""
        x = self.kept[name]
        return x.T @ x


def main() -> None:
    ray.init()
    devices = [d.id for d in tw.devices() if d.available and d.kind != tw.DeviceKind.software]
    actor = ray.remote(Worker)
    workers = [actor.remote(device) for device in devices]
    rows = np.random.default_rng(0).standard_normal((4096, 256), np.float32)
    for worker, part in zip(workers, np.array_split(rows, len(workers)), strict=True):
        ray.get(worker.put.remote("rows", part))
    parts = ray.get([worker.gram.remote("rows") for worker in workers])
    total = sum(part.numpy() for part in parts)
    print(devices, np.allclose(total, rows.T @ rows, rtol=1e-3, atol=1e-2))


if __name__ == "__main__":
    main()
