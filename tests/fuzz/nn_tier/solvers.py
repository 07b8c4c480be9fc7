"""Solvers of sparse systems: whatever the system is, what they say of their solution is so."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import tilewright as tw

from .case import Case
from .sparses import made

#: steps that a case may take of the slowest device
MOST = 40


def matrix(case: Case, n: int, kind: str, dtype: str) -> Any:
    """Those that are good are positive definite and far from singular."""
    rng = case.draw.rng
    dense = np.where(rng.integers(0, 3, (n, n)) == 0, rng.integers(-4, 5, (n, n)) / 4, 0.0)
    if dtype.startswith("complex"):
        dense = dense + 1j * np.where(dense != 0, rng.integers(-4, 5, (n, n)) / 4, 0)
    even = (dense + dense.conj().T) / 2
    heavy = np.abs(even).sum(axis=1) + 1
    if kind == "good":
        return even + np.diag(heavy)
    if kind == "arrow":  # rows of very different lengths
        found = np.diag(np.full(n, 1.0 + n)) + 0 * dense
        found[:1, :], found[:, :1] = 0.5, 0.5
        found[:1, :1] = 1.0 + n
        return found
    if kind == "one sided":
        return dense + np.diag(np.abs(dense).sum(axis=1) + 1)
    if kind == "scaled":
        by = 10.0 ** rng.integers(-3, 4, n)
        return by[:, None] * (even + np.diag(heavy)) * by
    if kind == "singular":
        found = even + np.diag(heavy)
        found[n // 2 :, :], found[:, n // 2 :] = 0, 0
        return found
    if kind == "special":
        found = even + np.diag(heavy)
        found.reshape(-1)[rng.integers(0, max(1, n * n), min(n, 1))] = rng.choice([np.nan, np.inf])
        return found
    return dense if kind == "any" else 0 * dense


def solver(case: Case) -> Case:
    draw, rng = case.draw, case.draw.rng
    name = draw.one_of(["cg", "bicgstab", "gmres"])
    dtype = draw.one_of(["float32", "complex64"] + ["float64", "complex128"] * draw.doubles)
    n = draw.one_of([5, 1, 2, 3, 17, 33, 0])
    kind = draw.one_of(["good", "good", "good", "arrow", "one sided", "scaled", "singular", "any",
                        "zero", "special"])  # fmt: skip
    host = matrix(case, n, kind, dtype).astype(dtype)
    how = draw.one_of(["csr", "csc", "coo", "bsr", "dense"])
    shape = [n, draw.one_of([1, 2, 4, 0])] if draw.rarely(3) else [n]
    right = rng.integers(-4, 5, shape) / 2
    size = draw.one_of([1.0, 1.0, 1.0, 0.0, 1e-30, 1e25, 1e-12, np.nan])
    options: dict[str, Any] = {"A": case.content(host, dtype)}
    options["b"] = case.content((right * size).astype(dtype), dtype)
    start = rng.integers(-2, 3, shape) * min(size, 1e25)
    if draw.rarely(4):
        options["x0"] = case.content(start.astype(dtype), dtype)
    elif draw.rarely(4) and size == 1:
        # Their common dtype is A's all the same.
        of = draw.one_of(["float32", "float16", "int32", "bool"])
        options["x0"], options["b"] = case.content(start, of), case.content(right, of)
    blocks = 0
    diagonal = np.diagonal(host)
    m = draw.one_of(["", "jacobi", "vector", "matrix", "blocks"])
    if m == "jacobi":
        options["M"] = m
    elif m == "vector":
        inverse = 1 / np.where(diagonal == 0, 1, diagonal)
        options["M"] = case.content(inverse * (0 if draw.rarely(8) else 1), dtype)
    elif m == "matrix":
        options["M"] = case.content(np.diag(1 / np.where(diagonal == 0, 1, diagonal)), dtype)
    elif m == "blocks" and how != "dense":
        blocks = min(max(n, 1), draw.one_of([2, 1, 3, 5]))
    plain = {
        "rtol": [1e-5, 1e-3, 0.0, 1e-12, 0.5], "atol": [0.0, 1e-3, 1e3],
        "maxiter": [MOST, 0, 1, 2, 17], "check_every": [16, 1, 3, 1000],
    }  # fmt: skip
    if name == "gmres":
        plain["restart"] = [20, 1, 2, 7]
        del plain["check_every"]
    options |= {key: draw.one_of(values) for key, values in plain.items() if draw.below(2)}
    options.setdefault("maxiter", MOST)
    watched = draw.rarely(3)
    is_good = kind in ("good", "arrow") and m in ("", "jacobi", "blocks")
    is_good &= options["maxiter"] == MOST and options.get("rtol", 1e-5) >= 1e-5

    def run(_: Any, A: Any, b: Any, **given: Any) -> Any:
        most = given["maxiter"]
        if isinstance(most, int) and most > MOST:
            # Where nothing is near enough, all of them are taken.
            given["maxiter"] = most = MOST
        a = A if how == "dense" or not isinstance(A, tw.Array) else made(A, how)
        if blocks and isinstance(A, tw.Array):
            given["M"] = tw.sparse.linalg.block_jacobi(a, blocks)
        seen: list[Any] = []
        if watched:
            given["callback"] = seen.append
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            x, info = getattr(tw.sparse.linalg, name)(a, b, **given)
        words = [str(one.message) for one in caught
                 if issubclass(one.category, tw.sparse.linalg.ConvergenceWarning)]  # fmt: skip
        count = len(seen) if watched else None
        return x.shape, str(x.dtype), wrong_of(
            name, on_host(A), on_host(b), x.numpy(), info, words, most, count,
            given.get("rtol", 1e-5), given.get("atol", 0.0), is_good,
        )  # fmt: skip

    hollow = m == "jacobi" and n > 0 and bool((diagonal == 0).any())
    case.runs(name + " of hollow" * hollow, run, **options)
    case.names = (*case.names, "block_jacobi", "arg1", "data")
    case.text = f" {kind} {how} {m} {'watched' * watched}"
    if m == "blocks" and kind not in ("good", "arrow", "one sided", "scaled"):
        case.name += " of singular blocks"
    return case.to(formula=lambda b, **_: (b.shape, dtype, ""))


def on_host(x: Any) -> Any:
    return x.numpy() if isinstance(x, tw.Array) else np.asarray(x)


def wrong_of(
    name: str, a: Any, b: Any, x: Any, info: Any, words: list[str], most: int, seen: int | None,
    rtol: float, atol: float, is_good: bool,
) -> str:  # fmt: skip
    """What is not so of what is said; nothing where all is."""
    n = len(a)
    eps = float(np.finfo(x.dtype).eps)
    a, b, x = (one.astype(np.complex128) for one in (a, b, x))
    columns = b if b.ndim == 2 else b.reshape(n, 1)
    found = x.reshape(columns.shape)
    with np.errstate(all="ignore"):
        left = norms(columns - a @ found)
        sizes = norms(columns)
        reach = 8 * (n + 8) * eps * (np.linalg.norm(a) * norms(found) + sizes)
    said, limit = (np.atleast_1d(np.asarray(one)) for one in (info.residual, info.tolerance))
    if info.iterations > most or (seen is not None and seen != info.iterations):
        return f"{info.iterations} iterations of {most}, of which {seen} were seen"
    if int(info) not in (0, max(info.iterations, 1)):
        return f"info is {int(info)} after {info.iterations} iterations"
    fine = np.isfinite(sizes) & (sizes < 1e37)
    expected = np.maximum(atol, rtol * sizes)
    if not np.allclose(limit[fine], expected[fine], rtol=1e-4, atol=1e-37):
        return f"the tolerance is {limit}, expected {expected}"
    known = np.isfinite(left) & np.isfinite(reach) & np.isfinite(said)
    if not (np.abs(said - left)[known] <= 1e-4 * left[known] + reach[known] + 1e-37).all():
        return f"the residual is said to be {said}, and is {left}"
    if int(info) == 0:
        if words:
            return f"it converged, and warns: {words[0]}"
        near = left <= limit * (1 + 1e-4) + reach + 1e-37
        return "" if near.all() else f"it is said to converge with a residual of {left}"
    if len(words) != 1 or not words[0].startswith(f"{name}: not converged after "):
        return f"it did not converge, and warns {words}"
    if not (said > limit).any() and not np.isnan(said).any():
        return f"it did not converge with a residual of {said}, below {limit}"
    if f"{info.iterations} iterations: the residual is " not in words[0]:
        return f"the warning tells no residual: {words[0]}"
    if is_good and fine.all():
        return f"it did not converge: {words[0]}"
    return ""


def norms(x: Any) -> Any:
    """Of columns of any size."""
    most = np.abs(x).max(axis=0, initial=0)
    by = np.where((most == 0) | ~np.isfinite(most), 1, most)
    return by * np.sqrt((np.abs(x / by) ** 2).sum(axis=0))


KINDS = [solver, solver, solver]
