"""Inputs for which the file has tensors, given and left out, beside ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tilewright
from onnx import TensorProto, helper, numpy_helper
from tilewright import Backend
from tilewright.models.onnx import OnnxModel

from . import onnx_graphs
from .onnx_graphs import Maker
from .test_onnx_models import check


def loaded(be: Backend, path: Path) -> OnnxModel:
    """y = x reshaped to `shape`, times `scale`: both are inputs in front of x."""
    m = Maker()
    m.nodes.append(helper.make_node("Reshape", ["x", "shape"], ["z"]))
    m.nodes.append(helper.make_node("Mul", ["z", "scale"], ["y"]))
    m.tensors += [
        numpy_helper.from_array(np.array([2, 6]), "shape"),
        numpy_helper.from_array(np.float32(3), "scale"),
    ]
    shape = helper.make_tensor_value_info("shape", TensorProto.INT64, [2])
    inputs = [shape, onnx_graphs.image("scale"), onnx_graphs.image("x", 12)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["a", "b"])]
    onnx_graphs.save(m.model(inputs, outputs, 17), path)
    model = tilewright.models.load(path, be)
    assert isinstance(model, OnnxModel)
    return model


def test_given_and_left_out(be: Backend, rng: np.random.Generator, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    model = loaded(be, path)
    assert [one.name for one in model.inputs] == ["x"]
    assert [one.name for one in model.defaults] == ["shape", "scale"]
    x = rng.standard_normal(12).astype(np.float32)
    shape, scale = np.array([4, 3]), np.array(-2, np.float32)
    for given in ({}, {"scale": scale}, {"shape": shape}, {"shape": shape, "scale": scale}, {}):
        check(model, path, {"x": x, **given})
        expected = model({"x": x, **given}).numpy()
        np.testing.assert_array_equal(model(x, **given).numpy(), expected)
    model.clear()


def test_wrong_ones(be: Backend, tmp_path: Path) -> None:
    model = loaded(be, tmp_path / "m.onnx")
    x = np.zeros(12, np.float32)
    for call, message in (
        (lambda: model(x, scale=np.ones(3, np.float32)), r"the input 'scale' has shape \(3,\)"),
        (lambda: model(x, scale=x[0], x=x), "the input 'x' is given twice"),
        (lambda: model(x, x, scale=x[0]), "2 inputs are given, expected 1 at most"),
        (lambda: model(scale=x[0]), "the inputs 'x' are missing"),
        (lambda: model(x, more=x), "it has no input 'more', expected 'x', 'shape', 'scale'"),
    ):
        with pytest.raises(tilewright.InvalidArgument, match=message):
            call()
    model.clear()
