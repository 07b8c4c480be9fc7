// y[row] = x . weights[row, :] of one vector by packed dot products. Each group of x becomes whole
// numbers of a power of two that its largest element chooses, of 24 bits: three signed bytes. Their
// products with the bytes of weights are summed exactly, so that an element of x is off by at most
// 2^-23 of the largest of its group. A group with infinity or NaN is multiplied as floats.
// A workgroup makes the bytes of SPAN groups at a time; then 32 neighbours take groups side by side
// of OWN rows of weights.
// What becomes of the sums, with GATED those of rows n apart: quantized_end.wgsl.
// Bindings: the planes of quantized_planes.wgsl, then x, of whole vec4, y, bias and the norm's weight.
// Variables: GROUP (SPAN by 1, 2 or 4), T, FORMAT, OWN; those of quantized_end.wgsl.
#include "floats.wgsl"
#let WHOLE = 1
#include "quantized_planes.wgsl"
#let SPAN = 128
#let SETS = GROUP / 32
#let RESULTS = OWN / (1 + GATED)
#let PER = SETS * RESULTS
#let LAST = SETS * OWN
// Parts of a group that have a scale of their own.
#let PARTS = 1 + HALVES
// Bytes of weights are signed; those of others have a bias that is left out of the sums.
#let SIGNED = 0
#if FORMAT == "q8_0" || FORMAT == "mxfp4"
#let SIGNED = 1
#end
#let INIT = 0
#if !SIGNED && BIAS > 0
#let INIT = 1
#end
#let SUMMED = 0
#if INIT || MINIMA
#let SUMMED = 1
#end
// Work-items that make the bytes of a group, vectors far apart by as many.
#let MAKERS = GROUP / SPAN
#let MADE = 8 / MAKERS

struct Params {
  n: u32, groups: u32,
  eps: f32, is_biased: u32, adds: u32, slope: f32, zero: u32,  // of quantized_end.wgsl
}
var<immediate> params: Params;
@group(0) @binding(${NEXT}) var<storage, read> x: array<${VEC}>;
@group(0) @binding(${NEXT + 1}) var<storage, read_write> y: array<${T}>;
@group(0) @binding(${NEXT + 2}) var<storage, read> bias: array<${T}>;
@group(0) @binding(${NEXT + 3}) var<storage, read> norm: array<${VEC}>;
/// Bytes d of vector j of group g are at [(2 d + j / 4) SPAN + g][j % 4]; afterwards sums of rows.
var<workgroup> bytes: array<vec4<u32>, ${6 * SPAN}>;
/// The largest elements that work-items find, as bits.
var<workgroup> tops: array<u32, ${GROUP}>;
/// Of each group the power of two, 0 where it has infinity or NaN.
var<workgroup> units: array<f32, ${SPAN}>;
#if SUMMED
/// What bytes d of part p of group g come to, at (3 p + d) SPAN + g, with INIT times the bias that
/// weights lack.
var<workgroup> sums: array<atomic<i32>, ${3 * PARTS * SPAN}>;
#end
/// Whether a group has infinity or NaN.
var<workgroup> specials: atomic<u32>;
#include "quantized_end.wgsl"

fn float_of(wholes: vec3<i32>) -> f32 {
  return fma(f32(wholes.z), 65536.0, f32(wholes.y * 256 + wholes.x));
}
/// Vector j of x as it is multiplied.
fn vector_at(j: u32) -> vec4<f32> {
#if WEIGHTED
  return vec4<f32>(x[j]) * vec4<f32>(norm[j]);
#else
  return vec4<f32>(x[j]);
#end
}
/// Whether group g of x has infinity or NaN.
fn is_special(g: u32) -> bool {
  var largest = 0u;
  for (var j = 0u; j < 8u; j += 1u) {
    let bits = bitcast<vec4<u32>>(vector_at(g * 8u + j)) & vec4<u32>(0x7fffffffu);
    largest = max(largest, max(max(bits.x, bits.y), max(bits.z, bits.w)));
  }
  return largest >= 0x7f800000u;
}
/// Group g of x by the group `at` of weights.
fn by_floats(at: u32, g: u32) -> f32 {
  var total = 0.0;
  for (var half = 0u; half < 2u; half += 1u) {
    let scale = scale_of(at, half);
    var part = 0.0;
    var sum = 0.0;
    for (var j = half * 4u; j < half * 4u + 4u; j += 1u) {
#if LOW == 8
      let low = low_plane[2u * at + half][j % 4u];
#elif LOW == 4
      let low = low_plane[at][j % 4u];
#else
      let low = low_plane[at][half];
#end
#if HIGH == 2
      let high = high_plane[at][half];
#elif HIGH == 1
      let high = high_plane[at];
#else
      let high = 0u;
#end
      let a = vector_at(g * 8u + j);
      part += dot(a, numbers_of(bytes_of(low, high, j)));
      sum += (a.x + a.y) + (a.z + a.w);
    }
#if FORMAT == "mxfp4"
    total = fma(part * scale.x, scale.y, total);
#else
    total = fma(part, scale.x, total);
#if MINIMA
    total = fma(sum, scale.y, total);
#end
#end
  }
  return total;
}
fn partial_at(i: u32) -> f32 { return bitcast<f32>(bytes[i / 4u][i % 4u]); }

