"""A BERT of a Hugging Face folder as a file of ONNX, and embeddings by ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

MICROSOFT = "com.microsoft"
#: whether it is as ONNX Runtime's own tool joins it, or as exporters write it
FORMS = {"ONNX Runtime, joined": True, "ONNX Runtime, as exported": False}


class Maker:
    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []

    def tensor(self, values: Any) -> str:
        from onnx import numpy_helper

        name = f"w{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(np.array(values, order="C"), name))
        return name

    def op(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        from onnx import helper

        names = [f"{op}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names


def export(folder: Path, path: Path, joined: bool) -> None:
    """From words and their mask to the mean of the words that are no padding, of length 1."""
    import onnx
    import transformers
    from onnx import TensorProto, helper

    model = transformers.AutoModel.from_pretrained(folder)
    config, m = model.config, Maker()
    weights = {name: one.float().numpy() for name, one in model.state_dict().items()}
    heads, hidden = config.num_attention_heads, config.hidden_size
    eps = config.layer_norm_eps

    def both(name: str) -> tuple[Any, Any]:
        return weights[f"{name}.weight"].T, weights[f"{name}.bias"]

    def norm(x: str, name: str) -> str:
        gamma, beta = (m.tensor(one) for one in both(name))
        found: str = m.op("LayerNormalization", x, gamma, beta, axis=-1, epsilon=eps)
        return found

    def added(x: str, skip: str, bias: Any, name: str) -> str:
        if not joined:
            return norm(m.op("Add", m.op("Add", x, m.tensor(bias)), skip), name)
        gamma, beta = (m.tensor(one) for one in both(name))
        found: str = m.op(
            "SkipLayerNormalization", x, skip, gamma, beta, m.tensor(bias), domain=MICROSOFT,
            epsilon=eps,
        )  # fmt: skip
        return found

    def attention(x: str, name: str) -> str:
        parts = [both(f"{name}.self.{one}") for one in ("query", "key", "value")]
        weight = m.tensor(np.concatenate([one[0] for one in parts], axis=1))
        bias = m.tensor(np.concatenate([one[1] for one in parts]))
        if joined:
            found: str = m.op(
                "Attention", x, weight, bias, "lengths", domain=MICROSOFT, num_heads=heads
            )
            return found
        fused = m.op("Add", m.op("MatMul", x, weight), bias)
        split = m.tensor(np.int64([0, 0, heads, -1]))
        q, k, v = (
            m.op("Transpose", m.op("Reshape", one, split), perm=perm)
            for one, perm in zip(
                m.op("Split", fused, outputs=3, axis=2),
                ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]),
                strict=True,
            )
        )
        scale = m.tensor(np.float32((hidden // heads) ** 0.5))
        scores = m.op("Add", m.op("Div", m.op("MatMul", q, k), scale), hides)
        y = m.op("MatMul", m.op("Softmax", scores, axis=-1), v)
        y = m.op("Transpose", y, perm=[0, 2, 1, 3])
        found = m.op("Reshape", y, m.tensor(np.int64([0, 0, hidden])))
        return found

    def gelu(x: str, bias: Any) -> str:
        if joined:
            found: str = m.op("BiasGelu", x, m.tensor(bias), domain=MICROSOFT)
            return found
        x = m.op("Add", x, m.tensor(bias))
        root, one, half = (m.tensor(np.float32(value)) for value in (2**0.5, 1, 0.5))
        erf = m.op("Add", m.op("Erf", m.op("Div", x, root)), one)
        found = m.op("Mul", m.op("Mul", x, erf), half)
        return found

    places, axis = m.tensor(np.int64([0])), m.tensor(np.int64([1]))
    count = m.op("Shape", "ids", start=1, end=2)
    table = m.tensor(weights["embeddings.position_embeddings.weight"])
    x = m.op("Gather", m.tensor(weights["embeddings.word_embeddings.weight"]), "ids")
    x = m.op("Add", x, m.op("Slice", table, places, count, places))
    kind = weights["embeddings.token_type_embeddings.weight"][0]
    x = norm(m.op("Add", x, m.tensor(kind)), "embeddings.LayerNorm")
    wide = m.op("Cast", "mask", to=TensorProto.FLOAT)
    hidden_keys = m.op("Sub", m.tensor(np.float32(1)), wide)
    hides = m.op("Mul", hidden_keys, m.tensor(np.float32(-1e9)))
    hides = m.op("Unsqueeze", hides, m.tensor(np.int64([1, 2])))
    lengths = m.op("ReduceSum", "mask", axis, keepdims=0)
    m.nodes.append(helper.make_node("Cast", [lengths], ["lengths"], to=TensorProto.INT32))
    for i in range(config.num_hidden_layers):
        name = f"encoder.layer.{i}"
        y = attention(x, f"{name}.attention")
        weight, bias = both(f"{name}.attention.output.dense")
        y = m.op("MatMul", y, m.tensor(weight))
        x = added(y, x, bias, f"{name}.attention.output.LayerNorm")
        weight, bias = both(f"{name}.intermediate.dense")
        y = gelu(m.op("MatMul", x, m.tensor(weight)), bias)
        weight, bias = both(f"{name}.output.dense")
        y = m.op("MatMul", y, m.tensor(weight))
        x = added(y, x, bias, f"{name}.output.LayerNorm")
    # The mean's divisor goes with the length.
    kept = m.op("Mul", x, m.op("Unsqueeze", wide, m.tensor(np.int64([2]))))
    total = m.op("ReduceSum", kept, axis, keepdims=0)
    m.nodes.append(helper.make_node("LpNormalization", [total], ["rows"], axis=-1, p=2))
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        m.nodes, "bert",
        [value(name, TensorProto.INT64, ["batch", "words"]) for name in ("ids", "mask")],
        [value("rows", TensorProto.FLOAT, ["batch", hidden])], m.tensors,
    )  # fmt: skip
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    made = helper.make_model(graph, opset_imports=imports)
    made.ir_version = 8
    onnx.save(made, path)


class OnnxRuntime:
    """The file on ONNX Runtime's processor, with padding to the longest text."""

    def __init__(self, folder: Path, path: Path, threads: int, joined: bool) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        export(folder, path, joined)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(
            path, options, providers=["CPUExecutionProvider"]
        )
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_padding()

    def embed(self, texts: list[str]) -> Any:
        found = self.tokenizer.encode_batch(texts)
        ids = np.array([one.ids for one in found], np.int64)
        mask = np.array([one.attention_mask for one in found], np.int64)
        return self.session.run(None, {"ids": ids, "mask": mask})[0]
