// y[row] = x . weights[row, :] of one vector: a work-item takes units of k of OWN rows, 16 bytes of
// their words at a time. Of 32 neighbours ROW_LANES are at rows side by side with the same unit, so
// that few parts of x are read at once, and the others at units side by side.
// What becomes of the sums, with GATED those of rows n apart: quantized_end.wgsl.
// Bindings: the planes of quantized_planes.wgsl, then x, of whole vec4, y, bias and the norm's weight.
// Variables: GROUP, T, FORMAT, ROW_LANES (a power of two up to 4), OWN, TWICE (1: two units at a
// time); those of quantized_end.wgsl. What is compiled for Intel's GPUs has less of these, since
// registers spill, and no norm.
//! T: f32 f16
//! FORMAT: q8_0 q4_0 q4_1 q5_0 q5_1 q2_k q3_k q4_k q5_k q6_k mxfp4
//! GATED: 0 1
//! NORM: as 0
//! WEIGHTED: as 0
//! ACTIVATION: constant none relu relu6 leaky_relu hardswish sigmoid tanh silu gelu gelu_tanh
//! ROW_LANES: 4
//! OWN: 1
//! TWICE: 0
//! GROUP: 128
#include "floats.wgsl"
#let WHOLE = 1
#include "quantized_planes.wgsl"
// A unit is a group, or half of one of 8 bits.
#let PARTS = 1
#if LOW == 8
#let PARTS = 2
#end
#let SIDE = GROUP / ROW_LANES
#let NEAR = 32 / ROW_LANES
// Of x's squares, behind those of the rows.
#let LAST = ROW_LANES * OWN
#let PER = LAST / (1 + GATED)

struct Params {
  n: u32, groups: u32,
  eps: f32, is_biased: u32, adds: u32, slope: f32, zero: u32,  // of quantized_end.wgsl
}
var<immediate> params: Params;
@group(0) @binding(${NEXT}) var<storage, read> x: array<${VEC}>;
@group(0) @binding(${NEXT + 1}) var<storage, read_write> y: array<${T}>;
@group(0) @binding(${NEXT + 2}) var<storage, read> bias: array<${T}>;
@group(0) @binding(${NEXT + 3}) var<storage, read> norm: array<${VEC}>;
var<workgroup> partial: array<f32, ${GROUP * OWN + SIDE}>;
#include "quantized_end.wgsl"

/// Of a row's lanes.
fn sum_of(row: u32) -> f32 {
  var total = 0.0;
  for (var l = 0u; l < 8u; l += 1u) { total += partial[row * ${SIDE}u + l]; }
  return total;
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let top = (group.x + group.y * groups.x) * ${PER}u;
  if (top >= params.n) { return; }
  let line = local / ${NEAR}u % ${ROW_LANES}u;
  let lane = local % ${NEAR}u + local / 32u * ${NEAR}u;
  let count = params.groups * ${PARTS}u;
#for r in 0..OWN
#if GATED
  let line${r} = line + ${r * ROW_LANES}u;
  let row${r} = (min(top + line${r} % ${PER}u, params.n - 1u) + line${r} / ${PER}u * params.n) * count;
#else
  let row${r} = min(top + line + ${r * ROW_LANES}u, params.n - 1u) * count;
#end
  var total${r} = 0.0;
#end
  var squares = 0.0;
  var u = lane;
#if TWICE
  for (; u + ${SIDE}u < count; u += ${2 * SIDE}u) {
#let TURNS = 2
#include "quantized_step.wgsl"
  }
#end
  for (; u < count; u += ${SIDE}u) {
#let TURNS = 1
#include "quantized_step.wgsl"
  }
#for r in 0..OWN
  partial[line * ${SIDE}u + lane + ${r * GROUP}u] = total${r};
#end
  var rows = ${LAST}u;
#if NORM
  rows += 1u;
  if (line == 0u) { partial[lane + ${LAST * SIDE}u] = squares; }
#end
  workgroupBarrier();
  // Of each sum eight parts, then all of them.
  for (var i = local; i < rows * 8u; i += ${GROUP}u) {
    let start = i / 8u * ${SIDE}u + i % 8u;
    var total = partial[start];
    for (var l = 8u; l < ${SIDE}u; l += 8u) { total += partial[start + l]; }
    partial[start] = total;
  }
  workgroupBarrier();
  if (local < ${PER}u && top + local < params.n) {
    var scale = 1.0;
#if NORM
    scale = scale_of_norm(sum_of(${LAST}u), count * ${32 / PARTS}u);
#end
    var other = 0.0;
#if GATED
    other = sum_of(local + ${PER}u) * scale;
#end
    let row = top + local;
    y[row] = ${T}(ended(sum_of(local) * scale, other, row, row));
  }
}
