"""What exporters take apart, beside ONNX Runtime, and what it becomes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tilewright
from onnx import TensorProto, helper
from tilewright import Backend
from tilewright.models import ModelError

from .onnx_graphs import Maker, convolution
from .test_onnx_models import check, model_of, renamed


def number(m: Maker, value: float) -> str:
    return m.tensor(np.array(value, np.float32))


def erf(m: Maker, x: str) -> str:
    inner = m.op("Mul", x, number(m, 0.5**0.5))
    return m.op("Add", m.op("Erf", inner), number(m, 1))


def gelu_half_first(m: Maker) -> str:
    return m.op("Mul", m.op("Mul", "x", number(m, 0.5)), erf(m, "x"))


def gelu_half_last(m: Maker) -> str:
    return m.op("Mul", number(m, 0.5), m.op("Mul", "x", erf(m, "x")))


def gelu_half_inside(m: Maker) -> str:
    return m.op("Mul", "x", m.op("Mul", erf(m, "x"), number(m, 0.5)))


def no_gelu(m: Maker) -> str:
    """Another factor in it."""
    return m.op("Mul", number(m, 0.75), m.op("Mul", "x", erf(m, "x")))


def mean_of_squares(m: Maker) -> str:
    mean = m.op("ReduceMean", m.op("Pow", "x", number(m, 2)), axes=[-1])
    return m.op("Sqrt", m.op("Add", mean, number(m, 1e-3)))


def rms_by_a_factor(m: Maker) -> str:
    factor = m.op("Div", number(m, 1), mean_of_squares(m))
    return m.op("Mul", m.random((8,), 1), m.op("Mul", "x", factor))


def rms_by_a_reciprocal(m: Maker) -> str:
    return m.op("Mul", m.op("Mul", m.op("Reciprocal", mean_of_squares(m)), "x"), m.random((8,), 1))


def rms_by_a_quotient(m: Maker) -> str:
    return m.op("Mul", m.op("Div", "x", mean_of_squares(m)), m.random((8,), 1))


def no_rms(m: Maker) -> str:
    """What is divided is another value."""
    return m.op("Mul", m.op("Div", m.op("Neg", "x"), mean_of_squares(m)), m.random((8,), 1))


def norm_by_a_product(m: Maker) -> str:
    away = m.op("Sub", "x", m.op("ReduceMean", "x", axes=[-1]))
    variance = m.op("ReduceMean", m.op("Mul", away, away), axes=[-1])
    size = m.op("Sqrt", m.op("Add", variance, number(m, 1e-5)))
    return m.op("Add", m.random((8,), 1), m.op("Mul", m.random((8,), 1), m.op("Div", away, size)))


def heads(m: Maker) -> list[str]:
    """Of x [2, 6, 8] as q, k and v [2, 2, 6, 4]."""
    parts = [m.op("MatMul", "x", m.random((8, 8), 0.5)) for _ in range(3)]
    return [m.op("Reshape", one, m.integers(0, 0, 2, 4)) for one in parts]


def attended_scaled_before(m: Maker) -> str:
    """Queries and keys are scaled by a root that is computed of a shape."""
    q, k, v = heads(m)
    deep = m.op("Slice", m.op("Shape", q), m.integers(3), m.integers(4))
    root = m.op("Sqrt", m.op("Div", number(m, 1), m.op("Sqrt", m.op("Cast", deep, to=1))))
    q, v = (m.op("Transpose", one, perm=[0, 2, 1, 3]) for one in (q, v))
    k = m.op("Transpose", k, perm=[0, 2, 3, 1])
    scores = m.op("MatMul", m.op("Mul", q, root), m.op("Mul", k, root))
    weights = m.op("Cast", m.op("Softmax", scores, axis=-1), to=TensorProto.FLOAT)
    return m.op("MatMul", weights, v)


def attended_masked(m: Maker) -> str:
    q, k, v = heads(m)
    q, v = (m.op("Transpose", one, perm=[0, 2, 1, 3]) for one in (q, v))
    k = m.op("Transpose", k, perm=[0, 2, 3, 1])
    scores = m.op("Mul", m.op("MatMul", q, k), number(m, 0.3))
    hidden = np.triu(np.full((6, 6), -1e9, np.float32), 1)[None, None]
    weights = m.op("Softmax", m.op("Add", m.tensor(hidden), scores), axis=-1)
    return m.op("MatMul", weights, v)


def scores_that_others_read(m: Maker) -> str:
    q, k, v = heads(m)
    q, v = (m.op("Transpose", one, perm=[0, 2, 1, 3]) for one in (q, v))
    weights = m.op("Softmax", m.op("MatMul", q, m.op("Transpose", k, perm=[0, 2, 3, 1])), axis=-1)
    return m.op("Add", m.op("MatMul", weights, v), m.op("ReduceMax", weights, keepdims=0))


def products_with_rows(m: Maker) -> str:
    parts = [m.op("Add", m.random((n,), 1), m.op("MatMul", "x", m.random((8, n), 1)))
             for n in (4, 4)]  # fmt: skip
    return m.op("Mul", *parts)


def products_without(m: Maker) -> str:
    """One has a row that is added, and one is read twice."""
    a, b = (m.op("MatMul", "x", m.random((8, 4), 1)) for _ in range(2))
    return m.op("Add", m.op("Mul", a, m.op("Add", b, m.random((4,), 1))), a)


def products_of_others(m: Maker) -> str:
    return m.op("Add", m.op("MatMul", "x", m.random((8, 4), 1)),
                m.op("MatMul", m.op("Neg", "x"), m.random((8, 4), 1)))  # fmt: skip


def layer_in_half(m: Maker) -> str:
    """The row that is added, and Gelu by its parts."""
    inner = m.op("Add", m.op("MatMul", "x", m.random((8, 5), 1)), m.random((5,), 1))
    erf = m.op("Erf", m.op("Mul", inner, number(m, 0.5**0.5)))
    outer = m.op("Mul", m.op("Mul", inner, number(m, 0.5)), m.op("Add", erf, number(m, 1)))
    return m.op("MatMul", outer, m.random((5, 3), 1))


def gemm_with_a_row(m: Maker) -> str:
    flat = m.op("Reshape", "x", m.integers(12, 8))
    inner = m.op("Relu", m.op("Gemm", flat, m.random((6, 8), 1), m.random((6,), 1), transB=1))
    return m.op("Gemm", inner, m.random((6, 4), 1))


def gemm_with_a_factor(m: Maker) -> str:
    flat = m.op("Reshape", "x", m.integers(12, 8))
    by_two = m.op("Gemm", flat, m.random((8, 6), 1), m.random((6,), 1), alpha=0.5)
    return m.op("Gemm", by_two, m.random((6, 3), 1), m.random((12, 3), 1))


def product_of_results(m: Maker) -> str:
    return m.op("MatMul", "x", m.op("Transpose", "x", perm=[0, 2, 1]))


#: what is joined, and what is left of its parts
CASES: dict[Callable[[Maker], str], tuple[str, str]] = {
    gelu_half_first: ("Gelu", "Erf"),
    gelu_half_last: ("Gelu", "Erf"),
    gelu_half_inside: ("Gelu", "Erf"),
    no_gelu: ("Erf", "Gelu"),
    rms_by_a_factor: ("RMSNormalization", "ReduceMean"),
    rms_by_a_reciprocal: ("RMSNormalization", "ReduceMean"),
    rms_by_a_quotient: ("RMSNormalization", "ReduceMean"),
    no_rms: ("ReduceMean", "RMSNormalization"),
    norm_by_a_product: ("LayerNormalization", "ReduceMean"),
    attended_scaled_before: ("Attended", "Softmax"),
    attended_masked: ("Attended", "Softmax"),
    scores_that_others_read: ("Softmax", "Attended"),
    products_with_rows: ("Split", "Neg"),
    products_without: ("Split", "Neg"),
    products_of_others: ("Dense", "Split"),
    layer_in_half: ("Dense", "Gelu"),
    gemm_with_a_row: ("Dense", "Relu"),
    gemm_with_a_factor: ("Gemm", "Dense"),
    product_of_results: ("MatMul", "Dense"),
}


@pytest.mark.parametrize("make", CASES, ids=lambda one: one.__name__)
def test_patterns(
    be: Backend, rng: np.random.Generator, tmp_path: Path, make: Callable[[Maker], str]
) -> None:
    m = Maker(4)
    renamed(m, make(m), "y")
    path = model_of(
        tmp_path / "m.onnx", m, {"y": TensorProto.FLOAT}, x=(TensorProto.FLOAT, [2, 6, 8])
    )
    model = tilewright.models.load(path, be)
    there, gone = CASES[make]
    ops = {step.node.op for step in model._plan.steps}
    assert there in ops and gone not in ops
    check(model, path, {"x": rng.standard_normal((2, 6, 8)).astype(np.float32)}, 1e-5)


#: activations behind a convolution: nodes by their inputs, and whether they become a part of it
BENT: dict[str, tuple[Callable[[Maker, str], str], bool]] = {
    "Relu": (lambda m, x: m.op("Relu", x), True),
    "LeakyRelu": (lambda m, x: m.op("LeakyRelu", x, alpha=0.2), True),
    "Sigmoid": (lambda m, x: m.op("Sigmoid", x), True),
    "Tanh": (lambda m, x: m.op("Tanh", x), True),
    "HardSwish": (lambda m, x: m.op("HardSwish", x), True),
    "x * sigmoid": (lambda m, x: m.op("Mul", m.op("Sigmoid", x), x), True),
    "Clip": (lambda m, x: m.op("Clip", x, number(m, 0), number(m, 6)), True),
    "Clip from 0": (lambda m, x: m.op("Clip", x, number(m, 0)), True),
    "another Clip": (lambda m, x: m.op("Clip", x, number(m, -1), number(m, 6)), False),
    "what else reads it": (lambda m, x: m.op("Add", m.op("Relu", x), x), False),
}


@pytest.mark.parametrize("name", BENT)
def test_activations(be: Backend, rng: np.random.Generator, tmp_path: Path, name: str) -> None:
    make, joined = BENT[name]
    m = Maker(4)
    renamed(m, make(m, convolution(m, "x", 4, 5, 3, groups=1)), "y")
    path = model_of(
        tmp_path / "m.onnx", m, {"y": TensorProto.FLOAT}, x=(TensorProto.FLOAT, [2, 4, 6, 5])
    )
    model = tilewright.models.load(path, be)
    ops = [step.node.op for step in model._plan.steps]
    assert ops[0] == "Conv" and "BatchNormalization" not in ops
    assert (set(ops) == {"Conv", "Identity"}) == joined
    check(model, path, {"x": rng.standard_normal((2, 4, 6, 5)).astype(np.float32)}, 1e-5)


def other_branch(m: Maker, x: str) -> str:
    return convolution(m, "x", 4, 5, 1, groups=1)


#: what is added to a convolution of x, and whether that becomes a part of it
ADDED: dict[str, tuple[Callable[[Maker, str], str], bool]] = {
    "the other branch": (lambda m, x: m.op("Add", x, other_branch(m, x)), True),
    "to the other branch": (lambda m, x: m.op("Add", other_branch(m, x), x), True),
    "an input": (lambda m, x: m.op("Add", "other", x), True),
    "one that is broadcast": (lambda m, x: m.op("Add", x, "row"), True),
    "one that it is broadcast to": (lambda m, x: m.op("Add", "deep", x), True),
    "a constant": (lambda m, x: m.op("Add", x, m.random((5, 1, 1), 1)), False),
    "itself": (lambda m, x: m.op("Add", x, x), False),
    "what else reads it": (lambda m, x: m.op("Mul", m.op("Add", x, "other"), x), False),
}


@pytest.mark.parametrize("end", [None, "Relu", "Clip", "LeakyRelu", "Tanh", "Gelu", "x * sigmoid"])
@pytest.mark.parametrize("name", ADDED)
def test_sums(
    be: Backend, rng: np.random.Generator, tmp_path: Path, name: str, end: str | None
) -> None:
    make, joined = ADDED[name]
    m = Maker(4)
    y = make(m, convolution(m, "x", 4, 5, 3, groups=1))
    if end == "Gelu":
        y = m.op("Gelu", y, approximate="tanh")
    elif end is not None:
        y = BENT[end][0](m, y)
    renamed(m, y, "y")
    shapes = {"x": (2, 4, 6, 5), "other": (2, 5, 6, 5), "row": (5, 1, 5), "deep": (3, 2, 5, 6, 5)}
    path = model_of(
        tmp_path / "m.onnx", m, {"y": TensorProto.FLOAT}, 20,
        **{one: (TensorProto.FLOAT, list(shape)) for one, shape in shapes.items()},
    )  # fmt: skip
    model = tilewright.models.load(path, be)
    ops = [step.node.op for step in model._plan.steps]
    assert ("Add" not in ops) == joined
    assert not joined or set(ops) <= {"Conv", "Identity"}
    given = {one: rng.standard_normal(shape).astype(np.float32) for one, shape in shapes.items()}
    check(model, path, given, 1e-5)


def test_norms_that_stay(be: Backend, rng: np.random.Generator, tmp_path: Path) -> None:
    """Behind a convolution that others read, and by what an input says."""
    m = Maker(4)
    x = m.op("Conv", "x", m.random((3, 2, 1, 1), 1))
    parts = [m.tensor(rng.uniform(0.5, 1.5, 3).astype(np.float32)) for _ in range(4)]
    y = m.op("Add", x, m.op("BatchNormalization", x, *parts))
    y = m.op("Conv", y, m.random((3, 3, 1, 1), 1))
    renamed(m, m.op("BatchNormalization", y, "scale", *parts[1:]), "y")
    path = model_of(
        tmp_path / "m.onnx", m, {"y": TensorProto.FLOAT}, x=(TensorProto.FLOAT, [1, 2, 3, 3]),
        scale=(TensorProto.FLOAT, [3]),
    )  # fmt: skip
    model = tilewright.models.load(path, be)
    assert [s.node.op for s in model._plan.steps].count("BatchNormalization") == 2
    shapes = {"x": (1, 2, 3, 3), "scale": (3,)}
    given = {name: rng.standard_normal(one).astype(np.float32) for name, one in shapes.items()}
    check(model, path, given, 1e-5)


def test_what_is_wanted_on_both_sides(be: Backend, tmp_path: Path) -> None:
    """A shape that the device computes with, before and after others do on the host."""
    m = Maker()
    near = m.op("Add", m.op("Shape", "x"), m.integers(1, 1))
    renamed(m, m.op("Gather", "table", near, axis=0), "first")
    renamed(m, m.op("Expand", "row", m.op("Add", near, m.integers(0, 0))), "wide")
    renamed(m, m.op("Gather", "table", near, axis=0), "again")
    path = model_of(
        tmp_path / "m.onnx", m, dict.fromkeys(("first", "wide", "again"), TensorProto.FLOAT),
        x=(TensorProto.FLOAT, ["a", 2]), table=(TensorProto.FLOAT, [5]),
        row=(TensorProto.FLOAT, [1, 3]),
    )  # fmt: skip
    model = tilewright.models.load(path, be)
    for rows in (1, 2, 1):
        given = {"x": np.zeros((rows, 2)), "table": np.arange(5), "row": np.ones((1, 3))}
        check(model, path, {name: one.astype(np.float32) for name, one in given.items()})
    adds = [step.node for step in model._plan.steps if step.node.op == "Add"]
    assert len(adds) == 2 and all(node.on_host for node in adds)


@pytest.mark.parametrize("kind", [TensorProto.INT4, TensorProto.UINT4])
@pytest.mark.parametrize("block", [0, 8, 32])
def test_constants_of_4_bits(
    be: Backend, rng: np.random.Generator, tmp_path: Path, kind: int, block: int
) -> None:
    """They become floats at load, by a scale for each column or for blocks of rows."""
    m = Maker()
    low = -8 if kind == TensorProto.INT4 else 0
    numbers = rng.integers(low, low + 16, (15, 3))
    shape = (-(-15 // block), 3) if block else (3,)
    m.tensors += [
        helper.make_tensor("w", kind, (15, 3), numbers.reshape(-1)),
        helper.make_tensor("zero", kind, shape, rng.integers(low, low + 16, shape).reshape(-1)),
    ]
    scale = m.tensor(rng.uniform(0.5, 1, shape).astype(np.float32))
    options = {"axis": 0, "block_size": block} if block else {"axis": 1}
    # Of a product behind it ONNX Runtime would make one of 8 bits.
    renamed(m, m.op("Sub", "x", m.op("DequantizeLinear", "w", scale, "zero", **options)), "y")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [15, 3]) for name in "xy")
    path = tmp_path / "m.onnx"
    path.write_bytes(m.model([x], [y], 21).SerializeToString())
    model = tilewright.models.load(path, be)
    assert [step.node.op for step in model._plan.steps] == ["Sub", "Identity"]
    check(model, path, {"x": rng.standard_normal((15, 3)).astype(np.float32)}, 1e-5)


def test_constants_of_4_bits_elsewhere(be: Backend, tmp_path: Path) -> None:
    m = Maker()
    m.tensors.append(helper.make_tensor("zero", TensorProto.INT4, (1,), [3]))
    m.nodes.append(helper.make_node("QuantizeLinear", ["x", "s", "zero"], ["y"], name="q"))
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1]) for n in ("x", "s")]
    made = m.model(inputs, [helper.make_tensor_value_info("y", TensorProto.INT8, [1])], 21)
    path = tmp_path / "m.onnx"
    path.write_bytes(made.SerializeToString())
    with pytest.raises(ModelError, match=r"'q' .*reads 'zero', whose 4 bits are for Dequantize"):
        tilewright.models.load(path, be)
