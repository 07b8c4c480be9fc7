// States of a recurrent layer before its steps, as what they are computed in; 0 where none are given.
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
struct Params { hidden: u32, cell: u32, has_hidden: u32, has_cell: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> given_hidden: array<${T}>;
@group(0) @binding(1) var<storage, read> given_cell: array<${T}>;
@group(0) @binding(2) var<storage, read_write> hidden: array<${SUM}>;
@group(0) @binding(3) var<storage, read_write> cell: array<${SUM}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let i = item_index(group, groups, local);
#for state in 0..2
#if state == 0
#let NAME = "hidden"
#else
#let NAME = "cell"
#end
  if (i < params.${NAME}) {
    var start = ${SUM}(0);
    if (params.has_${NAME} != 0u) { start = ${SUM}(given_${NAME}[i]); }
    ${NAME}[i] = start;
  }
#end
}
