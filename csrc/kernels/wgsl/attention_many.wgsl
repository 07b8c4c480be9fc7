// attention of many queries with any of its options but a mask: attention.wgsl's tiles over
// attention_general.wgsl's rows, which are those of all heads that share a kv head, of each query
// behind each other. Tiles of keys that no row of a workgroup sees are left out.
// 0 q, 1 k, 2 v, 3 o, rows of whole vec4 by strides in elements; 4 the keys of each sequence or
// where they start, 5 where the queries of each start; 6 the page table; 7 of int8 the scales
// of rows. What a call has not got may be any buffer.
// Variables: NX, NY, TQ, TK, STEP, KEYS, COLUMNS, T as of attention.wgsl; KV, CAP, LENGTHS, RAGGED,
// PAGED, AT_END as of attention_general.wgsl.
#if T == "f16"
enable f16;
#end
struct Params {
  share: u32, kv_heads: u32, batch: u32, first_matrix: u32, seq_q: i32, seq_kv: i32,
  head_dim: u32, value_dim: u32, low: i32, high: i32,
  slots: u32, page_size: u32, page_shift: u32, pages: u32,
  scale: f32, cap: f32, below_cap: f32,
  zero: u32,
  q_start: u32, q_batch: u32, q_head: u32, q_seq: u32,
  k_start: u32, k_batch: u32, k_head: u32, k_seq: u32,
  v_start: u32, v_batch: u32, v_head: u32, v_seq: u32,
  o_start: u32, o_batch: u32, o_head: u32, o_seq: u32,
}
var<immediate> params: Params;
#include "functions.wgsl"
#include "power_below_one.wgsl"
#include "attention_tile.wgsl"
#include "stored_fours.wgsl"

#let ITEM = "vec4<f32>"
#if T == "f16"
#let ITEM = "vec4<f16>"
#end
@group(0) @binding(0) var<storage, read> q: array<${ITEM}>;
@group(0) @binding(1) var<storage, read> k: array<${FOUR}>;
@group(0) @binding(2) var<storage, read> v: array<${FOUR}>;
@group(0) @binding(3) var<storage, read_write> o: array<${ITEM}>;
@group(0) @binding(4) var<storage, read> numbers: array<i32>;
@group(0) @binding(5) var<storage, read> q_starts: array<i32>;
@group(0) @binding(6) var<storage, read> page_table: array<u32>;
#if KV == "i8"
@group(0) @binding(7) var<storage, read> scales: array<f32>;
/// Of the tile's keys, what their rows of k and of v are multiplied by.
var<workgroup> scales_of: array<vec2<f32>, ${BK}>;
#end

/// Where the rows of k and v of the tile's keys start, k's 0xffffffff of pages that are none.
var<workgroup> starts: array<vec2<u32>, ${BK}>;

fn start_of(sequence: u32) -> i32 { return clamp(q_starts[sequence], 0, params.seq_q); }
/// Tiles of the sequences before one, and a few that have no rows.
fn tiles_before(sequence: u32) -> u32 {
  return u32(start_of(sequence)) * params.share / ${BQ}u + sequence;
}
/// The batch and the place of a key's row; of pages the page and the place in it.
fn place_of(sequence: u32, first_key: i32, key: u32) -> vec2<u32> {
#if PAGED
  var slot = key >> (params.page_shift & 31u);
  if (params.page_shift > 31u) { slot = key / params.page_size; }
  return vec2<u32>(page_table[sequence * params.slots + slot], key - slot * params.page_size);
#elif LENGTHS == 2
  return vec2<u32>(0u, u32(first_key) + key);
#else
  return vec2<u32>(sequence, key);
#end
}
fn read_k(row: u32, d: u32, seen: bool) -> vec4<f32> {
  let start = starts[row].x;
  if (start == 0xffffffffu) { return not_a_number(); }
  if (!seen || d >= params.head_dim) { return vec4<f32>(); }
#if KV == "i8"
  return four(k[(start + d) / 4u]) * scales_of[row].x;
#else
  return four(k[(start + d) / 4u]);
#end
}
fn read_v(row: u32, d: u32, seen: bool) -> vec4<f32> {
  let start = starts[row];
  if (start.x == 0xffffffffu) { return not_a_number(); }
  if (!seen || d >= params.value_dim) { return vec4<f32>(); }
#if KV == "i8"
  return four(v[(start.y + d) / 4u]) * scales_of[row].y;
#else
  return four(v[(start.y + d) / 4u]);
#end
}

