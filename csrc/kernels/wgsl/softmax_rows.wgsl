// softmax of rows that the registers of their work-items hold: read once, written once.
// 0 input, 1 output; one binding where both are the same buffer.
// GROUP / WALKERS rows a workgroup, VECTORS vectors of four a work-item.
// Variables: GROUP, WALKERS, VECTORS, VECTOR (1: rows are whole vec4), T, IN_PLACE, LOG (1:
// logarithms of it).
#include "items.wgsl"
struct Params { rows: u32, length: u32, zero: u32 }
var<immediate> params: Params;
#include "power_below_one.wgsl"
#if LOG
#include "log_of_sum.wgsl"
#end
#let NEXT_WALKER = 1
#let JOIN = "max"
#let NAME = "tops"
#include "join.wgsl"
fn plus(x: f32, y: f32) -> f32 { return x + y; }
#let JOIN = "plus"
#let NAME = "sums"
#include "join.wgsl"
#if IN_PLACE
@group(0) @binding(0) var<storage, read_write> output: array<${ITEM}>;
#let INPUT = "output"
#else
@group(0) @binding(0) var<storage, read> input: array<${ITEM}>;
@group(0) @binding(1) var<storage, read_write> output: array<${ITEM}>;
#let INPUT = "input"
#end

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let walker = local % ${WALKERS}u;
  let first = local - walker;
  let row = (group.x + group.y * groups.x) * ${GROUP / WALKERS}u + local / ${WALKERS}u;
#if VECTOR
  let length = select(0u, params.length / 4u, row < params.rows);
  let base = row * (params.length / 4u);
#else
  let length = select(0u, params.length, row < params.rows);
  let base = row * params.length;
#end
  let lowest = vec4<f32>(bitcast<f32>(0xff800000u ^ params.zero));
#for v in 0..VECTORS
  var x${v} = lowest;
#if VECTOR
  if (walker + ${v * WALKERS}u < length) {
    x${v} = vec4<f32>(${INPUT}[base + walker + ${v * WALKERS}u]);
  }
#else
#for e in 0..4
  if (walker + ${(v * 4 + e) * WALKERS}u < length) {
    x${v}[${e}] = f32(${INPUT}[base + walker + ${(v * 4 + e) * WALKERS}u]);
  }
#end
#end
#end
  // A maximum that passes over NaN is as good: the sum does not.
  var tops = x0;
#for v in 1..VECTORS
  tops = max(tops, x${v});
#end
  let top = vec4<f32>(join_tops(max(max(tops.x, tops.y), max(tops.z, tops.w)), first, walker));
#for v in 0..VECTORS
  x${v} -= top;
  let power${v} = power_below_one(x${v});
#end
  var sums = power0;
#for v in 1..VECTORS
  sums += power${v};
#end
  let sum = join_sums((sums.x + sums.y) + (sums.z + sums.w), first, walker);
#if LOG
  let less = log_of_sum(sum);
#else
  let factor = 1.0 / sum;
#end
#for v in 0..VECTORS
#if LOG
  x${v} -= less;
#else
  x${v} = power${v} * factor;
#end
#if VECTOR
  if (walker + ${v * WALKERS}u < length) {
    output[base + walker + ${v * WALKERS}u] = ${ITEM}(x${v});
  }
#else
#for e in 0..4
  if (walker + ${(v * 4 + e) * WALKERS}u < length) {
    output[base + walker + ${(v * 4 + e) * WALKERS}u] = ${T}(x${v}[${e}]);
  }
#end
#end
#end
}
