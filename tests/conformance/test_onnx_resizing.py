"""Resize and Upsample by scales that are no whole numbers, beside ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
from onnx import TensorProto, helper
from tilewright import Backend

from . import onnx_graphs
from .onnx_graphs import Maker
from .test_onnx_models import check

#: mode, what says the places, and which of two elements is the nearest
WAYS = (
    ("nearest", "asymmetric", "floor"), ("nearest", "asymmetric", "ceil"),
    ("nearest", "half_pixel", "round_prefer_floor"), ("nearest", "half_pixel", "floor"),
    ("nearest", "half_pixel", "round_prefer_ceil"), ("nearest", "align_corners", "floor"),
    ("nearest", "pytorch_half_pixel", "round_prefer_floor"),
    ("linear", "asymmetric", "floor"), ("linear", "half_pixel", "floor"),
    ("linear", "align_corners", "floor"), ("linear", "pytorch_half_pixel", "floor"),
    ("linear", "half_pixel_symmetric", "floor"),
    ("cubic", "half_pixel", "floor"), ("cubic", "align_corners", "floor"),
)  # fmt: skip
#: lengths and scales whose product, or a place by them, float32 rounds to a whole or a half
SIZES = ((10, 1.3), (10, 1.9), (10, 0.6), (16, 1.3), (33, 0.3), (8, 1.1), (8, 0.7), (5, 2.4))


def saved(path: Path, op: str, version: int, scale: float, **attributes: Any) -> None:
    m = Maker()
    scales = m.tensor(np.array([1, 1, scale, 1], np.float32))
    names = ["x", scales] if version < 11 else ["x", "", scales]
    m.nodes.append(helper.make_node(op, names, ["y"], **attributes))
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    onnx_graphs.save(m.model([onnx_graphs.image("x", 1, 1, "n", 3)], outputs, version), path)


def checked(be: Backend, path: Path, rng: np.random.Generator, length: int) -> None:
    x = rng.standard_normal((1, 1, length, 3)).astype(np.float32)
    check(tilewright.models.load(path, be), path, {"x": x}, 1e-5)


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_resize(be: Backend, rng: np.random.Generator, tmp_path: Path, way: Any) -> None:
    path = tmp_path / "m.onnx"
    mode, places, nearest = way
    for length, scale in SIZES:
        saved(
            path, "Resize", 17, scale, mode=mode, coordinate_transformation_mode=places,
            nearest_mode=nearest,
        )  # fmt: skip
        checked(be, path, rng, length)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(("op", "version"), [("Upsample", 9), ("Resize", 10)])
def test_earlier_versions(
    be: Backend, rng: np.random.Generator, tmp_path: Path, op: str, version: int, mode: str
) -> None:
    path = tmp_path / "m.onnx"
    for length, scale in SIZES:
        if scale >= 1 or op == "Resize":
            saved(path, op, version, scale, mode=mode)
            checked(be, path, rng, length)
