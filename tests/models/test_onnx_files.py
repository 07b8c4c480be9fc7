"""Files of ONNX that are damaged, or made to do harm: a ModelError that says where, no more memory
than the file, and nothing else."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import tilewright as tw
from onnx import TensorProto, helper, numpy_helper
from tilewright.models import ModelError
from tilewright.models.onnx import open_onnx

from .damage import damaged

COUNT = 700
FLOAT = TensorProto.FLOAT
MEMORY = 64 << 20


@pytest.fixture(scope="module")
def small() -> Iterator[tw.Backend]:
    with tw.init_backend("cpu", memory_limit=MEMORY) as backend:
        yield backend


def value(name: str, shape: Any = None, kind: int = FLOAT) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def model(
    nodes: list[Any], tensors: dict[str, Any], opset: int = 17, shape: Any = (1, 2, 6, 6)
) -> Any:
    held = [numpy_helper.from_array(np.asarray(one), name) for name, one in tensors.items()]
    graph = helper.make_graph(nodes, "g", [value("x", shape)], [value("y")], held)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 8
    return made


def network() -> Any:
    """Convolution, norm, pooling, shapes and a product."""
    node = helper.make_node
    rng = np.random.default_rng(0)
    ones = np.ones(4, np.float32)
    nodes = [
        node("Conv", ["x", "w"], ["a"], pads=[1] * 4, kernel_shape=[3, 3]),
        node("BatchNormalization", ["a", "one", "one", "one", "one"], ["b"]),
        node("Relu", ["b"], ["c"]),
        node("MaxPool", ["c"], ["d"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Shape", ["d"], ["s"]),
        node("Gather", ["s", "zero"], ["n"], axis=0),
        node("Unsqueeze", ["n", "first"], ["m"]),
        node("Concat", ["m", "rest"], ["to"], axis=0),
        node("Pad", ["d", "pads"], ["e"]),
        node("Slice", ["e", "start", "end", "axes"], ["f"]),
        node("Reshape", ["f", "to"], ["r"]),
        node("Gemm", ["r", "v"], ["p"], transB=1),
        node("Softmax", ["p"], ["y"], axis=-1),
    ]
    return model(
        nodes,
        {
            "w": rng.standard_normal((4, 2, 3, 3)).astype(np.float32), "one": ones,
            "v": rng.standard_normal((3, 36)).astype(np.float32), "zero": np.array(0),
            "first": np.array([0]), "rest": np.array([-1]),
            "pads": np.array([0, 0, 0, 0, 0, 0, 1, 1]), "start": np.array([0, 0]),
            "end": np.array([3, 3]), "axes": np.array([2, 3]),
        },
    )  # fmt: skip


def shapes() -> Any:
    """What a file says the size of."""
    node = helper.make_node
    nodes = [
        node("ConstantOfShape", ["to"], ["a"]),
        node("Expand", ["x", "to"], ["b"]),
        node("Tile", ["b", "times"], ["c"]),
        node("Range", ["zero", "many", "one"], ["d"]),
        node("Resize", ["x", "", "scales"], ["e"], mode="linear"),
        node("ReduceSum", ["e"], ["f"], keepdims=0),
        node("Cast", ["d"], ["g"], to=FLOAT),
        node("ReduceSum", ["g"], ["h"], keepdims=0),
        node("ReduceMax", ["c"], ["i"], keepdims=0),
        node("ReduceMax", ["a"], ["j"], keepdims=0),
        node("Sum", ["f", "h", "i", "j"], ["y"]),
    ]
    return model(
        nodes,
        {
            "to": np.array([3, 2, 6, 6]), "times": np.array([1, 2, 1, 1]), "zero": np.array(0),
            "many": np.array(5), "one": np.array(1), "scales": np.float32([1, 1, 2, 1.5]),
        },
    )  # fmt: skip


def branches() -> Any:
    node = helper.make_node
    yes = helper.make_graph([node("Neg", ["x"], ["t"])], "yes", [], [value("t")])
    no = helper.make_graph([node("Add", ["x", "w"], ["n"])], "no", [], [value("n")])
    nodes = [
        node("ReduceSum", ["x"], ["s"], keepdims=0),
        node("Greater", ["s", "zero"], ["go"]),
        node("If", ["go"], ["y"], then_branch=yes, else_branch=no),
    ]
    return model(nodes, {"w": np.float32([1]), "zero": np.array(0, np.float32)})


MODELS = {"network": network, "shapes": shapes, "branches": branches}


@pytest.mark.parametrize("name", MODELS)
def test_damaged_files(small: tw.Backend, tmp_path: Path, name: str) -> None:
    raw = MODELS[name]().SerializeToString()
    path = tmp_path / "model.onnx"
    path.write_bytes(raw)
    x = np.ones((1, 2, 6, 6), np.float32)
    assert np.isfinite(open_onnx(path, small)(x).numpy()).all()
    read = ran = 0
    for number in range(COUNT):
        draw = random.Random(f"{name} {number}")
        path.write_bytes(damaged(raw, draw))
        try:
            made = open_onnx(path, small)
        except ModelError as error:
            assert str(path) in str(error), number
            continue
        except Exception as error:
            error.add_note(f"number {number}")
            raise
        read += 1
        try:
            made(x)
            ran += 1
        except tw.Error:
            pass
        except Exception as error:
            error.add_note(f"number {number}")
            raise
    assert 0 < ran < read < COUNT


def lies(tensor: Callable[[Any], None]) -> Any:
    made = model([helper.make_node("Add", ["x", "w"], ["y"])], {"w": np.float32([1])})
    tensor(made.graph.initializer[0])
    return made


def _dims(*dims: int) -> Callable[[Any], None]:
    def change(tensor: Any) -> None:
        del tensor.dims[:]
        tensor.dims.extend(dims)

    return change


def _external(**entries: str) -> Callable[[Any], None]:
    def change(tensor: Any) -> None:
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, text in entries.items():
            tensor.external_data.add(key=key, value=text)

    return change


def _kind(kind: int) -> Callable[[Any], None]:
    def change(tensor: Any) -> None:
        tensor.data_type = kind

    return change


LIES = {
    "many elements": (_dims(1 << 40), r"'w': it has 4 bytes, expected 4398046511104"),
    "sizes that overflow": (_dims(1 << 33, 1 << 33), "'w': its shape is .* more elements"),
    "none of many": (_dims(0, 1 << 62), "'w': its shape is"),
    "a negative size": (_dims(-1), "'w': its shape is .* no negative"),
    "many dimensions": (_dims(*[1] * 70), "'w': it has 70 dimensions"),
    "strings": (_kind(8), "'w': it is string, expected bool"),
    "an unknown kind": (_kind(99), "'w': it is of the unknown kind 99"),
    "another folder": (_external(location="../secret"), "location is '../secret', expected a path"),
    "an absolute path": (_external(location="/etc/passwd"), "location is '/etc/passwd'"),
    "no such file": (_external(location="missing"), "cannot be opened"),
    "an offset outside": (_external(location="there", offset="90"), "ends at byte 94 of there"),
    "an offset that overflows": (
        _external(location="there", offset=str((1 << 64) - 1)), "ends at byte 18446744073709551619"
    ),
    "a negative offset": (_external(location="there", offset="-4"), "offset is '-4', expected"),
    "another length": (_external(location="there", length="400"), "length is 400, expected 4"),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_lies_about_tensors(small: tw.Backend, tmp_path: Path, name: str) -> None:
    change, what = LIES[name]
    path = tmp_path / "model.onnx"
    path.write_bytes(lies(change).SerializeToString())
    (tmp_path / "there").write_bytes(bytes(90))
    (tmp_path.parent / "secret").write_bytes(bytes(90))
    tracemalloc.start()
    try:
        with pytest.raises(ModelError, match=what):
            open_onnx(path, small)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


HUGE = np.array([1 << 35, 1 << 20])
GROWN = {
    "ConstantOfShape": ([helper.make_node("ConstantOfShape", ["n"], ["y"])], {"n": HUGE}),
    "Expand": ([helper.make_node("Expand", ["one", "n"], ["y"])], {"n": HUGE, "one": np.ones(1)}),
    "Tile": ([helper.make_node("Tile", ["x", "n"], ["y"])], {"n": np.array([1, 1, 1 << 30, 99])}),
    "Range": (
        [helper.make_node("Range", ["a", "n", "b"], ["y"])],
        {"n": np.array(1 << 50), "a": np.array(0), "b": np.array(1)},
    ),
    "Pad": (
        [helper.make_node("Pad", ["x", "n"], ["y"])],
        {"n": np.array([0, 0, 0, 0, 0, 0, 1 << 40, 0])},
    ),
    "Resize": (
        [helper.make_node("Resize", ["x", "", "", "n"], ["y"])],
        {"n": np.array([1, 2, 1 << 30, 1 << 30])},
    ),
    "OneHot": (
        [helper.make_node("OneHot", ["i", "n", "v"], ["y"])],
        {"i": np.array([1]), "n": np.array(1 << 60), "v": np.float32([0, 1])},
    ),
    "AveragePool": (
        [
            helper.make_node(
                "AveragePool", ["x"], ["y"], kernel_shape=[1, 1], pads=[1 << 40, 0, 0, 0],
                count_include_pad=1,
            )
        ],
        {},
    ),
    "LRN": ([helper.make_node("LRN", ["x"], ["y"], size=1 << 60)], {}),
    "ConvTranspose": (
        [helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[1 << 40, 1 << 40])],
        {"w": np.ones((2, 1, 2, 2), np.float32)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GROWN)
def test_sizes_that_a_file_dictates(small: tw.Backend, tmp_path: Path, name: str) -> None:
    """What would be larger than the device's memory is refused by its node, before it is made."""
    nodes, tensors = GROWN[name]
    path = tmp_path / "model.onnx"
    path.write_bytes(model(nodes, tensors).SerializeToString())
    tracemalloc.start()
    try:
        made = open_onnx(path, small)
        with pytest.raises(
            tw.Error, match=rf"model.onnx: node 'y' \({name}\): .* (bytes|elements)"
        ):
            made(np.ones((1, 2, 6, 6), np.float32))
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_all_that_is_missing_is_named_at_once(small: tw.Backend, tmp_path: Path) -> None:
    node = helper.make_node
    nodes = [
        node("Relu", ["x"], ["a"], name="first"),
        node("Frobnicate", ["a"], ["b"], name="second"),
        node("TfIdfVectorizer", ["b"], ["c"], name="third"),
        node("Gelu", ["c"], ["d"], name="fourth", domain="com.example"),
        node("Softmax", ["d"], ["e"], name="fifth", sharpness=2),
        node("Add", ["e", "nowhere"], ["f"], name="sixth"),
        node("Add", ["f"], ["y"], name="seventh"),
    ]
    path = tmp_path / "model.onnx"
    path.write_bytes(model(nodes, {}).SerializeToString())
    with pytest.raises(ModelError) as caught:
        open_onnx(path, small)
    told = str(caught.value)
    for what in (
        f"{path}: ", "'second' (Frobnicate): the operator Frobnicate is not there",
        "'third' (TfIdfVectorizer)", "'fourth' (Gelu): the operator com.example.Gelu",
        "'fifth' (Softmax): the attribute 'sharpness' is not known in version 17",
        "'sixth' (Add) reads 'nowhere', which nothing before it gives",
        "'seventh' (Add): it has 1 inputs, expected 2 to 2",
    ):  # fmt: skip
        assert what in told
    assert "first" not in told


