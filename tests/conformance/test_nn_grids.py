"""grid_sample and affine_grid of tw.nn with their gradients, unpooling and shuffled channels."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from . import samplings
from .networks import dtypes_of, gradient, held, host, near, on
from .samplings import CASES, Sampling

RNG = np.random.default_rng(20261127)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def the_same_draws() -> None:
    """Whichever tests came before."""
    RNG.bit_generator.state = START


def options(of: Sampling) -> tuple[str, str, bool]:
    return of.mode, of.padding, of.aligned


@pytest.mark.essential
@pytest.mark.sampled(20)
@pytest.mark.parametrize("case", CASES)
def test_grid_sample(be: Backend, case: str) -> None:
    of = CASES[case]
    for dtype in dtypes_of(be, False):
        x, g = held(RNG.normal(size=of.shape), dtype), held(RNG.normal(size=of.result), dtype)
        places = samplings.drawn_grid(RNG, of, lambda one, dtype=dtype: held(one, dtype))
        a, grid, grad = (on(be, one, dtype) for one in (x, places, g))
        computed = dtype if dtype == "float64" else "float32"
        result = host(tw.nn.grid_sample(a, grid, *options(of)))
        bound = samplings.tolerance(x, places, of, computed)
        stored = {"float16": 2.0**-10, "bfloat16": 2.0**-7}.get(dtype, 0.0)
        exact = samplings.sample(x, places, of)
        assert (abs(result - exact) <= bound + stored * abs(exact) + 1e-7).all()
        found = tw.nn.grid_sample_backward(grad, a, grid, *options(of))
        assert found.input is not None and found.grid is not None
        exact = samplings.by_input(g, places, of)
        # Places may be off as those of results are, of what each element sums.
        off = samplings.off_places(places, of, 2.0**-53 if dtype == "float64" else 2.0**-24)
        sizes = np.broadcast_to(abs(g) * (3 * of.axes * off[:, None] + 64 * 2.0**-24), g.shape)
        most = samplings.by_input(np.ones(g.shape), places, of)
        taken = abs(host(found.input) - exact)
        assert (taken <= sizes.max() * (16 + 4 * abs(most)) + stored * abs(exact) + 1e-6).all()
        exact = samplings.by_grid(g, x, places, of)
        bound = samplings.tolerance_by_grid(g, x, places, of, computed)
        taken = abs(host(found.grid) - exact)
        assert (taken <= bound + stored * abs(exact) + 1e-7).all()


def test_sums_by_input_are_the_same_each_time(be: Backend) -> None:
    """Of many points in few places."""
    of = Sampling((2, 3, 3, 4), (40, 50), "bilinear", "border")
    grid = on(be, RNG.uniform(-1, 1, of.grid))
    x, grad = on(be, RNG.normal(size=of.shape)), on(be, RNG.normal(size=of.result))
    found = [
        tw.nn.grid_sample_backward(grad, x, grid, *options(of), wanted=(True, False))
        for _ in range(3)
    ]
    assert all(one.grid is None for one in found)
    first, *others = (one.input.numpy() for one in found if one.input is not None)
    for other in others:
        np.testing.assert_array_equal(first, other)


def test_nothing_to_sample(be: Backend) -> None:
    for shape, out in (((0, 2, 3, 3), (2, 2)), ((2, 0, 3, 3), (2, 2)), ((2, 2, 3, 3), (0, 2))):
        of = Sampling(shape, out)
        x, grid, grad = (tw.ones(one, device=be) for one in (of.shape, of.grid, of.result))
        assert tw.nn.grid_sample(x, grid).shape == of.result
        found = tw.nn.grid_sample_backward(grad, x, grid)
        assert found.input is not None and found.grid is not None
        assert (found.input.numpy() == 0).all() and (found.grid.numpy() == 0).all()
        assert found.input.shape == of.shape and found.grid.shape == of.grid


def test_refusals(be: Backend) -> None:
    nn = tw.nn
    x, grid = tw.ones((2, 3, 4, 5), device=be), tw.ones((2, 3, 3, 2), device=be)
    for message, call in (
        ("mode is 'linear'.*, expected one of", lambda: nn.grid_sample(x, grid, "linear")),
        (
            "padding_mode is 'reflect'.*, expected one of 'zeros'",
            lambda: nn.grid_sample(x, grid, padding_mode="reflect"),
        ),
        (r"input has shape \(3, 4, 5\)", lambda: nn.grid_sample(x[0], grid)),
        (r"grid has shape \(1, 3, 3, 2\), expected \[2, height, width, 2\]",
         lambda: nn.grid_sample(x, grid[:1])),
        (r"grid is float16, expected float32 as input is",
         lambda: nn.grid_sample(x, grid.astype("float16"))),
        (r"grad has shape \(2, 3, 4, 5\), expected \(2, 3, 3, 3\)",
         lambda: nn.grid_sample_backward(x, x, grid)),
        ("wanted is True.*, expected two of True and False",
         lambda: nn.grid_sample_backward(
             grid.reshape((2, 2, 3, 3)), x[:, :2], grid, wanted=True  # type: ignore[arg-type]
         )),
        (r"theta has shape \(2, 3, 2\), expected \(2, 2, 3\)",
         lambda: nn.affine_grid(tw.ones((2, 3, 2), device=be), (2, 1, 4, 4))),
        ("size is 4.*, expected 4 or 5 integers",
         lambda: nn.affine_grid(tw.ones((2, 2, 3), device=be), 4)),  # type: ignore[arg-type]
    ):  # fmt: skip
        with pytest.raises(InvalidArgument, match=message):
            call()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (1, 1, 1, 3), (2, 1, 2, 3, 4)])
def test_affine_grid(be: Backend, size: tuple[int, ...], aligned: bool) -> None:
    axes = len(size) - 2
    lines = []
    for n in size[2:]:
        middle = (2 * np.arange(n) + 1) / n - 1
        lines.append(np.linspace(-1, 1, n) if aligned and n > 1 else middle)
    each = np.meshgrid(*lines, indexing="ij")
    base = np.stack([*reversed(each), np.ones(size[2:])], axis=-1)

    def exact(theta: np.ndarray) -> np.ndarray:
        return np.asarray(np.einsum("...k,nak->n...a", base, theta))

    for dtype in dtypes_of(be, False):
        if dtype == "float64" and not be.supports("gemm", "float64"):
            continue
        theta = held(RNG.normal(size=(size[0], axes, axes + 1)), dtype)
        near(tw.nn.affine_grid(on(be, theta, dtype), size, aligned), exact(theta), dtype, 16, 8)
        grad = held(RNG.normal(size=(size[0], *size[2:], axes)), dtype)
        found = tw.nn.affine_grid_backward(on(be, grad, dtype), size, aligned)
        slope = gradient(lambda one, grad=grad: float((exact(one) * grad).sum()), theta)
        near(found, slope, dtype, 64 if dtype != "float64" else 1e9, grad.size)


def test_identity(be: Backend) -> None:
    """The grid of the map that changes nothing gives the input back."""
    x = on(be, RNG.normal(size=(2, 3, 5, 4)))
    theta = on(be, np.tile(np.eye(2, 3), (2, 1, 1)))
    for aligned in (False, True):
        grid = tw.nn.affine_grid(theta, x.shape, aligned)
        got = tw.nn.grid_sample(x, grid, align_corners=aligned)
        np.testing.assert_allclose(got.numpy(), x.numpy(), rtol=1e-5, atol=1e-5)


# Unpooling ----------------------------------------------------------------------------------------

POOLS = {
    1: (tw.nn.max_pool1d, tw.nn.max_unpool1d, tw.nn.max_unpool1d_backward),
    2: (tw.nn.max_pool2d, tw.nn.max_unpool2d, tw.nn.max_unpool2d_backward),
    3: (tw.nn.max_pool3d, tw.nn.max_unpool3d, tw.nn.max_unpool3d_backward),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("has_batch", [False, True])
def test_max_unpool(be: Backend, axes: int, has_batch: bool) -> None:
    pool, unpool, backward = POOLS[axes]
    lengths = (7, 6, 5)[:axes]
    shape = ((2,) if has_batch else ()) + (3, *lengths)
    for dtype in dtypes_of(be, False):
        x = held(RNG.normal(size=shape), dtype)
        pooled, places = pool(on(be, x, dtype), 2, return_indices=True)
        got = unpool(pooled, places, 2, output_size=lengths)
        flat = host(pooled).reshape(-1, int(np.prod(pooled.shape[-axes:])))
        exact = np.zeros((flat.shape[0], int(np.prod(lengths))))
        np.put_along_axis(exact, places.numpy().reshape(flat.shape).astype(int), flat, axis=1)
        near(got, exact.reshape(shape), dtype, 0)
        whole = unpool(pooled, places, 2, output_size=shape)
        np.testing.assert_array_equal(host(whole), host(got))
        grad = held(RNG.normal(size=shape), dtype)
        found = backward(on(be, grad, dtype), pooled, places, 2, output_size=lengths)
        lines = np.take_along_axis(
            grad.reshape(exact.shape), places.numpy().reshape(flat.shape).astype(int), axis=1
        )
        near(found, lines.reshape(pooled.shape), dtype, 0)


def test_lengths_of_unpooled(be: Backend) -> None:
    x = tw.ones((1, 1, 3, 4), device=be)
    places = tw.zeros((1, 1, 3, 4), dtype="int32", device=be)
    for options, shape in (
        ({"kernel_size": 2}, (6, 8)),
        ({"kernel_size": 3, "stride": 2, "padding": 1}, (5, 7)),
        ({"kernel_size": (2, 3), "stride": (1, 2)}, (4, 9)),
        ({"kernel_size": 2, "output_size": (7, 8)}, (7, 8)),
        ({"kernel_size": 2, "output_size": (1, 1, 6, 9)}, (6, 9)),
    ):
        assert tw.nn.max_unpool2d(x, places, **options).shape == (1, 1, *shape)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match=r"output_size is \(8, 8\).*, expected less than the"):
        tw.nn.max_unpool2d(x, places, 2, output_size=(8, 8))
    with pytest.raises(InvalidArgument, match=r"indices are int32 of shape \(1, 3, 4\)"):
        tw.nn.max_unpool2d(x, places[0], 2)
    with pytest.raises(tw.IndexOutOfRange, match="max_unpool2d: index"):
        tw.nn.max_unpool2d(x, places + 48, 2).numpy()
    empty = tw.nn.max_unpool2d(x[:0], places[:0], 2)
    assert empty.shape == (0, 1, 6, 8)


def test_a_grid_that_no_device_holds(be: Backend) -> None:
    theta = tw.ones((2, 2, 3), device=be)
    with pytest.raises(tw.Error, match=r"\d{13}"):
        tw.nn.affine_grid(theta, (2, 1, 4, 2**40))


def test_channel_shuffle(be: Backend) -> None:
    x = RNG.integers(0, 100, (2, 6, 3, 2)).astype(np.int32)
    for groups in (1, 2, 3, 6):
        got = tw.nn.channel_shuffle(tw.asarray(x, device=be), groups)
        expected = x.reshape(2, groups, 6 // groups, 3, 2).swapaxes(1, 2).reshape(x.shape)
        np.testing.assert_array_equal(got.numpy(), expected)
        back = tw.nn.channel_shuffle_backward(got, groups)
        np.testing.assert_array_equal(back.numpy(), x)
    for wrong, message in ((4, "a multiple of 4 channels"), (0, "groups is 0, expected 1 or more")):
        with pytest.raises(InvalidArgument, match=message):
            tw.nn.channel_shuffle(tw.asarray(x, device=be), wrong)
