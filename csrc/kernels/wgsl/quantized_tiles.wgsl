// y = x * weights^T for many rows of x: one BM x BN tile of y a workgroup, TM x TN of it a work-item.
// The values of a group of each row of weights lie in workgroup memory, k by k, with as much of x;
// the next ones are read from memory while these are used. k may be cut in `pieces`: the product of
// each is a matrix of its own in y.
// Bindings: the planes of quantized_planes.wgsl, then x and y.
// Variables: BM, BN (a multiple of the work-items), TM (4 or 8), TN; T, TC (f32 or f16); VECTORS (1: rows of
// x are whole vec4); FORMAT.
//! BM: 16
//! BN: 64
//! TM: 4
//! TN: 4
//! T: f32 f16
//! TC: f32 f16
//! VECTORS: 0 1
//! FORMAT: q8_0 q4_0 q4_1 q5_0 q5_1 q2_k q3_k q4_k q5_k q6_k mxfp4
//! ignored: GROUP
//! only: TC == T or TC == "f32"
#let HALF = 0
#if T == "f16" || TC == "f16"
enable f16;
#let HALF = 1
#end
#let WHOLE = 1
#include "quantized_planes.wgsl"
#let NX = BN / TN
#let NY = BM / TM
#let THREADS = NX * NY
#let LANES_X = 4
#if NY < 8
#let LANES_X = 32 / NY
#end
#let LANES_Y = 32 / LANES_X
#let ACROSS = BM / 4
#let MOST = 8
#if BM < 32
#let MOST = ACROSS
#end
#let ROWS = BN / THREADS
#let LOADS = 8 * BM / THREADS

struct Params {
  m: u32, n: u32, groups: u32, x_stride: u32, y_stride: u32, across: u32, tiles: u32, piece: u32, piece_stride: u32,
  adds: u32,  // 1: to what y has
}
var<immediate> params: Params;
#if VECTORS
#let ITEM = "vec4<f32>"
#if T == "f16"
#let ITEM = "vec4<f16>"
#end
#else
#let ITEM = T
#end
@group(0) @binding(${NEXT}) var<storage, read> x: array<${ITEM}>;
@group(0) @binding(${NEXT + 1}) var<storage, read_write> y: array<${TC}>;
var<workgroup> x_tile: array<vec4<f32>, ${32 * ACROSS}>;
var<workgroup> w_tile: array<vec4<f32>, ${8 * BN}>;

fn four(at: u32) -> vec4<f32> {
#if VECTORS
  return vec4<f32>(x[at / 4u]);
#else
  return vec4<f32>(f32(x[at]), f32(x[at + 1u]), f32(x[at + 2u]), f32(x[at + 3u]));
#end
}

@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let part = group.x + group.y * groups.x;
  let tile = part % params.tiles;
  let start = part / params.tiles * params.piece;
  if (start >= params.groups) { return; }
  let end = min(start + params.piece, params.groups);
  let top = tile / params.across * ${BM}u;
  let left = tile % params.across * ${BN}u;
  let tx = (local & 1u) | ((local / ${LANES_Y}u) & ${NX - 2}u);
  let ty = ((local / 2u) & ${LANES_Y - 1}u) | ((local / ${NX}u) & ${NY - LANES_Y}u);
#for i in 0..TM
#for j in 0..TN
  var c${i}_${j} = 0.0;
#end
#end
#for r in 0..ROWS
  let row${r} = min(left + local + ${r * THREADS}u, params.n - 1u) * params.groups;
#end
  let deep = local % 8u;
#for i in 0..LOADS
  let line${i} = local / 8u + ${i * THREADS / 8}u;
  let origin${i} = min(top + line${i}, params.m - 1u) * params.x_stride + deep * 4u;
  var next${i} = four(origin${i} + start * 32u);
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
#for i in 0..LOADS
    {
      let into = deep * ${4 * ACROSS}u + ((line${i} / 4u) ^ (deep % ${MOST}u));
#for e in 0..4
      x_tile[into + ${e * ACROSS}u][line${i} % 4u] = next${i}[${e}];
#end
    }
#end
#for r in 0..ROWS
    {
      let into = (local + ${r * THREADS}u) / 4u;
#include "quantized_values.wgsl"
#for j in 0..8
#for e in 0..4
      w_tile[into + ${(4 * j + e) * BN / 4}u][local % 4u] = w${j}[${e}];
#end
#end
    }
#end
    workgroupBarrier();
    let after = min(g + 1u, end - 1u);
#for i in 0..LOADS
    next${i} = four(origin${i} + after * 32u);
#end
#for r in 0..ROWS
#if LOW == 8
    low0_${r} = low_plane[2u * (row${r} + after)];
    low1_${r} = low_plane[2u * (row${r} + after) + 1u];
#else
    low0_${r} = low_plane[row${r} + after];
#end
#if HIGH > 0
    high_${r} = high_plane[row${r} + after];
#end
    scale0_${r} = scale_of(row${r} + after, 0u);
#if HALVES
    scale1_${r} = scale_of(row${r} + after, 1u);
#end
#end
    for (var j = 0u; j < 8u; j += 1u) {
      let at_x = j * ${4 * ACROSS}u + (ty ^ (j % ${MOST}u));
      let other_x = j * ${4 * ACROSS}u + ((ty + ${NY}u) ^ (j % ${MOST}u));
      let at_w = j * ${BN}u + tx;
#for e in 0..4
      {
        let x0 = x_tile[at_x + ${e * ACROSS}u];
#if TM == 8
        let x1 = x_tile[other_x + ${e * ACROSS}u];
#end
#for b in 0..TN/4
        let w${b} = w_tile[at_w + ${e * BN / 4 + b * NX}u];
#end
#for b in 0..TN
#for n in 0..TM
#let a = n + b % 2 * (TM - 1 - 2 * n)
        c${a}_${b} = fma(x${a / 4}[${a % 4}], w${b / 4}[${b % 4}], c${a}_${b});
#end
#end
      }
#end
    }
    workgroupBarrier();
  }
  let base = part / params.tiles * params.piece_stride;
#for a in 0..TM
  {
    let row = top + ${a / 4 * NY * 4 + a % 4}u + ty * 4u;
    if (row < params.m) {
#for b in 0..TN
      let column${b} = left + ${b / 4 * NX * 4 + b % 4}u + tx * 4u;
      if (column${b} < params.n) {
        let place = base + row * params.y_stride + column${b};
        var result = c${a}_${b};
        if (params.adds != 0u) { result += f32(y[place]); }
        y[place] = ${TC}(result);
      }
#end
    }
  }
#end
}
