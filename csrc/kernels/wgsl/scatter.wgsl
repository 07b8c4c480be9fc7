// output[row] = source[winners[row] - 1] for rows that have a winner, one element a work-item.
// 0 source, 1 winners, 2 output.
// Variables: GROUP, T, VECTOR (1: rows are whole vec4; these are the elements, also in params).
//! T: f32 f16
//! VECTOR: 0 1
//! GROUP: 256
#include "items.wgsl"
#include "range.wgsl"

struct Params { n: u32, row_size: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> source: array<${ITEM}>;
@group(0) @binding(1) var<storage, read> winners: array<u32>;
@group(0) @binding(2) var<storage, read_write> output: array<${ITEM}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let i = item_index(group, groups, local);
  if (i >= params.n) { return; }
  let winner = winners[i / params.row_size];
  if (winner != 0u) { output[i] = source[(winner - 1u) * params.row_size + i % params.row_size]; }
}
