"""Elementwise functions by NumPy's form: out= by its place, where=, dtype=, casting=, order= and
subok=."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tilewright.array import Array

OPTIONS = ("out", "where", "dtype", "casting", "order", "subok")
# NumPy's names of what is called otherwise here.
NAMES = {
    "abs": "absolute",
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "pow": "power",
    "round": "rint",
}


def with_options(name: str, inputs: tuple[Any, ...], out: Any, options: dict[str, Any]) -> Array:
    """A function with some of NumPy's options."""
    return _called(name, inputs, (out,), options)  # type: ignore[no-any-return]


def pair_with_options(
    name: str, inputs: tuple[Any, ...], out: Any, options: dict[str, Any]
) -> tuple[Array, Array]:
    """The same of a function with two results."""
    return _called(name, inputs, out, options)  # type: ignore[no-any-return]


def _called(name: str, inputs: tuple[Any, ...], outs: Any, options: dict[str, Any]) -> Any:
    from tilewright.namespace import protocols, ufuncs

    for one in options:
        if one not in OPTIONS:
            raise TypeError(f"{name}() takes no keyword {one!r}, expected {', '.join(OPTIONS)}")
    ufunc = getattr(np, NAMES.get(name, name))

    def refuse(extra: Any) -> None:
        protocols.refuse_ufunc(ufunc, "__call__", inputs, extra)

    return ufuncs.called(ufunc, name, inputs, {**options, "out": outs}, refuse)


def of_compiled(name: str, operands: int, given: tuple[Any, ...], named: dict[str, Any]) -> Array:
    """A call of a compiled function that is not of the form f(x, y, out=z)."""
    if name == "round" and (rounding := _rounding(given, named)) is not None:
        from tilewright.namespace.numeric import rounded

        return rounded(*rounding)
    is_known = isinstance(getattr(np, NAMES.get(name, name), None), np.ufunc)
    extra = [one for one in named if one not in OPTIONS] if is_known else [
        one for one in named if one != "out"
    ]  # fmt: skip
    if extra:
        expected = "where, dtype, casting, order, subok and out" if is_known else "out"
        raise TypeError(f"{name}() takes no keyword but {expected}; {extra[0]!r} is given")
    count = len(given)
    if count != operands and not (is_known and count == operands + 1 and "out" not in named):
        raise TypeError(
            f"{name}() takes {operands} operand{'s' * (operands > 1)}, and {count} "
            f"{'is' if count == 1 else 'are'} given"
        )
    options = dict(named)
    out = options.pop("out", None)
    if count > operands:
        out = given[operands]
    return with_options(name, given[:operands], out, options)


def _rounding(given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any, Any] | None:
    """The arguments of round(a, decimals=0, out=None); None where it is called as np.rint is."""
    from tilewright.array import Array

    is_plain = "a" not in named and "decimals" not in named and len(given) < 3
    if is_plain and (len(given) < 2 or isinstance(given[1], Array) or given[1] is None):
        return None
    places = ("a", "decimals", "out")
    found = dict(zip(places, given, strict=False))
    for one, value in named.items():
        if one not in places or one in found:
            raise TypeError(f"round() takes a, decimals and out, each once; {one!r} is given")
        found[one] = value
    if "a" not in found or len(given) > 3:
        raise TypeError("round() takes a, decimals and out")
    return found["a"], found.get("decimals", 0), found.get("out")
