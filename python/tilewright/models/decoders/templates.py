"""Templates of files that may be made to do harm: Jinja's sandbox, with a bound on what one takes.

The sandbox keeps a template from all but its values. Here its lines are counted, and what it makes:
no loop goes on for ever, and no value grows beyond what a conversation is.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial, wraps
from typing import Any

# Lines of Python that a template and Jinja's own functions may run through, what one value has, and
# all values together that are made.
MOST_LINES, MOST_SIZE, MOST_ITEMS, MOST_MADE = 4_000_000, 1 << 24, 1 << 17, 1 << 28
MOST_WIDTH = 1 << 12
# A width in a format, or one that comes from elsewhere.
WIDTH = re.compile(r"[0-9]{4,}|\*|\{[^{}]*\{")
# What may make more than it is given, by a factor that is one of its arguments.
GROWS = frozenset((
    "replace", "join", "translate", "expandtabs", "center", "ljust", "rjust", "zfill", "indent",
    "wordwrap", "batch", "slice", "tojson", "xmlattr", "urlize", "round",
))  # fmt: skip
FORMATS = frozenset(("format", "format_map"))


class TooMuch(Exception):
    """A template that takes more than it may."""


def size_of(value: Any) -> int:
    """Characters and elements, as often as they would be written."""
    found, seen, left = 0, 0, [value]
    while left:
        one = left.pop()
        seen += 1
        if isinstance(one, str | bytes):
            found += len(one)
        elif isinstance(one, int):
            found += one.bit_length() // 8
        elif isinstance(one, dict):
            left += [*one, *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            left += one
        elif type(one).__name__ == "Namespace":
            left.append(object.__getattribute__(one, "_Namespace__attrs"))
        if found > MOST_SIZE or seen + len(left) > MOST_ITEMS:
            raise TooMuch(
                f"it makes a value of more than {MOST_SIZE} characters or {MOST_ITEMS} elements"
            )
    return found + seen


class Budget:
    def __init__(self) -> None:
        self.made = 0

    def take(self, value: Any) -> Any:
        """The value, counted."""
        if isinstance(value, Iterator):
            return self.each(value)
        self.made += size_of(value)
        if self.made > MOST_MADE:
            raise TooMuch(f"it makes more than {MOST_MADE} characters and elements")
        return value

    def each(self, values: Iterable[Any]) -> Iterator[Any]:
        found = 0
        for one in values:
            found += size_of(one)
            if found > MOST_SIZE:
                raise TooMuch(f"it goes through more than {MOST_SIZE} characters and elements")
            yield one

    def call(
        self, name: str, of: Callable[..., Any], owner: list[Any], given: tuple[Any, ...],
        named: dict[str, Any],
    ) -> Any:  # fmt: skip
        """What a function gives, of arguments that do not let it grow too much."""
        if name in GROWS:
            given = tuple(list(one) if isinstance(one, Iterator) else one for one in given)
            check_growth(name, [*owner, *given, *named.values()])
        elif name in FORMATS:
            texts = [one for one in (*owner, *given) if isinstance(one, str)]
            if any(WIDTH.search(one) for one in texts):
                raise TooMuch("it has a format with a width")
        return self.take(of(*given, **named))


def check_growth(name: str, given: list[Any]) -> None:
    first, *others = given or [""]
    factor = 1
    for one in others[-1:] if name == "replace" else others:
        if isinstance(one, int) and abs(one) > MOST_WIDTH:
            raise TooMuch(f"{name} has the width {one}, expected at most {MOST_WIDTH}")
        factor *= max(1, abs(one) if isinstance(one, int) else size_of(one))
    if max(1, size_of(first)) * factor > 4 * MOST_SIZE:
        raise TooMuch(f"{name} makes more than {4 * MOST_SIZE} characters")


def check_operator(operator: str, left: Any, right: Any) -> None:
    """Of what grows with its operands."""
    both = [left, right]
    if operator == "%" and isinstance(left, str | bytes):
        if WIDTH.search(str(left)):
            raise TooMuch("it has a format with a width")
    elif operator == "**":
        if all(isinstance(one, int) for one in both) and (
            left.bit_length() * abs(right) > MOST_WIDTH
        ):
            raise TooMuch(f"it raises a number to the power {right}")
    elif operator == "*" and all(isinstance(one, int) for one in both):
        if left.bit_length() + right.bit_length() > MOST_WIDTH:
            raise TooMuch("it multiplies numbers of too many digits")
    elif operator == "*" and any(isinstance(one, str | bytes | list | tuple) for one in both):
        times = next((one for one in both if isinstance(one, int)), 1)
        sizes = [size_of(one) for one in both if not isinstance(one, int)]
        if sum(sizes) * max(times, 0) > MOST_SIZE:
            raise TooMuch(f"it repeats a value {times} times")


@cache
def environment_class() -> Any:
    """Made where Jinja is asked for, which not all have."""
    sandbox = importlib.import_module("jinja2.sandbox")
    compiler = importlib.import_module("jinja2.compiler")

    class Generator(compiler.CodeGenerator):  # type: ignore[misc, name-defined]
        """What templates put together goes through the environment."""

        def visit_Concat(self, node: Any, frame: Any) -> None:
            self.write("environment.joined((")
            for one in node.nodes:
                self.visit(one, frame)
                self.write(", ")
            self.write("))")

        def _counted(self, visit: Any, node: Any, frame: Any) -> None:
            if getattr(node, "ctx", "load") != "load":
                visit(node, frame)
                return
            self.write("environment.budget.take(")
            visit(node, frame)
            self.write(")")

        def visit_List(self, node: Any, frame: Any) -> None:
            self._counted(super().visit_List, node, frame)

        def visit_Tuple(self, node: Any, frame: Any) -> None:
            self._counted(super().visit_Tuple, node, frame)

        def visit_Dict(self, node: Any, frame: Any) -> None:
            self._counted(super().visit_Dict, node, frame)

    class Environment(sandbox.ImmutableSandboxedEnvironment):  # type: ignore[misc, name-defined]
        filters: dict[str, Any]
        code_generator_class = Generator
        intercepted_binops = frozenset(("+", "*", "**", "%"))

        def __init__(self, **options: Any) -> None:
            super().__init__(optimized=False, finalize=self.counted, **options)
            self.budget = Budget()
            given: dict[str, Any] = self.filters
            self.filters = {name: self.filter(name, of) for name, of in given.items()}

        def counted(self, value: Any) -> Any:
            return self.budget.take(value)

        def filter(self, name: str, of: Any) -> Any:
            @wraps(of)
            def bounded(*given: Any, **named: Any) -> Any:
                passed = given[: getattr(of, "jinja_pass_arg", None) is not None]
                whole = partial(of, *passed)
                return self.budget.call(name, whole, [], given[len(passed) :], named)

            return bounded

        def call(__self, __context: Any, __of: Any, *given: Any, **named: Any) -> Any:
            method = getattr(__of, "__wrapped__", __of)
            owner = getattr(method, "__self__", None)
            owned = [owner] if isinstance(owner, str | bytes) else []
            of = partial(super().call, __context, __of)
            return __self.budget.call(getattr(method, "__name__", ""), of, owned, given, named)

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            check_operator(operator, left, right)
            return self.budget.take(super().call_binop(context, operator, left, right))

        def joined(self, parts: Iterable[Any]) -> str:
            return self.concat(str(self.budget.take(one)) for one in parts)

        def concat(self, parts: Iterable[str]) -> str:
            return str(self.budget.take("".join(self.budget.each(parts))))

    return Environment


@cache
def generation_class() -> Any:
    """Reads {% generation %}, by which training finds what a model said: here what is in it."""
    extensions = importlib.import_module("jinja2.ext")
    nodes = importlib.import_module("jinja2.nodes")

    class Generation(extensions.Extension):  # type: ignore[misc, name-defined]
        tags = frozenset(("generation",))

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return nodes.Scope(body).set_lineno(line)

    return Generation


def rendered(template: Any, values: dict[str, Any]) -> str:
    """The text of a template, within its bounds."""
    template.environment.budget.made = 0
    left = MOST_LINES
    here = size_of.__code__.co_filename

    def trace(frame: Any, event: str, argument: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename == here:
            return None
        left -= 1
        if left < 0:
            raise TooMuch(f"it goes on after {MOST_LINES} lines")
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return str(template.render(**values))
    finally:
        sys.settrace(before)
