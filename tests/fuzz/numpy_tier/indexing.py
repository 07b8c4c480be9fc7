"""Elements by indices and masks: read, assigned, and changed in place."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .case import Case

IN_PLACE: dict[str, Any] = {"+=": operator.iadd, "*=": operator.imul, "-=": operator.isub}


class Slot:
    """The place of an operand in a key."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"#{self.number}"


def a_slice(case: Case, size: int) -> slice:
    draw = case.draw
    step = draw.one_of([None, 1, -1, 2, -2, 3])
    ends = [None if draw.below(3) else draw.integer(-size - 2, size + 2) for _ in range(2)]
    return slice(ends[0], ends[1], step)


def indices(case: Case, size: int, shape: list[int], distinct: bool) -> int:
    """Now and then one is out of range."""
    draw, rng = case.draw, case.draw.rng
    dtype = draw.one_of(["int64", "int32", "int8", "uint8", "int16", "uint64"])
    size = min(size, 100)
    if distinct:
        found = rng.permutation(size)[: shape[0]] if size else np.zeros(0)
        found = np.where(rng.integers(0, 2, found.shape) & (dtype[0] == "i"), found - size, found)
    elif size == 0:
        found = np.zeros([0])
    else:
        found = rng.integers(-size if dtype[0] == "i" else 0, size, shape)
        if draw.rarely(30) and found.size:
            found = np.where(np.arange(found.size).reshape(found.shape) == 0, size + 20, found)
    return case.holding(np.asarray(found).astype(dtype))


def key(case: Case, shape: list[int], distinct: bool = False) -> Any:
    """Any that NumPy may take, for an Array of this shape; where places are to be distinct, one
    array of indices at most."""
    draw = case.draw
    items: list[Any] = []
    by = [draw.one_of([2, 1, 3, 0]) for _ in range(draw.below(3))]
    if distinct:
        by = [draw.integer(0, 4)]
    axis, ellipsis, arrays = 0, False, 0
    while axis < len(shape) and draw.below(8):
        size = shape[axis]
        kind = draw.one_of(["slice", "integer", "array", "mask", "None", "...", "array"])
        if kind in ("array", "mask") and distinct and arrays:
            kind = "slice"
        if kind == "None":
            if len(items) < 6:
                items.append(None)
            continue
        if kind == "...":
            if not ellipsis:
                ellipsis = True
                items.append(...)
                axis += draw.below(len(shape) - axis + 1)
            continue
        if kind == "slice":
            items.append(a_slice(case, size))
        elif kind == "integer":
            at = draw.integer(-size, max(0, size - 1)) if not draw.rarely(30) else size
            items.append(at if size or draw.rarely(10) else slice(None))
        elif kind == "mask":
            dims = draw.integer(1, min(2, len(shape) - axis))
            own = shape[axis : axis + dims]
            if draw.rarely(30):
                own = [size + 1 for size in own]
            items.append(Slot(case.holding(draw.rng.integers(0, 2, own).astype(bool))))
            axis += dims - 1
        else:
            own = by if distinct else [1 if draw.rarely(4) else n for n in by]
            items.append(Slot(indices(case, size, own, distinct)))
        arrays += isinstance(items[-1], Slot)
        axis += 1
    if len(items) == 1 and draw.below(2):
        return items[0]
    return tuple(items)


def filled(key: Any, views: tuple[Any, ...]) -> Any:
    if isinstance(key, tuple):
        return tuple(filled(one, views) for one in key)
    return views[key.number] if isinstance(key, Slot) else key


def array(case: Case, written: bool = False) -> list[int]:
    shape = case.shape(0 if case.draw.rarely(6) else 1, 4, 1000)
    case.operand(shape, case.dtype("fciub"), written=written)
    return shape


def read(case: Case) -> Case:
    at = key(case, array(case))
    return case.is_("x[key]", f"x[{at}]", lambda _, *x: np.asanyarray(x[0][filled(at, x)])
                    if isinstance(x[0], np.ndarray) else x[0][filled(at, x)], ulps=0)  # fmt: skip


def mask(case: Case, shape: list[int], x: int) -> Any:
    """One of the Array's own shape, or of its first axes, in any layout."""
    draw = case.draw
    dims = len(shape) if draw.below(3) else draw.integer(0, len(shape))
    if draw.rarely(4) and dims == len(shape) and case.dtypes[x] not in ("bool", "complex64"):
        case.again(x, same=True)
        return None
    return Slot(case.operand(shape[:dims], "bool"))


def by_mask(case: Case) -> Case:
    """x[mask], x[x > 1], and into it."""
    draw = case.draw
    kind = draw.one_of(["read", "number", "+=", "*=", "array"])
    shape = array(case, written=kind != "read")
    at = mask(case, shape, 0)
    op = IN_PLACE.get(kind)
    if kind == "array":
        case.operand([], case.dtypes[0])

    def run(_: Any, *x: Any) -> Any:
        chosen = x[1] > 1 if at is None else filled(at, x)
        if kind == "read":
            return x[0][chosen]
        if op is None:
            x[0][chosen] = x[-1] if kind == "array" else 3
        else:
            x[0][chosen] = op(x[0][chosen], 2)
        return None

    text = f"x[{'y > 1' if at is None else at}] {kind}"
    return case.is_("x[mask]", text, run, ulps=0)


