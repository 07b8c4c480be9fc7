"""The families of even_speed.py that multiply, and those that move elements to other places."""

from __future__ import annotations

import math
from typing import Any

from even_cases import Case, Dice, Operand, Shape, by_x
from even_memory import lines


def products(dice: Dice) -> Case:
    kind = dice.one("plain", "plain", "transposed", "odd rows", "batch", "batch", "vector", "thin")
    m, n, k = (dice.size(16, 8192) for _ in range(3))
    batch: Shape = ()
    if kind == "batch":
        m, n, k = (dice.size(8, 1024) for _ in range(3))
        batch = (dice.size(2, 512),)
    elif kind == "vector":
        n = 1
    elif kind == "thin":
        m = dice.size(2, 32)
    flips = (
        (dice.chance(0.5), dice.chance(0.5)) if kind in ("transposed", "batch") else (False,) * 2
    )
    wider = (dice.size(1, 63), dice.size(1, 63)) if kind == "odd rows" or (
        kind == "batch" and dice.chance(0.3)) else (0, 0)  # fmt: skip

    def operand(rows: int, cols: int, flip: bool, more: int) -> Operand:
        stored = (cols, rows + more) if flip else (rows, cols + more)

        def view(_: Any, x: Any) -> Any:
            x = x[..., : stored[1] - more] if more else x
            return x.mT if flip else x

        return Operand((*batch, *stored), view=view)

    operands = [operand(m, k, flips[0], wider[0]), operand(k, n, flips[1], wider[1])]
    if kind == "vector":
        operands[1] = Operand((k,))
    label = f"{by_x((*batch, m, n, k))} {''.join('NT'[flip] for flip in flips)}"
    label += f" rows wider by {wider[0]}, {wider[1]}" if any(wider) else ""
    count = math.prod(batch)
    return Case(
        "products", label, operands, lambda m, x, y: m.matmul(x, y), lambda m, x, y: m.matmul(x, y),
        count * (m * k + k * n + m * n), 2.0 * count * m * n * k,
    )  # fmt: skip


