"""GroupQueryAttention and RotaryEmbedding of com.microsoft beside ONNX Runtime, step by step of a
cache, and LinearAttention in more than one call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import tilewright
from onnx import TensorProto, helper
from tilewright import Backend
from tilewright.models import ModelError
from tilewright.models.onnx.operators.registry import MICROSOFT

from . import onnx_graphs
from .test_onnx_models import check

Given = dict[str, np.ndarray]
KINDS = {
    np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float16): TensorProto.FLOAT16,
    np.dtype(np.int32): TensorProto.INT32, np.dtype(np.int64): TensorProto.INT64,
}  # fmt: skip
HEADS, KV_HEADS, DIM, ROOM = 6, 2, 16, 11
NAMES = [
    "query", "key", "value", "past_key", "past_value", "seqlens_k", "total_sequence_length",
    "cos_cache", "sin_cache", "position_ids", "attention_bias",
]  # fmt: skip


def saved(
    path: Path, op: str, given: Given, names: list[str], outputs: int = 1, domain: str = MICROSOFT,
    **attributes: Any,
) -> Path:  # fmt: skip
    """A model of one node, whose inputs have any sizes."""
    value = helper.make_tensor_value_info
    inputs = [name if name in given else "" for name in names]
    while not inputs[-1]:
        inputs.pop()
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, inputs, results, name="n", domain=domain, **attributes)
    kind = KINDS[next(iter(given.values())).dtype]
    graph = helper.make_graph(
        [node], "g", [value(n, KINDS[x.dtype], [None] * x.ndim) for n, x in given.items()],
        [value(n, kind, None) for n in results],
    )  # fmt: skip
    imports = [helper.make_opsetid("", 17 if domain else 27), helper.make_opsetid(MICROSOFT, 1)]
    model = helper.make_model(graph, opset_imports=imports)
    model.ir_version = 8
    onnx_graphs.save(model, path)
    return path


def tables(dtype: Any, columns: int = DIM // 2, rows: int = 32) -> Given:
    angles = np.outer(np.arange(rows), 0.7 ** np.arange(columns))
    return {"cos_cache": np.cos(angles).astype(dtype), "sin_cache": np.sin(angles).astype(dtype)}


def step_of(
    rng: np.random.Generator, lengths: list[int], rows: int, case: dict[str, Any], dtype: Any
) -> Given:
    """What a step brings whose sequences are as long as `lengths` with it."""
    batch, total = len(lengths), max(lengths)
    widths = {"query": HEADS * DIM, "key": KV_HEADS * DIM, "value": KV_HEADS * DIM}
    if case.get("packed"):
        widths = {"query": sum(widths.values())}
    given = {
        name: rng.standard_normal((batch, rows, width)).astype(dtype)
        for name, width in widths.items()
    }
    given["seqlens_k"] = np.array(lengths, np.int32) - 1
    given["total_sequence_length"] = np.array(total, np.int32)
    if columns := case.get("columns"):
        given |= tables(dtype, columns)
    if case.get("placed"):
        first = total - rows + 3
        places = np.arange(first, first + rows, dtype=np.int64)
        given["position_ids"] = np.broadcast_to(places, (batch, rows)).copy()
    if shape := case.get("bias"):
        given["attention_bias"] = rng.standard_normal((*shape, rows, total)).astype(dtype)
    return given


#: attributes of the node, beside what a step has
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "packed": ({}, {"packed": True}),
    "halves": ({"do_rotary": 1}, {"columns": 8}),
    "neighbours, packed": (
        {"do_rotary": 1, "rotary_interleaved": 1}, {"columns": 8, "packed": True}
    ),
    "a window, a cap and a scale": (
        {"local_window_size": 3, "softcap": 1.5, "scale": 0.4}, {}
    ),
    "a bias": ({}, {"bias": (1, HEADS)}),
    "positions": ({"do_rotary": 1}, {"columns": 8, "placed": True}),
}  # fmt: skip
#: a prompt, and what follows: the lengths of each sequence with a step, and the step's rows
RAGGED = [([5, 3], 5), ([6, 4], 1), ([7, 5], 1), ([8, 6], 1)]
ALONE = [([4], 4), ([7], 3), ([8], 1), ([9], 1)]


@pytest.mark.parametrize("is_shared", [False, True], ids=["growing", "of one size"])
@pytest.mark.parametrize("steps", [RAGGED, ALONE], ids=["ragged", "alone"])
@pytest.mark.parametrize("name", CASES)
def test_steps_of_a_cache(
    be: Backend, rng: np.random.Generator, tmp_path: Path, name: str,
    steps: list[tuple[list[int], int]], is_shared: bool,
) -> None:  # fmt: skip
    attributes, case = CASES[name]
    dtype = np.float32
    batch = len(steps[0][0])
    room = ROOM if is_shared else 0
    own_past = peer_past = [np.zeros((batch, KV_HEADS, room, DIM), dtype)] * 2
    model, session = None, None
    for lengths, rows in steps:
        given = step_of(rng, lengths, rows, case, dtype)
        if model is None:
            pasts = dict(zip(NAMES[3:5], own_past, strict=True))
            path = saved(
                tmp_path / "m.onnx", "GroupQueryAttention", given | pasts, NAMES, 3,
                num_heads=HEADS, kv_num_heads=KV_HEADS, **attributes,
            )  # fmt: skip
            model = tilewright.models.load(path, be)
            session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        assert session is not None
        expected = session.run(None, given | dict(zip(NAMES[3:5], peer_past, strict=True)))
        # As it is, recorded, and replayed.
        for _ in range(3):
            found = model(given | dict(zip(NAMES[3:5], own_past, strict=True)))
            for i, length in enumerate(lengths):
                # Of a prompt the rows behind a shorter one are padding.
                valid = length if rows == max(lengths) else rows
                agree(found[0].numpy()[i, :valid], expected[0][i, :valid])
                for one, wanted in zip(found[1:], expected[1:], strict=True):
                    assert one.shape == wanted.shape
                    agree(one.numpy()[i, :, :length], wanted[i, :, :length])
        own_past, peer_past = [one.numpy() for one in found[1:]], expected[1:]


def test_lengths_of_a_mask(be: Backend, rng: np.random.Generator, tmp_path: Path) -> None:
    """As exporters compute them: what is a shape stays on the host, so that calls are replayed."""
    value, tensor = helper.make_tensor_value_info, onnx_graphs.numpy_helper.from_array
    held = {"one": np.array(1, np.int64), "axes": np.array([1], np.int64)}
    nodes = [
        helper.make_node("ReduceSum", ["mask", "axes"], ["sums"], keepdims=0),
        helper.make_node("Sub", ["sums", "one"], ["lasts"]),
        helper.make_node("Cast", ["lasts"], [NAMES[5]], to=TensorProto.INT32),
        helper.make_node("Shape", ["mask"], ["shape"]),
        helper.make_node("Gather", ["shape", "one"], ["columns"]),
        helper.make_node("Cast", ["columns"], [NAMES[6]], to=TensorProto.INT32),
        helper.make_node(
            "GroupQueryAttention", NAMES[:7], ["y", "k", "v"], domain=MICROSOFT, num_heads=HEADS,
            kv_num_heads=KV_HEADS,
        ),
    ]  # fmt: skip
    inputs = [value(n, TensorProto.FLOAT, [None] * 3) for n in NAMES[:3]]
    inputs += [value(n, TensorProto.FLOAT, [None] * 4) for n in NAMES[3:5]]
    graph = helper.make_graph(
        nodes, "g", [*inputs, value("mask", TensorProto.INT64, [None] * 2)],
        [value(n, TensorProto.FLOAT, None) for n in ("y", "k", "v")],
        [tensor(one, name) for name, one in held.items()],
    )  # fmt: skip
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    made = helper.make_model(graph, opset_imports=imports)
    made.ir_version = 8
    path = tmp_path / "m.onnx"
    onnx_graphs.save(made, path)
    model = tilewright.models.load(path, be)
    given = step_of(rng, [8, 8], 1, {}, np.float32)
    given = {n: given[n] for n in NAMES[:3]} | {"mask": np.ones((2, 8), np.int64)}
    for name in NAMES[3:5]:
        given[name] = rng.standard_normal((2, KV_HEADS, 7, DIM)).astype(np.float32)
    check(model, path, given, 2e-5)
    assert {type(one).__name__ for one in model._seen.values()} == {"Replayed"}


def agree(found: np.ndarray, wanted: np.ndarray, atol: float = 2e-5) -> None:
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=0, atol=atol * np.abs(wanted).max())


def test_partly_turned_heads_of_float16(
    be: Backend, rng: np.random.Generator, tmp_path: Path
) -> None:
    """An odd size of head, of which some is turned, without a cache before it, beside NumPy."""
    heads, dim, columns = 3, 10, 3
    given = {
        name: rng.standard_normal((2, 4, heads * dim)).astype(np.float16) for name in NAMES[:3]
    }
    given |= {"seqlens_k": np.int32([3, 3]), "total_sequence_length": np.int32([4])}
    given |= tables(np.float16, columns)
    path = saved(
        tmp_path / "m.onnx", "GroupQueryAttention", given, NAMES, 3, num_heads=heads,
        kv_num_heads=heads, do_rotary=1,
    )  # fmt: skip
    found = tilewright.models.load(path, be)(given)
    wide = {name: one.astype(np.float64) for name, one in given.items()}
    q, k, v = (wide[n].reshape(2, 4, heads, dim).transpose(0, 2, 1, 3) for n in NAMES[:3])
    cos, sin = wide["cos_cache"][:4], wide["sin_cache"][:4]

    def turned(x: np.ndarray) -> np.ndarray:
        a, b, rest = np.split(x, [columns, 2 * columns], -1)
        return np.concatenate([a * cos - b * sin, a * sin + b * cos, rest], -1)

    q, k = turned(q), turned(k)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(dim)
    scores[..., np.triu_indices(4, 1)[0], np.triu_indices(4, 1)[1]] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    rows = (weights @ v).transpose(0, 2, 1, 3).reshape(2, 4, heads * dim)
    for one, wanted in zip(found, (rows, k, v), strict=True):
        agree(one.numpy(), wanted.astype(np.float16), 4e-3)


REFUSED: dict[str, tuple[dict[str, Any], list[str], str]] = {
    "heads": ({"num_heads": 5}, NAMES[:7], "5 heads of 2 of keys, expected a multiple"),
    "cap": ({"softcap": -1.0}, NAMES[:7], r"softcap is -1.0, expected 0 or more"),
    "window": ({"local_window_size": 0}, NAMES[:7], "local_window_size is 0, expected"),
    "bits": ({"k_quant_type": "PER_TENSOR"}, NAMES[:7], "k_quant_type is 'PER_TENSOR'"),
    "smooth": ({"smooth_softmax": 1}, NAMES[:7], "smooth_softmax is 1, expected 0"),
    "both sides": ({"causal": 0}, NAMES[:7], "causal is 0, expected 1"),
    "a ring": ({"sliding_window_cache": 1}, NAMES[:7], "sliding_window_cache is 1"),
    "scores": ({"qk_output": 1}, NAMES[:7], "qk_output is 1, expected 0"),
    "tables": ({"do_rotary": 1}, NAMES[:7], "without cos_cache and sin_cache"),
    "values": ({}, ["query", "key", "", "", "", *NAMES[5:7]], "keys without values"),
    "past": ({}, [*NAMES[:4], "", *NAMES[5:7]], "keys without values"),
    "lengths": ({}, NAMES[:6], "no seqlens_k or total_sequence_length"),
    "sink": ({}, [*NAMES[:7], *[""] * 4, "head_sink"], "inputs head_sink, expected none"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_there(tmp_path: Path, name: str) -> None:
    attributes, names, message = REFUSED[name]
    given = step_of(np.random.default_rng(0), [4], 4, {}, np.float32)
    given |= {n: np.zeros((1, KV_HEADS, 0, DIM), np.float32) for n in NAMES[3:5]}
    given["head_sink"] = np.zeros(HEADS, np.float32)
    given = {n: x for n, x in given.items() if n in names}
    attributes = {"num_heads": HEADS, "kv_num_heads": KV_HEADS} | attributes
    path = saved(tmp_path / "m.onnx", "GroupQueryAttention", given, names, 1, **attributes)
    with pytest.raises(
        ModelError, match=rf"m\.onnx: node 'n' \(GroupQueryAttention\): .*{message}"
    ):
        tilewright.models.load(path, "cpu")


def test_shapes_that_do_not_go_together(tmp_path: Path) -> None:
    given = step_of(np.random.default_rng(0), [4], 4, {"columns": 8}, np.float32)
    past = {n: np.zeros((1, KV_HEADS, 3, DIM), np.float32) for n in NAMES[3:5]}
    path = saved(
        tmp_path / "m.onnx", "GroupQueryAttention", given | past, NAMES, 3, num_heads=HEADS,
        kv_num_heads=KV_HEADS, do_rotary=1,
    )  # fmt: skip
    model = tilewright.models.load(path, "cpu")
    wrong: dict[str, tuple[Given, str]] = {
        "query": ({"query": given["query"][..., :-1]}, "query has shape"),
        "key": ({"key": given["key"][:, :3]}, "key has shape .* by heads, expected"),
        "past": ({"past_key": past["past_key"][..., :8]}, "past_key has shape"),
        "lengths": ({"seqlens_k": np.int32([3, 3])}, "seqlens_k has 2 elements, expected 1"),
        "total": ({"total_sequence_length": np.array(3, np.int32)}, "is 3, expected 4 rows"),
        "table": ({"cos_cache": given["cos_cache"][:, :7]}, "cos_cache and sin_cache have"),
        "rows": (tables(np.float32, 8, 3), "cos_cache has 3 rows, expected 4 or more"),
    }
    for changed, message in wrong.values():
        with pytest.raises(ModelError, match=rf"node 'n' \(GroupQueryAttention\): .*{message}"):
            model(given | past | changed)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize(
    ("shape", "places", "attributes"),
    [
        ((2, 5, 24), np.int64([3]), {}),
        ((2, 5, 24), np.int64([[0, 1, 2, 7, 8], [4, 4, 3, 2, 9]]), {}),
        ((2, 3, 5, 8), np.int64([[0, 1, 2, 7, 8], [4, 4, 3, 2, 9]]), {}),
        ((2, 5, 36), np.int64([3]), {"num_heads": 3, "rotary_embedding_dim": 8}),
    ],
    ids=["a start", "places", "heads apart", "a part"],
)
def test_rotary_positions(
    be: Backend, rng: np.random.Generator, tmp_path: Path, shape: tuple[int, ...],
    places: np.ndarray, attributes: dict[str, Any], interleaved: int,
) -> None:  # fmt: skip
    given = {"input": rng.standard_normal(shape).astype(np.float32), "position_ids": places}
    given |= tables(np.float32, 4)
    path = saved(
        tmp_path / "m.onnx", "RotaryEmbedding", given, list(given), interleaved=interleaved,
        **attributes,
    )  # fmt: skip
    check(tilewright.models.load(path, be), path, given, 1e-5)


def test_rotary_positions_that_are_not_there(tmp_path: Path) -> None:
    given = {"input": np.zeros((2, 5, 24), np.float32), "position_ids": np.int64([3])}
    given |= tables(np.float32, 4)
    for attributes, message in (
        ({"scale": 2.0}, "scale is 2.0, expected 1.0"),
        ({"is_packed_batching": 1}, "is_packed_batching is 1"),
        ({"rotary_embedding_dim": 8}, "0 heads of which 8"),
    ):
        path = saved(tmp_path / "m.onnx", "RotaryEmbedding", given, list(given), **attributes)
        with pytest.raises(ModelError, match=rf"node 'n' \(RotaryEmbedding\): .*{message}"):
            tilewright.models.load(path, "cpu")
    path = saved(tmp_path / "m.onnx", "RotaryEmbedding", given, list(given))
    model = tilewright.models.load(path, "cpu")
    with pytest.raises(ModelError, match=r"position_ids has shape \(2,\), expected"):
        model(given | {"position_ids": np.int64([3, 4])})


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
def test_linear_attention_in_parts(
    be: Backend, rng: np.random.Generator, tmp_path: Path, rule: str
) -> None:
    """Two calls by the state are one call, and that is the recurrence in float64."""
    q_heads, heads, keys, values, rows = 6, 3, 5, 7, 9
    given = {
        "query": rng.standard_normal((2, rows, q_heads * keys)),
        "key": rng.standard_normal((2, rows, heads * keys)) * 0.4,
        "value": rng.standard_normal((2, rows, heads * values)),
    }
    if "gated" in rule:
        given["decay"] = -rng.uniform(0, 1, (2, rows, heads * keys))
    if "delta" in rule:
        given["beta"] = rng.uniform(0, 1, (2, rows, heads))
    state = rng.standard_normal((2, heads, keys, values))
    names = ["query", "key", "value", "past_state", "decay", "beta"]
    narrow = {name: one.astype(np.float32) for name, one in given.items()}
    past = {"past_state": state.astype(np.float32)}
    path = saved(
        tmp_path / "m.onnx", "LinearAttention", narrow | past, names, 2, "", q_num_heads=q_heads,
        kv_num_heads=heads, update_rule=rule,
    )  # fmt: skip
    model = tilewright.models.load(path, be)
    found, last = model(narrow | past)
    parts, at = [], past["past_state"]
    for cut in (slice(0, 4), slice(4, rows)):
        part, at = model({n: x[:, cut] for n, x in narrow.items()} | {"past_state": at})
        parts.append(part.numpy())
    agree(np.concatenate(parts, axis=1), found.numpy(), 1e-6)
    wanted = []
    for i in range(rows):
        q = given["query"][:, i].reshape(2, q_heads, keys) / np.sqrt(keys)
        k = given["key"][:, i].reshape(2, heads, keys)
        v = given["value"][:, i].reshape(2, heads, values)
        if "gated" in rule:
            state = state * np.exp(given["decay"][:, i].reshape(2, heads, keys, 1))
        if "delta" in rule:
            v = (v - np.einsum("bhk,bhkv->bhv", k, state)) * given["beta"][:, i, :, None]
        state = state + k[..., None] * v[..., None, :]
        seen = np.repeat(state, q_heads // heads, axis=1)
        wanted.append(np.einsum("bhk,bhkv->bhv", q, seen).reshape(2, -1))
    agree(found.numpy(), np.stack(wanted, axis=1).astype(np.float32))
    agree(last.numpy(), state.astype(np.float32))
    agree(at.numpy(), state.astype(np.float32))


def test_linear_attention_that_is_not_there(tmp_path: Path) -> None:
    given = {name: np.zeros((1, 2, 8), np.float32) for name in ("query", "key", "value", "decay")}
    names = ["query", "key", "value", "past_state", "decay", "beta"]
    for attributes, message in (
        ({"kv_num_heads": 3}, "4 heads of 3 of keys"),
        ({"update_rule": "delta"}, "update_rule is delta with the input decay"),
        ({"update_rule": "gated_delta"}, "update_rule is gated_delta without the input beta"),
        ({"update_rule": "squared"}, "update_rule is 'squared', expected one of linear"),
    ):
        known = {"q_num_heads": 4, "kv_num_heads": 2, "update_rule": "gated"} | attributes
        path = saved(tmp_path / "m.onnx", "LinearAttention", given, names, 2, "", **known)
        with pytest.raises(ModelError, match=rf"node 'n' \(LinearAttention\): .*{message}"):
            tilewright.models.load(path, "cpu")
