// The product of float16 matrices, with float32 sums, or of bytes into int32 on matrix units: one
// BM x BN tile of C a workgroup, WM x WN of it a subgroup, BK of k a step.
// 0 a, 1 b, 2 c, with END 3 bias, with SCALED 3 largest (of gemm_largest.wgsl): the sums are those of
// lines that were multiplied by powers of two, which are taken back.
// The next tiles are read while these are used. The last, short step of k comes first, with zeros
// behind it. Lines beyond m and n are the last one again, and are not stored. Sums leave through
// workgroup memory.
// Lines of A and B start and end on whole vec4.
// Variables: those of matrix_tiles.wgsl; T (f16, i8 or u8); TC (f32 or f16; i32 of bytes); VECTOR_C (1:
// rows of C start and end on whole vec4); END, ACTIVATION; SCALED (never with END); ADDED (1: pieces
// are added to C by atomics, of bytes alone); GATED (1, with END: C has activation(first) * second of
// columns that are gap apart, one of which lies in each half of a subgroup's columns of a tile).
#if T == "f16"
enable f16;
#end
enable subgroups;
enable chromium_experimental_subgroup_matrix;
diagnostic(off, chromium.subgroup_matrix_uniformity);
#if T == "f16"
#include "matrix_halves.wgsl"
#let RESULT = "f32"
#let BETA = "params.beta * "
#else
#include "matrix_bytes.wgsl"
#let RESULT = "i32"
#let BETA = ""
#end
#include "matrix_tiles.wgsl"
struct Params {
  m: u32, n: u32, k: u32, lda: u32, ldb: u32, ldc: u32,
  stride_a: u32, stride_b: u32, stride_c: u32,
  tiles_m: u32, tiles_n: u32, pieces: u32, piece: u32, first: u32,
  alpha: f32, beta: f32,
#if END
  is_biased: u32,
  slope: f32, zero: u32,  // of activation.wgsl
  gap: u32,
#end
}
#if GATED
#let OUT = "(params.n - params.gap)"
#let HALVES = 2
#let OVER = " / 2u"
#else
#let OUT = "params.n"
#let HALVES = 1
#let OVER = ""
#end
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> a: array<${HELD}>;
@group(0) @binding(1) var<storage, read> b: array<${HELD}>;
#if ADDED
@group(0) @binding(2) var<storage, read_write> c: array<atomic<${TC}>>;
#elif VECTOR_C
@group(0) @binding(2) var<storage, read_write> c: array<vec4<${TC}>>;
#else
@group(0) @binding(2) var<storage, read_write> c: array<${TC}>;
#end
#include "beta.wgsl"
#if END
@group(0) @binding(3) var<storage, read> bias: array<${TC}>;
#include "activation.wgsl"
#end
#if SCALED
@group(0) @binding(3) var<storage, read> largest: array<u32>;
#include "line_scales.wgsl"

fn unscaled(sums: vec4<f32>, row: u32, column: u32) -> vec4<f32> {
  var of_columns = vec4<u32>();
#for e in 0..4
  of_columns[${e}] = largest[params.m + min(column + ${e}u, params.n - 1u)];
#end
  let lift = lift_of(vec4<u32>(largest[row])) + lift_of(of_columns);
  // Below it all is 0.
  return lifted(sums, max(-lift, vec4<i32>(-252)));
}
#end

@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let tile = group.x + group.z * groups.x;
  if (tile >= params.tiles_m * params.tiles_n) { return; }
  let top = tile / params.tiles_n * ${BM}u;
  let left = tile % params.tiles_n * ${BN / HALVES}u;
  let product = params.first + group.y;
  let batch = product / params.pieces;
  let start = product % params.pieces * params.piece;
  let depth = min(params.k - min(start, params.k), params.piece);
  let whole = (max(depth, 1u) - 1u) / ${BK}u;
  let last = start + whole * ${BK}u;
  let subgroup = t / ${LANES}u;
  let down = subgroup / ${ACROSS}u * ${WM}u;
  let over = subgroup % ${ACROSS}u * ${WN}u;
#for i in 0..WM/UM
#for j in 0..WN/UN
  var sums${i}_${j}: Sums;
#end
#end
#include "matrix_places.wgsl"
#for side in 0..2
#if side == 0
#let X = "a"
#let LOADS = LOADS_A
#let DEEP = 1 - TA
#let ORIGIN = "top"
#let EXTENT = "params.m"
#else
#let X = "b"
#let LOADS = LOADS_B
#let DEEP = TB
#let ORIGIN = "left"
#let EXTENT = "params.n"
#end
  // Places from here on.
  let ld_${X} = params.ld${X} / ${PER_PLACE}u;
  let base_${X} = batch * params.stride_${X} / ${PER_PLACE}u;
#for i in 0..LOADS
#if side * GATED
#let WIDE = WN / (1 + 7 * (1 - DEEP))
#let LINE = "line"
#if DEEP == 0
#let LINE = "place"
#end
  // In halves of a block: of the first columns, and of those a gap on.
  let half_${i} = ${LINE}_b${i} % ${WIDE}u / ${WIDE / 2}u;
  let part_${i} = ${LINE}_b${i} / ${WIDE}u * ${WIDE / 2}u + ${LINE}_b${i} % ${WIDE / 2}u;
#if DEEP
  let far_b${i} = base_b + (min(left + part_${i}, ${OUT} - 1u) + half_${i} * params.gap) * ld_b + place_b${i};
