"""Whole models of ONNX beside ONNX Runtime on the processor."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import tilewright
import tilewright as tw
from onnx import TensorProto, helper
from tilewright import Backend
from tilewright.models import ModelError

from . import onnx_graphs
from .onnx_graphs import Maker


def beside(path: Path, given: dict[str, Any]) -> list[Any]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    found: list[Any] = session.run(None, given)
    return found


def check(model: Any, path: Path, given: dict[str, Any], rtol: float = 1e-4) -> None:
    """As it is, recorded, and replayed."""
    expected = beside(path, given)
    for _ in range(3):
        found = model(given)
        for own, wanted in zip(
            found if isinstance(found, tuple) else (found,), expected, strict=True
        ):
            assert own.shape == wanted.shape and own.dtype == wanted.dtype
            largest = float(np.abs(wanted).max(initial=0))
            np.testing.assert_allclose(own.numpy(), wanted, rtol=0, atol=rtol * largest)


NETWORKS: dict[str, Callable[[], Any]] = {
    "ResNet-50": lambda: onnx_graphs.resnet50(64, 8, 10, batch="batch"),
    "ResNet-50 with folded norms": lambda: onnx_graphs.resnet50(48, 4, 7, norms=False),
    "MobileNetV2": lambda: onnx_graphs.mobilenet_v2(64, 4, 10, batch="batch"),
}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.sampled(1)
def test_networks(be: Backend, rng: np.random.Generator, tmp_path: Path, name: str) -> None:
    path = tmp_path / "network.onnx"
    onnx_graphs.save(NETWORKS[name](), path)
    model = tilewright.models.load(path, be)
    (slot,) = model.inputs
    assert slot.name == "image" and slot.dtype == np.float32
    batches = (1, 3) if slot.shape[0] == "batch" else (1,)
    for batch in batches:
        shape = (batch, *slot.shape[1:])
        check(model, path, {"image": rng.standard_normal(shape).astype(np.float32)})
    # Norms and activations are parts of the convolutions.
    ops = {step.node.op for step in model._plan.steps}
    assert not ops & {"BatchNormalization", "Clip"}


@pytest.mark.sampled(1)
def test_bert(be: Backend, rng: np.random.Generator, tmp_path: Path) -> None:
    path = tmp_path / "bert.onnx"
    onnx_graphs.save(onnx_graphs.bert(), path)
    model = tilewright.models.load(path, be)
    assert [one.name for one in model.inputs] == ["input_ids", "attention_mask", "token_type_ids"]
    assert model.inputs[0].shape == ("batch", "tokens")
    for batch, tokens in ((2, 7), (1, 13), (2, 7)):
        lengths = rng.integers(1, tokens + 1, batch)
        given = {
            "input_ids": rng.integers(0, 50, (batch, tokens)),
            "attention_mask": (np.arange(tokens) < lengths[:, None]).astype(np.int64),
            "token_type_ids": rng.integers(0, 2, (batch, tokens)),
        }
        check(model, path, given)
    ops = [step.node.op for step in model._plan.steps]
    # What the exporter took apart is one operator, and shapes stay on the host.
    assert ops.count("LayerNormalization") == 5
    assert ops.count("Attended") == 2 and not {"Erf", "Gelu", "Softmax", "MatMul"} & set(ops)
    # Of each layer queries, keys and values, and three more products, with what follows each; the
    # last is of the pooled word.
    assert ops.count("Dense") == 2 * 4 + 1 and ops.count("Split") == 2
    shapes = [step.node for step in model._plan.steps if step.node.op == "Concat"]
    assert len(shapes) == 8 and all(node.on_host for node in shapes)


def model_of(path: Path, m: Maker, outputs: dict[str, int], opset: int = 17, **inputs: Any) -> Path:
    """Outputs by their element's kind, inputs as (kind, shape)."""
    made = m.model(
        [helper.make_tensor_value_info(name, *one) for name, one in inputs.items()],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()],
        opset,
    )
    onnx_graphs.save(made, path)
    return path


def renamed(m: Maker, name: str, to: str) -> None:
    m.nodes.append(helper.make_node("Identity", [name], [to]))


