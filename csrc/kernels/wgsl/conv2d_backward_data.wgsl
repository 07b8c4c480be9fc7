// The gradient of conv2d's input as a product: rows are channels, columns input positions (image,
// y, x), deep are filter taps (filter, r, s).
// 0 grad_output, 1 filter, 2 grad_input.
// Variables: those of implicit_gemm.wgsl; T.
#include "floats.wgsl"
#include "implicit_gemm.wgsl"

@group(0) @binding(0) var<storage, read> grad_output: array<${T}>;
@group(0) @binding(1) var<storage, read> filter_taps: array<${T}>;
@group(0) @binding(2) var<storage, read_write> grad_input: array<${T}>;

fn load_a(group: u32, row: u32, deep: vec3<u32>) -> f32 {
  let plane = (group * params.filters + deep.x) * params.channels + row;
  return f32(filter_taps[(plane * params.filter_height + deep.y) * params.filter_width + deep.z]);
}
/// The gradient at the output position that sees the pixel through this tap; 0 where none does.
fn load_b(group: u32, deep: vec3<u32>, col: vec3<u32>) -> f32 {
  // Before the first position is a large number here, which no size reaches.
  let y = col.y + params.pad_h - deep.y * params.dilation_h;
  let x = col.z + params.pad_w - deep.z * params.dilation_w;
  let p = y / params.stride_h;
  let q = x / params.stride_w;
  if (p >= params.out_height || q >= params.out_width) { return 0.0; }
  if (y != p * params.stride_h || x != q * params.stride_w) { return 0.0; }
  let plane = col.x * (params.groups * params.filters) + group * params.filters + deep.x;
  return f32(grad_output[(plane * params.out_height + p) * params.out_width + q]);
}
fn store(group: u32, piece: u32, row: u32, col: u32, value: f32) {
  let plane = params.height * params.width;
  let channel = group * params.channels + row;
  let image = col / plane;
  let at = (image * (params.groups * params.channels) + channel) * plane + col % plane;
  grad_input[at] = ${T}(value);
}
