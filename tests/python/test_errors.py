"""Errors: their classes and messages, and that garbage raises one and does no harm."""

from __future__ import annotations

import contextlib
import math
import pickle
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from hypothesis import given, settings
from hypothesis import strategies as st

from .test_lifecycle import CALLS

BUILTINS = {
    tw.NotInitialized: RuntimeError,
    tw.InvalidArgument: ValueError,
    tw.Unsupported: NotImplementedError,
    tw.OutOfMemory: MemoryError,
    tw.DeviceError: RuntimeError,
    tw.DeviceLost: tw.DeviceError,
    tw.KernelError: tw.DeviceError,
    tw.BackendUnavailable: tw.DeviceError,
}


@pytest.mark.parametrize("cls", BUILTINS)
def test_errors_are_ours_and_the_builtin_that_fits(cls: type[tw.Error]) -> None:
    assert issubclass(cls, tw.Error) and issubclass(cls, BUILTINS[cls])
    assert cls.__module__ == "tilewright" and getattr(tw, cls.__name__) is cls
    again = pickle.loads(pickle.dumps(cls("why")))
    assert type(again) is cls and str(again) == "why"


WRONG_GEMM: list[tuple[str, Any, str]] = [
    ("trans_a", "tranpose", "trans_a is 'tranpose'.*expected a transpose: none, transpose"),
    ("trans_b", True, "trans_b is True"),
    ("m", "abc", r"m is 'abc' \(str\), expected an integer"),
    ("m", 1.0, r"m is 1\.0 \(float\), expected an integer"),
    ("n", True, r"n is True \(bool\), expected an integer"),
    ("n", np.True_, r"n is np\.True_|n is True"),
    ("k", 1 << 63, "k is 9223372036854775808.*at most 64 bits"),
    ("k", -1, "k is -1, expected 0 or more"),
    ("k", None, "k is None, expected an integer"),
    ("alpha", "1", "alpha is '1'.*expected a number"),
    ("alpha", None, "alpha is None"),
    ("alpha", 10**400, "alpha is 1000"),
    ("alpha", 1j, "alpha is 1j"),
    ("alpha", np.zeros(2), "alpha is array"),
    ("a", 1.5, "a is 1.5.*expected a buffer handle or an Array"),
    ("a", None, "a is None"),
    ("b", 12345678, "b is 12345678, which no"),
    ("lda", 0, "lda is 0, expected at least"),
    ("ldb", [2], r"ldb is \[2\]"),
    ("ldc", -(1 << 63), "ldc is -9223372036854775808"),
    ("dtype", "float65", "dtype is 'float65'.*expected a dtype: float32, float16"),
    ("dtype", np.float32, "dtype is <class"),
    ("output_dtype", "int32", "output_dtype is int32"),
    ("output_dtype", tw.BinaryOp.add, "output_dtype is <BinaryOp"),
]


@pytest.mark.parametrize(("name", "value", "message"), WRONG_GEMM)
def test_each_wrong_argument_is_named(be: tw.Backend, name: str, value: Any, message: str) -> None:
    c = be.array(np.full(4, 7, np.float32))
    ones = be.array(np.ones(4, np.float32))
    right: dict[str, Any] = {"trans_a": "none", "trans_b": "none", "m": 2, "n": 2, "k": 2}
    right |= {"alpha": 1, "a": ones, "lda": 2, "b": ones, "ldb": 2, "beta": 0, "c": c, "ldc": 2}
    with pytest.raises(tw.InvalidArgument, match=f"^gemm: {message}"):
        be.gemm(**right | {name: value})
    assert c.numpy().tolist() == [7] * 4
    be.gemm(**right)
    assert c.numpy().tolist() == [2] * 4


def test_sequences_are_checked_item_by_item(be: tw.Backend) -> None:
    x, y = be.zeros(8), be.zeros(8)
    wrong: list[tuple[Any, str]] = [
        ("ab", "shape is 'ab'"),
        (8, "shape is 8 .*expected a sequence of at most"),
        ({8}, r"shape is \{8\}"),
        (iter([8]), "shape is <list_iterator"),
        ([8, "a"], r"shape\[1\] is 'a'"),
        ([8.0], r"shape\[0\] is 8.0"),
        ([-8], r"shape\[0\] is -8"),
        ([1 << 64], r"shape\[0\] is 18446744073709551616"),
        ([1] * 65, "expected a sequence of at most 64 integers"),
        ([1 << 40, 1 << 40], "64 bits|holds"),
    ]
    for shape, message in wrong:
        with pytest.raises(tw.InvalidArgument, match=f"^softmax: .*{message}"):
            be.softmax(x, y, shape, 0)
    assert be.softmax(x, y, np.array([2, 4]), 0) is None
    assert be.softmax(x, y, range(2, 5, 2), 0) is None
    with pytest.raises(tw.InvalidArgument, match=r"stride is .*a sequence of 2 integers"):
        be.conv2d_forward(x, (1, 1, 1, 1), x, (1, 1, 1, 1), y, (1, 1, 1, 1), (1, 1, 1), (0, 0))


