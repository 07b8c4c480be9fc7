"""Functions, operators and comparisons of each element."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .case import Case

#: contents and roundings, and the functions that are drawn so
UNARY: dict[tuple[str, float], str] = {
    ("special", 0): """
    negative abs positive square floor ceil trunc rint signbit isnan isinf isfinite
    logical_not real imag conj isneginf isposinf iscomplex isreal fabs fix
    """,
    ("special", 8): """
    sqrt exp expm1 exp2 log log1p log2 log10 sin cos tan sinh cosh tanh asinh atan cbrt
    deg2rad rad2deg angle nan_to_num sign
    """,
    ("unit", 8): "acos asin atanh sinc",
    ("unit", 32): "i0",
    ("positive", 8): "acosh",
    ("small", 8): "reciprocal spacing frexp modf",
    ("small", 0): "bitwise_invert bitwise_count invert",
}
BINARY: dict[tuple[str, float], str] = {
    ("small", 2): "add subtract multiply divide",
    ("special", 0): """
    maximum minimum fmax fmin less less_equal greater greater_equal equal not_equal
    logical_and logical_or logical_xor isclose copysign nextafter heaviside
    """,
    ("small", 0): """
    floor_divide remainder fmod divmod bitwise_and bitwise_or bitwise_xor gcd lcm
    """,
    ("small", 8): "atan2 hypot logaddexp logaddexp2",
    ("counts", 32): "pow float_power",
    ("counts", 0): "bitwise_left_shift bitwise_right_shift ldexp",
}


def listed(table: dict[tuple[str, float], str]) -> list[tuple[str, str, float]]:
    """Each name, with its contents and roundings."""
    return [(name, *how) for how, names in table.items() for name in names.split()]


ROUNDED_BY_DTYPE = {"spacing", "nextafter", "frexp", "ldexp", "nan_to_num"}
#: of which NumPy makes floats, and the standard what they were
KEPT = {"rint", "fix", "conj", "square", "sign"}
#: of integers NumPy makes other things
OF_FLOATS = {"spacing", "nextafter", "frexp", "ldexp", "reciprocal", "modf"}
#: of integers these are floats
OF_INTEGERS_TOO = {"atan2", "hypot", "logaddexp", "logaddexp2", "float_power"}
#: off by roundings of what they are the small difference of
CANCELLING = {"sinc", "logaddexp", "logaddexp2"}
#: rounded to the dtype between
SEVERAL_STEPS = {"logaddexp2", "sinc", "i0", "angle"}

OPERATORS: dict[str, Any] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "&": operator.and_,
    "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne,
    ">": operator.gt, ">=": operator.ge, "divmod": divmod,
}  # fmt: skip
IN_PLACE: dict[str, Any] = {
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv,
    "//=": operator.ifloordiv, "%=": operator.imod, "**=": operator.ipow, "&=": operator.iand,
    "|=": operator.ior, "^=": operator.ixor, "<<=": operator.ilshift, ">>=": operator.irshift,
}  # fmt: skip


def unary(case: Case) -> Case:
    name, values, ulps = case.draw.one_of(listed(UNARY))
    shape, dtype = case.shape(), case.dtype("fc" if name in OF_FLOATS else "fciub")
    if name == "nan_to_num" and dtype == "bfloat16":
        dtype = "float32"  # The largest number is another.
    case.operand(shape, dtype, values)
    return case.is_(
        name, "f(x)", lambda xp, x: getattr(xp, name)(x), ulps=ulps, floats=ulps > 0,
        narrow=name in ROUNDED_BY_DTYPE, any_dtype=name in KEPT, loose=name in SEVERAL_STEPS,
        by="whole" if name in CANCELLING else "",
    )  # fmt: skip


def pair(
    case: Case, values: str, second: str | None = None, name: str = "", written: bool = False
) -> tuple[list[int], list[int]]:
    kinds = "fc" if name in OF_FLOATS else "fciub"
    shape, dtype = case.shape(), case.dtype(kinds)
    other = dtype if case.draw.below(3) else case.dtype(kinds)
    if name == "ldexp":
        other = case.dtype("iub")
    a, b = case.part_of(shape), case.part_of(shape)
    case.operand(a, dtype, values, written)
    case.operand(b, other, second or values)
    return a, b


def binary(case: Case) -> Case:
    name, values, ulps = case.draw.one_of(listed(BINARY))
    pair(case, values if values != "counts" else "small", values, name)
    return case.is_(
        name, "f(x, y)", lambda xp, x, y: getattr(xp, name)(x, y), ulps=ulps,
        floats=name in OF_INTEGERS_TOO, narrow=name in ROUNDED_BY_DTYPE,
        loose=name in SEVERAL_STEPS, by="whole" if name in CANCELLING else "",
    )  # fmt: skip


def scalar(case: Case) -> Case:
    """An operator between an Array and one of Python's numbers."""
    symbol = case.draw.one_of(list(OPERATORS))
    op = OPERATORS[symbol]
    shape, dtype = case.shape(), case.dtype("fciub")
    case.operand(shape, dtype, "counts" if symbol in ("**", "<<", ">>") else "small")
    number = case.draw.one_of([2, 1, 0, -3, 0.5, -2.0, True, 1j, 300, 2**40])
    if dtype in ("float16", "bfloat16") and number == 2**40:
        number = 40
    if symbol in ("**", "<<", ">>") and not isinstance(number, (float, complex)):
        number = abs(int(number)) % 8
    if case.draw.below(2):
        return case.is_(symbol, f"{number} {symbol} x", lambda _, x: op(number, x),
                        ulps=32)  # fmt: skip
    return case.is_(symbol, f"x {symbol} {number}", lambda _, x: op(x, number), ulps=32)


