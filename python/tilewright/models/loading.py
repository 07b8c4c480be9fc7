"""load(): from a folder or a file to a model on a device."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.models import memory
from tilewright.models.decoders import gguf, layers
from tilewright.models.decoders.cache import STORED, Cache
from tilewright.models.decoders.chat import Chat
from tilewright.models.decoders.decoder import Decoder
from tilewright.models.decoders.shape import FAMILIES, Shape, shape_of
from tilewright.models.encoders import bert, modernbert
from tilewright.models.encoders import gguf as encoder_gguf
from tilewright.models.encoders.embedder import Encoder
from tilewright.models.encoders.heads import Head, head_of
from tilewright.models.encoders.sentences import Dense, sentences_of
from tilewright.models.files.config import ModelFolder, open_folder
from tilewright.models.files.fields import Fields
from tilewright.models.files.gguf import is_gguf, open_gguf
from tilewright.models.files.gguf_tokens import gguf_tokens
from tilewright.models.files.guarded import Guarded
from tilewright.models.files.mapped import to_path
from tilewright.models.files.safetensors import open_safetensors
from tilewright.models.progress import bar
from tilewright.models.tokens import Tokenizer, library
from tilewright.models.weights import Wanted, load_weights
from tilewright.namespace.devices import to_backend
from tilewright.operands import invalid, to_integer

if TYPE_CHECKING:
    from tilewright.models.files.gguf import GgufTensors
    from tilewright.models.files.gguf_tokens import GgufTokens
    from tilewright.models.files.tensors import StoredTensors
    from tilewright.models.onnx import OnnxModel
    from tilewright.namespace.devices import Device

#: of config.json's model_type, which layers it has and what its tensors' names may begin with
ENCODERS = {
    "bert": ("bert", "bert."),
    "roberta": ("roberta", "roberta."),
    "xlm-roberta": ("roberta", "roberta."),
    "camembert": ("roberta", "roberta."),
    "mpnet": ("mpnet", "mpnet."),
    "distilbert": ("distilbert", "distilbert."),
    "electra": ("electra", "electra."),
    "modernbert": ("modernbert", "model."),
}
#: what templates may say besides bos_token and eos_token
TOKENS = ("unk_token", "pad_token", "sep_token", "cls_token", "mask_token")


def load(
    path: str | os.PathLike[str],
    device: Device | None = None,
    weights: str | None = None,
    *,
    context: int = 4096,
    cache_tokens: int | None = None,
    cache: str | None = None,
    progress: bool | None = None,
) -> Encoder | Decoder | OnnxModel:
    """The model of a Hugging Face folder, of a GGUF file or of a file of ONNX, on a device.

    weights says what matrices are held as: "float32", "float16", "int8" or "int4"; without it as
    the files have them, GGUF's blocks as they are; Gemma 3, whose states exceed float16, in float32
    where the files have half of it. A decoder's texts have at most `context` tokens,
    or as many as it was made for, and its cache has cache_tokens of all texts together, `context`
    unless given, held as `cache` says: "float16" or "int8", or unless given as the states are. An
    encoder has none. progress shows a bar; unless given, where standard error is a terminal."""
    if to_path(path).suffix.lower() == ".onnx":
        from tilewright.models.onnx import open_onnx

        if weights is not None:
            invalid("load", f"weights is {weights!r}, expected None: an ONNX file says it itself")
        return open_onnx(path, device)
    if is_gguf(to_path(path)):
        return _gguf(path, device, weights, context, cache_tokens, cache, progress)
    folder = open_folder(path)
    fields = folder.model.fields
    if "quantization_config" in fields:
        fields.fail(
            "quantization_config",
            "none: weights that another library packed are not read. Take the model's own, with "
            "weights='int8' or 'int4' for blocks, or a GGUF",
        )
    kind = folder.model.model_type
    if kind in FAMILIES:
        return _decoder(folder, device, weights, context, cache_tokens, cache, progress)
    if kind not in ENCODERS:
        known = sorted([*ENCODERS, *FAMILIES])
        fields.fail("model_type", f"one of {', '.join(known)}")
    return _encoder(folder, device, weights, progress)


def _decoder(
    folder: ModelFolder, device: Device | None, weights: str | None, context: int,
    cache_tokens: int | None, cache: str | None, progress: bool | None,
) -> Decoder:  # fmt: skip
    with open_safetensors(folder.path) as tensors:
        prefix = "model." if any(name.startswith("model.") for name in tensors) else ""
        shape = shape_of(folder.model, ties="lm_head.weight" not in tensors)
        ends = folder.model.eos_token_ids
        if folder.generation is not None and folder.generation.eos_token_ids:
            ends = folder.generation.eos_token_ids
        vocabulary = folder.path / "tokenizer.json"
        tokenizer = Tokenizer.open(vocabulary) if vocabulary.is_file() else None
        template = None
        said = folder.tokenizer
        if said is not None and said.chat_template is not None:
            others = {name: getattr(said, name) for name in TOKENS}
            template = Chat(folder.path, said.chat_template, said.bos_token, said.eos_token, others)
        return _made(
            tensors, shape, prefix, tokenizer, ends, template, folder.path.name, device, weights,
            context, cache_tokens, cache, progress,
        )  # fmt: skip


def _gguf(
    path: str | os.PathLike[str], device: Device | None, weights: str | None, context: int,
    cache_tokens: int | None, cache: str | None, progress: bool | None,
) -> Encoder | Decoder:  # fmt: skip
    """A file of GGUF, with its own vocabulary."""
    with open_gguf(path) as tensors:
        known = (*gguf.FAMILIES, *encoder_gguf.ARCHITECTURES)
        fields = Fields(tensors.files[0], tensors.metadata)
        family = fields.string("general.architecture", choices=known)
        if family not in gguf.FAMILIES:
            return _gguf_encoder(path, tensors, family, device, weights, progress)
        shape = gguf.shape_of(tensors)
        words, tokenizer = _gguf_tokens(path, tensors)
        template = None
        if words.chat_template is not None:
            ids = (words.unknown_id, words.padding_id, words.separator_id, None, words.mask_id)
            bos, eos, *others = (
                None if one is None else words.tokenizer.id_to_token(one)
                for one in (words.bos_id, words.eos_id, *ids)
            )
            named = dict(zip(TOKENS, others, strict=True))
            template = Chat(path, words.chat_template, bos, eos, named)
        return _made(
            gguf.renamed(tensors, shape), shape, "model.", tokenizer, words.end_ids, template,
            Path(path).name, device, weights, context, cache_tokens, cache, progress,
        )  # fmt: skip


def _gguf_tokens(
    path: str | os.PathLike[str], tensors: GgufTensors
) -> tuple[GgufTokens, Tokenizer]:
    library()
    words = gguf_tokens(tensors.metadata)
    return words, Tokenizer(Guarded(words.tokenizer, path))


def _gguf_encoder(
    path: str | os.PathLike[str], tensors: GgufTensors, family: str, device: Device | None,
    weights: str | None, progress: bool | None,
) -> Encoder:  # fmt: skip
    module = encoder_gguf.ARCHITECTURES[family]
    shape, pooling = encoder_gguf.shape_of(tensors, family), encoder_gguf.pooling_of(tensors)
    _, tokenizer = _gguf_tokens(path, tensors)
    renamed = encoder_gguf.renamed(tensors, family)
    backend = to_backend("load", device)
    with bar(progress, Path(path).name) as shown:
        held = load_weights(backend, renamed, module.wanted(shape, ""), weights, shown)
    return Encoder(module.Layers(shape, held, ""), held, tokenizer, pooling, False, shape.longest)


def _made(
    tensors: StoredTensors, shape: Shape, prefix: str, tokenizer: Tokenizer | None,
    ends: Sequence[int], template: Chat | None, name: str, device: Device | None,
    weights: str | None, context: int, cache_tokens: int | None, cache: str | None,
    progress: bool | None,
) -> Decoder:  # fmt: skip
    most = to_integer("load", "context", context)
    if most < 1:
        invalid("load", f"context is {most}, expected 1 or more")
    most = min(most, shape.longest)
    tokens = most if cache_tokens is None else to_integer("load", "cache_tokens", cache_tokens)
    if tokens < 1:
        invalid("load", f"cache_tokens is {tokens}, expected 1 or more")
    if cache is not None and cache not in STORED:
        invalid("load", f"cache is {cache!r}, expected None, {' or '.join(map(repr, STORED))}")
    backend = to_backend("load", device)

    def stored_as(dtype: np.dtype[Any]) -> np.dtype[Any]:
        return dtype if cache is None else np.dtype(cache)

    # A file of few bytes may say that there are thousands of layers.
    tensors.tensor(f"{prefix}layers.{shape.layers - 1}.input_layernorm.weight", (shape.hidden,))
    with bar(progress, name) as shown:
        held = load_weights(
            backend, tensors, layers.wanted(shape, prefix), weights, shown,
            lambda dtype: memory.of_decoder(shape, dtype, stored_as(dtype), most, tokens),
            shape.exceeds_float16,
        )  # fmt: skip
    pages = Cache(backend, shape, stored_as(held.dtype), tokens)
    made = layers.Layers(shape, held, prefix, most, pages)
    return Decoder(made, held, tokenizer, ends, most, template)


def _encoder(
    folder: ModelFolder, device: Device | None, weights: str | None, progress: bool | None
) -> Encoder:
    family, prefix = ENCODERS[folder.model.model_type]
    fields = folder.model.fields
    module: Any = modernbert if family == "modernbert" else bert
    shape = module.shape_of(fields) if module is modernbert else module.shape_of(fields, family)
    with open_safetensors(folder.path) as tensors:
        if not any(name.startswith(prefix) for name in tensors):
            prefix = ""
        wanted: list[Wanted] = module.wanted(shape, prefix)
        head = head_of(tensors, folder.model, family)
        if head is not None:
            wanted += head.wanted(shape.hidden)
        said = sentences_of(folder, shape.hidden)
        backend = to_backend("load", device)
        with bar(progress, folder.path.name) as shown:
            held = load_weights(backend, tensors, wanted, weights, shown)
    return Encoder(
        module.Layers(shape, held, prefix),
        held,
        Tokenizer.open(folder.path / "tokenizer.json"),
        "+".join(said.poolings),
        said.normalizes,
        min(said.longest, shape.longest) if said.longest else shape.longest,
        None if head is None else Head(held, head),
        prompts=said.prompts,
        lowers=said.lowers,
        denses=[Dense(backend, one) for one in said.denses],
    )