def test_arrays_and_their_backends(be: Backend, tmp_path: Path) -> None:
    m = Maker()
    renamed(m, m.op("Mul", "x", m.op("Add", "x", m.tensor(np.float32([1, 2, 3])))), "y")
    path = model_of(
        tmp_path / "m.onnx", m, {"y": TensorProto.FLOAT}, x=(TensorProto.FLOAT, ["n", 3])
    )
    model = tw.models.load(path, be)
    rows = np.float32([[1, 2, 3], [4, 5, 6]])
    expected = rows * (rows + np.float32([1, 2, 3]))
    for given in (rows, tw.asarray(rows, device=be), rows[::-1][::-1], rows.tolist()):
        np.testing.assert_array_equal(model(given).numpy(), expected)
        np.testing.assert_array_equal(model(x=given).numpy(), expected)
    assert model(np.zeros((0, 3), np.float32)).shape == (0, 3)
    with tw.init_backend("cpu") as other, pytest.raises(tw.InvalidArgument, match="expected"):
        model(tw.zeros((1, 3), device=other))
    for wrong, what in (
        ((), "inputs 'x' are missing"),
        ((rows, rows), "2 inputs"),
        ((rows.astype(np.float64),), "float64, expected float32"),
        (([[1, 2, 3], [4]],), "expected an array"),
        (([["a", "b", "c"]],), "expected numbers"),
        ((rows[0],), r"shape \(3,\), expected \(n, 3\)"),
        ((rows[:, :2],), r"shape \(2, 2\), expected \(n, 3\)"),
    ):
        with pytest.raises(tw.InvalidArgument, match=what):
            model(*wrong)
    with pytest.raises(tw.InvalidArgument, match="no input 'z'"):
        model(z=rows)
    model.clear()
    np.testing.assert_array_equal(model(rows).numpy(), expected)


def test_results_are_their_own(be: Backend, tmp_path: Path) -> None:
    """Those of a replay stay what they are at the next, and weights and inputs as they were."""
    m = Maker()
    renamed(m, m.op("Relu", "x"), "y")
    renamed(m, m.op("Transpose", "x"), "same")
    renamed(m, m.tensor(np.float32([5])), "constant")
    outputs = dict.fromkeys(("y", "same", "constant"), TensorProto.FLOAT)
    path = model_of(tmp_path / "m.onnx", m, outputs, x=(TensorProto.FLOAT, [2]))
    model = tw.models.load(path, be)
    x = tw.asarray(np.float32([3, -3]), device=be)
    for _ in range(4):
        for one in model(x):
            one[...] = 7
        assert x.tolist() == [3, -3]
    found = [model(np.float32([i, -i])) for i in range(4)]
    for i, (y, same, constant) in enumerate(found):
        for one in (y, same, constant):
            one += 0
        assert y.tolist() == [i, 0] and same.tolist() == [i, -i] and constant.tolist() == [5]


def test_shapes_by_an_input(be: Backend, tmp_path: Path) -> None:
    """An input that says a shape decides anew at each call."""
    m = Maker()
    renamed(m, m.op("Reshape", m.op("Neg", "x"), "to"), "y")
    path = model_of(
        tmp_path / "m.onnx", m, {"y": TensorProto.FLOAT}, x=(TensorProto.FLOAT, [6]),
        to=(TensorProto.INT64, [2]),
    )  # fmt: skip
    model = tw.models.load(path, be)
    x = np.arange(6, dtype=np.float32)
    for shape in ((2, 3), (3, 2), (2, 3), (-1, 1), (2, 3), (3, 2)):
        found = model(x, np.array(shape))
        np.testing.assert_array_equal(found.numpy(), -x.reshape(shape))
    with pytest.raises(ModelError, match=r"m.onnx: node 'Reshape_2' \(Reshape\): the shape is"):
        model(x, np.array((4, 2)))


def test_what_the_device_decides(be: Backend, tmp_path: Path) -> None:
    m = Maker()
    places = m.op("NonZero", "x")
    renamed(m, m.op("Gather", "x", m.op("Squeeze", places, m.integers(0))), "y")
    path = model_of(tmp_path / "m.onnx", m, {"y": TensorProto.FLOAT}, x=(TensorProto.FLOAT, [5]))
    model = tw.models.load(path, be)
    for x in ([0, 1, 2, 0, 3], [0, 0, 0, 0, 0], [1, 2, 3, 4, 5], [0, 1, 2, 0, 3]):
        assert model(np.float32(x)).tolist() == [one for one in x if one]