def test_functions_without_end(small: tw.Backend, tmp_path: Path) -> None:
    """One that calls itself, ones that double the nodes twenty times, and a large one."""
    node, own = helper.make_node, "here"
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(own, 1)]

    def function(name: str, calls: str) -> Any:
        nodes = [node(calls, ["a"], ["b"], domain=own), node(calls, ["b"], ["c"], domain=own)]
        return helper.make_function(own, name, ["a"], ["c"], nodes, imports)

    heavy = helper.make_tensor("t", FLOAT, [1 << 16], bytes(4 << 16), raw=True)
    large = helper.make_function(
        own, "F20", ["a"], ["c"],
        [node("Constant", [], ["b"], value=heavy), node("Add", ["a", "b"], ["c"])], imports,
    )  # fmt: skip
    last = helper.make_function(own, "F0", ["a"], ["c"], [node("Neg", ["a"], ["c"])], imports)
    for functions, what in (
        ([function("F20", "F20")], "call each other more than 16 deep"),
        (
            [function(f"F{i}", f"F{i - 1}") for i in range(1, 21)] + [last],
            "deep|more than .* nodes",
        ),
    ):
        made = model([node("F20", ["x"], ["y"], domain=own)], {})
        made.functions.extend(functions)
        if functions == [large]:
            made.graph.node.extend(made.graph.node[0] for _ in range(1100))
        path = tmp_path / "model.onnx"
        path.write_bytes(made.SerializeToString())
        with pytest.raises(ModelError, match=what):
            open_onnx(path, small)


