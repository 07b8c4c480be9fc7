// What each tap of a filter meets of images, position by position of the output, or of the input where
// the images are the output's gradient: a line for each channel and tap, its positions side by side,
// from `first` on. The padding, and positions past the last image, are zeros. Four positions of a line a work-item.
// 0 input, 1 lines.
// Variables: GROUP, T, TO (of the lines).
//! GROUP: 256
//! T: f32 f16
//! TO: f32 f16
//! only: T == "f16" or TO == "f32"
#include "floats.wgsl"
#include "range.wgsl"
struct Params {
  n: u32, fours: u32, first: u32, positions: u32, channels: u32, height: u32, width: u32,
  filter_height: u32, filter_width: u32, out_height: u32, out_width: u32, stride_h: u32,
  stride_w: u32, pad_h: u32, pad_w: u32, dilation_h: u32, dilation_w: u32,
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> input: array<${T}>;
@group(0) @binding(1) var<storage, read_write> lines: array<vec4<${TO}>>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
  if (item >= params.n) { return; }
  let line = item / params.fours;
  let column = line % params.filter_width;
  let row = line / params.filter_width % params.filter_height;
  let channel = line / params.filter_width / params.filter_height;
  let down = row * params.dilation_h - params.pad_h;
  let right = column * params.dilation_w - params.pad_w;
  var position = params.first + item % params.fours * 4u;
  var q = position % params.out_width;
  let above = position / params.out_width;
  var p = above % params.out_height;
  var image = above / params.out_height;
  var found = vec4<f32>();
#for i in 0..4
  // Left of or above the image is a large number here.
  let y${i} = p * params.stride_h + down;
  let x${i} = q * params.stride_w + right;
  if (position + ${i}u < params.positions && y${i} < params.height && x${i} < params.width) {
    let plane = image * params.channels + channel;
    found[${i}] = f32(input[(plane * params.height + y${i}) * params.width + x${i}]);
  }
#if i < 3
  q += 1u;
  if (q == params.out_width) {
    q = 0u;
    p += 1u;
    if (p == params.out_height) { p = 0u; image += 1u; }
  }
#end
#end
  lines[item] = vec4<${TO}>(found);
}
