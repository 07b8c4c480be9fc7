// conv2d, or with BACKWARD the gradient of its input, as one product for each filter tap: rows are
// the channels that are written, columns their positions (image, y, x), deep are the channels that
// are read, in steps of BK of one tap, so that where a column reads changes only from tap to tap.
// 0 source, 1 the filter of conv2d_pack.wgsl, 2 result, 3 bias where BIAS.
// A BM x BN tile a workgroup, TM x TN of it a work-item; the next step is read from memory while
// this one is used.
// Variables: BM BN BK TM TN, BUFFERS (1 or 2 steps in workgroup memory), BACKWARD, BIAS, VECTOR (1:
// an image's positions are whole vec4), T, ACTIVATION.
#include "items.wgsl"
#if ACTIVATION != "none"
#include "activation.wgsl"
#end
struct Params {
  m: u32, n: u32, deep: u32, groups: u32, tiles: u32, tiles_n: u32, first: u32,
  filter_height: u32, filter_width: u32,
  source_height: u32, source_width: u32, result_height: u32, result_width: u32,
  stride_h: u32, stride_w: u32, pad_h: u32, pad_w: u32, dilation_h: u32, dilation_w: u32,
  slope: f32, zero: u32,  // of activation.wgsl
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> source: array<${T}>;
@group(0) @binding(1) var<storage, read> packed: array<${VEC}>;
@group(0) @binding(2) var<storage, read_write> result: array<${ITEM}>;
#if BIAS
@group(0) @binding(3) var<storage, read> bias: array<${T}>;
#end
#let NX = BN / TN
#let NY = BM / TM
#let THREADS = NX * NY
#let LOADS_A = BM * BK / 4 / THREADS
#let LOADS_B = BN * BK / THREADS
#let LINES = THREADS / BN
var<workgroup> tile_a: array<vec4<f32>, ${BUFFERS * BK * BM / 4}>;
var<workgroup> tile_b: array<vec4<f32>, ${BUFFERS * BK * BN / 4}>;

/// Where in a plane of the source the position (y, x) reads for a tap; all ones where it reads
/// padding.
fn seen(at: vec2<u32>, tap: u32) -> u32 {
  let r = tap / params.filter_width * params.dilation_h;
  let s = tap % params.filter_width * params.dilation_w;
  // Outside of the source on the left or above is a large number here.
#if BACKWARD
  let y = at.x + params.pad_h - r;
  let x = at.y + params.pad_w - s;
  let p = y / params.stride_h;
  let q = x / params.stride_w;
  let inside = p < params.source_height && q < params.source_width &&
               p * params.stride_h == y && q * params.stride_w == x;
#else
  let p = at.x * params.stride_h + r - params.pad_h;
  let q = at.y * params.stride_w + s - params.pad_w;
  let inside = p < params.source_height && q < params.source_width;
#end
  return select(0xffffffffu, p * params.source_width + q, inside);
}

@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let tile = workgroup.x + workgroup.y * workgroups.x;
  if (tile >= params.tiles) { return; }
  let group = params.first + workgroup.z;
  let row0 = tile / params.tiles_n * ${BM}u;
  let col0 = tile % params.tiles_n * ${BN}u;
  let tx = t % ${NX}u;
  let ty = t / ${NX}u;
  let taps = params.filter_height * params.filter_width;
  let steps_of_tap = params.deep / ${BK}u;
  let steps = taps * steps_of_tap;

  let lines = (params.m + ${BM - 1}u) / ${BM}u * ${BM / 4}u;
  let first_a = group * taps * params.deep * lines + row0 / 4u;
#for i in 0..LOADS_A
  var at_a${i} = first_a + (t + ${i * THREADS}u) / ${BM / 4}u * lines + (t + ${i * THREADS}u) % ${BM / 4}u;
  var next_a${i} = ${VEC}();
#end
  let result_plane = params.result_height * params.result_width;
  let source_plane = params.source_height * params.source_width;
  let col = col0 + t % ${BN}u;
  let image = col / result_plane;
  let position = vec2<u32>(col % result_plane / params.result_width, col % params.result_width);
  let first_b = ((image * params.groups + group) * params.deep + t / ${BN}u) * source_plane;
  var tap = 0u;
  var left_of_tap = steps_of_tap;
  var place = seen(position, 0u);
  var reads = col < params.n && place != 0xffffffffu;
  var at_b = first_b + place;
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
#for i in 0..LOADS_B
      next_b${i} = ${T}();
#end
      if (reads) {
#for i in 0..LOADS_B
        next_b${i} = source[at_b + ${i * LINES}u * source_plane];
#end
      }
      at_b += ${BK}u * source_plane;
      left_of_tap--;
      if (left_of_tap == 0u) {
        tap++;
        left_of_tap = steps_of_tap;
        place = seen(position, tap);
        reads = col < params.n && place != 0xffffffffu;
        at_b = first_b + place;
      }
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

#if VECTOR
#for j in 0..TN/4
  {
    let first = col0 + ${j * NX * 4}u + tx * 4u;
    if (first < params.n) {
      let plane = first / result_plane * params.groups + group;
      let at = (plane * params.m * result_plane + first % result_plane) / 4u;
#for i in 0..TM
      if (row0 + ${(i / 4) * NY * 4 + i % 4}u + ty * 4u < params.m) {
        let row = row0 + ${(i / 4) * NY * 4 + i % 4}u + ty * 4u;
        var sums = vec4<f32>(c${i}_${4 * j}, c${i}_${4 * j + 1}, c${i}_${4 * j + 2},
                             c${i}_${4 * j + 3});
#if BIAS
        sums += f32(bias[group * params.m + row]);
#end
#if ACTIVATION != "none"
        sums = activated(sums);
#end
        result[at + row * (result_plane / 4u)] = ${ITEM}(sums);
      }
#end
    }
  }
#end
#else
  let to = (image * params.groups + group) * params.m * result_plane + col % result_plane;
#let ROWS = "params.m"
#let COLUMN = "col"
#let COLUMNS = "params.n"
#include "conv2d_neighbours.wgsl"
#end
}
