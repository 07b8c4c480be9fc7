"""Text to tokens and back, by the `tokenizers` package."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tilewright.models.files.errors import fail
from tilewright.models.files.guarded import Guarded, guarded


def library() -> Any:
    """The package, where it is installed."""
    try:
        return importlib.import_module("tokenizers")
    except ImportError:
        raise ImportError(
            "text becomes tokens by the package tokenizers: pip install tilewright[models]"
        ) from None


class Tokenizer:
    """A tokenizer of a file, or of a GGUF's metadata."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.inner.no_padding()
        self.inner.no_truncation()

    @classmethod
    def open(cls, path: Path) -> Tokenizer:
        if not path.is_file():
            fail(path, "there is no such file, expected the vocabulary")
        package = library()
        made = guarded(path, lambda: package.Tokenizer.from_file(str(path)))
        return cls(Guarded(made, path))

    def encode(
        self, texts: Sequence[str], longest: int, *, special: bool = True
    ) -> list[list[int]]:
        """The tokens of each text, at most so many, with those that the model wants around it
        unless they are not `special`."""
        self.inner.enable_truncation(longest)
        found = self.inner.encode_batch(list(texts), add_special_tokens=special)
        return [one.ids for one in found]

    def encode_pairs(
        self, pairs: Sequence[tuple[str, str]], longest: int
    ) -> tuple[list[list[int]], list[list[int]]]:
        """Tokens, and for each the number of the text that it is of. The longer text is cut."""
        self.inner.enable_truncation(longest, strategy="longest_first")
        found = self.inner.encode_batch([tuple(one) for one in pairs])
        return [one.ids for one in found], [one.type_ids for one in found]

    def decode(self, tokens: Sequence[int], skip_special: bool = True) -> str:
        return str(self.inner.decode(list(tokens), skip_special_tokens=skip_special))
