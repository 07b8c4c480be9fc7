// Makes the reflection that turns a column of each matrix, from its diagonal down, into one number:
// x[at] becomes it, what is below the reflection's vector, whose first element is 1. A workgroup for
// each matrix.
// 0 x, 1 factors.
// Variables: GROUP.
//! GROUP: 256

struct Params { m: u32, n: u32, at: u32, count: u32, batch: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> factors: array<f32>;
var<workgroup> partial: array<f32, ${GROUP}>;
var<workgroup> largest: array<u32, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let matrix = group.x + group.y * groups.x;
  if (matrix >= params.batch) { return; }
  let at = params.at;
  let base = matrix * params.m * params.n + at;
  // By the largest of them, so that squares neither overflow nor vanish. Magnitudes are in the
  // order of their bits, NaN last.
  var below = 0u;
  for (var row = at + 1u + local; row < params.m; row += ${GROUP}u) {
    below = max(below, bitcast<u32>(x[base + row * params.n]) & 0x7fffffffu);
  }
  largest[local] = below;
  workgroupBarrier();
  for (var half = ${GROUP / 2}u; half > 0u; half /= 2u) {
    if (local < half) { largest[local] = max(largest[local], largest[local + half]); }
    workgroupBarrier();
  }
  let first = x[base + at * params.n];
  below = largest[0];
  let scale = bitcast<f32>(max(below, bitcast<u32>(first) & 0x7fffffffu));
  var sum = 0.0;
  for (var row = at + 1u + local; row < params.m; row += ${GROUP}u) {
    let value = x[base + row * params.n] / scale;
    sum = fma(value, value, sum);
  }
  partial[local] = sum;
  workgroupBarrier();
  for (var half = ${GROUP / 2}u; half > 0u; half /= 2u) {
    if (local < half) { partial[local] += partial[local + half]; }
    workgroupBarrier();
  }
  // What is 0 already is not reflected, nor what a device may take for 0.
  let place = matrix * params.count + at;
  if (below < 0x00800000u) {
    if (local == 0u) { factors[place] = 0.0; }
    return;
  }
  let own = first / scale;
  let length = sqrt(fma(own, own, partial[0]));
  let result = select(length, -length, own >= 0.0);
  let divisor = own - result;
  for (var row = at + 1u + local; row < params.m; row += ${GROUP}u) {
    x[base + row * params.n] = x[base + row * params.n] / scale / divisor;
  }
  if (local == 0u) {
    factors[place] = (result - own) / result;
    x[base + at * params.n] = result * scale;
  }
}
