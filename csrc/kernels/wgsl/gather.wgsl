// output[i] = table[indices[i]] by rows, one element a work-item; NaN for an index outside the
// table.
// 0 table, 1 indices, 2 output.
// Variables: GROUP, T, VECTOR (1: rows are whole vec4; these are the elements, also in params), WINDOW
// (1: params.rows rows of the table from params.first on are bound, and those of others stay).
//! T: f32 f16
//! VECTOR: 0 1
//! WINDOW: constant
//! GROUP: 256
#include "items.wgsl"
#include "range.wgsl"

struct Params { n: u32, row_size: u32, table_rows: u32, not_a_number: u32, first: u32, rows: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> table: array<${ITEM}>;
@group(0) @binding(1) var<storage, read> indices: array<u32>;
@group(0) @binding(2) var<storage, read_write> output: array<${ITEM}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let i = item_index(group, groups, local);
  if (i >= params.n) { return; }
  // A negative index is a large one here.
  let row = indices[i / params.row_size];
  if (row < params.table_rows) {
#if WINDOW
    let near = row - params.first;
    if (near >= params.rows) { return; }
    output[i] = table[near * params.row_size + i % params.row_size];
#else
    output[i] = table[row * params.row_size + i % params.row_size];
#end
  } else {
    output[i] = ${ITEM}(${T}(bitcast<f32>(params.not_a_number)));
  }
}
