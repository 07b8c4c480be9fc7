"""The namespace's functions take NumPy's arguments, by place and by name."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument, Unsupported

from .arrays import on, same
from .numpy_calls import CALLS, OUT, Call, X

# Functions by what NumPy has, which are called elsewhere, or whose arguments are no arrays.
OTHERS = [
    "apply_along_axis",
    "array2string",
    "array_repr",
    "array_str",
    "astype",
    "broadcast_shapes",
    "can_cast",
    "from_dlpack",
    "frombuffer",
    "fromfile",
    "fromiter",
    "genfromtxt",
    "isscalar",
    "issubdtype",
    "iterable",
    "loadtxt",
    "savetxt",
    "fromfunction",
    "isdtype",
    "load",
    "may_share_memory",
    "ndim",
    "promote_types",
    "result_type",
    "roots",
    "save",
    "savez",
    "savez_compressed",
    "shape",
    "shares_memory",
    "size",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "linalg.cross",
    "linalg.diagonal",
    "linalg.eig",
    "linalg.eigh",
    "linalg.eigvals",
    "linalg.matmul",
    "linalg.matrix_transpose",
    "linalg.outer",
    "linalg.qr",
    "linalg.svd",
    "linalg.trace",
    "linalg.vecdot",
]


def found(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


def shared() -> list[str]:
    """The functions that NumPy has too, less ufuncs."""
    names = [*tw.__all__, *(f"linalg.{one}" for one in tw.linalg.__all__)]
    names += [f"fft.{one}" for one in tw.fft.__all__]
    return [
        name
        for name in names
        if inspect.isroutine(found(np, name)) and not isinstance(found(np, name), np.ufunc)
    ]


SHARED = shared()


def signature(name: str) -> inspect.Signature:
    """NumPy's; of versions that do not say it, ours."""
    try:
        return inspect.signature(found(np, name))
    except ValueError:
        return inspect.signature(found(tw, name))


def test_every_function_is_called() -> None:
    assert set(SHARED) <= set(CALLS) | set(OTHERS)
    assert not set(CALLS) & set(OTHERS)


def read(be: Backend, given: Any) -> Any:
    if isinstance(given, np.ndarray):
        return on(be, given)
    if isinstance(given, (list, tuple)):
        return type(given)(read(be, one) for one in given)
    return given


def agree(got: Any, expected: Any) -> None:
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            agree(one, other)
        return
    host = got.numpy() if isinstance(got, tw.Array) else np.asarray(got)
    assert host.shape == np.shape(expected)
    np.testing.assert_allclose(host, expected, rtol=2e-4, atol=2e-4)


def outcome(function: Callable[..., Any], places: list[Any], named: dict[str, Any]) -> Any:
    """What it gives, or what it made of the argument that it writes."""
    result = function(*places, **named)
    return places[0] if result is None else result


def copied(given: Any) -> Any:
    return given.copy() if isinstance(given, np.ndarray) else given


def check(be: Backend, name: str, call: Call, places: list[Any], named: dict[str, Any]) -> None:
    theirs = [copied(one) for one in call.places]
    at = next((i for i, one in enumerate(theirs) if one is OUT), None)
    if at is not None:
        theirs[at] = None
    expected = outcome(found(np, name), theirs, call.named)
    ours = found(tw, name)

    def filled(out: Any) -> tuple[list[Any], dict[str, Any]]:
        by_place = [out if one is OUT else read(be, one) for one in places]
        by_name = {key: out if one is OUT else read(be, one) for key, one in named.items()}
        return by_place, by_name

    with tw.device(be):
        by_place, by_name = filled(None)
        result = ours(*by_place, **by_name)
        if result is None:
            result = by_place[0] if by_place else next(iter(by_name.values()))
        agree(result, expected)
        if at is not None:
            out = tw.zeros_like(result)
            by_place, by_name = filled(out)
            assert ours(*by_place, **by_name) is out
            agree(out, expected)


@pytest.mark.parametrize("name", [one for one in CALLS if one in SHARED])
def test_by_place(be: Backend, name: str) -> None:
    call = CALLS[name]
    check(be, name, call, list(call.places), call.named)


@pytest.mark.parametrize("name", [one for one in CALLS if one in SHARED])
def test_by_name(be: Backend, name: str) -> None:
    call, places, named = CALLS[name], [], {}
    kinds = list(signature(name).parameters.values())
    is_open = any(one.kind is one.VAR_POSITIONAL for one in kinds)
    for i, value in enumerate(call.places):
        one = kinds[min(i, len(kinds) - 1)]
        if is_open or one.kind is one.POSITIONAL_ONLY:
            places.append(value)
        else:
            named[one.name] = value
    check(be, name, call, places, {**named, **call.named})


