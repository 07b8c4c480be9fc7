"""Small files of models: by the packages of their formats, and by hand what these do not write."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import tokenizers
from safetensors import TensorSpec, serialize

Tensor = tuple[str, tuple[int, ...], bytes]

# How the package safetensors calls each dtype where it writes bytes, and the format's own name.
SAFETENSORS = {
    "BOOL": "bool",
    **{f"I{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"U{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"F{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "BF16": "bfloat16",
    "C64": "complex64",
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
}
UNREADABLE = {name for name in SAFETENSORS if name.startswith("F8")}


def safetensors_file(
    path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None
) -> Path:
    """By the package: of each name a dtype of the format, a shape and bytes."""
    held = {name: np.frombuffer(data, np.uint8) for name, (_, _, data) in tensors.items()}
    given = {
        name: TensorSpec(
            dtype=SAFETENSORS[kind],
            shape=list(shape),
            data_ptr=held[name].ctypes.data,
            data_len=held[name].nbytes,
        )
        for name, (kind, shape, _) in tensors.items()
    }
    path.write_bytes(serialize(given, metadata))
    return path


def safetensors_by_hand(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(kind: str, shape: list[Any], begin: Any, end: Any) -> dict[str, Any]:
    return {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}


def text(value: str | bytes) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(raw)) + raw


def gguf_value(key: str | bytes, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def gguf_info(
    name: str | bytes, dims: tuple[int, ...], kind: int, offset: int, axes: int | None = None
) -> bytes:
    """Sizes in the format's order."""
    count = len(dims) if axes is None else axes
    return text(name) + struct.pack(f"<I{len(dims)}QIQ", count, *dims, kind, offset)


def gguf_by_hand(
    values: list[bytes] | tuple[()] = (),
    infos: list[bytes] | tuple[()] = (),
    data: bytes = b"",
    *,
    version: int = 3,
    counts: tuple[int, int] | None = None,
    alignment: int = 32,
) -> bytes:
    tensors, pairs = counts or (len(infos), len(values))
    head = b"GGUF" + struct.pack("<IQQ", version, tensors, pairs) + b"".join([*values, *infos])
    return head + b"\0" * (-len(head) % alignment) + data


def part_by_hand(number: int, total: int, *infos: bytes) -> bytes:
    values = [
        gguf_value("split.no", 2, struct.pack("<H", number)),
        gguf_value("split.count", 2, struct.pack("<H", 2)),
        gguf_value("split.tensors.count", 5, struct.pack("<i", total)),
    ]
    return gguf_by_hand(values, list(infos), bytes(4))


def write(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


NUMBERS: dict[str, Any] = {
    "uint8": 200,
    "int8": -100,
    "uint16": 60000,
    "int16": -30000,
    "uint32": 4_000_000_000,
    "int32": -2_000_000_000,
    "uint64": 2**63 + 5,
    "int64": -(2**62),
    "float32": 0.5,
    "float64": 0.1,
    "bool": True,
    "string": "ein Wort, \u6f22\u5b57",
}


def gguf_values(writer: gguf.GGUFWriter) -> None:
    """A value of each type, and arrays."""
    for kind, value in NUMBERS.items():
        getattr(writer, f"add_{kind}")(f"one.{kind}", value)
    writer.add_array("many.ints", [1, -2, 3])
    writer.add_array("many.floats", [0.5, 1.5])
    writer.add_array("many.bools", [True, False])
    writer.add_array("many.strings", ["a", "", "\u00e9"])
    writer.add_array("many.lists", [[1, 2], [3]])


def gguf_file(path: Path, seed: int = 0) -> Path:
    """All types of values, arrays and blocks."""
    rng = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, "llama")
    gguf_values(writer)
    for dtype in (np.float32, np.float16, np.float64, np.int8, np.int16, np.int32, np.int64):
        name = np.dtype(dtype).name
        writer.add_tensor(name, rng.integers(-9, 9, (3, 5)).astype(dtype))
    for kind in (gguf.GGMLQuantizationType.Q4_K, gguf.GGMLQuantizationType.IQ4_XS):
        size = gguf.GGML_QUANT_SIZES[kind][1]
        blocks = rng.integers(0, 256, (2, size), np.uint8)
        writer.add_tensor(kind.name.lower(), blocks, raw_dtype=kind)
    write(writer)
    return path


