// attention of few queries over many keys: up to ROWS heads of one query that share a kv head, and
// one piece of the keys that it sees, a workgroup, so that each key and value is read once for all.
// Pieces are joined by attention_join.wgsl; one without keys has the sum 0 and writes nothing
// else, and queries that are in no sequence have the sum -1.
// 0 q, 1 k, 2 v, 3 o, rows by strides in elements, or with PIECES the sums over each piece's keys
// not yet divided, piece by piece in float32, and from params.tops on the maximum and the sum of
// each; 4 the keys of each sequence or where they start, 5 where the queries of each start; 6 the
// page table; 7 of int8 the scales of rows. What a call has not got may be any buffer. Rows are
// whole vectors of 16 bytes, of int8 of 8.
// LANES work-items have a vector each of a row of k and of v, WALKERS of these rows lie beside each
// other. Every walker has a maximum and a sum of its own, and they are joined in the end.
// Variables: LANES (a power of two, with a vector each at least a row), ROWS, KEYS (of a walker at
// a time), PIECES, T, KV (how k and v are stored: T, f16 or i8, int8 with scales); CAP, LENGTHS (1: how many keys, 2: where they start), RAGGED (queries lie
// behind each other), PAGED, AT_END (places are counted from the last key).
//! LANES: 4 8 16 32 64
//! ROWS: 1 2 4
//! KEYS: 2
//! PIECES: 0 1
//! T: f32 f16
//! KV: f32 f16 i8
//! CAP: constant
//! LENGTHS: constant
//! RAGGED: constant
//! PAGED: constant
//! AT_END: constant
//! only: KV != "f32" and LANES < 64 and ROWS < 4 or KV == "f32" and T == "f32" and LANES > 4
#if T == "f16"
enable f16;
#end
struct Params {
  share: u32, chunks: u32, kv_heads: u32, heads: u32, batch: u32, queries: u32, seq_q: u32,
  seq_kv: i32, head_dim: u32, value_dim: u32, low: i32, high: i32,
  pieces: u32, least: i32, rows: u32, tops: u32, groups: u32,
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
#let GROUP = 128
#let WALKERS = GROUP / LANES
#let ITEM = "vec4<f32>"
#if T == "f16"
#let ITEM = "vec4<f16>"
#end
#let FOURS = 2
#let VECTOR = "vec4<u32>"
#if KV == "i8"
#let VECTOR = "vec2<u32>"
#elif KV == "f16"
#let NAN = "0x7e007e00u"
#else
#let FOURS = 1
#let NAN = "0x7fc00000u"
#end
#let COLUMNS = FOURS * 4
#let BLOCK = WALKERS * KEYS
#let SCORES = BLOCK * ROWS
// A gap, so that neighbours write to other banks.
#let PITCH = SCORES + 1
// Rows of o that are joined at a time.
#let JOINED = 4 / FOURS
#if JOINED > ROWS
#let JOINED = ROWS
#end
#let OF_ROW = COLUMNS * (LANES + 1)
#let AT_ONCE = 4
#if WALKERS < 4
#let AT_ONCE = 2
#end
#let PARTS = LANES * PITCH
#if JOINED * WALKERS * OF_ROW > PARTS
#let PARTS = JOINED * WALKERS * OF_ROW
#end
@group(0) @binding(0) var<storage, read> q: array<${ITEM}>;
@group(0) @binding(1) var<storage, read> k: array<${VECTOR}>;
@group(0) @binding(2) var<storage, read> v: array<${VECTOR}>;
#if PIECES
@group(0) @binding(3) var<storage, read_write> o: array<f32>;
#else
@group(0) @binding(3) var<storage, read_write> o: array<${T}>;
#end
@group(0) @binding(4) var<storage, read> numbers: array<i32>;
@group(0) @binding(5) var<storage, read> q_starts: array<i32>;
@group(0) @binding(6) var<storage, read> page_table: array<u32>;
#if KV == "i8"
@group(0) @binding(7) var<storage, read> scales: array<f32>;
#end

var<workgroup> parts: array<f32, ${PARTS}>;
var<workgroup> scores: array<f32, ${SCORES}>;
var<workgroup> tops: array<f32, ${WALKERS * ROWS}>;

fn lowest() -> f32 { return bitcast<f32>(0xff800000u ^ params.zero); }
/// e^x for x <= 0; what would be subnormal is 0, NaN stays.
fn power_of(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  // By bits, from just below -87.33654 to -infinity: compilers may take NaN for smaller.
  let tiny = bits - 0xc2aeac50u <= 0x3cd153b0u;
  return select(select(exp(x), 0.0, tiny), x, (bits & 0x7fffffffu) > 0x7f800000u);
}
#if PIECES
fn tell_sum(row: u32, top: f32, sum: f32) {
  o[params.tops + 2u * row] = top;
  o[params.tops + 2u * row + 1u] = sum;
}
#end
#if KV == "i8"
#include "stored_fours.wgsl"
#end
fn start_of(sequence: u32) -> i32 { return clamp(q_starts[sequence], 0, i32(params.seq_q)); }

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

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let index = group.x + group.y * groups.x;
  if (index >= params.groups) { return; }
  let matrices = params.kv_heads * params.chunks;
  let matrix = index % matrices;
  let row0 = index / matrices;
  let query = row0 % params.queries;
#if PIECES
  let piece = row0 / params.queries;
#end
  let kv_head = matrix / params.chunks;
  let first_row = matrix % params.chunks * ${ROWS}u;
  let head0 = kv_head * params.share + first_row;
  let lane = t % ${LANES}u;
  let walker = t / ${LANES}u;