def operators(case: Case) -> Case:
    symbol = case.draw.one_of(list(OPERATORS))
    op = OPERATORS[symbol]
    pair(case, "small", "counts" if symbol in ("**", "<<", ">>") else "small")
    if case.draw.rarely(4):
        case.operands[-1].on_host = "bfloat16" not in case.dtypes
    return case.is_(symbol, f"x {symbol} y", lambda _, x, y: op(x, y), ulps=32)


def in_place(case: Case) -> Case:
    """Into what is a view, perhaps of the other's memory."""
    symbol = case.draw.one_of(list(IN_PLACE))
    op = IN_PLACE[symbol]
    shape, dtype = case.shape(), case.dtype("fciub")
    values = "counts" if symbol in ("**=", "<<=", ">>=") else "small"
    x = case.operand(shape, dtype, values, written=True)
    if case.draw.rarely(3) and symbol not in ("**=", "<<=", ">>=", "//=", "%=", "/="):
        case.again(x)
    else:
        other = dtype if case.draw.below(3) else case.dtype("fciub")
        signs = "positive" if symbol in ("//=", "%=", "/=") else values
        case.operand(case.part_of(shape), other, signs)

    def run(_: Any, x: Any, y: Any) -> Any:
        op(x, y)

    return case.is_(symbol, f"x {symbol} y", run, ulps=32)


def into_out(case: Case) -> Case:
    name, values, ulps = case.draw.one_of([one for one in listed(BINARY) if one[0] != "divmod"])
    over = case.draw.rarely(4)
    a, b = pair(case, values if values != "counts" else "small", values, name, over)
    try:
        shape = list(np.broadcast_shapes(a, b))
    except ValueError:
        shape = a
    dtype = case.operands[0].dtype if case.draw.below(3) else case.dtype("fciub")
    if over and a == shape:
        case.again(0, same=True)
    else:
        case.operand(shape, dtype, "small", written=True)

    def run(xp: Any, x: Any, y: Any, out: Any) -> Any:
        return getattr(np, name)(x, y, out=out)

    return case.is_(f"{name} out", "f(x, y, out=z)", run, ulps=ulps, ours=False,
                    floats=name in OF_INTEGERS_TOO,
                    narrow=name in ROUNDED_BY_DTYPE, loose=name in SEVERAL_STEPS,
                    by="whole" if name in CANCELLING else "")  # fmt: skip


