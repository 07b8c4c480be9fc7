// Row normalisation, one row a workgroup: x * weight / sqrt(mean(x^2) + eps), or with CENTRED
// (x - mean(x)) * weight / sqrt(var(x) + eps) + bias.
// Bindings in this order: x (left out where it is the output's buffer), weight, bias (CENTRED),
// residual (RESIDUAL 1), total (RESIDUAL), output.
// Variables: GROUP, T, CENTRED, IN_PLACE,
// RESIDUAL (x + residual is in x's place; 1: it may be written to total, which is another buffer; 2:
// total has the residual), SUM (1: it is written), WEIGHT, BIAS (0: what is bound is not read).
//! T: f32 f16
//! CENTRED: 0 1
//! IN_PLACE: 0 1
//! RESIDUAL: 0 1 2
//! SUM: constant
//! WEIGHT: constant
//! BIAS: constant
//! only: IN_PLACE == 0 or RESIDUAL == 0
//! GROUP: 256
#include "floats.wgsl"
struct Params {
  rows: u32, cols: u32, eps: f32,
  ldx: u32,  // cols where x is not alone
}
var<immediate> params: Params;
#let NEXT = 0
#if IN_PLACE
#let X = "output"
#else
@group(0) @binding(${NEXT}) var<storage, read> x: array<${T}>;
#let X = "x"
#let NEXT = NEXT + 1
#end
@group(0) @binding(${NEXT}) var<storage, read> weight: array<${T}>;
#let NEXT = NEXT + 1
#if CENTRED
@group(0) @binding(${NEXT}) var<storage, read> bias: array<${T}>;
#let NEXT = NEXT + 1
#end
#if RESIDUAL == 1
@group(0) @binding(${NEXT}) var<storage, read> residual: array<${T}>;
#let NEXT = NEXT + 1
#end
#if RESIDUAL
@group(0) @binding(${NEXT}) var<storage, read_write> total: array<${T}>;
#let NEXT = NEXT + 1
#end
@group(0) @binding(${NEXT}) var<storage, read_write> output: array<${T}>;
var<workgroup> partial: array<vec2<f32>, ${GROUP}>;

fn sum_over_group(value: vec2<f32>, local: u32) -> vec2<f32> {
  workgroupBarrier();
  partial[local] = value;
  for (var width = ${GROUP / 2}u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (local < width) { partial[local] += partial[local + width]; }
  }
  workgroupBarrier();
  return partial[0];
}

#if RESIDUAL
#if T == "f16"
#let ROUND = 1
#include "rounded.wgsl"
fn stored(sum: f32) -> f32 { return rounded(vec4<f32>(sum)).x; }
#else
fn stored(sum: f32) -> f32 { return sum; }
#end
#end
/// What is normalised; x has it `skipped` elements further.
fn element(at: u32, skipped: u32) -> f32 {
#if RESIDUAL == 1
  return stored(f32(${X}[at]) + f32(residual[at]));
#elif RESIDUAL == 2
  return f32(total[at]);
#else
  return f32(${X}[at + skipped]);
#end
}
/// The same, before others read it: sums are written here.
fn first_seen(at: u32, skipped: u32) -> f32 {
#if RESIDUAL == 2
  total[at] = ${T}(stored(f32(${X}[at]) + f32(total[at])));
#end
  let value = element(at, skipped);
#if RESIDUAL == 1
#if SUM
  total[at] = ${T}(value);
#end
#end
  return value;
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let row = group.x + group.y * groups.x;
  let count = select(0u, params.cols, row < params.rows);
  let base = row * params.cols;
  let skipped = row * (params.ldx - params.cols);
  let n = f32(params.cols);
#if CENTRED
  var sum = 0.0;
  for (var i = local; i < count; i += ${GROUP}u) { sum += first_seen(base + i, skipped); }
  let centre = sum_over_group(vec2<f32>(sum, 0.0), local).x / n;
  // What the centre is off by keeps the digits of rows far from zero.
  var around = vec2<f32>();
  for (var i = local; i < count; i += ${GROUP}u) {
    let d = element(base + i, skipped) - centre;
    around += vec2<f32>(d, d * d);
  }
  let means = sum_over_group(around, local) / n;
  let offset = means.x;
  let factor = 1.0 / sqrt(max(means.y - offset * offset, 0.0) + params.eps);
#else
  var squares = 0.0;
  for (var i = local; i < count; i += ${GROUP}u) {
    let x = first_seen(base + i, skipped);
    squares = fma(x, x, squares);
  }
  let factor = 1.0 / sqrt(sum_over_group(vec2<f32>(squares, 0.0), local).x / n + params.eps);
#end
  for (var i = local; i < count; i += ${GROUP}u) {
    var of_weight = 1.0;
#if WEIGHT
    of_weight = f32(weight[i]);
#end
#if CENTRED
    var of_bias = 0.0;
#if BIAS
    of_bias = f32(bias[i]);
#end
    let x = ((element(base + i, skipped) - centre) - offset) * factor;
    output[base + i] = ${T}(fma(x, of_weight, of_bias));
#else
    output[base + i] = ${T}(element(base + i, skipped) * factor * of_weight);
#end
  }
}
