// attention with any of its options: NY * 4 rows of q that see the keys of one kv head and 4 NX
// columns of o a workgroup, keys in tiles of 2 NX, a running maximum and sum for each row. Rows of
// q are those of all heads that share the kv head, of each query behind each other, so that a tile
// of rows sees nearly the same keys; tiles of keys that no row of it sees are left out.
// 0 q, 1 k, 2 v, 3 o, rows by strides in elements, or with PIECES the sums over each piece's keys
// not yet divided, piece by piece in float32, and from params.tops on the maximum and the sum of
// each; 4 the mask or where the queries of each sequence start, 5 the keys of each or where they
// start, 6 the page table, 7 of int8 the scales of rows. What a call has not got may be any buffer.
// Work-items lie as NY x NX: each has every NY-th row, every NX-th key of a tile and a vec4 of o's
// columns. Its four rows share a vec4.
// Variables: NX, NY, VECTOR (1: rows are whole vec4), PIECES, T, KV (how k and v are stored: T, f16
// or i8, int8 with scales); MASK (1: bools, 2: of T, added), CAP,
// LENGTHS (1: how many keys, 2: where they start), RAGGED (queries lie behind each other), PAGED,
// AT_END (places are counted from the last key).
//! NX: 16 32
//! NY: 2 4 8 16
//! VECTOR: 0 1
//! PIECES: 0 1
//! T: f32 f16
//! KV: f32 f16 i8
//! MASK: constant
//! CAP: constant
//! LENGTHS: constant
//! RAGGED: constant
//! PAGED: constant
//! AT_END: constant
//! only: NX == 16 and NY in (4, 16) or NX == 32 and NY in (2, 8)
//! only: PIECES == 0 or NY in (2, 4)
//! only: VECTOR == 1 or NY != 16
//! only: T == "f32" or KV != "f32"
//! only: KV != "i8" or NY != 2
#if T == "f16"
enable f16;
#end
struct Params {
  share: u32, kv_heads: u32, batch: u32, first_matrix: u32, seq_q: i32, seq_kv: i32,
  head_dim: u32, value_dim: u32, low: i32, high: i32, pieces: u32, rows: u32, tops: u32,
  slots: u32, page_size: u32, pages: u32,
  scale: f32, cap: f32, below_cap: f32,
  zero: u32,
  q_start: u32, q_batch: u32, q_head: u32, q_seq: u32,
  k_start: u32, k_batch: u32, k_head: u32, k_seq: u32,
  v_start: u32, v_batch: u32, v_head: u32, v_seq: u32,
  o_start: u32, o_batch: u32, o_head: u32, o_seq: u32,
  m_batch: u32, m_head: u32, m_query: u32, m_key: u32,
}
var<immediate> params: Params;
#include "functions.wgsl"
#include "power_below_one.wgsl"
#let THREADS = NX * NY
#let BQ = NY * 4
#let BK = NX * 2
#let STEP = 16
#let ROW = STEP / 4
#let WIDTH = NX
#let VKEYS = 256 / WIDTH
// Gaps between rows, so that neighbours read other banks.
#let PITCH = ROW + 1
#let QUERIES = NY + 1
#let Q_LOADS = (BQ * ROW + THREADS - 1) / THREADS
#let K_LOADS = (BK * ROW + THREADS - 1) / THREADS
#let V_LOADS = VKEYS * WIDTH / THREADS

#include "stored_fours.wgsl"
#let ITEM = T
#if VECTOR && T == "f16"
#let ITEM = "vec4<f16>"
#elif VECTOR
#let ITEM = "vec4<f32>"
#end
@group(0) @binding(0) var<storage, read> q: array<${ITEM}>;
#if VECTOR
#let STORED = FOUR
#elif KV == T
#let STORED = T
#else
#let STORED = "u32"
#end
@group(0) @binding(1) var<storage, read> k: array<${STORED}>;
@group(0) @binding(2) var<storage, read> v: array<${STORED}>;
#if PIECES
@group(0) @binding(3) var<storage, read_write> o: array<f32>;
#else
@group(0) @binding(3) var<storage, read_write> o: array<${ITEM}>;
#end
@group(0) @binding(4) var<storage, read> mask: array<u32>;
@group(0) @binding(5) var<storage, read> numbers: array<i32>;
@group(0) @binding(6) var<storage, read> page_table: array<u32>;
#if KV == "i8"
@group(0) @binding(7) var<storage, read> scales: array<f32>;
#end

// Rows of q and of k while scores are made, then powers by key and four rows.
#let TILE = (BQ + BK) * PITCH
#if BK * QUERIES > TILE
#let TILE = BK * QUERIES
#end
var<workgroup> tile: array<vec4<f32>, ${TILE}>;
// Rows of v; before and after that what work-items tell the others of their rows.
#let VALUES = VKEYS * WIDTH
#if NX * QUERIES > VALUES
#let VALUES = NX * QUERIES
#end
var<workgroup> values: array<vec4<f32>, ${VALUES}>;

