"""pool_backward(): what elements get of the windows that have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import tilewright as tw

from . import poolings
from .arguments import Call, EmptyCalls, In, Name, Number, Out, Size, Sizes
from .elements import FLOATS, assert_elements, shown, stored, stored_dtype
from .poolings import CASES, LONG, Windows
from .test_pool import OPS, drawn, sizes_of
from .workspace import Array, Workspace, has_float64

if TYPE_CHECKING:
    from fuzz import call as fuzz
    from fuzz.draw import Draw

CALL: Call = {
    "op": Name("max", also_wrong=("min", "sum")),
    "grad_output": In(4 * 2 * 4),
    "grad_input": Out(4 * 2 * 30),
    "planes": Size(2),
    "shape": Sizes((5, 6), positive=True, wrong=((), (5,), (5, 6, 1), (1, 1, 5, 6))),
    "output_shape": Sizes((2, 2), positive=True, wrong=((), (2,))),
    "window": Sizes((2, 2), positive=True, wrong=((2,), (2, 2, 2))),
    "stride": Sizes((2, 2), positive=True, wrong=((), (2,))),
    "pad": Sizes((1, 1), wrong=((), (1, 1, 1))),
    "dilation": Sizes((2, 2), positive=True, wrong=((), (1,))),
    "divisor": Number(0.0, wrong=(np.nan, np.inf, -np.inf)),
    "places": In(4 * 2 * 4),
    "dtype": Name("float32", also_wrong=("int32", "bool")),
}
EMPTY: EmptyCalls = [({"planes": 0}, ("grad_output", "grad_input", "places"))]


def places_of(rng: np.random.Generator, windows: Windows) -> Array:
    """Of an input whose elements are all different."""
    count = int(np.prod(windows.shape))
    x = np.stack([rng.permutation(count) for _ in range(windows.planes)]).astype(np.float64)
    return windows.pool("max", x)[1]


def run(
    ws: Workspace, op: str, grad: Array, windows: Windows, dtype: str, divisor: float = 0,
    places: Array | None = None,
) -> Array:  # fmt: skip
    out = ws.room((windows.planes, int(np.prod(windows.shape))), stored_dtype(dtype))
    held = None if places is None else ws.input(places)
    ws.be.pool_backward(op, ws.input(grad), out, *windows.arguments, divisor, held, dtype)
    return ws.read(out)


def check(
    ws: Workspace, rng: np.random.Generator, op: str, windows: Windows, dtype: str,
    divisor: float = 0,
) -> None:  # fmt: skip
    grad = poolings.elements(rng, windows, dtype, "out")
    places = places_of(rng, windows) if op == "max" else None
    wide = shown(grad, dtype).astype(np.float64)
    exact, sums = windows.pool_backward(op, wide, places, divisor)
    bound = poolings.tolerance(sums, int(np.prod(windows.out)), dtype)
    assert_elements(run(ws, op, grad, windows, dtype, divisor, places), exact, bound, dtype, op)


@pytest.mark.essential
@pytest.mark.sampled(40)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("case", CASES)
def test_against_float64(
    ws: Workspace, rng: np.random.Generator, case: str, op: str, dtype: str
) -> None:
    if dtype == "float64" and not has_float64(ws.be):
        with pytest.raises(tw.Unsupported, match="float64"):
            check(ws, rng, op, CASES[case], dtype)
        return
    check(ws, rng, op, CASES[case], dtype)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("case", LONG)
def test_long_rows(ws: Workspace, rng: np.random.Generator, case: str, op: str) -> None:
    for dtype in ("float32", "float16"):
        check(ws, rng, op, LONG[case], dtype)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("divisor", [1.0, 2.5, -3.0])
@pytest.mark.parametrize("case", ["2x2/2", "windows without elements", "adaptive", "gaps"])
def test_divisors(ws: Workspace, rng: np.random.Generator, case: str, divisor: float) -> None:
    for op in ("mean", "mean_padded"):
        check(ws, rng, op, CASES[case], "float32", divisor)


@pytest.mark.parametrize("case", ["3x3/2 and padding", "adaptive", "gaps"])
def test_it_is_the_transpose_of_the_mean(
    ws: Workspace, rng: np.random.Generator, case: str
) -> None:
    """<grad, pool(x)> = <pool_backward(grad), x> for the device's own results."""
    windows = CASES[case]
    x = poolings.elements(rng, windows, "float32")
    grad = poolings.elements(rng, windows, "float32", "out")
    out = ws.room(grad.shape)
    ws.be.pool("mean", ws.input(x), out, *windows.arguments)
    back = run(ws, "mean", grad, windows, "float32").astype(np.float64)
    there = ws.read(out).astype(np.float64)
    np.testing.assert_allclose((grad * there).sum(), (back * x).sum(), rtol=0, atol=1e-3)


@pytest.mark.parametrize("op", OPS)
def test_same_bits_each_time(ws: Workspace, rng: np.random.Generator, op: str) -> None:
    windows = CASES["large windows"]
    grad = poolings.elements(rng, windows, "float32", "out")
    places = places_of(rng, windows) if op == "max" else None
    first, second = (run(ws, op, grad, windows, "float32", places=places) for _ in range(2))
    np.testing.assert_array_equal(first.view(np.uint32), second.view(np.uint32))


def test_special_values_stay_in_their_windows(ws: Workspace) -> None:
    windows = Windows(1, (6,), (3,), (2,), (2,), (0,), (1,))
    grad = np.array([[np.inf, np.nan, 1]], np.float32)
    got = run(ws, "mean", grad, windows, "float32")
    np.testing.assert_array_equal(got, [[np.inf, np.inf, np.nan, np.nan, 0.5, 0.5]])
    got = run(ws, "max", grad, windows, "float32", places=np.array([[1, 2, 5]], np.int32))
    np.testing.assert_array_equal(got, [[0, np.inf, np.nan, 0, 0, 1]])


def test_places_that_are_nowhere(ws: Workspace) -> None:
    windows = Windows(1, (6,), (3,), (2,), (2,), (0,), (1,))
    nowhere = np.array([[-1, 6, 2**31 - 1]], np.int32)
    got = run(ws, "max", np.ones((1, 3), np.float32), windows, "float32", places=nowhere)
    assert got.tolist() == [[0.0] * 6]


def test_max_needs_places(ws: Workspace) -> None:
    sizes = (1, (4,), (2,), (2,), (2,), (0,), (1,))
    with pytest.raises(tw.InvalidArgument, match=r"places are missing, .* op is max"):
        ws.be.pool_backward("max", ws.room(2), ws.room(4), *sizes)


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    windows = drawn(draw)
    op, dtype = draw.one_of(OPS), draw.dtype()
    divisor = draw.one_of([0.0, 3.0]) if op != "max" else 0.0
    grad = stored(draw.rng.uniform(-2, 2, (windows.planes, int(np.prod(windows.out)))), dtype)
    places = places_of(draw.rng, windows) if op == "max" and windows.planes else None
    if op == "max" and places is None:
        places = np.zeros(grad.shape, np.int32)
    exact, sums = windows.pool_backward(op, grad.astype(np.float64), places, divisor)
    out = room(draw, exact.shape, dtype)
    values = {
        "op": op,
        "grad_output": operand(draw, grad),
        "grad_input": out,
        **sizes_of(windows),
        "divisor": divisor,
        "places": None if places is None else operand(draw, places),
        "dtype": dtype,
    }
    bound = poolings.tolerance(sums, int(np.prod(windows.out)), dtype)
    result = fuzz.Result(out, exact, bound)
    return fuzz.Call(name, values, [result], empty=windows.planes == 0)
