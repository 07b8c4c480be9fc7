"""Valid calls made invalid in one argument."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tilewright as tw
from conformance.calls import (
    CALLS,
    Absent,
    Flag,
    Host,
    In,
    Index,
    Name,
    Number,
    Out,
    Size,
    Sizes,
    may_be_none,
)  # fmt: skip

from .call import Call, Fault, Operand, Placed
from .draw import Draw
from .process import peak

NO_NUMBERS: list[Any] = ["3", 1.5, [1], b"1", {}, 1 + 2j, object()]
NEGATIVE = [-1, -(2**31), -(2**62), -(2**63)]
NO_INTEGERS = [*NEGATIVE, 2**63, 2**64, 2**200, *NO_NUMBERS]
LARGE = [2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**40, 2**61, 2**62, 2**63 - 1]
#: what a refused call may take of the machine
MOST_MEMORY = 64 << 20


@dataclass
class Wrong:
    """A value for one argument. Where it is not `surely` wrong, the call may succeed."""

    argument: str
    value: Any
    surely: bool = True
    #: other arguments that the message may name instead
    or_names: tuple[str, ...] = ()


@dataclass
class Strangers:
    """Handles that a backend does not know."""

    freed: int
    foreign: list[int]

    @property
    def all(self) -> list[Any]:
        return [self.freed, *self.foreign, 1, 2**64 - 1, -1, 2**64, 2**200, *NO_NUMBERS]


def refused(draw: Draw, be: tw.Backend, call: Call, strangers: Strangers) -> int:
    """Some wrong calls, and how many they were."""
    count = draw.integer(1, 6)
    with Placed(be, call):
        for _ in range(count):
            if draw.rarely(6):
                several(draw, be, call, strangers)
            else:
                one(draw, be, call, strangers)
    return count


def one(draw: Draw, be: tw.Backend, call: Call, strangers: Strangers) -> None:
    argument = draw.one_of(list(call.values))
    options = list(wrong_values(be, call, argument, strangers))
    if options:
        wrong = draw.one_of(options)
        try:
            refuses(draw, be, call, wrong)
        finally:
            if isinstance(wrong.value, Small):
                be.release(wrong.value.handle)


def several(draw: Draw, be: tw.Backend, call: Call, strangers: Strangers) -> None:
    """Several arguments are wrong: any of them may be named."""
    changed: dict[str, Any] = {}
    for _ in range(draw.integer(2, 3)):
        argument = draw.one_of(list(call.values))
        options = [
            wrong.value
            for wrong in wrong_values(be, call, argument, strangers)
            if wrong.surely and not isinstance(wrong.value, Small)
        ]
        if options:
            changed[argument] = draw.one_of(options)
    if changed:
        refuses(draw, be, call, Wrong("", None, or_names=tuple(changed)), changed)


#: calls that find, once they run, that with other sizes their places lie outside
READS_PLACES = {"sparse_matmul", "cross_entropy", "cross_entropy_backward"}


class Small(Operand):
    """A buffer that is too small."""


def wrong_values(
    be: tw.Backend, call: Call, argument: str, strangers: Strangers
) -> Iterator[Wrong]:
    kind, value = CALLS[call.name][argument], call.values[argument]
    if value is None and may_be_none(call.name, argument) and isinstance(kind, In | Out | Absent):
        return
    if not may_be_none(call.name, argument):
        yield Wrong(argument, None)
    if isinstance(kind, Size):
        yield from (Wrong(argument, one) for one in NO_INTEGERS)
        near = [] if value is None else [value + 1, max(0, value - 1), 2 * value]
        yield from (Wrong(argument, one, surely=False) for one in [*LARGE, *near])
        right = call.empty or (kind.unless and call.values[kind.unless[0]] == kind.unless[1])
        yield Wrong(argument, 0, surely=kind.positive and not right)
    elif isinstance(kind, Index):
        rank = len(call.values["shape"])
        yield from (Wrong(argument, one) for one in (rank, -rank - 1, *LARGE, *NO_NUMBERS, 2**64))
    elif isinstance(kind, Sizes):
        yield from wrong_sequences(argument, kind, [int(one) for one in value])
    elif isinstance(kind, Name):
        names = ["", "nope", str(value) + "\0", str(value).upper(), 0, 99, 1.5, b"none"]
        # What is wrong for float32 inputs may be right for others.
        names += kind.also_wrong if argument != "output_dtype" else ["int32"]
        yield from (Wrong(argument, one) for one in names)
    elif isinstance(kind, Number):
        yield from (Wrong(argument, one) for one in [*kind.wrong, "1", [1.0], 1j, object()])
    elif isinstance(kind, Flag):
        yield from (Wrong(argument, one) for one in (0, 1, "True", 1.0))
    elif isinstance(kind, Host):
        yield from (Wrong(argument, one) for one in (3, 1.5, "text", [1, 2], np.empty(2, object)))
    elif isinstance(kind, In | Out):
        yield from wrong_buffers(be, call, argument, kind, strangers)


def wrong_sequences(argument: str, kind: Sizes, value: list[int]) -> Iterator[Wrong]:
    yield from (Wrong(argument, one) for one in ("12", 3, 1.5, {}, object()))
    others = (value[:-1], [*value, 1], value[::-1], value * 3, [])
    yield from (Wrong(argument, one, surely=False) for one in others)
    for i in range(len(value)):
        for element in (*NEGATIVE, 2**64, "1", 1.5, None):
            yield Wrong(argument, [*value[:i], element, *value[i + 1 :]])
        for element in (*LARGE, 0, value[i] + 1):
            surely = element == 0 and kind.positive
            yield Wrong(argument, (*value[:i], element, *value[i + 1 :]), surely)


def wrong_buffers(
    be: tw.Backend, call: Call, argument: str, kind: In | Out, strangers: Strangers
) -> Iterator[Wrong]:
    copies = call.name.startswith("copy_")
    operand = call.values[argument]
    if not isinstance(operand, Operand):
        return
    needed = call.needs(argument) > 0 and not call.empty
    yield from (Wrong(argument, one, surely=needed or copies) for one in strangers.all)
    yield Wrong(argument, 0, surely=needed)
    if copies or call.name == "buffer_bytes":
        return
    if call.needs(argument) > 1:
        yield Wrong(argument, Small(np.full(call.needs(argument) - 1, 255, np.uint8)))
    if isinstance(kind, Out) and call.name != "binary_broadcast":
        for name, other in CALLS[call.name].items():
            taken = call.values[name]
            if not isinstance(other, In) or name in kind.may_be or not isinstance(taken, Operand):
                continue
            if call.needs(name) == 0:
                continue  # the output meets nothing there
            if taken.walk is not None or operand.walk is not None:
                continue  # the output may fit in what strides leave out
            # A buffer too small for the output may be named as that.
            yield Wrong(argument, taken.handle, needed, (name,))


def refuses(
    draw: Draw, be: tw.Backend, call: Call, wrong: Wrong, changed: dict[str, Any] | None = None
) -> None:
    if changed is None:
        value = wrong.value
        if isinstance(value, Small):
            value.place(be)
            value.walk = call.values[wrong.argument].walk
            value = value.argument
        changed = {wrong.argument: value}
    said = f"{call}\nwith {changed!r}"
    draw.says(said)
    before, memory = be.memory_stats(), peak()
    placed = Placed(be, call)
    taken = False
    try:
        call.run(be, **changed)
        if call.name in READS_PLACES:
            be.synchronize()
    except tw.InvalidArgument as error:
        taken = (
            isinstance(error, tw.IndexOutOfRange) and call.name in READS_PLACES and not wrong.surely
        )
        if not taken:
            check_message(call, wrong, str(error), said)
    except tw.Unsupported as error:
        if wrong.surely:
            raise Fault(f"{said}\nis Unsupported where it is wrong: {error}") from error
        check_message(call, wrong, str(error), said)
    except Exception as error:
        raise Fault(f"{said}\nraises {type(error).__name__}: {error}") from error
    else:
        if wrong.surely:
            raise Fault(f"{said}\nis taken")
        taken = True
    if taken:
        if not changed_output_only(placed, call):
            raise Fault(f"{said}\nis taken, and changes an input")
        return
    placed.check_unchanged(f"in a call that was refused, with {changed!r}")
    after = be.memory_stats()
    if (after.allocations, after.active_bytes) != (before.allocations, before.active_bytes):
        raise Fault(
            f"{said}\nis refused, but leaves {after.allocations - before.allocations} buffers"
        )
    if peak() - memory > MOST_MEMORY:
        raise Fault(f"{said}\nis refused, after taking {peak() - memory >> 20} MB")


def changed_output_only(placed: Placed, call: Call) -> bool:
    """What succeeded wrote its output alone, which may have become another one; it is restored."""
    results = {id(result.operand) for result in call.results}
    # Without elements a call has outputs, and no results.
    for name, kind in CALLS.get(call.name, {}).items():
        if isinstance(kind, Out):
            results.add(id(call.values.get(name)))
    for operand in call.operands:
        unchanged = np.array_equal(operand.download(placed.be), operand.contents)
        if not unchanged and id(operand) not in results:
            return False
        if not unchanged:
            placed.be.copy_htod(operand.handle, operand.contents)
    return True


def check_message(call: Call, wrong: Wrong, message: str, said: str) -> None:
    names = [wrong.argument, *wrong.or_names]
    if not wrong.surely:
        names = list(CALLS[call.name])
    # Two numbers that overflow together, or Python's name of `from`.
    names = [re.escape(name) + "_?" for name in names if name] + ["the sizes [0-9]+ and [0-9]+"]
    pattern = rf"^{call.name}: .*\b({'|'.join(names)})\b"
    if not re.search(pattern, message, re.DOTALL):
        raise Fault(f"{said}\nsays: {message}")
