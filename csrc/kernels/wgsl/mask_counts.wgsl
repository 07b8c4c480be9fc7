// counts[block] = how many of 4096 bools of a mask are true. A workgroup has a block, a work-item
// BLOCK / GROUP words of four.
// 0 mask, 1 counts.
// Variables: GROUP.
//! GROUP: 256
#include "truths.wgsl"

struct Params { n: u32, blocks: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> mask: array<u32>;
@group(0) @binding(1) var<storage, read_write> counts: array<u32>;
var<workgroup> partial: array<u32, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let block = group.x + group.y * groups.x;
  var count = 0u;
#for r in 0..4
  count += countOneBits(truths(block * 1024u + ${r * GROUP}u + local));
#end
  partial[local] = count;
  workgroupBarrier();
  for (var width = ${GROUP / 2}u; width > 0u; width /= 2u) {
    if (local < width) { partial[local] += partial[local + width]; }
    workgroupBarrier();
  }
  if (local == 0u && block < params.blocks) { counts[block] = partial[0]; }
}
