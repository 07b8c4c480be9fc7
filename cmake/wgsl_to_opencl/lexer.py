"""The tokens of expanded WGSL."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .errors import Place, fail
from .template import CLOSE, MARK, OPEN, Line


@dataclass(frozen=True)
class Token:
    """`kind`: name, number, symbol (a number that only a launch knows; `suffix` as of a number),
    mark (what is left of a directive of the template), sign, or end."""

    kind: str
    text: str
    at: Place
    suffix: str = ""


NUMBER = re.compile(
    r"(0[xX][0-9a-fA-F]+|\d+\.\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+|\d+)"
    r"(li|lu|lf|[iufh])?"
)
SYMBOL = re.compile(f"{OPEN}([^{CLOSE}]*){CLOSE}([iuf]?)")
NAME = re.compile(r"[A-Za-z_]\w*")
SIGN = re.compile(r"<<=|>>=|->|\+\+|--|&&|\|\||<<|>>|[-+*/%&|^<>=!]=|[-+*/%&|^<>=!~.,:;(){}\[\]@]")


def tokens(lines: list[Line]) -> list[Token]:
    result: list[Token] = []
    comment = 0
    for line in lines:
        text, at = line.text, line.at
        if text.startswith(MARK):
            result.append(Token("mark", text[1:], at))
            continue
        i = 0
        while i < len(text):
            if comment:
                ends, begins = text.find("*/", i), text.find("/*", i)
                if ends < 0 and begins < 0:
                    break
                nested = 0 <= begins < ends or ends < 0
                comment += 1 if nested else -1
                i = (begins if nested else ends) + 2
            elif text[i].isspace():
                i += 1
            elif text.startswith("//", i):
                break
            elif text.startswith("/*", i):
                comment += 1
                i += 2
            else:
                token = token_at(text, i, at)
                result.append(token[0])
                i = token[1]
    end = lines[-1].at if lines else Place("", 0)
    if comment:
        fail(end, "a comment has no */")
    result.append(Token("end", "the end of the file", end))
    return result


def token_at(text: str, i: int, at: Place) -> tuple[Token, int]:
    if matched := SYMBOL.match(text, i):
        end = matched.end()
        if end < len(text) and (text[end].isalnum() or text[end] == "_"):
            fail(at, f"{matched[1]}, which only a launch knows, is part of a name")
        return Token("symbol", matched[1], at, matched[2]), end
    if matched := NAME.match(text, i):
        end = matched.end()
        if end < len(text) and text[end] == OPEN:
            symbol = text[end + 1 : text.index(CLOSE, end)]
            fail(at, f"{symbol}, which only a launch knows, is part of a name")
        return Token("name", matched[0], at), end
    if matched := NUMBER.match(text, i):
        return Token("number", matched[1], at, matched[2] or ""), matched.end()
    if matched := SIGN.match(text, i):
        return Token("sign", matched[0], at), matched.end()
    fail(at, f"cannot read {text[i]!r}")
