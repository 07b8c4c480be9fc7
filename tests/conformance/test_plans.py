"""Plans that are kept: a call that is made again does with other contents, in other buffers and in
parts of them, what it did at first."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend

from . import references
from .test_views import operands_of, run
from .workspace import Array

# Bytes behind an operand, and before it.
PLACES = [(0, 0), (4096, 0), (0, 256), (100, 1024)]


def on_buffers(
    be: Backend, call: str, contents: Mapping[str, Array], behind: int, before: int
) -> dict[str, Array]:
    buffers = {name: be.alloc(before + a.nbytes + behind) for name, a in contents.items()}
    views = {name: be.view(buffers[name], before, a.nbytes) for name, a in contents.items()}
    for name, array in contents.items():
        be.copy_htod(views[name], array)
    run(be, call, "float32", views)
    after = {name: np.empty_like(array) for name, array in contents.items()}
    for name, array in after.items():
        be.copy_dtoh(array, views[name])
        be.free(views[name])
        be.free(buffers[name])
    return after


@pytest.mark.parametrize(
    "call",
    [
        *("gemm", "batched_gemm", "conv2d_forward", "conv2d_backward_data"),
        *("conv2d_backward_filter", "reduce", "attention"),
    ],
)
def test_a_call_again(be: Backend, call: str) -> None:
    contents = operands_of(call, "float32")
    other = {name: array + 1 for name, array in contents.items()}
    first = on_buffers(be, call, contents, 0, 0)
    for behind, before in PLACES:
        again = on_buffers(be, call, contents, behind, before)
        changed = on_buffers(be, call, other, behind, before)
        for name, array in first.items():
            np.testing.assert_array_equal(again[name], array)
            assert not np.array_equal(changed[name], array)


def test_other_sizes_that_need_scratch(be: Backend) -> None:
    rng = np.random.default_rng(3)
    for length in (70001, 70003, 70001, 70003):
        x = rng.integers(-2, 3, (3, length)).astype(np.float32)
        buffer, out = be.alloc(x.nbytes), be.alloc(12)
        be.copy_htod(buffer, x)
        be.reduce("sum", buffer, out, x.shape, 1)
        got = np.empty(3, np.float32)
        be.copy_dtoh(got, out)
        np.testing.assert_array_equal(got, x.sum(1))
        be.free(buffer)
        be.free(out)


@pytest.mark.parametrize("queries", [1, 3, 20])
def test_attention_as_a_cache_fills(be: Backend, queries: int) -> None:
    """Other numbers of keys, other places of the mask, and the same again."""
    rng = np.random.default_rng(7)
    heads, dim, room = 2, 16, 1400
    q = rng.standard_normal((1, heads, queries, dim)).astype(np.float32)
    cache = rng.standard_normal((1, heads, room, dim)).astype(np.float32)
    x, kept, out = (be.alloc(n) for n in (q.nbytes, cache.nbytes, q.nbytes))
    be.copy_htod(x, q)
    be.copy_htod(kept, cache)
    walk = (kept, (heads * room * dim, room * dim, dim, 1))
    for keys, offset in ((30, 9), (31, 9), (30, 9), (30, 10), (30, 9), (1400, 30), (1400, 30)) * 2:
        be.attention(x, walk, walk, out, 1, heads, queries, keys, dim, 0.25, True, offset)
        scores = references.attention_scores(q, cache[:, :, :keys], 0.25, True, offset)
        expected = references.softmax(scores, -1) @ cache[:, :, :keys].astype(np.float64)
        got = np.empty_like(q)
        be.copy_dtoh(got, out)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5)
    for buffer in (x, kept, out):
        be.free(buffer)


def affine(op: str) -> tw.Program:
    program = tw.Program()
    x = program.input("float32")
    program.output(program.apply(op, x, program.number("float32")))
    return program


@pytest.mark.parametrize("offset", [0, 1, 64, 67])
def test_programs_again(be: Backend, offset: int) -> None:
    """Other numbers, other programs of the same form, other places; in place and not."""
    x = np.arange(1000, dtype=np.float32)
    programs = {"multiply": affine("mul"), "add": affine("add")}
    for number in (2.0, 3.0):
        for name, program in programs.items():
            for in_place in (False, True):
                buffer, out = be.alloc(5000), be.alloc(5000)
                be.copy_htod(buffer, x, 4 * offset)
                to = buffer if in_place else out
                be.map(program, x.shape, [(buffer, (1,), offset)], [number], [(to, (1,), offset)])
                got = np.empty_like(x)
                be.copy_dtoh(got, to, 4 * offset)
                np.testing.assert_array_equal(got, getattr(np, name)(x, np.float32(number)))
                be.free(buffer)
                be.free(out)
