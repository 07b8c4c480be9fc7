// Moves each element of a block to where its digit's elements of the row begin, behind those that
// come before it. A workgroup takes 256 elements at a time; a bit for each of them, by digits, says
// how many of its digit come before it.
// 0 source, 1 before (for each digit and block of a row, how many elements come before), then
// places of the elements (FROM), sorted elements (VALUES), their places (INDICES).
// Variables: GROUP, WORDS, FROM (1: elements have places, 0: these are where they are in the row),
// VALUES (1: elements are written), INDICES (words of a place that is written; 0: none is).
//! WORDS: 1 2
//! FROM: 0 1
//! VALUES: 0 1
//! INDICES: 0 1 2
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
#for p in 0..8
  atomicStore(&bits[${p * 256}u + local], 0u);
#end
  workgroupBarrier();
  let base = row * params.length;
  let end = select(0u, min(block * params.tile + params.tile, params.length), inside);
  for (var first = block * params.tile; first < end; first += ${GROUP}u) {
    let i = first + local;
    let here = i < end;
    let at = base + select(0u, i, here);
    let raw = source[params.start + at];
    let digit = digit_of(sort_key(raw));
    if (here) { atomicOr(&bits[own_part * 256u + digit], own_bit); }
    workgroupBarrier();
    if (here) {
      var place = next[digit];
      for (var part = 0u; part < own_part; part++) {
        place += countOneBits(atomicLoad(&bits[part * 256u + digit]));
      }
      place += countOneBits(atomicLoad(&bits[own_part * 256u + digit]) & (own_bit - 1u));
#if VALUES
      values[params.values_start + base + place] = raw;
#end
#if INDICES
#if FROM
      let old = source_places[at];
#else
      let old = i;
#end
#if INDICES == 1
      indices[params.indices_start + base + place] = old;
#else
      indices[params.indices_start + base + place] = vec2<u32>(old, 0u);
#end
#end
    }
    workgroupBarrier();
    var moved = 0u;
#for p in 0..8
    moved += countOneBits(atomicExchange(&bits[${p * 256}u + local], 0u));
#end
    next[local] += moved;
    workgroupBarrier();
  }
}
