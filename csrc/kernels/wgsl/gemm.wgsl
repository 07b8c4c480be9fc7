// C = alpha * op(A) * op(B) + beta * C for row-major matrices, batched: one BM x BN tile of C a
// workgroup, TM x TN of it a work-item, k in steps of BK.
// 0 a, 1 b, 2 c.
// Tiles of A and B lie in workgroup memory k by k, so that a work-item reads vectors of rows of A
// and of columns of B; the next tile is read from memory while this one is used.
// Variables: BM BN BK TM TN; TA TB (1: stored transposed); T, TC (f32 or f16); VECTOR_A, VECTOR_B,
// VECTOR_C (1: rows start and end on whole vec4); EDGE (1: sizes are no multiples of the tile);
// BETA (0: c is not read); ROUND (of a and b, see rounded.wgsl); BUFFERS (1 or 2 tiles in workgroup
// memory).
#if T == "f16" || TC == "f16"
enable f16;
#end
#include "rounded.wgsl"
#let NX = BN / TN
#let NY = BM / TM
#let THREADS = NX * NY

struct Params {
  m: u32, n: u32, k: u32, lda: u32, ldb: u32, ldc: u32,
  stride_a: u32, stride_b: u32, stride_c: u32,
  tiles: u32, tiles_n: u32, first_batch: u32,
  alpha: f32, beta: f32,
}
var<immediate> params: Params;
#if VECTOR_A
@group(0) @binding(0) var<storage, read> a: array<vec4<${T}>>;
#else
@group(0) @binding(0) var<storage, read> a: array<${T}>;
#end
#if VECTOR_B
@group(0) @binding(1) var<storage, read> b: array<vec4<${T}>>;
#else
@group(0) @binding(1) var<storage, read> b: array<${T}>;
#end
#if VECTOR_C
@group(0) @binding(2) var<storage, read_write> c: array<vec4<${TC}>>;
#else
@group(0) @binding(2) var<storage, read_write> c: array<${TC}>;
#end

var<workgroup> tile_a: array<vec4<f32>, ${BUFFERS * BK * BM / 4}>;
var<workgroup> tile_b: array<vec4<f32>, ${BUFFERS * BK * BN / 4}>;

@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let tile = group.x + group.z * groups.x;
  if (tile >= params.tiles) { return; }
  let batch = params.first_batch + group.y;
  let tx = t % ${NX}u;
  let ty = t / ${NX}u;
  let row0 = (tile / params.tiles_n) * ${BM}u;
  let col0 = (tile % params.tiles_n) * ${BN}u;
  let base_a = batch * params.stride_a;
  let base_b = batch * params.stride_b;
#for i in 0..TM
#for j in 0..TN/4
  var c${i}_${j} = vec4<f32>();
#end
#end
// Where each load of this work-item comes from, and where it goes: `along` walks m or n, `deep`
// walks k.
#for side in 0..2
#if side == 0
#let X = "a"
#let W = BM
#let KFIRST = 1 - TA
#let ORIGIN = "row0"
#let VECTOR = VECTOR_A
#else
#let X = "b"
#let W = BN
#let KFIRST = TB
#let ORIGIN = "col0"
#let VECTOR = VECTOR_B
#end
#if VECTOR
#let LOADS = BK * W / 4 / THREADS
#for i in 0..LOADS
#if KFIRST
  let along_${X}${i} = (t + ${i * THREADS}u) / ${BK / 4}u;
  let deep_${X}${i} = (t + ${i * THREADS}u) % ${BK / 4}u * 4u;
  var at_${X}${i} = (base_${X} + (${ORIGIN} + along_${X}${i}) * params.ld${X} + deep_${X}${i}) / 4u;
#else
  let along_${X}${i} = (t + ${i * THREADS}u) % ${W / 4}u * 4u;
  let deep_${X}${i} = (t + ${i * THREADS}u) / ${W / 4}u;
  var at_${X}${i} = (base_${X} + deep_${X}${i} * params.ld${X} + ${ORIGIN} + along_${X}${i}) / 4u;
#end
  var next_${X}${i} = vec4<${T}>();
#end
#else
#let LOADS = BK * W / THREADS
#for i in 0..LOADS
#if KFIRST
  let along_${X}${i} = (t + ${i * THREADS}u) / ${BK}u;
  let deep_${X}${i} = (t + ${i * THREADS}u) % ${BK}u;
  var at_${X}${i} = base_${X} + (${ORIGIN} + along_${X}${i}) * params.ld${X} + deep_${X}${i};
#else
  let along_${X}${i} = (t + ${i * THREADS}u) % ${W}u;
  let deep_${X}${i} = (t + ${i * THREADS}u) / ${W}u;
  var at_${X}${i} = base_${X} + deep_${X}${i} * params.ld${X} + ${ORIGIN} + along_${X}${i};
#end
  var next_${X}${i} = ${T}();
