"""Prints a checked module as OpenCL C."""

from __future__ import annotations

from . import builtins, tree
from .spelling import Spelling
from .types import BOOL, I32, U32, Array, Pointer, Scalar, Vector


class Printer(Spelling):
    def __init__(self, module: tree.Module, kernel: tree.Function, taken: set[str]) -> None:
        super().__init__(module, taken)
        self.entry = kernel
        self.lines: list[str] = []
        self.depth = 0

    def write(self, text: str) -> None:
        self.lines.append("  " * self.depth + text if text else "")

    def printed(self, name: str) -> str:
        """Of what the kernel uses alone. `name` becomes its name."""
        functions: list[tree.Function] = []
        self.collect(self.entry, functions)
        for function in functions:
            if function is self.entry:
                self.kernel_head(name)
            else:
                self.function_head(function)
            self.body(function.body.body)
            self.write("}")
            self.write("")
        bodies, self.lines = self.lines, []
        for constant in self.module.variables.values():
            if constant.space == "constant" and any(constant in f.uses for f in functions):
                self.constant(constant)
        constants, self.lines = self.lines, []
        for structure in self.structures:
            self.structure(self.module.structures[structure])
        return "\n".join([*self.lines, *constants, *bodies]).rstrip("\n") + "\n"

    def collect(self, function: tree.Function, into: list[tree.Function]) -> None:
        """What it calls, before it."""
        for called in function.calls:
            if called not in into:
                self.collect(called, into)
        into.append(function)

    def structure(self, structure: tree.Structure) -> None:
        self.write("typedef struct {")
        self.depth += 1
        for name, type in structure.types.items():
            self.write(f"{self.declarator(type, self.member(name))};")
        self.depth -= 1
        self.write(f"}} {structure.c_name};")
        self.write("")

    def constant(self, constant: tree.Declaration) -> None:
        assert constant.value is not None
        value = self.text(constant.value)
        if isinstance(constant.type, Array):
            declared = self.declarator(constant.type, constant.c_name)
            self.write(f"__constant {declared} = {value};")
        else:
            self.write(f"#define {constant.c_name} ({value})")

    def parameter(self, variable: tree.Declaration) -> str:
        """Of a variable of the module."""
        type = variable.type
        if variable.space == "immediate":
            return f"const {self.declarator(type, variable.c_name)}"
        of = type.of if isinstance(type, Array) else type
        return self.declarator(Pointer(variable.space, of, variable.writes), variable.c_name)

    def function_head(self, function: tree.Function) -> None:
        self.kernel = False
        self.write(f"// {function.at}")
        result = self.type(function.result) if function.result else "void"
        parameters = [self.parameter(v) for v in self.needed(function)]
        parameters += [self.declarator(p.type, p.c_name) for p in function.parameters]
        self.write(
            f"static inline {result} {function.c_name}({', '.join(parameters) or 'void'}) {{"
        )

    def kernel_head(self, name: str) -> None:
        self.kernel = True
        entry = self.entry
        self.write(f"// {entry.at}")
        sizes = entry.workgroup_size or []
        texts = [self.text(size) for size in sizes] + ["1"] * (3 - len(sizes))
        if not any(isinstance(size, tree.Number) and size.symbol for size in sizes):
            self.write(f"__attribute__((reqd_work_group_size({', '.join(texts)})))")
        # All buffers, used or not: a launch gives them all.
        variables = self.module.variables.values()
        buffers = sorted((v for v in variables if v.space == "storage"), key=lambda v: v.binding)
        parameters = [*buffers, *(v for v in variables if v.space == "immediate")]
        self.write(f"kernel void {name}({', '.join(self.parameter(p) for p in parameters)}) {{")
        self.depth += 1
        for variable in self.needed(entry):
            if variable.space == "workgroup":
                self.write(f"local {self.declarator(variable.type, variable.c_name)};")
            elif variable.space == "private":
                self.variable(variable, "")
        for parameter in entry.parameters:
            type, macro = builtins.INPUTS[parameter.builtin]
            if macro.endswith("INDEX"):
                macro += f"({', '.join(texts)})"
            self.write(f"const {type} {parameter.c_name} = {macro};")
        self.depth -= 1

    # Statements

    def body(self, body: list[tree.Statement]) -> None:
        self.depth += 1
        for statement in body:
            self.statement(statement)
        self.depth -= 1

    def statement(self, of: tree.Statement) -> None:
        match of:
            case tree.Declaration():
                self.variable(of, "" if of.how == "var" else "const ")
            case tree.Assignment() | tree.Evaluation():
                self.write(self.simple(of) + ";")
            case tree.Block():
                self.write("{")
                self.body(of.body)
                self.write("}")
            case tree.If():
                self.branch(of, "")
            case tree.For():
                self.loop(of)
            case tree.Loop():
                self.write("for (;;) {")
                self.body([*of.body.body, *of.continuing])
                if of.until is not None:
                    self.write(f"  if ({self.text(of.until)}) break;")
                self.write("}")
            case tree.Switch():
                self.switch(of)
            case tree.Leave():
                self.write(f"{of.word};")
            case tree.Return():
                self.write(f"return {self.text(of.value)};" if of.value is not None else "return;")
            case tree.Choice():
                self.choice(of)
            case tree.Count():
                self.write(
                    f"for (int {of.name} = {of.first}; {of.name} < {of.last}; ++{of.name}) {{"
                )
                self.body(of.body)
                self.write("}")
            case _:
                raise AssertionError(of)

    def variable(self, of: tree.Declaration, constant: str) -> None:
        # A pointer of a let is not one to what is constant.
        if isinstance(of.type, Pointer):
            constant = ""
        value = self.text(of.value) if of.value is not None else self.zero(of.type)  # type: ignore[arg-type]
        self.write(f"{constant}{self.declarator(of.type, of.c_name)} = {value};")

    def simple(self, of: tree.Statement) -> str:
        match of:
            case tree.Declaration():
                value = self.text(of.value) if of.value is not None else "0"
                return f"{self.declarator(of.type, of.c_name)} = {value}"
            case tree.Evaluation():
                return self.text(of.call)
            case tree.Assignment(target=None):
                return f"(void)({self.text(of.value)})"
            case tree.Assignment():
                return self.assignment(of)
        raise AssertionError(of)

    def assignment(self, of: tree.Assignment) -> str:
        target = of.target
        assert target is not None
        value = self.text(of.value)
        if isinstance(target, tree.Index | tree.Member):
            type = target.of.type
            type = type.of if isinstance(type, Pointer) else type
            if isinstance(type, Vector):
                if type.of == BOOL:
                    element = self.text(target)[1:].removesuffix(" != 0)")
                    return f"{element} = -(int)({value})"
                if self.in_memory(target):
                    return f"{self.element(target, self.place(target))} {of.op} {value}"
        if of.op == "%=" and of.value.type in (Scalar("f32"), Scalar("f64")):
            text = self.text(target)
            return f"{text} = fmod({text}, {value})"
        steps = of.op in ("+=", "-=") and target.type in (I32, U32)
        if steps and isinstance(of.value, tree.Number) and of.value.text == "1":
            return f"{of.op[0] * 2}{self.text(target)}"
        return f"{self.text(target)} {of.op} {value}"

    def place(self, of: tree.Index | tree.Member) -> str:
        return str("xyzw".index(of.name)) if isinstance(of, tree.Member) else self.text(of.place)

    def branch(self, of: tree.If, before: str) -> None:
        self.write(f"{before}if ({self.text(of.condition)}) {{")
        self.body(of.body.body)
        match of.otherwise:
            case None:
                self.write("}")
            case tree.If():
                self.branch(of.otherwise, "} else ")
            case tree.Block():
                self.write("} else {")
                self.body(of.otherwise.body)
                self.write("}")

    def loop(self, of: tree.For) -> None:
        condition = self.text(of.condition) if of.condition is not None else ""
        if of.first is None and of.step is None and condition:
            self.write(f"while ({condition}) {{")
        else:
            first = self.simple(of.first) if of.first is not None else ""
            step = self.simple(of.step) if of.step is not None else ""
            self.write(f"for ({first}; {condition}; {step}) {{")
        self.body(of.body.body)
        self.write("}")

    def switch(self, of: tree.Switch) -> None:
        self.write(f"switch ({self.text(of.of)}) {{")
        self.depth += 1
        for values, body in of.cases:
            for value in values:
                self.write("default:" if value is None else f"case {self.text(value)}:")
            self.write("{")
            self.body(body.body)
            self.write("}")
            self.write("  break;")
        self.depth -= 1
        self.write("}")

    def choice(self, of: tree.Choice) -> None:
        """With what its sides declare in front of it."""
        for text in dict.fromkeys(self.hoisted(of)):
            self.write(f"{text};")
        self.write(f"if ({of.condition}) {{")
        self.chosen(of.body)
        if of.otherwise:
            self.write("} else {")
            self.chosen(of.otherwise)
        self.write("}")

    def hoisted(self, of: tree.Choice) -> list[str]:
        result = []
        for statement in [*of.body, *of.otherwise]:
            if isinstance(statement, tree.Declaration):
                result.append(self.declarator(statement.type, statement.c_name))
            elif isinstance(statement, tree.Choice):
                result += self.hoisted(statement)
        return result

    def chosen(self, body: list[tree.Statement]) -> None:
        self.depth += 1
        for statement in body:
            if isinstance(statement, tree.Declaration):
                value = statement.value
                text = self.text(value) if value is not None else self.zero(statement.type)  # type: ignore[arg-type]
                self.write(f"{statement.c_name} = {text};")
            elif isinstance(statement, tree.Choice):
                self.write(f"if ({statement.condition}) {{")
                self.chosen(statement.body)
                self.write("} else {")
                self.chosen(statement.otherwise)
                self.write("}")
            else:
                self.statement(statement)
        self.depth -= 1


def printed(module: tree.Module, kernel: tree.Function, name: str, taken: set[str]) -> str:
    return Printer(module, kernel, taken).printed(name)
