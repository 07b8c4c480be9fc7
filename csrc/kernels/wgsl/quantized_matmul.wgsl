// y[v, row] = x[v, :] . weights[row, :] for few v: LANES work-items take the groups of ROWS rows in
// turn, four a group, and multiply each by VECTORS rows of x. Neighbours read neighbouring words.
// Bindings: the planes of quantized_planes.wgsl, then x, whose rows are whole vec4, and y.
// Variables: GROUP, LANES (a power of two from 4 up to GROUP), T, FORMAT, VECTORS (1, 2 or 4), ROWS, TWICE (1:
// two groups at a time). What is compiled for Intel's GPUs has less of both, since registers spill.
//! T: f32 f16
//! FORMAT: q8_0 q4_0 q4_1 q5_0 q5_1 q2_k q3_k q4_k q5_k q6_k mxfp4
//! VECTORS: 1 2
//! LANES: constant
//! ROWS: 1 2
//! TWICE: as 0
//! only: VECTORS + ROWS == 3
//! GROUP: 128
#include "floats.wgsl"
#include "quantized_planes.wgsl"

struct Params { m: u32, n: u32, groups: u32, x_stride: u32, y_stride: u32 }
var<immediate> params: Params;
@group(0) @binding(${NEXT}) var<storage, read> x: array<${VEC}>;
@group(0) @binding(${NEXT + 1}) var<storage, read_write> y: array<${T}>;
var<workgroup> partial: array<f32, ${GROUP * ROWS * VECTORS}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let lane = local % ${LANES}u;
  let blocks = (params.n + ${ROWS - 1}u) / ${ROWS}u;
  let block = (group.x + group.y * groups.x) * (${GROUP}u / ${LANES}u) + local / ${LANES}u;
  let row = block % blocks * ${ROWS}u;
  let first = block / blocks * ${VECTORS}u;
  let count = select(0u, params.groups, first < params.m);
#for r in 0..ROWS
  let row${r} = min(row + ${r}u, params.n - 1u) * params.groups;
#end
#for v in 0..VECTORS
  let x${v} = min(first + ${v}u, params.m - 1u) * params.x_stride;
#for r in 0..ROWS
  var total${r}_${v} = 0.0;
#end
#end
  let quarter = lane % 4u;
  let step = ${LANES}u / 4u;
  var g = lane / 4u;
#if TWICE
  for (; g + step < count; g += 2u * step) {
#let TURNS = 2
#include "quantized_step.wgsl"
  }
#end
  for (; g < count; g += step) {
#let TURNS = 1
#include "quantized_step.wgsl"
  }
#for r in 0..ROWS
#for v in 0..VECTORS
  partial[local + ${(r * VECTORS + v) * GROUP}u] = total${r}_${v};
#end
#end
  workgroupBarrier();
  // Of each sum eight parts, then all of them.
  let team = local - lane;
  for (var part = lane; part < ${8 * ROWS * VECTORS}u; part += ${LANES}u) {
    let start = part / 8u * ${GROUP}u + team + part % 8u;
    var total = partial[start];
    for (var i = 8u; i < ${LANES}u; i += 8u) { total += partial[start + i]; }
    partial[start] = total;
  }
  workgroupBarrier();
  if (lane < ${ROWS * VECTORS}u) {
    let r = lane / ${VECTORS}u;
    let v = lane % ${VECTORS}u;
    if (row + r < params.n && first + v < params.m) {
      var total = 0.0;
      for (var i = 0u; i < 8u; i += 1u) { total += partial[lane * ${GROUP}u + team + i]; }
      y[(first + v) * params.y_stride + row + r] = ${T}(total);
    }
  }
}
