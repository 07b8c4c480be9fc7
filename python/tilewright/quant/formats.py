"""Formats of weights in blocks: how files store them, and the planes that devices read.

A block is what GGUF has of it, byte for byte. Planes are those of tilewright/quantized.hpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright.operands import invalid, shown

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    import numpy.typing as npt

    Bytes: TypeAlias = npt.NDArray[np.uint8]

GROUP = 32
SUPER = 8
ALIGNMENT = 256
# Groups that are repacked at a time: what that takes stays in the cache.
AT_ONCE = 1 << 15


class Parts(NamedTuple):
    """Of blocks: q of each element, and the scales and outer scales as planes have them."""

    q: Bytes
    scales: Bytes
    outer: Bytes | None = None


class Format(NamedTuple):
    name: str
    block: int
    """elements of a block"""
    bytes: int
    """of a block"""
    low: int
    """bits in the first plane"""
    high: int
    """bits in the second"""
    scale: int
    """bytes for each group"""
    outer: int
    """bytes for each SUPER groups"""
    parts: Callable[[Bytes], Parts]

    def planes(self, groups: int) -> Planes:
        ends = [0]
        for size in (
            groups * self.low * GROUP // 8,
            groups * self.high * GROUP // 8,
            groups * self.scale,
            groups // SUPER * self.outer,
        ):
            ends.append(ends[-1] + -(-size // ALIGNMENT) * ALIGNMENT)
        return Planes(*ends)


class Planes(NamedTuple):
    """Where they start, in bytes, and where the last one ends."""

    low: int
    high: int
    scales: int
    outer: int
    bytes: int


def _up(bytes: Bytes, bits: int) -> Bytes:
    shifted: Bytes = bytes << np.uint8(bits)
    return shifted


def _down(bytes: Bytes, bits: int) -> Bytes:
    shifted: Bytes = bytes >> np.uint8(bits)
    return shifted


def _halves(nibbles: Bytes) -> Bytes:
    """The lower halves of bytes, and behind them the upper ones."""
    return np.concatenate([nibbles & 15, nibbles >> 4], axis=-1)


def _bits(bytes: Bytes) -> Bytes:
    return np.unpackbits(bytes, axis=-1, bitorder="little")


def _q8_0(blocks: Bytes) -> Parts:
    return Parts(blocks[:, 2:] ^ np.uint8(128), blocks[:, :2])


def _q4_0(blocks: Bytes) -> Parts:
    return Parts(_halves(blocks[:, 2:]), blocks[:, :2])


def _q4_1(blocks: Bytes) -> Parts:
    return Parts(_halves(blocks[:, 4:]), blocks[:, :4])


def _q5_0(blocks: Bytes) -> Parts:
    return Parts(_halves(blocks[:, 6:]) | _up(_bits(blocks[:, 2:6]), 4), blocks[:, :2])


def _q5_1(blocks: Bytes) -> Parts:
    return Parts(_halves(blocks[:, 8:]) | _up(_bits(blocks[:, 4:8]), 4), blocks[:, :4])


def _mxfp4(blocks: Bytes) -> Parts:
    return Parts(_halves(blocks[:, 1:]), blocks[:, :1])


def _cut(bytes: Bytes, run: int, bits: int) -> Bytes:
    """Runs of bytes as their lowest bits, behind them those above, and so on, of each run."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)[:, None]
    runs = bytes.reshape(len(bytes), -1, 1, run)
    parts: Bytes = (runs >> shifts) & np.uint8((1 << bits) - 1)
    return parts.reshape(len(bytes), -1)


def _scales_and_minima(packed: Bytes) -> Bytes:
    """Of 12 bytes the 8 scales and minima of 6 bits, a byte each, in turn."""
    first, second, third = (packed[:, i : i + 4] for i in (0, 4, 8))
    scales = np.concatenate([first & 63, (third & 15) | ((first >> 2) & 48)], axis=-1)
    minima = np.concatenate([second & 63, (third >> 4) | ((second >> 2) & 48)], axis=-1)
    return np.stack([scales, minima], axis=-1).reshape(len(packed), 16)


