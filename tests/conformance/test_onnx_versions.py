"""Operators as earlier versions had them, beside ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
from onnx import TensorProto, helper
from tilewright import Backend
from tilewright.models import ModelError

from . import onnx_graphs
from .onnx_graphs import Maker
from .test_onnx_models import check

#: version, shapes of inputs, tensors behind them ("" for one that is left out), attributes and
#: outputs
Case = tuple[int, list[tuple[int, ...]], list[Any], dict[str, Any], int]

CASES: dict[str, Case] = {
    "Softmax 7": (7, [(2, 3, 4)], [], {"axis": 1}, 1),
    "Softmax 11": (11, [(2, 3, 4)], [], {}, 1),
    "LogSoftmax 11": (11, [(2, 3, 4)], [], {"axis": 2}, 1),
    "Hardmax 11": (11, [(2, 3, 4)], [], {"axis": 1}, 1),
    "Clip 7": (7, [(3, 4)], [], {"min": -0.5, "max": 0.25}, 1),
    "Clip 7 below": (7, [(3, 4)], [], {"max": 0.25}, 1),
    "Pad 7": (7, [(2, 3)], [], {"pads": [1, 0, 2, 3], "value": 1.5}, 1),
    "Pad 7 reflect": (7, [(4, 5)], [], {"pads": [1, 2, 0, 3], "mode": "reflect"}, 1),
    "Squeeze 7": (7, [(1, 3, 1, 2)], [], {"axes": [0, 2]}, 1),
    "Squeeze 11": (11, [(1, 3, 1, 2)], [], {"axes": [-2]}, 1),
    "Unsqueeze 7": (7, [(3, 2)], [], {"axes": [0, 3]}, 1),
    "Slice 7": (7, [(5, 6)], [], {"starts": [1, -4], "ends": [3, 99], "axes": [0, 1]}, 1),
    "Slice 10": (10, [(5, 6)], [np.array([4, 0]), np.array([-9, 5]), np.array([0, 1]),
                               np.array([-2, 3])], {}, 1),
    "Split 7": (7, [(5, 4)], [], {"axis": 0, "split": [2, 3]}, 2),
    "Split 11": (11, [(4, 4)], [], {"axis": 1}, 2),
    "ReduceSum 7": (7, [(2, 3, 4)], [], {"axes": [0, 2], "keepdims": 0}, 1),
    "ReduceSum 11": (11, [(2, 3, 4)], [], {"axes": [-1]}, 1),
    "ReduceMean 13": (13, [(2, 3, 4)], [], {"axes": [1]}, 1),
    "ReduceMax 11": (11, [(2, 3, 4)], [], {}, 1),
    "TopK 7": (7, [(3, 5)], [], {"k": 2, "axis": 1}, 2),
    "TopK 10": (10, [(3, 5)], [np.array([3])], {"axis": 0}, 2),
    "Upsample 7": (7, [(1, 2, 3, 4)], [], {"scales": [1.0, 1.0, 2.0, 3.0]}, 1),
    "Upsample 9": (9, [(1, 2, 3, 4)], [np.float32([1, 1, 2, 1.5])], {"mode": "linear"}, 1),
    "Resize 10": (10, [(1, 2, 4, 6)], [np.float32([1, 1, 2, 0.5])], {"mode": "nearest"}, 1),
    "Resize 11": (11, [(1, 1, 4, 6)], [np.float32([]), np.float32([1, 1, 2, 1.5])],
                  {"mode": "cubic", "coordinate_transformation_mode": "align_corners"}, 1),
    "Resize 13": (13, [(1, 1, 4, 6)], ["", "", np.array([1, 1, 3, 11])],
                  {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}, 1),
    "Dropout 7": (7, [(3, 4)], [], {"ratio": 0.4}, 1),
    "Dropout 12": (12, [(3, 4)], [np.float32(0.4), np.array(False)], {}, 1),
    "BatchNormalization 7": (7, [(2, 3, 4), (3,), (3,), (3,)],
                             [np.float32([0.5, 1, 2])], {"epsilon": 1e-3}, 1),
    "BatchNormalization 9": (9, [(2, 3, 4, 5), (3,), (3,), (3,)],
                             [np.float32([0.5, 1, 2])], {}, 1),
    "BatchNormalization 15": (15, [(2, 3), (3,), (3,), (3,)], [np.float32([0.5, 1, 2])], {}, 1),
    "AveragePool 7": (7, [(1, 2, 6, 5)], [],
                      {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "count_include_pad": 1}, 1),
    "MaxPool 8": (8, [(1, 2, 6, 5)], [], {"kernel_shape": [2, 3], "strides": [2, 1]}, 2),
    "Gemm 7": (7, [(3, 4), (5, 4), (5,)], [], {"transB": 1, "beta": 0.5, "alpha": 2.0}, 1),
    "Gemm 11": (11, [(4, 3), (4, 5)], [], {"transA": 1}, 1),
    "Scatter 9": (9, [(3, 4)], [np.array([[2, 0], [1, 1]]), np.float32([[1, 2], [3, 4]])],
                  {"axis": 0}, 1),
    "OneHot 9": (9, [], [np.array([0, 2, 1]), np.array([3]), np.float32([-1, 4])], {}, 1),
    "Flatten 7": (7, [(2, 3, 4)], [], {"axis": 2}, 1),
    "ArgMax 11": (11, [(3, 5)], [], {"axis": 1}, 1),
    "GroupNormalization 18": (18, [(2, 4, 3, 3), (2,), (2,)], [], {"num_groups": 2}, 1),
    "GridSample 16": (16, [(1, 2, 4, 5), (1, 3, 3, 2)], [],
                      {"mode": "bicubic", "padding_mode": "border"}, 1),
    "Gelu 20": (20, [(3, 4)], [], {"approximate": "tanh"}, 1),
    "PRelu 7": (7, [(2, 3, 4), (3, 1)], [], {}, 1),
    "GlobalLpPool 7": (7, [(2, 3, 4, 5)], [], {"p": 3}, 1),
    "DepthToSpace 7": (7, [(1, 8, 2, 3)], [], {"blocksize": 2}, 1),
    "QuantizeLinear 10": (10, [(3, 4)], [np.float32(0.02), np.array(7, np.uint8)], {}, 1),
    "ConvTranspose 7": (7, [(1, 2, 4, 3), (2, 3, 3, 2)], [],
                        {"strides": [2, 3], "pads": [1, 0, 0, 1], "output_padding": [1, 0]}, 1),
    "Conv 7 same": (7, [(1, 2, 7, 6), (3, 2, 3, 2)], [],
                    {"auto_pad": "SAME_LOWER", "strides": [2, 1]}, 1),
    "Conv 7 depthwise": (7, [(2, 6, 9, 8), (6, 1, 3, 3)], [],
                         {"group": 6, "strides": [2, 2], "pads": [1, 1, 0, 1]}, 1),
    "LSTM 7": (7, [(4, 2, 3), (2, 20, 3), (2, 20, 5), (2, 40)], [],
               {"hidden_size": 5, "direction": "bidirectional"}, 3),
    "GRU 7": (7, [(4, 2, 3), (1, 15, 3), (1, 15, 5)], [],
              {"hidden_size": 5, "direction": "reverse", "linear_before_reset": 1}, 2),
    "RNN 14": (14, [(4, 2, 3), (1, 5, 3), (1, 5, 5)], [],
               {"hidden_size": 5, "activations": ["Relu"]}, 2),
}  # fmt: skip


def saved(name: str, path: Path) -> None:
    version, shapes, tensors, attributes, count = CASES[name]
    m = Maker()
    inputs = [onnx_graphs.image(f"x{i}", *shape) for i, shape in enumerate(shapes)]
    names = [one.name for one in inputs]
    names += [one if isinstance(one, str) else m.tensor(one) for one in tensors]
    outputs = [f"y{i}" for i in range(count)]
    op = name.split()[0]
    m.nodes.append(helper.make_node(op, names, outputs, **attributes))
    places = {"TopK": (1,), "MaxPool": (1,), "ArgMax": (0,)}.get(op, ())
    kinds = [TensorProto.INT64 if i in places else TensorProto.FLOAT for i in range(count)]
    if op == "QuantizeLinear":
        kinds = [TensorProto.UINT8]
    model = m.model(
        inputs,
        [helper.make_tensor_value_info(*one, None) for one in zip(outputs, kinds, strict=True)],
        version,
    )
    onnx_graphs.save(model, path)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.sampled(2)
def test_versions(be: Backend, rng: np.random.Generator, tmp_path: Path, name: str) -> None:
    path = tmp_path / "m.onnx"
    saved(name, path)
    model = tilewright.models.load(path, be)
    given = {
        one.name: rng.standard_normal(one.shape).astype(np.float32) * 0.5 for one in model.inputs
    }
    check(model, path, given, 1e-5)


def test_attributes_of_other_versions(be: Backend, tmp_path: Path) -> None:
    m = Maker()
    m.nodes.append(helper.make_node("ReduceSum", ["x"], ["y"], name="sum", axes=[0]))
    made = m.model([onnx_graphs.image("x", 2)], [onnx_graphs.image("y", 1)], 13)
    path = tmp_path / "m.onnx"
    onnx_graphs.save(made, path)
    with pytest.raises(
        ModelError, match=r"'sum' .*the attribute 'axes' is not known in version 13"
    ):
        tilewright.models.load(path, be)
