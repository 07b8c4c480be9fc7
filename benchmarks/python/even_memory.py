"""The families of even_speed.py that wait for memory."""

from __future__ import annotations

import math
from typing import Any

from even_cases import Case, Dice, Operand, Shape, by_x

# Ours, torch's name where it is another, whether the operand is positive.
UNARY = [
    ("abs", "abs", False), ("negative", "neg", False), ("exp", "exp", False),
    ("log", "log", True), ("sqrt", "sqrt", True), ("rsqrt", "rsqrt", True),
    ("reciprocal", "reciprocal", True), ("sin", "sin", False), ("cos", "cos", False),
    ("tanh", "tanh", False), ("floor", "floor", False), ("square", "square", False),
    ("log1p", "log1p", True), ("expm1", "expm1", False), ("sign", "sign", False),
]  # fmt: skip
OF_NETWORKS = ["relu", "gelu", "silu", "sigmoid", "softplus", "hardswish", "leaky_relu", "mish"]
BINARY = [
    ("add", "add", False), ("subtract", "sub", False), ("multiply", "mul", False),
    ("divide", "div", True), ("maximum", "maximum", False), ("minimum", "minimum", False),
    ("pow", "pow", True), ("atan2", "atan2", False), ("hypot", "hypot", False),
    ("less", "less", False), ("equal", "eq", False),
]  # fmt: skip


def unary(dice: Dice) -> Case:
    shape = dice.shape(dice.one(1, 2, 3))
    if dice.chance(0.35):
        name = dice.one(*OF_NETWORKS)
        return Case(
            "unary", f"{name} {by_x(shape)}", [Operand(shape)],
            lambda m, x: getattr(m.nn, name)(x),
            lambda m, x: getattr(m.nn.functional, name)(x), 2 * math.prod(shape),
        )  # fmt: skip
    ours, theirs, positive = dice.one(*UNARY)
    return Case(
        "unary", f"{ours} {by_x(shape)}", [Operand(shape, "positive" if positive else "normal")],
        lambda m, x: getattr(m, ours)(x), lambda m, x: getattr(m, theirs)(x),
        2 * math.prod(shape),
    )  # fmt: skip


def binary(dice: Dice) -> Case:
    shape = dice.shape(dice.one(1, 2, 3))
    ours, theirs, positive = dice.one(*BINARY)
    operands = [Operand(shape, "positive" if positive else "normal")]
    if dice.chance(0.25) and ours not in ("atan2", "hypot", "maximum", "minimum"):
        return Case(
            "binary", f"{ours} {by_x(shape)} and a number", operands,
            lambda m, x: getattr(m, ours)(x, 0.75), lambda m, x: getattr(m, theirs)(x, 0.75),
            2 * math.prod(shape),
        )  # fmt: skip
    operands.append(Operand(shape, operands[0].kind))
    return Case(
        "binary", f"{ours} {by_x(shape)}", operands,
        lambda m, x, y: getattr(m, ours)(x, y), lambda m, x, y: getattr(m, theirs)(x, y),
        3 * math.prod(shape),
    )  # fmt: skip


def broadcast(dice: Dice) -> Case:
    ours, theirs, positive = dice.one(*BINARY[:6])
    kind = dice.one("row", "column", "outer", "channels")
    shape = dice.shape(3 if kind == "channels" else 2)
    pairs: dict[str, tuple[Shape, Shape]] = {
        "row": (shape, shape[-1:]),
        "column": (shape, (*shape[:-1], 1)),
        "outer": ((shape[0], 1), (shape[-1],)),
        "channels": (shape, (1, *shape[1:-1], 1)),
    }
    operands = [Operand(one, "positive" if positive else "normal") for one in pairs[kind]]
    return Case(
        "broadcast", f"{ours} {by_x(shape)} by {kind}", operands,
        lambda m, x, y: getattr(m, ours)(x, y), lambda m, x, y: getattr(m, theirs)(x, y),
        math.prod(shape) * (1 if kind == "outer" else 2),
    )  # fmt: skip


FUSED: list[tuple[str, Any, int]] = [
    ("a * b + c * tanh(d)", lambda m, a, b, c, d: a * b + c * m.tanh(d), 4),
    ("sqrt(a * a + b * b)", lambda m, a, b: m.sqrt(a * a + b * b), 2),
    ("where(a < b, a * c, b)", lambda m, a, b, c: m.where(a < b, a * c, b), 3),
    ("exp(a - b) / (c * c + 1)", lambda m, a, b, c: m.exp(a - b) / (c * c + 1), 3),
    ("(a - b) * (a - b)", lambda m, a, b: (a - b) * (a - b), 2),
]


