"""The example that makes embeddings of a file on all devices, with a small model of random
weights on two workers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import tilewright as tw
from conformance.model_folders import (
    DECODERS,
    FAMILIES,
    WORDS,
    decoder_shapes,
    random_tensors,
    shapes,
    write_decoder,
    write_encoder,
)

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/python/clusters/embed_corpus.py"


def run(*words: object) -> subprocess.CompletedProcess[str]:
    every = [sys.executable, str(EXAMPLE), *map(str, words), "--devices", "cpu", "cpu"]
    return subprocess.run(every, capture_output=True, text=True, check=False)


def test_embeddings_of_a_file(tmp_path: Path) -> None:
    config, rng = FAMILIES["bert"], np.random.default_rng(3)
    tensors = random_tensors(rng, shapes(config))
    write_encoder(tmp_path / "model", config, tensors, "mean", normalizes=True)
    texts = [" ".join(rng.choice(WORDS, count)) for count in rng.integers(0, 90, 103)]
    file, rows = tmp_path / "lines.txt", tmp_path / "rows.npy"
    # One of them is no UTF-8, and the last one has no end.
    file.write_bytes("\n".join(texts).encode().replace(b"w7", b"w\xff"))
    done = run(file, rows, "--model", tmp_path / "model", "--lines", "10")
    assert done.returncode == 0, done.stderr
    counts = dict(line.split(": ") for line in done.stdout.splitlines() if line.startswith("cpu"))
    assert set(counts) <= {"cpu:0-0", "cpu:0-1"}
    assert sum(int(count.removesuffix(" lines")) for count in counts.values()) == len(texts)
    with tw.init_backend("cpu") as be:
        expected = tw.models.load(tmp_path / "model", be).embed(
            [text.replace("w7", "w\N{REPLACEMENT CHARACTER}") for text in texts]
        )
        found = np.load(rows, mmap_mode="r")
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected.numpy(), rtol=0, atol=1e-6)


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    config = DECODERS["llama2"]
    tensors = random_tensors(np.random.default_rng(3), decoder_shapes(config))
    write_decoder(tmp_path / "model", config, tensors)
    file = tmp_path / "lines.txt"
    for text, message in (("", "lines.txt has no lines"), ("w1", "has a decoder; give an encoder")):
        file.write_text(text)
        done = run(file, tmp_path / "rows.npy", "--model", tmp_path / "model")
        assert done.returncode == 1
        assert message in done.stderr
