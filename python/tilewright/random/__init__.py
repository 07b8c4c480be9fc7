"""Random numbers: tilewright.random.default_rng(seed), by the names of NumPy's Generator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.random.generator import Generator

if TYPE_CHECKING:
    from tilewright.namespace.devices import Device

__all__ = ["Generator", "default_rng"]


def default_rng(seed: Any = None, *, device: Device | None = None) -> Generator:
    """A Generator of what NumPy takes for a seed: an integer, several, a SeedSequence, or None for
    one that nobody knows; a Generator is given back. Its Arrays are on `device`, or on the default
    one of each call."""
    return seed if isinstance(seed, Generator) else Generator(seed, device=device)


def __getattr__(name: str) -> Any:
    from tilewright.namespace.missing import hint_of_random

    raise AttributeError(hint_of_random(name))
