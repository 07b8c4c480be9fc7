"""What WGSL declares, and WGSL that is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright import Backend, InvalidArgument, KernelError

from .conftest import DEVICE

SAXPY = """
// y += alpha * x, /* a comment in a comment is none */ @binding(7)
struct Params {
  n: u32,
  alpha: f32,
}
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(0) var<storage, read> x: array<f32>;
/* var<storage> z: array<f32>; /* nested */ */
var<immediate> params: Params;
const GROUP = 8 * 8u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if id.x < params.n { y[id.x] += params.alpha * x[id.x]; }
}
"""
X = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;\n"
MAIN = "@compute @workgroup_size(1) fn main() "


@pytest.fixture(scope="module")
def gpu() -> Iterator[Backend]:
    with tilewright.init_backend(DEVICE) as backend:
        yield backend


def test_what_a_kernel_says_of_itself(gpu: Backend) -> None:
    k = gpu.kernel(SAXPY, name="saxpy")
    assert k.name == "saxpy"
    assert [(b.name, b.writable, b.least_bytes) for b in k.bindings] == [
        ("x", False, 4),
        ("y", True, 4),
    ]
    assert [(p.name, p.type, p.offset, p.bytes) for p in k.params] == [
        ("n", "u32", 0, 4),
        ("alpha", "f32", 4, 4),
    ]
    assert k.params_bytes == 8
    assert k.workgroup_size == (64, 1, 1)
    assert gpu.kernel(SAXPY).name == "main"


def test_a_trusted_launch(gpu: Backend) -> None:
    x, y = gpu.full(4, 1.0), gpu.zeros(4)
    gpu.kernel(SAXPY, trusted=True)(x, y, grid=1, params={"n": 3, "alpha": 2.0})
    assert y.numpy().tolist() == [2, 2, 2, 0]


def test_structures_atomics_and_workgroup_memory(gpu: Backend) -> None:
    code = """
    struct Pair { key: u32, value: vec3<f32>, }
    alias Count = atomic<u32>;
    override GROUP: u32 = 32;
    @group(0) @binding(0) var<storage, read> pairs: array<Pair>;
    @group(0) @binding(1) var<storage, read_write> counts: array<Count, 4>;
    var<workgroup> sums: array<f32, GROUP * 2>;
    @group(0) @binding(2) var<storage, read_write> sum: array<f32>;
    @compute @workgroup_size(GROUP)
    fn tally(@builtin(local_invocation_index) i: u32) {
      atomicAdd(&counts[pairs[i].key], 1u);
      sums[i] = pairs[i].value.y;
      workgroupBarrier();
      if i == 0u {
        var all = 0.0;
        for (var j = 0u; j < GROUP; j++) { all += sums[j]; }
        sum[0] = all;
      }
    }
    """
    pairs = np.zeros((32, 8), np.float32)
    pairs[:, 0] = (np.arange(32) % 3).astype(np.uint32).view(np.float32)
    pairs[:, 5] = np.arange(32)
    counts, total = gpu.zeros(4, np.int32), gpu.zeros(1)
    k = gpu.kernel(code, entry="tally")
    assert [b.least_bytes for b in k.bindings] == [32, 16, 4]
    k(gpu.array(pairs), counts, total, grid=1)
    assert counts.numpy().tolist() == [11, 11, 10, 0]
    assert total.item() == sum(range(32))


# Each type, where it starts after one u32, and the bytes of the whole: WGSL's own rules. What a
# uniform buffer cannot hold, which is where parameters are on a device without immediates.
LAYOUTS = [
    ("u32", 4, 8),
    ("vec2<f32>", 8, 16),
    ("vec3<f32>", 16, 32),
    ("vec3f", 16, 32),
    ("vec4<i32>", 16, 32),
    ("mat2x2<f32>", 8, 24),
    ("mat3x3f", 16, 64),
    ("mat4x3<f32>", 16, 80),
    ("array<f32, 5>", 4, 24),
    ("array<vec3<f32>, 2>", 16, 48),
    ("array<array<vec2u, 2>, 1 + 1>", 8, 40),
    ("Inner", 16, 64),
]
NOT_IN_UNIFORMS = {
    "mat2x2<f32>": "matrices of two rows; use vectors of four",
    "array<f32, 5>": "elements 4 bytes apart; use elements of 16 bytes, such as vec4f",
    "array<array<vec2u, 2>, 1 + 1>": "elements 8 bytes apart; use elements of 16 bytes",
}


@pytest.mark.parametrize(("kind", "offset", "size"), LAYOUTS)
def test_layouts(gpu: Backend, kind: str, offset: int, size: int) -> None:
    """The compiler holds the least bytes of a binding against its own; the parameters are read."""
    code = f"""
    struct Inner {{ a: u32, @size(16) b: u32, c: vec3<f32>, }}
    struct All {{ first: u32, second: {kind}, }}
    @group(0) @binding(0) var<storage, read> given: All;
    @group(0) @binding(1) var<storage, read_write> out: array<u32>;
    var<immediate> params: All;
    @compute @workgroup_size(1) fn main() {{
      var both = array<All, 2>(given, params);
      out[0] = both[0].first; out[1] = both[1].first; out[2] = arrayLength(&out);
    }}
    """
    obstacle = NOT_IN_UNIFORMS.get(kind)
    if obstacle and gpu.device.limits["max_immediate_bytes"] == 0:
        with pytest.raises(tilewright.KernelError) as raised:
            gpu.kernel(code)
        assert "params.second is" in str(raised.value)
        assert f"from a uniform buffer, which has no {obstacle}" in str(raised.value)
        return
    k = gpu.kernel(code)
    assert k.bindings[0].least_bytes == size
    assert k.params[1].offset == offset
    assert k.params_bytes == size
    given = np.zeros(size // 4, np.int32)
    given[0] = 7
    out = gpu.zeros(3, np.int32)
    k(gpu.array(given), out, grid=1, params=(given + 1).tobytes())
    assert out.numpy().tolist() == [7, 8, 3]


def test_a_kernel_that_is_not_trusted_stays_in_its_buffers(gpu: Backend) -> None:
    x, beside = gpu.zeros(4), gpu.zeros(4)
    code = X + MAIN + "{ for (var i = 0; i < 1000; i++) { x[i] = 1.0; } }"
    gpu.kernel(code)(x, grid=1)
    assert x.numpy()[:3].tolist() == [1] * 3
    assert beside.numpy().tolist() == [0] * 4


@pytest.mark.parametrize(
    ("params", "words"),
    [
        (b"", "params has 0 bytes, expected 8 (n, alpha)"),
        ({"n": 1, "beta": 2}, "saxpy declares n: u32, alpha: f32"),
        ((-1, 2.0), "n is -1 (int), expected u32"),
        ((1, "a"), "alpha is 'a' (str), expected f32"),
    ],
)
def test_wrong_params(gpu: Backend, params: Any, words: str) -> None:
    x, y = gpu.full(4, 1.0), gpu.zeros(4)
    k = gpu.kernel(SAXPY, name="saxpy")
    with pytest.raises(InvalidArgument) as raised:
        k(x, y, grid=1, params=params)
    assert words in str(raised.value)
    assert y.numpy().tolist() == [0] * 4


def test_wrong_buffers(gpu: Backend) -> None:
    k = gpu.kernel(SAXPY, name="saxpy")
    x, y = gpu.full(4, 1.0), gpu.zeros(4)
    tiny = gpu.alloc(3)
    for buffers, words in [
        ((x,), "buffers has 1 entries, expected 2 (x, y)"),
        ((x, x), "buffers[1] (y) is the same buffer as buffers[0] (x)"),
        ((x, x.reshape(2, 2)), "is the same buffer"),
        ((x, tiny), "buffers[1] holds 3 bytes, expected at least 4 for y"),
    ]:
        with pytest.raises(InvalidArgument) as raised:
            k(*buffers, grid=1, params=(4, 1.0))
        assert words in str(raised.value)
    gpu.free(tiny)
    assert y.numpy().tolist() == [0] * 4


def test_one_buffer_read_twice(gpu: Backend) -> None:
    code = """
    @group(0) @binding(0) var<storage> a: array<f32>;
    @group(0) @binding(1) var<storage, read> b: array<f32>;
    @group(0) @binding(2) var<storage, read_write> c: array<f32>;
    @compute @workgroup_size(1) fn main() { c[0] = a[0] + b[1]; }
    """
    x, y = gpu.array([1, 2]), gpu.zeros(1)
    gpu.kernel(code)(x, x, y, grid=1)
    assert y.item() == 3


def test_a_grid_that_is_too_large(gpu: Backend) -> None:
    with pytest.raises(InvalidArgument) as raised:
        gpu.kernel(SAXPY)(gpu.zeros(4), gpu.zeros(4), grid=65_536, params=(4, 1.0))
    assert "grid[0] is 65536 workgroups, expected at most 65535" in str(raised.value)


DEEP = 20_000


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (X + MAIN + "{\n  x[0] = y;\n}", ["k:3:", "`y`"]),
        (X + MAIN + "{\n  x[0] = 1u;\n}", ["k:3:"]),
        ("@group(0) @binding(0) var<storage, write> x: array<f32>;" + MAIN + "{}", ["k:1:"]),
        ("fn other() {}", ["no @compute function is named main"]),
        (MAIN.replace("main", "a") + "{}", ["there are a"]),
        ("\n@group(1) @binding(0) var<storage> x: array<f32>;" + MAIN + "{}", ["k:2:", "group"]),
        (X.replace("binding(0)", "binding(1)") + MAIN + "{}", ["k:1:", "expected 0"]),
        (X + X.replace("x:", "y:") + MAIN + "{}", ["k:2:", "as x does"]),
        ("@group(0) @binding(0) var<uniform> u: vec4f;" + MAIN + "{}", ["k:1:", "uniform"]),
        ("@group(0) @binding(0) var t: texture_2d<f32>;" + MAIN + "{}", ["k:1:", "texture"]),
        ("@compute @workgroup_size(4096) fn main() {}", ["4096 work-items in x"]),
        ("override n: u32 = 5000; @compute @workgroup_size(n) fn main() {}", ["5000 work-items"]),
        (
            X + "var<workgroup> w: array<f32, 1000000>;" + MAIN + "{ x[0] = w[1]; }",
            ["4000000 bytes of workgroup memory"],
        ),
        ("var<immediate> p: array<vec4f, 100>;" + MAIN + "{}", ["1600 bytes of parameters"]),
        (b"\x03\x02\x23\x07\x00\x00", ["SPIR-V"]),
        (X + "\0" + MAIN + "{}", ["k:2:", "NUL"]),
        (b"\xff\xfe" + (X + MAIN + "{}").encode(), ["UTF-8"]),
        (X + MAIN + "{ x[0] = " + "(" * DEEP + "1.0" + ")" * DEEP + "; }", ["k:2:", "brackets"]),
        (X + MAIN + "{ x[0] = x[1]" + " + x[2]" * DEEP + "; }", ["k:2:", "operators"]),
        (X + MAIN + "{ x[0] = " + "- " * DEEP + "x[1]; }", ["k:2:", "operators"]),
        (X + MAIN + "{ if x[0] > 1 {} " + "else if x[0] > 2 {} " * DEEP + "}", ["operators"]),
        ("alias T = " + "array<" * DEEP + "f32" + ", 2>" * DEEP + ";" + MAIN + "{}", ["operators"]),
        (
            "".join(f"alias A{i} = A{i + 1};" for i in range(DEEP)) + f"alias A{DEEP} = f32;"
            "@compute @workgroup_size(1) fn main() { var a: A0; }",
            ["names are declared"],
        ),
    ],
)  # fmt: skip
def test_code_that_is_refused(gpu: Backend, code: str | bytes, words: list[str]) -> None:
    """With the place; the backend, its buffers and its queued work stay as they were."""
    x, y = gpu.full(4, 1.0), gpu.zeros(4)
    good = gpu.kernel(SAXPY)
    good(x, y, grid=1, params=(4, 1.0))
    with pytest.raises(KernelError) as raised:
        gpu.kernel(code, name="k")
    for word in words:
        assert word in str(raised.value)
    good(x, y, grid=1, params=(4, 1.0))
    assert y.numpy().tolist() == [2] * 4


def test_what_grows_beyond_all_bounds_does_not_reach_the_compiler(
    succeeds: Callable[..., str],
) -> None:
    """It would take the compiler without end, or all memory, or end the process there."""
    code = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
X = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;"
MAIN = "@compute @workgroup_size(1) fn main() "
def chain(first, following):
    for i in range(30):
        first += following.replace("@", str(i + 1)).replace("#", str(i))
    return first
TWICE = "fn f@(a: f32) -> f32 { return f#(a) + f#(a); }"
FUNCTIONS = chain("fn f0(a: f32) -> f32 { return a; }", TWICE)
LARGE = X.replace("array<f32>", "array<f32, 10000000>")
STRUCTS = chain("struct S0 { a: f32, }", "struct S@ { a: S#, b: S#, }")
with tw.init_backend("webgpu:0") as be:
    for code in (
        FUNCTIONS + X + MAIN + "{ x[0] = f30(x[0]); }",
        STRUCTS + X + MAIN + "{ let s = S22(); x[0] = s.a" + ".a" * 22 + "; }",
        X + MAIN + "{ let p = array<f32, 1000000>(); x[0] = p[u32(x[0])]; }",
        LARGE + MAIN + "{ var p = x; x[1] = p[u32(x[0])]; }",
        X + MAIN + "{" + "x[0] = x[0] * 2.0 + 1.0;" * 50000 + "}",
        X + MAIN + "{}" + "\\n" * 60_000_000,
    ):
        raised(tw.KernelError, be.kernel, code)
    tripled = chain("const a0 = 1u;", "const a@ = a# + a# - a#;")
    k = be.kernel(tripled + X + "@compute @workgroup_size(a30) fn main() { x[0] = f32(a30); }")
    x = be.zeros(1)
    k(x, grid=1)
    assert x.item() == 1 and works(be)
"""
    succeeds(code)


