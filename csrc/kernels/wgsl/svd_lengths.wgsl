// The lengths of vectors: a workgroup for each of them.
// 0 x, 1 lengths.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 64 256
#include "numbers.wgsl"
#include "svd_bounds.wgsl"

struct Params { count: u32, length: u32, width: u32, first: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read_write> lengths: array<${T}>;
var<workgroup> partial: array<${T}, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let vector = (params.first + group.y) * params.count + group.x;
  var sum = ${T}(0);
  for (var e = local; e < params.length; e += ${GROUP}u) {
    sum = plus_square(sum, x[vector * params.width + e]);
  }
  partial[local] = sum;
  workgroupBarrier();
  if (local != 0u) { return; }
  sum = ${T}(0);
  for (var i = 0u; i < ${GROUP}u; i++) { sum += partial[i]; }
  // Squares of less are lost in part.
  lengths[vector] = select(${T}(0), sqrt(sum), sum > ${LOST});
}
