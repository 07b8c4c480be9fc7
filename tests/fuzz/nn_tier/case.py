"""One call of these layers, and what it is given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import tilewright as tw

from ..numpy_tier.case import Case as ArrayCase


@dataclass(frozen=True)
class Of:
    """The operand of this number."""

    at: int


@dataclass
class Case(ArrayCase):
    """`call` is given a backend, arguments and options, in which an `Of` is the operand."""

    cpu: Any = None
    call: Callable[..., Any] = lambda *_: None
    arguments: list[Any] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    #: what NumPy makes of the arguments and options, as float64
    formula: Callable[..., Any] | None = None
    #: what is beside it without a formula: "wide", the same in float64 on the CPU; "cpu", the same
    #: there; "single", the same there in float32; "", plain Arrays alone
    beside: str = "wide"
    #: arguments from this one on are the call's own
    given: int = 99
    written: list[int] = field(default_factory=list)
    #: of which words a refusal of a wrong argument has one; none: any words
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        operands = "; ".join(f"#{i} {operand}" for i, operand in enumerate(self.operands))
        given = [*map(spoken, self.arguments)]
        given += [f"{name}={spoken(value)}" for name, value in self.options.items()]
        return f"{self.name}({', '.join(given)}){self.text} of {operands}"

    def array(
        self,
        shape: Sequence[int],
        dtype: str,
        values: str = "small",
        written: bool = False,
        through: bool = False,
    ) -> Of:
        """`through`: a view that may be written through."""
        of = Of(self.operand(shape, dtype, values, written or through))
        if written:
            self.written.append(of.at)
        return of

    def indices(self, shape: Sequence[int], below: int, dtype: str = "int64") -> Of:
        # Now and then some that are out of range.
        past = below + 2 if self.draw.rarely(20) else max(1, below)
        content = np.asarray(self.draw.rng.integers(0, past, shape)).astype(dtype)
        return Of(self.holding(content, on_host=False))

    def content(self, content: Any, dtype: str) -> Of:
        """A view of these elements."""
        made = np.asarray(content).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
        held = made.astype("float32") if dtype == "bfloat16" else made
        of = self.operands[self.holding(held, on_host=False)]
        if dtype == "bfloat16":
            of.base, of.dtype, of.steps = of.view(of.base).copy(), dtype, []
        return Of(len(self.operands) - 1)

    def maybe(self, shape: Sequence[int], dtype: str, values: str = "small") -> Of | None:
        return self.array(shape, dtype, values) if self.draw.below(2) else None

    def real(self, sixteen: bool = True) -> str:
        dtypes = ["float32", "float16", "bfloat16"] if sixteen else ["float32"]
        return self.draw.one_of(dtypes + ["float64"] * self.draw.doubles)

    def calls(self, name: str, *arguments: Any, **options: Any) -> Case:
        """A function of tw.nn."""
        function = getattr(tw.nn, name)
        self.name, self.arguments, self.options = name, list(arguments), options
        self.call = lambda _, *given, **named: function(*given, **named)
        self.by, self.ulps = "whole", 64
        return self

    def runs(self, name: str, call: Callable[..., Any], *arguments: Any, **options: Any) -> Case:
        """A function of a backend and these, whose refusals name one of the `options`."""
        self.name, self.call = name, call
        self.arguments, self.options = list(arguments), options
        self.by, self.ulps, self.names = "whole", 64, (*self.names, *options)
        return self

    def to(self, **settings: Any) -> Case:
        for name, value in settings.items():
            setattr(self, name, value)
        return self

    def maybe_gradient(self, dtype: str, drop: Sequence[int] = ()) -> Case:
        """The gradient in its place, now and then: without the arguments at `drop`, and without
        the options that it has not."""
        if self.draw.below(2) == 0:
            return self
        from .compare import of_call

        like = of_call(self, "plain")
        if like.error is not None:
            return self
        shape = np.shape(like.result[1] if isinstance(like.result[0], str) else like.result[0])
        name = f"{self.name}_backward"
        taken = inspect.signature(getattr(tw.nn, name)).parameters
        options = {key: value for key, value in self.options.items() if key in taken}
        kept = [one for i, one in enumerate(self.arguments) if i not in drop]
        self.formula = None
        return self.calls(name, self.array(shape, dtype), *kept, **options)

    def maybe_out(self, shape: Sequence[int], dtype: str, over: Of, kind: int) -> Case:
        """With out=, now and then: 2 of `kind` is an Array beside it; 3 the operand itself, which
        is a view to write through, or that turned around."""
        if kind < 2:
            return self
        if kind == 2:
            self.options["out"] = self.array(shape, dtype, written=True)
            return self
        out = Of(self.again(over.at, same=self.draw.below(2) == 0))
        self.written.append(out.at)
        self.options["out"] = out
        return self


def spoken(value: Any) -> str:
    if isinstance(value, Of):
        return f"#{value.at}"
    if isinstance(value, tuple) and any(isinstance(one, Of) for one in value):
        return f"({', '.join(map(spoken, value))})"
    return f"{value!r}"[:60]


def spelled(draw: Any, value: Any) -> Any:
    """The same number or numbers as another type."""
    if isinstance(value, bool) or value is None or isinstance(value, (str, Of)):
        return value
    if isinstance(value, int):
        return draw.one_of([int, np.int64, np.int32, int])(value)
    if isinstance(value, float):
        kinds: list[Any] = [float, np.float64]
        kinds += [np.float32] * (float(np.float32(value)) == value)
        return draw.one_of(kinds + [int] * value.is_integer())(value)
    if isinstance(value, (tuple, list)) and all(type(one) is int for one in value):
        return draw.one_of([tuple, list])(draw.one_of([int, np.int64])(one) for one in value)
    return value


def placed(value: Any, views: Sequence[Any]) -> Any:
    """With Arrays where operands are."""
    if isinstance(value, Of):
        return views[value.at]
    if isinstance(value, (tuple, list)):
        return type(value)(placed(one, views) for one in value)
    return value
