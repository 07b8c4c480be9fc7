"""Products, matrices and transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from .case import Case

LETTERS = "abcdef"


def products(case: Case) -> Case:
    draw = case.draw
    name = draw.one_of(["matmul", "@", "vecdot", "tensordot", "dot", "inner", "outer", "kron",
                        "vdot", "matvec", "vecmat", "cross"])  # fmt: skip
    dtype = case.dtype("fciub")
    other = dtype if draw.below(3) else case.dtype("fciu")
    m, n, k = (draw.one_of([3, 1, 2, 5, 17, 33, 0]) for _ in range(3))
    batch = [draw.one_of([2, 1, 3]) for _ in range(draw.below(3))]
    a, b = [*case.part_of(batch), m, k], [*case.part_of(batch), k, n]
    run: Any = lambda xp, x, y: getattr(xp, name)(x, y)  # noqa: E731
    if name == "@":
        run = lambda _, x, y: x @ y  # noqa: E731
    if name in ("matmul", "@", "dot") and draw.rarely(3):
        a = [k] if draw.below(2) else a
        b = [k] if a != [k] else b
    if name == "vecdot":
        a, b = [*batch, k], [*case.part_of(batch), k]
    elif name == "inner":
        a, b = [m, k], [n, k]
    elif name == "dot":
        a, b = a[-2:], b[-3:]
    elif name == "tensordot":
        axes = draw.one_of([1, 0, 2, ([0], [1])])
        a, b = {0: ([m], [n, 2]), 1: ([2, m, k], [k, n]), 2: ([2, m, k], [m, k])}.get(
            axes if isinstance(axes, int) else -1, ([k, 2], [m, k, 2])
        )
        run = lambda xp, x, y: xp.tensordot(x, y, axes=axes)  # noqa: E731
    elif name in ("outer", "vdot"):
        a, b = [m], [m if name == "vdot" else n]
    elif name == "kron":
        a, b = [2, draw.below(4)], [draw.below(4), 3]
    elif name == "matvec":
        a, b = [*batch, m, k], [k]
    elif name == "vecmat":
        a, b = [k], [*batch, k, n]
    elif name == "cross":
        a, b = [*batch, 3], [*case.part_of(batch), 3]
    case.operand(a, dtype)
    case.operand(b, other)
    return case.is_(name, f"f({a}, {b})", run, by="sums", ulps=2)


def einsum(case: Case) -> Case:
    """Each letter has one size."""
    draw = case.draw
    sizes = {letter: draw.one_of([2, 1, 3, 5]) for letter in LETTERS}
    dtype = case.dtype("fciu")
    parts = []
    for _ in range(draw.integer(1, 3)):
        letters = "".join(draw.one_of(LETTERS) for _ in range(draw.integer(1, 3)))
        parts.append(letters)
        case.operand([sizes[one] for one in letters], dtype)
    there = sorted(set("".join(parts)))
    kept = [one for one in there if draw.below(2)]
    if draw.below(2):
        kept.reverse()
    text = ",".join(parts) + "->" + "".join(kept)
    # The products of two are rounded before they meet the third.
    case.loose = len(parts) > 2
    return case.is_("einsum", text, lambda xp, *x: xp.einsum(text, *x), by="sums", ulps=2)


def matrices(case: Case) -> Case:
    """Of matrices far from singular; what is not unique is multiplied together again."""
    draw, rng = case.draw, case.draw.rng
    dtype = case.dtype("fc" if draw.below(6) else "i")
    if dtype == "bfloat16" or (dtype == "float16" and draw.below(4)):
        dtype = "float32"
    n, m = draw.one_of([3, 1, 2, 5, 8, 17, 0]), draw.one_of([3, 1, 2, 5, 9])
    batch = [draw.one_of([2, 1, 3, 0]) for _ in range(draw.below(3))]
    square = rng.integers(-4, 5, [*batch, n, n]) / 8 + n * np.eye(n)
    tall = rng.integers(-8, 9, [*batch, m, n]) / 4
    if np.dtype(dtype).kind == "c":
        square = square + 1j * rng.integers(-4, 5, square.shape) / 8
        tall = tall + 1j * rng.integers(-4, 5, tall.shape) / 8
    even = square + np.swapaxes(square.conj(), -1, -2)

    def product(*parts: str) -> Any:
        def run(xp: Any, x: Any) -> Any:
            found = getattr(xp.linalg, parts[0])(x, *parts[1:])
            if parts[0] == "qr":
                return found[0] @ found[1]
            if parts[0] == "eigh":
                values, vectors = found
                return values, vectors * values[..., None, :] @ xp.conj(vectors).mT
            u, s, vh = found
            return s, u[..., : s.shape[-1]] * s[..., None, :] @ vh[..., : s.shape[-1], :]

        return run

    def spectrum(name: str) -> Any:
        """What does not depend on the order of the values."""

        def run(xp: Any, x: Any) -> Any:
            found = getattr(xp.linalg, name)(x)
            values, vectors = found if name == "eig" else (found, None)
            if vectors is None:
                return values.sum(-1), (values * values).sum(-1)
            off = x @ vectors - vectors * values[..., None, :]
            return values.sum(-1), off / max(1, n * n)

        return run

    def plain(name: str, **options: Any) -> Any:
        return lambda xp, x: getattr(xp.linalg, name)(x, **options)

    calls: list[tuple[str, Any, Any]] = [
        ("inv", square, plain("inv")), ("det", square, plain("det")),
        ("slogdet", square, plain("slogdet")), ("matrix_power 3", square,
        lambda xp, x: xp.linalg.matrix_power(x, 3)), ("cholesky", even, plain("cholesky")),
        ("eigh", even, product("eigh")), ("eigvalsh", even, plain("eigvalsh")),
        ("svd", tall, product("svd")), ("svdvals", tall, plain("svdvals")),
        ("qr", tall, product("qr")), ("pinv", square, plain("pinv")),
        ("matrix_rank", square, plain("matrix_rank")),
        ("vector_norm", tall, plain("vector_norm")), ("matrix_norm", tall, plain("matrix_norm")),
        ("norm axis", tall, plain("norm", axis=-1)), ("norm 1", tall,
        plain("norm", ord=1, axis=(-2, -1))), ("cond", square, plain("cond")),
        ("eig", square, spectrum("eig")), ("eigvals", square, spectrum("eigvals")),
        ("trace", tall, plain("trace")), ("diagonal", tall, plain("diagonal")),
    ]  # fmt: skip
    if draw.rarely(4):
        case.holding(square.astype(dtype), on_host=False)
        case.holding((rng.integers(-8, 9, [*batch, n, m]) / 4).astype(dtype), on_host=False)
        return case.is_("solve", "solve(a, b)", lambda xp, a, b: xp.linalg.solve(a, b), floats=True,
                        by="whole", ulps=100, any_dtype=True)  # fmt: skip
    if not batch and draw.rarely(4):
        long = np.concatenate([square, tall], axis=-2)
        right = draw.one_of([[n + m], [n + m, 2], [n + m, 1]])
        case.holding(long.astype(dtype), on_host=False)
        case.holding((rng.integers(-8, 9, right) / 4).astype(dtype), on_host=False)
        return case.is_("lstsq", "lstsq(a, b)", lambda xp, a, b: xp.linalg.lstsq(a, b),
                        floats=True, by="whole", ulps=400, any_dtype=True)  # fmt: skip
    name, content, run = draw.one_of(calls)
    case.holding(content.astype(dtype), on_host=False)
    return case.is_(name.split()[0], name, run, by="whole", ulps=200, any_dtype=True,
                    floats=np.dtype(dtype).kind != "i", loose=True)  # fmt: skip


def transforms(case: Case) -> Case:
    draw = case.draw
    shape = case.shape(1, 3, 600)
    axis = draw.integer(-len(shape), len(shape) - 1)
    name = draw.one_of(["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "ifftn", "rfftn",
                        "irfftn", "fft2"])  # fmt: skip
    dtype = case.dtype("fciub")
    case.operand(shape, dtype)
    options: dict[str, Any] = {}
    if name not in ("fftn", "ifftn", "rfftn", "irfftn", "fft2"):
        options = {"axis": axis}
        if draw.below(2):
            options["n"] = draw.integer(1, 40)
    options["norm"] = draw.one_of(["backward", "ortho", "forward"])
    return case.is_(f"fft.{name}", f"f(x, {options})", by="whole", ulps=40, any_dtype=True,
                    floats=True, loose=True,
                    run=lambda xp, x: getattr(xp.fft, name)(x, **options))  # fmt: skip


KINDS = [products, products, einsum, matrices, transforms]
