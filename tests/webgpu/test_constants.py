"""Overrides of WGSL, in all the ways to write them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tilewright

from .conftest import DEVICE

MAIN = """
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(1) fn main() { x[0] = f32(value); }
"""


@pytest.fixture(scope="module")
def be() -> Iterator[tilewright.Backend]:
    with tilewright.init_backend(DEVICE) as backend:
        yield backend


def value_of(be: tilewright.Backend, declaration: str, constants: dict[Any, Any]) -> float:
    x = be.zeros(1)
    be.kernel(declaration + MAIN, name="k", constants=constants)(x, grid=1)
    return float(x.numpy()[0])


@pytest.mark.parametrize(
    ("declaration", "value", "expected"),
    [
        ("override value: f32;", 2.5, 2.5),
        ("override value: u32;", 7, 7),
        ("override value = 1;", -3, -3),
        ("override value = -1;", 3, 3),
        ("override value = 0x10;", 3, 3),
        ("override value = 1f;", 3.5, 3.5),
        ("override value = 1e3;", 3.5, 3.5),
        ("override value = .5;", 3, 3),
        ("override value = 0x1p4;", 2.5, 2.5),
        ("override value = false;", True, 1),
        ("override value = 3i;", 4, 4),
        ("@id(0) override value: f32 = 1.0;", 2, 2),
        ("override value : f32=1.0 ;", 2, 2),
        ("override value: f32 =\n\n 1.0 // one\n + 1.0\n;", 2, 2),
        ("const a = 3; override other: i32 = a; override value: i32 = other * 2;", 5, 5),
    ],
)
def test_ways_to_write_them(
    be: tilewright.Backend, declaration: str, value: Any, expected: float
) -> None:
    assert value_of(be, declaration, {"value": value}) == expected


def test_other_overrides_follow(be: tilewright.Backend) -> None:
    declaration = "override a: i32 = 3; override value: i32 = a * 2;"
    assert value_of(be, declaration, {"a": 5}) == 10


def test_by_number(be: tilewright.Backend) -> None:
    declaration = "const base = 2; @id(base + 1) override value: f32 = 1.0;"
    assert value_of(be, declaration, {3: 4.0}) == 4
    assert value_of(be, declaration, {"3": 5.0}) == 5
    with pytest.raises(tilewright.InvalidArgument, match="3 and value are one constant"):
        value_of(be, declaration, {3: 4.0, "value": 5.0})


def test_float16(be: tilewright.Backend) -> None:
    declaration = "enable f16; override value: f16 = 1.0h;"
    assert value_of(be, declaration, {"value": 0.1}) == float(np.float16(0.1))
    with pytest.raises(tilewright.InvalidArgument, match=r"expected -65504 to 65504 \(f16\)"):
        value_of(be, declaration, {"value": 65505})


@pytest.mark.parametrize("declaration", ["override value = 1 + 2;", "override value: vec2f;"])
def test_types_that_cannot_be_seen(be: tilewright.Backend, declaration: str) -> None:
    with pytest.raises(tilewright.KernelError, match="k:1: the type of value cannot be seen"):
        value_of(be, declaration, {"value": 1})


def test_one_without_a_value_has_to_be_given_one(be: tilewright.Backend) -> None:
    with pytest.raises(tilewright.KernelError):
        value_of(be, "override value: f32;", {})


def test_sizes_follow_them(be: tilewright.Backend) -> None:
    code = """
    override n: u32 = 4;
    var<workgroup> items: array<vec4f, n * 2>;
    @group(0) @binding(0) var<storage, read_write> x: array<f32>;
    @compute @workgroup_size(n, 2) fn main(@builtin(local_invocation_index) i: u32) {
      items[i] = vec4f(f32(i));
      workgroupBarrier();
      x[i] = items[n * 2u - 1u - i].x;
    }
    """
    for n in (4, 16):
        kernel = be.kernel(code, constants={"n": n})
        assert kernel.workgroup_size == (n, 2, 1)
        assert kernel.workgroup_bytes == 32 * n
        x = be.zeros(2 * n)
        kernel(x, grid=1)
        assert x.numpy().tolist() == list(range(2 * n - 1, -1, -1))
    with pytest.raises(tilewright.KernelError, match=r"asks for \d+ "):
        be.kernel(code, constants={"n": 100_000})


@pytest.mark.parametrize(
    "code",
    [
        "override", "override;", "override value", "override value:", "override value =",
        "override value: f32 = ", "override : f32;", "@id override value: f32;",
        "@id( override value: f32;", "override value: f32 = 1.0; override value: f32 = 2.0;",
        "override value: = ;", "override value = ;;;", "@id(value) override value: f32 = 1;",
    ],
)  # fmt: skip
def test_what_is_no_declaration(be: tilewright.Backend, code: str) -> None:
    with pytest.raises((tilewright.KernelError, tilewright.InvalidArgument)):
        value_of(be, code, {"value": 1, "more": 2} if code.count("value") > 1 else {"value": 1})
