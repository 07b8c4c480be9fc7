"""Solvers of sparse systems: beside NumPy in float64, where they do not converge, and of numbers
whose squares no dtype holds."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import tilewright as tw
from tilewright import Backend, sparse
from tilewright.operands import stored
from tilewright.sparse import linalg

from .sparse_matrices import draw, stencil


@pytest.fixture(params=["float32", "complex64", "float64"])
def dtype(request: pytest.FixtureRequest, be: Backend) -> str:
    """What the device has; elsewhere float32 once more."""
    return str(request.param) if np.dtype(request.param) in stored(be) else "float32"


def convection(side: int) -> Any:
    """The same with a flow, so not symmetric."""
    return (stencil(side) + sp.diags_array(
        [np.full(side * side - 1, 0.4)], offsets=[1], shape=(side * side,) * 2
    )).tocsr().astype("float32")  # fmt: skip


SOLVERS: dict[str, Any] = {"cg": linalg.cg, "bicgstab": linalg.bicgstab, "gmres": linalg.gmres}


@pytest.mark.parametrize("m", [None, "jacobi", "vector", "matrix"], ids=str)
@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers(be: Backend, solver: str, m: str | None) -> None:
    matrix = stencil(20) if solver == "cg" else convection(20)
    scale = sp.diags_array(np.linspace(1, 3, 400))
    matrix = (scale @ matrix @ scale).tocsr().astype("float32")
    a = sparse.csr_array(matrix, device=be)
    rng = np.random.default_rng(4)
    b = rng.standard_normal(400).astype("float32")
    given: Any = m
    inverse = 1 / matrix.diagonal()
    if m == "vector":
        given = tw.asarray(inverse, device=be)
    elif m == "matrix":
        given = sparse.csr_array(sp.diags_array(inverse).tocsr(), device=be)
    seen: list[tw.Array] = []
    x, info = SOLVERS[solver](a, tw.asarray(b, device=be), rtol=2e-5, M=given, callback=seen.append)
    residual = np.linalg.norm(b - matrix.astype("float64") @ x.numpy())
    assert info == 0 and info.residual <= info.tolerance
    assert residual <= 2.2e-5 * np.linalg.norm(b)
    assert len(seen) == info.iterations
    np.testing.assert_array_equal(seen[-1].numpy(), x.numpy())


def test_solvers_of_complex_and_float64(be: Backend, dtype: str) -> None:
    matrix = stencil(12, dtype).astype(dtype)
    if dtype.startswith("complex"):
        off = sp.diags_array([np.full(143, 0.5j)], offsets=[1], shape=(144, 144))
        matrix = (matrix + off + off.conj().T).tocsr().astype(dtype)
    b = draw(np.random.default_rng(9), 144, dtype)
    rtol = 1e-12 if dtype == "float64" else 1e-5
    for solver in SOLVERS.values():
        a = sparse.csr_array(matrix, device=be)
        x, info = solver(a, tw.asarray(b, device=be), rtol=rtol)
        assert info == 0 and x.dtype == np.dtype(dtype)
        wide = matrix.astype("complex128") @ x.numpy()
        assert np.linalg.norm(b - wide) <= 1.1 * rtol * np.linalg.norm(b)


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_does_not_converge_says_so(be: Backend, solver: str) -> None:
    matrix = stencil(30, shift=0.0)
    a, b = sparse.csr_array(matrix, device=be), np.ones(900, "float32")
    with pytest.warns(
        linalg.ConvergenceWarning, match=f"{solver}: not converged after 2 .*residual"
    ):
        x, info = SOLVERS[solver](a, tw.asarray(b, device=be), maxiter=2, rtol=1e-6)
    assert info == 2 == info.iterations
    residual = np.linalg.norm(b - matrix.astype("float64") @ x.numpy())
    np.testing.assert_allclose(info.residual, residual, rtol=1e-4)
    # A tolerance beyond the precision ends too.
    with pytest.warns(linalg.ConvergenceWarning):
        _, info = SOLVERS[solver](a, tw.asarray(b, device=be), rtol=1e-14)
    assert info > 0 and info.residual > 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_solved_before_it_starts(be: Backend, solver: str) -> None:
    a = sparse.csr_array(stencil(5), device=be)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zero = tw.zeros(25, device=be)
        x, info = SOLVERS[solver](a, zero, tw.ones(25, device=be))
        assert info == 0 and (x.numpy() == 0).all()
        there = tw.ones(25, device=be)
        x, info = SOLVERS[solver](a, a @ there, there)
        assert info == 0 and info.iterations == 0 and (x.numpy() == 1).all()
        # Exact after one step, and steps beyond it do no harm.
        x, info = SOLVERS[solver](sparse.eye_array(25, device=be), there, rtol=1e-7)
        assert info == 0 and (x.numpy() == 1).all()
        # A matrix that is stored whole.
        x, info = SOLVERS[solver](a.toarray(), a @ there, rtol=1e-4)
        assert info == 0 and np.allclose(x.numpy(), 1, atol=1e-2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"A": "rectangular"}, r"A has shape \(25, 24\), expected a square matrix"),
        ({"A": 3}, "A is 3 .*expected a sparse array"),
        ({"b": 24}, r"b has shape \(24,\)"),
        ({"x0": 24}, r"x0 has shape \(24,\)"),
        ({"rtol": -1.0}, "rtol is -1"),
        ({"atol": float("nan")}, "atol is nan"),
        ({"maxiter": -1}, "maxiter is -1"),
        ({"M": "ilu"}, "M is 'ilu', expected 'jacobi'"),
        ({"M": 24}, "M is .*expected 'jacobi', a vector of 25"),
        ({"A": "hollow", "M": "jacobi"}, "the diagonal of A is 0 at 3"),
    ],
    ids=str,
)
def test_wrong_arguments_of_solvers(be: Backend, options: dict[str, Any], message: str) -> None:
    matrix = stencil(5).tolil()
    if options.get("A") == "hollow":
        matrix[3, 3] = 0
    given: dict[str, Any] = {"A": sparse.csr_array(matrix, device=be), "b": tw.ones(25, device=be)}
    for name, value in options.items():
        if value == "rectangular":
            given[name] = sparse.csr_array(matrix.tocsr()[:, :24], device=be)
        elif value != "hollow":
            is_size = name in ("b", "x0", "M") and isinstance(value, int)
            given[name] = tw.ones(value, device=be) if is_size else value
    for name, solver in SOLVERS.items():
        with pytest.raises(tw.InvalidArgument, match=f"^{name}: .*{message}"):
            solver(**given)


@pytest.mark.parametrize("size", [1e-33, 1e-25, 1e-16, 1e16, 1e25, 3e37], ids=str)
@pytest.mark.parametrize("solver", SOLVERS)
def test_sizes_whose_squares_are_not_held(be: Backend, solver: str, size: float) -> None:
    matrix = stencil(5)
    a = sparse.csr_array(matrix, device=be)
    rng = np.random.default_rng(8)
    right = np.asarray(rng.integers(-4, 5, (25, 3)) * 0.5 * size, "float32")
    right[:, 1] = rng.integers(-4, 5, 25)
    seen: list[tw.Array] = []
    for b in (right[:, 0], right):
        host = tw.asarray(b, device=be)
        x, info = SOLVERS[solver](a, host, rtol=1e-5, callback=seen.append)
        assert info == 0
        exact = sp.linalg.spsolve(matrix.astype("float64").tocsc(), host.numpy().astype("float64"))
        sizes = np.linalg.norm(b.astype("float64"), axis=0)
        off = np.linalg.norm(x.numpy() - exact, axis=0)
        assert (off <= 1e-4 * np.linalg.norm(exact, axis=0)).all()
        np.testing.assert_allclose(info.tolerance, 1e-5 * sizes, rtol=1e-4)
        left = np.linalg.norm(b - matrix.astype("float64") @ x.numpy().astype("float64"), axis=0)
        assert (left <= 1.1 * info.tolerance).all()
        np.testing.assert_array_equal(seen[-1].numpy(), x.numpy())
        # A tolerance and a start of the same size are of the system that is given.
        x, info = SOLVERS[solver](a, host, x, atol=2e-5 * float(sizes.max()))
        assert info == 0 and info.iterations == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("solver", SOLVERS)
def test_what_is_not_finite_does_not_converge(be: Backend, solver: str, bad: float) -> None:
    a = sparse.csr_array(stencil(5), device=be)
    right = np.ones((25, 2), "float32")
    right[3, 1] = bad
    for b in (right[:, 1], right):
        for rtol in (1e-5, 0.0):
            with pytest.warns(linalg.ConvergenceWarning, match="not converged after 0 iterations"):
                _, info = SOLVERS[solver](a, tw.asarray(b, device=be), rtol=rtol)
            assert info == 1 and info.iterations == 0
            assert not np.isfinite(np.atleast_1d(info.residual)[-1])
            assert np.shape(info.residual) == np.shape(info.tolerance) == b.shape[1:]


def test_no_rows(be: Backend) -> None:
    a = sparse.csr_array((0, 0), device=be)
    m = linalg.block_jacobi(a, 1)
    for solver in SOLVERS.values():
        x, info = solver(a, tw.zeros(0, device=be), M=m)
        assert info == 0 and x.shape == (0,)


@pytest.mark.parametrize("solver", SOLVERS)
def test_no_tolerance_of_several(be: Backend, solver: str) -> None:
    """One of each, as the residuals are."""
    a = sparse.csr_array(stencil(5), device=be)
    with pytest.warns(linalg.ConvergenceWarning):
        _, info = SOLVERS[solver](a, tw.ones((25, 3), device=be), rtol=0, maxiter=1)
    np.testing.assert_array_equal(info.tolerance, np.zeros(3))


def test_numbers_of_any_kind(be: Backend) -> None:
    a, b = sparse.csr_array(stencil(5), device=be), tw.ones(25, device=be)
    _, info = linalg.cg(a, b, rtol=np.float32(1e-3), atol=np.int64(0), maxiter=np.int32(90))
    assert info == 0
    with tw.init_backend("cpu") as cpu:
        there = tw.ones(25, device=cpu)
        for given, said in [
            ({"rtol": True}, "rtol is True"),
            ({"rtol": 10**400}, "rtol is 1000"),
            ({"x0": b.astype("complex64")}, "x0 is complex64, expected float32"),
            ({"M": b.astype("complex64")}, "M is complex64, expected float32"),
            ({"M": a.astype("complex64")}, "M is complex64, expected float32"),
            ({"M": there}, "M "),
            ({"M": sparse.eye_array(25, device=cpu)}, "M is on another device"),
            ({"x0": [[1], [2, 3]]}, r"x0 is \[\[1\], \[2, 3\]\] .list., expected an Array"),
            ({"x0": there}, "x0 "),
            ({"b": object()}, "b is .*expected an Array"),
            ({"b": there}, "A and b are on different devices"),
        ]:  # type: ignore[var-annotated]
            options: Any = {"b": b} | given
            with pytest.raises(tw.InvalidArgument, match=f"^cg: {said}"):
                linalg.cg(a, **options)
        del there, given, options
