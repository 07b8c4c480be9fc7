// attention for few queries, some of whose heads share a kv head: up to ROWS rows of q that see the
// same keys, and one piece of these, a workgroup, so that each key and value is read once for all.
// Pieces are joined by attention_join.wgsl.
// 0 q, 1 k, 2 v, 3 o, rows by strides in elements, or with PIECES the sums over each piece's keys not yet divided, piece by
// piece in float32; 4 with PIECES: the maximum and the sum of each.
// Four rows share a vec4. Four work-items make the scores of a key, COLUMNS walk the columns of o
// and the rest the keys.
// Variables: FOURS (of rows), COLUMNS (a power of two, at least head_dim, at most GROUP), GROUP,
// VECTOR (1: rows are whole vec4), CAUSAL, PIECES, T.
#if T == "f16"
enable f16;
#end
#include "functions.wgsl"
#let KEYS = GROUP / 4
#let ROWS = FOURS * 4
#let WALKERS = GROUP / COLUMNS

struct Params {
  rows: u32, sharing: u32, chunks: u32, groups: u32, kv_heads: u32, seq_q: u32, seq_kv: u32,
  head_dim: u32, q_offset: u32, pieces: u32, piece: u32,
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
@group(0) @binding(0) var<storage, read> q: array<${T}>;
@group(0) @binding(1) var<storage, read> k: array<${ITEM}>;
@group(0) @binding(2) var<storage, read> v: array<${T}>;
#if PIECES
@group(0) @binding(3) var<storage, read_write> o: array<f32>;
@group(0) @binding(4) var<storage, read_write> tops_and_sums: array<vec2<f32>>;
#else
@group(0) @binding(3) var<storage, read_write> o: array<${T}>;
#end
// Element by element, the rows beside each other.
var<workgroup> queries: array<vec4<f32>, ${COLUMNS * FOURS}>;
var<workgroup> parts: array<vec4<f32>, ${GROUP * FOURS}>;
var<workgroup> powers: array<vec4<f32>, ${KEYS * FOURS}>;

fn lowest() -> vec4<f32> { return bitcast<vec4<f32>>(vec4<u32>(0xff800000u ^ params.zero)); }
/// What a sum under the maximum `top` is worth under `higher`.
fn rescale(top: vec4<f32>, higher: vec4<f32>) -> vec4<f32> {
  return select(exp_of(top - higher), vec4<f32>(), top == lowest());
}
/// How many keys a row sees.
fn seen_by(row: u32) -> u32 {
#if CAUSAL
  return min(params.seq_kv, row % params.seq_q + params.q_offset + 1u);
#else
  return params.seq_kv;
#end
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let index = group.x + group.y * groups.x;
  if (index >= params.groups * params.pieces) { return; }
  let piece = index / params.groups;
  let matrix = index % params.groups / params.chunks;
  let first = index % params.chunks * ${ROWS}u;  // row of those that share the keys
  let rows = min(${ROWS}u, params.sharing - first);
  let batch = matrix / params.kv_heads;
  let kv_head = matrix % params.kv_heads;
  let head0 = kv_head * (params.sharing / params.seq_q);
  let base_q = params.q_start + batch * params.q_batch + head0 * params.q_head;
  let base_k = params.k_start + batch * params.k_batch + kv_head * params.k_head;
  let base_v = params.v_start + batch * params.v_batch + kv_head * params.v_head;
  // Rows past the last one are as it is, and not stored.
  var fewest = params.seq_kv;
  var most = 0u;
#for f in 0..FOURS
  var seen${f} = vec4<u32>();
#for r in 0..4
  seen${f}[${r}] = seen_by(first + min(${f * 4 + r}u, rows - 1u));
  fewest = min(fewest, seen${f}[${r}]);
  most = max(most, seen${f}[${r}]);
#end
#end
  let end = min(most, (piece + 1u) * params.piece);
  for (var i = t; i < params.head_dim * ${FOURS}u; i += ${GROUP}u) {
    // All four are read at a time.
#for r in 0..4
    let row${r} = i % ${FOURS}u * 4u + ${r}u;
    var x${r} = 0.0;
    if (row${r} < rows) {
      let at = (first + row${r}) / params.seq_q * params.q_head +
               (first + row${r}) % params.seq_q * params.q_seq;
      x${r} = f32(q[base_q + at + i / ${FOURS}u]);
    }
#end
    queries[i] = vec4<f32>(x0, x1, x2, x3);
  }
  let column = t % ${COLUMNS}u;
  let slot = t / ${KEYS}u;  // the four rows whose softmax this work-item makes
#for f in 0..FOURS
  var top${f} = lowest();
  var result${f} = vec4<f32>();
#end
  var sum = vec4<f32>();  // of the powers of every KEYS-th key
  workgroupBarrier();
  for (var key0 = piece * params.piece; key0 < end; key0 += ${KEYS}u) {
    let key = key0 + t / 4u;
#for f in 0..FOURS
    var product${f} = vec4<f32>();
#end
    if (key < end) {
#if VECTOR
      for (var d = t % 4u; d < params.head_dim / 4u; d += 4u) {
        let x = vec4<f32>(k[(base_k + key * params.k_seq) / 4u + d]);
#for e in 0..4
#for f in 0..FOURS
        product${f} = fma(queries[(d * 4u + ${e}u) * ${FOURS}u + ${f}u], vec4<f32>(x[${e}]), product${f});
#end
#end
      }
#else
      for (var d = t % 4u; d < params.head_dim; d += 4u) {
        let x = vec4<f32>(f32(k[base_k + key * params.k_seq + d]));
#for f in 0..FOURS
        product${f} = fma(queries[d * ${FOURS}u + ${f}u], x, product${f});
#end
      }
#end
    }
    // Nobody reads what was there: a barrier lies behind the last reads of the tile before.
#for f in 0..FOURS
    parts[${f * GROUP}u + t] = product${f};
#end
    workgroupBarrier();
    var score = lowest();
    if (slot < ${FOURS}u) {
      let own = key0 + t % ${KEYS}u;
      let at = slot * ${GROUP}u + t % ${KEYS}u * 4u;
      let all = ((parts[at] + parts[at + 1u]) + (parts[at + 2u] + parts[at + 3u])) * params.scale;
#for f in 0..FOURS
      if (slot == ${f}u) { score = select(lowest(), all, vec4<u32>(own) < min(seen${f}, vec4<u32>(end))); }
#end
      powers[t] = score;
    }
#for width in 0..2
#let STEP = KEYS / 4
#if width == 1
#let STEP = KEYS / 16
#end
    workgroupBarrier();
    if (slot < ${FOURS}u && t % ${KEYS}u < ${STEP}u) {
      powers[t] = max(max(powers[t], powers[t + ${STEP}u]),
                      max(powers[t + ${2 * STEP}u], powers[t + ${3 * STEP}u]));
    }
#end
    workgroupBarrier();
#for f in 0..FOURS
    var higher${f} = top${f};
    for (var i = 0u; i < ${KEYS / 16}u; i++) {
      higher${f} = max(higher${f}, powers[${f * KEYS}u + i]);
    }
    let factor${f} = rescale(top${f}, higher${f});
    top${f} = higher${f};
    result${f} *= factor${f};
#end
    workgroupBarrier();
#for f in 0..FOURS
    if (slot == ${f}u) {
      // There is no maximum to take away while every score is -infinity.
      let power = exp_of(score - select(top${f}, vec4<f32>(), top${f} == lowest()));
      powers[t] = power;
      sum = sum * factor${f} + power;
    }
#end
    workgroupBarrier();
    if (column < params.head_dim) {
      for (var j = t / ${COLUMNS}u; j < min(${KEYS}u, end - key0); j += ${WALKERS}u) {
        let x = vec4<f32>(f32(v[base_v + (key0 + j) * params.v_seq + column]));
#if CAUSAL
        if (key0 + j >= fewest) {
          // Some rows must not see this key; 0 * NaN would show it.
#for f in 0..FOURS
          result${f} = select(result${f}, fma(powers[${f * KEYS}u + j], x, result${f}),
                              vec4<u32>(key0 + j) < seen${f});
#end
          continue;
        }
#end
#for f in 0..FOURS
        result${f} = fma(powers[${f * KEYS}u + j], x, result${f});
#end
      }
    }
  }
  workgroupBarrier();
#for f in 0..FOURS
  parts[${f * GROUP}u + t] = result${f};
#end
  if (slot < ${FOURS}u) { powers[t] = sum; }
  for (var width = ${WALKERS / 2}u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (t / ${COLUMNS}u < width) {
#for f in 0..FOURS
      parts[${f * GROUP}u + t] += parts[${f * GROUP}u + t + width * ${COLUMNS}u];
#end
    }
  }
  for (var width = ${KEYS / 2}u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (slot < ${FOURS}u && t % ${KEYS}u < width) { powers[t] += powers[t + width]; }
  }
  workgroupBarrier();
#for f in 0..FOURS
#for r in 0..4
  if (${f * 4 + r}u < rows) {
#if PIECES
    let row = matrix * params.sharing + first + ${f * 4 + r}u;
    if (t < params.head_dim) {
      o[(piece * params.rows + row) * params.head_dim + t] = parts[${f * GROUP}u + t][${r}];
    }
    if (t == 0u) {
      tops_and_sums[piece * params.rows + row] = vec2<f32>(top${f}[${r}], powers[${f * KEYS}u][${r}]);
    }
#else
    if (t < params.head_dim) {
      let row = first + ${f * 4 + r}u;
      let base_o = params.o_start + batch * params.o_batch +
                   (head0 + row / params.seq_q) * params.o_head + row % params.seq_q * params.o_seq;
      o[base_o + t] =
          ${T}(parts[${f * GROUP}u + t][${r}] / powers[${f * KEYS}u][${r}]);
    }
#end
  }
#end
#end
}
