"""Values for WGSL's overrides and SPIR-V's specialization constants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tilewright import Backend, InvalidArgument, KernelError

from .own_kernels import Code

FILL = Code(
    """
    @id(7) override scale: f32 = 0.5;
    override steps: i32 = 3;
    @id(9) override count = 4u;
    override flag = true;
    @group(0) @binding(0) var<storage, read_write> x: array<f32>;
    @compute @workgroup_size(1) fn main() {
      x[0] = scale; x[1] = f32(steps); x[2] = f32(count); x[3] = select(0.0, 1.0, flag);
    }
    """,
    """
    float __attribute__((overloadable, const)) __spirv_SpecConstant(int id, float value);
    int __attribute__((overloadable, const)) __spirv_SpecConstant(int id, int value);
    uint __attribute__((overloadable, const)) __spirv_SpecConstant(int id, uint value);
    _Bool __attribute__((overloadable, const)) __spirv_SpecConstant(int id, _Bool value);
    __attribute__((reqd_work_group_size(1, 1, 1)))
    kernel void fill(global float* x) {
      x[0] = __spirv_SpecConstant(7, 0.5f); x[1] = (float)__spirv_SpecConstant(8, 3);
      x[2] = (float)__spirv_SpecConstant(9, (uint)4);
      x[3] = __spirv_SpecConstant(10, (_Bool)1) ? 1.0f : 0.0f;
    }
    """,
    "fill",
)
#: what the constants are called in each language
NAMES: dict[str, dict[str, Any]] = {
    "webgpu": {"scale": "scale", "steps": "steps", "count": 9, "flag": "flag"},
    "level-zero": {"scale": 7, "steps": "8", "count": 9, "flag": 10},
}
EXACT = float(np.float32(0.1))


def result(gpu: Backend, **values: Any) -> list[float]:
    names = NAMES[gpu.name]
    constants = {names[name]: value for name, value in values.items()}
    x = gpu.zeros(4)
    gpu.kernel(**FILL.on(gpu), constants=constants)(x, grid=1)
    return [float(value) for value in x.numpy()]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, [0.5, 3, 4, 1]),
        ({"scale": 2.25}, [2.25, 3, 4, 1]),
        ({"scale": 0.1}, [EXACT, 3, 4, 1]),
        ({"scale": -7}, [-7, 3, 4, 1]),
        ({"scale": 1e30}, [float(np.float32(1e30)), 3, 4, 1]),
        ({"steps": -5}, [0.5, -5, 4, 1]),
        ({"steps": -(2**31)}, [0.5, -(2**31), 4, 1]),
        ({"count": 2**32 - 1}, [0.5, 3, 2**32, 1]),
        ({"flag": False}, [0.5, 3, 4, 0]),
        ({"flag": np.bool_(False), "steps": np.int8(2)}, [0.5, 2, 4, 0]),
        ({"scale": np.float16(1.5), "steps": 0, "count": 0, "flag": True}, [1.5, 0, 0, 1]),
    ],
)
def test_values(gpu: Backend, values: dict[str, Any], expected: list[float]) -> None:
    assert result(gpu, **values) == expected


def test_the_traits_call(gpu: Backend) -> None:
    x = gpu.zeros(4)
    name = NAMES[gpu.name]["scale"]
    kernel = gpu.create_kernel(**{"entry": "main", **FILL.on(gpu)}, constants={name: 3})
    gpu.launch_kernel(kernel, [x], b"", (1, 1, 1))
    gpu.free_kernel(kernel)
    assert x.numpy()[0] == 3


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"scale": True}, " is true, expected a number ("),
        ({"scale": math.inf}, " is inf, expected a finite number (f32)"),
        ({"scale": math.nan}, " is nan, expected a finite number (f32)"),
        ({"scale": 1e39}, " is 1e+39, expected -3.40282e+38 to 3.40282e+38 (f32)"),
        ({"steps": 1.0}, " is 1.0, expected a whole number ("),
        ({"steps": False}, " is false, expected a whole number ("),
        ({"steps": 2**40}, " is 1099511627776, expected -2147483648 to "),
        ({"steps": -(2**31) - 1}, " is -2147483649, expected -2147483648 to "),
        ({"flag": 1}, " is 1, expected true or false (bool)"),
        ({"scale": "1"}, " is '1' (str), expected "),
        ({"scale": None}, " is None, expected "),
        ({"steps": 2**70}, "constants: "),
    ],
)
def test_values_that_do_not_fit(gpu: Backend, values: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        result(gpu, **values)
    assert words in str(raised.value)
    assert str(raised.value).startswith("create_kernel: constants: ")


@pytest.mark.parametrize(
    ("constants", "words"),
    [
        ({"nothing": 1}, "constants: nothing is none that fill declares; it has "),
        ({99: 1}, "constants: 99 is none that fill declares"),
        ({"": 1}, "is none that fill declares"),
        ({None: 1}, "constants: a key is None"),
        ({True: 1}, "constants: a key is True"),
        ([1], "constants is [1] (list), expected a dict"),
        (3, "constants is 3 (int), expected a dict"),
    ],
)
def test_wrong_constants(gpu: Backend, constants: Any, words: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        gpu.kernel(**FILL.on(gpu), constants=constants)
    assert words in str(raised.value)


def test_code_without_constants_says_so(gpu: Backend) -> None:
    plain = Code(
        "@compute @workgroup_size(1) fn main() {}",
        "__attribute__((reqd_work_group_size(1, 1, 1))) kernel void plain(global float* x) {}",
        "plain",
    )
    with pytest.raises(InvalidArgument, match="a is none that plain declares; it has none"):
        gpu.kernel(**plain.on(gpu), constants={"a": 1})


LOCAL = Code(
    """
    override n: u32 = 8;
    var<workgroup> shared_items: array<f32, n>;
    @group(0) @binding(0) var<storage, read_write> x: array<f32>;
    @compute @workgroup_size(n) fn main(@builtin(local_invocation_index) i: u32) {
      shared_items[i] = f32(i);
      workgroupBarrier();
      x[i] = shared_items[n - 1u - i];
    }
    """,
    """
    unsigned long __attribute__((overloadable, const)) get_local_id(uint dimension);
    void __attribute__((overloadable, convergent)) barrier(uint flags);
    __attribute__((reqd_work_group_size(8, 1, 1)))
    kernel void local_items(global float* x) {
      local float shared_items[8];
      const uint i = get_local_id(0);
      shared_items[i] = (float)i;
      barrier(1);
      x[i] = shared_items[7 - i];
    }
    """,
    "local_items",
)


def test_what_compiling_took_and_gave(gpu: Backend) -> None:
    kernel = gpu.kernel(**LOCAL.on(gpu))
    assert kernel.workgroup_bytes == 32
    assert kernel.compile_seconds > 0
    assert isinstance(kernel.log, str)
    info = gpu.kernel_info(kernel)
    assert (info.workgroup_bytes, info.log) == (32, kernel.log)
    assert gpu.kernel(**FILL.on(gpu)).workgroup_bytes == 0
    x = gpu.zeros(8)
    kernel(x, grid=1)
    assert x.numpy().tolist() == [7, 6, 5, 4, 3, 2, 1, 0]


def test_a_kernel_that_fails_after_its_constants_are_set(gpu: Backend) -> None:
    broken = Code("override n: u32 = 1;\n\nfn main() { nonsense }", "", "broken")
    arguments = broken.on(gpu) if gpu.name == "webgpu" else FILL.on(gpu) | {"entry": "none"}
    with pytest.raises(KernelError):
        gpu.kernel(**arguments, constants={"n" if gpu.name == "webgpu" else 9: 5})
