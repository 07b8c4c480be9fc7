// o = softmax(scale q k^T) v without the matrix of scores: BQ queries and COLUMNS columns of o a
// workgroup, keys in tiles of BK, a running maximum and sum for each query.
// 0 q, 1 k, 2 v, 3 o, rows by strides in elements.
// Work-items lie as NY x NX: each has every NY-th query, every NX-th key of a tile and every NX-th
// vec4 of o's columns. Four queries of a work-item share a vec4. What comes next is read from
// memory while what lies in workgroup memory, in two halves, is used.
// Variables: NX, NY, TQ (queries of a work-item, a multiple of 4), TK (its keys of a tile), STEP
// (columns of q and k that lie in workgroup memory), KEYS (rows of v that do, more where they are
// short), COLUMNS (a multiple of 4 NX), VECTOR (1: rows are whole vec4), CAUSAL, T.
#if T == "f16"
enable f16;
#end
struct Params {
  share: u32, heads: u32, seq_q: u32, seq_kv: u32, head_dim: u32, q_offset: u32,
  first_head: u32,
  scale: f32,
  zero: u32,
  q_start: u32, q_batch: u32, q_head: u32, q_seq: u32,
  k_start: u32, k_batch: u32, k_head: u32, k_seq: u32,
  v_start: u32, v_batch: u32, v_head: u32, v_seq: u32,
  o_start: u32, o_batch: u32, o_head: u32, o_seq: u32,
}
var<immediate> params: Params;
#include "power_below_one.wgsl"
#include "attention_tile.wgsl"

#let ITEM = T
#if VECTOR && T == "f16"
#let ITEM = "vec4<f16>"
#elif VECTOR
#let ITEM = "vec4<f32>"
#end
@group(0) @binding(0) var<storage, read> q: array<${ITEM}>;
@group(0) @binding(1) var<storage, read> k: array<${ITEM}>;
@group(0) @binding(2) var<storage, read> v: array<${ITEM}>;
@group(0) @binding(3) var<storage, read_write> o: array<${ITEM}>;

#for X in 0..3
#if X == 0
#let NAME = "q"
#elif X == 1
#let NAME = "k"
#else
#let NAME = "v"
#end
/// Four elements from column d on of the row that starts there; 0 past its end.
fn read_${NAME}(start: u32, d: u32) -> vec4<f32> {
  let at = start + d;
#if VECTOR
  if (d >= params.head_dim) { return vec4<f32>(); }
  return vec4<f32>(${NAME}[at / 4u]);
#else
  var x = vec4<f32>();
#for e in 0..4
  if (d + ${e}u < params.head_dim) { x[${e}] = f32(${NAME}[at + ${e}u]); }
#end
  return x;
#end
}
#end


@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let tx = t % ${NX}u;
  let ty = t / ${NX}u;
#if CAUSAL
  // The blocks with the most keys first, of all heads.
  let head = params.first_head + group.x;
  let block = (groups.y - 1u - group.y) * ${BQ}u;
  let last_row = min(block + ${BQ - 1}u, params.seq_q - 1u);
  let keys = min(params.seq_kv, last_row + params.q_offset + 1u);
  // All queries of the block see the keys before this one.
  let seen_by_all = min(keys, block + params.q_offset + 1u);
#else
  let head = params.first_head + group.y;
  let block = group.x * ${BQ}u;
  let keys = params.seq_kv;
  let seen_by_all = keys;
#end
  let batch = head / params.heads;
  let own = head % params.heads;
  let base_q = params.q_start + batch * params.q_batch + own * params.q_head;
  let base_k = params.k_start + batch * params.k_batch + own / params.share * params.k_head;
  let base_v = params.v_start + batch * params.v_batch + own / params.share * params.v_head;
  let base_o = params.o_start + batch * params.o_batch + own * params.o_head;
  let column0 = group.z * ${COLUMNS}u;
  let steps = (params.head_dim + ${STEP - 1}u) / ${STEP}u;

#for g in 0..FOURS
  var top${g} = lowest_of_all();
  var sum${g} = vec4<f32>();
#end
#for i in 0..TQ
#for c in 0..VECTORS
  var o${i}_${c} = vec4<f32>();
#end
#end
#for i in 0..Q_LOADS
  var next_q${i} = vec4<f32>();
#end
#for i in 0..K_LOADS
  var next_k${i} = vec4<f32>();
#end
#for i in 0..V_LOADS
  var next_v${i} = vec4<f32>();
