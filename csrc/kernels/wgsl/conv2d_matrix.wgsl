// conv2d of float16 on matrix units, with float32 sums: one BM x BN tile of outputs a workgroup, rows
// of which are filters and columns positions (image, y, x); WM x WN of it a subgroup. The depth is
// tap by tap the channels that are read.
// 0 filters of conv2d_matrix_filter.wgsl, 1 source, 2 result; with PACKED 3 where vectors along the
// depth lie from where a position starts, zeros up to a whole step; with BIAS the next one bias.
// PACKED: the source is conv2d_matrix_input.wgsl's, its channels side by side. Otherwise the filter
// has one tap, which reads what lies at its position, and planes of the source are whole vectors.
// As in gemm_matrix.wgsl the next tiles are read while these are used, the last, short step of depth
// comes first, and lines beyond m and n are the last one again.
// With several pieces of the depth each has a result of its own.
// Variables: those of matrix_tiles.wgsl, TA 0 and TB PACKED; PACKED, BIAS, T, TO (of the result),
// ACTIVATION; VECTOR_C (1: planes of the result are whole vec4).
enable f16;
enable subgroups;
enable chromium_experimental_subgroup_matrix;
diagnostic(off, chromium.subgroup_matrix_uniformity);
#include "matrix_halves.wgsl"
#include "matrix_tiles.wgsl"
struct Params {
  m: u32, n: u32, depth: u32, plane: u32, width: u32, groups: u32, pieces: u32, piece: u32,
  first: u32, tiles_m: u32, tiles_n: u32,
  // From one to the next, in vectors of the source.
  image: u32, group: u32, row: u32, column: u32,
  slope: f32, zero: u32,  // of activation.wgsl
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> filters: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> source: array<vec4<u32>>;
#if VECTOR_C
@group(0) @binding(2) var<storage, read_write> result: array<vec4<${TO}>>;
#else
@group(0) @binding(2) var<storage, read_write> result: array<${TO}>;
#end
#if PACKED
@group(0) @binding(3) var<storage, read> places: array<u32>;
#end
#if BIAS
@group(0) @binding(${3 + PACKED}) var<storage, read> bias: array<${T}>;
#end
#if ACTIVATION != "none"
#include "activation.wgsl"
#end
// Work-items that store neighbouring vectors of a row.
#let SIDE = WN / 4
#if SIDE > LANES
#let SIDE = LANES
#end

@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let tile = workgroup.x + workgroup.z * workgroups.x;
  if (tile >= params.tiles_m * params.tiles_n) { return; }
  // Neighbours share positions.
  let top = tile % params.tiles_m * ${BM}u;
  let left = tile / params.tiles_m * ${BN}u;
  let product = params.first + workgroup.y;
  let group = product / params.pieces;
  let start = product % params.pieces * params.piece;
  let depth = min(params.depth - start, params.piece);
  let whole = (depth - 1u) / ${BK}u;
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
  let line = (params.depth + 7u) / 8u;
#for i in 0..LOADS_A
  let far_a${i} = (group * params.m + min(top + line_a${i}, params.m - 1u)) * line + place_a${i};
  var next_a${i} = vec4<u32>();
  if (whole * ${BK}u + place_a${i} * 8u < depth) { next_a${i} = filters[far_a${i} + last / 8u]; }
#end
#for i in 0..LOADS_B
#if PACKED
  let column_b${i} = min(left + line_b${i}, params.n - 1u);
  let pixel_b${i} = column_b${i} % params.plane;
  let far_b${i} = column_b${i} / params.plane * params.image + group * params.group +
                  pixel_b${i} / params.width * params.row +
                  pixel_b${i} % params.width * params.column;
#else
  let column_b${i} = min(left + place_b${i} * 8u, params.n - 8u);
  let far_b${i} = column_b${i} / params.plane * params.image + group * params.group +
                  column_b${i} % params.plane / 8u + line_b${i} * params.row;
#end
  var next_b${i} = vec4<u32>();
#end
#if PACKED
  // A work-item reads the same vector of all its lines.
  if (whole * ${BK}u + place_b0 * 8u < depth) {
    let place = places[last / 8u + place_b0];
#for i in 0..LOADS_B
    next_b${i} = source[far_b${i} + place];
#end
  }
  var place = places[start / 8u + place_b0];
#else
#for i in 0..LOADS_B
  if (whole * ${BK}u + line_b${i} < depth) { next_b${i} = source[far_b${i} + last * params.row]; }
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
      next_a${i} = filters[far_a${i} + origin / 8u];
#end
#for i in 0..LOADS_B
#if PACKED
      next_b${i} = source[far_b${i} + place];
#else
      next_b${i} = source[far_b${i} + origin * params.row];
#end
#end
#if PACKED
      place = places[origin / 8u + ${BK / 8}u + place_b0];
#end
    }
    workgroupBarrier();
#include "matrix_step.wgsl"
    workgroupBarrier();
  }

  let lane = t % ${LANES}u;
  let base = (product % params.pieces * params.n * params.groups + group * params.plane) * params.m;
#for h in 0..WN / 4 / SIDE
  let column${h} = left + over + (lane % ${SIDE}u + ${h * SIDE}u) * 4u;
#for e in 0..4 - 3 * VECTOR_C
  let to${h}_${e} = (column${h} + ${e}u) / params.plane * params.groups * params.m * params.plane +
                    base + (column${h} + ${e}u) % params.plane;
#end
#end
#for i in 0..WM/UM
#if i > 0
  workgroupBarrier();
#end
#for j in 0..WN/UN
  subgroupMatrixStore<row_major>(&held[subgroup], ${j * UN / 4}u, sums${i}_${j}, ${STEP_C}u);
#end
  workgroupBarrier();
  for (var r = lane / ${SIDE}u; r < ${UM}u; r += ${LANES / SIDE}u) {
    let row = top + down + ${i * UM}u + r;
    if (row < params.m) {
#if BIAS
      let added = select(0.0, f32(bias[group * params.m + row]), start == 0u);
#end
#for h in 0..WN / 4 / SIDE
      {
        var x = bitcast<vec4<f32>>(held[subgroup][r * ${STEP_C}u + lane % ${SIDE}u + ${h * SIDE}u]);
#if BIAS
        x += vec4<f32>(added);
#end
#if ACTIVATION != "none"
        x = activated(x);
#end
#if VECTOR_C
        if (column${h} < params.n) { result[(to${h}_0 + row * params.plane) / 4u] = vec4<${TO}>(x); }
#else
#for e in 0..4
        if (column${h} + ${e}u < params.n) {
          result[to${h}_${e} + row * params.plane] = ${TO}(x[${e}]);
        }
#end
#end
      }
#end
    }
  }
#end
}
