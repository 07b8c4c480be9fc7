// A round of the one-sided Jacobi method: each pair of vectors is turned so that they are
// orthogonal. A workgroup for each pair.
// 0 x, 1 scales, 2 cosines: how far from orthogonal the pairs of a place still were in a measured
// sweep.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 64 256
#include "jacobi_pairs.wgsl"
#include "numbers.wgsl"
#include "jacobi_turn.wgsl"
// What squares have lost digits below, the square of what svd_complete takes for rounding of the
// largest, and the cosine of what is orthogonal.
#let LOST = "1e-30f"
#let ROUNDING = "1e-13f"
#let ORTHOGONAL = "1e-7f"
#if T == "f64"
#let LOST = "1e-290lf"
#let ROUNDING = "4e-30lf"
#let ORTHOGONAL = "2e-16lf"
#end

struct Params {
  count: u32, players: u32, round: u32, first: u32, length: u32, width: u32, measure: u32,
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> x: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read> scales: array<${T}>;
@group(0) @binding(2) var<storage, read_write> cosines: array<${T}>;
var<workgroup> of_one: array<${T}, ${GROUP}>;
var<workgroup> of_other: array<${T}, ${GROUP}>;
var<workgroup> of_both: array<${NUMBER}, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.y;
  let pair = pair_of(group.x, params.round, params.players);
  let is_pair = pair.y < params.count;
  let one = (matrix * params.count + pair.x) * params.width;
  let other = (matrix * params.count + select(pair.x, pair.y, is_pair)) * params.width;
  var a = ${T}(0);
  var b = ${T}(0);
  var c = ${NUMBER}();
  for (var e = local; e < params.length; e += ${GROUP}u) {
    let v = x[one + e];
    let w = x[other + e];
    a = plus_square(a, v);
    b = plus_square(b, w);
    c = plus_product(c, conjugate(v), w);
  }
  of_one[local] = a;
  of_other[local] = b;
  of_both[local] = c;
  workgroupBarrier();
  for (var half = ${GROUP / 2}u; half > 0u; half /= 2u) {
    if (local < half) {
      of_one[local] += of_one[local + half];
      of_other[local] += of_other[local + half];
      of_both[local] += of_both[local + half];
    }
    workgroupBarrier();
  }
  a = of_one[0];
  b = of_other[0];
  c = of_both[0];
  let lengths = sqrt(a) * sqrt(b);
  let size = length_of(c);
  let are_there = is_pair && min(a, b) > ${LOST};
  if (params.measure > 0u && local == 0u) {
    let place = matrix * (params.players / 2u) + group.x;
    // svd_complete makes new ones of those that are no more than rounding of the largest, which is
    // no shorter than the mean, nor than the largest element.
    let least = ${ROUNDING} * max(${T}(1), scales[3u * matrix + 2u]);
    let cosine = select(${T}(0), size / lengths, is_pair && min(a, b) > least);
    cosines[place] = select(max(cosines[place], cosine), cosine, params.measure == 1u);
  }
  if (!(are_there && size > ${ORTHOGONAL} * lengths)) { return; }
  let rotation = rotation_of(a, b, c);
  for (var e = local; e < params.width; e += ${GROUP}u) {
    let both = turned(x[one + e], x[other + e], rotation.sine, rotation.share);
    x[one + e] = both.x;
    x[other + e] = both.y;
  }
}
