// What the lines weigh that are not ignored: the sum of a part of them for each workgroup.
// 0 targets, 1 weights, 2 totals, 3 faults.
// Variables: GROUP, T, LONG, WEIGHTS (class_targets.wgsl).
//! T: f32 f64 f16 bf16
//! LONG: constant
//! WEIGHTS: constant
//! GROUP: 256
#include "stored_floats.wgsl"
struct Params {
  lines: u32, classes: u32, axis: u32, name: u32, ignored: u32, ignored_high: u32, step: u32,
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> targets: array<u32>;
@group(0) @binding(1) var<storage, read> weights: array<${STORED}>;
@group(0) @binding(2) var<storage, read_write> totals: array<${F}>;
@group(0) @binding(3) var<storage, read_write> faults: array<atomic<u32>>;
#include "class_targets.wgsl"
var<workgroup> sums: array<${F}, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  var sum = ${F}(0.0);
  for (var line = group.x * ${GROUP}u + local; line < params.lines; line += params.step) {
    let picked = target_of(line);
    if (picked != 0xffffffffu) { sum += weight_of(picked); }
  }
  sums[local] = sum;
  for (var width = ${GROUP}u / 2u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (local < width) { sums[local] += sums[local + width]; }
  }
  if (local == 0u) { totals[group.x] = sums[0]; }
}
