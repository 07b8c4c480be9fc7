// steps[p] = the step of the index at p, added to what is there but with FIRST, for each p of a
// shape of RANK dimensions, the innermost first. One a work-item. What an index outside makes of a
// step is 0xffffffff, and stays so.
// 0 indices, 1 steps, 2 faults.
// Variables: GROUP, FIRST, RANK, INDEX, SIGNED (index.wgsl).
//! FIRST: constant
//! RANK: constant
//! INDEX: constant
//! SIGNED: constant
//! GROUP: 256
#include "range.wgsl"

struct Params {
  n: u32, index_start: u32, size: u32, step: u32, back: u32, axis: u32, name: u32,
#for d in 0..6
  shape${d}: u32, index${d}: u32,
#end
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> indices: array<u32>;
@group(0) @binding(1) var<storage, read_write> steps: array<u32>;
@group(0) @binding(2) var<storage, read_write> faults: array<atomic<u32>>;
#let PAIR = 0
#include "index.wgsl"

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let i = item_index(group, groups, local);
  if (i >= params.n) { return; }
  var rest = i;
  var at = params.index_start;
#for d in 0..6
#if d < RANK
  {
    let place = select(rest % params.shape${d}, rest, ${d + 1}u == ${RANK}u);
    rest = rest / params.shape${d};
    at += place * params.index${d};
  }
#end
#end
  let step = step_at(at);
#if FIRST
  steps[i] = step;
#else
  if (step == 0xffffffffu) {
    steps[i] = step;
  } else if (steps[i] != 0xffffffffu) {
    steps[i] += step;
  }
#end
}
