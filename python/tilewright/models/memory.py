"""Whether a model fits on a device, asked before the first byte is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from tilewright._core import OutOfMemory
from tilewright.models.decoders.cache import PAGE, page_bytes

if TYPE_CHECKING:
    import numpy as np

    from tilewright.backend import Backend
    from tilewright.models.decoders.shape import Shape

# What stands for no limit.
UNLIMITED = 1 << 62
NARROW = " in int8"


def room(backend: Backend) -> tuple[int, int] | None:
    """Bytes of the device that are free, and all that there are, as far as it says."""
    stats = backend.memory_stats()
    known = [stats.limit_bytes, backend.device.memory_bytes]
    every = min((one for one in known if 0 < one < UNLIMITED), default=None)
    return None if every is None else (max(every - stats.active_bytes, 0), every)


def of_decoder(
    shape: Shape, dtype: np.dtype[Any], stored: np.dtype[Any], context: int, tokens: int
) -> dict[str, int]:  # fmt: skip
    """What a decoder takes beside its weights, with a cache that is stored so."""
    pages = -(-tokens // PAGE) + 1
    cache = shape.layers * pages * page_bytes(shape, stored)
    kinds = {shape.turns if one is None else shape.window_turns for one in shape.windows}
    turns = sum(context * one.rotary * dtype.itemsize for one in kinds)
    told = f"for a cache of {tokens} tokens" + (NARROW if stored.itemsize == 1 else "")
    return {told: cache, "for the turns of places": turns}


def check(
    backend: Backend, name: str, weights: int, beside: Mapping[str, int], passing: int,
    others: Sequence[tuple[str, int]],
) -> None:  # fmt: skip
    """OutOfMemory where there is less than so many bytes of weights take, with what lies beside
    them and what is there while they are sent. `others` are what `weights=` would make of them."""
    there = room(backend)
    if there is not None and weights + max(sum(beside.values()), passing) > there[0]:
        refuse(backend, name, weights, beside, passing, others)


def refuse(
    backend: Backend, name: str, weights: int, beside: Mapping[str, int], passing: int,
    others: Sequence[tuple[str, int]],
) -> NoReturn:  # fmt: skip
    parts = {"of weights": weights, **beside, "more while they are sent": passing}
    listed = ", ".join(f"{_size(size)} {what}" for what, size in parts.items() if size)
    there = room(backend)
    free = "it has no more"
    if there is not None:
        free = f"{_size(there[0])} of {_size(there[1])} are free"
    smaller = [f"weights={key!r} ({_size(size)})" for key, size in others if size < weights]
    if beside:
        smaller.append("a smaller context= or cache_tokens=")
        if not any(what.endswith(NARROW) for what in beside):
            smaller.append("cache='int8'")
    advice = f"load it with {' or '.join(smaller)}" if smaller else "free some of it"
    raise OutOfMemory(
        f"load: {name} does not fit on {backend.device.id} ({backend.device.name}): it takes "
        f"{listed}, and {free}; {advice}"
    )


def _size(count: int) -> str:
    if count >= 10**8:
        return f"{count / 1e9:.2f} GB"
    return f"{count / 1e6:.2f} MB" if count >= 10**4 else f"{count} bytes"
