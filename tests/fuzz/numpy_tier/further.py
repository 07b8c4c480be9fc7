"""NumPy's functions that are seldom called, each with plain arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .case import Case

LOOSE: dict[str, Any] = {"by": "whole", "ulps": 64, "loose": True, "any_dtype": True,
                         "floats": True}  # fmt: skip


def vectors(case: Case) -> Case:
    """Polynomials and what else takes one dimension."""
    draw = case.draw
    dtype = case.dtype("fi")
    n, m = draw.integer(1, 6), draw.integer(1, 6)
    name = draw.one_of(["polyval", "polyadd", "polysub", "polymul", "polyder", "polyint", "unwrap",
                        "trim_zeros", "packbits", "unpackbits", "ix_",
                        "tril_indices_from"])  # fmt: skip
    # NumPy's polymul() leaves out leading zeros.
    values = "positive" if name == "polymul" else "small"
    case.operand([n], dtype, values)
    calls: dict[str, Callable[..., Any]] = {
        "polyder": lambda xp, x: xp.polyder(x),
        "polyint": lambda xp, x: xp.polyint(x),
        "unwrap": lambda xp, x: xp.unwrap(x),
        "trim_zeros": lambda xp, x: xp.trim_zeros(x),
    }
    if name in calls:
        return case.is_(name, f"f(x) of {n}", calls[name], **LOOSE)
    if name in ("packbits", "unpackbits"):
        case.operands.clear()
        shape = case.shape(1, 3, 200)
        axis = draw.integer(-len(shape), len(shape) - 1)
        order = draw.one_of(["big", "little"])
        case.operand(shape, "bool" if name == "packbits" else "uint8", "any")
        return case.is_(
            name, f"f(x, axis={axis}, {order!r})",
            lambda xp, x: getattr(xp, name)(x, axis=axis, bitorder=order),
        )  # fmt: skip
    if name == "ix_":
        case.operands.clear()
        case.operand([n], "int32")
        case.operand([m], "bool")
        return case.is_(name, "ix_(x, y)", lambda xp, x, y: xp.ix_(x, y))
    if name == "tril_indices_from":
        case.operands.clear()
        case.operand([n, m], dtype)
        return case.is_(name, "f(x, 1)", lambda xp, x: xp.tril_indices_from(x, 1))
    case.operand([m] if name != "polyval" else case.shape(0, 3, 100), dtype, values)
    return case.is_(name, "f(x, y)", lambda xp, x, y: getattr(xp, name)(x, y),
                    **{**LOOSE, "floats": case.operands[0].base.dtype.kind == "f"})  # fmt: skip


def by_functions(case: Case) -> Case:
    """What calls a function back."""
    draw = case.draw
    shape, dtype = case.shape(1, 3, 200), case.dtype("fiu")
    axis = draw.integer(-len(shape), len(shape) - 1)
    name = draw.one_of(["apply_over_axes", "apply_along_axis", "piecewise"])
    if name == "apply_along_axis":
        shape = [min(3, max(1, size)) for size in shape]
    case.operand(shape, dtype)
    calls: dict[str, Callable[..., Any]] = {
        "apply_over_axes": lambda _, x: np.apply_over_axes(np.sum, x, [axis]),
        "apply_along_axis": lambda _, x: np.apply_along_axis(lambda one: one[0] + one, axis, x),
        "piecewise": lambda _, x: np.piecewise(x, [x > 1, x < 0], [1, lambda one: -one]),
    }
    return case.is_(name, f"axis {axis}", calls[name], ours=False, by="sums", any_dtype=True)


def places(case: Case) -> Case:
    draw, rng = case.draw, case.draw.rng
    name = draw.one_of(["unravel_index", "ravel_multi_index", "diag_indices_from", "nanargmax",
                        "nanargmin", "array_equal", "allclose", "may_share_memory",
                        "resize"])  # fmt: skip
    if name == "unravel_index":
        case.holding(rng.integers(0, 24, [draw.integer(0, 5), 2]), on_host=False)
        return case.is_(name, "f(x, (2, 3, 4))", lambda xp, x: xp.unravel_index(x, (2, 3, 4)))
    if name == "ravel_multi_index":
        for size in (2, 3):
            case.holding(rng.integers(0, size, 5), on_host=False)
        return case.is_(
            name, "f((x, y), (2, 3))", lambda xp, x, y: xp.ravel_multi_index((x, y), (2, 3))
        )
    shape, dtype = case.shape(1, 3, 300), case.dtype("fiu")
    if name == "diag_indices_from":
        case.operand([shape[0]] * draw.integer(2, 3), "int8")
        return case.is_(name, "f(x)", lambda xp, x: xp.diag_indices_from(x))
    if name in ("array_equal", "allclose"):
        case.operand(shape, dtype, "special")
        case.again(0, same=draw.below(2) == 0)
        return case.is_(name, "f(x, y)", lambda xp, x, y: bool(getattr(xp, name)(x, y)))
    axis = draw.integer(-len(shape), len(shape) - 1)
    x = case.operand([max(1, size) for size in shape], dtype)
    if name == "may_share_memory":
        if draw.below(2):
            case.again(x, same=True)
        else:
            case.operand(shape, dtype)
        return case.is_(name, "f(x, y)", lambda xp, x, y: bool(xp.shares_memory(x, y)))
    if name == "resize":
        to = [draw.integer(0, 4) for _ in range(2)]
        return case.is_(name, f"f(x, {to})", lambda xp, x: xp.resize(x, to))
    return case.is_(name, f"f(x, axis={axis})", lambda xp, x: getattr(xp, name)(x, axis=axis))


KINDS = [vectors, by_functions, places]
