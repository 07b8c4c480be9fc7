// C = alpha * op(A) * op(B) + beta * C for row-major matrices, batched: one BM x BN tile of C a
// workgroup, TM x TN of it a work-item, k in steps of BK.
// 0 a, 1 b, 2 c.
// Tiles of A and B lie in workgroup memory k by k, so that a work-item reads vectors of rows of A
// and of columns of B; the next tile is read from memory while this one is used. No load of the
// loop looks for an end: where k is no multiple of BK the first tile is the short one, and the last
// tiles of m and n are moved back to end where the matrix does, with what others store left out.
// k may be cut in `pieces`: the product of each is a matrix of its own in c.
// Variables: BM BN BK TM TN; TA TB (1: stored transposed); T, TC (f32 or f16); VECTOR_A, VECTOR_B,
// VECTOR_C (1: rows start and end on whole vec4); SMALL (1: C is smaller than a tile, whose loads
// then stay inside by reading the last row or column again); ROUND (of a and b, see rounded.wgsl);
// BUFFERS (1 or 2 tiles in workgroup memory), PAD (vec4 between the rows of a tile, against bank
// conflicts).
#if T == "f16" || TC == "f16"
enable f16;
#end
#include "rounded.wgsl"
#let NX = BN / TN
#let NY = BM / TM
#let THREADS = NX * NY
// Neighbouring work-items form blocks of LANES_X x LANES_Y, which read the least of both tiles.
#let LANES_X = 8
#if NX < 8
#let LANES_X = NX
#elif NY < 4
#let LANES_X = 32 / NY
#end
#let LANES_Y = 32 / LANES_X
#let STEP_A = BM / 4 + PAD
#let STEP_B = BN / 4 + PAD

struct Params {
  m: u32, n: u32, k: u32, lda: u32, ldb: u32, ldc: u32,
  stride_a: u32, stride_b: u32, stride_c: u32,
  tiles_m: u32, tiles_n: u32, pieces: u32, piece: u32, first: u32,
  alpha: f32, beta: f32,
}
var<immediate> params: Params;
// What is read at once: four elements or one. Four halves stay in their 8 bytes until they are used.
#if T == "f16"
#let FOUR = "vec2<u32>"
fn four(x: vec2<u32>) -> vec4<f32> { return vec4<f32>(unpack2x16float(x.x), unpack2x16float(x.y)); }
#else
#let FOUR = "vec4<f32>"
fn four(x: vec4<f32>) -> vec4<f32> { return x; }
#end
#let ITEM_A = T
#let ITEM_B = T
#if VECTOR_A
#let ITEM_A = FOUR
#end
#if VECTOR_B
#let ITEM_B = FOUR
#end
@group(0) @binding(0) var<storage, read> a: array<${ITEM_A}>;
@group(0) @binding(1) var<storage, read> b: array<${ITEM_B}>;
#if VECTOR_C
@group(0) @binding(2) var<storage, read_write> c: array<vec4<${TC}>>;
#else
@group(0) @binding(2) var<storage, read_write> c: array<${TC}>;
#end

var<workgroup> tile_a: array<vec4<f32>, ${BUFFERS * BK * STEP_A}>;
var<workgroup> tile_b: array<vec4<f32>, ${BUFFERS * BK * STEP_B}>;

@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let tile = group.x + group.z * groups.x;
  if (tile >= params.tiles_m * params.tiles_n) { return; }
  let first_row = tile / params.tiles_n * ${BM}u;
  let first_col = tile % params.tiles_n * ${BN}u;
#if SMALL
  let top = first_row;
  let left = first_col;
#else
  let top = min(first_row, params.m - ${BM}u);
  let left = min(first_col, params.n - ${BN}u);
#end
  let product = params.first + group.y;
  let batch = product / params.pieces;
  let start = product % params.pieces * params.piece;
  let depth = min(params.k - min(start, params.k), params.piece);
  let tx = t % ${LANES_X}u + t / 32u % ${NX / LANES_X}u * ${LANES_X}u;
  let ty = t / ${LANES_X}u % ${LANES_Y}u + t / ${LANES_Y * NX}u * ${LANES_Y}u;
#for i in 0..TM
#for j in 0..TN/4
  var c${i}_${j} = vec4<f32>();
#end
#end
  let steps = (depth + ${BK - 1}u) / ${BK}u;
  let short = depth - max(steps, 1u) * ${BK}u + ${BK}u;
  // Where each load of this work-item comes from, and where it goes: `along` walks m or n, `deep`
  // walks k.
#for side in 0..2
#if side == 0
#let X = "a"
#let W = BM
#let DEEP_FIRST = 1 - TA
#let ORIGIN = "top"
#let EXTENT = "params.m"
#let VECTOR = VECTOR_A
#let ITEM = ITEM_A
#let STEP = STEP_A
#else
#let X = "b"
#let W = BN
#let DEEP_FIRST = TB
#let ORIGIN = "left"
#let EXTENT = "params.n"
#let VECTOR = VECTOR_B
#let ITEM = ITEM_B
#let STEP = STEP_B
#end
#let WIDTH = 1 + 3 * VECTOR
#let LOADS = BK * W / WIDTH / THREADS
#if DEEP_FIRST
  let along_${X} = t / ${BK / WIDTH}u;
  let deep_${X} = t % ${BK / WIDTH}u * ${WIDTH}u;
  let across_${X} = params.ld${X};
  let deep_step_${X} = 1u;
