"""What the translator of the build makes of WGSL, construct by construct: as SPIR-V on Level Zero,
beside the same WGSL on WebGPU."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright import Backend
from translation import spirv_of_wgsl

TYPES = {"u32": np.uint32, "i32": np.int32, "f32": np.float32, "f16": np.float16}
# Items of each kernel, in two workgroups of eight.
COUNT = 16
HEAD = """
@group(0) @binding(0) var<storage, read> x: array<{a}>;
@group(0) @binding(1) var<storage, read_write> y: array<{b}>;
"""
MAIN = """
@compute @workgroup_size(8)
fn main(@builtin(global_invocation_id) id: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let i = id.x;
"""


def on(gpu: Backend, wgsl: str) -> dict[str, Any]:
    """What kernel() takes for it."""
    if gpu.name == "webgpu":
        return {"code": wgsl}
    return {"code": spirv(wgsl), "entry": "test", "trusted": True}


spirv = functools.cache(spirv_of_wgsl)


def array(gpu: Backend, values: np.ndarray) -> tilewright.Buffer:
    """Backends have no uint32; kernels do."""
    return gpu.array(values.view(np.int32) if values.dtype == np.uint32 else values)


def computed(gpu: Backend, wgsl: str, values: np.ndarray, result: type) -> np.ndarray:
    x, y = array(gpu, values), array(gpu, np.zeros(COUNT, result))
    gpu.kernel(**on(gpu, wgsl))(x, y, grid=2)
    return np.asarray(y.numpy()).view(result)


@dataclass(frozen=True)
class Case:
    """`body` sets y[i] from x[i], after what `around` declares."""

    name: str
    types: str
    body: str
    expected: Callable[[Any], Any]
    around: str = ""
    values: Any = None

    def __str__(self) -> str:
        return self.name


INTEGERS = [
    0,
    1,
    2,
    3,
    7,
    8,
    31,
    32,
    255,
    256,
    65535,
    65536,
    2**31 - 1,
    2**31,
    2**32 - 2,
    2**32 - 1,
]
SIGNED = [0, 1, -1, 2, -2, 3, -3, 7, -7, 31, -32, 255, -256, 2**31 - 1, -(2**31), -(2**31) + 1]
FLOATS = [0, -0.0, 1, -1, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0.1, 1e-3, 123.456, -7e5, 3e9, -3e9]
EXTREMES = [
    *(1e10, np.inf, -np.inf, 0, -0.0, 4e9, 5e9, -1, -3e9, 2.0**31),
    *(2.0**32, 0.5, -0.5, 1e-40, 3e38, -3e38),
]


def u32(x: Any) -> Any:
    return np.asarray(x).astype(np.uint32)


def in_range(low: float, high: float) -> Callable[[Any], Any]:
    """As WGSL makes integers of f32; the most of i32 and u32 that f32 holds."""

    def of(x: Any) -> Any:
        return np.trunc(np.clip(x.astype(np.float64), low, high))

    return of


def up_to_length(count: int) -> np.ndarray:
    return np.arange(COUNT) % count


CASES = [
    # Integers
    Case("wraps", "u32 u32", "y[i] = x[i] * 2654435761u + 4294967295u;",
         lambda x: x * u32(2654435761) + u32(4294967295)),
    Case("wraps signed", "i32 i32", "y[i] = x[i] * 3 - 2147483647;",
         lambda x: (x.astype(np.int64) * 3 - 2147483647).astype(np.int32)),
    Case("shifts", "u32 u32", "y[i] = (x[i] << (i % 32u)) ^ (x[i] >> 3u);",
         lambda x: (x << u32(range(COUNT))) ^ (x >> u32(3))),
    Case("shifts signed", "i32 i32", "y[i] = (x[i] >> 1u) + (x[i] << 2u);",
         lambda x: (x >> 1) + (x << 2)),
    Case("shifts of vectors", "i32 i32",
         "let v = vec4<i32>(x[i]) >> vec4<u32>(0u, 1u, 4u, 31u); y[i] = v.x ^ v.y ^ v.z ^ v.w;",
         lambda x: x ^ (x >> 1) ^ (x >> 4) ^ (x >> 31)),
    # Vulkan leaves remainders of negative numbers to the driver.
    Case("quotients", "i32 i32", "y[i] = x[i] / 3 * 10 + (x[i] & 0x7fffffff) % 7;",
         lambda x: (np.trunc(x / 3) * 10 + (x & 0x7FFFFFFF) % 7).astype(np.int64).astype(np.int32)),
    Case("bits", "u32 u32", "y[i] = ~x[i] & 0xff00ffu | x[i] ^ 5u;".replace(
        "~x[i] & 0xff00ffu | x[i] ^ 5u", "((~x[i]) & 0xff00ffu) | ((x[i] ^ 5u) & 7u)"),
         lambda x: (~x & u32(0xFF00FF)) | ((x ^ u32(5)) & u32(7))),
    Case("counted bits", "u32 u32",
         "y[i] = countOneBits(x[i]) + 100u * countLeadingZeros(x[i]) "
         "+ 10000u * countTrailingZeros(x[i]);",
         lambda x: u32([bin(v).count("1") + 100 * (32 - int(v).bit_length())
                        + 10000 * (32 if v == 0 else (int(v) & -int(v)).bit_length() - 1)
                        for v in x])),
    Case("sizes of integers", "i32 i32",
         "y[i] = abs(x[i]) + sign(x[i]) + min(x[i], 5) + max(x[i], -5) + clamp(x[i], -9, 9);",
         lambda x: (np.where(x == -(2**31), x, np.abs(x)).astype(np.int64) + np.sign(x)
                    + np.minimum(x, 5) + np.maximum(x, -5)
                    + np.clip(x, -9, 9)).astype(np.int64).astype(np.int32)),
    # Floats
    Case("as written", "f32 f32", "y[i] = x[i] * x[i] - 0.1 * (x[i] + 1.0) / 3.0;",
         lambda x: x * x - np.float32(0.1) * (x + np.float32(1)) / np.float32(3)),
    Case("rounded", "f32 f32", "y[i] = round(x[i]) + 10.0 * floor(x[i]) + 100.0 * trunc(x[i]);",
         lambda x: np.rint(x) + np.float32(10) * np.floor(x) + np.float32(100) * np.trunc(x)),
    Case("abs, min, max, clamp", "f32 f32",
         "y[i] = abs(x[i]) + min(x[i], 2.0) + max(x[i], -2.0) + clamp(x[i], -1.0, 1.0);",
         lambda x: np.abs(x) + np.minimum(x, np.float32(2)) + np.maximum(x, np.float32(-2))
         + np.clip(x, np.float32(-1), np.float32(1))),
    Case("fma, sqrt, sign, step", "f32 f32",
         "y[i] = fma(x[i], x[i], 1.0) + sqrt(abs(x[i])) + sign(x[i]) + step(0.0, x[i]);",
         lambda x: (np.float32(1) + x * x) + np.sqrt(np.abs(x)) + np.sign(x) + (x >= 0)),
    Case("to u32", "f32 u32", "y[i] = u32(x[i]);", in_range(0, 4294967040), values=EXTREMES),
    Case("to i32", "f32 i32", "y[i] = i32(x[i]);", in_range(-(2**31), 2147483520),
         values=EXTREMES),
    Case("to i32 of vectors", "f32 i32",
         "let v = vec2<i32>(vec2<f32>(x[i], -x[i])); y[i] = v.x ^ v.y;",
         lambda x: (in_range(-(2**31), 2147483520)(x).astype(np.int64)
                    ^ in_range(-(2**31), 2147483520)(-x).astype(np.int64)), values=EXTREMES),
    Case("from integers", "i32 f32", "y[i] = f32(x[i]) + f32(u32(x[i]));",
         lambda x: x.astype(np.float32) + u32(x).astype(np.float32)),
    Case("from bool", "u32 f32", "y[i] = f32(x[i] > 7u) + f32(u32(x[i] < 3u)) + f32(bool(x[i]));",
         lambda x: (x > 7).astype(np.float32) + (x < 3) + (x != 0)),
    Case("bitcasts", "f32 u32",
         "let v = bitcast<vec2<u32>>(vec2<f32>(x[i], 1.0)); y[i] = v.x ^ v.y ^ bitcast<u32>(x[i]);",
         lambda x: np.full(COUNT, 0x3F800000)),
    Case("no NaN is lost", "f32 u32",
         "let v = bitcast<u32>(x[i] + 1.0) & 0x7fffffffu; y[i] = select(0u, 1u, v > 0x7f800000u);",
         np.isnan, values=[np.nan, *EXTREMES[1:]]),
    Case("packed halves", "f32 u32", "y[i] = pack2x16float(vec2<f32>(x[i], 0.5));",
         lambda x: u32(x.astype(np.float16).view(np.uint16)) | u32(0x3800 << 16),
         values=[*FLOATS[:13], 2, 4, 8]),
    Case("unpacked halves", "u32 f32",
         "let v = unpack2x16float(x[i] & 0x3bff3bffu); y[i] = v.x + v.y;",
         lambda x: np.uint16(x & 0x3BFF).view(np.float16).astype(np.float32)
         + np.uint16(x >> u32(16) & u32(0x3BFF)).view(np.float16).astype(np.float32)),
    Case("literals", "f32 f32", "const HALF = 0.5; y[i] = x[i] * 2 + HALF - 1e1 + 3f + 0x10 + .25;",
         lambda x: x * np.float32(2) + np.float32(0.5) - 10 + 3 + 16 + np.float32(0.25)),
    # Vectors
    Case("swizzles", "f32 f32",
         "let v = vec4<f32>(x[i], 1.0, vec2<f32>(2.0, 3.0)); let w = v.wzyx + v.rgba; "
         "y[i] = w.x + 10.0 * w.y + v.xy.y;",
         lambda x: (x + 3) * 1 + np.float32(10) * 3 + 1),
    Case("places in vectors", "u32 u32",
         "var v = vec4<u32>(); v[i % 4u] = x[i]; v.x += 1u; v[3]++; y[i] = v[0] + 2u * v[(i + 1u) "
         "% 4u] + 4u * v.w;",
         lambda x: u32([
             (v := [0, 0, 0, 0], v.__setitem__(i % 4, int(a)), v.__setitem__(0, v[0] + 1),
              v.__setitem__(3, v[3] + 1), v[0] + 2 * v[(i + 1) % 4] + 4 * v[3])[-1] % 2**32
             for i, a in enumerate(x)])),
    Case("truths of vectors", "i32 u32",
         "let v = vec4<i32>(x[i], 0, 1, -1); let low = v < vec4<i32>(1); var t = !low | (v == "
         "vec4<i32>(-1)); t.y = true; y[i] = select(0u, 1u, any(low)) + select(0u, 2u, all(t)) + "
         "u32(t.x) * 4u + dot(vec4<u32>(t), vec4<u32>(8u));",
         lambda x: 1 + 2 * ((x >= 1) | (x == -1)) + 4 * ((x >= 1) | (x == -1))
         + 8 * (3 + ((x >= 1) | (x == -1)))),
    Case("chosen elements", "f32 f32",
         "let v = select(vec3<f32>(1.0), vec3<f32>(x[i]), vec3<bool>(true, x[i] > 0.0, false)); "
         "y[i] = v.x + v.y + v.z;",
         lambda x: x + np.where(x > 0, x, np.float32(1)) + np.float32(1)),
    Case("scalars beside vectors", "f32 f32",
         "let v = 2.0 * vec3<f32>(x[i], 1.0, 2.0) - 1.0; y[i] = dot(v, vec3<f32>(1.0, 0.0, 0.0));",
         lambda x: np.float32(2) * x - np.float32(1)),
    # Statements
    Case("loops", "u32 u32",
         "var s = 0u; for (var k = 0u; k < 5u; k++) { if (k == 2u) { continue; } s += k * x[i]; } "
         "while (s > 1000u) { s /= 2u; } loop { if (s % 2u == 1u) { break; } s++; } y[i] = s;",
         lambda x: u32([loops(int(v)) for v in x])),
    Case("continuing", "u32 u32",
         "var s = 0u; var k = 0u; loop { s += k; continuing { k++; break if k >= x[i] % 10u; } } "
         "y[i] = s;",
         lambda x: u32([sum(range(max(int(v) % 10, 1))) for v in x])),
    Case("switch", "u32 u32",
         "var r = 0u; switch x[i] % 5u { case 0u: { r = 10u; } case 1u, 2u: { if (i > 3u) { break; "
         "} r = 20u; } default: { r = 30u; } } y[i] = r;",
         lambda x: np.select([x % 5 == 0, (x % 5 < 3) & (np.arange(COUNT) > 3), x % 5 < 3],
                             [10, 0, 20], 30)),
    Case("chains of else", "i32 i32",
         "if (x[i] < 0) { y[i] = -1; } else if (x[i] == 0) { y[i] = 0; } else { y[i] = 1; }",
         np.sign),
    Case("inner names", "f32 f32",
         "let a = x[i]; { let a = a + 1.0; { let x = a * 2.0; y[i] = x; } }",
         lambda x: (x + np.float32(1)) * np.float32(2)),
    Case("words of the other language", "f32 f32",
         "let half = x[i]; var float = half + global; let kernel = convert(float); y[i] = kernel;",
         lambda x: x + np.float32(1) + np.float32(2),
         around="const global = 1.0; fn convert(double: f32) -> f32 { return double + 2.0; }"),
    # Declarations
    Case("functions", "f32 f32", "y[i] = twice(plus_x(i, 3.0)); ",
         lambda x: (x + np.float32(3)) * np.float32(2),
         around="fn twice(v: f32) -> f32 { return v * 2.0; }"
         "fn plus_x(at: u32, more: f32) -> f32 { return x[at] + more; }"),
    Case("structures", "f32 f32",
         "var p = Pair(x[i], vec2<f32>(1.0, 2.0)); p.b.y += p.a; let q = swapped(p); "
         "y[i] = q.a + q.b.x;",
         lambda x: (np.float32(2) + x) + x,
         around="struct Pair { a: f32, b: vec2<f32> }"
         "fn swapped(p: Pair) -> Pair { return Pair(p.b.y, vec2<f32>(p.a)); }"),
    Case("arrays", "u32 u32",
         "var a: array<u32, 4>; for (var k = 0u; k < 4u; k++) { a[k] = x[i] + k; } "
         "let b = array<u32, 3>(5u, 6u, 7u); y[i] = a[i % 4u] + b[i % 3u] + TABLE[i % 2u];",
         lambda x: x + u32(up_to_length(4)) + u32(5 + up_to_length(3))
         + u32(100 * (1 + up_to_length(2))),
         around="const TABLE = array<u32, 2>(100u, 200u);"),
    Case("arrays of arrays", "u32 u32",
         "var a: array<array<u32, 2>, 3>; a[i % 3u][i % 2u] = x[i]; y[i] = a[i % 3u][i % 2u] + "
         "a[(i + 1u) % 3u][0];", lambda x: x),
    Case("pointers", "u32 u32", "var v = x[i]; var w = 1u; add(&v, w); add(&w, 2u); y[i] = v + w;",
         lambda x: x + u32(1) + u32(3),
         around="fn add(to: ptr<function, u32>, more: u32) { *to += more; }"),
    Case("private variables", "u32 u32", "count(x[i]); count(2u); y[i] = total.x + total.y + last;",
         lambda x: x + u32(2) + u32(2) + u32(2),
         around="var<private> total: vec2<u32>; var<private> last = 0u;".replace(
             "last = 0u", "last: u32 = 0u")
         + "fn count(v: u32) { total += vec2<u32>(v, 1u); last = v; }"),
    Case("aliases", "f32 f32", "let v: Four = Four(x[i]); y[i] = v.x + v.w;",
         lambda x: x + x, around="alias Four = vec4f;"),
    # Workgroups
    Case("memory of a workgroup", "u32 u32",
         "held[local] = x[i]; workgroupBarrier(); y[i] = beside(local);",
         lambda x: x.reshape(2, 8)[:, ::-1].ravel(),
         around="var<workgroup> held: array<u32, 8>; fn beside(at: u32) -> u32 { "
         "return held[7u - at]; }"),
    Case("one element of a vector in the memory of a workgroup", "u32 u32",
         "held[local / 4u][local % 4u] = x[i]; workgroupBarrier(); "
         "y[i] = held[local % 2u][local / 2u];",
         lambda x: x.reshape(2, 2, 4).transpose(0, 2, 1).ravel(),
         around="var<workgroup> held: array<vec4<u32>, 2>;"),
    Case("atomics of a workgroup", "u32 u32",
         "if (local == 0u) { atomicStore(&sum, 0u); } workgroupBarrier(); add(x[i]); "
         "workgroupBarrier(); y[i] = atomicLoad(&sum);",
         lambda x: np.repeat(x.reshape(2, 8).sum(axis=1, dtype=np.uint32), 8),
         around="var<workgroup> sum: atomic<u32>; fn add(v: u32) { atomicAdd(&sum, v); }"),
]  # fmt: skip


def loops(value: int) -> int:
    total = (value * (0 + 1 + 3 + 4)) % 2**32
    while total > 1000:
        total //= 2
    return total + (total % 2 == 0)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_construct(gpu: Backend, case: Case) -> None:
    a, b = case.types.split()
    wgsl = HEAD.format(a=a, b=b) + case.around + MAIN + f"  {case.body}\n}}\n"
    default = {"u32": INTEGERS, "i32": SIGNED, "f32": FLOATS}[a]
    values = np.array(case.values if case.values is not None else default, TYPES[a])
    with np.errstate(all="ignore"):
        expected = np.asarray(case.expected(values.copy())).astype(TYPES[b])
    result = computed(gpu, wgsl, values, TYPES[b])
    # Software GPUs round like NumPy; fma rounds once.
    rounding = 3e-7 if b == "f32" else 0
    np.testing.assert_allclose(result, expected, rtol=rounding, atol=rounding)


def test_atomics_of_a_buffer(gpu: Backend) -> None:
    wgsl = """
@group(0) @binding(0) var<storage, read> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<atomic<i32>>;
@compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let v = x[id.x];
  atomicAdd(&y[0], v); atomicSub(&y[1], v); atomicMax(&y[2], v); atomicMin(&y[3], v);
  atomicOr(&y[4], v); atomicXor(&y[5], v); atomicAnd(&y[6], ~v);
  if (atomicExchange(&y[7 + id.x % 2], 1) == 0) { atomicAdd(&y[9], 1); }
  var before = atomicLoad(&y[10]);
  while (!atomicCompareExchangeWeak(&y[10], before, before + 2).exchanged) {
    before = atomicLoad(&y[10]);
  }
}
"""
    values = np.array(SIGNED, np.int32)
    bits = functools.reduce
    result = computed(gpu, wgsl, values, np.int32)
    total = int(values.astype(np.int64).sum())
    wrapped = np.array([total, -total]).astype(np.int32).tolist()
    either = bits(np.bitwise_or, values)
    assert result[:6].tolist() == [
        *wrapped, values.max(), values.min(), either, bits(np.bitwise_xor, values)
    ]  # fmt: skip
    assert result[6:10].tolist() == [0, 1, 1, 2]
    assert result[10] == 2 * values.size


def test_places_of_work_items(gpu: Backend) -> None:
    wgsl = """
