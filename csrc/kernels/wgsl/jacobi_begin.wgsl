// Symmetric or Hermitian matrices of one triangle, scaled, and the unit matrices that their
// eigenvectors start from.
// 0 source, 1 scales, 2 a; VECTORS: 3 v.
// Variables: GROUP, VECTORS, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! VECTORS: 0 1
//! GROUP: 256
#include "range.wgsl"
#include "numbers.wgsl"
#include "scaling.wgsl"

struct Params { n: u32, elements: u32, upper: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> source: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read> scales: array<${T}>;
@group(0) @binding(2) var<storage, read_write> a: array<${NUMBER}>;
#if VECTORS
@group(0) @binding(3) var<storage, read_write> v: array<${NUMBER}>;
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
  let place = select((row - i + j) * params.n + i, item, is_read);
  var value = scaled(source[place], scales[2u * (row / params.n)]);
#if COMPLEX
  if (!is_read) { value = conjugate(value); }
  if (i == j) { value = of_real(real_of(value)); }
#end
  a[item] = value;
#if VECTORS
  v[item] = of_real(select(${T}(0), ${T}(1), i == j));
#end
}
