// y[row] = x . weights[row, :] of one vector by packed dot products. Each group of x becomes whole
// numbers of a power of two that its largest element chooses, of 24 bits: three signed bytes. Their
// products with the bytes of weights are summed exactly, so that an element of x is off by at most
// 2^-23 of the largest of its group. A group with infinity or NaN is multiplied as floats.
// A workgroup makes the bytes of SPAN groups at a time; then 32 neighbours take groups side by side
// of OWN rows of weights. Where x is one span, the workgroup goes on with further rows; of longer ones
// there has to be a workgroup for all rows.
// What becomes of the sums, with GATED those of rows n apart: quantized_end.wgsl.
// Bindings: the planes of quantized_planes.wgsl, then x, of whole vec4, y, bias and the norm's weight.
// Variables: GROUP, T, FORMAT, OWN; those of quantized_end.wgsl.
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
// Work-items that make the bytes of a group, and the vectors of each, as many apart.
#let MAKERS = 4
#let MADE = 2
#let PASS = GROUP / MAKERS

struct Params {
  n: u32, groups: u32,
  eps: f32, is_biased: u32, adds: u32, slope: f32, zero: u32,  // of quantized_end.wgsl
}
var<immediate> params: Params;
@group(0) @binding(${NEXT}) var<storage, read> x: array<${VEC}>;
@group(0) @binding(${NEXT + 1}) var<storage, read_write> y: array<${T}>;
@group(0) @binding(${NEXT + 2}) var<storage, read> bias: array<${T}>;
@group(0) @binding(${NEXT + 3}) var<storage, read> norm: array<${VEC}>;
/// Bytes d of vector j of group g are at [(2 d + j / 4) SPAN + g][j % 4].
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
/// Sums of rows, a part of each lane; behind them with NORM those of squares.
var<workgroup> parts: array<f32, ${32 * (LAST + NORM * SETS)}>;
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

/// What a work-item reads of a group of weights.
struct Held {
#if LOW == 2
  low: vec2<u32>,
#else
  low: vec4<u32>,
#end
#if LOW == 8
  second: vec4<u32>,
#end
#if HIGH == 2
  high: vec2<u32>,
#elif HIGH == 1
  high: u32,
#end
  scale0: vec2<f32>,
#if HALVES
  scale1: vec2<f32>,
#end
}
fn held_at(at: u32) -> Held {
  var held: Held;
#if LOW == 8
  held.low = low_plane[2u * at];
  held.second = low_plane[2u * at + 1u];
#else
  held.low = low_plane[at];
#end
#if HIGH > 0
  held.high = high_plane[at];
#end
  held.scale0 = scale_of(at, 0u);
#if HALVES
  held.scale1 = scale_of(at, 1u);
#end
  return held;
}

