// softmax along the middle axis of [outer, length, inner]: COLUMNS columns a workgroup, each walked
// by GROUP / COLUMNS work-items with a running maximum and sum, then once more for the results.
// 0 input, 1 output; one binding where both are the same buffer.
// Variables: GROUP, COLUMNS (powers of two), ROWS (1: inner is 1, so neighbours lie along the
// axis), T, IN_PLACE, LOG (1: logarithms of it).
#include "floats.wgsl"
#include "functions.wgsl"
#include "running_softmax.wgsl"
#if LOG
#include "log_of_sum.wgsl"
#end

struct Params { columns: u32, length: u32, inner: u32, zero: u32 }
var<immediate> params: Params;
#if IN_PLACE
@group(0) @binding(0) var<storage, read_write> output: array<${T}>;
#let INPUT = "output"
#else
@group(0) @binding(0) var<storage, read> input: array<${T}>;
@group(0) @binding(1) var<storage, read_write> output: array<${T}>;
#let INPUT = "input"
#end
#let WALKERS = GROUP / COLUMNS
var<workgroup> tops: array<f32, ${GROUP}>;
var<workgroup> sums: array<f32, ${GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
#if ROWS
  let walker = local % ${WALKERS}u;
  let beside = local / ${WALKERS}u;
  let one_walker = 1u;
#else
  let walker = local / ${COLUMNS}u;
  let beside = local % ${COLUMNS}u;
  let one_walker = ${COLUMNS}u;
#end
  let column = (group.x + group.y * groups.x) * ${COLUMNS}u + beside;
  let length = select(0u, params.length, column < params.columns);
  let base = (column / params.inner) * params.length * params.inner + column % params.inner;
  var top = lowest();
  var sum = 0.0;
  for (var i = walker; i < length; i += ${4 * WALKERS}u) {
    var x = splat(lowest());
#for e in 0..4
    if (i + ${e * WALKERS}u < length) {
      x[${e}] = f32(${INPUT}[base + (i + ${e * WALKERS}u) * params.inner]);
    }
#end
    let higher = larger(larger(larger(x.x, x.y), larger(x.z, x.w)), top);
    let powers = exp_of(x - splat(reference_of(higher)));
    sum = sum * rescale(top, higher) + ((powers.x + powers.y) + (powers.z + powers.w));
    top = higher;
  }
  tops[local] = top;
#let WIDTH = WALKERS / 2
  for (var width = ${WIDTH}u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (walker < width) { tops[local] = larger(tops[local], tops[local + width * one_walker]); }
  }
  workgroupBarrier();
  let highest = tops[local - walker * one_walker];
  sums[local] = sum * rescale(top, highest);
  for (var width = ${WIDTH}u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (walker < width) { sums[local] += sums[local + width * one_walker]; }
  }
  workgroupBarrier();
  let all = sums[local - walker * one_walker];
#if LOG
  let less = log_of_sum(all);
#else
  let factor = 1.0 / all;
#end
  for (var i = walker; i < length; i += ${4 * WALKERS}u) {
    var x = splat(lowest());
#for e in 0..4
    if (i + ${e * WALKERS}u < length) {
      x[${e}] = f32(${INPUT}[base + (i + ${e * WALKERS}u) * params.inner]);
    }
#end
#if LOG
    let results = x - splat(highest) - splat(less);
#else
    let results = exp_of(x - splat(highest)) * factor;
#end
#for e in 0..4
    if (i + ${e * WALKERS}u < length) {
      output[base + (i + ${e * WALKERS}u) * params.inner] = ${T}(results[${e}]);
    }
#end
  }
}
