"""__array_namespace_info__: what the standard's inspection finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.namespace.devices import default_backend, to_backend
from tilewright.namespace.dtypes import isdtype
from tilewright.operands import stored
from tilewright.reading import default_integer
from tilewright.small_floats import BFLOAT16

if TYPE_CHECKING:
    from tilewright.backend import Backend
    from tilewright.namespace.devices import Device

API_VERSIONS = ("2023.12", "2024.12", "2025.12")


class ArrayNamespaceInfo:
    """What this namespace can do, by device."""

    def capabilities(self) -> dict[str, Any]:
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Backend:
        return default_backend()

    def default_dtypes(self, *, device: Device | None = None) -> dict[str, np.dtype[Any]]:
        integer = default_integer(to_backend("default_dtypes", device))
        return {
            "real floating": np.dtype(np.float32),
            "complex floating": np.dtype(np.complex64),
            "integral": integer,
            "indexing": integer,
        }

    def dtypes(self, *, device: Device | None = None, kind: Any = None) -> dict[str, np.dtype[Any]]:
        # bfloat16 is no dtype of NumPy's, which those who ask take these for.
        held = stored(to_backend("dtypes", device)) - {BFLOAT16}
        all_of_it = sorted(held, key=str)
        return {d.name: d for d in all_of_it if kind is None or isdtype(d, kind)}

    def devices(self) -> list[str]:
        return [one.id for one in _core.devices() if one.available]


def __array_namespace_info__() -> ArrayNamespaceInfo:
    return ArrayNamespaceInfo()