def fused(dice: Dice) -> Case:
    text, write, count = dice.one(*FUSED)
    shape = dice.shape(dice.one(1, 2))
    return Case(
        "fused", f"{text} {by_x(shape)}", [Operand(shape)] * count, write, write,
        (count + 1) * math.prod(shape), deferred=True,
    )  # fmt: skip


def permuted(axes: Shape) -> Any:
    """That view in either library."""
    return lambda m, x: m.permute_dims(x, axes) if hasattr(m, "permute_dims") else x.permute(axes)


def keeps_order(shape: Shape, axes: Shape) -> bool:
    """Whether elements lie in that order already: torch copies nothing, and we launch nothing."""
    long = [a for a in axes if shape[a] > 1]
    return long == sorted(long)


def views(dice: Dice) -> Case:
    kind = dice.one("copy of a transposed", "add of a transposed", "copy permuted", "every few",
                    "columns cut", "flat")  # fmt: skip
    if kind in ("copy permuted", "flat"):
        axes = tuple(int(a) for a in dice.random.permutation(dice.one(3, 4)))
        shape = dice.shape(len(axes))
        if keeps_order(shape, axes):
            return views(dice)
        label = f"{kind} {by_x(shape)} by {axes}"
        operands = [Operand(shape, view=permuted(axes))]
        own = (lambda m, x: x.copy()) if kind == "copy permuted" else (lambda m, x: m.tanh(x))
        peer = (lambda m, x: x.contiguous()) if kind == "copy permuted" else (
            lambda m, x: m.tanh(x).contiguous())  # fmt: skip
        return Case("views", label.replace("flat", "tanh, in order,"), operands, own, peer,
                    2 * math.prod(shape))  # fmt: skip
    shape = dice.shape(2)
    label = f"{kind} {by_x(shape)}"
    elements = 2 * math.prod(shape)
    if kind == "copy of a transposed":
        if keeps_order(shape, (1, 0)):
            return views(dice)
        return Case("views", label, [Operand(shape, view=permuted((1, 0)))],
                    lambda m, x: x.copy(), lambda m, x: x.contiguous(), elements)  # fmt: skip
    if kind == "add of a transposed":
        operands = [Operand(shape), Operand(shape[::-1], view=permuted((1, 0)))]
        return Case("views", label, operands, lambda m, x, y: m.add(x, y),
                    lambda m, x, y: m.add(x, y), elements / 2 * 3)  # fmt: skip
    if kind == "every few":
        step, axis = dice.one(2, 3, 4), dice.one(0, 1)
        where = (slice(None, None, step), slice(None)) if axis == 0 else (
            slice(None), slice(None, None, step))  # fmt: skip
        operand = Operand(shape, view=lambda m, x: x[where])
        return Case("views", f"exp of every {step} of axis {axis} of {by_x(shape)}", [operand],
                    lambda m, x: m.exp(x), lambda m, x: m.exp(x), elements / step)  # fmt: skip
    left = dice.size(1, max(shape[1] // 2, 1))
    operand = Operand(shape, view=lambda m, x: x[:, left:])
    return Case("views", f"mul of columns from {left} of {by_x(shape)}", [operand],
                lambda m, x: m.multiply(x, 3.0), lambda m, x: m.multiply(x, 3.0),
                elements - 2 * shape[0] * min(left, shape[1]))  # fmt: skip


def reductions(dice: Dice) -> Case:
    ours = dice.one("sum", "sum", "mean", "max", "max", "min", "argmax", "argmin", "var", "prod")
    kind = dice.one("rows", "columns", "all", "middle", "outside")
    shape = dice.shape({"rows": 2, "columns": 2, "all": 1, "middle": 3, "outside": 3}[kind])
    axis: Any = {"rows": 1, "columns": 0, "all": 0, "middle": 1, "outside": (0, 2)}[kind]
    if kind == "outside" and ours in ("argmax", "argmin", "prod"):
        ours = "sum"
    theirs = {"max": "amax", "min": "amin"}.get(ours, ours)
    extra = {"correction": 0} if ours == "var" else {}

    def seen(torch: Any, result: Any, x: Any) -> Any:
        """Of places what is there, since equal elements may be at any of them."""
        if not ours.startswith("arg"):
            return result
        return x.gather(axis, result.long().reshape(*x.shape[:axis], 1, *x.shape[axis + 1 :]))

    kind_of = "near one" if ours == "prod" else "normal"
    # Of numbers near one float32 loses up to 7e-9 of each product in any order, to one side.
    tolerance = 1.5e-8 * shape[axis] if ours == "prod" else 1e-4
    return Case(
        "reductions", f"{ours} of {kind} {by_x(shape)}", [Operand(shape, kind_of)],
        lambda m, x: getattr(m, ours)(x, axis=axis, **extra),
        lambda m, x: getattr(m, theirs)(x, axis, **extra),
        math.prod(shape), seen=seen, tolerance=max(tolerance, 1e-4),
    )  # fmt: skip


def lines(dice: Dice) -> tuple[int, int]:
    """Rows and their length: any, few long or very short ones."""
    kind = dice.one("any", "any", "few", "short")
    if kind == "any":
        rows, length = dice.shape(2)
    elif kind == "few":
        rows = dice.size(1, 64)
        length = dice.size(4096, int(dice.limits.most / 2 / rows))
    else:
        length = dice.size(2, 48)
        rows = dice.size(1024, int(dice.limits.most / 2 / length))
    return rows, length


def softmax(dice: Dice) -> Case:
    name = dice.one("softmax", "log_softmax")
    if dice.chance(0.2):
        shape: Shape = dice.shape(3)
        axis = 1
    else:
        shape, axis = lines(dice), 1
    return Case(
        "softmax", f"{name} {by_x(shape)} along {axis}", [Operand(shape)],
        lambda m, x: getattr(m.nn, name)(x, dim=axis), lambda m, x: getattr(m, name)(x, axis),
        2 * math.prod(shape),
    )  # fmt: skip


def norms(dice: Dice) -> Case:
    name = dice.one("layer_norm", "layer_norm", "rms_norm", "group_norm", "batch_norm")
    if name in ("layer_norm", "rms_norm"):
        rows, length = lines(dice)
        operands = [Operand((rows, length)), *[Operand((length,))] * (2 if name[0] == "l" else 1)]
        return Case(
            "norms", f"{name} {rows}x{length}", operands,
            lambda m, x, *w: getattr(m.nn, name)(x, (length,), *w, eps=1e-5),
            lambda m, x, *w: getattr(m.nn.functional, name)(x, (length,), *w, eps=1e-5),
            2 * rows * length,
        )  # fmt: skip
    batch, channels, side = dice.size(1, 128), dice.size(2, 1024), dice.size(4, 256)
    shape = (batch, channels, side, max(1, side + int(dice.random.integers(-3, 4))))
    moved = math.prod(shape) * 2
    operands = [Operand(shape), Operand((channels,)), Operand((channels,))]
    if name == "group_norm":
        groups = dice.one(*[n for n in (1, 2, 4, 8, 16, 32, channels) if channels % n == 0])
        return Case(
            "norms", f"group_norm of {groups} {by_x(shape)}", operands,
            lambda m, x, w, b: m.nn.group_norm(x, groups, weight=w, bias=b),
            lambda m, x, w, b: m.nn.functional.group_norm(x, groups, w, b), moved,
        )  # fmt: skip
    if dice.chance(0.5):
        return Case(
            "norms", f"batch_norm, training {by_x(shape)}", operands,
            lambda m, x, w, b: m.nn.batch_norm(x, weight=w, bias=b, training=True),
            lambda m, x, w, b: m.nn.functional.batch_norm(x, None, None, w, b, training=True),
            moved,
        )  # fmt: skip
    operands += [Operand((channels,)), Operand((channels,), "positive")]
    return Case(
        "norms", f"batch_norm, inference {by_x(shape)}", operands,
        lambda m, x, w, b, mean, var: m.nn.batch_norm(x, mean, var, weight=w, bias=b),
        lambda m, x, w, b, mean, var: m.nn.functional.batch_norm(x, mean, var, w, b), moved,
    )  # fmt: skip


MEMORY = {
    "unary": (8, unary),
    "binary": (8, binary),
    "broadcast": (8, broadcast),
    "fused": (4, fused),
    "views": (6, views),
    "reductions": (12, reductions),
    "softmax": (8, softmax),
    "norms": (9, norms),
}
