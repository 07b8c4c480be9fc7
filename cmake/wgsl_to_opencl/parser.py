"""Reads the statements and declarations of WGSL."""

from __future__ import annotations

from typing import Any

from . import tree
from .errors import fail
from .expressions import Expressions
from .lexer import Token

ASSIGNMENTS = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")
SPACES = ("workgroup", "private", "storage", "immediate")


class Parser(Expressions):
    def module(self) -> tree.Module:
        result = tree.Module(structures={}, aliases={}, variables={}, functions={})
        while self.token.kind != "end":
            if self.token.kind == "mark":
                # Both sides: what is of no use is not printed.
                if self.token.text.startswith("for"):
                    fail(self.at, "#for up to what only a launch knows, outside of a function")
                self.next += 1
            elif self.skip("enable") or self.skip("requires"):
                while not self.skip(";"):
                    self.next += 1
            elif not self.skip(";"):
                self.declaration(result)
        return result

    def declaration(self, module: tree.Module) -> None:
        attributes = self.attributes()
        at = self.at
        if self.skip("struct"):
            item: Any = self.structure()
            table: dict[str, Any] = module.structures
        elif self.skip("fn"):
            item = self.function(attributes)
            table = module.functions
        elif self.skip("alias"):
            name = self.name()
            self.expect("=")
            module.aliases[name] = self.type_name()
            self.expect(";")
            return
        elif self.sees("var", "const"):
            item = self.variable()
            if "binding" in attributes:
                item.binding = int(self.plain_number(attributes["binding"][0]))
            self.expect(";")
            table = module.variables
        elif self.sees("override"):
            fail(at, "an override: make it a variable of the template, `//! NAME: constant`")
        else:
            fail(at, f"expected a declaration and not {self.token.text}")
        if any(item.name in names for names in (module.structures, module.functions)) or (
            item.name in module.variables
        ):
            fail(at, f"{item.name} is declared twice")
        table[item.name] = item

    @staticmethod
    def plain_number(expression: tree.Expression) -> str:
        if not isinstance(expression, tree.Number) or expression.symbol:
            fail(expression.at, "expected a number")
        return expression.text

    def attributes(self) -> dict[str, list[tree.Expression]]:
        result: dict[str, list[tree.Expression]] = {}
        while self.skip("@"):
            name = self.name()
            result[name] = self.arguments() if self.sees("(") else []
        return result

    def structure(self) -> tree.Structure:
        at = self.at
        name = self.name()
        members = []
        self.expect("{")
        while not self.skip("}"):
            if attributes := self.attributes():
                fail(self.at, f"@{next(iter(attributes))} of a member")
            member = self.name()
            self.expect(":")
            members.append((member, self.type_name()))
            if not self.skip(","):
                self.expect("}")
                break
        return tree.Structure(at=at, name=name, members=members)

    def variable(self) -> tree.Declaration:
        """Of var, let or const, without the semicolon."""
        at = self.at
        how = self.take().text
        space, writes = "function", True
        if how == "var" and self.skip("<"):
            space = self.name()
            if space not in SPACES:
                fail(at, f"the address space {space}; there is {', '.join(SPACES)}")
            writes = space != "storage"
            if self.skip(","):
                writes = self.name() != "read"
            self.closing_angle()
        name = self.name()
        declared = self.type_name() if self.skip(":") else None
        value = self.expression() if self.skip("=") else None
        if declared is None and value is None:
            fail(at, f"{name} has neither a type nor a value")
        return tree.Declaration(
            at=at, how=how, name=name, declared=declared, value=value, space=space, writes=writes
        )

    def function(self, attributes: dict[str, list[tree.Expression]]) -> tree.Function:
        at = self.at
        name = self.name()
        parameters = []
        self.expect("(")
        while not self.sees(")"):
            of_parameter = self.attributes()
            place = self.at
            parameter = self.name()
            self.expect(":")
            builtin = ""
            if "builtin" in of_parameter:
                named = of_parameter["builtin"][0]
                builtin = named.name if isinstance(named, tree.Name) else ""
            parameters.append(
                tree.Declaration(
                    at=place, how="let", name=parameter, declared=self.type_name(), builtin=builtin
                )
            )
            if not self.skip(","):
                break
        self.expect(")")
        returns = self.type_name() if self.skip("->") else None
        size = None
        if "compute" in attributes:
            if "workgroup_size" not in attributes:
                fail(at, "a kernel without @workgroup_size")
            size = attributes["workgroup_size"]
        return tree.Function(
            at=at,
            name=name,
            parameters=parameters,
            returns=returns,
            body=self.block(),
            workgroup_size=size,
        )

    # Statements

    def block(self) -> tree.Block:
        at = self.expect("{").at
        body = self.statements("}")
        self.expect("}")
        return tree.Block(at=at, body=body)

    def statements(self, *ends: str) -> list[tree.Statement]:
        """Up to a sign of `ends`, or to a mark that ends what is left of a directive."""
        result: list[tree.Statement] = []
        while not self.sees(*ends):
            token = self.token
            if token.kind == "end":
                fail(token.at, f"expected }} and not {token.text}")
            if token.kind == "mark":
                if token.text in ("else", "end"):
                    break
                result.append(self.marked())
            elif not self.skip(";"):
                result.append(self.statement())
        return result

    def mark(self, text: str) -> None:
        if self.token.kind != "mark" or self.token.text != text:
            fail(self.at, "a template's line that only a launch decides must be around statements")
        self.next += 1

    def marked(self) -> tree.Statement:
        token = self.take()
        if token.text.startswith("for "):
            name, first, last = token.text[4:].split("\t")
            body = self.statements("}")
            self.mark("end")
            return tree.Count(at=token.at, name=name, first=first, last=last, body=body)
        body = self.statements("}")
        self.mark("else")
        otherwise = self.statements("}")
        self.mark("end")
        condition = token.text.removeprefix("if ")
        return tree.Choice(at=token.at, condition=condition, body=body, otherwise=otherwise)

    def statement(self) -> tree.Statement:
        at = self.at
        if self.sees("{"):
            return self.block()
        if self.skip("if"):
            return self.rest_of_if(at)
        if self.skip("for"):
            return self.rest_of_for(at)
        if self.skip("while"):
            condition = self.expression()
            return tree.For(at=at, first=None, condition=condition, step=None, body=self.block())
        if self.skip("loop"):
            return self.rest_of_loop(at)
        if self.skip("switch"):
            return self.rest_of_switch(at)
        if self.skip("return"):
            value = None if self.sees(";") else self.expression()
            self.expect(";")
            return tree.Return(at=at, value=value)
        if self.sees("break", "continue"):
            word = self.take().text
            if word == "break" and self.sees("if"):
                fail(at, "break if: only at the end of continuing")
            self.expect(";")
            return tree.Leave(at=at, word=word)
        simple = self.simple()
        self.expect(";")
        return simple

    def simple(self) -> tree.Statement:
        """What may stand in the head of a for loop."""
        at = self.at
        if self.sees("var", "let", "const"):
            return self.variable()
        if self.skip("_"):
            self.expect("=")
            return tree.Assignment(at=at, op="=", target=None, value=self.expression())
        target = self.unary()
        if self.sees("++", "--"):
            op = self.take().text
            one = tree.Number(at=at, text="1")
            return tree.Assignment(at=at, op=f"{op[0]}=", target=target, value=one)
        if self.sees(*ASSIGNMENTS):
            op = self.take().text
            return tree.Assignment(at=at, op=op, target=target, value=self.expression())
        if not isinstance(target, tree.Call):
            fail(self.at, f"expected a statement and not {self.token.text}")
        return tree.Evaluation(at=at, call=target)

    def rest_of_if(self, at: Any) -> tree.If:
        condition = self.expression()
        body = self.block()
        otherwise: tree.Statement | None = None
        if self.skip("else"):
            place = self.at
            otherwise = self.rest_of_if(place) if self.skip("if") else self.block()
        return tree.If(at=at, condition=condition, body=body, otherwise=otherwise)

    def rest_of_for(self, at: Any) -> tree.For:
        self.expect("(")
        first = None if self.sees(";") else self.simple()
        self.expect(";")
        condition = None if self.sees(";") else self.expression()
        self.expect(";")
        step = None if self.sees(")") else self.simple()
        self.expect(")")
        return tree.For(at=at, first=first, condition=condition, step=step, body=self.block())

    def rest_of_loop(self, at: Any) -> tree.Loop:
        place = self.expect("{").at
        body = self.statements("}", "continuing")
        result = tree.Loop(at=at, body=tree.Block(at=place, body=body))
        if self.skip("continuing"):
            self.expect("{")
            while not self.sees("}"):
                if self.skip("break"):
                    self.expect("if")
                    result.until = self.expression()
                    self.expect(";")
                    break
                result.continuing.append(self.statement())
            self.expect("}")
        self.expect("}")
        return result

    def rest_of_switch(self, at: Any) -> tree.Switch:
        of = self.expression()
        self.expect("{")
        cases = []
        while not self.skip("}"):
            values: list[tree.Expression | None] = []
            if self.skip("default"):
                values.append(None)
            else:
                self.expect("case")
                while not self.sees(":", "{"):
                    values.append(None if self.skip("default") else self.expression())
                    if not self.skip(","):
                        break
            self.skip(":")
            cases.append((values, self.block()))
        return tree.Switch(at=at, of=of, cases=cases)


def parsed(tokens: list[Token]) -> tree.Module:
    return Parser(tokens).module()
