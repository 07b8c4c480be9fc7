// attention_many.wgsl's attention of float16 on matrix units: BQ of its rows a workgroup, KEYS keys
// at a time, float32 sums.
// Strips of WM rows lie below each other; ACROSS subgroups share one, each with its part of the keys
// for scores and of the columns for o. Scores leave for workgroup memory, where work-items make
// powers of them, which come back as matrices. A power is a float16 and what that lacks, PARTS of
// them, so that it is as exact as a float32; sums of powers are those before rounding.
// Units cannot scale the rows of o, so powers are over a reference that lags behind the maximum of
// their row, by less than 2^8. Where one moves, o goes through workgroup memory, as it does where a
// value is not finite: 0 times that is not 0, for rows that do not see it and for what powers lack.
// 0 q, 1 k, 2 v, 3 o, rows of whole vec4 of eight by strides in elements; 4 the keys of each
// sequence or where they start, 5 where the queries of each start; 6 the page table. What a call has
// not got may be any buffer.
// Variables: BQ, KEYS, WM, ACROSS, SHARED (1: scores lie where k was), PARTS; UM UN UK of
// matrix_units.wgsl; LANES (of a subgroup); D, DV (of a head, rounded up to whole units); STRIP
// (columns of o that leave at a time); CAP, LENGTHS, RAGGED, PAGED, AT_END as of
// attention_general.wgsl; EMPTY (1: rows may see nothing).
enable f16;
enable subgroups;
enable chromium_experimental_subgroup_matrix;
diagnostic(off, chromium.subgroup_matrix_uniformity);
diagnostic(off, subgroup_uniformity);
#let SUBGROUPS = BQ / WM * ACROSS
#let THREADS = SUBGROUPS * LANES
#let OWN_KEYS = KEYS / ACROSS
#let OWN_COLUMNS = DV / ACROSS
// Vec4 from one line to the next.
#let WIDE_K = D / 8
#let WIDE_V = DV / 8
#let STEP_K = WIDE_K + 1
#let STEP_V = WIDE_V + 1
#let STEP_S = KEYS / 4 + 1
#let UNIT = UM * UN / 4
#let FROM_V = KEYS * STEP_K
#if SHARED
#let FROM_S = 0
#if BQ * STEP_S > FROM_V
#let FROM_V = BQ * STEP_S
#end
#let FROM_O = FROM_V + KEYS * STEP_V
#let ROOM_O = SUBGROUPS * UNIT
#if SUBGROUPS > 4
#let ROOM_O = 4 * UNIT
#end
#let HELD = FROM_O + ROOM_O
#else
#let FROM_S = FROM_V + KEYS * STEP_V
#let FROM_O = 0
#let ROOM_O = FROM_V
#let HELD = FROM_S + BQ * STEP_S
#end
#if BQ * STEP_K > HELD
#let HELD = BQ * STEP_K
#end
#let LOADS_Q = (BQ * WIDE_K + THREADS - 1) / THREADS
#let LOADS_K = (KEYS * WIDE_K + THREADS - 1) / THREADS
#let LOADS_V = (KEYS * WIDE_V + THREADS - 1) / THREADS
// Work-items of a row, or rows of a work-item. A work-item has the keys of a unit, or of more.
#let SPLIT = 1
#let EACH = 1
#if THREADS > BQ
#let SPLIT = THREADS / BQ
#if SPLIT > KEYS / UK
#let SPLIT = KEYS / UK
#end
#else
#let EACH = BQ / THREADS
#end
#let PART = KEYS / SPLIT
#let IDLE = THREADS > BQ * SPLIT
// Subgroups that have a unit of o in workgroup memory at a time.
#let TURNS = (SUBGROUPS * UNIT + ROOM_O - 1) / ROOM_O
#let AT_A_TIME = (SUBGROUPS + TURNS - 1) / TURNS
struct Params {
  share: u32, kv_heads: u32, batch: u32, first_matrix: u32, seq_q: i32, seq_kv: i32,
  head_dim: u32, value_dim: u32, low: i32, high: i32,
  slots: u32, page_size: u32, page_shift: u32, pages: u32,
  factor: f32,  // of a score: to powers of two, with CAP to parts of the cap
  cap: f32,     // in powers of two
  zero: u32,
  q_start: u32, q_batch: u32, q_head: u32, q_seq: u32,
  k_start: u32, k_batch: u32, k_head: u32, k_seq: u32,
  v_start: u32, v_batch: u32, v_head: u32, v_seq: u32,
  o_start: u32, o_batch: u32, o_head: u32, o_seq: u32,
}
var<immediate> params: Params;
#if CAP
#let T = "f16"
#include "functions.wgsl"
#end

