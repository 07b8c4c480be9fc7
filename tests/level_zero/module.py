"""A module that reads as the valid one does, and that no driver builds."""

from __future__ import annotations

import struct

RETURN, KILL = 253, 252


def unbuildable(code: bytes) -> bytes:
    """With an end of its functions that only shaders have."""
    words = list(struct.unpack(f"<{len(code) // 4}I", code))
    at = 5
    while at < len(words):
        length, op = words[at] >> 16, words[at] & 0xFFFF
        if op == RETURN:
            words[at] = 1 << 16 | KILL
        at += length
    return struct.pack(f"<{len(words)}I", *words)