def _q2_k(blocks: Bytes) -> Parts:
    return Parts(_cut(blocks[:, 16:80], 32, 2), blocks[:, :16], blocks[:, 80:])


def _q3_k(blocks: Bytes) -> Parts:
    high, low, scales = blocks[:, :32], blocks[:, 32:96], blocks[:, 96:108]
    six = _halves(scales[:, :8]) | _up(_cut(scales[:, 8:], 4, 2), 4)
    return Parts(_cut(low, 32, 2) | _up(_cut(high, 32, 1), 2), six - np.uint8(32), blocks[:, 108:])


def _q4_k(blocks: Bytes) -> Parts:
    return Parts(_cut(blocks[:, 16:], 32, 4), _scales_and_minima(blocks[:, 4:16]), blocks[:, :4])


def _q5_k(blocks: Bytes) -> Parts:
    q = _cut(blocks[:, 48:], 32, 4) | _up(_cut(blocks[:, 16:48], 32, 1), 4)
    return Parts(q, _scales_and_minima(blocks[:, 4:16]), blocks[:, :4])


def _q6_k(blocks: Bytes) -> Parts:
    q = _cut(blocks[:, :128], 64, 4) | _up(_cut(blocks[:, 128:192], 32, 2), 4)
    return Parts(q, blocks[:, 192:208], blocks[:, 208:])


FORMATS = {
    one.name: one
    for one in (
        Format("q8_0", 32, 34, 8, 0, 2, 0, _q8_0),
        Format("q4_0", 32, 18, 4, 0, 2, 0, _q4_0),
        Format("q4_1", 32, 20, 4, 0, 4, 0, _q4_1),
        Format("q5_0", 32, 22, 4, 1, 2, 0, _q5_0),
        Format("q5_1", 32, 24, 4, 1, 4, 0, _q5_1),
        Format("q2_k", 256, 84, 2, 0, 2, 4, _q2_k),
        Format("q3_k", 256, 110, 2, 1, 2, 2, _q3_k),
        Format("q4_k", 256, 144, 4, 0, 2, 4, _q4_k),
        Format("q5_k", 256, 176, 4, 1, 2, 4, _q5_k),
        Format("q6_k", 256, 210, 4, 2, 2, 2, _q6_k),
        Format("mxfp4", 32, 17, 4, 0, 1, 0, _mxfp4),
    )
}


def to_format(call: str, name: Any) -> Format:
    """By its name, in small or in capital letters."""
    found = FORMATS.get(name.lower()) if isinstance(name, str) else None
    if found is None:
        invalid(call, f"format is {shown(name)}, expected one of {', '.join(FORMATS)}")
    return found


def _low_words(q: Bytes, bits: int) -> Bytes:
    """`bits` of each element, of groups as [groups, 8, 4]."""
    if bits == 8:
        return q
    if bits == 4:
        return q[:, :4] | _up(q[:, 4:], 4)
    if bits == 1:
        return np.packbits(q, axis=1, bitorder="little")
    fours = q.reshape(len(q), 2, 4, 4)
    packed = fours[:, :, 0]
    for i in (1, 2, 3):
        packed = packed | _up(fours[:, :, i], 2 * i)
    return packed


def pack(format: Format, blocks: Bytes) -> Bytes:
    """The planes of blocks, [count, bytes of a block]."""
    groups_of_block = format.block // GROUP
    at = format.planes(len(blocks) * groups_of_block)
    planes = np.zeros(at.bytes, np.uint8)

    def put(start: int, first: int, size: int, part: Bytes) -> None:
        to = start + first * size
        planes[to : to + part.size] = part.reshape(-1)

    step = max(1, AT_ONCE // groups_of_block)
    for first in range(0, len(blocks), step):
        parts = format.parts(blocks[first : first + step])
        group = first * groups_of_block
        q = parts.q.reshape(-1, 8, 4)
        mask = np.uint8((1 << format.low) - 1)
        put(at.low, group, format.low * 4, _low_words(q & mask, format.low))
        if format.high:
            put(at.high, group, format.high * 4, _low_words(_down(q, format.low), format.high))
        put(at.scales, group, format.scale, parts.scales)
        if parts.outer is not None:
            put(at.outer, group // SUPER, format.outer, parts.outer)
    return planes