def test_what_drivers_take_long_for_does_not_reach_them(gpu: Backend) -> None:
    """Each of these kept software Vulkan busy for 4 to 30 seconds and more."""
    index = "u32(x[0])"
    store = "x[i] += 1.0;"
    for body in (
        f"var a: array<f32, 2000>; a[{index}] = 1.0; x[1] = a[{index} + 1u];",
        "var v = vec4f(x[0]);" + "v = atan2(v, v + 1.0);" * 800 + "x[1] = v.x;",
        "var a: array<f32, 16>;" + f"x[1] += a[{index} & 15u];" * 300,
        "var m = mat4x4f(vec4f(x[0]), vec4f(x[1]), vec4f(), vec4f());" + "m = m * m;" * 500,
        f"for (var i = 0u; i < {index}; i++) {{ {store} }}" * 300,
        f"for (var i = 0u; i < 20u; i++) {{ {store} }}" * 60,
    ):
        with pytest.raises(KernelError, match=r"main grows to more than 32768 words.*use loops"):
            gpu.kernel(X + MAIN + "{" + body + "}")


def test_ordinary_work_is_taken(gpu: Backend) -> None:
    """An array of a work-item's own, sorted by it; hundreds of functions; products in tiles."""
    x = gpu.array(np.arange(64, dtype=np.float32)[::-1].copy())
    own = """{
      var a: array<f32, 64>;
      for (var i = 0u; i < 64u; i++) { a[i] = x[i]; }
      for (var i = 1u; i < 64u; i++) {
        let value = a[i];
        var j = i;
        while j > 0u && a[j - 1u] > value { a[j] = a[j - 1u]; j--; }
        a[j] = value;
      }
      for (var i = 0u; i < 64u; i++) { x[i] = a[i]; }
    }"""
    gpu.kernel(X + MAIN + own)(x, grid=1)
    np.testing.assert_array_equal(x.numpy(), np.arange(64))
    functions = "{ var f = x[1];" + "f = sin(f) + 1.0;" * 200 + "x[0] = f; }"
    gpu.kernel(X + MAIN + functions)(x, grid=1)
    assert 0 < x.numpy()[0] < 2
    tiles = """{
      var sums: array<f32, 16>; var a: array<f32, 4>; var b: array<f32, 4>;
      for (var k = 0u; k < 16u; k++) {
        for (var i = 0u; i < 4u; i++) { a[i] = x[i * 16u + k]; b[i] = x[k * 4u + i]; }
        for (var i = 0u; i < 4u; i++) {
          for (var j = 0u; j < 4u; j++) { sums[i * 4u + j] += a[i] * b[j]; }
        }
      }
      for (var i = 0u; i < 16u; i++) { x[i] = sums[i]; }
    }"""
    whole = (np.arange(64) % 5).astype(np.float32)
    x = gpu.array(whole)
    gpu.kernel(X + MAIN + tiles)(x, grid=1)
    product = whole.reshape(4, 16) @ whole.reshape(16, 4)
    np.testing.assert_array_equal(x.numpy()[:16].reshape(4, 4), product)