def test_numbers_that_are_not_allowed(be: tw.Backend) -> None:
    x, w, y = be.zeros(4), be.zeros(4), be.zeros(4)
    for eps in (math.nan, math.inf, -1):
        with pytest.raises(tw.InvalidArgument, match=r"^rmsnorm: eps is"):
            be.rmsnorm(x, w, y, 1, 4, eps)
    for scale in (math.nan, math.inf, 0, -1):
        with pytest.raises(tw.InvalidArgument, match=r"^attention: scale is"):
            be.attention(x, x, x, y, 1, 1, 1, 1, 4, scale, False)
    for causal in (1, "yes", None):
        with pytest.raises(tw.InvalidArgument, match=r"^attention: causal is"):
            be.attention(x, x, x, y, 1, 1, 1, 1, 4, 1, causal)  # type: ignore[call-overload]


def test_a_missing_or_unknown_argument_is_a_type_error(be: tw.Backend) -> None:
    with pytest.raises(TypeError, match=r"op: str, input: int"):
        be.unary("relu", 1, 2)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        be.unary("relu", 1, 2, 3, n_elements=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        be.relu()  # type: ignore[call-arg]


class Hostile:
    """An object whose every answer is an exception."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    __index__ = __float__ = __len__ = __iter__ = __bool__ = __str__ = __repr__  # type: ignore[assignment]

    def __getitem__(self, _: object) -> object:
        raise RuntimeError("no items")


def test_hostile_objects_are_refused(be: tw.Backend) -> None:
    x = be.zeros(4)
    for call in (
        lambda: be.unary("relu", x, x, Hostile()),  # type: ignore[arg-type]
        lambda: be.unary(Hostile(), x, x, 4),  # type: ignore[arg-type]
        lambda: be.unary("relu", Hostile(), x, 4),  # type: ignore[arg-type]
        lambda: be.softmax(x, x, Hostile(), 0),  # type: ignore[call-overload]
        lambda: be.rmsnorm(x, x, x, 1, 4, Hostile()),  # type: ignore[call-overload]
        lambda: be.copy_htod(x, Hostile()),  # type: ignore[arg-type]
        lambda: be.add(x, Hostile()),  # type: ignore[arg-type]
        lambda: be.zeros(Hostile()),  # type: ignore[arg-type]
    ):
        with pytest.raises(tw.InvalidArgument):
            call()


GARBAGE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.integers(),
    st.sampled_from([1 << 31, 1 << 32, 1 << 62, (1 << 63) - 1, 1 << 63, 1 << 64, -(1 << 63)]),
    st.floats(),
    st.text(max_size=3),
    st.sampled_from([*tw.UnaryOp, *tw.BinaryOp, *tw.ReduceOp, *tw.DType, *tw.Transpose]),
    st.sampled_from([*tw.Reduction, *tw.ScanOp]),
    st.sampled_from(["none", "transpose", "float32", "float16", "int32", "bfloat16", "sum"]),
    st.lists(st.one_of(st.integers(-2, 4), st.integers()), max_size=9),
    st.binary(max_size=9),
    st.sampled_from(["handle", "freed", "array", "numpy", "bytearray"]),
)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_garbage_raises_and_does_no_harm(name: str, data: st.DataObject) -> None:
    with tw.CpuBackend(memory_limit=1 << 24) as be:
        freed = be.alloc(8)
        be.free(freed)
        places = {
            "handle": be.alloc(64),
            "freed": freed,
            "array": be.zeros(16),
            "numpy": np.zeros(4, np.float32),
            "bytearray": bytearray(16),
        }
        arguments: list[Any] = []
        for right in CALLS[name]:
            # Some arguments are right, so that the others are reached.
            some = data.draw(st.one_of(st.just(right), GARBAGE))
            place = isinstance(some, str) and type(some) is str and some in places
            arguments.append(places[some] if place else some)
        with contextlib.suppress(tw.Error):
            getattr(be, name)(*arguments)
        assert be.relu([-1.0, 2.0]).numpy().tolist() == [0, 2]
