// Copies `count` vec4 between two buffers, four a work-item.
// 0 source, 1 target, both from a vec4 on.
// Variables: GROUP.
#include "range.wgsl"

struct Params { target_start: u32, source_start: u32, count: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> target_fours: array<vec4<u32>>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let first = item_index(group, groups, 0u) * 4u + local;
  if (first + ${3 * GROUP}u < params.count) {
#for i in 0..4
    let four${i} = source[params.source_start + first + ${i * GROUP}u];
#end
#for i in 0..4
    target_fours[params.target_start + first + ${i * GROUP}u] = four${i};
#end
  } else {
    for (var at = first; at < params.count; at += ${GROUP}u) {
      target_fours[params.target_start + at] = source[params.source_start + at];
    }
  }
}
