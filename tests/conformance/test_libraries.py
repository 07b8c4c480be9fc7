"""SciPy's and scikit-learn's functions of Arrays against the same functions of NumPy's arrays."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend

from .libraries import Case, data, scikit_learn_cases, scipy_cases

SCIPY, SCIKIT_LEARN = scipy_cases(), scikit_learn_cases()


def check(be: Backend, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    host = data()
    expected = case.call(host)
    arrays = {name: tw.asarray(values, device=be) for name, values in host.items()}
    reads: list[Any] = []
    read = tw.Array.__array__
    with monkeypatch.context() as patched, tw.device(be):
        patched.setattr(tw.Array, "__array__", lambda *given: reads.append(1) or read(*given))
        got = case.call(arrays)
    assert bool(reads) == case.on_host
    if np.ndim(expected):
        assert isinstance(got, tw.Array) and got.backend is be
    values = got.numpy() if isinstance(got, tw.Array) else got
    np.testing.assert_allclose(values, expected, rtol=2e-4, atol=1e-4)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", SCIPY)
@pytest.mark.filterwarnings("ignore")
def test_scipy(be: Backend, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check(be, SCIPY[name], monkeypatch)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", SCIKIT_LEARN)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn(be: Backend, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import sklearn

    with sklearn.config_context(array_api_dispatch=True):
        check(be, SCIKIT_LEARN[name], monkeypatch)


def test_the_page_says_what_passes() -> None:
    page = (Path(__file__).parents[2] / "docs" / "libraries.md").read_text(encoding="utf-8")
    listed = {
        heading: set(re.findall(r"`(\w+\.[\w.]+)`", text))
        for heading, text in re.findall(r"^## (.+)\n+((?:(?!^## ).*\n?)*)", page, re.MULTILINE)
    }
    assert listed["SciPy, on the device"] == {n for n, c in SCIPY.items() if not c.on_host}
    assert listed["SciPy, through the host"] == {n for n, c in SCIPY.items() if c.on_host}
    assert listed["scikit-learn"] == set(SCIKIT_LEARN)
