"""One call of the trait: its operands on the device, and what it must have done to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import tilewright as tw
from conformance import bounds
from conformance.calls import CALLS
from conformance.workspace import GUARD, raw

from .draw import Draw

Array = npt.NDArray[Any]

#: what bindings of every device may start on
ALIGNED = 256


class Fault(AssertionError):
    """Something that the contract does not allow."""


@dataclass(eq=False)
class Operand:
    """A buffer that holds `array` and, behind it, bytes that nothing may read into a result or
    write. An input keeps all that it holds."""

    array: Array
    slack: int = 0
    handle: Any = 0
    #: a handle of 0, which what holds no elements may have
    null: bool = False
    #: strides and an offset, in elements, by which a call sees it
    walk: tuple[list[int], int] | None = None

    @property
    def argument(self) -> Any:
        return self.handle if self.walk is None else (self.handle, *self.walk)

    @property
    def contents(self) -> Array:
        return np.append(raw(self.array), np.full(self.slack, GUARD, np.uint8))

    def place(self, be: tw.Backend) -> None:
        if self.null:
            return
        self.handle = be.alloc(max(1, self.array.nbytes + self.slack))
        if self.array.nbytes + self.slack:
            be.copy_htod(self.handle, self.contents)

    def download(self, be: tw.Backend) -> Array:
        if self.null:
            return self.contents
        now = np.empty(self.array.nbytes + self.slack, np.uint8)
        be.copy_dtoh(now, self.handle)
        return now

    def __repr__(self) -> str:
        if self.null:
            return "0"
        more = f" and {self.slack} bytes" if self.slack else ""
        more += f" by {self.walk}" if self.walk else ""
        return f"<{self.array.dtype} {list(self.array.shape)}{more}>"


@dataclass
class Result:
    """What the part of an operand that a call writes must hold."""

    operand: Operand
    exact: npt.ArrayLike
    tolerance: npt.ArrayLike = 0.0
    part: Callable[[Array], Array] = lambda whole: whole
    #: bytes that must be these, where the numbers alone do not say it
    bits: Array | None = None


@dataclass
class Call:
    """A valid call. `values` has every argument of it, in the trait's order."""

    name: str
    values: dict[str, Any]
    results: list[Result] = field(default_factory=list)
    #: whether there may be nothing to do, so that what is wrong elsewhere may be right
    empty: bool = False
    #: what else must hold afterwards
    also: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.values = {name: self.values[name] for name in CALLS[self.name]}

    @property
    def operands(self) -> list[Operand]:
        """Each one once."""
        return list(dict.fromkeys(v for v in self.values.values() if isinstance(v, Operand)))

    def needs(self, argument: str) -> int:
        """The bytes that a buffer must have at least."""
        return int(self.values[argument].array.nbytes)

    def run(self, be: tw.Backend, **changed: Any) -> None:
        given = {**self.values, **changed}
        arguments = (v.argument if isinstance(v, Operand) else v for v in given.values())
        result = getattr(be, self.name)(*arguments)
        if self.name == "view":
            be.free(result)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{k}={v!r}' for k, v in self.values.items())})"


class Block:
    """Operands as views on one buffer, with guard bytes around them."""

    def __init__(self, be: tw.Backend, draw: Draw, operands: Sequence[Operand]) -> None:
        self.be = be
        self.places: list[tuple[Operand, int]] = []
        end = 0
        for operand in operands:
            step = draw.one_of([ALIGNED, operand.array.itemsize])
            start = (-(-end // step) + draw.integer(0, 3)) * step
            self.places.append((operand, start))
            end = start + max(1, operand.contents.size)
        self.contents = np.full(end + draw.integer(0, 40), GUARD, np.uint8)
        for operand, at in self.places:
            self.contents[at:][: operand.contents.size] = operand.contents
        self.buffer = be.alloc(self.contents.size)
        be.copy_htod(self.buffer, self.contents)
        for operand, at in self.places:
            operand.handle = be.view(self.buffer, at, max(1, operand.contents.size))
        # The views keep it.
        if draw.below(2):
            be.free(self.buffer)
            self.buffer = None

    def check_guards(self) -> None:
        if self.buffer is None:
            return
        now = np.empty_like(self.contents)
        self.be.copy_dtoh(now, self.buffer)
        for operand, at in self.places:
            now[at:][: operand.contents.size] = GUARD
        if not (now == GUARD).all():
            raise Fault(f"bytes beside views were written, at {np.flatnonzero(now != GUARD)[0]}")

    def free(self) -> None:
        if self.buffer is not None:
            self.be.free(self.buffer)


class Placed:
    """The operands of a call on a device, for as long as a `with` block lasts: in buffers of their
    own, or, where something is drawn, now and then in views."""

    def __init__(self, be: tw.Backend, call: Call, draw: Draw | None = None) -> None:
        self.be = be
        self.call = call
        self.draw = draw
        self.blocks: list[Block] = []

    def __enter__(self) -> Placed:
        operands = [operand for operand in self.call.operands if not operand.null]
        layout = self.draw.one_of(["own", "own", "views", "one"]) if self.draw else "own"
        groups = [operands] if layout == "one" and operands else [[one] for one in operands]
        for group in groups:
            if layout == "own" or self.draw is None:
                group[0].place(self.be)
            else:
                self.blocks.append(Block(self.be, self.draw, group))
        return self

    def __exit__(self, *_: object) -> None:
        for operand in self.call.operands:
            if not operand.null:
                self.be.free(operand.handle)
        for block in self.blocks:
            block.free()

    def check_unchanged(self, why: str) -> None:
        for name, operand in self.call.values.items():
            if isinstance(operand, Operand):
                self._same(operand.download(self.be), operand.contents, f"{name}, {why},")

    def check_results(self) -> None:
        for block in self.blocks:
            try:
                block.check_guards()
            except Fault as fault:
                raise Fault(f"{self.call}\n{fault}") from None
        results = {id(result.operand): result for result in self.call.results}
        for name, operand in self.call.values.items():
            if not isinstance(operand, Operand):
                continue
            now, before = operand.download(self.be), operand.contents
            if id(operand) not in results:
                self._same(now, before, f"{name}, an input,")
                continue
            result = results[id(operand)]
            size = operand.array.nbytes
            self._same(now[size:], before[size:], f"what is behind {name}")
            after = np.frombuffer(now[:size].tobytes(), operand.array.dtype)
            after = after.reshape(operand.array.shape)
            outside = operand.array.copy()
            result.part(outside)[...] = result.part(after)
            self._same(raw(after), raw(outside), f"{name} outside of the result")
            try:
                got = np.array(result.part(after))
                if result.bits is not None:
                    np.testing.assert_array_equal(raw(got), raw(result.bits))
                else:
                    bounds.assert_within(got, result.exact, result.tolerance)
            except AssertionError as error:
                raise Fault(f"{self.call}\n{name}: {error}") from None
        self.call.also()

    def _same(self, now: Array, before: Array, what: str) -> None:
        if not np.array_equal(now, before):
            at = int(np.flatnonzero(now != before)[0])
            raise Fault(f"{self.call}\n{what} was changed, at byte {at}")
