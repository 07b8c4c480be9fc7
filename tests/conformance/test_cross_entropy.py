"""cross_entropy(): losses of scores by the classes of their lines."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tilewright as tw

from . import class_losses
from .arguments import Call, EmptyCalls, In, Index, Name, Number, Out, Sizes
from .class_losses import Lines
from .elements import FLOATS, assert_elements, shown, stored, stored_dtype
from .networks import held
from .workspace import Array, Workspace, has_float64

if TYPE_CHECKING:
    from fuzz import call as fuzz
    from fuzz.draw import Draw

CALL: Call = {
    "scores": In(4 * 2 * 5 * 3),
    "targets": In(4 * 2 * 3),
    "losses": Out(4),
    "shape": Sizes((2, 5, 3), wrong=((), (2, 0, 3), (2, 5, 4))),
    "axis": Index(1, wrong=(3, -4)),
    "dtype": Name("float32", also_wrong=("int32", "bool")),
    "target_dtype": Name("int32", also_wrong=("int16", "uint32", "float32")),
    "weights": In(4 * 5),
    "ignored": Number(-100),
    "smoothing": Number(0.25, wrong=(-0.25, 1.25, np.nan, np.inf)),
    "reduction": Name("mean", also_wrong=("max", "min", "none")),
}
EMPTY: EmptyCalls = [({"shape": (0, 5, 3), "reduction": None}, ("scores", "targets", "losses"))]

# Lines of one class and of few, of a vector of every instruction set and beside it, of what the
# registers of one work-item and of many hold and of more; alone, and side by side in even and odd
# numbers.
SHAPES: list[tuple[tuple[int, ...], int]] = [
    ((1,), 0), ((7,), 0), ((1, 1), 1), ((3, 2), 1), ((9, 3), 1), ((70, 10), 1), ((33, 16), 1),
    ((5, 17), 1), ((40, 64), 1), ((37, 65), 1), ((6, 127), 1), ((3, 1000), 1), ((2, 1031), 1),
    ((35, 1024), 1), ((2, 8200), 1), ((1, 50257), 1), ((3, 50256), 1), ((700, 3), 1),
    ((3, 6, 2), 1), ((2, 21, 5, 7), 1), ((2, 10, 4, 6), 1), ((1, 2, 300), 1), ((2, 1, 9), 1),
    ((4, 9), 0), ((100, 5), 0), ((2, 1000, 18), 1), ((1, 3, 20, 40), 1),
    ((2, 3, 2, 2, 3, 1, 2), -2),
]  # fmt: skip
KINDS = ["plain", "weights", "smooth", "smooth weights"]
REDUCTIONS = [None, "sum", "mean"]


def drawn(rng: np.random.Generator, shape: tuple[int, ...], axis: int, dtype: str) -> Lines:
    x = held(rng.uniform(-6, 6, shape), dtype)
    classes = shape[axis]
    targets = rng.integers(0, classes, np.delete(shape, axis)).astype(np.int32)
    if targets.size > 2:
        targets.reshape(-1)[:: max(2, targets.size // 3)] = -100
    return Lines(x, targets, axis, dtype=dtype)


def of_kind(rng: np.random.Generator, of: Lines, kind: str) -> Lines:
    if "weights" in kind:
        weights = held(rng.uniform(0.25, 2, of.classes), of.dtype)
        weights[:: max(3, of.classes // 2)] = 0
        kept = of.targets[of.targets != of.ignored]
        if kept.size and not weights[kept].any():
            weights[kept[0]] = 1
        of = replace(of, weights=weights)
    return replace(of, smoothing=0.125) if "smooth" in kind else of


def run(ws: Workspace, of: Lines) -> Array:
    shape = of.targets.shape if of.reduction is None else ()
    losses = ws.room(shape, stored_dtype(of.dtype))
    weights = None if of.weights is None else ws.input(stored(of.weights, of.dtype))
    ws.be.cross_entropy(
        ws.input(stored(of.scores, of.dtype)), ws.input(of.targets), losses, *of.options(weights)
    )
    return ws.read(losses)


def computes(be: tw.Backend, dtype: str) -> bool:
    """float64 has no exponentials on webgpu."""
    return dtype != "float64" or (has_float64(be) and be.name != "webgpu")


def check(ws: Workspace, of: Lines) -> None:
    exact, slack = class_losses.losses(of)
    assert_elements(run(ws, of), exact, slack, of.dtype, f"{of.scores.shape} {of.reduction}")


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
    for kind in KINDS:
        for reduction in REDUCTIONS:
            check(ws, replace(of_kind(rng, of, kind), reduction=reduction))


def test_targets_of_64_bits(ws: Workspace, rng: np.random.Generator) -> None:
    for shape, axis in (((9, 5), 1), ((2, 6, 7), 1)):
        of = drawn(rng, shape, axis, "float32")
        of = replace(of, targets=of.targets.astype(np.int64))
        for reduction in REDUCTIONS:
            check(ws, replace(of, reduction=reduction))
        far = of.targets.copy()
        far[far == -100] = -(2**40)
        check(ws, replace(of, targets=far, ignored=-(2**40)))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_special_values(ws: Workspace, dtype: str) -> None:
    inf, nan = np.inf, np.nan
    rows = [
        [1, -inf, 2], [-inf, -inf, 0], [1, inf, 2], [nan, 1, 2], [-inf, -inf, -inf], [1, 2, 3],
        [6e4, 0, -6e4], [0, 0, 0], [30, 0, -30],
    ]  # fmt: skip
    x = held(np.array(rows), dtype)
    for target in range(3):
        targets = np.full(len(rows), target, np.int32)
        for smoothing in (0.0, 0.25):
            of = Lines(x, targets, 1, smoothing=smoothing, dtype=dtype)
            check(ws, of)
            turned = np.ascontiguousarray(x.T)
            check(ws, replace(of, scores=turned, axis=0))
            for row, one in enumerate(rows):
                if np.isfinite(one).all():
                    part = replace(of, scores=x[row : row + 1], targets=targets[:1])
                    check(ws, replace(part, reduction="mean"))


def test_losses_next_to_nothing_keep_their_digits(ws: Workspace) -> None:
    x = np.float32([[0, -8], [0, -14], [9, 0], [0, -100]])
    of = Lines(x, np.zeros(4, np.int32), 1)
    exact = class_losses.losses(of)[0]
    np.testing.assert_allclose(run(ws, of), exact.astype(np.float64), rtol=2e-7, atol=1.3e-7)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_all_ignored(ws: Workspace, dtype: str) -> None:
    of = Lines(np.ones((5, 3)), np.full(5, 1, np.int32), 1, ignored=1, dtype=dtype)
    assert np.isnan(shown(run(ws, replace(of, reduction="mean")), dtype)).all()
    assert not shown(run(ws, replace(of, reduction="sum")), dtype).any()
    assert not shown(run(ws, of), dtype).any()
    # What an ignored line holds is not seen.
    nan = np.full((5, 3), np.nan)
    assert not shown(run(ws, replace(of, scores=nan, smoothing=0.5)), dtype).any()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_no_lines(ws: Workspace, dtype: str) -> None:
    for shape, axis in (((0, 3), 1), ((2, 3, 0), 1)):
        of = Lines(np.empty(shape), np.empty(np.delete(shape, axis), np.int32), axis, dtype=dtype)
        assert run(ws, of).shape == of.targets.shape
        assert float(run(ws, replace(of, reduction="sum"))) == 0
        assert np.isnan(float(run(ws, replace(of, reduction="mean"))))


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("wrong", [4, -1, -4, 2**31 - 1, -(2**31)])
def test_classes_out_of_range(ws: Workspace, wrong: int, wide: bool) -> None:
    targets = np.array([0, 3, wrong, -100], np.int64 if wide else np.int32)
    for scores, axis in ((np.ones((4, 4)), 1), (np.ones((1, 4, 4)), 1)):
        found = targets.reshape(np.delete(scores.shape, axis))
        for reduction in REDUCTIONS:
            of = Lines(scores, found, axis, reduction=reduction)
            with pytest.raises(
                tw.IndexOutOfRange,
                match=f"^cross_entropy: index {wrong} is out of range for axis 1 of 4 elements$",
            ):
                run(ws, of)
                ws.be.synchronize()
    ok = Lines(np.ones((2, 4)), np.array([1, wrong], targets.dtype), 1, ignored=wrong)
    check(ws, ok)


def test_same_request_same_bits(ws: Workspace, rng: np.random.Generator) -> None:
    of = replace(drawn(rng, (60, 1031), 1, "float32"), reduction="mean", smoothing=0.5)
    assert len({run(ws, of).tobytes() for _ in range(3)}) == 1


def drawn_lines(draw: Draw) -> Lines:
    shape, dtype = draw.shape(5, 1 << 14 if draw.rarely(6) else 2000, 1), draw.dtype()
    axis = draw.below(len(shape))
    shape[axis] = max(1, shape[axis])
    scale = draw.one_of([1.0, 8.0, 50.0])
    x = draw.with_specials((draw.normal(shape, "float32") * np.float32(scale)).astype(dtype))
    ignored = draw.one_of([-100, 0, 2])
    rest = [size for i, size in enumerate(shape) if i != axis]
    targets = draw.rng.integers(0, shape[axis], rest)
    targets[draw.rng.random(rest) < 0.2] = ignored
    weights = None
    if draw.rarely(2):
        weights = held(draw.rng.uniform(0, 2, shape[axis]), dtype)
    return Lines(
        np.asarray(x, np.float64), targets.astype(draw.one_of(["int32", "int64"])),
        axis, weights, ignored, draw.one_of([0.0, 0.0, 0.125, 1.0]),
        draw.one_of([None, "sum", "mean"]), dtype,
    )  # fmt: skip


def values_of(draw: Draw, of: Lines) -> dict[str, Any]:
    from fuzz.ops.rows import operand

    weights = None if of.weights is None else operand(draw, of.weights.astype(of.dtype))
    names = (
        "shape", "axis", "dtype", "target_dtype", "weights", "ignored", "smoothing", "reduction",
    )  # fmt: skip
    return {
        "scores": operand(draw, of.scores.astype(of.dtype)),
        "targets": operand(draw, of.targets),
        **dict(zip(names, of.options(weights), strict=True)),
        "axis": of.axis - draw.one_of([0, of.scores.ndim]),
    }


def generate(draw: Draw, name: str) -> fuzz.Call:
    """For the fuzzer."""
    from fuzz import call as fuzz
    from fuzz.ops.rows import room

    of = drawn_lines(draw)
    exact, slack = class_losses.losses(of)
    out = room(draw, exact.shape, of.dtype)
    values = {**values_of(draw, of), "losses": out}
    return fuzz.Call(name, values, [fuzz.Result(out, exact, slack)], empty=of.targets.size == 0)
