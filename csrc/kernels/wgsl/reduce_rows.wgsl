// Reduces pieces of rows: output[row * pieces + piece] from input[row * length + ...], GROUP /
// WALKERS pieces a workgroup. Each work-item reads DEPTH vectors of four before it uses the first.
// 0 input, 1 output.
// Variables: GROUP, WALKERS, DEPTH, VECTOR (1: rows and pieces are whole vec4), T (of input), TO
// (of output), OP (sum, max, min).
#if TO == "f16"
enable f16;
#end
#include "items.wgsl"
#include "combine.wgsl"
#let NEXT_WALKER = 1
#let JOIN = "combine_two"
#let NAME = "walkers"
#include "join.wgsl"

struct Params { rows: u32, length: u32, pieces: u32, piece: u32, factor: f32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> input: array<${ITEM}>;
@group(0) @binding(1) var<storage, read_write> output: array<${TO}>;
#let STEP = WALKERS * 4 / WIDTH

/// Four elements, of which the first is at i and the others WALKERS apart if not side by side.
fn loaded(i: u32) -> vec4<f32> {
#if VECTOR
  return vec4<f32>(input[i]);
#else
  return vec4<f32>(f32(input[i]), f32(input[i + ${WALKERS}u]), f32(input[i + ${2 * WALKERS}u]),
                   f32(input[i + ${3 * WALKERS}u]));
#end
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let walker = local % ${WALKERS}u;
  let index = (group.x + group.y * groups.x) * ${GROUP / WALKERS}u + local / ${WALKERS}u;
  let row = index / params.pieces;
  let start = (index % params.pieces) * params.piece;
  let base = (row * params.length + start) / ${WIDTH}u;
  let inside = row < params.rows;
  let count = select(0u, (min(start + params.piece, params.length) - start) / ${WIDTH}u, inside);
#for d in 0..DEPTH
  var result${d} = neutral();
#end
  var i = walker;
  for (; i + ${DEPTH * STEP - WALKERS}u < count; i += ${DEPTH * STEP}u) {
#for d in 0..DEPTH
    let x${d} = loaded(base + i + ${d * STEP}u);
#end
#for d in 0..DEPTH
    result${d} = combine(result${d}, x${d});
#end
  }
  // The rest of the piece, less than DEPTH vectors of each work-item.
#for d in 0..DEPTH
#if VECTOR
  if (i + ${d * STEP}u < count) {
    result${d} = combine(result${d}, loaded(base + i + ${d * STEP}u));
  }
#else
#for e in 0..4
  if (i + ${d * STEP + e * WALKERS}u < count) {
    let x = f32(input[base + i + ${d * STEP + e * WALKERS}u]);
    result${d} = combine(result${d}, vec4<f32>(x, neutral().yzw));
  }
#end
#end
#end
#for d in 1..DEPTH
  result0 = combine(result0, result${d});
#end
  let result = join_walkers(combine_lanes(result0), local - walker, walker);
  if (walker == 0u && inside) { output[index] = ${TO}(result * params.factor); }
}
