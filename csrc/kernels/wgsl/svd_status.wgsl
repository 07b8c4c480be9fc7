// Whether the vectors of matrices are orthogonal by now: the status becomes 1 where they were not
// at the sweep before, and before the first. And the squares of lengths that are rounding of the
// longest, whose vectors need not be orthogonal, since new ones are made of them. A workgroup for
// each matrix.
// 0 cosines, 1 lengths, 2 status, 3 limits.
// Variables: GROUP, T.
//! T: f32 f64
//! GROUP: 64
#let COMPLEX = 0
#include "numbers.wgsl"
#include "svd_bounds.wgsl"

struct Params { pairs: u32, count: u32, length: u32, batch: u32, begins: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> cosines: array<${T}>;
@group(0) @binding(1) var<storage, read> lengths: array<${T}>;
@group(0) @binding(2) var<storage, read_write> status: array<i32>;
@group(0) @binding(3) var<storage, read_write> limits: array<${T}>;
var<workgroup> largest: array<${T}, ${GROUP}>;
var<workgroup> longest: array<${T}, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = group.x + group.y * groups.x;
  if (matrix >= params.batch) { return; }
  var cosine = ${T}(0);
  var length = ${T}(0);
  if (params.begins == 0u) {
    for (var i = local; i < params.pairs; i += ${GROUP}u) {
      cosine = max(cosine, cosines[matrix * params.pairs + i]);
    }
  }
  for (var i = local; i < params.count; i += ${GROUP}u) {
    length = max(length, lengths[matrix * params.count + i]);
  }
  largest[local] = cosine;
  longest[local] = length;
  workgroupBarrier();
  if (local != 0u || status[matrix] < 0) { return; }
  for (var i = 0u; i < ${GROUP}u; i++) {
    cosine = max(cosine, largest[i]);
    length = max(length, longest[i]);
  }
  let rounding = ${ROUNDING} * length;
  limits[matrix] = max(${LOST}, rounding * rounding);
  status[matrix] = select(0, 1, params.begins == 1u || cosine > orthogonal(params.length));
}
