"""sparse_matmul() of batches and of blocks, and what tw.sparse makes of it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import tilewright as tw
from tilewright import Backend, sparse

from . import bounds
from .factorisations import kind_of, wide
from .sparse_matrices import Csr, blocked, draw, made, of_lengths, power_law, stencil
from .test_sparse_matmul import TYPES, check, lacks, run
from .workspace import Array, Workspace

SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 16]


def lengths_of(rng: np.random.Generator, kind: str) -> tuple[Array, int]:
    """Of rows, and how many columns."""
    if kind == "few":
        return rng.integers(0, 7, 61), 37
    if kind == "one long":
        lengths = np.zeros(97, int)
        lengths[50] = 5003
        return lengths, 211
    if kind == "power-law":
        return power_law(rng, 509, 6000), 101
    assert kind == "short"
    return rng.integers(3, 6, 3001), 3001


# Short rows by a vector ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("count", [0, 1, 2, 5, 31])
def test_rows_of_one_length(
    ws: Workspace, rng: np.random.Generator, count: int, dtype: str
) -> None:
    if lacks(ws.be, dtype):
        return
    for rows in (1, 2, 255, 256, 257, 1009):
        a = of_lengths(rng, np.full(rows, count), 333, dtype)
        check(ws, a, draw(rng, (a.cols, 1), dtype), draw(rng, (rows, 1), dtype), 1.5, -0.5)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("long", [400, 1021, 2044, 2045, 5000, 100_003])
def test_long_rows_among_short_ones(
    ws: Workspace, rng: np.random.Generator, long: int, dtype: str
) -> None:
    """As first, last and neighbouring rows of workgroups; so many elements that long rows go to
    launches of their own, and so few that they do not."""
    if lacks(ws.be, dtype):
        return
    for rows in (6000, 20_011):
        lengths = rng.integers(0, 8, rows)
        for at in (0, 255, 256, 257, 3000, rows - 1):
            lengths[at] = long
        a = of_lengths(rng, lengths, 5003, dtype)
        check(ws, a, draw(rng, (a.cols, 1), dtype))
        check(ws, a, draw(rng, (a.cols, 1), dtype), draw(rng, (rows, 1), dtype), 1.0, 2.0)


def test_many_rows_without_room_in_one_workgroup(ws: Workspace, rng: np.random.Generator) -> None:
    lengths = np.ones(200_000, int)
    lengths[512:768] = rng.integers(1500, 2500, 256)
    a = of_lengths(rng, lengths, 1009, "float32")
    check(ws, a, draw(rng, (a.cols, 1), "float32"))


def test_a_wrong_column_of_a_long_row(ws: Workspace) -> None:
    lengths = np.full(30_000, 3)
    lengths[777] = 9000
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    columns = np.zeros(offsets[-1], np.int32)
    columns[offsets[777] + 4321] = 50
    a = Csr(30_000, 50, offsets, columns, np.ones(len(columns), np.float32))
    with pytest.raises(tw.IndexOutOfRange, match="index 50 is out of range for axis 1 of 50"):
        run(ws, a, np.ones((50, 1), np.float32))


# Blocks -------------------------------------------------------------------------------------------


@pytest.mark.sampled(24)
@pytest.mark.essential
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["few", "one long", "power-law"])
def test_square_blocks_by_a_vector(
    ws: Workspace, rng: np.random.Generator, kind: str, size: int, dtype: str
) -> None:
    if lacks(ws.be, dtype):
        return
    lengths, cols = lengths_of(rng, kind)
    a = blocked(of_lengths(rng, lengths, cols, dtype), (size, size), rng)
    check(ws, a, draw(rng, (cols * size, 1), dtype))
    check(ws, a, draw(rng, (cols * size, 1), dtype), draw(rng, (a.rows * size, 1), dtype), 2, -0.5)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("blocks", [(1, 5), (5, 1), (2, 3), (7, 16), (13, 4), (9, 11), (33, 40)])
@pytest.mark.parametrize("n", [1, 3, 64])
def test_blocks_of_any_shape(
    ws: Workspace, rng: np.random.Generator, n: int, blocks: tuple[int, int], dtype: str
) -> None:
    if lacks(ws.be, dtype):
        return
    for kind in ("few", "power-law") if blocks[0] < 30 else ("few",):
        lengths, cols = lengths_of(rng, kind)
        a = blocked(of_lengths(rng, lengths, cols, dtype), blocks, rng)
        x, y = (draw(rng, (size, n), dtype) for size in (cols * blocks[1], a.rows * blocks[0]))
        check(ws, a, x)
        check(ws, a, x, y, -1.0, 1.5, gap=2)


@pytest.mark.parametrize("blocks", [(3, 3), (4, 4), (9, 11)])
@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_special_values_stay_in_the_line_of_their_block(
    ws: Workspace, special: float, blocks: tuple[int, int]
) -> None:
    values = np.ones((40, *blocks), np.float32)
    values[21, 1, 2] = special
    offsets = np.arange(0, 41, 2, dtype=np.int32)
    columns = (np.arange(40) % 5).astype(np.int32)
    a = Csr(20, 5, offsets, columns, values, blocks)
    got = run(ws, a, np.ones((5 * blocks[1], 1), np.float32))[:, 0]
    at = 10 * blocks[0] + 1
    np.testing.assert_array_equal(got[at], np.float32(special))
    assert (np.delete(got, at) == 2 * blocks[1]).all()


@pytest.mark.parametrize("n", [1, 5])
def test_a_column_of_blocks_outside_is_raised(ws: Workspace, n: int) -> None:
    columns = np.zeros(90, np.int32)
    columns[44] = 7
    a = Csr(30, 7, np.arange(0, 91, 3, dtype=np.int32), columns, np.ones((90, 3, 2), np.float32),
            (3, 2))  # fmt: skip
    with pytest.raises(tw.IndexOutOfRange, match="index 7 is out of range for axis 1 of 7"):
        run(ws, a, np.ones((14, n), np.float32))


@pytest.mark.parametrize("fill", [-1, 2**31 - 1, "falling"])
def test_offsets_of_blocks_that_make_no_sense(
    ws: Workspace, rng: np.random.Generator, fill: int | str
) -> None:
    offsets = np.full(301, 0 if fill == "falling" else fill, np.int32)
    if fill == "falling":
        offsets = np.linspace(500, 0, 301).astype(np.int32)
    columns = rng.integers(0, 9, 500).astype(np.int32)
    a = Csr(300, 9, offsets, columns, np.ones((500, 3, 3), np.float32), (3, 3))
    for n in (1, 4):
        run(ws, a, np.ones((27, n), np.float32))


# Batches ------------------------------------------------------------------------------------------


def stacked(of: list[Array], is_shared: bool) -> tuple[Array, int]:
    """Operands with gaps between them, and how far apart they are."""
    if is_shared:
        return of[0].reshape(-1), 0
    held = np.zeros((len(of), of[0].size + 3), of[0].dtype)
    held[:, :-3] = np.stack([part.reshape(-1) for part in of])
    return held, held.shape[1]


@pytest.mark.sampled(24)
@pytest.mark.essential
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shares", ["matrix", "pattern", "nothing", "x"])
@pytest.mark.parametrize("blocks", [(1, 1), (2, 3)])
@pytest.mark.parametrize("n", [1, 5])
def test_batches(
    ws: Workspace, rng: np.random.Generator, n: int, blocks: tuple[int, int], shares: str,
    dtype: str,
) -> None:  # fmt: skip
    """With gaps between the matrices of each operand that is not shared, and rows of y."""
    if lacks(ws.be, dtype):
        return
    is_complex, real = kind_of(dtype)
    for kind, batch in (("short", 3), ("power-law", 5), ("one long", 2), ("few", 70)):
        lengths, cols = lengths_of(rng, kind)
        one = [
            blocked(of_lengths(rng, rng.permutation(lengths), cols, dtype), blocks, rng)
            for _ in range(batch)
        ]
        like = one[0]
        if shares != "nothing" and shares != "x":
            one = [
                Csr(a.rows, a.cols, like.offsets, like.columns,
                    like.values if shares == "matrix" else a.values, blocks)
                for a in one
            ]  # fmt: skip
        x = draw(rng, (batch, cols * blocks[1], n), dtype)
        if shares == "x":
            x[:] = x[0]
        y = draw(rng, (batch, like.rows * blocks[0], n), dtype)

        own = shares in ("nothing", "x")
        offsets, columns, values, in_x = (
            stacked([a.offsets for a in one], not own),
            stacked([a.columns for a in one], not own),
            stacked([a.values for a in one], shares == "matrix"),
            stacked(list(x), shares == "x"),
        )
        room = np.full((batch, y[0].shape[0] + 1, n), np.nan, x.dtype)
        room[:, :-1] = y
        out = ws.output(room)
        ws.be.sparse_matmul(
            ws.input(offsets[0]), ws.input(columns[0]), ws.input(values[0]), ws.input(in_x[0]),
            out, like.rows, cols, like.nnz, n, n, n, 1.5, -0.5, is_complex, real, *blocks, batch,
            offsets[1], columns[1], values[1], in_x[1], room[0].size,
        )  # fmt: skip
        result = ws.read(out)
        assert np.isnan(result[:, -1]).all()
        for i, a in enumerate(one):
            exact = 1.5 * a.times(wide(x[i]), wide(a.values)) - 0.5 * wide(y[i])
            size = 1.5 * a.times(np.abs(wide(x[i])), np.abs(wide(a.values))) + np.abs(wide(y[i]))
            tolerance = bounds.inner_product(size, 2 * a.longest, real)
            if is_complex:
                for part in (np.real, np.imag):
                    bounds.assert_within(part(result[i, :-1]), part(exact), 2 * tolerance)
            else:
                bounds.assert_within(result[i, :-1], exact, tolerance)


def test_results_that_overlap_are_refused(ws: Workspace) -> None:
    a = made("one element", np.random.default_rng(0), "float32")
    parts = [ws.input(part) for part in (a.offsets, a.columns, a.values, np.ones(6, np.float32))]
    out = ws.output(np.zeros(6, np.float32))
    with pytest.raises(tw.InvalidArgument, match="stride_y is 2, expected at least 3"):
        ws.be.sparse_matmul(
            *parts, out, 1, 1, 1, 3, 3, 3, batch=2, stride_x=3, stride_y=2
        )  # fmt: skip


@pytest.mark.parametrize("n", [1, 6])
def test_the_same_request_again_raises_again(ws: Workspace, n: int) -> None:
    """Also where its plan is kept."""
    offsets, columns = np.arange(0, 61, 2, dtype=np.int32), np.zeros(60, np.int32)
    places = ws.input(columns)
    values, x = ws.input(np.ones(60, np.float32)), ws.input(np.ones((4, n), np.float32))
    out = ws.output(np.zeros((30, n), np.float32))
    arguments = (ws.input(offsets), places, values, x, out)
    sizes = (30, 4, 60, n, n, n)
    for wrong in (None, 4, None, -1, None):
        columns[7] = 0 if wrong is None else wrong
        ws.be.copy_htod(places, columns)
        for _ in range(3):
            if wrong is None:
                ws.be.sparse_matmul(*arguments, *sizes)
                assert (ws.read(out) == 2).all()
                continue
            with pytest.raises(tw.IndexOutOfRange, match=f"index {wrong} is out of range"):
                ws.be.sparse_matmul(*arguments, *sizes)
                ws.read(out)


# tw.sparse ----------------------------------------------------------------------------------------


def host(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Whole numbers, whose sums are exact."""
    x = rng.integers(-4, 5, shape).astype(dtype)
    return x + 1j * rng.integers(-4, 5, shape).astype(dtype) if dtype[0] == "c" else x


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr"])
def test_a_matrix_by_a_batch(
    be: Backend, rng: np.random.Generator, format: str, dtype: str
) -> None:
    dense = host(rng, (12, 18), dtype) * (rng.random((12, 18)) < 0.2)
    a = sparse.csr_array(dense, device=be)
    matrix = a.tobsr((2, 3)) if format == "bsr" else a.asformat(format)
    x = host(rng, (4, 18, 5), dtype)
    np.testing.assert_array_equal((matrix @ tw.asarray(x, device=be)).numpy(), dense @ x)
    z = host(rng, (4, 5, 12), dtype)
    np.testing.assert_array_equal((tw.asarray(z, device=be) @ matrix).numpy(), z @ dense)
    assert (matrix @ tw.asarray(x[:0], device=be)).shape == (0, 12, 5)
    with pytest.raises(tw.InvalidArgument, match="expected 18 rows in x2"):
        matrix @ tw.asarray(z, device=be)
    with pytest.raises(tw.InvalidArgument, match="one to three dimensions"):
        matrix @ tw.asarray(x[None], device=be)


