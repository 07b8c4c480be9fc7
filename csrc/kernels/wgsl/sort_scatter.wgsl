// Moves each element of a block to where its digit's elements of the row begin, behind those that
// come before it. A workgroup takes parts of ROUNDS elements for each of PART work-items at a time. In
// a round these have elements side by side, and a bit for each, by digits, says how many of its digit
// come before it there: with LANES from votes of the subgroup, which is a part, else in workgroup
// memory. Then all lie there in the order of their digits, so that what is written side by side lies
// side by side.
// 0 source, 1 before (for each digit and block of a row, how many elements come before), then
// places of the elements (FROM), sorted elements (VALUES), their places (INDICES).
// Variables: GROUP, WORDS, FROM (1: elements have places, 0: these are where they are in the row),
// VALUES (1: elements are written), INDICES (words of a place that is written; 0: none is), ROUNDS,
// LANES (work-items of every subgroup, 8 to 32; 0: not known).
//! WORDS: 1 2
//! FROM: 0 1
//! VALUES: 0 1
//! INDICES: 0 1 2
//! ROUNDS: 4
//! LANES: 0
//! GROUP: 256
//! only: (VALUES == 1 or INDICES != 0) and (FROM == 0 or INDICES != 0)

struct Params {
  start: u32, length: u32, tile: u32, blocks: u32, groups: u32,
  shift: u32, sign: u32, infinity: u32, all: u32, flip: u32,
  values_start: u32, indices_start: u32,
}
var<immediate> params: Params;
#include "sort_keys.wgsl"
@group(0) @binding(0) var<storage, read> source: array<${RAW}>;
@group(0) @binding(1) var<storage, read> before: array<u32>;
#if FROM
@group(0) @binding(2) var<storage, read> source_places: array<u32>;
#end
#if VALUES
@group(0) @binding(${2 + FROM}) var<storage, read_write> values: array<${RAW}>;
#end
#if INDICES == 1
@group(0) @binding(${2 + FROM + VALUES}) var<storage, read_write> indices: array<u32>;
#elif INDICES == 2
@group(0) @binding(${2 + FROM + VALUES}) var<storage, read_write> indices: array<vec2<u32>>;
#end
#let ELEMENTS = ROUNDS * GROUP
#if LANES
// How many of each part and digit came before, two digits a word, then how many are in the parts
// before. Once these are in registers, all elements lie there: the less memory a workgroup takes, the
// more of them run at a time.
#let PART = LANES
#let COUNTS = GROUP / PART * 128
#let HELD = ELEMENTS * WORDS
#if HELD < COUNTS
#let HELD = COUNTS
#end
#let ZEROS = COUNTS / GROUP
#else
// Of each part and digit a bit for each of 32 elements, and from 2048 on how many came before them,
// then how many are in the parts before; then elements, as above.
#let PART = 32
#let HELD = 4096
#let ZEROS = 16
#end
var<workgroup> held: array<atomic<u32>, ${HELD}>;
// Where a digit's elements begin among those at hand, and how far from there they go.
var<workgroup> begins: array<u32, 257>;
var<workgroup> shifts: array<u32, 256>;
fn hold(at: u32, raw: ${RAW}) {
#if WORDS == 2
  atomicStore(&held[at], raw.x);
  atomicStore(&held[${ELEMENTS}u + at], raw.y);
#else
  atomicStore(&held[at], raw);
#end
}
fn held_at(at: u32) -> ${RAW} {
#if WORDS == 2
  return vec2<u32>(atomicLoad(&held[at]), atomicLoad(&held[${ELEMENTS}u + at]));
#else
  return atomicLoad(&held[at]);
#end
}
#if LANES
fn count_of(part: u32, digit: u32) -> u32 {
  return (atomicLoad(&held[part * 128u + digit / 2u]) >> (digit % 2u * 16u)) & 0xffffu;
}
#else
fn count_of(part: u32, digit: u32) -> u32 { return atomicLoad(&held[2048u + part * 256u + digit]); }
#end

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let index = group.x + group.y * groups.x;
  let row = index / params.blocks;
  let block = index % params.blocks;
  let inside = index < params.groups;
  let lane = local % ${PART}u;
  let part = local / ${PART}u;
  let before_own = (1u << lane) - 1u;
  // Of the digit `local`: where its next element goes.
  var next = 0u;
  let has_digit = local < 256u;
  if (inside && has_digit) { next = before[(row * 256u + local) * params.blocks + block]; }
#for p in 0..ZEROS
  atomicStore(&held[${p * GROUP}u + local], 0u);
