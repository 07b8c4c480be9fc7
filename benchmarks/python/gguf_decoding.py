"""Tokens a second of a Llama in GGUF of random weights, beside llama.cpp.

    python benchmarks/python/gguf_decoding.py [--device cpu] [--threads N] [--format q4_0]
        [--layers N] [--tokens N] [--turns N]

The layers are those of Llama 3.2 1B, the words 32,000. The prompt has 32 tokens. Loading is beside
reading the file and sending what is in it. llama.cpp is that of the package llama-cpp-python, on
the processor. Above 1 we are the faster ones.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness
from turns import options

HIDDEN, HEADS, KV_HEADS, INNER, WORDS = 2048, 32, 8, 8192, 32000
PROMPT = 32


def make_file(path: Path, format: str, layers: int) -> None:
    import gguf
    import numpy as np

    kind = getattr(gguf.GGMLQuantizationType, format.upper())
    rng = np.random.default_rng(0)
    writer = gguf.GGUFWriter(path, "llama")
    for add, value in (
        (writer.add_context_length, 2048), (writer.add_embedding_length, HIDDEN),
        (writer.add_block_count, layers), (writer.add_feed_forward_length, INNER),
        (writer.add_head_count, HEADS), (writer.add_head_count_kv, KV_HEADS),
        (writer.add_layer_norm_rms_eps, 1e-5), (writer.add_rope_freq_base, 10000.0),
        (writer.add_rope_dimension_count, HIDDEN // HEADS), (writer.add_vocab_size, WORDS),
        (writer.add_bos_token_id, 1), (writer.add_eos_token_id, 2),
    ):  # fmt: skip
        add(value)  # type: ignore[arg-type]
    words = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256))]
    kinds = [2, 3, 3] + [6] * 256 + [1] * (WORDS - len(words))
    words += [f"w{i}" for i in range(len(words), WORDS)]
    writer.add_tokenizer_model("llama")
    writer.add_token_list(words)
    writer.add_token_scores([0.0] * WORDS)
    writer.add_token_types(kinds)

    def matrix(name: str, rows: int, columns: int) -> None:
        values = rng.standard_normal((rows, columns), np.float32) * np.float32(0.02)
        blocks = gguf.quants.quantize(values, kind)
        writer.add_tensor(f"{name}.weight", blocks, raw_dtype=kind)

    def ones(name: str) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(HIDDEN, np.float32))

    matrix("token_embd", WORDS, HIDDEN)
    matrix("output", WORDS, HIDDEN)
    ones("output_norm")
    for layer in range(layers):
        of = f"blk.{layer}."
        ones(f"{of}attn_norm")
        ones(f"{of}ffn_norm")
        few = KV_HEADS * HIDDEN // HEADS
        for name, rows in (("q", HIDDEN), ("k", few), ("v", few), ("output", HIDDEN)):
            matrix(f"{of}attn_{name}", rows, HIDDEN)
        matrix(f"{of}ffn_gate", INNER, HIDDEN)
        matrix(f"{of}ffn_up", INNER, HIDDEN)
        matrix(f"{of}ffn_down", HIDDEN, INNER)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    parser = options(__doc__, turns=7)
    parser.add_argument("--format", default="q4_0", help="of all matrices; default: %(default)s")
    parser.add_argument("--layers", type=int, default=4, help="default: %(default)s")
    parser.add_argument("--tokens", type=int, default=24, help="default: %(default)s")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import numpy as np
    import tilewright
    from llama_cpp import Llama

    rng = np.random.default_rng(1)
    count = arguments.tokens
    with tempfile.TemporaryDirectory() as made, tilewright.init_backend(arguments.device) as be:
        path = Path(made) / "model.gguf"
        make_file(path, arguments.format, arguments.layers)
        model = tilewright.models.load(path, be, context=256)
        model.ends = frozenset()
        size = path.stat().st_size // 4 * 4

        def read() -> None:
            be.array(np.fromfile(path, np.uint8, size).view(np.float32))

        def load() -> None:
            tilewright.models.load(path, be, context=256, progress=False)

        loads = [(seconds(read), seconds(load)) for _ in range(arguments.turns)]
        peer = Llama(
            str(path), n_gpu_layers=0, n_ctx=256, verbose=False,
            n_threads=arguments.threads, n_threads_batch=arguments.threads,
        )  # fmt: skip

        def ours() -> tuple[float, float]:
            # Others each time: what is kept of a prompt is not computed again.
            prompts = rng.integers(300, WORDS, (2, PROMPT)).tolist()
            first = seconds(lambda: model.generate(prompts[0], 1))
            every = seconds(lambda: model.generate(prompts[1], count + 1))
            return first, (every - first) / count

        def theirs() -> tuple[float, float]:
            peer.reset()
            first = seconds(lambda: peer.eval(rng.integers(300, WORDS, PROMPT).tolist()))
            steps = [[int(one)] for one in rng.integers(300, WORDS, count)]
            return first, seconds(lambda: [peer.eval(one) for one in steps]) / count

        ours(), theirs()
        turns = [(ours(), theirs()) for _ in range(arguments.turns)]
        name, nbytes = be.device.name, model.weights.nbytes
    print(f"{name}, {arguments.threads} threads; {arguments.layers} layers, {nbytes} bytes")
    print(
        f"loading: {np.median([mine for _, mine in loads]):.3f} s, reading and sending "
        f"{np.median([other / mine for other, mine in loads]):.2f} of that"
    )
    for part, place, amount in (("prompt", 0, PROMPT), ("tokens behind it", 1, 1)):
        own = np.median([mine[place] for mine, _ in turns])
        ratios = sorted(other[place] / mine[place] for mine, other in turns)
        print(
            f"{arguments.format} {part}: {amount / own:.1f} tokens/s, "
            f"{np.median(ratios):.2f} of llama.cpp ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        )


if __name__ == "__main__":
    main()
