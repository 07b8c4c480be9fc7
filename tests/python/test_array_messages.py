"""What is wrong with a call of the namespace is told by the call's own name and argument."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: tw.asarray([2**64]), r"^asarray: obj has 18446744073709551616 .* of integers"),
        (lambda x: tw.asarray(10**30), r"^asarray: obj has 1000000000000000000000000000000 "),
        (lambda x: tw.array([[1], [-(2**64)]]), r"^array: obj has -18446744073709551616 "),
        (lambda x: tw.array([300], "uint8"), r"^array: obj has numbers that uint8 does not hold"),
        (lambda x: tw.full(2, 2**63), r"^full: fill_value is 9223372036854775808 .* int64 does"),
        (lambda x: tw.full(2, -1, dtype="uint8"), r"^full: fill_value is -1 .* uint8 does"),
        (lambda x: tw.full(2, 10**400, dtype="float32"), r"^full: fill_value is 1000.* float32"),
        (lambda x: tw.eye(-1), r"^eye: n_rows is -1, expected 0 or more"),
        (lambda x: tw.eye(2, -3), r"^eye: n_cols is -3, expected 0 or more"),
        (lambda x: tw.arange(300, dtype="uint8"), r"^arange: the numbers go from 0 to 299, "),
        (lambda x: bool(x), r"^bool: the truth value of an Array of 12 elements .*any\(\) or .all"),
        (lambda x: bool(x[:0]), r"^bool: the truth value of an Array of 0 elements"),
    ],
)
def test_messages(be: tw.Backend, call: Callable[[tw.Array], Any], message: str) -> None:
    x = be.zeros(12)
    with tw.device(be), pytest.raises(tw.InvalidArgument, match=message):
        call(x)


def test_one_operand_is_one(be: tw.Backend) -> None:
    x = be.zeros(3)
    with pytest.raises(TypeError, match=r"exp\(\) takes 1 operand, and 3 are given"):
        tw.exp(x, x, x)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"add\(\) takes 2 operands, and 1 is given"):
        tw.add(x)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (9, "index 9 is out of range for axis 0 of 3 elements"),
        (-4, "index -4 is out of range for axis 0 of 3"),
        ((0, 5), "index 5 is out of range for axis 1 of 5"),
        (2**70, "index 1180591620717411303424 .* axis 0 of 3"),
        ((0, 0, 0), "an index of 3 items"),
        ((..., ...), "one Ellipsis"),
        (([0], ..., ...), "one Ellipsis"),
        (np.zeros(4, bool), "mask"),
        ([0.5], "expected integers"),
    ],
)
def test_every_wrong_index_is_one_error(be: tw.Backend, index: Any, message: str) -> None:
    x = be.zeros((3, 5))
    with pytest.raises(tw.IndexOutOfRange, match=message):
        x[index]
    with pytest.raises(IndexError, match=message):
        x[index] = 1


def test_array_is_numpys_copying_asarray(be: tw.Backend) -> None:
    with tw.device(be):
        x = tw.array([1, 2])
        assert (x.dtype, x.tolist()) == (np.int64, [1, 2])
        y = tw.array(x)
        y[0] = 7
        assert x.tolist() == [1, 2] and tw.array(x, copy=None) is x
        assert tw.array([1, 2], "int8").dtype == np.int8
        assert tw.array(x, dtype="float32").dtype == np.float32
        with pytest.raises(tw.InvalidArgument, match=r"^array: copy is False"):
            tw.array([1], copy=False)


def test_the_module_behind_it_is_still_found() -> None:
    from tilewright.array import Array

    module = importlib.import_module("tilewright.array")
    assert module.Array is Array is tw.Array and callable(tw.array)
    assert pickle.loads(pickle.dumps(Array)) is Array
    # Whichever is imported first.
    code = "import tilewright.array, tilewright; assert callable(tilewright.array)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_dir_has_public_names_alone() -> None:
    shown = {name for name in dir(tw) if not name.startswith("__")}
    assert shown == {name for name in tw.__all__ if not name.startswith("__")}
    assert {"array", "linalg", "exp"} <= shown and not {"travel", "shapes", "compiled"} & shown
