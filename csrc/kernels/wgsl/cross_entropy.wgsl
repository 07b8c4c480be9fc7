// Losses of lines of scores by their classes: GROUP / WALKERS lines a workgroup, each read once with a
// running maximum and sum.
// 0 scores, 1 targets, 2 weights, 3 what each line loses, or with JOINED for each workgroup what its
// lines lose and what those weigh that are not ignored, 4 faults.
// Variables: GROUP, T, VECTOR, LONG, WEIGHTS (class_targets.wgsl), ROWS, WALKERS, HELD, CHUNK
// (class_sums.wgsl), SMOOTH (1: losses are smoothed), JOINED.
//! T: f32 f64 f16 bf16
//! VECTOR: 0 1
//! LONG: constant
//! WEIGHTS: constant
//! ROWS: constant
//! WALKERS: constant
//! SMOOTH: constant
//! JOINED: constant
//! HELD: as 0
//! CHUNK: as 2
//! GROUP: 256
//! only: T != "f64" or VECTOR == 0
#include "stored_floats.wgsl"
struct Params {
  lines: u32, classes: u32, inner: u32, axis: u32, name: u32, ignored: u32, ignored_high: u32,
  smoothing: u32, smoothing_high: u32, groups: u32, zero: u32,
}
var<immediate> params: Params;
#let ITEM = STORED
#if VECTOR && PACK == 2
#let ITEM = "vec2<u32>"
#elif VECTOR
#let ITEM = "vec4<f32>"
#end
@group(0) @binding(0) var<storage, read> scores: array<${ITEM}>;
@group(0) @binding(1) var<storage, read> targets: array<u32>;
@group(0) @binding(2) var<storage, read> weights: array<${STORED}>;
@group(0) @binding(3) var<storage, read_write> losses: array<${F}>;
@group(0) @binding(4) var<storage, read_write> faults: array<atomic<u32>>;
#include "class_targets.wgsl"
#include "class_scores.wgsl"
var<workgroup> joined_tops: array<${F}, ${GROUP}>;
var<workgroup> joined_sums: array<${F}, ${GROUP}>;
var<workgroup> joined_off: array<${F}, ${GROUP}>;
var<workgroup> joined_mass: array<${F}, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
#include "class_sums.wgsl"
  let log_all = log_of(all);
  var loss = own_weight * ((highest - at_target) + log_all);
#if SMOOTH
  let smoothing = number(params.smoothing, params.smoothing_high);
  let spread = mass * ((highest - centre) + log_all) - off;
  loss = loss * (${F}(1.0) - smoothing) + spread * (smoothing / ${F}(params.classes));
#end
  loss = select(${F}(0.0), loss, is_kept);
#if JOINED
  let counts = is_kept && walker == 0u;
  workgroupBarrier();
  joined_tops[local] = select(${F}(0.0), loss, counts);
  joined_sums[local] = select(${F}(0.0), own_weight, counts);
  for (var width = ${GROUP}u / 2u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (local < width) {
      joined_tops[local] += joined_tops[local + width];
      joined_sums[local] += joined_sums[local + width];
    }
  }
  let index = group.x + group.y * groups.x;
  if (local == 0u && index < params.groups) {
    losses[2u * index] = joined_tops[0];
    losses[2u * index + 1u] = joined_sums[0];
  }
#else
  if (walker == 0u && is_line) { losses[line] = loss; }
#end
}
