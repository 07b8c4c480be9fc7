"""The operators that are there, by domain and name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from tilewright.models.onnx.nodes import Node

#: an Array, NumPy's array on the host, a list of such as a sequence, or None where none is given
Value: TypeAlias = Any
Run: TypeAlias = Callable[..., Any]
Make: TypeAlias = "Callable[[Node], Run]"

MICROSOFT = "com.microsoft"
#: of patterns that are joined, which no file has
OWN = "tilewright"


@dataclass(frozen=True)
class Operator:
    """How a node of it becomes a function of its inputs."""

    name: str
    make: Make
    #: the inputs that are wanted on the host, as shapes and axes are
    host: frozenset[int] = frozenset()
    #: it takes what is on the host too, and its results are there then
    anywhere: bool = False
    #: it takes its inputs as they lie
    as_is: bool = False
    #: how many elements it gives depends on elements, or it decides by them
    reads: bool = False
    #: its results may be far larger than what it is given
    grows: bool = False
    #: it has the state of the run among its arguments, in front
    control: bool = False


OPERATORS: dict[tuple[str, str], Operator] = {}


def operator(
    *names: str, domain: str = "", host: Iterable[int] = (), anywhere: bool = False,
    as_is: bool = False, reads: bool = False, grows: bool = False, control: bool = False,
) -> Callable[[Make], Make]:  # fmt: skip
    """The decorated function makes the run of a node: it looks at the attributes once, at load."""

    def add(make: Make) -> Make:
        for name in names:
            OPERATORS[domain, name] = Operator(
                name, make, frozenset(host), anywhere, as_is, reads, grows, control
            )
        return make

    return add


def plain(name: str, run: Run, domain: str = "", **options: Any) -> None:
    """An operator without attributes."""
    operator(name, domain=domain, **options)(lambda node: run)
