// Singular values in descending order, and their vectors with them: those of the longer side are
// made as long as 1, those of the shorter one are the rotations, of complex ones
// the conjugates. A workgroup for each value.
// 0 lengths, 1 scales, 2 values; VECTORS: 3 x, 4 u, 5 vh.
// Variables: GROUP, VECTORS, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! VECTORS: 0 1
//! GROUP: 64
#include "numbers.wgsl"
#include "scaling.wgsl"

struct Params {
  count: u32, length: u32, u_columns: u32, of_u: u32, of_vh: u32, n: u32, is_wide: u32, first: u32,
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> lengths: array<${T}>;
@group(0) @binding(1) var<storage, read> scales: array<${T}>;
@group(0) @binding(2) var<storage, read_write> values: array<${T}>;
#if VECTORS
@group(0) @binding(3) var<storage, read> x: array<${NUMBER}>;
@group(0) @binding(4) var<storage, read_write> u: array<${NUMBER}>;
@group(0) @binding(5) var<storage, read_write> vh: array<${NUMBER}>;
#end
var<workgroup> counts: array<u32, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.y;
  let count = params.count;
  let own = group.x;
  let value = lengths[matrix * count + own];
  var before = 0u;
  for (var i = local; i < count; i += ${GROUP}u) {
    let other = lengths[matrix * count + i];
    if (other > value || (other == value && i < own)) { before += 1u; }
  }
  counts[local] = before;
  workgroupBarrier();
  var place = 0u;
  for (var i = 0u; i < ${GROUP}u; i++) { place += counts[i]; }
  if (local == 0u) { values[matrix * count + place] = unscaled(value, scales[2u * matrix + 1u]); }
#if VECTORS
  let base = (matrix * count + own) * (params.length + count);
  let column = matrix * params.of_u + place;
  let row = matrix * params.of_vh + place * params.n;
  let divisor = select(value, ${T}(1), value == ${T}(0));
  for (var e = local; e < params.length; e += ${GROUP}u) {
    var element = x[base + e] / divisor;
    if (value == ${T}(0)) { element = ${NUMBER}(); }
    if (params.is_wide == 1u) {
      vh[row + e] = element;
    } else {
      u[column + e * params.u_columns] = element;
    }
  }
  for (var e = local; e < count; e += ${GROUP}u) {
    let element = conjugate(x[base + params.length + e]);
    if (params.is_wide == 1u) {
      u[column + e * params.u_columns] = element;
    } else {
      vh[row + e] = element;
    }
  }
#end
}
