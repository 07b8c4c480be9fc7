"""Eigenvalues and least squares of matrices of every kind, by what makes them so."""

from __future__ import annotations

from typing import Any

import numpy as np
import tilewright as tw

from .case import Case

KINDS_OF = ["normal", "small", "upper", "nilpotent", "shift", "eye", "zero", "symmetric", "jordan",
            "rank 1", "special"]  # fmt: skip


def content(case: Case, shape: list[int], dtype: str, kind: str) -> Any:
    rng, n = case.draw.rng, shape[-1]
    host = rng.standard_normal(shape) if kind != "small" else rng.integers(-4, 5, shape) / 2
    if dtype.startswith("complex"):
        host = host + 1j * rng.standard_normal(shape)
    if kind == "upper":
        return np.triu(host)
    if kind == "nilpotent":
        return np.triu(host, 1)
    if kind in ("shift", "jordan", "eye", "zero"):
        one = np.eye(n) * (kind != "zero") + np.eye(n, k=1) * (kind == "jordan")
        return np.broadcast_to(np.roll(one, kind == "shift", axis=0), shape)
    if kind == "symmetric":
        return host + np.swapaxes(host.conj(), -1, -2)
    if kind == "rank 1":
        return host[..., :1] * host[..., :1, :]
    if kind == "special" and host.size:
        host.reshape(-1)[rng.integers(0, host.size)] = rng.choice([np.nan, np.inf, -np.inf])
    return host


def held(case: Case) -> str:
    doubles = ["float64", "complex128"] * case.draw.doubles
    return case.draw.one_of(["float32", "complex64", *doubles])


def eigenvalues(case: Case) -> Case:
    draw = case.draw
    name, dtype, kind = draw.one_of(["eig", "eigvals"]), held(case), draw.one_of(KINDS_OF)
    n = draw.one_of([3, 1, 2, 5, 8, 17, 33, 0])
    batch = [draw.one_of([2, 1, 3, 0]) for _ in range(draw.below(3))] if n < 17 else []
    size = draw.one_of([1.0, 1.0, 2.0**-90, 2.0**90])
    host = content(case, [*batch, n, n], dtype, kind) * size

    def run(_: Any, x: Any) -> Any:
        found = getattr(tw.linalg, name)(x)
        values, vectors = found if name == "eig" else (found, None)
        return values.shape, str(values.dtype), off_of(x, values, vectors)

    given = case.content(host, dtype)
    case.runs(f"{name} special" if kind == "special" else name, run, x=given)
    case.text = f" {kind} times {size}"
    pairs = "complex64" if dtype in ("float32", "complex64") else "complex128"
    return case.to(formula=lambda x: ((*batch, n), pairs, ""))


def off_of(x: Any, values: Any, vectors: Any) -> str:
    """What is not as it is of eigenvalues."""
    eps, n = float(np.finfo(str(values.dtype)).eps), x.shape[-1]
    a, w = x.numpy().astype(np.complex128), values.numpy().astype(np.complex128)
    if not a.size:
        return ""
    norm = np.linalg.norm(a, axis=(-2, -1))
    bound = 8 * (n + 8) * eps * norm
    trace = np.abs(w.sum(-1) - np.trace(a, axis1=-2, axis2=-1))
    if not (trace <= bound * n**0.5).all():
        return f"the values sum up to the trace but for {trace.max()}, of a norm of {norm.max()}"
    squares = np.abs((w * w).sum(-1) - np.trace(a @ a, axis1=-2, axis2=-1))
    if not (squares <= 4 * n * bound * norm).all():
        return f"the sum of squares is off by {squares.max()}, of a norm of {norm.max()}"
    if vectors is None:
        return ""
    if str(vectors.dtype) != str(values.dtype) or vectors.shape != x.shape:
        return f"the vectors are {vectors.dtype} of shape {vectors.shape}"
    v = vectors.numpy().astype(np.complex128)
    lengths = np.linalg.norm(v, axis=-2)
    if not (np.abs(lengths - 1) <= 1e-5).all():
        return f"a vector has the length {lengths.reshape(-1)[np.abs(lengths - 1).argmax()]}"
    off = np.abs(a @ v - v * w[..., None, :]).max(axis=(-2, -1))
    return "" if (off <= bound).all() else f"A V - V w is {off.max()}, of a norm of {norm.max()}"


