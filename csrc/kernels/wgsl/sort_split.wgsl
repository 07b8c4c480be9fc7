// The last steps of a selection: all elements whose keys are below that of the state, and the first
// ones that have it. Rows are cut into blocks of `tile` elements, one a workgroup. First counts[(row
// * 2 + which) * blocks + block], how many elements are below and how many have it; then, with how
// many come before in `before`, WRITE moves them, in their order, to rows of `kept`.
// 0 source, 1 states, 2 counts, or of WRITE before, 3 selected, 4 their places.
// Variables: GROUP, WORDS, WRITE.
//! WORDS: 1 2
//! WRITE: 0 1
//! GROUP: 256

struct Params {
  start: u32, length: u32, tile: u32, blocks: u32, groups: u32,
  shift: u32, sign: u32, infinity: u32, all: u32, flip: u32, kept: u32,
}
var<immediate> params: Params;
#include "sort_keys.wgsl"
@group(0) @binding(0) var<storage, read> source: array<${RAW}>;
@group(0) @binding(1) var<storage, read> states: array<vec4<u32>>;
#if WRITE
@group(0) @binding(2) var<storage, read> before: array<u32>;
@group(0) @binding(3) var<storage, read_write> selected: array<${RAW}>;
@group(0) @binding(4) var<storage, read_write> selected_places: array<u32>;
#else
@group(0) @binding(2) var<storage, read_write> counts: array<u32>;
#end
// A bit for each of 256 elements: 8 words of those below, 8 of those that are equal.
var<workgroup> bits: array<atomic<u32>, 16>;

/// 0 below, 1 equal, 2 above.
fn class_of(raw: ${RAW}, state: vec4<u32>) -> u32 {
  let key = sort_key(raw);
#if WORDS == 1
  return select(select(2u, 1u, key == state.x), 0u, key < state.x);
#else
  if (key.y != state.y) { return select(2u, 0u, key.y < state.y); }
  return select(select(2u, 1u, key.x == state.x), 0u, key.x < state.x);
#end
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let index = group.x + group.y * groups.x;
  let inside = index < params.groups;
  let row = select(0u, index / params.blocks, inside);
  let block = index % params.blocks;
  let state = states[row];
  let own_bit = 1u << (local % 32u);
  let own_part = local / 32u;
  if (local < 16u) { atomicStore(&bits[local], 0u); }
  workgroupBarrier();
  let base = row * params.length;
  let end = select(0u, min(block * params.tile + params.tile, params.length), inside);
  var below = 0u;
  var equal = 0u;
#if WRITE
  below = before[row * 2u * params.blocks + block];
  equal = params.kept - state.z + before[(row * 2u + 1u) * params.blocks + block];
#end
  for (var first = block * params.tile; first < end; first += ${GROUP}u) {
    let i = first + local;
    let here = i < end;
    let raw = source[params.start + base + select(0u, i, here)];
    let kind = select(2u, class_of(raw, state), here);
    if (kind < 2u) { atomicOr(&bits[kind * 8u + own_part], own_bit); }
    workgroupBarrier();
#if WRITE
    if (kind < 2u) {
      var place = select(equal, below, kind == 0u);
      for (var part = 0u; part < own_part; part++) {
        place += countOneBits(atomicLoad(&bits[kind * 8u + part]));
      }
      place += countOneBits(atomicLoad(&bits[kind * 8u + own_part]) & (own_bit - 1u));
      if (place < params.kept) {
        selected[row * params.kept + place] = raw;
        selected_places[row * params.kept + place] = i;
      }
    }
#end
#for p in 0..8
    below += countOneBits(atomicLoad(&bits[${p}u]));
    equal += countOneBits(atomicLoad(&bits[${p + 8}u]));
#end
    workgroupBarrier();
    if (local < 16u) { atomicStore(&bits[local], 0u); }
    workgroupBarrier();
  }
#if WRITE == 0
  if (inside && local == 0u) {
    counts[row * 2u * params.blocks + block] = below;
    counts[(row * 2u + 1u) * params.blocks + block] = equal;
  }
#end
}