/// Of a row's lanes, of whose parts eight are left.
fn sum_of(row: u32) -> f32 {
  var total = 0.0;
  for (var l = 0u; l < 8u; l += 1u) { total += parts[row * 32u + l]; }
  return total;
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let lane = local % 32u;
  let line = local / 32u;
  let made = local / ${MAKERS}u;
  let maker = local % ${MAKERS}u;
  let first_top = (group.x + group.y * groups.x) * ${PER}u;
  let first_line = line * ${RESULTS}u;
  var squares = 0.0;
  var scale = 1.0;
  if (local == 0u) { atomicStore(&specials, 0u); }
  for (var top = first_top; top < params.n; top += groups.x * groups.y * ${PER}u) {
#for r in 0..RESULTS
    let row${r} = min(top + first_line + ${r}u, params.n - 1u) * params.groups;
#if GATED
    let row${r + RESULTS} = row${r} + params.n * params.groups;
#end
#end
#for r in 0..OWN
    var total${r} = 0.0;
#end
    for (var start = 0u; start < params.groups; start += ${SPAN}u) {
      let count = min(params.groups - start, ${SPAN}u);
      if (start > 0u) { workgroupBarrier(); }
      if (top == first_top) {
        for (var from_group = 0u; from_group < count; from_group += ${PASS}u) {
          let g = from_group + made;
          var largest = vec4<u32>();
#for i in 0..MADE
          var x${i} = vec4<f32>();
          if (g < count) {
            let at = (start + g) * 8u + maker + ${i * MAKERS}u;
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
          if (maker == 0u && g < count) {
#for i in 0..3 * PARTS
            atomicStore(&sums[${i * SPAN}u + g], 0);
#end
          }
#end
          workgroupBarrier();
          if (g < count) {
            var bits = tops[made * ${MAKERS}u];
#for i in 1..MAKERS
            bits = max(bits, tops[made * ${MAKERS}u + ${i}u]);
#end
            // Of numbers that are nearly the next power of two, which no three bytes hold, that one.
            let exponent = clamp((bits + 0x10000u) >> 23u, 23u, 255u);
            let up = bitcast<f32>((276u - exponent) << 23u);
#for i in 0..MADE
#let H = i * MAKERS / 4
            let whole${i} =
                bitcast<vec4<u32>>(vec4<i32>(round(x${i} * up))) + vec4<u32>(0x808080u);
#for d in 0..3
            {
              let part = (whole${i} >> vec4<u32>(${8 * d}u)) & vec4<u32>(255u);
              let word = (part.x | (part.y << 8u) | (part.z << 16u) | (part.w << 24u)) ^
                         0x80808080u;
              bytes[${(2 * d + H) * SPAN}u + g][maker + ${i * MAKERS % 4}u] = word;
#if INIT
              atomicAdd(&sums[${(3 * H * HALVES + d) * SPAN}u + g],
                        dot4I8Packed(word, 0x01010101u) * ${0 - BIAS});
#elif SUMMED
              atomicAdd(&sums[${(3 * H * HALVES + d) * SPAN}u + g],
                        dot4I8Packed(word, 0x01010101u));
#end
            }
#end
#end
            if (maker == 0u) {
              let special = bits >= 0x7f800000u;
              units[g] = select(bitcast<f32>((exponent - 22u) << 23u), 0.0, special);
              if (special) { atomicStore(&specials, 1u); }
            }
          }
          workgroupBarrier();
        }
      }
      for (var g = lane; g < count; g += 32u) {
#for r in 0..OWN
        let held${r} = held_at(row${r} + start + g);
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
#if j < 4
          let low${j} = held${r}.low[${j}];
#else
          let low${j} = held${r}.second[${j - 4}];
#end
#elif LOW == 4
          let low${j} = held${r}.low[${j % 4}];
#else
          let low${j} = held${r}.low[${j / 4}];
#end
#if HIGH == 2
          let high${j} = held${r}.high[${j / 4}];
#elif HIGH == 1
          let high${j} = held${r}.high;
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
          total${r} = fma(part${p} * held${r}.scale${p}.x, held${r}.scale${p}.y, total${r});
#else
          total${r} = fma(part${p}, held${r}.scale${p}.x, total${r});
#end
#if MINIMA
          total${r} = fma(sum${p}, held${r}.scale${p}.y, total${r});
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
#for r in 0..OWN
    parts[(line * ${OWN}u + ${r}u) * 32u + lane] = total${r};
#end
#if NORM
    parts[${LAST * 32}u + local] = squares;
#end
    workgroupBarrier();
    for (var i = local; i < ${8 * (LAST + NORM * SETS)}u; i += ${GROUP}u) {
      let of_row = i / 8u * 32u + i % 8u;
      parts[of_row] += (parts[of_row + 8u] + parts[of_row + 16u]) + parts[of_row + 24u];
    }
    workgroupBarrier();
#if NORM
    if (local < 8u) {
      for (var l = 1u; l < ${SETS}u; l += 1u) {
        parts[${LAST * 32}u + local] += parts[${LAST * 32}u + l * 32u + local];
      }
    }
    workgroupBarrier();
    scale = scale_of_norm(sum_of(${LAST}u), params.groups * 32u);
#end
    if (local < ${PER}u && top + local < params.n) {
      let held = local / ${RESULTS}u * ${OWN}u + local % ${RESULTS}u;
      var other = 0.0;
#if GATED
      other = sum_of(held + ${RESULTS}u) * scale;
#end
      let row = top + local;
      y[row] = ${T}(ended(sum_of(held) * scale, other, row, row));
    }
    workgroupBarrier();
  }
}
