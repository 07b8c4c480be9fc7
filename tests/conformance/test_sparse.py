"""tw.sparse beside SciPy's sparse arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import tilewright as tw
from tilewright import Backend, sparse
from tilewright.operands import stored

from .sparse_matrices import CLASSES, FORMATS, draw, made, random, same

SHAPES = [(0, 0), (0, 5), (5, 0), (1, 1), (1, 2000), (2000, 1), (37, 61), (1200, 700)]
EPS = {"float16": 1e-3, "float32": 1e-6, "float64": 1e-15, "complex64": 1e-6, "complex128": 1e-15}


@pytest.fixture(params=["float32", "complex64", "float64"])
def dtype(request: pytest.FixtureRequest, be: Backend) -> str:
    """What the device has; elsewhere float32 once more."""
    return str(request.param) if np.dtype(request.param) in stored(be) else "float32"


def unordered(matrix: Any) -> Any:
    """Rows, or columns, back to front, and the elements once more."""
    major = np.repeat(np.arange(len(matrix.indptr) - 1), np.diff(matrix.indptr))
    twice = np.concatenate([major, major])
    order = np.lexsort((-np.concatenate([matrix.indices] * 2), twice))
    parts = (
        np.concatenate([matrix.data] * 2)[order],
        np.concatenate([matrix.indices] * 2)[order],
        2 * matrix.indptr,
    )
    return type(matrix)(parts, shape=matrix.shape)


# Made of, and turned into ------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_from_scipy_and_back(be: Backend, shape: tuple[int, int], format: str, dtype: str) -> None:
    matrix = random(shape, format, dtype)
    for own in FORMATS:
        a = CLASSES[own](matrix, device=be)
        assert a.format == own and a.device is be
        same(a, matrix)
        back = a.to_scipy()
        assert back.format == own and back.dtype == matrix.dtype
        np.testing.assert_array_equal(back.toarray(), matrix.toarray())


@pytest.mark.parametrize("format", FORMATS)
def test_conversions(be: Backend, format: str) -> None:
    matrix = random((300, 411), format, "float32")
    a = CLASSES[format](matrix, device=be)
    for other in FORMATS:
        converted = a.asformat(other)
        assert isinstance(converted, CLASSES[other])
        same(converted, matrix)
        same(converted.T, matrix.T)
        same(converted.T.T, matrix)
        same(getattr(a, f"to{other}")(copy=True), matrix)
    csr = a.tocsr()
    expected = matrix.tocsr()
    expected.sum_duplicates()
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(csr, name).numpy(), getattr(expected, name))


@pytest.mark.parametrize("own", FORMATS)
def test_from_dense(be: Backend, own: str, dtype: str) -> None:
    full = random((40, 53), "csr", dtype).toarray()
    for given in (full, tw.asarray(full, device=be), tw.asarray(full.T.copy(), device=be).T):
        a = CLASSES[own](given, device=be)
        assert a.nnz == np.count_nonzero(full)
        np.testing.assert_array_equal(a.toarray().numpy(), full)
    empty = CLASSES[own]((3, 4), device=be)
    assert empty.shape == (3, 4) and empty.nnz == 0 and (empty.toarray().numpy() == 0).all()


def test_triples_of_arrays_on_the_device(be: Backend) -> None:
    matrix = random((80, 90), "csr", "float32")
    parts = [tw.asarray(x, device=be) for x in (matrix.data, matrix.indices, matrix.indptr)]
    same(sparse.csr_array(tuple(parts), shape=matrix.shape), matrix)
    coo = matrix.tocoo()
    data, row, col = (tw.asarray(x, device=be) for x in (coo.data, coo.row, coo.col))
    for cls in CLASSES.values():
        same(cls((data, (row, col)), shape=coo.shape), matrix)
    inferred = sparse.coo_array((data, (row, col)))
    assert inferred.shape == (coo.row.max() + 1, coo.col.max() + 1)
    copied = sparse.csr_array(tuple(parts), shape=matrix.shape, copy=True)
    copied.data[...] = 0
    np.testing.assert_array_equal(parts[0].numpy(), matrix.data)


@pytest.mark.parametrize("format", FORMATS)
def test_order_and_duplicates(be: Backend, format: str) -> None:
    matrix = random((200, 150), format, "float32", 3)
    if format != "coo":
        matrix = unordered(matrix)
    a = CLASSES[format](matrix, device=be)
    assert not a.has_canonical_format
    same(a, matrix)
    np.testing.assert_array_equal(
        (a @ tw.ones(150, device=be)).numpy(), matrix @ np.ones(150, np.float32)
    )
    expected = matrix.copy()
    expected.sum_duplicates()
    if format != "coo":
        assert not a.has_sorted_indices
        a.sort_indices()
        assert a.has_sorted_indices and a.nnz == matrix.nnz
    a.sum_duplicates()
    assert a.has_canonical_format and a.nnz == expected.nnz
    same(a, matrix)
    expected.eliminate_zeros()
    a.eliminate_zeros()
    assert a.nnz == expected.nnz == a.count_nonzero()
    same(a, matrix)


def test_indices_beyond_one_key(be: Backend) -> None:
    """Places that one number of 32 bits does not count."""
    rng = np.random.default_rng(1)
    shape = (70_001, 80_003)
    row, col = (rng.integers(0, size, 5000) for size in shape)
    row[:50] = row[50:100]
    col[:50] = col[50:100]
    coo = sp.coo_array((rng.integers(1, 9, 5000).astype("float32"), (row, col)), shape=shape)
    csr = sparse.csr_array(coo, device=be)
    expected = coo.tocsr()
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(csr, name).numpy(), getattr(expected, name))


# Computed with -----------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products(be: Backend, shape: tuple[int, int], format: str, dtype: str) -> None:
    matrix = random(shape, format, dtype)
    a = CLASSES[format](matrix, device=be)
    rng = np.random.default_rng(5)
    for x_shape in ((shape[1],), (shape[1], 3)):
        x = rng.integers(-3, 4, x_shape).astype(dtype)
        got = a @ tw.asarray(x, device=be)
        assert isinstance(got, tw.Array) and got.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(got.numpy(), matrix @ x)
        np.testing.assert_array_equal((a @ x).numpy(), matrix @ x)
        np.testing.assert_array_equal(a.dot(x).numpy(), matrix @ x)
    for x_shape in ((shape[0],), (3, shape[0])):
        x = rng.integers(-3, 4, x_shape).astype(dtype)
        np.testing.assert_array_equal((tw.asarray(x, device=be) @ a).numpy(), x @ matrix)
        np.testing.assert_array_equal((x @ a).numpy(), x @ matrix)
    # Elements may change in place: what is kept of the matrix is its places.
    a.data *= 2
    if a.nnz:
        a.data[0] = 7
    full = a.toarray().numpy()
    np.testing.assert_array_equal((a @ tw.ones(shape[1], dtype=dtype, device=be)).numpy(),
                                  full @ np.ones(shape[1], dtype))  # fmt: skip


def test_product_of_views_and_of_other_dtypes(be: Backend) -> None:
    matrix = random((60, 50), "csr", "float32")
    a = sparse.csr_array(matrix, device=be)
    x = np.arange(3 * 100 * 8, dtype="float32").reshape(3, 100, 8) % 7
    on_device = tw.asarray(x, device=be)
    for key in [(1, slice(0, 100, 2), slice(1, 6)), (2, slice(99, 49, -1), slice(None))]:
        np.testing.assert_array_equal((a @ on_device[key]).numpy(), matrix @ x[key])
    np.testing.assert_array_equal((a @ on_device[0, :50].T[2]).numpy(), matrix @ x[0, :50].T[2])
    integers = tw.arange(50, device=be)
    assert (a @ integers).dtype == np.float32
    np.testing.assert_array_equal((a @ integers).numpy(), matrix @ np.arange(50, dtype="float32"))
    wide = a.astype("complex64") @ on_device[0, :50]
    assert wide.dtype == np.complex64
    np.testing.assert_array_equal(wide.numpy(), matrix @ x[0, :50])
    half = a.astype("float16")
    assert (half @ on_device[0, :50].astype("float16")).dtype == np.float16


@pytest.mark.parametrize("format", FORMATS)
def test_sums_and_differences(be: Backend, format: str, dtype: str) -> None:
    matrix, other = (random((90, 130), format, dtype, seed) for seed in (1, 2))
    a = CLASSES[format](matrix, device=be)
    for second in FORMATS:
        b = CLASSES[second](other, device=be)
        same(a + b, (matrix + other))
        same(a - b, (matrix - other))
    assert (a + a).format == ("csc" if format == "csc" else "csr")
    assert (a - a).count_nonzero() == 0
    dense = other.toarray()
    np.testing.assert_array_equal((a + dense).numpy(), matrix.toarray() + dense)
    np.testing.assert_array_equal((a - dense).numpy(), matrix.toarray() - dense)
    np.testing.assert_array_equal(
        (tw.asarray(dense, device=be) - a).numpy(), dense - matrix.toarray()
    )
    same(-a, -matrix)
    same(a * 3, (matrix * 3).astype(dtype))
    same(0.5 * a, (matrix * 0.5).astype(dtype))
    same(a / 4, (matrix / 4).astype(dtype))
    same(a + 0, matrix)
    same(a.conj(), matrix.conj())


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_by_axis_and_diagonals(be: Backend, shape: tuple[int, int], format: str) -> None:
    matrix = random(shape, format, "float32")
    a = CLASSES[format](matrix, device=be)
    assert float(a.sum()) == float(matrix.toarray().sum())
    for axis in (0, 1, -1, -2):
        np.testing.assert_array_equal(a.sum(axis=axis).numpy(), matrix.toarray().sum(axis=axis))
    for k in (0, 1, -1, 5, -30, 3000):
        if min(shape) and -shape[0] <= k <= shape[1]:
            expected = matrix.toarray().diagonal(k)
            np.testing.assert_array_equal(a.diagonal(k).numpy(), expected)
    assert a.diagonal(3000).size == 0


@pytest.mark.parametrize("formats", [("csr", "csr"), ("csc", "coo"), ("coo", "csc")], ids=str)
@pytest.mark.parametrize("sizes", [(1, 1, 1), (50, 60, 70), (3, 700, 4), (300, 3, 400)], ids=str)
def test_products_of_sparse_arrays(
    be: Backend, sizes: tuple[int, int, int], formats: tuple[str, str], dtype: str
) -> None:
    left = random(sizes[:2], formats[0], dtype, 7)
    right = random(sizes[1:], formats[1], dtype, 8)
    got = CLASSES[formats[0]](left, device=be) @ CLASSES[formats[1]](right, device=be)
    assert got.format == "csr" and got.has_canonical_format
    same(got, left @ right)


def test_products_of_sparse_arrays_without_elements(be: Backend) -> None:
    none, some = sparse.csr_array((4, 5), device=be), sparse.eye_array(5, 6, device=be)
    assert (none @ some).shape == (4, 6) and (none @ some).nnz == 0
    assert (none + none).nnz == 0 and none.T.tocsr().shape == (5, 4)


@pytest.mark.parametrize("k", [0, 2, -3, 50])
def test_eye(be: Backend, k: int) -> None:
    for shape in ((5, 5), (4, 9), (9, 4)):
        got = sparse.eye_array(*shape, k=k, device=be)
        np.testing.assert_array_equal(got.toarray().numpy(), np.eye(*shape, k=k, dtype="float32"))


def test_power_law_rows(be: Backend) -> None:
    a = made("power-law", np.random.default_rng(2), "float32")
    matrix = sp.csr_array((a.values, a.columns, a.offsets), shape=(a.rows, a.cols))
    x = draw(np.random.default_rng(3), a.cols, "float32")
    got = sparse.csr_array(matrix, device=be) @ x
    wide = matrix.astype("float64")
    near = abs(wide) @ abs(x.astype("float64"))
    assert (abs(got.numpy() - wide @ x) <= 8 * EPS["float32"] * near + 1e-30).all()


def test_many_elements(be: Backend) -> None:
    matrix = random((100_003, 99_991), "coo", "float32")
    a = sparse.csr_array(matrix, device=be)
    x = np.arange(99_991, dtype="float32") % 5
    np.testing.assert_array_equal((a @ x).numpy(), matrix.tocsr() @ x)
    np.testing.assert_array_equal(a.sum(axis=0).numpy(), matrix.sum(axis=0))


def test_text_and_copies(be: Backend) -> None:
    a = sparse.csr_array(random((30, 40), "csr", "float32"), device=be)
    assert repr(a) == (
        f"<csr_array: {a.nnz} stored elements, shape=(30, 40), dtype=float32, backend={be.name!r}>"
    )
    assert sparse.issparse(a) and not sparse.issparse(a.toarray())
    b = a.copy()
    b.data[...] = 0
    assert a.count_nonzero() > 0 and b.count_nonzero() == 0
    assert a.astype("float32", copy=False).data is a.data
    assert sparse.csr_array(a).data is a.data and sparse.csr_array(a, copy=True).data is not a.data
    assert a.size == a.nnz and a.ndim == 2 and np.isclose(float(a.mean()), float(a.sum()) / 1200)


# Wrong arguments ---------------------------------------------------------------------------------

DATA, INDICES, INDPTR = [1.0, 2.0, 3.0], [0, 2, 1], [0, 2, 3]
WRONG: list[tuple[str, Any, dict[str, Any], str]] = [
    ("csr", (DATA, [0, 3, 1], INDPTR), {"shape": (2, 3)}, "indices has index 3, expected 0 to 2"),
    ("csr", (DATA, [0, -1, 1], INDPTR), {"shape": (2, 3)}, "indices has index -1"),
    ("csc", (DATA, [0, 2, 1], INDPTR), {"shape": (2, 2)}, "indices has index 2, expected 0 to 1"),
    ("csr", (DATA, INDICES, [0, 2]), {"shape": (2, 3)}, "indptr has 2 elements, expected 3"),
    ("csr", (DATA, INDICES, [1, 2, 3]), {"shape": (2, 3)}, r"indptr\[0\] is 1, expected 0"),
    ("csr", (DATA, INDICES, [0, 2, 4]), {"shape": (2, 3)}, r"indptr\[-1\] is 4, expected 3"),
    ("csr", (DATA, INDICES, [0, 5, 2, 3]), {"shape": (3, 3)}, r"indptr\[2\] is 2, expected 5"),
    ("csr", (DATA, INDICES[:2], INDPTR), {"shape": (2, 3)}, r"indices has shape \(2,\)"),
    ("csr", (DATA, [0.0, 1.0, 2.0], INDPTR), {"shape": (2, 3)}, "indices is float64"),
    ("csr", (DATA, INDICES, INDPTR), {"shape": (2, 3, 1)}, "shape is "),
    ("csr", (DATA, INDICES, INDPTR), {"shape": (-2, 3)}, r"shape\[0\] is -2"),
    ("csr", (DATA, INDICES, INDPTR), {"shape": (2, 3), "dtype": "int32"}, "dtype is int32"),
    ("csr", ([1, 2, 3], INDICES, INDPTR), {"shape": (2, 3), "dtype": None}, "data is int64"),
    ("csr", ([DATA], [INDICES], INDPTR), {"shape": (2, 3)}, "data has shape"),
    ("csr", (DATA,), {}, "arg1 has 1 parts"),
    ("coo", (DATA, ([0, 1, 2], [0, 1, 5])), {"shape": (3, 3)}, "col has index 5, expected 0 to 2"),
    ("coo", (DATA, ([0, 1, 9], [0, 1, 2])), {"shape": (3, 3)}, "row has index 9"),
    ("coo", (DATA, ([0, 1], [0, 1, 2])), {"shape": (3, 3)}, r"row has shape \(2,\)"),
    ("coo", (DATA, ([0, 1, 2],)), {"shape": (3, 3)}, "arg1 has 1 arrays of indices"),
    ("coo", ([], ([], [])), {}, "shape is None"),
    ("coo", np.ones(3, "float32"), {}, r"arg1 has shape \(3,\), expected two dimensions"),
    ("csr", np.ones((3, 2), "float32"), {"shape": (2, 3)}, r"shape is \(2, 3\), expected \(3, 2\)"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("format", "given", "options", "message"), WRONG, ids=lambda x: str(x)[:30]
)
@pytest.mark.parametrize("on_device", [False, True])
def test_wrong_matrices(
    be: Backend, format: str, given: Any, options: Any, message: str, on_device: bool
) -> None:
    def there(x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(there(one) for one in x)
        values = np.asarray(x)
        if values.dtype == np.int64:
            values = values.astype("int32")
        elif x is DATA:
            values = values.astype("float32")
        return tw.asarray(values, device=be) if values.dtype in stored(be) else x

    options = {"dtype": "float32", **options}
    if on_device:
        given = there(given)
        message = message.replace("is int64", "is int32")
    with pytest.raises(tw.InvalidArgument, match=f"^{format}_array: .*{message}"):
        CLASSES[format](given, device=be, **options)


def test_wrong_operands(be: Backend) -> None:
    a = sparse.csr_array(random((4, 5), "csr", "float32"), device=be)
    ones = tw.ones
    for call, message in [
        (
            lambda: a @ ones(4, device=be),
            r"matmul: x1 has shape \(4, 5\) and x2 \(4,\), expected 5",
        ),
        (lambda: ones(5, device=be) @ a, r"matmul: x1 has shape \(5,\) and x2 \(4, 5\)"),
        (lambda: a @ ones((1, 1, 5, 2), device=be), "matmul: x2 has shape"),
        (lambda: a @ 3, "matmul: x2 is 3 .*expected a vector or a matrix"),
        (lambda: a @ a, r"matmul: x1 has shape \(4, 5\) and x2 \(4, 5\), expected 5 rows"),
        (lambda: a * ones(4, device=be), r"multiply: x2 has shape \(4,\), expected one that"),
        (lambda: a / ones(5, device=be), "divide: x2 is .*expected a number"),
        (lambda: a + 1, "add: x1 has shape"),
        (lambda: a - a.T, "subtract: x1 has shape"),
        (lambda: a.sum(axis=2), "sum: axis is 2"),
        (lambda: a.astype("int8"), "astype: dtype is int8"),
        (lambda: a.asformat("bsr"), "asformat: format is 'bsr'"),
        (lambda: a.asformat([]), "asformat: format is .. .list., expected"),
        (lambda: setattr(a, "data", ones(1, device=be)), "csr_array: data is"),
        (lambda: bool(a), "bool: the truth"),
    ]:  # type: ignore[var-annotated]
        with pytest.raises(tw.InvalidArgument, match=message):
            call()
    with pytest.raises(TypeError, match="sparse array"):
        len(a)


def test_two_devices_do_not_mix(be: Backend) -> None:
    a = sparse.eye_array(3, device=be)
    with tw.init_backend("cpu") as other:
        x = tw.ones(3, device=other)
        with pytest.raises(tw.InvalidArgument, match="x2"):
            a @ x
        moved = sparse.csr_array(a, device=other)
        assert moved.device is other
        np.testing.assert_array_equal((moved @ x).numpy(), np.ones(3))
        del moved, x