@pytest.mark.parametrize(
    ("opset", "attributes", "what"),
    [
        (6, {}, "made by version 6 .* expected 7 to"),
        (900, {}, "made by version 900 .* expected 7 to"),
        (17, {"to": TensorProto.STRING}, "attribute to is string, expected bool"),
        (17, {"to": "float"}, "attribute to is a string, expected an integer"),
        (17, {}, "attribute to is missing"),
    ],
)
def test_versions_and_attributes(
    small: tw.Backend, tmp_path: Path, opset: int, attributes: dict[str, Any], what: str
) -> None:
    path = tmp_path / "model.onnx"
    made = model([helper.make_node("Cast", ["x"], ["y"], name="cast", **attributes)], {}, opset)
    path.write_bytes(made.SerializeToString())
    with pytest.raises(ModelError, match=what) as caught:
        open_onnx(path, small)
    assert str(path) in str(caught.value)


def test_files_that_are_none(small: tw.Backend, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for raw, what in (
        (b"", "is empty"),
        (b"no model of anything", "no model of ONNX"),
        (onnx.ModelProto().SerializeToString() or b"\x08\x08", "no graph"),
    ):
        path.write_bytes(raw)
        with pytest.raises(ModelError, match=what):
            open_onnx(path, small)
    path.unlink()
    with pytest.raises(ModelError, match="cannot be opened"):
        open_onnx(path, small)
    with pytest.raises(tw.InvalidArgument, match="weights is 'int8', expected None"):
        tw.models.load(path, small, "int8")
