"""Kernels of one's own in SPIR-V: a module as it is, and the same with words changed, cut off and
put together otherwise."""

from __future__ import annotations

import functools
import os
import struct
from pathlib import Path

import numpy as np
import tilewright as tw
from child import CpuDriver
from opencl import spirv_of

from .call import Fault
from .draw import Draw

SOURCE = Path(__file__).parents[1] / "level_zero" / "kernels.cl"
HEADER = 5  # words
MOST_WORDS = 1 << 19
BUILD_FAILURE = 0x70000004
#: instructions that say how large something is, or whose it is, and their operands at most
TELLING = {5: 3, 15: 3, 16: 5, 21: 3, 22: 2, 23: 3, 28: 3, 30: 9, 32: 3, 43: 3, 54: 4, 55: 2}
TELLING |= {59: 3, 71: 3}


@functools.cache
def module() -> bytes:
    return spirv_of(SOURCE)


def has_own_driver() -> bool:
    """Whether the driver is the tests' own, which can be made to build nothing."""
    return Path(os.environ.get("ZE_ENABLE_ALT_DRIVERS", "")).name.startswith("libze_cpu")


def valid(be: tw.Backend, draw: Draw) -> None:
    n, alpha = draw.size(3000), float(draw.integer(-5, 5))
    draw.says(f"saxpy of {n} elements by {alpha}")
    a, b = draw.integers(n, "float32"), draw.integers(n + 20, "float32")
    x, y = be.array(a), be.array(b)
    kernel = be.kernel(module(), "saxpy", trusted=True)
    kernel(x, y, grid=-(-n // 64) + draw.below(3), params=[n, alpha])
    b[:n] += np.float32(alpha) * a
    for name, array, expected in (("x", x, a), ("y", y, b)):
        got = array.numpy()
        if not np.array_equal(got, expected):
            at = int(np.flatnonzero(got != expected)[0])
            raise Fault(f"{draw.about}\n{name}[{at}] is {got[at]}, expected {expected[at]}")


def instructions(words: list[int]) -> list[list[int]]:
    found, at = [], HEADER
    while at < len(words):
        found.append(words[at : at + (words[at] >> 16)])
        at += words[at] >> 16
    return found


def word(draw: Draw) -> int:
    kind = draw.below(3)
    if kind == 1:
        return draw.one_of([0, 2**32 - 1, 2**31, 1 << 16, 2**16 - 1])
    return draw.below(2**32 if kind == 2 else 80)


def telling(draw: Draw) -> list[int]:
    op = draw.one_of(list(TELLING))
    operands = [word(draw) for _ in range(draw.integer(0, TELLING[op]))]
    return [len(operands) + 1 << 16 | op, *operands]


def changed(draw: Draw, code: bytes) -> bytes:
    """A few words others, or instructions gone, elsewhere, many times there, new; or an end."""
    words = list(struct.unpack(f"<{len(code) // 4}I", code))
    header, parts = words[:HEADER], instructions(words)
    for _ in range(draw.integer(1, 4)):
        at = draw.below(len(parts))
        kind = draw.below(7)
        if kind == 0:
            part = list(parts[at])
            part[draw.below(len(part))] = word(draw)
            parts[at] = part
        elif kind == 1:
            del parts[at : at + draw.integer(1, 5)]
        elif kind == 2:
            parts[at:at] = parts[draw.below(len(parts)) :][: draw.integer(1, 20)]
        elif kind == 3:
            parts.insert(at, telling(draw))
        elif kind == 4:
            times = draw.one_of([2, 1000, MOST_WORDS // 4])
            left = MOST_WORDS - sum(map(len, parts))
            parts[at:at] = [parts[at]] * min(times, max(0, left) // max(1, len(parts[at])))
        elif kind == 5:
            # A long name, which the code behind it may still use.
            parts.insert(at, [60_002 << 16 | 5, draw.below(80), *[0x78787878] * 60_000])
        else:
            parts[at], parts[at - 1] = parts[at - 1], parts[at]
        parts = parts or [[1 << 16]]
    if draw.rarely(12):
        header[draw.below(HEADER)] = word(draw)
    words = [*header, *(one for part in parts for one in part)]
    mutated = struct.pack(f"<{len(words)}I", *words)
    return mutated[: draw.below(len(mutated))] if draw.rarely(6) else mutated


def mutated(be: tw.Backend, draw: Draw) -> bool:
    """Whether the module was refused as it was read: what is taken would go to the driver, whose
    safety with it nobody promises, and which is made to refuse it."""
    code = changed(draw, module())
    draw.says(f"a module of {len(code)} bytes")
    if code == module():
        return False  # whose binary the cache may have
    if not code:
        code = bytes(4)  # nothing at all is no kernel, and so another refusal
    driver = CpuDriver()
    driver.fail("zeModuleCreate", BUILD_FAILURE)
    try:
        be.kernel(code, draw.one_of(["saxpy", "rounds"]), trusted=True)
    except tw.KernelError as error:
        if len(str(error)) > 10_000:
            raise Fault(f"{draw.about}\nis refused in {len(str(error))} letters") from error
        return not driver.failed()
    finally:
        driver.fail("0", 0)
    raise Fault(f"{draw.about}\nis taken, though the driver refuses it")
