"""What the parser makes of WGSL."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .errors import Place
from .types import Type


@dataclass(frozen=True)
class TypeName:
    """A type as it is written: its name and what is between < and >."""

    name: str
    arguments: tuple[Any, ...]
    at: Place


@dataclass(kw_only=True)
class Expression:
    at: Place
    type: Type | None = None


@dataclass(kw_only=True)
class Number(Expression):
    text: str
    suffix: str = ""
    symbol: bool = False


@dataclass(kw_only=True)
class Truth(Expression):
    value: bool


@dataclass(kw_only=True)
class Name(Expression):
    name: str
    declared: Any = None


@dataclass(kw_only=True)
class Unary(Expression):
    """op: - ! ~ * or &."""

    op: str
    of: Expression


@dataclass(kw_only=True)
class Binary(Expression):
    op: str
    left: Expression
    right: Expression


@dataclass(kw_only=True)
class Index(Expression):
    of: Expression
    place: Expression


@dataclass(kw_only=True)
class Member(Expression):
    of: Expression
    name: str


@dataclass(kw_only=True)
class Call(Expression):
    """Of a function, or of a type that makes a value of it; `to` of a bitcast."""

    name: TypeName
    arguments: list[Expression]
    declared: Any = None


@dataclass(kw_only=True)
class Statement:
    at: Place


@dataclass(kw_only=True)
class Declaration(Statement):
    """let, var or const. Of the module: `space` is workgroup, private, storage, immediate or
    constant, `writes` whether a storage buffer may be written, `binding` its number.
    `c_name` is what it is called in OpenCL C."""

    how: str
    name: str
    declared: TypeName | None = None
    value: Expression | None = None
    type: Type | None = None
    space: str = "function"
    writes: bool = True
    binding: int = 0
    builtin: str = ""
    c_name: str = ""


@dataclass(kw_only=True)
class Assignment(Statement):
    """`target` is None in `_ = value`."""

    op: str
    target: Expression | None
    value: Expression


@dataclass(kw_only=True)
class Evaluation(Statement):
    call: Call


@dataclass(kw_only=True)
class Block(Statement):
    body: list[Statement]


@dataclass(kw_only=True)
class If(Statement):
    condition: Expression
    body: Block
    otherwise: Statement | None = None


@dataclass(kw_only=True)
class For(Statement):
    first: Statement | None
    condition: Expression | None
    step: Statement | None
    body: Block


@dataclass(kw_only=True)
class Loop(Statement):
    """`continuing` are the statements of that block, `until` its `break if`."""

    body: Block
    continuing: list[Statement] = field(default_factory=list)
    until: Expression | None = None


@dataclass(kw_only=True)
class Switch(Statement):
    """Each case has its values, None among them for default."""

    of: Expression
    cases: list[tuple[list[Expression | None], Block]]


@dataclass(kw_only=True)
class Leave(Statement):
    """break or continue."""

    word: str


@dataclass(kw_only=True)
class Return(Statement):
    value: Expression | None


@dataclass(kw_only=True)
class Choice(Statement):
    """A template's #if of what only a launch knows. Its declarations belong around it."""

    condition: str
    body: list[Any]
    otherwise: list[Any]


@dataclass(kw_only=True)
class Count(Statement):
    """A template's #for up to what only a launch knows."""

    name: str
    first: str
    last: str
    body: list[Statement]


@dataclass(kw_only=True)
class Function:
    at: Place
    name: str
    parameters: list[Declaration]
    returns: TypeName | None
    body: Block
    workgroup_size: list[Expression] | None = None
    result: Type | None = None
    uses: list[Declaration] = field(default_factory=list)
    calls: list[Function] = field(default_factory=list)
    c_name: str = ""


@dataclass(kw_only=True)
class Structure:
    at: Place
    name: str
    members: list[tuple[str, TypeName]]
    types: dict[str, Type] = field(default_factory=dict)
    c_name: str = ""


@dataclass(kw_only=True)
class Module:
    structures: dict[str, Structure]
    aliases: dict[str, TypeName]
    variables: dict[str, Declaration]
    functions: dict[str, Function]