  var sequence = query / params.seq_q;
  var own_query = i32(query % params.seq_q);
  var queries = i32(params.seq_q);
  var of_batch = sequence;
  var of_seq = query % params.seq_q;
#if RAGGED
  // Nearly always every sequence has one query.
  sequence = min(query, params.batch - 1u);
  var first_query = start_of(sequence);
  var past_query = start_of(sequence + 1u);
#end
  var first_key = 0;
  var keys = params.seq_kv;
#if LENGTHS == 1
  keys = numbers[sequence];
#end
#if RAGGED
  if (i32(query) < first_query || i32(query) >= past_query) {
    var span = params.batch;
    sequence = 0u;
    while (span > 1u) {
      let half = span / 2u;
      if (start_of(sequence + half) <= i32(query)) {
        sequence += half;
        span -= half;
      } else {
        span = half;
      }
    }
    first_query = start_of(sequence);
    past_query = start_of(sequence + 1u);
#if LENGTHS == 1
    keys = numbers[sequence];
#end
  }
  own_query = i32(query) - first_query;
  queries = past_query - first_query;
  of_batch = 0u;
  of_seq = query;
  if (own_query < 0 || own_query >= queries) {
#if PIECES
    if (t < ${ROWS}u && first_row + t < params.share) {
      tell_sum(piece * params.rows + (head0 + t) * params.seq_q + query, lowest(), -1.0);
    }
#end
    return;
  }
#end
#if LENGTHS == 1
  keys = clamp(keys, 0, params.seq_kv);
#elif LENGTHS == 2
  first_key = clamp(numbers[sequence], 0, params.seq_kv);
  keys = max(clamp(numbers[sequence + 1u], 0, params.seq_kv) - first_key, 0);
#end
  var low = own_query + params.low;
  var high = own_query + params.high;
#if AT_END
  low += keys - queries;
  high += keys - queries;
#end
  var first = max(low, 0);
  var end = min(high + 1, keys);
#if PIECES
  {
    let part = (max(end - first, 0) + i32(params.pieces) - 1) / i32(params.pieces);
    let whole = max((part + ${BLOCK - 1}) / ${BLOCK} * ${BLOCK}, params.least);
    first += whole * i32(piece);
    end = min(end, first + whole);
    if (first >= end) {
      if (t < ${ROWS}u && first_row + t < params.share) {
        tell_sum(piece * params.rows +
                     (of_batch * params.heads + head0 + t) * params.seq_q + of_seq,
                 lowest(), 0.0);
      }
      return;
    }
  }
#end

  // In vectors from here on, but for q and o.
  let column = lane * ${COLUMNS}u;
  let has_k = column < params.head_dim;
  let has_v = column < params.value_dim;
  let base_q = params.q_start + of_batch * params.q_batch + of_seq * params.q_seq;
  let base_k = (params.k_start + kv_head * params.k_head) / ${COLUMNS}u + lane;
  let base_v = (params.v_start + kv_head * params.v_head) / ${COLUMNS}u + lane;
  let k_batch = params.k_batch / ${COLUMNS}u;
  let v_batch = params.v_batch / ${COLUMNS}u;
  let k_seq = params.k_seq / ${COLUMNS}u;
  let v_seq = params.v_seq / ${COLUMNS}u;
#for u in 0..KEYS
  var place${u} = vec2<u32>();
  var next_place${u} = vec2<u32>();
  var bad${u} = false;
  var k${u} = ${VECTOR}();
  var v${u} = ${VECTOR}();
#if KV == "i8"
  var k_scale${u} = 0.0;
  var v_scale${u} = 0.0;
#end
#end
#if KV == "i8"
  let of_page = 2u * params.kv_heads * params.page_size;
  let base_scale = kv_head * params.page_size;
  let base_v_scale = (params.kv_heads + kv_head) * params.page_size;
#end
  if (first < end) {
#for u in 0..KEYS
    place${u} = place_of(sequence, first_key,
                         u32(min(first + i32(walker) + ${u * WALKERS}, end - 1)));
#end
#for u in 0..KEYS
    next_place${u} = place_of(sequence, first_key,
                              u32(min(first + i32(walker) + ${BLOCK + u * WALKERS}, end - 1)));
#end
#for u in 0..KEYS
#if PAGED
    bad${u} = place${u}.x >= params.pages;
    if (bad${u}) { place${u} = vec2<u32>(); }
#end
    if (has_k) { k${u} = k[base_k + place${u}.x * k_batch + place${u}.y * k_seq]; }
#if KV == "i8"
    k_scale${u} = scales[base_scale + place${u}.x * of_page + place${u}.y];
#end
#end
  }
  // Rows past the last one are as it is, and not stored.
#for r in 0..ROWS
#for f in 0..FOURS
  var q${r}_${f} = vec4<f32>();
  var o${r}_${f} = vec4<f32>();
#end
  if (has_k) {
    let row = kv_head * params.share + min(first_row + ${r}u, params.share - 1u);
    let at = base_q + row * params.q_head;
#for f in 0..FOURS
    q${r}_${f} = vec4<f32>(q[(at + column) / 4u + ${f}u]) * params.scale;
#end
  }
  var top${r} = lowest();
  var sum${r} = 0.0;
#end

