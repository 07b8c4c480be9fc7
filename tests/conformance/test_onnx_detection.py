"""Boxes and other things of networks that find things, beside ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from onnx import TensorProto, helper
from tilewright import Backend

from .onnx_graphs import Maker
from .test_onnx_models import check, model_of, renamed


def boxes_of(rng: np.random.Generator, *shape: int) -> Any:
    """From a corner to another, either first."""
    ends = rng.uniform(0, 20, (*shape, 2)), rng.uniform(1, 9, (*shape, 2))
    found = np.concatenate([ends[0], ends[0] + ends[1]], axis=-1).astype(np.float32)
    found[::2] = found[::2][..., [2, 3, 0, 1]]
    return found


@pytest.mark.parametrize("by_centre", [0, 1])
@pytest.mark.parametrize("most", [3, 70])
@pytest.mark.sampled(2)
def test_suppression(
    be: Backend, rng: np.random.Generator, tmp_path: Path, most: int, by_centre: int
) -> None:
    m = Maker()
    limits = [m.tensor(np.array([most])), m.tensor(np.float32([0.3])), m.tensor(np.float32([0.2]))]
    chosen = m.op("NonMaxSuppression", "boxes", "scores", *limits, center_point_box=by_centre)
    renamed(m, chosen, "y")
    path = model_of(
        tmp_path / "m.onnx", m, {"y": TensorProto.INT64},
        boxes=(TensorProto.FLOAT, [2, "n", 4]), scores=(TensorProto.FLOAT, [2, 3, "n"]),
    )  # fmt: skip
    model = tw.models.load(path, be)
    for count in (90, 1):
        boxes = np.stack([boxes_of(rng, count) for _ in range(2)])
        if by_centre:
            boxes[..., 2:] = np.abs(boxes[..., 2:] - boxes[..., :2])
        scores = rng.permutation(2 * 3 * count).reshape(2, 3, count) / np.float32(6 * count)
        check(model, path, {"boxes": boxes, "scores": scores.astype(np.float32)}, 0)


@pytest.mark.parametrize("ratio", [0, 2])
@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.sampled(2)
def test_aligned(
    be: Backend, rng: np.random.Generator, tmp_path: Path, mode: str, ratio: int
) -> None:
    m = Maker()
    options: dict[str, Any] = {
        "output_height": 3, "output_width": 2, "sampling_ratio": ratio, "spatial_scale": 0.5,
        "mode": mode,
    }  # fmt: skip
    renamed(m, m.op("RoiAlign", "x", "rois", "images", **options), "y")
    path = model_of(
        tmp_path / "m.onnx", m, {"y": TensorProto.FLOAT},
        x=(TensorProto.FLOAT, [2, 5, 14, 11]), rois=(TensorProto.FLOAT, ["n", 4]),
        images=(TensorProto.INT64, ["n"]),
    )  # fmt: skip
    model = tw.models.load(path, be)
    x = rng.uniform(0, 1, (2, 5, 14, 11)).astype(np.float32)
    starts = rng.uniform(-2, 15, (7, 2))
    rois = np.concatenate([starts, starts + rng.uniform(1, 14, (7, 2))], axis=1)
    given = {"x": x, "rois": rois.astype(np.float32), "images": np.arange(7) % 2}
    check(model, path, given, 1e-5)
    with pytest.raises(tw.Error, match="a batch index is out of range for 2 images"):
        model({**given, "images": np.arange(7)})


@pytest.mark.parametrize("is_sorted", [0, 1])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.sampled(4)
def test_unique(
    be: Backend, rng: np.random.Generator, tmp_path: Path, axis: int | None, is_sorted: int
) -> None:
    m = Maker()
    names = ["values", "first", "inverse", "counts"]
    options = {"sorted": is_sorted} | ({} if axis is None else {"axis": axis})
    m.nodes.append(onnx_node(names, options))
    kinds = dict.fromkeys(names, TensorProto.INT64) | {"values": TensorProto.FLOAT}
    path = model_of(tmp_path / "m.onnx", m, kinds, x=(TensorProto.FLOAT, [None, None, None]))
    model = tw.models.load(path, be)
    for shape in ((6, 2, 2), (1, 3, 1), (2, 9, 2)):
        x = rng.integers(0, 2, shape).astype(np.float32)
        check(model, path, {"x": x}, 0)


def onnx_node(outputs: list[str], options: dict[str, Any]) -> Any:
    return helper.make_node("Unique", ["x"], outputs, **options)


@pytest.mark.sampled(1)
def test_deformed(be: Backend, rng: np.random.Generator, tmp_path: Path) -> None:
    """Offsets of 0 are a convolution, and whole ones move it."""
    m = Maker()
    w = m.random((4, 3, 3, 2), 0.3)
    bias = m.random((4,), 1)
    options: dict[str, Any] = {"group": 2, "pads": [1, 0, 1, 1], "strides": [2, 1]}
    renamed(m, m.op("DeformConv", "x", w, "offset", bias, offset_group=2, **options), "y")
    renamed(m, m.op("Conv", "x", w, bias, **options), "z")
    made = m.model(
        [value("x", [1, 6, 9, 8]), value("offset", [1, 24, 5, 8])],
        [value("y", None), value("z", None)], 19,
    )  # fmt: skip
    path = tmp_path / "m.onnx"
    path.write_bytes(made.SerializeToString())
    model = tw.models.load(path, be)
    x = rng.standard_normal((1, 6, 9, 8)).astype(np.float32)
    offset = np.zeros((1, 24, 5, 8), np.float32)
    for _ in range(3):
        y, z = (one.numpy() for one in model(x, offset))
        np.testing.assert_allclose(y, z, rtol=0, atol=2e-5)
    # Pairs of rows and columns: a row down is what the image moved up has.
    offset[:, ::2] = 1
    moved = np.concatenate([x[:, :, 1:], np.zeros_like(x[:, :, :1])], axis=2)
    y = model(x, offset)[0].numpy()
    z = model(moved, np.zeros_like(offset))[1].numpy()
    # The first row of windows sees what lay above the moved image.
    np.testing.assert_allclose(y[:, :, 1:], z[:, :, 1:], rtol=0, atol=2e-5)


def value(name: str, shape: Any) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND"])
@pytest.mark.sampled(2)
def test_scattered(
    be: Backend, rng: np.random.Generator, tmp_path: Path, op: str, reduction: str
) -> None:
    """Indices that the device computes, negative ones and, where they are joined, equal ones."""
    m = Maker()
    options: dict[str, Any] = {"reduction": reduction} | (
        {"axis": 1} if op == "ScatterElements" else {}
    )
    renamed(m, m.op(op, "x", m.op("Sub", "at", "one"), "updates", **options), "y")
    flat = op == "ScatterElements"
    shape = (4, 3, 2) if flat else (6, 2)
    path = model_of(
        tmp_path / "m.onnx", m, {"y": TensorProto.FLOAT}, x=(TensorProto.FLOAT, [4, 5, 2]),
        at=(TensorProto.INT64, shape), one=(TensorProto.INT64, [1]),
        updates=(TensorProto.FLOAT, shape if flat else (6, 2)),
    )  # fmt: skip
    model = tw.models.load(path, be)
    if flat:
        at = rng.integers(-5, 5, shape)
        if reduction == "none":
            at = np.argsort(rng.standard_normal((4, 5, 2)), axis=1)[:, :3] - 5
    else:
        at = np.stack([rng.integers(-4, 4, 6), rng.integers(-5, 5, 6)], axis=1)
        if reduction == "none":
            at = np.stack([np.array([0, 1, 2, 3, -4, -1]), np.array([0, 1, 2, 3, 4, -5])], axis=1)
    given = {
        "x": rng.standard_normal((4, 5, 2)).astype(np.float32), "at": at + 1,
        "one": np.array([1]),
        "updates": rng.standard_normal(shape if flat else (6, 2)).astype(np.float32),
    }  # fmt: skip
    check(model, path, given, 1e-6)
