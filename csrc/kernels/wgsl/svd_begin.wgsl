// The vectors that are made orthogonal, the columns of a matrix or the rows where these are
// fewer, and behind each a row of the unit matrix, which the rotations are collected in.
// 0 source, 1 scales, 2 x.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
#include "range.wgsl"
#include "numbers.wgsl"
#include "scaling.wgsl"

struct Params { elements: u32, count: u32, length: u32, width: u32, is_wide: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> source: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read> scales: array<${T}>;
@group(0) @binding(2) var<storage, read_write> x: array<${NUMBER}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
  if (item >= params.elements) { return; }
  let vector = item / params.width;
  let e = item % params.width;
  let matrix = vector / params.count;
  let i = vector % params.count;
  if (e >= params.length) {
    x[item] = of_real(select(${T}(0), ${T}(1), e - params.length == i));
    return;
  }
  let base = matrix * params.count * params.length;
  let value = source[base + select(e * params.count + i, i * params.length + e,
                                   params.is_wide == 1u)];
  x[item] = scaled(value, scales[2u * matrix]);
}