  for (var key0 = first; key0 < end; key0 += ${BLOCK}) {
    if (has_v) {
#for u in 0..KEYS
      v${u} = v[base_v + place${u}.x * v_batch + place${u}.y * v_seq];
#end
    }
#if KV == "i8"
#for u in 0..KEYS
    v_scale${u} = scales[base_v_scale + place${u}.x * of_page + place${u}.y];
#end
#end
#for u in 0..KEYS
    {
#if KV == "i8"
      if (bad${u}) { k_scale${u} = bitcast<f32>(0x7fc00000u ^ params.zero); }
#for f in 0..FOURS
      let x${f} = four(k${u}[${f}u]);
#end
#else
      if (bad${u}) { k${u}.x = ${NAN}; }
#if KV == "f16"
      let x0 = vec4<f32>(unpack2x16float(k${u}.x), unpack2x16float(k${u}.y));
      let x1 = vec4<f32>(unpack2x16float(k${u}.z), unpack2x16float(k${u}.w));
#else
      let x0 = bitcast<vec4<f32>>(k${u});
#end
#end
      let to = lane * ${PITCH}u + (walker + ${u * WALKERS}u) * ${ROWS}u;
#for r in 0..ROWS
#if KV == "i8"
      var part${r} = dot(q${r}_0, x0);
#for f in 1..FOURS
      part${r} += dot(q${r}_${f}, x${f});
#end
      parts[to + ${r}u] = part${r} * k_scale${u};
#elif KV == "f16"
      parts[to + ${r}u] = dot(q${r}_0, x0) + dot(q${r}_1, x1);
#else
      parts[to + ${r}u] = dot(q${r}_0, x0);
#end
#end
    }
#end
    // The next keys are on their way while these are weighed.
#for u in 0..KEYS
    place${u} = next_place${u};
#if PAGED
    bad${u} = place${u}.x >= params.pages;
    if (bad${u}) { place${u} = vec2<u32>(); }
#end
#end
    if (has_k) {
#for u in 0..KEYS
      k${u} = k[base_k + place${u}.x * k_batch + place${u}.y * k_seq];
#end
    }
#if KV == "i8"
#for u in 0..KEYS
    k_scale${u} = scales[base_scale + place${u}.x * of_page + place${u}.y];
#end
#end
#for u in 0..KEYS
    next_place${u} = place_of(sequence, first_key,
                              u32(min(key0 + i32(walker) + ${2 * BLOCK + u * WALKERS}, end - 1)));
#end
    workgroupBarrier();
    for (var i = t; i < ${SCORES}u; i += ${GROUP}u) {
#for l in 0..4
      var part${l} = parts[${l}u * ${PITCH}u + i];
#end
#for l in 4..LANES
      part${l % 4} += parts[${l * PITCH}u + i];
#end
      var score = (part0 + part1) + (part2 + part3);
#if CAP
      score = op_tanh(splat(score * params.below_cap)).x * params.cap;
#end
      scores[i] = select(lowest(), score, key0 + i32(i / ${ROWS}u) < end);
    }
    workgroupBarrier();
    if (key0 + ${BLOCK} > end) {
#for u in 0..KEYS
      if (key0 + i32(walker) + ${u * WALKERS} >= end) {
        v${u} = ${VECTOR}();
#if KV == "i8"
        v_scale${u} = 0.0;
#end
      }
#end
    }
#for r in 0..ROWS
    var higher${r} = top${r};
#for u in 0..KEYS
    var power${r}_${u} = scores[(walker + ${u * WALKERS}u) * ${ROWS}u + ${r}u];
    // A maximum that leaves out NaN does no harm: the powers and their sum keep it.
    higher${r} = max(higher${r}, power${r}_${u});
#end
    if (higher${r} != top${r}) {
      let factor = select(power_of(top${r} - higher${r}), 0.0, top${r} == lowest());
      top${r} = higher${r};
      sum${r} *= factor;
#for f in 0..FOURS
      o${r}_${f} *= factor;
#end
    }
    {
      // There is no maximum to take away while every score is -infinity.
      let reference = select(top${r}, 0.0, top${r} == lowest());
#for u in 0..KEYS
      power${r}_${u} = power_of(power${r}_${u} - reference);
      sum${r} += power${r}_${u};
#end
    }
#end
#for u in 0..KEYS
    {
#if KV == "i8"
#for f in 0..FOURS
      let x${f} = four(v${u}[${f}u]);
#end
#elif KV == "f16"
      let x0 = vec4<f32>(unpack2x16float(v${u}.x), unpack2x16float(v${u}.y));
      let x1 = vec4<f32>(unpack2x16float(v${u}.z), unpack2x16float(v${u}.w));
#else
      let x0 = bitcast<vec4<f32>>(v${u});
#end
#for r in 0..ROWS
#if KV == "i8"
      let weight${r} = vec4<f32>(power${r}_${u} * v_scale${u});
#else
      let weight${r} = vec4<f32>(power${r}_${u});
#end
#for f in 0..FOURS
      o${r}_${f} = fma(weight${r}, x${f}, o${r}_${f});
#end
#end
    }
#end
  }

