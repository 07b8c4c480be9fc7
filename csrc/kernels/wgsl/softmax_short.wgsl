// softmax along the middle axis of [outer, length, inner], of up to HELD elements, which a work-item
// holds, so that they are read once.
// 0 input, 1 output; one binding where both are the same buffer.
// Variables: GROUP, HELD (a multiple of 4), T, IN_PLACE, LOG (1: logarithms of it).
#include "floats.wgsl"
#include "functions.wgsl"
#include "running_softmax.wgsl"
#if LOG
#include "log_of_sum.wgsl"
#end
#let FOURS = HELD / 4

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

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let column = (group.x + group.y * groups.x) * ${GROUP}u + local;
  if (column >= params.columns) { return; }
  let base = (column / params.inner) * params.length * params.inner + column % params.inner;
#for v in 0..FOURS
  var x${v} = splat(lowest());
#for e in 0..4
  if (${4 * v + e}u < params.length) {
    x${v}[${e}] = f32(${INPUT}[base + ${4 * v + e}u * params.inner]);
  }
#end
#end
  var top = lowest();
#for v in 0..FOURS
  top = larger(larger(larger(x${v}.x, x${v}.y), larger(x${v}.z, x${v}.w)), top);
#end
  let reference = splat(reference_of(top));
  var sum = 0.0;
#for v in 0..FOURS
  let powers${v} = exp_of(x${v} - reference);
  sum += (powers${v}.x + powers${v}.y) + (powers${v}.z + powers${v}.w);
#end
#if LOG
  let less = log_of_sum(sum);
#else
  // exp_of() of float16 is never 0, so that a sum of no weight is not.
  let factor = select(1.0 / sum, bitcast<f32>(0x7fc00000u ^ params.zero), top == lowest());
#end
#for v in 0..FOURS
#if LOG
  let results${v} = x${v} - splat(top) - splat(less);
#else
  let results${v} = powers${v} * factor;
#end
#for e in 0..4
  if (${4 * v + e}u < params.length) {
    output[base + ${4 * v + e}u * params.inner] = ${T}(results${v}[${e}]);
  }
#end
#end
}
