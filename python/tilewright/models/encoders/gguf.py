"""Encoders of GGUF files: their sizes, and the names that Hugging Face's files have for tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.models.encoders import bert, nomic
from tilewright.models.files import gguf_names
from tilewright.models.files.fields import Fields
from tilewright.models.rotations import Turns

if TYPE_CHECKING:
    from tilewright.models.files.gguf import GgufTensors
    from tilewright.models.files.tensors import StoredTensors

ARCHITECTURES: dict[str, Any] = {"bert": bert, "nomic-bert": nomic}
#: how a sequence's states become one row, by the numbers of the files
POOLINGS = {0: "mean", 1: "mean", 2: "cls", 3: "last"}

NAMES = {
    "token_embd": "embeddings.word_embeddings",
    "position_embd": "embeddings.position_embeddings",
    "token_types": "embeddings.token_type_embeddings",
}
LAYER_NAMES = {
    "attn_q": "attention.self.query",
    "attn_k": "attention.self.key",
    "attn_v": "attention.self.value",
    "attn_output": "attention.output.dense",
    "attn_output_norm": "attention.output.LayerNorm",
    "ffn_up": "intermediate.dense",
    "ffn_down": "output.dense",
    "layer_output_norm": "output.LayerNorm",
}
NOMIC_NAMES = {
    "attn_qkv": "attn.Wqkv",
    "attn_output": "attn.out_proj",
    "attn_output_norm": "norm1",
    "ffn_gate": "mlp.fc12",
    "ffn_up": "mlp.fc11",
    "ffn_down": "mlp.fc2",
    "layer_output_norm": "norm2",
}


def renamed(tensors: GgufTensors, family: str) -> StoredTensors:
    if family == "nomic-bert":
        names = NAMES | {"token_embd_norm": "emb_ln"}
        return gguf_names.renamed(tensors, names, "encoder.layers", NOMIC_NAMES)
    names = NAMES | {"token_embd_norm": "embeddings.LayerNorm"}
    return gguf_names.renamed(tensors, names, "encoder.layer", LAYER_NAMES)


def shape_of(tensors: GgufTensors, family: str) -> bert.Shape | nomic.Shape:
    fields = Fields(tensors.files[0], tensors.metadata)
    hidden = fields.integer(f"{family}.embedding_length", 1, 1 << 16)
    heads = fields.integer(f"{family}.attention.head_count", 1, 1024)
    if hidden % heads:
        fields.fail(f"{family}.attention.head_count", f"a divisor of {hidden}, the size of a row")
    if fields.flag(f"{family}.attention.causal", False):
        fields.fail(f"{family}.attention.causal", "false")
    layers = fields.integer(f"{family}.block_count", 1, 1024)
    # A file of few bytes may say that there are thousands of layers.
    tensors.tensor(f"blk.{layers - 1}.layer_output_norm.bias", (hidden,))
    inner = fields.integer(f"{family}.feed_forward_length", 1, 1 << 20)
    longest = fields.integer(f"{family}.context_length", 1, 1 << 20)
    eps = fields.real(f"{family}.attention.layer_norm_epsilon", 0.0, 1.0)
    words = gguf_names.rows_of(tensors, "token_embd.weight")
    segments = gguf_names.rows_of(tensors, "token_types.weight")
    if family == "bert":
        return bert.Shape(
            "bert", layers, hidden, heads, inner, words, longest, segments, eps, "gelu", 0, 4
        )
    if hidden // heads % 2:
        fields.fail(f"{family}.attention.head_count", "heads of an even size, which are turned")
    theta = fields.real(f"{family}.rope.freq_base", 1.0, 1e12, 10000.0)
    kind = fields.string(f"{family}.rope.scaling.type", "none")
    if kind != "none":
        fields.fail(f"{family}.rope.scaling.type", "none")
    turns = Turns(theta, hidden // heads)
    return nomic.Shape(layers, hidden, heads, inner, words, segments, longest, eps, turns)


def pooling_of(tensors: GgufTensors) -> str:
    fields = Fields(tensors.files[0], tensors.metadata)
    key = f"{fields.string('general.architecture')}.pooling_type"
    found = fields.integer(key, 0, 1 << 16, 1)
    if found not in POOLINGS:
        fields.fail(key, "0 to 3: the mean, the first token or the last")
    return POOLINGS[found]
