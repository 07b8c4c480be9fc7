// Symmetric matrices of one triangle, and the unit matrices that their eigenvectors start from.
// 0 source, 1 a; VECTORS: 2 v.
// Variables: GROUP, VECTORS.
//! VECTORS: 0 1
//! GROUP: 256
#include "range.wgsl"

struct Params { n: u32, elements: u32, upper: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> source: array<f32>;
@group(0) @binding(1) var<storage, read_write> a: array<f32>;
#if VECTORS
@group(0) @binding(2) var<storage, read_write> v: array<f32>;
#end

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
  if (item >= params.elements) { return; }
  let row = item / params.n;
  let j = item % params.n;
  let i = row % params.n;
  let is_read = (params.upper == 1u && i <= j) || (params.upper == 0u && j <= i);
  a[item] = source[select((row - i + j) * params.n + i, item, is_read)];
#if VECTORS
  v[item] = select(0.0, 1.0, i == j);
#end
}
