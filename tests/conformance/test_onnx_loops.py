"""Loops without a count of turns, without a condition, and with neither, beside ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tilewright
from onnx import TensorProto, helper
from tilewright import Backend
from tilewright.models import ModelError

from . import onnx_graphs
from .onnx_graphs import Maker
from .test_onnx_models import check


def saved(path: Path, inputs: list[str]) -> None:
    """x is doubled until it is 20 or more."""
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            helper.make_node("Add", ["before", "before"], ["after"]),
            helper.make_node("Less", ["after", "most"], ["goes"]),
        ],
        "body",
        [value("i", TensorProto.INT64, []), value("went", TensorProto.BOOL, []),
         value("before", TensorProto.FLOAT, [])],
        [value("goes", TensorProto.BOOL, []), value("after", TensorProto.FLOAT, [])],
        [onnx_graphs.numpy_helper.from_array(np.float32(20), "most")],
    )  # fmt: skip
    m = Maker()
    held = {"count": m.tensor(np.array(3)), "condition": m.tensor(np.array(True)), "x": "x"}
    m.nodes.append(
        helper.make_node("Loop", [held.get(one, "") for one in inputs], ["y"], body=body)
    )
    x, y = (value(name, TensorProto.FLOAT, []) for name in "xy")
    onnx_graphs.save(m.model([x], [y], 17), path)


@pytest.mark.parametrize("inputs", [["", "condition"], ["count", ""], ["", ""]])
def test_what_is_left_out(be: Backend, tmp_path: Path, inputs: list[str]) -> None:
    path = tmp_path / "m.onnx"
    saved(path, [*inputs, "x"])
    check(tilewright.models.load(path, be), path, {"x": np.array(1.5, np.float32)})


def test_what_has_to_be_there(be: Backend, tmp_path: Path) -> None:
    m = Maker()
    m.nodes.append(helper.make_node("Add", ["x", ""], ["y"], name="sum"))
    path = tmp_path / "m.onnx"
    onnx_graphs.save(m.model([onnx_graphs.image("x", 2)], [onnx_graphs.image("y", 2)], 17), path)
    with pytest.raises(ModelError, match=r"'sum' \(Add\): its input B is missing"):
        tilewright.models.load(path, be)
