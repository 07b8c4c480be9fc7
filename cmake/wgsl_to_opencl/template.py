"""The template step of kernel files (csrc/gpu/template.hpp), at build time.

A variable may also be a Symbol: a specialization constant, whose value only a launch knows. What is
computed from one is an expression of C. `#if` of one is kept as a choice of statements, `#for` up
to one as a loop, and `#let` in such a choice as a conditional expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .errors import Place, fail

MOST_INCLUDES = 16
# Around a symbol in the text that is given on, and before a line that stands for a directive.
OPEN, CLOSE, MARK = "\x01", "\x02", "\x03"


@dataclass(frozen=True)
class Symbol:
    """An expression of C of type int. `words`: of a constant that is one of these words."""

    text: str
    words: tuple[str, ...] = ()
    name: str = ""


Value = int | str | Symbol
Variables = dict[str, Value]


@dataclass(frozen=True)
class Line:
    text: str
    at: Place


PRECEDENCE = {
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("==", "!="), 3),
    **dict.fromkeys(("<", "<=", ">", ">="), 4),
    **dict.fromkeys(("+", "-"), 5),
    **dict.fromkeys(("*", "/", "%"), 6),
}
TOKEN = re.compile(r'\s*(\w+|"[^"]*"|\|\||&&|==|!=|<=|>=|[-+*/%<>!()]|$)')


def quotient(a: int, b: int) -> int:
    """As in C, towards zero."""
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size


ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "||": lambda a, b: int(a != 0 or b != 0),
    "&&": lambda a, b: int(a != 0 and b != 0),
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": quotient,
    "%": lambda a, b: a - b * quotient(a, b),
}


def bare(text: str) -> str:
    """Without brackets around all of it, which a C compiler takes for a mistake in a condition."""
    depth = 0
    for i, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and i < len(text) - 1:
            return text
    return text[1:-1] if text.startswith("(") else text


class Expression:
    def __init__(self, source: str, variables: Mapping[str, Value], at: Place) -> None:
        self.source, self.variables, self.at = source.strip(), variables, at
        self.rest = source

    def value(self) -> Value:
        result = self.binary(0)
        if self.peek():
            self.bad()
        return result

    def bad(self) -> None:
        fail(self.at, f"cannot read the expression {self.source}")

    def peek(self) -> str:
        matched = TOKEN.match(self.rest)
        if matched is None:
            self.bad()
            return ""
        return matched[1]

    def take(self) -> str:
        token = self.peek()
        self.rest = self.rest[TOKEN.match(self.rest).end() :]  # type: ignore[union-attr]
        return token

    def binary(self, lowest: int) -> Value:
        left = self.unary()
        while PRECEDENCE.get(self.peek(), 0) > lowest:
            op = self.take()
            left = self.applied(op, left, self.binary(PRECEDENCE[op]))
        return left

    def unary(self) -> Value:
        token = self.take()
        if token == "(":
            inner = self.binary(0)
            if self.take() != ")":
                self.bad()
            return inner
        if token in ("!", "-"):
            inner = self.unary()
            if isinstance(inner, Symbol):
                return Symbol(f"({token}{inner.text})")
            number = self.number(inner)
            return int(number == 0) if token == "!" else -number
        if token[:1] == '"':
            return token[1:-1]
        if token.isdigit():
            return int(token)
        if token not in self.variables:
            if not token or not (token[0].isalpha() or token[0] == "_"):
                self.bad()
            fail(self.at, f"no variable is named {token}")
        return self.variables[token]

    def number(self, value: Value) -> int:
        if isinstance(value, int):
            return value
        fail(self.at, f"{value} is not a number in {self.source}")

    def applied(self, op: str, a: Value, b: Value) -> Value:
        if isinstance(a, Symbol) or isinstance(b, Symbol):
            return self.symbolic(op, a, b)
        if op in ("==", "!="):
            return int((a == b) == (op == "=="))
        x, y = self.number(a), self.number(b)
        if op in "/%" and y == 0:
            fail(self.at, f"division by zero in {self.source}")
        return ARITHMETIC[op](x, y)

    def symbolic(self, op: str, a: Value, b: Value) -> Value:
        if op in ("&&", "||"):
            # What the known side decides alone needs no symbol.
            for known, other in ((a, b), (b, a)):
                if isinstance(known, int):
                    decided = (known != 0) == (op == "||")
                    return int(op == "||") if decided else other
        texts = []
        for value, beside in ((a, b), (b, a)):
            if isinstance(value, Symbol):
                texts.append(value.text)
            elif isinstance(value, int):
                texts.append(str(value))
            elif isinstance(beside, Symbol) and value in beside.words:
                texts.append(f"{beside.name}_{value}")
            else:
                fail(self.at, f'"{value}" is no word of the constant in {self.source}')
        # What loops over a known number make of their first turns.
        if op == "*" and "0" in texts:
            return 0
        if (op == "*" and texts[0] == "1") or (op == "+" and texts[0] == "0"):
            return b
        if (op in "*/" and texts[1] == "1") or (op in "+-" and texts[1] == "0"):
            return a
        return Symbol(f"({texts[0]} {op} {texts[1]})")


class Expander:
    def __init__(self, variables: Variables, load: Callable[[str], str]) -> None:
        self.variables, self.load = dict(variables), load
        self.depth = 0
        self.out: list[Line] = []

    def file(self, name: str) -> None:
        self.depth += 1
        if self.depth > MOST_INCLUDES:
            fail(Place(name, 1), "#include goes round in a circle")
        texts = self.load(name).splitlines()
        self.block([Line(text, Place(name, i)) for i, text in enumerate(texts, 1)])
        self.depth -= 1

    def evaluate(self, expression: str, at: Place) -> Value:
        return Expression(expression, self.variables, at).value()

    def condition(self, line: Line, word: str) -> int | Symbol:
        expression = line.text[len(word) + 1 :].strip()
        value = self.evaluate(expression, line.at)
        if isinstance(value, str):
            fail(line.at, f"{expression} is not a number")
        return value

    def mark(self, text: str, at: Place) -> None:
        self.out.append(Line(MARK + text, at))

    @staticmethod
    def directive(text: str) -> str:
        matched = re.match(r"#(\w*)", text)
        return matched[1] if matched else ""

    def partner(self, lines: list[Line], start: int, branches: bool) -> int:
        depth = 0
        for i in range(start + 1, len(lines)):
            word = self.directive(lines[i].text)
            if depth == 0 and (word == "end" or (branches and word in ("elif", "else"))):
                return i
            depth += (word in ("if", "for")) - (word == "end")
        fail(lines[start].at, f"#{self.directive(lines[start].text)} has no #end")

    def block(self, lines: list[Line]) -> None:
        i = 0
        while i < len(lines):
            line = lines[i]
            word = self.directive(line.text)
            rest = line.text[len(word) + 1 :].strip()
            if not line.text.startswith("#"):
                self.write(line)
            elif word == "if":
                i = self.branch(lines, i)
            elif word == "for":
                i = self.loop(lines, i, rest)
            elif word == "let":
                name, equals, expression = rest.partition("=")
                if not equals:
                    fail(line.at, "expected #let NAME = EXPR")
                self.variables[name.strip()] = self.evaluate(expression, line.at)
            elif word == "include":
                if len(rest) < 2 or rest[0] != '"' or rest[-1] != '"':
                    fail(line.at, 'expected #include "FILE"')
                self.file(rest[1:-1])
            else:
                fail(line.at, f"#{word} is no directive, or has no #if or #for before it")
            i += 1

    def branch(self, lines: list[Line], at: int) -> int:
        """The line of the #end. A condition that is a symbol makes all after it its other side."""
        line = lines[at]
        word = self.directive(line.text)
        if word == "end":
            return at
        close = self.partner(lines, at, True)
        holds: int | Symbol = 1 if word == "else" else self.condition(line, word)
        body = lines[at + 1 : close]
        if not isinstance(holds, Symbol):
            if holds:
                self.block(body)
                return self.end_of(lines, close)
            return self.branch(lines, close)
        before = dict(self.variables)
        self.mark(f"if {bare(holds.text)}", line.at)
        self.block(body)
        after, self.variables = self.variables, dict(before)
        self.mark("else", line.at)
        end = self.branch(lines, close)
        self.mark("end", line.at)
        self.join(holds, after, before, line.at)
        return end

    def end_of(self, lines: list[Line], at: int) -> int:
        while self.directive(lines[at].text) != "end":
            at = self.partner(lines, at, True)
        return at

    def join(self, condition: Symbol, held: Variables, before: Variables, at: Place) -> None:
        for name in held.keys() | self.variables.keys():
            yes, no = held.get(name), self.variables.get(name)
            if yes == no:
                continue
            if yes is None or no is None:
                # Of one side alone: nothing after it may ask.
                self.variables.pop(name, None)
            elif isinstance(yes, str) or isinstance(no, str):
                fail(
                    at,
                    f"{name} becomes another text by {condition.text}, which only a launch knows",
                )
            else:
                texts = [v.text if isinstance(v, Symbol) else str(v) for v in (yes, no)]
                self.variables[name] = Symbol(f"({condition.text} ? {texts[0]} : {texts[1]})")

    def loop(self, lines: list[Line], at: int, rest: str) -> int:
        place = lines[at].at
        matched = re.fullmatch(r"(\w+) in (.+?)\.\.(.+)", rest)
        if matched is None:
            fail(place, "expected #for NAME in FROM..TO")
        name = matched[1]
        bounds = [self.evaluate(matched[i], place) for i in (2, 3)]
        close = self.partner(lines, at, False)
        body = lines[at + 1 : close]
        if any(isinstance(bound, str) for bound in bounds):
            fail(place, "the bounds of #for are no numbers")
        if any(isinstance(bound, Symbol) for bound in bounds):
            first, last = (b.text if isinstance(b, Symbol) else str(b) for b in bounds)
            before = dict(self.variables)
            index = f"each_{name}"
            self.mark(f"for {index}\t{first}\t{last}", place)
            self.variables[name] = Symbol(index, (), index)
            self.block(body)
            self.mark("end", place)
            before.pop(name, None)
            # What the body names first is its own.
            self.variables = {n: v for n, v in self.variables.items() if n in before}
            if self.variables != before:
                fail(place, "#let of a name from before in a loop up to what only a launch knows")
        else:
            for i in range(*bounds):  # type: ignore[arg-type]
                self.variables[name] = i
                self.block(body)
            self.variables.pop(name, None)
        return close

    def write(self, line: Line) -> None:
        text, rest = "", line.text
        while (opened := rest.find("${")) >= 0:
            closed = rest.find("}", opened)
            if closed < 0:
                fail(line.at, "${ has no }")
            value = self.evaluate(rest[opened + 2 : closed], line.at)
            text += rest[:opened]
            text += f"{OPEN}{value.text}{CLOSE}" if isinstance(value, Symbol) else str(value)
            rest = rest[closed + 1 :]
        self.out.append(Line(text + rest, line.at))


def expanded(file: str, variables: Variables, load: Callable[[str], str]) -> list[Line]:
    """The lines of a kernel; those that begin with MARK are what is left of directives."""
    expander = Expander(variables, load)
    expander.file(file)
    return expander.out
