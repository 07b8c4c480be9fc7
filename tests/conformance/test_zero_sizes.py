"""Work of size zero: nothing happens, the handles of what holds no elements may be null, and every
other argument is checked as ever."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright import Backend

from .calls import CALLS, Argument, In, Index, Name, Number, Out, Size, Sizes, own_tests, positional
from .workspace import Workspace, download


@dataclass(frozen=True)
class Empty:
    """A call with sizes of zero: what these arguments are then, and whose buffers hold nothing."""

    call: str
    sizes: dict[str, Any]
    nothing: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.call}-{'-'.join(self.sizes)}"


_NO_BATCH: dict[str, Any] = {"input_shape": (0, 4, 6, 7), "output_shape": (0, 6, 4, 3)}

EMPTY = [
    Empty("copy_dtod", {"bytes": 0, "dst_offset": 0, "src_offset": 0}, ("dst", "src")),
    *(
        Empty(call, sizes, nothing)
        for call in ("gemm", "gemm_f16", "gemm_mixed_precision", "batched_gemm")
        for sizes, nothing in (
            ({"m": 0, "lda": 0, "ldc": 0}, ("a", "c")),
            ({"n": 0, "ldb": 0, "ldc": 0}, ("b", "c")),
            ({"m": 0, "n": 0, "k": 0, "lda": 0, "ldb": 0, "ldc": 0}, ("a", "b", "c")),
        )
    ),
    Empty("batched_gemm", {"batch_count": 0, "lda": 0, "ldb": 0, "ldc": 0}, ("a", "b", "c")),
    Empty("matmul_vec", {"rows": 0}, ("matrix", "out")),
    Empty("matmul_vec", {"rows": 0, "cols": 0}, ("matrix", "vector", "out")),
    Empty("conv2d_forward", _NO_BATCH, ("input", "output", "addend")),
    Empty("conv2d_backward_data", _NO_BATCH, ("grad_output", "grad_input")),
    Empty("attention_scores", {"seq": 0}, ("keys", "scores")),
    Empty("softmax", {"shape": (0, 3)}, ("input", "output")),
    Empty("softmax", {"shape": (2, 0)}, ("input", "output")),
    Empty("rmsnorm", {"rows": 0}, ("x", "out", "residual", "sum")),
    Empty("rmsnorm", {"cols": 0}, ("x", "weight", "out", "residual", "sum")),
    Empty("layer_norm", {"rows": 0}, ("x", "out", "residual", "sum")),
    Empty("layer_norm", {"cols": 0}, ("x", "weight", "bias", "out", "residual", "sum")),
    *(Empty(call, {"n": 0}, ("input", "output")) for call in ("silu", "gelu", "unary", "cast")),
    Empty("gather", {"count": 0}, ("indices", "output")),
    Empty("gather", {"count": 0, "table_rows": 0}, ("table", "indices", "output")),
    Empty("gather", {"row_size": 0}, ("table", "output")),
    Empty("scatter", {"count": 0}, ("source", "indices")),
    Empty("scatter", {"row_size": 0}, ("source", "output")),
    Empty("scatter", {"output_rows": 0}, ("output",)),
    Empty("binary", {"n": 0}, ("a", "b", "output")),
    Empty("binary_scalar", {"n": 0}, ("a", "output")),
    Empty("binary_broadcast", {"shape": (0, 3)}, ("a", "b", "output")),
    Empty("reduce", {"shape": (0, 3)}, ("input", "output")),
    Empty("compact", {"n": 0}, ("mask", "source")),
    Empty("compact", {"count": 0}, ("output",)),
    Empty("nonzero", {"shape": (0, 3)}, ("mask",)),
    Empty("nonzero", {"count": 0}, ("output",)),
    Empty("search_sorted", {"count": 0}, ("values", "output")),
    Empty("sort", {"rows": 0}, ("input", "output")),
    Empty("argsort", {"length": 0}, ("input", "indices")),
    Empty("topk", {"rows": 0}, ("input", "values", "indices")),
    *(Empty(call, *one) for call, test in own_tests() for one in test.EMPTY),
]


# These have a result for each of theirs, also where nothing goes in; copies are tested below.
OTHERS = {
    "view", "free", "buffer_bytes", "copy_htod", "copy_dtoh", "conv2d_backward_filter", "attention",
    "weighted_sum", "mask_counts",
}  # fmt: skip


def test_every_call_with_buffers_is_here() -> None:
    with_buffers = {
        name for name, call in CALLS.items() if any(isinstance(a, In | Out) for a in call.values())
    }
    assert with_buffers == {empty.call for empty in EMPTY} | OTHERS


def wrong_forms(argument: Argument) -> list[Any]:
    """Values that are wrong whatever the sizes are."""
    match argument:
        case Size():
            return [-1]
        case Sizes():
            return [(-1, *argument.value[1:])]
        case Name():
            return ["nope", *argument.also_wrong]
        case Number() | Index():
            return list(argument.wrong)
        case _:
            return []


class Ready:
    """One of the calls above, with live buffers."""

    def __init__(self, be: Backend, empty: Empty) -> None:
        self.be, self.call, self.nothing = be, empty.call, empty.nothing
        self.arguments = CALLS[empty.call]
        self.buffers = {
            name: be.alloc(argument.bytes)
            for name, argument in self.arguments.items()
            if isinstance(argument, In | Out)
        }
        for buffer in self.buffers.values():
            be.copy_htod(buffer, np.full(be.buffer_bytes(buffer), 0x3C, np.uint8))
        values = positional(self.arguments, self.buffers.values())
        self.values = {**dict(zip(self.arguments, values, strict=True)), **empty.sizes}

    def run(self, **changed: Any) -> None:
        getattr(self.be, self.call)(*{**self.values, **changed}.values())

    def null(self) -> dict[str, int]:
        return dict.fromkeys(self.nothing, 0)

    def refuses(self, name: str, value: Any) -> None:
        with pytest.raises(tilewright.InvalidArgument, match=rf"^{self.call}: .*\b{name}_?\b"):
            self.run(**{**self.null(), name: value})


@pytest.fixture
def ready(be: Backend, empty: Empty) -> Iterator[Ready]:
    ready = Ready(be, empty)
    yield ready
    for buffer in ready.buffers.values():
        assert (download(be, buffer) == 0x3C).all()
        be.free(buffer)


@pytest.mark.parametrize("empty", EMPTY, ids=str)
def test_nothing_happens(ready: Ready) -> None:
    ready.run()
    ready.run(**ready.null())
    for name in ready.nothing:
        ready.run(**{name: 0})


@pytest.mark.parametrize("empty", EMPTY, ids=str)
def test_everything_else_is_checked(ready: Ready) -> None:
    for name in ready.buffers:
        ready.refuses(name, 1)
        if name not in ready.nothing:
            ready.refuses(name, 0)
    for name, argument in ready.arguments.items():
        for wrong in wrong_forms(argument):
            ready.refuses(name, wrong)


def test_copies_of_nothing(be: Backend) -> None:
    be.copy_htod(0, b"")
    be.copy_dtoh(bytearray(), 0)
    with pytest.raises(tilewright.InvalidArgument, match=r"^copy_htod: dst is the null handle"):
        be.copy_htod(0, b"1")
    with pytest.raises(tilewright.InvalidArgument, match=r"^copy_dtoh: src is the null handle"):
        be.copy_dtoh(bytearray(1), 0)
    with pytest.raises(tilewright.InvalidArgument, match=r"^copy_htod: dst holds 0 bytes"):
        be.copy_htod(0, b"", 1)
    with pytest.raises(tilewright.InvalidArgument, match=r"^copy_dtoh: src is 1, which no alloc"):
        be.copy_dtoh(bytearray(), 1)


def rows_of_nothing(ws: Workspace, out: Any, dtype: str) -> None:
    indices = ws.input(np.zeros(33, np.int32))
    ws.be.gather(0, indices, out, 0, 33, 33, dtype)


# Nothing goes in, and yet there is a result: what each of its elements is where it was 5.
FROM_NOTHING: list[tuple[str, Callable[[Workspace, Any, str], None], float]] = [
    (
        "gemm",
        lambda ws, out, dtype: ws.be.gemm(
            "none", "none", 33, 33, 0, 1.0, 0, 0, 0, 0, 2.0, out, 33, dtype
        ),
        10,
    ),
    (
        "gemm of a row",
        lambda ws, out, dtype: ws.be.gemm(
            "transpose", "none", 1, 33 * 33, 0, 1.0, 0, 0, 0, 0, 2.0, out, 33 * 33, dtype
        ),
        10,
    ),
    (
        "batched_gemm",
        lambda ws, out, dtype: ws.be.batched_gemm(
            "none", "none", 11, 33, 0, 1.0, 0, 0, 0, 0, 0, 0, 2.0, out, 33, 363, 3, dtype
        ),
        10,
    ),
    (
        "matmul_vec",
        lambda ws, out, dtype: ws.be.matmul_vec(0, 33 * 33, 0, 0, out, dtype),
        0,
    ),
    (
        "weighted_sum",
        lambda ws, out, dtype: ws.be.weighted_sum(0, 0, out, 0, 33, 33, dtype=dtype),
        0,
    ),
    (
        "conv2d_backward_filter",
        lambda ws, out, dtype: ws.be.conv2d_backward_filter(
            0, (0, 11, 5, 5), 0, (0, 11, 3, 3), out, (11, 11, 3, 3), (1, 1), (0, 0), dtype=dtype
        ),
        0,
    ),
    ("sum", lambda ws, out, dtype: ws.be.reduce("sum", 0, out, (33, 0, 33), 1, dtype), 0),
    ("mean", lambda ws, out, dtype: ws.be.reduce("mean", 0, out, (33, 0, 33), 1, dtype), np.nan),
    ("gather", rows_of_nothing, np.nan),
]


@pytest.mark.parametrize(
    ("call", "expected"), [pytest.param(c, e, id=name) for name, c, e in FROM_NOTHING]
)
def test_results_of_nothing(
    ws: Workspace, call: Callable[[Workspace, Any, str], None], expected: float, dtype: str
) -> None:
    out = ws.output(np.full(33 * 33, 5, dtype))
    call(ws, out, dtype)
    np.testing.assert_array_equal(ws.read(out), np.full(33 * 33, expected, dtype))
    with pytest.raises(tilewright.InvalidArgument, match="is the null handle"):
        call(ws, 0, dtype)


@pytest.mark.parametrize("precision", ["float16", "bfloat16", "high"])
def test_mixed_precision_of_nothing(ws: Workspace, precision: str) -> None:
    out = ws.output(np.full(33 * 33, 5, np.float32))
    ws.be.gemm_mixed_precision(precision, "none", "none", 33, 33, 0, 1.0, 0, 0, 0, 0, 2.0, out, 33)
    assert (ws.read(out) == 10).all()
