"""attention, attention_scores and weighted_sum on operands that lie with strides: other orders of
the axes, parts of caches and of fused buffers, one head for all of a batch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend

from . import bounds, references
from .test_attention import Attention
from .workspace import Array, Workspace, download, normal, raw

Shape = tuple[int, int, int, int]

#: one for each way that attention goes: tiles of queries, one row, in pieces, and rows that share
#: their keys, whole and in pieces
WAYS = [
    Attention(2, 4, 37, 70, 32, causal=True, q_offset=33, kv_heads=2),
    Attention(2, 3, 12, 20, 7),
    Attention(2, 2, 1, 90, 64),
    Attention(2, 3, 2, 1500, 12, causal=True, q_offset=1400),
    Attention(2, 6, 3, 50, 33, causal=True, q_offset=47, kv_heads=2),
    Attention(1, 16, 1, 1400, 16, kv_heads=2),
    Attention(2, 2, 5, 9, 260, kv_heads=1),
]


def beside(shape: Shape, dtype: str, parts: int = 3) -> Array:
    """Fused q, k and v, of which this is the second."""
    b, h, s, d = shape
    return np.full((b, s, parts, h, d), np.nan, dtype)[:, :, 1].transpose(0, 2, 1, 3)


LAYOUTS: dict[str, Callable[[Shape, str], Array]] = {
    "sequence-first": lambda n, t: np.full((n[0], n[2], n[1], n[3]), np.nan, t).transpose(
        0, 2, 1, 3
    ),
    "fused": beside,
    "cache": lambda n, t: np.full((n[0], n[1], n[2] + 8, n[3]), np.nan, t)[:, :, 4:-4],
    "odd-gaps": lambda n, t: np.full((*n[:3], n[3] + 5), np.nan, t)[..., 3:-2],
    "all-axes-turned": lambda n, t: np.full((n[2], n[1], n[0], n[3]), np.nan, t).transpose(
        2, 1, 0, 3
    ),
}


def base_of(view: Array) -> Array:
    return view if view.base is None else base_of(view.base)


def start_of(view: Array) -> int:
    return (view.ctypes.data - base_of(view).ctypes.data) // view.itemsize


def strides_of(view: Array) -> tuple[int, ...]:
    return tuple(step // view.itemsize for step in view.strides)


def laid(layout: str, array: Array) -> Array:
    """The same elements lying so, among NaN."""
    view = LAYOUTS[layout](array.shape, array.dtype.name)
    view[...] = array
    return view


def operand(ws: Workspace, view: Array) -> Any:
    """The view as an argument that no op may change."""
    return ws.input(base_of(view)), strides_of(view), start_of(view)


def output(ws: Workspace, view: Array) -> Any:
    return ws.output(base_of(view)), strides_of(view), start_of(view)


def written(ws: Workspace, argument: Any, view: Array) -> Array:
    """What an output holds; what lies between its rows must be as it was."""
    after = ws.read(argument[0])
    result = np.lib.stride_tricks.as_strided(
        after.reshape(-1)[start_of(view) :], view.shape, view.strides
    ).copy()
    expected = base_of(view).copy()
    np.lib.stride_tricks.as_strided(
        expected.reshape(-1)[start_of(view) :], view.shape, view.strides
    )[...] = result
    assert (raw(expected) == raw(after)).all(), "elements between the rows were written"
    return result


def check(ws: Workspace, case: Attention, q: Array, k: Array, v: Array, o: Array) -> None:
    scale, rules, dtype = case.used_scale, (case.causal, case.q_offset), q.dtype.name
    scores = references.attention_scores(q, k, scale, *rules)
    sizes = references.attention_scores(abs(q), abs(k), scale, False, 0)
    weights = references.softmax(scores, -1)
    values = references.repeated_heads(v, case.heads)
    tolerance = bounds.attention(weights, values, scores, sizes, case.head_dim)
    out = output(ws, o)
    ws.be.attention(
        *(operand(ws, one) for one in (q, k, v)), out, *case.q[:3], case.seq_kv, case.head_dim,
        scale, *rules, case.kv_heads, dtype,
    )  # fmt: skip
    bounds.assert_within(written(ws, out, o), weights @ values, tolerance)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", WAYS, ids=str)
def test_against_float64(
    ws: Workspace, rng: np.random.Generator, case: Attention, layout: str, dtype: str
) -> None:
    q, k, v = (laid(layout, normal(rng, shape, dtype)) for shape in (case.q, case.kv, case.kv))
    check(ws, case, q, k, v, LAYOUTS[layout](case.q, dtype))


@pytest.mark.parametrize("case", WAYS, ids=str)
def test_each_operand_lies_its_own_way(
    ws: Workspace, rng: np.random.Generator, case: Attention
) -> None:
    """And all of a batch and of the heads have one k, by strides of 0."""
    names = list(LAYOUTS)
    for turn in range(2):
        layouts = [names[(turn * 2 + i) % len(names)] for i in range(3)]
        q = laid(layouts[0], normal(rng, case.q, "float32"))
        k = np.broadcast_to(normal(rng, case.kv[2:], "float32"), case.kv)
        v = laid(layouts[1], normal(rng, case.kv, "float32"))
        check(ws, case, q, k, v, LAYOUTS[layouts[2]](case.q, "float32"))


@pytest.mark.parametrize("case", [WAYS[0], WAYS[3], WAYS[4]], ids=str)
def test_all_in_one_buffer(
    ws: Workspace, rng: np.random.Generator, case: Attention, dtype: str
) -> None:
    """Parts that begin anywhere, the output between the inputs."""
    shapes = {"q": case.q, "k": case.kv, "o": case.q, "v": case.kv}
    starts, end = {}, 3
    for name, shape in shapes.items():
        starts[name] = end
        end += math.prod(shape) + 5
    whole = normal(rng, (end,), dtype)
    parts = {
        name: whole[starts[name] :][: math.prod(shape)].reshape(shape)
        for name, shape in shapes.items()
    }
    contiguous = [ws.input(parts[name]) for name in "qkv"]
    expected = ws.room(case.q, dtype)
    sizes = (*case.q[:3], case.seq_kv, case.head_dim, case.used_scale, case.causal)
    rules = (case.q_offset, case.kv_heads, dtype)
    ws.be.attention(*contiguous, expected, *sizes, *rules)
    fused = ws.output(whole)
    ws.be.attention(
        *((fused, strides_of(parts[name]), starts[name]) for name in "qkvo"), *sizes, *rules
    )
    exact = whole.copy()
    exact[starts["o"] :][: math.prod(case.q)] = ws.read(expected).reshape(-1)
    got = ws.read(fused)
    close = 2e-2 if dtype == "float16" else 1e-5
    np.testing.assert_allclose(got, exact, rtol=close, atol=close)
    np.testing.assert_array_equal(got[: starts["o"]], whole[: starts["o"]])
    np.testing.assert_array_equal(got[starts["v"] :], whole[starts["v"] :])


@pytest.mark.sampled(12)
@pytest.mark.parametrize("before", [2, 4], ids=lambda n: f"{n} before each query")
@pytest.mark.parametrize(
    "shape",
    [
        *((1, 1, 3), (6, 70, 24), (4, 33, 7), (8, 300, 64), (3, 6, 144), (2, 3, 252), (2, 3, 256)),
        *((2, 5, 292), (1, 3, 1100), (1, 2, 4156)),
    ],
    ids=str,
)
def test_scores(
    ws: Workspace, rng: np.random.Generator, shape: tuple[int, int, int], before: int, dtype: str
) -> None:
    """Rows that begin anywhere, and rows of whole vectors, which are read in blocks."""
    kv_heads, seq, dim = shape
    heads = 2 * kv_heads
    q = np.full((heads, dim + 2 * before), np.nan, dtype)[:, before:-before]
    keys = np.full((seq, kv_heads, dim + 4), np.nan, dtype)[..., :-4].transpose(1, 0, 2)
    scores = np.full((heads, seq + 1), np.nan, dtype)[:, 1:]
    q[...], keys[...] = normal(rng, q.shape, dtype), normal(rng, keys.shape, dtype)
    out = output(ws, scores)
    ws.be.attention_scores(
        operand(ws, q), operand(ws, keys), out, seq, dim, 0.5, heads, kv_heads, dtype
    )
    wide = references.repeated_heads(keys, heads)
    exact = 0.5 * np.einsum("hsd,hd->hs", wide, q.astype(np.float64))
    magnitudes = 0.5 * np.einsum("hsd,hd->hs", abs(wide), abs(q.astype(np.float64)))
    bounds.assert_within(written(ws, out, scores), exact, bounds.inner_product(magnitudes, dim))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("before", [0, 3, 4], ids=lambda n: f"{n} before each row")
@pytest.mark.parametrize(
    "shape", [(1, 1, 3), (6, 70, 24), (4, 333, 7), (1, 5, 1), (2, 1030, 65), (3, 9, 300)], ids=str
)
def test_weighted_sums(
    ws: Workspace, rng: np.random.Generator, shape: tuple[int, int, int], before: int, dtype: str
) -> None:
    kv_heads, count, dim = shape
    heads = 2 * kv_heads
    weights = np.full((heads, count + before + 1), np.nan, dtype)[:, before:-1]
    rows = np.full((count, kv_heads, before + dim + 2), np.nan, dtype)[..., before:-2]
    rows = rows.transpose(1, 0, 2)
    sums = np.full((heads, dim + 1), np.nan, dtype)[:, 1:]
    weights[...], rows[...] = normal(rng, weights.shape, dtype), normal(rng, rows.shape, dtype)
    one_for_all = np.broadcast_to(rows[:1], rows.shape)
    for summed in (rows, one_for_all):
        out = output(ws, sums)
        ws.be.weighted_sum(
            operand(ws, weights), operand(ws, summed), out, count, dim, heads, kv_heads, dtype
        )
        wide, by = references.repeated_heads(summed, heads), weights.astype(np.float64)
        exact = np.einsum("hc,hcd->hd", by, wide)
        magnitudes = np.einsum("hc,hcd->hd", abs(by), abs(wide))
        bounds.assert_within(written(ws, out, sums), exact, bounds.inner_product(magnitudes, count))


def test_weighted_sums_in_one_buffer(ws: Workspace, rng: np.random.Generator, dtype: str) -> None:
    """The output between the inputs, all from anywhere."""
    whole = normal(rng, (500,), dtype)
    weights, rows = whole[5:][: 2 * 9].reshape(2, 9), whole[301:][: 9 * 7].reshape(1, 9, 7)
    expected = whole.copy()
    exact = weights.astype(np.float64) @ rows[0].astype(np.float64)
    fused = ws.output(whole)
    ws.be.weighted_sum(
        (fused, (9, 1), 5), (fused, (63, 7, 1), 301), (fused, (11, 1), 103), 9, 7, 2, 1, dtype
    )
    got = ws.read(fused)
    sums = np.lib.stride_tricks.as_strided(
        expected[103:], (2, 7), (11 * whole.itemsize, whole.itemsize)
    )
    sums[...] = np.lib.stride_tricks.as_strided(got[103:], sums.shape, sums.strides)
    magnitudes = abs(weights.astype(np.float64)) @ abs(rows[0].astype(np.float64))
    bounds.assert_within(sums, exact, bounds.inner_product(magnitudes, 9))
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"weights": ((1, 2), 0)}, r"weights\.strides\[1\] is 2, expected 1"),
        ({"weights": ((-5, 1), 5)}, r"weights\.strides\[0\] is -5, expected 0 or more"),
        ({"rows": ((15, -3, 1), 12)}, r"rows\.strides\[1\] is -3, expected 0 or more"),
        ({"rows": ((15, 4, 1), 0)}, "rows"),
        ({"rows": ((3, 1), 0)}, "rows has 2 strides, expected 3"),
        ({"output": ((0, 1), 0)}, "output has strides by which elements share"),
        ({"output": ((3, 1), -1)}, r"output\.offset is -1, expected 0 or more"),
        ({"output": ((4, 1), 0)}, "output"),
    ],
    ids=str,
)
def test_wrong_strides_of_weighted_sums(
    be: Backend, changed: dict[str, tuple[tuple[int, ...], int]], message: str
) -> None:
    sizes = {"weights": (2, 5), "rows": (2, 5, 3), "output": (2, 3)}
    contents = {name: np.ones(shape, np.float32) for name, shape in sizes.items()}
    buffers = {name: be.alloc(ones.nbytes) for name, ones in contents.items()}
    for name, buffer in buffers.items():
        be.copy_htod(buffer, contents[name])
    given = [(buffer, *changed[name]) if name in changed else buffer
             for name, buffer in buffers.items()]  # fmt: skip
    with pytest.raises(tw.InvalidArgument, match=f"^weighted_sum: {message}"):
        be.weighted_sum(*given, 5, 3, 2)
    for name, buffer in buffers.items():
        np.testing.assert_array_equal(
            download(be, buffer).view(np.float32), contents[name].reshape(-1)
        )
        be.free(buffer)


#: of attention on [2, 3, 4, 8] in buffers of 2 * 3 * 4 * 8 elements
WRONG: dict[str, tuple[dict[str, tuple[tuple[int, ...], int]], str]] = {
    "leaves": ({"k": ((96, 32, 9, 1), 0)}, "k"),
    "starts-late": ({"v": ((96, 32, 8, 1), 1)}, "v"),
    "before": ({"q": ((96, 32, 8, 1), -1)}, r"q\.offset is -1, expected 0 or more"),
    "backwards": ({"k": ((96, 32, -8, 1), 24)}, r"k\.strides\[2\] is -8, expected 0 or more"),
    "apart": ({"v": ((48, 16, 4, 2), 0)}, r"v\.strides\[3\] is 2, expected 1"),
    "three": ({"q": ((32, 8, 1), 0)}, "q has 3 strides, expected 4"),
    "huge": ({"k": ((2**62, 2**62, 8, 1), 0)}, "the sizes .* than 64 bits can count"),
    "huge-offset": ({"k": ((96, 32, 8, 1), 2**63 - 1)}, "the sizes .* than 64 bits can count"),
    "least": ({"q": ((-(2**63), 32, 8, 1), 0)}, r"q\.strides\[0\] is -9223372036854775808"),
    "output-meets-itself": ({"o": ((96, 32, 4, 1), 0)}, "o has strides by which elements share"),
    "output-of-one": ({"o": ((96, 0, 8, 1), 0)}, "o has strides by which elements share"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_refused_before_anything_is_written(be: Backend, wrong: str) -> None:
    changed, message = WRONG[wrong]
    contents = np.arange(2 * 3 * 4 * 8, dtype=np.float32)
    buffers = {name: be.alloc(contents.nbytes) for name in "qkvo"}
    for buffer in buffers.values():
        be.copy_htod(buffer, contents)
    given = {name: (buffer, *changed.get(name, ((96, 32, 8, 1), 0)))
             for name, buffer in buffers.items()}  # fmt: skip
    with pytest.raises(tw.InvalidArgument, match=f"^attention: {message}"):
        be.attention(*given.values(), 2, 3, 4, 4, 8, 1.0, False)
    for buffer in buffers.values():
        np.testing.assert_array_equal(download(be, buffer).view(np.float32), contents)
        be.free(buffer)


def test_strides_may_leave_out_what_has_one_place(be: Backend) -> None:
    rows = np.arange(4 * 8, dtype=np.float32)
    x, out = be.alloc(rows.nbytes), be.alloc(rows.nbytes)
    be.copy_htod(x, rows)
    be.attention((x, (8, 1)), (x, (0, 8, 1)), (x, (8, 1)), (out, (8, 1)), 1, 1, 4, 1, 8, 1.0, False)
    np.testing.assert_array_equal(download(be, out).view(np.float32), np.tile(rows[:8], 4))
    with pytest.raises(tw.InvalidArgument, match=r"^attention: k has 2 strides, expected 4"):
        be.attention(x, (x, (8, 1)), x, out, 1, 2, 1, 2, 8, 1.0, False)
    be.free(x)
    be.free(out)


def test_an_output_among_inputs_is_refused(be: Backend) -> None:
    """By the bytes from the first to the last: the rows of one lie between those of the other."""
    rows = np.arange(2 * 4 * 8, dtype=np.float32)
    buffer, other = be.alloc(rows.nbytes), be.alloc(rows.nbytes)
    be.copy_htod(buffer, rows)
    every_second = (buffer, (64, 64, 16, 1))
    between = (buffer, (64, 64, 16, 1), 8)
    for name in "qkv":
        given = {one: every_second if one == name else (other, (64, 64, 16, 1)) for one in "qkv"}
        with pytest.raises(tw.InvalidArgument, match=f"^attention: o overlaps {name}: "):
            be.attention(*given.values(), between, 1, 1, 4, 4, 8, 1.0, False)
    with pytest.raises(tw.InvalidArgument, match=r"^attention_scores: scores overlaps q: "):
        be.attention_scores((buffer, (16, 1)), other, (buffer, (16, 1), 8), 4, 8, 1.0, 4, 1)
    np.testing.assert_array_equal(download(be, buffer).view(np.float32), rows)
    be.free(buffer)
    be.free(other)


# Arrays ------------------------------------------------------------------------------------------


def names(be: Backend, run: Callable[[], object]) -> set[str]:
    """What was launched."""
    with be.profile() as p:
        run()
    return {record.kernel for record in p.records}


def test_arrays_are_used_where_they_lie(be: Backend, rng: np.random.Generator) -> None:
    """(batch, seq, heads, dim), part of a cache and of fused q, k and v: no copy is made."""
    fused = normal(rng, (2, 9, 3, 4, 16), "float32")
    cache = normal(rng, (2, 4, 40, 16), "float32")
    one, kept = be.array(fused), be.array(cache)
    q, k, v = (one[:, :, i].transpose((0, 2, 1, 3)) for i in range(3))
    host_q, host_k, host_v = (fused[:, :, i].transpose(0, 2, 1, 3) for i in range(3))
    out = be.zeros((2, 9, 4, 16)).transpose((0, 2, 1, 3))
    for keys, values, host_keys, host_values in (
        (k, v, host_k, host_v),
        (kept[:, :, 3:20], kept[:, :, 3:20], cache[:, :, 3:20], cache[:, :, 3:20]),
        (kept[:, 1:2, :7], kept[:, 2:3, :7], cache[:, 1:2, :7], cache[:, 2:3, :7]),
    ):
        launched = names(
            be, lambda keys=keys, values=values: be.attention(q, keys, values, out=out)
        )
        assert all(name.startswith("attention") for name in launched), launched
        shared = (references.repeated_heads(x, 4) for x in (host_keys, host_values))
        expected_k, expected_v = shared
        scores = host_q.astype(np.float64) @ expected_k.swapaxes(-1, -2) / 4
        expected = references.softmax(scores, -1) @ expected_v
        np.testing.assert_allclose(out.numpy(), expected, rtol=0, atol=1e-5)
        got = be.attention(q, keys, values)
        assert got.is_contiguous
        np.testing.assert_allclose(got.numpy(), expected, rtol=0, atol=1e-5)


def test_arrays_of_lower_rank_and_those_that_are_copied(
    be: Backend, rng: np.random.Generator
) -> None:
    host = normal(rng, (9, 4, 16), "float32")
    x = be.array(host)
    turned, host_turned = x.transpose((1, 0, 2)), host.transpose(1, 0, 2)
    pairs = [
        (turned, host_turned),
        (turned[2], host_turned[2]),
        (x[::-1], host[::-1]),
        (x[..., ::2], host[..., ::2]),
        (x.transpose((1, 2, 0)), host.transpose(1, 2, 0)),
    ]
    for array, on_host in pairs:
        wide = on_host.astype(np.float64)
        scores = wide @ wide.swapaxes(-1, -2) / math.sqrt(wide.shape[-1])
        expected = references.softmax(scores, -1) @ wide
        np.testing.assert_allclose(
            be.attention(array, array, array).numpy(), expected, rtol=0, atol=1e-5
        )
    scores = be.attention_scores(x[0, :, ::2], turned[:, :, :8], scale=1.0)
    exact = np.einsum("hd,hsd->hs", host[0, :, ::2].astype(np.float64), host_turned[..., :8])
    np.testing.assert_allclose(scores.numpy(), exact, rtol=0, atol=1e-5)
    sums = be.zeros((4, 20))
    launched = names(
        be, lambda: be.weighted_sum(turned[:, 0, 3:8], turned[:, 2:7], out=sums[:, 3:19])
    )
    assert launched == {"weighted_sum"}
    exact = np.einsum("hc,hcd->hd", host_turned[:, 0, 3:8].astype(np.float64), host_turned[:, 2:7])
    np.testing.assert_allclose(sums.numpy()[:, 3:19], exact, rtol=0, atol=1e-5)
    assert (sums.numpy()[:, [0, 1, 2, 19]] == 0).all()
    with pytest.raises(tw.InvalidArgument, match="attention: out has rows with gaps"):
        be.attention(turned, turned, turned, out=be.zeros((4, 9, 32))[..., ::2])
    with pytest.raises(tw.InvalidArgument, match="attention: out shares its buffer"):
        be.attention(turned, turned, turned, out=turned)