@pytest.mark.parametrize("own", ["nothing", "indices", "all"])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_a_batch_of_matrices(be: Backend, rng: np.random.Generator, dtype: str, own: str) -> None:
    lengths = [rng.permutation([3, 0, 2, 5, 1]) for _ in range(3)]
    indptr = np.stack([np.concatenate([[0], np.cumsum(one)]) for one in lengths])
    indices = rng.integers(0, 7, (3, 11))
    if own != "all":
        indptr = indptr[0]
    if own == "nothing":
        indices = indices[0]
    data = host(rng, (3, 11), dtype)
    batch = sparse.csr_batch((data, indices, indptr), shape=(5, 7), device=be)
    assert batch.shape == (3, 5, 7) and batch.nnz == 11 and len(batch) == 3
    matrices = [
        sp.csr_array(
            (data[i], indices[i] if indices.ndim == 2 else indices,
             indptr[i] if indptr.ndim == 2 else indptr), shape=(5, 7),
        ).toarray()
        for i in range(3)
    ]  # fmt: skip
    dense = np.stack(matrices)
    np.testing.assert_array_equal(batch.toarray().numpy(), dense)
    for i, one in enumerate(batch):
        np.testing.assert_array_equal(one.toarray().numpy(), dense[i])
    for shape in ((7,), (7, 4), (3, 7, 4), (3, 7, 1), (3, 7, 0)):
        x = host(rng, shape, dtype)
        np.testing.assert_array_equal((batch @ tw.asarray(x, device=be)).numpy(), dense @ x)
    back = batch.mT
    assert back.shape == (3, 7, 5)
    np.testing.assert_array_equal(back.toarray().numpy(), dense.transpose(0, 2, 1))
    x = host(rng, (3, 5, 2), dtype)
    np.testing.assert_array_equal(
        (back @ tw.asarray(x, device=be)).numpy(), dense.transpose(0, 2, 1) @ x
    )


