"""Goes through a module: types, scopes, and names that OpenCL C can have."""

from __future__ import annotations

from typing import Any

from . import builtins, tree
from .errors import fail
from .infer import Inference
from .types import (
    BOOL,
    Array,
    Atomic,
    Pointer,
    Scalar,
    Struct,
    Type,
    Vector,
)

WORDS = """
auto break case char const continue default do double else enum extern float for goto if
inline int long register restrict return short signed sizeof static struct switch typedef
union unsigned void volatile while bool true false half kernel local global private
constant generic read_only write_only read_write pipe uniform event_t sampler_t complex
imaginary quad NULL main
"""
KEYWORDS = frozenset(WORDS.split())


class Checker(Inference):
    def __init__(self, module: tree.Module, taken: set[str]) -> None:
        super().__init__(module)
        self.taken = KEYWORDS | taken
        self.c_scopes: list[set[str]] = [set()]
        self.loops: list[str] = []

    def c_name(self, name: str) -> str:
        """One that nothing in sight has: an inner name of WGSL may be made of an outer one."""
        result = name
        number = 1
        while (
            result in self.taken
            or result.startswith(("each_", "wgsl_", "constant_", "__"))
            or any(result in scope for scope in self.c_scopes)
        ):
            bare = name.strip("_") or "x"
            result = f"{bare}_" if number == 1 else f"{bare}_{number}"
            number += 1
        self.c_scopes[-1].add(result)
        return result

    # The module

    def check(self) -> tree.Function:
        """The kernel."""
        module = self.module
        for structure in module.structures.values():
            structure.c_name = self.c_name(structure.name)
        for structure in module.structures.values():
            structure.types = {name: self.resolved(t) for name, t in structure.members}
        for function in module.functions.values():
            function.c_name = self.c_name(function.name) if function.name != "main" else ""
        for variable in module.variables.values():
            self.module_variable(variable)
        kernels = [f for f in module.functions.values() if f.workgroup_size is not None]
        if len(kernels) != 1:
            names = ", ".join(f.name for f in kernels) or "none"
            at = kernels[1].at if kernels else next(iter(module.functions.values())).at
            fail(at, f"expected one kernel; there is {names}")
        for function in module.functions.values():
            self.check_function(function)
        return kernels[0]

    def module_variable(self, variable: tree.Declaration) -> None:
        variable.c_name = self.c_name(variable.name)
        if variable.how == "const":
            variable.space = "constant"
            assert variable.value is not None
            wanted = self.resolved(variable.declared) if variable.declared else None
            variable.type = self.value(variable.value, wanted, variable.name)
            return
        if variable.space == "function":
            fail(variable.at, f"{variable.name} needs an address space")
        if variable.declared is None:
            fail(variable.at, f"{variable.name} needs a type")
        variable.type = self.resolved(variable.declared)
        if variable.value is not None:
            self.value(variable.value, variable.type, variable.name)
        if variable.space in ("storage", "immediate"):
            self.check_layout(variable, variable.type)
        self.only_storage_ends(variable)

    def only_storage_ends(self, variable: tree.Declaration) -> None:
        type = variable.type
        if isinstance(type, Array) and type.count is None and variable.space != "storage":
            fail(variable.at, f"{variable.name} has no length")
        while isinstance(type, Array):
            type = type.of
            if isinstance(type, Array) and type.count is None:
                fail(variable.at, f"{variable.name} holds arrays without a length")

    def check_layout(self, variable: tree.Declaration, type: Any) -> None:
        """Refuses what the languages lay out in memory each in its own way."""
        name = variable.name
        match type:
            case Vector(count=3):
                fail(variable.at, f"{name} holds a vec3, which OpenCL C keeps as a vec4")
            case Scalar(name="bool") | Vector(of=Scalar(name="bool")):
                fail(variable.at, f"{name} holds a bool")
            case Array():
                if isinstance(type.of, Struct) and type.count is None:
                    types = self.module.structures[type.of.name].types.values()
                    if any(isinstance(t, Array) and t.count is None for t in types):
                        fail(variable.at, f"{name} holds arrays without a length")
                self.check_layout(variable, type.of)
            case Struct():
                for member in self.module.structures[type.name].types.values():
                    if isinstance(member, Array) and member.count is None:
                        fail(variable.at, f"{name} has an array without a length beside others")
                    self.check_layout(variable, member)

    def check_function(self, function: tree.Function) -> None:
        self.function = function
        function.result = self.resolved(function.returns) if function.returns else None
        self.refuse_arrays(function.at, function.result, f"{function.name} returns")
        self.open()
        for parameter in function.parameters:
            assert parameter.declared is not None
            parameter.type = self.resolved(parameter.declared)
            self.refuse_arrays(parameter.at, parameter.type, f"{parameter.name} is")
            if function.workgroup_size is not None and parameter.builtin not in builtins.INPUTS:
                known = ", ".join(builtins.INPUTS)
                fail(parameter.at, f"{parameter.name} is none of @builtin({known})")
            self.declare(parameter)
        if function.workgroup_size is not None:
            if function.result is not None:
                fail(function.at, "a kernel returns nothing")
            for size in function.workgroup_size:
                self.value(size)
        self.statements(function.body.body)
        self.close()
        self.function = None

    @staticmethod
    def refuse_arrays(at: Any, type: Type | None, what: str) -> None:
        if isinstance(type, Array):
            fail(at, f"{what} {type}: OpenCL C hands no arrays over; give a pointer")

    # Scopes

    def open(self) -> None:
        self.scopes.append({})
        self.c_scopes.append(set())

    def close(self) -> None:
        self.scopes.pop()
        self.c_scopes.pop()

    def declare(self, declaration: tree.Declaration) -> None:
        if declaration.name in self.scopes[-1]:
            fail(declaration.at, f"{declaration.name} is declared twice")
        declaration.c_name = self.c_name(declaration.name)
        self.scopes[-1][declaration.name] = declaration

    # Statements

    def block(self, block: tree.Block) -> None:
        self.open()
        self.statements(block.body)
        self.close()

    def statements(self, body: list[tree.Statement]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, of: tree.Statement) -> None:
        match of:
            case tree.Declaration():
                self.declaration(of)
            case tree.Assignment():
                self.assignment(of)
            case tree.Evaluation():
                self.typed(of.call)
            case tree.Block():
                self.block(of)
            case tree.If():
                self.truth(of.condition)
                self.block(of.body)
                if of.otherwise is not None:
                    self.statement(of.otherwise)
            case tree.For():
                self.open()
                if of.first is not None:
                    self.statement(of.first)
                if of.condition is not None:
                    self.truth(of.condition)
                if of.step is not None:
                    self.statement(of.step)
                self.loops.append("for")
                self.block(of.body)
                self.loops.pop()
                self.close()
            case tree.Loop():
                self.loop(of)
            case tree.Switch():
                self.switch(of)
            case tree.Leave():
                self.leave(of)
            case tree.Return():
                self.returned(of)
            case tree.Choice():
                self.choice(of)
            case tree.Count():
                self.open()
                self.statements(of.body)
                self.close()
            case _:
                raise AssertionError(of)

    def truth(self, of: tree.Expression) -> None:
        self.value(of, BOOL, "the condition")

    def declaration(self, of: tree.Declaration) -> None:
        wanted = self.resolved(of.declared) if of.declared else None
        if of.value is not None:
            of.type = self.value(of.value, wanted, of.name)
            if isinstance(of.type, Array) and not self.makes_array(of.value):
                fail(of.at, f"{of.name} copies an array; copy its elements")
        else:
            of.type = wanted
        if isinstance(of.type, Atomic) or of.type == Struct(""):
            fail(of.at, f"{of.name} has no value")
        self.declare(of)

    @staticmethod
    def makes_array(of: tree.Expression) -> bool:
        return isinstance(of, tree.Call) and isinstance(of.declared, Array)

    def assignment(self, of: tree.Assignment) -> None:
        if of.target is None:
            self.value(of.value)
            return
        type = self.typed(of.target)
        root = self.root(of.target)
        if isinstance(root, tree.Name) and not isinstance(root.type, Pointer):
            declared = root.declared
            if declared.how != "var" or declared.space == "immediate" or not declared.writes:
                fail(of.at, f"{root.name} cannot be assigned to")
        elif isinstance(root, tree.Call | tree.Number):
            fail(of.at, "nothing can be assigned to a value")
        if isinstance(type, Array | Pointer | Atomic):
            fail(of.at, f"{type} is assigned as a whole")
        target = of.target
        of_vector = isinstance(target, tree.Member) and isinstance(target.of.type, Vector)
        if of_vector and len(target.name) > 1:  # type: ignore[attr-defined]
            fail(of.at, f".{target.name} is assigned to at once")  # type: ignore[attr-defined]
        if of.op == "=":
            self.value(of.value, type, "what is assigned")
            return
        binary = tree.Binary(at=of.at, op=of.op[:-1], left=of.target, right=of.value)
        result = self.typed(binary)
        if result != type:
            fail(of.at, f"{type} {of.op} {of.value.type}")

    def loop(self, of: tree.Loop) -> None:
        self.open()
        self.loops.append("loop with continuing" if of.continuing or of.until else "loop")
        self.statements(of.body.body)
        self.loops.pop()
        self.statements(of.continuing)
        if of.until is not None:
            self.truth(of.until)
        self.close()

    def leave(self, of: tree.Leave) -> None:
        if of.word == "break" and self.loops:
            return
        inner = [loop for loop in self.loops if loop != "switch"]
        if not inner:
            fail(of.at, f"{of.word} outside of a loop")
        if inner[-1] == "loop with continuing":
            fail(of.at, "continue in a loop with continuing")

    def switch(self, of: tree.Switch) -> None:
        type = self.value(of.of)
        self.loops.append("switch")
        for values, body in of.cases:
            for value in values:
                if value is not None:
                    self.value(value, type, "a case")
            self.block(body)
        self.loops.pop()

    def returned(self, of: tree.Return) -> None:
        assert self.function is not None
        result = self.function.result
        if (of.value is None) != (result is None):
            fail(of.at, f"{self.function.name} returns {result or 'nothing'}")
        if of.value is not None:
            self.value(of.value, result, "what is returned")

    def choice(self, of: tree.Choice) -> None:
        """What one side declares is seen after it; both may declare the same."""
        before = dict(self.scopes[-1])
        self.statements(of.body)
        first = {k: v for k, v in self.scopes[-1].items() if k not in before}
        for name in first:
            del self.scopes[-1][name]
        names = set(self.c_scopes[-1])
        self.c_scopes[-1] -= {d.c_name for d in first.values()}
        self.statements(of.otherwise)
        self.c_scopes[-1] |= names
        for name, declaration in first.items():
            again = self.scopes[-1].get(name)
            if again is not None and again.type != declaration.type:
                fail(again.at, f"{name} is {again.type} here and {declaration.type} before #else")
            if again is not None:
                again.c_name = declaration.c_name
            self.scopes[-1][name] = declaration


def checked(module: tree.Module, taken: set[str]) -> tree.Function:
    return Checker(module, taken).check()
