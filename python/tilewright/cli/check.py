"""One finding of the doctor."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    backend: str
    what: str
    ok: bool
    found: str
    mend: str = ""
    """The command that mends it; empty where nothing is to do, or no command does."""
