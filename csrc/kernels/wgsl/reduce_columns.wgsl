// Reduces pieces of the middle axis of [outer, length, inner]: output[piece * outer * inner +
// column]. A workgroup has one piece of GROUP / WALKERS neighbours, single columns or with VECTOR
// four columns each; its walkers share out the piece, and read DEPTH of it before they use the
// first.
// 0 input, 1 output.
// Variables: GROUP, WALKERS, DEPTH, VECTOR (1: inner is whole vec4), T (of input), TO (of output),
// OP (sum, max, min).
//! T: f32 f16
//! TO: f32 f16
//! OP: sum max min
//! VECTOR: 0 1
//! DEPTH: 4
//! GROUP: 256
//! WALKERS: constant
#if TO == "f16"
enable f16;
#end
#include "items.wgsl"
#include "combine.wgsl"

struct Params { columns: u32, length: u32, inner: u32, pieces: u32, piece: u32, factor: f32 }
var<immediate> params: Params;
#let TO_ITEM = TO
#if VECTOR && TO == "f16"
#let TO_ITEM = "vec4<f16>"
#elif VECTOR
#let TO_ITEM = "vec4<f32>"
#end
@group(0) @binding(0) var<storage, read> input: array<${ITEM}>;
@group(0) @binding(1) var<storage, read_write> output: array<${TO_ITEM}>;
#let COLUMNS = GROUP / WALKERS
#if WALKERS > 1
var<workgroup> partial: array<vec4<f32>, ${GROUP}>;
#end

fn loaded(at: u32) -> vec4<f32> {
#if VECTOR
  return vec4<f32>(input[at]);
#else
  return vec4<f32>(f32(input[at]));
#end
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let columns = params.columns / ${WIDTH}u;
  let inner = params.inner / ${WIDTH}u;
  let blocks = (columns + ${COLUMNS - 1}u) / ${COLUMNS}u;
  let index = group.x + group.y * groups.x;
  let column = index % blocks * ${COLUMNS}u + local % ${COLUMNS}u;
  let piece = index / blocks;
  let walker = local / ${COLUMNS}u;
  let inside = column < columns && piece < params.pieces;
  let start = piece * params.piece;
  let end = select(0u, min(start + params.piece, params.length), inside);
  let base = (column / inner) * params.length * inner + column % inner;
#for d in 0..DEPTH
  var result${d} = neutral();
#end
  var i = start + walker;
  for (; i + ${(DEPTH - 1) * WALKERS}u < end; i += ${DEPTH * WALKERS}u) {
#for d in 0..DEPTH
    let x${d} = loaded(base + (i + ${d * WALKERS}u) * inner);
#end
#for d in 0..DEPTH
    result${d} = combine(result${d}, x${d});
#end
  }
#for d in 0..DEPTH
  if (i + ${d * WALKERS}u < end) {
    result${d} = combine(result${d}, loaded(base + (i + ${d * WALKERS}u) * inner));
  }
#end
#for d in 1..DEPTH
  result0 = combine(result0, result${d});
#end
#if WALKERS > 1
  partial[local] = result0;
  workgroupBarrier();
  if (walker > 0u) { return; }
#for w in 1..WALKERS
  result0 = combine(result0, partial[local + ${w * COLUMNS}u]);
#end
#end
  if (inside) {
#if VECTOR
    output[piece * columns + column] = ${TO_ITEM}(result0 * params.factor);
#else
    output[piece * columns + column] = ${TO}(result0.x * params.factor);
#end
  }
}
