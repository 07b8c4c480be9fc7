// C = alpha * op(A) * op(B) + beta * C for row-major matrices, batched: one BM x BN tile of C a
// workgroup, TM x TN of it a work-item; SLICES work-items share that, each with BK of k a step.
// 0 a, 1 b, 2 c.
// Tiles of A and B lie in workgroup memory k by k, so that a work-item reads vectors of rows of A
// and of columns of B; the next tile is read from memory while this one is used. No load of the
// loop looks for an end: where k is no multiple of a step the first tile is the short one, and the
// last tiles of m and n are moved back to end where the matrix does, with what others store left
// out. k may be cut in `pieces`: the product of each is a matrix of its own in c.
// Variables: BM BN BK TM TN SLICES; TA TB (1: stored transposed); T, TC (f32 or f16); VECTOR_A,
// VECTOR_B, VECTOR_C (1: rows start and end on whole vec4); SMALL (1: C is smaller than a tile,
// whose loads then stay inside by reading the last row or column again); ROUND (of a and b, see
// rounded.wgsl); PAD (vec4 between the rows of a tile, against bank conflicts).
#if T == "f16" || TC == "f16"
enable f16;
#end
#include "rounded.wgsl"
#let NX = BN / TN
#let NY = BM / TM
#let TEAM = NX * NY
#let THREADS = TEAM * SLICES
#let SPAN = BK * SLICES
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

var<workgroup> tile_a: array<vec4<f32>, ${SPAN * STEP_A}>;
var<workgroup> tile_b: array<vec4<f32>, ${SPAN * STEP_B}>;

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
  let place = t % ${TEAM}u;
  let tx = place % ${LANES_X}u + place / 32u % ${NX / LANES_X}u * ${LANES_X}u;
  let ty = place / ${LANES_X}u % ${LANES_Y}u + place / ${LANES_Y * NX}u * ${LANES_Y}u;
#if SLICES > 1
  let slice = t / ${TEAM}u;
#else
  let slice = 0u;
#end
  let from_a = slice * ${BK * STEP_A}u + ty;
  let from_b = slice * ${BK * STEP_B}u + tx;
#for i in 0..TM
#for j in 0..TN
  var c${i}_${j} = 0.0;
#end
#end
  let steps = (depth + ${SPAN - 1}u) / ${SPAN}u;
  let short = depth - max(steps, 1u) * ${SPAN}u + ${SPAN}u;
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
#let LOADS = SPAN * W / WIDTH / THREADS
#if DEEP_FIRST
  let along_${X} = t / ${SPAN / WIDTH}u;
  let deep_${X} = t % ${SPAN / WIDTH}u * ${WIDTH}u;
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
#let ALONG = NUMBER / SPAN
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
  let held_${X}${i} = deep_${X} + ${DEEP}u < short;
  if (held_${X}${i}) { next_${X}${i} = ${X}[at_${X} + far_${X}${i}]; }
#if VECTOR
  var at_${X}${i} = select(select(0u, at_${X} + far_${X}${i}, held_${X}${i}),
                       at_${X} + far_${X}${i} + short * deep_step_${X} / ${WIDTH}u, steps > 1u);
#end
#end
  at_${X} += short * deep_step_${X} / ${WIDTH}u;
  let step_${X} = ${SPAN}u * deep_step_${X} / ${WIDTH}u;
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
#let WIDTH = 1 + 3 * VECTOR
#let LOADS = SPAN * W / WIDTH / THREADS
#for i in 0..LOADS
#let NUMBER = i * THREADS * WIDTH
#if DEEP_FIRST
#let LEAP = NUMBER / SPAN / 4
#else
#let LEAP = NUMBER / W * STEP + NUMBER % W / 4
#end
#if VECTOR && DEEP_FIRST
    let kept_${X}${i} = rounded(four(next_${X}${i}));
#for e in 0..4
    tile_${X}[into_${X} + ${e * STEP + LEAP}u][lane_${X}] = kept_${X}${i}[${e}];
#end
#elif VECTOR
    tile_${X}[into_${X} + ${LEAP}u] = rounded(four(next_${X}${i}));
#else
    tile_${X}[into_${X} + ${LEAP}u][lane_${X}] =
        rounded(vec4<f32>(f32(next_${X}${i}))).x;
#end
#end
#end
    workgroupBarrier();
    // Whole vectors are read without a branch, so that the compiler places the loads among the
    // products: the last step reads its own again.
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
#let LOADS = SPAN * W / (1 + 3 * VECTOR) / THREADS
#if VECTOR
    let onward_${X} = select(0u, step_${X}, step + 2u < steps);
#for i in 0..LOADS
    next_${X}${i} = ${X}[at_${X}${i}];
    at_${X}${i} += onward_${X};
#end
#else
    if (step + 1u < steps) {
#for i in 0..LOADS
      next_${X}${i} = ${X}[at_${X} + far_${X}${i}];
#end
      at_${X} += step_${X};
    }
#end
#end
#for kk in 0..BK
    {
#for i in 0..TM/4
      let x${i} = tile_a[from_a + ${kk * STEP_A + i * NY}u];
#end
#for j in 0..TN/4
      let y${j} = tile_b[from_b + ${kk * STEP_B + j * NX}u];
#end
      // There and back: each product shares an operand with the one before, which the GPU then
      // need not read from its registers again.
#for j in 0..TN
#for n in 0..TM
#let i = n + j % 2 * (TM - 1 - 2 * n)
      c${i}_${j} = fma(x${i / 4}[${i % 4}], y${j / 4}[${j % 4}], c${i}_${j});
#end
#end
    }
#end
    workgroupBarrier();
  }

#if SLICES > 1
  // The sums of the second slice go to the first, four rows at a time.
#for q in 0..TM/4
  if (slice == 1u) {
#for i in 0..4
#for j in 0..TN/4
    tile_b[place + ${(i * (TN / 4) + j) * TEAM}u] =
        vec4<f32>(c${4 * q + i}_${4 * j}, c${4 * q + i}_${4 * j + 1},
                  c${4 * q + i}_${4 * j + 2}, c${4 * q + i}_${4 * j + 3});
#end
#end
  }
  workgroupBarrier();
  if (slice == 0u) {
#for i in 0..4
#for j in 0..TN/4
    {
      let other = tile_b[place + ${(i * (TN / 4) + j) * TEAM}u];
#for e in 0..4
      c${4 * q + i}_${4 * j + e} += other[${e}];
#end
    }
#end
#end
  }
  workgroupBarrier();
#end
  if (slice == 1u) { return; }
#end

  let base_c = product * params.stride_c;
#for i in 0..TM
  {
    let row = top + ${(i / 4) * NY * 4 + i % 4}u + ty * 4u;
    if (row >= first_row && row < params.m) {
#for j in 0..TN/4
      let col${j} = left + ${j * NX * 4}u + tx * 4u;
      let at${j} = base_c + row * params.ldc + col${j};
      var result${j} = params.alpha * vec4<f32>(c${i}_${4 * j}, c${i}_${4 * j + 1},
                                             c${i}_${4 * j + 2}, c${i}_${4 * j + 3});
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
