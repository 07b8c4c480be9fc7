"""NumPy's public names: each has a form of Arrays, or stands here with the reason why not."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from numpy.lib import recfunctions

DATES = "dates"
POLYNOMIALS = "polynomials by their coefficients"
# What has no form on devices.
WITHOUT = {
    "busday_count": DATES,
    "busday_offset": DATES,
    "common_type": "tells dtypes that the standard does not promote to",
    "datetime_as_string": DATES,
    "einsum_path": "plans, and computes nothing",
    "is_busday": DATES,
    "isnat": DATES,
    "min_scalar_type": "looks at values",
    "polydiv": POLYNOMIALS,
    "real_if_close": "its dtype depends on values",
    "sort_complex": "complex numbers have no order",
}


def names() -> list[str]:
    dispatching = type(np.sum)
    found = [name for name in np.__all__ if isinstance(getattr(np, name), (np.ufunc, dispatching))]
    assert len(found) > 300
    return sorted(found)


def called(name: str, x: tw.Array) -> Any:
    """With as many Arrays as it takes; what it raises unless it is for want of arguments."""
    function: Any = getattr(np, name)
    if isinstance(function, np.ufunc):
        return function(*[x] * function.nin)
    if name.startswith("save"):
        return function(io.BytesIO(), x)
    for count in range(1, 5):
        try:
            return function(*[x] * count)
        except TypeError as error:
            if "missing" not in str(error) and "at least" not in str(error):
                raise
    raise AssertionError(f"{name} is not called")


@pytest.mark.parametrize("name", names())
def test_each_name_has_a_form_or_a_reason(name: str) -> None:
    x = tw.asarray([[1, 2], [3, 4]], device="cpu")
    try:
        result = called(name, x)
    except tw.Unsupported as error:
        assert name in WITHOUT, error
        assert f"np.{getattr(np, name).__name__}(" in str(error)
        return
    except (TypeError, ValueError, IndexError, ArithmeticError):
        # A form of its own, which these arguments do not suit.
        assert name not in WITHOUT
        return
    assert name not in WITHOUT, "has a form now"
    assert not isinstance(result, np.ndarray)


def test_the_namespace_has_numpys_names() -> None:
    assert [name for name in names() if name not in WITHOUT and not hasattr(tw, name)] == []
    assert set(tw.__all__) <= set(dir(tw))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda x: np.real_if_close(x),
            r"write np\.real_if_close\(x\.numpy\(\)\) to compute it on the host",
        ),
        (lambda x: np.min_scalar_type(x), r"write np\.min_scalar_type\(x\.numpy\(\)\)"),
        (lambda x: np.polydiv(x, x), r"write np\.polydiv\(u\.numpy\(\), v\.numpy\(\)\)"),
        (
            lambda x: recfunctions.stack_arrays([x, x]),
            r"recfunctions\.stack_arrays\(\[one\.numpy\(\) for one in arrays\]\)",
        ),
        (
            lambda x: np.multiply.at(x, 0, 2),
            r"host = x\.numpy\(\); np\.multiply\.at\(host, indices, values\); x\[\.\.\.\] = host",
        ),
        (lambda x: np.add.reduceat(x, [0]), r"write np\.add\.reduceat\(x\.numpy\(\), x2\)"),
        (lambda x: np.hypot.reduce(x), r"write np\.hypot\.reduce\(x\.numpy\(\)\)"),
    ],
)
def test_what_to_write_instead(call: Any, said: str) -> None:
    with pytest.raises(tw.Unsupported, match=said):
        call(tw.asarray([1.0, 2.0], device="cpu"))
