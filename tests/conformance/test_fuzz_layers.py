"""The part of the fuzzer that draws tw.nn, tw.quant, tw.sparse and tw.random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from fuzz import batch
from fuzz.call import Fault
from fuzz.draw import Draw
from fuzz.nn_tier import GROUPS, allowed, compare, drawn, wrong
from fuzz.nn_tier.case import Case, Of, placed, spelled
from fuzz.numpy_tier.operands import Step
from tilewright import Backend, CpuBackend


def test_a_short_run(be: Backend) -> None:
    with batch.bench(be) as bench:
        bench.only = ("layers",)
        for _ in batch.run(bench, 1, range(60)):
            pass
        assert bench.counts["valid"] > 25
        assert bench.counts["refused"] > 8


def test_it_is_drawn_as_often_as_a_tenth_of_all() -> None:
    for kinds in (batch.KINDS, *batch.WITH_KERNELS.values()):
        assert 1 / 10 < kinds.count(batch.layers) / len(kinds) < 1 / 5


def test_the_same_seed_gives_the_same_cases() -> None:
    with CpuBackend() as be:
        texts = [str(drawn(be, be, Draw(2, case))) for case in range(60)]
        assert texts == [str(drawn(be, be, Draw(2, case))) for case in range(60)]


def test_given_choices_give_the_same_case() -> None:
    with CpuBackend() as be:
        for number in range(20):
            first = Draw(3, number)
            text = str(drawn(be, be, first))
            assert str(drawn(be, be, Draw(3, number, first.choices))) == text
        plainest = Draw(3, 0, [])
        drawn(be, be, plainest)
        assert set(plainest.choices) == {0}


def test_each_kind_of_call_is_drawn_and_runs() -> None:
    with CpuBackend() as be, np.errstate(all="ignore"):
        for kind in {kind for group in GROUPS for kind in group}:
            ran = 0
            for number in range(8):
                case = kind(Case(Draw(4, number), be, cpu=be))
                assert case.name and not isinstance(case.call, bool)
                ran += not compare.check(case)
            assert ran


def test_numbers_are_spelled_otherwise() -> None:
    draw = Draw(5, 0)
    for value in (3, -1, 2.0, 0.3, True, None, "mean", (1, 2), [3, 4]):
        kinds = set()
        for _ in range(40):
            found = spelled(draw, value)
            kinds.add(type(found))
            assert list(found) == list(value) if isinstance(value, (tuple, list)) else (
                found == value
            )  # fmt: skip
        assert len(kinds) > 1 or isinstance(value, (bool, str, type(None)))


def test_operands_stand_in_tuples_and_lists() -> None:
    assert placed([(Of(1), None), Of(0), 3], ["x", "y"]) == [("y", None), "x", 3]


# Planted faults -----------------------------------------------------------------------------------


def is_drawn(x: Any) -> bool:
    """Not the plain Array."""
    return not x.is_contiguous


def changes(x: Any) -> Any:
    x[0] = 7
    return x + 0


def raises(error: Exception) -> Any:
    raise error


FAULTS: list[tuple[Callable[..., Any], str]] = [
    (lambda x: x + 2, r"part 0 of Arrays that are plain \(float32\) is off in 5 of 5 elements"),
    (lambda x: x + (2 if is_drawn(x) else 1), "part 0 of Arrays that are drawn"),
    (lambda x: (x + 1)[1:], r"has the shape \(4,\), expected \(5,\)"),
    (lambda x: (x + 1).numpy(), "gives ndarray, which is the host's"),
    (lambda x: (x + 1, x), "gives 3 parts, expected 1"),
    (lambda x: (x + 1).astype("float16") if is_drawn(x) else x + 1,
     "part 0 is float16, of plain Arrays float32"),
    (lambda x: raises(tw.Unsupported("f: none of it")) if is_drawn(x) else x + 1,
     "plain Arrays give None, those drawn Unsupported"),
    (lambda x: raises(TypeError("")), "refuses without a message"),
    (lambda x: raises(tw.InvalidArgument("f")), "refuses without a message"),
    (lambda x: tw.asarray(x.numpy() + 1, device="cpu"), "gives an Array of another backend"),
    (lambda x: raises(tw.InvalidArgument("f: x is wrong")) if changes(x).size else x,
     "is refused: InvalidArgument"),
]  # fmt: skip


def planted(be: Backend, call: Callable[..., Any]) -> Case:
    case = Case(Draw(7, 1, []), be, cpu=be)
    case.array([5], "float32")
    case.operands[0].base = np.float32([-4, 3, 0, -2, 1])
    case.operands[0].steps = [Step("[::-1]", lambda x: x[::-1])]
    case.calls("relu", Of(0)).to(formula=lambda x: x + 1, name="f")
    case.call = lambda _, x: call(x)
    return case


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_planted_faults_are_found(number: int) -> None:
    call, words = FAULTS[number]
    with CpuBackend() as be, pytest.raises(Fault, match=words):
        compare.check(planted(be, call))


def test_what_is_right_is_not_found() -> None:
    with CpuBackend() as be:
        assert compare.check(planted(be, lambda x: x + 1)) is False


def test_an_operand_that_is_written_is_found() -> None:
    with CpuBackend() as be:
        case = planted(be, lambda x: [x + 1, changes(x)][0])
        with pytest.raises(Fault, match="the memory of #0"):
            compare.check(case)


def test_a_refused_call_that_changes_its_operands_is_found() -> None:
    with CpuBackend() as be:
        case = planted(
            be, lambda x: [changes(x), raises(tw.InvalidArgument("pad: nothing is left"))]
        )
        case.name = "conv_transpose"
        with pytest.raises(Fault, match="is refused, but changes #0"):
            compare.check(case)


def test_only_what_is_listed_may_be_refused() -> None:
    for name, words, may in [
        ("pad", "pad: 1 elements of padding along an axis of 0", True),
        ("softmax", "softmax: 1 elements of padding along an axis of 0", False),
        ("max_pool2d", "max_pool2d: padding is 1, expected at most half of the kernel size", True),
        ("pad", "pad: x is wrong", False),
    ]:
        assert allowed.refused(name, tw.InvalidArgument(words)) is may
    assert allowed.refused("pad", tw.Unsupported("pad: none of it"))
    with CpuBackend() as be, pytest.raises(Fault, match="is refused: InvalidArgument"):
        compare.check(planted(be, lambda x: raises(tw.InvalidArgument("f: x is odd"))))


@pytest.mark.parametrize("error", [KeyError("x"), AttributeError("x"), RecursionError("x")])
def test_an_error_that_is_no_refusal_goes_on(error: Exception) -> None:
    with CpuBackend() as be:
        with pytest.raises(type(error)):
            compare.check(planted(be, lambda x: raises(error)))
        with pytest.raises(type(error)):
            wrong.attempted(planted(be, lambda x: raises(error)))


def test_a_wrong_call_that_changes_its_operands_is_found() -> None:
    def call(x: Any) -> Any:
        if isinstance(x, tw.Array) and x.ndim == 1:
            return x
        raise tw.InvalidArgument("f: x is odd")

    with CpuBackend() as be:
        told = set()
        for number in range(20):
            case = planted(be, call)
            case.draw = Draw(8, number)
            wrong.refused(case)
            assert " but 0 is " in str(case)
            told.add(case.text)
        assert len(told) > 8
        case = planted(be, lambda x: raises(ValueError("")))
        with pytest.raises(Fault, match="refuses without a message"):
            wrong.refused(case)
