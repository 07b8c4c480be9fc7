"""Gives each expression its type."""

from __future__ import annotations

from typing import Any

from . import builtins, tree
from .errors import fail
from .types import (
    ABSTRACT_FLOAT,
    ABSTRACT_INT,
    BOOL,
    C_SCALARS,
    F32,
    I32,
    INTEGERS,
    SUFFIXES,
    U32,
    Array,
    Atomic,
    Pointer,
    Scalar,
    Struct,
    Type,
    Vector,
    fits,
    is_abstract,
    scalar_of,
    with_scalar,
)

SHORT = {
    f"vec{n}{letter}": (n, scalar)
    for n in (2, 3, 4)
    for letter, scalar in (("f", "f32"), ("i", "i32"), ("u", "u32"), ("h", "f16"))
}
COMPARISONS = ("==", "!=", "<", ">", "<=", ">=")


def children(of: tree.Expression) -> list[tree.Expression]:
    """Those that have its type, but for being scalars or vectors."""
    match of:
        case tree.Unary():
            return [of.of]
        case tree.Binary(op="<<" | ">>"):
            return [of.left]
        case tree.Binary():
            return [of.left, of.right]
        case tree.Call():
            return of.arguments
    return []


def settle(of: tree.Expression, scalar: Scalar) -> None:
    """Gives the literals in an expression of no certain type this one."""
    if of.type is None or not is_abstract(of.type):
        return
    of.type = with_scalar(of.type, scalar)
    for child in children(of):
        settle(child, scalar)


