"""BERT of GGUF files: its sizes, and the names that Hugging Face's files have for tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.models.encoders.bert import Shape
from tilewright.models.files import gguf_names
from tilewright.models.files.fields import Fields

if TYPE_CHECKING:
    from tilewright.models.files.gguf import GgufTensors
    from tilewright.models.files.tensors import StoredTensors

ARCHITECTURES = ("bert",)
#: how a sequence's states become one row, by the numbers of the files
POOLINGS = {0: "mean", 1: "mean", 2: "cls", 3: "last"}

NAMES = {
    "token_embd": "embeddings.word_embeddings",
    "position_embd": "embeddings.position_embeddings",
    "token_types": "embeddings.token_type_embeddings",
    "token_embd_norm": "embeddings.LayerNorm",
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


def renamed(tensors: GgufTensors) -> StoredTensors:
    return gguf_names.renamed(tensors, NAMES, "encoder.layer", LAYER_NAMES)


def shape_of(tensors: GgufTensors) -> Shape:
    fields = Fields(tensors.files[0], tensors.metadata)
    family = fields.string("general.architecture", choices=ARCHITECTURES)
    hidden = fields.integer(f"{family}.embedding_length", 1, 1 << 16)
    heads = fields.integer(f"{family}.attention.head_count", 1, 1024)
    if hidden % heads:
        fields.fail(f"{family}.attention.head_count", f"a divisor of {hidden}, the size of a row")
    if fields.flag(f"{family}.attention.causal", False):
        fields.fail(f"{family}.attention.causal", "false")
    return Shape(
        "bert",
        fields.integer(f"{family}.block_count", 1, 1024),
        hidden,
        heads,
        fields.integer(f"{family}.feed_forward_length", 1, 1 << 20),
        gguf_names.rows_of(tensors, "token_embd.weight"),
        fields.integer(f"{family}.context_length", 1, 1 << 20),
        gguf_names.rows_of(tensors, "token_types.weight"),
        fields.real(f"{family}.attention.layer_norm_epsilon", 0.0, 1.0),
        "gelu",
        0,
        4,
    )


def pooling_of(tensors: GgufTensors) -> str:
    fields = Fields(tensors.files[0], tensors.metadata)
    key = f"{fields.string('general.architecture')}.pooling_type"
    found = fields.integer(key, 0, 1 << 16, 1)
    if found not in POOLINGS:
        fields.fail(key, "0 to 3: the mean, the first token or the last")
    return POOLINGS[found]
