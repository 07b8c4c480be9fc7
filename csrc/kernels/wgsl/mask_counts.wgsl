// counts[block] = how many of 4096 bools of a mask are true; of a mask of one block they are the sums
// up to there, 0 and all. A workgroup has a block, a work-item BLOCK / GROUP words of four.
// 0 mask, 1 counts.
// Variables: GROUP.
//! GROUP: 256
#include "truths.wgsl"

struct Params { n: u32, blocks: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> mask: array<u32>;
@group(0) @binding(1) var<storage, read_write> counts: array<u32>;
// Of 16 work-items side by side, with a word between these, against conflicts of banks.
var<workgroup> partial: array<u32, ${GROUP + GROUP / 16}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let block = group.x + group.y * groups.x;
  var count = 0u;
#for r in 0..4
  count += countOneBits(truths(block * 1024u + ${r * GROUP}u + local));
#end
  partial[local + local / 16u] = count;
  workgroupBarrier();
  var all = 0u;
  if (local < ${GROUP / 16}u) {
#for i in 0..16
    all += partial[local * 17u + ${i}u];
#end
    partial[local * 17u] = all;
  }
  workgroupBarrier();
  if (local == 0u && block < params.blocks) {
#for i in 1..GROUP / 16
    all += partial[${i * 17}];
#end
    let is_only = params.blocks == 1u;
    if (is_only) { counts[0] = 0u; }
    counts[select(block, 1u, is_only)] = all;
  }
}
