"""Every function of the Python array API standard 2025.12, with a call of it for each kind of dtype
that the standard wants: b(ool), i(ntegers), f(loats), c(omplex numbers)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tilewright as tw

DTYPES = {"b": "bool", "i": "int32", "f": "float32", "c": "complex64"}

Call = Callable[[Any], Any]

Group = dict[str, tuple[str, Call]]


def _of_one(names: str, kinds: str) -> Group:
    return {name: (kinds, lambda x, name=name: getattr(tw, name)(x)) for name in names.split()}


def _of_two(names: str, kinds: str) -> Group:
    return {name: (kinds, lambda x, name=name: getattr(tw, name)(x, x)) for name in names.split()}


def _small(x: Any) -> Any:
    """Where functions such as acos() and shifts are defined."""
    return x if x.dtype.kind != "f" else x / 8


FACTORISATIONS = [
    *("cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matrix_rank", "pinv", "qr"),
    *("slogdet", "svd", "svdvals"),
]
OF_COMPLEX = ("fft", "ifft", "fftn", "ifftn", "irfft", "irfftn", "hfft")
OF_REAL = ("rfft", "rfftn", "ihfft")

GROUPS: dict[str, Group] = {
    "Creation": {
        "arange": ("if", lambda x: tw.arange(3, dtype=x.dtype, device=x.device)),
        "asarray": ("bifc", lambda x: tw.asarray([1, 0], dtype=x.dtype, device=x.device)),
        "empty": ("bifc", lambda x: tw.empty(3, dtype=x.dtype, device=x.device)),
        "empty_like": ("bifc", lambda x: tw.empty_like(x)),
        "eye": ("bifc", lambda x: tw.eye(3, dtype=x.dtype, device=x.device)),
        "from_dlpack": ("bifc", lambda x: tw.from_dlpack(x.numpy(), device=x.device)),
        "full": ("bifc", lambda x: tw.full(3, 1, dtype=x.dtype, device=x.device)),
        "full_like": ("bifc", lambda x: tw.full_like(x, 1)),
        "linspace": ("fc", lambda x: tw.linspace(0, 1, 4, dtype=x.dtype, device=x.device)),
        "meshgrid": ("bifc", lambda x: tw.meshgrid(x[0], x[1])),
        "ones": ("bifc", lambda x: tw.ones(3, dtype=x.dtype, device=x.device)),
        "ones_like": ("bifc", lambda x: tw.ones_like(x)),
        "tril": ("bifc", lambda x: tw.tril(x)),
        "triu": ("bifc", lambda x: tw.triu(x)),
        "zeros": ("bifc", lambda x: tw.zeros(3, dtype=x.dtype, device=x.device)),
        "zeros_like": ("bifc", lambda x: tw.zeros_like(x)),
    },
    "Dtypes": {
        "astype": ("bifc", lambda x: tw.astype(x, x.dtype, copy=True)),
        "can_cast": ("bifc", lambda x: tw.can_cast(x, x.dtype)),
        "finfo": ("fc", lambda x: tw.finfo(x.dtype)),
        "iinfo": ("i", lambda x: tw.iinfo(x.dtype)),
        "isdtype": ("bifc", lambda x: tw.isdtype(x.dtype, "numeric")),
        "result_type": ("bifc", lambda x: tw.result_type(x, x.dtype)),
    },
    "Elementwise": _of_one("abs negative positive sign square", "ifc")
    | _of_one("ceil floor round trunc", "if")
    | _of_one("isfinite isinf isnan", "ifc")
    | _of_one("real imag conj", "c")
    | _of_one("exp expm1 log log1p log2 log10 sqrt reciprocal", "fc")
    | _of_one("sin cos tan sinh cosh tanh asinh atan acosh", "fc")
    | {
        name: ("fc", lambda x, name=name: getattr(tw, name)(_small(x)))
        for name in ["acos", "asin", "atanh"]
    }
    | _of_one("signbit", "f")
    | _of_one("logical_not bitwise_invert", "b")
    | _of_one("bitwise_invert", "bi")
    | _of_two("add subtract multiply", "ifc")
    | _of_two("divide", "fc")
    | _of_two("floor_divide remainder", "if")
    | _of_two("pow", "ifc")
    | _of_two("atan2 copysign hypot logaddexp nextafter", "f")
    | _of_two("maximum minimum greater greater_equal less less_equal", "if")
    | _of_two("equal not_equal", "bifc")
    | _of_two("logical_and logical_or logical_xor", "b")
    | _of_two("bitwise_and bitwise_or bitwise_xor", "bi")
    | _of_two("bitwise_left_shift bitwise_right_shift", "i")
    | {"clip": ("if", lambda x: tw.clip(x, 1, 2))},
    "Indexing": {
        "x[i, j]": ("bifc", lambda x: x[1, -1]),
        "x[1:, ::-1]": ("bifc", lambda x: x[1:, ::-1]),
        "x[mask]": ("bifc", lambda x: x[x != x[0, 0]]),
        "x[integers]": ("bifc", lambda x: x[tw.asarray([1, 0, 1], device=x.device)]),
        "x[mask] = y": ("bifc", lambda x: x.__setitem__(x != x[0, 0], x[0, 0])),
        "x[integers] = y": (
            "bifc",
            lambda x: x.__setitem__(tw.asarray([1, 0], device=x.device), x[0]),
        ),
        "take": ("bifc", lambda x: tw.take(x, tw.asarray([1, 0], device=x.device), axis=1)),
        "take_along_axis": (
            "bifc",
            lambda x: tw.take_along_axis(x, tw.zeros((2, 1), dtype="int32", device=x.device)),
        ),
    },
    "Manipulation": {
        "broadcast_arrays": ("bifc", lambda x: tw.broadcast_arrays(x, x[:1])),
        "broadcast_shapes": ("bifc", lambda x: tw.broadcast_shapes(x.shape, (1, 3))),
        "broadcast_to": ("bifc", lambda x: tw.broadcast_to(x, (2, 2, 3))),
        "concat": ("bifc", lambda x: tw.concat([x, x])),
        "expand_dims": ("bifc", lambda x: tw.expand_dims(x, axis=0)),
        "flip": ("bifc", lambda x: tw.flip(x)),
        "moveaxis": ("bifc", lambda x: tw.moveaxis(x, 0, 1)),
        "permute_dims": ("bifc", lambda x: tw.permute_dims(x, (1, 0))),
        "repeat": ("bifc", lambda x: tw.repeat(x, 2)),
        "repeat by an Array": (
            "bifc",
            lambda x: tw.repeat(x, tw.asarray([1, 2], device=x.device), axis=0),
        ),
        "reshape": ("bifc", lambda x: tw.reshape(x, (3, 2))),
        "roll": ("bifc", lambda x: tw.roll(x, 1)),
        "squeeze": ("bifc", lambda x: tw.squeeze(x[:1], axis=0)),
        "stack": ("bifc", lambda x: tw.stack([x, x])),
        "tile": ("bifc", lambda x: tw.tile(x, (2, 1))),
        "unstack": ("bifc", lambda x: tw.unstack(x)),
    },
    "Linear algebra": _of_one("matrix_transpose", "bifc")
    | {
        "matmul": ("ifc", lambda x: tw.matmul(x, x.T)),
        "tensordot": ("ifc", lambda x: tw.tensordot(x, x)),
        "vecdot": ("ifc", lambda x: tw.vecdot(x, x)),
    },
    "Searching": {
        "argmax": ("if", lambda x: tw.argmax(x)),
        "argmin": ("if", lambda x: tw.argmin(x)),
        "count_nonzero": ("bifc", lambda x: tw.count_nonzero(x)),
        "nonzero": ("bifc", lambda x: tw.nonzero(x)),
        "searchsorted": ("if", lambda x: tw.searchsorted(x[0], x[1])),
        "where": ("bifc", lambda x: tw.where(x == x, x, x)),
    },
    "Sets": {
        "isin": ("i", lambda x: tw.isin(x, x[0])),
        "unique_all": ("bifc", lambda x: tw.unique_all(x)),
        "unique_counts": ("bifc", lambda x: tw.unique_counts(x)),
        "unique_inverse": ("bifc", lambda x: tw.unique_inverse(x)),
        "unique_values": ("bifc", lambda x: tw.unique_values(x)),
    },
    "Sorting": _of_one("argsort sort", "if"),
    "Statistics and truths": _of_one("max min", "if")
    | _of_one("mean", "fc")
    | _of_one("std var", "f")
    | _of_one("prod sum", "ifc")
    | _of_one("all any", "bifc")
    | {
        "cumulative_prod": ("ifc", lambda x: tw.cumulative_prod(x, axis=0)),
        "cumulative_sum": ("ifc", lambda x: tw.cumulative_sum(x, axis=0)),
        "diff": ("bifc", lambda x: tw.diff(x)),
    },
    "linalg": {
        f"linalg.{name}": ("fc", lambda x, name=name: getattr(tw.linalg, name)(x[:, :2]))
        for name in FACTORISATIONS
    }
    | {
        "linalg.matmul": ("ifc", lambda x: tw.linalg.matmul(x, x.T)),
        "linalg.matrix_transpose": ("bifc", lambda x: tw.linalg.matrix_transpose(x)),
        "linalg.outer": ("ifc", lambda x: tw.linalg.outer(x[0], x[1])),
        "linalg.tensordot": ("ifc", lambda x: tw.linalg.tensordot(x, x)),
        "linalg.vecdot": ("ifc", lambda x: tw.linalg.vecdot(x, x)),
        "linalg.cross": ("ifc", lambda x: tw.linalg.cross(x, x)),
        "linalg.diagonal": ("bifc", lambda x: tw.linalg.diagonal(x)),
        "linalg.trace": ("ifc", lambda x: tw.linalg.trace(x)),
        "linalg.vector_norm": ("fc", lambda x: tw.linalg.vector_norm(x)),
        "linalg.matrix_norm": ("fc", lambda x: tw.linalg.matrix_norm(x)),
        "linalg.matrix_power": ("fc", lambda x: tw.linalg.matrix_power(x[:, :2], 3)),
        "linalg.solve": ("fc", lambda x: tw.linalg.solve(x[:, :2], x)),
    },
    "fft": {
        f"fft.{name}": ("c", lambda x, name=name: getattr(tw.fft, name)(x)) for name in OF_COMPLEX
    }
    | {f"fft.{name}": ("f", lambda x, name=name: getattr(tw.fft, name)(x)) for name in OF_REAL}
    | {
        "fft.fftfreq": ("f", lambda x: tw.fft.fftfreq(8, device=x.device)),
        "fft.rfftfreq": ("f", lambda x: tw.fft.rfftfreq(8, device=x.device)),
        "fft.fftshift": ("fc", lambda x: tw.fft.fftshift(x)),
        "fft.ifftshift": ("fc", lambda x: tw.fft.ifftshift(x)),
    },
    "Inspection": {
        "__array_namespace_info__": ("b", lambda x: tw.__array_namespace_info__().dtypes()),
    },
}


ROWS = {
    "b": [[True, False, True], [False, True, True]],
    "i": [[1, 2, 3], [2, 3, 1]],
    "f": [[1.5, 2.5, 3.5], [2, 3, 1]],
    "c": [[1.5, 2.5j, 3.5], [2, 3, 1j]],
}


def works(be: tw.Backend, kind: str, call: Call) -> bool:
    try:
        call(tw.asarray(np.array(ROWS[kind], DTYPES[kind]), device=be))
    except (AttributeError, tw.Unsupported, tw.InvalidArgument):
        return False
    return True


def computed(be: tw.Backend) -> dict[str, str]:
    """The kinds of dtypes that the device computes, of those that the standard wants."""
    return {
        name: "".join(kind for kind in kinds if works(be, kind, call)) or "-"
        for group in GROUPS.values()
        for name, (kinds, call) in sorted(group.items())
    }


def tables(columns: dict[str, dict[str, str]]) -> str:
    """The page's tables, of what computed() gives for each backend."""
    lines = []
    for title, group in GROUPS.items():
        lines += [
            f"\n## {title}\n",
            f"| | standard | {' | '.join(columns)} |",
            f"|---|---|{'---|' * len(columns)}",
        ]
        for name, (kinds, _) in sorted(group.items()):
            cells = [kinds, *(column[name] for column in columns.values())]
            lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def column_of(page: str, backend: str) -> dict[str, str]:
    """What the tables of a page say of a backend."""
    found = {}
    at = 0
    for line in page.splitlines():
        cells = [cell.strip(" `") for cell in line.strip("|").split(" | ")]
        if line.startswith("| |") and backend in cells:
            at = cells.index(backend)
        elif line.startswith("| `"):
            found[cells[0]] = cells[at]
    return found
