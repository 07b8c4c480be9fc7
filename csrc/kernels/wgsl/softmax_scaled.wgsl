// The results of softmax of few long rows, from what softmax_pieces.wgsl found of all pieces of
// their row. A piece a workgroup.
// 0 pieces, then input and output; one binding where both are the same buffer.
// Variables: GROUP, VECTOR (1: rows and pieces are whole vec4), T, IN_PLACE, LOG (1: logarithms
// of it).
#include "items.wgsl"
struct Params { rows: u32, length: u32, pieces: u32, piece: u32, zero: u32 }
var<immediate> params: Params;
#include "power_below_one.wgsl"
#if LOG
#include "log_of_sum.wgsl"
#end
fn lowest() -> f32 { return bitcast<f32>(0xff800000u ^ params.zero); }
/// What a sum under the maximum `top` is worth under `higher`.
fn rescale(top: f32, higher: f32) -> f32 {
  return select(power_below_one(vec4<f32>(top - higher)).x, 0.0, top == lowest());
}
#let WALKERS = GROUP
#let NEXT_WALKER = 1
#let JOIN = "max"
#let NAME = "tops"
#include "join.wgsl"
fn plus(x: f32, y: f32) -> f32 { return x + y; }
#let JOIN = "plus"
#let NAME = "sums"
#include "join.wgsl"
@group(0) @binding(0) var<storage, read> pieces: array<vec2<f32>>;
#if IN_PLACE
@group(0) @binding(1) var<storage, read_write> output: array<${ITEM}>;
#let INPUT = "output"
#else
@group(0) @binding(1) var<storage, read> input: array<${ITEM}>;
@group(0) @binding(2) var<storage, read_write> output: array<${ITEM}>;
#let INPUT = "input"
#end

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let index = group.x + group.y * groups.x;
  let row = index / params.pieces;
  let start = index % params.pieces * params.piece;
  let rest = min(start + params.piece, params.length) - min(start, params.length);
  let end = select(0u, rest / ${WIDTH}u, row < params.rows);
  let base = (row * params.length + start) / ${WIDTH}u;
  let others = select(0u, params.pieces, row < params.rows);
  var top = lowest();
  for (var i = local; i < others; i += ${GROUP}u) {
    top = max(pieces[row * params.pieces + i].x, top);
  }
  let highest = join_tops(top, 0u, local);
  var sum = 0.0;
  for (var i = local; i < others; i += ${GROUP}u) {
    let one = pieces[row * params.pieces + i];
    sum += one.y * rescale(one.x, highest);
  }
  let all = join_sums(sum, 0u, local);
#if LOG
  let less = log_of_sum(all);
#else
  let factor = 1.0 / all;
#end
#let OTHERWISE = "0.0"
  for (var at = local; at < end; at += ${GROUP * 16 / WIDTH}u) {
#include "row_chunk.wgsl"
#for v in 0..4
#if LOG
    let y${v} = x${v} - highest - less;
#else
    let y${v} = power_below_one(x${v} - highest) * factor;
#end
#if VECTOR
    if (at + ${v * GROUP}u < end) { output[base + at + ${v * GROUP}u] = ${ITEM}(y${v}); }
#else
#for e in 0..4
    if (at + ${(v * 4 + e) * GROUP}u < end) {
      output[base + at + ${(v * 4 + e) * GROUP}u] = ${T}(y${v}[${e}]);
    }
#end
#end
#end
  }
}