struct Params { scale: u32, size: vec2<u32>, more: array<u32, 2> }
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
var<immediate> params: Params;
@compute @workgroup_size(4, 2)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_id) local: vec3<u32>,
        @builtin(local_invocation_index) index: u32,
        @builtin(global_invocation_id) id: vec3<u32>) {
  let at = (group.y * groups.x + group.x) * 8u + index;
  y[at] = params.scale * (id.y * params.size.x + id.x) + local.y * params.more[1] + local.x;
}
"""
    y = array(gpu, np.zeros(48, np.uint32))
    words = np.array([100, 0, 12, 4, 7, 9], np.uint32)
    gpu.kernel(**on(gpu, wgsl))(y, grid=(3, 2), params=words.tobytes())
    expected = [
        100 * ((2 * gy + ly) * 12 + 4 * gx + lx) + ly * 9 + lx
        for gy in range(2)
        for gx in range(3)
        for ly in range(2)
        for lx in range(4)
    ]
    assert y.numpy().tolist() == expected


def test_float16(gpu: Backend, rng: np.random.Generator) -> None:
    wgsl = """
enable f16;
@group(0) @binding(0) var<storage, read> x: array<vec4<f16>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<f16>>;
@compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let v = x[id.x];
  var w = vec4<f16>(vec4<f32>(v) * 2.0);
  w.y = f16(f32(v.x) + 0.1);
  w[2] = select(v.z, 0.5h, v.z < 0.0h);
  w = select(w, -w, v > vec4<f16>(0.25));
  y[id.x] = w;
}
"""
    v = rng.uniform(-1, 1, COUNT).astype(np.float16)
    x, y = gpu.array(v), gpu.array(np.zeros(COUNT, np.float16))
    gpu.kernel(**on(gpu, wgsl))(x, y, grid=1)
    v = v.reshape(4, 4)
    w = (v.astype(np.float32) * 2).astype(np.float16)
    w[:, 1] = (v[:, 0].astype(np.float32) + np.float32(0.1)).astype(np.float16)
    w[:, 2] = np.where(v[:, 2] < 0, np.float16(0.5), v[:, 2])
    w = np.where(v > np.float16(0.25), -w, w)
    np.testing.assert_array_equal(y.numpy(), w.ravel())


CHOICES = """
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
#if SIDE
  let base = x[id.x];
  var sum = ${SIDE}u;
