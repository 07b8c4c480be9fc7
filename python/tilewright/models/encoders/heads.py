"""Classifiers behind an encoder, as cross-encoders have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewright.models.activations import ACTIVATIONS, BENT, dense
from tilewright.models.encoders.pooling import pooled
from tilewright.models.weights import Wanted, matrix, vector
from tilewright.namespace.elementwise import tanh
from tilewright.nn.row_norms import layer_norm

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.models.encoders.batch import Batch
    from tilewright.models.files.config import ModelConfig
    from tilewright.models.files.tensors import StoredTensors
    from tilewright.models.weights import Weights


@dataclass(frozen=True)
class HeadShape:
    """A dense layer with an activation, a norm where there is one, and a layer for the labels."""

    dense: str
    out: str
    labels: int
    activation: str = "tanh"
    pooling: str = "cls"
    has_bias: bool = True
    norm: str | None = None
    norm_bias: bool = False
    eps: float = 0.0

    def wanted(self, hidden: int) -> list[Wanted]:
        every = [
            matrix(f"{self.dense}.weight", hidden, hidden),
            Wanted((f"{self.out}.weight",), (self.labels,), (hidden,)),
            vector(f"{self.out}.bias", self.labels),
        ]
        if self.has_bias:
            every.append(vector(f"{self.dense}.bias", hidden))
        if self.norm is not None:
            every.append(vector(f"{self.norm}.weight", hidden))
            if self.norm_bias:
                every.append(vector(f"{self.norm}.bias", hidden))
        return every


#: of families, the names of the two layers and the activation between them
NAMES = {
    "bert": ("bert.pooler.dense", "classifier", "tanh"),
    "roberta": ("classifier.dense", "classifier.out_proj", "tanh"),
    "mpnet": ("classifier.dense", "classifier.out_proj", "tanh"),
    "electra": ("classifier.dense", "classifier.out_proj", "gelu"),
    "distilbert": ("pre_classifier", "classifier", "relu"),
    "modernbert": ("head.dense", "classifier", "gelu"),
}


def head_of(tensors: StoredTensors, model: ModelConfig, family: str) -> HeadShape | None:
    """Where the file has one of whole texts."""
    dense, out, activation = NAMES[family]
    of_tokens = any(name.endswith("ForTokenClassification") for name in model.architectures)
    if of_tokens or not (f"{dense}.weight" in tensors and f"{out}.weight" in tensors):
        return None
    labels = tensors[f"{out}.weight"].shape[0]
    if family != "modernbert":
        return HeadShape(dense, out, labels, activation)
    fields = model.fields
    return HeadShape(
        dense, out, labels,
        fields.string("classifier_activation", activation, choices=tuple(ACTIVATIONS)),
        fields.string("classifier_pooling", "cls", choices=("cls", "mean")),
        fields.flag("classifier_bias", False), "head.norm", fields.flag("norm_bias", False),
        fields.real("norm_eps", 0.0, 1.0, 1e-5),
    )  # fmt: skip


class Head:
    """A classifier on a device."""

    def __init__(self, weights: Weights, shape: HeadShape) -> None:
        self.weights, self.shape, self.labels = weights, shape, shape.labels

    def __call__(self, states: Array, batch: Batch) -> Array:
        """The logits of each sequence, [sequences, labels]."""
        w, shape = self.weights, self.shape
        rows = pooled(shape.pooling, states, batch)
        first: Any = w[f"{shape.dense}.weight"]
        last: Any = w[f"{shape.out}.weight"]
        offsets: Any = w[f"{shape.dense}.bias"] if shape.has_bias else None
        hidden = dense(rows, first, offsets)
        name = shape.activation
        hidden = tanh(hidden) if name == "tanh" else BENT[ACTIVATIONS[name]](hidden)
        if shape.norm is not None:
            weight: Any = w[f"{shape.norm}.weight"]
            bias: Any = w[f"{shape.norm}.bias"] if shape.norm_bias else None
            hidden = layer_norm(hidden, hidden.shape[-1], weight, bias, shape.eps)
        logits: Array = hidden @ last.T + w[f"{shape.out}.bias"]
        return logits
