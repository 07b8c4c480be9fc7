"""Products by elements, parts and blocks of sparse arrays beside SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import tilewright as tw
from tilewright import Backend, InvalidArgument, sparse
from tilewright.operands import stored
from tilewright.sparse import linalg

from .sparse_matrices import CLASSES, FORMATS, draw, random, same, stencil

SHAPES = [(0, 0), (0, 5), (5, 0), (1, 1), (1, 300), (300, 1), (37, 61)]


@pytest.fixture(params=["float32", "complex64", "float64"])
def dtype(request: pytest.FixtureRequest, be: Backend) -> str:
    """What the device has; elsewhere float32 once more."""
    return str(request.param) if np.dtype(request.param) in stored(be) else "float32"


# Products by elements ----------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_by_elements(be: Backend, shape: tuple[int, int], format: str, dtype: str) -> None:
    one, two = random(shape, format, dtype, 1), random(shape, "coo", dtype, 2)
    a = CLASSES[format](one, device=be)
    full, other = one.toarray(), two.toarray()
    for b in (sparse.coo_array(two, device=be), sparse.csc_array(two, device=be)):
        got = a * b
        assert got.format == ("csc" if format == "csc" else "csr") and got.has_canonical_format
        np.testing.assert_array_equal(got.toarray().numpy(), full * other)
    rng = np.random.default_rng(3)
    for dense_shape in (shape, (1, shape[1]), (shape[0], 1), (shape[1],), (1, 1)):
        dense = rng.integers(-3, 4, dense_shape).astype(dtype)
        for x in (dense, tw.asarray(dense, device=be)):
            got = a.multiply(x)
            assert got.format == format and got.nnz == a.nnz
            np.testing.assert_array_equal(got.toarray().numpy(), full * dense)
    np.testing.assert_array_equal((3 * a).toarray().numpy(), 3 * full)


def test_by_elements_beyond_one_key(be: Backend) -> None:
    """Places that one number of 32 bits does not count."""
    rng = np.random.default_rng(1)
    shape = (70_001, 80_003)
    row, col = (rng.integers(0, size, 3000) for size in shape)
    one = sp.coo_array((rng.integers(1, 9, 3000).astype("float32"), (row, col)), shape=shape)
    two = sp.coo_array((np.full(2000, 2, "float32"), (row[1000:], col[1000:])), shape=shape)
    got = sparse.csr_array(one, device=be) * sparse.csr_array(two, device=be)
    expected = one.tocsr() * two.tocsr()
    assert abs(got.to_scipy() - expected).sum() == 0 and got.nnz == expected.nnz


@pytest.mark.parametrize("k", [0, 1, 7, 64])
def test_sampled_products(be: Backend, k: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = random((83, 59), "csr", dtype, 5)
    matrix.sum_duplicates()
    a = sparse.csr_array(matrix, device=be)
    rng = np.random.default_rng(7)
    x, y = (rng.integers(-3, 4, shape).astype(dtype) for shape in ((83, k), (k, 59)))
    pattern = matrix.copy()
    pattern.data[...] = 1
    full, sampled = matrix.toarray(), pattern.toarray() * (x @ y)
    on_device = [tw.asarray(one, device=be) for one in (x, y)]
    same(sparse.sampled_addmm(a, *on_device), sp.csr_array(full + sampled))
    got = sparse.sampled_addmm(a, *on_device, beta=0, alpha=-2)
    assert got.nnz == a.nnz
    np.testing.assert_array_equal(got.toarray().numpy(), -2 * sampled)
    monkeypatch.setattr("tilewright.sparse.elements.MOST_SAMPLED", 1 << 12)
    parts = sparse.sampled_addmm(a, *on_device, beta=0, alpha=-2)
    np.testing.assert_array_equal(parts.data.numpy(), got.data.numpy())
    nothing = sparse.csr_array((83, 59), dtype=dtype, device=be)
    assert sparse.sampled_addmm(nothing, *on_device).nnz == 0


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_sampled_products_count_a_place_once(be: Backend, format: str) -> None:
    """Of elements of one place the sum is what A has there."""
    row, col = np.array([0, 2, 0, 0, 2]), np.array([1, 0, 1, 0, 3])
    coo = sp.coo_array((np.float32([1, 2, 3, 4, 5]), (row, col)), shape=(3, 4))
    a = getattr(sparse, f"{format}_array")((3, 4), device=be)
    if format == "coo":
        a = sparse.coo_array((coo.data, (row, col)), shape=(3, 4), device=be)
    elif format == "csr":
        order = np.argsort(row, kind="stable")
        a = sparse.csr_array((coo.data[order], col[order], [0, 3, 3, 5]), shape=(3, 4), device=be)
    else:
        order = np.argsort(col, kind="stable")
        a = sparse.csc_array(
            (coo.data[order], row[order], [0, 2, 4, 4, 5]), shape=(3, 4), device=be
        )
    x, y = np.float32([[1, 2], [3, 4], [5, 6]]), np.float32([[1, 2, 3, 4], [5, 6, 7, 8]])
    got = sparse.sampled_addmm(a, x, y, beta=2.0)
    pattern = (coo.toarray() != 0) * (x @ y)
    np.testing.assert_array_equal(got.toarray().numpy(), 2 * coo.toarray() + pattern)
    assert got.nnz == 4 and a.nnz == 5


def test_sampled_products_keep_the_order(be: Backend) -> None:
    given = (np.float32([1, 2, 3]), np.array([2, 0, 1]), np.array([0, 2, 3]))
    a = sparse.csr_array(given, shape=(2, 3), device=be)
    x, y = np.float32([[1], [2]]), np.float32([[1, 10, 100]])
    got = sparse.sampled_addmm(a, x, y)
    np.testing.assert_array_equal(got.indices.numpy(), [2, 0, 1])
    np.testing.assert_array_equal(got.data.numpy(), [101, 3, 23])


# Parts -------------------------------------------------------------------------------------------

KEYS: list[Any] = [
    (slice(None), slice(None)),
    (slice(3, 20), slice(None)),
    (slice(None), slice(10, 40)),
    (slice(5, 30), slice(-20, -3)),
    (slice(None, None, 3), slice(50, None, -2)),
    (slice(20, 3), slice(None)),
    (slice(None, None, -1), slice(None)),
    ([3, 0, 3, -1], slice(None)),
    (slice(2, 9), np.array([60, -61, 5])),
    ([], slice(None)),
    (np.arange(37) % 3 == 0, slice(1, 60)),
    (slice(None), np.arange(61) % 4 == 1),
]


@pytest.mark.parametrize("format", FORMATS)
def test_parts(be: Backend, format: str, dtype: str) -> None:
    matrix = random((37, 61), format, dtype, 8)
    a = CLASSES[format](matrix, device=be)
    full = matrix.toarray()
    for key in KEYS:
        expected = full[np.asarray(key[0], int) if isinstance(key[0], list) else key[0]][:, key[1]]
        got = a[key]
        assert got.format == format and got.shape == expected.shape
        np.testing.assert_array_equal(got.toarray().numpy(), expected)
        got.data *= 0  # its own elements
    np.testing.assert_array_equal(a.toarray().numpy(), full)
    np.testing.assert_array_equal(a[4:9].toarray().numpy(), full[4:9])
    np.testing.assert_array_equal(a[..., 4:9].toarray().numpy(), full[:, 4:9])
    rows = tw.asarray(np.array([5, -2, 5]), dtype="int32", device=be)
    np.testing.assert_array_equal(a[rows].toarray().numpy(), full[[5, -2, 5]])
    mask = tw.asarray(np.arange(37) > 30, device=be)
    np.testing.assert_array_equal(a[mask].toarray().numpy(), full[31:])
    for i, j in ((0, 0), (36, 60), (-1, -61), (12, 7)):
        assert a[i, j].shape == () and a[i, j].item() == full[i, j]


@pytest.mark.parametrize(
    ("key", "error", "said"),
    [
        ((37, 0), IndexError, "index 37 is out of range for 37 rows"),
        ((0, -62), IndexError, "index -62 is out of range for 61 columns"),
        ([0, 37], IndexError, "index 37 is out of range for 37 rows"),
        ((slice(None), [-62]), IndexError, "index -62 is out of range for 61 columns"),
        (3, InvalidArgument, r"write A\[3:4\]"),
        ((slice(None), 3), InvalidArgument, r"write A\[:, 3:4\]"),
        (([1], [2]), InvalidArgument, r"write A\[rows\]\[:, cols\]"),
        ([1.5], InvalidArgument, "indices of rows are float64, expected integers"),
        (np.ones(5, bool), InvalidArgument, "the mask has 5 elements, expected 37"),
        (np.zeros((2, 2), int), InvalidArgument, r"indices of rows have shape \(2, 2\)"),
        ((0, 0, 0), InvalidArgument, "expected one or two, of rows and columns"),
    ],
)
def test_wrong_keys(be: Backend, key: Any, error: type[Exception], said: str) -> None:
    a = sparse.csr_array(random((37, 61), "csr", "float32"), device=be)
    with pytest.raises(error, match=said):
        a[key]


# Blocks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [(1, 1), (2, 3), (5, 7), (30, 42)], ids=str)
def test_blocks(be: Backend, block: tuple[int, int], dtype: str) -> None:
    matrix = random((30, 42), "csr", dtype, 9)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    full = matrix.toarray()
    expected = matrix.tobsr(blocksize=block)
    expected.sort_indices()
    a = sparse.csr_array(matrix, device=be).tobsr(block)
    for b in (
        a,
        sparse.bsr_array(matrix, blocksize=block, device=be),
        sparse.bsr_array(full, blocksize=block, device=be),
        sparse.bsr_array(expected, device=be),
    ):
        assert b.format == "bsr" and b.blocksize == block and b.nnz == expected.nnz
        assert b.has_canonical_format
        for name in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(b, name).numpy(), getattr(expected, name))
        same(b, expected)
    back = a.to_scipy()
    assert back.format == "bsr" and back.blocksize == block
    np.testing.assert_array_equal(back.toarray(), full)
    for other in (a.tocsr(), a.tocsc(), a.tocoo(), a.copy(), a.tobsr((30, 1)), +a):
        np.testing.assert_array_equal(other.toarray().numpy(), full)
    assert a.T.blocksize == block[::-1] and a.T.has_canonical_format
    np.testing.assert_array_equal(a.T.toarray().numpy(), full.T)
    rng = np.random.default_rng(2)
    for shape in ((42,), (42, 1), (42, 5), (42, 0)):
        x = rng.integers(-3, 4, shape).astype(dtype)
        np.testing.assert_array_equal((a @ tw.asarray(x, device=be)).numpy(), full @ x)
    x = rng.integers(-3, 4, (4, 30)).astype(dtype)
    np.testing.assert_array_equal((tw.asarray(x, device=be) @ a).numpy(), x @ full)
    np.testing.assert_array_equal((a @ a.T).toarray().numpy(), full @ full.T)
    np.testing.assert_array_equal((a + 2 * a).toarray().numpy(), 3 * full)
    np.testing.assert_array_equal((a * a).toarray().numpy(), full * full)
    np.testing.assert_array_equal(a[3:9, ::-1].toarray().numpy(), full[3:9, ::-1])
    np.testing.assert_array_equal(a.diagonal(1).numpy(), full.diagonal(1))
    np.testing.assert_array_equal(a.sum(0).numpy(), full.sum(0))
    assert complex(a.sum().item()) == complex(full.sum())
    assert a.count_nonzero() == np.count_nonzero(full)


def test_blocks_without_elements_and_repeated(be: Backend) -> None:
    empty = sparse.csr_array((6, 4), device=be).tobsr((3, 2))
    assert empty.nnz == 0 and empty.data.shape == (0, 3, 2)
    np.testing.assert_array_equal((empty @ tw.ones(4, device=be)).numpy(), np.zeros(6))
    assert empty.T.shape == (4, 6) and not empty.toarray().numpy().any()
    # Of one block, a single column or row.
    for shape in ((3, 1), (1, 3)):
        one = np.arange(1, 4, dtype="float32").reshape(shape)
        a = sparse.csr_array(one, device=be).tobsr(shape).tocsr()
        np.testing.assert_array_equal((a @ tw.ones(shape[1], device=be)).numpy(), one.sum(1))
    # Blocks of one place add up, in any order.
    blocks = np.arange(18, dtype="float32").reshape(3, 2, 3)
    a = sparse.bsr_array((blocks, [1, 0, 1], [0, 3, 3]), shape=(4, 6), device=be)
    assert not a.has_canonical_format
    full = np.zeros((4, 6), "float32")
    full[:2, 3:], full[:2, :3] = blocks[0] + blocks[2], blocks[1]
    np.testing.assert_array_equal(a.toarray().numpy(), full)
    np.testing.assert_array_equal((a @ tw.ones(6, device=be)).numpy(), full.sum(1))
    np.testing.assert_array_equal(a.tobsr((1, 2)).toarray().numpy(), full)


def test_blocks_of_float16_are_summed_in_float32(be: Backend) -> None:
    if not be.supports("sparse_matmul", "float16"):
        with pytest.raises(tw.Unsupported, match="float16"):
            sparse.bsr_array(np.ones((2, 2), "float16"), blocksize=(1, 2), device=be)
        return
    full = np.full((4, 4096), 1.0, "float16")
    full[:, 0] = 2048
    a = sparse.bsr_array(full, blocksize=(2, 2), device=be)
    got = a @ tw.ones(4096, dtype="float16", device=be)
    assert got.dtype == np.float16
    np.testing.assert_array_equal(got.numpy(), np.float16(2048 + 4095))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda a: a.tobsr(), "blocksize is None, expected two sizes"),
        (lambda a: a.tobsr((4, 3)), r"blocksize is \(4, 3\), expected sizes .* divide the 37 rows"),
        (lambda a: a.tobsr((37, 0)), r"blocksize is \(37, 0\), expected sizes of 1 or more"),
        (
            lambda a: sparse.bsr_array((np.ones((2, 2)), [0], [0, 1]), device=a.device),
            r"data has shape \(2, 2\), expected blocks",
        ),
        (
            lambda a: sparse.bsr_array(
                (np.ones((1, 2, 2), "f4"), [5], [0, 1]), shape=(2, 4), device=a.device
            ),
            "indices has index 5, expected 0 to 1, for 2 columns of blocks",
        ),
        (
            lambda a: sparse.bsr_array(
                (np.ones((2, 2, 2), "f4"), [0, 1], [0, 1]), shape=(2, 4), device=a.device
            ),
            r"indptr\[-1\] is 1, expected 2",
        ),
        (
            lambda a: sparse.bsr_array(
                (np.ones((1, 2, 2), "f4"), [0, 1], [0, 1]), shape=(2, 4), device=a.device
            ),
            r"indices has shape \(2,\), expected \(1,\)",
        ),
        (lambda a: a.tobsr((1, 1)) @ np.ones(3, "f4"), r"x2 \(3,\), expected 61 rows"),
        (lambda a: a * np.ones((3, 61), "f4"), r"x2 has shape \(3, 61\), expected one that"),
        (lambda a: a * a.T, r"x2 has shape \(61, 37\), expected \(37, 61\)"),
        (lambda a: sparse.sampled_addmm(a, np.ones((3, 2), "f4"), np.ones((2, 61), "f4")),
         r"x has shape \(3, 2\), expected 37 rows"),
        (lambda a: sparse.sampled_addmm(a, np.ones((37, 2), "f4"), np.ones((3, 61), "f4")),
         r"y has shape \(3, 61\), expected \(2, 61\)"),
        (lambda a: sparse.sampled_addmm(a, np.ones((37, 2)), np.ones((2, 61), "f4")),
         "x is float64, expected float32"),
        (lambda a: sparse.sampled_addmm(3, 1, 2), "A is 3 .*, expected a sparse array"),
        (lambda a: linalg.block_jacobi(a, 2), r"A has shape \(37, 61\), expected a square"),
        (lambda a: linalg.block_jacobi(a @ a.T, 0), "blocksize is 0, expected 1 to 37"),
        (lambda a: linalg.block_jacobi(3, 1), "A is 3 .*, expected a sparse array"),
    ],
)  # fmt: skip
def test_wrong_arguments(be: Backend, make: Any, said: str) -> None:
    a = sparse.csr_array(random((37, 61), "csr", "float32"), device=be)
    with pytest.raises((InvalidArgument, tw.Unsupported), match=said):
        make(a)


# Block Jacobi ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 4, 7, 144])
def test_block_jacobi(be: Backend, size: int, dtype: str) -> None:
    matrix = stencil(12).astype(dtype)
    a = sparse.csr_array(matrix, device=be)
    m = linalg.block_jacobi(a, size)
    full, x = matrix.toarray(), draw(np.random.default_rng(3), (144, 2), dtype)
    expected = np.empty((144, 2), "complex128")
    for i in range(0, 144, size):
        part = slice(i, i + size)
        expected[part] = np.linalg.solve(full[part, part].astype("complex128"), x[part])
    eps = 1e-4 if np.dtype(dtype).itemsize // (1 + dtype.startswith("complex")) == 4 else 1e-12
    for given, wanted in ((x, expected), (x[:, 0].copy(), expected[:, 0])):
        got = m @ tw.asarray(given, device=be)
        assert got.dtype == np.dtype(dtype)
        np.testing.assert_allclose(got.numpy(), wanted, rtol=eps, atol=eps)


def test_block_jacobi_converges_in_fewer_steps(be: Backend) -> None:
    matrix = stencil(20)
    strong = sp.block_diag([sp.csr_array([[2, 1.9], [1.9, 2]])] * 200)
    a = sparse.csr_array((matrix + 50 * strong).tocsr().astype("float32"), device=be)
    b = tw.ones(400, device=be)
    _, plain = linalg.cg(a, b, rtol=1e-4, M="jacobi", check_every=1)
    x, info = linalg.cg(a, b, rtol=1e-4, M=linalg.block_jacobi(a, 2), check_every=1)
    assert info == 0 and info.iterations < plain.iterations
    off = np.linalg.norm(np.ones(400) - a.to_scipy().astype("float64") @ x.numpy())
    assert off <= 2e-4 * 20


def test_block_jacobi_of_singular_blocks(be: Backend) -> None:
    a = sparse.csr_array(np.diag(np.float32([1, 0, 2])), device=be)
    with pytest.raises(np.linalg.LinAlgError):
        linalg.block_jacobi(a, 1)
    m = linalg.block_jacobi(sparse.eye_array(3, device=be), 2)
    with pytest.raises(InvalidArgument, match="expected 3 rows"):
        m @ tw.ones(2, device=be)
