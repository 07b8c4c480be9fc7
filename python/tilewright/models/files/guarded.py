"""A tokenizer of a file that may be damaged: what fails within the package names the file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.models.files.errors import fail

# What a panic of the package's own language becomes, which is no Exception.
PANIC = "PanicException"


class Guarded:
    """The methods of a tokenizers.Tokenizer. A vocabulary that was taken may still be one that no
    text can be cut by: that is a ModelError."""

    __slots__ = ("_file", "_inner")

    def __init__(self, inner: Any, file: object) -> None:
        self._inner, self._file = inner, file

    def __getattr__(self, name: str) -> Any:
        found = guarded(self._file, lambda: getattr(self._inner, name))
        if not callable(found):
            return found

        def call(*arguments: Any, **options: Any) -> Any:
            return guarded(self._file, lambda: found(*arguments, **options))

        return call


def guarded(file: object, call: Callable[[], Any]) -> Any:
    """What a call of the package gives."""
    try:
        return call()
    except BaseException as error:
        # Its own errors have no other class; wrong arguments are a TypeError of Python.
        if type(error) is Exception or is_panic(error):
            fail(file, f"the package tokenizers does not take its vocabulary: {error}")
        raise


def is_panic(error: BaseException) -> bool:
    return type(error).__name__ == PANIC
