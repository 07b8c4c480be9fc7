// winners[row] = 1 + the last i with indices[i] == row; the buffer starts as zeros.
// 0 indices, 1 winners.
// Variables: GROUP.
//! GROUP: 256
//! ignored: T
#include "range.wgsl"

struct Params { count: u32, rows: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> indices: array<u32>;
@group(0) @binding(1) var<storage, read_write> winners: array<atomic<u32>>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let i = item_index(group, groups, local);
  if (i >= params.count) { return; }
  let row = indices[i];
  if (row < params.rows) { atomicMax(&winners[row], i + 1u); }
}
