"""rmsnorm and layer_norm without weights, and of sums with a residual."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import InvalidArgument

from . import bounds, references
from .networks import Host, dtypes_of, held, near, on
from .workspace import Array, Workspace, normal

SHAPES = [(1, 1), (3, 1), (1, 3), (17, 257), (5, 1000), (3, 1028), (2, 16384), (1, 65537)]
# How outputs lie: of their own, or in the place of inputs.
PLACES = ["apart", "no sum", "sum in residual", "out in x", "both"]
NORMS = ["rmsnorm", "layer_norm"]


def run(
    ws: Workspace, op: str, x: Array, residual: Array | None, weight: Array | None,
    bias: Array | None, place: str = "apart", eps: float = 1e-5,
) -> tuple[Array, Array | None]:  # fmt: skip
    """The result, and the sum where it is written."""
    given = ws.output(x) if place in ("out in x", "both") else ws.input(x)
    out = given if place in ("out in x", "both") else ws.room(x.shape, x.dtype)
    other = total = None
    if residual is not None:
        shared = place in ("sum in residual", "both")
        other = ws.output(residual) if shared else ws.input(residual)
        total = other if shared else ws.room(x.shape, x.dtype)
        total = None if place == "no sum" else total
    lines = [None if one is None else ws.input(one) for one in (weight, bias)]
    lines = lines[:1] if op == "rmsnorm" else lines
    getattr(ws.be, op)(given, *lines, out, *x.shape, eps, x.dtype.name, other, total)
    return ws.read(out), None if total is None else ws.read(total)


def check(
    ws: Workspace, op: str, x: Array, residual: Array | None, weight: Array | None,
    bias: Array | None, place: str = "apart",
) -> None:  # fmt: skip
    whole = x
    if residual is not None:
        whole = (x.astype(np.float32) + residual.astype(np.float32)).astype(x.dtype)
    one, none = np.ones(x.shape[1], x.dtype), np.zeros(x.shape[1], x.dtype)
    w, b = (one if weight is None else weight), (none if bias is None else bias)
    eps = float(np.float32(1e-5))
    got, total = run(ws, op, x, residual, weight, bias, place)
    if op == "rmsnorm":
        exact = references.rmsnorm(whole, w, eps)
        tolerance = bounds.rmsnorm(exact, x.shape[1])
    else:
        exact = references.layer_norm(whole, w, b, eps)
        tolerance = bounds.layer_norm(*(a.astype(np.float64) for a in (whole, w, b)), eps)
    bounds.assert_within(got, exact, tolerance)
    if total is not None:
        np.testing.assert_array_equal(total, whole)


@pytest.mark.essential
@pytest.mark.sampled(40)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("op", NORMS)
def test_of_sums(
    ws: Workspace, rng: np.random.Generator, op: str, place: str, shape: tuple[int, int], dtype: str
) -> None:
    x, residual = normal(rng, shape, dtype), normal(rng, shape, dtype)
    weight, bias = normal(rng, shape[1], dtype), normal(rng, shape[1], dtype)
    check(ws, op, x, residual, weight, bias, place)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("shape", [(3, 1), (17, 257), (5, 1000), (1, 65537)])
@pytest.mark.parametrize("with_residual", [False, True])
@pytest.mark.parametrize("lacking", ["weight", "bias", "both"])
@pytest.mark.parametrize("op", NORMS)
def test_without_weights(
    ws: Workspace, rng: np.random.Generator, op: str, lacking: str, with_residual: bool,
    shape: tuple[int, int], dtype: str,
) -> None:  # fmt: skip
    x, residual = normal(rng, shape, dtype), normal(rng, shape, dtype)
    weight = None if lacking in ("weight", "both") else normal(rng, shape[1], dtype)
    bias = None if lacking in ("bias", "both") else normal(rng, shape[1], dtype)
    for place in ("apart", "out in x"):
        check(ws, op, x, residual if with_residual else None, weight, bias, place)


@pytest.mark.parametrize("op", NORMS)
def test_the_sum_is_rounded_before_it_is_normalised(
    ws: Workspace, rng: np.random.Generator, op: str, dtype: str
) -> None:
    """As if it had been stored and read again, but for what a compiler makes of a sum."""
    x, residual = normal(rng, (7, 129), dtype), normal(rng, (7, 129), dtype)
    weight = normal(rng, 129, dtype)
    fused, total = run(ws, op, x, residual, weight, None)
    assert total is not None
    alone, _ = run(ws, op, total, None, weight, None)
    np.testing.assert_array_max_ulp(fused, alone, 1)


@pytest.mark.parametrize("op", NORMS)
def test_special_values_stay_in_their_row(ws: Workspace, op: str, dtype: str) -> None:
    x, residual = np.ones((4, 33), dtype), np.arange(132).reshape(4, 33).astype(dtype)
    x[1, 4], residual[3, 32] = np.nan, np.inf
    got, total = run(ws, op, x, residual, None, None)
    assert total is not None and np.isnan(total[1, 4]) and total[3, 32] == np.inf
    # What is finite over an infinite root is 0.
    assert np.isnan(got[1]).all() and np.isnan(got[3, 32])
    assert np.isfinite(got[[0, 2]]).all()


def test_wrong_together(ws: Workspace) -> None:
    x, weight, out, total = (ws.room(4) for _ in range(4))
    with pytest.raises(InvalidArgument, match="sum is given, expected a residual beside it"):
        ws.be.rmsnorm(x, weight, out, 2, 2, 1e-5, sum=total)
    with pytest.raises(InvalidArgument, match="sum overlaps out"):
        ws.be.layer_norm(x, weight, None, out, 2, 2, 1e-5, residual=total, sum=out)


# tw.nn --------------------------------------------------------------------------------------------


def normalised(op: str, x: Host, axes: int, w: Host | None, b: Host | None, eps: float) -> Host:
    along = tuple(range(x.ndim - axes, x.ndim))
    if op == "add_layer_norm":
        x = x - x.mean(along, keepdims=True)
    found = x / np.sqrt((x * x).mean(along, keepdims=True) + eps)
    return np.asarray(found * (1 if w is None else w) + (0 if b is None else b))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("op", ["add_rms_norm", "add_layer_norm"])
@pytest.mark.parametrize("shape", [(6, 9), (2, 3, 4, 5), (0, 4)])
def test_networks(ws: Workspace, rng: np.random.Generator, op: str, shape: tuple[int, ...]) -> None:
    call: Any = getattr(tw.nn, op)
    axes = 1 if len(shape) == 2 else 2
    own = shape[-axes:]
    for dtype in dtypes_of(ws.be):
        x, residual = (held(rng.normal(size=shape), dtype) for _ in range(2))
        w, b = (held(rng.normal(size=own), dtype) for _ in range(2))
        whole = held(x + residual, dtype)
        a, r, weight, bias = (on(ws.be, one, dtype) for one in (x, residual, w, b))
        both = {} if op == "add_rms_norm" else {"bias": bias}
        for given, exact in (
            ({}, normalised(op, whole, axes, None, None, 1e-3)),
            (
                {"weight": weight, **both},
                normalised(op, whole, axes, w, b if both else None, 1e-3),
            ),
        ):
            result, total = call(a, r, own, eps=1e-3, **given)
            near(result, exact, dtype, 64, 8)
            near(total, whole, dtype, 0)
            alone = call(a, r, own, eps=1e-3, return_sum=False, **given)
            np.testing.assert_array_equal(alone.astype("float32"), result.astype("float32"))


def test_networks_refuse(ws: Workspace) -> None:
    x = tw.ones((2, 3), device=ws.be)
    with pytest.raises(InvalidArgument, match=r"residual has shape \(3,\), expected \(2, 3\)"):
        tw.nn.add_rms_norm(x, x[0], 3)
    with pytest.raises(InvalidArgument, match=r"normalized_shape is 2.*, expected the last sizes"):
        tw.nn.add_layer_norm(x, x, 2)
    with pytest.raises(InvalidArgument, match=r"return_sum is 1.*, expected True or False"):
        tw.nn.add_rms_norm(x, x, 3, return_sum=1)
