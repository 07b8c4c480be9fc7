// Puts eigenvalues in ascending order, and their vectors with them: a workgroup for each of them.
// 0 a, 1 scales, 2 values; VECTORS: 3 v, 4 vectors.
// Variables: GROUP, VECTORS, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! VECTORS: 0 1
//! GROUP: 64
#include "numbers.wgsl"
#include "scaling.wgsl"

struct Params { n: u32, first: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> a: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read> scales: array<${T}>;
@group(0) @binding(2) var<storage, read_write> values: array<${T}>;
#if VECTORS
@group(0) @binding(3) var<storage, read> v: array<${NUMBER}>;
@group(0) @binding(4) var<storage, read_write> vectors: array<${NUMBER}>;
#end
var<workgroup> counts: array<u32, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.y;
  let n = params.n;
  let base = matrix * n * n;
  let own = group.x;
  let value = real_of(a[base + own * (n + 1u)]);
  var before = 0u;
  for (var i = local; i < n; i += ${GROUP}u) {
    let other = real_of(a[base + i * (n + 1u)]);
    if (other < value || (other == value && i < own)) { before += 1u; }
  }
  counts[local] = before;
  workgroupBarrier();
  var place = 0u;
  for (var i = 0u; i < ${GROUP}u; i++) { place += counts[i]; }
  if (local == 0u) { values[matrix * n + place] = unscaled(value, scales[2u * matrix + 1u]); }
#if VECTORS
  for (var row = local; row < n; row += ${GROUP}u) {
    vectors[base + row * n + place] = v[base + row * n + own];
  }
#end
}
