// The gradient of conv2d's filter as a product: rows are filters, columns filter taps (channel, r,
// s), deep are output positions (image, p, q), cut into pieces that are summed afterwards.
// 0 input, 1 grad_output, 2 grad_filter, once for each piece.
// Variables: those of implicit_gemm.wgsl; T, TO (of grad_filter).
#if T == "f16" || TO == "f16"
enable f16;
#end
#include "implicit_gemm.wgsl"
#include "conv2d_input.wgsl"

@group(0) @binding(0) var<storage, read> input: array<${T}>;
@group(0) @binding(1) var<storage, read> grad_output: array<${T}>;
@group(0) @binding(2) var<storage, read_write> grad_filter: array<${TO}>;

fn load_a(group: u32, row: u32, deep: vec3<u32>) -> f32 {
  let plane = deep.x * (params.groups * params.filters) + group * params.filters + row;
  return f32(grad_output[(plane * params.out_height + deep.y) * params.out_width + deep.z]);
}
fn load_b(group: u32, deep: vec3<u32>, col: vec3<u32>) -> f32 {
  return input_at(deep.x, group * params.channels + col.x, deep.yz, col.yz);
}
fn store(group: u32, piece: u32, row: u32, col: u32, value: f32) {
  let filter_row = (piece * params.groups + group) * params.filters + row;
  grad_filter[filter_row * params.n + col] = ${TO}(value);
}