def test_a_thread_of_little_stack(succeeds: Callable[..., str]) -> None:
    """What is as deep as is taken compiles there."""
    code = """
import threading
X = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;"
MAIN = "@compute @workgroup_size(1) fn main() "
aliases = "".join(f"alias A{i} = A{i + 1};" for i in range(25)) + "alias A25 = f32;"
constants = "const a0 = 1;" + "".join(f"const a{i} = a{i - 1} + 1;" for i in range(1, 190))
DEEP = [
    aliases + X + MAIN + "{ var a: A0; x[0] = a; }",
    constants + X + MAIN + "{ x[0] = f32(a189); }",
    X + MAIN + "{ x[0] = " + "(" * 60 + "x[1]" + ")" * 60 + "; }",
    X + MAIN + "{ x[0] = x[1]" + " + x[2]" * 120 + "; }",
    X + MAIN + "{ x[0] = " + "- " * 240 + "x[1]; }",
    X + MAIN + "{ if x[0] > 1 {} " + "else if x[0] > 2 {} " * 60 + "}",
    X + MAIN + "{" + "if x[0] > 1 {" * 60 + "}" * 60 + "}",
]
compiled = []
def compile_all():
    with tw.init_backend("webgpu:0") as be:
        for code in DEEP:
            compiled.append(be.kernel(code))
        compiled.clear()
        compiled.append("all")
threading.stack_size(512 << 10)
thread = threading.Thread(target=compile_all)
thread.start()
thread.join()
assert compiled == ["all"]
"""
    succeeds(code)
