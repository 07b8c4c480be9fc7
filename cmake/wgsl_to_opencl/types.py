"""The types of WGSL that the translator knows, and how OpenCL C spells them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# Types of literals that take the type which is asked of them.
ABSTRACT = ("int", "float")
C_SCALARS = {
    "bool": "bool",
    "i32": "int",
    "u32": "uint",
    "i64": "long",
    "u64": "ulong",
    "f16": "half",
    "f32": "float",
    "f64": "double",
}
SUFFIXES = {"i": "i32", "u": "u32", "f": "f32", "h": "f16", "li": "i64", "lu": "u64", "lf": "f64"}
SIGNED, UNSIGNED, FLOATS = ("i32", "i64"), ("u32", "u64"), ("f16", "f32", "f64")
INTEGERS = SIGNED + UNSIGNED
SIZES = {"i32": 4, "u32": 4, "f32": 4, "f16": 2, "i64": 8, "u64": 8, "f64": 8}


@dataclass(frozen=True)
class Scalar:
    name: str

    def __str__(self) -> str:
        return {"int": "a whole number", "float": "a number"}.get(self.name, self.name)


@dataclass(frozen=True)
class Vector:
    count: int
    of: Scalar

    def __str__(self) -> str:
        return f"vec{self.count}<{self.of}>"


@dataclass(frozen=True)
class Array:
    """`count` is None at the end of a buffer."""

    of: Any
    count: int | None

    def __str__(self) -> str:
        return f"array<{self.of}>" if self.count is None else f"array<{self.of}, {self.count}>"


@dataclass(frozen=True)
class Atomic:
    of: Scalar

    def __str__(self) -> str:
        return f"atomic<{self.of}>"


@dataclass(frozen=True)
class Struct:
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Pointer:
    space: str
    of: Any
    writes: bool = True

    def __str__(self) -> str:
        return f"ptr<{self.space}, {self.of}>"


Type = Scalar | Vector | Array | Atomic | Struct | Pointer

BOOL, I32, U32, F32, F16 = (Scalar(name) for name in ("bool", "i32", "u32", "f32", "f16"))
ABSTRACT_INT, ABSTRACT_FLOAT = Scalar("int"), Scalar("float")


def scalar_of(type: Type | None) -> Scalar | None:
    """Of a number or a vector of numbers."""
    if isinstance(type, Scalar):
        return type
    return type.of if isinstance(type, Vector) else None


def is_abstract(type: Type | None) -> bool:
    scalar = scalar_of(type)
    return scalar is not None and scalar.name in ABSTRACT


def with_scalar(type: Type, scalar: Scalar) -> Type:
    return Vector(type.count, scalar) if isinstance(type, Vector) else scalar


def fits(type: Type, wanted: Type) -> bool:
    """Whether a value may stand where `wanted` is: the same type, or a literal that becomes it."""
    if type == wanted:
        return True
    a, b = scalar_of(type), scalar_of(wanted)
    if a is None or b is None or a.name not in ABSTRACT:
        return False
    if isinstance(type, Vector) != isinstance(wanted, Vector):
        return False
    if isinstance(type, Vector) and isinstance(wanted, Vector) and type.count != wanted.count:
        return False
    return b.name in FLOATS or b.name == "float" or (a.name == "int" and b.name != "bool")


def c_vector(scalar: Scalar, count: int) -> str:
    """A vector of truths is one of ints, all ones or 0."""
    return f"{'int' if scalar.name == 'bool' else C_SCALARS[scalar.name]}{count}"
