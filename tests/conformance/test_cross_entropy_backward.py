"""cross_entropy_backward(): what scores change losses by."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
import tilewright as tw

from . import class_losses, test_cross_entropy
from .arguments import Call, EmptyCalls, In, Number, Out
from .class_losses import Lines
from .elements import FLOATS, assert_elements, shown, stored, stored_dtype
from .networks import gradient, held
from .test_cross_entropy import (
    KINDS,
    REDUCTIONS,
    SHAPES,
    computes,
    drawn,
    drawn_lines,
    of_kind,
    values_of,
)
from .workspace import Array, Workspace

if TYPE_CHECKING:
    from fuzz import call as fuzz
    from fuzz.draw import Draw

_lines = {name: one for name, one in test_cross_entropy.CALL.items() if name != "losses"}
CALL: Call = {
    "scores": _lines.pop("scores"),
    "targets": _lines.pop("targets"),
    "grad_scores": Out(4 * 2 * 5 * 3),
    **_lines,
    "grad": In(4),
    "factor": Number(1.5),
}
EMPTY: EmptyCalls = [({"shape": (0, 5, 3)}, ("scores", "targets", "grad_scores"))]


def run(ws: Workspace, of: Lines, grad: Array | None = None, factor: float = 1.0) -> Array:
    out = ws.room(of.scores.shape, stored_dtype(of.dtype))
    weights = None if of.weights is None else ws.input(stored(of.weights, of.dtype))
    given = None if grad is None else ws.input(stored(grad, of.dtype))
    ws.be.cross_entropy_backward(
        ws.input(stored(of.scores, of.dtype)), ws.input(of.targets), out, *of.options(weights),
        given, factor,
    )  # fmt: skip
    return ws.read(out)


def check(ws: Workspace, of: Lines, grad: Array | None = None, factor: float = 1.0) -> None:
    exact, slack = class_losses.gradient(of, grad, factor)
    got = run(ws, of, grad, factor)
    assert_elements(got, exact, slack, of.dtype, f"{of.scores.shape} {of.reduction}")


def drawn_grad(rng: np.random.Generator, of: Lines) -> Array:
    return held(rng.normal(size=of.targets.shape if of.reduction is None else ()), of.dtype)


@pytest.mark.essential
@pytest.mark.sampled(40)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
def test_against_float64(
    ws: Workspace, rng: np.random.Generator, shape: tuple[int, ...], axis: int, dtype: str
) -> None:
    of = drawn(rng, shape, axis, dtype)
    if not computes(ws.be, dtype):
        with pytest.raises(tw.Unsupported, match="float64"):
            run(ws, of)
        return
    for i, kind in enumerate(KINDS):
        for reduction in REDUCTIONS:
            one = replace(of_kind(rng, of, kind), reduction=reduction)
            check(ws, one, drawn_grad(rng, one) if i % 2 == 0 else None, 0.75)


def test_grads_and_factors(ws: Workspace, rng: np.random.Generator) -> None:
    for shape in ((9, 5), (2, 6, 7)):
        for reduction in REDUCTIONS:
            of = replace(drawn(rng, shape, 1, "float32"), reduction=reduction)
            for grad in (None, drawn_grad(rng, of)):
                for factor in (1.0, -2.5, 0.0):
                    check(ws, of, grad, factor)


@pytest.mark.parametrize("kind", KINDS)
def test_is_the_derivative(ws: Workspace, rng: np.random.Generator, kind: str) -> None:
    """Differences of the losses: both are not wrong in one way."""
    for shape in ((4, 5), (2, 3, 4)):
        for reduction in ("sum", "mean"):
            of = replace(of_kind(rng, drawn(rng, shape, 1, "float32"), kind), reduction=reduction)
            wide = replace(of, dtype="float64", smoothing=float(np.float32(of.smoothing)))
            slopes = gradient(
                lambda x, wide=wide: float(class_losses.losses(replace(wide, scores=x))[0]),  # type: ignore[misc]
                of.scores,
            )
            np.testing.assert_allclose(run(ws, of), slopes, rtol=2e-5, atol=2e-6)


def test_targets_of_64_bits(ws: Workspace, rng: np.random.Generator) -> None:
    for shape in ((9, 5), (2, 6, 7)):
        of = drawn(rng, shape, 1, "float32")
        for reduction in REDUCTIONS:
            check(ws, replace(of, targets=of.targets.astype(np.int64), reduction=reduction))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_special_values(ws: Workspace, dtype: str) -> None:
    inf, nan = np.inf, np.nan
    rows = [
        [1, -inf, 2], [-inf, -inf, 0], [1, inf, 2], [nan, 1, 2], [-inf, -inf, -inf], [1, 2, 3],
        [6e4, 0, -6e4], [0, 0, 0],
    ]  # fmt: skip
    x = held(np.array(rows), dtype)
    for smoothing in (0.0, 0.25):
        of = Lines(x, np.full(len(rows), 2, np.int32), 1, smoothing=smoothing, dtype=dtype)
        for scores, axis in ((x, 1), (np.ascontiguousarray(x.T), 0)):
            got = shown(run(ws, replace(of, scores=scores, axis=axis)), dtype)
            got = np.asarray(got, np.float64) if axis == 1 else np.asarray(got.T, np.float64)
            assert np.isnan(got[2:5]).all()
            with np.errstate(all="ignore"):
                wide = x.astype(np.float64)
                powers = np.exp(wide - wide.max(axis=1, keepdims=True))
                parts = powers / powers.sum(axis=1, keepdims=True)
                exact = parts - np.eye(3)[2] * (1 - smoothing) - smoothing / 3
            whole = [0, 1, 5, 6, 7]
            np.testing.assert_allclose(got[whole], exact[whole], rtol=5e-3, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_ignored_lines_have_zeros(ws: Workspace, dtype: str) -> None:
    for shape, axis in (((5, 3), 1), ((5, 8), 1), ((2, 3, 4), 1), ((2, 3, 5), 1)):
        rest = np.delete(shape, axis)
        for value in (1.0, np.nan, np.inf):
            for reduction in REDUCTIONS:
                of = Lines(
                    np.full(shape, value), np.full(rest, 2, np.int32), axis, ignored=2,
                    smoothing=0.5, reduction=reduction, dtype=dtype,
                )  # fmt: skip
                assert not shown(run(ws, of), dtype).any()


@pytest.mark.parametrize("wrong", [4, -1, 2**31 - 1])
def test_classes_out_of_range(ws: Workspace, wrong: int) -> None:
    targets = np.array([0, 3, wrong, -100], np.int32)
    for reduction in REDUCTIONS:
        of = Lines(np.ones((4, 4)), targets, 1, reduction=reduction)
        with pytest.raises(
            tw.IndexOutOfRange,
            match=f"^cross_entropy_backward: index {wrong} is out of range for axis 1 of 4",
        ):
            run(ws, of)
            ws.be.synchronize()


def test_same_request_same_bits(ws: Workspace, rng: np.random.Generator) -> None:
    of = replace(drawn(rng, (60, 1031), 1, "float32"), reduction="mean", smoothing=0.5)
    assert len({run(ws, of).tobytes() for _ in range(3)}) == 1


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import operand, room

    of = drawn_lines(draw)
    grad, factor = None, draw.one_of([1.0, -0.5])
    if draw.rarely(2):
        grad = held(
            draw.rng.normal(size=of.targets.shape if of.reduction is None else ()), of.dtype
        )
    exact, slack = class_losses.gradient(of, grad, factor)
    out = room(draw, exact.shape, of.dtype)
    values = {
        **values_of(draw, of),
        "grad_scores": out,
        "grad": None if grad is None else operand(draw, grad.astype(of.dtype)),
        "factor": factor,
    }
    return fuzz.Call(name, values, [fuzz.Result(out, exact, slack)], empty=of.targets.size == 0)