TEXT = """The quick brown fox jumps over the lazy dog. It isn't lazy; they're 12 345 words, or 6789.
Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.
def f(x):
    return x ** 2  # a comment\n\n\n\tand\ttabs   and   spaces
漢字 かな 한국어 Ελληνικά кириллица 🙂🙃 e\u0301 \u00e9
"""
TEXTS = (
    *TEXT.splitlines(),
    TEXT,
    "",
    " ",
    "   leading and trailing   ",
    "unseen: \u0e01\u0e02 \U0001f9ff",
    "I'LL we'Ve DON'T 1234567 x1y22z333",
    "a\r\n\r\nb\u00a0c\u2003d",
)


def byte_level(size: int = 400) -> tokenizers.Tokenizer:
    """Trained here: byte-level joining with words as GPT-2 cuts them."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<|end|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator([TEXT] * 3, trainer)
    made.decoder = tokenizers.decoders.ByteLevel()
    return made


def tokens_of(made: tokenizers.Tokenizer) -> list[str]:
    ids = made.get_vocab(with_added_tokens=True)
    return sorted(ids, key=lambda token: ids[token])


def merges_of(made: tokenizers.Tokenizer) -> list[str]:
    found = json.loads(made.to_str())["model"]["merges"]
    return [one if isinstance(one, str) else " ".join(one) for one in found]


def byte_level_file(path: Path, pre: str | None = "gpt-2", **flags: bool) -> Path:
    made = byte_level()
    tokens = tokens_of(made)
    writer = gguf.GGUFWriter(path, "gpt2")
    writer.add_tokenizer_model("gpt2")
    if pre is not None:
        writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token == "<|end|>" else 1 for token in tokens])
    writer.add_token_merges(merges_of(made))
    end = made.token_to_id("<|end|>")
    writer.add_bos_token_id(end)
    writer.add_eos_token_id(end)
    for name, value in flags.items():
        writer.add_bool(f"tokenizer.ggml.{name}", value)
    writer.add_chat_template("{{ messages }}")
    write(writer)
    return path


def scores_file(path: Path, **flags: bool) -> Path:
    """SentencePiece's kind: the same joins by their scores, and tokens of bytes."""
    made = pieces()
    tokens = tokens_of(made)
    ranks = {merge.replace(" ", ""): i for i, merge in enumerate(merges_of(made))}
    types = {"<unk>": 2, "<s>": 3, "</s>": 3} | {f"<0x{i:02X}>": 6 for i in range(256)}
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types([types.get(token, 1) for token in tokens])
    writer.add_token_scores([-float(ranks.get(token, 1e6)) for token in tokens])
    writer.add_unk_token_id(made.token_to_id("<unk>"))
    writer.add_bos_token_id(made.token_to_id("<s>"))
    writer.add_eos_token_id(made.token_to_id("</s>"))
    for name, value in flags.items():
        writer.add_bool(f"tokenizer.ggml.{name}", value)
    write(writer)
    return path


