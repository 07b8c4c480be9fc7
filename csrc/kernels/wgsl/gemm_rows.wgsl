// C = activation(alpha * A * B^T + bias) + beta * C where A has at most FEW rows, or the same with A
// and B exchanged: each row of the larger operand is read once, 16 bytes a work-item at a time, and
// used FEW times. LANES work-items walk ROWS rows along k.
// With GATED rows i and i + gap of the larger operand belong together: of their sums
// activation(first) * second is written.
// With NORM the rows of the few are normed: times a weight as they are read, with WEIGHTED, and their
// sums over the root of what their squares come to.
// 0 the operand of the few, 1 the other, 2 c, 3 bias, with NORM 4 the weight.
// Variables: GROUP, LANES (a power of two from 8 up to GROUP), FEW (1, 2 or 4), ROWS (2 or 4), T,
// GATED, NORM, WEIGHTED, ACTIVATION, LEAN (1: sums are single numbers, for the registers of Intel's
// GPUs, which spill where 4 rows are normed).
//! T: f32 f16
//! FEW: 1 2 4
//! GATED: 0 1
//! NORM: 0 1
//! WEIGHTED: constant
//! only: NORM == 0 or FEW < 4
//! ROWS: as 2
//! LEAN: as 1
//! LANES: constant
//! GROUP: 256
//! ACTIVATION: constant none relu relu6 leaky_relu hardswish sigmoid tanh silu gelu gelu_tanh
#include "floats.wgsl"
#include "activation.wgsl"
#include "beta.wgsl"
#if T == "f16"
#let ITEM = "vec4<u32>"
#let WIDTH = 8
#else
#let ITEM = "vec4<f32>"
#let WIDTH = 4
#end
struct Params {
  few: u32, many: u32, gap: u32, k: u32, few_ld: u32, many_ld: u32, c_few: u32, c_many: u32,
  stride_few: u32, stride_many: u32, stride_c: u32, first: u32,
  alpha: f32, beta: f32, biased: u32, slope: f32, zero: u32,
  eps: f32,
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> few: array<${ITEM}>;
@group(0) @binding(1) var<storage, read> many: array<${ITEM}>;
@group(0) @binding(2) var<storage, read_write> c: array<${T}>;
@group(0) @binding(3) var<storage, read> bias: array<${T}>;
#if NORM
@group(0) @binding(4) var<storage, read> norm: array<${ITEM}>;
#end

#if T == "f16"
#let PARTS = 2
fn part0(x: vec4<u32>) -> vec4<f32> {
  return vec4<f32>(unpack2x16float(x.x), unpack2x16float(x.y));
}
fn part1(x: vec4<u32>) -> vec4<f32> {
  return vec4<f32>(unpack2x16float(x.z), unpack2x16float(x.w));
}
#else
#let PARTS = 1
fn part0(x: vec4<f32>) -> vec4<f32> { return x; }
#end
#let SUMS = FEW * ROWS
#let HELD = SUMS + NORM * FEW
#let TURNS = 4
#if FEW == 4
#let TURNS = 2
#end
#if LEAN
#let TURNS = 1
#let SUM = "f32"
fn plus(x: vec4<f32>, y: vec4<f32>, sum: f32) -> f32 { return dot(x, y) + sum; }
fn across(sum: f32) -> f32 { return sum; }
#else
#let SUM = "vec4<f32>"
fn plus(x: vec4<f32>, y: vec4<f32>, sum: vec4<f32>) -> vec4<f32> { return fma(x, y, sum); }
fn across(sum: vec4<f32>) -> f32 { return (sum.x + sum.y) + (sum.z + sum.w); }
#end
var<workgroup> partial: array<f32, ${HELD * GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let block = group.x + group.z * groups.x;
  let batch = params.first + group.y;
  let lane = local % ${LANES}u;
  let walker = local / ${LANES}u;
#if GATED
#let RESULTS = ROWS / 2
#else
#let RESULTS = ROWS
#end
  let at = (block * ${GROUP / LANES}u + walker) * ${RESULTS}u;
#for r in 0..RESULTS
  let row${r} = (batch * params.stride_many + min(at + ${r}u, params.many - 1u) * params.many_ld) /
                ${WIDTH}u;
#if GATED
  let row${r + RESULTS} = row${r} + params.gap * params.many_ld / ${WIDTH}u;
#end
#end
#for f in 0..FEW
  let few${f} = (batch * params.stride_few + min(${f}u, params.few - 1u) * params.few_ld) /
                ${WIDTH}u;
#for r in 0..ROWS
  var sum${f}_${r} = ${SUM}();
#end
#if NORM
  var squares${f} = ${SUM}();
#end
#end
  let steps = params.k / ${WIDTH}u;
  var i = lane;
  for (; i + ${(TURNS - 1) * LANES}u < steps; i += ${TURNS * LANES}u) {
#include "gemm_rows_step.wgsl"
  }
#if TURNS > 1
  for (; i < steps; i += ${LANES}u) {
#let TURNS = 1
#include "gemm_rows_step.wgsl"
  }
#end
#for f in 0..FEW
#for r in 0..ROWS
  partial[local + ${(f * ROWS + r) * GROUP}u] = across(sum${f}_${r});
#end
#if NORM
  partial[local + ${(SUMS + f) * GROUP}u] = across(squares${f});
#end
#end
  for (var width = ${LANES / 2}u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (lane < width) {
#for s in 0..HELD
      partial[local + ${s * GROUP}u] += partial[local + width + ${s * GROUP}u];
#end
    }
  }
  workgroupBarrier();
  let f = lane / ${RESULTS}u;
  let r = lane % ${RESULTS}u;
  if (f >= min(params.few, ${FEW}u) || at + r >= params.many) { return; }
  let held = local - lane + (f * ${ROWS}u + r) * ${GROUP}u;
  let place = batch * params.stride_c + f * params.c_few + (at + r) * params.c_many;
#if NORM
  let mean_square = partial[local - lane + (${SUMS}u + f) * ${GROUP}u] / f32(params.k);
  let scale = params.alpha * (1.0 / sqrt(mean_square + params.eps));
#else
  let scale = params.alpha;
#end
  var result = scale * partial[held];
  if (params.biased != 0u) { result += f32(bias[at + r]); }
  result = activated_one(result);
#if GATED
  var other = scale * partial[held + ${RESULTS * GROUP}u];
  if (params.biased != 0u) { other += f32(bias[at + r + params.gap]); }
  result *= other;
#end
  if (adds_c()) { result += params.beta * f32(c[place]); }
  c[place] = ${T}(result);
}
