"""How OpenCL C spells types and expressions."""

from __future__ import annotations

from typing import Any

from . import builtins, tree
from .check import KEYWORDS
from .types import (
    BOOL,
    C_SCALARS,
    FLOATS,
    INTEGERS,
    Array,
    Atomic,
    Pointer,
    Scalar,
    Struct,
    Type,
    Vector,
    c_vector,
    scalar_of,
)

SPACES = {"storage": "global", "workgroup": "local", "private": "private", "function": "private"}
# How tightly operators bind in C; of what binds less than asked for goes into parentheses.
LEVELS = {
    **dict.fromkeys(("*", "/", "%"), 13),
    **dict.fromkeys(("+", "-"), 12),
    **dict.fromkeys(("<<", ">>"), 11),
    **dict.fromkeys(("<", ">", "<=", ">="), 10),
    **dict.fromkeys(("==", "!="), 9),
    "&": 8,
    "^": 7,
    "|": 6,
    "&&": 5,
    "||": 4,
}
POSTFIX, PREFIX, CONDITIONAL, ANY = 16, 15, 3, 0
PLAIN, COMPARED, LOGIC, BITWISE = (12, 13), (9, 10), (4, 5), (6, 7, 8, 11)
LITERAL_ENDS = {"i32": "", "u32": "u", "i64": "l", "u64": "ul", "f16": "h", "f32": "f", "f64": ""}


