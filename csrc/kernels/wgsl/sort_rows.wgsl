// Sorts rows in workgroup memory, by a bitonic network over keys and then places: ELEMENTS of them a
// workgroup, rows of `padded` elements, a power of two.
// 0 source, then places of the elements (FROM), the first `kept` sorted elements (VALUES), their
// places (INDICES).
// Variables: GROUP, WORDS, FROM (1: elements have places, 0: these are where they are in the row),
// VALUES (1: elements are written), INDICES (words of a place that is written; 0: none is).
//! WORDS: 1 2
//! FROM: 0 1
//! VALUES: 0 1
//! INDICES: 0 1 2
//! GROUP: 256
//! only: (VALUES == 1 or INDICES != 0) and (FROM == 0 or INDICES != 0)

struct Params {
  start: u32, length: u32, padded: u32, rows: u32, kept: u32,
  shift: u32, sign: u32, infinity: u32, all: u32, flip: u32,
  values_start: u32, indices_start: u32,
}
var<immediate> params: Params;
#include "sort_keys.wgsl"
@group(0) @binding(0) var<storage, read> source: array<${RAW}>;
#if FROM
@group(0) @binding(1) var<storage, read> source_places: array<u32>;
#end
#if VALUES
@group(0) @binding(${1 + FROM}) var<storage, read_write> values: array<${RAW}>;
#end
#if INDICES == 1
@group(0) @binding(${1 + FROM + VALUES}) var<storage, read_write> indices: array<u32>;
#elif INDICES == 2
@group(0) @binding(${1 + FROM + VALUES}) var<storage, read_write> indices: array<vec2<u32>>;
#end
#let ELEMENTS = 2048 / WORDS
var<workgroup> low: array<u32, ${ELEMENTS}>;
#if WORDS == 2
var<workgroup> high: array<u32, ${ELEMENTS}>;
#end
var<workgroup> places: array<u32, ${ELEMENTS}>;

fn comes_later(a: u32, b: u32) -> bool {
#if WORDS == 2
  if (high[a] != high[b]) { return high[a] > high[b]; }
#end
  if (low[a] != low[b]) { return low[a] > low[b]; }
  return places[a] > places[b];
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let padded = params.padded;
  let first_row = (group.x + group.y * groups.x) * (${ELEMENTS}u / padded);
  for (var e = local; e < ${ELEMENTS}u; e += ${GROUP}u) {
    let row = first_row + e / padded;
    let i = e % padded;
    let inside = row < params.rows && i < params.length;
    // What fills up a row comes after all that is in it.
    low[e] = 0xffffffffu;
#if WORDS == 2
    high[e] = 0xffffffffu;
#end
    places[e] = 0xffffffffu;
    if (inside) {
      let key = sort_key(source[params.start + row * params.length + i]);
#if WORDS == 2
      low[e] = key.x;
      high[e] = key.y;
#else
      low[e] = key;
#end
      places[e] = i;
    }
  }
  workgroupBarrier();
  for (var width = 2u; width <= padded; width *= 2u) {
    for (var apart = width / 2u; apart > 0u; apart /= 2u) {
      for (var pair = local; pair < ${ELEMENTS / 2}u; pair += ${GROUP}u) {
        let a = 2u * pair - (pair & (apart - 1u));
        let b = a + apart;
        let ascends = (a & (padded - 1u) & width) == 0u;
        if (comes_later(a, b) == ascends) {
          let low_a = low[a];
          low[a] = low[b];
          low[b] = low_a;
#if WORDS == 2
          let high_a = high[a];
          high[a] = high[b];
          high[b] = high_a;
#end
          let place_a = places[a];
          places[a] = places[b];
          places[b] = place_a;
        }
      }
      workgroupBarrier();
    }
  }
  for (var e = local; e < ${ELEMENTS}u; e += ${GROUP}u) {
    let row = first_row + e / padded;
    let i = e % padded;
    if (row < params.rows && i < params.kept) {
      let at = row * params.length + places[e];
      let to = row * params.kept + i;
#if VALUES
      values[params.values_start + to] = source[params.start + at];
#end
#if INDICES
#if FROM
      let old = source_places[at];
#else
      let old = places[e];
#end
#if INDICES == 1
      indices[params.indices_start + to] = old;
#else
      indices[params.indices_start + to] = vec2<u32>(old, 0u);
#end
#end
    }
  }
}
