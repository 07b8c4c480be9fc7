"""What sentence-transformers puts in front of an encoder and behind it, as a folder says it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.models.encoders.pooling import POOLINGS
from tilewright.models.files.config import read_fields
from tilewright.models.files.errors import fail, shown
from tilewright.models.files.fields import Fields
from tilewright.models.files.safetensors import open_safetensors
from tilewright.models.weights import load_weights, matrix, vector
from tilewright.namespace.elementwise import tanh
from tilewright.nn.activations import gelu, relu, sigmoid, silu
from tilewright.operands import invalid

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.backend import Backend
    from tilewright.models.files.config import ModelFolder, Module
    from tilewright.models.weights import Weights

MOST_WIDTH = 1 << 20
MOST_PROMPTS = 1024
KINDS = ("Transformer", "Pooling", "Dense", "Normalize")
#: by the last word of torch's classes
BENT: dict[str, Callable[[Array], Array] | None] = {
    "Identity": None, "Tanh": tanh, "ReLU": relu, "GELU": gelu, "SiLU": silu, "Sigmoid": sigmoid,
}  # fmt: skip


@dataclass(frozen=True)
class Prompts:
    """What is put in front of texts."""

    by_name: Mapping[str, str] = field(default_factory=dict)
    usual: str | None = None
    """The name of the one that is taken where none is asked for."""

    def of(self, call: str, name: str | None) -> str:
        if name is None:
            return "" if self.usual is None else self.by_name[self.usual]
        if name not in self.by_name:
            known = ", ".join(map(repr, self.by_name)) or "no prompt"
            invalid(call, f"prompt_name is {shown(name)}, and the model's files have {known}")
        return self.by_name[name]


@dataclass(frozen=True)
class DenseShape:
    """A layer behind the pooling."""

    folder: Path
    columns: int
    rows: int
    has_bias: bool
    activation: str


@dataclass(frozen=True)
class Sentences:
    poolings: tuple[str, ...] = ("mean",)
    denses: tuple[DenseShape, ...] = ()
    normalizes: bool = False
    longest: int | None = None
    """Tokens of a text that are read, where a file says it."""
    prompts: Prompts = field(default_factory=Prompts)
    lowers: bool = False
    """Whether texts become small letters."""


def sentences_of(folder: ModelFolder, hidden: int) -> Sentences:
    """The mean of its states is a sequence's row, where no file says otherwise."""
    kinds = [module.kind for module in folder.modules]
    for kind in kinds:
        if kind not in KINDS:
            fail(
                folder.path / "modules.json",
                f"the module is {kind}, expected one of {', '.join(KINDS)}",
            )
    if "Normalize" in kinds[:-1]:
        fail(folder.path / "modules.json", "Normalize is not the last module, as is expected")
    if kinds and sorted(kinds, key=KINDS.index) != kinds:
        fail(folder.path / "modules.json", f"the modules are {', '.join(kinds)}, expected in the "
             f"order {', '.join(KINDS)}")  # fmt: skip
    prompts = prompts_of(folder.path / "config_sentence_transformers.json")
    poolings: tuple[str, ...] = ("mean",)
    if folder.pooling is not None:
        for mode in folder.pooling.modes:
            if mode not in POOLINGS:
                fail(
                    folder.path / "1_Pooling" / "config.json",
                    f"the pooling is {mode}, expected one of {', '.join(POOLINGS)}",
                )
        poolings = tuple(POOLINGS[mode] for mode in folder.pooling.modes)
        if not folder.pooling.include_prompt and any(prompts.by_name.values()):
            fail(
                folder.path / "1_Pooling" / "config.json",
                "include_prompt is False, expected True of a model with prompts",
            )
    size, denses = hidden * len(poolings), []
    for module in folder.modules:
        if module.kind == "Dense":
            denses.append(dense_of(module, size))
            size = denses[-1].rows
    said = folder.sentence
    return Sentences(
        poolings, tuple(denses), "Normalize" in kinds, said.max_seq_length if said else None,
        prompts, said is not None and said.do_lower_case,
    )  # fmt: skip


def prompts_of(path: Path) -> Prompts:
    if not path.exists():
        return Prompts()
    found = read_fields(path)
    given = found.values.get("prompts") or {}
    if not isinstance(given, Mapping) or len(given) > MOST_PROMPTS:
        found.fail("prompts", f"an object of at most {MOST_PROMPTS} texts")
    each = Fields(path, given, "prompts.")
    named = {name: each.string(name) for name in given if given[name] is not None}
    usual = found.string("default_prompt_name", None)
    if usual is not None and usual not in named:
        found.fail("default_prompt_name", f"one of {', '.join(map(repr, named)) or 'prompts'}")
    return Prompts(named, usual)


def dense_of(module: Module, columns: int) -> DenseShape:
    found = read_fields(module.folder / "config.json")
    if found.integer("in_features", 1, MOST_WIDTH) != columns:
        found.fail("in_features", f"{columns}, the size of what is in front of it")
    word = found.string("activation_function", "torch.nn.modules.activation.Tanh", most=200)
    name = word.rpartition(".")[2]
    if name not in BENT:
        found.fail("activation_function", f"one of {', '.join(BENT)}")
    rows = found.integer("out_features", 1, MOST_WIDTH)
    return DenseShape(module.folder, columns, rows, found.flag("bias", True), name)


class Dense:
    """A layer on a device, in float32."""

    def __init__(self, backend: Backend, shape: DenseShape) -> None:
        self.shape = shape
        wanted = [matrix("linear.weight", shape.rows, shape.columns)]
        if shape.has_bias:
            wanted.append(vector("linear.bias", shape.rows))
        with open_safetensors(shape.folder) as tensors:
            self.weights: Weights = load_weights(backend, tensors, wanted, "float32")

    def __call__(self, rows: Array) -> Array:
        weight: Any = self.weights["linear.weight"]
        found: Array = rows @ weight.T
        if self.shape.has_bias:
            found = found + self.weights["linear.bias"]
        bent = BENT[self.shape.activation]
        return found if bent is None else bent(found)
