// What a mask chooses, in its order: of block b from counts[b] on, at most params.count elements.
// Items of WORDS words of a source, or where WORDS is 0 the places along AXES axes, from one on, of the
// mask's shape: of each axis a row of params.row words, or with WIDE of twice as many. A workgroup has a
// block of 4096 bools, a work-item four of them in each of four rounds.
// 0 mask, 1 counts, 2 output, 3 source.
// Variables: GROUP, WORDS, AXES, WIDE.
//! WORDS: 0 1 2 4
//! AXES: constant
//! WIDE: constant
//! GROUP: 256
#if WORDS == 4
#let ITEM = "vec4<u32>"
#elif WORDS == 2
#let ITEM = "vec2<u32>"
#else
#let ITEM = "u32"
#end
#include "truths.wgsl"

struct Params {
  n: u32, blocks: u32, count: u32, row: u32, first_axis: u32,
#for d in 0..4
  inner${d}: u32, size${d}: u32,
#end
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> mask: array<u32>;
@group(0) @binding(1) var<storage, read> counts: array<u32>;
@group(0) @binding(2) var<storage, read_write> output: array<${ITEM}>;
#if WORDS > 0
@group(0) @binding(3) var<storage, read> source: array<${ITEM}>;
#end
// The counts of rounds 0 and 1, and of 2 and 3, of 16 bits each: at most 1024.
var<workgroup> sums: array<vec2<u32>, ${GROUP}>;

fn put(i: u32, place: u32) {
#if WORDS > 0
  output[place] = source[i];
#else
#for d in 0..4
#if d < AXES
#if WIDE
  output[2u * ((params.first_axis + ${d}u) * params.row + place)] = i / params.inner${d} % params.size${d};
  output[2u * ((params.first_axis + ${d}u) * params.row + place) + 1u] = 0u;
#else
  output[(params.first_axis + ${d}u) * params.row + place] = i / params.inner${d} % params.size${d};
#end
#end
#end
#end
}

/// Those of a word, from a place on.
fn put_word(word: u32, chosen: u32, start: u32) {
  var place = start;
  for (var lane = 0u; lane < 4u; lane++) {
    if (((chosen >> (lane * 8u)) & 0x80u) != 0u && place < params.count) {
      put(word * 4u + lane, place);
      place += 1u;
    }
  }
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let block = group.x + group.y * groups.x;
  let first = block * 1024u + local;
#for r in 0..4
  let chosen${r} = truths(first + ${r * GROUP}u);
#end
  let own = vec2<u32>(countOneBits(chosen0) | (countOneBits(chosen1) << 16u),
                      countOneBits(chosen2) | (countOneBits(chosen3) << 16u));
  sums[local] = own;
  workgroupBarrier();
  for (var width = 1u; width < ${GROUP}u; width *= 2u) {
    var before = vec2<u32>(0u);
    if (local >= width) { before = sums[local - width]; }
    workgroupBarrier();
    sums[local] += before;
    workgroupBarrier();
  }
  if (block >= params.blocks) { return; }
  let all = sums[${GROUP - 1}];
  let before = sums[local] - own;
  let start = counts[block];
  let start1 = start + (all.x & 0xffffu);
  let start2 = start1 + (all.x >> 16u);
  let start3 = start2 + (all.y & 0xffffu);
  put_word(first, chosen0, start + (before.x & 0xffffu));
  put_word(first + ${GROUP}u, chosen1, start1 + (before.x >> 16u));
  put_word(first + ${2 * GROUP}u, chosen2, start2 + (before.y & 0xffffu));
  put_word(first + ${3 * GROUP}u, chosen3, start3 + (before.y >> 16u));
}