#for X in 0..3
#if X == 0
#let NAME = "q"
#let LENGTH = "head_dim"
#elif X == 1
#let NAME = "k"
#let LENGTH = "head_dim"
#else
#let NAME = "v"
#let LENGTH = "value_dim"
#end
/// Four elements from column d on of the row that starts there; 0 past its end.
fn read_${NAME}(start: u32, d: u32) -> vec4<f32> {
  let at = start + d;
#if VECTOR
  if (d >= params.${LENGTH}) { return vec4<f32>(); }
#if X == 0
  return vec4<f32>(q[at / 4u]);
#else
  return four(${NAME}[at / 4u]);
#end
#else
  var x = vec4<f32>();
#for e in 0..4
  if (d + ${e}u < params.${LENGTH}) {
    let place = at + ${e}u;
#if X == 0 || KV == T
    x[${e}u] = f32(${NAME}[place]);
#elif KV == "f16"
    x[${e}u] = unpack2x16float(${NAME}[place / 2u] >> (place % 2u * 16u)).x;
#else
    x[${e}u] = f32(bitcast<i32>(${NAME}[place / 4u] << (24u - place % 4u * 8u)) >> 24u);
#end
  }
#end
  return x;
#end
}
#end

fn lowest_of_all() -> vec4<f32> { return bitcast<vec4<f32>>(vec4<u32>(0xff800000u ^ params.zero)); }
fn is_zero(x: vec4<f32>) -> vec4<bool> { return bitcast<vec4<u32>>(x) == vec4<u32>(0u); }

/// The batch and the place of a key's row; of pages the page and the place in it. A page that is
/// none is larger than all.
fn place_of(sequence: u32, first_key: i32, key: u32) -> vec2<u32> {
#if PAGED
  let page = page_table[sequence * params.slots + key / params.page_size];
  return vec2<u32>(select(0xffffffffu, page, page < params.pages), key % params.page_size);
#elif LENGTHS == 2
  return vec2<u32>(0u, u32(first_key) + key);
#else
  return vec2<u32>(sequence, key);
#end
}

#if KV == "i8"
/// What rows of k are multiplied by, from those of a page and a head on.
fn scale_at(place: vec2<u32>, head: u32) -> f32 {
  return scales[(place.x * 2u * params.kv_heads + head) * params.page_size + place.y];
}
#end

#if PIECES == 0
/// Where there are such starts there is no mask.
fn start_of(sequence: u32) -> i32 {
  return clamp(bitcast<i32>(mask[sequence]), 0, params.seq_q);
}
/// Tiles of the sequences before one, and a few that have no rows.
fn tiles_before(sequence: u32) -> u32 {
  return u32(start_of(sequence)) * params.share / ${BQ}u + sequence;
}
#end

