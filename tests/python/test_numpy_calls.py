"""np.* functions of Arrays by NumPy's order and names of arguments, and operands of the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw

HOST = np.arange(12, dtype=np.float32).reshape(3, 4)


def same(got: Any, expected: Any) -> None:
    assert got.shape == np.shape(expected)
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.flip(x, 0),
        lambda x: np.roll(x, 1, 0),
        lambda x: np.concatenate((x, x), 1),
        lambda x: np.stack((x, x), 1),
        lambda x: np.squeeze(x[None]),
        lambda x: np.sum(a=x),
        lambda x: np.sum(x, 0, "float32"),
        lambda x: np.any(x, 0),
        lambda x: np.all(x, 1),
        lambda x: np.argmax(x, 0),
        lambda x: np.count_nonzero(x, 0),
        lambda x: np.std(x, ddof=1),
        lambda x: np.var(x, 0, None, None, 1),
        lambda x: np.round(x, 0),
        lambda x: np.around(x, decimals=0),
        lambda x: np.clip(x, a_min=1, a_max=2),
        lambda x: np.reshape(x, (4, 3), "C"),
        lambda x: np.tensordot(x, x, 2),
        lambda x: np.tril(x, 1),
        lambda x: np.einsum("ij,ij", x, x, optimize=True),
        lambda x: np.median(x, 0, None, True),
        lambda x: np.quantile(x, q=0.5),
        lambda x: np.broadcast_to(x, (2, 3, 4), True),
        lambda x: np.isin(x, [1, 5]),
        lambda x: np.isin(x, x[0], True, True),
        lambda x: np.linalg.svd(a=x, compute_uv=False),
        lambda x: np.unique(x, axis=0),
        lambda x: np.meshgrid(x[0], sparse=True)[0],
    ],
)
def test_arguments_in_numpys_order(be: tw.Backend, call: Callable[[Any], Any]) -> None:
    same(call(tw.asarray(HOST, device=be)), call(HOST))


@pytest.mark.parametrize(
    ("call", "form"),
    [
        (lambda x: np.percentile(x, 5, weights=HOST), r"write np\.percentile\(x\.numpy\(\)"),
        (lambda x: np.zeros(3, like=x), r"write tw\.zeros\(\.\.\., device=x\.device\)"),
    ],
)
def test_what_has_no_form_says_so(be: tw.Backend, call: Callable[[Any], Any], form: str) -> None:
    with pytest.raises(tw.Unsupported, match=form):
        call(tw.asarray(HOST, device=be))


@pytest.mark.parametrize("axis", [None, 0])
def test_roll_is_a_copy(be: tw.Backend, axis: int | None) -> None:
    for shift in (0, 3, -6):
        x = tw.arange(3, device=be)
        tw.roll(x, shift, axis=axis)[0] = 99
        assert x.tolist() == [0, 1, 2]


def test_quantiles_of_no_rows(be: tw.Backend) -> None:
    x = tw.zeros((2, 0, 3), device=be)
    assert tw.median(x, axis=-1).shape == (2, 0)
    assert tw.quantile(x, [0.1, 0.5], axis=2, keepdims=True).shape == (2, 2, 0, 1)


def test_lists_in_products_keep_their_fractions(be: tw.Backend) -> None:
    x = tw.asarray([[1, 2]], dtype="int32", device=be)
    assert (x @ [[1.5], [2.5]]).tolist() == [[6.5]]
    assert ([[0.5]] @ x).tolist() == [[0.5, 1.0]]
    whole = x.astype("int8") @ [[200], [1]]
    assert whole.dtype == np.int64 and whole.tolist() == [[202]]


def test_large_integers_in_lists_are_not_rounded(be: tw.Backend) -> None:
    big = 2**63 + 5
    x = tw.asarray([big, 1], dtype="uint64", device=be)
    assert x.tolist() == [big, 1]
    x[...] = [big + 2, 1]
    assert x.tolist() == [big + 2, 1]
    x[[1, 0]] = [big, 3]
    assert x.tolist() == [3, big]
    for given in ([big, 1], [-1, big]):
        with pytest.raises(tw.InvalidArgument, match="asarray: obj"):
            tw.asarray(given, device=be)


def test_isin_of_numbers(be: tw.Backend) -> None:
    x = tw.arange(4, device=be)
    assert tw.isin(x, 3).tolist() == [False, False, False, True]
    assert tw.isin(x, [1, 9], invert=True).tolist() == [True, False, True, True]
    found = tw.isin(2, x)
    assert (found.shape, bool(found)) == ((), True)
    for given in (None, "a"):
        with pytest.raises(tw.InvalidArgument, match=r"isin: x2 is .*expected"):
            tw.isin(x, given)


def test_histogram_counts_the_extremes(be: tw.Backend) -> None:
    host = np.array([733315446484565343, 2**63 + 1025, 11270240263706885401], np.uint64)
    for bins in (1, 5, "sqrt"):
        counts = tw.histogram(tw.asarray(host, device=be), bins)[0]
        assert int(counts.sum()) == 3 and int(counts[0]) >= 1 and int(counts[-1]) >= 1


def test_what_no_number_equals_is_not_in_an_array(be: tw.Backend) -> None:
    x = tw.arange(3, device=be)
    assert None not in x and "a" not in x and 2 in x


def test_one_element_is_formatted(be: tw.Backend) -> None:
    assert f"{tw.asarray(1.5, device=be):.3f}" == "1.500"
    assert f"{tw.arange(2, device=be)}" == "[0 1]"
    assert [int(one) for one in reversed(tw.arange(3, device=be))] == [2, 1, 0]


def test_norms_of_nothing(be: tw.Backend) -> None:
    inf = float("inf")
    assert tw.linalg.vector_norm(tw.zeros((2, 0), device=be), axis=1, ord=inf).tolist() == [0, 0]
    for shape in ((3, 0), (0, 3), (0, 0)):
        for order in (1, inf):
            norm = tw.linalg.matrix_norm(tw.zeros((2, *shape), device=be), ord=order)
            assert norm.tolist() == [0, 0]
    with pytest.raises(tw.InvalidArgument, match="of no elements is not defined"):
        tw.linalg.vector_norm(tw.zeros(0, device=be), ord=-inf)


def test_functions_of_one_axis_say_so(be: tw.Backend) -> None:
    x = tw.zeros((2, 3), device=be)
    for call in (tw.sort, tw.argsort, tw.flip):
        call(x, axis=(1,))
    for call in (
        lambda: tw.sort(x, axis=(0, 1)),
        lambda: tw.concat([x, x], axis=()),
        lambda: tw.diff(x, axis=(0, 1)),
        lambda: x.swapaxes((0, 1), 1),
    ):
        with pytest.raises(tw.InvalidArgument, match=r"axis.? is .*, expected one axis"):
            call()


def test_nextafter_of_float16_is_refused(be: tw.Backend) -> None:
    x = tw.asarray(np.float16([1, -2]), device=be)
    for other in (x, 0.0, x.astype("bool")):
        with pytest.raises(tw.Unsupported, match=r"nextafter: float16 .*\.astype\('float32'\)"):
            tw.nextafter(x, other)
    same(tw.nextafter(x.astype("float32"), x), np.float32([1, -2]))
