// The lengths of vectors: a workgroup for each of them.
// 0 x, 1 lengths.
// Variables: GROUP.
//! GROUP: 64 256

struct Params { count: u32, length: u32, width: u32, first: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> lengths: array<f32>;
var<workgroup> partial: array<f32, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let vector = (params.first + group.y) * params.count + group.x;
  var sum = 0.0;
  for (var e = local; e < params.length; e += ${GROUP}u) {
    let value = x[vector * params.width + e];
    sum = fma(value, value, sum);
  }
  partial[local] = sum;
  workgroupBarrier();
  if (local != 0u) { return; }
  sum = 0.0;
  for (var i = 0u; i < ${GROUP}u; i++) { sum += partial[i]; }
  // Squares of less are lost in part.
  lengths[vector] = select(0.0, sqrt(sum), sum > 1e-30);
}
