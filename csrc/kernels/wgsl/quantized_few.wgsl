// y[v, row] = x[v, :] . weights[row, :] for few v: a work-item takes whole groups of OWN rows, whose
// words are vectors, and multiplies each by VECTORS rows of x, of which SPAN groups at a time lie in
// workgroup memory. Of 32 neighbours ROW_LANES are at rows side by side with the same group of x.
// What becomes of the sums, with GATED those of rows n apart: quantized_end.wgsl.
// Bindings: the planes of quantized_planes.wgsl, then x, whose rows are whole vec4, y, bias and the
// norm's weight.
// Variables: GROUP, T, FORMAT, VECTORS, ROW_LANES, OWN, SPAN (a multiple of GROUP / ROW_LANES); those
// of quantized_end.wgsl; ENDS (0: sums are the results, for the registers of Intel's GPUs).
//! T: f32 f16
//! FORMAT: q8_0 q4_0 q4_1 q5_0 q5_1 q2_k q3_k q4_k q5_k q6_k mxfp4
//! ENDS: as 0
//! GATED: as 0
//! NORM: as 0
//! WEIGHTED: as 0
//! ACTIVATION: as none
//! VECTORS: 2
//! ROW_LANES: 4
//! OWN: 2
//! SPAN: 16
//! GROUP: 64
#include "floats.wgsl"
#let WHOLE = 1
#include "quantized_planes.wgsl"
#let V = VECTORS
#let SIDE = GROUP / ROW_LANES
#let TURNS = SPAN / SIDE
#let RESULTS = OWN / (1 + GATED)
#let PER = ROW_LANES * RESULTS
#let NEAR = 32 / ROW_LANES
#let HELD = 8 * SPAN * V
// Sums of rows, and of x's squares behind them.
#if GROUP * (OWN + 1) * V / 4 > HELD
#let HELD = GROUP * (OWN + 1) * V / 4
#end

struct Params {
  m: u32, n: u32, groups: u32, x_stride: u32, y_stride: u32,
  eps: f32, is_biased: u32, adds: u32, slope: f32, zero: u32,  // of quantized_end.wgsl
}
var<immediate> params: Params;
@group(0) @binding(${NEXT}) var<storage, read> x: array<${VEC}>;
@group(0) @binding(${NEXT + 1}) var<storage, read_write> y: array<${T}>;
@group(0) @binding(${NEXT + 2}) var<storage, read> bias: array<${T}>;
@group(0) @binding(${NEXT + 3}) var<storage, read> norm: array<${VEC}>;
/// Vector j of group g of x is at 8 g + j, with j exchanged so that neighbours meet other banks.
var<workgroup> held: array<vec4<f32>, ${HELD}>;
#if ENDS
#include "quantized_end.wgsl"
#end