class Inference:
    def __init__(self, module: tree.Module) -> None:
        self.module = module
        self.scopes: list[dict[str, tree.Declaration]] = []
        self.function: tree.Function | None = None

    # Types

    def resolved(self, name: tree.TypeName) -> Type:
        arguments = name.arguments
        if name.name in C_SCALARS and not arguments:
            return Scalar(name.name)
        if name.name in SHORT and not arguments:
            return Vector(SHORT[name.name][0], Scalar(SHORT[name.name][1]))
        if name.name in ("vec2", "vec3", "vec4") and len(arguments) == 1:
            of = self.resolved(arguments[0])
            if isinstance(of, Scalar):
                return Vector(int(name.name[3]), of)
        if name.name == "array" and len(arguments) in (1, 2):
            of = self.resolved(arguments[0])
            return Array(of, self.length(arguments[1]) if len(arguments) == 2 else None)
        if name.name == "atomic" and len(arguments) == 1:
            of = self.resolved(arguments[0])
            if of in (I32, U32):
                return Atomic(of)
        if name.name == "ptr" and len(arguments) in (2, 3):
            space = arguments[0].name
            if space in ("function", "private", "workgroup", "storage"):
                writes = space != "storage" or (
                    len(arguments) == 3 and arguments[2].name == "read_write"
                )
                return Pointer(space, self.resolved(arguments[1]), writes)
        if name.name in self.module.aliases:
            return self.resolved(self.module.aliases[name.name])
        if name.name in self.module.structures:
            return Struct(name.name)
        fail(name.at, f"the translator knows no type {self.spelled(name)}")

    def spelled(self, name: Any) -> str:
        if isinstance(name, tree.TypeName):
            inside = ", ".join(self.spelled(a) for a in name.arguments)
            return f"{name.name}<{inside}>" if inside else name.name
        return name.text if isinstance(name, tree.Number) else "..."

    def length(self, of: Any) -> int:
        if isinstance(of, tree.TypeName):
            of = tree.Name(at=of.at, name=of.name)
        value = self.constant(of)
        if value is None:
            fail(of.at, "the length of an array must be known when kernels are built")
        return value

    def constant(self, of: tree.Expression) -> int | None:
        """The value of a whole number that is written out."""
        if isinstance(of, tree.Number) and not of.symbol:
            return int(of.text, 0) if of.text.isalnum() else None
        if isinstance(of, tree.Name):
            declared = self.module.variables.get(of.name)
            if declared is not None and declared.how == "const" and declared.value is not None:
                return self.constant(declared.value)
        if isinstance(of, tree.Binary):
            a, b = self.constant(of.left), self.constant(of.right)
            if a is not None and b is not None and of.op in ("+", "-", "*"):
                return {"+": a + b, "-": a - b, "*": a * b}[of.op]
            if a is not None and b and of.op == "/":
                return a // b
        return None

    # Expressions

    def find(self, name: str) -> tree.Declaration | None:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return self.module.variables.get(name)

    def typed(self, of: tree.Expression) -> Type:
        of.type = self.type_of(of)
        return of.type

    def value(self, of: tree.Expression, wanted: Type | None = None, what: str = "it") -> Type:
        """Of an expression that is no reference to a pointer; `wanted`, or a settled type."""
        type = self.typed(of)
        self.becomes(of, wanted, what)
        assert of.type is not None
        return of.type if wanted is not None or is_abstract(type) else type

    def becomes(self, of: tree.Expression, wanted: Type | None, what: str = "it") -> None:
        type = of.type
        assert type is not None
        if wanted is None:
            if is_abstract(type):
                settle(of, I32 if scalar_of(type) == ABSTRACT_INT else F32)
            return
        if not fits(type, wanted):
            fail(of.at, f"{what} is {type} where {wanted} is expected")
        scalar = scalar_of(wanted)
        if is_abstract(type) and scalar is not None:
            settle(of, scalar)

    def type_of(self, of: tree.Expression) -> Type:
        match of:
            case tree.Number():
                if of.suffix:
                    return Scalar(SUFFIXES[of.suffix])
                whole = of.symbol or of.text[:2] in ("0x", "0X") or of.text.isdigit()
                return ABSTRACT_INT if whole else ABSTRACT_FLOAT
            case tree.Truth():
                return BOOL
            case tree.Name():
                return self.of_name(of)
            case tree.Unary():
                return self.of_unary(of)
            case tree.Binary():
                return self.of_binary(of)
            case tree.Index():
                return self.of_index(of)
            case tree.Member():
                return self.of_member(of)
            case tree.Call():
                return self.of_call(of)
        raise AssertionError(of)

    def of_name(self, of: tree.Name) -> Type:
        declared = self.find(of.name)
        if declared is None or declared.type is None:
            fail(of.at, f"{of.name} is not declared")
        of.declared = declared
        function = self.function
        if function and declared.space != "function" and declared not in function.uses:
            function.uses.append(declared)
        return declared.type

    def of_unary(self, of: tree.Unary) -> Type:
        type = self.typed(of.of)
        scalar = scalar_of(type)
        if of.op == "&":
            return Pointer(self.space_of(of.of), type, True)
        if of.op == "*":
            if isinstance(type, Pointer):
                pointed: Type = type.of
                return pointed
        elif scalar is not None:
            if of.op == "!" and scalar == BOOL:
                return type
            if of.op == "~" and (scalar.name in INTEGERS or scalar == ABSTRACT_INT):
                return type
            if of.op == "-" and scalar != BOOL:
                return type
        fail(of.at, f"{of.op} of {type}")

    def root(self, of: tree.Expression) -> tree.Expression:
        while isinstance(of, tree.Index | tree.Member):
            of = of.of
        return of

    def space_of(self, of: tree.Expression) -> str:
        root = self.root(of)
        if isinstance(root, tree.Unary) and root.op == "*" and isinstance(root.of.type, Pointer):
            return root.of.type.space
        if isinstance(root.type, Pointer):
            return root.type.space
        return root.declared.space if isinstance(root, tree.Name) and root.declared else "function"

    def of_binary(self, of: tree.Binary) -> Type:
        left, right = self.typed(of.left), self.typed(of.right)
        a, b = scalar_of(left), scalar_of(right)
        if a is None or b is None:
            fail(of.at, f"{left} {of.op} {right}")
        if of.op in ("<<", ">>"):
            if isinstance(left, Vector) != isinstance(right, Vector):
                fail(of.at, f"{left} {of.op} {right}")
            self.becomes(of.right, with_scalar(right, U32), "what it is shifted by")
            return left
        if of.op in ("&&", "||"):
            if left != BOOL or right != BOOL:
                fail(of.at, f"{left} {of.op} {right}")
            return BOOL
        common = self.common(of.left, of.right, of.at, of.op)
        if isinstance(left, Vector) and isinstance(right, Vector) and left.count != right.count:
            fail(of.at, f"{left} {of.op} {right}")
        shape = left if isinstance(left, Vector) else right
        if of.op in COMPARISONS:
            if isinstance(left, Vector) != isinstance(right, Vector):
                fail(of.at, f"{left} {of.op} {right}")
            if is_abstract(common):
                self.becomes(of.left, None)
                self.becomes(of.right, None)
            return with_scalar(shape, BOOL)
        bits = of.op in ("&", "|", "^")
        if bits and common.name not in (*INTEGERS, "bool", "int"):
            fail(of.at, f"{left} {of.op} {right}")
        if bits and isinstance(left, Vector) != isinstance(right, Vector):
            fail(of.at, f"{left} {of.op} {right}")
        if common == BOOL and (not bits or of.op == "^"):
            fail(of.at, f"{left} {of.op} {right}")
        return with_scalar(shape, common)

    def common(self, *of: Any) -> Scalar:
        """The element type of two expressions, which literals of them take."""
        *both, at, op = of
        scalars = [scalar_of(x.type) for x in both]
        certain = {s for s in scalars if s is not None and s.name not in ("int", "float")}
        if len(certain) > 1:
            fail(at, f"{both[0].type} {op} {both[1].type}")
        if certain:
            result = certain.pop()
            for x in both:
                if is_abstract(x.type):
                    if not fits(x.type, with_scalar(x.type, result)):
                        fail(at, f"{both[0].type} {op} {both[1].type}")
                    settle(x, result)
            return result
        result = ABSTRACT_FLOAT if ABSTRACT_FLOAT in scalars else ABSTRACT_INT
        for x in both:
            x.type = with_scalar(x.type, result)
        return result

    def of_index(self, of: tree.Index) -> Type:
        type = self.typed(of.of)
        place = self.value(of.place)
        if place not in (I32, U32):
            fail(of.at, f"an index is {place}")
        if isinstance(type, Pointer):
            type = type.of
        if isinstance(type, Array | Vector):
            return type.of
        fail(of.at, f"{type} has no elements")

    def of_member(self, of: tree.Member) -> Type:
        exchange = builtins.exchange_of(of)
        if exchange is not None:
            return self.of_exchange(exchange)
        type = self.typed(of.of)
        if isinstance(type, Pointer):
            type = type.of
        if isinstance(type, Struct):
            found = self.module.structures[type.name].types.get(of.name)
            if found is not None:
                return found
        elif isinstance(type, Vector) and 1 <= len(of.name) <= 4:
            for letters in ("xyzw", "rgba"):
                if all(c in letters[: type.count] for c in of.name):
                    of.name = "".join("xyzw"[letters.index(c)] for c in of.name)
                    return type.of if len(of.name) == 1 else Vector(len(of.name), type.of)
        fail(of.at, f"{type} has no {of.name}")

    # Calls

    def of_call(self, of: tree.Call) -> Type:
        name = of.name.name
        function = self.module.functions.get(name)
        if function is not None:
            return self.of_function(of, function)
        if name == "bitcast":
            return self.of_bitcast(of)
        if (
            name in C_SCALARS
            or name in SHORT
            or name in self.module.structures
            or (name in ("vec2", "vec3", "vec4", "array") or name in self.module.aliases)
        ):
            return self.of_construction(of)
        return self.of_builtin(of, name)

    def of_function(self, of: tree.Call, function: tree.Function) -> Type:
        of.declared = function
        if self.function is not None and function not in self.function.calls:
            self.function.calls.append(function)
        if len(of.arguments) != len(function.parameters):
            fail(of.at, f"{function.name} takes {len(function.parameters)} arguments")
        for argument, parameter in zip(of.arguments, function.parameters, strict=True):
            assert parameter.declared is not None
            wanted = self.resolved(parameter.declared)
            self.typed(argument)
            given = argument.type
            both = isinstance(wanted, Pointer) and isinstance(given, Pointer)
            if both and (given.space, given.of) == (wanted.space, wanted.of):  # type: ignore[union-attr]
                continue
            self.becomes(argument, wanted, f"{parameter.name} of {function.name}")
        return self.resolved(function.returns) if function.returns else Struct("")

    def of_bitcast(self, of: tree.Call) -> Type:
        if len(of.arguments) != 1 or len(of.name.arguments) != 1:
            fail(of.at, "expected bitcast<TYPE>(VALUE)")
        to = self.resolved(of.name.arguments[0])
        self.typed(of.arguments[0])
        literal = is_abstract(of.arguments[0].type)
        self.becomes(of.arguments[0], with_scalar(of.arguments[0].type, U32) if literal else None)  # type: ignore[arg-type]
        if scalar_of(to) in (None, BOOL) or scalar_of(of.arguments[0].type) in (None, BOOL):
            fail(of.at, f"bitcast of {of.arguments[0].type} to {to}")
        return to

    def of_construction(self, of: tree.Call) -> Type:
        name, arguments = of.name, of.arguments
        types = [self.typed(x) for x in arguments]
        if name.name in ("vec2", "vec3", "vec4") and not name.arguments:
            vector = self.vector_of(of, int(name.name[3]))
            of.declared = vector
            return vector
        if name.name == "array" and not name.arguments:
            if not arguments:
                fail(of.at, "array() without a type")
            first = self.value(arguments[0])
            of.declared = Array(first, len(arguments))
        else:
            of.declared = self.resolved(name)
        type: Type = of.declared
        match type:
            case Scalar():
                if len(types) > 1 or (types and not isinstance(types[0], Scalar)):
                    fail(of.at, f"{type} of {', '.join(map(str, types))}")
                for x in arguments:
                    assert x.type is not None
                    self.becomes(x, type if is_abstract(x.type) and fits(x.type, type) else None)
            case Vector():
                self.into_vector(of, type)
            case Array():
                if arguments and type.count != len(arguments):
                    fail(of.at, f"{type} of {len(arguments)} values")
                for x in arguments:
                    self.becomes(x, type.of)
            case Struct():
                members = self.module.structures[type.name].types
                if arguments and len(members) != len(arguments):
                    fail(of.at, f"{type} of {len(arguments)} values")
                for x, wanted in zip(arguments, members.values(), strict=False):
                    self.becomes(x, wanted)
            case _:
                fail(of.at, f"no values are made of {type}")
        return type

    def vector_of(self, of: tree.Call, count: int) -> Type:
        """vec4(...) without the type of its elements."""
        scalars = {scalar_of(x.type) for x in of.arguments}
        certain = {s for s in scalars if s is not None and not is_abstract(s)}
        if len(certain) > 1 or not of.arguments or None in scalars:
            fail(of.at, f"vec{count} needs the type of its elements")
        scalar = certain.pop() if certain else F32 if ABSTRACT_FLOAT in scalars else I32
        type = Vector(count, scalar)
        self.into_vector(of, type)
        return type

    def into_vector(self, of: tree.Call, type: Vector) -> None:
        counts = [x.type.count if isinstance(x.type, Vector) else 1 for x in of.arguments]
        converts = len(counts) == 1 and counts[0] == type.count
        if sum(counts) not in (0, type.count) and counts != [1]:
            fail(of.at, f"{type} of {', '.join(str(x.type) for x in of.arguments)}")
        for x in of.arguments:
            assert x.type is not None
            wanted = with_scalar(x.type, type.of)
            if is_abstract(x.type):
                self.becomes(x, wanted)
            elif not converts and x.type != wanted:
                fail(of.at, f"{type} of {', '.join(str(x.type) for x in of.arguments)}")

    def of_builtin(self, of: tree.Call, name: str) -> Type:
        arguments = of.arguments
        for x in arguments:
            self.typed(x)
        if name == "select":
            return self.of_select(of)
        if name in ("all", "any"):
            if len(arguments) == 1 and scalar_of(arguments[0].type) == BOOL:
                return BOOL
        elif name in builtins.BARRIERS:
            return Struct("")
        elif name in builtins.PACKINGS:
            takes, gives = builtins.PACKINGS[name]
            self.arity(of, 1)
            self.becomes(arguments[0], takes)
            return gives
        elif name.startswith("atomic"):
            return self.of_atomic(of, name)
        elif name in builtins.FUNCTIONS:
            function = builtins.FUNCTIONS[name]
            self.arity(of, function.count)
            type = self.shared(of)
            if builtins.allowed(function.takes, type):
                return function.result(type)
            fail(of.at, f"{name} of {type}, which the translator does not have")
        elif name == "arrayLength":
            fail(of.at, "arrayLength: no OpenCL C kernel knows it; give it as a parameter")
        else:
            fail(of.at, f"the translator knows no function {name}")
        fail(of.at, f"{name} of {', '.join(str(x.type) for x in arguments)}")

    def arity(self, of: tree.Call, count: int) -> None:
        if len(of.arguments) != count:
            fail(of.at, f"{of.name.name} takes {count} arguments")

    def shared(self, of: tree.Call, default: Scalar | None = None) -> Type:
        """The one type of all arguments."""
        certain = [x.type for x in of.arguments if not is_abstract(x.type)]
        if not certain:
            scalars = {scalar_of(x.type) for x in of.arguments}
            scalar = default or (F32 if ABSTRACT_FLOAT in scalars else I32)
            if of.name.name in builtins.FUNCTIONS and (
                builtins.FUNCTIONS[of.name.name].takes == "float"
            ):
                scalar = F32
            assert of.arguments[0].type is not None
            certain = [with_scalar(of.arguments[0].type, scalar)]
        for x in of.arguments:
            assert certain[0] is not None
            self.becomes(x, certain[0], f"an argument of {of.name.name}")
        assert certain[0] is not None
        return certain[0]

    def of_select(self, of: tree.Call) -> Type:
        self.arity(of, 3)
        no, yes, condition = of.arguments
        chosen = tree.Call(at=of.at, name=of.name, arguments=[no, yes])
        type = self.shared(chosen)
        if scalar_of(condition.type) != BOOL or (
            isinstance(condition.type, Vector)
            and (not isinstance(type, Vector) or type.count != condition.type.count)
        ):
            fail(of.at, f"select of {type} by {condition.type}")
        return type

    def of_exchange(self, of: tree.Call) -> Type:
        """atomicCompareExchangeWeak(...).exchanged, the one thing that it is asked."""
        for x in of.arguments:
            self.typed(x)
        self.arity(of, 3)
        scalar = builtins.atomic_of(of.arguments[0].type)  # type: ignore[arg-type]
        if scalar is None:
            fail(of.at, f"{of.name.name} of {of.arguments[0].type}")
        for x in of.arguments[1:]:
            self.becomes(x, scalar)
        of.type = BOOL
        return BOOL

    def of_atomic(self, of: tree.Call, name: str) -> Type:
        known = name in builtins.ATOMIC_CHANGES or name in ("atomicLoad", "atomicStore")
        if not known:
            fail(of.at, f"the translator knows no function {name}")
        self.arity(of, 1 if name == "atomicLoad" else 2)
        scalar = builtins.atomic_of(of.arguments[0].type)  # type: ignore[arg-type]
        if scalar is None:
            fail(of.at, f"{name} of {of.arguments[0].type}")
        if len(of.arguments) == 2:
            self.becomes(of.arguments[1], scalar)
        return Struct("") if name == "atomicStore" else scalar
