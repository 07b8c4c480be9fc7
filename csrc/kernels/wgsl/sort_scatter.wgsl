// Moves each element of a block to where its digit's elements of the row begin, behind those that
// come before it. A workgroup takes ROUNDS times 256 elements at a time. A bit for each of 256, by
// digits, says how many of its digit come before it; then they lie in workgroup memory in the order
// of their digits, so that what is written side by side lies side by side.
// 0 source, 1 before (for each digit and block of a row, how many elements come before), then
// places of the elements (FROM), sorted elements (VALUES), their places (INDICES).
// Variables: GROUP, WORDS, FROM (1: elements have places, 0: these are where they are in the row),
// VALUES (1: elements are written), INDICES (words of a place that is written; 0: none is), ROUNDS.
//! WORDS: 1 2
//! FROM: 0 1
//! VALUES: 0 1
//! INDICES: 0 1 2
//! ROUNDS: 4
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
// A bit for each of 256 elements, 32 of them by digit, then the next 32.
var<workgroup> bits: array<atomic<u32>, 2048>;
// Where the next element of a digit goes.
var<workgroup> next: array<u32, 256>;
// Of the elements at hand: how many have a digit, and where those begin among them.
var<workgroup> held: array<u32, 256>;
var<workgroup> begins: array<u32, 256>;
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
  let own_bit = 1u << (local % 32u);
  let own_part = local / 32u;
  if (inside) { next[local] = before[(row * 256u + local) * params.blocks + block]; }
  held[local] = 0u;
#for p in 0..8
  atomicStore(&bits[${p * 256}u + local], 0u);
#end
  workgroupBarrier();
  let base = row * params.length;
  let end = select(0u, min(block * params.tile + params.tile, params.length), inside);
  for (var first = block * params.tile; first < end; first += ${ROUNDS * GROUP}u) {
    let count = min(end - first, ${ROUNDS * GROUP}u);
#for r in 0..ROUNDS
    var raw_${r} = ${RAW}();
    var place_${r} = 0u;
    if (${r * GROUP}u + local < count) {
      raw_${r} = source[params.start + base + first + ${r * GROUP}u + local];
    }
#end
#for r in 0..ROUNDS
    // A block may have fewer elements than are taken at a time, but not fewer than four rounds of
    // work-items, except at the end of a row.
#if ROUNDS > 4
    if (${r * GROUP}u < count) {
#else
    {
#end
      let here = ${r * GROUP}u + local < count;
      let digit = digit_of(sort_key(raw_${r}));
      if (here) { atomicOr(&bits[own_part * 256u + digit], own_bit); }
      workgroupBarrier();
      if (here) {
        place_${r} = held[digit];
        for (var part = 0u; part < own_part; part++) {
          place_${r} += countOneBits(atomicLoad(&bits[part * 256u + digit]));
        }
        place_${r} += countOneBits(atomicLoad(&bits[own_part * 256u + digit]) & (own_bit - 1u));
      }
      workgroupBarrier();
      var more = 0u;
#for p in 0..8
      more += countOneBits(atomicExchange(&bits[${p * 256}u + local], 0u));
#end
      held[local] += more;
      workgroupBarrier();
    }
#end
    let own = held[local];
    begins[local] = own;
    workgroupBarrier();
    for (var apart = 1u; apart < 256u; apart *= 2u) {
      let other = begins[select(0u, local - apart, local >= apart)];
      workgroupBarrier();
      if (local >= apart) { begins[local] += other; }
      workgroupBarrier();
    }
    let up_to = begins[local];
    workgroupBarrier();
    begins[local] = up_to - own;
    workgroupBarrier();
#for r in 0..ROUNDS
    if (${r * GROUP}u + local < count) {
      place_${r} += begins[digit_of(sort_key(raw_${r}))];
      tile[place_${r}] = raw_${r};
    }
#end
    workgroupBarrier();
#for r in 0..ROUNDS
    var target_${r} = 0u;
    if (${r * GROUP}u + local < count) {
      let raw = tile[${r * GROUP}u + local];
      let digit = digit_of(sort_key(raw));
      target_${r} = base + next[digit] + (${r * GROUP}u + local - begins[digit]);
#if VALUES
      values[params.values_start + target_${r}] = raw;
#end
    }
#end
    workgroupBarrier();
#if INDICES
#for r in 0..ROUNDS
    if (${r * GROUP}u + local < count) {
#if FROM
      let place = source_places[base + first + ${r * GROUP}u + local];
#else
      let place = first + ${r * GROUP}u + local;
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
#end
    next[local] += own;
    held[local] = 0u;
    workgroupBarrier();
  }
}
