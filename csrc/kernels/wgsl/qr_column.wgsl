// Makes the reflection that turns a column of each matrix, from its diagonal down, into one number:
// x[at] becomes it, what is below the reflection's vector, whose first element is 1. A workgroup for
// each matrix.
// 0 x, 1 factors.
// Variables: GROUP, T, COMPLEX.
//! T: f32 f64
//! COMPLEX: 0 1
//! GROUP: 256
#include "numbers.wgsl"

struct Params { m: u32, n: u32, at: u32, count: u32, batch: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> x: array<${NUMBER}>;
@group(0) @binding(1) var<storage, read_write> factors: array<${NUMBER}>;
var<workgroup> partial: array<${T}, ${GROUP}>;
var<workgroup> largest: array<${BITS}, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = group.x + group.y * groups.x;
  if (matrix >= params.batch) { return; }
  let at = params.at;
  let base = matrix * params.m * params.n + at;
  // By the largest of them, so that squares neither overflow nor vanish. Magnitudes are in the
  // order of their bits, NaN last.
  var below = ${BITS}(0);
  for (var row = at + 1u + local; row < params.m; row += ${GROUP}u) {
    below = larger(below, largest_bits(x[base + row * params.n]));
  }
  largest[local] = below;
  workgroupBarrier();
  for (var half = ${GROUP / 2}u; half > 0u; half /= 2u) {
    if (local < half) { largest[local] = larger(largest[local], largest[local + half]); }
    workgroupBarrier();
  }
  let first = x[base + at * params.n];
  below = largest[0];
  let scale = bitcast<${T}>(larger(below, largest_bits(first)));
  var sum = ${T}(0);
  for (var row = at + 1u + local; row < params.m; row += ${GROUP}u) {
    sum = plus_square(sum, x[base + row * params.n] / scale);
  }
  partial[local] = sum;
  workgroupBarrier();
  for (var half = ${GROUP / 2}u; half > 0u; half /= 2u) {
    if (local < half) { partial[local] += partial[local + half]; }
    workgroupBarrier();
  }
  // What is 0 already is not reflected, nor what a device may take for 0.
  let place = matrix * params.count + at;
#if COMPLEX
  // A number that is not real is turned into one.
  below = larger(below, bits_of(first.y));
#end
  if (below < ${LEAST}) {
    if (local == 0u) { factors[place] = ${NUMBER}(); }
    return;
  }
  let own = first / scale;
  let length = sqrt(plus_square(partial[0], own));
  let result = select(length, -length, real_of(own) >= ${T}(0));
  let divisor = own - of_real(result);
  for (var row = at + 1u + local; row < params.m; row += ${GROUP}u) {
    x[base + row * params.n] = quotient(x[base + row * params.n] / scale, divisor);
  }
  if (local == 0u) {
    factors[place] = (of_real(result) - own) / result;
    x[base + at * params.n] = of_real(result * scale);
  }
}
