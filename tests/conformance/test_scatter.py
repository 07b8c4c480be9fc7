from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tilewright import Backend, InvalidArgument

from . import references
from .workspace import Array, Workspace, normal

CASES = [  # output_rows, row_size, count
    (1, 1, 1),
    (3, 17, 5),
    (17, 3, 257),
    (257, 65, 17),
    (65537, 3, 1000),
    (1000, 1, 65537),
    (2, 65537, 3),
    (5, 0, 3),
    (5, 3, 0),
    (0, 3, 5),
]

NOWHERE = [-1, -(2**31), 2**31 - 1]


def run(
    ws: Workspace, source: Array, indices: Array, output: Array, dtype: str | None = None
) -> Array:
    out = ws.output(output)
    ws.be.scatter(
        ws.input(source), ws.input(indices), out, *output.shape, len(indices),
        dtype or output.dtype.name,
    )  # fmt: skip
    return ws.read(out)


@pytest.mark.essential
@pytest.mark.parametrize("case", CASES, ids=str)
def test_rows_are_copied_and_others_stay(
    ws: Workspace, rng: np.random.Generator, case: tuple[int, int, int], dtype: str
) -> None:
    output_rows, row_size, count = case
    source = normal(rng, (count, row_size), dtype)
    output = normal(rng, (output_rows, row_size), dtype)
    indices = rng.integers(-1, output_rows + 1, count).astype(np.int32)
    expected = references.scatter(source, indices, output)
    np.testing.assert_array_equal(run(ws, source, indices, output), expected)


def test_an_index_outside_is_left_out(ws: Workspace, dtype: str) -> None:
    source = np.arange(1, 19).reshape(6, 3).astype(dtype)
    indices = np.array([2, *NOWHERE, 4, 0], np.int32)
    expected = np.zeros((4, 3), dtype)
    expected[2], expected[0] = source[0], source[5]
    np.testing.assert_array_equal(run(ws, source, indices, np.zeros((4, 3), dtype)), expected)


@pytest.mark.essential
@pytest.mark.parametrize("count", [2, 17, 257, 65537])
@pytest.mark.parametrize("row_size", [1, 3, 64])
def test_of_equal_indices_the_last_counts(
    ws: Workspace, count: int, row_size: int, dtype: str
) -> None:
    values = np.arange(count) % 2048
    source = np.repeat(values, row_size).reshape(count, row_size).astype(dtype)
    indices = (np.arange(count) % 3 == 0).astype(np.int32)
    expected = references.scatter(source, indices, np.zeros((3, row_size), dtype))
    got = run(ws, source, indices, np.zeros((3, row_size), dtype))
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rows_of_bfloat16_keep_their_bits(
    ws: Workspace, rng: np.random.Generator, case: tuple[int, int, int]
) -> None:
    output_rows, row_size, count = case
    source = rng.integers(0, 2**16, (count, row_size), np.uint16)
    output = rng.integers(0, 2**16, (output_rows, row_size), np.uint16)
    indices = rng.integers(-1, output_rows + 1, count).astype(np.int32)
    expected = references.scatter(source, indices, output)
    np.testing.assert_array_equal(run(ws, source, indices, output, "bfloat16"), expected)


@pytest.mark.parametrize("offset", [2, 4, 6, 16, 18])
@pytest.mark.parametrize("row_size", [1, 2, 3, 5])
def test_rows_of_bfloat16_in_parts_of_buffers(be: Backend, offset: int, row_size: int) -> None:
    source = np.arange(4 * row_size, dtype=np.uint16).reshape(4, row_size) + 1
    at = np.array([2, -1, 0, 2], np.int32)
    with Workspace(be) as ws:
        whole = ws.output(np.full(64, 7, np.uint16))
        part = be.view(whole, offset, 6 * row_size)
        be.scatter(ws.input(source), ws.input(at), part, 3, row_size, 4, "bfloat16")
        got = ws.read(whole)
        be.free(part)
    first = offset // 2
    found = got[first : first + 3 * row_size].reshape(3, row_size)
    assert found.tolist() == [source[2].tolist(), [7] * row_size, source[3].tolist()]
    assert (got[:first] == 7).all() and (got[first + 3 * row_size :] == 7).all()


def test_other_dtypes_are_refused(be: Backend) -> None:
    with pytest.raises(InvalidArgument, match="expected float32, float16 or bfloat16"):
        be.scatter(0, 0, 0, 0, 3, 0, "int16")


@given(
    rows=st.integers(1, 20),
    row_size=st.integers(1, 70),
    indices=st.lists(st.integers(-3, 25), max_size=50),
    dtype=st.sampled_from(["float32", "float16"]),
)
def test_any_request(be: Backend, rows: int, row_size: int, indices: list[int], dtype: str) -> None:
    source = np.arange(len(indices) * row_size).reshape(-1, row_size).astype(dtype)
    output = -np.ones((rows, row_size), dtype)
    at = np.array(indices, np.int32)
    with Workspace(be) as ws:
        expected = references.scatter(source, at, output)
        np.testing.assert_array_equal(run(ws, source, at, output), expected)


@given(rows=st.integers(1, 60), seed=st.integers(0, 2**32 - 1))
def test_gather_undoes_it(be: Backend, rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    source, indices = normal(rng, (rows, 5), np.float32), rng.permutation(rows).astype(np.int32)
    with Workspace(be) as ws:
        scattered, back = ws.room((rows, 5)), ws.room((rows, 5))
        at = ws.input(indices)
        be.scatter(ws.input(source), at, scattered, rows, 5, rows)
        be.gather(scattered, at, back, rows, 5, rows)
        np.testing.assert_array_equal(ws.read(back), source)