@group(0) @binding(0) var<storage, read> q: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> k: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> v: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> o: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> numbers: array<i32>;
@group(0) @binding(5) var<storage, read> q_starts: array<i32>;
@group(0) @binding(6) var<storage, read> page_table: array<u32>;
/// Rows of k, of v, and scores, then powers; before that rows of q, after it o.
var<workgroup> held: array<vec4<u32>, ${HELD}>;
/// What o of each row is multiplied by; at the end its sum of powers.
var<workgroup> factors: array<f32, ${BQ}>;
/// 1: some of them are not 1; 2: some of v is not finite.
var<workgroup> events: atomic<u32>;
#include "matrix_units.wgsl"
fn load_sums(place: u32, apart: u32) -> Sums {
  return subgroupMatrixLoad<Sums, row_major>(&held, place, apart);
}

fn lowest() -> f32 { return bitcast<f32>(0xff800000u ^ params.zero); }
/// Of eight float16: to an exponent of ones one more is the sign.
fn is_finite(x: vec4<u32>) -> bool {
  let sums = (x & vec4<u32>(0x7c007c00u)) + vec4<u32>(0x04000400u);
  return ((sums[0] | sums[1] | sums[2] | sums[3]) & 0x80008000u) == 0u;
}
/// To the digits of float16, by bits: compilers take a conversion there and back for none.
fn to_half(x: vec4<f32>) -> vec4<f32> {
  return bitcast<vec4<f32>>((bitcast<vec4<u32>>(x) + vec4<u32>(0x1000u)) & vec4<u32>(0xffffe000u));
}
fn packed_eight(a: vec4<f32>, b: vec4<f32>) -> vec4<u32> {
  return vec4<u32>(pack2x16float(a.xy), pack2x16float(a.zw), pack2x16float(b.xy), pack2x16float(b.zw));
}
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
#for X in 0..2
#if X == 0
#let NAME = "k"
#let DIM = "head_dim"
#else
#let NAME = "v"
#let DIM = "value_dim"
#end
/// Eight elements of a key's row; 0 past its end, NaN of a page that is none.
fn read_${NAME}(base: u32, place: vec2<u32>, column: u32) -> vec4<u32> {
  if (column >= params.${DIM}) { return vec4<u32>(); }
#if PAGED
  if (place.x >= params.pages) { return vec4<u32>(0x7e007e00u); }
#end
  return ${NAME}[(base + place.x * params.${NAME}_batch + place.y * params.${NAME}_seq + column) / 8u];
}
#end

@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
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
  let base_k = params.k_start + kv_head * params.k_head;
  let base_v = params.v_start + kv_head * params.v_head;
  let subgroup = t / ${LANES}u;
  let lane = t % ${LANES}u;
  let down = subgroup / ${ACROSS}u * ${WM}u;
#if ACROSS == 1
  // Places that compilers know need no checks.
  const own_keys = 0u;
  const own_columns = 0u;
#else
  let own_keys = subgroup % ${ACROSS}u * ${OWN_KEYS}u;
  let own_columns = subgroup % ${ACROSS}u * ${OWN_COLUMNS}u;
#end
#for side in 0..2
#if side == 0
#let X = "k"
#let WIDE = WIDE_K
#let LOADS = LOADS_K
#else
#let X = "v"
#let WIDE = WIDE_V
#let LOADS = LOADS_V
#end
#for i in 0..LOADS
  let line_${X}${i} = (t + ${i * THREADS}u) / ${WIDE}u;
  let place_${X}${i} = (t + ${i * THREADS}u) % ${WIDE}u;
  var next_${X}${i} = vec4<u32>();
#end
#end
#let X = "k"
#let LOADS = LOADS_K
#let FROM = "first"
#let AHEAD = 0
#include "attention_matrix_next.wgsl"
  // Rows past the last one are as it is, and not stored.
#for i in 0..LOADS_Q
  {
    let line = (t + ${i * THREADS}u) / ${WIDE_K}u;
    let place = (t + ${i * THREADS}u) % ${WIDE_K}u;
    if (line < ${BQ}u) {
      let row = min(block + line, rows - 1u);
      var eight = vec4<u32>();
      if (place * 8u < params.head_dim) {
        eight = q[(params.q_start + of_batch * params.q_batch +
                   (head0 + row % params.share) * params.q_head +
                   (u32(first_query) + row / params.share) * params.q_seq) / 8u + place];
      }
      held[line * ${STEP_K}u + place] = eight;
    }
  }