def ufunc_method(case: Case) -> Case:
    """None that is refused: NumPy keeps what it gave to an `__array_ufunc__` that raised."""
    name = case.draw.one_of(["add", "multiply", "maximum", "minimum", "logical_and", "logical_or"])
    ufunc = getattr(np, name)
    method = case.draw.one_of(["reduce", "accumulate", "outer"])
    values = "signs" if name == "multiply" else "small"
    shape, dtype = [max(1, n) for n in case.shape(1, 3, 500)], case.dtype("fiu")
    case.operand(shape, dtype, values)
    if method == "outer":
        case.operand(case.shape(0, 2, 6), dtype, values)
        return case.is_("outer", f"{name}.outer(x, y)", lambda _, x, y: ufunc.outer(x, y))
    axis = case.draw.integer(-len(shape), len(shape) - 1)
    by = "sums" if name == "add" else ""
    return case.is_(method, f"{name}.{method}(x, axis={axis})", ours=False, by=by,
                    run=lambda _, x: getattr(ufunc, method)(x, axis=axis))  # fmt: skip


def several(case: Case) -> Case:
    """where, clip, round, select and other functions of more operands."""
    draw = case.draw
    shape, dtype = case.shape(), case.dtype("fciub")
    other = dtype if draw.below(3) else case.dtype("fciub")
    kind = draw.one_of(["where", "clip", "round", "chain", "where=", "select"])
    if kind == "where":
        case.operand(case.part_of(shape), "bool" if draw.below(4) else dtype)
        case.operand(case.part_of(shape), dtype, "special")
        case.operand(case.part_of(shape), other, "special")
        return case.is_(kind, "where(c, x, y)", lambda xp, c, x, y: xp.where(c, x, y), ulps=0)
    if kind == "select":
        case.operand(shape, "bool")
        case.operand(shape, dtype)
        return case.is_(kind, "select([c], [x], 1)", ulps=0,
                        run=lambda xp, c, x: xp.select([c], [x], 1))  # fmt: skip
    if kind == "clip":
        case.operand(shape, dtype, "special")
        low, high = draw.one_of([(-1, 2), (0, 3), (None, 1), (1, None), (2, 1), (0.5, 3)])
        return case.is_(kind, f"clip(x, {low}, {high})", ulps=0,
                        run=lambda xp, x: xp.clip(x, low, high))  # fmt: skip
    if kind == "round":
        decimals = draw.one_of([0, 1, 2, -1])
        case.operand(shape, dtype, "special")
        if draw.below(2):
            return case.is_(kind, f"x.round({decimals})", lambda _, x: x.round(decimals),
                            any_dtype=dtype == "bool")  # fmt: skip
        return case.is_(kind, f"np.round(x, {decimals})", lambda _, x: np.round(x, decimals),
                        any_dtype=dtype == "bool")  # fmt: skip
    if kind == "where=":
        case.operand(shape, dtype)
        case.operand(case.part_of(shape), "bool")
        case.operand(shape, dtype, written=True)
        return case.is_(kind, "np.add(x, 1, out=z, where=c)", ours=False,
                        run=lambda _, x, c, z: np.add(x, 1, out=z, where=c))  # fmt: skip
    # Several steps, which a device may take as one program.
    case.operand(shape, dtype)
    case.operand(case.part_of(shape), dtype)
    return case.is_(
        kind, "where(x * y + x > y, abs(x - y), x).sum()", by="sums", ulps=32, any_dtype=True,
        run=lambda xp, x, y: xp.sum(xp.where(x * y + x != y, abs(x - y), x)),
    )  # fmt: skip


KINDS = [unary, binary, scalar, operators, in_place, into_out, ufunc_method, several]
