"""pool(): the largest, the mean and places of windows along one to three axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import tilewright as tw

from . import poolings
from .arguments import Call, EmptyCalls, In, Name, Number, Out, Size, Sizes
from .elements import FLOATS, assert_elements, shown, stored, stored_dtype
from .poolings import CASES, LONG, Windows
from .workspace import Array, Workspace, has_float64

if TYPE_CHECKING:
    from fuzz import call as fuzz
    from fuzz.draw import Draw

CALL: Call = {
    "op": Name("max", also_wrong=("min", "sum")),
    "input": In(4 * 2 * 30),
    "output": Out(4 * 2 * 4),
    "planes": Size(2),
    "shape": Sizes((5, 6), positive=True, wrong=((), (5,), (5, 6, 1), (1, 1, 5, 6))),
    "output_shape": Sizes((2, 2), positive=True, wrong=((), (2,))),
    "window": Sizes((2, 2), positive=True, wrong=((2,), (2, 2, 2))),
    "stride": Sizes((2, 2), positive=True, wrong=((), (2,))),
    "pad": Sizes((1, 1), wrong=((), (1, 1, 1))),
    "dilation": Sizes((2, 2), positive=True, wrong=((), (1,))),
    "divisor": Number(0.0, wrong=(np.nan, np.inf, -np.inf)),
    "places": Out(4 * 2 * 4),
    "dtype": Name("float32", also_wrong=("int32", "bool")),
}
EMPTY: EmptyCalls = [({"planes": 0}, ("input", "output", "places"))]

OPS = ["max", "mean", "mean_padded"]


def run(
    ws: Workspace, op: str, x: Array, windows: Windows, dtype: str, divisor: float = 0,
    with_places: bool = False,
) -> tuple[Array, Array]:  # fmt: skip
    shape = (windows.planes, int(np.prod(windows.out)))
    out = ws.room(shape, stored_dtype(dtype))
    places = ws.room(shape, np.int32) if with_places else None
    ws.be.pool(op, ws.input(x), out, *windows.arguments, divisor, places, dtype)
    return ws.read(out), np.zeros(0) if places is None else ws.read(places)


def check(
    ws: Workspace, op: str, x: Array, windows: Windows, dtype: str, divisor: float = 0
) -> None:
    exact, places, sums = windows.pool(op, shown(x, dtype).astype(np.float64), divisor)
    got, found = run(ws, op, x, windows, dtype, divisor, op == "max")
    if op == "max":
        np.testing.assert_array_equal(found, places)
        np.testing.assert_array_equal(got, run(ws, op, x, windows, dtype)[0])
        sums = np.zeros_like(exact)
    else:
        sums = poolings.tolerance(sums, windows.most, dtype)
    assert_elements(got, exact, sums, dtype, op)


@pytest.mark.essential
@pytest.mark.sampled(40)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("case", CASES)
def test_against_float64(
    ws: Workspace, rng: np.random.Generator, case: str, op: str, dtype: str
) -> None:
    windows = CASES[case]
    x = poolings.elements(rng, windows, dtype)
    if dtype == "float64" and not has_float64(ws.be):
        with pytest.raises(tw.Unsupported, match="float64"):
            run(ws, op, x, windows, dtype)
        return
    check(ws, op, x, windows, dtype)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("case", LONG)
def test_long_rows(ws: Workspace, rng: np.random.Generator, case: str, op: str) -> None:
    for dtype in ("float32", "float16"):
        check(ws, op, poolings.elements(rng, LONG[case], dtype), LONG[case], dtype)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("divisor", [1.0, 2.5, -3.0])
@pytest.mark.parametrize("case", ["2x2/2", "windows without elements", "adaptive", "one axis"])
def test_divisors(ws: Workspace, rng: np.random.Generator, case: str, divisor: float) -> None:
    for op in ("mean", "mean_padded"):
        check(
            ws, op, poolings.elements(rng, CASES[case], "float32"), CASES[case], "float32", divisor
        )


def test_special_values(ws: Workspace) -> None:
    nan, inf = np.nan, np.inf
    windows = Windows(1, (12,), (6,), (2,), (2,), (0,), (1,))
    for dtype in ("float32", "float16", "bfloat16"):
        x = stored([[nan, 1, 2, nan, nan, nan, -inf, -inf, inf, 1, -0.0, 0.0]], dtype)
        got, places = run(ws, "max", x, windows, dtype, with_places=True)
        assert places.tolist() == [[0, 3, 4, 6, 8, 10]]
        found = shown(got, dtype)[0]
        np.testing.assert_array_equal(found, [nan, nan, nan, -inf, inf, -0.0])
        assert np.signbit(found[5])
        mean = shown(run(ws, "mean", x, windows, dtype)[0], dtype)[0]
        np.testing.assert_array_equal(mean, [nan, nan, nan, -inf, inf, 0.0])
    # The padding is less than any element, and none of the places.
    x = np.full((1, 3), -inf, np.float32)
    padded = Windows(1, (3,), (5,), (2,), (1,), (1,), (1,))
    got, places = run(ws, "max", x, padded, "float32", with_places=True)
    assert places.tolist() == [[0, 0, 1, 2, -1]] and (got == -inf).all()


def test_elements_are_moved_as_they_are(ws: Workspace) -> None:
    x = np.array([[0x7FC01234, 0x00000001, 0x80000001, 0xFF800000]], np.uint32).view(np.float32)
    one = Windows(1, (4,), (4,), (1,), (1,), (0,), (1,))
    got = run(ws, "max", x, one, "float32")[0]
    np.testing.assert_array_equal(got.view(np.uint32), x.view(np.uint32))


def test_sums_of_16_bits_are_not_rounded_on_the_way(ws: Workspace) -> None:
    windows = Windows(1, (8,), (2,), (4,), (4,), (0,), (1,))
    got = run(ws, "mean", np.full((1, 8), 6e4, np.float16), windows, "float16")[0]
    np.testing.assert_array_equal(got, np.full((1, 2), 6e4, np.float16))


def test_what_reaches_further_than_32_bits(ws: Workspace, rng: np.random.Generator) -> None:
    x = poolings.elements(rng, Windows(1, (5,), (1,)), "float32")
    for far in (
        Windows(1, (5,), (2,), (3,), (2**40,), (0,), (1,)),
        Windows(1, (5,), (2,), (3,), (1,), (2**40,), (1,)),
    ):
        if ws.be.name == "cpu":
            check(ws, "max", x, far, "float32")
        else:
            with pytest.raises(tw.Unsupported, match=r"pool: stride and pad .* split the work"):
                run(ws, "max", x, far, "float32")
    # The rest of a window that large is nowhere.
    for op in OPS:
        for near in (
            Windows(1, (5,), (2,), (3,), (1,), (1,), (2**40,)),
            Windows(1, (5,), (1,), (3,), (2**40,), (1,), (1,)),
        ):
            check(ws, op, x, near, "float32")
    huge = Windows(1, (5,), (2,), (2**40,), (1,), (1,), (1,))
    same = Windows(1, (5,), (2,), (9,), (1,), (1,), (1,))
    np.testing.assert_array_equal(
        run(ws, "mean", x, huge, "float32")[0], run(ws, "mean", x, same, "float32")[0]
    )


def test_wrong_together(ws: Workspace) -> None:
    x, out, places = (ws.room(4) for _ in range(3))
    sizes = (1, (4,), (2,), (2,), (2,), (0,), (1,))
    with pytest.raises(tw.InvalidArgument, match=r"places are given, .* op is mean"):
        ws.be.pool("mean", x, out, *sizes, 0, places)
    with pytest.raises(tw.InvalidArgument, match=r"divisor is 2, expected 0: max is not divided"):
        ws.be.pool("max", x, out, *sizes, 2)
    with pytest.raises(tw.InvalidArgument, match="stride has 1 numbers, expected 0, as window"):
        ws.be.pool("mean", x, out, 1, (4,), (2,), (), (2,), (), ())


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    windows = drawn(draw)
    op, dtype = draw.one_of(OPS), draw.dtype()
    divisor = draw.one_of([0.0, 3.0]) if op != "max" else 0.0
    x = stored(draw.rng.integers(-20, 20, (windows.planes, int(np.prod(windows.shape)))) / 4, dtype)
    exact, places, sums = windows.pool(op, x.astype(np.float64), divisor)
    bound = np.zeros_like(sums) if op == "max" else poolings.tolerance(sums, windows.most, dtype)
    out = room(draw, exact.shape, dtype)
    found = None
    results = [fuzz.Result(out, exact, bound)]
    if op == "max" and draw.rarely(2):
        found = operand(draw, np.full(exact.shape, 7, np.int32))
        results.append(fuzz.Result(found, places.astype(np.float64), np.zeros(exact.shape)))
    values = {
        "op": op,
        "input": operand(draw, x),
        "output": out,
        **sizes_of(windows),
        "divisor": divisor,
        "places": found,
        "dtype": dtype,
    }
    return fuzz.Call(name, values, results, empty=windows.planes == 0)


def sizes_of(windows: Windows) -> dict[str, object]:
    names = ("planes", "shape", "output_shape", "window", "stride", "pad", "dilation")
    return dict(zip(names, windows.arguments, strict=True))


def drawn(draw: Draw) -> Windows:
    axes = draw.integer(1, 3)
    most = (300, 40, 12)[axes - 1]
    shape = tuple(draw.size(most) for _ in range(axes))
    planes = draw.size_or_zero(max(1, 3000 // int(np.prod(shape))))
    if draw.rarely(4):
        return Windows(planes, shape, tuple(draw.size(most) for _ in range(axes)))
    window, stride, dilation = (
        tuple(draw.integer(1, top) for _ in range(axes)) for top in (5, 4, 3)
    )
    pad = tuple(draw.integer(0, 4) for _ in range(axes))
    out = tuple(
        draw.integer(1, max(1, (n + 2 * p) // s + 1))
        for n, p, s in zip(shape, pad, stride, strict=True)
    )
    return Windows(planes, shape, out, window, stride, pad, dilation)