@pytest.mark.parametrize("device_decides", [False, True])
def test_loops(be: Backend, tmp_path: Path, device_decides: bool) -> None:
    """A sum that is doubled until it is large, or so often."""
    values = [
        helper.make_tensor_value_info("i", TensorProto.INT64, []),
        helper.make_tensor_value_info("go", TensorProto.BOOL, []),
        helper.make_tensor_value_info("own", TensorProto.FLOAT, [2]),
    ]
    nodes = [helper.make_node("Add", ["own", "step"], ["next"])]
    if device_decides:
        nodes += [
            helper.make_node("ReduceSum", ["next"], ["total"], keepdims=0),
            helper.make_node("Less", ["total", "bound"], ["again"]),
        ]
    else:
        nodes.append(helper.make_node("Identity", ["go"], ["again"]))
    outs = [
        helper.make_tensor_value_info("again", TensorProto.BOOL, []),
        helper.make_tensor_value_info("next", TensorProto.FLOAT, [2]),
        helper.make_tensor_value_info("row", TensorProto.FLOAT, [2]),
    ]
    nodes.append(helper.make_node("Neg", ["next"], ["row"]))
    body = helper.make_graph(nodes, "body", values, outs)
    m = Maker()
    m.tensors.append(onnx_graphs.numpy_helper.from_array(np.float32(20), "bound"))
    turns = m.tensor(np.array(9 if device_decides else 4, np.int64))
    go = m.tensor(np.array(True))
    m.nodes.append(helper.make_node("Loop", [turns, go, "x"], ["y", "rows"], body=body))
    path = model_of(
        tmp_path / "m.onnx", m, dict.fromkeys(("y", "rows"), TensorProto.FLOAT),
        x=(TensorProto.FLOAT, [2]), step=(TensorProto.FLOAT, [2]),
    )  # fmt: skip
    model = tw.models.load(path, be)
    for x in ([1, 2], [3, 4], [1, 2], [7, 1]):
        check(model, path, {"x": np.float32(x), "step": np.float32([2, 3])})


def test_sequences(be: Backend, rng: np.random.Generator, tmp_path: Path) -> None:
    m = Maker()
    at = [m.tensor(np.array(one)) for one in (1, -1)]
    every = m.op("SequenceConstruct", "a", "b", m.op("Neg", "a"))
    two = m.op("SequenceErase", every, at[0])
    added = m.op("SequenceInsert", m.op("SequenceEmpty"), m.op("SequenceAt", two, at[1]))
    columns = m.op("SplitToSequence", "a", axis=1, keepdims=0)
    parts = m.op("SplitToSequence", "b", m.tensor(np.array([1, 3])), axis=0)
    outputs = {
        "last": m.op("SequenceAt", added, m.tensor(np.array(0))),
        "count": m.op("SequenceLength", two),
        "rows": m.op("ConcatFromSequence", columns, axis=0, new_axis=1),
        "long": m.op("ConcatFromSequence", every, axis=0),
        "part": m.op("SequenceAt", m.op("SequenceErase", parts), at[1]),
        "low": m.op("Not", m.op("Greater", "a", "a")),
    }
    for name, one in outputs.items():
        renamed(m, one, name)
    kinds = dict.fromkeys(outputs, TensorProto.FLOAT)
    kinds |= {"count": TensorProto.INT64, "low": TensorProto.BOOL}
    path = model_of(
        tmp_path / "m.onnx", m, kinds, a=(TensorProto.FLOAT, [2, 3]), b=(TensorProto.FLOAT, [4, 3])
    )
    model = tw.models.load(path, be)
    given = {"a": rng.standard_normal((2, 3)), "b": rng.standard_normal((4, 3))}
    check(model, path, {name: one.astype(np.float32) for name, one in given.items()}, 0)


def test_what_is_drawn(be: Backend, tmp_path: Path) -> None:
    """Other numbers at each call, the same of a seed, of the distributions that are asked for."""
    m = Maker()
    drawn = {
        "normal": ("RandomNormal", [], {"shape": [100, 100], "mean": 2.0, "scale": 0.5}),
        "uniform": ("RandomUniformLike", ["x"], {"low": -1.0, "high": 3.0}),
        "chance": ("Bernoulli", [m.op("Mul", "x", m.tensor(np.float32(0.3)))], {}),
        "classes": ("Multinomial", [m.tensor(np.log(np.float32([[1, 2, 7]])))],
                    {"sample_size": 10000}),
        "left": ("Dropout", ["x", m.tensor(np.float32(0.25)), m.tensor(np.array(True))], {}),
    }  # fmt: skip
    for name, (op, inputs, options) in drawn.items():
        renamed(
            m,
            m.op(op, *inputs, **({"seed": 5} if op == "Dropout" else {"seed": 5.5}), **options),
            name,
        )
    kinds = {name: TensorProto.INT32 if name == "classes" else TensorProto.FLOAT for name in drawn}
    path = model_of(tmp_path / "m.onnx", m, kinds, x=(TensorProto.FLOAT, [100, 100]))
    x = np.ones((100, 100), np.float32)
    models = [tw.models.load(path, be) for _ in range(2)]
    first, second, again = ([one.numpy() for one in model(x)] for model in (models[0], *models))
    for one, other, same in zip(first, second, again, strict=True):
        assert (one != other).any() and (one == same).all()
    normal, uniform, chance, classes, left = first
    assert abs(normal.mean() - 2) < 0.03 and abs(normal.std() - 0.5) < 0.02
    assert -1 <= uniform.min() < -0.99 and 2.99 < uniform.max() <= 3
    assert abs(uniform.mean() - 1) < 0.06
    assert set(np.unique(chance)) == {0, 1} and abs(chance.mean() - 0.3) < 0.03
    assert np.abs(np.bincount(classes[0]) / 10000 - [0.1, 0.2, 0.7]).max() < 0.03
    np.testing.assert_allclose(np.unique(left), [0, 4 / 3], rtol=1e-6)
    assert abs(left.mean() - 1) < 0.03


