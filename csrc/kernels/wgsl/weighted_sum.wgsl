// output[h, d] = sum over i of weights[h, i] * rows[h / share, i, d]: COLUMNS outputs a workgroup,
// each summed by GROUP / COLUMNS work-items, then by a tree.
// 0 weights, 1 rows, 2 output.
// Variables: GROUP, COLUMNS (powers of two), T.
//! T: f32 f16
//! GROUP: 256
//! COLUMNS: constant
#include "floats.wgsl"
struct Params { n: u32, count: u32, dim: u32, share: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> weights: array<${T}>;
@group(0) @binding(1) var<storage, read> rows: array<${T}>;
@group(0) @binding(2) var<storage, read_write> output: array<${T}>;
#let WALKERS = GROUP / COLUMNS
var<workgroup> partial: array<f32, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let walker = local / ${COLUMNS}u;
  let item = (group.x + group.y * groups.x) * ${COLUMNS}u + local % ${COLUMNS}u;
  let count = select(0u, params.count, item < params.n);
  let head = item / params.dim;
  let base = (head / params.share) * params.count * params.dim + item % params.dim;
  let base_w = head * params.count;
  var sums = vec4<f32>();
  var i = walker;
  for (; i + ${3 * WALKERS}u < count; i += ${4 * WALKERS}u) {
#for e in 0..4
    sums[${e}] = fma(f32(weights[base_w + i + ${e * WALKERS}u]),
                   f32(rows[base + (i + ${e * WALKERS}u) * params.dim]), sums[${e}]);
#end
  }
  for (; i < count; i += ${WALKERS}u) {
    sums.x = fma(f32(weights[base_w + i]), f32(rows[base + i * params.dim]), sums.x);
  }
  partial[local] = (sums.x + sums.y) + (sums.z + sums.w);
  for (var width = ${WALKERS / 2}u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (walker < width) { partial[local] += partial[local + width * ${COLUMNS}u]; }
  }
  if (walker == 0u && item < params.n) { output[item] = ${T}(partial[local]); }
}