#end
  if (t == 0u) { atomicStore(&events, 0u); }
  workgroupBarrier();
#for i in 0..WM/UM
#for kk in 0..D/UK
  let q${i}_${kk} = left_rows((down + ${i * UM}u) * ${STEP_K}u + ${kk * UK / 8}u, ${STEP_K}u);
#end
#end
  workgroupBarrier();
#for i in 0..WM/UM
#for j in 0..OWN_COLUMNS/UN
  var o${i}_${j}: Sums;
#end
#end
#for i in 0..EACH
#if IDLE
  let own${i} = min(t / ${SPLIT}u, ${BQ - 1}u);
#else
  let own${i} = t / ${SPLIT}u + ${i * THREADS / SPLIT}u;
#end
  let query_of${i} = i32(min(block + own${i}, rows - 1u) / params.share);
  let scores_at${i} = ${FROM_S}u + own${i} * ${STEP_S}u + t % ${SPLIT}u * ${PART / 4}u;
  var top${i} = lowest();
  var sum${i} = vec4<f32>();
#end
#for i in 0..LOADS_K
  if (line_k${i} < ${KEYS}u) { held[line_k${i} * ${STEP_K}u + place_k${i}] = next_k${i}; }
#end
  workgroupBarrier();

  for (var key0 = first; key0 < end; key0 += ${KEYS}) {
    // Values are on their way while scores are made, the next keys while these are used up.
#let X = "v"
#let LOADS = LOADS_V
#let FROM = "key0"
#let AHEAD = 0
#include "attention_matrix_next.wgsl"
    let all_see = key0 >= all_from && key0 + ${KEYS} <= all_to;
    {
#for i in 0..WM/UM
#for j in 0..OWN_KEYS/UN
      var s${i}_${j} = Sums();
#end
#end
#for kk in 0..D/UK
      {
#for j in 0..OWN_KEYS/UN
        let right${j} = right_columns((own_keys + ${j * UN}u) * ${STEP_K}u + ${kk * UK / 8}u, ${STEP_K}u);
#end
#for i in 0..WM/UM
#for j in 0..OWN_KEYS/UN
        s${i}_${j} = multiply_add(q${i}_${kk}, right${j}, s${i}_${j});
#end
#end
      }
#end
      // The powers and the values of the step before have been used.
      workgroupBarrier();
#for i in 0..WM/UM
#for j in 0..OWN_KEYS/UN
      store_sums(${FROM_S}u + (down + ${i * UM}u) * ${STEP_S}u + (own_keys + ${j * UN}u) / 4u, ${STEP_S}u, s${i}_${j});
#end
#end
    }
#for i in 0..LOADS_V
    if (line_v${i} < ${KEYS}u) {
      held[${FROM_V}u + line_v${i} * ${STEP_V}u + place_v${i}] = next_v${i};
      if (!is_finite(next_v${i})) { atomicOr(&events, 2u); }
    }
#end
    workgroupBarrier();

#if IDLE
    if (t < ${BQ * SPLIT}u) {
#else
    {
#end
#include "attention_matrix_powers.wgsl"
    }
    let happened = workgroupUniformLoad(&events);
    if (happened != 0u) {
      if (t == 0u) { atomicStore(&events, 0u); }
#for turn in 0..TURNS
#for i in 0..WM/UM
#for j in 0..OWN_COLUMNS/UN
      {
        let own_turn = subgroup / ${AT_A_TIME}u == ${turn}u;
        let through = ${FROM_O}u + subgroup % ${AT_A_TIME}u * ${UNIT}u;
        if (own_turn) { store_sums(through, ${UN / 4}u, o${i}_${j}); }
        workgroupBarrier();
        if (own_turn) {
          for (var e = lane; e < ${UNIT}u; e += ${LANES}u) {
            let row = down + ${i * UM}u + e / ${UN / 4}u;
            var four = bitcast<vec4<f32>>(held[through + e]) * factors[row];
            if ((happened & 2u) != 0u) { four = add_seen(four, row, own_columns + ${j * UN}u + e % ${UN / 4}u * 4u); }
            held[through + e] = bitcast<vec4<u32>>(four);
          }
        }
        workgroupBarrier();
        if (own_turn) { o${i}_${j} = load_sums(through, ${UN / 4}u); }
        workgroupBarrier();
      }
#end
#end
#end
    }
#let X = "k"
#let LOADS = LOADS_K
#let FROM = "key0"
#let AHEAD = KEYS
#include "attention_matrix_next.wgsl"
    if ((happened & 2u) == 0u) {
#for kk in 0..KEYS/UK
#let AT = kk * UK / PART * (PART / 4) + kk * UK % PART / 8
      {
#for j in 0..OWN_COLUMNS/UN
        let right${j} = right_rows(${FROM_V + kk * UK * STEP_V}u + (own_columns + ${j * UN}u) / 8u, ${STEP_V}u);
#end
#for part in 0..PARTS
        {
#for i in 0..WM/UM
          let left${i} = left_rows((down + ${i * UM}u) * ${STEP_S}u + ${FROM_S + AT + part * PART / 8}u, ${STEP_S}u);
#end
#for i in 0..WM/UM
#for j in 0..OWN_COLUMNS/UN
          o${i}_${j} = multiply_add(left${i}, right${j}, o${i}_${j});
#end
#end
        }
#end
      }
#end
    }
#if SHARED
    workgroupBarrier();
#end
#for i in 0..LOADS_K
    if (line_k${i} < ${KEYS}u) { held[line_k${i} * ${STEP_K}u + place_k${i}] = next_k${i}; }
#end
    workgroupBarrier();
  }

  workgroupBarrier();
#for i in 0..EACH
  {
    var sum = sum${i}[0] + sum${i}[1] + (sum${i}[2] + sum${i}[3]);
#if SPLIT > 1
    sum += subgroupShuffleXor(sum, 1u);
#end
#if SPLIT > 2
    sum += subgroupShuffleXor(sum, 2u);
#end
#if SPLIT > 4
    sum += subgroupShuffleXor(sum, 4u);
#end
#if IDLE
    if (t < ${BQ * SPLIT}u) { factors[own${i}] = sum; }
#else
    factors[own${i}] = sum;
#end
  }
#end
  let base_o = params.o_start + of_batch * params.o_batch + u32(first_query) * params.o_seq;
#let STEP_O = STRIP / 4 + 1
  let strip = subgroup * ${UM * STEP_O}u;
#for i in 0..WM/UM
#for n in 0..OWN_COLUMNS/STRIP
#if i + n > 0
  workgroupBarrier();
#end
#for j in 0..STRIP/UN
  store_sums(strip + ${j * UN / 4}u, ${STEP_O}u, o${i}_${n * STRIP / UN + j});
#end
  workgroupBarrier();
  for (var e = lane; e < ${UM * STRIP / 8}u; e += ${LANES}u) {
    let of_strip = e / ${STRIP / 8}u;
    let row = block + down + ${i * UM}u + of_strip;
    let column = own_columns + ${n * STRIP}u + e % ${STRIP / 8}u * 8u;
    if (row < rows && column < params.value_dim) {
      let sum = factors[down + ${i * UM}u + of_strip];
#if EMPTY
      // A row that sees nothing is 0.
      let empty = (bitcast<u32>(sum) & 0x7fffffffu) == 0u;
#else
      let empty = false;
#end
      let at = strip + of_strip * ${STEP_O}u + e % ${STRIP / 8}u * 2u;
      let first_four = select(bitcast<vec4<f32>>(held[at]) / sum, vec4<f32>(), empty);
      let last_four = select(bitcast<vec4<f32>>(held[at + 1u]) / sum, vec4<f32>(), empty);
      o[(base_o + (head0 + row % params.share) * params.o_head + row / params.share * params.o_seq + column) / 8u] =
          vec4<u32>(packed(first_four), packed(last_four));
    }
  }
#end
#end
}

fn packed(x: vec4<f32>) -> vec2<u32> { return bitcast<vec2<u32>>(vec4<f16>(x)); }

/// o of a row and four columns with what the step's keys add, but those that weigh nothing.
fn add_seen(so_far: vec4<f32>, row: u32, column: u32) -> vec4<f32> {
  var sum = so_far;
  for (var key = 0u; key < ${KEYS}u; key++) {
    let at = ${FROM_S}u + row * ${STEP_S}u + key / ${PART}u * ${PART / 4}u + key % ${PART}u / 8u;
    let shift = key % 2u * 16u;
    var power = unpack2x16float(held[at][key % 8u / 2u] >> shift).x;
#if PARTS == 2
    power += unpack2x16float(held[at + ${PART / 8}u][key % 8u / 2u] >> shift).x;
#end
    let eight = held[${FROM_V}u + key * ${STEP_V}u + column / 8u];
    let four = select(eight.xy, eight.zw, column % 8u != 0u);
    let seen = (bitcast<u32>(power) & 0x7fffffffu) != 0u;
    sum = select(sum, fma(vec4<f32>(power), vec4<f32>(unpack2x16float(four.x), unpack2x16float(four.y)), sum), seen);
  }
  return sum;
}