class Spelling:
    """`kernel` is whether what is spelled stands in the kernel itself, where the variables of a
    workgroup are, and not in a function that is handed their places."""

    def __init__(self, module: tree.Module, taken: set[str]) -> None:
        self.module, self.taken = module, taken
        self.kernel = False
        self.structures: list[str] = []

    # Types

    def type(self, type: Any) -> str:
        match type:
            case Scalar():
                return C_SCALARS[type.name]
            case Vector():
                return c_vector(type.of, type.count)
            case Atomic():
                return self.type(type.of)
            case Struct():
                self.needs(type.name)
                return self.module.structures[type.name].c_name
            case Pointer():
                return self.declarator(type, "")
        raise AssertionError(type)

    def needs(self, name: str) -> None:
        """Its type and those within, these first."""
        if name in self.structures:
            return
        for member in self.module.structures[name].types.values():
            while isinstance(member, Array):
                member = member.of
            if isinstance(member, Struct):
                self.needs(member.name)
        self.structures.append(name)

    def declarator(self, type: Any, name: str) -> str:
        match type:
            case Array():
                return self.declarator(type.of, f"{name}[{type.count}]")
            case Pointer():
                space = SPACES[type.space] + ("" if type.writes else " const")
                if isinstance(type.of, Array):
                    return f"{space} {self.declarator(type.of, f'(*{name})')}"
                return f"{space} {self.declarator(type.of, '')}*{' ' if name else ''}{name}"
        return f"{self.type(type)}{' ' if name else ''}{name}"

    def member(self, name: str) -> str:
        return f"{name}_" if name in KEYWORDS or name in self.taken else name

    def zero(self, type: Type) -> str:
        """What a variable begins with."""
        if type == BOOL:
            return "false"
        return "{0}" if isinstance(type, Array | Struct) else "0"

    # Expressions

    def text(self, of: tree.Expression, least: int = ANY) -> str:
        text, level = self.spelled(of)
        return f"({text})" if level < least else text

    def spelled(self, of: tree.Expression) -> tuple[str, int]:
        match of:
            case tree.Number():
                return self.number(of), POSTFIX
            case tree.Truth():
                return "true" if of.value else "false", POSTFIX
            case tree.Name():
                return self.name(of), POSTFIX
            case tree.Unary():
                return self.unary(of)
            case tree.Binary():
                return self.binary(of)
            case tree.Index():
                return self.index(of), POSTFIX
            case tree.Member():
                return self.of_member(of)
            case tree.Call():
                return self.call(of)
        raise AssertionError(of)

    def number(self, of: tree.Number) -> str:
        assert isinstance(of.type, Scalar)
        if of.symbol:
            return of.text if of.type.name == "i32" else f"({C_SCALARS[of.type.name]}){of.text}"
        text = of.text
        if of.type.name in FLOATS:
            if text[:2] in ("0x", "0X"):
                text = str(int(text, 16))
            if text.isdigit():
                text += ".0"
        return text + LITERAL_ENDS[of.type.name]

    def is_place(self, declared: tree.Declaration) -> bool:
        """Whether its name in OpenCL C is that of its address."""
        if isinstance(declared.type, Array):
            return False
        if declared.space == "storage":
            return True
        return declared.space in ("workgroup", "private") and not self.kernel

    def name(self, of: tree.Name) -> str:
        declared = of.declared
        return f"(*{declared.c_name})" if self.is_place(declared) else declared.c_name

    def unary(self, of: tree.Unary) -> tuple[str, int]:
        if of.op == "&" and isinstance(of.of, tree.Name) and self.is_place(of.of.declared):
            return of.of.declared.c_name, POSTFIX
        inner = self.text(of.of, PREFIX)
        # No sign that two of them make.
        gap = " " if inner[:1] == of.op and of.op in "-&" else ""
        return f"{of.op}{gap}{inner}", PREFIX

    def operand(self, of: tree.Expression, op: str, least: int) -> str:
        """Of an operator; in parentheses also where only a reader would stop."""
        text = self.text(of, least)
        if not isinstance(of, tree.Binary) or of.op == op or LEVELS[of.op] < least:
            return text
        inner, outer = LEVELS[of.op], LEVELS[op]
        clear = outer in LOGIC if inner in COMPARED else inner in PLAIN and outer not in BITWISE
        return text if clear or text.startswith(("fmod(", "convert(")) else f"({text})"

    def binary(self, of: tree.Binary) -> tuple[str, int]:
        level = LEVELS[of.op]
        operands = of.left.type
        scalar = scalar_of(operands)
        assert scalar is not None
        if of.op == "%" and scalar.name in FLOATS:
            return f"fmod({self.text(of.left)}, {self.text(of.right)})", POSTFIX
        left = self.operand(of.left, of.op, level)
        right = self.operand(of.right, of.op, level + 1)
        text = f"{left} {of.op} {right}"
        truths = isinstance(of.type, Vector) and of.type.of == BOOL
        # OpenCL C has truths as wide as what was compared.
        if truths and scalar.name not in ("i32", "u32", "f32", "bool"):
            return f"convert({text}, {self.type(of.type)})", POSTFIX
        return text, level

    def index(self, of: tree.Index) -> str:
        type = of.of.type
        base = of.of
        text = self.text(base, POSTFIX)
        if isinstance(type, Pointer):
            text, type = f"(*{text})", type.of
        if not isinstance(type, Vector):
            return f"{text}[{self.text(of.place)}]"
        place = of.place
        if isinstance(place, tree.Number) and not place.symbol and place.text.isdigit():
            element = f"{text}.{'xyzw'[int(place.text) % 4]}"
        elif self.in_memory(base):
            return self.element(of, self.text(place))
        else:
            element = f"{text}[{self.text(place)}]"
        return f"({element} != 0)" if type.of == BOOL else element

    def of_member(self, of: tree.Member) -> tuple[str, int]:
        exchange = builtins.exchange_of(of)
        if exchange is not None:
            return self.exchange(exchange), POSTFIX
        type = of.of.type
        text = self.text(of.of, POSTFIX)
        if isinstance(type, Pointer):
            text, type = f"(*{text})", type.of
        if isinstance(type, Struct):
            return f"{text}.{self.member(of.name)}", POSTFIX
        if of.type == BOOL:
            return f"({text}.{of.name} != 0)", POSTFIX
        return f"{text}.{of.name}", POSTFIX

    # Vectors that other work-items see: a write of one element must not be one of all.

    def root(self, of: tree.Expression) -> tree.Expression:
        while isinstance(of, tree.Index | tree.Member):
            of = of.of
        return of

    def space(self, of: tree.Expression) -> str:
        root = self.root(of)
        if isinstance(root, tree.Unary) and root.op == "*":
            root = root.of
        if isinstance(root.type, Pointer):
            return root.type.space
        return root.declared.space if isinstance(root, tree.Name) else "function"

    def in_memory(self, of: tree.Expression) -> bool:
        return self.space(of) in ("storage", "workgroup")

    def element(self, of: tree.Index | tree.Member, place: str) -> str:
        """By its address."""
        type = of.of.type
        text = self.text(of.of, PREFIX)
        if isinstance(type, Pointer):
            type = type.of
        else:
            text = f"&{text}"
        root = self.root(of)
        reads = isinstance(root, tree.Name) and root.declared and not root.declared.writes
        assert isinstance(type, Vector)
        scalar = C_SCALARS[type.of.name]
        return f"(({SPACES[self.space(of)]} {'const ' if reads else ''}{scalar}*){text})[{place}]"

    # Calls

    def call(self, of: tree.Call) -> tuple[str, int]:
        name = of.name.name
        if isinstance(of.declared, tree.Function):
            function = of.declared
            handed = [self.handed(v) for v in self.needed(function)]
            handed += [self.text(x) for x in of.arguments]
            return f"{function.c_name}({', '.join(handed)})", POSTFIX
        if name == "bitcast":
            inner = of.arguments[0]
            if inner.type == of.type:
                return self.spelled(inner)
            return f"wgsl_bitcast({self.text(inner)}, {self.type(of.type)})", POSTFIX
        if of.declared is not None:
            return self.construction(of)
        if name == "select":
            return self.select(of)
        if name.startswith("atomic"):
            return self.atomic(of, name), POSTFIX
        if name in builtins.BARRIERS:
            return builtins.BARRIERS[name], POSTFIX
        arguments = [self.text(x) for x in of.arguments]
        if name in ("all", "any"):
            if of.arguments[0].type == BOOL:
                return self.spelled(of.arguments[0])
            return f"wgsl_{name}({arguments[0]})", POSTFIX
        if name in builtins.PACKINGS:
            return f"wgsl_{name}({arguments[0]})", POSTFIX
        scalar = scalar_of(of.arguments[0].type)
        c_name = builtins.FUNCTIONS[name].c_name
        if scalar is not None and scalar.name in FLOATS:
            c_name = builtins.FLOAT_NAMES.get(name, c_name)
        return f"{c_name}({', '.join(arguments)})", POSTFIX

    def needed(self, function: tree.Function) -> list[tree.Declaration]:
        """The variables of the module that it and what it calls use, as they are declared."""
        used: list[tree.Declaration] = []
        waiting, seen = [function], []
        while waiting:
            one = waiting.pop()
            seen.append(one)
            used += [v for v in one.uses if v not in used]
            waiting += [f for f in one.calls if f not in seen and f not in waiting]
        return [v for v in self.module.variables.values() if v in used and v.space != "constant"]

    def handed(self, variable: tree.Declaration) -> str:
        by_value = variable.space in ("storage", "immediate") or isinstance(variable.type, Array)
        return f"&{variable.c_name}" if self.kernel and not by_value else variable.c_name

    def select(self, of: tree.Call) -> tuple[str, int]:
        no, yes, condition = of.arguments
        scalar = scalar_of(of.type)
        text = self.text(condition, CONDITIONAL + 1)
        if isinstance(condition.type, Vector):
            assert scalar is not None
            width = {"f16": "short", "f64": "long", "i64": "long", "u64": "long"}.get(scalar.name)
            if width:
                text = f"convert({text}, {width}{condition.type.count})"
        level = CONDITIONAL + 1
        return f"{text} ? {self.text(yes, level)} : {self.text(no, level)}", CONDITIONAL

    def atomic(self, of: tree.Call, name: str) -> str:
        place = of.arguments[0]
        assert isinstance(place.type, Pointer) and isinstance(place.type.of, Atomic)
        space, scalar = SPACES[place.type.space], self.type(place.type.of)
        address = self.text(place)
        if name == "atomicLoad":
            return f"wgsl_atomic_load({space}, {scalar}, {address})"
        value = self.text(of.arguments[1])
        if name == "atomicStore":
            return f"wgsl_atomic_store({space}, {scalar}, {address}, {value})"
        change = builtins.ATOMIC_CHANGES[name]
        return f"wgsl_atomic({change}, {space}, {scalar}, {address}, {value})"

    def exchange(self, of: tree.Call) -> str:
        place, before, after = of.arguments
        assert isinstance(place.type, Pointer) and isinstance(place.type.of, Atomic)
        space, scalar = SPACES[place.type.space], self.type(place.type.of)
        parts = ", ".join(self.text(x) for x in (place, before, after))
        return f"wgsl_exchange_{space}_{scalar}({parts})"

    def construction(self, of: tree.Call) -> tuple[str, int]:
        type, arguments = of.declared, of.arguments
        match type:
            case Scalar():
                if not arguments:
                    return f"({C_SCALARS[type.name]})0", PREFIX
                return self.converted(arguments[0], type)
            case Vector():
                return self.vector(type, arguments)
            case Struct():
                inside = ", ".join(self.text(x) for x in arguments) or "0"
                return f"({self.type(type)}){{{inside}}}", POSTFIX
        inside = ", ".join(self.text(x) for x in arguments) or "0"
        return f"{{{inside}}}", POSTFIX

    def vector(self, type: Vector, arguments: list[tree.Expression]) -> tuple[str, int]:
        c_type = self.type(type)
        if len(arguments) == 1 and isinstance(arguments[0].type, Vector):
            return self.converted(arguments[0], type)
        parts = [self.text(x) for x in arguments] or ["0"]
        if type.of == BOOL:
            parts = [
                text if isinstance(x.type, Vector) else f"-(int)({text})"
                for text, x in zip(parts, arguments, strict=False)
            ] or ["0"]
        return f"({c_type})({', '.join(parts)})", PREFIX

    def converted(self, of: tree.Expression, to: Scalar | Vector) -> tuple[str, int]:
        """A scalar to a scalar, or a vector to one of as many elements."""
        start, end = scalar_of(of.type), scalar_of(to)
        assert start is not None and end is not None and of.type is not None
        if start == end:
            return self.spelled(of)
        count = of.type.count if isinstance(of.type, Vector) else 0
        if end == BOOL:
            text = f"{self.text(of, LEVELS['!='] + 1)} != 0"
            if count and start.name not in ("i32", "u32", "f32"):
                return f"convert({text}, int{count})", POSTFIX
            return text, LEVELS["!="]
        if start.name in FLOATS and end.name in INTEGERS:
            text = self.text(of)
            if start.name == "f16":
                text = f"convert({text}, float{count})" if count else f"(float)({text})"
            return f"wgsl_to_{end.name}({text})", POSTFIX
        if count:
            text = self.text(of)
            if start == BOOL:
                text = f"{self.text(of, LEVELS['&'] + 1)} & 1"
            return f"convert({text}, {self.type(to)})", POSTFIX
        return f"({C_SCALARS[end.name]}){self.text(of, PREFIX)}", PREFIX
