"""Elementwise functions, assignments and views of complex Arrays.

A complex Array is two real views of one buffer, and a function of it one program, which reads and
writes both of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright import _core
from tilewright.array import Array
from tilewright.namespace import complex_math
from tilewright.namespace.complex_math import Z
from tilewright.namespace.dtypes import promote
from tilewright.namespace.elementwise import _functions as FUNCTIONS
from tilewright.namespace.manipulation import broadcast_shapes, broadcast_to
from tilewright.namespace.options import with_options
from tilewright.operands import check_stored, invalid, name_of, parts_dtype, shown
from tilewright.program import Program, Value
from tilewright.reading import read_operand
from tilewright.small_floats import can_cast

if TYPE_CHECKING:
    from tilewright.backend import Backend

COMPLEX64 = np.dtype(np.complex64)
COMPLEX128 = np.dtype(np.complex128)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
PARTS = {"complex64": "float32", "complex128": "float64"}

# What operands are to a program: their parts' dtype, whether there are two, and whether they are
# numbers of the call.
Kind = tuple[str, bool, bool]


# Functions by name -------------------------------------------------------------------------------


def _both(x: Value | Z) -> Z:
    """With an imaginary part of 0 where there is none."""
    if isinstance(x, Z):
        return x
    return Z(x, x.program.constant(0.0, str(x.dtype)))


def _multiply(a: Value | Z, b: Value | Z) -> Z:
    if isinstance(a, Z) and isinstance(b, Z):
        return complex_math.multiply(a, b)
    if isinstance(a, Z):
        return Z(a.re * b, a.im * b)
    z = _both(b)
    return Z(z.re * a, z.im * a)


def _divide(a: Value | Z, b: Value | Z) -> Z:
    x = _both(a)
    return complex_math.divide(x, b) if isinstance(b, Z) else Z(x.re / b, x.im / b)


def _added(op: str) -> Callable[[Value | Z, Value | Z], Z]:
    def function(a: Value | Z, b: Value | Z) -> Z:
        x, y = _both(a), _both(b)
        if not isinstance(b, Z):
            return Z(x.re.program.apply(op, x.re, y.re), x.im)
        if not isinstance(a, Z):
            return Z(x.re.program.apply(op, x.re, y.re), y.im if op == "add" else -y.im)
        return Z(x.re.program.apply(op, x.re, y.re), x.re.program.apply(op, x.im, y.im))

    return function


def _power(a: Value | Z, b: Value | Z) -> Z:
    return complex_math.power(_both(a), b)


def _equal(a: Value | Z, b: Value | Z) -> Value:
    x, y = _both(a), _both(b)
    return (x.re == y.re) & (x.im == y.im)


def _truth(z: Value | Z) -> Value:
    return (z.re != 0) | (z.im != 0) if isinstance(z, Z) else z != 0


UNARY: dict[str, Callable[[Z], Z | Value]] = {
    "abs": complex_math.size_of,
    "acos": complex_math.acos,
    "acosh": complex_math.acosh,
    "angle": lambda z: z.im.atan2(z.re),
    "asin": complex_math.asin,
    "asinh": complex_math.asinh,
    "atan": complex_math.atan,
    "atanh": complex_math.atanh,
    "conj": lambda z: Z(z.re, -z.im),
    "cos": complex_math.cos,
    "cosh": complex_math.cosh,
    "exp": complex_math.exp,
    "exp2": complex_math.exp2,
    "expm1": complex_math.expm1,
    "isfinite": lambda z: z.re.isfinite() & z.im.isfinite(),
    "isinf": lambda z: z.re.isinf() | z.im.isinf(),
    "isnan": lambda z: z.re.isnan() | z.im.isnan(),
    "log": complex_math.log,
    "log10": complex_math.log10,
    "log1p": complex_math.log1p,
    "log2": complex_math.log2,
    "logical_not": lambda z: ~_truth(z),
    "negative": lambda z: Z(-z.re, -z.im),
    "positive": lambda z: z,
    "reciprocal": complex_math.reciprocal,
    "round": lambda z: Z(z.re.round(), z.im.round()),
    "rsqrt": complex_math.rsqrt,
    "sign": complex_math.sign,
    "sin": complex_math.sin,
    "sinh": complex_math.sinh,
    "sqrt": complex_math.sqrt,
    "square": complex_math.square,
    "tan": complex_math.tan,
    "tanh": complex_math.tanh,
}
BINARY: dict[str, Callable[[Any, Any], Z | Value]] = {
    "add": _added("add"),
    "divide": _divide,
    "equal": _equal,
    "logical_and": lambda a, b: _truth(a) & _truth(b),
    "logical_or": lambda a, b: _truth(a) | _truth(b),
    "logical_xor": lambda a, b: _truth(a) ^ _truth(b),
    "multiply": _multiply,
    "not_equal": lambda a, b: ~_equal(a, b),
    "pow": _power,
    "subtract": _added("sub"),
}
NAMES = {1: ("x",), 2: ("x1", "x2"), 3: ("condition", "x1", "x2")}
MOST_SQUARINGS = 64
# What is the same of both parts.
BY_PARTS = ("add", "subtract", "negative", "positive")


@cache
def _program(name: str, kinds: tuple[Kind, ...], parts: str, exponent: int | None) -> Program:
    """The program of a function of operands that meet in `parts`."""
    program = Program()

    def operand(dtype: str, two: bool, number: bool) -> Value | Z:
        make = program.number if number else program.input
        found = [make(dtype) for _ in range(2 if two else 1)]
        cast = [one if dtype == parts else one.cast(parts) for one in found]
        return Z(*cast) if two else cast[0]

    values: list[Any] = [operand(*kind) for kind in kinds]
    if exponent is not None:
        result: Z | Value = complex_math.integer_power(_both(values[0]), exponent)
    elif len(values) == 1:
        result = UNARY[name](_both(values[0]))
    else:
        result = BINARY[name](*values)
    program.output(*(result if isinstance(result, Z) else (result,)))
    return program


# Operands ----------------------------------------------------------------------------------------


class Operand(NamedTuple):
    array: Array | None
    number: complex
    dtype: np.dtype[Any] | None  # none of Python's numbers, which take that of the others

    @property
    def is_complex(self) -> bool:
        if self.dtype is None:
            return isinstance(self.number, complex)
        return self.dtype.kind == "c"


def _read(call: str, name: str, backend: Backend, given: Any, like: Any) -> Operand | None:
    if isinstance(given, Array):
        backend._own(call, name, given)
        return Operand(given, 0, given.dtype)
    if type(given) in (bool, int, float, complex):
        return Operand(None, given, None)
    if isinstance(given, np.complexfloating):
        dtype = COMPLEX64 if given.dtype == COMPLEX64 else COMPLEX128
        return Operand(None, complex(given), dtype)
    found = read_operand(backend, call, name, given, like)
    if found is NotImplemented:
        return None
    if isinstance(found, Array):
        return Operand(found, 0, found.dtype)
    dtype, number = found
    return Operand(None, number, dtype)


def _met(operands: list[Operand]) -> np.dtype[Any]:
    """The complex dtype that operands meet in."""
    met: np.dtype[Any] | None = None
    for one in operands:
        if one.dtype is None:
            continue
        if met is None:
            met = one.dtype
        elif one.dtype != met:
            met = promote(met, one.dtype)
    return COMPLEX128 if met is not None and met in (COMPLEX128, FLOAT64) else COMPLEX64


def _common_shape(arrays: list[Array]) -> tuple[int, ...]:
    first = arrays[0].shape
    if all(one.shape == first for one in arrays):
        return first
    return broadcast_shapes(*(one.shape for one in arrays))


def _numbers(call: str, name: str, operand: Operand) -> list[float]:
    try:
        whole = complex(operand.number)
    except OverflowError:
        invalid(call, f"{name} is {shown(operand.number)}, which no float holds")
    return [whole.real, whole.imag] if operand.is_complex else [whole.real]


def _views(operand: Operand, shape: tuple[int, ...]) -> list[Array]:
    """What a program reads of an Array."""
    x = operand.array
    assert x is not None
    views = [x._part(0), x._part(1)] if operand.is_complex else [x]
    return views if x.shape == shape else [broadcast_to(one, shape) for one in views]


# Results -----------------------------------------------------------------------------------------


def _target(
    call: str, out: Any, backend: Backend, shape: tuple[int, ...], result: np.dtype[Any]
) -> Array:
    """`out` where a result of this dtype and shape may go to it, or a new Array."""
    if out is None:
        return backend._new(shape, result)
    if not isinstance(out, Array):
        invalid(call, f"out is {shown(out)}, expected an Array")
    backend._own(call, "out", out)
    if out.shape != shape:
        invalid(call, f"out has shape {out.shape}, expected {shape}")
    if not can_cast(result, out.dtype, "same_kind"):
        invalid(
            call,
            f"out is {out.dtype}, but the result is {result}; write tw.real(...), or give an Array "
            f"of {result}",
        )
    return out


def _same_walk(a: Array, b: Array) -> bool:
    return a.dtype == b.dtype and a.offset == b.offset and a.strides == b.strides


def _parts_program(
    name: str, kinds: tuple[tuple[bool, bool], ...], parts: str, exponent: int | None
) -> tuple[Program, np.dtype[Any]] | None:
    """The program of a function of operands, each (is it complex, is it a number), and the dtype
    of its result: the common forms, which C++ runs. None where there is another way."""
    if name not in (UNARY if len(kinds) == 1 and exponent is None else BINARY):
        return None
    program = _program(name, tuple((parts, *one) for one in kinds), parts, exponent)
    outputs = program.outputs
    if len(outputs) == 1:
        return program, np.dtype(str(outputs[0]))
    return program, COMPLEX128 if parts == "float64" else COMPLEX64


def evaluate(name: str, given: tuple[Any, ...], out: Any) -> Any:
    """A function where one of the operands, or `out`, is complex; NotImplemented where an operand
    is nothing that can be read."""
    arrays = [one for one in (*given, out) if isinstance(one, Array)]
    if not arrays:
        invalid(name, f"{NAMES[len(given)][0]} is {shown(given[0])}, expected an Array")
    backend = arrays[0].backend
    names = ("x", "min", "max") if name == "clip" else NAMES[len(given)]
    operands: list[Operand] = []
    for parameter, one in zip(names, given, strict=True):
        operand = _read(name, parameter, backend, one, arrays[0].dtype)
        if operand is None:
            return NotImplemented
        operands.append(operand)
    if not any(operand.is_complex for operand in operands):
        return _into_complex(name, given, out)
    shape = _common_shape([one.array for one in operands if one.array is not None])
    if name == "where" and not any(one.is_complex for one in operands[1:]):
        return FUNCTIONS[name](given[0] != 0, *given[1:], out=out)
    if name == "where":
        return _where(operands, shape, backend, out)
    table = UNARY if len(operands) == 1 else BINARY
    if name not in table:
        at = next(i for i, operand in enumerate(operands) if operand.is_complex)
        what = operands[at].dtype or "a complex number"
        invalid(name, f"{names[at]} is {what}, expected real numbers")
    met = _met(operands)
    by_parts = _by_parts(name, operands, met, shape, backend, out)
    if by_parts is not None:
        return by_parts
    return _run(name, operands, met, shape, backend, out)


def _run(
    name: str,
    operands: list[Operand],
    met: np.dtype[Any],
    shape: tuple[int, ...],
    backend: Backend,
    out: Any,
) -> Array:
    names = NAMES[len(operands)]
    exponent = None
    if name == "pow" and operands[1].dtype is None and isinstance(operands[1].number, int):
        number = int(operands[1].number)
        if abs(number) <= MOST_SQUARINGS:
            exponent = number
            operands = operands[:1]
    check_stored(name, backend, met)
    parts = "float64" if met == COMPLEX128 else "float32"
    kinds = tuple(
        (
            parts if one.array is None else PARTS.get(one.array.stored_as, one.array.stored_as),
            one.is_complex,
            one.array is None,
        )
        for one in operands
    )
    program = _program(name, kinds, parts, exponent)
    arrays = [one for one in operands if one.array is not None]
    outputs = program.outputs
    result = met if len(outputs) == 2 else np.dtype(str(outputs[0]))
    target = _target(name, out, backend, shape, result)
    place = target
    if target.dtype != result or any(
        one.array is not None and target.overlaps(one.array) and not _same_walk(target, one.array)
        for one in arrays
    ):
        place = backend._new(shape, result)
    numbers = [
        part
        for i, one in enumerate(operands)
        if one.array is None
        for part in _numbers(name, names[i], one)
    ]
    backend.map(
        program,
        shape,
        [view for one in arrays for view in _views(one, shape)],
        numbers,
        [place._part(0), place._part(1)] if result.kind == "c" else [place],
    )
    if place is not target:
        target[...] = place
    return target


def _into_complex(name: str, given: tuple[Any, ...], out: Any) -> Array:
    """A function of real operands with a complex `out`."""
    function = FUNCTIONS[name]
    result = function(*given)
    target = _target(name, out, result.backend, result.shape, result.dtype)
    target[...] = result
    return target


def _by_parts(
    name: str,
    operands: list[Operand],
    met: np.dtype[Any],
    shape: tuple[int, ...],
    backend: Backend,
    out: Any,
) -> Array | None:
    """What is the same of both parts, as one real function of all of them."""
    arrays = [one.array for one in operands]
    same = name in BY_PARTS and all(one.is_complex and one.array is not None for one in operands)
    scaled = (
        (name == "multiply" and len(operands) == 2) or (name == "divide" and operands[0].is_complex)
    ) and any(one.dtype is None and not one.is_complex for one in operands)
    if not same and not scaled:
        return None
    if scaled and not any(x is not None and x.dtype.kind == "c" for x in arrays):
        return None
    values = [
        x._parts() if x is not None else _numbers(name, NAMES[2][i], operands[i])[0]
        for i, x in enumerate(arrays)
    ]
    function = FUNCTIONS[name]
    if out is None:
        return function(*values)._paired()
    target = _target(name, out, backend, shape, met)
    function(*values, out=target._parts())
    return target


def _where(operands: list[Operand], shape: tuple[int, ...], backend: Backend, out: Any) -> Array:
    condition = operands[0]
    met = _met(operands[1:])
    check_stored("where", backend, met)
    both = [_as_array(one, met, backend)._parts() for one in operands[1:]]
    if condition.array is None:
        chosen: Any = bool(condition.number)
    elif condition.is_complex:
        chosen = condition.array != 0
    else:
        chosen = condition.array
    if isinstance(chosen, Array):
        chosen = chosen[..., None]
    function = FUNCTIONS["where"]
    if out is None:
        return function(chosen, *both)._paired()
    target = _target("where", out, backend, shape, met)
    function(chosen, *both, out=target._parts())
    return target


def _as_array(operand: Operand, dtype: np.dtype[Any], backend: Backend) -> Array:
    if operand.array is not None and operand.array.dtype == dtype:
        return operand.array
    shape = () if operand.array is None else operand.array.shape
    made = backend._new(shape, dtype)
    made[...] = operand.number if operand.array is None else operand.array
    return made


# Assignment --------------------------------------------------------------------------------------


@cache
def _fill_program(parts: str) -> Program:
    program = Program()
    program.output(program.number(parts), program.number(parts))
    return program


def assign(target: Array, value: Any) -> None:
    """target[...] = value, where one of them is complex."""
    call = "assignment"
    operand = _read(call, "value", target.backend, value, target.dtype)
    if operand is None:
        invalid(call, f"value is {shown(value)}, expected an Array, a number, or what reads as an "
                      "array")  # fmt: skip
    if target.dtype.kind != "c":
        what = operand.dtype or "a complex number"
        invalid(call, f"value is {what}, which {target.dtype} does not hold; write value.real")
    if operand.array is None:
        numbers = (*_numbers(call, "value", operand), 0.0)[:2]
        program = _fill_program(name_of(parts_dtype(target.dtype)))
        outputs = [target._part(0), target._part(1)]
        target.backend.map(program, target.shape, [], list(numbers), outputs)
        return
    x = operand.array
    while x.ndim > target.ndim and x.shape[0] == 1:
        x = x[0]
    fits = x.ndim <= target.ndim and all(
        a in (1, b) for a, b in zip(x.shape[::-1], target.shape[::-1], strict=False)
    )
    if not fits:
        invalid(call, f"value of shape {x.shape} does not broadcast to {target.shape}")
    if x.dtype.kind == "c":
        target._parts()[...] = x._parts()
    else:
        target._part(0)[...] = x
        target._part(1)[...] = 0


# Functions of complex Arrays alone ---------------------------------------------------------------


def _array(call: str, x: Any) -> Array:
    if not isinstance(x, Array):
        invalid(call, f"x is {shown(x)}, expected an Array; write tw.asarray(x)")
    return x


def _is_number(x: Array) -> bool:
    return x.dtype.kind != "b"


def real(val: Array) -> Array:
    """A view of the real parts; x itself where it is real."""
    val = _array("real", val)
    return val._part(0) if val.dtype.kind == "c" else val


def imag(val: Array) -> Array:
    """A view of the imaginary parts; zeros where x is real."""
    val = _array("imag", val)
    if val.dtype.kind == "c":
        return val._part(1)
    zeros = val.backend._new(val.shape, val.dtype)
    zeros[...] = False if val.dtype.kind == "b" else 0
    return zeros


def conj(
    x: Array, /, out: Array | None = None, where: Any = True, dtype: Any = None,
    casting: str = "same_kind", order: str = "K", subok: bool = True,
) -> Array:  # fmt: skip
    """The complex conjugate; x itself where it is real."""
    if where is not True or dtype is not None:
        options = {"where": where, "dtype": dtype, "casting": casting, "order": order}
        return with_options("conj", (x,), out, options)
    x = _array("conj", x)
    if x.dtype.kind != "c":
        return x if out is None else FUNCTIONS["positive"](x, out=out)
    if out is None:
        return x._conj()
    return evaluate("conj", (x,), out)  # type: ignore[no-any-return]


def angle(z: Array, deg: bool = False, *, out: Array | None = None) -> Array:
    """The angle of a complex number in the plane, in radians or with `deg` in degrees; 0 or pi of a
    real one."""
    z = _array("angle", z)
    if z.dtype.kind != "c":
        function = FUNCTIONS["atan2"]
        found = function(0, z, out=out)
    else:
        found = z._angle() if out is None else evaluate("angle", (z,), out)
    if deg:
        found *= 180 / math.pi
    return found


_core._set_complex(evaluate, assign, _parts_program)
