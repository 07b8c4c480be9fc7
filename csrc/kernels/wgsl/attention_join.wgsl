// The pieces of attention_rows.wgsl and others joined, four work-items an element of o.
// 0 sums by piece, 1 the maximum and the sum of each piece, 2 o.
// Variables: GROUP, STRIDED (1: rows of o lie by strides, in elements), EMPTY (1: what no key
// weighs anything in is 0, sums of such pieces are not read, and rows of a sum below 0 stay), T.
//! T: f32 f16
//! STRIDED: 0 1
//! EMPTY: 0 1
//! GROUP: 256
#include "floats.wgsl"
#include "functions.wgsl"
#include "running_softmax.wgsl"

struct Params {
  n: u32, rows: u32, head_dim: u32, pieces: u32, zero: u32, heads: u32, seq_q: u32,
  o_start: u32, o_batch: u32, o_head: u32, o_seq: u32,
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> sums_of_pieces: array<f32>;
@group(0) @binding(1) var<storage, read> tops_and_sums: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> o: array<${T}>;

// Work-items of an element, each of which takes every WALKERS-th piece, and pieces that one reads at
// a time.
#let WALKERS = 4
#let AT_ONCE = 8
#let ELEMENTS = GROUP / WALKERS
var<workgroup> tops: array<f32, ${GROUP}>;
var<workgroup> sums: array<f32, ${GROUP}>;
var<workgroup> results: array<f32, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let i = (group.x + group.y * groups.x) * ${ELEMENTS}u + local % ${ELEMENTS}u;
  let walker = local / ${ELEMENTS}u;
  let row = i / params.head_dim;
  let pieces = select(0u, params.pieces, i < params.n);
  var top = lowest();
  var sum = 0.0;
  var result = 0.0;
  for (var piece = walker; piece < pieces; piece += ${WALKERS * AT_ONCE}u) {
#for e in 0..AT_ONCE
    var top${e} = lowest();
    var sum${e} = 0.0;
    var result${e} = 0.0;
    if (piece + ${e * WALKERS}u < pieces) {
      let of_piece = tops_and_sums[(piece + ${e * WALKERS}u) * params.rows + row];
      top${e} = of_piece.x;
      sum${e} = of_piece.y;
#if EMPTY == 0
      result${e} = sums_of_pieces[(piece + ${e * WALKERS}u) * params.n + i];
#end
    }
#end
#if EMPTY
#for e in 0..AT_ONCE
    if ((bitcast<u32>(sum${e}) & 0x7fffffffu) != 0u) {
      result${e} = sums_of_pieces[(piece + ${e * WALKERS}u) * params.n + i];
    }
#end
#end
    var higher = top;
#for e in 0..AT_ONCE
    higher = larger(top${e}, higher);
#end
    let before = rescale(top, higher);
    sum *= before;
    result *= before;
#for e in 0..AT_ONCE
    {
      let factor = rescale(top${e}, higher);
      sum = fma(sum${e}, factor, sum);
      result = fma(result${e}, factor, result);
    }
#end
    top = higher;
  }
  tops[local] = top;
  sums[local] = sum;
  results[local] = result;
  workgroupBarrier();
  if (walker > 0u || i >= params.n) { return; }
#for w in 1..WALKERS
  top = larger(tops[local + ${w * ELEMENTS}u], top);
#end
  sum = 0.0;
  result = 0.0;
#for w in 0..WALKERS
  {
    let factor = rescale(tops[local + ${w * ELEMENTS}u], top);
    sum = fma(sums[local + ${w * ELEMENTS}u], factor, sum);
    result = fma(results[local + ${w * ELEMENTS}u], factor, result);
  }
#end
#if EMPTY
  if (tops_and_sums[row].y < 0.0) { return; }
  if ((bitcast<u32>(sum) & 0x7fffffffu) == 0u) { sum = 1.0; }
#end
#if STRIDED
  let head = row / params.seq_q;
  let base_o = params.o_start + head / params.heads * params.o_batch +
               head % params.heads * params.o_head + row % params.seq_q * params.o_seq;
  o[base_o + i % params.head_dim] = ${T}(result / sum);
#else
  o[i] = ${T}(result / sum);
#end
}