#end

  for (var key0 = 0u; key0 < keys; key0 += ${BK}u) {
#for g in 0..FOURS
#for j in 0..TK
    var s${g}_${j} = vec4<f32>();
#end
#end
    workgroupBarrier();
    for (var step = 0u; step <= steps; step++) {
      if (step < steps) {
#for i in 0..Q_LOADS
        {
          let row = (t + ${i * THREADS}u) / ${ROW}u;
          let d = step * ${STEP}u + (t + ${i * THREADS}u) % ${ROW}u * 4u;
          next_q${i} = vec4<f32>();
          if (block + row < params.seq_q) {
            next_q${i} = read_q(base_q + (block + row) * params.q_seq, d) * params.scale;
          }
        }
#end
#for i in 0..K_LOADS
        {
          let row = (t + ${i * THREADS}u) / ${ROW}u;
          let d = step * ${STEP}u + (t + ${i * THREADS}u) % ${ROW}u * 4u;
          next_k${i} = vec4<f32>();
          if (key0 + row < keys) { next_k${i} = read_k(base_k + (key0 + row) * params.k_seq, d); }
        }
#end
      } else {
#for i in 0..V_LOADS
        {
          let key = key0 + (t + ${i * THREADS}u) / ${WIDTH}u;
          let column = column0 + (t + ${i * THREADS}u) % ${WIDTH}u * 4u;
          next_v${i} = vec4<f32>();
          if (key < keys) { next_v${i} = read_v(base_v + key * params.v_seq, column); }
        }
#end
      }
#include "attention_tile_scores.wgsl"
    }

    if (key0 + ${BK}u > seen_by_all) {
#for j in 0..TK
      {
        let key = key0 + tx + ${j * NX}u;
#for g in 0..FOURS
#if CAUSAL
        let query${g} = vec4<u32>(block + ty + params.q_offset) +
                       vec4<u32>(${g * 4 * NY}u, ${(g * 4 + 1) * NY}u, ${(g * 4 + 2) * NY}u,
                                 ${(g * 4 + 3) * NY}u);
        let seen${g} = (vec4<u32>(key) <= query${g}) & vec4<bool>(key < keys);
        s${g}_${j} = select(lowest_of_all(), s${g}_${j}, seen${g});
#else
        s${g}_${j} = select(lowest_of_all(), s${g}_${j}, key < keys);
#end
#end
      }
#end
    }
#include "attention_tile_powers.wgsl"

    for (var part = 0u; part < ${BK}u; part += ${VKEYS}u) {
      let of_v = part / ${VKEYS}u % 2u * ${VKEYS * WIDTH}u;
#for i in 0..V_LOADS
      values[of_v + t + ${i * THREADS}u] = next_v${i};
#end
      workgroupBarrier();
      if (part + ${VKEYS}u < ${BK}u) {
#for i in 0..V_LOADS
        {
          let key = key0 + part + ${VKEYS}u + (t + ${i * THREADS}u) / ${WIDTH}u;
          let column = column0 + (t + ${i * THREADS}u) % ${WIDTH}u * 4u;
          next_v${i} = vec4<f32>();
          if (key < keys) { next_v${i} = read_v(base_v + key * params.v_seq, column); }
        }
#end
      }
#for HIDING in 0..CAUSAL+1
#if HIDING
      if (key0 + ${BK}u > seen_by_all) {
        // Some queries must not see some of these keys; 0 * NaN would show them.
#elif CAUSAL
      if (key0 + ${BK}u <= seen_by_all) {
#else
      {
#end
#for j in 0..VKEYS
        {
#for c in 0..VECTORS
          let y${c} = values[of_v + ${j * WIDTH + c * NX}u + tx];
#end
#for g in 0..FOURS
          let p${g} = tile[(part + ${j}u) * ${QUERIES}u + ${g * NY}u + ty];
#for i in 0..4
#for c in 0..VECTORS
#let O = g * 4 + i
#if HIDING
          o${O}_${c} = select(o${O}_${c}, fma(vec4<f32>(p${g}[${i}]), y${c}, o${O}_${c}),
                              key0 + part + ${j}u <= block + ty + ${O * NY}u + params.q_offset);
#else
          o${O}_${c} = fma(vec4<f32>(p${g}[${i}]), y${c}, o${O}_${c});
#end
#end
#end
#end
        }
#end
      }
#end
    }
  }

#include "attention_tile_sums.wgsl"
#for i in 0..TQ
  if (block + ty + ${i * NY}u < params.seq_q) {
#for c in 0..VECTORS
    {
      let column = column0 + (${c * NX}u + tx) * 4u;
      let at = base_o + (block + ty + ${i * NY}u) * params.o_seq + column;
      let result = o${i}_${c} / sums${i / 4}[${i % 4}];
#if VECTOR
      if (column < params.head_dim) { o[at / 4u] = ${ITEM}(result); }
#else
#for e in 0..4
      if (column + ${e}u < params.head_dim) { o[at + ${e}u] = ${T}(result[${e}]); }
#end
#end
    }
#end
  }
#end
}
