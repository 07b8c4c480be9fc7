// Moves each element of a block to where its digit's elements of the row begin, behind those that
// come before it. A workgroup takes 8 parts of ROUNDS times 32 elements at a time. In a round 32
// work-items have 32 elements of their part, and a bit for each, by digits, says how many of its
// digit come before it there. Then all lie in workgroup memory in the order of their digits, so that
// what is written side by side lies side by side.
// 0 source, 1 before (for each digit and block of a row, how many elements come before), then
// places of the elements (FROM), sorted elements (VALUES), their places (INDICES).
// Variables: GROUP, WORDS, FROM (1: elements have places, 0: these are where they are in the row),
// VALUES (1: elements are written), INDICES (words of a place that is written; 0: none is), ROUNDS, TOGETHER (rounds whose bits are set
// between the same barriers).
//! WORDS: 1 2
//! FROM: 0 1
//! VALUES: 0 1
//! INDICES: 0 1 2
//! ROUNDS: 4
//! TOGETHER: 1
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
// Of each part and digit: a bit for each of 32 elements; how many came before them; then how many
// are in the parts before.
var<workgroup> bits: array<atomic<u32>, ${2048 * TOGETHER}>;
var<workgroup> counts: array<u32, 2048>;
// Where a digit's elements begin among those at hand, and how far from there they go.
var<workgroup> begins: array<u32, 256>;
var<workgroup> shifts: array<u32, 256>;
var<workgroup> tile: array<${RAW}, ${ROUNDS * GROUP}>;
#let PLACE = "place"
#let FIRST_WORD = ""
#if WORDS == 2
#let PLACE = "vec2<u32>(place, 0u)"
#let FIRST_WORD = ".x"
#end

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let index = group.x + group.y * groups.x;
  let row = index / params.blocks;
  let block = index % params.blocks;
  let inside = index < params.groups;
  let lane = local % 32u;
  let of_part = local / 32u * 256u;
  let before_own = (1u << lane) - 1u;
  // Of the digit `local`: where its next element goes.
  var next = 0u;
  if (inside) { next = before[(row * 256u + local) * params.blocks + block]; }
#for p in 0..8 * TOGETHER
  atomicStore(&bits[${p * 256}u + local], 0u);
#end
#for p in 0..8
  counts[${p * 256}u + local] = 0u;
#end
  workgroupBarrier();
  let base = row * params.length;
  let own = local / 32u * ${ROUNDS * 32}u + lane;
  let end = select(0u, min(block * params.tile + params.tile, params.length), inside);
  for (var first = block * params.tile; first < end; first += ${ROUNDS * GROUP}u) {
    let count = min(end - first, ${ROUNDS * GROUP}u);
#for r in 0..ROUNDS
    var raw_${r} = ${RAW}();
    if (own + ${r * 32}u < count) {
      raw_${r} = source[params.start + base + first + own + ${r * 32}u];
    }
#end
#for q in 0..ROUNDS / TOGETHER
#for t in 0..TOGETHER
#let r = q * TOGETHER + t
    let here_${r} = own + ${r * 32}u < count;
    let entry_${r} = of_part + digit_of(sort_key(raw_${r}));
    if (here_${r}) { atomicOr(&bits[${t * 2048}u + entry_${r}], before_own + 1u); }
#end
    workgroupBarrier();
#for t in 0..TOGETHER
#let r = q * TOGETHER + t
    var place_${r} = counts[entry_${r}];
#for e in 0..t
    place_${r} += countOneBits(atomicLoad(&bits[${e * 2048}u + entry_${r}]));
#end
    let same_${r} = atomicLoad(&bits[${t * 2048}u + entry_${r}]);
    // Whether it is the last one of its digit.
    var last_${r} = here_${r} && (same_${r} >> lane) == 1u;
#for e in t + 1..TOGETHER
    last_${r} = last_${r} && atomicLoad(&bits[${e * 2048}u + entry_${r}]) == 0u;
#end
    place_${r} += countOneBits(same_${r} & before_own);
#end
    workgroupBarrier();
#for t in 0..TOGETHER
#let r = q * TOGETHER + t
    if (last_${r}) {
      counts[entry_${r}] = place_${r} + 1u;
#for e in 0..TOGETHER
      atomicStore(&bits[${e * 2048}u + entry_${r}], 0u);
#end
    }
#end
    workgroupBarrier();
#end
    var all = 0u;
#for p in 0..8
    let of_part_${p} = counts[${p * 256}u + local];
    counts[${p * 256}u + local] = all;
    all += of_part_${p};
#end
    // Of 16 digits side by side, then of those.
    begins[local] = all;
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
#for r in 0..ROUNDS
    if (own + ${r * 32}u < count) {
      let digit = digit_of(sort_key(raw_${r}));
      place_${r} += counts[of_part + digit] + begins[digit];
      tile[place_${r}] = raw_${r};
    }
#end
    workgroupBarrier();
#for p in 0..8
    counts[${p * 256}u + local] = 0u;
#end
#for r in 0..ROUNDS
    var target_${r} = 0u;
    if (${r * GROUP}u + local < count) {
      let raw = tile[${r * GROUP}u + local];
      target_${r} = base + shifts[digit_of(sort_key(raw))] + ${r * GROUP}u + local;
#if VALUES
      values[params.values_start + target_${r}] = raw;
#end
    }
#end
    workgroupBarrier();
#if INDICES
#for r in 0..ROUNDS
    if (own + ${r * 32}u < count) {
#if FROM
      let place = source_places[base + first + own + ${r * 32}u];
#else
      let place = first + own + ${r * 32}u;
#end
      tile[place_${r}] = ${PLACE};
    }
#end
    workgroupBarrier();
#for r in 0..ROUNDS
    if (${r * GROUP}u + local < count) {
      let place = tile[${r * GROUP}u + local]${FIRST_WORD};
#if INDICES == 1
      indices[params.indices_start + target_${r}] = place;
#else
      indices[params.indices_start + target_${r}] = vec2<u32>(place, 0u);
#end
    }
#end
    workgroupBarrier();
#end
  }
}
