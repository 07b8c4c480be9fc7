// States of a recurrent layer behind its steps, as they are stored.
// 0 hidden states, 1 cell states, 2 and 3 what they become.
// Variables: GROUP, T (f32, f16 or f64).
//! T: f32 f16 f64
//! GROUP: 256
#let SUM = "f32"
#if T == "f16"
enable f16;
#elif T == "f64"
#let SUM = "f64"
#end
#include "range.wgsl"
struct Params { hidden: u32, cell: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> hidden: array<${SUM}>;
@group(0) @binding(1) var<storage, read> cell: array<${SUM}>;
@group(0) @binding(2) var<storage, read_write> final_hidden: array<${T}>;
@group(0) @binding(3) var<storage, read_write> final_cell: array<${T}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let i = item_index(group, groups, local);
  if (i < params.hidden) { final_hidden[i] = ${T}(hidden[i]); }
  if (i < params.cell) { final_cell[i] = ${T}(cell[i]); }
}
