"""Reads the expressions and types of WGSL."""

from __future__ import annotations

from . import tree
from .errors import Place, fail
from .lexer import Token

# Names that < and > may follow as a list of types. All others are compared.
GENERIC = {"vec2", "vec3", "vec4", "array", "atomic", "ptr", "bitcast"}
GENERIC |= {f"mat{columns}x{rows}" for columns in (2, 3, 4) for rows in (2, 3, 4)}
LEVELS = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", ">", "<=", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)


class Expressions:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.next = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.next]

    @property
    def at(self) -> Place:
        return self.token.at

    def take(self) -> Token:
        token = self.token
        self.next += 1
        return token

    def sees(self, *texts: str) -> bool:
        return self.token.kind in ("name", "sign") and self.token.text in texts

    def skip(self, text: str) -> bool:
        if self.sees(text):
            self.next += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        if not self.sees(text):
            fail(self.at, f"expected {text} and not {self.token.text}")
        return self.take()

    def name(self) -> str:
        if self.token.kind != "name":
            fail(self.at, f"expected a name and not {self.token.text}")
        return self.take().text

    def closing_angle(self) -> None:
        """`>`, also where the lexer took it for the beginning of another sign."""
        token = self.token
        if token.kind != "sign" or token.text[:1] != ">":
            fail(self.at, f"expected > and not {token.text}")
        if token.text == ">":
            self.next += 1
        else:
            self.tokens[self.next] = Token("sign", token.text[1:], token.at)

    def type_name(self) -> tree.TypeName:
        at = self.at
        name = self.name()
        arguments: list[tree.TypeName | tree.Expression] = []
        if name in GENERIC and self.skip("<"):
            while not (self.token.kind == "sign" and self.token.text[:1] == ">"):
                if self.token.kind == "name":
                    arguments.append(self.type_name())
                else:
                    arguments.append(self.level(LEVELS.index(("+", "-"))))
                if not self.skip(","):
                    break
            self.closing_angle()
        return tree.TypeName(name, tuple(arguments), at)

    def expression(self) -> tree.Expression:
        return self.level(0)

    def level(self, level: int) -> tree.Expression:
        if level == len(LEVELS):
            return self.unary()
        left = self.level(level + 1)
        while self.sees(*LEVELS[level]):
            token = self.take()
            right = self.level(level + 1)
            left = tree.Binary(at=token.at, op=token.text, left=left, right=right)
        return left

    def unary(self) -> tree.Expression:
        if self.sees("--"):
            fail(self.at, "-- is no operator of an expression")
        # `&&x` is the address of an address, which nothing has.
        if self.sees("-", "!", "~", "*", "&"):
            token = self.take()
            return tree.Unary(at=token.at, op=token.text, of=self.unary())
        return self.postfix(self.primary())

    def postfix(self, expression: tree.Expression) -> tree.Expression:
        while True:
            at = self.at
            if self.skip("["):
                place = self.expression()
                self.expect("]")
                expression = tree.Index(at=at, of=expression, place=place)
            elif self.skip("."):
                expression = tree.Member(at=at, of=expression, name=self.name())
            else:
                return expression

    def primary(self) -> tree.Expression:
        token = self.token
        if token.kind in ("number", "symbol"):
            self.next += 1
            return tree.Number(
                at=token.at, text=token.text, suffix=token.suffix, symbol=token.kind == "symbol"
            )
        if self.skip("("):
            inner = self.expression()
            self.expect(")")
            return inner
        if token.kind != "name":
            fail(token.at, f"expected an expression and not {token.text}")
        if token.text in ("true", "false"):
            self.next += 1
            return tree.Truth(at=token.at, value=token.text == "true")
        name = self.type_name()
        if not self.sees("("):
            if name.arguments:
                fail(self.at, f"expected ( and not {self.token.text}")
            return tree.Name(at=token.at, name=name.name)
        return tree.Call(at=token.at, name=name, arguments=self.arguments())

    def arguments(self) -> list[tree.Expression]:
        self.expect("(")
        result = []
        while not self.sees(")"):
            result.append(self.expression())
            if not self.skip(","):
                break
        self.expect(")")
        return result
