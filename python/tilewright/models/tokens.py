"""Text to tokens and back, by the `tokenizers` package."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from tilewright.models.files.errors import fail, shown
from tilewright.models.files.guarded import Guarded, guarded
from tilewright.operands import invalid


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
        # What the tokenizer is set to; it is set where nobody else is in a call of it.
        self._cut: tuple[int | None, str] = (None, "")
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: Path) -> Tokenizer:
        if not path.is_file():
            fail(path, "there is no such file, expected the vocabulary")
        package = library()
        made = guarded(path, lambda: package.Tokenizer.from_file(str(path)))
        return cls(Guarded(made, path))

    def encode(
        self, texts: Sequence[str], longest: int | None = None, *, special: bool = True
    ) -> list[list[int]]:
        """The tokens of each text, at most so many where `longest` says so, with those that the
        model wants around it unless they are not `special`."""
        with self._lock:
            self._cut_to(longest)
            try:
                found = self.inner.encode_batch(list(texts), add_special_tokens=special)
            except TypeError:
                check_characters(texts)
                raise
        return [one.ids for one in found]

    def encode_pairs(
        self, pairs: Sequence[tuple[str, str]], longest: int
    ) -> tuple[list[list[int]], list[list[int]]]:
        """Tokens, and for each the number of the text that it is of. The longer text is cut."""
        with self._lock:
            self._cut_to(longest, "longest_first")
            try:
                found = self.inner.encode_batch([tuple(one) for one in pairs])
            except TypeError:
                check_characters([text for pair in pairs for text in pair])
                raise
        return [one.ids for one in found], [one.type_ids for one in found]

    def _cut_to(self, longest: int | None, strategy: str = "longest_first") -> None:
        if self._cut == (longest, strategy):
            return
        if longest is None:
            self.inner.no_truncation()
        else:
            self.inner.enable_truncation(longest, strategy=strategy)
        self._cut = (longest, strategy)

    @cached_property
    def special(self) -> frozenset[int]:
        """Tokens that are no text."""
        added = self.inner.get_added_tokens_decoder()
        return frozenset(i for i, one in added.items() if one.special)

    def decode(self, tokens: Sequence[int], skip_special: bool = True) -> str:
        return str(self.inner.decode(list(tokens), skip_special_tokens=skip_special))


def check_characters(texts: Sequence[str]) -> None:
    """InvalidArgument of a text with half of a character, as bytes that are no UTF-8 become."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            invalid("encode", f"the text {shown(text)} has half of a character, which no token has")
