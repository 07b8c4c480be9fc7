"""What a decoder's logits lose where keys and values are held in fewer bits.

    python benchmarks/python/narrow_caches.py [--device cpu]

The small models of random weights of tests/conformance, and 37 tokens of each: how far logits are
from those over a cache of float32, at most and by the root of the mean square, as shares of the
largest logit and of their root mean square; the divergence of the next token's shares; and where
the likeliest token is the same.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import tilewright as tw

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
TOKENS = 37


def shares(logits: Any) -> Any:
    powers = np.exp(logits.astype(np.float64) - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def main() -> None:
    from conformance.model_folders import DECODERS
    from conformance.test_models_decoders import made, prompt_of

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    with tw.init_backend(arguments.device) as be:
        for name in sorted(DECODERS):
            tokens = prompt_of(np.random.default_rng(0), TOKENS)
            found: dict[str | None, Any] = {}
            with tempfile.TemporaryDirectory() as folder:
                made(Path(folder), name)
                for cache in (None, "float16", "int8"):
                    model: Any = tw.models.load(folder, be, context=200, cache=cache)
                    found[cache] = model.logits(tokens).numpy()
            exact = found.pop(None)
            for cache, logits in found.items():
                off, one, other = logits - exact, shares(exact), shares(logits)
                apart = (one * np.log(one / other)).sum(-1).mean()
                same = (logits.argmax(-1) == exact.argmax(-1)).mean()
                print(
                    f"{name:8} {cache:7}: at most {abs(off).max() / abs(exact).max():.1e}, "
                    f"{np.sqrt((off**2).mean() / (exact**2).mean()):.1e}; divergence {apart:.0e}, "
                    f"likeliest {same:.2f}"
                )


if __name__ == "__main__":
    main()