@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let tx = t % ${NX}u;
  let ty = t / ${NX}u;
  let matrix = params.first_matrix + group.x;
  // The last rows, which often see the most keys, first.
  var block = groups.y - 1u - group.y;
  var sequence = matrix / params.kv_heads;
  let kv_head = matrix % params.kv_heads;
  var first_query = 0;
  var queries = params.seq_q;
  var of_batch = sequence;
#if RAGGED
  {
    // The last sequence whose tiles start no later than this one.
    var span = params.batch;
    sequence = 0u;
    of_batch = 0u;
    while (span > 1u) {
      let half = span / 2u;
      if (tiles_before(sequence + half) <= block) {
        sequence += half;
        span -= half;
      } else {
        span = half;
      }
    }
    let before = tiles_before(sequence);
    first_query = start_of(sequence);
    queries = select(max(start_of(sequence + 1u) - first_query, 0), 0, before > block);
    block -= min(before, block);
  }
#end
  block *= ${BQ}u;
  let rows = u32(queries) * params.share;
  if (block >= rows) { return; }
  var first_key = 0;
  var keys = params.seq_kv;
#if LENGTHS == 1
  keys = clamp(numbers[sequence], 0, params.seq_kv);
#elif LENGTHS == 2
  first_key = clamp(numbers[sequence], 0, params.seq_kv);
  keys = max(clamp(numbers[sequence + 1u], 0, params.seq_kv) - first_key, 0);
#end
  var low = params.low;
  var high = params.high;
#if AT_END
  low += keys - queries;
  high += keys - queries;
#end
  let query0 = i32(block / params.share);
  let query1 = i32(min(block + ${BQ - 1}u, rows - 1u) / params.share);
  // What some of the rows see, and what all do.
  let first = max(query0 + low, 0);
  let end = min(query1 + high + 1, keys);
  let all_from = max(query1 + low, 0);
  let all_to = min(query0 + high + 1, end);

  let head0 = kv_head * params.share;
  let base_q = params.q_start + of_batch * params.q_batch;
  let base_o = params.o_start + of_batch * params.o_batch;
  let base_k = params.k_start + kv_head * params.k_head;
  let base_v = params.v_start + kv_head * params.v_head;
  let column0 = group.z * ${COLUMNS}u;
  let steps = (params.head_dim + ${STEP - 1}u) / ${STEP}u;
  // Rows past the last one are as it is, and not stored.
#for g in 0..FOURS
  var query_of${g} = vec4<i32>();
#for i in 0..4
  query_of${g}[${i}u] = i32(min(block + ty + ${(g * 4 + i) * NY}u, rows - 1u) / params.share);
#end
#end
#for i in 0..Q_LOADS
  var q_at${i} = 0u;
  {
    let row = min(block + (t + ${i * THREADS}u) / ${ROW}u, rows - 1u);
    q_at${i} = base_q + (head0 + row % params.share) * params.q_head +
               (u32(first_query) + row / params.share) * params.q_seq;
  }
