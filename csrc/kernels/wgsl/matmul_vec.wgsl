// out[h, row] = factor * matrix[h / share, row, :] . vector[h, :]: LANES work-items a row; h counts
// heads, `share` of them on one matrix.
// 0 matrix, 1 vector, 2 out.
// Variables: GROUP, LANES (a power of two up to GROUP), VECTOR (1: rows are whole vec4), STRIDED (1:
// rows lie by strides, in what is read at a time, those of the result in elements), T.
#include "items.wgsl"
struct Params {
  rows: u32, cols: u32, heads: u32, share: u32, factor: f32,
#if STRIDED
  matrix_start: u32, matrix_stride: u32, row_stride: u32, vector_start: u32, vector_stride: u32,
  result_start: u32, result_stride: u32,
#end
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> matrix: array<${ITEM}>;
@group(0) @binding(1) var<storage, read> vector: array<${ITEM}>;
@group(0) @binding(2) var<storage, read_write> result: array<${T}>;
var<workgroup> partial: array<f32, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let lane = local % ${LANES}u;
  let index = (group.x + group.y * groups.x) * ${GROUP / LANES}u + local / ${LANES}u;
  let head = index / params.rows;
  let inside = index < params.rows * params.heads;
  let cols = select(0u, params.cols / ${WIDTH}u, inside);
#if STRIDED
  let base = params.matrix_start + head / params.share * params.matrix_stride +
             index % params.rows * params.row_stride;
  let base_v = params.vector_start + head * params.vector_stride;
  let to = params.result_start + head * params.result_stride + index % params.rows;
#else
  let base = ((head / params.share) * params.rows + index % params.rows) * cols;
  let base_v = head * cols;
  let to = index;
#end
#for e in 0..4
  var sum${e} = ${WIDE}();
#end
  var i = lane;
  for (; i + ${3 * LANES}u < cols; i += ${4 * LANES}u) {
#for e in 0..4
    sum${e} = fma(${WIDE}(matrix[base + i + ${e * LANES}u]),
                ${WIDE}(vector[base_v + i + ${e * LANES}u]), sum${e});
#end
  }
  for (; i < cols; i += ${LANES}u) {
    sum0 = fma(${WIDE}(matrix[base + i]), ${WIDE}(vector[base_v + i]), sum0);
  }
  let sums = (sum0 + sum1) + (sum2 + sum3);
#if VECTOR
  partial[local] = (sums.x + sums.y) + (sums.z + sums.w);
#else
  partial[local] = sums;
#end
  for (var width = ${LANES / 2}u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (lane < width) { partial[local] += partial[local + width]; }
  }
  if (lane == 0u && inside) { result[to] = ${T}(partial[local] * params.factor); }
}
