"""grid_sample_backward_grid(): what places change results by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import tilewright as tw

from . import samplings, test_grid_sample
from .arguments import Call, EmptyCalls, In, Out, Size
from .elements import FLOATS, assert_elements, shown, stored, stored_dtype
from .networks import held
from .samplings import CASES, MODES, PADDINGS, Sampling
from .test_grid_sample import drawn, drawn_sampling, sizes_of
from .workspace import Array, Workspace, has_float64

if TYPE_CHECKING:
    from fuzz import call as fuzz
    from fuzz.draw import Draw

_sizes = {
    name: one
    for name, one in test_grid_sample.CALL.items()
    if name not in ("input", "grid", "output")
}
CALL: Call = {
    "grad_output": In(4 * 2 * 3 * 6),
    "input": In(4 * 2 * 3 * 20),
    "grid": In(4 * 2 * 6 * 2),
    "grad_grid": Out(4 * 2 * 6 * 2),
    **_sizes,
    "channels": Size(3, positive=True),
}
EMPTY: EmptyCalls = [({"batch": 0}, ("grad_output", "input", "grid", "grad_grid"))]


def run(ws: Workspace, grad: Array, x: Array, grid: Array, of: Sampling, dtype: str) -> Array:
    out = ws.room(of.grid, stored_dtype(dtype))
    ws.be.grid_sample_backward_grid(
        ws.input(grad), ws.input(x), ws.input(grid), out, *of.arguments, dtype
    )
    return ws.read(out)


def check(ws: Workspace, rng: np.random.Generator, of: Sampling, dtype: str) -> None:
    x, grid = drawn(rng, of, dtype)
    grad = held(rng.normal(size=of.result), dtype)
    exact = samplings.by_grid(grad, x, grid, of)
    bound = samplings.tolerance_by_grid(grad, x, grid, of, dtype)
    got = run(ws, *(stored(one, dtype) for one in (grad, x, grid)), of, dtype)
    assert_elements(got, exact, bound, dtype, str(of))


@pytest.mark.essential
@pytest.mark.sampled(40)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("case", CASES)
def test_against_float64(ws: Workspace, rng: np.random.Generator, case: str, dtype: str) -> None:
    if dtype == "float64" and not has_float64(ws.be):
        with pytest.raises(tw.Unsupported, match="float64"):
            check(ws, rng, CASES[case], dtype)
        return
    check(ws, rng, CASES[case], dtype)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("mode", MODES)
def test_each_combination(
    ws: Workspace, rng: np.random.Generator, mode: str, padding: str, aligned: bool
) -> None:
    for shape, out in (((2, 2, 5, 3), (3, 4)), ((1, 3, 3, 2, 4), (1, 3, 3))):
        if mode != "bicubic" or len(shape) == 4:
            for dtype in ("float32", "float16"):
                check(ws, rng, Sampling(shape, out, mode, padding, aligned), dtype)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("padding", PADDINGS)
def test_is_the_derivative(
    ws: Workspace, rng: np.random.Generator, mode: str, padding: str
) -> None:
    """Differences of the reference: both are not wrong in one way."""
    of = Sampling((1, 2, 4, 5), (2, 3), mode, padding)
    x, grid = drawn(rng, of, "float32")
    grad = rng.normal(size=of.result).astype(np.float32).astype(np.float64)
    step, found = 1e-6, np.empty(grid.shape)
    for place in np.ndindex(grid.shape):
        one = np.zeros(grid.shape)
        one[place] = step
        above, below = (samplings.sample(x, grid + sign * one, of) for sign in (1, -1))
        found[place] = ((above - below) * grad).sum() / (2 * step)
    got = run(ws, *(one.astype(np.float32) for one in (grad, x, grid)), of, "float32")
    np.testing.assert_allclose(got, found, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_at_the_border_nothing_changes(ws: Workspace, rng: np.random.Generator, dtype: str) -> None:
    x = held(rng.normal(size=(1, 2, 4, 4)), dtype)
    grid = np.array([[[[-1.0, 0.25], [1.0, 0.25], [np.nan, 0.25], [-np.inf, 0.25], [7, 0.25]]]])
    grad = np.ones((1, 2, 1, 5))
    of = Sampling(x.shape, (1, 5), "bilinear", "border", True)
    got = run(ws, *(stored(one, dtype) for one in (grad, x, grid)), of, dtype)
    found = shown(got, dtype)[0, 0]
    np.testing.assert_array_equal(found[:, 0].astype(np.float64), np.zeros(5))
    assert (found[:, 1] != 0).all()


def test_same_request_same_bits(ws: Workspace, rng: np.random.Generator) -> None:
    of = CASES["many points"]
    x, grid = drawn(rng, of, "float32")
    grad = rng.normal(size=of.result)
    given = [one.astype(np.float32) for one in (grad, x, grid)]
    assert len({run(ws, *given, of, "float32").tobytes() for _ in range(3)}) == 1


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    of, dtype = drawn_sampling(draw, 1), draw.dtype()
    x, grid = drawn(draw.rng, of, dtype)
    grad = held(draw.rng.normal(size=of.result), dtype)
    exact = samplings.by_grid(grad, x, grid, of)
    bound = samplings.tolerance_by_grid(grad, x, grid, of, dtype)
    out = room(draw, of.grid, dtype)
    values = {
        "grad_output": operand(draw, stored(grad, dtype)),
        "input": operand(draw, stored(x, dtype)),
        "grid": operand(draw, stored(grid, dtype)),
        "grad_grid": out,
        **sizes_of(of),
        "dtype": dtype,
    }
    return fuzz.Call(name, values, [fuzz.Result(out, exact, bound)], empty=exact.size == 0)
