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
    """Of blocks what the planes have, [blocks, bytes] each."""

    low: Bytes
    scales: Bytes
    high: Bytes | None = None
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


def _halves(nibbles: Bytes) -> Bytes:
    """The lower halves of bytes, and behind them the upper ones."""
    return np.concatenate([nibbles & 15, nibbles >> 4], axis=-1)


def _cut(bytes: Bytes, run: int, bits: int) -> Bytes:
    """Runs of bytes as their lowest bits, behind them those above, and so on, of each run."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)[:, None]
    runs = bytes.reshape(len(bytes), -1, 1, run)
    parts: Bytes = (runs >> shifts) & np.uint8((1 << bits) - 1)
    return parts.reshape(len(bytes), -1)


# Below a column of an array of words is taken at once: NumPy takes long for many short rows.


def _words(bytes: Bytes, columns: int, dtype: type[np.unsignedinteger[Any]]) -> Any:
    return np.ascontiguousarray(bytes).view(dtype).reshape(-1, columns)


def _of_blocks(words: Any, blocks: int) -> Bytes:
    plane: Bytes = words.reshape(-1).view(np.uint8).reshape(blocks, -1)
    return plane


def _nibbles(bytes: Bytes, run: int) -> Bytes:
    """The plane of nibbles: runs of bytes have elements in their lower halves, and behind those
    as many in the upper ones."""
    words = _words(bytes, run // 8, np.uint64)
    plane = np.empty_like(words)
    lower, upper, four = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0xF0F0F0F0F0F0F0F0), np.uint64(4)
    for group in range(run // GROUP):
        for i in range(2):
            first, second = words[:, 4 * group + i], words[:, 4 * group + 2 + i]
            to = 2 * group + i
            plane[:, to] = (first & lower) | ((second & lower) << four)
            plane[:, run // 16 + to] = ((first & upper) >> four) | (second & upper)
    return _of_blocks(plane, len(bytes))


def _exchange(words: Any, first: int, second: int, by: int, mask: int) -> None:
    """Bits of one column for bits of another, which are `by` further down there."""
    a, b = words[:, first], words[:, second]
    differ = ((a >> np.uint32(by)) ^ b) & np.uint32(mask)
    b ^= differ
    a ^= differ << np.uint32(by)


def _pairs(bytes: Bytes) -> Bytes:
    """The plane of pairs of bits: of runs of 32 bytes the lowest two are a group, behind it those
    above. Words are turned in squares of 4 x 4."""
    words = _words(bytes, 4, np.uint32).copy()
    for first in (0, 2):
        _exchange(words, first, first + 1, 2, 0x33333333)
    for first in (0, 1):
        _exchange(words, first, first + 2, 4, 0x0F0F0F0F)
    halves = words.reshape(-1, 2, 4)
    plane = np.empty((len(halves), 4, 2), np.uint32)
    for half in range(2):
        for group in range(4):
            plane[:, group, half] = halves[:, half, group]
    return _of_blocks(plane, len(bytes))


def _singles(bytes: Bytes) -> Bytes:
    """The plane of single bits: of 32 bytes the lowest ones are a group, and so on. Words are
    turned in squares of 8 x 8."""
    words = _words(bytes, 8, np.uint32).copy()
    for by, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F)):
        for first in range(8):
            if not first & by:
                _exchange(words, first, first + by, by, mask)
    return _of_blocks(words, len(bytes))


def _spread() -> npt.NDArray[np.uint32]:
    """Of a byte bit c of its lower half at 8 c, and of the upper one at 8 c + 1."""
    bits = np.arange(256, dtype=np.uint32)[:, None] >> np.arange(8, dtype=np.uint32) & 1
    places = np.array([0, 8, 16, 24, 1, 9, 17, 25], np.uint32)
    spread: npt.NDArray[np.uint32] = (bits << places).sum(axis=1, dtype=np.uint32)
    return spread


SPREAD = _spread()


def _single_bits(words: Bytes) -> Bytes:
    """The plane of words with a bit for each element of a group."""
    plane = SPREAD[words[:, 0]]
    for i in (1, 2, 3):
        plane |= SPREAD[words[:, i]] << np.uint32(2 * i)
    return _of_blocks(plane, len(words))


def _q8_0(blocks: Bytes) -> Parts:
    return Parts(blocks[:, 2:] ^ np.uint8(128), blocks[:, :2])


# Nibbles of 32 elements lie in these as they do in a plane.


def _q4_0(blocks: Bytes) -> Parts:
    return Parts(blocks[:, 2:], blocks[:, :2])


def _q4_1(blocks: Bytes) -> Parts:
    return Parts(blocks[:, 4:], blocks[:, :4])


def _q5_0(blocks: Bytes) -> Parts:
    return Parts(blocks[:, 6:], blocks[:, :2], _single_bits(blocks[:, 2:6]))


def _q5_1(blocks: Bytes) -> Parts:
    return Parts(blocks[:, 8:], blocks[:, :4], _single_bits(blocks[:, 4:8]))


def _mxfp4(blocks: Bytes) -> Parts:
    return Parts(blocks[:, 1:], blocks[:, :1])


def _even_bytes(words: Any) -> Any:
    """Bytes of words of 32 bits as every second byte of words of 64."""
    wide = words.astype(np.uint64)
    wide = (wide | wide << np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)
    return (wide | wide << np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)


def _scales_and_minima(packed: Bytes) -> Bytes:
    """Of 12 bytes the 8 scales and minima of 6 bits, a byte each, in turn."""
    words = _words(packed, 3, np.uint32)
    first, second, third = (words[:, i] for i in range(3))
    six, four, upper = np.uint32(0x3F3F3F3F), np.uint32(0x0F0F0F0F), np.uint32(0x30303030)
    two = np.uint32(2)
    plane = np.empty((len(words), 2), np.uint64)
    for i, (scales, minima) in enumerate(
        (
            (first & six, second & six),
            (
                (third & four) | ((first >> two) & upper),
                ((third >> np.uint32(4)) & four) | ((second >> two) & upper),
            ),
        )
    ):
        plane[:, i] = _even_bytes(scales) | _even_bytes(minima) << np.uint64(8)
    return _of_blocks(plane, len(packed))


def _q2_k(blocks: Bytes) -> Parts:
    return Parts(_pairs(blocks[:, 16:80]), blocks[:, :16], outer=blocks[:, 80:])


def _q3_k(blocks: Bytes) -> Parts:
    high, low, scales = blocks[:, :32], blocks[:, 32:96], blocks[:, 96:108]
    six = _halves(scales[:, :8]) | _up(_cut(scales[:, 8:], 4, 2), 4)
    return Parts(_pairs(low), six - np.uint8(32), _singles(high), blocks[:, 108:])


def _q4_k(blocks: Bytes) -> Parts:
    scales = _scales_and_minima(blocks[:, 4:16])
    return Parts(_nibbles(blocks[:, 16:], 32), scales, outer=blocks[:, :4])


def _q5_k(blocks: Bytes) -> Parts:
    scales = _scales_and_minima(blocks[:, 4:16])
    return Parts(_nibbles(blocks[:, 48:], 32), scales, _singles(blocks[:, 16:48]), blocks[:, :4])


def _q6_k(blocks: Bytes) -> Parts:
    high = _pairs(blocks[:, 128:192])
    return Parts(_nibbles(blocks[:, :128], 64), blocks[:, 192:208], high, blocks[:, 208:])


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


def pack(format: Format, blocks: Bytes) -> Bytes:
    """The planes of blocks, [count, bytes of a block]."""
    groups_of_block = format.block // GROUP
    at = format.planes(len(blocks) * groups_of_block)
    planes = np.zeros(at.bytes, np.uint8)

    def put(start: int, first: int, part: Bytes) -> None:
        width = part.shape[1]
        to = start + first * width
        # Of each block at once: NumPy takes long for many short runs of bytes.
        of_block = np.dtype((np.void, width))
        planes[to : to + part.size].view(of_block)[...] = part.view(of_block)[:, 0]

    step = max(1, AT_ONCE // groups_of_block)
    for first in range(0, len(blocks), step):
        parts = format.parts(blocks[first : first + step])
        for start, part in (
            (at.low, parts.low), (at.high, parts.high), (at.scales, parts.scales),
            (at.outer, parts.outer),
        ):  # fmt: skip
            if part is not None:
                put(start, first, part)
    return planes
