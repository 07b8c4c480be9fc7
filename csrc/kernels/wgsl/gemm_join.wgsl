// C = alpha * (sum of the products of all pieces of k) + beta * C, one element a work-item.
// 0 products, tight m x n matrices: the pieces of the first batch, of the second, ...; 1 c.
// Variables: GROUP, TC (f32 or f16).
//! TC: f32 f16
//! GROUP: 256
//! ignored: T
#if TC == "f16"
enable f16;
#end
struct Params {
  batches: u32, m: u32, n: u32, ldc: u32, stride_c: u32, pieces: u32, alpha: f32, beta: f32,
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> products: array<f32>;
@group(0) @binding(1) var<storage, read_write> c: array<${TC}>;
#include "beta.wgsl"
#include "range.wgsl"

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
  let size = params.m * params.n;
  let batch = item / size;
  if (batch >= params.batches) { return; }
  let inside = item % size;
  let base = batch * params.pieces * size + inside;
  var sum = 0.0;
  var piece = 0u;
  for (; piece + 3u < params.pieces; piece += 4u) {
#for e in 0..4
    let x${e} = products[base + (piece + ${e}u) * size];
#end
    sum += (x0 + x1) + (x2 + x3);
  }
  for (; piece < params.pieces; piece++) { sum += products[base + piece * size]; }
  let at = batch * params.stride_c + inside / params.n * params.ldc + inside % params.n;
  var result = params.alpha * sum;
  if (adds_c()) { result += params.beta * f32(c[at]); }
  c[at] = ${TC}(result);
}
