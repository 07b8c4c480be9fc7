// C = activation(alpha * (sum of the products of all pieces of k) + bias) + beta * C, one element a
// work-item. With GATED columns i and i + gap of the products belong together: C has
// activation(first) * second.
// 0 products, tight m x n matrices: the pieces of the first batch, of the second, ...; 1 c; 2 bias.
// Variables: GROUP, T (of C), GATED, ACTIVATION.
//! T: f32 f16
//! GATED: 0 1
//! GROUP: 256
//! ACTIVATION: constant none relu relu6 leaky_relu hardswish sigmoid tanh silu gelu gelu_tanh
#include "floats.wgsl"
#include "activation.wgsl"
struct Params {
  batches: u32, m: u32, n: u32, gap: u32, ldc: u32, stride_c: u32, pieces: u32,
  alpha: f32, beta: f32, is_biased: u32,
  slope: f32, zero: u32,  // of activation.wgsl
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> products: array<f32>;
@group(0) @binding(1) var<storage, read_write> c: array<${T}>;
@group(0) @binding(2) var<storage, read> bias: array<${T}>;
#include "beta.wgsl"
#include "range.wgsl"

fn sum_at(base: u32, column: u32) -> f32 {
  let size = params.m * params.n;
  var sum = 0.0;
  var piece = 0u;
  for (; piece + 3u < params.pieces; piece += 4u) {
#for e in 0..4
    let x${e} = products[base + (piece + ${e}u) * size];
#end
    sum += (x0 + x1) + (x2 + x3);
  }
  for (; piece < params.pieces; piece++) { sum += products[base + piece * size]; }
  sum *= params.alpha;
  if (params.is_biased != 0u) { sum += f32(bias[column]); }
  return sum;
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
  let columns = params.n - params.gap;
  let batch = item / (params.m * columns);
  if (batch >= params.batches) { return; }
  let row = item / columns % params.m;
  let column = item % columns;
  let base = (batch * params.pieces * params.m + row) * params.n + column;
  let at = batch * params.stride_c + row * params.ldc + column;
  var result = activated_one(sum_at(base, column));
#if GATED
  result *= sum_at(base + params.gap, column + params.gap);
#end
  if (adds_c()) { result += params.beta * f32(c[at]); }
  c[at] = ${T}(result);
}
