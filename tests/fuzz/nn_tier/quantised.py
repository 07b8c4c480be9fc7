"""Integers with scales, and weights in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import tilewright as tw

from .case import Case

HELD = ["float32", "float16"]
FORMATS = ["q8_0", "q4_0", "q4_1"]


def of(case: Case, name: str, *arguments: Any, **options: Any) -> Case:
    case.calls("relu")
    case.name, case.arguments, case.options = name, list(arguments), options
    case.call = lambda _, *given, **named: getattr(tw.quant, name)(*given, **named)
    return case


def scales(case: Case) -> Case:
    """quantize, dequantize and requantize, by the powers of two of which nothing is rounded."""
    draw = case.draw
    name = draw.one_of(["quantize", "dequantize", "requantize"])
    shape = case.shape(1)
    of_x = {"quantize": draw.one_of(HELD), "dequantize": draw.one_of(["int8", "uint8"]),
            "requantize": "int32"}[name]  # fmt: skip
    x = case.array(shape, of_x)
    options: dict[str, Any] = {}
    zero: Any = draw.one_of([0, 3, 1])
    scale: Any = draw.one_of([0.5, 1.0, 0.25, 2.0])
    if draw.below(2):
        axis = draw.integer(-len(shape), len(shape) - 1)
        options["axis"] = axis
        scale = case.content(2.0 ** draw.rng.integers(-2, 2, shape[axis]), "float32")
        if name != "requantize" and draw.below(2):
            zero = case.content(draw.rng.integers(0, 4, shape[axis]), "int32")
    if name != "dequantize" and draw.below(2):
        options["dtype"] = draw.one_of(["int8", "uint8"])

    def line(x: Any, one: Any, axis: Any) -> Any:
        if axis is None or np.ndim(one) == 0:
            return one
        return np.reshape(one, [-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])

    def formula(x: Any, scale: Any, zero: Any, axis: Any = None, dtype: str = "int8") -> Any:
        scale, zero = line(x, scale, axis), line(x, zero, axis)
        x = x.astype(np.float64)
        if name == "dequantize":
            return (x - zero) * scale
        info = np.iinfo(dtype)
        found = np.rint(x / scale if name == "quantize" else x * scale) + zero
        return np.clip(found, info.min, info.max).astype(dtype)

    return of(case, name, x, scale, zero, **options).to(formula=formula, ulps=0, by="")


def measured(case: Case) -> Case:
    draw = case.draw
    name = draw.one_of(["calibrate", "quantize_dynamic"])
    shape = [max(1, size) for size in case.shape(1)]
    options: dict[str, Any] = {"symmetric": bool(draw.below(2))}
    if draw.below(2):
        options["axis"] = draw.integer(-len(shape), len(shape) - 1)
    if draw.rarely(3):
        options["dtype"] = draw.one_of(["int8", "uint8"])
    if name == "calibrate" and draw.rarely(3):
        options["method"] = draw.one_of(["percentile", "mse"])
    x = case.array(shape, draw.one_of(HELD), "normal")
    return of(case, name, x, **options).to(beside="cpu", loose=True, ulps=16)


def integers(case: Case) -> Case:
    draw = case.draw
    name = draw.one_of(["qmatmul", "qlinear", "qadd", "qrelu", "qconv2d"])
    dtype = draw.one_of(["int8", "uint8"])
    n, m, k = (draw.one_of([3, 1, 8, 17, 0, 300]) for _ in range(3))
    exact = {"ulps": 0, "by": ""}
    if name == "qmatmul":
        a, b = case.array([n, k], dtype, "any"), case.array([k, m], dtype, "any")
        zeros = (draw.integer(0, 5), draw.integer(0, 5))

        def product(a: Any, b: Any, p: int, q: int) -> Any:
            return ((a.astype(np.int64) - p) @ (b.astype(np.int64) - q)).astype(np.int32)

        return of(case, name, a, b, *zeros).to(formula=product, **exact)
    if name == "qlinear":
        x, w = case.array([n, k], dtype, "any"), case.array([m, k], dtype, "any")
        bias = case.maybe([m], "int32")

        def layer(x: Any, w: Any, bias: Any, p: int, q: int) -> Any:
            found = (x.astype(np.int64) - p) @ (w.astype(np.int64) - q).T
            return (found if bias is None else found + bias).astype(np.int32)

        return of(case, name, x, w, bias, 1, 2).to(formula=layer, **exact)
    if name == "qrelu":
        zero = draw.integer(0, 4)
        x = case.array(case.shape(), dtype, "any")
        return of(case, name, x, zero).to(formula=np.maximum, **exact)
    if name == "qadd":
        shape = case.shape()
        a, b = case.array(shape, dtype, "any"), case.array(shape, dtype, "any")
        return of(case, name, a, 0.5, 1, b, 0.25, 2, 1.0, 3).to(beside="cpu", **exact)
    x = case.array([2, 3, 5, draw.integer(3, 6)], dtype, "any")
    w = case.array([draw.integer(1, 4), 3, 2, 3], dtype, "any")
    options = {"stride": draw.integer(1, 2), "padding": draw.integer(0, 2)}
    return of(case, name, x, w, None, 1, 2, **options).to(beside="cpu", **exact)


def blocks(case: Case) -> Case:
    draw = case.draw
    rows, columns = draw.one_of([4, 1, 3, 17]), draw.one_of([32, 64, 256, 96])
    count, how = draw.one_of([2, 1, 5, 9, 33]), draw.one_of(FORMATS)
    w = case.array([rows, columns], draw.one_of(HELD))
    if draw.below(2):
        of(case, "quantize_blocks", w, how)
        case.call = lambda _, w, how: tw.quant.quantize_blocks(w, how).dequantize()
        return case.to(beside="cpu")
    x = case.array([count, columns], draw.one_of(HELD))
    name = draw.one_of(["matmul", "linear"])
    of(case, name, x, w, how)

    def call(_: Any, x: Any, w: Any, how: str) -> Any:
        blocks = tw.quant.quantize_blocks(w, how)
        return tw.nn.linear(x, blocks) if name == "linear" else tw.quant.matmul(x, blocks)

    case.call = call
    return case.to(beside="cpu", loose=True, ulps=16)


def groups(case: Case) -> Case:
    draw = case.draw
    size = draw.one_of([32, 64, None])
    w = case.array([draw.one_of([2, 1, 8]), draw.one_of([64, 128])], draw.one_of(HELD))
    of(case, "quantize_int4", w, size, symmetric=bool(draw.below(2)))
    case.call = lambda _, w, size, symmetric: tw.quant.quantize_int4(
        w, size, symmetric=symmetric).dequantize()  # fmt: skip
    return case.to(beside="cpu")


#: bytes and weights of a block
BLOCKS = {"q8_0": (34, 32), "q4_0": (18, 32), "q4_1": (20, 32), "q5_0": (22, 32), "q5_1": (24, 32),
          "q2_k": (84, 256), "q3_k": (110, 256), "q4_k": (144, 256), "q5_k": (176, 256),
          "q6_k": (210, 256), "mxfp4": (17, 32)}  # fmt: skip


def of_bytes(case: Case) -> Case:
    """Of any bytes, whose scales are any numbers."""
    draw = case.draw
    how = draw.one_of(list(BLOCKS))
    size, weights = BLOCKS[how]
    rows, count = draw.one_of([2, 1, 5]), draw.one_of([1, 2, 3])
    content = draw.rng.integers(0, 256, [rows * count * size])
    of(case, f"from_blocks({how})", case.content(content, "uint8"), how, (rows, count * weights))
    multiplied = draw.rarely(3)

    def call(be: Any, blocks: Any, how: Any, shape: Any) -> Any:
        given = blocks.numpy() if isinstance(blocks, tw.Array) else blocks
        made = tw.quant.QuantizedTensor.from_blocks(given, how, shape, device=be)
        if multiplied:
            return (tw.ones((3, shape[1]), device=be) @ made.T).shape
        return made.dequantize()

    case.call = call
    return case.to(beside="cpu", ulps=0, by="")


KINDS = [scales, scales, measured, integers, blocks, groups, of_bytes]