def least_squares(case: Case) -> Case:
    draw, rng = case.draw, case.draw.rng
    dtype = held(case)
    rows, columns = draw.one_of([5, 1, 3, 17, 40, 0]), draw.one_of([3, 1, 2, 5, 0])
    rank = min(rows, columns) - draw.one_of([0, 0, 1])
    right = draw.one_of([[rows], [rows, 2], [rows, 1], [rows, 0]])
    size = draw.one_of([1.0, 1.0, 2.0**-60, 2.0**60])
    if rank > 0:
        sides = [np.linalg.qr(content(case, [n, rank], dtype, "normal"))[0]
                 for n in (rows, columns)]  # fmt: skip
        host = sides[0] * rng.integers(2, 9, rank) @ sides[1].conj().T
    else:
        host = np.zeros((rows, columns))
    b = rng.integers(-8, 9, right) / 4
    special = draw.rarely(12) and host.size > 0
    if special:
        host.reshape(-1)[rng.integers(0, host.size)] = np.nan
    options: dict[str, Any] = {
        "a": case.content(host * size, dtype),
        "b": case.content(b.astype(dtype), dtype),
    }
    if rank < min(rows, columns) or draw.below(2):
        options["rcond"] = draw.one_of([1e-3, 0.01])

    def run(_: Any, **given: Any) -> Any:
        found = tw.linalg.lstsq(**given)
        # So that what is left of small numbers and large ones is compared alike.
        return found.x * size, found.residuals, found.rank, found.s * (1 / size)

    def formula(a: Any, b: Any, rcond: Any = None) -> Any:
        x, left, count, s = np.linalg.lstsq(a, b, rcond=1e-6 if rcond is None else rcond)
        return x * size, left, int(count), s / size

    case.runs("lstsq special" if special else "lstsq", run, **options)
    case.text = f" rank {rank} times {size}"
    return case.to(formula=formula, ulps=256)


#: other functions of matrices: what each is given beside them
OTHERS: dict[str, dict[str, list[Any]]] = {
    "inv": {}, "det": {}, "slogdet": {}, "cholesky": {"upper": [False, True]}, "svdvals": {},
    "qr": {"mode": ["reduced", "complete"]}, "svd": {"full_matrices": [True, False]},
    "eigh": {"UPLO": ["L", "U"]}, "eigvalsh": {"UPLO": ["L", "U"]},
    "pinv": {"rtol": [1e-3, None]}, "matrix_rank": {"rtol": [1e-3, None], "tol": [None, 0.5]},
    "cond": {"p": [None, 1, 2, "fro", -2, float("inf")]}, "matrix_power": {"n": [2, 0, -1, 5]},
    "solve": {}, "trace": {"offset": [0, 1, -1]}, "diagonal": {"offset": [0, 1, -1]},
    "matrix_norm": {"ord": ["fro", 2, "nuc", 1, float("inf")], "keepdims": [False, True]},
    "vector_norm": {"ord": [2, 1, 0, 3, float("inf")], "axis": [None, 0, -1],
                    "keepdims": [False, True]},
}  # fmt: skip
#: what messages say in place of these
ALSO = {"p": ("ord",), "rtol": ("rtol", "tol", "rcond"), "tol": ("tol", "rtol")}


def other(case: Case) -> Case:
    """Of views and of plain Arrays alike; it is their refusals that are of interest."""
    draw = case.draw
    name, dtype = draw.one_of(list(OTHERS)), held(case)
    n = draw.one_of([3, 1, 2, 5, 0])
    batch = [draw.one_of([2, 1, 0]) for _ in range(draw.below(2))]
    if name == "cond":
        n = max(n, 1)
    host = content(case, [*batch, n, n], dtype, "symmetric") + 8 * (n + 1) * np.eye(n)
    options: dict[str, Any] = {"x": case.content(host, dtype)}
    if name == "solve":
        options["b"] = case.array([*batch, n, 2], dtype)
    options |= {key: draw.one_of(values) for key, values in OTHERS[name].items() if draw.below(2)}
    if name == "matrix_power":
        options.setdefault("n", 2)

    def run(_: Any, x: Any, **given: Any) -> Any:
        call = getattr(tw.linalg, name)
        if name == "solve":
            return call(x, given["b"])
        if name == "matrix_power":
            return call(x, given["n"])
        return call(x, **given)

    also = [word for key in options for word in ALSO.get(key, ())]
    case.names = ("x1", "x2", "a", "array", *also)
    return case.runs(name, run, **options).to(beside="", ulps=1 << 12)


KINDS = [eigenvalues, eigenvalues, least_squares, other]