/// What a mask adds to the score of a key, or where it hides it -infinity.
fn mask_at(at: u32) -> f32 {
#if MASK == 1
  let byte = (mask[at / 4u] >> (at % 4u * 8u)) & 0xffu;
  return select(bitcast<f32>(0xff800000u ^ params.zero), 0.0, byte != 0u);
#else
#if T == "f16"
  let both = unpack2x16float(mask[at / 2u]);
  return select(both.x, both.y, at % 2u == 1u);
#else
  return bitcast<f32>(mask[at]);
#end
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
#if PIECES
  let piece = block % params.pieces;
  block = block / params.pieces;
#end
  var sequence = matrix / params.kv_heads;
  let kv_head = matrix % params.kv_heads;
  var first_query = 0;
  var queries = params.seq_q;
#if PIECES == 0
#if RAGGED
  {
    // The last sequence whose tiles start no later than this one.
    var span = params.batch;
    sequence = 0u;
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
  var first = max(query0 + low, 0);
  var end = min(query1 + high + 1, keys);
  let all_from = max(query1 + low, 0);
  let all_to = min(query0 + high + 1, keys);
#if PIECES
  {
    let part = (max(end - first, 0) + i32(params.pieces) - 1) / i32(params.pieces);
    let whole = (part + ${BK - 1}) / ${BK} * ${BK};
    first += whole * i32(piece);
    end = min(end, first + whole);
  }
#end

#if RAGGED
  let of_batch = 0u;
#else
  let of_batch = sequence;
#end
  let head0 = kv_head * params.share;
  let base_q = params.q_start + of_batch * params.q_batch;
  let base_o = params.o_start + of_batch * params.o_batch;
  let base_k = params.k_start + kv_head * params.k_head;
  let base_v = params.v_start + kv_head * params.v_head;
  let column = group.z * ${4 * NX}u + tx * 4u;
  let steps = (params.head_dim + ${STEP - 1}u) / ${STEP}u;
  // Rows past the last one are as it is, and not stored.
  var query_of = vec4<i32>();
  var head_of = vec4<u32>();
#for i in 0..4
  {
    let row = min(block + ty + ${i * NY}u, rows - 1u);
    query_of[${i}u] = i32(row / params.share);
    head_of[${i}u] = head0 + row % params.share;
  }
#end
#for i in 0..Q_LOADS
  var q_at${i} = 0u;
  {
    let row = min(block + (t + ${i * THREADS}u) / ${ROW}u, rows - 1u);
    q_at${i} = base_q + (head0 + row % params.share) * params.q_head +
               (u32(first_query) + row / params.share) * params.q_seq;
  }
#end
  var top = lowest_of_all();
  var sum = vec4<f32>();
#for i in 0..4
  var o${i} = vec4<f32>();
#end

  for (var key0 = first; key0 < end; key0 += ${BK}) {
#for i in 0..K_LOADS
    var k_at${i} = 0u;
#if KV == "i8"
    var k_scale${i} = 0.0;
#else
    var k_page${i} = 0u;
#end
    {
      let key = key0 + i32((t + ${i * THREADS}u) / ${ROW}u);
      if (key < end) {
        let place = place_of(sequence, first_key, u32(key));
#if KV == "i8"
        // Of a page that is none another row is read, times NaN.
        let is_none = place.x == 0xffffffffu;
        let near = select(place, vec2<u32>(), is_none);
        k_at${i} = base_k + near.x * params.k_batch + near.y * params.k_seq;
        k_scale${i} = select(scale_at(near, kv_head), not_a_number().x, is_none);
#else
        k_page${i} = place.x;
        k_at${i} = base_k + place.x * params.k_batch + place.y * params.k_seq;
#end
      }
    }
#end
    var s0 = vec4<f32>();
    var s1 = vec4<f32>();
    for (var step = 0u; step < steps; step++) {
      workgroupBarrier();
#for i in 0..Q_LOADS
      {
        let at = t + ${i * THREADS}u;
#if (i + 1) * THREADS > BQ * ROW
        if (at < ${BQ * ROW}u)
#end
        {
          let d = step * ${STEP}u + at % ${ROW}u * 4u;
          tile[at / ${ROW}u * ${PITCH}u + at % ${ROW}u] = read_q(q_at${i}, d) * params.scale;
        }
      }
#end
#for i in 0..K_LOADS
      {
        let at = t + ${i * THREADS}u;
#if (i + 1) * THREADS > BK * ROW
        if (at < ${BK * ROW}u)
#end
        {
          let d = step * ${STEP}u + at % ${ROW}u * 4u;
          var x = vec4<f32>();
#if KV == "i8"
          if (key0 + i32(at / ${ROW}u) < end) { x = read_k(k_at${i}, d) * k_scale${i}; }
#else
          if (k_page${i} == 0xffffffffu) {
            x = not_a_number();
          } else if (key0 + i32(at / ${ROW}u) < end) {
            x = read_k(k_at${i}, d);
          }
#end
          tile[${BQ * PITCH}u + at / ${ROW}u * ${PITCH}u + at % ${ROW}u] = x;
        }
      }
#end
      workgroupBarrier();
      let of_q = ty * ${PITCH}u;
      let of_k = ${BQ * PITCH}u + tx * ${PITCH}u;
      for (var d = 0u; d < ${ROW}u; d++) {
        let y0 = tile[of_k + d];
        let y1 = tile[of_k + ${NX * PITCH}u + d];
#for i in 0..4
        let x${i} = tile[of_q + ${i * NY * PITCH}u + d];
#end
#for e in 0..4
        {
          let x = vec4<f32>(x0[${e}u], x1[${e}u], x2[${e}u], x3[${e}u]);
          s0 = fma(x, vec4<f32>(y0[${e}u]), s0);
          s1 = fma(x, vec4<f32>(y1[${e}u]), s1);
        }
#end
      }
    }

#if CAP
    s0 = op_tanh(s0 * params.below_cap) * params.cap;
    s1 = op_tanh(s1 * params.below_cap) * params.cap;
#end
#if MASK != 0
#for j in 0..2
    {
      let key = key0 + i32(tx) + ${j * NX};
      if (key < end) {
        let at = sequence * params.m_batch + u32(key) * params.m_key;
#for i in 0..4
        {
          let added = mask_at(at + head_of[${i}u] * params.m_head +
                              u32(query_of[${i}u]) * params.m_query);
          // -infinity hides what is NaN too.
          let hides = bitcast<u32>(added) == 0xff800000u;
          s${j}[${i}u] = select(s${j}[${i}u] + added, added, hides);
        }
#end
      }
    }
#end
#end
    if (key0 < all_from || key0 + ${BK} > min(all_to, end)) {
#for j in 0..2
      {
        let key = key0 + i32(tx) + ${j * NX};
        let from_query = vec4<i32>(key) - query_of;
        let seen = (from_query >= vec4<i32>(low)) & (from_query <= vec4<i32>(high));
        s${j} = select(lowest_of_all(), s${j}, seen & vec4<bool>(key < end));
      }
#end
    }
    // A maximum that leaves out NaN does no harm: the powers and their sum keep it.
    values[tx * ${QUERIES}u + ty] = max(s0, s1);
    workgroupBarrier();
    {
      var higher = top;
      for (var x = 0u; x < ${NX}u; x++) { higher = max(higher, values[x * ${QUERIES}u + ty]); }
      let factor = select(power_below_one(top - higher), vec4<f32>(), top == lowest_of_all());
      top = higher;
      sum *= factor;
#for i in 0..4
      o${i} *= factor[${i}u];
#end
      // There is no maximum to take away while every score is -infinity.
      let reference = select(higher, vec4<f32>(), higher == lowest_of_all());
      let power0 = power_below_one(s0 - reference);
      let power1 = power_below_one(s1 - reference);
      sum += power0 + power1;
      tile[tx * ${QUERIES}u + ty] = power0;
      tile[(tx + ${NX}u) * ${QUERIES}u + ty] = power1;
    }

    for (var part = 0; part < min(${BK}, end - key0); part += ${VKEYS}) {
      workgroupBarrier();
#for i in 0..V_LOADS
      {
        let at = t + ${i * THREADS}u;
        let key = key0 + part + i32(at / ${WIDTH}u);
        var x = vec4<f32>();
        if (key < end) {
          let place = place_of(sequence, first_key, u32(key));
          if (place.x == 0xffffffffu) {
            x = not_a_number();
          } else {
            x = read_v(base_v + place.x * params.v_batch + place.y * params.v_seq,
                       group.z * ${4 * NX}u + at % ${WIDTH}u * 4u);
#if KV == "i8"
            x *= scale_at(place, params.kv_heads + kv_head);
#end
          }
        }
        values[at] = x;
      }
#end
      workgroupBarrier();
      let of_part = u32(part) * ${QUERIES}u + ty;
#if MASK == 0
      if (key0 >= all_from && key0 + ${BK} <= min(all_to, end)) {
        for (var j = 0u; j < ${VKEYS}u; j++) {
          let y = values[j * ${WIDTH}u + tx];
          let p = tile[of_part + j * ${QUERIES}u];
#for i in 0..4
          o${i} = fma(vec4<f32>(p[${i}u]), y, o${i});
#end
        }
        continue;
      }
#end
      // What weighs nothing adds nothing: 0 * NaN would show what is hidden.
      for (var j = 0u; j < ${VKEYS}u; j++) {
        let y = values[j * ${WIDTH}u + tx];
        let p = tile[of_part + j * ${QUERIES}u];
        let nothing = is_zero(p);
#for i in 0..4
        o${i} = select(fma(vec4<f32>(p[${i}u]), y, o${i}), o${i}, nothing[${i}u]);
#end
      }
    }
  }

  // The sums of each row's work-items.
  workgroupBarrier();
  values[tx * ${QUERIES}u + ty] = sum;
  workgroupBarrier();
  var sums = vec4<f32>();
  for (var x = 0u; x < ${NX}u; x++) { sums += values[x * ${QUERIES}u + ty]; }
#for i in 0..4
  if (block + ty + ${i * NY}u < rows) {
    let query = u32(first_query + query_of[${i}u]);
#if PIECES
    let row = piece * params.rows +
              (sequence * params.kv_heads * params.share + head_of[${i}u]) * u32(params.seq_q) + query;
    let at = row * params.value_dim + column;
#for e in 0..4
    if (column + ${e}u < params.value_dim) { o[at + ${e}u] = o${i}[${e}u]; }
#end
    if (column == 0u) {
      o[params.tops + 2u * row] = top[${i}u];
      o[params.tops + 2u * row + 1u] = sums[${i}u];
    }
#else
    let at = base_o + head_of[${i}u] * params.o_head + query * params.o_seq + column;
    // A row that sees nothing is 0.
    let result = select(o${i} / sums[${i}u], vec4<f32>(), is_zero(sums)[${i}u]);
#if VECTOR
    if (column < params.value_dim) { o[at / 4u] = ${ITEM}(result); }
#else
#for e in 0..4
    if (column + ${e}u < params.value_dim) { o[at + ${e}u] = ${T}(result[${e}u]); }
#end
#end
#end
  }
#end
}
