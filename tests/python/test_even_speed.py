"""What benchmarks/python/even_speed.py draws, and that it runs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks/python"


@pytest.fixture(scope="module")
def modules() -> tuple[Any, dict[str, Any]]:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import even_cases
        import even_memory
        import even_products
    finally:
        sys.path.remove(str(BENCHMARKS))
    return even_cases, even_memory.MEMORY | even_products.PRODUCTS


@pytest.mark.parametrize("limits", ["ON_CPU", "ON_GPU"])
def test_each_case_is_within_the_limits(modules: Any, limits: str) -> None:
    cases, families = modules
    for name, family in families.items():
        dice = cases.Dice(np.random.default_rng(1), getattr(cases, limits))
        labels = set()
        for case in cases.drawn({name: family}, dice, 60):
            assert case.family == name
            assert dice.limits.holds(case)
            assert all(min(operand.shape) > 0 for operand in case.operands), case.label
            labels.add(case.label)
        assert len(labels) > 40, name


def test_families_come_by_their_weights_and_cases_by_the_seed(modules: Any) -> None:
    cases, families = modules

    def labels(seed: int) -> list[tuple[str, str]]:
        dice = cases.Dice(np.random.default_rng(seed), cases.ON_GPU)
        return [(case.family, case.label) for case in cases.drawn(families, dice, 1500)]

    first = labels(3)
    assert first == labels(3)
    assert first != labels(4)
    counts = Counter(family for family, _ in first)
    total = sum(weight for weight, _ in families.values())
    for name, (weight, _) in families.items():
        expected = 1500 * weight / total
        assert abs(counts[name] - expected) < 5 * expected**0.5, name


def test_sizes_are_even_by_their_logarithm_and_often_odd(modules: Any) -> None:
    cases, _ = modules
    dice = cases.Dice(np.random.default_rng(2))
    sizes = np.array([dice.size(8, 8192) for _ in range(4000)])
    assert sizes.min() >= 8
    assert sizes.max() <= 8192
    assert 0.45 < np.mean(sizes < 256) < 0.55
    assert np.mean(sizes % 2) > 0.25
    assert np.mean(sizes % 16 == 0) > 0.35


def test_it_runs(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    given = ["--count", "24", "--turns", "1", "--divide", "4", "--json", str(file)]
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "even_speed.py", *given],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads(file.read_text())
    assert len(results) == 24
    assert all(one["us"] > 0 and not one["wrong"] for one in results)
    assert "float32, seed 0" in done.stdout
