"""How far decoders of GGUF files are from those of llama.cpp, small ones of every architecture.

    python benchmarks/python/models_beside_llama_cpp.py llama-server [--device webgpu:0]
    python benchmarks/python/models_beside_llama_cpp.py llama-server --file model.gguf --text "Once"

Weights are random, in float32. Behind 30 tokens the log probabilities of all next ones are compared
with those of llama.cpp's server on the CPU, of encoders the embedding of a text, as a share of its
largest number; of a file the greedy tokens behind a text.
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import tilewright

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from conformance import model_bert_ggufs as encoders
from conformance.model_folders import (
    DECODERS,
    VOCABULARY,
    decoder_shapes,
    random_tensors,
    shapes,
)
from conformance.model_ggufs import write_gguf

# What the server does otherwise: it has no windows in Phi 3, and Gemma's scale from its head.
GEMMA = {"head_dim": 32, "query_pre_attn_scalar": 32}
CHANGED: dict[str, dict[str, Any]] = {
    "llama2": {}, "llama3": {}, "linear": {}, "granite": {}, "qwen2": {},
    "qwen3": {"head_dim": 32}, "yarn": {"head_dim": 32}, "gemma": GEMMA, "gemma2": GEMMA,
    "gemma3": {
        **GEMMA, "rope_local_base_freq": 10000.0, "num_hidden_layers": 6,
        "sliding_window_pattern": 6,
    },
    "phi3": {"sliding_window": None},
}  # fmt: skip
ENCODERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "bert": (encoders.CONFIG, shapes(encoders.CONFIG)),
    "nomic": (encoders.NOMIC, encoders.nomic_shapes(encoders.NOMIC)),
}
CONTEXT = 200


class Server:
    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"

    def ask(self, path: str, **what: Any) -> Any:
        body = json.dumps(what).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, body, headers)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)


@contextmanager
def serving(program: str, path: Path, *more: str) -> Iterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        program, "-m", str(path), "--host", "127.0.0.1", "--port", str(port), "--device", "none",
        "-c", str(CONTEXT), "-ctk", "f32", "-ctv", "f32", "-fa", "off", "--parallel", "1",
        *more,
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            time.sleep(0.2)
            if process.poll() is not None:
                raise SystemExit(f"{program} ended with {process.returncode} for {path}")
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health").close()
                break
            except (urllib.error.URLError, ConnectionError):
                continue
        yield Server(port)
    finally:
        process.terminate()
        process.wait()


def beside(server: Server, model: Any, tokens: list[int]) -> tuple[float, bool]:
    """How far log probabilities are apart, and whether the likeliest token is the same."""
    said = server.ask(
        "/completion", prompt=tokens, n_predict=1, temperature=-1, n_probs=VOCABULARY,
        cache_prompt=False,
    )  # fmt: skip
    theirs = {
        one["id"]: one["logprob"] for one in said["completion_probabilities"][0]["top_logprobs"]
    }
    logits = model.logits(tokens).numpy()[-1].astype(np.float64)
    ours = logits - logits.max()
    ours -= np.log(np.exp(ours).sum())
    away = max(abs(ours[i] - one) for i, one in theirs.items())
    return float(away), int(ours.argmax()) == max(theirs, key=lambda i: theirs[i])


def of_file(program: str, be: Any, path: Path, text: str, count: int) -> None:
    model: Any = tilewright.models.load(path, be, context=CONTEXT)
    with serving(program, path) as server:
        tokens = server.ask("/tokenize", content=text, add_special=True)["tokens"]
        said = server.ask(
            "/completion", prompt=tokens, n_predict=count, temperature=0, return_tokens=True
        )
    print("tokens of the text the same:", tokens == model.tokenizer.encode([text], CONTEXT)[0])
    ours = model.generate(tokens, count)
    same = next((i for i, pair in enumerate(zip(ours, said["tokens"], strict=False))
                 if pair[0] != pair[1]), min(len(ours), len(said["tokens"])))  # fmt: skip
    print(f"the first {same} of {count} greedy tokens the same")
    print(f"here:  {model.tokenizer.decode(ours)!r}\nthere: {said['content']!r}")


def of_encoder(program: str, be: Any, path: Path, name: str) -> float:
    config, sizes = ENCODERS[name]
    tensors = random_tensors(np.random.default_rng(7), sizes)
    keys = {f"{config['model_type']}.pooling_type": 1}
    encoders.write_bert(path, config, tensors, encoders.Kind.F32, keys=keys)
    text = "word1 a1 a2 a3 word2 undo a4 a5"
    with serving(program, path, "--embedding") as server:
        said = server.ask("/embedding", content=text, embd_normalize=-1)
    theirs = np.array(said[0]["embedding"]).reshape(-1)
    ours: Any = tilewright.models.load(path, be)
    return float(np.abs(ours.embed(text).numpy() - theirs).max() / np.abs(theirs).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("server", help="the program llama-server")
    parser.add_argument("--device", default="cpu", help="default: %(default)s")
    parser.add_argument("--only", help="one of the names")
    parser.add_argument("--file", type=Path, help="a file of GGUF, in place of small models")
    parser.add_argument("--text", default="Once upon a time", help="default: %(default)s")
    parser.add_argument("--tokens", type=int, default=24, help="default: %(default)s")
    arguments = parser.parse_args()
    with tilewright.init_backend(arguments.device) as be, tempfile.TemporaryDirectory() as folder:
        if arguments.file is not None:
            of_file(arguments.server, be, arguments.file, arguments.text, arguments.tokens)
            return
        for name, changed in CHANGED.items():
            if arguments.only not in (None, name):
                continue
            config = {**DECODERS[name], **changed}
            rng = np.random.default_rng(5)
            tensors = random_tensors(rng, decoder_shapes(config))
            if config["model_type"].startswith("gemma"):
                tensors = {k: v - 1 if "norm" in k else v for k, v in tensors.items()}
            path = Path(folder) / f"{name}.gguf"
            kind = gguf.GGMLQuantizationType.F32
            write_gguf(path, config, tensors, lambda _, it=kind: it, rng)
            model = tilewright.models.load(path, be, context=CONTEXT)
            tokens = np.random.default_rng(9).integers(4, VOCABULARY, 30).tolist()
            with serving(arguments.server, path) as server:
                away, is_same = beside(server, model, tokens)
            print(f"{name:8s} {away:.1e}, likeliest {'the same' if is_same else 'ANOTHER'}")
        for name in ENCODERS:
            if arguments.only in (None, name):
                path = Path(folder) / f"{name}.gguf"
                print(f"{name:8s} {of_encoder(arguments.server, be, path, name):.1e}")


if __name__ == "__main__":
    main()
