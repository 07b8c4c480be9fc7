"""Arrays of every dtype, seen through views, as NumPy has them and as the device has them.

A view is drawn from its shape back to the memory: each step says what must be there so that it
gives the shape. So the views of one call may have shapes that broadcast.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import tilewright as tw

from ..draw import Draw

Host = npt.NDArray[Any]

INTEGERS = ["int32", "int8", "int16", "int64", "uint8", "uint16", "uint32", "uint64"]
#: what holds the numbers of the others, so that what is computed of them is exact beside theirs
WIDE = {"float16": "float64", "float32": "float64", "complex64": "complex128"}
MOST_DIMENSIONS = 8


@dataclass
class Step:
    text: str
    run: Callable[[Any], Any]


@dataclass
class Operand:
    """Memory, and how it is seen."""

    base: Host  # of bfloat16 as float32
    dtype: str
    steps: list[Step] = field(default_factory=list)
    #: whether the call sees the memory of another operand, in place of this one's
    of: int | None = None
    #: handed to the device as NumPy's array
    on_host: bool = False

    def __str__(self) -> str:
        memory = f"{self.dtype}{list(self.base.shape)}" if self.of is None else f"#{self.of}"
        where = "host " if self.on_host else ""
        return where + "".join([memory, *(step.text for step in self.steps)])

    def view(self, memory: Any) -> Any:
        for step in self.steps:
            memory = step.run(memory)
            if isinstance(memory, np.generic):
                memory = np.asarray(memory)
        return memory


def elements_of(dtype: str, values: str, shape: Sequence[int], rng: np.random.Generator) -> Host:
    """Contents; `small` numbers are held and summed exactly by every dtype, as far as signs go."""
    if dtype.startswith("complex"):
        both = np.empty(shape, dtype)
        both.real, both.imag = (elements_of("float64", values, shape, rng) for _ in range(2))
        return both
    kind = "f" if dtype == "bfloat16" else np.dtype(dtype).kind
    held = "float32" if dtype == "bfloat16" else dtype
    if kind == "b":
        return np.asarray(rng.integers(0, 2, shape)).astype(bool)
    if kind in "iu":
        if values == "any":
            info = np.iinfo(dtype)
            return np.asarray(rng.integers(info.min, info.max, shape, dtype, endpoint=True))
        low = 0 if kind == "u" or values in ("counts", "unit") else -4
        if values in ("signs", "positive"):
            low = 1
        return np.asarray(rng.integers(low, 5, shape)).astype(dtype)
    if values == "counts":
        found = rng.integers(0, 5, shape)
    elif values == "signs":
        found = rng.integers(0, 2, shape) * 2 - 1
    elif values == "unit":
        found = rng.integers(-8, 9, shape) / 8
    elif values == "positive":
        found = rng.integers(1, 17, shape) / 4
    elif values in ("normal", "any"):
        found = rng.standard_normal(shape)
    else:
        found = rng.integers(-8, 9, shape) / 2
    found = np.asarray(found).astype(held)
    if dtype == "bfloat16":
        found = np.asarray(found.astype(ml_dtypes.bfloat16)).astype("float32")
    if values == "special" and found.size:
        found = np.array(found)
        places = rng.integers(0, found.size, 2)
        found.reshape(-1)[places] = rng.choice([np.nan, np.inf, -np.inf], 2)
    return found


# Steps --------------------------------------------------------------------------------------------


def turned(draw: Draw, shape: list[int]) -> tuple[list[int], Step]:
    order = list(range(len(shape)))[::-1]
    if draw.below(2):
        draw.rng.shuffle(order)
    was = [0] * len(shape)
    for i, axis in enumerate(order):
        was[axis] = shape[i]
    if order == list(range(len(shape)))[::-1]:
        return was, Step(".T", lambda x: x.T)
    return was, Step(f".transpose({order})", lambda x: x.transpose(order))


def cut(draw: Draw, shape: list[int]) -> tuple[list[int], Step]:
    """A slice of every axis, of larger memory."""
    was: list[int] = []
    key: list[slice] = []
    for size in shape:
        step = draw.one_of([1, -1, 2, -2, 3])
        before, behind = draw.below(3), draw.below(3)
        reach = abs(step) * (size - 1) + 1 if size else 0
        was.append(before + reach + behind)
        if size == 0:
            key.append(slice(before, before, step))
        elif step > 0:
            key.append(slice(before, before + reach, step))
        else:
            past = before - 1
            key.append(slice(before + reach - 1, None if past < 0 else past, step))
    text = ", ".join(f"{s.start}:{'' if s.stop is None else s.stop}:{s.step}" for s in key)
    return was, Step(f"[{text}]", lambda x: x[tuple(key)])


def flipped(_: Draw, shape: list[int]) -> tuple[list[int], Step]:
    return shape, Step("[::-1]", lambda x: x[::-1])


def one_of_many(draw: Draw, shape: list[int]) -> tuple[list[int], Step]:
    """An integer for an axis that the memory has more."""
    axis, size = draw.integer(0, len(shape)), draw.integer(1, 3)
    at = draw.integer(-size, size - 1)
    # Without the Ellipsis NumPy gives a number where no dimension is left.
    key = (*[slice(None)] * axis, at, ...)
    text = f"[{':, ' * axis}{at}, ...]"
    return [*shape[:axis], size, *shape[axis:]], Step(text, lambda x: x[key])


def new_axis(_: Draw, shape: list[int]) -> tuple[list[int], Step]:
    axis = shape.index(1)
    key = (*[slice(None)] * axis, None)
    return shape[:axis] + shape[axis + 1 :], Step(f"[{':, ' * axis}None]", lambda x: x[key])


def reshaped(draw: Draw, shape: list[int]) -> tuple[list[int], Step]:
    size = math.prod(shape)
    was = [size]
    if size and draw.below(2):
        factor = draw.one_of([n for n in (1, 2, 3, 4, 5, 7) if size % n == 0])
        was = draw.one_of([[factor, size // factor], [size // factor, 1, factor]])
    to = tuple(shape)
    return was, Step(f".reshape({list(to)})", lambda x: x.reshape(to))


def broadcast(draw: Draw, shape: list[int]) -> tuple[list[int], Step]:
    was = [1 if draw.below(2) else size for size in shape]
    was = was[draw.integer(0, len(was)) :] if draw.rarely(3) else was
    to = tuple(shape)
    return was, Step(f".broadcast_to({list(to)})", lambda x: np.broadcast_to(x, to))


def waiting(dtype: str) -> Step:
    """Elements that are not computed yet."""
    if dtype == "bool":
        # In worlds of floats it is one of them.
        return Step("(^ True)", lambda x: x ^ True if x.dtype == bool else 1 - x)
    return Step("(+ 1)", lambda x: x + 1)


def seen(
    draw: Draw, shape: Sequence[int], dtype: str, written: bool, exact: bool = True
) -> tuple[list[int], str, list[Step]]:
    """The memory's shape and dtype, and the steps from it to this shape. What is written through
    is a view all the way, as far as strides allow it; what a sum would round is not added to."""
    at = list(shape)
    steps: list[Step] = []
    for _ in range(draw.one_of([0, 1, 1, 2, 3])):
        # NumPy gives a number, not a view, of x[()].
        kinds: list[Any] = [cut, turned, reshaped, flipped] if at else [reshaped]
        if len(at) < MOST_DIMENSIONS:
            kinds.append(one_of_many)
        if 1 in at:
            kinds.append(new_axis)
        if not written:
            kinds += [broadcast, None] if exact else [broadcast]
        kind = draw.one_of(kinds)
        if kind is None:
            steps.append(waiting(dtype))
            continue
        found, step = kind(draw, at)
        if math.prod(found) <= 40000:
            at = found
            steps.append(step)
    if dtype in ("float32", "float64") and draw.rarely(6):
        part = draw.one_of(["real", "imag"])
        steps.append(Step(f".{part}", lambda x: getattr(x, part)))
        dtype = "complex64" if dtype == "float32" else "complex128"
    return at, dtype, steps[::-1]


# The same memory in each world --------------------------------------------------------------------


def numpys(operand: Operand) -> Any:
    return operand.base.copy()


def wide(operand: Operand) -> Any:
    return operand.base.astype(WIDE.get(operand.base.dtype.name, operand.base.dtype))


def as_floats(operand: Operand) -> Any:
    """Integers too, of which NumPy would make float16."""
    found = wide(operand)
    return found if found.dtype.kind in "fc" else found.astype("float64")


def sizes(operand: Operand) -> Any:
    """The absolute values, finite ones."""
    found = np.abs(as_floats(operand))
    return np.where(np.isfinite(found), found, 0)


def on_device(be: tw.Backend) -> Callable[[Operand], Any]:
    def made(operand: Operand) -> Any:
        if operand.on_host:
            return operand.base.copy()
        found = tw.asarray(operand.base, device=be)
        return found.astype("bfloat16") if operand.dtype == "bfloat16" else found

    return made


def built(operands: Sequence[Operand], make: Callable[[Operand], Any]) -> tuple[list[Any], Any]:
    """Memories, and what is seen of them."""
    memories: list[Any] = []
    for operand in operands:
        memories.append(make(operand) if operand.of is None else memories[operand.of])
    return memories, [o.view(m) for o, m in zip(operands, memories, strict=True)]
