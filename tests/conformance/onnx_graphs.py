"""Models of ONNX with random weights, as exporters write them: ResNet-50, MobileNetV2, BERT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Maker:
    """Gathers nodes and tensors of a graph."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []
        self._count = 0

    def name(self, what: str) -> str:
        self._count += 1
        return f"{what}_{self._count}"

    def tensor(self, values: Any, what: str = "w") -> str:
        name = self.name(what)
        self.tensors.append(numpy_helper.from_array(np.array(values, order="C"), name))
        return name

    def random(self, shape: Sequence[int], scale: float) -> str:
        return self.tensor((self.rng.standard_normal(shape) * scale).astype(np.float32))

    def integers(self, *values: int) -> str:
        return self.tensor(np.array(values, np.int64))

    def op(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = self.name(op)
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def model(self, inputs: Sequence[Any], outputs: Sequence[Any], opset: int) -> Any:
        graph = helper.make_graph(self.nodes, "model", list(inputs), list(outputs), self.tensors)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        made.ir_version = 8
        return made


def image(name: str, *shape: int | str) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))


# Convolutions -----------------------------------------------------------------------------------


def convolution(
    m: Maker, x: str, channels: int, filters: int, window: int, stride: int = 1, groups: int = 1,
    norms: bool = True, padding: int | None = None,
) -> str:  # fmt: skip
    deep = channels // groups
    w = m.random((filters, deep, window, window), (2 / (deep * window * window)) ** 0.5)
    pad = window // 2 if padding is None else padding
    options: dict[str, Any] = {
        "kernel_shape": [window] * 2, "strides": [stride] * 2, "pads": [pad] * 4, "group": groups,
        "dilations": [1, 1],
    }  # fmt: skip
    if not norms:
        return m.op("Conv", x, w, m.random((filters,), 0.1), **options)
    y = m.op("Conv", x, w, **options)
    parts = [
        m.rng.uniform(0.5, 1.5, filters), m.rng.normal(0, 0.1, filters),
        m.rng.normal(0, 0.1, filters), m.rng.uniform(0.5, 1.5, filters),
    ]  # fmt: skip
    names = [m.tensor(one.astype(np.float32)) for one in parts]
    return m.op("BatchNormalization", y, *names, epsilon=1e-5)


def classifier(m: Maker, x: str, channels: int, classes: int) -> None:
    x = m.op("GlobalAveragePool", x)
    x = m.op("Flatten", x, axis=1)
    w = m.random((classes, channels), channels**-0.5)
    m.nodes.append(
        helper.make_node("Gemm", [x, w, m.random((classes,), 0.1)], ["scores"], transB=1)
    )


def resnet50(
    size: int = 224, width: int = 64, classes: int = 1000, norms: bool = True,
    batch: int | str = 1,
) -> Any:  # fmt: skip
    """Blocks of 3, 4, 6 and 3, bottlenecks of 1x1, 3x3 and 1x1."""
    m = Maker(1)
    x = convolution(m, "image", 3, width, 7, 2, norms=norms)
    x = m.op("Relu", x)
    x = m.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = width
    for stage, count in enumerate((3, 4, 6, 3)):
        inner = width << stage
        for block in range(count):
            stride = 2 if block == 0 and stage else 1
            y = m.op("Relu", convolution(m, x, channels, inner, 1, norms=norms))
            y = m.op("Relu", convolution(m, y, inner, inner, 3, stride, norms=norms))
            y = convolution(m, y, inner, 4 * inner, 1, norms=norms)
            if block == 0:
                x = convolution(m, x, channels, 4 * inner, 1, stride, norms=norms)
            channels = 4 * inner
            x = m.op("Relu", m.op("Add", y, x))
    classifier(m, x, channels, classes)
    return m.model([image("image", batch, 3, size, size)], [image("scores", batch, classes)], 13)


#: expansion, channels, repeats and stride
INVERTED = [
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
    (6, 320, 1, 1),
]  # fmt: skip


def mobilenet_v2(
    size: int = 224, divisor: int = 1, classes: int = 1000, norms: bool = True,
    batch: int | str = 1,
) -> Any:  # fmt: skip
    m = Maker(2)
    low, high = (m.tensor(np.array(one, np.float32)) for one in (0, 6))

    def bent(x: str) -> str:
        return m.op("Clip", x, low, high)

    channels = 32 // divisor
    x = bent(convolution(m, "image", 3, channels, 3, 2, norms=norms))
    for expansion, filters, repeats, stride in INVERTED:
        for block in range(repeats):
            out, inner = filters // divisor, channels * expansion
            step = stride if block == 0 else 1
            y = x
            if expansion > 1:
                y = bent(convolution(m, y, channels, inner, 1, norms=norms))
            y = bent(convolution(m, y, inner, inner, 3, step, inner, norms=norms))
            y = convolution(m, y, inner, out, 1, norms=norms)
            x = m.op("Add", x, y) if step == 1 and channels == out else y
            channels = out
    last = 1280 // divisor
    x = bent(convolution(m, x, channels, last, 1, norms=norms))
    classifier(m, x, last, classes)
    return m.model([image("image", batch, 3, size, size)], [image("scores", batch, classes)], 13)


