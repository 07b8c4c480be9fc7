"""Tokens a second of a Llama of random weights, by tilewright.models beside transformers.

    python benchmarks/python/decoding.py [--device webgpu:0] [--threads N] [--size 1b] [--weights W]
        [--layers N] [--cache C] [--tokens N] [--prompt N] [--together 1,32] [--profile]

A token's time is that of all tokens less that of the first, over their number; the bandwidth is
what the matrices have, once for each step. torch generates greedily in float16 on a GPU, and in
float32 on the processor. Above 1 we are the faster ones. --weights takes several, one after the
other: what the files have is `files`. So does --cache: `states` is what is computed with.
--profile shows a step's kernels by their time, and --alone leaves torch out.
"""

from __future__ import annotations

import itertools
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
    "8b": (4096, 32, 32, 8, 14336),
}
VOCABULARY = 32000


def make_folder(folder: Path, size: str, few: int | None, torch: Any, where: str) -> Any:
    import transformers

    hidden, layers, heads, kv, inner = SIZES[size]
    layers = few or layers
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=hidden, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=kv, intermediate_size=inner,
        max_position_embeddings=1 << 17, bos_token_id=1, eos_token_id=2, tie_word_embeddings=False,
    )  # fmt: skip
    with torch.device(where):
        model = transformers.LlamaForCausalLM(config)
    model = model.half() if where == "cuda" else model
    model.save_pretrained(folder)
    return model.eval()


def seconds_a_token(call: Any, count: int) -> tuple[float, float]:
    """Of a call that takes how many tokens to make; and those until the first."""
    call(4)
    times = []
    for number in (1, count):
        start = time.perf_counter()
        call(number)
        times.append(time.perf_counter() - start)
    return (times[1] - times[0]) / (count - 1), times[0]


def step_of(be: Any, call: Any) -> list[Any]:
    """What the profiler has of the second token alone."""
    counts = []
    for number in (2, 3):
        with be.profile() as profile:
            call(number)
        counts.append(len(profile.records))
    return list(profile.records[counts[0] - counts[1] :])


def by_kernel(step: list[Any]) -> None:
    times: dict[str, list[float]] = {}
    for record in step:
        times.setdefault(record.kernel, []).append(record.duration_ns * 1e-3)
    for kernel, each in sorted(times.items(), key=lambda item: -sum(item[1])):
        print(f"{sum(each):10.1f} us  {len(each):4}  {kernel}")


def main() -> None:
    parser = options(__doc__, turns=3)
    parser.add_argument("--size", choices=SIZES, default="1b", help="default: %(default)s")
    parser.add_argument("--weights", nargs="+", default=["files"], help="default: %(default)s")
    parser.add_argument("--layers", type=int, help="so many of them")
    parser.add_argument(
        "--cache", nargs="+", choices=("states", "float16", "int8"), default=["states"],
        help="default: %(default)s",
    )  # fmt: skip
    parser.add_argument("--tokens", type=int, default=64, help="default: %(default)s")
    parser.add_argument("--prompt", type=int, default=32, help="tokens; default: %(default)s")
    parser.add_argument("--together", type=int, nargs="+", default=[1], help="texts")
    parser.add_argument("--profile", action="store_true", help="a step's kernels by their time")
    parser.add_argument("--alone", action="store_true", help="without torch's times")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import numpy as np
    import tilewright

    count = arguments.tokens
    most = max(arguments.together)
    random = np.random.default_rng(0)
    context = arguments.prompt + count + 16
    with tempfile.TemporaryDirectory() as made, tilewright.init_backend(arguments.device) as be:
        side = torch_beside(be, arguments.threads)
        torch = side.module
        peer = make_folder(Path(made), arguments.size, arguments.layers, torch, side.where)
        print(f"{be.device.name}; {side}; {arguments.size}, prompts of {arguments.prompt}")
        for weights, cache, together in itertools.product(
            arguments.weights, arguments.cache, arguments.together
        ):
            if together == arguments.together[0]:
                held = None if weights == "files" else weights
                model: Any = tilewright.models.load(
                    made,
                    be,
                    held,
                    context=context,
                    cache_tokens=(context + 64) * most,
                    cache=None if cache == "states" else cache,
                )
                model.engine.ends = frozenset()

            def ours(number: int, model: Any = model, together: int = together) -> None:
                # Others each time: what is kept of a prompt is not computed again.
                prompts = random.integers(3, VOCABULARY, (together, arguments.prompt))
                model.generate(prompts.tolist(), number)

            def theirs(number: int, together: int = together) -> None:
                ids = torch.randint(3, VOCABULARY, (together, arguments.prompt), device=side.where)
                options = {"max_new_tokens": number, "min_new_tokens": number, "do_sample": False}
                with torch.no_grad():
                    peer.generate(ids, pad_token_id=0, **options)
                side.wait()

            pairs = [
                (
                    seconds_a_token(ours, count),
                    (0.0, 0.0) if arguments.alone else seconds_a_token(theirs, count),
                )
                for _ in range(arguments.turns)
            ]
            own = float(np.median([mine[0] for mine, _ in pairs]))
            first = float(np.median([mine[1] for mine, _ in pairs]))
            decode, prefill = (
                float(np.median([theirs[k] / mine[k] for mine, theirs in pairs])) for k in (0, 1)
            )
            step = step_of(be, ours)
            kernels = sum(record.duration_ns for record in step) * 1e-6
            print(
                f"{weights}, cache of {cache}, {together} texts: {together / own:.1f} tokens/s, "
                f"{own * 1e3:.3f} ms a "
                f"step, {model.weights.nbytes / own / 1e9:.0f} GB/s of weights, {decode:.2f} of "
                f"torch; first token {first * 1e3:.1f} ms, {prefill:.2f}; {len(step)} launches, "
                f"{kernels:.3f} ms of kernels",
                flush=True,
            )
            if arguments.profile:
                by_kernel(step)


if __name__ == "__main__":
    main()
