"""What clients of `tilewright serve` get of a Llama of random weights: tokens a second of all
together, and how long each waits for its first.

    python benchmarks/python/serving.py [--device webgpu:0] [--size 1b] [--weights W]
        [--clients 1,8,32] [--requests N] [--prompt N] [--shared N] [--tokens N]

The server is a process of its own, and clients read streams. Each client asks --requests times,
after once that is not counted. Prompts are random tokens, the first --shared of them everyone's.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

# Hidden size, layers, heads, key and value heads, inner size.
SIZES = {"tiny": (256, 4, 8, 4, 768), "1b": (2048, 16, 32, 8, 8192), "3b": (3072, 28, 24, 8, 8192)}
VOCABULARY = 32000


def make_folder(folder: Path, size: str) -> None:
    hidden, layers, heads, kv, inner = SIZES[size]
    config = {
        "model_type": "llama", "vocab_size": VOCABULARY, "hidden_size": hidden,
        "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv,
        "intermediate_size": inner, "max_position_embeddings": 4096, "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": False,
        "eos_token_id": 2,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    words = {f"w{i}": i for i in range(VOCABULARY)}
    model = {"type": "WordLevel", "vocab": words, "unk_token": "w0"}
    kept = {"version": "1.0", "added_tokens": [], "model": model}
    (folder / "tokenizer.json").write_text(json.dumps(kept))
    shapes = {"model.embed_tokens.weight": (VOCABULARY, hidden), "model.norm.weight": (hidden,)}
    shapes["lm_head.weight"] = (VOCABULARY, hidden)
    rows = hidden // heads * kv
    for layer in range(layers):
        of = f"model.layers.{layer}"
        for name, shape in (
            ("self_attn.q_proj", (hidden, hidden)), ("self_attn.k_proj", (rows, hidden)),
            ("self_attn.v_proj", (rows, hidden)), ("self_attn.o_proj", (hidden, hidden)),
            ("mlp.gate_proj", (inner, hidden)), ("mlp.up_proj", (inner, hidden)),
            ("mlp.down_proj", (hidden, inner)), ("input_layernorm", (hidden,)),
            ("post_attention_layernorm", (hidden,)),
        ):  # fmt: skip
            shapes[f"{of}.{name}.weight"] = shape
    write(folder / "model.safetensors", shapes)


def write(path: Path, shapes: dict[str, tuple[int, ...]]) -> None:
    header, at = {}, 0
    for name, shape in shapes.items():
        count = 2 * int(np.prod(shape))
        header[name] = {"dtype": "F16", "shape": shape, "data_offsets": [at, at + count]}
        at += count
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    rng = np.random.default_rng(0)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for shape in shapes.values():
            tensor = rng.random(shape, np.float32) - np.float32(0.5)
            scale = 1 if len(shape) == 1 else 3.5 * shape[-1] ** -0.5
            file.write(
                (tensor * np.float32(scale) + (len(shape) == 1)).astype(np.float16).tobytes()
            )


def ask(port: int, prompt: list[int], count: int) -> tuple[list[float], dict[str, Any]]:
    """The seconds from the question to each piece, and the numbers of tokens."""
    body = {"prompt": prompt, "max_tokens": count, "temperature": 0, "stream": True,
            "stream_options": {"include_usage": True}}  # fmt: skip
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    start = time.perf_counter()
    headers = {"Content-Type": "application/json"}
    connection.request("POST", "/v1/completions", json.dumps(body), headers)
    answer = connection.getresponse()
    times, usage = [], {}
    while line := answer.readline():
        if line.startswith(b"data: {"):
            found = json.loads(line[6:])
            usage = found["usage"] or usage
            if found["choices"] and found["choices"][0]["text"]:
                times.append(time.perf_counter() - start)
    connection.close()
    return times, usage


def measure(port: int, clients: int, arguments: argparse.Namespace) -> str:
    drawn = random.Random(clients)
    common = [drawn.randrange(3, VOCABULARY) for _ in range(arguments.shared)]

    def one(requests: int) -> list[tuple[list[float], dict[str, Any]]]:
        left = arguments.prompt - len(common)
        return [
            ask(port, common + [drawn.randrange(3, VOCABULARY) for _ in range(left)],
                arguments.tokens)
            for _ in range(requests)
        ]  # fmt: skip

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(one, [1] * clients))
        start = time.perf_counter()
        found = [each for few in pool.map(one, [arguments.requests] * clients) for each in few]
        seconds = time.perf_counter() - start
    tokens = sum(usage["completion_tokens"] for _, usage in found)
    first = statistics.median(times[0] for times, _ in found)
    between = statistics.median(
        (times[-1] - times[0]) / (len(times) - 1) for times, _ in found if len(times) > 1
    )
    return (
        f"{clients:3} clients: {tokens / seconds:7.1f} tokens/s, first after {first * 1e3:6.1f} "
        f"ms, then one each {between * 1e3:5.2f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="auto", help="default: %(default)s")
    parser.add_argument("--size", choices=SIZES, default="1b", help="default: %(default)s")
    parser.add_argument("--weights", help="default: as the files have them, float16")
    parser.add_argument("--clients", default="1,8,32", help="default: %(default)s")
    for name, default in (("requests", 4), ("prompt", 64), ("shared", 0), ("tokens", 64)):
        parser.add_argument(f"--{name}", type=int, default=default, help="default: %(default)s")
    arguments = parser.parse_args()
    counts = [int(one) for one in arguments.clients.split(",")]
    with tempfile.TemporaryDirectory() as made:
        make_folder(Path(made), arguments.size)
        words = [sys.executable, "-m", "tilewright", "serve", made, "--device", arguments.device]
        words += ["--name", arguments.size, "--port", "0", "--texts", str(max(counts))]
        words += ["--cache-tokens", str(max(counts) * (arguments.prompt + arguments.tokens + 32))]
        words += ["--weights", arguments.weights] if arguments.weights else []
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            line = server.stdout.readline()
            port = re.search(r":(\d+)$", line.strip())
            assert port, "the server did not start"
            print(
                f"{line.strip()}; prompts of {arguments.prompt} tokens, {arguments.shared} shared"
            )
            for clients in counts:
                print(measure(int(port[1]), clients, arguments), flush=True)
            server.terminate()


if __name__ == "__main__":
    main()
