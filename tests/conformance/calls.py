"""One valid call of everything in the trait, and what each argument may be. Tests of wrong
arguments derive from this table; test_errors.py holds it against the trait itself.

An op whose test file has a CALL is described there: with EMPTY, its calls that have nothing to do,
and generate(), which draws calls for the fuzzer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np

from .arguments import (
    DTYPE,
    POSITIVE,
    Absent,
    Argument,
    Call,
    Flag,
    Host,
    In,
    Index,
    Name,
    Number,
    Out,
    Size,
    Sizes,
    lacks,
    may_be_none,
    positional,
)

__all__ = [
    "CALLS", "Absent", "Argument", "Call", "Flag", "Host", "In", "Index", "Name",
    "Number", "Out", "Size", "Sizes", "dtypes_of", "lacks", "may_be_none", "own_tests",
    "positional",
]  # fmt: skip

ANY_DTYPE = Name("float32", also_wrong=("complex64",))
INDEX_DTYPE = Name("int64", also_wrong=("uint32", "float32"))

_product: Call = {
    "trans_a": Name("none"),
    "trans_b": Name("transpose"),
    "m": Size(2),
    "n": Size(3),
    "k": Size(4),
    "alpha": Number(1.0),
    "a": In(4 * 9),
    "lda": Size(5, positive=True),
    "b": In(4 * 14),
    "ldb": Size(5, positive=True),
    "beta": Number(0.0),
    "c": Out(4 * 7),
    "ldc": Size(4, positive=True),
}

_batch: Call = {
    "trans_a": Name("none"),
    "trans_b": Name("transpose"),
    "m": Size(2),
    "n": Size(3),
    "k": Size(4),
    "alpha": Number(1.0),
    "a": In(4 * 29),
    "lda": Size(5, positive=True),
    "stride_a": Size(10),
    "b": In(4 * 14),
    "ldb": Size(5, positive=True),
    "stride_b": Size(0),
    "beta": Number(0.0),
    "c": Out(4 * 27),
    "ldc": Size(4, positive=True),
    "stride_c": Size(10, positive=True, unless=("batch_count", 1)),
    "batch_count": Size(3),
}

_types: Call = {
    "dtype": Name("float32", also_wrong=("int32", "bool")),
    "output_dtype": Name("float32", also_wrong=("float16", "int32")),
}

_window: Call = {
    "stride": Sizes((1, 2), positive=True, wrong=((1,), (1, 2, 1))),
    "pad": Sizes((1, 0), wrong=((1,), (1, 0, 0))),
    "dilation": Sizes((2, 1), positive=True, wrong=((2,), (2, 1, 1))),
    "groups": Size(2, positive=True),
}

_x_shape = Sizes((2, 4, 6, 7), wrong=((2, 4, 6), (2, 4, 6, 7, 1), (3, 4, 6, 7), (2, 6, 6, 7)))
_w_shape = Sizes((6, 2, 3, 3), positive=True, wrong=((6, 2, 3), (6, 4, 3, 3), (5, 2, 3, 3)))
_y_shape = Sizes((2, 6, 4, 3), wrong=((2, 6, 4), (2, 6, 3, 3), (2, 6, 4, 4), (2, 4, 4, 3)))
_X, _W, _Y = 4 * 2 * 4 * 6 * 7, 4 * 6 * 2 * 3 * 3, 4 * 2 * 6 * 4 * 3

CALLS: dict[str, Call] = {
    "capabilities": {},
    "performance_hints": {},
    "synchronize": {},
    "alloc": {"bytes": Size(16, positive=True)},
    "view": {"buffer": In(16), "offset": Size(8), "bytes": Size(8, positive=True)},
    "free": {"buffer": In(16)},
    "copy_htod": {"dst": Out(16), "src": Host(8), "offset": Size(8)},
    "copy_dtoh": {"dst": Host(8), "src": In(16), "offset": Size(8)},
    "copy_dtod": {
        "dst": Out(16),
        "src": In(16),
        "bytes": Size(8),
        "dst_offset": Size(8),
        "src_offset": Size(8),
    },
    "buffer_bytes": {"buffer": In(16)},
    "memory_stats": {},
    "trim": {},
    "gemm": {**_product, **_types},
    "batched_gemm": {**_batch, **_types},
    "gemm_f16": {**_product, "a": In(2 * 9), "b": In(2 * 14), "c": Out(2 * 7)},
    "gemm_mixed_precision": {"precision": Name("bfloat16", also_wrong=("float32",)), **_product},
    "matmul_vec": {
        "matrix": In(4 * 6),
        "rows": Size(2),
        "cols": Size(3),
        "vector": In(4 * 3),
        "out": Out(4 * 2),
        "dtype": DTYPE,
    },
    "conv2d_forward": {
        "input": In(_X),
        "input_shape": _x_shape,
        "filter": In(_W),
        "filter_shape": _w_shape,
        "output": Out(_Y),
        "output_shape": _y_shape,
        **_window,
        "bias": In(4 * 6),
        "dtype": DTYPE,
        "activation": Name("leaky_relu", also_wrong=("square",)),
        "slope": Number(0.1, wrong=(np.nan, np.inf, -np.inf)),
        "addend": In(_Y),
    },
    "conv2d_backward_data": {
        "grad_output": In(_Y),
        "output_shape": _y_shape,
        "filter": In(_W),
        "filter_shape": _w_shape,
        "grad_input": Out(_X),
        "input_shape": _x_shape,
        **_window,
        "dtype": DTYPE,
    },
    "conv2d_backward_filter": {
        "input": In(_X),
        "input_shape": _x_shape,
        "grad_output": In(_Y),
        "output_shape": _y_shape,
        "grad_filter": Out(_W),
        "filter_shape": _w_shape,
        **_window,
        "dtype": DTYPE,
    },
    "attention": {
        "q": In(4 * 4 * 3 * 2),
        "k": In(2 * 5 * 2),
        "v": In(2 * 5 * 3),
        "o": Out(4 * 4 * 3 * 3),
        "batch": Size(1, positive=True),
        "heads": Size(4, positive=True),
        "seq_q": Size(3, positive=True),
        "seq_kv": Size(5, positive=True),
        "head_dim": Size(2, positive=True),
        "scale": Number(0.5, wrong=POSITIVE),
        "causal": Flag(True),
        "q_offset": Size(2, huge=(2**63 - 1,)),
        "kv_heads": Size(2, positive=True),
        "dtype": DTYPE,
        "mask": In(4 * 3 * 5),
        "mask_dtype": Name("bool", also_wrong=("int32", "uint8")),
        "soft_cap": Number(3.0, wrong=(-1.0, *POSITIVE[2:])),
        "window_left": Size(2, huge=()),
        "window_right": Size(1, huge=()),
        "value_dim": Size(3, positive=True),
        "at_end": Flag(False),
        "kv_lengths": In(4),
        "page_table": In(4),
        "page_size": Size(5, positive=True),
        "pages": Size(1, positive=True),
        "q_starts": Absent(),
        "kv_starts": Absent(),
        "page_dtype": Name("int8", also_wrong=("int32", "uint8")),
        "page_scales": In(4 * 2 * 2 * 5),
    },
    "attention_scores": {
        "q": In(4 * 4 * 3),
        "keys": In(4 * 2 * 5 * 3),
        "scores": Out(4 * 4 * 5),
        "seq": Size(5),
        "head_dim": Size(3, positive=True),
        "scale": Number(0.5, wrong=POSITIVE),
        "heads": Size(4, positive=True),
        "kv_heads": Size(2, positive=True),
        "dtype": DTYPE,
    },
    "weighted_sum": {
        "weights": In(4 * 4 * 5),
        "rows": In(4 * 2 * 5 * 3),
        "output": Out(4 * 4 * 3),
        "count": Size(5),
        "dim": Size(3, positive=True),
        "heads": Size(4, positive=True),
        "kv_heads": Size(2, positive=True),
        "dtype": DTYPE,
    },
    "softmax": {
        "input": In(4 * 6),
        "output": Out(4 * 6, may_be=("input",)),
        "shape": Sizes((2, 3), wrong=((), (1,) * 65)),
        "axis": Index(-1, wrong=(-3, 2, 2**62, -(2**62))),
        "dtype": DTYPE,
        "log": Flag(False),
    },
    "rmsnorm": {
        "x": In(4 * 6),
        "weight": In(4 * 3),
        "out": Out(4 * 6, may_be=("x",)),
        "rows": Size(2),
        "cols": Size(3),
        "eps": Number(1e-5, wrong=(-1e-5, np.nan, np.inf, -np.inf)),
        "dtype": DTYPE,
        "residual": In(4 * 6),
        "sum": Out(4 * 6, may_be=("residual",)),
    },
    "layer_norm": {
        "x": In(4 * 6),
        "weight": In(4 * 3),
        "bias": In(4 * 3),
        "out": Out(4 * 6, may_be=("x",)),
        "rows": Size(2),
        "cols": Size(3),
        "eps": Number(1e-5, wrong=(-1e-5, np.nan, np.inf, -np.inf)),
        "dtype": DTYPE,
        "residual": In(4 * 6),
        "sum": Out(4 * 6, may_be=("residual",)),
    },
    "silu": {
        "input": In(4 * 5),
        "output": Out(4 * 5, may_be=("input",)),
        "n": Size(5),
        "dtype": DTYPE,
    },
    "gelu": {
        "input": In(4 * 5),
        "output": Out(4 * 5, may_be=("input",)),
        "n": Size(5),
        "dtype": DTYPE,
    },
    "gather": {
        "table": In(4 * 6),
        "indices": In(4 * 5),
        "output": Out(4 * 15),
        "table_rows": Size(2),
        "row_size": Size(3),
        "count": Size(5),
        "dtype": DTYPE,
    },
    "scatter": {
        "source": In(4 * 15),
        "indices": In(4 * 5),
        "output": Out(4 * 6),
        "output_rows": Size(2),
        "row_size": Size(3),
        "count": Size(5),
        "dtype": DTYPE,
    },
    "mask_counts": {
        "mask": In(9),
        "counts": Out(4 * 2),
        "n": Size(9),
    },
    "compact": {
        "mask": In(9),
        "counts": In(4 * 2),
        "source": In(4 * 9),
        "output": Out(4 * 5),
        "n": Size(9),
        "count": Size(5),
        "dtype": Name("float32"),
    },
    "nonzero": {
        "mask": In(6),
        "counts": In(4 * 2),
        "output": Out(8 * 2 * 5),
        "shape": Sizes((2, 3), wrong=((),)),
        "count": Size(5),
        "index_dtype": Name("int64", also_wrong=("uint32", "float32")),
    },
    "search_sorted": {
        "sorted": In(4 * 6),
        "values": In(4 * 5),
        "output": Out(8 * 5),
        "n": Size(6),
        "count": Size(5),
        "right": Flag(False),
        "dtype": Name("float32"),
        "index_dtype": Name("int64", also_wrong=("uint32", "float32")),
    },
    "unary": {
        "op": Name("exp", also_wrong=("add",)),
        "input": In(4 * 5),
        "output": Out(4 * 5, may_be=("input",)),
        "n": Size(5),
        "dtype": DTYPE,
    },
    "binary": {
        "op": Name("sub", also_wrong=("exp",)),
        "a": In(4 * 5),
        "b": In(4 * 5),
        "output": Out(4 * 5, may_be=("a", "b")),
        "n": Size(5),
        "dtype": DTYPE,
    },
    "binary_scalar": {
        "op": Name("sub", also_wrong=("exp",)),
        "a": In(4 * 5),
        "scalar": Number(2.0),
        "output": Out(4 * 5, may_be=("a",)),
        "n": Size(5),
        "scalar_first": Flag(True),
        "dtype": DTYPE,
    },
    "binary_broadcast": {
        "op": Name("sub", also_wrong=("exp",)),
        "a": In(4 * 6),
        "a_strides": Sizes((3, 1), wrong=((1,), (3, 1, 1), (6, 1))),
        "b": In(4 * 3),
        "b_strides": Sizes((0, 1), wrong=((1,), (0, 1, 1), (1, 1))),
        "output": Out(4 * 6, may_be=("a",)),
        "shape": Sizes((2, 3), wrong=((6,), (1, 2, 3), (3, 3), (1,) * 65)),
        "dtype": DTYPE,
    },
    "reduce": {
        "op": Name("max", also_wrong=("add",)),
        "input": In(4 * 6),
        "output": Out(4 * 2),
        "shape": Sizes((2, 3), wrong=((), (1,) * 65, (2, 0))),
        "axis": Index(-1, wrong=(-3, 2, 2**62, -(2**62))),
        "dtype": DTYPE,
    },
    "cast": {
        "input": In(4 * 5),
        "from": Name("float32", also_wrong=("complex64",)),
        "output": Out(2 * 5),
        "to": Name("float16", also_wrong=("complex64",)),
        "n": Size(5),
    },
    "sort": {
        "input": In(4 * 6),
        "output": Out(4 * 6, may_be=("input",)),
        "rows": Size(2),
        "length": Size(3),
        "descending": Flag(True),
        "dtype": ANY_DTYPE,
    },
    "argsort": {
        "input": In(4 * 6),
        "indices": Out(8 * 6),
        "rows": Size(2),
        "length": Size(3),
        "descending": Flag(True),
        "dtype": ANY_DTYPE,
        "index_dtype": INDEX_DTYPE,
    },
    "topk": {
        "input": In(4 * 6),
        "values": Out(4 * 4),
        "indices": Out(8 * 4),
        "rows": Size(2),
        "length": Size(3),
        "k": Size(2, huge=(4, 2**62)),
        "largest": Flag(False),
        "dtype": ANY_DTYPE,
        "index_dtype": INDEX_DTYPE,
    },
}


def own_tests() -> Iterator[tuple[str, ModuleType]]:
    """The ops that their test files describe, with those."""
    for file in sorted(Path(__file__).parent.glob("test_*.py")):
        if re.search(r"^CALL: Call = ", file.read_text(encoding="utf-8"), re.MULTILINE):
            yield file.stem.removeprefix("test_"), import_module(f"{__package__}.{file.stem}")


def dtypes_of(op: str) -> list[str]:
    """Of float32 and float16 those that the op takes; float32 of one that asks for none."""
    argument = CALLS[op].get("dtype")
    if not isinstance(argument, Name):
        return ["float32"]
    return [one for one in ("float32", "float16") if one not in argument.also_wrong]


CALLS |= {name: test.CALL for name, test in own_tests()}
