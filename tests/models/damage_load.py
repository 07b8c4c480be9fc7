"""Models whose files are damaged or lie, loaded and run, by hand with
`cd tests && python -m models.damage_load --count 10000`.

What is wrong follows from a number alone. A model may be refused, by a ModelError that names a
file, or do what it does on the CPU; nothing else may come of it, and no file decides how much
memory is taken.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import json
import random
import shutil
import struct
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import tilewright
from conformance import model_bert_ggufs, model_folders, model_ggufs
from tilewright.models import Decoder, ModelError

from . import damage

# What Python takes of a folder of a few kilobytes, and what the device gives to a model of it.
MOST_PYTHON, MOST_DEVICE = 8_000_000, 16_000_000
MOST_GROWN = 400_000_000
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 3, 5, 7, 8, 16, 64, 1 << 20, 10**9, 1 << 31, 1 << 62,
    -(1 << 62), 1 << 64, 0.0, -1.5, 0.5, 1e-30, 1e30, 1e300, "", "a", "1", "float16", "x" * 5000,
    [], [1], [0.5], [[]], {}, {"a": 1}, ["full_attention"], ["sliding_attention"] * 2,
    {"rope_type": "yarn"}, {"rope_type": "linear", "factor": 0},
    {"rope_type": "dynamic", "factor": 1e6},
    {"rope_type": "longrope", "short_factor": [1.0], "long_factor": [1.0]},
    {"rope_type": "llama3", "low_freq_factor": 4, "high_freq_factor": 4},
    {"full_attention": {"rope_theta": 1.0}, "sliding_attention": None},
)  # fmt: skip
KEYS = (
    b".block_count", b".context_length", b".embedding_length", b".attention.head_count",
    b".attention.head_count_kv", b".feed_forward_length", b".attention.layer_norm_rms_epsilon",
    b".rope.freq_base", b".attention.key_length", b".attention.sliding_window",
    b".rope.dimension_count", b".rope.scaling.factor", b"_pattern", b".eos_token_id",
    b".pooling_type",
)  # fmt: skip
SMALL = {
    "hidden_size": 16, "num_attention_heads": 2, "num_key_value_heads": 1, "num_hidden_layers": 2,
    "intermediate_size": 32, "max_position_embeddings": 64,
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    name: str
    folder: Path
    target: Path
    """What load() is given."""
    damage: Callable[[Path, random.Random], None]


def run(path: Path, be: tilewright.Backend) -> None:
    """All of a model that there is, a little of each."""
    model: Any = tilewright.models.load(path, be, context=32)
    if isinstance(model, Decoder):
        ids = [1, 2, 3]
        if model.tokenizer is not None:
            ids = model.tokenizer.encode(["w1 w2"], 20)[0] or ids
        most = model.weights["model.embed_tokens.weight"].shape[0]
        try:
            model.generate([min(one, most - 1) for one in ids][: model.context], 2)
        except tilewright.Error as error:
            # Damaged weights make NaN, and the model says so in place of a text.
            if "logits behind the prompt are NaN" not in str(error):
                raise
        if model.template is not None and model.tokenizer is not None:
            model.chat_tokens([{"role": "user", "content": "w1 w2"}])
    else:
        model.embed(["w1 w2 w3", "w4"])


def any_file(folder: Path, draw: random.Random) -> None:
    """One of the files has other bytes, is cut short, is another one, or is not there."""
    files = sorted(one for one in folder.rglob("*") if one.is_file())
    file = draw.choice(files)
    match draw.randrange(10):
        case 0:
            file.unlink()
        case 1:
            shutil.copyfile(draw.choice(files), folder / "copy")
            (folder / "copy").replace(file)
        case 2:
            file.unlink()
            file.mkdir()
        case _:
            of = damage.damaged_json if file.suffix == ".json" else damage.damaged
            if file.suffix == ".safetensors":
                of = damage.damaged_safetensors
            file.write_bytes(of(file.read_bytes(), draw))


def any_value(folder: Path, draw: random.Random) -> None:
    """Some value of a file of JSON is another one, at any depth."""
    file = draw.choice(sorted(folder.rglob("*.json")))
    found = json.loads(file.read_text())
    for _ in range(draw.choice((1, 1, 2, 3))):
        at, key = place(found, draw)
        if at is None:
            return
        value = copy.deepcopy(draw.choice(VALUES))
        if draw.randrange(8) == 0 and isinstance(at, dict):
            at[draw.choice(("rope_scaling", "rope_parameters", "head_dim", "vocab_size"))] = value
        elif draw.randrange(8) == 0:
            del at[key]
        else:
            at[key] = value
    file.write_text(json.dumps(found))


def place(found: Any, draw: random.Random) -> tuple[Any, Any]:
    at, key = None, None
    while isinstance(found, dict | list) and found:
        at = found
        key = draw.choice(sorted(found)) if isinstance(found, dict) else draw.randrange(len(found))
        found = found[key]
        if draw.randrange(3) == 0:
            break
    return at, key


def any_tensor(folder: Path, draw: random.Random) -> None:
    """A tensor has another shape, dtype or name, or is not there; the file is right otherwise."""
    file = draw.choice(sorted(folder.glob("*.safetensors")))
    raw = file.read_bytes()
    end = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:end])
    name = draw.choice(sorted(header))
    entry = header[name]
    match draw.randrange(5):
        case 0:
            entry["shape"] = entry["shape"][::-1]
        case 1:
            entry["shape"] = [1, *entry["shape"]]
        case 2:
            entry["dtype"] = draw.choice(("I32", "U32"))
        case 3:
            header[draw.choice((name + "x", "model.norm.weight", "a"))] = header.pop(name)
        case _:
            other = draw.choice(sorted(header))
            header[name], header[other] = header[other], header[name]
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + raw[end:])


def folder_damage(folder: Path, draw: random.Random) -> None:
    draw.choice((any_file, any_value, any_value, any_tensor))(folder, draw)


def file_damage(folder: Path, draw: random.Random) -> None:
    file = draw.choice(sorted(folder.glob("*.gguf")))
    of = draw.choice((damage.damaged, other_number, other_number))
    file.write_bytes(of(file.read_bytes(), draw))


def other_number(raw: bytes, draw: random.Random) -> bytes:
    """A number of the metadata, behind its key and its type, is another one, or of another type."""
    data = bytearray(raw)
    there = [key for key in KEYS if raw.find(key) >= 0 and raw[raw.find(key) + len(key)] < 13]
    key = draw.choice(there)
    at = raw.find(key) + len(key)
    if draw.randrange(4) == 0:
        data[at] = draw.randrange(14)
    else:
        number = draw.choice(damage.INTEGERS) % (1 << 32)
        real = draw.choice((0.0, -1.0, 1e-30, 1e30, float("nan"), float("inf"), 3.5))
        data[at + 4 : at + 8] = struct.pack("<I", number)
        if draw.randrange(3) == 0:
            data[at + 4 : at + 8] = struct.pack("<f", real)
    return bytes(data)


def kinds(home: Path) -> Iterator[Kind]:
    rng = np.random.default_rng(3)
    config = {**model_folders.DECODERS["qwen3"], **SMALL, "head_dim": 8}
    tensors = model_folders.random_tensors(rng, model_folders.decoder_shapes(config))
    one = home / "decoder"
    model_folders.write_decoder(one, config, tensors)
    (one / "tokenizer_config.json").write_text(
        json.dumps({
            "bos_token": "w0", "eos_token": {"content": "w3"},
            "chat_template": "{% for m in messages %}{{ m.role }} {{ m['content'] }} {% endfor %}",
        })
    )  # fmt: skip
    (one / "generation_config.json").write_text(json.dumps({"eos_token_id": [3, 4]}))
    yield Kind("decoder", one, one, folder_damage)
    two = home / "shards"
    model_folders.write_decoder(two, config, tensors)
    (two / "model.safetensors").unlink()
    names = sorted(tensors)
    shards = {}
    for i in range(2):
        held = {name: tensors[name] for name in names[i::2]}
        model_folders.write_safetensors(two / f"model-{i}.safetensors", held)
        shards |= dict.fromkeys(held, f"model-{i}.safetensors")
    (two / "model.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))
    yield Kind("shards", two, two, folder_damage)
    for family in ("bert", "modernbert", "mpnet"):
        of = {**model_folders.FAMILIES[family], **SMALL}
        of.pop("num_key_value_heads")
        three = home / family
        held = model_folders.random_tensors(rng, model_folders.shapes(of))
        model_folders.write_encoder(three, of, held, "mean", family == "bert")
        yield Kind(family, three, three, folder_damage)
    for family, kind in (("llama3", "Q8_0"), ("gemma3", "F32"), ("phi3", "F16")):
        four = home / f"gguf_{family}"
        four.mkdir()
        of = {
            **model_folders.DECODERS[family],
            **SMALL,
            "hidden_size": 64,
            "num_attention_heads": 4,
        }
        held = model_folders.random_tensors(rng, model_folders.decoder_shapes(of))
        which = gguf.GGMLQuantizationType[kind]
        model_ggufs.write_gguf(four / "model.gguf", of, held, lambda _, it=which: it, rng)
        yield Kind(four.name, four, four / "model.gguf", file_damage)

    for of, sizes in (
        (model_bert_ggufs.CONFIG, model_folders.shapes(model_bert_ggufs.CONFIG)),
        (model_bert_ggufs.NOMIC, model_bert_ggufs.nomic_shapes(model_bert_ggufs.NOMIC)),
    ):
        five = home / f"gguf_{of['model_type']}"
        five.mkdir()
        held = model_folders.random_tensors(rng, sizes)
        which = gguf.GGMLQuantizationType.Q8_0
        keys = {f"{of['model_type']}.pooling_type": 2}
        model_bert_ggufs.write_bert(five / "model.gguf", of, held, which, keys=keys)
        yield Kind(five.name, five, five / "model.gguf", file_damage)


def attempt(kind: Kind, be: tilewright.Backend, number: int, *, measured: bool) -> bool:
    """Whether a damaged model was loaded and run all the same."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "model"
        shutil.copytree(kind.folder, folder)
        kind.damage(folder, random.Random(f"{kind.name} {number}"))
        target = folder / kind.target.relative_to(kind.folder)
        before = be.memory_stats()
        if measured:
            tracemalloc.start()
        try:
            run(target, be)
            return True
        except ModelError as error:
            assert place in str(error), f"no file is named: {error}"
            return False
        finally:
            if measured:
                most = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
                assert most <= MOST_PYTHON, f"{most} bytes of Python's memory"
            grown = be.memory_stats().peak_bytes - before.active_bytes
            assert grown <= MOST_DEVICE, f"{grown} bytes of the device"


def every(home: Path, count: int, only: str | None = None) -> dict[str, tuple[int, int]]:
    """Of each kind how many were tried and how many of these did something; the number of what
    fails is in the error."""
    found = {}
    with tilewright.init_backend("cpu") as be:
        for kind in kinds(home):
            if only not in (None, kind.name):
                continue
            run(kind.target, be)
            ran = 0
            for number in range(count):
                try:
                    ran += attempt(kind, be, number, measured=number % 20 == 0)
                except BaseException as error:
                    error.add_note(f"{kind.name}, number {number}")
                    raise
            found[kind.name] = (count, ran)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="of all kinds together")
    parser.add_argument("--only", help="one kind")
    options = parser.parse_args()
    resource = importlib.import_module("resource")
    start = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    with tempfile.TemporaryDirectory() as home:
        share = options.count if options.only else options.count // 10
        for name, (tried, ran) in every(Path(home), share, options.only).items():
            print(f"{name}: {tried} damaged models, {ran} ran, the others refused", flush=True)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    print(f"{time.perf_counter() - start:.0f} s, {grown / 1e6:.0f} MB more at most")
    assert grown <= MOST_GROWN
    return 0


if __name__ == "__main__":
    sys.exit(main())
