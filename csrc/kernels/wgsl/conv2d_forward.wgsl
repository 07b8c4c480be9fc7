// Cross-correlation as a product: rows are filters, columns output positions (image, p, q), deep
// are filter taps (channel, r, s).
// 0 input, 1 filter, 2 output, 3 bias where BIAS.
// Variables: those of implicit_gemm.wgsl; T, BIAS, ACTIVATION.
#include "floats.wgsl"
#include "implicit_gemm.wgsl"
#include "conv2d_input.wgsl"
#if ACTIVATION != "none"
#include "activation.wgsl"
#end

@group(0) @binding(0) var<storage, read> input: array<${T}>;
@group(0) @binding(1) var<storage, read> filter_taps: array<${T}>;
@group(0) @binding(2) var<storage, read_write> output: array<${T}>;
#if BIAS
@group(0) @binding(3) var<storage, read> bias: array<${T}>;
#end

fn load_a(group: u32, row: u32, deep: vec3<u32>) -> f32 {
  let tap = (deep.x * params.filter_height + deep.y) * params.filter_width + deep.z;
  return f32(filter_taps[(group * params.filters + row) * params.k + tap]);
}
fn load_b(group: u32, deep: vec3<u32>, col: vec3<u32>) -> f32 {
  return input_at(col.x, group * params.channels + deep.x, col.yz, deep.yz);
}
fn store(group: u32, piece: u32, row: u32, col: u32, value: f32) {
  let plane = params.out_height * params.out_width;
  let k = group * params.filters + row;
  let at = (col / plane * (params.groups * params.filters) + k) * plane + col % plane;
  var result = value;
#if BIAS
  result += f32(bias[k]);
#end
#if ACTIVATION != "none"
  result = activated_one(result);
#end
  output[at] = ${T}(result);
}
