// y[row] = x . weights[row, :] of one vector by packed dot products. Each group of x becomes whole
// numbers of a power of two that its largest element chooses, of 24 bits: three signed bytes. Their
// products with the bytes of weights are summed exactly, so that an element of x is off by at most
// 2^-23 of the largest of its group. A group with infinity or NaN is multiplied as floats.
// A workgroup makes the bytes of SPAN groups at a time, a work-item those of a group; then 32
// neighbours take groups side by side of OWN rows of weights.
// What becomes of the sums, with GATED those of rows n apart: quantized_end.wgsl.
// Bindings: the planes of quantized_planes.wgsl, then x, of whole vec4, y, bias and the norm's weight.
// Variables: GROUP (SPAN or more), T, FORMAT, OWN; those of quantized_end.wgsl.
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
/// Of each part of a group what its bytes come to, with INIT times the bias that weights lack, and
/// the power of two.
var<workgroup> wholes: array<vec4<i32>, ${PARTS * SPAN}>;
#include "quantized_end.wgsl"

/// Vector j of x as it is multiplied.
fn vector_at(j: u32) -> vec4<f32> {
#if WEIGHTED
  return vec4<f32>(x[j]) * vec4<f32>(norm[j]);
#else
  return vec4<f32>(x[j]);
#end
}
fn float_of(wholes: vec3<i32>) -> f32 {
  return fma(f32(wholes.z), 65536.0, f32(wholes.y * 256 + wholes.x));
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
  for (var start = 0u; start < params.groups; start += ${SPAN}u) {
    let count = min(params.groups - start, ${SPAN}u);
    if (start > 0u) { workgroupBarrier(); }
    if (local < count) {
      var largest = vec4<u32>();
#for j in 0..8
#if WEIGHTED
      let own${j} = vec4<f32>(x[(start + local) * 8u + ${j}u]);
      let x${j} = own${j} * vec4<f32>(norm[(start + local) * 8u + ${j}u]);
#else
      let x${j} = vec4<f32>(x[(start + local) * 8u + ${j}u]);
#if NORM
      let own${j} = x${j};
#end
#end
#if NORM
      squares += dot(own${j}, own${j});
#end
      largest = max(largest, bitcast<vec4<u32>>(x${j}) & vec4<u32>(0x7fffffffu));
#end
      let bits = max(max(largest.x, largest.y), max(largest.z, largest.w));
      // Of numbers that are nearly the next power of two, which no three bytes hold, that one.
      let exponent = clamp((bits + 0x10000u) >> 23u, 23u, 255u);
      let up = bitcast<f32>((276u - exponent) << 23u);
#for p in 0..PARTS
      var sums${p} = vec3<i32>();
#end
#for j in 0..8
#let H = j / 4 * HALVES
      {
        let whole = bitcast<vec4<u32>>(vec4<i32>(round(x${j} * up))) + vec4<u32>(0x808080u);
#for d in 0..3
        let part${d} = (whole >> vec4<u32>(${8 * d}u)) & vec4<u32>(255u);
        let word${d} = (part${d}.x | (part${d}.y << 8u) | (part${d}.z << 16u) | (part${d}.w << 24u)) ^
                       0x80808080u;
        bytes[${(2 * d + j / 4) * SPAN}u + local][${j % 4}] = word${d};
        sums${H}[${d}] += dot4I8Packed(word${d}, 0x01010101u);
#end
      }
#end
      let unit = select(bitcast<i32>((exponent - 22u) << 23u), 0x7fc00000, bits >= 0x7f800000u);
#for p in 0..PARTS
#if INIT
      wholes[${p * SPAN}u + local] = vec4<i32>(sums${p} * ${0 - BIAS}, unit);
#else
      wholes[${p * SPAN}u + local] = vec4<i32>(sums${p}, unit);
#end
#end
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
#for p in 0..PARTS
      let whole${p} = wholes[${p * SPAN}u + g];
#end
      let unit = bitcast<f32>(whole0.w);
#for p in 0..PARTS
#if MINIMA
      var sum${p} = float_of(whole${p}.xyz) * unit;
#end
#for r in 0..OWN
      var part${p}_${r} = 0.0;
#end
#end
      if (whole0.w == 0x7fc00000) {
        // With infinity or NaN.
#if MINIMA
#for p in 0..PARTS
        sum${p} = 0.0;
#end
#end
        for (var j = 0u; j < 8u; j += 1u) {
          let a = vector_at((start + g) * 8u + j);
#if MINIMA
          let all = (a.x + a.y) + (a.z + a.w);
#if HALVES
          if (j < 4u) { sum0 += all; } else { sum1 += all; }
#else
          sum0 += all;
#end
#end
#for r in 0..OWN
          {
#if LOW == 8
            let low = select(low0_${r}, low1_${r}, j > 3u)[j % 4u];
#elif LOW == 4
            let low = low0_${r}[j % 4u];
#else
            let low = low0_${r}[j / 4u];
#end
#if HIGH == 2
            let high = high_${r}[j / 4u];
#elif HIGH == 1
            let high = high_${r};
#else
            let high = 0u;
#end
            let product = dot(a, numbers_of(bytes_of(low, high, j)));
#if HALVES
            if (j < 4u) { part0_${r} += product; } else { part1_${r} += product; }
#else
            part0_${r} += product;
#end
          }
#end
        }
      } else {
#for i in 0..6
        let near${i} = bytes[${i * SPAN}u + g];
#end
#for r in 0..OWN
        {
#for p in 0..PARTS
#if INIT
          var products${p} = whole${p}.xyz;
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
          part${p}_${r} = float_of(products${p}) * unit;
#end
        }
#end
      }
#for r in 0..OWN
#if FORMAT == "mxfp4"
      total${r} = fma(part0_${r} * scale0_${r}.x, scale0_${r}.y, total${r});
#else
#for p in 0..PARTS
      total${r} = fma(part${p}_${r}, scale${p}_${r}.x, total${r});
#if MINIMA
      total${r} = fma(sum${p}, scale${p}_${r}.y, total${r});
#end
#end
#end
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
  rows += ${SPAN / 32}u;
  if (local < ${SPAN}u) {
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
#for l in 0..SPAN / 32
    squares_of_all += sum_of(${LAST + l}u);
#end
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
