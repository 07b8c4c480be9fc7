"""supports() and available_ops() say what calls then do, and run nothing to know it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, Program

from .calls import CALLS, In, Out, lacks, positional
from .test_config import configured

DTYPES = [str(dtype.value) for dtype in tw.DType]
#: calls on buffers that take no dtype of elements
MOVES = {"view", "free", "copy_htod", "copy_dtoh", "copy_dtod", "buffer_bytes"}
OPS = [
    name
    for name, arguments in CALLS.items()
    if name not in MOVES and any(isinstance(one, In | Out) for one in arguments.values())
]
#: those whose buffers have one dtype
FIXED = {
    "gemm_f16": "float16",
    "gemm_mixed_precision": "float32",
    "mask_counts": "bool",
    "nonzero": "bool",
}


MOVING = ("gather_elements", "scatter_elements")


@pytest.fixture
def buffers(be: Backend) -> Any:
    """Zeros, room for any call of the table with elements of 16 bytes."""
    handles = [be.alloc(1 << 14) for _ in range(12)]
    for handle in handles:
        be.copy_htod(handle, np.zeros(1 << 14, np.uint8))
    yield handles
    for handle in handles:
        be.free(handle)


def runs(call: Any) -> bool:
    try:
        call()
    except tw.Unsupported:
        return False
    return True


def does(be: Backend, op: str, dtype: str, buffers: list[int]) -> bool:
    """Whether the call runs, which it also does not where the op takes no such dtype."""
    values = dict(zip(CALLS[op], positional(CALLS[op], buffers), strict=True))
    if op in FIXED:
        return dtype == FIXED[op] and runs(lambda: getattr(be, op)(*values.values()))
    values["from" if op == "cast" else "dtype"] = dtype
    if op == "cast":
        values["to"] = "float32"
    if "output_dtype" in values:
        values["output_dtype"] = None
    try:
        return runs(lambda: getattr(be, op)(*values.values()))
    except tw.InvalidArgument as error:
        assert "dtype is" in str(error), "refused for another reason"
        return False


@pytest.mark.parametrize("op", OPS)
def test_of_every_op_and_dtype(be: Backend, buffers: list[int], op: str) -> None:
    for dtype in DTYPES:
        assert be.supports(op, dtype) == does(be, op, dtype, buffers), dtype
    assert be.supports(op, FIXED.get(op, "float32")) != lacks(be, op)
    assert (op in be.available_ops()) != lacks(be, op)


def test_every_op_is_known(be: Backend) -> None:
    has = {op for op in OPS if not lacks(be, op)}
    others = {"map", "map_many", "map_reduce", "map_rows", "scan", "concat"}
    assert set(be.available_ops()) == {*has, *others, *MOVING}


@pytest.mark.parametrize("op", MOVING)
def test_of_moves_by_indices(be: Backend, buffers: list[int], op: str) -> None:
    source, places, output = buffers[:3]
    for dtype in DTYPES:
        indices = [(places, "int32", 4, 1, 0)]
        moved = runs(lambda: getattr(be, op)(source, indices, output, (8,), dtype))  # noqa: B023
        assert be.supports(op, dtype) == moved, dtype


def test_of_concat(be: Backend, buffers: list[int]) -> None:
    x, y, out = buffers[:3]
    for dtype in DTYPES:
        moved = runs(lambda: be.concat([x, y], (3, 5), out, (8,), 0, dtype))  # noqa: B023
        assert be.supports("concat", dtype) == moved, dtype


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", DTYPES)
def test_of_programs(be: Backend, buffers: list[int], dtype: str) -> None:
    x, y = buffers[:2]

    def made(op: str | None, to: str | None) -> bool:
        program = Program()
        try:
            value = program.input(dtype)
            if op is not None:
                value = program.apply(op, value)
            program.output(value if to is None else value.cast(to))
        except tw.InvalidArgument:
            return False
        return runs(lambda: be.map(program, (8,), [x], [], [y]))

    asked = [(None, None), (None, "float64"), (None, "bool"), ("sqrt", None), ("isnan", "int64")]
    for op, to in asked:
        assert be.supports("map", dtype, op, to) == made(op, to), (op, to)

    plain = Program()
    plain.output(plain.input(dtype))
    assert be.supports("map_many", dtype) == refused_or_runs(
        lambda: be.map_many(plain, [(3, [x], [y])], [])
    )
    for reduction in ("sum", "any", "argmax"):

        def reduce(kind: str = reduction) -> None:
            be.map_reduce(plain, kind, (8,), (0,), [x], [], [y])

        assert be.supports("map_reduce", dtype, reduction) == refused_or_runs(reduce), reduction
    assert be.supports("scan", dtype, "max") == refused_or_runs(
        lambda: be.scan(plain, "max", (8,), 0, [x], [], y)
    )


def refused_or_runs(call: Any) -> bool:
    try:
        return runs(call)
    except tw.InvalidArgument:
        return False


def test_of_kinds_and_results(be: Backend) -> None:
    has_float16 = be.name == "cpu" or "float16" in be.device.features
    assert be.supports("unary", "float16", "gelu") == has_float16
    assert be.supports("binary", kind="pow")
    assert be.supports("reduce", "float16", kind="mean") == has_float16
    assert be.supports("gemm_mixed_precision", kind="bfloat16")
    assert be.supports("gemm", "float16", to="float32") == has_float16
    assert not be.supports("gemm", "float32", to="float16")
    assert be.supports("cast", "float32", to="int8")
    assert be.supports("map", "float32", "where")


def test_names_that_are_not_there(be: Backend) -> None:
    for wrong, message in (
        (("convolve",), r"^supports: op is 'convolve', expected one of gemm, "),
        (("gemm", "float8"), r"^supports: dtype is 'float8'"),
        (("unary", "float32", "add"), r"^supports: kind is 'add', expected a unary op: relu, "),
        (
            ("map", "float32", "nothing"),
            r"^supports: kind is 'nothing', expected a program op: add",
        ),
        (("unary", "float32", ""), r"^supports: kind is ''"),
        ((1,), r"^supports: op is 1"),
    ):
        with pytest.raises(tw.InvalidArgument, match=message):
            be.supports(*wrong)


def test_nothing_is_run_and_nothing_taken(be: Backend) -> None:
    be.synchronize()
    before = str(be.memory_stats())
    with be.profile() as p:
        be.available_ops()
        be.supports("gemm", "float16")
    assert len(p.records) == 0
    assert be.memory_stats().allocations == 0
    assert be.name == "cpu" or str(be.memory_stats()) == before


def test_not_while_a_recording_is_made(be: Backend) -> None:
    with be.record():
        for call in (lambda: be.supports("gemm"), be.available_ops):
            with pytest.raises(tw.InvalidArgument, match=r"ask before record\(\), or after it"):
                call()
    assert be.supports("gemm")


def test_of_a_full_device(be: Backend) -> None:
    """What is asked takes no room."""
    with configured(be, memory_limit=1 << 16) as small:
        held = small.alloc(1 << 16)
        assert small.supports("conv2d_forward") and small.supports("attention")
        small.free(held)


def test_before_init_and_after_close(be: Backend) -> None:
    closed = configured(be)
    for call in (lambda: closed.supports("gemm"), closed.available_ops):
        with pytest.raises(tw.NotInitialized):
            call()


@pytest.mark.parametrize("op", ["cholesky", "lu", "triangular_solve", "qr", "eigh", "svd", "eig"])
def test_complex_numbers_by_their_dtype(be: Backend, buffers: list[int], op: str) -> None:
    for dtype, parts in (("complex64", "float32"), ("complex128", "float64")):
        values = dict(zip(CALLS[op], positional(CALLS[op], buffers), strict=True))
        values.update(is_complex=True, dtype=parts)
        found = runs(lambda values=values: getattr(be, op)(*values.values()))
        assert be.supports(op, dtype) == be.supports(op, np.dtype(dtype)) == found
        assert be.supports(op, parts, "complex") == found
        assert be.supports(op, parts, "real") == be.supports(op, parts)


def test_where_complex_numbers_are_no_dtype(be: Backend) -> None:
    assert be.supports("fft", "complex64") == be.supports("fft")
    assert not be.supports("map", "complex64") and not be.supports("softmax", tw.complex64)
    with pytest.raises(tw.InvalidArgument, match=r"kind is 'real'.*expected 'complex'"):
        be.supports("qr", "complex64", "real")
    with pytest.raises(tw.InvalidArgument, match=r"kind is 'exp', expected .*real, complex"):
        be.supports("qr", "float32", "exp")
    with pytest.raises(tw.InvalidArgument, match="op is 'exp'"):
        be.supports("exp", "complex64")
