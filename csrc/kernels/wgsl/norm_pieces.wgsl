// Of norms of few long rows: of each piece of a row with CENTRED its mean and the sum of squares
// off it, else 0 and the sum of squares. A piece a workgroup.
// 0 input, 1 pieces.
// Variables: GROUP, VECTOR (1: rows and pieces are whole vec4), T, CENTRED.
#include "items.wgsl"
fn plus(x: f32, y: f32) -> f32 { return x + y; }
#let WALKERS = GROUP
#let NEXT_WALKER = 1
#let JOIN = "plus"
#let NAME = "squares"
#include "join.wgsl"
#if CENTRED
#let NAME = "sums"
#include "join.wgsl"
#end
struct Params { rows: u32, length: u32, pieces: u32, piece: u32, eps: f32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> input: array<${ITEM}>;
@group(0) @binding(1) var<storage, read_write> pieces: array<vec2<f32>>;

fn across(x: vec4<f32>) -> f32 { return (x.x + x.y) + (x.z + x.w); }

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let index = group.x + group.y * groups.x;
  let row = index / params.pieces;
  let start = index % params.pieces * params.piece;
  let rest = min(start + params.piece, params.length) - min(start, params.length);
  let end = select(0u, rest / ${WIDTH}u, row < params.rows);
  let base = (row * params.length + start) / ${WIDTH}u;
  var count = 0.0;
  var mean = 0.0;
  var squares = 0.0;
#let OTHERWISE = "0.0"
#let INPUT = "input"
  for (var at = local; at < end; at += ${GROUP * 16 / WIDTH}u) {
#include "row_chunk.wgsl"
#if CENTRED
    // Those of these 16 that are there.
    let some = ${WIDTH}.0 * f32(min((end - at + ${GROUP - 1}u) / ${GROUP}u, ${16 / WIDTH}u));
    let own = across((x0 + x1) + (x2 + x3)) / some;
    var off = vec4<f32>();
#for v in 0..4
    {
#if VECTOR
      let d = select(vec4<f32>(), x${v} - own, at + ${v * GROUP}u < end);
#else
      var d = x${v} - own;
#for e in 0..4
      d[${e}] = select(0.0, d[${e}], at + ${(v * 4 + e) * GROUP}u < end);
#end
#end
      off = fma(d, d, off);
    }
#end
    let both = count + some;
    let apart = own - mean;
    squares += across(off) + apart * apart * (count * some / both);
    mean += apart * (some / both);
    count = both;
#else
    squares += across(fma(x0, x0, x1 * x1) + fma(x2, x2, x3 * x3));
#end
  }
#if CENTRED
  let centre = join_sums(mean * count, 0u, local) / f32(max(rest, 1u));
  let all = join_squares(fma(count * (mean - centre), mean - centre, squares), 0u, local);
#else
  let centre = 0.0;
  let all = join_squares(squares, 0u, local);
#end
  if (local == 0u && row < params.rows) { pieces[index] = vec2<f32>(centre, all); }
}