/// Of a row's lanes.
fn sum_of(row: u32) -> f32 {
  var total = 0.0;
  for (var l = 0u; l < 8u; l += 1u) { total += partial_at(row * 32u + l); }
  return total;
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let top = (group.x + group.y * groups.x) * ${PER}u;
  if (top >= params.n) { return; }
  let lane = local % 32u;
  let line = local / 32u;
#for r in 0..RESULTS
  let row${r} = min(top + line * ${RESULTS}u + ${r}u, params.n - 1u) * params.groups;
#if GATED
  let row${r + RESULTS} = row${r} + params.n * params.groups;
#end
#end
#for r in 0..OWN
  var total${r} = 0.0;
#end
  var squares = 0.0;
  if (local == 0u) { atomicStore(&specials, 0u); }
  let made = local / ${MAKERS}u;
  let maker = local % ${MAKERS}u;
  for (var start = 0u; start < params.groups; start += ${SPAN}u) {
    let count = min(params.groups - start, ${SPAN}u);
    if (start > 0u) { workgroupBarrier(); }
    var largest = vec4<u32>();
#for i in 0..MADE
    var x${i} = vec4<f32>();
    if (made < count) {
      let at = (start + made) * 8u + maker + ${i * MAKERS}u;
      x${i} = vec4<f32>(x[at]);
#if NORM
      squares += dot(x${i}, x${i});
#if WEIGHTED
      x${i} *= vec4<f32>(norm[at]);
#end
#end
    }
    largest = max(largest, bitcast<vec4<u32>>(x${i}) & vec4<u32>(0x7fffffffu));
#end
    tops[local] = max(max(largest.x, largest.y), max(largest.z, largest.w));
#if SUMMED
    if (maker == 0u) {
#for i in 0..3 * PARTS
      atomicStore(&sums[${i * SPAN}u + made], 0);
#end
    }
#end
    workgroupBarrier();
    var bits = tops[made * ${MAKERS}u];
#for i in 1..MAKERS
    bits = max(bits, tops[made * ${MAKERS}u + ${i}u]);
#end
    // Of numbers that are nearly the next power of two, which no three bytes hold, that one.
    let exponent = clamp((bits + 0x10000u) >> 23u, 23u, 255u);
    let up = bitcast<f32>((276u - exponent) << 23u);
#for i in 0..MADE
#let H = i * MAKERS / 4
    {
      let whole = bitcast<vec4<u32>>(vec4<i32>(round(x${i} * up))) + vec4<u32>(0x808080u);
#for d in 0..3
      let part${d} = (whole >> vec4<u32>(${8 * d}u)) & vec4<u32>(255u);
      let word${d} = (part${d}.x | (part${d}.y << 8u) | (part${d}.z << 16u) | (part${d}.w << 24u)) ^
                     0x80808080u;
      bytes[${(2 * d + H) * SPAN}u + made][maker + ${i * MAKERS % 4}u] = word${d};
#if INIT
      atomicAdd(&sums[${(3 * H * HALVES + d) * SPAN}u + made],
                dot4I8Packed(word${d}, 0x01010101u) * ${0 - BIAS});
#elif SUMMED
      atomicAdd(&sums[${(3 * H * HALVES + d) * SPAN}u + made], dot4I8Packed(word${d}, 0x01010101u));
#end
#end
    }
#end
    if (maker == 0u) {
      let special = bits >= 0x7f800000u;
      units[made] = select(bitcast<f32>((exponent - 22u) << 23u), 0.0, special);
      if (special) { atomicStore(&specials, 1u); }
    }
    workgroupBarrier();
    for (var g = lane; g < count; g += 32u) {
#for r in 0..OWN
      let at${r} = row${r} + start + g;
#if LOW == 8
      let low0_${r} = low_plane[2u * at${r}];
      let low1_${r} = low_plane[2u * at${r} + 1u];
#else
      let low0_${r} = low_plane[at${r}];
#end
#if HIGH > 0
      let high_${r} = high_plane[at${r}];
#end
      let scale0_${r} = scale_of(at${r}, 0u);
#if HALVES
      let scale1_${r} = scale_of(at${r}, 1u);
#end
#end
      let unit = units[g];
#if SUMMED
#for p in 0..PARTS
      let sums${p} = vec3<i32>(atomicLoad(&sums[${3 * p * SPAN}u + g]),
                               atomicLoad(&sums[${(3 * p + 1) * SPAN}u + g]),
                               atomicLoad(&sums[${(3 * p + 2) * SPAN}u + g]));
#if MINIMA
      let sum${p} = float_of(sums${p}) * unit;
#end
#end
#end
#for i in 0..6
      let near${i} = bytes[${i * SPAN}u + g];
#end
#for r in 0..OWN
      {
#for p in 0..PARTS
#if INIT
        var products${p} = sums${p};
#else
        var products${p} = vec3<i32>();
#end
#end
#for j in 0..8
#let H = j / 4 * HALVES
#if LOW == 8
        let low${j} = low${j / 4}_${r}[${j % 4}];
#elif LOW == 4
        let low${j} = low0_${r}[${j % 4}];
#else
        let low${j} = low0_${r}[${j / 4}];
#end
#if HIGH == 2
        let high${j} = high_${r}[${j / 4}];
#elif HIGH == 1
        let high${j} = high_${r};
#else
        let high${j} = 0u;
#end
#if FORMAT == "mxfp4"
        let q${j} = values_of_places(bytes_of(low${j}, high${j}, ${j}u)) ^ 0x80808080u;
#elif SIGNED
        let q${j} = low${j} ^ 0x80808080u;
#else
        let q${j} = bytes_of(low${j}, high${j}, ${j}u);
#end
#for d in 0..3
        products${H}[${d}] += dot4I8Packed(q${j}, near${2 * d + j / 4}[${j % 4}]);
#end
#end
#for p in 0..PARTS
        let part${p} = float_of(products${p}) * unit;
#if FORMAT == "mxfp4"
        total${r} = fma(part${p} * scale${p}_${r}.x, scale${p}_${r}.y, total${r});
#else
        total${r} = fma(part${p}, scale${p}_${r}.x, total${r});
#end
#if MINIMA
        total${r} = fma(sum${p}, scale${p}_${r}.y, total${r});
#end
#end
      }
#end
    }
  }
  if (atomicLoad(&specials) != 0u) {
    for (var g = lane; g < params.groups; g += 32u) {
      if (!is_special(g)) { continue; }
#for r in 0..OWN
      total${r} += by_floats(row${r} + g, g);
#end
    }
  }
  workgroupBarrier();
#for r in 0..OWN
  {
    let into = (line * ${OWN}u + ${r}u) * 32u + lane;
    bytes[into / 4u][into % 4u] = bitcast<u32>(total${r});
  }
#end
  var rows = ${LAST}u;
#if NORM
  rows += ${SETS}u;
  {
    let into = ${LAST * 32}u + local;
    bytes[into / 4u][into % 4u] = bitcast<u32>(squares);
  }
#end
  workgroupBarrier();
  // Of each sum eight parts, then all of them.
  for (var i = local; i < rows * 8u; i += ${GROUP}u) {
    let start = i / 8u * 32u + i % 8u;
    var total = partial_at(start);
    for (var l = 8u; l < 32u; l += 8u) { total += partial_at(start + l); }
    bytes[start / 4u][start % 4u] = bitcast<u32>(total);
  }
  workgroupBarrier();
  if (local < ${PER}u && top + local < params.n) {
    let held = local / ${RESULTS}u * ${OWN}u + local % ${RESULTS}u;
    var scale = 1.0;
#if NORM
    var squares_of_all = 0.0;
    for (var l = 0u; l < ${SETS}u; l += 1u) { squares_of_all += sum_of(${LAST}u + l); }
    scale = scale_of_norm(squares_of_all, params.groups * 32u);
#end
    var other = 0.0;
#if GATED
    other = sum_of(held + ${RESULTS}u) * scale;
#end
    let row = top + local;
    y[row] = ${T}(ended(sum_of(held) * scale, other, row, row));
  }
}
