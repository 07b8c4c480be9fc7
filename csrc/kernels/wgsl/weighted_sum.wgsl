// output[h, d] = sum over i of weights[h, i] * rows[h / share, i, d]: COLUMNS outputs a workgroup,
// each summed by GROUP / COLUMNS work-items, then by a tree. Operands lie by strides, in elements.
// 0 weights, 1 rows, 2 output.
// Variables: GROUP, COLUMNS (powers of two), T.
//! T: f32 f16
//! GROUP: 256
//! COLUMNS: constant
#include "floats.wgsl"
struct Params {
  n: u32, count: u32, dim: u32, share: u32, weights_start: u32, weights_stride: u32,
  rows_start: u32, matrix_stride: u32, row_stride: u32, output_start: u32, output_stride: u32,
}
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
  let column = item % params.dim;
  let base = params.rows_start + head / params.share * params.matrix_stride + column;
  let base_w = params.weights_start + head * params.weights_stride;
  var sums = vec4<f32>();
  var i = walker;
  for (; i + ${3 * WALKERS}u < count; i += ${4 * WALKERS}u) {
#for e in 0..4
    sums[${e}] = fma(f32(weights[base_w + i + ${e * WALKERS}u]),
                   f32(rows[base + (i + ${e * WALKERS}u) * params.row_stride]), sums[${e}]);
#end
  }
  for (; i < count; i += ${WALKERS}u) {
    sums.x = fma(f32(weights[base_w + i]), f32(rows[base + i * params.row_stride]), sums.x);
  }
  partial[local] = (sums.x + sums.y) + (sums.z + sums.w);
  for (var width = ${WALKERS / 2}u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (walker < width) { partial[local] += partial[local + width * ${COLUMNS}u]; }
  }
  if (walker == 0u && item < params.n) {
    output[params.output_start + head * params.output_stride + column] = ${T}(partial[local]);
  }
}
