// A round of the one-sided Jacobi method: each pair of vectors is turned so that they are
// orthogonal. A workgroup for each pair.
// 0 x, 1 cosines: how far from orthogonal the pairs of a place still were in a measured sweep.
// Variables: GROUP.
//! GROUP: 64 256
#include "jacobi_pairs.wgsl"

struct Params {
  count: u32, players: u32, round: u32, first: u32, length: u32, width: u32, measure: u32,
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> cosines: array<f32>;
var<workgroup> of_one: array<f32, ${GROUP}>;
var<workgroup> of_other: array<f32, ${GROUP}>;
var<workgroup> of_both: array<f32, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let matrix = params.first + group.y;
  let pair = pair_of(group.x, params.round, params.players);
  let is_pair = pair.y < params.count;
  let one = (matrix * params.count + pair.x) * params.width;
  let other = (matrix * params.count + select(pair.x, pair.y, is_pair)) * params.width;
  var a = 0.0;
  var b = 0.0;
  var c = 0.0;
  for (var e = local; e < params.length; e += ${GROUP}u) {
    let v = x[one + e];
    let w = x[other + e];
    a = fma(v, v, a);
    b = fma(w, w, b);
    c = fma(v, w, c);
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
  // Squares of less are lost in part.
  let are_there = is_pair && min(a, b) > 1e-30;
  if (params.measure > 0u && local == 0u) {
    let place = matrix * (params.players / 2u) + group.x;
    // svd_complete makes new ones of those that are no more than rounding of the largest, which is
    // as long as 1 at least.
    let cosine = select(0.0, abs(c) / lengths, is_pair && min(a, b) > 1e-13);
    cosines[place] = select(max(cosines[place], cosine), cosine, params.measure == 1u);
  }
  var tangent = 0.0;
  if (are_there && abs(c) > 1e-7 * lengths) {
    let ratio = (b - a) / (2.0 * c);
    tangent = select(-1.0, 1.0, ratio >= 0.0) / (abs(ratio) + sqrt(fma(ratio, ratio, 1.0)));
  }
  if (tangent == 0.0) { return; }
  let cosine = 1.0 / sqrt(fma(tangent, tangent, 1.0));
  let sine = tangent * cosine;
  let share = sine / (1.0 + cosine);
  for (var e = local; e < params.width; e += ${GROUP}u) {
    let v = x[one + e];
    let w = x[other + e];
    x[one + e] = v - sine * fma(share, v, w);
    x[other + e] = w + sine * fma(-share, w, v);
  }
}