@pytest.mark.parametrize("name", SHARED)
def test_signatures_hold_numpys(name: str) -> None:
    """All places and all names of NumPy's are ours, but where its names are of no use."""
    ours = found(tw, name)
    theirs = signature(name).parameters.values()
    places = [one for one in theirs if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    only = [one for one in theirs if one.kind is one.POSITIONAL_ONLY]
    named = [one for one in theirs if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    if name in ("round", "linalg.tensordot"):
        return
    own = inspect.signature(ours)
    own.bind(*places)
    own.bind(*only, **{one.name: one for one in named})


def test_round(be: Backend) -> None:
    x = on(be, X / 7)
    for got in (
        tw.round(x, 2), tw.round(x, decimals=2), tw.round(a=x, decimals=2), tw.round(x, 2, None),
        np.round(x, 2), np.round(x, decimals=2),
    ):  # fmt: skip
        np.testing.assert_allclose(got.numpy(), np.round(X / 7, 2), rtol=1e-6)
    out = tw.zeros_like(x)
    assert tw.round(x, 2, out) is out and tw.round(x, out=out) is out and tw.round(x, out) is out
    np.testing.assert_array_equal(out.numpy(), np.round(X / 7))
    with pytest.raises(TypeError, match="'places' is given"):
        tw.round(x, places=2)
    with pytest.raises(InvalidArgument, match=r"round: decimals is 0\.5"):
        tw.round(x, 0.5)


UFUNCS = [one for one in vars(np) if isinstance(getattr(np, one), np.ufunc)]
ON_HOST = {"isnat", "matmul", "matvec", "vecdot", "vecmat"}


def lacks_powers(be: Backend) -> bool:
    """Of float64, which float_power computes in."""
    there = {str(one.value) for one in be.capabilities().storage_dtypes}
    return be.name == "webgpu" or "float64" not in there


@pytest.mark.parametrize("name", [one for one in UFUNCS if one not in ON_HOST])
def test_ufuncs_with_options(be: Backend, name: str) -> None:
    """out= by its place, where=, casting=, order= and subok= of each."""
    ufunc, ours = getattr(np, name), getattr(tw, name)
    of_integers = all(one[0] not in "fFdD" for one in ufunc.types) or name in ("ldexp",)
    host = np.int32([[2, 3, 1], [1, 4, 6]]) if of_integers else np.float32([[0.5, 1, 0.25]] * 2)
    if name in ("acosh", "arccosh"):
        host = host + 1
    given = [host] * ufunc.nin
    if name == "float_power" and lacks_powers(be):
        with pytest.raises(Unsupported, match="float64"):
            ours(*(on(be, one) for one in given))
        return
    if name in ("arctanh", "atanh"):
        given = [host / 2]
    arrays = [on(be, one) for one in given]
    plain = ours(*arrays)
    plain = plain if isinstance(plain, tuple) else (plain,)
    outs = [tw.zeros(one.shape, one.dtype, device=be) for one in plain]
    result = ours(*arrays, *outs)
    result = result if isinstance(result, tuple) else (result,)
    expected = ufunc(*given)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for one, out, other in zip(result, outs, expected, strict=True):
        assert one is out
        np.testing.assert_allclose(one.numpy(), other, rtol=2e-5, atol=1e-6)
    agree(ours(*arrays, casting="same_kind", order="K", subok=True), ufunc(*given))
    if ufunc.nout == 1:
        mask = np.asarray([True, False, True])
        out = tw.full(plain[0].shape, 1, dtype=plain[0].dtype, device=be)
        assert ours(*arrays, where=on(be, mask), out=out) is out
        wanted = np.where(mask, expected[0], np.ones_like(expected[0]))
        np.testing.assert_allclose(out.numpy(), wanted, rtol=2e-5, atol=1e-6)
    with pytest.raises(TypeError, match=r"takes no keyword|is given|unexpected keyword"):
        ours(*arrays, signature="f->f")


def test_dtypes_of_ufuncs(be: Backend) -> None:
    host = np.int32([1, -2, 3])
    x = on(be, host)
    same(tw.add(x, x, dtype="float32"), np.add(host, host, dtype="float32"))
    np.testing.assert_allclose(tw.exp(x, dtype="float32").numpy(), np.exp(host), rtol=1e-6)
    same(tw.power(x, 2, dtype="int32"), host**2)
    m = on(be, np.float32([[1, 2], [3, 4]]))
    out = tw.zeros_like(m)
    assert tw.matmul(m, m, out) is out
    same(tw.matmul(x, x, dtype="float32"), np.matmul(host, host, dtype="float32"))
    with pytest.raises(TypeError, match="an operand is float32, no int32 by 'same_kind'"):
        tw.add(m, m, dtype="int32")
    with pytest.raises(InvalidArgument, match="order is 'X'"):
        tw.add(x, x, order="X")


def test_what_changes_nothing_is_taken_and_the_rest_is_refused(be: Backend) -> None:
    x = on(be, X)
    with tw.device(be):
        same(tw.zeros((2, 3), order="F"), np.zeros((2, 3), np.float32))
        same(tw.asarray([1.0], order="K", like=None), np.float32([1]))
        for call, says in (
            (lambda: tw.zeros(2, order="Z"), "zeros: order is 'Z'"),
            (lambda: tw.ones(2, like=x), "ones: like is .*write device=like.device"),
            (lambda: tw.array([1], order=3), "array: order is 3"),
            (lambda: tw.sort(x, order="name"), "sort: order is 'name'"),
            (lambda: tw.partition(x, 1, kind="heap"), "partition: kind is 'heap'"),
            (lambda: tw.std(x, mean=x), "std: mean is "),
            (lambda: tw.isin(x, [1], kind="tree"), "isin: kind is 'tree'"),
            (lambda: tw.load("x", "r"), "load: mmap_mode is 'r'"),
            (lambda: tw.load("x", allow_pickle=True), "load: allow_pickle is True"),
            (lambda: tw.einsum("i->i", x[0], order="Q"), "einsum: order is 'Q'"),
        ):
            with pytest.raises(InvalidArgument, match=says):
                call()
        with pytest.raises(Unsupported, match=r"quantile: weights is .*np\.quantile\(x\.numpy"):
            tw.quantile(x, 0.5, weights=X)
        with pytest.raises(TypeError, match="a_min or a_max and min or max"):
            tw.clip(x, 0, 1, min=2)
        with pytest.raises(TypeError, match="neither start nor stop"):
            tw.arange()
        file = io.BytesIO()
        tw.savez(file, x, allow_pickle=False, b=3)
        file.seek(0)
        read_back = tw.load(file, None, False, True, "ASCII", max_header_size=20000)
        assert isinstance(read_back, dict)
        same(read_back["arr_0"], X)
        assert read_back["b"].item() == 3
