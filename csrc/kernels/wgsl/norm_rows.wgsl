// Normalisation of rows that the registers of their work-items hold, read once and written once:
// x * weight / sqrt(mean(x^2) + eps), or with CENTRED
// (x - mean(x)) * weight / sqrt(var(x) + eps) + bias.
// Bindings in this order: x (left out where it is the output's buffer), weight, bias (CENTRED),
// residual (RESIDUAL 1), total (RESIDUAL), output.
// GROUP / WALKERS rows a workgroup, VECTORS vectors of four a work-item.
// Variables: GROUP, WALKERS, VECTORS, VECTOR (1: rows are whole vec4), T, CENTRED, IN_PLACE,
// RESIDUAL (x + residual is in x's place; 1: it may be written to total, which is another buffer; 2:
// total has the residual), SUM (1: it is written), WEIGHT, BIAS (0: what is bound is not read).
#include "items.wgsl"
struct Params { rows: u32, cols: u32, eps: f32 }
var<immediate> params: Params;
#let NEXT = 0
#if IN_PLACE
#let X = "output"
#else
@group(0) @binding(${NEXT}) var<storage, read> x: array<${ITEM}>;
#let X = "x"
#let NEXT = NEXT + 1
#end
@group(0) @binding(${NEXT}) var<storage, read> weight: array<${ITEM}>;
#let NEXT = NEXT + 1
#if CENTRED
@group(0) @binding(${NEXT}) var<storage, read> bias: array<${ITEM}>;
#let NEXT = NEXT + 1
#end
#if RESIDUAL == 1
@group(0) @binding(${NEXT}) var<storage, read> residual: array<${ITEM}>;
#let NEXT = NEXT + 1
#end
#if RESIDUAL
@group(0) @binding(${NEXT}) var<storage, read_write> total: array<${ITEM}>;
#let NEXT = NEXT + 1
#end
@group(0) @binding(${NEXT}) var<storage, read_write> output: array<${ITEM}>;

fn plus(x: f32, y: f32) -> f32 { return x + y; }
#let JOIN = "plus"
#let NEXT_WALKER = 1
#let NAME = "squares"
#include "join.wgsl"
#if CENTRED
#let NAME = "sums"
#include "join.wgsl"
#let NAME = "rests"
#include "join.wgsl"
#end
fn across(x: vec4<f32>) -> f32 { return (x.x + x.y) + (x.z + x.w); }

#if RESIDUAL
#let OTHER = "residual"
#if RESIDUAL == 2
#let OTHER = "total"
#end
#if T == "f16"
#let ROUND = 1
#include "rounded.wgsl"
#end
/// What is normalised in place of x.
fn added(x: ${ITEM}, at: u32) -> ${WIDE} {
  let whole = ${WIDE}(x) + ${WIDE}(${OTHER}[at]);
#if T == "f32"
  let sum = whole;
#elif VECTOR
  let sum = rounded(whole);
#else
  let sum = rounded(vec4<f32>(whole)).x;
#end
#if SUM
  total[at] = ${ITEM}(sum);
#end
  return sum;
}
#end

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let walker = local % ${WALKERS}u;
  let first = local - walker;
  let row = (group.x + group.y * groups.x) * ${GROUP / WALKERS}u + local / ${WALKERS}u;
#if VECTOR
  let length = params.cols / 4u;
#else
  let length = params.cols;
#end
  let count = select(0u, length, row < params.rows);
  let base = row * length;
  let n = f32(params.cols);
#for v in 0..VECTORS
  var x${v} = vec4<f32>();
#if VECTOR
  if (walker + ${v * WALKERS}u < count) {
#if RESIDUAL
    x${v} = added(${X}[base + walker + ${v * WALKERS}u], base + walker + ${v * WALKERS}u);
#else
    x${v} = vec4<f32>(${X}[base + walker + ${v * WALKERS}u]);
#end
  }
#else
#for e in 0..4
  if (walker + ${(v * 4 + e) * WALKERS}u < count) {
#let AT = (v * 4 + e) * WALKERS
#if RESIDUAL
    x${v}[${e}] = added(${X}[base + walker + ${AT}u], base + walker + ${AT}u);
#else
    x${v}[${e}] = f32(${X}[base + walker + ${AT}u]);
#end
  }
#end
#end
#end
  // What few have is read before they wait for each other.
#let AHEAD = VECTOR == 1 && VECTORS < 5
#if AHEAD
#for v in 0..VECTORS
#if WEIGHT
  var weight${v} = ${ITEM}();
  if (walker + ${v * WALKERS}u < length) { weight${v} = weight[walker + ${v * WALKERS}u]; }
#end
#if BIAS
  var bias${v} = ${ITEM}();
  if (walker + ${v * WALKERS}u < length) { bias${v} = bias[walker + ${v * WALKERS}u]; }
#end
#end
#end
#if CENTRED
  var sums = x0;
#for v in 1..VECTORS
  sums += x${v};
#end
  let centre = vec4<f32>(join_sums(across(sums), first, walker) / n);
  // What the centre is off by keeps the digits of rows far from zero.
  var rests = vec4<f32>();
#for v in 0..VECTORS
#if VECTOR
  x${v} = select(vec4<f32>(), x${v} - centre, walker + ${v * WALKERS}u < count);
#else
#for e in 0..4
  x${v}[${e}] = select(0.0, x${v}[${e}] - centre.x, walker + ${(v * 4 + e) * WALKERS}u < count);
#end
#end
  rests += x${v};
#end
  let offset = vec4<f32>(join_rests(across(rests), first, walker) / n);
#end
  var squares = vec4<f32>();
#for v in 0..VECTORS
  squares = fma(x${v}, x${v}, squares);
#end
  let mean_square = join_squares(across(squares), first, walker) / n;
#if CENTRED
  let factor = 1.0 / sqrt(max(mean_square - offset.x * offset.x, 0.0) + params.eps);
#else
  let factor = 1.0 / sqrt(mean_square + params.eps);
#end
#for v in 0..VECTORS
#if VECTOR
  if (walker + ${v * WALKERS}u < count) {
    let at = walker + ${v * WALKERS}u;
#if CENTRED
    var result = (x${v} - offset) * factor;
#else
    var result = x${v} * factor;
#end
#if WEIGHT && AHEAD
    let weighed = vec4<f32>(weight${v});
#elif WEIGHT
    let weighed = vec4<f32>(weight[at]);
#end
#if BIAS && AHEAD
    let biased = vec4<f32>(bias${v});
#elif BIAS
    let biased = vec4<f32>(bias[at]);
#end
#if WEIGHT && BIAS
    result = fma(result, weighed, biased);
#elif WEIGHT
    result *= weighed;
#elif BIAS
    result += biased;
#end
    output[base + at] = ${ITEM}(result);
  }
#else
#for e in 0..4
  if (walker + ${(v * 4 + e) * WALKERS}u < count) {
    let at = walker + ${(v * 4 + e) * WALKERS}u;
#if CENTRED
    var result = (x${v}[${e}] - offset.x) * factor;
#else
    var result = x${v}[${e}] * factor;
#end
#if WEIGHT && BIAS
    result = fma(result, f32(weight[at]), f32(bias[at]));
#elif WEIGHT
    result *= f32(weight[at]);
#elif BIAS
    result += f32(bias[at]);
#end
    output[base + at] = ${T}(result);
  }
#end
#end
#end
}