#end

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
  var next_place = vec2<u32>();
  if (t < ${BK}u && first < end) {
    next_place = place_of(sequence, first_key, u32(min(first + i32(t), end - 1)));
  }

  for (var key0 = first; key0 < end; key0 += ${BK}) {
#for g in 0..FOURS
#for j in 0..TK
    var s${g}_${j} = vec4<f32>();
#end
#end
    if (t < ${BK}u) {
      var start = vec2<u32>(base_k + next_place.x * params.k_batch + next_place.y * params.k_seq,
                            base_v + next_place.x * params.v_batch + next_place.y * params.v_seq);
#if PAGED
      // A key past the end is as the last one, and read by nobody.
      if (next_place.x >= params.pages && key0 + i32(t) < end) { start = vec2<u32>(0xffffffffu); }
#end
      starts[t] = start;
#if KV == "i8"
      if (start.x != 0xffffffffu && key0 + i32(t) < end) {
        let at = (next_place.x * 2u * params.kv_heads + kv_head) * params.page_size + next_place.y;
        scales_of[t] = vec2<f32>(scales[at], scales[at + params.kv_heads * params.page_size]);
      }
#end
      next_place = place_of(sequence, first_key, u32(min(key0 + i32(t) + ${BK}, end - 1)));
    }
    workgroupBarrier();
    for (var step = 0u; step <= steps; step++) {
      if (step < steps) {
#for i in 0..Q_LOADS
        {
          let d = step * ${STEP}u + (t + ${i * THREADS}u) % ${ROW}u * 4u;
          next_q${i} = vec4<f32>();
          if (d < params.head_dim) {
            next_q${i} = vec4<f32>(q[(q_at${i} + d) / 4u]) * params.scale;
          }
        }
#end
#for i in 0..K_LOADS
        {
          let row = (t + ${i * THREADS}u) / ${ROW}u;
          let d = step * ${STEP}u + (t + ${i * THREADS}u) % ${ROW}u * 4u;
#if (i + 1) * THREADS > BK * ROW
          if (row < ${BK}u)
#end
          { next_k${i} = read_k(row, d, key0 + i32(row) < end); }
        }
#end
      } else {
#for i in 0..V_LOADS
        {
          let row = (t + ${i * THREADS}u) / ${WIDTH}u;
          let column = column0 + (t + ${i * THREADS}u) % ${WIDTH}u * 4u;
          next_v${i} = read_v(row, column, key0 + i32(row) < end);
        }
#end
      }
#include "attention_tile_scores.wgsl"
    }

#if CAP
#for g in 0..FOURS
#for j in 0..TK
    s${g}_${j} = op_tanh(s${g}_${j} * params.below_cap) * params.cap;
#end
#end
#end
    let all_see = key0 >= all_from && key0 + ${BK} <= all_to;
    if (!all_see) {
#for j in 0..TK
      {
        let key = key0 + i32(tx) + ${j * NX};
#for g in 0..FOURS
        {
          let from_query = vec4<i32>(key) - query_of${g};
          let seen = (from_query >= vec4<i32>(low)) & (from_query <= vec4<i32>(high));
          s${g}_${j} = select(lowest_of_all(), s${g}_${j}, seen & vec4<bool>(key < end));
        }
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
          let row = part + ${VKEYS}u + (t + ${i * THREADS}u) / ${WIDTH}u;
          let column = column0 + (t + ${i * THREADS}u) % ${WIDTH}u * 4u;
          next_v${i} = read_v(row, column, key0 + i32(row) < end);
        }
#end
      }
#for HIDING in 0..2
#if HIDING
      if (!all_see) {
        // What weighs nothing adds nothing: 0 * NaN would show what is hidden.
#else
      if (all_see) {
#end
#for j in 0..VKEYS
        {
#for c in 0..VECTORS
          let y${c} = values[of_v + ${j * WIDTH + c * NX}u + tx];
#end
#for g in 0..FOURS
          let p${g} = tile[(part + ${j}u) * ${QUERIES}u + ${g * NY}u + ty];
#if HIDING
          let nothing${g} = bitcast<vec4<u32>>(p${g}) == vec4<u32>();
#end
#for i in 0..4
#for c in 0..VECTORS
#let O = g * 4 + i
#if HIDING
          o${O}_${c} = select(fma(vec4<f32>(p${g}[${i}u]), y${c}, o${O}_${c}), o${O}_${c},
                              nothing${g}[${i}u]);
#else
          o${O}_${c} = fma(vec4<f32>(p${g}[${i}u]), y${c}, o${O}_${c});
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
  if (block + ty + ${i * NY}u < rows) {
    let row = block + ty + ${i * NY}u;
    let base = base_o + (head0 + row % params.share) * params.o_head +
               u32(first_query + query_of${i / 4}[${i % 4}u]) * params.o_seq;
    let sum = sums${i / 4}[${i % 4}u];
    // A row that sees nothing is 0.
    let empty = (bitcast<u32>(sum) & 0x7fffffffu) == 0u;
#for c in 0..VECTORS
    {
      let column = column0 + (${c * NX}u + tx) * 4u;
      if (column < params.value_dim) {
        o[(base + column) / 4u] = ${ITEM}(select(o${i}_${c} / sum, vec4<f32>(), empty));
      }
    }
#end
  }
#end
}