def assigned(case: Case) -> Case:
    draw = case.draw
    shape = array(case, written=True)
    at = key(case, shape, distinct=True)
    kind = draw.one_of(["number", "array", "+=", "*=", "-=", "part"])
    base = case.operands[0]
    op = IN_PLACE.get(kind)
    if kind in ("array", "part"):
        try:
            views = [one.view(one.base) for one in case.operands]
            into = list(np.shape(views[0][filled(at, tuple(views))]))
        except IndexError:
            into = []
        if kind == "part":
            into = case.part_of(into)
        if np.prod(into, dtype=int) > 40000:
            into = []
        dtype = base.dtype if draw.below(2) else case.dtype("fciub")
        case.operand(into, dtype, "counts")
        case.operands[-1].on_host = draw.rarely(5) and dtype != "bfloat16"
    number = draw.one_of([2, 0, True, 1.0])

    def run(_: Any, *x: Any) -> Any:
        where = filled(at, x)
        if kind == "number":
            x[0][where] = number
        elif op is None:
            x[0][where] = x[-1]
        else:
            # What x[where] += 2 does, of NumPy's numbers too.
            x[0][where] = op(x[0][where], 2)

    return case.is_("x[key] = y", f"x[{at}] {kind} {number}", run, ulps=0)


def overlapping(case: Case) -> Case:
    """x[1:] = x[:-1] and the like: all is read before it is written."""
    draw = case.draw
    shape = case.shape(1, 4, 1000)
    case.operand(shape, case.dtype("fciub"), written=True)
    op = draw.one_of(["=", "+=", "-="])
    keys = draw.one_of([
        (slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None)),
        (slice(None), slice(None, None, -1)), (slice(None, None, -1), slice(None)),
        (slice(None), slice(0, 1)), (slice(None), slice(-1, None)),
    ])  # fmt: skip

    def run(_: Any, x: Any) -> Any:
        if op == "=":
            x[keys[0]] = x[keys[1]]
        else:
            part = x[keys[0]]
            IN_PLACE[op](part, x[keys[1]])

    return case.is_("x[a] = x[b]", f"x[{keys[0]}] {op} x[{keys[1]}]", run, ulps=0)


def functions(case: Case) -> Case:
    draw = case.draw
    name = draw.one_of(["take", "take None", "take_along_axis", "put", "put_along_axis", "compress",
                        "extract", "choose", "place", "putmask", "copyto", "fill_diagonal",
                        "x.take", "add.at"])  # fmt: skip
    writes = name in ("put", "put_along_axis", "place", "putmask", "copyto", "fill_diagonal",
                      "add.at")  # fmt: skip
    shape = case.shape(1, 3, 500)
    dtype = case.dtype("iu" if name == "add.at" else "fciub")
    case.operand(shape, dtype, written=writes)
    axis = draw.integer(-len(shape), len(shape) - 1)
    size = shape[axis]
    total = int(np.prod(shape, dtype=int))
    calls: dict[str, Any] = {
        "take": lambda xp, x, i: xp.take(x, i, axis=axis),
        "x.take": lambda _, x, i: x.take(i, axis=axis),
        "take None": lambda _, x, i: np.take(x, i),
        "compress": lambda xp, x, c: xp.compress(c, x, axis=axis),
        "extract": lambda xp, x, c: xp.extract(c, x),
        "place": lambda xp, x, c: xp.place(x, c, [1, 2]),
        "putmask": lambda xp, x, c: xp.putmask(x, c, 2),
        "copyto": lambda xp, x, c: xp.copyto(x, 2, where=c),
        "fill_diagonal": lambda xp, x: xp.fill_diagonal(x, 2),
        "put": lambda xp, x, i: xp.put(x, i, 2),
        "take_along_axis": lambda xp, x, i: xp.take_along_axis(x, i, axis=axis),
        "put_along_axis": lambda xp, x, i: xp.put_along_axis(x, i, 2, axis=axis),
        "choose": lambda xp, x, i: xp.choose(i, [x, x]),
        "add.at": lambda _, x, i: np.add.at(x, i, 1),
    }
    if name == "compress":
        case.operand([size], "bool")
    elif name in ("extract", "place", "putmask", "copyto"):
        case.operand(shape, "bool")
    elif name == "choose":
        case.holding(draw.rng.integers(0, 2, shape))
    elif name in ("take_along_axis", "put_along_axis"):
        own = [draw.integer(0, 4) if i == axis % len(shape) else n for i, n in enumerate(shape)]
        own = own if size else shape
        case.holding(draw.rng.integers(-size, size, own) if size else np.zeros(own, int))
    elif name != "fill_diagonal":
        own = [draw.integer(0, 5) for _ in range(draw.integer(1, 2))]
        indices(case, total if name in ("put", "take None") else size if name != "add.at" else
                shape[0], own, False)  # fmt: skip
    for one in case.operands[1:]:
        one.on_host = False
    return case.is_(name, f"of axis {axis}", calls[name], ulps=0)


KINDS = [read, read, by_mask, by_mask, assigned, assigned, overlapping, functions]
