// Reflections that turn a panel of at most BLOCK columns of each matrix, from its diagonal down,
// into a triangle, applied within the panel: x keeps the triangle, and below it the reflections'
// vectors, whose first element is 1. Those are also written without the triangle, and the factor by
// which all of them are one: their product is I - V F V^H. A workgroup for each matrix; a launch
// takes a part of the columns, since software devices end loops of many turns.
// 0 x, 1 reflectors, 2 factors.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
#include "numbers.wgsl"

struct Params {
  m: u32, n: u32, at: u32, size: u32, count: u32, batch: u32,
  begin: u32, end: u32,  // of the panel's columns
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> x: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read_write> reflectors: array<${NUMBER}>;
@group(0) @binding(2) var<storage, read_write> factors: array<${NUMBER}>;
#let WALKERS = GROUP / BLOCK
var<workgroup> partial: array<${NUMBER}, ${GROUP}>;
var<workgroup> squares: array<${T}, ${GROUP}>;
var<workgroup> largest: array<${BITS}, ${GROUP}>;
var<workgroup> triangle: array<${NUMBER}, ${BLOCK * BLOCK}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = group.x + group.y * groups.x;
  if (matrix >= params.batch) { return; }
  let n = params.n;
  let at = params.at;
  let size = params.size;
  let base = matrix * params.m * n + at;
  let lane = local % ${BLOCK}u;
  let walker = local / ${BLOCK}u;
  let of_factors = (matrix * params.count + at) * ${BLOCK}u;
  for (var e = local; e < ${BLOCK * BLOCK}u; e += ${GROUP}u) {
    triangle[e] = ${NUMBER}();
    if (e / ${BLOCK}u < params.begin) { triangle[e] = factors[of_factors + e]; }
  }
  for (var j = params.begin; j < params.end; j++) {
    let top = at + j;
    // By the largest of them, so that squares neither overflow nor vanish. Magnitudes are in the
    // order of their bits, NaN last.
    var below = ${BITS}(0);
    for (var row = top + 1u + local; row < params.m; row += ${GROUP}u) {
      below = larger(below, largest_bits(x[base + row * n + j]));
    }
    largest[local] = below;
    workgroupBarrier();
    for (var half = ${GROUP / 2}u; half > 0u; half /= 2u) {
      if (local < half) { largest[local] = larger(largest[local], largest[local + half]); }
      workgroupBarrier();
    }
    let first = x[base + top * n + j];
    below = largest[0];
    let scale = bitcast<${T}>(larger(below, largest_bits(first)));
    var sum = ${T}(0);
    for (var row = top + 1u + local; row < params.m; row += ${GROUP}u) {
      sum = plus_square(sum, x[base + row * n + j] / scale);
    }
    squares[local] = sum;
    workgroupBarrier();
    for (var half = ${GROUP / 2}u; half > 0u; half /= 2u) {
      if (local < half) { squares[local] += squares[local + half]; }
      workgroupBarrier();
    }
#if COMPLEX
    // A number that is not real is turned into one.
    below = larger(below, bits_of(first.y));
#end
    var factor = ${NUMBER}();
    // What is 0 already is not reflected, nor what a device may take for 0.
    if (below >= ${LEAST}) {
      let own = first / scale;
      let length = sqrt(plus_square(squares[0], own));
      let result = select(length, -length, real_of(own) >= ${T}(0));
      let divisor = own - of_real(result);
      for (var row = top + 1u + local; row < params.m; row += ${GROUP}u) {
        x[base + row * n + j] = quotient(x[base + row * n + j] / scale, divisor);
      }
      factor = (of_real(result) - own) / result;
      if (local == 0u) { x[base + top * n + j] = of_real(result * scale); }
    }
    storageBarrier();
    // Products of the new vector with the columns behind it, which it reflects, and of those before
    // it, which are vectors, with it.
    var share = ${NUMBER}();
    if (lane < size && lane != j) {
      for (var row = top + walker; row < params.m; row += ${WALKERS}u) {
        var v = of_real(${T}(1));
        if (row != top) { v = x[base + row * n + j]; }
        let other = x[base + row * n + lane];
        if (lane > j) {
          share = plus_product(share, conjugate(v), other);
        } else {
          share = plus_product(share, conjugate(other), v);
        }
      }
    }
    partial[local] = share;
    workgroupBarrier();
    for (var half = ${GROUP / 2}u; half >= ${BLOCK}u; half /= 2u) {
      if (local < half) { partial[local] += partial[local + half]; }
      workgroupBarrier();
    }
    if (lane > j && lane < size) {
      // Columns are reflected back: by the conjugate of what Q is made with.
      let by = product(partial[lane], conjugate(factor));
      for (var row = top + walker; row < params.m; row += ${WALKERS}u) {
        var v = of_real(${T}(1));
        if (row != top) { v = x[base + row * n + j]; }
        x[base + row * n + lane] -= product(by, v);
      }
    }
    if (local <= j) {
      var entry = factor;
      if (local < j) {
        var joined = ${NUMBER}();
        for (var k = local; k < j; k++) {
          joined = plus_product(joined, triangle[local * ${BLOCK}u + k], partial[k]);
        }
        entry = -product(factor, joined);
      }
      triangle[local * ${BLOCK}u + j] = entry;
    }
    storageBarrier();
    workgroupBarrier();
  }
  if (lane < size) {
    for (var row = at + walker; row < params.m; row += ${WALKERS}u) {
      var v = of_real(select(${T}(0), ${T}(1), row == at + lane));
      if (row > at + lane) { v = x[base + row * n + lane]; }
      reflectors[(matrix * params.m + row) * params.count + at + lane] = v;
    }
  }
  for (var e = local; e < size * ${BLOCK}u; e += ${GROUP}u) { factors[of_factors + e] = triangle[e]; }
}
