"""tilewright.linalg of Arrays: what NumPy's functions give, of batches and views, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .factorisations import (
    TYPES,
    Array,
    assert_near,
    draw,
    kind_of,
    positive,
    runs,
    symmetric,
    wide,
)
from .workspace import has_float64

la = tw.linalg

# Of each function what of the trait it takes.
NEEDS = {
    "cholesky": "cholesky", "solve": "lu", "inv": "lu", "det": "lu", "slogdet": "lu", "qr": "qr",
    "eigh": "eigh", "eigvalsh": "eigh", "eig": "eig", "eigvals": "eig", "svd": "svd",
    "svdvals": "svd", "pinv": "svd", "matrix_rank": "svd", "lstsq": "svd", "cond": "svd",
}  # fmt: skip


def has(be: Backend, name: str, dtype: str = "float32") -> bool:
    """Whether the function runs; where it does not, it is refused."""
    return runs(be, NEEDS[name], dtype)


def refused(be: Backend, name: str, call: Callable[[], Any], dtype: str = "float32") -> bool:
    if has(be, name, dtype):
        return False
    with pytest.raises(tw.Unsupported):
        call()
    return True


def on(be: Backend, x: Any) -> tw.Array:
    return tw.asarray(np.asarray(x), device=be)


def stored(be: Backend, dtype: str) -> bool:
    return kind_of(dtype)[1] == "float32" or has_float64(be)


def near(got: Any, expected: Any, dtype: str, size: int, factor: float = 16.0) -> None:
    host, exact = np.asarray(got.numpy()), np.asarray(expected)
    assert host.shape == exact.shape
    flat = (-1, 1, max(1, exact.shape[-1] if exact.ndim else 1))
    assert_near(host.reshape(flat), exact.reshape(flat), dtype, size, factor)


CASES: list[tuple[str, Callable[[Any, Any], Any], Callable[[Array], Any]]] = [
    ("cholesky", lambda x, _: la.cholesky(x), lambda x: np.linalg.cholesky(x)),
    ("inv", lambda x, _: la.inv(x), np.linalg.inv),
    ("det", lambda x, _: la.det(x), np.linalg.det),
    ("slogdet", lambda x, _: la.slogdet(x)[1], lambda x: np.linalg.slogdet(x)[1]),
    ("slogdet", lambda x, _: la.slogdet(x)[0], lambda x: np.linalg.slogdet(x)[0]),
    ("eigvalsh", lambda x, _: la.eigvalsh(x), np.linalg.eigvalsh),
    ("svdvals", lambda x, _: la.svdvals(x), lambda x: np.linalg.svd(x, compute_uv=False)),
    ("pinv", lambda x, _: la.pinv(x), np.linalg.pinv),
    ("cond", lambda x, _: la.cond(x), np.linalg.cond),
    ("solve", lambda x, b: la.solve(x, b), None),  # type: ignore[list-item]
]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("around", [(), (5,), (2, 1, 3)], ids=str)
def test_well_conditioned(
    be: Backend, rng: np.random.Generator, dtype: str, around: tuple[int, ...]
) -> None:
    if not stored(be, dtype):
        with pytest.raises(tw.Unsupported):
            on(be, np.ones((2, 2), dtype))
        return
    n = 20
    host = positive(rng, int(np.prod(around)), n, dtype).reshape(*around, n, n)
    right = draw(rng, (*around, n, 3), dtype)
    x, b = on(be, host), on(be, right)
    for name, ours, numpys in CASES:
        if refused(be, name, lambda ours=ours: ours(x, b), dtype):  # type: ignore[misc]
            continue
        exact = np.linalg.solve(wide(host), wide(right)) if numpys is None else numpys(wide(host))
        near(ours(x, b), exact, dtype, n, 64.0)


def test_views(be: Backend, rng: np.random.Generator) -> None:
    """Transposed, reversed and cut matrices are what they show."""
    host = positive(rng, 4, 24, "float32")
    for cut in (
        lambda x: x.swapaxes(-1, -2),
        lambda x: x[::2, 3:20, 3:20],
        lambda x: x[:, ::-1, ::-1],
        lambda x: x[0][::2, ::2],
    ):
        x, exact = cut(on(be, host)), cut(wide(host))
        if not refused(be, "cholesky", lambda x=x: la.cholesky(x)):  # type: ignore[misc]
            near(la.cholesky(x), np.linalg.cholesky(exact), "float32", 24)
        near(la.inv(x), np.linalg.inv(exact), "float32", 24, 64.0)


@pytest.mark.parametrize("dtype", TYPES)
def test_infinities(be: Backend, dtype: str) -> None:
    """An infinite pivot leaves what NumPy has of the others."""
    if not stored(be, dtype):
        return
    for place in [(0, 0), (0, 1), (1, 0), (1, 1)]:
        host = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 1]], dtype)
        host[place] = np.inf
        b = np.array([1, 2, 3], dtype)
        x = on(be, host)
        assert np.allclose(la.inv(x).numpy(), np.linalg.inv(host), 1e-4, equal_nan=True)
        got, expected = la.solve(x, on(be, b)).numpy(), np.linalg.solve(host, b)
        assert np.allclose(got, expected, 1e-4, equal_nan=True)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((4, 4), (4,)),
        ((4, 4), (4, 3)),
        ((5, 4, 4), (4, 3)),
        ((4, 4), (5, 4, 2)),
        ((2, 1, 4, 4), (3, 4, 2)),
        ((5, 4, 4), (4,)),
        ((0, 4, 4), (4, 2)),
        ((4, 4), (4, 0)),
        ((0, 0), (0, 3)),
    ],
    ids=str,
)
def test_solve_broadcasts(
    be: Backend, rng: np.random.Generator, a: tuple[int, ...], b: tuple[int, ...]
) -> None:
    matrix = draw(rng, a, "float32") / 4 + np.eye(a[-1], dtype=np.float32) * 2
    right = draw(rng, b, "float32")
    got = la.solve(on(be, matrix), on(be, right))
    if len(b) == 1:
        exact = np.linalg.solve(wide(matrix), wide(right)[:, None])[..., 0]
    else:
        exact = np.linalg.solve(wide(matrix), wide(right))
    assert got.shape == exact.shape
    np.testing.assert_allclose(got.numpy(), exact, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n", [1, 3, 33, 100, 257])
@pytest.mark.parametrize("dtype", TYPES)
def test_solve_backward_error(be: Backend, rng: np.random.Generator, dtype: str, n: int) -> None:
    """However bad the matrix is conditioned."""
    if not stored(be, dtype):
        return
    eps = float(np.finfo(dtype).eps)
    for scale in (1.0, np.geomspace(1, 1e-5, n)):
        a = (draw(rng, (n, n), dtype) * scale).astype(dtype)
        b = draw(rng, (n, 2), dtype)
        x = wide(la.solve(on(be, a), on(be, b)).numpy())
        off = np.linalg.norm(wide(a) @ x - b)
        assert off <= 8 * (n + 8) * eps * np.linalg.norm(a) * np.linalg.norm(x)


@pytest.mark.parametrize("dtype", TYPES)
def test_singular(be: Backend, dtype: str) -> None:
    if not stored(be, dtype):
        return
    ones = on(be, np.ones((3, 3), dtype))
    batch = on(be, np.array([np.eye(2), np.zeros((2, 2))], dtype))
    for call in (la.inv, lambda x: la.solve(x, x)):
        with pytest.raises(la.LinAlgError, match="the matrix is singular: pivot 2 of 3 is 0"):
            call(ones)
        with pytest.raises(la.LinAlgError, match=r"matrix \(1,\) is singular: pivot 1 of 2 is 0"):
            call(batch)
    assert issubclass(la.LinAlgError, np.linalg.LinAlgError)
    assert issubclass(la.LinAlgError, tw.Error)
    assert la.det(ones).item() == 0
    assert la.det(batch).tolist() == [1, 0]
    if not refused(be, "slogdet", lambda: la.slogdet(ones), dtype):
        sign, logarithm = la.slogdet(ones)
        assert (sign.item(), logarithm.item()) == (0, -np.inf)
    negative = on(be, -np.eye(3, dtype=dtype))
    if not refused(be, "cholesky", lambda: la.cholesky(negative), dtype):
        with pytest.raises(la.LinAlgError, match="is not positive definite: its leading part of"):
            la.cholesky(negative)


def test_signs_of_determinants(be: Backend) -> None:
    for order in ([1, 0, 2], [1, 2, 0], [0, 1, 2], [2, 1, 0]):
        x = np.eye(3, dtype=np.float32)[order]
        assert la.det(on(be, x)).item() == round(np.linalg.det(x))
        assert la.slogdet(on(be, x)).sign.item() == round(np.linalg.det(x))


@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
def test_qr(be: Backend, rng: np.random.Generator, mode: str) -> None:
    for shape in [(20, 8), (8, 20), (3, 5, 5), (0, 3), (3, 0), (0, 4, 4)]:
        host = draw(rng, shape, "float32")
        x = on(be, host)
        if host.size and refused(be, "qr", lambda x=x: la.qr(x, mode=mode)):  # type: ignore[misc]
            continue
        got = la.qr(x, mode=mode)
        expected = np.linalg.qr(wide(host), mode)
        if mode == "r":
            np.testing.assert_allclose(np.abs(got.numpy()), np.abs(expected), atol=1e-4)
            continue
        assert (got.Q.shape, got.R.shape) == (expected[0].shape, expected[1].shape)
        q = wide(got.Q.numpy())
        np.testing.assert_allclose(q @ got.R.numpy(), host, atol=1e-5)
        one = np.broadcast_to(np.eye(q.shape[-1]), (*shape[:-2], q.shape[-1], q.shape[-1]))
        np.testing.assert_allclose(np.swapaxes(q, -1, -2) @ q, one, atol=1e-5)


def test_eigenvalues(be: Backend, rng: np.random.Generator) -> None:
    host = symmetric(rng, 3, 12, "float32")
    x = on(be, host)
    if not refused(be, "eigh", lambda: la.eigh(x)):
        for half in ("L", "U"):
            values, vectors = la.eigh(x, UPLO=half)
            v = wide(vectors.numpy())
            np.testing.assert_allclose((v * values.numpy()[:, None]) @ v.mT, host, atol=1e-5)
            np.testing.assert_allclose(la.eigvalsh(x, half).numpy(), values.numpy(), atol=1e-5)
    if not refused(be, "eig", lambda: la.eig(x)):
        values, vectors = la.eig(x)
        assert values.dtype == vectors.dtype == np.complex64
        v = vectors.numpy().astype(np.complex128)
        np.testing.assert_allclose(host @ v, v * values.numpy()[:, None], atol=1e-4)
        np.testing.assert_allclose(
            np.sort(la.eigvals(x).numpy().real), np.linalg.eigvalsh(host), atol=1e-4
        )


def test_svd(be: Backend, rng: np.random.Generator) -> None:
    for shape in [(20, 8), (8, 20), (3, 5, 5), (0, 3), (3, 0), (0, 4, 4)]:
        host = draw(rng, shape, "float32")
        x = on(be, host)
        if host.size and refused(be, "svd", lambda x=x: la.svd(x)):  # type: ignore[misc]
            continue
        for full in (True, False):
            u, s, vh = (one.numpy() for one in la.svd(x, full_matrices=full))
            expected = np.linalg.svd(host, full_matrices=full)
            assert [one.shape for one in (u, s, vh)] == [one.shape for one in expected]
            np.testing.assert_allclose(s, expected[1], atol=1e-4)
            k = s.shape[-1]
            product = (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]
            np.testing.assert_allclose(product, host, atol=1e-4)
        assert la.svd(x, compute_uv=False).shape == la.svdvals(x).shape == s.shape


def test_what_follows_from_singular_values(be: Backend, rng: np.random.Generator) -> None:
    host = (draw(rng, (12, 3), "float32") @ draw(rng, (3, 7), "float32")).astype("float32")
    x = on(be, host)
    for name in ("pinv", "matrix_rank"):
        if refused(be, name, lambda name=name: getattr(la, name)(x)):  # type: ignore[misc]
            return
    near(la.pinv(x, rtol=1e-4), np.linalg.pinv(wide(host), rtol=1e-6), "float32", 12, 64.0)
    assert la.matrix_rank(x).item() == 3
    assert la.matrix_rank(x, tol=1e9).item() == 0
    assert la.matrix_rank(on(be, np.zeros((2, 3, 3), np.float32))).tolist() == [0, 0]
    b = draw(rng, (12, 2), "float32")
    for right in (b, b[:, 0]):
        got = la.lstsq(x, on(be, right), rcond=1e-4)
        expected = np.linalg.lstsq(wide(host), wide(right), rcond=1e-6)
        np.testing.assert_allclose(got.x.numpy(), expected[0], atol=1e-4)
        assert got.rank == 3 and got.residuals.shape == (0,)
    tall = draw(rng, (20, 4), "float32")
    got = la.lstsq(on(be, tall), on(be, draw(rng, (20, 2), "float32")))
    assert got.rank == 4 and got.residuals.shape == (2,)
    for order in (2, -2, "nuc"):
        exact = np.linalg.norm(wide(tall), order)
        np.testing.assert_allclose(la.matrix_norm(on(be, tall), ord=order).item(), exact, 1e-5)
    for p in (None, 1, np.inf, "fro", -2):
        square = tall[:4]
        exact = np.linalg.cond(wide(square), p)
        np.testing.assert_allclose(la.cond(on(be, square), p).item(), exact, rtol=1e-3)
    for p in (None, 2, -2):
        assert la.cond(tw.zeros((2, 2), device=be), p).item() == np.inf
    # One of several that is singular leaves the others as they are.
    several = np.array([[[1, 2], [2, 4]], [[1, 2], [3, 4]]], dtype=np.float32)
    for p in (1, -1, np.inf, -np.inf, "fro"):
        got = la.cond(on(be, several), p).numpy()
        np.testing.assert_allclose(got, np.linalg.cond(several.astype(np.float64), p), rtol=1e-3)


def test_norms(be: Backend, rng: np.random.Generator) -> None:
    host = draw(rng, (3, 4, 5), "float32")
    x = on(be, host)
    for options in (
        {},
        {"axis": 1},
        {"axis": (0, 2)},
        {"axis": -1, "ord": 1},
        {"axis": (2, 0), "ord": np.inf},
        {"axis": (0, 1), "keepdims": True},
        {"keepdims": True},
        {"axis": 2, "keepdims": True, "ord": np.inf},
    ):
        exact = np.linalg.norm(host.astype(np.float64), **options)  # type: ignore[call-overload]
        got = la.norm(x, **options).numpy()  # type: ignore[arg-type]
        np.testing.assert_allclose(got, exact, rtol=1e-5)
        assert got.shape == exact.shape
    with pytest.raises(InvalidArgument, match="norm: x has shape"):
        la.norm(x, 2)


def test_products_and_tensors(be: Backend, rng: np.random.Generator) -> None:
    hosts = [draw(rng, shape, "float32") for shape in ((10, 30), (30, 5), (5, 60), (60, 2))]
    exact = np.linalg.multi_dot([wide(one) for one in hosts])
    near(la.multi_dot([on(be, one) for one in hosts]), exact, "float32", 60)
    hosts[0], hosts[-1] = hosts[0][0], hosts[-1][:, 0]
    got = la.multi_dot([on(be, one) for one in hosts])
    np.testing.assert_allclose(
        got.item(), np.linalg.multi_dot([wide(one) for one in hosts]), rtol=1e-4
    )
    a = draw(rng, (4, 6, 8, 3), "float32")
    b = draw(rng, (4, 6), "float32")
    np.testing.assert_allclose(
        la.tensorsolve(on(be, a), on(be, b)).numpy(), np.linalg.tensorsolve(a, b), atol=1e-2
    )
    np.testing.assert_allclose(la.tensorinv(on(be, a)).numpy(), np.linalg.tensorinv(a), atol=1e-2)
    square = positive(rng, 1, 9, "float32")[0]
    near(
        la.matrix_power(on(be, square), -3), np.linalg.matrix_power(wide(square), -3), "float32",
        9, 200.0,
    )  # fmt: skip


def test_by_numpys_names(be: Backend, rng: np.random.Generator) -> None:
    """Nothing is read to the host but what says whether there is a result."""
    host = positive(rng, 1, 20, "float32")[0]
    x, b = on(be, host), on(be, draw(rng, (20, 2), "float32"))
    got = np.linalg.solve(x, b)
    assert isinstance(got, tw.Array) and got.backend is be
    near(got, np.linalg.solve(wide(host), wide(b.numpy())), "float32", 20, 64.0)
    assert isinstance(np.linalg.inv(x), tw.Array)
    assert isinstance(np.linalg.det(x), tw.Array)
    assert isinstance(np.linalg.norm(x, axis=0), tw.Array)
    assert isinstance(np.linalg.multi_dot([x, x]), tw.Array)
    assert isinstance(np.linalg.eigh(x, UPLO="U")[1], tw.Array)
    assert isinstance(np.linalg.qr(x, mode="r"), tw.Array)
    if has(be, "svd"):
        assert isinstance(np.linalg.svd(x, full_matrices=False)[0], tw.Array)
        assert isinstance(np.linalg.lstsq(x, b, rcond=None)[0], tw.Array)


@pytest.mark.parametrize("name", [name for name in NEEDS if name not in ("solve", "lstsq")])
def test_refusals(be: Backend, name: str) -> None:
    call = getattr(la, name)
    with pytest.raises(InvalidArgument, match=f"^{name}: x is "):
        call([[1.0]])
    half = on(be, np.eye(2, dtype=np.float16))
    with pytest.raises(InvalidArgument, match=r"float16, expected float32; write x.astype"):
        call(half)
    if name != "matrix_rank":
        with pytest.raises(InvalidArgument, match=f"^{name}: x has shape .*two dimensions"):
            call(on(be, np.ones(3, np.float32)))
    if NEEDS[name] not in ("qr", "svd"):
        with pytest.raises(InvalidArgument, match="expected square matrices"):
            call(on(be, np.ones((3, 2), np.float32)))


def test_refusals_of_pairs(be: Backend) -> None:
    x = on(be, np.eye(3, dtype=np.float32))
    with pytest.raises(InvalidArgument, match="expected 3 rows in both"):
        la.solve(x, on(be, np.ones(4, np.float32)))
    with pytest.raises(InvalidArgument, match="x2 has no dimension"):
        la.solve(x, on(be, np.float32(1)))
    with pytest.raises(InvalidArgument, match="expected as many rows"):
        la.lstsq(x, on(be, np.ones(4, np.float32)))
    with pytest.raises(InvalidArgument, match="mode is 'full'"):
        la.qr(x, "full")
    with pytest.raises(InvalidArgument, match=r'UPLO is 3 .*expected "L" or "U"'):
        la.eigh(x, 3)


def test_integers_are_taken_as_float32(be: Backend) -> None:
    x = on(be, np.array([[2, 1], [1, 3]], np.int32))
    inverse = la.inv(x)
    assert inverse.dtype == np.float32
    np.testing.assert_allclose(inverse.numpy(), [[0.6, -0.2], [-0.2, 0.4]], rtol=1e-6)


def test_products_of_float64(be: Backend, rng: np.random.Generator) -> None:
    """Beyond what float32 holds, in every layout and batch."""
    if not stored(be, "float64"):
        with pytest.raises(tw.Unsupported):
            on(be, np.ones(2))
        return
    for a, b in [((3, 4), (4, 5)), ((4,), (4, 2)), ((2, 4), (4,)), ((4,), (4,)), ((3, 0), (0, 2)),
                 ((5, 3, 4), (4, 2)), ((2, 1, 3, 4), (3, 4, 2)), ((40, 33), (33, 50))]:  # fmt: skip
        left, right = rng.standard_normal(a), rng.standard_normal(b)
        expected = left @ right
        got = on(be, left) @ on(be, right)
        assert got.dtype == np.float64
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-13, atol=1e-13)
        if min(len(a), len(b)) > 1:
            turned = on(be, np.ascontiguousarray(left.swapaxes(-1, -2))).mT
            np.testing.assert_allclose((turned @ on(be, right)).numpy(), expected, atol=1e-13)