/// Of a row's lanes.
fn sum_of(row: u32) -> f32 {
  let sums = held[row * ${SIDE / 4}u] + held[row * ${SIDE / 4}u + 1u];
  return (sums.x + sums.y) + (sums.z + sums.w);
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let tile = group.x + group.y * groups.x;
  let tiles = (params.n + ${PER - 1}u) / ${PER}u;
  let first = tile / tiles * ${V}u;
  if (first >= params.m) { return; }
  let top = tile % tiles * ${PER}u;
  let line = local / ${NEAR}u % ${ROW_LANES}u;
  let lane = local % ${NEAR}u + local / 32u * ${NEAR}u;
#for r in 0..RESULTS
  let row${r} = min(top + line + ${r * ROW_LANES}u, params.n - 1u) * params.groups;
#if GATED
  let row${r + RESULTS} = row${r} + params.n * params.groups;
#end
#end
#for r in 0..OWN
#for v in 0..V
  var total${r}_${v} = 0.0;
#end
#end
#for v in 0..V
  let x${v} = min(first + ${v}u, params.m - 1u) * params.x_stride;
  var squares${v} = 0.0;
#end
  let count = params.groups * 8u;
  for (var start = 0u; start < params.groups; start += ${SPAN}u) {
#for t in 0..TURNS
    let g${t} = min(start + lane + ${t * SIDE}u, params.groups - 1u);
#for r in 0..OWN
    let at${t}_${r} = row${r} + g${t};
#if LOW == 8
    let low0_${t}_${r} = low_plane[2u * at${t}_${r}];
    let low1_${t}_${r} = low_plane[2u * at${t}_${r} + 1u];
#else
    let low0_${t}_${r} = low_plane[at${t}_${r}];
#end
#if HIGH > 0
    let high${t}_${r} = high_plane[at${t}_${r}];
#end
    let factor0_${t}_${r} = scale_of(at${t}_${r}, 0u);
#if HALVES
    let factor1_${t}_${r} = scale_of(at${t}_${r}, 1u);
#end
#end
#end
    workgroupBarrier();
    for (var i = local; i < ${8 * SPAN}u; i += ${GROUP}u) {
      let origin = start * 8u + i;
      let inside = min(origin, count - 1u);
      let to = i ^ (i / 8u % 8u);
#for v in 0..V
      var part${v} = vec4<f32>(x[x${v} + inside]);
#if NORM
      squares${v} += select(0.0, dot(part${v}, part${v}), origin < count);
#if WEIGHTED
      part${v} *= vec4<f32>(norm[inside]);
#end
#end
      held[to + ${v * 8 * SPAN}u] = select(vec4<f32>(), part${v} * unscaled, origin < count);
#end
    }
    workgroupBarrier();
#for t in 0..TURNS
    {
      let live = start + lane + ${t * SIDE}u < params.groups;
#for r in 0..OWN
      let scale0_${r} = select(vec2<f32>(), factor0_${t}_${r}, live);
#if HALVES
      let scale1_${r} = select(vec2<f32>(), factor1_${t}_${r}, live);
#end
#for v in 0..V
      var part0_${r}_${v} = 0.0;
      var part1_${r}_${v} = 0.0;
#end
#end
#for v in 0..V
      var sum0_${v} = 0.0;
      var sum1_${v} = 0.0;
#end
#for j in 0..8
#let H = j / 4
      let near${j} = (lane + ${t * SIDE}u) * 8u + (${j}u ^ ((lane + ${t * SIDE}u) % 8u));
#for v in 0..V
      let a${j}_${v} = held[near${j} + ${v * 8 * SPAN}u];
#if MINIMA
      sum${H}_${v} += dot(a${j}_${v}, vec4<f32>(1.0, 256.0, 1.0, 256.0));
#end
#end
#for r in 0..OWN
      {
#if LOW == 8
        let low = low${H}_${t}_${r}[${j % 4}];
#elif LOW == 4
        let low = low0_${t}_${r}[${j % 4}];
#else
        let low = low0_${t}_${r}[${H}];
#end
#if HIGH == 2
        let high = high${t}_${r}[${H}];
#elif HIGH == 1
        let high = high${t}_${r};
#else
        let high = 0u;
#end
        let q = scaled_numbers_of(places_of(low, high, ${j}u));
#for v in 0..V
        part${H}_${r}_${v} += dot(a${j}_${v}, q);
#end
      }
#end
#end
#for r in 0..OWN
#for v in 0..V
#if HALVES
      total${r}_${v} = fma(part0_${r}_${v}, scale0_${r}.x, total${r}_${v});
      total${r}_${v} = fma(part1_${r}_${v}, scale1_${r}.x, total${r}_${v});
#elif FORMAT == "mxfp4"
      total${r}_${v} = fma((part0_${r}_${v} + part1_${r}_${v}) * scale0_${r}.x, scale0_${r}.y, total${r}_${v});
#else
      total${r}_${v} = fma(part0_${r}_${v} + part1_${r}_${v}, scale0_${r}.x, total${r}_${v});
#end
#if MINIMA && HALVES
      total${r}_${v} = fma(sum0_${v}, scale0_${r}.y, total${r}_${v});
      total${r}_${v} = fma(sum1_${v}, scale1_${r}.y, total${r}_${v});
#elif MINIMA
      total${r}_${v} = fma(sum0_${v} + sum1_${v}, scale0_${r}.y, total${r}_${v});
#end
#end
#end
    }
#end
  }
  // Of each row the sums of its lanes.
  workgroupBarrier();
  let into = line * ${SIDE}u + lane;
  var rows = ${ROW_LANES * OWN * V}u;
#for v in 0..V
#for r in 0..OWN
  held[(into + ${(v * OWN + r) * GROUP}u) / 4u][into % 4u] = total${r}_${v};
#end
#if NORM
  held[(into + ${(V * OWN + v) * GROUP}u) / 4u][into % 4u] = squares${v};
  rows += ${ROW_LANES}u;
#end
#end
  workgroupBarrier();
  for (var i = local; i < rows * 8u; i += ${GROUP}u) {
    let origin = i / 8u * ${SIDE}u + i % 8u;
    var total = held[origin / 4u][origin % 4u];
    for (var l = 8u; l < ${SIDE}u; l += 8u) { total += held[(origin + l) / 4u][origin % 4u]; }
    held[origin / 4u][origin % 4u] = total;
  }
  workgroupBarrier();
  if (local < ${PER * V}u) {
    let row = top + local % ${PER}u;
    let vector = local / ${PER}u;
    if (row < params.n && first + vector < params.m) {
      let at = vector * ${ROW_LANES * OWN}u + local % ${PER}u;
#if ENDS
      var scale = 1.0;
#if NORM
      var squares = 0.0;
#for l in 0..ROW_LANES
      squares += sum_of(${V * OWN * ROW_LANES + l}u + vector * ${ROW_LANES}u);
#end
      scale = scale_of_norm(squares, params.groups * 32u);
#end
      var other = 0.0;
#if GATED
      other = sum_of(at + ${PER}u) * scale;
#end
      let place = (first + vector) * params.y_stride + row;
      y[place] = ${T}(ended(sum_of(at) * scale, other, row, place));
#else
      y[first * params.y_stride + vector * params.y_stride + row] = ${T}(sum_of(at));
#end
    }
  }
}
