// What becomes of the numbers that cross_entropy.wgsl finds. JOIN 1: the sum of the first ones of n
// pairs, 2: over that of the second ones, by one workgroup; 0: each of n, rounded to 16 bits, a word of
// them a work-item.
// 0 numbers, 1 losses.
// Variables: GROUP, T, JOIN.
//! T: f32 f64 f16 bf16
//! JOIN: constant
//! GROUP: 256
#include "stored_floats.wgsl"
struct Params { n: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> numbers: array<${F}>;
@group(0) @binding(1) var<storage, read_write> losses: array<${STORED}>;
var<workgroup> sums: array<${F}, ${GROUP}>;
var<workgroup> masses: array<${F}, ${GROUP}>;

#if PACK == 2
/// What lies behind the last number is another's.
fn write_words(item: u32, low: f32, high: f32, both: bool) {
  let word = word_of(low, high);
  losses[item] = select((word & 0xffffu) | (losses[item] & 0xffff0000u), word, both);
}
#end

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
#if JOIN == 0
#if PACK == 2
  let item = (group.x + group.y * groups.x) * ${GROUP}u + local;
  let at = 2u * item;
  if (at >= params.n) { return; }
  let next = min(at + 1u, params.n - 1u);
  write_words(item, numbers[at], numbers[next], next != at);
#end
#else
  var sum = ${F}(0.0);
  var mass = ${F}(0.0);
  for (var i = local; i < params.n; i += ${GROUP}u) {
    sum += numbers[2u * i];
    mass += numbers[2u * i + 1u];
  }
  sums[local] = sum;
  masses[local] = mass;
  for (var width = ${GROUP}u / 2u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (local < width) {
      sums[local] += sums[local + width];
      masses[local] += masses[local + width];
    }
  }
  if (local != 0u) { return; }
  var result = sums[0];
#if JOIN == 2
  // No device has to give NaN for 0 over 0.
  let none = masses[0] == ${F}(0.0) && result == ${F}(0.0);
#if T == "f64"
  result = select(result / masses[0], bitcast<f64>(0x7ff8000000000000lu), none);
#else
  result = select(result / masses[0], bitcast<f32>(0x7fc00000u | params.n), none);
#end
#end
#if PACK == 2
  write_words(0u, result, result, false);
#else
  losses[0] = result;
#end
#end
}
