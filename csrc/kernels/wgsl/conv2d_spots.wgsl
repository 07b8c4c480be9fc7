// conv2d, or the gradient of its input, as one product whose depth is the channels that are read
// with their taps: rows are the channels that are written, columns the positions (image, y, x) of a
// phase.
// 0 source, 1 the filter and 2 the spots of depths of conv2d_spots_pack.wgsl, 3 the spots of taps,
// 4 result, 5 bias where BIAS.
// A BM x BN tile a workgroup, TM x TN of it a work-item; the next step is read from memory while
// this one is used.
// Variables: BM BN BK TM TN, BUFFERS (1 or 2 steps in workgroup memory), EDGES (0: no position reads
// beyond the source), BIAS, T, ACTIVATION.
#include "floats.wgsl"
#if ACTIVATION != "none"
#include "activation.wgsl"
#end
#include "conv2d_spots_params.wgsl"
@group(0) @binding(0) var<storage, read> source: array<${T}>;
@group(0) @binding(1) var<storage, read> packed: array<${VEC}>;
@group(0) @binding(2) var<storage, read> deep_spots: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> spots: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> result: array<${T}>;
#if BIAS
@group(0) @binding(5) var<storage, read> bias: array<${T}>;
#end
#let NX = BN / TN
#let NY = BM / TM
#let THREADS = NX * NY
#let LOADS_A = BM * BK / 4 / THREADS
#let LOADS_B = BN * BK / THREADS
#let LINES = THREADS / BN
var<workgroup> tile_a: array<vec4<f32>, ${BUFFERS * BK * BM / 4}>;
var<workgroup> tile_b: array<vec4<f32>, ${BUFFERS * BK * BN / 4}>;

@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let tile = workgroup.x + workgroup.y * workgroups.x;
  let phase = phase_of((params.first + workgroup.z) / params.groups);
  let group = (params.first + workgroup.z) % params.groups;
  let row0 = tile / params.tiles_n * ${BM}u;
  let col0 = tile % params.tiles_n * ${BN}u;
  let columns = params.images * phase.height * phase.width;
  if (row0 >= params.rows || col0 >= columns) { return; }
  let tx = t % ${NX}u;
  let ty = t / ${NX}u;
  let steps = phase.depth / ${BK}u;

  let lines = (params.rows + ${BM - 1}u) / ${BM}u * ${BM / 4}u;
  let first_a = (group * params.depth + phase.start) * lines + row0 / 4u;
#for i in 0..LOADS_A
  var at_a${i} = first_a + (t + ${i * THREADS}u) / ${BM / 4}u * lines +
                (t + ${i * THREADS}u) % ${BM / 4}u;
  var next_a${i} = ${VEC}();
#end
  let source_plane = params.source_height * params.source_width;
#if EDGES
  let col = col0 + t % ${BN}u;
#else
  let col = min(col0 + t % ${BN}u, columns - 1u);
#end
  let at = digits(col, phase.height, phase.width);
  let y = at.y * params.in_step_h - params.in_pad_h;
  let x = at.z * params.in_step_w - params.in_pad_w;
  // Of no column all rows are outside.
  let height = select(0u, params.source_height, col < columns);
  let start = (at.x * params.groups + group) * params.deep * source_plane +
             y * params.source_width + x;
  var depth = phase.start + t / ${BN}u;
#for i in 0..LOADS_B
  var next_b${i} = ${T}();
#end
#for i in 0..TM
#for j in 0..TN
  var c${i}_${j} = 0.0;
#end
#end

  for (var step = 0u; step <= steps; step++) {
    if (step < steps) {
#for i in 0..LOADS_A
      next_a${i} = packed[at_a${i}];
      at_a${i} += ${BK}u * lines;
#end
#if EDGES
#for i in 0..LOADS_B
      let spot${i} = deep_spots[depth + ${i * LINES}u];
#end
#for i in 0..LOADS_B
      next_b${i} = ${T}();
      if (y + spot${i}.x < height && x + spot${i}.y < params.source_width) {
        next_b${i} = source[start + spot${i}.z];
      }
#end
#else
#for i in 0..LOADS_B
      let spot${i} = deep_spots[depth + ${i * LINES}u].z;
#end
#for i in 0..LOADS_B
      next_b${i} = ${T}();
      if (spot${i} != 0xffffffffu) { next_b${i} = source[start + spot${i}]; }
#end
#end
      depth += ${BK}u;
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
        // There and back, as in gemm.wgsl.
#for j in 0..TN
#for n in 0..TM
#let i = n + j % 2 * (TM - 1 - 2 * n)
        c${i}_${j} = fma(x${i / 4}[${i % 4}], y${j / 4}[${j % 4}], c${i}_${j});
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
#for i in 0..LOADS_A
      tile_a[to_a + t + ${i * THREADS}u] = vec4<f32>(next_a${i});
#end
#for i in 0..LOADS_B
      tile_b[to_b + (t / ${BN}u + ${i * LINES}u) * ${BN / 4}u + t % ${BN}u / 4u][t % 4u] =
          f32(next_b${i});
#end
      workgroupBarrier();
    }
  }

  let result_plane = params.result_height * params.result_width;
  let own_col = col0 + t % ${BN}u;
  let to = (at.x * params.groups + group) * params.rows * result_plane +
           (at.y * params.out_step_h + phase.top) * params.result_width +
           at.z * params.out_step_w + phase.left;
#let ROWS = "params.rows"
#let COLUMN = "own_col"
#let COLUMNS = "columns"
#include "conv2d_neighbours.wgsl"
}
