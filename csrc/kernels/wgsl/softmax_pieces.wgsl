// Of softmax of few long rows: the largest element of each piece of a row, but for NaN, and the sum
// of e^(x - largest), which NaN is in. A piece a workgroup.
// 0 input, 1 pieces.
// Variables: GROUP, VECTOR (1: rows and pieces are whole vec4), T.
#include "items.wgsl"
struct Params { rows: u32, length: u32, pieces: u32, piece: u32, zero: u32 }
var<immediate> params: Params;
#include "power_below_one.wgsl"
fn lowest() -> f32 { return bitcast<f32>(0xff800000u ^ params.zero); }
/// What to take from x before its power: the maximum, or 0 while there is only -infinity.
fn reference_of(top: f32) -> f32 { return select(top, 0.0, top == lowest()); }
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
@group(0) @binding(0) var<storage, read> input: array<${ITEM}>;
@group(0) @binding(1) var<storage, read_write> pieces: array<vec2<f32>>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let index = group.x + group.y * groups.x;
  let row = index / params.pieces;
  let start = index % params.pieces * params.piece;
  let rest = min(start + params.piece, params.length) - min(start, params.length);
  let end = select(0u, rest / ${WIDTH}u, row < params.rows);
  let base = (row * params.length + start) / ${WIDTH}u;
  var top = lowest();
  var sum = 0.0;
#let OTHERWISE = "lowest()"
#let INPUT = "input"
  for (var at = local; at < end; at += ${GROUP * 16 / WIDTH}u) {
#include "row_chunk.wgsl"
    let tops = max(max(x0, x1), max(x2, x3));
    let higher = max(max(max(tops.x, tops.y), max(tops.z, tops.w)), top);
    let reference = vec4<f32>(reference_of(higher));
    let powers = (power_below_one(x0 - reference) + power_below_one(x1 - reference)) +
                 (power_below_one(x2 - reference) + power_below_one(x3 - reference));
    sum = sum * rescale(top, higher) + ((powers.x + powers.y) + (powers.z + powers.w));
    top = higher;
  }
  let highest = join_tops(top, 0u, local);
  let all = join_sums(sum * rescale(top, highest), 0u, local);
  if (local == 0u && row < params.rows) { pieces[index] = vec2<f32>(highest, all); }
}