#end
  workgroupBarrier();
  let base = row * params.length;
  let own = part * ${ROUNDS * PART}u + lane;
  let end = select(0u, min(block * params.tile + params.tile, params.length), inside);
  for (var first = block * params.tile; first < end; first += ${ROUNDS * GROUP}u) {
    let count = min(end - first, ${ROUNDS * GROUP}u);
#for r in 0..ROUNDS
    let at_${r} = min(own + ${r * PART}u, count - 1u);
    let raw_${r} = source[params.start + base + first + at_${r}];
#end
#for r in 0..ROUNDS
    // What is past the end comes last of all, behind the last digit's own.
    let digit_${r} = select(255u, digit_of(sort_key(raw_${r})), own + ${r * PART}u < count);
#if LANES
    var same_${r} = 0xffffffffu >> ${32 - LANES}u;
#for b in 0..8
    {
      let is = ((digit_${r} >> ${b}u) & 1u) != 0u;
      let votes = subgroupBallot(is).x;
      same_${r} &= select(~votes, votes, is);
    }
#end
    // The last one of a digit counts for all of them.
    var earlier_${r} = 0u;
    if ((same_${r} >> lane) == 1u) {
      let shift = digit_${r} % 2u * 16u;
      earlier_${r} =
          (atomicAdd(&held[part * 128u + digit_${r} / 2u], countOneBits(same_${r}) << shift) >> shift) & 0xffffu;
    }
    var place_${r} = subgroupShuffle(earlier_${r}, firstLeadingBit(same_${r})) + countOneBits(same_${r} & before_own);
#else
    let entry_${r} = part * 256u + digit_${r};
    atomicOr(&held[entry_${r}], before_own + 1u);
    workgroupBarrier();
    let same_${r} = atomicLoad(&held[entry_${r}]);
    // Whether it is the last one of its digit.
    let last_${r} = (same_${r} >> lane) == 1u;
    var place_${r} = count_of(part, digit_${r}) + countOneBits(same_${r} & before_own);
    workgroupBarrier();
    if (last_${r}) {
      atomicStore(&held[2048u + entry_${r}], place_${r} + 1u);
      atomicStore(&held[entry_${r}], 0u);
    }
    workgroupBarrier();
#end
#end
#if LANES
    workgroupBarrier();
    // Of two digits: in each part how many are in those before, then in all.
    var both = 0u;
    if (local < 128u) {
#for p in 0..GROUP / PART
      let of_part_${p} = atomicLoad(&held[${p * 128}u + local]);
      atomicStore(&held[${p * 128}u + local], both);
      both += of_part_${p};
#end
    }
    let up_to = subgroupInclusiveAdd(both);
    if (local < 128u && lane == ${PART - 1}u) { shifts[part] = (up_to & 0xffffu) + (up_to >> 16u); }
    workgroupBarrier();
    if (local < 128u) {
      let before_both = up_to - both;
      var begin = (before_both & 0xffffu) + (before_both >> 16u);
#for p in 0..128 / PART
      if (${p}u < part) { begin += shifts[${p}]; }
#end
      begins[2u * local] = begin;
      begins[2u * local + 1u] = begin + (both & 0xffffu);
      if (local == 127u) { begins[256] = begin + (both & 0xffffu) + (both >> 16u); }
    }
    workgroupBarrier();
    if (has_digit) {
      let begin = begins[local];
      shifts[local] = next - begin;
      next += begins[local + 1u] - begin;
    }
#else
    var all = 0u;
#for p in 0..8
    let of_part_${p} = count_of(${p}u, local);
    atomicStore(&held[${2048 + p * 256}u + local], all);
    all += of_part_${p};
#end
    begins[local] = all;
    // Of 16 digits side by side, then of those.
    workgroupBarrier();
    if (local < ${GROUP / 16}u) {
      var up_to = 0u;
#for i in 0..16
      let digits_${i} = begins[local * 16u + ${i}u];
      up_to += digits_${i};
      begins[local * 16u + ${i}u] = up_to;
#end
      shifts[local] = up_to;
    }
    workgroupBarrier();
    var earlier = 0u;
#for i in 0..GROUP / 16
    if (${i}u < local / 16u) { earlier += shifts[${i}]; }
#end
    let begin = earlier + begins[local] - all;
    workgroupBarrier();
    begins[local] = begin;
    shifts[local] = next - begin;
    next += all;
    workgroupBarrier();
#end
#for r in 0..ROUNDS
    place_${r} += count_of(part, digit_${r}) + begins[digit_${r}];
#end
    workgroupBarrier();
#for r in 0..ROUNDS
    hold(place_${r}, raw_${r});
#end
    workgroupBarrier();
#for r in 0..ROUNDS
    var target_${r} = 0u;
    if (${r * GROUP}u + local < count) {
      let raw = held_at(${r * GROUP}u + local);
      target_${r} = base + shifts[digit_of(sort_key(raw))] + ${r * GROUP}u + local;
#if VALUES
      values[params.values_start + target_${r}] = raw;
#end
    }
#end
    workgroupBarrier();
#if INDICES
#for r in 0..ROUNDS
#if FROM
    atomicStore(&held[place_${r}], source_places[base + first + at_${r}]);
#else
    atomicStore(&held[place_${r}], first + at_${r});
#end
#end
    workgroupBarrier();
#for r in 0..ROUNDS
    if (${r * GROUP}u + local < count) {
      let place = atomicLoad(&held[${r * GROUP}u + local]);
#if INDICES == 1
      indices[params.indices_start + target_${r}] = place;
#else
      indices[params.indices_start + target_${r}] = vec2<u32>(place, 0u);
#end
    }
#end
    workgroupBarrier();
#end
#for p in 0..ZEROS
    atomicStore(&held[${p * GROUP}u + local], 0u);
#end
    workgroupBarrier();
  }
}
