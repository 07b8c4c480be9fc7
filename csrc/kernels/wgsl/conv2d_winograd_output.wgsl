// The tiles of 2x2 outputs from their products with Winograd's F(2x2, 3x3), the bias and the
// activation. A tile of an output channel a work-item.
// An output depends on its own window alone. Differences of infinities, and sums that overflow only
// in between, make it NaN or infinite where the sum over the window may not be: such an output is
// summed directly.
// 0 products, 1 input, 2 filter, 3 output, 4 bias where BIAS.
// Variables: GROUP, T, BIAS, ACTIVATION, PAIRS (1: the output's rows are whole pairs).
//! GROUP: 256
//! T: f32 f16
//! BIAS: 0 1
//! PAIRS: 0 1
//! ACTIVATION: constant none relu relu6 leaky_relu hardswish sigmoid tanh silu gelu gelu_tanh
#include "floats.wgsl"
#include "activation.wgsl"
struct Params {
  items: u32, columns: u32, planes: u32, first: u32, tiles_h: u32, tiles_w: u32,
  batch: u32, channels: u32, filters: u32, height: u32, width: u32, pad_h: u32, pad_w: u32,
  out_height: u32, out_width: u32,
  slope: f32, zero: u32,  // of activation.wgsl
}
var<immediate> params: Params;
#let ITEM = T
#if PAIRS && T == "f16"
#let ITEM = "vec2<f16>"
#elif PAIRS
#let ITEM = "vec2<f32>"
#end
@group(0) @binding(0) var<storage, read> products: array<f32>;
@group(0) @binding(1) var<storage, read> input: array<${T}>;
@group(0) @binding(2) var<storage, read> taps: array<${T}>;
@group(0) @binding(3) var<storage, read_write> output: array<${ITEM}>;
#if BIAS
@group(0) @binding(4) var<storage, read> bias: array<${T}>;
#end

fn summed(image: u32, filter_index: u32, y: u32, x: u32) -> f32 {
  // Left of or above the image is a large number here.
  let top = y - params.pad_h;
  let left = x - params.pad_w;
  var sum = 0.0;
  for (var channel = 0u; channel < params.channels; channel++) {
    let plane = (image * params.channels + channel) * params.height;
    let at = (filter_index * params.channels + channel) * 9u;
#for r in 0..3
#for s in 0..3
    {
      var pixel = 0.0;
      if (top + ${r}u < params.height && left + ${s}u < params.width) {
        pixel = f32(input[(plane + top + ${r}u) * params.width + left + ${s}u]);
      }
      sum = fma(f32(taps[at + ${3 * r + s}u]), pixel, sum);
    }
#end
#end
    // NaN stays.
    if ((bitcast<u32>(sum) & 0x7fffffffu) > 0x7f800000u) { break; }
  }
  return sum;
}

fn is_finite(x: f32) -> bool { return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u; }

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = (group.x + group.y * groups.x) * ${GROUP}u + local;
  if (item >= params.items) { return; }
  let tile = params.first + item % params.columns;
  let image = tile / (params.tiles_h * params.tiles_w);
  if (image >= params.batch) { return; }
  let filter_index = item / params.columns;
  let y = tile / params.tiles_w % params.tiles_h * 2u;
  let x = tile % params.tiles_w * 2u;
#for r in 0..4
  let m${r} = vec4<f32>(
      products[${4 * r}u * params.planes + item], products[${4 * r + 1}u * params.planes + item],
      products[${4 * r + 2}u * params.planes + item], products[${4 * r + 3}u * params.planes + item]);
#end
  let s0 = m0 + m1 + m2;
  let s1 = m1 - m2 - m3;
  let line = ((image * params.filters + filter_index) * params.out_height + y) * params.out_width + x;
#for r in 0..2
  if (y + ${r}u < params.out_height) {
    var result = vec2<f32>(s${r}.x + s${r}.y + s${r}.z, s${r}.y - s${r}.z - s${r}.w);
    if (!is_finite(result.x)) { result.x = summed(image, filter_index, y + ${r}u, x); }
    if (!is_finite(result.y)) { result.y = summed(image, filter_index, y + ${r}u, x + 1u); }
#if BIAS
    result += vec2<f32>(f32(bias[filter_index]));
#end
    let both = activated(result.xyxy);
    result = both.xy;
    let at = line + ${r}u * params.out_width;
#if PAIRS
    output[at / 2u] = ${ITEM}(result);
#else
    output[at] = ${T}(result.x);
    if (x + 1u < params.out_width) { output[at + 1u] = ${T}(result.y); }
#end
  }
#end
}
