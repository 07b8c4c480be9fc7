// The pieces of attention_rows.wgsl joined, one element of o a work-item.
// 0 sums by piece, 1 the maximum and the sum of each piece, 2 o.
// Variables: GROUP, STRIDED (1: rows of o lie by strides, in elements), T.
//! T: f32 f16
//! STRIDED: 0 1
//! GROUP: 256
#include "floats.wgsl"
#include "range.wgsl"
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

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let i = item_index(group, groups, local);
  if (i >= params.n) { return; }
  let row = i / params.head_dim;
  var top = lowest();
  for (var piece = 0u; piece < params.pieces; piece++) {
    top = larger(tops_and_sums[piece * params.rows + row].x, top);
  }
  var sum = 0.0;
  var result = 0.0;
  for (var piece = 0u; piece < params.pieces; piece++) {
    let of_piece = tops_and_sums[piece * params.rows + row];
    let factor = rescale(of_piece.x, top);
    sum = fma(of_piece.y, factor, sum);
    result = fma(sums_of_pieces[piece * params.n + i], factor, result);
  }
#if STRIDED
  let head = row / params.seq_q;
  let base_o = params.o_start + head / params.heads * params.o_batch +
               head % params.heads * params.o_head + row % params.seq_q * params.o_seq;
  o[base_o + i % params.head_dim] = ${T}(result / sum);
#else
  o[i] = ${T}(result / sum);
#end
}
