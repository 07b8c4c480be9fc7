// One triangle of square matrices to either side of the diagonal, zeros on the other: two elements
// that the diagonal mirrors a work-item, so that both may be one
// matrix. Complex ones that change sides become their conjugates.
// 0 source, 1 target; in place 0 target.
// Variables: GROUP, IN_PLACE, T, COMPLEX.
//! IN_PLACE: 0 1
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
#include "range.wgsl"
#include "numbers.wgsl"

struct Params { n: u32, elements: u32, from_upper: u32, to_upper: u32 }
var<immediate> params: Params;
#if IN_PLACE
@group(0) @binding(0) var<storage, read_write> target_matrix: array<${NUMBER}>;
#let SOURCE = "target_matrix"
#else
@group(0) @binding(0) var<storage, read> source: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read_write> target_matrix: array<${NUMBER}>;
#let SOURCE = "source"
#end

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
  if (item >= params.elements) { return; }
  let row = item / params.n;
  let j = item % params.n;
  let i = row % params.n;
  if (j > i) { return; }
  let below = item;
  let above = (row - i + j) * params.n + i;
  var value = ${SOURCE}[select(below, above, params.from_upper == 1u)];
#if COMPLEX
  if (params.from_upper != params.to_upper) { value = conjugate(value); }
#end
  if (i != j) { target_matrix[select(above, below, params.to_upper == 1u)] = ${NUMBER}(); }
  target_matrix[select(below, above, params.to_upper == 1u)] = value;
}
