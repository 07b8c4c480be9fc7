"""What the files of JSON in a folder of Hugging Face say, checked.

Every size has an upper bound, so that no file decides how much memory is taken. What a family of
models has of its own is asked of `fields` by who builds it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tilewright.models.files.errors import fail
from tilewright.models.files.fields import Fields
from tilewright.models.files.mapped import inside, read_small, to_path
from tilewright.models.files.rope import MOST_POSITIONS, Rope, rope_of
from tilewright.models.files.safetensors import ADAPTER, IS_ADAPTER
from tilewright.models.files.text import parse_json

Made = TypeVar("Made")

MOST_BYTES = 16 << 20
MOST_TEMPLATE = 1 << 20

MOST_TOKENS = 1 << 24
MOST_WIDTH = 1 << 20
MOST_LAYERS = 4096
MOST_HEADS = 4096
MOST_TYPES = 1 << 16
# Where a file does not say how many it was trained with.
DEFAULT_POSITIONS = 2048
MOST_MODULES = 64
#: what names a model on the hub
HUB = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)


@dataclass(frozen=True)
class ModelConfig:
    """config.json by one set of names; what a model does not say is None, or what its family's
    default is where that is the same everywhere."""

    model_type: str
    architectures: tuple[str, ...]
    dtype: str | None
    vocab_size: int
    hidden_size: int
    layers: int
    heads: int
    key_value_heads: int
    head_dim: int
    intermediate_size: int | None
    max_positions: int | None
    activation: str | None
    norm_eps: float | None
    rope: Rope
    """Of layers that see all of a text."""
    sliding_window: int | None
    tie_word_embeddings: bool | None
    attention_bias: bool | None
    mlp_bias: bool | None
    type_vocab_size: int
    position_embedding_type: str | None
    bos_token_id: int | None
    eos_token_ids: tuple[int, ...]
    pad_token_id: int | None
    fields: Fields = field(repr=False, compare=False)


@dataclass(frozen=True)
class TokenizerConfig:
    """tokenizer_config.json."""

    tokenizer_class: str | None
    model_max_length: int | None
    """None where there is no bound."""
    bos_token: str | None
    eos_token: str | None
    unk_token: str | None
    pad_token: str | None
    sep_token: str | None
    cls_token: str | None
    mask_token: str | None
    add_bos_token: bool | None
    add_eos_token: bool | None
    do_lower_case: bool | None
    clean_up_tokenization_spaces: bool | None
    padding_side: str | None
    chat_template: str | None
    """chat_template.jinja, else the one named "default"."""
    chat_templates: dict[str, str]
    """All, by their names."""
    fields: Fields = field(repr=False, compare=False)


@dataclass(frozen=True)
class GenerationConfig:
    """generation_config.json."""

    bos_token_id: int | None
    eos_token_ids: tuple[int, ...]
    pad_token_id: int | None
    do_sample: bool
    temperature: float | None
    top_k: int | None
    top_p: float | None
    min_p: float | None
    repetition_penalty: float | None
    max_new_tokens: int | None
    max_length: int | None
    fields: Fields = field(repr=False, compare=False)


@dataclass(frozen=True)
class Module:
    """One of modules.json: a class of sentence-transformers and its folder."""

    name: str
    kind: str
    """The last word of its type, such as "Pooling"."""
    folder: Path


@dataclass(frozen=True)
class PoolingConfig:
    """config.json of a Pooling module. Several modes give their results side by side."""

    dimension: int
    modes: tuple[str, ...]
    """Of "cls", "max", "mean", "mean_sqrt_len", "weightedmean" and "lasttoken", in this order."""
    include_prompt: bool


@dataclass(frozen=True)
class SentenceConfig:
    """sentence_bert_config.json."""

    max_seq_length: int | None
    do_lower_case: bool


@dataclass(frozen=True)
class ModelFolder:
    """A folder of Hugging Face; what it has no file for is None or empty."""

    path: Path
    model: ModelConfig
    tokenizer: TokenizerConfig | None
    generation: GenerationConfig | None
    modules: tuple[Module, ...]
    pooling: PoolingConfig | None
    sentence: SentenceConfig | None


def open_folder(path: object) -> ModelFolder:
    """Reads the configurations of a folder, of which config.json must be there."""
    folder = to_path(path)
    if not folder.is_dir():
        fail(folder, _no_folder(folder))
    if not (folder / "config.json").exists() and (folder / ADAPTER).exists():
        fail(folder, IS_ADAPTER)
    template = folder / "chat_template.jinja"
    modules = read_modules(folder)
    pooled = [module.folder for module in modules if module.kind == "Pooling"]
    pooling = pooled[0] if pooled else folder / "1_Pooling"
    return ModelFolder(
        folder,
        model_config(read_fields(folder / "config.json")),
        _tokenizer(folder / "tokenizer_config.json", template),
        _optional(folder / "generation_config.json", generation_config),
        modules,
        _optional(pooling / "config.json", pooling_config),
        _optional(folder / "sentence_bert_config.json", sentence_config),
    )


def _no_folder(path: Path) -> str:
    if path.suffix == ".safetensors":
        return "it has tensors alone, expected the folder that it is in, with config.json beside it"
    if path.exists():
        return "it is not a folder, expected one with config.json, or a file of GGUF or ONNX"
    what = "there is no such folder, expected one with config.json"
    if HUB.fullmatch(str(path)):
        what += f"; hf download {path} --local-dir {path.name} fetches one from Hugging Face's hub"
    return what


def read_fields(path: Path) -> Fields:
    return Fields(path, parse_json(read_small(path, MOST_BYTES), path))


def _optional(path: Path, make: Callable[[Fields], Made]) -> Made | None:
    return make(read_fields(path)) if path.exists() else None


def _tokenizer(path: Path, template: Path) -> TokenizerConfig | None:
    """A template may lie in the folder alone."""
    if not path.exists() and template.exists():
        return tokenizer_config(Fields(path, {}), template)
    return _optional(path, lambda it: tokenizer_config(it, template))


def model_config(found: Fields) -> ModelConfig:
    """config.json, whose names differ between families."""

    def name(*names: str) -> str:
        return next((one for one in names if one in found), names[0])

    hidden = found.integer(name("hidden_size", "n_embd", "d_model", "dim"), 1, MOST_WIDTH)
    heads_name = name("num_attention_heads", "n_head", "n_heads", "num_heads")
    heads = found.integer(heads_name, 1, MOST_HEADS)
    if "head_dim" not in found and hidden % heads:
        found.fail(heads_name, f"a divisor of the hidden size, {hidden}, or head_dim beside it")
    key_value_heads = found.integer("num_key_value_heads", 1, heads, heads)
    if heads % key_value_heads:
        found.fail("num_key_value_heads", f"a divisor of the {heads} heads")
    vocabulary = found.integer("vocab_size", 1, MOST_TOKENS)
    last = MOST_TOKENS - 1
    positions = name("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len")
    longest = found.integer(positions, 1, MOST_POSITIONS, None)
    epsilon = name("rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_eps")
    inner = name("intermediate_size", "n_inner", "ffn_dim", "hidden_dim")
    return ModelConfig(
        model_type=found.string("model_type", most=100),
        architectures=found.strings("architectures", (), most=16),
        dtype=found.string(name("torch_dtype", "dtype"), None, most=32),
        vocab_size=vocabulary,
        hidden_size=hidden,
        layers=found.integer(
            name("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 1, MOST_LAYERS
        ),
        heads=heads,
        key_value_heads=key_value_heads,
        head_dim=found.integer("head_dim", 1, MOST_WIDTH, hidden // heads),
        intermediate_size=found.integer(inner, 1, MOST_WIDTH, None),
        max_positions=longest,
        activation=found.string(
            name("hidden_act", "activation_function", "hidden_activation", "activation"),
            None,
            most=64,
        ),
        norm_eps=found.real(epsilon, 0, 1, None),
        rope=rope_of(found, longest or DEFAULT_POSITIONS),
        sliding_window=found.integer("sliding_window", 0, MOST_POSITIONS, None),
        tie_word_embeddings=found.flag("tie_word_embeddings", None),
        attention_bias=found.flag("attention_bias", None),
        mlp_bias=found.flag("mlp_bias", None),
        type_vocab_size=found.integer("type_vocab_size", 0, MOST_TYPES, 0),
        position_embedding_type=found.string("position_embedding_type", None, most=64),
        bos_token_id=_one_of(found.integers("bos_token_id", -1, last, (), or_one=True)),
        eos_token_ids=found.integers("eos_token_id", -1, last, (), or_one=True),
        pad_token_id=found.integer("pad_token_id", -1, last, None),
        fields=found,
    )


def _one_of(ids: tuple[int, ...]) -> int | None:
    return ids[0] if ids else None


def tokenizer_config(found: Fields, template: Path | None = None) -> TokenizerConfig:
    longest = found.values.get("model_max_length")
    # 1e30 stands for no bound.
    is_bounded = isinstance(longest, int | float) and longest <= MOST_POSITIONS
    templates = _templates(found)
    if template is not None and template.exists():
        templates = {"default": _template(template)} | {
            name: text for name, text in templates.items() if name != "default"
        }
    return TokenizerConfig(
        tokenizer_class=found.string("tokenizer_class", None, most=100),
        model_max_length=found.integer("model_max_length", 1, MOST_POSITIONS)
        if is_bounded
        else None,
        bos_token=_token(found, "bos_token"),
        eos_token=_token(found, "eos_token"),
        unk_token=_token(found, "unk_token"),
        pad_token=_token(found, "pad_token"),
        sep_token=_token(found, "sep_token"),
        cls_token=_token(found, "cls_token"),
        mask_token=_token(found, "mask_token"),
        add_bos_token=found.flag("add_bos_token", None),
        add_eos_token=found.flag("add_eos_token", None),
        do_lower_case=found.flag("do_lower_case", None),
        clean_up_tokenization_spaces=found.flag("clean_up_tokenization_spaces", None),
        padding_side=found.string("padding_side", None, choices=("left", "right")),
        chat_template=templates.get("default"),
        chat_templates=templates,
        fields=found,
    )


def _token(found: Fields, key: str) -> str | None:
    """A string, or an object that has it as its content."""
    if isinstance(found.values.get(key), dict):
        inner = found.section(key)
        return inner.string("content", most=1024) if inner else None
    return found.string(key, None, most=1024)


def _templates(found: Fields) -> dict[str, str]:
    given = found.values.get("chat_template")
    if given is None or isinstance(given, str):
        one = found.string("chat_template", None, most=MOST_TEMPLATE)
        return {} if one is None else {"default": one}
    if not isinstance(given, list) or len(given) > 64:
        found.fail("chat_template", "a string or a list of at most 64 objects")
    named = {}
    for i, item in enumerate(given):
        each = Fields(found.file, item, f"chat_template[{i}].")
        named[each.string("name", most=100)] = each.string("template", most=MOST_TEMPLATE)
    return named


def _template(path: Path) -> str:
    try:
        return read_small(path, MOST_TEMPLATE).decode()
    except UnicodeDecodeError as error:
        fail(path, f"byte {error.start} is not UTF-8")


def generation_config(found: Fields) -> GenerationConfig:
    last = MOST_TOKENS - 1
    return GenerationConfig(
        bos_token_id=_one_of(found.integers("bos_token_id", -1, last, (), or_one=True)),
        eos_token_ids=found.integers("eos_token_id", -1, last, (), or_one=True),
        pad_token_id=found.integer("pad_token_id", -1, last, None),
        do_sample=found.flag("do_sample", False),
        temperature=found.real("temperature", 0, 1e6, None),
        top_k=found.integer("top_k", -1, MOST_TOKENS, None),
        top_p=found.real("top_p", 0, 1, None),
        min_p=found.real("min_p", 0, 1, None),
        repetition_penalty=found.real("repetition_penalty", 0, 1e6, None),
        max_new_tokens=found.integer("max_new_tokens", 1, MOST_POSITIONS, None),
        max_length=found.integer("max_length", 1, MOST_POSITIONS, None),
        fields=found,
    )


def read_modules(folder: Path) -> tuple[Module, ...]:
    """modules.json of sentence-transformers, in order; none where there is no such file."""
    path = folder / "modules.json"
    if not path.exists():
        return ()
    listed = parse_json(read_small(path, MOST_BYTES), path)
    if not isinstance(listed, list) or len(listed) > MOST_MODULES:
        fail(path, f"it is not a list of at most {MOST_MODULES} modules")
    modules = []
    for i, item in enumerate(listed):
        each = Fields(path, item, f"[{i}].")
        name, where = each.string("name", most=100), each.string("path", most=1000)
        its = inside(folder, where, path, f"[{i}].path") if where else folder
        modules.append(Module(name, each.string("type", most=200).rpartition(".")[2], its))
    return tuple(modules)


POOLING = {
    "cls": "pooling_mode_cls_token",
    "max": "pooling_mode_max_tokens",
    "mean": "pooling_mode_mean_tokens",
    "mean_sqrt_len": "pooling_mode_mean_sqrt_len_tokens",
    "weightedmean": "pooling_mode_weightedmean_tokens",
    "lasttoken": "pooling_mode_lasttoken",
}


def pooling_config(found: Fields) -> PoolingConfig:
    newer, older = "embedding_dimension", "word_embedding_dimension"
    dimension = newer if newer in found else older
    modes = tuple(mode for mode, key in POOLING.items() if found.flag(key, False))
    if "pooling_mode" in found:
        modes = (found.string("pooling_mode", choices=tuple(POOLING)),)
    if not modes:
        fail(found.file, f"none of {', '.join(POOLING.values())} is true, expected at least one")
    return PoolingConfig(
        dimension=found.integer(dimension, 1, MOST_WIDTH),
        modes=modes,
        include_prompt=found.flag("include_prompt", True),
    )


def sentence_config(found: Fields) -> SentenceConfig:
    return SentenceConfig(
        max_seq_length=found.integer("max_seq_length", 1, MOST_POSITIONS, None),
        do_lower_case=found.flag("do_lower_case", False),
    )
