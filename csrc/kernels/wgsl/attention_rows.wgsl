// attention for few queries, one query and one piece of the keys a workgroup: o of that piece with
// a running maximum and sum. Pieces are joined by attention_join.wgsl.
// 0 q, 1 k, 2 v, 3 o, rows by strides in elements, or with PIECES the sums over each piece's keys not yet divided, piece by
// piece in float32; 4 with PIECES: the maximum and the sum of each.
// Four work-items make the score of a key, COLUMNS walk the columns of o and the rest the keys.
// Variables: COLUMNS (a power of two, at least head_dim, at most GROUP), GROUP, VECTOR (1: rows are
// whole vec4), CAUSAL, PIECES, T.
#if T == "f16"
enable f16;
#end
#include "functions.wgsl"
#include "running_softmax.wgsl"
#let KEYS = GROUP / 4
#let WALKERS = GROUP / COLUMNS

struct Params {
  rows: u32, share: u32, heads: u32, seq_q: u32, seq_kv: u32, head_dim: u32, q_offset: u32,
  pieces: u32, piece: u32,
  scale: f32,
  zero: u32,
  q_start: u32, q_batch: u32, q_head: u32, q_seq: u32,
  k_start: u32, k_batch: u32, k_head: u32, k_seq: u32,
  v_start: u32, v_batch: u32, v_head: u32, v_seq: u32,
  o_start: u32, o_batch: u32, o_head: u32, o_seq: u32,
}
var<immediate> params: Params;
#let ITEM = T
#if VECTOR && T == "f16"
#let ITEM = "vec4<f16>"
#elif VECTOR
#let ITEM = "vec4<f32>"
#end
@group(0) @binding(0) var<storage, read> q: array<${ITEM}>;
@group(0) @binding(1) var<storage, read> k: array<${ITEM}>;
@group(0) @binding(2) var<storage, read> v: array<${T}>;
#if PIECES
@group(0) @binding(3) var<storage, read_write> o: array<f32>;
@group(0) @binding(4) var<storage, read_write> tops_and_sums: array<vec2<f32>>;
#else
@group(0) @binding(3) var<storage, read_write> o: array<${T}>;
#end
#let WIDTH = 1 + 3 * VECTOR
#let WIDE = "f32"
#if VECTOR
#let WIDE = "vec4<f32>"
#end
var<workgroup> query: array<${WIDE}, ${COLUMNS / WIDTH}>;
var<workgroup> products: array<vec4<f32>, ${KEYS}>;
var<workgroup> powers: array<f32, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let index = group.x + group.y * groups.x;
  if (index >= params.rows * params.pieces) { return; }
  let row = index % params.rows;
  let piece = index / params.rows;
  let batch = row / params.seq_q / params.heads;
  let head = row / params.seq_q % params.heads;
  let kv_head = head / params.share;
  let place = row % params.seq_q;
  let base_q =
      params.q_start + batch * params.q_batch + head * params.q_head + place * params.q_seq;
  let base_k = params.k_start + batch * params.k_batch + kv_head * params.k_head;
  let base_v = params.v_start + batch * params.v_batch + kv_head * params.v_head;
#if CAUSAL
  let seen = min(params.seq_kv, place + params.q_offset + 1u);
#else
  let seen = params.seq_kv;
#end
  let end = min(seen, (piece + 1u) * params.piece);
  let column = t % ${COLUMNS}u;
  var top = lowest();
  var sum = 0.0;
  var result = 0.0;
  for (var d = t; d < params.head_dim / ${WIDTH}u; d += ${GROUP}u) {
    query[d] = ${WIDE}(q[base_q / ${WIDTH}u + d]);
  }
  workgroupBarrier();
  for (var key0 = piece * params.piece; key0 < end; key0 += ${KEYS}u) {
    let key = key0 + t / 4u;
    var product = 0.0;
    if (key < end) {
#if VECTOR
      let at_k = (base_k + key * params.k_seq) / 4u;
      var sums = vec4<f32>();
      for (var d = t % 4u; d < params.head_dim / 4u; d += 4u) {
        sums = fma(query[d], vec4<f32>(k[at_k + d]), sums);
      }
      product = (sums.x + sums.y) + (sums.z + sums.w);
#else
      for (var d = t % 4u; d < params.head_dim; d += 4u) {
        let of_key = f32(k[base_k + key * params.k_seq + d]);
        product = fma(query[d], of_key, product);
      }
#end
    }
    workgroupBarrier();
    products[t / 4u][t % 4u] = product;
    workgroupBarrier();
    var score = lowest();
    if (t < ${KEYS}u && key0 + t < end) {
      let parts = products[t];
      score = ((parts.x + parts.y) + (parts.z + parts.w)) * params.scale;
    }
    powers[t] = score;
    for (var width = ${KEYS / 2}u; width > 0u; width /= 2u) {
      workgroupBarrier();
      if (t < width) { powers[t] = larger(powers[t], powers[t + width]); }
    }
    workgroupBarrier();
    let higher = larger(powers[0], top);
    let factor = rescale(top, higher);
    top = higher;
    workgroupBarrier();
    if (t < ${KEYS}u) { powers[t] = exp_of(splat(score - reference_of(top))).x; }
    workgroupBarrier();
    result *= factor;
    var in_tile = 0.0;
#for j in 0..KEYS
    in_tile += powers[${j}];
#end
    sum = sum * factor + in_tile;
    if (column < params.head_dim) {
      for (var j = t / ${COLUMNS}u; j < min(${KEYS}u, end - key0); j += ${WALKERS}u) {
        result = fma(powers[j], f32(v[base_v + (key0 + j) * params.v_seq + column]), result);
      }
    }
  }
  workgroupBarrier();
  powers[t] = result;
  for (var width = ${WALKERS / 2}u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (t / ${COLUMNS}u < width) { powers[t] += powers[t + width * ${COLUMNS}u]; }
  }
#if PIECES
  if (t < params.head_dim) { o[index * params.head_dim + t] = powers[t]; }
  if (t == 0u) { tops_and_sums[index] = vec2<f32>(top, sum); }
#else
  if (t < params.head_dim) {
    let base_o =
        params.o_start + batch * params.o_batch + head * params.o_head + place * params.o_seq;
    o[base_o + t] = ${T}(powers[t] / sum);
  }
#end
}
