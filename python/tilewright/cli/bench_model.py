"""tilewright bench --model: what a decoder makes a second, and what of the device that takes."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import tilewright
from tilewright.models import Decoder
from tilewright.models.decoders.cache import PAGE

from .generate import add_cache, load
from .options import OK, WrongUse, add_numbers, write

#: bytes that are summed to see how fast the device reads
READ = 1 << 28
TURNS = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model", metavar="MODEL",
        help="instead of ops, the decoder of a Hugging Face folder or a GGUF file",
    )  # fmt: skip
    parser.add_argument(
        "--weights", choices=("float32", "float16", "int8", "int4"),
        help="of --model: what matrices are held as; default: as the files have them",
    )  # fmt: skip
    add_cache(parser, "of --model: ")
    add_numbers(
        parser,
        (
            ("prompt-tokens", 512, "of --model: of each prompt"),
            ("tokens", 64, "of --model: made behind each"),
            ("together", 1, "of --model: texts at a time"),
        ),
    )


def run(arguments: argparse.Namespace) -> int:
    for name, least in (("prompt_tokens", 1), ("tokens", 2), ("together", 1)):
        given = getattr(arguments, name)
        if given < least:
            option = name.replace("_", "-")
            raise WrongUse(f"--{option} is {given}, expected at least {least}")
    arguments.context = arguments.prompt_tokens + arguments.tokens
    with tilewright.init_backend(arguments.device) as backend:
        start = time.perf_counter()
        pages = -(-arguments.context // PAGE)
        model = load(arguments, backend, cache_tokens=pages * PAGE * arguments.together)
        backend.synchronize()
        loading = time.perf_counter() - start
        report = {"model": arguments.model, "device": backend.device.name, "load_seconds": loading}
        report |= measured(model, arguments.prompt_tokens, arguments.tokens, arguments.together)
    content = json.dumps(report, indent=2) + "\n"
    if arguments.json == "-":
        sys.stdout.write(content)
        return OK
    print(text(report))
    if arguments.json:
        write(Path(arguments.json), content.encode())
    return OK


def measured(model: Decoder, prompt: int, tokens: int, together: int) -> dict[str, Any]:
    backend = model.device
    rng = np.random.default_rng(0)
    ends, model.ends = model.ends, frozenset()
    vocabulary = model.logits([0]).shape[1]

    def seconds(count: int) -> float:
        # Others each time: what is kept of a prompt is not computed again.
        prompts = rng.integers(0, vocabulary, (together, prompt)).tolist()
        start = time.perf_counter()
        model.generate(prompts, count)
        return time.perf_counter() - start

    def kernels(count: int) -> list[float]:
        """The seconds of each launch, in their order."""
        with backend.profile() as profile:
            seconds(count)
        return [one.duration_ns * 1e-9 for one in profile.records]

    try:
        seconds(2)
        first = [seconds(1) for _ in range(TURNS)]
        every = [seconds(tokens) for _ in range(TURNS)]
        step = (min(every) - min(first)) / (tokens - 1)
        if step <= 0:
            # Other programs took more than the steps did, each of which took no more than this.
            step = min(every) / tokens
        launches = len(kernels(3)) - len(kernels(2))
        # Of the last step alone: prompts take longer, by times that differ by more than a step.
        busy = min(sum(kernels(3)[-launches:]) for _ in range(TURNS))
    finally:
        model.ends = ends
    reads = bandwidth(backend)
    return {
        "dtype": model.weights.dtype.name,
        "cache_dtype": model.engine.cache.dtype.name,
        "weight_bytes": model.weights.nbytes,
        "prompt_tokens": prompt,
        "tokens": tokens,
        "together": together,
        "prefill_tokens_per_second": prompt * together / min(first),
        "decode_tokens_per_second": together / step,
        "step_seconds": step,
        "step_launches": launches,
        "step_kernel_seconds": busy,
        "read_bytes_per_second": reads,
        "share_of_bandwidth": model.weights.nbytes / step / reads,
    }


def bandwidth(backend: tilewright.Backend) -> float:
    """Bytes a second of a sum over many."""
    x = tilewright.asarray(np.ones(READ // 4, np.float32), device=backend)
    times = []
    for _ in range(TURNS + 1):
        with backend.profile() as profile:
            float(tilewright.sum(x))
        times.append(sum(one.duration_ns for one in profile.records))
    return READ / (min(times) * 1e-9)


def text(report: dict[str, Any]) -> str:
    step, busy = report["step_seconds"], report["step_kernel_seconds"]
    besides = f"{(step - busy) * 1e3:.3f} ms besides"
    if busy > step:
        besides = "which take longer when each is timed"
    lines = [
        f"{report['model']} on {report['device']}, "
        f"{report['weight_bytes'] / 1e9:.2f} GB of weights, "
        f"computed in {report['dtype']}, loaded in {report['load_seconds']:.2f} s",
        f"prefill  {report['prefill_tokens_per_second']:10.1f} tokens/s   "
        f"{report['together']} x {report['prompt_tokens']} tokens",
        f"decode   {report['decode_tokens_per_second']:10.1f} tokens/s   "
        f"{step * 1e3:.3f} ms a step of {report['together']}",
        f"a step   {report['step_launches']:10d} launches   "
        f"{busy * 1e3:.3f} ms of kernels, {besides}",
        f"reads    {report['share_of_bandwidth'] * 100:10.1f} %          "
        f"of the {report['read_bytes_per_second'] / 1e9:.1f} GB/s that a sum over "
        f"{READ >> 20} MiB reaches",
    ]
    return "\n".join(lines)
