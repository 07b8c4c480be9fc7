"""Tokens a second of a Llama of random weights, by tilewright.models beside transformers.

    python benchmarks/python/decoding.py [--device webgpu:0] [--threads N] [--size 1b] [--weights W]
        [--tokens N] [--together N]

The prompt has 32 tokens. A token's time is that of all tokens less that of the first, over their
number; the bandwidth is what the matrices have, once for each step. torch generates greedily in
float16 on a GPU, and in float32 on the processor. Above 1 we are the faster ones.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import harness
from turns import options, torch_beside

SIZES = {
    "tiny": (256, 4, 8, 4, 768),
    "1b": (2048, 16, 32, 8, 8192),
    "3b": (3072, 28, 24, 8, 8192),
}
VOCABULARY = 32000


def make_folder(folder: Path, size: str, torch: Any, where: str) -> Any:
    import transformers

    hidden, layers, heads, kv, inner = SIZES[size]
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=hidden, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=kv, intermediate_size=inner,
        max_position_embeddings=2048, bos_token_id=1, eos_token_id=2, tie_word_embeddings=False,
    )  # fmt: skip
    with torch.device(where):
        model = transformers.LlamaForCausalLM(config)
    model = model.half() if where == "cuda" else model
    model.save_pretrained(folder)
    return model.eval()


def seconds_a_token(call: Any, count: int) -> float:
    """Of a call that takes how many tokens to make."""
    call(4)
    times = []
    for number in (1, count):
        start = time.perf_counter()
        call(number)
        times.append(time.perf_counter() - start)
    return (times[1] - times[0]) / (count - 1)


def main() -> None:
    parser = options(__doc__, turns=3)
    parser.add_argument("--size", choices=SIZES, default="1b", help="default: %(default)s")
    parser.add_argument("--weights", help="default: as the files have them")
    parser.add_argument("--tokens", type=int, default=64, help="default: %(default)s")
    parser.add_argument("--together", type=int, default=1, help="texts; default: %(default)s")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import numpy as np
    import tilewright

    count = arguments.tokens
    prompts = np.random.default_rng(0).integers(3, VOCABULARY, (arguments.together, 32))
    with tempfile.TemporaryDirectory() as made, tilewright.init_backend(arguments.device) as be:
        side = torch_beside(be, arguments.threads)
        torch = side.module
        peer = make_folder(Path(made), arguments.size, torch, side.where)
        model = tilewright.models.load(
            made, be, arguments.weights, context=512, cache_tokens=512 * arguments.together
        )
        model.engine.ends = frozenset()
        ids = torch.tensor(prompts, device=side.where)

        def theirs(number: int) -> None:
            options = {"max_new_tokens": number, "min_new_tokens": number, "do_sample": False}
            with torch.no_grad():
                peer.generate(ids, pad_token_id=0, **options)
            side.wait()

        def ours(number: int) -> None:
            # The prompt is computed each time.
            model.engine.forget()
            model.generate(prompts.tolist(), number)

        pairs = [
            (seconds_a_token(ours, count), seconds_a_token(theirs, count))
            for _ in range(arguments.turns)
        ]
        own = float(np.median([one for one, _ in pairs]))
        ratio = float(np.median([other / one for one, other in pairs]))
        print(f"{be.device.name}; {side}; {arguments.size}, weights {model.weights.dtype.name}")
        print(
            f"{arguments.together} texts: {arguments.together / own:.1f} tokens/s, "
            f"{own * 1e3:.2f} ms a step, {model.weights.nbytes / own / 1e9:.0f} GB/s of weights; "
            f"{ratio:.2f} of torch"
        )
        with be.profile() as profile:
            ours(2)
        first = len(profile.records)
        with be.profile() as profile:
            ours(3)
        step = profile.records[first - len(profile.records) :]
        kernels = sum(record.duration_ns for record in step) * 1e-6
        print(f"a step: {len(step)} launches, {kernels:.2f} ms of kernels")


if __name__ == "__main__":
    main()
