"""map() and programs: each wrong argument has an error of its own, and changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright import Backend, InvalidArgument, Program


def adder(dtype: str = "float32") -> Program:
    program = Program()
    program.output(program.input(dtype) + program.input(dtype))
    return program


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((4,), ["x"], [], ["out"]), "the program has 2 inputs, and 1 are given"),
        (((4,), ["x", "y"], [], []), "the program has 1 outputs, and 0 are given"),
        (((4,), ["x", "y"], [1.0], ["out"]), "the program has 0 numbers, and 1 are given"),
        (((-1,), ["x", "y"], [], ["out"]), r"shape\[0\] is -1"),
        (((5,), ["x", "y"], [], ["out"]), r"inputs\[0\] holds 16 bytes"),
        (((2, 2), [("x", (1,)), "y"], [], ["out"]), r"inputs\[0\] has 1 strides, expected 2"),
        (((2, 2), ["x", ("y", (2, 1), 1)], [], ["out"]), r"inputs\[1\] holds 16 bytes"),
        (((2,), ["x", ("y", (-1,))], [], ["out"]), r"reach 1 elements before that"),
        (((2,), ["x", ("y", (1,), -1)], [], ["out"]), r"inputs\[1\].offset is -1"),
        (((2,), ["x", "y"], [], [("out", (0,))]), r"outputs\[0\] has strides by which elements"),
        (((2, 2), ["x", "y"], [], [("out", (1, 1))]), r"outputs\[0\] has strides by which"),
        (((2,), [("out", (1,), 1), "y"], [], ["out"]), r"outputs\[0\] .* overlaps inputs\[0\]"),
        (((2,), [("x", (2**62,)), "y"], [], ["out"]), r"inputs\[0\]|64 bits"),
        (((2,), [("x", (-(2**63),)), "y"], [], ["out"]), r"no buffer can hold"),
        (((2**62, 4), ["x", "y"], [], ["out"]), "64 bits"),
    ],
)
def test_wrong_arguments(be: Backend, arguments: tuple, message: str) -> None:  # type: ignore[type-arg]
    shape, inputs, numbers, outputs = arguments
    exact = {}
    for name in ("x", "y", "out"):
        exact[name] = be.alloc(16)
        be.copy_htod(exact[name], np.full(4, 7, "f4"))

    def placed(operands: list[Any]) -> list[Any]:
        return [
            (exact[one[0]], *one[1:]) if isinstance(one, tuple) else exact[one] for one in operands
        ]

    try:
        with pytest.raises(InvalidArgument, match=message):
            be.map(adder(), shape, placed(inputs), numbers, placed(outputs))
        left = np.empty(4, "f4")
        be.copy_dtoh(left, exact["out"])
        assert (left == 7).all()
    finally:
        for buffer in exact.values():
            be.free(buffer)


def test_arrays_of_other_dtypes(be: Backend) -> None:
    """An Array knows its dtype; a buffer, with strides or without, is what the program says."""
    program = adder()
    whole, x = be.array(np.arange(4, dtype="int32")), be.array(np.arange(4, dtype="float32"))
    out, wrong = be.array(np.full(4, 7, "float32")), be.array(np.full(4, 7, "int32"))
    has = r"\[0\] is an Array of int32, and the program has float32 there; write .astype"
    with pytest.raises(InvalidArgument, match=f"map: inputs{has}"):
        be.map(program, (4,), [whole, x], [], [out])
    with pytest.raises(InvalidArgument, match=f"map: outputs{has}"):
        be.map(program, (4,), [x, x], [], [wrong])
    with pytest.raises(InvalidArgument, match=rf"map_many: groups\[0\].inputs{has}"):
        be.map_many(program, [(4, [whole, x], [out])], [])
    with pytest.raises(InvalidArgument, match=f"map_reduce: inputs{has}"):
        be.map_reduce(program, "sum", (4,), (0,), [whole, x], [], [out])
    with pytest.raises(InvalidArgument, match=f"scan: inputs{has}"):
        be.scan(program, "sum", (4,), 0, [whole, x], [], out)
    with pytest.raises(InvalidArgument, match=f"map_rows: inputs{has}"):
        be.map_rows([("sum", program)], (1, 4), (1,), [whole, x], None, [], [], None, [], [])
    np.testing.assert_array_equal(out.numpy(), np.full(4, 7))
    be.map(program, (4,), [(whole, (1,)), x], [], [out])
    bits = np.arange(4, dtype="int32").view("float32")
    np.testing.assert_array_equal(out.numpy(), bits + np.arange(4, dtype="float32"))


def test_outputs_that_overlap(be: Backend) -> None:
    program = Program()
    x = program.input("float32")
    program.output(x + 1, x + 2)
    buffer, out = be.alloc(64), be.alloc(64)
    with pytest.raises(InvalidArgument, match=r"outputs\[1\] .* overlaps outputs\[0\]"):
        be.map(program, (4,), [buffer], [], [out, (out, (1,), 2)])
    # Those that lie among each other meet where one is some steps on, or elements are too long.
    for first, second in (((2,), 4), ((3,), 3)):
        with pytest.raises(InvalidArgument, match=r"outputs\[1\] .* overlaps outputs\[0\]"):
            be.map(program, (4,), [buffer], [], [(out, first), (out, first, second)])
    program = Program()
    x = program.input("float32")
    program.output(x, x.cast("int16"))
    with pytest.raises(InvalidArgument, match=r"outputs\[1\] .* overlaps outputs\[0\]"):
        be.map(program, (4,), [buffer], [], [(out, (2,)), (out, (4,), 1)])
    be.map(program, (4,), [buffer], [], [(out, (2,)), (out, (4,), 2)])
    be.free(buffer)
    be.free(out)


def test_no_output(be: Backend) -> None:
    program = Program()
    x = program.input("float32")
    buffer = be.alloc(16)
    with pytest.raises(InvalidArgument, match="no output; give it one"):
        be.map(program, (4,), [buffer], [], [])
    assert x.dtype == "float32"
    be.free(buffer)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda p, x, k, b: p.apply("add", x, k), "float32 and int32, expected one dtype"),
        (lambda p, x, k, b: p.apply("sin", k), "operand 0 of sin is int32, expected a float"),
        (lambda p, x, k, b: p.apply("add", b, b), "operand 0 of add is bool, expected numbers"),
        (lambda p, x, k, b: p.apply("left_shift", x, x), "expected an integer dtype"),
        (lambda p, x, k, b: p.apply("where", x, x, x), "first operand of where is float32"),
        (lambda p, x, k, b: p.apply("add", x), "add has 1 operands, expected 2"),
        (lambda p, x, k, b: p.apply("sine", x), 'no elementwise op "sine"'),
        (lambda p, x, k, b: p.apply("add", 1, 2), "none of the operands"),
        (lambda p, x, k, b: k + 2**31, "the constant is 2147483648, expected what int32 holds"),
        (lambda p, x, k, b: k + 0.5, "the constant is 0.5, expected an integer"),
        (lambda p, x, k, b: x.cast("float23"), "float23"),
        (lambda p, x, k, b: Program().output(x), "a value of another program"),
        (lambda p, x, k, b: p.output(3), "is no value of this program"),
        (lambda p, x, k, b: p.constant(300, "uint8"), "expected what uint8 holds"),
        (lambda p, x, k, b: p.constant(-1, "uint64"), "expected what uint64 holds"),
        (lambda p, x, k, b: p.constant(2, "bool"), "expected a bool"),
    ],
)
def test_wrong_programs(build, message: str) -> None:  # type: ignore[no-untyped-def]
    program = Program()
    x, k, b = program.input("float32"), program.input("int32"), program.input("bool")
    before = str(program)
    with pytest.raises(InvalidArgument, match=message):
        build(program, x, k, b)
    assert str(program) == before


def test_what_a_value_is_not() -> None:
    program = Program()
    x = program.input("float32")
    with pytest.raises(TypeError, match="is not known before map"):
        bool(x > 0)
    with pytest.raises(AttributeError, match="sinus"):
        x.sinus()
    with pytest.raises(TypeError):
        hash(x)


def test_numbers_out_of_range(be: Backend) -> None:
    program = Program()
    program.output(program.input("int8") + program.number("int8"))
    buffer, out = be.alloc(16), be.alloc(16)
    with pytest.raises(InvalidArgument, match=r"numbers\[0\] is 128, expected what int8 holds"):
        be.map(program, (4,), [buffer], [128], [out])
    be.free(buffer)
    be.free(out)


def test_programs_are_bounded() -> None:
    program = Program()
    value = program.input("int32")
    with pytest.raises(InvalidArgument, match="which is the most; run it in several parts"):
        for _ in range(5000):
            value = value + value


def test_another_backend(be: Backend) -> None:
    with tilewright.CpuBackend() as other:
        foreign, own = other.alloc(16), be.alloc(16)
        with pytest.raises(InvalidArgument, match=r"inputs\[0\]"):
            be.map(adder(), (4,), [foreign, own], [], [own])
        be.free(own)
