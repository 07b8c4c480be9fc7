// y[row] = x . weights[row, :] of one vector: a work-item takes units of k of OWN rows, 16 bytes of
// their words at a time. Of 32 neighbours ROW_LANES are at rows side by side with the same unit, so
// that few parts of x are read at once, and the others at units side by side.
// Bindings: the planes of quantized_planes.wgsl, then x, of whole vec4, and y.
// Variables: GROUP, T, FORMAT, ROW_LANES (a power of two up to 4), OWN, TWICE (1: two units at a
// time). What is compiled for Intel's GPUs has less of these, since registers spill.
//! T: f32 f16
//! FORMAT: q8_0 q4_0 q4_1 q5_0 q5_1 q2_k q3_k q4_k q5_k q6_k mxfp4
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
#let PER = ROW_LANES * OWN

struct Params { n: u32, groups: u32 }
var<immediate> params: Params;
@group(0) @binding(${NEXT}) var<storage, read> x: array<${VEC}>;
@group(0) @binding(${NEXT + 1}) var<storage, read_write> y: array<${T}>;
var<workgroup> partial: array<f32, ${GROUP * OWN}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let top = (group.x + group.y * groups.x) * ${PER}u;
  if (top >= params.n) { return; }
  let line = local / ${NEAR}u % ${ROW_LANES}u;
  let lane = local % ${NEAR}u + local / 32u * ${NEAR}u;
  let count = params.groups * ${PARTS}u;
#for r in 0..OWN
  let row${r} = min(top + line + ${r * ROW_LANES}u, params.n - 1u) * count;
  var total${r} = 0.0;
#end
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
  workgroupBarrier();
  // Of each sum eight parts, then all of them.
  for (var i = local; i < ${PER * 8}u; i += ${GROUP}u) {
    let start = i / 8u * ${SIDE}u + i % 8u;
    var total = partial[start];
    for (var l = 8u; l < ${SIDE}u; l += 8u) { total += partial[start + l]; }
    partial[start] = total;
  }
  workgroupBarrier();
  if (local < ${PER}u && top + local < params.n) {
    var total = 0.0;
    for (var l = 0u; l < 8u; l += 1u) { total += partial[local * ${SIDE}u + l]; }
    y[top + local] = ${T}(total);
  }
}