#elif COUNT > 2
  let base = 2u;
  var sum = 1000u;
#else
  let base = 1u;
  var sum = 0u;
#end
#let TURNS = COUNT
#if COUNT > 4
#let TURNS = COUNT / 2
#end
#for k in 1..TURNS
  sum += base * ${k * COUNT}u;
#end
#if COUNT % 2 == 1 && 1
  sum += 7u;
#end
  y[id.x] = sum;
}
"""


@pytest.mark.parametrize(("side", "count"), [(1, 3), (3, 8), (0, 5), (0, 2)])
def test_constants_of_a_launch(gpu: Backend, side: int, count: int) -> None:
    """On Level Zero one module serves them all; for WebGPU the template knows them."""
    turns = count // 2 if count > 4 else count
    values = np.array(INTEGERS, np.uint32)
    first = values if side else np.full(COUNT, 2 if count > 2 else 1, np.uint32)
    begin = side if side else 1000 if count > 2 else 0
    expected = u32(begin + 7 * (count % 2)) + first * u32(sum(k * count for k in range(1, turns)))
    x, y = array(gpu, values), array(gpu, np.zeros(COUNT, np.uint32))
    if gpu.name == "webgpu":
        chosen = [line for line in CHOICES.splitlines() if not line.startswith("#")]
        text = "\n".join(chosen[:4])
        text += f"\n let base = {'x[id.x]' if side else f'{first[0]}u'}; var sum = {begin}u;"
        text += "".join(f" sum += base * {k * count}u;" for k in range(1, turns))
        text += f" sum += {7 * (count % 2)}u; y[id.x] = sum; }}"
        kernel = gpu.kernel(text)
    else:
        module = spirv(CHOICES, "SIDE", "COUNT")
        constants = {0: side, 1: count}
        kernel = gpu.kernel(module, entry="test", trusted=True, constants=constants)
    kernel(x, y, grid=2)
    np.testing.assert_array_equal(y.numpy().view(np.uint32), expected)
