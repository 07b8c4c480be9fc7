"""One call of the NumPy tier, and what it may be given."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tilewright as tw

from ..draw import Draw
from .operands import INTEGERS, Host, Operand, Step, elements_of, seen


@dataclass
class Case:
    """What is drawn. `run` is given NumPy or tilewright, and the views."""

    draw: Draw
    be: tw.Backend
    name: str = ""
    text: str = ""
    run: Callable[..., Any] = lambda *_: None
    operands: list[Operand] = field(default_factory=list)
    #: roundings that each element may be off, of itself, and of the sum of absolute values ...
    ulps: float = 8
    #: ... by `run` of absolute values ("sums"), or by the largest of the result ("whole")
    by: str = ""
    #: integers are computed as floats
    floats: bool = False
    #: steps between are rounded to the dtype, not to float32
    loose: bool = False
    #: the result follows from the dtype's own numbers, so that no wider one has it
    narrow: bool = False
    #: gives what is on the host
    host: bool = False
    #: tilewright has the call under the same name and arguments
    ours: bool = True
    #: dtypes are of no concern: those of the standard are others
    any_dtype: bool = False

    def __str__(self) -> str:
        operands = "; ".join(f"#{i} {operand}" for i, operand in enumerate(self.operands))
        return f"{self.name}: {self.text} of {operands}"

    @property
    def dtypes(self) -> list[str]:
        return [operand.dtype for operand in self.operands]

    @property
    def stored(self) -> list[str]:
        return [str(one.value) for one in self.be.capabilities().storage_dtypes]

    # Drawing ----------------------------------------------------------------------------------

    def dtype(self, kinds: str = "fciub") -> str:
        """Of these kinds, float32 first."""
        found: list[str] = []
        if "f" in kinds:
            found += ["float32", "float16", "bfloat16"] + ["float64"] * self.draw.doubles
        if "c" in kinds:
            found += ["complex64"] + ["complex128"] * self.draw.doubles
        found += [d for d in INTEGERS if np.dtype(d).kind in kinds and d in self.stored]
        return self.draw.one_of(found + ["bool"] * ("b" in kinds))

    def shape(self, least: int = 0, most: int = 5, elements: int = 3000) -> list[int]:
        draw = self.draw
        if draw.rarely(12):
            # Of many dimensions.
            return [draw.one_of([1, 2, 1, 3]) for _ in range(draw.integer(max(least, 6), 8))]
        shape = [draw.one_of([3, 1, 2, 4, 5, 7, 0]) for _ in range(draw.integer(least, most))]
        if shape and draw.rarely(4):
            room = elements // max(1, math.prod(shape))
            shape[draw.below(len(shape))] = draw.size(max(1, room))
        return shape

    def part_of(self, shape: Sequence[int]) -> list[int]:
        """A shape that broadcasts to this one, mostly."""
        draw = self.draw
        kind = draw.below(6)
        if kind < 3:
            return list(shape)
        if kind == 3:
            return []
        kept = [1 if draw.rarely(3) else size for size in shape]
        return kept[draw.integer(0, len(kept)) :] if kind == 4 else kept

    def axis(self, ndim: int) -> int:
        """Now and then one that is not there."""
        if ndim == 0 or self.draw.rarely(40):
            return self.draw.one_of([0, ndim, -ndim - 1])
        return self.draw.integer(-ndim, ndim - 1)

    def axes(self, ndim: int) -> Any:
        """None, one, or several."""
        kind = self.draw.below(3)
        if kind == 0 or ndim == 0:
            return None
        if kind == 1:
            return self.axis(ndim)
        return tuple(axis - ndim * self.draw.below(2) for axis in range(ndim) if self.draw.below(2))

    def of_axes(self, shape: Sequence[int], axes: Any) -> list[int]:
        """What a reduction leaves."""
        over = range(len(shape)) if axes is None else [axes] if isinstance(axes, int) else axes
        gone = {axis % len(shape) for axis in over} if shape else set()
        return [size for i, size in enumerate(shape) if i not in gone]

    # Operands ---------------------------------------------------------------------------------

    def operand(
        self, shape: Sequence[int], dtype: str, values: str = "small", written: bool = False
    ) -> int:
        """Its number."""
        exact = values not in ("any", "normal")
        memory, base_dtype, steps = seen(self.draw, shape, dtype, written, exact)
        base = elements_of(base_dtype, values, memory, self.draw.rng)
        self.operands.append(Operand(base, dtype, steps))
        return len(self.operands) - 1

    def holding(self, content: Host, on_host: bool = True) -> int:
        """A view of these elements."""
        memory, base_dtype, steps = seen(self.draw, content.shape, content.dtype.name, True)
        base = elements_of(base_dtype, "small", memory, self.draw.rng)
        made = Operand(base, content.dtype.name, steps)
        view = made.view(base)
        if np.shares_memory(view, base) or not content.size:
            view[...] = content
        else:
            made = Operand(content.copy(), content.dtype.name)
        made.on_host = on_host and self.draw.rarely(5)
        self.operands.append(made)
        return len(self.operands) - 1

    def again(self, of: int, same: bool = False) -> int:
        """The same view of the same memory, or that turned around."""
        first = self.operands[of]
        self.operands.append(Operand(first.base, first.dtype, list(first.steps), of))
        if first.view(first.base).ndim and not same:
            self.operands[-1].steps.append(Step("[::-1]", lambda x: x[::-1]))
        return len(self.operands) - 1

    def is_(self, name: str, text: str, run: Callable[..., Any], **options: Any) -> Case:
        self.name, self.text, self.run = name, text, run
        for option, value in options.items():
            setattr(self, option, value)
        return self