#end
#end
#end
  let step_a = ${TA == 1}u * ${BK}u * params.lda + ${TA == 0}u * ${BK}u;
  let step_b = ${TB == 0}u * ${BK}u * params.ldb + ${TB == 1}u * ${BK}u;

  let steps = (params.k + ${BK - 1}u) / ${BK}u;
  for (var step = 0u; step <= steps; step++) {
    // Read tile `step` while the one before it is used.
    if (step < steps) {
#for side in 0..2
#if side == 0
#let X = "a"
#let W = BM
#let VECTOR = VECTOR_A
#let LIMIT = "params.m - row0"
#else
#let X = "b"
#let W = BN
#let VECTOR = VECTOR_B
#let LIMIT = "params.n - col0"
#end
#let LOADS = BK * W / THREADS
#if VECTOR
#let LOADS = LOADS / 4
#end
#for i in 0..LOADS
#if EDGE
#if VECTOR
      next_${X}${i} = vec4<${T}>();
#else
      next_${X}${i} = ${T}();
#end
      if (along_${X}${i} < ${LIMIT} && step * ${BK}u + deep_${X}${i} < params.k) {
        next_${X}${i} = ${X}[at_${X}${i}];
      }
#else
      next_${X}${i} = ${X}[at_${X}${i}];
#end
#if VECTOR
      at_${X}${i} += step_${X} / 4u;
#else
      at_${X}${i} += step_${X};
#end
#end
#end
    }
    if (step > 0u) {
#if BUFFERS == 2
      let from_a = ((step - 1u) % 2u) * ${BK * BM / 4}u;
      let from_b = ((step - 1u) % 2u) * ${BK * BN / 4}u;
#else
      let from_a = 0u;
      let from_b = 0u;
#end
#for kk in 0..BK
      {
#for i in 0..TM/4
        let x${i} = tile_a[from_a + ${kk * (BM / 4) + i * NY}u + ty];
#end
#for j in 0..TN/4
        let y${j} = tile_b[from_b + ${kk * (BN / 4) + j * NX}u + tx];
#end
#for i in 0..TM
#for j in 0..TN/4
        c${i}_${j} = fma(vec4<f32>(x${i / 4}[${i % 4}]), y${j}, c${i}_${j});
#end
#end
      }
#end
#if BUFFERS == 1
      workgroupBarrier();
#end
    }
    if (step < steps) {
#if BUFFERS == 2
      let to_a = (step % 2u) * ${BK * BM / 4}u;
      let to_b = (step % 2u) * ${BK * BN / 4}u;
#else
      let to_a = 0u;
      let to_b = 0u;
#end
#for side in 0..2
#if side == 0
#let X = "a"
#let W = BM
#let KFIRST = 1 - TA
#let VECTOR = VECTOR_A
#else
#let X = "b"
#let W = BN
#let KFIRST = TB
#let VECTOR = VECTOR_B
#end
#let LOADS = BK * W / THREADS
#if VECTOR
#let LOADS = LOADS / 4
#end
#for i in 0..LOADS
#if VECTOR && KFIRST
      let kept_${X}${i} = rounded(vec4<f32>(next_${X}${i}));
      let into_${X}${i} = to_${X} + deep_${X}${i} * ${W / 4}u + along_${X}${i} / 4u;
#for e in 0..4
      tile_${X}[into_${X}${i} + ${e * W / 4}u][along_${X}${i} % 4u] = kept_${X}${i}[${e}];
#end
#elif VECTOR
      tile_${X}[to_${X} + deep_${X}${i} * ${W / 4}u + along_${X}${i} / 4u] =
          rounded(vec4<f32>(next_${X}${i}));
#else
      tile_${X}[to_${X} + deep_${X}${i} * ${W / 4}u + along_${X}${i} / 4u][along_${X}${i} % 4u] =
          rounded(vec4<f32>(f32(next_${X}${i}))).x;
#end
#end
#end
      workgroupBarrier();
    }
  }

  let base_c = batch * params.stride_c;
#for i in 0..TM
  {
    let row = row0 + ${(i / 4) * NY * 4 + i % 4}u + ty * 4u;
#for j in 0..TN/4
    {
      let col = col0 + ${j * NX * 4}u + tx * 4u;
      let at = base_c + row * params.ldc + col;
      var result = params.alpha * c${i}_${j};
#if VECTOR_C
#if EDGE
      if (row < params.m && col < params.n) {
#else
      {
#end
#if BETA
        result += params.beta * vec4<f32>(c[at / 4u]);
#end
        c[at / 4u] = vec4<${TC}>(result);
      }
#else
#for e in 0..4
      if (row < params.m && col + ${e}u < params.n) {
#if BETA
        result[${e}] += params.beta * f32(c[at + ${e}u]);
#end
        c[at + ${e}u] = ${TC}(result[${e}]);
      }
#end
#end
    }
#end
  }
#end
}