def pieces(size: int = 500) -> tokenizers.Tokenizer:
    """Trained here: joins of characters with spaces as signs, what is unknown as bytes."""
    made = tokenizers.Tokenizer(
        tokenizers.models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    made.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.Prepend("\u2581"), tokenizers.normalizers.Replace(" ", "\u2581")]
    )
    special = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256))]
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, show_progress=False, max_token_length=12
    )
    made.train_from_iterator([line for line in TEXT.splitlines() for _ in range(3)], trainer)
    # The trainer adds the bytes as tokens of their own, which text could then name.
    said = json.loads(made.to_str())
    said["added_tokens"] = [one for one in said["added_tokens"] if one["id"] < 3]
    made = tokenizers.Tokenizer.from_str(json.dumps(said))
    decoders = tokenizers.decoders
    made.decoder = decoders.Sequence(
        [
            decoders.Replace("\u2581", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    return made


def word_piece() -> tokenizers.Tokenizer:
    """WordPiece as BERT's, of the words of the text, their letters and some ends."""
    words = sorted({word.strip(".,;:()#") for word in TEXT.lower().split()} - {""})
    signs = sorted({sign for sign in TEXT + TEXT.lower() if not sign.isspace()})
    ends = sorted({word[-n:] for word in words for n in (2, 3) if len(word) > n})
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens = [*special, *signs, *(f"##{sign}" for sign in signs[::2])]
    tokens += [*words, *(f"##{end}" for end in ends)]
    ids = {token: i for i, token in enumerate(dict.fromkeys(tokens))}
    made = tokenizers.BertWordPieceTokenizer(ids, lowercase=True)
    return made._tokenizer


def word_piece_file(path: Path, **flags: bool) -> Path:
    """As llama.cpp converts it: beginnings of words are marked, not what goes on."""
    made = word_piece()
    special = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    tokens = tokens_of(made)
    phantom = [
        token if token in special else token[2:] if token[:2] == "##" else "\u2581" + token
        for token in tokens
    ]
    writer = gguf.GGUFWriter(path, "bert")
    writer.add_tokenizer_model("bert")
    writer.add_token_list(phantom)
    writer.add_token_types([3 if token in special else 1 for token in tokens])
    writer.add_unk_token_id(made.token_to_id("[UNK]"))
    writer.add_sep_token_id(made.token_to_id("[SEP]"))
    writer.add_pad_token_id(made.token_to_id("[PAD]"))
    writer.add_mask_token_id(made.token_to_id("[MASK]"))
    writer.add_uint32("tokenizer.ggml.cls_token_id", made.token_to_id("[CLS]"))
    for name, value in flags.items():
        writer.add_bool(f"tokenizer.ggml.{name}", value)
    write(writer)
    return path


# A folder of Hugging Face, and of sentence-transformers.
FOLDER: dict[str, Any] = {
    "config.json": {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "torch_dtype": "bfloat16",
        "vocab_size": 32000,
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 128,
        "max_position_embeddings": 2048,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000,
        "rope_scaling": {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
        "tie_word_embeddings": False,
        "attention_bias": False,
        "bos_token_id": 1,
        "eos_token_id": [2, 7],
        "pad_token_id": None,
    },
    "tokenizer_config.json": {
        "tokenizer_class": "LlamaTokenizer",
        "model_max_length": 1000000000000000019884624838656,
        "bos_token": {"content": "<s>", "lstrip": False, "special": True},
        "eos_token": "</s>",
        "pad_token": None,
        "add_bos_token": True,
        "padding_side": "left",
        "chat_template": [
            {"name": "default", "template": "{{ messages }}"},
            {"name": "tools", "template": "{{ tools }}"},
        ],
    },
    "generation_config.json": {
        "eos_token_id": 2,
        "do_sample": True,
        "temperature": 0.6,
        "top_p": 0.9,
        "top_k": 50,
        "max_length": 4096,
    },
    "modules.json": [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {
            "idx": 1,
            "name": "1",
            "path": "1_Pooling",
            "type": "sentence_transformers.models.Pooling",
        },
    ],
    "1_Pooling/config.json": {
        "word_embedding_dimension": 64,
        "pooling_mode_cls_token": False,
        "pooling_mode_mean_tokens": True,
    },
    "sentence_bert_config.json": {"max_seq_length": 256, "do_lower_case": False},
}