def test_wrong_batches_of_matrices(be: Backend) -> None:
    data, indices, indptr = np.ones((2, 3), np.float32), np.array([0, 1, 2]), np.array([0, 1, 3])
    wrong = [
        ((data[0], indices, indptr), r"data has shape \(3,\)"),
        ((data, indices[:2], indptr), r"indices has shape \(2,\), expected 3 columns"),
        ((data, np.stack([indices] * 3), indptr), r"indices has shape \(3, 3\), expected 2 rows"),
        ((data, indices + 2, indptr), "indices has index 4"),
        ((data, indices, indptr - 1), r"indptr\[0\] is -1"),
        ((data, indices, np.stack([indptr, indptr[::-1]])), r"indptr\[1\] is"),
        ((data.astype("int32"), indices, indptr), "data is int32"),
    ]
    for arg, message in wrong:
        with pytest.raises(tw.InvalidArgument, match=f"csr_batch: {message}"):
            sparse.csr_batch(arg, shape=(2, 4), device=be)
    good = sparse.csr_batch((data, indices, indptr), device=be)
    assert good.shape == (2, 2, 3)
    with pytest.raises(tw.InvalidArgument, match="expected 2 matrices in x2"):
        good @ tw.ones((3, 3, 1), device=be)
    with pytest.raises(IndexError, match="out of range for 2 matrices"):
        good[2]


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("solver", ["cg", "bicgstab", "gmres"])
@pytest.mark.parametrize("m", [None, "jacobi", "blocks"])
def test_solvers_of_several_right_hand_sides(
    be: Backend, rng: np.random.Generator, m: str | None, solver: str, dtype: str
) -> None:
    matrix = stencil(12, dtype, 0.5)
    a = sparse.csr_array(matrix, device=be)
    x = draw(rng, (144, 4), dtype)
    x[:, 2] = 0
    b = tw.asarray(np.asarray(matrix @ x).astype(dtype), device=be)
    of = sparse.linalg.block_jacobi(a, 6) if m == "blocks" else m
    found, info = getattr(sparse.linalg, solver)(a, b, M=of, rtol=1e-5)
    assert info == 0 and info.residual.shape == (4,) and info.tolerance.shape == (4,)
    assert (info.residual <= info.tolerance).all()
    np.testing.assert_allclose(found.numpy(), x, atol=1e-3)
    # As each alone, whatever the others need; and steps of one's own, which are not recorded.
    alone, _ = getattr(sparse.linalg, solver)(a, b[:, 1], M=of, rtol=1e-5)
    np.testing.assert_allclose(found[:, 1].numpy(), alone.numpy(), atol=1e-3)


@pytest.mark.parametrize("solver", ["cg", "bicgstab"])
def test_recorded_steps_are_those_that_a_callback_sees(be: Backend, solver: str) -> None:
    a = sparse.csr_array(stencil(9, "float32", 0.5), device=be)
    b = tw.ones(81, device=be)
    seen: list[Array] = []
    options = {"rtol": 1e-6, "maxiter": 40, "M": "jacobi"}
    one, info = getattr(sparse.linalg, solver)(a, b, **options)
    two, other = getattr(sparse.linalg, solver)(
        a, b, callback=lambda x: seen.append(x.numpy()), **options
    )
    np.testing.assert_array_equal(one.numpy(), two.numpy())
    assert info.iterations == other.iterations == len(seen)
    assert len({x.tobytes() for x in seen[:5]}) == 5
    np.testing.assert_array_equal(seen[-1], two.numpy())
