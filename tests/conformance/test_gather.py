from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tilewright import Backend, InvalidArgument

from . import references
from .workspace import Array, Workspace, normal

CASES = [  # table_rows, row_size, count
    (1, 1, 1),
    (3, 17, 5),
    (17, 3, 257),
    (257, 65, 17),
    (65537, 3, 1000),
    (3, 1, 65537),
    (2, 65537, 3),
    (5, 0, 3),
    (5, 3, 0),
    (0, 3, 5),
]

NOWHERE = [-1, -(2**31), 2**31 - 1]


def run(ws: Workspace, table: Array, indices: Array, dtype: str | None = None) -> Array:
    out = ws.room((len(indices), table.shape[1]), table.dtype)
    ws.be.gather(
        ws.input(table), ws.input(indices), out, *table.shape, len(indices),
        dtype or table.dtype.name,
    )  # fmt: skip
    return ws.read(out)


def same_bits(got: Array, expected: Array) -> None:
    """Equal to the last bit where a number is; any NaN counts as NaN."""
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(expected[got == 0]))


@pytest.mark.essential
@pytest.mark.parametrize("case", CASES, ids=str)
def test_rows_are_copied(
    ws: Workspace, rng: np.random.Generator, case: tuple[int, int, int], dtype: str
) -> None:
    table_rows, row_size, count = case
    table = normal(rng, (table_rows, row_size), dtype)
    indices = rng.integers(-1, table_rows + 1, count).astype(np.int32)
    same_bits(run(ws, table, indices), references.gather(table, indices))


def test_an_index_outside_gives_a_row_of_nan(ws: Workspace, dtype: str) -> None:
    table = np.arange(12).reshape(4, 3).astype(dtype)
    indices = np.array([2, *NOWHERE, 4, 0], np.int32)
    got = run(ws, table, indices)
    np.testing.assert_array_equal(got[[0, -1]], table[[2, 0]])
    assert np.isnan(got[1:-1]).all()


def test_special_values_are_copied(ws: Workspace, dtype: str) -> None:
    table = np.array([[np.nan, np.inf, -np.inf, -0.0, 0.0, np.finfo(dtype).tiny / 4]], dtype)
    same_bits(run(ws, table, np.zeros(3, np.int32)), np.repeat(table, 3, axis=0))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rows_of_bfloat16_keep_their_bits(
    ws: Workspace, rng: np.random.Generator, case: tuple[int, int, int]
) -> None:
    table_rows, row_size, count = case
    table = rng.integers(0, 2**16, (table_rows, row_size), np.uint16)
    indices = rng.integers(-1, table_rows + 1, count).astype(np.int32)
    expected = np.full((count, row_size), 0x7FC0, np.uint16)
    inside = (indices >= 0) & (indices < table_rows)
    expected[inside] = table[indices[inside]]
    np.testing.assert_array_equal(run(ws, table, indices, "bfloat16"), expected)


@pytest.mark.parametrize("offset", [2, 4, 6, 16, 18])
@pytest.mark.parametrize("row_size", [1, 2, 3, 5])
def test_rows_of_bfloat16_in_parts_of_buffers(be: Backend, offset: int, row_size: int) -> None:
    table = np.arange(4 * row_size, dtype=np.uint16).reshape(4, row_size) + 1
    at = np.array([3, -1, 0], np.int32)
    with Workspace(be) as ws:
        source = ws.input(np.concatenate([np.zeros(offset // 2, np.uint16), table.reshape(-1)]))
        whole = ws.output(np.full(64, 7, np.uint16))
        parts = [be.view(source, offset, table.nbytes), be.view(whole, offset, 6 * row_size)]
        be.gather(parts[0], ws.input(at), parts[1], 4, row_size, 3, "bfloat16")
        got = ws.read(whole)
        for one in parts:
            be.free(one)
    first = offset // 2
    found = got[first : first + 3 * row_size].reshape(3, row_size)
    assert found.tolist() == [table[3].tolist(), [0x7FC0] * row_size, table[0].tolist()]
    assert (got[:first] == 7).all() and (got[first + 3 * row_size :] == 7).all()


def test_other_dtypes_are_refused(be: Backend) -> None:
    with pytest.raises(InvalidArgument, match="expected float32, float16 or bfloat16"):
        be.gather(0, 0, 0, 0, 3, 0, "int16")


@given(
    rows=st.integers(1, 20),
    row_size=st.integers(1, 70),
    indices=st.lists(st.integers(-3, 25), max_size=50),
    dtype=st.sampled_from(["float32", "float16"]),
)
def test_any_request(be: Backend, rows: int, row_size: int, indices: list[int], dtype: str) -> None:
    table = np.arange(rows * row_size).reshape(rows, row_size).astype(dtype)
    at = np.array(indices, np.int32)
    with Workspace(be) as ws:
        same_bits(run(ws, table, at), references.gather(table, at))
