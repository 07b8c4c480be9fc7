"""Tokens to text as they come, with what may not be said yet held back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.models.decoders.engine import Request
    from tilewright.models.tokens import Tokenizer

# What bytes become that are no character, or not all of one yet.
BROKEN = "\N{REPLACEMENT CHARACTER}"
# Tokens that wait for the rest of a character; those of a longer row are said as they are.
MOST_HELD = 16


class TextPieces:
    """The text of tokens that come one by one. Each piece is what the last few tokens say beyond
    those in front of them, so a token costs the same however many there are."""

    def __init__(self, tokenizer: Tokenizer, before: Sequence[int] = ()) -> None:
        """`before` are tokens of a text that is gone on with, whose end says whether a space
        follows."""
        self.tokenizer = tokenizer
        # Tokens that were said, for the spaces and joints behind them, and those that were not.
        self._before = [one for one in before if one not in tokenizer.special][-MOST_HELD:]
        # Not from within a character on.
        while self._before and tokenizer.decode(self._before).startswith(BROKEN):
            del self._before[0]
        self._held: list[int] = []
        self._said = ""

    def add(self, token: int) -> str:
        """What can be said with this token, "" where a character is not whole."""
        if token in self.tokenizer.special:
            return ""
        self._held.append(token)
        text = self._text()
        whole = text.rstrip(BROKEN)
        if len(whole) < len(text) and len(self._held) < MOST_HELD:
            return self._piece(whole)
        piece = self._piece(text)
        if piece or len(self._held) >= MOST_HELD:
            self._before, self._held, self._said = self._held, [], ""
        return piece

    def rest(self) -> str:
        """What was held back, at the end of the text."""
        piece = self._piece(self._text()) if self._held else ""
        self._before, self._held, self._said = [], [], ""
        return piece

    def _text(self) -> str:
        """Of the tokens that are held."""
        before = self.tokenizer.decode(self._before) if self._before else ""
        return self.tokenizer.decode(self._before + self._held)[len(before) :]

    def _piece(self, text: str) -> str:
        piece = text[len(self._said) :]
        self._said += piece
        return piece


class Stops:
    """Ends a text where one of these strings begins; what may be the beginning of one waits."""

    def __init__(self, strings: Sequence[str]) -> None:
        self.strings = tuple(strings)
        self.is_over = False
        self._held = ""

    def add(self, piece: str) -> str:
        """What of the text can be said with this piece."""
        if self.is_over:
            return ""
        self._held += piece
        places = [at for one in self.strings if (at := self._held.find(one)) >= 0]
        if places:
            self.is_over = True
            return self._held[: min(places)]
        wait = max((overlap(self._held, one) for one in self.strings), default=0)
        cut = len(self._held) - wait
        said, self._held = self._held[:cut], self._held[cut:]
        return said

    def rest(self) -> str:
        """What waited, at the end of the text."""
        held, self._held = self._held, ""
        return "" if self.is_over else held


class Saying:
    """The text of a request that goes on, up to what stops it."""

    def __init__(self, tokenizer: Any, stops: Sequence[str]) -> None:
        self._pieces, self._stops = TextPieces(tokenizer), Stops(stops)
        #: tokens that were looked at, with the one that made a stop whole
        self.said = 0

    @property
    def is_over(self) -> bool:
        """Whether a stop was met."""
        return self._stops.is_over

    def pieces(self, request: Request) -> Iterator[str]:
        """What its new tokens say, and at its end what was held back."""
        while self.said < len(request.text) - request.start and not self.is_over:
            self.said += 1
            piece = self._stops.add(self._pieces.add(request.text[request.start + self.said - 1]))
            if piece:
                yield piece
        if request.is_done and request.error is None and not self.is_over:
            rest = self._stops.add(self._pieces.rest()) + self._stops.rest()
            if rest:
                yield rest

    def more(self, request: Request) -> str:
        return "".join(self.pieces(request))


def overlap(text: str, string: str) -> int:
    """How many characters at the end of a text may begin the string."""
    return next(
        (n for n in range(min(len(text), len(string) - 1), 0, -1) if string.startswith(text[-n:])),
        0,
    )
