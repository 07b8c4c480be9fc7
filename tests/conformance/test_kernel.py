"""Kernels of one's own on every GPU."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright import Backend, InvalidArgument

from .own_kernels import PLACES, ROUNDS, SAXPY


def f32(values: Any) -> Any:
    return np.asarray(values, np.float32)


def test_what_a_kernel_says_of_itself(gpu: Backend) -> None:
    k = gpu.kernel(**SAXPY.on(gpu))
    assert k.name == "saxpy"
    assert len(k.bindings) == 2
    assert [(p.offset, p.bytes) for p in k.params] == [(0, 4), (4, 4)]
    assert k.params_bytes == 8
    assert k.workgroup_size == (64, 1, 1)


def test_a_launch(gpu: Backend, rng: np.random.Generator) -> None:
    n = 1000
    a, b = f32(rng.random(n)), f32(rng.random(n))
    x, y = gpu.array(a), gpu.array(b)
    gpu.kernel(**SAXPY.on(gpu))(x, y, grid=16, params=(n, 2.0))
    np.testing.assert_allclose(y.numpy(), b + 2 * a, rtol=1e-6)
    np.testing.assert_array_equal(x.numpy(), a)


PARAMS = np.dtype([("n", "u4"), ("alpha", "f4")])


@pytest.mark.parametrize(
    "params",
    [
        (3, 2.0),
        [3, 2],
        (np.uint32(3), np.float64(2)),
        np.array((3, 2.0), PARAMS),
        np.array((3, 2.0), PARAMS).tobytes(),
    ],
)
def test_forms_of_params(gpu: Backend, params: Any) -> None:
    x, y = gpu.full(4, 1.0), gpu.zeros(4)
    gpu.kernel(**SAXPY.on(gpu))(x, y, grid=(1,), params=params)
    assert y.numpy().tolist() == [2, 2, 2, 0]


def test_params_by_name(gpu: Backend) -> None:
    x, y = gpu.full(4, 1.0), gpu.zeros(4)
    k = gpu.kernel(**SAXPY.on(gpu))
    n, alpha = (p.name for p in k.params)
    k(x, y, grid=1, params={alpha: 2.0, n: 3})
    assert y.numpy().tolist() == [2, 2, 2, 0]


def test_the_traits_calls(gpu: Backend) -> None:
    k = gpu.create_kernel(**{"entry": "main", **SAXPY.on(gpu)})
    x, y = gpu.full(4, 1.0), gpu.zeros(4)
    gpu.launch_kernel(k, [x.handle, y], np.array((4, 5.0), PARAMS), (1, 1, 1))
    assert y.numpy().tolist() == [5] * 4
    assert gpu.kernel_info(k).name == "saxpy"
    gpu.free_kernel(k)
    for call in (gpu.free_kernel, gpu.kernel_info):
        with pytest.raises(InvalidArgument, match="freed or belongs to another backend"):
            call(k)
    gpu.release_kernel(k)
    for wrong in (0, 2**63, -1, "x", None):
        with pytest.raises(InvalidArgument, match="kernel"):
            gpu.launch_kernel(wrong, [], b"", (1, 1, 1))


def test_a_kernel_frees_itself(gpu: Backend) -> None:
    k = gpu.kernel(**SAXPY.on(gpu))
    handle = k.handle
    del k
    gc.collect()
    with pytest.raises(InvalidArgument, match="was freed"):
        gpu.kernel_info(handle)


def test_a_freed_kernel_still_runs_where_it_is_queued(gpu: Backend) -> None:
    x, y = gpu.full(4, 1.0), gpu.zeros(4)
    gpu.kernel(**SAXPY.on(gpu))(x, y, grid=1, params=(4, 3.0))
    gc.collect()
    assert y.numpy().tolist() == [3] * 4


def test_a_profile_of_kernels(gpu: Backend) -> None:
    x = gpu.zeros(64 * 64)
    short, long = (gpu.kernel(**ROUNDS.on(gpu) | {"name": name}) for name in ("short", "long"))
    with gpu.profile() as p:
        for _ in range(5):
            short(x, grid=64, params=1)
            long(x, grid=64, params=20_000)
    times = {t.kernel: t for t in p.totals}
    assert times["long"].total_ns > times["short"].total_ns
    assert p.totals[0].kernel == "long"
    assert sum(t.share for t in p.totals) == pytest.approx(1)
    assert p.total_ns == sum(r.duration_ns for r in p.records)
    head, first, second = str(p).splitlines()
    assert head.split() == ["kernel", "calls", "total", "mean", "share"]
    assert first.startswith("long")
    assert second.split()[1] == "5"


def test_a_grid_of_three_dimensions(gpu: Backend) -> None:
    x = gpu.zeros((5, 3, 4))
    gpu.kernel(**PLACES.on(gpu))(x, grid=(2, 3, 5))
    z, y, i = np.indices((5, 3, 4))
    np.testing.assert_array_equal(x.numpy(), i + 10 * y + 100 * z)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        (b"", "params has 0 bytes, expected 8"),
        (b"x" * 9, "params has 9 bytes, expected 8"),
        (3, "saxpy declares "),
        ((1,), "saxpy declares "),
        ({"n": 1, "beta": 2}, "saxpy declares "),
        ((1.5, 2.0), " is 1.5 (float), expected "),
        ((2**32, 2.0), " is 4294967296 (int), expected "),
        ((True, 2.0), " is True (bool), expected "),
        ((1, "a"), " is 'a' (str), expected f32"),
        ((1, None), " is None, expected f32"),
        (None, "params is None"),
    ],
)
def test_wrong_params(gpu: Backend, params: Any, words: str) -> None:
    x, y = gpu.full(4, 1.0), gpu.zeros(4)
    k = gpu.kernel(**SAXPY.on(gpu))
    with pytest.raises(InvalidArgument) as raised:
        k(x, y, grid=1, params=params)
    assert words in str(raised.value)
    assert y.numpy().tolist() == [0] * 4


def test_wrong_buffers(gpu: Backend) -> None:
    k = gpu.kernel(**SAXPY.on(gpu))
    x, y = gpu.full(4, 1.0), gpu.zeros(4)
    freed = gpu.alloc(16)
    gpu.free(freed)
    with type(gpu)(adapter_index=int(gpu.device.id.partition(":")[2])) as other:
        foreign = other.zeros(4)
        for buffers, words in [
            ((x,), "buffers has 1 entries, expected 2"),
            ((x, y, y), "buffers has 3 entries"),
            ((x, freed), "freed"),
            ((x, 0), "null handle"),
            ((x, foreign), "buffers[1]"),
            ((x, "y"), "buffers[1] is 'y' (str)"),
        ]:
            with pytest.raises(InvalidArgument) as raised:
                k(*buffers, grid=1, params=(4, 1.0))
            assert words in str(raised.value)
    assert y.numpy().tolist() == [0] * 4


@pytest.mark.parametrize("grid", [0, (1, 0), (0, 1, 1), (1, 1, 0)])
def test_an_empty_grid_does_nothing(gpu: Backend, grid: Any) -> None:
    x, y = gpu.full(4, 1.0), gpu.zeros(4)
    gpu.kernel(**SAXPY.on(gpu))(x, y, grid=grid, params=(4, 1.0))
    assert y.numpy().tolist() == [0] * 4


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ((1, 2**40), "grid[1] is 1099511627776 workgroups, expected at most "),
        (-1, "grid[0] is -1"),
        ((1, 1, 1, 1), "grid is (1, 1, 1, 1)"),
        ((), "grid is ()"),
        (1.5, "grid is 1.5"),
        ("1", "grid is '1'"),
    ],
)
def test_wrong_grids(gpu: Backend, grid: Any, words: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        gpu.kernel(**SAXPY.on(gpu))(gpu.zeros(4), gpu.zeros(4), grid=grid, params=(4, 1.0))
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"code": ""}, "code is empty"),
        ({"code": 3}, "code is 3 (int)"),
        ({"entry": ""}, "entry is empty"),
        ({"entry": None}, "entry is None"),
        ({"name": "a\nb"}, "name has a control character"),
        ({"name": 1}, "name is 1"),
        ({"trusted": 1}, "trusted is 1"),
    ],
)
def test_wrong_sources(gpu: Backend, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        gpu.kernel(**{**SAXPY.on(gpu), **arguments})
    assert words in str(raised.value)


def test_closing_frees_kernels(gpu: Backend) -> None:
    other = type(gpu)(adapter_index=int(gpu.device.id.partition(":")[2]))
    with pytest.raises(tilewright.NotInitialized):
        other.kernel(**SAXPY.on(gpu))
    other.init()
    k = other.kernel(**SAXPY.on(gpu))
    other.close()
    with pytest.raises(tilewright.NotInitialized):
        k(1, 2, grid=1, params=(1, 1.0))
    other.init()
    with pytest.raises(InvalidArgument, match="was freed"):
        other.kernel_info(k.handle)
    with pytest.raises(InvalidArgument, match="freed or belongs to another"):
        gpu.kernel_info(k.handle)
    other.close()
