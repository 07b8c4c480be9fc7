"""What each key of the configuration does. test_errors.py has the values that make no sense, and
test_memory.py the limits of memory and of a buffer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright import Backend


def configured(be: Backend, **config: Any) -> Backend:
    """One more backend of the same device."""
    if not {"adapter_index", "device_id"} & config.keys():
        config["adapter_index"] = be.config["adapter_index"]
    return type(be)(**config)


def computes(be: Backend) -> None:
    """Elementwise kernels, a product and a reduction, each more than once."""
    x = np.arange(-500, 501, dtype=np.float32)
    for dtype in ("float32", "float16"):
        for _ in range(2):
            y = be.array(x.astype(dtype))
            got = be.add(be.relu(y), y).numpy()
            np.testing.assert_array_equal(got, (np.maximum(x, 0) + x).astype(dtype))
    square = x[:961].reshape(31, 31)
    np.testing.assert_array_equal(be.matmul(square, np.eye(31, dtype=np.float32)).numpy(), square)
    assert be.sum(square).numpy() == square.sum()


CONFIGS: list[dict[str, Any]] = [
    {"power_preference": "low"},
    {"power_preference": "high"},
    {"implementation": "wgpu"},
    {"debug_mode": True},
    {"kernel_checks": False},
    {"enable_pipeline_cache": False},
    {"preferred_workgroup_size": 1},
    {"preferred_workgroup_size": 96},
    {"preferred_workgroup_size": 1 << 40},
    {"compute_units": 1},
    {"compute_units": 65536},
    {"max_buffer_size": 1 << 20},
    {"max_binding_size": 1 << 20},
    {"memory_limit": 1 << 20},
    {"cache_limit": 0},
]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_every_config_computes(be: Backend, config: dict[str, Any]) -> None:
    with configured(be, **config) as other:
        (key,) = config
        assert other.config[key] == config[key]
        computes(other)


def test_every_key_is_here(be: Backend) -> None:
    here = {key for config in CONFIGS for key in config}
    assert set(be.config) == here | {"adapter_index"}


@pytest.mark.parametrize("key", ["adapter_index", "device_id"])
def test_the_index_is_that_of_the_device(be: Backend, key: str) -> None:
    of_backend = [device for device in tilewright.devices() if device.backend == be.name]
    for index, device in enumerate(of_backend):
        if not device.available:
            continue
        with configured(be, **{key: index}) as other:
            assert other.device.id == device.id == f"{be.name}:{index}"
            assert other.config["adapter_index"] == index


def test_the_preferred_size_is_that_of_elementwise_workgroups(gpu: Backend) -> None:
    def groups(size: int) -> int:
        with configured(gpu, preferred_workgroup_size=size) as other:
            assert other.performance_hints().preferred_workgroup_size == size
            x = other.array(np.ones(1 << 20, np.float32))
            with other.profile() as profile:
                other.relu(x)
            (launch,) = profile.records
            return math.prod(launch.grid)

    assert groups(32) == 2 * groups(64) == 4 * groups(128)


def test_the_preferred_size_ends_at_the_most_that_the_device_takes(be: Backend) -> None:
    hints = configured(be, preferred_workgroup_size=1 << 40).performance_hints()
    assert hints.preferred_workgroup_size <= be.device.limits.get("max_workgroup_size", 1)
    small = configured(be, preferred_workgroup_size=32).performance_hints()
    assert small.preferred_workgroup_size == (1 if be.name == "cpu" else 32)


def test_plans_follow_the_compute_units(gpu: Backend) -> None:
    """A GPU of more processors gets more workgroups of what one alone would leave idle, and the
    results are the same."""
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-2, 3, shape).astype(np.float32) for shape in ((96, 4096), (4096, 80)))
    row = rng.integers(-2, 3, 300_000).astype(np.float32)
    q, k = (rng.standard_normal(shape).astype(np.float32) for shape in ((1, 2, 1, 16),) * 2)
    k = np.repeat(k, 3000, axis=2) + rng.standard_normal((1, 2, 3000, 16)).astype(np.float32)
    scores = np.einsum("bhqd,bhkd->bhqk", q.astype(np.float64), k) / 4
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    attended = weights / weights.sum(-1, keepdims=True) @ k.astype(np.float64)
    groups: dict[int, list[int]] = {}
    for units in (1, 8, 132, 1024):
        with configured(gpu, compute_units=units) as other:
            assert other.config["compute_units"] == units
            counts = groups.setdefault(units, [])
            for compute, expected, close in (
                (lambda: other.matmul(a, b), a @ b, 0.0),
                (lambda: other.matmul(a[:3], b), a[:3] @ b, 0.0),
                (lambda: other.sum(row), row.sum(dtype=np.float64), 0.0),
                (lambda: other.attention(q, k, k), attended, 1e-5),
            ):
                with other.profile() as profile:
                    result = compute()
                np.testing.assert_allclose(result.numpy(), expected, rtol=0, atol=close)
                counts.append(math.prod(profile.records[0].grid))
    for few, many in ((1, 8), (8, 132), (132, 1024)):
        assert all(x <= y for x, y in zip(groups[few], groups[many], strict=True)), groups
    assert all(x < y for x, y in zip(groups[1], groups[132], strict=True)), groups


def test_rows_that_are_left_of_products_of_few_compute_units(gpu: Backend) -> None:
    """Where the first rows fill a GPU, the others are a product of their own, of which columns that
    are packed end where they please."""
    rng = np.random.default_rng(6)
    kernels = []
    with configured(gpu, compute_units=4) as other:
        choices = tilewright._core._choices_of(other)
        choices.force("gemm_rows", "packed")
        for m, n in ((155, 388), (187, 380), (315, 380), (286, 516)):
            a, b = (rng.integers(-3, 4, (1028, size)).astype(np.float32) for size in (m, n))
            with other.profile() as profile:
                result = tilewright.matmul(other.array(a).mT, other.array(b))
            np.testing.assert_array_equal(result.numpy(), a.T @ b)
            kernels += [one.kernel for one in profile.records if one.kernel == "gemm"]
    if gpu.name == "webgpu":
        assert len(kernels) > 4
