// Float32 matrices as float16 for matrix units, eight elements a work-item, those of A first; zeros
// where lines grow to whole vec4 of eight.
// With TERMS 3 each line is multiplied by a power of two and split in two, x = high + low, which lie
// along k so that one product sums low * high, high * low and high * high: A is low, high, high, B
// is high, low, high. An infinity has no low part, and its high one is 0 where low ones meet it; what
// is not 0 has a high part that is not, so that infinity times it stays one.
// 0 a, 1 b, 2 packed, with TERMS 3 3 largest (of gemm_largest.wgsl).
// Variables: GROUP; TERMS (1: rounded, 3: split).
struct Matrix {
  rows: u32, columns: u32, ld: u32,
  by_columns: u32, first: u32,  // as in gemm_largest.wgsl
  vectors: u32,  // of a row of one term
  items: u32,
  apart: u32, term: u32, start: u32,  // vectors from row to row, from term to term, and in front
}
struct Params { a: Matrix, b: Matrix }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> packed: array<vec4<u32>>;
#if TERMS == 3
@group(0) @binding(3) var<storage, read> largest: array<u32>;
#include "line_scales.wgsl"
#end
#include "round_half.wgsl"
#include "range.wgsl"

fn joined(low: vec4<u32>, high: vec4<u32>) -> vec4<u32> {
  return vec4<u32>(low.xz | (low.yw << vec2<u32>(16u)), high.xz | (high.yw << vec2<u32>(16u)));
}

#if TERMS == 3
struct Parts { high: vec4<u32>, low: vec4<u32>, finite: vec4<u32> }

fn split(x: vec4<f32>, lift: vec4<i32>) -> Parts {
  let bits = bitcast<vec4<u32>>(x);
  let size = bits & vec4<u32>(0x7fffffffu);
  let is_finite = size < vec4<u32>(0x7f800000u);
  let scaled = lifted(x, lift);
  let rounded = half_bits(select(x, scaled, is_finite));
  let sign = (bits >> vec4<u32>(16u)) & vec4<u32>(0x8000u);
  // At least 2^-14, the smallest normal number.
  let least = select(max(rounded & vec4<u32>(0x7fffu), vec4<u32>(0x0400u)), vec4<u32>(), size == vec4<u32>());
  var parts: Parts;
  parts.high = least | sign;
  // By bits: compilers take float32 to float16 and back for no change.
  let back = select((least << vec4<u32>(13u)) + vec4<u32>(0x38000000u), vec4<u32>(), least == vec4<u32>());
  let rest = scaled - bitcast<vec4<f32>>(back | (sign << vec4<u32>(16u)));
  parts.low = select(vec4<u32>(), half_bits(rest), is_finite);
  parts.finite = select(vec4<u32>(), parts.high, is_finite);
  return parts;
}
#end

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
#include "item_of_two.wgsl"
  let row = item / matrix.vectors;
  let column = item % matrix.vectors * 8u;
  let base = row * matrix.ld + column;
  let columns = select(0u, matrix.columns, row < matrix.rows);
  var x0 = vec4<f32>();
  var x1 = vec4<f32>();
  if (in_a) {
#for e in 0..8
    if (column + ${e}u < columns) { x${e / 4}[${e % 4}] = a[base + ${e}u]; }
#end
  } else {
#for e in 0..8
    if (column + ${e}u < columns) { x${e / 4}[${e % 4}] = b[base + ${e}u]; }
#end
  }
  let to = matrix.start + row * matrix.apart + item % matrix.vectors;
#if TERMS == 1
  packed[to] = joined(half_bits(x0), half_bits(x1));
#else
  var sizes0 = vec4<u32>();
  var sizes1 = vec4<u32>();
  if (matrix.by_columns != 0u) {
#for e in 0..8
    if (column + ${e}u < columns) { sizes${e / 4}[${e % 4}] = largest[matrix.first + column + ${e}u]; }
#end
  } else {
    sizes0 = vec4<u32>(largest[matrix.first + min(row, matrix.rows - 1u)]);
    sizes1 = sizes0;
  }
  let parts0 = split(x0, lift_of(sizes0));
  let parts1 = split(x1, lift_of(sizes1));
  let low = joined(parts0.low, parts1.low);
  let finite = joined(parts0.finite, parts1.finite);
  packed[to] = select(finite, low, in_a);
  packed[to + matrix.term] = select(low, finite, in_a);
  packed[to + 2u * matrix.term] = joined(parts0.high, parts1.high);
#end
}
