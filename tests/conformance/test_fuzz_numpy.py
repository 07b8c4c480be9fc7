"""The part of the fuzzer that draws NumPy's calls of Arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from fuzz import batch
from fuzz.call import Fault
from fuzz.draw import Draw
from fuzz.numpy_tier import GROUPS, allowed, drawn
from fuzz.numpy_tier.case import Case
from fuzz.numpy_tier.compare import check
from fuzz.numpy_tier.operands import built, numpys, on_device
from tilewright import Backend, CpuBackend


def test_a_short_run(be: Backend) -> None:
    with batch.bench(be) as bench:
        bench.only = ("namespace",)
        for _ in batch.run(bench, 1, range(60)):
            pass
        assert bench.counts["valid"] > 30
        assert bench.counts["refused"] > 2


def test_it_is_drawn_as_often_as_a_quarter_of_all() -> None:
    for kinds in (batch.KINDS, *batch.WITH_KERNELS.values()):
        assert 1 / 4 < kinds.count(batch.namespace) / len(kinds) < 1 / 2


def test_the_same_seed_gives_the_same_cases() -> None:
    with CpuBackend() as be:
        texts = [str(drawn(be, Draw(2, case))) for case in range(60)]
        assert texts == [str(drawn(be, Draw(2, case))) for case in range(60)]


def test_given_choices_give_the_same_case() -> None:
    with CpuBackend() as be:
        for number in range(20):
            first = Draw(3, number)
            text = str(drawn(be, first))
            assert str(drawn(be, Draw(3, number, first.choices))) == text
        plainest = Draw(3, 0, [])
        drawn(be, plainest)
        assert set(plainest.choices) == {0}


def test_each_kind_of_call_is_drawn() -> None:
    with CpuBackend() as be:
        for kind in {kind for group in GROUPS for kind in group}:
            for number in range(20):
                case = kind(Case(Draw(4, number), be))
                assert case.name and case.text and case.operands


def test_views_have_the_shape_that_was_asked_for() -> None:
    seen: Counter[str] = Counter()
    with CpuBackend() as be:
        for number in range(300):
            case = Case(Draw(5, number), be)
            shape, dtype = case.shape(), case.dtype()
            case.operand(shape, dtype, written=number % 2 == 0)
            _, (host,) = built(case.operands, numpys)
            _, (there,) = built(case.operands, on_device(be))
            assert list(host.shape) == shape and there.shape == host.shape
            assert there.dtype == dtype
            np.testing.assert_array_equal(there.numpy().astype(host.dtype), host)
            seen["many dimensions"] += len(shape) > 5
            seen["empty"] += 0 in shape
            seen["not contiguous"] += not there.is_contiguous
            seen["a part of complex numbers"] += case.operands[0].base.dtype.kind == "c" != dtype[0]
    assert min(seen.values()) > 5


def test_contents_reach_a_view() -> None:
    with CpuBackend() as be:
        for number in range(100):
            case = Case(Draw(6, number), be)
            content = np.arange(12, dtype="int32").reshape(3, 4)
            case.holding(content)
            _, (there,) = built(case.operands, on_device(be))
            np.testing.assert_array_equal(np.asarray(there), content)


# Planted faults -----------------------------------------------------------------------------------


def refuses(error: Exception) -> Callable[..., Any]:
    def run(_: Any) -> Any:
        raise error

    return run


def changes(x: Any) -> Any:
    x[0] = 7
    return x + 0


def changes_and_refuses(x: Any) -> Any:
    x[0] = 7
    raise tw.InvalidArgument("f: x is wrong")


def of_numbers(x: Any) -> Any:
    return x + 1


FAULTS: list[tuple[Callable[..., Any], Callable[..., Any], str]] = [
    (of_numbers, lambda x: x + 2, r"result 0 \(float32\) is off in 5 of 5 elements"),
    (of_numbers, lambda x: (x + 1).astype("float16"), "result 0 is float16, expected float32"),
    (of_numbers, lambda x: (x + 1)[1:], r"result 0 has the shape \(4,\), expected \(5,\)"),
    (of_numbers, lambda x: (x + 1).numpy(), "gives ndarray, which is the host's"),
    (of_numbers, lambda x: (x + 1, x), "gives 3 results, NumPy 1"),
    (of_numbers, refuses(tw.Unsupported("f: none")), "is refused, which NumPy does"),
    (of_numbers, refuses(TypeError("")), "refuses without a message"),
    (refuses(ValueError("no")), of_numbers, r"is taken, where NumPy says ValueError\('no'\)"),
    (of_numbers, lambda x: changes(x) * 0 + 1 + x, "is off in 1 of 5"),
    (refuses(ValueError("no")), changes_and_refuses, "is refused, but changes #0"),
    (lambda x: x > 0, lambda x: x >= -3, r"\(bool\) is off"),
    (lambda x: x.tolist(), lambda x: [*x.tolist(), 1.0], "gives 7 results, NumPy 6"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_planted_faults_are_found(number: int) -> None:
    of_host, of_array, words = FAULTS[number]
    with CpuBackend() as be:
        case = Case(Draw(7, 1, []), be)
        case.operands.clear()
        case.holding(np.float32([1, -2, 0, 3, -4]))

        def run(_: Any, x: Any) -> Any:
            return of_host(x) if isinstance(x, np.ndarray) else of_array(x)

        case.is_("f", "f(x)", run)
        with pytest.raises(Fault, match=words):
            check(case, case.draw)


def test_an_error_that_is_no_refusal_goes_on() -> None:
    with CpuBackend() as be, batch.bench(be):
        case = Case(Draw(7, 1, []), be)
        case.holding(np.float32([1]))
        case.is_("f", "f(x)", lambda _, x: x if isinstance(x, np.ndarray) else {}["x"])
        with pytest.raises(KeyError):
            check(case, case.draw)


def test_only_what_is_listed_may_be_refused() -> None:
    with CpuBackend() as be:
        for name, dtype, words, may in [
            ("less", "complex64", "less: x1 is complex64, expected real numbers", True),
            ("less out", "complex64", "less: x1 is complex64, expected real numbers", True),
            ("less", "float32", "less: x1 is complex64, expected real numbers", False),
            ("add", "complex64", "add: x1 is complex64, expected real numbers", False),
            ("less", "complex64", "less: there is no kernel", False),
            ("x[key] = y", "complex64", "x: complex64 does not hold; write value.real", True),
        ]:
            case = Case(Draw(8, 1), be).is_(name, "", lambda *_: None)
            case.holding(np.ones(1, dtype))
            assert allowed.refused(case, tw.InvalidArgument(words)) is may