#else
  let along_${X} = t % ${W / WIDTH}u * ${WIDTH}u;
  let deep_${X} = t / ${W / WIDTH}u;
  let across_${X} = 1u;
  let deep_step_${X} = params.ld${X};
#end
  let into_${X} = deep_${X} * ${STEP}u + along_${X} / 4u;
  let lane_${X} = along_${X} % 4u;
  var at_${X} = batch * params.stride_${X} + (start + deep_${X}) * deep_step_${X};
#if !SMALL
  at_${X} += (${ORIGIN} + along_${X}) * across_${X};
#end
  at_${X} /= ${WIDTH}u;
#for i in 0..LOADS
#let NUMBER = i * THREADS * WIDTH
#if DEEP_FIRST
#let ALONG = NUMBER / BK
#let DEEP = 0
#else
#let ALONG = NUMBER % W
#let DEEP = NUMBER / W
#end
#if SMALL
  let place_${X}${i} = min(${ORIGIN} + along_${X} + ${ALONG}u, ${EXTENT} - ${WIDTH - DEEP_FIRST * (WIDTH - 1)}u);
#else
  let place_${X}${i} = ${ALONG}u;
#end
  let far_${X}${i} = (place_${X}${i} * across_${X} + ${DEEP}u * deep_step_${X}) / ${WIDTH}u;
  var next_${X}${i} = ${ITEM}();
  if (deep_${X} + ${DEEP}u < short) { next_${X}${i} = ${X}[at_${X} + far_${X}${i}]; }
#if VECTOR
  var at_${X}${i} = at_${X} + far_${X}${i} + short * deep_step_${X} / ${WIDTH}u;
#end
#end
  at_${X} += short * deep_step_${X} / ${WIDTH}u;
  let step_${X} = ${BK}u * deep_step_${X} / ${WIDTH}u;
#end

  for (var step = 0u; step < steps; step++) {
#for side in 0..2
#if side == 0
#let X = "a"
#let W = BM
#let DEEP_FIRST = 1 - TA
#let VECTOR = VECTOR_A
#let STEP = STEP_A
#else
#let X = "b"
#let W = BN
#let DEEP_FIRST = TB
#let VECTOR = VECTOR_B
#let STEP = STEP_B
#end
#if BUFFERS == 2
    let from_${X} = step % 2u * ${BK * STEP}u;
#else
    let from_${X} = 0u;
#end
#let WIDTH = 1 + 3 * VECTOR
#let LOADS = BK * W / WIDTH / THREADS
#for i in 0..LOADS
#let NUMBER = i * THREADS * WIDTH
#if DEEP_FIRST
#let LEAP = NUMBER / BK / 4
#else
#let LEAP = NUMBER / W * STEP + NUMBER % W / 4
#end
#if VECTOR && DEEP_FIRST
    let kept_${X}${i} = rounded(four(next_${X}${i}));
#for e in 0..4
    tile_${X}[from_${X} + into_${X} + ${e * STEP + LEAP}u][lane_${X}] = kept_${X}${i}[${e}];
#end
#elif VECTOR
    tile_${X}[from_${X} + into_${X} + ${LEAP}u] = rounded(four(next_${X}${i}));
#else
    tile_${X}[from_${X} + into_${X} + ${LEAP}u][lane_${X}] =
        rounded(vec4<f32>(f32(next_${X}${i}))).x;
#end
#end
#end
    workgroupBarrier();
    if (step + 1u < steps) {
#for side in 0..2
#if side == 0
#let X = "a"
#let W = BM
#let VECTOR = VECTOR_A
#else
#let X = "b"
#let W = BN
#let VECTOR = VECTOR_B
#end
#let LOADS = BK * W / (1 + 3 * VECTOR) / THREADS
#for i in 0..LOADS
#if VECTOR
      next_${X}${i} = ${X}[at_${X}${i}];
      at_${X}${i} += step_${X};
#else
      next_${X}${i} = ${X}[at_${X} + far_${X}${i}];
#end
#end
#if !VECTOR
      at_${X} += step_${X};
#end
#end
    }
#for kk in 0..BK
    {
#for i in 0..TM/4
      let x${i} = tile_a[from_a + ${kk * STEP_A + i * NY}u + ty];
#end
#for j in 0..TN/4
      let y${j} = tile_b[from_b + ${kk * STEP_B + j * NX}u + tx];
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

  let base_c = product * params.stride_c;
#for i in 0..TM
  {
    let row = top + ${(i / 4) * NY * 4 + i % 4}u + ty * 4u;
    if (row >= first_row && row < params.m) {
#for j in 0..TN/4
      let col${j} = left + ${j * NX * 4}u + tx * 4u;
      let at${j} = base_c + row * params.ldc + col${j};
      var result${j} = params.alpha * c${i}_${j};
#if VECTOR_C
      if (col${j} >= first_col && col${j} < params.n) {
        if (params.beta != 0.0) { result${j} += params.beta * vec4<f32>(c[at${j} / 4u]); }
        c[at${j} / 4u] = vec4<${TC}>(result${j});
      }
#else
#for e in 0..4
      if (col${j} + ${e}u >= first_col && col${j} + ${e}u < params.n) {
        if (params.beta != 0.0) { result${j}[${e}] += params.beta * f32(c[at${j} + ${e}u]); }
        c[at${j} + ${e}u] = ${TC}(result${j}[${e}]);
      }
#end
#end
#end
    }
  }
#end
}