def test_functions_of_a_model(be: Backend, rng: np.random.Generator, tmp_path: Path) -> None:
    """One that calls another twice, with an attribute that the call gives or leaves out."""
    node, own = helper.make_node, "here"
    inner = helper.make_function(
        own, "Bent", ["a"], ["b"],
        [node("LeakyRelu", ["a"], ["t"]), node("Neg", ["t"], ["b"])],
        [helper.make_opsetid("", 17)], ["slope"],
    )  # fmt: skip
    reference = inner.node[0].attribute.add(name="alpha", type=1)
    reference.ref_attr_name = "slope"
    outer = helper.make_function(
        own, "Twice", ["a", "w"], ["c"],
        [
            node("Bent", ["a"], ["t"], domain=own, slope=0.5), node("Mul", ["t", "w"], ["u"]),
            node("Bent", ["u"], ["c"], domain=own),
        ],
        [helper.make_opsetid("", 17), helper.make_opsetid(own, 1)],
    )  # fmt: skip
    graph = helper.make_graph(
        [
            node("Twice", ["x", "x"], ["t"], domain=own),
            node("Twice", ["t", "x"], ["y"], domain=own),
        ],
        "g", [onnx_graphs.image("x", 4, 3)], [onnx_graphs.image("y", 4, 3)],
    )  # fmt: skip
    made = helper.make_model(
        graph, functions=[inner, outer],
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(own, 1)],
    )  # fmt: skip
    made.ir_version = 8
    path = tmp_path / "m.onnx"
    onnx_graphs.save(made, path)
    model = tw.models.load(path, be)
    check(model, path, {"x": rng.standard_normal((4, 3)).astype(np.float32)})


def test_tensors_in_other_files(be: Backend, rng: np.random.Generator, tmp_path: Path) -> None:
    import onnx

    m = Maker()
    w = rng.standard_normal((40, 50)).astype(np.float32)
    renamed(m, m.op("MatMul", "x", m.tensor(w)), "y")
    path = model_of(
        tmp_path / "m.onnx", m, {"y": TensorProto.FLOAT}, x=(TensorProto.FLOAT, [3, 40])
    )
    onnx.save_model(
        onnx.load(path), path, save_as_external_data=True, location="m.weights",
        size_threshold=100,
    )  # fmt: skip
    assert (tmp_path / "m.weights").stat().st_size >= w.nbytes
    check(tw.models.load(path, be), path, {"x": rng.standard_normal((3, 40)).astype(np.float32)})


def test_what_a_device_lacks_names_the_node(be: Backend, tmp_path: Path) -> None:
    m = Maker()
    renamed(m, m.op("Conv", "x", m.tensor(np.ones((1, 1, 3, 3)))), "y")
    path = model_of(
        tmp_path / "m.onnx", m, {"y": TensorProto.DOUBLE}, x=(TensorProto.DOUBLE, [1, 1, 5, 5])
    )
    model = tw.models.load(path, be)
    with pytest.raises(tw.Error, match=r"m.onnx: node 'Conv_2' \(Conv\): .*float64"):
        model(np.ones((1, 1, 5, 5)))


ROOT = Path(__file__).resolve().parents[2]
FILES = {
    "README.md": "markdown", "tools/op_table.py": "python", "csrc/cpu/ops/rope.cpp": "cpp",
    "pyproject.toml": "toml", "dev": "shell",
}  # fmt: skip


def test_a_classifier_with_real_weights(be: Backend) -> None:
    spec = importlib.util.find_spec("magika")
    assert spec is not None and spec.origin is not None
    (path,) = Path(spec.origin).parent.glob("models/*/model.onnx")
    rows = np.random.default_rng(1).integers(0, 257, (5, 2048)).astype(np.int32)
    rows[0, 40:] = 256
    model = tilewright.models.load(path, be)
    for batch in (5, 1):
        check(model, path, {"bytes": rows[:batch]})


def test_the_example() -> None:
    example = ROOT / "examples" / "python" / "models" / "onnx_classifier.py"
    files = [str(ROOT / name) for name in FILES]
    found = subprocess.run(
        [sys.executable, str(example), *files, "--device", "cpu", "--batch", "3"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    said = [line.split(maxsplit=2) for line in found.stdout.splitlines()]
    assert [(kind, file) for _, kind, file in said] == list(zip(FILES.values(), files, strict=True))
    assert all(float(score) > 0.9 for score, _, _ in said)