#else
  let far_b${i} = base_b + line_b${i} * ld_b + min(left / ${PER_PLACE}u + part_${i}, ${OUT} / ${PER_PLACE}u - 1u) + half_${i} * (params.gap / ${PER_PLACE}u);
#end
#elif DEEP
  let far_${X}${i} = base_${X} + min(${ORIGIN} + line_${X}${i}, ${EXTENT} - 1u) * ld_${X} + place_${X}${i};
#else
  let far_${X}${i} = base_${X} + line_${X}${i} * ld_${X} + min(${ORIGIN} / ${PER_PLACE}u + place_${X}${i}, (${EXTENT} + ${PER_PLACE - 1}u) / ${PER_PLACE}u - 1u);
#end
  var next_${X}${i} = ${HELD}();
#if DEEP
  let has_${X}${i} = whole * ${BK}u + place_${X}${i} * ${PER_PLACE}u < depth;
  if (has_${X}${i}) { next_${X}${i} = ${X}[far_${X}${i} + last / ${PER_PLACE}u]; }
#else
  let has_${X}${i} = whole * ${BK}u + line_${X}${i} < depth;
  if (has_${X}${i}) { next_${X}${i} = ${X}[far_${X}${i} + last * ld_${X}]; }
#end
#end
#end
  for (var step = 0u; step <= whole; step++) {
#for i in 0..LOADS_A
    held[block_a${i}][into_a${i}] = next_a${i};
#end
#for i in 0..LOADS_B
    held[block_b${i}][into_b${i}] = next_b${i};
#end
    if (step < whole) {
      let origin = start + step * ${BK}u;
#for i in 0..LOADS_A
#if TA
      next_a${i} = a[far_a${i} + origin * ld_a];
#else
      next_a${i} = a[far_a${i} + origin / ${PER_PLACE}u];
#end
#end
#for i in 0..LOADS_B
#if TB
      next_b${i} = b[far_b${i} + origin / ${PER_PLACE}u];
#else
      next_b${i} = b[far_b${i} + origin * ld_b];
#end
#end
    }
    workgroupBarrier();
#include "matrix_step.wgsl"
    workgroupBarrier();
  }

#if ADDED
  let base_c = batch * params.stride_c;
#else
  let base_c = product * params.stride_c;
#end
  let lane = t % ${LANES}u;
#for i in 0..WM/UM
#if i > 0
  workgroupBarrier();
#end
#for j in 0..WN/UN
  subgroupMatrixStore<row_major>(&held[subgroup], ${j * UN / SUMS_PER_PLACE}u, sums${i}_${j}, ${STEP_C}u);
#end
  workgroupBarrier();
  for (var e = lane; e < ${UM * WN / (4 * HALVES)}u; e += ${LANES}u) {
    let row = top + down + ${i * UM}u + e / ${WN / (4 * HALVES)}u;
    let column = left + over${OVER} + e % ${WN / (4 * HALVES)}u * 4u;
    if (row < params.m && column < ${OUT}) {
      let place = e / ${WN / (4 * HALVES)}u * ${STEP_C}u + e % ${WN / (4 * HALVES)}u * ${4 / SUMS_PER_PLACE}u;
#if SUMS_PER_PLACE == 4
      let sums = bitcast<vec4<${RESULT}>>(held[subgroup][place]);
#else
      let sums = bitcast<vec4<${RESULT}>>(vec4<u32>(held[subgroup][place], held[subgroup][place + 1u]));
#end
#if GATED
      let others = bitcast<vec4<f32>>(held[subgroup][place + ${WN / 2 / SUMS_PER_PLACE}u]);
      store_gated(base_c + row * params.ldc + column, column, sums, others);
#else
#if SCALED
      store(base_c + row * params.ldc + column, column, unscaled(sums, row, column));
#else
      store(base_c + row * params.ldc + column, column, sums);
#end
#end
    }
  }
#end
}

#if END
fn biased(sums: vec4<f32>, column: u32) -> vec4<f32> {
  var result = params.alpha * sums;
  if (params.is_biased != 0u) {
#for e in 0..4
    result[${e}] += f32(bias[min(column + ${e}u, params.n - 1u)]);
#end
  }
  return result;
}
#end
#if GATED
fn store_gated(at: u32, column: u32, first: vec4<f32>, second: vec4<f32>) {
  put(at, column, activated(biased(first, column)) * biased(second, column + params.gap));
}
#end
fn store(at: u32, column: u32, sums: vec4<${RESULT}>) {
#if END
  put(at, column, activated(biased(sums, column)));
#elif RESULT == "f32"
  put(at, column, params.alpha * sums);
#else
  put(at, column, sums);
#end
}
fn put(at: u32, column: u32, given: vec4<${RESULT}>) {
#if ADDED
#for e in 0..4
  if (column + ${e}u < params.n) { atomicAdd(&c[at + ${e}u], given[${e}]); }
#end
#elif VECTOR_C
  var result = given;
  if (adds_c()) { result += ${BETA}vec4<${RESULT}>(c[at / 4u]); }
  c[at / 4u] = vec4<${TC}>(result);
#else
#for e in 0..4
  if (column + ${e}u < ${OUT}) {
    var one = given[${e}];
    if (adds_c()) { one += ${BETA}${RESULT}(c[at + ${e}u]); }
    c[at + ${e}u] = ${TC}(one);
  }
#end
#end
}
