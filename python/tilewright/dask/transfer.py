"""Arrays between Dask's processes: by distributed's own serialisation, header and frames."""

from __future__ import annotations

from typing import Any

from distributed import protocol

from tilewright.array import Array
from tilewright.travel import from_frames, to_frames

_tables: Any = protocol
_tables.dask_serialize.register(Array, to_frames)
_tables.dask_deserialize.register(Array, from_frames)