# BERT ---------------------------------------------------------------------------------------------


def bert(
    layers: int = 2, hidden: int = 32, heads: int = 4, words: int = 50, longest: int = 40
) -> Any:
    """As torch's exporter writes it: norms and Gelu by their parts, shapes that are computed."""
    m = Maker(3)
    deep = hidden // heads

    def shape_at(x: str, axis: int) -> str:
        return m.op("Gather", m.op("Shape", x), m.tensor(np.array(axis, np.int64)), axis=0)

    def number(value: float) -> str:
        return m.tensor(np.array(value, np.float32))

    def norm(x: str) -> str:
        mean = m.op("ReduceMean", x, axes=[-1])
        away = m.op("Sub", x, mean)
        variance = m.op("ReduceMean", m.op("Pow", away, number(2)), axes=[-1])
        size = m.op("Sqrt", m.op("Add", variance, number(1e-12)))
        scaled = m.op("Mul", m.op("Div", away, size), m.random((hidden,), 1))
        return m.op("Add", scaled, m.random((hidden,), 0.1))

    def linear(x: str, rows: int, columns: int) -> str:
        product = m.op("MatMul", x, m.random((rows, columns), rows**-0.5))
        return m.op("Add", m.random((columns,), 0.1), product)

    def gelu(x: str) -> str:
        erf = m.op("Erf", m.op("Div", x, number(2**0.5)))
        return m.op("Mul", m.op("Mul", x, m.op("Add", erf, number(1))), number(0.5))

    def split(x: str) -> str:
        parts = [m.op("Unsqueeze", shape_at(x, i), m.integers(0)) for i in (0, 1)]
        to = m.op("Concat", *parts, m.integers(heads), m.integers(deep), axis=0)
        return m.op("Reshape", x, to)

    rows = shape_at("input_ids", 1)
    places = m.op(
        "Slice", m.tensor(np.arange(longest, dtype=np.int64)[None]), m.integers(0),
        m.op("Unsqueeze", rows, m.integers(0)), m.integers(1),
    )  # fmt: skip
    x = m.op("Gather", m.random((words, hidden), 1), "input_ids", axis=0)
    x = m.op("Add", x, m.op("Gather", m.random((2, hidden), 1), "token_type_ids", axis=0))
    x = m.op("Add", x, m.op("Gather", m.random((longest, hidden), 1), places, axis=0))
    x = norm(x)
    mask = m.op("Unsqueeze", m.op("Unsqueeze", "attention_mask", m.integers(1)), m.integers(2))
    mask = m.op("Sub", number(1), m.op("Cast", mask, to=TensorProto.FLOAT))
    mask = m.op("Mul", mask, number(-1e9))
    for _ in range(layers):
        q, k, v = (split(linear(x, hidden, hidden)) for _ in range(3))
        q, v = (m.op("Transpose", one, perm=[0, 2, 1, 3]) for one in (q, v))
        k = m.op("Transpose", k, perm=[0, 2, 3, 1])
        scores = m.op("Div", m.op("MatMul", q, k), number(deep**0.5))
        weights = m.op("Softmax", m.op("Add", scores, mask), axis=3)
        y = m.op("Transpose", m.op("MatMul", weights, v), perm=[0, 2, 1, 3])
        parts = [m.op("Unsqueeze", shape_at(y, i), m.integers(0)) for i in (0, 1)]
        y = m.op("Reshape", y, m.op("Concat", *parts, m.integers(hidden), axis=0))
        x = norm(m.op("Add", linear(y, hidden, hidden), x))
        y = linear(gelu(linear(x, hidden, 4 * hidden)), 4 * hidden, hidden)
        x = norm(m.op("Add", y, x))
    first = m.op("Gather", x, m.tensor(np.array(0, np.int64)), axis=1)
    w = m.random((hidden, hidden), hidden**-0.5)
    pooled = m.op("Tanh", m.op("Gemm", first, w, m.random((hidden,), 0.1), transB=1))
    m.nodes += [
        helper.make_node("Identity", [x], ["states"]),
        helper.make_node("Identity", [pooled], ["pooled"]),
    ]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    return m.model(
        inputs,
        [image("states", "batch", "tokens", hidden), image("pooled", "batch", hidden)],
        13,
    )


def save(model: Any, path: Any) -> None:
    onnx.save(model, path)
