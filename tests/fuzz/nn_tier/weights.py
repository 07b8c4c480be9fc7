"""int4 of files and of Arrays, and scales that are measured: of awkward sizes and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import tilewright as tw
from conformance.int4_groups import AWQ, pack_rows

from .case import Case

HELD = ["float32", "float16"]


def of_files(case: Case) -> Case:
    """from_gptq() and from_awq() of any words and any scales."""
    draw, rng = case.draw, case.draw.rng
    name = draw.one_of(["from_gptq", "from_awq"])
    n = draw.one_of([8, 16, 24, 0, 40])
    group, groups = draw.one_of([32, 64, 96]), draw.integer(1, 3)
    k = group * groups
    offset = draw.below(2) if name == "from_gptq" else 0
    q = rng.integers(0, 16, (k, n))
    zeros = np.full((groups, n), 8) if draw.below(2) else rng.integers(0, 16, (groups, n)) + offset
    kind = draw.below(4)
    scales = (rng.integers(1, 33, (groups, n)) / 256).astype(np.float16)
    if kind == 2:
        scales = np.frombuffer(rng.bytes(2 * groups * n), np.float16).reshape(groups, n)
    elif kind == 3:
        scales = (scales * 0 + draw.one_of([0, 65504, 2.0**-24, np.nan, -np.inf])).astype("f2")
    order = range(8) if name == "from_gptq" else AWQ
    turned = pack_rows(q.T).T if name == "from_gptq" else pack_rows(q, order)
    options: dict[str, Any] = {
        "qweight": case.content(turned, "int32"),
        "qzeros": case.content(pack_rows(zeros - offset, order), "int32"),
        "scales": case.content(scales, "float16"),
    }
    if name == "from_gptq":
        options["zero_offset"] = offset
        if draw.below(2):
            options["g_idx"] = case.content(np.arange(k) // group, "int32")

    def run(be: Any, **given: Any) -> Any:
        w = getattr(tw.quant, name)(device=be, **given)
        return w.shape, w.format, w.dequantize()

    def formula(**_: Any) -> Any:
        each, far = (np.repeat(one, group, axis=0).astype(np.float32) for one in (scales, zeros))
        if (zeros == 8).all():
            return (n, k), "q4_0", (each * (q - 8)).T
        least = (-each * far).astype(np.float16).astype(np.float32)
        return (n, k), "q4_1", (each * q + least).T

    case.runs(name, run, **options)
    return case.to(formula=formula, ulps=4)


def groups_of(case: Case) -> Case:
    """quantize_int4(): no weight is further off than half a step of its group, whatever the other
    groups hold."""
    draw, rng = case.draw, case.draw.rng
    dtype, size = draw.one_of(HELD), draw.one_of([32, 64, 96, None])
    line = (size or draw.one_of([32, 96])) * draw.one_of([2, 1, 3])
    shape = [*draw.one_of([[3], [1], [0], [2, 2], [17], []]), line]
    host = rng.standard_normal(shape)
    flat = host.reshape(-1, 32)
    for content in (0.0, np.nan, np.inf, 3.0, -2.5, 2.0**-24):
        if flat.size and draw.rarely(3):
            flat[rng.integers(0, len(flat)), :: draw.one_of([1, 7])] = content
    symmetric = bool(draw.below(2))
    x = case.content(host, dtype)
    options: dict[str, Any] = {"x": x, "group_size": size, "symmetric": symmetric}

    def run(_: Any, x: Any, **given: Any) -> Any:
        w = tw.quant.quantize_int4(x, **given)
        return w.shape, str(w.format), off_of(x.numpy(), w.dequantize().numpy(), size, symmetric)

    case.runs("quantize_int4", run, **options)
    wanted = "q4_0" if symmetric else "q4_1"
    return case.to(formula=lambda x, **_: (x.shape, wanted, ""))


def off_of(x: Any, got: Any, size: Any, symmetric: bool) -> str:
    """The first weight that is too far off."""
    by = x.shape[-1] if size is None else size
    x, got = (one.astype(np.float64).reshape(-1, by) for one in (x, got))
    reach = np.abs(x).max(axis=1, initial=0) / 7
    if not symmetric:
        reach = np.maximum(x.max(axis=1, initial=0), 0) - np.minimum(x.min(axis=1, initial=0), 0)
        reach = reach / 15
    # A step is a float16, and so is what asymmetric ones add: of roundings of it, or of what it
    # holds no less of.
    slack = reach * (0.51 if symmetric else 0.53) + 16 * 2.0**-24
    fine = np.isfinite(x).all(axis=1)
    far = ~(np.abs(got - x) <= slack[:, None]) & fine[:, None]
    if not far.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(far)[0])
    return f"{x[at]} of group {at[0]} with steps of {reach[at[0]]} is {got[at]}"


def calibrated(case: Case) -> Case:
    """calibrate() of the least and the most, or of those but for some, or of a part of these."""
    draw, rng = case.draw, case.draw.rng
    dtype, shape = draw.one_of(HELD), case.shape(0, 4, 2000)
    values = draw.one_of(["small", "normal", "counts", "special", "positive"])
    method = draw.one_of([*["minmax", "percentile"] * 4, "mse", "entropy"])
    options: dict[str, Any] = {"x": case.array(shape, dtype, values), "method": method}
    if draw.rarely(4) and shape:
        host = rng.uniform(-1, 1, shape) * draw.one_of([0.0, 2.0**-24, 6e4, 1e-42, 3e38])
        with np.errstate(over="ignore"):
            case.operands.clear()
            options["x"] = case.content(host.astype(dtype), dtype)
    whole = method == "entropy"
    if shape and draw.below(2) and not whole:
        options["axis"] = draw.integer(-len(shape), len(shape) - 1)
    options["symmetric"] = whole or bool(draw.below(2))
    if draw.below(2):
        options["dtype"] = draw.one_of(["int8", "uint8"])
    if draw.below(2):
        options["percentile"] = draw.one_of([99.99, 100, 75.0, 99.0, 50.5])

    def run(_: Any, **given: Any) -> Any:
        scale, zero = tw.quant.calibrate(**given)
        if method == "minmax":
            return scale, zero
        if method != "percentile":
            return part_of(scale.numpy(), *tw.quant.calibrate(**{**given, "method": "minmax"}))
        return scale, zero.shape  # Of roundings a zero point may be another one.

    def formula(x: Any, method: str, axis: Any = None, symmetric: bool = True,
                dtype: str = "int8", percentile: float = 99.99) -> Any:  # fmt: skip
        if method in ("mse", "entropy"):
            return ""
        rows = x.reshape(1, -1)
        if axis is not None:
            rows = np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1)
        if method == "minmax":
            percentile = 100
        if symmetric:
            high = np.percentile(np.abs(rows), percentile, axis=1)
            scale, zero = high / 127, np.full(high.shape, 0 if dtype == "int8" else 128)
        else:
            high = np.maximum(np.percentile(rows, percentile, axis=1), 0)
            low = np.minimum(np.percentile(rows, 100 - percentile, axis=1), 0)
            scale = (high - low) / 255
            zero = np.rint((-128 if dtype == "int8" else 0) - low / np.where(scale == 0, 1, scale))
        scale = np.where(scale.astype(np.float32) > 0, scale, 1.0)
        if axis is None:
            scale, zero = scale[0], zero[0]
        return scale, zero.astype(np.int64) if method == "minmax" else np.shape(zero)

    case.names = ("q",)
    return case.runs("calibrate", run, **options).to(formula=formula, by="", ulps=16, loose=True)


def part_of(scale: Any, whole: Any, zero: Any) -> str:
    """What of a scale is none of a part of the whole range."""
    whole = whole.numpy()
    if scale.shape != whole.shape or scale.shape != zero.shape:
        return f"scales have the shape {scale.shape}, of the whole range {whole.shape}"
    # mse tries a fifth of the range at least, and entropy a sixteenth.
    fine = (scale <= whole * (1 + 1e-6)) & (scale >= whole * 0.062)
    return "" if (fine | (whole == 1) | (scale == 1)).all() else f"{scale} of the range of {whole}"


KINDS = [of_files, of_files, groups_of, calibrated, calibrated]