def window(dice: Dice) -> tuple[str, Shape, Shape, dict[str, Any]]:
    """A convolution's label, its shapes and options."""
    kind = dice.one("1x1", "3x3", "3x3", "strided", "grouped", "depthwise", "dilated", "stem",
                    "wide")  # fmt: skip
    batch, side = dice.size(1, 64), dice.size(7, 224)
    channels, filters = dice.size(3, 512), dice.size(8, 512)
    taps, stride, dilation, groups = 3, 1, 1, 1
    if kind == "1x1":
        taps, stride = 1, dice.one(1, 1, 2)
    elif kind == "strided":
        taps, stride = dice.one(2, 3, 4, 5), dice.one(2, 2, 3)
    elif kind == "grouped":
        groups = dice.one(2, 3, 4, 8, 32)
        channels = groups * dice.size(2, max(2, 512 // groups))
        filters = groups * dice.size(2, max(2, 512 // groups))
    elif kind == "depthwise":
        groups = filters = channels
        taps, stride = dice.one(3, 5, 7), dice.one(1, 1, 2)
    elif kind == "dilated":
        dilation = dice.one(2, 3, 4)
    elif kind == "stem":
        channels, taps, stride = 3, dice.one(7, 7, 3), dice.one(2, 2, 4)
    elif kind == "wide":
        taps = dice.one(5, 7)
    pad = dilation * (taps - 1) // 2
    x = (batch, channels, side, max(7, side + int(dice.random.integers(-3, 4))))
    w = (filters, channels // groups, taps, taps)
    label = f"{kind} {by_x(x)} to {filters}, {taps}x{taps}/{stride}"
    label += f" groups {groups}" if 1 < groups < channels else ""
    label += f" dilation {dilation}" if dilation > 1 else ""
    return label, x, w, {"stride": stride, "padding": pad, "dilation": dilation, "groups": groups}


def out_shape(x: Shape, w: Shape, options: dict[str, Any]) -> Shape:
    reach = options["dilation"] * (w[2] - 1) + 1
    sides = [(n + 2 * options["padding"] - reach) // options["stride"] + 1 for n in x[2:]]
    return (x[0], w[0], *sides)


def convolutions(dice: Dice) -> Case:
    label, x, w, options = window(dice)
    out = out_shape(x, w, options)
    return Case(
        "convolutions", label, [Operand(x), Operand(w)],
        lambda m, x, w: m.nn.conv2d(x, w, **options),
        lambda m, x, w: m.nn.functional.conv2d(x, w, **options),
        math.prod(x) + math.prod(out), 2.0 * math.prod(out) * math.prod(w[1:]), 1e-4,
    )  # fmt: skip


def gradients(dice: Dice) -> Case:
    label, x, w, options = window(dice)
    out = out_shape(x, w, options)
    data = dice.chance(0.5)
    wanted = (data, not data, False)
    pairs = {name: [options[name]] * 2 for name in ("stride", "padding", "dilation")}

    def own(m: Any, grad: Any, x: Any, w: Any) -> Any:
        return m.nn.conv2d_backward(grad, x, w, **options, wanted=wanted)[0 if data else 1]

    def peer(m: Any, grad: Any, x: Any, w: Any) -> Any:
        return m.ops.aten.convolution_backward(
            grad, x, w, None, *pairs.values(), False, [0, 0], options["groups"], list(wanted)
        )[0 if data else 1]

    return Case(
        "gradients", f"of the {'data' if data else 'filter'}, {label}",
        [Operand(out), Operand(x), Operand(w)], own, peer, math.prod(x) + math.prod(out),
        2.0 * math.prod(out) * math.prod(w[1:]), 1e-4,
    )  # fmt: skip


def attention(dice: Dice) -> Case:
    kind = dice.one("any", "causal", "causal", "short", "grouped", "decoding", "decoding")
    batch, heads, dim = dice.size(1, 32), dice.size(1, 32), dice.one(32, 64, 64, 80, 96, 128, 128)
    queries = dice.size(16, 192) if kind == "short" else dice.size(64, 8192)
    keys, kv = queries, heads
    if kind == "any":
        keys = dice.size(64, 8192)
    if kind in ("grouped", "decoding") and (kind == "grouped" or dice.chance(0.5)):
        kv = dice.size(1, 8)
        heads = kv * dice.one(2, 4, 7, 8)
    if kind == "decoding":
        queries, keys = 1, dice.size(64, 32768)
    causal = kind == "causal" or (kind in ("short", "grouped") and dice.chance(0.5))
    shapes = [(batch, heads, queries, dim), *[(batch, kv, keys, dim)] * 2]
    label = f"{kind} {batch} of {heads}/{kv} heads {queries}x{keys}x{dim}"
    label += ", causal" if causal and kind != "causal" else ""
    work = 4.0 * batch * heads * queries * keys * dim * (0.5 if causal else 1)
    return Case(
        "attention", label, [Operand(shape) for shape in shapes],
        lambda m, q, k, v: m.nn.scaled_dot_product_attention(
            q, k, v, is_causal=causal, enable_gqa=kv != heads),
        lambda m, q, k, v: m.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=causal, enable_gqa=kv != heads),
        2 * math.prod(shapes[0]) + 2 * math.prod(shapes[1]), work, 1e-4,
    )  # fmt: skip


def pooling(dice: Dice) -> Case:
    name = dice.one("max_pool2d", "avg_pool2d", "adaptive_avg_pool2d")
    side = dice.size(7, 256)
    shape = (dice.size(1, 64), dice.size(3, 512), side, max(7, side - int(dice.random.integers(4))))
    if name.startswith("adaptive"):
        size = dice.one(1, 2, 7)
        options: dict[str, Any] = {"output_size": size}
        results = shape[0] * shape[1] * size * size
    else:
        taps = dice.one(2, 3, 3, 5)
        stride = dice.one(1, 2, 2, 3)
        options = {"kernel_size": taps, "stride": stride, "padding": dice.one(0, taps // 2)}
        results = math.prod(shape) // stride**2
    return Case(
        "pooling", f"{name} {by_x(shape)} {options}", [Operand(shape)],
        lambda m, x: getattr(m.nn, name)(x, **options),
        lambda m, x: getattr(m.nn.functional, name)(x, **options), math.prod(shape) + results,
    )  # fmt: skip


def places(dice: Dice) -> Case:
    kind = dice.one("embedding", "elements", "along", "rows written", "columns")
    rows, length = dice.shape(2)
    if kind == "embedding":
        width, words = dice.size(16, 4096), dice.size(100, 100_000)
        count = dice.size(64, 1 << 17)
        return Case(
            "places", f"embedding of {count} in {words}x{width}",
            [Operand((count,), "index", words), Operand((words, width))],
            lambda m, i, w: m.nn.embedding(i, w), lambda m, i, w: m.nn.functional.embedding(i, w),
            2 * count * width,
        )  # fmt: skip
    if kind == "elements":
        (size,), count = dice.shape(1), dice.shape(1)[0]
        return Case(
            "places", f"take of {count} in {size}",
            [Operand((size,)), Operand((count,), "index", size)],
            lambda m, x, i: m.take(x, i), lambda m, x, i: m.take(x, i), 3 * count,
        )  # fmt: skip
    if kind == "along":
        count = dice.size(1, length)
        return Case(
            "places", f"take_along_axis of {rows}x{count} in {rows}x{length}",
            [Operand((rows, length)), Operand((rows, count), "index", length)],
            lambda m, x, i: m.take_along_axis(x, i, axis=1), lambda m, x, i: m.gather(x, 1, i),
            3 * rows * count,
        )  # fmt: skip
    if kind == "columns":
        count = dice.size(1, length)
        return Case(
            "places", f"take of {count} columns in {rows}x{length}",
            [Operand((rows, length)), Operand((count,), "index", length)],
            lambda m, x, i: m.take(x, i, axis=1), lambda m, x, i: m.index_select(x, 1, i),
            2 * rows * count,
        )  # fmt: skip
    count = dice.size(1, rows)

    def write(_: Any, x: Any, i: Any, v: Any) -> Any:
        x[i] = v
        return x

    return Case(
        "places", f"{count} rows written of {rows}x{length}",
        [Operand((rows, length)), Operand((count,), "places", rows), Operand((count, length))],
        write, write, 2 * count * length,
    )  # fmt: skip


def sorts(dice: Dice) -> Case:
    kind = dice.one("sort", "argsort", "topk", "cumulative_sum", "cumulative_sum", "searchsorted")
    shape: Shape = dice.shape(1, 1 << 25) if dice.chance(0.4) else lines(dice)
    while math.prod(shape) > dice.limits.most / 8:
        shape = lines(dice)
    elements = math.prod(shape)
    label = f"{kind} {by_x(shape)}"
    if kind == "searchsorted":
        values, size = dice.size(1024, elements), elements
        return Case(
            "sorts", f"{kind} of {values} in {size}",
            [Operand((size,), "sorted"), Operand((values,))], lambda m, x, v: m.searchsorted(x, v),
            lambda m, x, v: m.searchsorted(x, v), values * 2 + size,
        )  # fmt: skip
    if kind == "topk":
        k = dice.size(1, min(shape[-1], 256))
        return Case(
            "sorts", f"{label} of {k}", [Operand(shape)], lambda m, x: m.topk(x, k)[0],
            lambda m, x: m.topk(x, k)[0], elements,
        )  # fmt: skip
    if kind == "argsort":
        return Case(
            "sorts", label, [Operand(shape)], lambda m, x: m.argsort(x),
            lambda m, x: m.argsort(x, stable=True), 2 * elements,
            seen=lambda torch, result, x: x.gather(-1, result.long()),
        )  # fmt: skip
    if kind == "sort":
        return Case(
            "sorts", label, [Operand(shape)], lambda m, x: m.sort(x), lambda m, x: m.sort(x)[0],
            2 * elements,
        )  # fmt: skip
    axis = int(dice.random.integers(len(shape)))
    return Case(
        "sorts", f"{label} along {axis}", [Operand(shape)],
        lambda m, x: m.cumulative_sum(x, axis=axis), lambda m, x: m.cumsum(x, axis),
        2 * elements, tolerance=1e-3,
    )  # fmt: skip


def transforms(dice: Dice) -> Case:
    kind = dice.one("fft", "fft", "rfft", "fft2")
    most = int(dice.limits.most / 4)
    length = dice.one(2 ** int(dice.random.integers(3, 19)), dice.size(8, 1 << 18))
    if kind == "fft2":
        side = dice.size(8, 2048)
        shape: Shape = (dice.size(1, max(1, most // side**2)), side, side)
    else:
        shape = (dice.size(1, max(1, most // length)), length)
    axis = {"fft2": "fft2"}.get(kind, kind)
    return Case(
        "transforms", f"{kind} {by_x(shape)}",
        [Operand(shape, "normal" if kind == "rfft" else "complex")],
        lambda m, x: m.fft.fft2(x) if axis == "fft2" else getattr(m.fft, axis)(x),
        lambda m, x: m.fft.fft2(x) if axis == "fft2" else getattr(m.fft, axis)(x),
        math.prod(shape) * (2 if kind == "rfft" else 4),
    )  # fmt: skip


PRODUCTS = {
    "products": (14, products),
    "convolutions": (6, convolutions),
    "gradients": (6, gradients),
    "attention": (8, attention),
    "pooling": (3, pooling),
    "places": (4, places),
    "sorts": (5, sorts),
    "transforms": (3, transforms),
}
