// quantized_tiles.wgsl's y = x * weights^T of float16 on matrix units: one BM x BN tile of y a
// workgroup, WM x WN of it a subgroup, a group of each row of weights a step, float32 sums.
// Weights are rounded to float16 on their way into workgroup memory. The next group is read while this one is used. Rows beyond m and n are the
// last one again, and are not stored. k may be cut in `pieces`, each a matrix of its own in y.
// Bindings: the planes of quantized_planes.wgsl, then x, whose rows are whole vec4 of eight, and y.
// Variables: those of matrix_tiles.wgsl (BK 32, TA 0, TB 1); TC (f32 or f16); VECTOR_C (1: rows of y
// start and end on whole vec4); FORMAT.
enable f16;
enable subgroups;
enable chromium_experimental_subgroup_matrix;
diagnostic(off, chromium.subgroup_matrix_uniformity);
#let WHOLE = 1
#include "quantized_planes.wgsl"
#include "matrix_halves.wgsl"
#include "matrix_tiles.wgsl"
#let ROWS = BN / THREADS
struct Params {
  m: u32, n: u32, groups: u32, x_stride: u32, y_stride: u32, across: u32, tiles: u32, piece: u32, piece_stride: u32,
  adds: u32,  // 1: to what y has
}
var<immediate> params: Params;
@group(0) @binding(${NEXT}) var<storage, read> x: array<vec4<u32>>;
#if VECTOR_C
@group(0) @binding(${NEXT + 1}) var<storage, read_write> y: array<vec4<${TC}>>;
#else
@group(0) @binding(${NEXT + 1}) var<storage, read_write> y: array<${TC}>;
#end

@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let part = group.x + group.y * groups.x;
  let tile = part % params.tiles;
  let start = part / params.tiles * params.piece;
  if (start >= params.groups) { return; }
  let end = min(start + params.piece, params.groups);
  let top = tile / params.across * ${BM}u;
  let left = tile % params.across * ${BN}u;
  let subgroup = t / ${LANES}u;
  let down = subgroup / ${ACROSS}u * ${WM}u;
  let over = subgroup % ${ACROSS}u * ${WN}u;
#for i in 0..WM/UM
#for j in 0..WN/UN
  var sums${i}_${j}: Sums;
#end
#end
#include "matrix_places.wgsl"
#for r in 0..ROWS
  let row${r} = min(left + t + ${r * THREADS}u, params.n - 1u) * params.groups;
#end
#for i in 0..LOADS_A
  let far${i} = min(top + line_a${i}, params.m - 1u) * params.x_stride + place_a${i};
  var next${i} = x[far${i} + start * 4u];
#end
#for r in 0..ROWS
#if LOW == 8
  var low0_${r} = low_plane[2u * (row${r} + start)];
  var low1_${r} = low_plane[2u * (row${r} + start) + 1u];
#else
  var low0_${r} = low_plane[row${r} + start];
#end
#if HIGH > 0
  var high_${r} = high_plane[row${r} + start];
#end
  var scale0_${r} = scale_of(row${r} + start, 0u);
#if HALVES
  var scale1_${r} = scale_of(row${r} + start, 1u);
#end
#end
  for (var g = start; g < end; g += 1u) {
#for i in 0..LOADS_A
    held[block_a${i}][into_a${i}] = next${i};
#end
#for r in 0..ROWS
    {
      let block = ${FIRST_B}u + (t + ${r * THREADS}u) / ${WN}u;
      let into = (t + ${r * THREADS}u) % ${WN}u * ${STEP_B}u;
#include "quantized_values.wgsl"
#for v in 0..4
      held[block][into + ${v}u] = vec4<u32>(pack2x16float(w${2 * v}.xy), pack2x16float(w${2 * v}.zw),
                                            pack2x16float(w${2 * v + 1}.xy), pack2x16float(w${2 * v + 1}.zw));
#end
    }
#end
    if (g + 1u < end) {
#for i in 0..LOADS_A
      next${i} = x[far${i} + (g + 1u) * 4u];
#end
#for r in 0..ROWS
#if LOW == 8
      low0_${r} = low_plane[2u * (row${r} + g + 1u)];
      low1_${r} = low_plane[2u * (row${r} + g + 1u) + 1u];
#else
      low0_${r} = low_plane[row${r} + g + 1u];
#end
#if HIGH > 0
      high_${r} = high_plane[row${r} + g + 1u];
#end
      scale0_${r} = scale_of(row${r} + g + 1u, 0u);
#if HALVES
      scale1_${r} = scale_of(row${r} + g + 1u, 1u);
#end
#end
    }
    workgroupBarrier();
#include "matrix_step.wgsl"
    workgroupBarrier();
  }
  let base = part / params.tiles * params.piece_stride;
  let lane = t % ${LANES}u;
#for i in 0..WM/UM
#if i > 0
  workgroupBarrier();
#end
#for j in 0..WN/UN
  subgroupMatrixStore<row_major>(&held[subgroup], ${j * UN / 4}u, sums${i}_${j}, ${STEP_C}u);
#end
  workgroupBarrier();
  for (var e = lane; e < ${UM * WN / 4}u; e += ${LANES}u) {
    let row = top + down + ${i * UM}u + e / ${WN / 4}u;
    let column = left + over + e % ${WN / 4}u * 4u;
    if (row < params.m && column < params.n) {
      var four = bitcast<vec4<f32>>(held[subgroup][e / ${WN / 4}u * ${STEP_C}u + e % ${WN / 4}u]);
      let place = base + row * params.y_stride + column;
#if VECTOR_C
      if (params.adds != 0u) { four += vec4<f32>(y[place / 4u]); }
      y[place / 4u] = vec4<${TC}>(four);
#else
#for f in 0..4
      if (column + ${f}u < params.n) {
        if (params.adds != 0u) { four[${f}] += f32(y[place + ${f}u]); }
        y[place + ${f}u] = ${TC}(four[${f}]);
      }
#end
#end
    }
  }
#end
}
