// How many elements have each digit of their keys. Rows are cut into blocks of `tile` elements, one
// a workgroup. Of a sort, counts[(row * 256 + digit) * blocks + block]. Of a selection those
// elements count whose key begins as the row's state says, in counts[row * 256 + digit], which
// start as 0.
// 0 source, 1 counts, 2 state (of a selection).
// Variables: GROUP, WORDS, SELECT.
//! WORDS: 1 2
//! SELECT: 0 1
//! GROUP: 256
#include "range.wgsl"

struct Params {
  start: u32, length: u32, tile: u32, blocks: u32, groups: u32,
  shift: u32, sign: u32, infinity: u32, all: u32, flip: u32, low_mask: u32, high_mask: u32,
}
var<immediate> params: Params;
#include "sort_keys.wgsl"
@group(0) @binding(0) var<storage, read> source: array<${RAW}>;
#if SELECT
@group(0) @binding(1) var<storage, read_write> counts: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read> states: array<vec4<u32>>;
#else
@group(0) @binding(1) var<storage, read_write> counts: array<u32>;
#end
var<workgroup> found: array<atomic<u32>, 256>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let index = group.x + group.y * groups.x;
  let row = index / params.blocks;
  let block = index % params.blocks;
  let inside = index < params.groups;
  atomicStore(&found[local], 0u);
  workgroupBarrier();
  let first = block * params.tile;
  let end = select(0u, min(first + params.tile, params.length), inside);
#if SELECT
  let state = states[select(0u, row, inside)];
#end
#if SELECT == 0
  for (var i = first + local; i < end; i += ${8 * GROUP}u) {
    let at = params.start + row * params.length + i;
#for u in 0..8
    var raw${u} = ${RAW}();
    if (i + ${u * GROUP}u < end) { raw${u} = source[at + ${u * GROUP}u]; }
#end
#for u in 0..8
    if (i + ${u * GROUP}u < end) { atomicAdd(&found[digit_of(sort_key(raw${u}))], 1u); }
#end
  }
#else
  for (var i = first + local; i < end; i += ${GROUP}u) {
    let key = sort_key(source[params.start + row * params.length + i]);
#if SELECT
#if WORDS == 1
    let counted = ((key ^ state.x) & params.low_mask) == 0u;
#else
    let counted =
        (((key.x ^ state.x) & params.low_mask) | ((key.y ^ state.y) & params.high_mask)) == 0u;
#end
    if (counted) { atomicAdd(&found[digit_of(key)], 1u); }
#end
  }
#end
  workgroupBarrier();
  let all = atomicLoad(&found[local]);
#if SELECT
  if (inside && all != 0u) { atomicAdd(&counts[row * 256u + local], all); }
#else
  if (inside) { counts[(row * 256u + local) * params.blocks + block] = all; }
#end
}
