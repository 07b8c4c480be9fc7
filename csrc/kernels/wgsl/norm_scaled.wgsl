// The results of norms of few long rows, from what norm_pieces.wgsl found of all pieces of their
// row. A piece a workgroup.
// 0 pieces, then input (left out where it is the output's buffer), weight where WEIGHT, bias where
// BIAS, output.
// Variables: GROUP, VECTOR (1: rows and pieces are whole vec4), T, CENTRED, IN_PLACE, WEIGHT, BIAS.
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
@group(0) @binding(0) var<storage, read> pieces: array<vec2<f32>>;
#let NEXT = 1
#if IN_PLACE
#let INPUT = "output"
#else
#let INPUT = "input"
@group(0) @binding(1) var<storage, read> input: array<${ITEM}>;
#let NEXT = 2
#end
#if WEIGHT
@group(0) @binding(${NEXT}) var<storage, read> weight: array<${ITEM}>;
#let NEXT = NEXT + 1
#end
#if BIAS
@group(0) @binding(${NEXT}) var<storage, read> bias: array<${ITEM}>;
#let NEXT = NEXT + 1
#end
@group(0) @binding(${NEXT}) var<storage, read_write> output: array<${ITEM}>;

/// Elements of a piece.
fn size_of(i: u32) -> f32 {
  return f32(min(params.piece, params.length - i * params.piece));
}

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
  let n = f32(params.length);
  var squares = 0.0;
#if CENTRED
  var sum = 0.0;
  for (var i = local; i < others; i += ${GROUP}u) {
    sum = fma(pieces[row * params.pieces + i].x, size_of(i), sum);
  }
  let centre = join_sums(sum, 0u, local) / n;
#else
  let centre = 0.0;
#end
  for (var i = local; i < others; i += ${GROUP}u) {
    let one = pieces[row * params.pieces + i];
    squares += fma(size_of(i) * (one.x - centre), one.x - centre, one.y);
  }
  let factor = 1.0 / sqrt(join_squares(squares, 0u, local) / n + params.eps);
#let OTHERWISE = "0.0"
  for (var at = local; at < end; at += ${GROUP * 16 / WIDTH}u) {
#include "row_chunk.wgsl"
#let PARTS = 16 / WIDTH
#for p in 0..PARTS
    if (at + ${p * GROUP}u < end) {
      let i = at + ${p * GROUP}u;
#if VECTOR
      var y = (x${p} - centre) * factor;
#else
      var y = (x${p / 4}[${p % 4}] - centre) * factor;
#end
#if WEIGHT
      y *= ${WIDE}(weight[start / ${WIDTH}u + i]);
#end
#if BIAS
      y += ${WIDE}(bias[start / ${WIDTH}u + i]);
#end
      output[base + i] = ${ITEM}(y);
    }
#end
  }
}
