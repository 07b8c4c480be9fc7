"""Reductions, scans, sorts, searches, sets, statistics and histograms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .case import Case
from .operands import elements_of

SUMS = ["sum", "mean", "prod"]
ORDERS = ["max", "min", "argmax", "argmin", "any", "all", "count_nonzero"]
SPREADS = ["var", "std", "ptp", "median"]
OF_NAN = ["nansum", "nanmean", "nanmax", "nanmin", "nanprod", "nanvar", "nanstd", "nanmedian"]
METHODS = {"sum", "mean", "prod", "max", "min", "argmax", "argmin", "any", "all", "var", "std"}


def reduction(case: Case) -> Case:
    draw = case.draw
    name = draw.one_of(SUMS * 2 + ORDERS + SPREADS + OF_NAN)
    product = "prod" in name
    shape = case.shape(elements=12 if product else 3000)
    dtype = case.dtype("fciub")
    values = "signs" if product else "special" if draw.rarely(3) else "small"
    if dtype.startswith("complex") and name not in ORDERS:
        values = "signs" if product else "small"  # Which part is NaN is the formula's own.
    x = case.operand(shape, dtype, values)
    axis: Any = case.axes(len(shape))
    if name.startswith("arg") and isinstance(axis, tuple):
        axis = None
    options: dict[str, Any] = {"axis": axis}
    if draw.below(2):
        options["keepdims"] = bool(draw.below(2))
    if name in ("sum", "prod") and draw.rarely(3):
        options["dtype"] = case.dtype("fiu")
        if options["dtype"] == "bfloat16":
            options["dtype"] = "float32"
        if np.dtype(options["dtype"]).kind in "iu":
            without_fractions(case, x)
    if name in ("var", "std") and draw.rarely(3):
        options["ddof"] = 1
    as_numpys = bool({"dtype", "ddof"} & set(options))
    if name in ("sum", "max", "min", "prod", "any", "all") and draw.rarely(5):
        case.operand(case.part_of(shape), "bool")
        options.pop("keepdims", None)
        more = {"initial": 1} if name in ("max", "min") else {}
        return case.is_(
            f"{name} where=", f"f(x, {options}, where=c, {more})", ours=False,
            run=lambda _, x, c: getattr(np, name)(x, where=c, **options, **more),
            by="sums" if name in SUMS else "",
        )  # fmt: skip
    by = "sums" if name in ("sum", "mean", "nansum", "nanmean") else "whole"
    by = "" if name in ORDERS else by
    ulps = 16 if name in (*SPREADS, *OF_NAN, "prod") else 4
    common = {"by": by, "ulps": ulps, "floats": name not in ("sum", "prod", "nansum", "nanprod",
              *ORDERS, "ptp", "nanmax", "nanmin")}  # fmt: skip
    if name in METHODS and draw.below(2):
        return case.is_(name, f"x.{name}({options})", **common,
                        run=lambda _, x: getattr(x, name)(**options))  # fmt: skip
    return case.is_(name, f"f(x, {options})", ours=not as_numpys, **common,
                    run=lambda xp, x: getattr(xp, name)(x, **options))  # fmt: skip


def without_fractions(case: Case, of: int) -> None:
    """Which integers hold, of any sign or none."""
    base = case.operands[of].base
    base[...] = elements_of(base.dtype.name, "counts", base.shape, case.draw.rng)


def into_out(case: Case) -> Case:
    """The result in memory that is there, perhaps that of the operand."""
    draw = case.draw
    name = draw.one_of(["sum", "max", "mean", "any", "cumsum", "prod", "min", "std"])
    shape, dtype = case.shape(1, 4, 12 if name == "prod" else 600), case.dtype("fciu")
    case.operand(shape, dtype, "signs" if name == "prod" else "small")
    axis = draw.integer(-len(shape), len(shape) - 1)
    to = shape if name == "cumsum" else case.of_axes(shape, axis)
    other = dtype if draw.below(3) else case.dtype("fciub")
    case.operand(to, other, "small", written=True)
    return case.is_(f"{name} out", f"f(x, axis={axis}, out=z)", ours=False,
                    by="sums" if name in ("sum", "cumsum", "mean") else "whole",
                    run=lambda _, x, out: getattr(np, name)(x, axis=axis, out=out))  # fmt: skip


def scan(case: Case) -> Case:
    draw = case.draw
    name = draw.one_of(["cumulative_sum", "cumulative_prod", "cumsum", "cumprod", "nancumsum",
                        "diff", "ediff1d"])  # fmt: skip
    product = "prod" in name
    shape, dtype = case.shape(1, elements=10 if product else 3000), case.dtype("fciub")
    case.operand(shape, dtype, "signs" if product else "small")
    axis: Any = draw.integer(-len(shape), len(shape) - 1)
    options: dict[str, Any] = {"axis": axis}
    if name == "ediff1d":
        options = {}
    if name == "diff":
        options["n"] = draw.one_of([1, 2, 0, 3])
    if name.startswith("cumulative") and draw.below(2):
        options["include_initial"] = True
    if name in ("cumsum", "cumprod") and draw.rarely(3):
        options = {"axis": None}
    if "cum" in name and draw.rarely(4):
        options["dtype"] = draw.one_of(["float32", "int64", "int32", "uint64"])
        without_fractions(case, 0)
    return case.is_(name, f"f(x, {options})", by="" if product else "sums", ulps=8,
                    run=lambda xp, x: getattr(xp, name)(x, **options))  # fmt: skip


def order(case: Case) -> Case:
    """Sorts; equal elements keep their order."""
    draw = case.draw
    name = draw.one_of(["sort", "argsort", "partition", "topk", "x.sort", "lexsort"])
    shape, dtype = case.shape(1), case.dtype("fiub")
    values = "special" if draw.rarely(3) else draw.one_of(["small", "any"])
    x = case.operand(shape, dtype, values, written=name == "x.sort")
    axis = draw.integer(-len(shape), len(shape) - 1)
    size = shape[axis]
    if name == "sort":
        return case.is_(name, f"sort(x, axis={axis})",
                        lambda xp, x: xp.sort(x, axis=axis), ulps=0)  # fmt: skip
    if name == "argsort":
        stable = {"stable": True}
        return case.is_(name, f"argsort(x, axis={axis})",
                        lambda xp, x: xp.argsort(x, axis=axis, **stable))  # fmt: skip
    if name == "x.sort":
        return case.is_(name, f"x.sort({axis})", lambda _, x: x.sort(axis), ulps=0)
    if name == "lexsort":
        case.again(x)
        return case.is_(name, f"lexsort((x, y), {axis})",
                        lambda xp, x, y: xp.lexsort((x, y), axis=axis))  # fmt: skip
    if name == "partition":
        kth = draw.below(max(1, size))
        return case.is_(
            name, f"partition(x, {kth}, {axis}) at {kth}", ulps=0,
            run=lambda xp, x: xp.take(xp.partition(x, kth, axis=axis), kth, axis=axis),
        )  # fmt: skip
    k, largest = draw.integer(0, size), bool(draw.below(2))

    def run(xp: Any, x: Any) -> Any:
        if isinstance(x, np.ndarray):
            found = np.sort(x, axis=axis)
            nan = np.isnan(found).sum(axis=axis, keepdims=True) if found.dtype.kind == "f" else 0
            if largest:  # NaN last here too
                found = np.flip(found, axis)
                places = np.arange(size).reshape([-1 if i == axis % x.ndim else 1
                                                  for i in range(x.ndim)])  # fmt: skip
                found = np.take_along_axis(found, (places + nan) % max(1, size), axis)
            return np.take(found, np.arange(k), axis=axis)
        import tilewright as tw

        return tw.topk(x, k, axis=axis, largest=largest).values

    return case.is_(name, f"topk(x, {k}, {axis}, {largest})", run, ulps=0)


def search(case: Case) -> Case:
    draw = case.draw
    dtype = case.dtype("fiu")
    kind = draw.one_of(["searchsorted", "nonzero", "argwhere", "flatnonzero", "where(c)", "isin",
                        "digitize", "interp"])  # fmt: skip
    if kind in ("nonzero", "argwhere", "flatnonzero", "where(c)"):
        case.operand(case.shape(0 if kind != "nonzero" else 1), case.dtype("fciub"))
        name = kind.partition("(")[0]
        if kind == "nonzero" and draw.below(2):
            return case.is_(kind, "x.nonzero()", lambda _, x: x.nonzero())
        return case.is_(kind, f"{name}(x)", lambda xp, x: getattr(xp, name)(x))
    ascending = np.sort(case.draw.rng.integers(0, 9, draw.integer(0, 40)))
    if kind == "isin":
        case.operand(case.shape(), dtype)
        case.operand(case.shape(0, 2, 50), dtype)
        invert = bool(draw.below(2))
        return case.is_(kind, f"isin(x, y, invert={invert})",
                        lambda xp, x, y: xp.isin(x, y, invert=invert))  # fmt: skip
    if dtype == "bfloat16":
        dtype = "float32"
    if kind == "interp":
        points = np.cumsum(case.draw.rng.integers(1, 4, draw.integer(1, 20))).astype(dtype)
        case.operand(case.shape(), dtype)
        case.holding(points, on_host=False)
        case.holding(case.draw.rng.integers(0, 9, points.size).astype(dtype), on_host=False)
        return case.is_(kind, "interp(x, xp, fp)", lambda xp, x, p, f: xp.interp(x, p, f),
                        by="whole", loose=True, any_dtype=True)  # fmt: skip
    right = bool(draw.below(2))
    if kind == "digitize":
        case.operand(case.shape(), dtype)
        case.holding(np.unique(ascending).astype(dtype))
        return case.is_(kind, f"digitize(x, bins, {right})",
                        lambda xp, x, bins: xp.digitize(x, bins, right))  # fmt: skip
    case.holding(ascending.astype(dtype), on_host=False)
    case.operand(case.shape(), dtype)
    side = "right" if right else "left"
    if draw.below(2):
        return case.is_(kind, f"x.searchsorted(y, {side!r})",
                        lambda _, x, y: x.searchsorted(y, side))  # fmt: skip
    return case.is_(kind, f"searchsorted(x, y, side={side!r})",
                    lambda xp, x, y: xp.searchsorted(x, y, side=side))  # fmt: skip


def sets(case: Case) -> Case:
    draw = case.draw
    name = draw.one_of(["unique_values", "unique_counts", "unique_inverse", "unique_all", "unique",
                        "union1d", "intersect1d", "setdiff1d", "setxor1d"])  # fmt: skip
    dtype = case.dtype("fiub")
    case.operand(case.shape(), dtype)
    if name in ("unique_values", "unique_counts"):
        # NumPy may give these in any order.
        def ordered(xp: Any, x: Any) -> Any:
            found = getattr(xp, name)(x)
            if not isinstance(x, np.ndarray):
                return found
            if name == "unique_values":
                return np.sort(found)
            by = np.argsort(found[0])
            return found[0][by], found[1][by]

        return case.is_(name, "f(x)", ordered)
    if name == "unique":
        more = {option: True for option in ("return_index", "return_inverse", "return_counts")
                if draw.below(2)}  # fmt: skip
        return case.is_(name, f"unique(x, {more})", lambda xp, x: xp.unique(x, **more), ulps=0)
    if name.startswith("unique"):
        return case.is_(name, "f(x)", lambda xp, x: getattr(xp, name)(x), ulps=0)
    case.operand(case.shape(0, 2, 50), dtype)
    return case.is_(name, "f(x, y)", lambda xp, x, y: getattr(xp, name)(x, y), ulps=0)


def statistics(case: Case) -> Case:
    draw = case.draw
    kind = draw.one_of(["quantile", "percentile", "average", "cov", "corrcoef", "histogram",
                        "bincount", "convolve", "correlate", "gradient", "trapezoid", "histogram2d",
                        "histogram_bin_edges", "nanquantile"])  # fmt: skip
    dtype = case.dtype("fiu")
    loose = {"loose": True, "floats": True, "ulps": 32, "by": "whole", "any_dtype": True}
    if kind in ("quantile", "percentile", "nanquantile"):
        shape = [max(1, size) for size in case.shape(1)]
        case.operand(shape, dtype)
        axis, keepdims = case.axes(len(shape)), bool(draw.below(2))
        q = draw.one_of([0.5, 0.25, [0.0, 1.0], [0.1, 0.9, 0.3]])
        if kind == "percentile":
            q = np.multiply(q, 100).tolist()
        return case.is_(
            kind, f"f(x, {q}, axis={axis}, keepdims={keepdims})", **loose,
            run=lambda xp, x: getattr(xp, kind)(x, q, axis=axis, keepdims=keepdims),
        )  # fmt: skip
    if kind == "average":
        shape = case.shape(1)
        case.operand(shape, dtype)
        case.operand(shape, dtype, "positive")
        axis = case.axes(len(shape))
        return case.is_(kind, f"average(x, axis={axis}, weights=y)", **loose,
                        run=lambda xp, x, y: xp.average(x, axis=axis, weights=y))  # fmt: skip
    if kind in ("cov", "corrcoef"):
        case.operand([draw.integer(1, 4), draw.integer(4, 20)], dtype)
        return case.is_(kind, "f(x)", lambda xp, x: getattr(xp, kind)(x), **loose)
    if kind in ("convolve", "correlate"):
        mode = draw.one_of(["full", "same", "valid"])
        case.operand([draw.integer(1, 40)], dtype)
        case.operand([draw.integer(1, 9)], dtype)
        return case.is_(kind, f"f(x, y, {mode!r})", by="sums", any_dtype=True,
                        run=lambda xp, x, y: getattr(xp, kind)(x, y, mode))  # fmt: skip
    if kind in ("gradient", "trapezoid"):
        shape = case.shape(1, 3)
        axis = draw.integer(-len(shape), len(shape) - 1)
        case.operand(shape, dtype)
        return case.is_(kind, f"f(x, axis={axis})", **loose,
                        run=lambda xp, x: getattr(xp, kind)(x, axis=axis))  # fmt: skip
    if kind == "bincount":
        case.operand([draw.size_or_zero(500)], case.dtype("iu"), "counts")
        least = draw.one_of([0, 3, 20])
        return case.is_(kind, f"bincount(x, minlength={least})",
                        lambda xp, x: xp.bincount(x, minlength=least))  # fmt: skip
    bins, between = draw.integer(1, 12), draw.one_of([None, (-2, 3), (0, 4)])
    case.operand(case.shape(1), dtype)
    if kind == "histogram2d":
        size = math.prod(case.operands[0].view(case.operands[0].base).shape)
        case.operands.clear()
        case.operand([size], dtype)
        case.operand([size], dtype)
        around = [[-4, 4], [-4, 4]]
        return case.is_(kind, f"histogram2d(x, y, 4, {around})", **loose,
                        run=lambda xp, x, y: xp.histogram2d(x, y, 4, around))  # fmt: skip
    return case.is_(kind, f"f(x, {bins}, range={between})", **loose,
                    run=lambda xp, x: getattr(xp, kind)(x, bins, range=between))  # fmt: skip


KINDS = [reduction, reduction, into_out, scan, order, search, sets, statistics]
