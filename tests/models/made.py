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
