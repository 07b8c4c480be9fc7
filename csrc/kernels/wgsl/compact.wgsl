// What a mask chooses, in its order: of block b from counts[b] on, at most params.count elements.
// Items of WORDS words of a source, or where WORDS is 0 the places along AXES axes, from one on, of the
// mask's shape: of each axis a row of params.row words, or with WIDE of pairs of them. A workgroup has a
// block of 4096 bools, a work-item four of them in each of four rounds. Chosen ones lie in the
// workgroup's memory first, ROOM at a time, so that what is written side by side lies so: of so little
// memory that many workgroups run at a time.
// 0 mask, 1 counts, 2 output, 3 source.
// Variables: GROUP, WORDS, AXES, WIDE.
//! WORDS: 0 1 2 4
//! AXES: constant
//! WIDE: 0 1
//! GROUP: 256
//! only: WIDE == 0 or WORDS == 0
#let ROOM = 2048
#if WORDS > 0
#let ROOM = 1024
#end
#let ITEM = "u32"
#if WORDS == 4
#let ITEM = "vec4<u32>"
#elif WORDS == 2
#let ITEM = "vec2<u32>"
#elif WIDE
#let ITEM = "vec2<u32>"
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
// The counts of rounds 0 and 1, and of 2 and 3, of 16 bits each: at most 1024. Of 16 work-items side
// by side, with one between these, against conflicts of banks.
var<workgroup> sums: array<vec2<u32>, ${GROUP + GROUP / 16}>;
var<workgroup> parts: array<vec2<u32>, ${GROUP / 16}>;
var<workgroup> chosen: array<u32, ${ROOM}>;

#if WORDS == 0
fn put(i: u32, place: u32) {
  // Of an axis and all before it, and of those before it alone.
  var up_to = 0u;
  var before = 0u;
#for d in 0..4
#if d < AXES
  up_to = i;
  if (params.inner${d} > 1u) { up_to = i / params.inner${d}; }
#if d == 0
  if (params.first_axis > 0u) { before = up_to / params.size${d}; }
#end
  let at${d} = (params.first_axis + ${d}u) * params.row + place;
  let index${d} = up_to - before * params.size${d};
#if WIDE
  output[at${d}] = vec2<u32>(index${d}, 0u);
#else
  output[at${d}] = index${d};
#end
  before = up_to;
#end
#end
}
#end

/// Those of a word, from a place in the workgroup's memory on; what is before it, or past it, waits.
fn hold(word: u32, truth: u32, start: u32) {
  var place = start;
#for lane in 0..4
  {
    let is = (truth >> ${lane * 8 + 7}u) & 1u;
    if (is != 0u && place < ${ROOM}u) { chosen[place] = word * 4u + ${lane}u; }
    place += is;
  }
#end
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let block = group.x + group.y * groups.x;
  let first = block * 1024u + local;
  let start = counts[min(block, params.blocks - 1u)];
#for r in 0..4
  let truth${r} = truths(first + ${r * GROUP}u);
#end
  let own = local + local / 16u;
  sums[own] = vec2<u32>(countOneBits(truth0) | (countOneBits(truth1) << 16u),
                        countOneBits(truth2) | (countOneBits(truth3) << 16u));
  workgroupBarrier();
  if (local < ${GROUP / 16}u) {
    var up_to = vec2<u32>(0u);
#for i in 0..16
    let each${i} = sums[local * 17u + ${i}u];
    sums[local * 17u + ${i}u] = up_to;
    up_to += each${i};
#end
    parts[local] = up_to;
  }
  workgroupBarrier();
  var before = sums[own];
  var all = vec2<u32>(0u);
#for i in 0..GROUP / 16
  let part${i} = parts[${i}];
  if (${i}u < local / 16u) { before += part${i}; }
  all += part${i};
#end
  let start1 = all.x & 0xffffu;
  let start2 = start1 + (all.x >> 16u);
  let start3 = start2 + (all.y & 0xffffu);
  let total = start3 + (all.y >> 16u);
  // A caller's counts may be wrong: nothing is written past the end.
  var room = 0u;
  if (block < params.blocks && start < params.count) { room = min(total, params.count - start); }
#for part in 0..4096 / ROOM
#let FROM = part * ROOM
#if part > 0
  workgroupBarrier();
#end
  hold(first, truth0, (before.x & 0xffffu) - ${FROM}u);
  hold(first + ${GROUP}u, truth1, start1 + (before.x >> 16u) - ${FROM}u);
  hold(first + ${2 * GROUP}u, truth2, start2 + (before.y & 0xffffu) - ${FROM}u);
  hold(first + ${3 * GROUP}u, truth3, start3 + (before.y >> 16u) - ${FROM}u);
  workgroupBarrier();
#if WORDS > 0
  // All are asked for before the first is used.
#for u in 0..ROOM / GROUP
  var item_${part}_${u} = ${ITEM}();
  if (${FROM + u * GROUP}u + local < room) { item_${part}_${u} = source[chosen[${u * GROUP}u + local]]; }
#end
#for u in 0..ROOM / GROUP
  if (${FROM + u * GROUP}u + local < room) { output[start + ${FROM + u * GROUP}u + local] = item_${part}_${u}; }
#end
#else
  for (var i = local; i < ${ROOM}u && i + ${FROM}u < room; i += ${GROUP}u) {
    put(chosen[i], start + i + ${FROM}u);
  }
#end
#end
}
