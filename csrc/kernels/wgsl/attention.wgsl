// o = softmax(scale q k^T) v without the matrix of scores: BQ queries and COLUMNS columns of o a
// workgroup, keys in tiles of BK, a running maximum and sum for each query.
// 0 q, 1 k, 2 v, 3 o.
// 128 work-items as 16 x 8: each has 4 queries, 4 keys of a tile and every eighth vec4 of o's
// columns.
// Tiles lie transposed, so that a work-item reads vectors of queries and of keys; one stretch of
// workgroup memory holds q and k while scores are made, then v.
// Variables: COLUMNS (a multiple of 32), VECTOR (1: rows are whole vec4), CAUSAL, T.
#if T == "f16"
enable f16;
#end
#include "functions.wgsl"
#include "running_softmax.wgsl"
#let BQ = 64
#let BK = 32
#let STEP = 16
#let TILE = 512
#let VKEYS = TILE * 4 / COLUMNS
#if VKEYS > BK
#let VKEYS = BK
#end
#let VECTORS = COLUMNS / 32

struct Params {
  share: u32, seq_q: u32, seq_kv: u32, head_dim: u32, q_offset: u32,
  first_head: u32,
  scale: f32,
  zero: u32,
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
@group(0) @binding(2) var<storage, read> v: array<${ITEM}>;
@group(0) @binding(3) var<storage, read_write> o: array<${ITEM}>;

var<workgroup> tile: array<vec4<f32>, ${TILE}>;
// Powers by key and queries; before that the maxima of each query over a work-item's keys.
var<workgroup> powers: array<vec4<f32>, ${BK * BQ / 4}>;

#for X in 0..3
#if X == 0
#let NAME = "q"
#elif X == 1
#let NAME = "k"
#else
#let NAME = "v"
#end
/// Four elements of a row from column d on; 0 past its end.
fn read_${NAME}(row: u32, d: u32) -> vec4<f32> {
  let at = row * params.head_dim + d;
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

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let tx = t % 8u;
  let ty = t / 8u;
  let head = params.first_head + group.y;
  let base_q = head * params.seq_q;
  // Heads of q in one batch share kv heads in their order, and so do those of the next batch.
  let base_kv = head / params.share * params.seq_kv;
  let column0 = group.z * ${COLUMNS}u;
#if CAUSAL
  // The blocks with the most keys first.
  let block = (groups.x - 1u - group.x) * ${BQ}u;
  let last_row = min(block + ${BQ - 1}u, params.seq_q - 1u);
  let keys = min(params.seq_kv, last_row + params.q_offset + 1u);
#else
  let block = group.x * ${BQ}u;
  let keys = params.seq_kv;
#end
#for i in 0..4
  let query${i} = block + ty * 4u + ${i}u;
  var top${i} = lowest();
  var sum${i} = 0.0;
#for j in 0..VECTORS
  var o${i}_${j} = vec4<f32>();
#end
#end

  for (var key0 = 0u; key0 < keys; key0 += ${BK}u) {
#for i in 0..4
    var s${i} = vec4<f32>();
#end
    for (var d0 = 0u; d0 < params.head_dim; d0 += ${STEP}u) {
      workgroupBarrier();
#for i in 0..BQ*STEP/4/128
      {
        let row = (t + ${i * 128}u) / ${STEP / 4}u;
        let d = (t + ${i * 128}u) % ${STEP / 4}u * 4u;
        var x = vec4<f32>();
        if (block + row < params.seq_q) { x = read_q(base_q + block + row, d0 + d); }
#for e in 0..4
        tile[(d + ${e}u) * ${BQ / 4}u + row / 4u][row % 4u] = x[${e}];
#end
      }
#end
      {
        let key = t / ${STEP / 4}u;
        let d = t % ${STEP / 4}u * 4u;
        var x = vec4<f32>();
        if (key0 + key < keys) { x = read_k(base_kv + key0 + key, d0 + d); }
#for e in 0..4
        tile[${STEP * BQ / 4}u + (d + ${e}u) * ${BK / 4}u + key / 4u][key % 4u] = x[${e}];
#end
      }
      workgroupBarrier();
#for d in 0..STEP
      {
        let x = tile[${d * BQ / 4}u + ty];
        let y = tile[${STEP * BQ / 4 + d * BK / 4}u + tx];
#for i in 0..4
        s${i} = fma(vec4<f32>(x[${i}]), y, s${i});
#end
      }
#end
    }
    // The maxima, then the powers of this work-item's queries and keys.
    let key = vec4<u32>(key0 + tx * 4u) + vec4<u32>(0u, 1u, 2u, 3u);
    var tops = vec4<f32>();
#for i in 0..4
#if CAUSAL
    let seen${i} = (key < vec4<u32>(keys)) & (key <= vec4<u32>(query${i} + params.q_offset));
#else
    let seen${i} = key < vec4<u32>(keys);
#end
    s${i} = select(splat(lowest()), s${i} * params.scale, seen${i});
    tops[${i}] = larger(larger(s${i}.x, s${i}.y), larger(s${i}.z, s${i}.w));
#end
    powers[tx * ${BQ / 4}u + ty] = tops;
    workgroupBarrier();
#for x in 0..8
    {
      let other = powers[${x * BQ / 4}u + ty];
#for i in 0..4
      tops[${i}] = larger(other[${i}], tops[${i}]);
#end
    }
#end
    workgroupBarrier();
#for i in 0..4
    let higher${i} = larger(tops[${i}], top${i});
    let factor${i} = rescale(top${i}, higher${i});
    top${i} = higher${i};
    s${i} = exp_of(s${i} - splat(reference_of(higher${i})));
    sum${i} = sum${i} * factor${i} + ((s${i}.x + s${i}.y) + (s${i}.z + s${i}.w));
#for j in 0..VECTORS
    o${i}_${j} *= factor${i};
#end
#end
#for e in 0..4
    powers[(tx * 4u + ${e}u) * ${BQ / 4}u + ty] = vec4<f32>(s0[${e}], s1[${e}], s2[${e}], s3[${e}]);
#end

    for (var part = 0u; part < ${BK}u; part += ${VKEYS}u) {
      workgroupBarrier();
#for i in 0..VKEYS*COLUMNS/4/128
      {
        let key = key0 + part + (t + ${i * 128}u) / ${COLUMNS / 4}u;
        let column = (t + ${i * 128}u) % ${COLUMNS / 4}u * 4u;
        var x = vec4<f32>();
        if (key < keys) { x = read_v(base_kv + key, column0 + column); }
        tile[${i * 128}u + t] = x;
      }
#end
      workgroupBarrier();
#for HIDING in 0..CAUSAL+1
#if HIDING
      if (key0 + ${BK}u > block + params.q_offset + 1u) {
        // Some queries must not see some of these keys; 0 * NaN would show them.
#elif CAUSAL
      if (key0 + ${BK}u <= block + params.q_offset + 1u) {
#else
      {
#end
#for j in 0..VKEYS
        {
          let p = powers[(part + ${j}u) * ${BQ / 4}u + ty];
#for c in 0..VECTORS
          let x${c} = tile[${j * COLUMNS / 4 + c * 8}u + tx];
#end
#for i in 0..4
#for c in 0..VECTORS
#if HIDING
          o${i}_${c} = select(o${i}_${c}, fma(vec4<f32>(p[${i}]), x${c}, o${i}_${c}),
                              key0 + part + ${j}u <= query${i} + params.q_offset);
#else
          o${i}_${c} = fma(vec4<f32>(p[${i}]), x${c}, o${i}_${c});
#end
#end
#end
        }
#end
      }
#end
    }
  }

  // The sums of each query's eight work-items.
  workgroupBarrier();
  powers[tx * ${BQ / 4}u + ty] = vec4<f32>(sum0, sum1, sum2, sum3);
  workgroupBarrier();
  var sums = vec4<f32>();
#for x in 0..8
  sums += powers[${x * BQ / 4}u + ty];
#end
#for i in 0..4
  if (query${i} < params.seq_q) {
#for c in 0..VECTORS
    {
      let column = column0 + ${c * 32}u + tx * 4u;
      let at = (base_q + query${i}) * params.head_dim + column;
      let result = o${i}_${c} / sums[${i}];
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
