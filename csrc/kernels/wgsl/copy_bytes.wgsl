// Copies `bytes` bytes between any offsets, one target word a work-item. Both bindings may be
// ranges of one buffer, whose byte ranges do not overlap.
// 0 source, 1 target.
// Variables: GROUP.
//! GROUP: 256
#include "range.wgsl"

struct Params { target_offset: u32, source_offset: u32, bytes: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> target_words: array<u32>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let word = params.target_offset / 4u + item_index(group, groups, local);
  let end = params.target_offset + params.bytes;
  if (word * 4u >= end) { return; }
  // The bytes of this word that are ours: [first, last).
  let first = max(params.target_offset, word * 4u) - word * 4u;
  let last = min(end - word * 4u, 4u);
  // The source byte that lands in byte `first`, and from there as many as we own.
  let origin = params.source_offset + word * 4u + first - params.target_offset;
  let shift = (origin % 4u) * 8u;
  var value = source[origin / 4u] >> shift;
  if (shift != 0u && (origin % 4u) + (last - first) > 4u) {
    value |= source[origin / 4u + 1u] << (32u - shift);
  }
  let ones = select((1u << ((last - first) * 8u)) - 1u, 0xffffffffu, last - first == 4u);
  let mask = ones << (first * 8u);
  target_words[word] = (target_words[word] & ~mask) | ((value << (first * 8u)) & mask);
}
