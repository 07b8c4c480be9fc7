// Rotates the pairs (i, i + half) of rows of head_dim = 2 half elements by the angles of a table
// row, one pair a work-item.
// Bindings in this order: x (left out where it is the output's buffer), cos, sin, output.
// Variables: GROUP, T, IN_PLACE.
//! T: f32 f16
//! IN_PLACE: 0 1
//! GROUP: 256
#include "floats.wgsl"
#include "range.wgsl"

struct Params { pairs: u32, half_dim: u32, seq: u32, position: u32 }
var<immediate> params: Params;
#if IN_PLACE
#let X = "output"
#let NEXT = 0
#else
@group(0) @binding(0) var<storage, read> x: array<${T}>;
#let X = "x"
#let NEXT = 1
#end
@group(0) @binding(${NEXT}) var<storage, read> cosines: array<${T}>;
@group(0) @binding(${NEXT + 1}) var<storage, read> sines: array<${T}>;
@group(0) @binding(${NEXT + 2}) var<storage, read_write> output: array<${T}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
  if (item >= params.pairs) { return; }
  let i = item % params.half_dim;
  let row = item / params.half_dim;
  let angle = (params.position + row % params.seq) * params.half_dim + i;
  let first = row * params.half_dim * 2u + i;
  let second = first + params.half_dim;
  let a = f32(${X}[first]);
  let b = f32(${X}[second]);
  let c = f32(cosines[angle]);
  let s = f32(sines[angle]);
  output[first] = ${T}(a * c - b * s);
  output[second] = ${T}(b * c + a * s);
}
