"""Program: an elementwise computation of any number of inputs and outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.operands import invalid, shown

if TYPE_CHECKING:
    from collections.abc import Callable


class Value:
    """One of the values of a program. Operators and the ops' names as methods make new ones:

        y = (x * 2 + 1).sqrt()

    A Python number takes the dtype of the value beside it.
    """

    __slots__ = ("_at", "_program")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, program: Program, at: int) -> None:
        self._program = program
        self._at = at

    @property
    def program(self) -> Program:
        return self._program

    @property
    def dtype(self) -> _core.DType:
        return self._program._dtype(self._at)

    def cast(self, dtype: str) -> Value:
        return Value(self._program, self._program._cast(self._at, dtype))

    def __getattr__(self, name: str) -> Callable[..., Value]:
        if name in OPS:
            return lambda *others: self._program.apply(name, self, *others)
        raise AttributeError(
            f"a value of a program has no {name!r}; Program.ops() lists the elementwise ops"
        )

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *OPS]

    def __repr__(self) -> str:
        return f"<value {self._at}, {self.dtype}>"

    def __add__(self, other: Any) -> Value:
        return self._program.apply("add", self, other)

    def __radd__(self, other: Any) -> Value:
        return self._program.apply("add", other, self)

    def __sub__(self, other: Any) -> Value:
        return self._program.apply("sub", self, other)

    def __rsub__(self, other: Any) -> Value:
        return self._program.apply("sub", other, self)

    def __mul__(self, other: Any) -> Value:
        return self._program.apply("mul", self, other)

    def __rmul__(self, other: Any) -> Value:
        return self._program.apply("mul", other, self)

    def __truediv__(self, other: Any) -> Value:
        return self._program.apply("div", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return self._program.apply("div", other, self)

    def __floordiv__(self, other: Any) -> Value:
        return self._program.apply("floor_divide", self, other)

    def __rfloordiv__(self, other: Any) -> Value:
        return self._program.apply("floor_divide", other, self)

    def __mod__(self, other: Any) -> Value:
        return self._program.apply("remainder", self, other)

    def __rmod__(self, other: Any) -> Value:
        return self._program.apply("remainder", other, self)

    def __pow__(self, other: Any) -> Value:
        return self._program.apply("pow", self, other)

    def __rpow__(self, other: Any) -> Value:
        return self._program.apply("pow", other, self)

    def __and__(self, other: Any) -> Value:
        return self._program.apply("bitwise_and", self, other)

    def __rand__(self, other: Any) -> Value:
        return self._program.apply("bitwise_and", other, self)

    def __or__(self, other: Any) -> Value:
        return self._program.apply("bitwise_or", self, other)

    def __ror__(self, other: Any) -> Value:
        return self._program.apply("bitwise_or", other, self)

    def __xor__(self, other: Any) -> Value:
        return self._program.apply("bitwise_xor", self, other)

    def __rxor__(self, other: Any) -> Value:
        return self._program.apply("bitwise_xor", other, self)

    def __lshift__(self, other: Any) -> Value:
        return self._program.apply("left_shift", self, other)

    def __rlshift__(self, other: Any) -> Value:
        return self._program.apply("left_shift", other, self)

    def __rshift__(self, other: Any) -> Value:
        return self._program.apply("right_shift", self, other)

    def __rrshift__(self, other: Any) -> Value:
        return self._program.apply("right_shift", other, self)

    def __neg__(self) -> Value:
        return self._program.apply("neg", self)

    def __invert__(self) -> Value:
        return self._program.apply("bitwise_invert", self)

    def __abs__(self) -> Value:
        return self._program.apply("abs", self)

    def __eq__(self, other: Any) -> Value:  # type: ignore[override]
        return self._program.apply("equal", self, other)

    def __ne__(self, other: Any) -> Value:  # type: ignore[override]
        return self._program.apply("not_equal", self, other)

    def __lt__(self, other: Any) -> Value:
        return self._program.apply("less", self, other)

    def __le__(self, other: Any) -> Value:
        return self._program.apply("less_equal", self, other)

    def __gt__(self, other: Any) -> Value:
        return self._program.apply("greater", self, other)

    def __ge__(self, other: Any) -> Value:
        return self._program.apply("greater_equal", self, other)

    def __bool__(self) -> bool:
        raise TypeError(
            "a value of a program is not known before map() runs it; choose with "
            "program.apply('where', condition, a, b)"
        )


class Program(_core.ProgramBase):
    """An elementwise computation, built once and run by Backend.map() on any shape:

    p = Program()
    x, y = p.input("float32"), p.input("int8")
    p.output(x.exp() * y.cast("float32"))
    be.map(p, (n,), [x_buffer, y_buffer], [], [result])
    """

    def input(self, dtype: str = "float32") -> Value:
        """The elements of the next input of map()."""
        return Value(self, self._input(dtype))

    def number(self, dtype: str = "float32") -> Value:
        """The next number of map(): one for all elements, another at each call."""
        return Value(self, self._number(dtype))

    def constant(self, value: float, dtype: str = "float32") -> Value:
        """A number that is part of the program."""
        return Value(self, self._constant(value, dtype))

    def apply(self, op: str, *operands: Any) -> Value:
        """One of ops(). Python numbers take the dtype of the values beside them."""
        dtype = next(
            (one.dtype for one in reversed(operands) if isinstance(one, Value)),
            None,
        )
        if dtype is None:
            invalid("apply", f"none of the operands of {shown(op)} is a value of this program")
        return Value(self, self._apply(op, [self._place(one, dtype) for one in operands]))

    def output(self, *values: Value) -> None:
        """The next outputs of map() are these values."""
        for value in values:
            self._output(self._place(value, None))

    def _place(self, value: Any, dtype: str | None) -> int:
        if isinstance(value, Value):
            if value._program is not self:
                invalid("program", f"{value!r} is a value of another program")
            return value._at
        if dtype is None:
            invalid("program", f"{shown(value)} is no value of this program")
        return self._constant(value, dtype)


OPS = frozenset(Program.ops())