  // The walkers joined.
  if (lane == 0u) {
#for r in 0..ROWS
    tops[walker * ${ROWS}u + ${r}u] = top${r};
#end
  }
  workgroupBarrier();
#for r in 0..ROWS
  var higher${r} = lowest();
#end
  for (var w = 0u; w < ${WALKERS}u; w += ${AT_ONCE}u) {
#for r in 0..ROWS
#for e in 0..AT_ONCE
    higher${r} = max(higher${r}, tops[(w + ${e}u) * ${ROWS}u + ${r}u]);
#end
#end
  }
#for r in 0..ROWS
  {
    // A walker that has only -infinity has no maximum, but may have a NaN.
    let factor = select(power_of(top${r} - higher${r}), 0.0, top${r} == lowest());
    sum${r} *= factor;
#for f in 0..FOURS
    o${r}_${f} *= factor;
#end
  }
#end
#for r0 in 0..(ROWS / JOINED)
#if r0 > 0
  workgroupBarrier();
#end
#for j in 0..JOINED
#let R = r0 * JOINED + j
#for f in 0..FOURS
#for e in 0..4
  parts[(${j * WALKERS}u + walker) * ${OF_ROW}u + ${(f * 4 + e) * (LANES + 1)}u + lane] =
      o${R}_${f}[${e}u];
#end
#end
  // In the gap.
  if (lane == 0u) { parts[(${j * WALKERS}u + walker) * ${OF_ROW}u + ${LANES}u] = sum${R}; }
#end
  workgroupBarrier();
  for (var d = t; d < params.value_dim; d += ${GROUP}u) {
    let at = d % ${COLUMNS}u * ${LANES + 1}u + d / ${COLUMNS}u;
#for j in 0..JOINED
    var sum_of${j} = 0.0;
    var result${j} = 0.0;
#end
    for (var w = 0u; w < ${WALKERS}u; w += ${AT_ONCE}u) {
#for j in 0..JOINED
#for e in 0..AT_ONCE
      sum_of${j} += parts[(w + ${j * WALKERS + e}u) * ${OF_ROW}u + ${LANES}u];
      result${j} += parts[(w + ${j * WALKERS + e}u) * ${OF_ROW}u + at];
#end
#end
    }
#for j in 0..JOINED
#let R = r0 * JOINED + j
    if (first_row + ${R}u < params.share) {
#if PIECES
      let row = piece * params.rows +
                (of_batch * params.heads + head0 + ${R}u) * params.seq_q + of_seq;
      if (d == 0u) { tell_sum(row, higher${R}, sum_of${j}); }
      o[row * params.value_dim + d] = result${j};
#else
      // A row that sees nothing is 0.
      let divisor = select(sum_of${j}, 1.0, (bitcast<u32>(sum_of${j}) & 0x7fffffffu) == 0u);
      o[params.o_start + of_batch * params.o_batch + (head0 + ${R}u) * params.o_head +
        of_seq * params.o_seq + d] = ${T}(result${j} / divisor);
#end
    }
#end
  }
#end
}
