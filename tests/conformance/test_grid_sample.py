"""grid_sample(): elements of images at any places."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import tilewright as tw

from . import samplings
from .arguments import Call, EmptyCalls, Flag, In, Name, Out, Size, Sizes
from .elements import FLOATS, assert_elements, shown, stored, stored_dtype
from .networks import held
from .samplings import CASES, MODES, PADDINGS, Sampling
from .workspace import Array, Workspace, has_float64

if TYPE_CHECKING:
    from fuzz import call as fuzz
    from fuzz.draw import Draw

CALL: Call = {
    "input": In(4 * 2 * 3 * 20),
    "grid": In(4 * 2 * 6 * 2),
    "output": Out(4 * 2 * 3 * 6),
    "batch": Size(2),
    "channels": Size(3),
    "shape": Sizes((4, 5), positive=True, wrong=((), (5,), (4, 5, 1), (1, 1, 4, 5))),
    "output_shape": Sizes((3, 2), positive=True, wrong=((), (2,), (3, 2, 1))),
    "mode": Name("bilinear", also_wrong=("linear",)),
    "padding": Name("border", also_wrong=("reflect",)),
    "align_corners": Flag(True),
    "dtype": Name("float32", also_wrong=("int32", "bool")),
}
EMPTY: EmptyCalls = [
    ({"batch": 0}, ("input", "grid", "output")),
    ({"channels": 0}, ("input", "output")),
]


def run(ws: Workspace, x: Array, grid: Array, of: Sampling, dtype: str) -> Array:
    out = ws.room(of.result, stored_dtype(dtype))
    ws.be.grid_sample(ws.input(x), ws.input(grid), out, *of.arguments, dtype)
    return ws.read(out)


def drawn(rng: np.random.Generator, of: Sampling, dtype: str) -> tuple[Array, Array]:
    """An input and a grid, as float64."""
    x = held(rng.normal(size=of.shape), dtype)
    return x, samplings.drawn_grid(rng, of, lambda one: held(one, dtype))


def check(ws: Workspace, x: Array, grid: Array, of: Sampling, dtype: str) -> None:
    exact = samplings.sample(x, grid, of)
    bound = samplings.tolerance(x, grid, of, dtype)
    got = run(ws, stored(x, dtype), stored(grid, dtype), of, dtype)
    assert_elements(got, exact, bound, dtype, str(of))


@pytest.mark.essential
@pytest.mark.sampled(40)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("case", CASES)
def test_against_float64(ws: Workspace, rng: np.random.Generator, case: str, dtype: str) -> None:
    of = CASES[case]
    x, grid = drawn(rng, of, dtype)
    if dtype == "float64" and not has_float64(ws.be):
        with pytest.raises(tw.Unsupported, match="float64"):
            run(ws, x, grid, of, dtype)
        return
    check(ws, x, grid, of, dtype)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("mode", MODES)
def test_each_combination(
    ws: Workspace, rng: np.random.Generator, mode: str, padding: str, aligned: bool
) -> None:
    for shape, out in (((2, 2, 5, 3), (3, 4)), ((1, 3, 3, 2, 4), (2, 3, 3))):
        if mode == "bicubic" and len(shape) == 5:
            continue
        of = Sampling(shape, out, mode, padding, aligned)
        for dtype in ("float32", "float16"):
            check(ws, *drawn(rng, of, dtype), of, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_places_of_elements(ws: Workspace, rng: np.random.Generator, dtype: str) -> None:
    """At its middle each mode has the element itself; ties of the nearest go to the even one."""
    x = held(rng.normal(size=(1, 2, 5, 5)), dtype)
    lines = np.linspace(-1, 1, 5)
    grid = np.stack(np.meshgrid(lines, lines), axis=-1)[None]
    for mode in MODES:
        for padding in PADDINGS:
            of = Sampling(x.shape, (5, 5), mode, padding, True)
            got = run(ws, stored(x, dtype), stored(grid, dtype), of, dtype)
            np.testing.assert_array_equal(shown(got, dtype).astype(np.float64), x)
    half = np.full((1, 1, 4, 2), -1.0)
    half[..., 0] = [-0.75, -0.25, 0.25, 0.75]
    of = Sampling(x.shape, (1, 4), "nearest", "zeros", True)
    got = run(ws, stored(x, dtype), stored(half, dtype), of, dtype)
    expected = x[0, :, 0, [0, 2, 2, 4]].T
    np.testing.assert_array_equal(shown(got, dtype)[0, :, 0].astype(np.float64), expected)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_what_is_outside_is_not_read(ws: Workspace, dtype: str) -> None:
    nan, inf = np.nan, np.inf
    x = np.array([[[[nan, 1, 2], [3, 4, 5], [6, 7, inf]]]])
    beside = np.array([[[[-1.5, 0], [0, -0.9], [3, 3], [nan, 0], [inf, 0], [-inf, 0]]]])
    of = Sampling(x.shape, (1, 6), "bilinear", "zeros", False)
    got = shown(run(ws, stored(x, dtype), stored(beside, dtype), of, dtype), dtype)[0, 0, 0]
    exact = samplings.sample(x, stored(beside, dtype).astype(np.float64), of)[0, 0, 0]
    np.testing.assert_allclose(got.astype(np.float64), exact, rtol=2e-3)
    np.testing.assert_array_equal(got[2:].astype(np.float64), [0, 0, 0, 0])
    # At the border NaN and -infinity are the first element, and infinity the last.
    for padding, last in (("border", 5), ("reflection", 3)):
        for mode in MODES:
            of = Sampling(x.shape, (1, 3), mode, padding, False)
            finite = np.where(np.isfinite(x), x, 0)
            got = shown(
                run(ws, stored(finite, dtype), stored(beside[:, :, 3:], dtype), of, dtype), dtype
            )
            np.testing.assert_array_equal(got[0, 0, 0].astype(np.float64), [3, last, 3])


def test_same_request_same_bits(ws: Workspace, rng: np.random.Generator) -> None:
    of = CASES["many points"]
    x, grid = drawn(rng, of, "float32")
    x, grid = x.astype(np.float32), grid.astype(np.float32)
    assert len({run(ws, x, grid, of, "float32").tobytes() for _ in range(3)}) == 1


def test_one_launch(ws: Workspace, rng: np.random.Generator) -> None:
    for case in ("plain", "bicubic", "depth"):
        of = CASES[case]
        x, grid = (one.astype(np.float32) for one in drawn(rng, of, "float32"))
        source, places = ws.input(x), ws.input(grid)
        out = ws.room(of.result, np.float32)
        ws.be.synchronize()
        with ws.be.profile() as profile:
            ws.be.grid_sample(source, places, out, *of.arguments, "float32")
            ws.be.synchronize()
        assert [one.kernel for one in profile.records] == ["grid_sample"]


def test_wrong_together(ws: Workspace) -> None:
    x, grid, out = (ws.room(64) for _ in range(3))
    with pytest.raises(tw.InvalidArgument, match="mode is bicubic, expected bilinear or nearest"):
        ws.be.grid_sample(x, grid, out, 1, 1, (2, 2, 2), (2, 2, 2), "bicubic")
    with pytest.raises(tw.InvalidArgument, match=r"shape\[1\] is 2147483648, expected 1 to 1073"):
        ws.be.grid_sample(x, grid, out, 1, 1, (2, 2**31), (2, 2))


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    of, dtype = drawn_sampling(draw), draw.dtype()
    x, grid = drawn(draw.rng, of, dtype)
    exact = samplings.sample(x, grid, of)
    bound = samplings.tolerance(x, grid, of, dtype)
    out = room(draw, of.result, dtype)
    values = {
        "input": operand(draw, stored(x, dtype)),
        "grid": operand(draw, stored(grid, dtype)),
        "output": out,
        **sizes_of(of),
        "dtype": dtype,
    }
    return fuzz.Call(name, values, [fuzz.Result(out, exact, bound)], empty=exact.size == 0)


def sizes_of(of: Sampling) -> dict[str, object]:
    names = (
        "batch", "channels", "shape", "output_shape", "mode", "padding", "align_corners",
    )  # fmt: skip
    return dict(zip(names, of.arguments, strict=True))


def drawn_sampling(draw: Draw, least_channels: int = 0) -> Sampling:
    axes = draw.integer(2, 3)
    most = (20, 7)[axes - 2]
    shape, out = (tuple(draw.size(most) for _ in range(axes)) for _ in range(2))
    mode = draw.one_of(MODES if axes == 2 else MODES[:2])
    channels = max(draw.size_or_zero(9), least_channels)
    return Sampling(
        (draw.size_or_zero(3), channels, *shape), out, mode, draw.one_of(PADDINGS),
        draw.below(2) == 0,
    )  # fmt: skip
